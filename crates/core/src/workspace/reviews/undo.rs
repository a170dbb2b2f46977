//! `:Acp undo-turn`: undoes all changes of a turn at once, or redoes them.
//!
//! Invariant: nothing is undone before the user has seen the effects, unless a script requests it.
//! The user's later changes stay.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::decided::{Moves, Undone};
use super::moving::{Aim, counts, order_of_undo};
use super::turns::Of;
use super::{Decide, FileReview};
use crate::render::diffview;
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::{EditorEffect, Level};
use crate::spine::event::UndoStep;
use crate::spine::ids::{SessionKey, TurnKey};
use crate::spine::project::FileState;
use crate::spine::view::{Line, UndoView};
use crate::text::cut::shortened;
use crate::text::plural;
use crate::workspace::Workspace;

/// The maximum number of undone turns that can be redone.
const UNDONE: usize = 20;

impl Workspace {
    /// Undoes a turn, asks the user first, or redoes the turn undone last.
    pub(super) fn undo_turn_now(
        &mut self,
        session: Option<SessionKey>,
        step: UndoStep,
        fx: &mut Effects,
    ) {
        let turn = match step {
            UndoStep::Back => return self.bring_turn_back(session, fx),
            UndoStep::Undo(Some(turn)) => Some(turn),
            UndoStep::Undo(None) | UndoStep::Ask => self.last_undoable(session, Of::All),
        };
        let Some(turn) = turn else {
            return self.nothing_to_undo(session, fx);
        };
        if step == UndoStep::Ask {
            let view = self.undo_view(turn);
            return fx.push(EditorEffect::AskUndo { turn, view });
        }
        self.reviews.undone.push(Undone {
            turn,
            files: Moves::default(),
        });
        let many = self.reviews.undone.len().saturating_sub(UNDONE);
        self.reviews.undone.drain(..many);
        let (any, lost) = self.shift_all(turn, Of::All, fx);
        self.tell_lost(turn, &lost, fx);
        if !any {
            self.reviews.undone.pop();
            let text = "There is nothing left to undo in that turn.";
            fx.push(notify(Level::Info, text));
        }
    }

    /// Undoes the last decision of any kind.
    pub(super) fn undo_decision_now(&mut self, fx: &mut Effects) {
        let decision = self.reviews.last_decision();
        if decision.is_empty() {
            let text = "There is no decision to take back.";
            fx.push(notify(Level::Info, text));
        }
        self.bring_back(decision, fx);
    }

    fn bring_turn_back(&mut self, session: Option<SessionKey>, fx: &mut Effects) {
        let is_meant = |undone: &Undone| session.is_none_or(|key| undone.turn.session == key);
        let at = self.reviews.undone.iter().rposition(is_meant);
        let Some(at) = at.filter(|at| *at < self.reviews.undone.len()) else {
            let text = "No turn has been undone.";
            return fx.push(notify(Level::Info, text));
        };
        let files = self.reviews.undone.remove(at).files;
        self.bring_back(files, fx);
    }

    /// Moves files back to their states before a decision or an undone turn, the last one first.
    fn bring_back(&mut self, files: Moves, fx: &mut Effects) {
        let mut left = Vec::new();
        for moved in files.into_iter().rev() {
            let path = moved.place().to_owned();
            if !self.shift(&path, Aim::Back(Box::new(moved)), fx) {
                left.push(path);
            }
        }
        let text = match &left[..] {
            [] => return,
            [path] => format!("{}: there was nothing left to undo.", path.display()),
            left => format!("In {} files, there was nothing left to undo.", left.len()),
        };
        fx.push(notify(Level::Warn, text));
    }

    /// Rejects the pending changes of the last turn; `false` if there are none.
    pub(super) fn reject_turn(&mut self, session: Option<SessionKey>, fx: &mut Effects) -> bool {
        let Some(turn) = self.last_undoable(session, Of::Pending) else {
            return false;
        };
        let (any, lost) = self.shift_all(turn, Of::Pending, fx);
        self.tell_lost(turn, &lost, fx);
        any || !lost.is_empty()
    }

    /// Returns the decisions that accept the pending changes of the last turn that has some to accept.
    pub(super) fn accepts_of_turn(&self, session: Option<SessionKey>) -> Vec<(PathBuf, Decide)> {
        let is_left = |turn, _: &Path, file: &FileReview| file.see_turn(turn).is_some();
        let Some(turn) = self.last_turn(session, is_left) else {
            return Vec::new();
        };
        let files = self.files_of(turn).into_iter();
        let accepts = files.filter_map(|path| {
            let seen = self.reviews.get(&path)?.see_turn(turn)?;
            Some((path, Decide::accept(seen)))
        });
        accepts.collect()
    }

    /// Moves every file of a turn to its state without the turn. Returns whether any file moves,
    /// and the files left unchanged with the reasons.
    fn shift_all(
        &mut self,
        turn: TurnKey,
        of: Of,
        fx: &mut Effects,
    ) -> (bool, Vec<(PathBuf, String)>) {
        let mut any = false;
        let mut lost = Vec::new();
        let mut files = self.files_of(turn);
        files.sort_by_key(|path| {
            let turn = self.reviews.get(path)?.of_turn(turn)?;
            Some(order_of_undo(&turn.origin, turn.from.as_deref()))
        });
        for path in files {
            match self.lost_of(&path, turn) {
                Some(why) => lost.push((path, why)),
                None => any |= self.shift(&path, Aim::Without(turn, of), fx),
            }
        }
        (any, lost)
    }

    /// Reports that no turn can be undone, and the files that prevent it.
    fn nothing_to_undo(&self, session: Option<SessionKey>, fx: &mut Effects) {
        let turns = self.reviews.iter().flat_map(|(_, file)| &file.turns);
        let turns = turns.map(|turn| turn.turn);
        let of_session = |turn: &TurnKey| session.is_none_or(|key| turn.session == key);
        let mut turns: Vec<TurnKey> = turns.filter(of_session).collect();
        turns.sort_by_key(|turn| turn.number);
        let text = match session {
            Some(_) => "There is nothing left to undo in this chat's turns.",
            None => "There is nothing left to undo in any turn.",
        };
        fx.push(notify(Level::Info, text));
        if let Some(turn) = turns.pop() {
            let files = self.files_of(turn).into_iter();
            let lost = files.filter_map(|path| {
                let why = self.lost_of(&path, turn)?;
                Some((path, why))
            });
            self.tell_lost(turn, &lost.collect::<Vec<_>>(), fx);
        }
    }

    /// Returns the last turn that can still be undone, as far as `of` says.
    fn last_undoable(&self, session: Option<SessionKey>, of: Of) -> Option<TurnKey> {
        self.last_turn(session, |turn, path, file| {
            let is_lost = of == Of::All && self.lost_of(path, turn).is_some();
            !is_lost && file.without_turn(turn, of).is_some()
        })
    }

    /// Returns the last turn of which any file is left, as `is_left` says.
    fn last_turn(
        &self,
        session: Option<SessionKey>,
        is_left: impl Fn(TurnKey, &Path, &FileReview) -> bool,
    ) -> Option<TurnKey> {
        type Files<'a> = Vec<(&'a PathBuf, &'a FileReview)>;
        let mut turns: BTreeMap<TurnKey, Files> = BTreeMap::new();
        for (path, file) in self.reviews.iter() {
            for turn in file.turns.iter().map(|turn| turn.turn) {
                turns.entry(turn).or_default().push((path, file));
            }
        }
        let mut turns: Vec<(TurnKey, Files)> = turns.into_iter().collect();
        turns.retain(|(turn, _)| session.is_none_or(|key| turn.session == key));
        turns.sort_by_key(|(turn, _)| turn.number);
        // Only a trial undo shows whether a turn has changes left, so the search starts at the last
        // turn.
        let mut turns = turns.into_iter().rev();
        let found = turns.find(|(turn, files)| {
            let mut files = files.iter();
            files.any(|(path, file)| is_left(*turn, path, file))
        });
        found.map(|(turn, _)| turn)
    }

    fn files_of(&self, turn: TurnKey) -> Vec<PathBuf> {
        let files = self.reviews.iter();
        let files = files.filter(|(_, file)| file.of_turn(turn).is_some());
        files.map(|(path, _)| path.clone()).collect()
    }

    /// Returns the effects of undoing a turn, file by file, for the user to confirm.
    fn undo_view(&self, turn: TurnKey) -> UndoView {
        let asked = self.reviews.turns.asked(turn);
        let title = match asked {
            Some(asked) => format!("Undo the turn “{}”?", shortened(asked, 40)),
            None => "Undo the last turn?".to_owned(),
        };
        let mut lines: Vec<Line> = Vec::new();
        let mut lost: Vec<Line> = Vec::new();
        for path in self.files_of(turn) {
            let Some(review) = self.reviews.get(&path) else {
                continue;
            };
            let name = self.name_in(turn, &path);
            if let Some(why) = self.lost_of(&path, turn) {
                let text = format!(" leave       {name}  ({why})");
                lost.push(diffview::whole(text, "AcpWarning"));
                continue;
            }
            let Some(plan) = review.without_turn(turn, Of::All) else {
                continue;
            };
            let (added, removed) = counts(review.ledger.current(), &plan.after);
            let is_deleted = plan.whole.as_ref().is_some_and(FileState::is_missing);
            let is_back = review.now.is_missing() && plan.whole.is_some() && !is_deleted;
            let lines_changed = match added + removed {
                0 => String::new(),
                _ => format!("  +{added} -{removed}"),
            };
            let mut text = match (is_deleted, is_back, &plan.to) {
                (true, ..) => format!(" delete      {name}"),
                (_, true, _) => format!(" bring back  {name}  +{added}"),
                (.., Some(to)) => {
                    let to = self.name_in(turn, to);
                    format!(" move        {name} back to {to}{lines_changed}")
                }
                _ => format!(" restore     {name}{lines_changed}"),
            };
            if let Some(whole) = &plan.whole
                && !is_deleted
                && let (Some(old), Some(new)) = (whole.mode, review.now.mode)
                && old != new
            {
                let (new, old) = (new & 0o7777, old & 0o7777);
                text.push_str(&format!("  mode {new:o} → {old:o}"));
            }
            if !plan.conflicts.is_empty() {
                let places = plural(plan.conflicts.len(), "place");
                text.push_str(&format!(
                    "  ({places} changed since: stays, and is offered)"
                ));
            }
            let group = if is_deleted {
                "AcpSignDelete"
            } else {
                "AcpPath"
            };
            lines.push(diffview::whole(text, group));
        }
        lines.extend(lost);
        lines.push(Line::default());
        let text = " Your later edits are kept. `:Acp undo-turn!` brings the turn back.";
        lines.push(diffview::whole(text.into(), "AcpDim"));
        UndoView {
            title: title.into(),
            lines,
        }
    }
}
