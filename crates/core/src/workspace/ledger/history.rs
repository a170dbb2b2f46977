//! Remembers the base and the agent's own version that belonged to each content, so that undo and
//! redo restore them.
//!
//! Invariant: keeps at most [`STATES`] states, about [`BYTES`] of text held only by them, and only
//! the latest state of each content. Intermediate states (a keystroke inside a hunk, one edit of
//! several) are evicted first, then the oldest; the latest state always stays.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use super::authors::Alone;
use super::offers::Offer;
use super::parts::Part;
use super::track::Track;
use crate::text::diff::align::Change;
use crate::text::{LineEdit, Text};

const STATES: usize = 200;

const BYTES: usize = 16 << 20;

/// The cost of a state in addition to its new text, in bytes.
const STATE_COST: usize = 4096;

/// A content with the ledger's state for it.
#[derive(Debug, Clone)]
pub(super) struct Version {
    pub track: Track,
    pub offers: Vec<Offer>,
    pub alone: Alone,
    /// How many states were remembered up to this one.
    pub number: u64,
}

/// The cause of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// The user typed in a line outside all changes. More typing in that line replaces this state,
    /// since undoing it needs no memory.
    Typing(usize),
    /// The user edited in any other way.
    User,
    /// One edit by the agent, or by the client for it; possibly one of several.
    Agent,
    /// A complete step: a write, an acceptance, an offer.
    Whole,
}

impl Cause {
    /// Returns 0 for the user's edits, 1 for the agent's, 2 for complete steps. A state followed by
    /// one of the same rank is intermediate; lower ranks are evicted first.
    fn rank(self) -> u8 {
        match self {
            Cause::Typing(_) | Cause::User => 0,
            Cause::Agent => 1,
            Cause::Whole => 2,
        }
    }
}

/// The remembered states.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    /// In the order of the last visit by an edit or a decision.
    entries: Vec<Entry>,
    /// The newest entry is the present state (false after an undo).
    at_newest: bool,
    bytes: usize,
    /// The maximum number of states; 0 means [`STATES`].
    most: usize,
}

#[derive(Debug, Clone)]
struct Entry {
    state: Version,
    mark: Mark,
    step: Cause,
    passing: bool,
    bytes: usize,
}

/// A cheap fingerprint that distinguishes most contents; updated edit by edit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Mark {
    bytes: usize,
    lines: u64,
}

impl Mark {
    pub fn of(text: &Text) -> Self {
        let hashes = text.lines(0..text.len()).map(|line| hash(&line));
        Self {
            bytes: text.len_bytes(),
            lines: hashes.fold(0, u64::wrapping_add),
        }
    }

    /// Updates the fingerprint for an edit about to be made to `text`; its rows lie within the
    /// text.
    pub fn edit(&mut self, text: &Text, edit: &LineEdit) {
        for line in text.lines(edit.start..edit.start + edit.removed) {
            self.lines = self.lines.wrapping_sub(hash(&line));
            self.bytes = self.bytes.saturating_sub(line.len() + 1);
        }
        for line in &edit.lines {
            self.lines = self.lines.wrapping_add(hash(line));
            self.bytes += line.len() + 1;
        }
    }
}

/// An accepted hunk, identified by its texts and its position among identical hunks.
#[derive(Debug, Clone)]
pub(super) struct Accepted {
    key: u64,
    nth: usize,
    of: usize,
    /// The accepted rows.
    rows: Range<usize>,
}

impl Accepted {
    /// Returns the accepted parts of the changes of `track`.
    pub fn of(track: &Track, parts: &[Part]) -> Vec<Self> {
        let keys: Vec<u64> = track.changes.iter().map(|c| key(track, c)).collect();
        let accepted = parts.iter().filter_map(|part| {
            let key = *keys.get(part.at)?;
            let alike = |keys: &[u64]| keys.iter().filter(|&&other| other == key).count();
            Some(Self {
                key,
                nth: alike(keys.get(..part.at)?),
                of: alike(&keys),
                rows: part.rows.clone(),
            })
        });
        accepted.collect()
    }
}

/// Accepts the same hunks in another state.
pub(super) fn accept_in(track: &mut Track, accepted: &[Accepted]) {
    let keys: Vec<u64> = track.changes.iter().map(|c| key(track, c)).collect();
    let find = |hunk: &Accepted| {
        let mut same = (0..keys.len()).filter(|&at| keys.get(at) == Some(&hunk.key));
        // Among identical hunks the same one; if their number differs, the match is ambiguous.
        let at = (same.clone().count() == hunk.of).then(|| same.nth(hunk.nth))??;
        let rows = hunk.rows.clone();
        Some(Part { at, rows })
    };
    let mut found: Vec<Part> = accepted.iter().filter_map(find).collect();
    found.sort_unstable_by_key(|part| part.at);
    track.accept(&found);
}

/// Hashes the lines a change removes and adds.
fn key(track: &Track, change: &Change) -> u64 {
    let mut hasher = DefaultHasher::new();
    (change.old.len(), change.new.len()).hash(&mut hasher);
    for line in track.base.lines(change.old.clone()) {
        line.hash(&mut hasher);
    }
    for line in track.current.lines(change.new.clone()) {
        line.hash(&mut hasher);
    }
    hasher.finish()
}

fn hash(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    line.hash(&mut hasher);
    hasher.finish()
}

impl History {
    /// Lowers the limit on remembered states.
    pub fn keep_at_most(&mut self, states: usize) {
        self.most = states.min(STATES);
    }

    /// Remembers a state; `bytes` is the new text since the last one.
    pub fn remember(&mut self, state: Version, mark: Mark, step: Cause, bytes: usize) {
        let known = self.position(&state.track.current, mark);
        let newest = self.entries.len().checked_sub(1);
        // The record of a content changes; its text is held anyway.
        let held = known.and_then(|known| self.entries.get(known));
        let bytes = held.map_or(0, |known| known.bytes).max(bytes + STATE_COST);
        if let Some(known) = known {
            self.remove(known);
        }
        if self.at_newest
            && known != newest
            && let Some(last) = self.entries.last_mut()
        {
            if last.step == step && matches!(step, Cause::Typing(_)) {
                let last = self.entries.len() - 1;
                self.remove(last);
            } else if last.step.rank() == step.rank() && step != Cause::Whole {
                last.passing = true;
            }
        }
        self.bytes += bytes;
        self.entries.push(Entry {
            state,
            mark,
            step,
            passing: false,
            bytes,
        });
        self.at_newest = true;
        let most = if self.most == 0 { STATES } else { self.most };
        while self.entries.len() > 1 && (self.entries.len() > most || self.bytes > BYTES) {
            let passing = |rank| {
                let mut entries = self.entries.iter();
                entries.position(|entry| entry.passing && entry.step.rank() == rank)
            };
            self.remove(passing(0).or_else(|| passing(1)).unwrap_or(0));
        }
    }

    /// Marks the newest state as complete, so that it is not evicted as an intermediate one.
    pub fn keep(&mut self) {
        if let Some(last) = self.entries.last_mut() {
            last.step = Cause::Whole;
        }
    }

    /// Returns the state with this content, if it is remembered.
    pub fn recall(&mut self, content: &Text, mark: Mark) -> Option<Version> {
        let at = self.position(content, mark)?;
        self.at_newest = at + 1 == self.entries.len();
        self.entries.get(at).map(|entry| entry.state.clone())
    }

    /// Returns the state with this content, if it is remembered.
    pub fn version(&self, content: &Text, mark: Mark) -> Option<&Version> {
        let at = self.position(content, mark)?;
        self.entries.get(at).map(|entry| &entry.state)
    }

    /// Returns the agent's own version for this content, if it is remembered and complete.
    pub fn alone(&self, content: &Text, mark: Mark) -> Option<&Alone> {
        let at = self.position(content, mark)?;
        let alone = self.entries.get(at).map(|entry| &entry.state.alone);
        alone.filter(|alone| alone.is_complete())
    }

    /// Accepts the same hunks in every remembered state, so that undoing something else does not
    /// ask for the same decision again.
    pub fn accept(&mut self, accepted: &[Accepted]) {
        for entry in &mut self.entries {
            accept_in(&mut entry.state.track, accepted);
        }
    }

    /// Replaces a base in each state that has it: a change of the agent's in it was taken for accepted.
    pub fn rebase(&mut self, from: &Text, to: &Text) {
        for entry in &mut self.entries {
            if entry.state.track.base == *from {
                entry.state.track.set_whole_base(to.clone());
            }
        }
    }

    fn position(&self, content: &Text, mark: Mark) -> Option<usize> {
        let same = |entry: &Entry| entry.mark == mark && entry.state.track.current == *content;
        self.entries.iter().rposition(same)
    }

    fn remove(&mut self, at: usize) {
        if at < self.entries.len() {
            self.bytes -= self.entries.remove(at).bytes;
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.entries.len()
    }
}
