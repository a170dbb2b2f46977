//! A fake of the host's shadow of a project: it looks at the disk when the world says so, and
//! reports changes since its last look some time later.
//!
//! Invariants: a change begins where the last one of its path ended; a checkpoint is answered after
//! all changes it has seen.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use super::disk::Disk;
use crate::event::{Event, ProjectEvent};
use crate::spine::effect::Turns;
use crate::spine::pending::Token;
use crate::spine::pending::reply::CheckpointTaken;
use crate::spine::project::{Checkpoint, FileChange, FileState};

#[derive(Debug, Default)]
pub struct Shadow {
    /// The roots of open projects.
    open: Vec<PathBuf>,
    known: BTreeMap<PathBuf, FileState>,
    /// Requested checkpoints.
    asked: VecDeque<Token<CheckpointTaken>>,
    /// Whether an agent works, as the last request says.
    pub turns: Turns,
    /// A later Neovim would look for what turns changed.
    pub has_turn: bool,
    /// Events that are not yet reported.
    outbox: VecDeque<Event>,
    /// It may have missed changes: the project was closed for a while.
    pub has_slept: bool,
    /// The limit that a checkpoint reports.
    pub limited: Option<String>,
    /// The error of a failing checkpoint.
    pub failure: Option<String>,
}

impl Shadow {
    pub fn opens(&mut self, root: PathBuf, disk: &mut Disk) {
        if self.open.is_empty() {
            self.known = disk.states();
        }
        if !self.open.contains(&root) {
            self.open.push(root);
        }
    }

    pub fn has_open(&self, root: &str) -> bool {
        self.open.iter().any(|open| open == Path::new(root))
    }

    pub fn closes(&mut self, root: &Path) {
        assert!(self.open.iter().any(|open| open == root), "closed twice");
        assert!(self.asked.is_empty(), "closed before all is told");
        self.open.retain(|open| open != root);
        self.has_slept |= self.open.is_empty();
    }

    pub fn is_asked(&mut self, token: Token<CheckpointTaken>, root: &Path, turns: Turns) {
        assert!(self.open.iter().any(|open| open == root), "it is not open");
        self.asked.push_back(token);
        self.turns = turns;
        self.has_turn |= turns == Turns::Running;
    }

    pub fn turns_are_over(&mut self, root: &Path) {
        assert!(self.open.iter().any(|open| open == root), "it is not open");
        self.has_turn = false;
    }

    /// Returns whether a file existed at its last look.
    pub fn knows(&self, path: &Path) -> bool {
        self.known.contains_key(path)
    }

    /// Returns a file as the last report has it.
    pub fn reported(&self, path: &Path) -> Option<&FileState> {
        let mut changes = self.outbox.iter().flat_map(|event| match event {
            Event::Project(ProjectEvent::Changed { changes, .. }) => changes.as_slice(),
            _ => &[],
        });
        let next = changes.find(|change| change.path == path);
        let known = || self.known.get(path);
        next.map(|change| &change.before).or_else(known)
    }

    pub fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Compares the disk with its state at the last look.
    pub fn looks(&mut self, disk: &mut Disk) {
        if !self.is_open() {
            return;
        }
        let now = disk.states();
        let before = std::mem::take(&mut self.known);
        let missing = FileState::missing;
        let mut changes = Vec::new();
        let mut gone: Vec<PathBuf> = Vec::new();
        for (from, to) in std::mem::take(&mut disk.moved) {
            if let (Some(state), None, Some(after)) =
                (before.get(&from), now.get(&from), now.get(&to))
                && !before.contains_key(&to)
            {
                gone.extend([from.clone(), to.clone()]);
                changes.push(FileChange {
                    path: to,
                    from: Some(from),
                    before: state.clone(),
                    after: after.clone(),
                });
            }
        }
        let mut paths: Vec<&PathBuf> = before.keys().chain(now.keys()).collect();
        paths.sort();
        paths.dedup();
        for path in paths {
            let (old, new) = (before.get(path), now.get(path));
            if !is_same(old, new) && !gone.contains(path) {
                changes.push(FileChange {
                    path: path.clone(),
                    from: None,
                    before: old.cloned().unwrap_or_else(missing),
                    after: new.cloned().unwrap_or_else(missing),
                });
            }
        }
        if !changes.is_empty() {
            let root = self.open[0].clone();
            self.outbox
                .push_back(Event::Project(ProjectEvent::Changed { root, changes }));
        }
        self.known = now;
    }

    /// Takes the oldest requested checkpoint.
    pub fn checks(&mut self, disk: &mut Disk) -> bool {
        let Some(token) = self.asked.pop_front() else {
            return false;
        };
        self.looks(disk);
        let files = self.known.len();
        let limited = self.limited.clone();
        let result = match self.failure.clone() {
            Some(why) => Err(why),
            None => Ok(Checkpoint { files, limited }),
        };
        self.outbox
            .push_back(Event::Project(ProjectEvent::CheckpointTaken {
                token,
                result,
            }));
        true
    }

    /// Returns the oldest event that is not yet reported.
    pub fn tells(&mut self) -> Option<Event> {
        self.outbox.pop_front()
    }

    /// Returns whether a checkpoint's result is not yet reported.
    pub fn has_checked(&self) -> bool {
        let mut outbox = self.outbox.iter();
        outbox.any(|event| matches!(event, Event::Project(ProjectEvent::CheckpointTaken { .. })))
    }

    /// Returns whether a checkpoint or a report is pending.
    pub fn is_busy(&self) -> bool {
        !self.asked.is_empty() || !self.outbox.is_empty()
    }
}

/// Returns whether two states are equal for the user: the host reports no other changes.
fn is_same(old: Option<&FileState>, new: Option<&FileState>) -> bool {
    match (old, new) {
        (Some(old), Some(new)) => old.body == new.body && old.mode == new.mode,
        (old, new) => old == new,
    }
}
