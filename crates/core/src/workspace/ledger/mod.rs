//! The review of one file: the text the user has accepted, the current text, and the hunks between.
//!
//! Invariant: **base + hunks = current**; hunks are sorted and disjoint, with an unchanged line
//! between any two. The agent changes `current` only; the user's edits outside the hunks change
//! `base` too, so that they never appear as the agent's.
//!
//! This module never touches a buffer. It returns the edits to make, and they become part of
//! `current` once the editor reports them.

mod authors;
mod history;
mod landed;
mod offers;
mod outside;
mod parts;
mod seen;
mod track;
mod under;

#[cfg(test)]
mod decisions;
#[cfg(test)]
mod life;
#[cfg(test)]
mod props;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use crate::text::diff::align::Change;
use crate::text::diff::merge::Conflict;
use crate::text::diff::{self, Hunk, diff, merge};
use crate::text::{LineEdit, Text};
use authors::Alone;
use history::{Accepted, Cause, History, Mark, Version, accept_in};
use offers::Offer;
pub(crate) use outside::base_under;
use parts::Part;
pub use seen::Seen;
use track::{Reach, Track};
use under::Under;

/// Selects hunks, by rows of `current`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// The hunk at this row. A hunk without lines lies between two rows and is at both; of two such
    /// hunks the one above the row is selected.
    Row(usize),
    /// The lines in these rows, of every hunk that has some. A hunk without lines at one of the
    /// rows, and a conflict, are selected as a whole.
    Rows(Range<usize>),
    All,
}

/// The review of one file.
#[derive(Debug, Clone)]
pub struct Review {
    track: Track,
    offers: Vec<Offer>,
    alone: Alone,
    hunks: Vec<Hunk>,
    mark: Mark,
    history: History,
    /// The agent's pending changes that other programs have taken away: hashes of their lines and
    /// of the lines next to them.
    away: HashSet<u64>,
    /// The state before another program's edits that are being made.
    others_since: Option<Track>,
    /// The review of the file, if a change of it was merged with unsaved lines.
    under: Option<Under>,
    /// Bytes added since the history last remembered a state.
    bytes: usize,
    /// The number of the last state that the history has remembered.
    number: u64,
}

impl Review {
    /// Begins a review with everything accepted.
    pub fn new(base: Text) -> Self {
        let mut review = Self {
            mark: Mark::of(&base),
            alone: Alone::new(base.clone()),
            track: Track::new(base),
            offers: Vec::new(),
            hunks: Vec::new(),
            history: History::default(),
            away: HashSet::new(),
            others_since: None,
            under: None,
            bytes: 0,
            number: 0,
        };
        review.settle(Cause::Whole);
        review
    }

    /// Begins a review that remembers at most `states` states for undo and redo.
    pub fn brief(base: Text, states: usize) -> Self {
        let mut review = Self::new(base);
        review.history.keep_at_most(states);
        review
    }

    /// Returns the text the user has accepted so far.
    pub fn base(&self) -> &Text {
        &self.track.base
    }

    /// Returns the current text.
    pub fn current(&self) -> &Text {
        &self.track.current
    }

    /// Returns the differences, from the top down.
    pub fn hunks(&self) -> &[Hunk] {
        &self.hunks
    }

    /// Returns the text as the agent alone would have it; the difference is the work of others.
    pub fn alone(&self) -> &Text {
        &self.alone.text
    }

    /// Takes the present text, with nothing pending, for what the agent begins with.
    pub fn begin(&mut self) {
        self.alone = Alone::new(self.track.current.clone());
        self.settle(Cause::Whole);
    }

    /// Applies a write of the whole content by the agent.
    ///
    /// Drops the offers in place of the lines that it changes, as an edit does.
    pub fn agent_wrote(&mut self, current: Text) {
        self.agent_begins();
        let edits = diff(&self.track.current, &current);
        for edit in edits.iter().rev() {
            offers::withdraw(&mut self.offers, &(edit.start..edit.start + edit.removed));
            self.prepare(edit);
        }
        self.track.agent_all(&edits);
        self.agent_ends();
    }

    /// Applies a write of the whole content that carries out a decision.
    pub fn decision_wrote(&mut self, current: Text) {
        self.wrote(current);
        self.recall_alone();
        self.settle(Cause::Whole);
    }

    /// Returns whether the ledger remembers a content.
    pub fn remembers(&self, content: &Text) -> bool {
        self.history.alone(content, Mark::of(content)).is_some()
    }

    /// Takes back the agent's own version that belonged to the present content, if that is
    /// remembered.
    fn recall_alone(&mut self) {
        let known = self.history.alone(&self.track.current, self.mark);
        if let Some(alone) = known {
            self.alone = alone.clone();
        }
    }

    fn wrote(&mut self, current: Text) {
        let edits = diff(&self.track.current, &current);
        self.offers.clear();
        for edit in edits.iter().rev() {
            self.mark.edit(&self.track.current, edit);
            self.count(edit);
        }
        self.track.agent_all(&edits);
    }

    /// Replaces the accepted text; the current text stays.
    pub fn rebase(&mut self, base: Text) {
        self.track.set_whole_base(base);
        self.settle(Cause::Whole);
    }

    /// Changes the accepted text as from the first text to the second, and so that of the file under
    /// unsaved lines.
    pub fn shift_base(&mut self, (from, to): &(Text, Text), of_file: &(Text, Text)) {
        let mut base = self.track.base.clone();
        base.apply_all(&merge(from, &base, to).edits);
        if base != self.track.base {
            self.rebase(base);
        }
        if let Some(under) = &mut self.under {
            under.shift_base(of_file);
        }
    }

    /// Applies an edit made for the agent. It supersedes offers in place of the same lines.
    pub fn agent_edited(&mut self, edit: &LineEdit) {
        self.agent_begins();
        if !self.offers.is_empty()
            && let Some(edit) = self.trimmed(edit)
        {
            offers::withdraw(&mut self.offers, &(edit.start..edit.start + edit.removed));
        }
        self.edited(edit);
        self.settle(Cause::Agent);
    }

    /// Applies an edit that carries out a decision.
    pub fn decision_edited(&mut self, edit: &LineEdit) {
        self.edited(edit);
        self.recall_alone();
        self.settle(Cause::Agent);
    }

    /// Applies an edit as [`Review::decision_edited`] does; content that the ledger remembers brings
    /// its hunks back.
    pub fn follow(&mut self, edit: &LineEdit) {
        self.edited(edit);
        self.recall_or_settle(Cause::User);
    }

    /// Replaces the text as [`Review::follow`] does.
    pub fn follow_to(&mut self, current: Text) {
        self.wrote(current);
        self.recall_or_settle(Cause::User);
    }

    /// Restores the state of the present content, if that is remembered, else remembers it; returns
    /// whether it was. Offers since then stay, because an undo does not decide about them, unlike an
    /// older text that another program leaves.
    fn recall_or_settle(&mut self, step: Cause) -> bool {
        let Some(state) = self.history.recall(&self.track.current, self.mark) else {
            self.settle(step);
            return false;
        };
        let mut since = std::mem::replace(&mut self.offers, state.offers);
        let is_undo = self.others_since.is_none();
        since.retain(|offer| is_undo && offer.since > state.number);
        self.track = state.track;
        self.alone = state.alone;
        self.bytes = 0;
        self.show();
        for offer in since {
            self.add_offer(offer);
        }
        self.agent_ends();
        true
    }

    fn edited(&mut self, edit: &LineEdit) {
        if let Some(edit) = self.trimmed(edit) {
            self.prepare(&edit);
            self.track.agent(&edit);
        }
    }

    /// Marks the edits reported by [`Review::agent_edited`] as complete.
    ///
    /// The states between them are evicted first when memory is scarce.
    pub fn agent_done(&mut self) {
        self.agent_ends();
        self.history.keep();
    }

    /// Marks the edits reported by [`Review::decision_edited`] as complete.
    pub fn decision_done(&mut self) {
        self.history.keep();
    }

    /// Applies an edit by the user.
    ///
    /// Lines that the edit leaves unchanged are ignored, so that a coarse edit (an undo, a
    /// formatter) affects only the hunks it changes. Outside hunks, the edit changes the base too;
    /// inside a hunk, it becomes part of the hunk. A deletion across hunks also deletes the lines
    /// between them from the base. If the ledger remembers the resulting content, it restores the
    /// state of that content: undo and redo need not be recognized as such.
    pub fn user_edited(&mut self, edit: &LineEdit) {
        let edits = self.refined(edit);
        self.user_edits(&edits);
    }

    /// Applies a write of the whole content by the user.
    pub fn user_wrote(&mut self, current: Text) {
        let edits = diff(&self.track.current, &current);
        self.user_edits(&edits);
    }

    /// Adds a conflict of a merge as an offer; the merged text must already be `current`.
    ///
    /// Accepting the resulting hunk takes the agent's text, rejecting it keeps the user's.
    pub fn offer(&mut self, conflict: Conflict) {
        self.add_conflict(conflict, false, self.number + 1);
    }

    /// Adds a conflict as [`Review::offer`] does, for a file that is gone.
    pub fn offer_deletion(&mut self, conflict: Conflict) {
        self.add_conflict(conflict, true, self.number + 1);
    }

    /// Adds a conflict as [`Review::offer`] does, with lines from before a change that is being undone.
    /// An undo of that brings back a state without it.
    pub fn offer_earlier(&mut self, conflict: Conflict) {
        self.add_conflict(conflict, false, 0);
    }

    /// Returns the offers.
    pub fn offered(&self) -> Vec<Conflict> {
        let offers = self.offers.iter().map(|offer| Conflict {
            rows: offer.rows.clone(),
            theirs: offer.theirs.to_vec(),
            base: Vec::new(),
        });
        offers.collect()
    }

    /// Withdraws the offers for these rows.
    pub fn withdraw(&mut self, rows: &Range<usize>) {
        offers::withdraw(&mut self.offers, rows);
        self.settle(Cause::Whole);
    }

    /// Withdraws the offers to delete: the file is back.
    pub fn withdraw_deletion(&mut self) {
        let before = self.offers.len();
        self.offers.retain(|offer| !offer.is_deletion);
        if self.offers.len() < before {
            self.settle(Cause::Whole);
        }
    }

    fn add_conflict(&mut self, conflict: Conflict, is_deletion: bool, since: u64) {
        let len = self.track.current.len();
        let end = conflict.rows.end.min(len);
        self.add_offer(Offer {
            rows: conflict.rows.start.min(end)..end,
            theirs: conflict.theirs.into(),
            is_deletion,
            since,
        });
    }

    fn add_offer(&mut self, offer: Offer) {
        if *self.track.current.to_lines(offer.rows.clone()) != *offer.theirs {
            offers::add(&mut self.offers, offer);
            self.settle(Cause::Whole);
        }
    }

    /// Accepts hunks: their current lines become part of the base.
    ///
    /// Undoing something else keeps the acceptance. Undoing the agent's change reverts the
    /// acceptance too, and redo restores both.
    ///
    /// Accepting a conflict replaces the user's lines. So it is accepted only if the selection is
    /// that hunk alone, with all its lines; otherwise it is skipped (see [`Review::skipped`]).
    ///
    /// Accepting a conflict takes the agent's text, which is not in the buffer yet: the returned
    /// edits (from the top down, in rows of `current`) must be made there and reported by
    /// [`Review::decision_edited`]. Until then the hunk shows the agent's text as removed; if the
    /// edits fail, rejecting that hunk returns them again.
    pub fn accept(&mut self, which: &Which) -> Vec<LineEdit> {
        let skips = self.skips_conflicts(which);
        let hit = self.hit(which).iter();
        let hit = hit.filter(|hunk| hunk.conflict.is_none() || !skips);
        self.accept_hunks(hit.cloned().collect(), which)
    }

    /// Returns the number of conflicts that accepting the selection leaves undecided.
    pub fn skipped(&self, which: &Which) -> usize {
        let hit = self.hit(which).iter();
        let conflicts = hit.filter(|hunk| hunk.conflict.is_some()).count();
        match self.skips_conflicts(which) {
            true => conflicts,
            false => 0,
        }
    }

    fn skips_conflicts(&self, which: &Which) -> bool {
        match which {
            Which::Row(_) => false,
            Which::Rows(rows) => match self.hit(which) {
                [hunk] => hunk.new.start < rows.start || rows.end < hunk.new.end,
                _ => true,
            },
            Which::All => true,
        }
    }

    /// Accepts these parts of the changes, here and wherever the same ones are known.
    fn accept_parts(&mut self, parts: &[Part]) {
        let accepted = Accepted::of(&self.track, parts);
        self.history.accept(&accepted);
        if let Some(under) = &mut self.under {
            under.accept(&accepted);
        }
        self.track.accept(parts);
        self.settle(Cause::Whole);
    }

    /// Accepts the selected parts of these hunks.
    fn accept_hunks(&mut self, hit: Vec<Hunk>, which: &Which) -> Vec<LineEdit> {
        let parts = self.parts(which, &hit);
        if !hit.is_empty() {
            self.accept_parts(&parts);
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
            // Not remembered: if the edit is undone, the offers of this content are still open.
            self.show();
        }
        let edits = taken.iter().map(|offer| LineEdit {
            start: offer.rows.start,
            removed: offer.rows.len(),
            lines: offer.theirs.to_vec(),
        });
        edits.collect()
    }

    /// Returns the edits that replace hunks by the base's text.
    ///
    /// They are ordered from the top down, in rows of `current`; the hunks disappear once the edits
    /// are made and reported by [`Review::decision_edited`]. A conflict disappears at once, without an
    /// edit: the user's text stays, and so does a hunk that the conflict was part of, unless all is
    /// rejected.
    pub fn reject(&mut self, which: &Which) -> Vec<LineEdit> {
        let mut hit: Vec<Hunk> = self.hit(which).to_vec();
        if !self.take_offers(&hit).is_empty() {
            self.settle(Cause::Whole);
            if *which == Which::All {
                hit.clone_from(&self.hunks);
            }
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

    /// Returns the selected hunks.
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

    /// Returns the selected hunks without conflicts, each cut to its selected lines.
    pub fn meant(&self, which: &Which) -> Vec<Hunk> {
        let hit = self.hit(which).iter();
        let hit = hit.filter(|hunk| hunk.conflict.is_none());
        hit.map(|hunk| hunk.part(which.rows_in(hunk))).collect()
    }

    /// Returns the selected parts of the changes in these hunks.
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

    /// Applies edits by the user; returns whether the ledger remembered the resulting content.
    fn user_edits(&mut self, edits: &[LineEdit]) -> bool {
        self.agent_ends();
        let mut step = match edits {
            [edit] if edit.removed == 1 && edit.lines.len() == 1 => Cause::Typing(edit.start),
            _ => Cause::User,
        };
        for edit in edits.iter().rev() {
            self.prepare(edit);
            if self.track.user(edit) == Reach::Inside {
                step = Cause::User;
            }
        }
        if edits.is_empty() {
            return false;
        }
        self.recall_or_settle(step)
    }

    /// Clips an edit to the text, and removes the unchanged lines at its edges.
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

    /// Splits an edit into the smallest equivalent edits, from the top down.
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

    /// Updates the data kept beside the two texts for an edit about to be made.
    fn prepare(&mut self, edit: &LineEdit) {
        self.mark.edit(&self.track.current, edit);
        self.count(edit);
        offers::follow(&mut self.offers, &self.track.current, edit);
    }

    fn count(&mut self, edit: &LineEdit) {
        self.bytes += edit.lines.iter().map(|line| line.len() + 1).sum::<usize>();
    }

    /// Remembers the present state, and updates the hunks.
    fn settle(&mut self, step: Cause) {
        // The inverse edit can restore the changes only from the history.
        let made_up = self.track.drop_made_up();
        let step = if made_up && matches!(step, Cause::Typing(_)) {
            Cause::User
        } else {
            step
        };
        self.number += 1;
        let state = Version {
            track: self.track.clone(),
            offers: self.offers.clone(),
            alone: self.alone.clone(),
            number: self.number,
        };
        let bytes = std::mem::take(&mut self.bytes);
        self.history.remember(state, self.mark, step, bytes);
        self.show();
    }

    fn show(&mut self) {
        self.hunks = offers::hunks(&self.track, &self.offers);
    }

    /// Removes and returns the offers in these hunks.
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
