//! The states in which files were seen on disk before the host reported them.
//!
//! Invariant: the states of a file are in the order in which they were on disk. A state is forgotten
//! with the first report that has come past it, at the latest with the first checkpoint that was
//! asked for after it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::spine::event::Stamp;
use crate::spine::pending::Token;
use crate::spine::pending::reply::CheckpointTaken;
use crate::spine::project::{Body, FileChange, FileState};

/// The number of states of a file that are remembered.
const MAX_STATES: usize = 100;

/// A state that a file was in.
#[derive(Debug)]
struct Seen {
    state: FileState,
    how: How,
    /// The first checkpoint that was asked for since.
    until: Option<Token<CheckpointTaken>>,
}

/// How a state was seen, and so whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// Neovim saved it: it is the user's.
    Saved,
    /// It was read for a buffer or a review, which took it for the text before an agent's change.
    Read,
    /// It was read when Neovim's save replaced it: only the disk has had it.
    Replaced,
}

/// The states of all files that were not reported yet.
#[derive(Debug, Default)]
pub(super) struct Unreported {
    files: BTreeMap<PathBuf, Vec<Seen>>,
}

/// A report, cut at the states that had been seen.
#[derive(Debug, Default)]
pub(super) struct Cut {
    /// The parts that led to a state that was read, and the last state that was seen.
    pub read: Vec<FileChange>,
    pub last: Option<FileState>,
    /// How the state that the report ends with was seen.
    pub end: Option<How>,
}

impl Seen {
    fn is(&self, state: &FileState) -> bool {
        self.state.stamp.is_some() && self.state.stamp == state.stamp
    }

    /// Returns whether this state was on disk before another one, as far as their times tell.
    fn is_before(&self, state: &FileState) -> bool {
        let time = |stamp: Option<Stamp>| stamp.map(|stamp| stamp.modified);
        let (this, other) = (time(self.state.stamp), time(state.stamp));
        other.is_none_or(|other| this.is_none_or(|this| this <= other))
    }
}

impl Unreported {
    /// Adds a state of a file.
    pub fn add(&mut self, real: &Path, state: FileState, how: How) {
        let seen = self.files.entry(real.to_owned()).or_default();
        if let Some(known) = seen.iter_mut().find(|known| known.is(&state)) {
            if how == How::Saved {
                known.how = how;
            }
            return;
        }
        let at = seen.partition_point(|other| other.is_before(&state));
        let until = None;
        seen.insert(at, Seen { state, how, until });
        if seen.len() > MAX_STATES {
            seen.remove(0);
        }
    }

    /// Returns whether this state of a file is one that Neovim has saved.
    pub fn is_saved(&self, real: &Path, state: &FileState) -> bool {
        let seen = self.files.get(real).into_iter().flatten();
        let mut saved = seen.filter(|seen| seen.how == How::Saved);
        saved.any(|seen| seen.is(state) || seen.state.text() == state.text())
    }

    /// Notes that a checkpoint of a project is asked for, which has all that was seen so far.
    pub fn asked(&mut self, root: &Path, checkpoint: Token<CheckpointTaken>) {
        let files = self.files.iter_mut();
        let files = files.filter(|(path, _)| path.starts_with(root));
        for seen in files.flat_map(|(_, seen)| seen) {
            seen.until.get_or_insert(checkpoint);
        }
    }

    /// Ends what a checkpoint has, unless `is_told` says that a report of the file waits. Returns it
    /// as changes whose result is unknown, from the first state of each file.
    pub fn taken(
        &mut self,
        checkpoint: Token<CheckpointTaken>,
        is_told: impl Fn(&Path) -> bool,
    ) -> Vec<FileChange> {
        let mut left = Vec::new();
        for (path, seen) in &mut self.files {
            let is_due = |seen: &Seen| seen.until == Some(checkpoint);
            let Some(first) = seen.iter().position(is_due).filter(|_| !is_told(path)) else {
                continue;
            };
            let last = seen.iter().rposition(is_due).unwrap_or(first);
            let after = FileState {
                body: Body::Unreadable("its change was not reported".to_owned()),
                ..seen[last].state.clone()
            };
            left.push(FileChange {
                path: path.clone(),
                from: None,
                before: seen.remove(first).state,
                after,
            });
        }
        left
    }

    /// Forgets the files of a project that is closed.
    pub fn forget(&mut self, root: &Path) {
        self.files.retain(|path, _| !path.starts_with(root));
    }

    /// Cuts a report at the states that were seen, which are removed up to its end.
    pub fn cut(&mut self, change: &FileChange) -> Cut {
        let Some(seen) = self.files.get_mut(&change.path) else {
            return Cut::default();
        };
        let (before, after) = (&change.before, &change.after);
        let told = seen.iter().rposition(|seen| seen.is(before));
        seen.drain(..told.map_or(0, |told| told + 1));
        let to = match seen.iter().rposition(|seen| seen.is(after)) {
            Some(last) => last + 1,
            None => seen.partition_point(|seen| seen.is_before(after)),
        };
        let seen: Vec<Seen> = seen.drain(..to).collect();
        let end = seen
            .last()
            .filter(|last| last.is(after) || after.is_text() && last.state.text() == after.text());
        let end = end.map(|end| end.how).filter(|end| *end != How::Replaced);
        let mut cut = Cut {
            end,
            ..Cut::default()
        };
        for Seen { state, how, .. } in seen {
            let from = cut.last.as_ref().unwrap_or(before).clone();
            let state = FileState {
                mode: before.mode,
                ..state
            };
            if how == How::Read {
                cut.read.push(FileChange {
                    path: change.path.clone(),
                    from: None,
                    before: from,
                    after: state.clone(),
                });
            }
            cut.last = Some(state);
        }
        if self.files.get(&change.path).is_some_and(Vec::is_empty) {
            self.files.remove(&change.path);
        }
        cut
    }
}
