//! Which base belonged to which content: what undo and redo bring back.
//!
//! Invariant: at most [`STATES`] states, about [`BYTES`] of text that only they hold, and one
//! state for each content, the latest. What is forgotten first are states that were only
//! passed through (a keystroke inside a hunk, one edit of several), then the oldest ones; the
//! latest always stays.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use super::offers::Offer;
use super::parts::Part;
use super::track::Track;
use crate::text::diff::align::Change;
use crate::text::{LineEdit, Text};

const STATES: usize = 200;

const BYTES: usize = 16 << 20;

/// What a state costs beside its new text.
const STATE_COST: usize = 4096;

/// A content with everything the ledger knew of it.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub track: Track,
    pub offers: Vec<Offer>,
}

/// What led to a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The user typed in a line beside every change; typing on in that line takes this
    /// state's place, for undoing it needs no memory.
    Typing(usize),
    /// The user edited in another way.
    User,
    /// The agent, or the client for it, made one edit, maybe of several.
    Agent,
    /// Something was complete: a write, an acceptance, an offer.
    Whole,
}

impl Step {
    /// Returns 0 for the user's edits, 1 for the agent's, 2 for what is complete: a state that
    /// the next one of its rank follows was passed through, and the lower ranks go first.
    fn rank(self) -> u8 {
        match self {
            Step::Typing(_) | Step::User => 0,
            Step::Agent => 1,
            Step::Whole => 2,
        }
    }
}

/// The states that are remembered.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    /// In the order of their last visit by an edit or a decision.
    entries: Vec<Entry>,
    /// The newest entry is the state of now (it is not after an undo).
    at_newest: bool,
    bytes: usize,
    /// Fewer than [`STATES`], if it is not 0.
    most: usize,
}

#[derive(Debug, Clone)]
struct Entry {
    state: State,
    mark: Mark,
    step: Step,
    passing: bool,
    bytes: usize,
}

/// Tells most contents apart without reading them; kept up to date edit by edit.
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

    /// Follows an edit that `text` is about to get; its rows lie within the text.
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

/// A hunk that was accepted, by its texts, and as the how manieth of how many alike.
#[derive(Debug, Clone)]
pub(super) struct Accepted {
    key: u64,
    nth: usize,
    of: usize,
    /// Which of its lines were.
    rows: Range<usize>,
}

impl Accepted {
    /// Returns parts of the changes of `track`.
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

/// Tells changes apart by the lines they remove and add.
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
    /// Remembers no more states than this.
    pub fn keep_at_most(&mut self, states: usize) {
        self.most = states.min(STATES);
    }

    /// Remembers a state; `bytes` of text are new since the last one.
    pub fn remember(&mut self, state: State, mark: Mark, step: Step, bytes: usize) {
        let known = self.position(&state.track.current, mark);
        let newest = self.entries.len().checked_sub(1);
        if let Some(known) = known {
            self.remove(known);
        }
        if self.at_newest
            && known != newest
            && let Some(last) = self.entries.last_mut()
        {
            if last.step == step && matches!(step, Step::Typing(_)) {
                let last = self.entries.len() - 1;
                self.remove(last);
            } else if last.step.rank() == step.rank() && step != Step::Whole {
                last.passing = true;
            }
        }
        let bytes = bytes + STATE_COST;
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

    /// Keeps the newest state as long as any: it is not one that was only passed through.
    pub fn keep(&mut self) {
        if let Some(last) = self.entries.last_mut() {
            last.step = Step::Whole;
        }
    }

    /// Returns the state with this content, if it is remembered.
    pub fn recall(&mut self, content: &Text, mark: Mark) -> Option<State> {
        let at = self.position(content, mark)?;
        self.at_newest = at + 1 == self.entries.len();
        self.entries.get(at).map(|entry| entry.state.clone())
    }

    /// Accepts hunks in every remembered state that has them too, so that undoing something
    /// else does not ask for the same decision again.
    pub fn accept(&mut self, accepted: &[Accepted]) {
        for entry in &mut self.entries {
            let track = &mut entry.state.track;
            let keys: Vec<u64> = track.changes.iter().map(|c| key(track, c)).collect();
            let find = |hunk: &Accepted| {
                let mut same = (0..keys.len()).filter(|&at| keys.get(at) == Some(&hunk.key));
                // Of several alike the same one; where there are more or fewer, none is sure.
                let at = (same.clone().count() == hunk.of).then(|| same.nth(hunk.nth))??;
                let rows = hunk.rows.clone();
                Some(Part { at, rows })
            };
            let mut found: Vec<Part> = accepted.iter().filter_map(find).collect();
            found.sort_unstable_by_key(|part| part.at);
            track.accept(&found);
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
