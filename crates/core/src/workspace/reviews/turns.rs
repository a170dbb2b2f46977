//! The effects of each turn on a file: the text before it, and what its agent made of that.
//!
//! Invariants: both texts exclude changes that others made later, by a decision or otherwise, so a
//! turn's own changes are known at any time. The last [`TURNS`] turns are kept.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::FileReview;
use super::revert::{Place, Reverted, Work};
use crate::spine::ids::{SessionKey, TurnKey};
use crate::spine::project::{Body, FileState};
use crate::text::diff::{Conflict, Hunk, changes, diff, merge};
use crate::text::{LineEdit, Text};
use crate::workspace::ledger::{Review, Which};

/// The number of turns whose changes of a file are kept.
const TURNS: usize = 20;

/// The number of states that a turn's ledger remembers.
const STATES: usize = 20;

/// The turns of all sessions, with the first line of each prompt.
#[derive(Debug, Default)]
pub struct Turns {
    asked: BTreeMap<SessionKey, Vec<String>>,
}

/// The effects of one turn on a file.
#[derive(Debug)]
pub struct TurnReview {
    pub turn: TurnKey,
    /// Tells the agent's changes in the turn from those of others.
    pub ledger: Review,
    /// The text when the turn began.
    pub(super) first: Text,
    /// The text before the turn, with the lines of others that its agent has changed or seen.
    pub(super) before: Text,
    /// The text accepted of it when the turn began, and the text accepted now.
    pub(super) began: Text,
    pub(super) accepted: Text,
    /// What others have made of the text before with the changes of the turn's agent, which is the
    /// base.
    pub(super) since: Review,
    /// The file before the turn.
    pub origin: FileState,
    /// The path before the turn moved the file.
    pub from: Option<PathBuf>,
    /// The text before the turn was undone, and the one without it, if it is undone.
    undone: Option<(Text, Text)>,
}

/// The changes that remove a turn's effects from a file.
#[derive(Debug)]
pub struct TurnPlan {
    /// In rows of the present text.
    pub edits: Vec<LineEdit>,
    /// The text after the edits; `base` is its accepted version.
    pub after: Text,
    pub base: Text,
    /// Places that the user has changed since, in rows of `after`; the user's text stays there.
    pub conflicts: Vec<Conflict>,
    /// The state of the file as a whole afterwards, if more than its lines must change.
    pub whole: Option<FileState>,
    /// The path that the file is moved to.
    pub to: Option<PathBuf>,
}

/// Selects changes of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// The pending changes.
    Pending,
    /// The pending and the accepted changes.
    All,
}

impl Turns {
    /// Records that a turn begins, with the first line of its prompt.
    pub fn begins(&mut self, session: SessionKey, prompt: &str) {
        let first = prompt.lines().find(|line| !line.trim().is_empty());
        let asked = first.unwrap_or_default().trim().to_owned();
        self.asked.entry(session).or_default().push(asked);
    }

    /// Returns the turn to which a new change by the session's agent is attributed.
    pub fn current(&self, session: SessionKey) -> TurnKey {
        let number = self.asked.get(&session).map_or(0, Vec::len);
        TurnKey {
            session,
            number: u32::try_from(number).unwrap_or(u32::MAX),
        }
    }

    /// Returns the first line of a turn's prompt.
    pub fn asked(&self, turn: TurnKey) -> Option<&str> {
        let number = usize::try_from(turn.number).ok()?.checked_sub(1)?;
        let asked = self.asked.get(&turn.session)?.get(number)?;
        Some(asked.as_str()).filter(|asked| !asked.is_empty())
    }
}

impl TurnReview {
    fn new(turn: TurnKey, before: Text, accepted: Text, origin: FileState) -> Self {
        Self {
            turn,
            ledger: Review::brief(before.clone(), STATES),
            since: Review::brief(before.clone(), STATES),
            first: before.clone(),
            before,
            began: accepted.clone(),
            accepted,
            origin,
            from: None,
            undone: None,
        }
    }

    fn work(&self) -> Work<'_> {
        Work {
            before: &self.before,
            began: &self.began,
            accepted: &self.accepted,
            own: self.since.base(),
            now: self.since.current(),
            since: self.since.hunks(),
        }
    }

    /// Returns the turn's changes that stand in the present text, wholly or in part: each from the
    /// text before to the present one.
    pub(super) fn hunks(&self) -> Vec<Hunk> {
        let places = self.work().places().into_iter();
        let hunks = places.map(|place| Hunk {
            old: place.before,
            new: place.now,
            conflict: None,
        });
        hunks.collect()
    }

    /// Records the agent's changes until now.
    pub(super) fn changed(&mut self) {
        let base = self.ledger.base();
        let accepted = merge(&self.before, &self.accepted, base);
        self.accepted.apply_all(&accepted.edits);
        let mut own = self.ledger.alone().clone();
        own.apply_all(&merge(&self.first, &own, base).edits);
        self.before = base.clone();
        self.since = Review::brief(own, STATES);
        self.since.follow_to(self.ledger.current().clone());
    }

    /// Adds the lines that the turn has added or removed.
    fn add_lines(&self, lines: &mut HashSet<String>) {
        for change in changes(&self.before, self.since.base()) {
            lines.extend(self.before.to_lines(change.old));
            lines.extend(self.since.base().to_lines(change.new));
        }
    }
}

impl FileReview {
    /// Sets the turn to which the agent's next changes belong.
    pub(super) fn enter_turn(&mut self, turn: TurnKey, origin: &FileState) {
        self.turn = Some(turn);
        if self.turns.iter().all(|known| known.turn != turn) {
            let (base, accepted) = (self.ledger.current().clone(), self.ledger.base().clone());
            let begun = TurnReview::new(turn, base, accepted, origin.clone());
            self.turns.push(begun);
            let many = self.turns.len().saturating_sub(TURNS);
            self.turns.drain(..many);
        }
    }

    /// Records that the running turn has moved the file.
    pub fn moved_in_turn(&mut self, from: &Path) {
        let running = self.turn;
        let mut turns = self.turns.iter_mut();
        if let Some(turn) = turns.find(|turn| Some(turn.turn) == running) {
            turn.from.get_or_insert_with(|| from.to_owned());
        }
    }

    /// Records that a turn is undone in a text, or brought back (`None`).
    pub(super) fn turn_is_undone(&mut self, turn: TurnKey, before: Option<Text>) {
        let mut turns = self.turns.iter_mut();
        if let Some(turn) = turns.find(|known| known.turn == turn) {
            turn.undone = before.map(|before| (before, turn.since.current().clone()));
        }
    }

    /// Applies an edit by the running turn's agent to every turn's ledger.
    pub(super) fn turns_agent_edited(&mut self, edit: &LineEdit) {
        for turn in &mut self.turns {
            match Some(turn.turn) == self.turn {
                true => turn.ledger.agent_edited(edit),
                false => turn.ledger.user_edited(edit),
            }
            turn.since.follow(edit);
        }
    }

    /// Applies an edit outside any turn, by the user or a decision, to every turn's ledger.
    pub(super) fn turns_user_edited(&mut self, edit: &LineEdit) {
        for turn in &mut self.turns {
            turn.ledger.user_edited(edit);
            turn.since.follow(edit);
        }
    }

    /// Replaces the text in every turn's ledger, with the version of the running turn's agent or of
    /// another author.
    pub(super) fn turns_wrote(&mut self, text: &Text, is_agent: bool) {
        for turn in &mut self.turns {
            if is_agent && Some(turn.turn) == self.turn {
                turn.ledger.agent_wrote(text.clone());
                turn.changed();
            } else {
                turn.ledger.user_wrote(text.clone());
                turn.since.follow_to(text.clone());
            }
        }
    }

    /// Applies an edit that brings what another program has left to every turn's ledger.
    pub(super) fn turns_others_edited(&mut self, edit: &LineEdit) {
        for turn in &mut self.turns {
            turn.ledger.others_edited(edit);
            turn.since.follow(edit);
        }
    }

    /// Replaces the text in every turn's ledger with what another program has left.
    pub(super) fn turns_others_left(&mut self, text: &Text) {
        for turn in &mut self.turns {
            turn.ledger.others_left(text);
            turn.since.follow_to(text.clone());
        }
    }

    /// Applies [`FileReview::was_agents`] to the running turn's ledger.
    pub(super) fn turn_was_agents(&mut self, taken: &Text, origin: &FileState) {
        let running = self.turn;
        let mut turns = self.turns.iter_mut();
        if let Some(turn) = turns.find(|turn| Some(turn.turn) == running)
            && let Some(before) = origin.text()
        {
            turn.ledger.was_agents(&before, taken);
            for text in [&mut turn.first, &mut turn.began] {
                *text = merge(taken, text, &before).with_theirs(text);
            }
            turn.changed();
            if turn.origin.text().as_ref() == Some(taken) {
                turn.origin = origin.clone();
            }
        }
    }

    /// Marks the agent's edits as complete.
    pub(super) fn turns_agent_done(&mut self) {
        for turn in &mut self.turns {
            turn.ledger.agent_done();
            if Some(turn.turn) == self.turn {
                turn.changed();
            }
        }
    }

    /// Records in the turns that the accepted text, which was this one, has changed by a decision: it
    /// is accepted of the text before a turn, unless it is the work of that turn or a later one.
    pub(super) fn turns_accept(&mut self, before: &Text) {
        if self.turns.is_empty() {
            return;
        }
        let mut edits = diff(before, self.ledger.base());
        let mut lines = HashSet::new();
        for turn in self.turns.iter_mut().rev() {
            if edits.is_empty() {
                return;
            }
            turn.add_lines(&mut lines);
            edits.retain(|edit| {
                let mut gone = before.lines(edit.start..edit.start + edit.removed);
                let mut new = edit.lines.iter();
                !new.any(|line| lines.contains(line)) && !gone.any(|line| lines.contains(&*line))
            });
            let mut after = before.clone();
            after.apply_all(&edits);
            let merged = merge(before, &turn.accepted, &after);
            turn.accepted.apply_all(&merged.edits);
        }
    }

    /// Returns the effects of a turn on the file, if they are still kept.
    pub fn of_turn(&self, turn: TurnKey) -> Option<&TurnReview> {
        self.turns.iter().find(|known| known.turn == turn)
    }

    /// Returns every turn's ledger.
    #[cfg(test)]
    pub fn turn_ledgers(&self) -> impl Iterator<Item = &Review> {
        self.turns.iter().map(|turn| &turn.ledger)
    }

    /// Returns the changes after each turn.
    #[cfg(test)]
    pub fn since_turns(&self) -> impl Iterator<Item = &Review> {
        self.turns.iter().map(|turn| &turn.since)
    }

    /// Returns whether the pending changes of the file as a whole are those of a turn: it began with
    /// the accepted state, and no other session has changed the file since.
    pub(super) fn is_whole_of(&self, turn: TurnKey) -> bool {
        let mut turns = self.turns.iter().skip_while(|known| known.turn != turn);
        let began = turns
            .next()
            .is_some_and(|turn| turn.origin.is_like(&self.origin) && turn.from == self.from);
        began && turns.all(|later| later.turn.session == turn.session) && !self.whole().is_empty()
    }

    /// Returns the rows of a turn's pending changes that are not conflicts.
    pub(super) fn pending_of(&self, turn: TurnKey) -> Vec<Range<usize>> {
        let known = self.of_turn(turn);
        let hunks = known.map(|turn| turn.hunks());
        let rows = hunks.unwrap_or_default().into_iter().map(|hunk| hunk.new);
        let pending = rows.filter(|rows| {
            let hit = self.ledger.hit(&Which::Rows(rows.clone()));
            !hit.is_empty() && hit.iter().all(|hunk| hunk.conflict.is_none())
        });
        pending.collect()
    }

    /// Plans the removal of a turn's changes; `None` if nothing would change.
    ///
    /// Other authors' later changes stay if they lie beside the turn's changes or in lines that it
    /// added. Where they are mixed with lines that the turn replaced, the present lines stay and
    /// the text before the turn is offered.
    pub fn without_turn(&self, turn: TurnKey, of: Of) -> Option<TurnPlan> {
        let known = self.of_turn(turn)?;
        let current = self.ledger.current();
        let is_pending = |place: &Place| {
            let which = Which::Rows(place.now.clone());
            of == Of::All || !self.ledger.hit(&which).is_empty()
        };
        let mut reverted = known.work().revert(is_pending);
        match &known.undone {
            Some((_, after)) if after == current => reverted = Reverted::default(),
            // An undo in the buffer has brought the turn back, without its conflicts.
            Some((before, _)) if before == current => {}
            // What others have changed is decided.
            Some(_) => reverted.conflicts.clear(),
            None => {}
        }
        let edits = reverted.edits;
        let mut after = current.clone();
        after.apply_all(&edits);
        let base = self.ledger.base();
        let mut base = known.work().revert_accepted(base, &reverted.contested);
        if !reverted.kept.is_empty() {
            // What the user wrote into added lines is left, and no decision about it is pending.
            let without = self.without_users(&after, &reverted.kept);
            base.apply_all(&merge(&without, &base, &after).edits);
        }
        let conflicts = reverted.conflicts;
        let is_whole = of == Of::All || !self.whole().is_empty();
        let whole = self.whole_without(known, &after).filter(|_| is_whole);
        let is_elsewhere = |from: &PathBuf| !self.now.is_missing() && *from != self.path;
        let to = known.from.clone().filter(is_elsewhere);
        let to = to.filter(|_| of == Of::All || self.from.is_some());
        let is_nothing = edits.is_empty() && conflicts.is_empty();
        if is_nothing && whole.is_none() && to.is_none() {
            return None;
        }
        Some(TurnPlan {
            edits,
            after,
            base,
            conflicts,
            whole,
            to,
        })
    }

    /// Returns a text without the user's lines in these rows.
    fn without_users(&self, text: &Text, rows: &[Range<usize>]) -> Text {
        let mut without = text.clone();
        for users in changes(self.ledger.alone(), text).iter().rev() {
            for rows in rows.iter().rev() {
                let rows = rows.start.max(users.new.start)..rows.end.min(users.new.end);
                if !rows.is_empty() {
                    without.apply(&LineEdit {
                        start: rows.start,
                        removed: rows.len(),
                        lines: Vec::new(),
                    });
                }
            }
        }
        without
    }

    /// Returns the file's state before a turn, with this text, if it differs from the present state
    /// in more than lines.
    fn whole_without(&self, turn: &TurnReview, after: &Text) -> Option<FileState> {
        let origin = &turn.origin;
        if self.now.is_like(origin) {
            return None;
        }
        let mut whole = origin.clone();
        whole.stamp = None;
        match &mut whole.body {
            Body::Text(content) => content.text.clone_from(after),
            // The file stays because it contains the user's lines.
            Body::Missing if !after.is_empty() => return None,
            Body::Bytes { blob: None, .. } | Body::Unreadable(_) => return None,
            _ => {}
        }
        Some(whole)
    }
}
