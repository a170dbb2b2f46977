//! What the user asks for while decisions are under way and that depends on their results.
//!
//! Invariant: it begins once no decision is under way, in the order in which it was asked for.

use std::path::{Path, PathBuf};

use super::{Decide, Reviews};
use crate::spine::cx::Effects;
use crate::spine::event::{Scope, UndoStep};
use crate::spine::ids::SessionKey;
use crate::workspace::Workspace;
use crate::workspace::fileops::Kind;

/// What waits.
#[derive(Debug)]
pub(super) enum Later {
    /// The last decision is undone.
    Undo,
    /// A turn is undone or redone.
    UndoTurn {
        session: Option<SessionKey>,
        step: UndoStep,
    },
    /// All hunks present at that time are rejected; proposals, if any, already were.
    Reject { scope: Scope, is_proposed: bool },
    /// Hunks are decided, after all that waited before.
    Decide(Vec<(PathBuf, Decide)>),
}

impl Reviews {
    pub(super) fn has_later(&self) -> bool {
        !self.later.is_empty()
    }
}

impl Workspace {
    /// Undoes the last decision of any kind.
    pub(crate) fn undo_decision(&mut self, fx: &mut Effects) {
        self.when_decided(Later::Undo, fx);
    }

    /// Undoes a turn, asks the user first, or redoes the turn undone last.
    pub(crate) fn undo_turn(
        &mut self,
        session: Option<SessionKey>,
        step: UndoStep,
        fx: &mut Effects,
    ) {
        self.when_decided(Later::UndoTurn { session, step }, fx);
    }

    /// Begins something once no decision is under way.
    pub(super) fn when_decided(&mut self, later: Later, fx: &mut Effects) {
        self.reviews.later.push_back(later);
        self.take_later(fx);
    }

    /// Starts the waiting work whose decisions are complete.
    pub(crate) fn take_later(&mut self, fx: &mut Effects) {
        while self.reviews.has_later() && !self.is_deciding() {
            match self.reviews.later.pop_front() {
                Some(Later::Undo) => self.undo_decision_now(fx),
                Some(Later::UndoTurn { session, step }) => self.undo_turn_now(session, step, fx),
                Some(Later::Reject { scope, is_proposed }) => {
                    self.reject_now(scope, is_proposed, fx);
                }
                Some(Later::Decide(decisions)) => self.decide_now(decisions, fx),
                None => {}
            }
        }
    }

    /// Returns whether any decision is queued or active.
    pub(crate) fn is_deciding(&self) -> bool {
        self.fileops.has_any(|kind| kind == Kind::Decision)
    }

    /// Returns whether a decision about a file is queued or active.
    pub(super) fn is_deciding_on(&self, path: &Path) -> bool {
        self.fileops.has(path, |kind| kind == Kind::Decision)
    }
}
