//! The effects of each turn on a file: one ledger per turn, beside the session's.
//!
//! Invariants: a turn's base is the text before the turn first changed the file, plus other
//! authors' later changes outside its own. A decision in the session's ledger affects a turn's
//! ledger only through the text, so an accepted change can still be undone. The last [`TURNS`]
//! turns are kept.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::FileReview;
use crate::spine::ids::{SessionKey, TurnKey};
use crate::spine::project::{Body, FileState};
use crate::text::diff::align::Change;
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
    pub ledger: Review,
    /// The text before the turn, and what was accepted of it.
    pub(super) began: (Text, Text),
    /// The user has accepted changes since.
    has_accepted: bool,
    /// The file before the turn; its text is the ledger's base.
    pub origin: FileState,
    /// The path before the turn moved the file.
    pub from: Option<PathBuf>,
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
    fn new(turn: TurnKey, base: Text, accepted: Text, origin: FileState) -> Self {
        Self {
            turn,
            ledger: Review::brief(base.clone(), STATES),
            began: (base, accepted),
            has_accepted: false,
            origin,
            from: None,
        }
    }

    /// Returns whether other authors have changed rows of a hunk since the agent wrote them.
    fn touched(&self, hunk: &Hunk, since: &[LineEdit]) -> bool {
        let rows = &hunk.new;
        since.iter().any(|edit| {
            let end = edit.start + edit.removed;
            edit.start < rows.end && rows.start < end
                || edit.removed == 0 && rows.start < edit.start && edit.start < rows.end
        })
    }

    /// Returns whether others have put back, in place of a hunk, what was accepted before the turn:
    /// its old lines with the edits `pending`.
    fn is_gone(&self, hunk: &Hunk, since: &[LineEdit], pending: &[LineEdit]) -> bool {
        let mut since_here = since.iter().filter(|edit| edit.start == hunk.new.start);
        let is_others = match hunk.new.is_empty() {
            true => since_here.any(|edit| edit.removed == 0),
            false => self.touched(hunk, since),
        };
        let current = self.ledger.current();
        is_others
            && lines_with(pending, self.ledger.base(), hunk.old.clone())
                == current.to_lines(hunk.new.clone())
    }

    /// Returns the edits that lead from the text before the turn to what is accepted of it: they
    /// take back what was pending then.
    fn pending_before(&self) -> Vec<LineEdit> {
        let (text, accepted) = &self.began;
        match text == accepted {
            true => Vec::new(),
            false => merge(text, self.ledger.base(), accepted).edits,
        }
    }

    /// Returns what was accepted of the text before the turn.
    fn accepted_before(&self, pending: &[LineEdit]) -> Text {
        let mut text = self.ledger.base().clone();
        text.apply_all(pending);
        text
    }

    /// Accepts of the text before the turn what the user has accepted of it since.
    fn accepts(&mut self, accepted: &Review, hunks: &[Hunk]) {
        let base = accepted.base();
        let mine = |hunk: &Hunk| !self.ledger.hit(&Which::Rows(hunk.new.clone())).is_empty();
        let hunks = hunks.iter().filter(|hunk| !mine(hunk));
        let edits = hunks.map(|hunk| LineEdit {
            start: hunk.old.start,
            removed: hunk.old.len(),
            lines: accepted.current().to_lines(hunk.new.clone()),
        });
        let edits: Vec<LineEdit> = edits.collect();
        if edits.is_empty() {
            return;
        }
        let mut after = base.clone();
        after.apply_all(&edits);
        let merged = merge(base, &self.began.1, &after);
        self.began.1.apply_all(&merged.edits);
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

    /// Applies an edit by the running turn's agent to every turn's ledger.
    pub(super) fn turns_agent_edited(&mut self, edit: &LineEdit) {
        for turn in &mut self.turns {
            match Some(turn.turn) == self.turn {
                true => turn.ledger.agent_edited(edit),
                false => turn.ledger.user_edited(edit),
            }
        }
    }

    /// Applies an edit that carries out a decision to every turn's ledger.
    pub(super) fn turns_decided(&mut self, edit: &LineEdit) {
        for turn in &mut self.turns {
            turn.ledger.decided_elsewhere(edit);
        }
    }

    /// Notes a decision after which nothing is pending: what no accept has kept is gone.
    pub(super) fn turns_are_decided(&mut self) {
        for turn in self.turns.iter_mut().filter(|turn| !turn.has_accepted) {
            turn.ledger.accept(&Which::All);
        }
    }

    /// Applies an edit by the user to every turn's ledger.
    pub(super) fn turns_user_edited(&mut self, edit: &LineEdit) {
        for turn in &mut self.turns {
            turn.ledger.user_edited(edit);
        }
    }

    /// Replaces the text in every turn's ledger, with the version of the running turn's agent or of
    /// another author.
    pub(super) fn turns_wrote(&mut self, text: &Text, is_agent: bool) {
        for turn in &mut self.turns {
            if is_agent && Some(turn.turn) == self.turn {
                turn.ledger.agent_wrote(text.clone());
            } else {
                turn.ledger.user_wrote(text.clone());
            }
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
            if turn.origin.text().as_ref() == Some(taken) {
                turn.origin = origin.clone();
            }
        }
    }

    /// Marks the agent's edits as complete.
    pub(super) fn turns_agent_done(&mut self) {
        for turn in &mut self.turns {
            turn.ledger.agent_done();
        }
    }

    /// Records in the turns that the user is about to accept hunks.
    pub(super) fn turns_accept(&mut self, hunks: &[Hunk]) {
        for turn in &mut self.turns {
            turn.has_accepted = true;
            if turn.began.0 != turn.began.1 {
                turn.accepts(&self.ledger, hunks);
            }
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

    /// Returns the rows of a turn's pending changes that are not conflicts.
    pub(super) fn pending_of(&self, turn: TurnKey) -> Vec<Range<usize>> {
        let hunks = self.of_turn(turn).map(|turn| turn.ledger.hunks());
        let rows = hunks.unwrap_or_default().iter().map(|hunk| &hunk.new);
        let pending = rows.filter(|rows| {
            let hit = self.ledger.hit(&Which::Rows((*rows).clone()));
            !hit.is_empty() && hit.iter().all(|hunk| hunk.conflict.is_none())
        });
        pending.cloned().collect()
    }

    /// Plans the removal of a turn's changes; `None` if nothing would change.
    ///
    /// Other authors' later changes stay if they lie beside the turn's changes or in lines that it
    /// added. Where they are mixed with lines that the turn replaced, the present lines stay and
    /// the text before the turn is offered.
    pub fn without_turn(&self, turn: TurnKey, of: Of) -> Option<TurnPlan> {
        let known = self.of_turn(turn)?;
        let current = self.ledger.current();
        let since = diff(current, known.ledger.alone());
        let pending = known.pending_before();
        let mut edits: Vec<LineEdit> = Vec::new();
        let mut accepted: Vec<LineEdit> = Vec::new();
        let mut conflicts: Vec<Conflict> = Vec::new();
        let mut kept = Vec::new();
        let mut grown = 0;
        for hunk in known.ledger.hunks() {
            let which = Which::Rows(hunk.new.clone());
            let is_decided = of == Of::Pending && self.ledger.hit(&which).is_empty();
            if is_decided || known.is_gone(hunk, &since, &pending) {
                continue;
            }
            let theirs = known.ledger.base().to_lines(hunk.old.clone());
            let base = known.ledger.base();
            let new: Vec<LineEdit> = if !known.touched(hunk, &since) {
                let parts = self.split(hunk);
                let accepted_of = |rows| lines_with(&pending, base, rows);
                accepted.extend(parts.iter().map(|part| part.back(accepted_of)));
                let back = parts
                    .iter()
                    .map(|part| part.back(|rows| base.to_lines(rows)));
                back.collect()
            } else if hunk.old.is_empty() {
                let edits = agents_lines(hunk, &since);
                accepted.extend(edits.iter().cloned());
                edits
            } else {
                let moved = |row: usize| row.saturating_add_signed(grown);
                conflicts.push(Conflict {
                    rows: moved(hunk.new.start)..moved(hunk.new.end),
                    theirs,
                    base: Vec::new(),
                });
                continue;
            };
            let start = hunk.new.start.saturating_add_signed(grown);
            for edit in &new {
                grown += edit.lines.len() as isize - edit.removed as isize;
            }
            if known.touched(hunk, &since) {
                kept.push(start..hunk.new.end.saturating_add_signed(grown));
            }
            edits.extend(new);
        }
        let mut after = current.clone();
        after.apply_all(&edits);
        let mut base = match of == Of::All && since.is_empty() {
            true => known.accepted_before(&pending),
            false => self.base_with(&accepted),
        };
        if !kept.is_empty() {
            // What the user wrote into added lines is left, and no decision about it is pending.
            let mut decided = Review::new(base);
            decided.decision_wrote(after.clone());
            for users in changes(self.ledger.alone(), &after) {
                let users = users.new;
                for rows in &kept {
                    let rows = rows.start.max(users.start)..rows.end.min(users.end);
                    if !rows.is_empty() {
                        decided.accept(&Which::Rows(rows));
                    }
                }
            }
            base = decided.base().clone();
        }
        let whole = self.whole_without(known, &after);
        let elsewhere = |from: &PathBuf| !self.now.is_missing() && *from != self.real;
        let to = known.from.clone().filter(elsewhere);
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

    /// Returns the accepted text with edits of the present text applied to it, each on its own,
    /// except where they conflict.
    fn base_with(&self, edits: &[LineEdit]) -> Text {
        let (current, hunks) = (self.ledger.current(), self.ledger.hunks());
        let mut base = self.ledger.base().clone();
        for part in parts(edits, hunks).iter().rev() {
            let above = part.hunks.start.checked_sub(1);
            let above = above.and_then(|above| hunks.get(above));
            let start = match above {
                Some(above) => part.rows.start - above.new.end + above.old.end,
                None => part.rows.start,
            };
            let met = hunks.get(part.hunks.clone()).unwrap_or_default().iter();
            let end = met.last().map_or(start + part.rows.len(), |last| {
                last.old.end + (part.rows.end - last.new.end)
            });
            if part.rows.is_empty() && start < end {
                // The lines that come back were removed here, and that is not accepted.
                continue;
            }
            let mut after = Text::from_lines(current.to_lines(part.rows.clone()));
            let mut here = Text::from_lines(base.to_lines(start..end));
            for edit in edits
                .get(part.edits.clone())
                .unwrap_or_default()
                .iter()
                .rev()
            {
                let before = after.clone();
                after.apply(&LineEdit {
                    start: edit.start - part.rows.start,
                    ..edit.clone()
                });
                let merged = merge(&before, &here, &after);
                here.apply_all(&merged.edits);
            }
            base.apply(&LineEdit {
                start,
                removed: end - start,
                lines: here.to_lines(0..here.len()),
            });
        }
        base
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

    /// Splits a turn's change between its decided and pending parts.
    fn split(&self, hunk: &Hunk) -> Vec<Hunk> {
        let rows = &hunk.new;
        let decided = self.ledger.hunks().iter();
        let edges = decided.flat_map(|other| [other.new.start, other.new.end]);
        let mut edges: Vec<usize> = edges
            .filter(|row| rows.start < *row && *row < rows.end)
            .chain([rows.end])
            .collect();
        edges.dedup();
        let mut start = rows.start;
        let parts = edges.into_iter().map(|end| {
            let part = hunk.part(start - rows.start..end - rows.start);
            start = end;
            part
        });
        parts.collect()
    }
}

impl Hunk {
    /// Returns the edit that takes a change back, with the lines of its rows before.
    fn back(&self, lines: impl Fn(Range<usize>) -> Vec<String>) -> LineEdit {
        LineEdit {
            start: self.new.start,
            removed: self.new.len(),
            lines: lines(self.old.clone()),
        }
    }
}

/// Returns the lines of these rows as edits of the text leave them. A change that reaches beyond the
/// rows is made in its part there.
fn lines_with(edits: &[LineEdit], text: &Text, rows: Range<usize>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut row = rows.start;
    for edit in edits {
        let new = edit.start..edit.start + edit.removed;
        // What was removed lies above a row, or between no rows.
        let is_above = new.end < row || new.end == row && !new.is_empty();
        let is_below = new.start > rows.end || new.start == rows.end && !rows.is_empty();
        if is_above || is_below {
            continue;
        }
        let here = new.start.max(row)..new.end.min(rows.end);
        let old = 0..edit.lines.len();
        let part = Change {
            old,
            new: new.clone(),
        }
        .part(&(here.start - new.start..here.end - new.start));
        lines.extend(text.to_lines(row..here.start));
        lines.extend_from_slice(edit.lines.get(part.old).unwrap_or_default());
        row = here.end;
    }
    lines.extend(text.to_lines(row..rows.end));
    lines
}

/// Rows in which edits and hunks touch each other, with the indices of both.
struct Part {
    rows: Range<usize>,
    edits: Range<usize>,
    hunks: Range<usize>,
}

/// Groups sorted edits with the hunks that they touch; outside these parts no edit touches a hunk.
fn parts(edits: &[LineEdit], hunks: &[Hunk]) -> Vec<Part> {
    let mut parts = Vec::new();
    let (mut edit, mut hunk) = (0, 0);
    while let Some(first) = edits.get(edit) {
        let above = |other: &Hunk| other.new.start < first.start;
        let start = match hunks.get(hunk).filter(|hunk| above(hunk)) {
            Some(hunk) => hunk.new.start,
            None => first.start,
        };
        let mut part = Part {
            rows: start..start,
            edits: edit..edit,
            hunks: hunk..hunk,
        };
        loop {
            let end = part.rows.end;
            if let Some(next) = edits.get(edit).filter(|next| next.start <= end) {
                part.rows.end = end.max(next.start + next.removed);
                edit += 1;
            } else if let Some(next) = hunks.get(hunk).filter(|next| next.new.start <= end) {
                part.rows.end = end.max(next.new.end);
                hunk += 1;
            } else {
                break;
            }
        }
        part.edits.end = edit;
        part.hunks.end = hunk;
        if !part.edits.is_empty() {
            parts.push(part);
        }
    }
    parts
}

/// Returns the edits that remove the agent's lines from added lines but keep the other authors'.
fn agents_lines(hunk: &Hunk, since: &[LineEdit]) -> Vec<LineEdit> {
    let gone = |start: usize, end: usize| LineEdit {
        start,
        removed: end - start,
        lines: Vec::new(),
    };
    let mut edits = Vec::new();
    let mut row = hunk.new.start;
    for edit in since {
        let (start, end) = (edit.start, edit.start + edit.removed);
        if end <= row || start >= hunk.new.end {
            continue;
        }
        if start > row {
            edits.push(gone(row, start));
        }
        row = end.min(hunk.new.end);
    }
    if row < hunk.new.end {
        edits.push(gone(row, hunk.new.end));
    }
    edits
}
