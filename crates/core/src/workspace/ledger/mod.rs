//! The review of one file: what the user has accepted, what is there now, and the hunks between.
//!
//! Invariant: **base + hunks = current**; hunks are sorted and disjoint, and an unchanged line
//! lies between two of them. The agent changes `current` only; the user's edits beside the
//! hunks change `base` too, so that they never show up as the agent's.
//!
//! Nothing here touches a buffer: what shall happen there is returned as edits, and becomes
//! part of `current` when the editor reports that it has happened.

mod authors;
mod history;
mod landed;
mod offers;
mod parts;
mod track;

#[cfg(test)]
mod decisions;
#[cfg(test)]
mod life;
#[cfg(test)]
mod props;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use crate::text::diff::align::Change;
use crate::text::diff::merge::Conflict;
use crate::text::diff::{self, Hunk, diff};
use crate::text::{LineEdit, Text};
pub use authors::agents_text;
use history::{Accepted, History, Mark, State, Step};
use offers::Offer;
use parts::Part;
use track::{Reach, Track};

/// Which hunks are meant, in rows of `current`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// The hunk at this row. A hunk without lines lies between two rows and is hit by both;
    /// of two such hunks the one above the row is meant.
    Row(usize),
    /// Of every hunk that has lines in these rows those lines; a hunk without lines that lies at
    /// one of them, and a conflict, as a whole.
    Rows(Range<usize>),
    All,
}

/// The review of one file.
#[derive(Debug, Clone)]
pub struct Review {
    track: Track,
    offers: Vec<Offer>,
    hunks: Vec<Hunk>,
    mark: Mark,
    history: History,
    /// Bytes that came in since the history last remembered a state.
    bytes: usize,
}

impl Review {
    /// Begins a review with everything accepted.
    pub fn new(base: Text) -> Self {
        let mut review = Self {
            mark: Mark::of(&base),
            track: Track::new(base),
            offers: Vec::new(),
            hunks: Vec::new(),
            history: History::default(),
            bytes: 0,
        };
        review.settle(Step::Whole);
        review
    }

    /// Begins a review that remembers at most `states` states for undo and redo.
    pub fn brief(base: Text, states: usize) -> Self {
        let mut review = Self::new(base);
        review.history.keep_at_most(states);
        review
    }

    /// Returns what the user has accepted so far.
    pub fn base(&self) -> &Text {
        &self.track.base
    }

    /// Returns what is there now.
    pub fn current(&self) -> &Text {
        &self.track.current
    }

    /// Returns what differs, from the top down.
    pub fn hunks(&self) -> &[Hunk] {
        &self.hunks
    }

    /// Takes in the whole content as the agent wrote it.
    ///
    /// Offers are gone then: what the agent wants is there.
    pub fn agent_wrote(&mut self, current: Text) {
        let edits = diff(&self.track.current, &current);
        if edits.is_empty() && self.offers.is_empty() {
            return;
        }
        self.offers.clear();
        for edit in edits.iter().rev() {
            self.mark.edit(&self.track.current, edit);
            self.count(edit);
        }
        self.track.agent_all(&edits);
        self.settle(Step::Whole);
    }

    /// Sets what the user has accepted so far; what is there stays.
    pub fn rebase(&mut self, base: Text) {
        self.track.set_whole_base(base);
        self.settle(Step::Whole);
    }

    /// Takes in an edit that was made for the agent, or by the client itself.
    pub fn agent_edited(&mut self, edit: &LineEdit) {
        let Some(edit) = self.trimmed(edit) else {
            return;
        };
        self.prepare(&edit);
        self.track.agent(&edit);
        self.settle(Step::Agent);
    }

    /// Says that the edits reported by [`Review::agent_edited`] are complete.
    ///
    /// The states between are forgotten before this one, should memory get scarce.
    pub fn agent_done(&mut self) {
        self.history.keep();
    }

    /// Takes in an edit of the user's.
    ///
    /// Lines of it that stay as they are are no part of it, so that a coarse edit (an undo, a
    /// formatter) meets only the hunks it changes. Beside a hunk it is made in the base as
    /// well; in a hunk it becomes part of it; lines deleted across hunks are deleted from the
    /// base where they lie beside. If the result is a content the ledger remembers, all is as
    /// it was with that content: so undo and redo need not be known as such.
    pub fn user_edited(&mut self, edit: &LineEdit) {
        let edits = self.refined(edit);
        self.user_edits(&edits);
    }

    /// Takes in a whole content that the user, or somebody else outside the session, wrote.
    pub fn user_wrote(&mut self, current: Text) {
        let edits = diff(&self.track.current, &current);
        self.user_edits(&edits);
    }

    /// Takes in a conflict of a merge; the merged text must be `current` already.
    ///
    /// The hunk it gives is accepted by taking the agent's text and rejected by keeping the
    /// user's.
    pub fn offer(&mut self, conflict: Conflict) {
        let len = self.track.current.len();
        let end = conflict.rows.end.min(len);
        let rows = conflict.rows.start.min(end)..end;
        if self.track.current.to_lines(rows.clone()) == conflict.theirs {
            return;
        }
        let theirs = conflict.theirs.into();
        offers::add(&mut self.offers, Offer { rows, theirs });
        self.settle(Step::Whole);
    }

    /// Accepts hunks: what is there becomes part of the base.
    ///
    /// An undo of something else does not take that back; an undo of the agent's change does,
    /// and its redo leaves it accepted.
    ///
    /// For a conflict that is the agent's text, which is not there yet: the returned edits
    /// (from the top down, in rows of `current`) must be made in the buffer and reported by
    /// [`Review::agent_edited`]. Until then the hunk shows the agent's text as removed; if
    /// the edits fail, rejecting that hunk makes them again.
    pub fn accept(&mut self, which: &Which) -> Vec<LineEdit> {
        self.accept_hunks(self.hit(which).to_vec(), which)
    }

    /// Accepts these hunks, as far as they are meant.
    fn accept_hunks(&mut self, hit: Vec<Hunk>, which: &Which) -> Vec<LineEdit> {
        let parts = self.parts(which, &hit);
        self.history.accept(&Accepted::of(&self.track, &parts));
        self.track.accept(&parts);
        if !hit.is_empty() {
            self.settle(Step::Whole);
        }
        let taken = self.take_offers(&hit);
        for offer in taken.iter().rev() {
            let above = self
                .track
                .changes
                .partition_point(|c| c.new.end < offer.rows.start);
            let base = |row| self.track.base_row(row, above);
            let rows = base(offer.rows.start)..base(offer.rows.end);
            self.track.set_base(rows, offer.theirs.to_vec());
        }
        if !taken.is_empty() {
            // Not remembered: with this content the offers are still open, if it is undone.
            self.show();
        }
        let edits = taken.iter().map(|offer| LineEdit {
            start: offer.rows.start,
            removed: offer.rows.len(),
            lines: offer.theirs.to_vec(),
        });
        edits.collect()
    }

    /// Returns the edits that put the base's text back in the place of hunks.
    ///
    /// They come from the top down, in rows of `current`; the hunks are gone when the edits
    /// have been made and reported by [`Review::agent_edited`]. A conflict is gone at once,
    /// without an edit: the user's text stays, and so does a hunk that it was part of.
    pub fn reject(&mut self, which: &Which) -> Vec<LineEdit> {
        let hit: Vec<Hunk> = self.hit(which).to_vec();
        if !self.take_offers(&hit).is_empty() {
            self.settle(Step::Whole);
        }
        self.history.keep();
        let hit = hit.into_iter().filter(|hunk| hunk.conflict.is_none());
        let edits = hit.map(|hunk| {
            let rows = which.rows_in(&hunk);
            let (old, new) = (hunk.old, hunk.new);
            let part = Change { old, new }.part(&rows);
            LineEdit {
                start: part.new.start,
                removed: part.new.len(),
                lines: self.track.base.to_lines(part.old),
            }
        });
        edits.collect()
    }

    /// Returns the hunks that are meant.
    pub fn hit(&self, which: &Which) -> &[Hunk] {
        let last = self.track.current.len().saturating_sub(1);
        let rows = match which {
            Which::All => return &self.hunks,
            Which::Row(row) => *row.min(&last)..row.min(&last) + 1,
            Which::Rows(rows) => rows.start.min(last)..rows.end.max(rows.start + 1),
        };
        let above =
            |h: &Hunk| h.new.end < rows.start || h.new.end == rows.start && !h.new.is_empty();
        let reached =
            |h: &Hunk| h.new.start < rows.end || h.new.start == rows.end && h.new.is_empty();
        let from = self.hunks.partition_point(above);
        let mut to = self.hunks.partition_point(reached).max(from);
        if matches!(which, Which::Row(_)) {
            to = to.min(from + 1);
        }
        self.hunks.get(from..to).unwrap_or_default()
    }

    /// Returns what is meant of the hunks, conflicts left out, each cut to its lines.
    pub fn meant(&self, which: &Which) -> Vec<Hunk> {
        let hit = self.hit(which).iter();
        let hit = hit.filter(|hunk| hunk.conflict.is_none());
        hit.map(|hunk| hunk.part(which.rows_in(hunk))).collect()
    }

    /// Returns the parts of changes that are meant of these hunks.
    fn parts(&self, which: &Which, hit: &[Hunk]) -> Vec<Part> {
        let changes = self.track.changes.iter().enumerate();
        let parts = changes.filter_map(|(at, change)| {
            let hunk = hit.iter().find(|hunk| hunk.holds(change))?;
            let rows = match hunk.conflict {
                Some(_) => 0..change.new.len(),
                None => which.rows_in(hunk),
            };
            Some(Part { at, rows })
        });
        parts.collect()
    }

    fn user_edits(&mut self, edits: &[LineEdit]) {
        let mut step = match edits {
            [edit] if edit.removed == 1 && edit.lines.len() == 1 => Step::Typing(edit.start),
            _ => Step::User,
        };
        for edit in edits.iter().rev() {
            self.prepare(edit);
            if self.track.user(edit) == Reach::Inside {
                step = Step::User;
            }
        }
        if edits.is_empty() {
            return;
        }
        match self.history.recall(&self.track.current, self.mark) {
            Some(state) => {
                self.track = state.track;
                self.offers = state.offers;
                self.bytes = 0;
                self.show();
            }
            None => self.settle(step),
        }
    }

    /// Returns an edit cut to the text, without the lines at its edges that stay as they are.
    fn trimmed(&self, edit: &LineEdit) -> Option<LineEdit> {
        let len = self.track.current.len();
        let start = edit.start.min(len);
        let rows = start..start.saturating_add(edit.removed).min(len);
        let old = self.track.current.to_lines(rows);
        let same = |(a, b): &(&String, &String)| a == b;
        let above = old.iter().zip(&edit.lines).take_while(same).count();
        let most = old.len().min(edit.lines.len()) - above;
        let below = old.iter().rev().zip(edit.lines.iter().rev());
        let below = below.take(most).take_while(same).count();
        let lines = edit.lines.get(above..edit.lines.len() - below);
        let edit = LineEdit {
            start: start + above,
            removed: old.len() - above - below,
            lines: lines.unwrap_or_default().to_vec(),
        };
        (edit.removed > 0 || !edit.lines.is_empty()).then_some(edit)
    }

    /// Returns an edit as the smallest ones that come to the same, from the top down.
    fn refined(&self, edit: &LineEdit) -> Vec<LineEdit> {
        let Some(edit) = self.trimmed(edit) else {
            return Vec::new();
        };
        if edit.removed == 0 || edit.lines.is_empty() || edit.removed + edit.lines.len() == 2 {
            return vec![edit];
        }
        let rows = edit.start..edit.start + edit.removed;
        let new = edit.lines.iter().map(|line| Cow::from(line.as_str()));
        let changes = diff::changes_of(self.track.current.lines(rows), new);
        let edits = changes.into_iter().map(|change| LineEdit {
            start: edit.start + change.old.start,
            removed: change.old.len(),
            lines: edit.lines.get(change.new).unwrap_or_default().to_vec(),
        });
        edits.collect()
    }

    /// Lets all that is kept beside the two texts follow an edit that is about to be made.
    fn prepare(&mut self, edit: &LineEdit) {
        self.mark.edit(&self.track.current, edit);
        self.count(edit);
        offers::follow(&mut self.offers, &self.track.current, edit);
    }

    fn count(&mut self, edit: &LineEdit) {
        self.bytes += edit.lines.iter().map(|line| line.len() + 1).sum::<usize>();
    }

    /// Remembers the state of now, and shows it.
    fn settle(&mut self, step: Step) {
        // Its inverse brings the changes back by memory only.
        let made_up = self.track.drop_made_up();
        let step = if made_up && matches!(step, Step::Typing(_)) {
            Step::User
        } else {
            step
        };
        let state = State {
            track: self.track.clone(),
            offers: self.offers.clone(),
        };
        let bytes = std::mem::take(&mut self.bytes);
        self.history.remember(state, self.mark, step, bytes);
        self.show();
    }

    fn show(&mut self) {
        self.hunks = offers::hunks(&self.track, &self.offers);
    }

    /// Takes the offers out that lie in these hunks.
    fn take_offers(&mut self, hit: &[Hunk]) -> Vec<Offer> {
        let within = |offer: &mut Offer| {
            hit.iter().any(|hunk| {
                let rows = &hunk.new;
                hunk.conflict.is_some()
                    && rows.start <= offer.rows.start
                    && offer.rows.end <= rows.end
            })
        };
        self.offers.extract_if(.., within).collect()
    }
}
