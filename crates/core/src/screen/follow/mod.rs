//! Following: the place of each session's agent, and the place to which the editor follows it.
//!
//! Invariants: each new place gets a higher number than all before; a repeated report of the same
//! place gets none. An agent is marked only while its turn runs and it does not wait for the user.

mod places;

use std::path::Path;

use crate::model::Model;
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::Level;
use crate::spine::ids::{BufId, SessionKey};
use crate::spine::view::{AgentMark, Follow, FollowTarget, FollowView, Frame, Patch};

impl Model {
    /// Sets the mode, or toggles it if `mode` is `None`.
    pub(crate) fn follow(&mut self, key: SessionKey, mode: Option<Follow>, fx: &mut Effects) {
        let is_at_work = self.is_at_work(key);
        if let Some(mode) = self.view.set_follow(key, mode, is_at_work) {
            fx.push(notify(Level::Info, mode.told()));
        }
    }

    fn is_at_work(&self, key: SessionKey) -> bool {
        let session = self.conversation.session(key);
        session.is_some_and(|session| session.is_in_turn())
    }

    /// Adds patches for the agents whose view has changed.
    pub(crate) fn follow_patches(&mut self, frame: &mut Frame) {
        for session in self.view.take_followed(self.questions.is_dirty()) {
            let view = self.follow_view(session);
            frame.patches.push(Patch::Follow { session, view });
        }
    }

    fn follow_view(&self, key: SessionKey) -> FollowView {
        let trail = self.view.trail(key);
        let (Some(trail), Some(session)) = (trail, self.conversation.session(key)) else {
            return FollowView::default();
        };
        let buffer =
            |path: &Path| -> Option<BufId> { Some(self.workspace.documents().named(path)?.0) };
        let is_at_work = session.is_in_turn();
        // While it waits, the user sees its request.
        let is_waiting = self.questions.wait_in(key);
        let mark = trail.last.as_ref();
        let mark = mark.filter(|_| is_at_work && !is_waiting);
        let target = match trail.mode {
            Follow::Off => None,
            Follow::On => trail.last.as_ref(),
            Follow::Edits => trail.edited.as_ref(),
        };
        FollowView {
            mode: trail.mode,
            mark: mark.and_then(|place| {
                Some(AgentMark {
                    number: place.number,
                    buf: buffer(&place.path)?,
                    row: place.row.unwrap_or(0),
                    label: format!("{} {}", session.name(), place.deed).into(),
                })
            }),
            target: target.map(|place| FollowTarget {
                number: place.number,
                path: place.path.clone(),
                row: place.row,
                buf: buffer(&place.path),
                roots: session.folders().roots,
                is_over: !is_at_work,
            }),
        }
    }
}
