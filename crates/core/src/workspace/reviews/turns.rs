//! What each turn has done to a file: a ledger a turn, beside the session's.
//!
//! Invariants: a turn's base is the text it met when it first changed the file, plus what others
//! have changed since beside its own changes; a decision in the session's ledger changes the text
//! at most, so an accepted change can still be undone. The last [`TURNS`] turns are kept.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::FileReview;
use crate::spine::ids::{SessionKey, TurnKey};
use crate::spine::project::{Body, FileState};
use crate::text::diff::{Conflict, Hunk, diff, merge};
use crate::text::{LineEdit, Text};
use crate::workspace::changes::advance;
use crate::workspace::ledger::{Review, Which, agents_text};

/// How many turns' changes of a file are kept.
const TURNS: usize = 20;

/// How many states the ledger of a turn remembers.
const STATES: usize = 20;

/// The turns of all sessions, by what they were asked for.
#[derive(Debug, Default)]
pub struct Turns {
    asked: BTreeMap<SessionKey, Vec<String>>,
}

/// What one turn has done to a file.
#[derive(Debug)]
pub struct TurnReview {
    pub turn: TurnKey,
    pub ledger: Review,
    /// The text as the agent alone would have it in this turn: what differs is others'.
    written: Text,
    /// The file before the turn; the text of it is the ledger's base.
    pub origin: FileState,
    /// Where it was before the turn moved it.
    pub from: Option<PathBuf>,
}

/// How a file loses what a turn has done to it.
#[derive(Debug)]
pub struct TurnPlan {
    /// In rows of the text as it is.
    pub edits: Vec<LineEdit>,
    /// The text after that, and what is accepted of it.
    pub after: Text,
    pub base: Text,
    /// Places that the user has changed since, in rows of `after`: their text stays there.
    pub conflicts: Vec<Conflict>,
    /// The file as a whole after that, where it is another one now than lines can make it.
    pub whole: Option<FileState>,
    /// Where it is moved to then.
    pub to: Option<PathBuf>,
}

/// Which changes of a turn are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// Those that wait for a decision.
    Pending,
    /// The accepted ones as well.
    All,
}

impl Turns {
    /// Notes that a turn begins, and what was asked for.
    pub fn begins(&mut self, session: SessionKey, prompt: &str) {
        let first = prompt.lines().find(|line| !line.trim().is_empty());
        let asked = first.unwrap_or_default().trim().to_owned();
        self.asked.entry(session).or_default().push(asked);
    }

    /// Returns the turn that a change of a session's agent belongs to now.
    pub fn current(&self, session: SessionKey) -> TurnKey {
        let number = self.asked.get(&session).map_or(0, Vec::len);
        TurnKey {
            session,
            number: u32::try_from(number).unwrap_or(u32::MAX),
        }
    }

    /// Returns the first line of what a turn was asked for.
    pub fn asked(&self, turn: TurnKey) -> Option<&str> {
        let number = usize::try_from(turn.number).ok()?.checked_sub(1)?;
        let asked = self.asked.get(&turn.session)?.get(number)?;
        Some(asked.as_str()).filter(|asked| !asked.is_empty())
    }
}

impl TurnReview {
    fn new(turn: TurnKey, base: Text, origin: FileState) -> Self {
        Self {
            turn,
            written: base.clone(),
            ledger: Review::brief(base, STATES),
            origin,
            from: None,
        }
    }

    /// Returns the rows of a hunk that others have changed since the agent wrote them.
    fn touched(&self, hunk: &Hunk, since: &[LineEdit]) -> bool {
        let rows = &hunk.new;
        since.iter().any(|edit| {
            let end = edit.start + edit.removed;
            edit.start < rows.end && rows.start < end
                || edit.removed == 0 && rows.start < edit.start && edit.start < rows.end
        })
    }
}

impl FileReview {
    /// Notes whose turn the agent's next changes belong to.
    pub(super) fn enter_turn(&mut self, turn: TurnKey, origin: &FileState) {
        self.turn = Some(turn);
        if self.turns.iter().all(|known| known.turn != turn) {
            let base = self.ledger.current().clone();
            self.turns.push(TurnReview::new(turn, base, origin.clone()));
            let many = self.turns.len().saturating_sub(TURNS);
            self.turns.drain(..many);
        }
    }

    /// Notes that the turn that is running has moved the file.
    pub fn moved_in_turn(&mut self, from: &Path) {
        let running = self.turn;
        let mut turns = self.turns.iter_mut();
        if let Some(turn) = turns.find(|turn| Some(turn.turn) == running) {
            turn.from.get_or_insert_with(|| from.to_owned());
        }
    }

    /// Lets every turn's ledger follow an edit of the running turn's agent.
    pub(super) fn turns_agent_edited(&mut self, edit: &LineEdit) {
        for turn in &mut self.turns {
            match Some(turn.turn) == self.turn {
                true => turn.ledger.agent_edited(edit),
                false => turn.ledger.user_edited(edit),
            }
        }
    }

    /// Lets every turn's ledger follow an edit that no turn has made: the user's, or a decision.
    pub(super) fn turns_user_edited(&mut self, edit: &LineEdit) {
        for turn in &mut self.turns {
            turn.ledger.user_edited(edit);
        }
    }

    /// Lets every turn's ledger have a text that the running turn's agent wrote, or others.
    pub(super) fn turns_wrote(&mut self, text: &Text, is_agent: bool) {
        for turn in &mut self.turns {
            if is_agent && Some(turn.turn) == self.turn {
                turn.written = agents_text(&turn.written, turn.ledger.current(), text);
                turn.ledger.agent_wrote(text.clone());
            } else {
                turn.ledger.user_wrote(text.clone());
            }
        }
    }

    /// Lets the running turn's ledger learn what [`FileReview::was_agents`] does.
    pub(super) fn turn_was_agents(&mut self, taken: &Text, origin: &FileState) {
        let running = self.turn;
        let mut turns = self.turns.iter_mut();
        if let Some(turn) = turns.find(|turn| Some(turn.turn) == running)
            && let Some(before) = origin.text()
        {
            let mut base = turn.ledger.base().clone();
            advance(&mut base, taken, &before);
            turn.ledger.rebase(base);
            if turn.origin.text().as_ref() == Some(taken) {
                turn.origin = origin.clone();
            }
        }
    }

    /// Notes that the edits of the agent's are complete, which have found the text as `before`.
    pub(super) fn turns_agent_done(&mut self, before: &Text) {
        let current = self.ledger.current();
        for turn in &mut self.turns {
            turn.ledger.agent_done();
            if Some(turn.turn) == self.turn {
                turn.written = agents_text(&turn.written, before, current);
            }
        }
    }

    /// Returns what a turn has done to the file, if it is known.
    pub fn of_turn(&self, turn: TurnKey) -> Option<&TurnReview> {
        self.turns.iter().find(|known| known.turn == turn)
    }

    /// Returns what every turn's ledger is.
    #[cfg(test)]
    pub fn turn_ledgers(&self) -> impl Iterator<Item = &Review> {
        self.turns.iter().map(|turn| &turn.ledger)
    }

    /// Accepts what a turn has changed and is not decided yet; returns whether there was any.
    pub(super) fn accept_turn(&mut self, turn: TurnKey) -> bool {
        let rows = self.pending_of(turn);
        for rows in &rows {
            self.ledger.accept(&Which::Rows(rows.clone()));
        }
        !rows.is_empty()
    }

    /// Returns the rows of a turn's changes that wait for a decision and are no conflicts.
    fn pending_of(&self, turn: TurnKey) -> Vec<Range<usize>> {
        let hunks = self.of_turn(turn).map(|turn| turn.ledger.hunks());
        let rows = hunks.unwrap_or_default().iter().map(|hunk| &hunk.new);
        let pending = rows.filter(|rows| {
            let hit = self.ledger.hit(&Which::Rows((*rows).clone()));
            !hit.is_empty() && hit.iter().all(|hunk| hunk.conflict.is_none())
        });
        pending.cloned().collect()
    }

    /// Returns how the file loses what a turn has done; `None` if there is nothing to lose.
    ///
    /// What others have changed since stays: beside the turn's changes, and in lines it has added;
    /// where it is mixed with lines the turn has replaced, all of it stays and the text before is
    /// offered.
    pub fn without_turn(&self, turn: TurnKey, of: Of) -> Option<TurnPlan> {
        let known = self.of_turn(turn)?;
        let current = self.ledger.current();
        let since = diff(current, &known.written);
        let mut edits: Vec<LineEdit> = Vec::new();
        let mut conflicts: Vec<Conflict> = Vec::new();
        let mut kept = Vec::new();
        let mut grown = 0;
        for hunk in known.ledger.hunks() {
            let which = Which::Rows(hunk.new.clone());
            if of == Of::Pending && self.ledger.hit(&which).is_empty() {
                continue;
            }
            let theirs = known.ledger.base().to_lines(hunk.old.clone());
            let new: Vec<LineEdit> = if !known.touched(hunk, &since) {
                self.split(hunk, &known.ledger)
            } else if hunk.old.is_empty() {
                agents_lines(hunk, &since)
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
        let mut base = self.base_with(&edits);
        if !kept.is_empty() {
            // What stays of lines that were added is the user's own: nothing to decide about.
            let mut decided = Review::new(base);
            decided.agent_wrote(after.clone());
            for rows in kept {
                decided.accept(&Which::Rows(rows));
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

    /// Returns what the user has accepted with edits of the text made in it, as far as they go
    /// there: each for itself.
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

    /// Returns the file as it was before a turn, with this text, if it is another one as a whole
    /// now.
    fn whole_without(&self, turn: &TurnReview, after: &Text) -> Option<FileState> {
        let origin = &turn.origin;
        if self.now.is_like(origin) {
            return None;
        }
        let mut whole = origin.clone();
        whole.stamp = None;
        match &mut whole.body {
            Body::Text(content) => content.text.clone_from(after),
            // Lines of the user's in it keep it.
            Body::Missing if !after.is_empty() => return None,
            Body::Bytes { blob: None, .. } | Body::Unreadable(_) => return None,
            _ => {}
        }
        Some(whole)
    }

    /// Returns the edits that put the text before a turn's change back, split where some of it is
    /// decided and some is not.
    fn split(&self, hunk: &Hunk, ledger: &Review) -> Vec<LineEdit> {
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
            LineEdit {
                start: part.new.start,
                removed: part.new.len(),
                lines: ledger.base().to_lines(part.old),
            }
        });
        parts.collect()
    }
}

/// Rows of a text that edits and hunks which touch each other lie in, and which of them do.
struct Part {
    rows: Range<usize>,
    edits: Range<usize>,
    hunks: Range<usize>,
}

/// Returns the parts of a text that edits, from the top down, are made in: outside of them no edit
/// meets a hunk.
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

/// Returns the edits that take the agent's lines out of added ones, and leave the others'.
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
