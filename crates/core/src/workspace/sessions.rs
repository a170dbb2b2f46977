//! The facts about sessions that this room needs.
//!
//! Invariant: a session is here from its opening until it is closed, with or without an agent.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::{Signal, Workspace};
use crate::spine::ids::SessionKey;
use crate::text::Text;

/// A session's folders.
#[derive(Debug, Clone, Default)]
pub struct Folders {
    pub cwd: PathBuf,
    /// Its agent may use files in these folders only.
    pub roots: Vec<PathBuf>,
    pub project: PathBuf,
    /// Its agent reads a missing file as an empty one.
    pub missing_is_empty: bool,
}

#[derive(Debug)]
pub(super) struct SessionFiles {
    pub folders: Folders,
    pub is_in_turn: bool,
    /// Its agent works outside a turn: its window stays open.
    pub works_outside: bool,
    /// A checkpoint is being taken: it closes the window, unless the agent works outside a turn, and the
    /// next prompt waits for it.
    pub awaits_checkpoint: bool,
    /// The text of files as this session last read or wrote them: the base of its writes.
    pub seen: HashMap<PathBuf, Text>,
}

impl SessionFiles {
    /// Returns whether its agent works.
    pub(super) fn is_at_work(&self) -> bool {
        self.is_in_turn || self.works_outside
    }

    pub(super) fn new(folders: Folders) -> Self {
        Self {
            folders,
            is_in_turn: false,
            works_outside: false,
            awaits_checkpoint: false,
            seen: HashMap::new(),
        }
    }
}

impl Workspace {
    /// Records that a session's turn has begun or ended.
    pub(crate) fn set_in_turn(&mut self, key: SessionKey, is_in_turn: bool) {
        if let Some(session) = self.sessions.get_mut(&key) {
            session.is_in_turn = is_in_turn;
        }
    }

    /// Returns whether a session's agent works outside a turn.
    pub(crate) fn works_outside(&self, key: SessionKey) -> bool {
        let session = self.sessions.get(&key);
        session.is_some_and(|session| session.works_outside)
    }

    /// Returns whether a prompt of a session waits for its checkpoint.
    #[cfg(test)]
    pub(crate) fn awaits_checkpoint(&self, key: SessionKey) -> bool {
        let session = self.sessions.get(&key);
        session.is_some_and(|session| session.awaits_checkpoint)
    }

    /// Returns the text of a file as a session last read or wrote it.
    pub(crate) fn seen(&self, key: SessionKey, real: &Path) -> Option<&Text> {
        self.sessions.get(&key)?.seen.get(real)
    }

    /// Takes the signals for the rooms above.
    pub(crate) fn take_signals(&mut self) -> Vec<Signal> {
        std::mem::take(&mut self.signals)
    }

    pub(super) fn signal(&mut self, signal: Signal) {
        self.signals.push(signal);
    }
}
