//! Following: the place of each session's agent, and the place to which the editor follows it.
//!
//! Invariants: each new place gets a higher number than all before; a repeated report of the same
//! place gets none. An agent is marked only while its turn runs and it does not wait for the user.

pub mod pace;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::spine::ids::SessionKey;
use crate::spine::view::Follow;
use acp::ToolCallId;

/// The places of all agents.
#[derive(Debug, Default)]
pub struct Following {
    /// The mode of a new session.
    pub(crate) default: Follow,
    pub(crate) trails: BTreeMap<SessionKey, Trail>,
    /// Sessions whose view must be updated.
    pub(crate) dirty: BTreeSet<SessionKey>,
    /// The number of the last place.
    last_number: u64,
}

/// An agent's place, and the places its tool calls have named in this turn.
#[derive(Debug, Default)]
pub(crate) struct Trail {
    pub(crate) mode: Follow,
    pub(crate) last: Option<TrailPoint>,
    /// The last place with a change by the agent.
    pub(crate) edited: Option<TrailPoint>,
    pub(crate) named: HashMap<ToolCallId, HashSet<Named>>,
    /// Files that a tool call has announced as changed, until the change is found on disk.
    pub(crate) announced: HashSet<PathBuf>,
}

/// A place of an agent in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrailPoint {
    pub(crate) number: u64,
    pub(crate) path: PathBuf,
    pub(crate) row: Option<usize>,
    pub(crate) deed: String,
    is_edit: bool,
    tool: Option<ToolCallId>,
}

/// A place that a tool call has named, recorded so that it counts once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Named {
    Location(PathBuf, Option<u32>),
    /// A diff, identified by the lengths of its texts.
    Diff(PathBuf, usize, usize),
}

/// A reported action of the agent in a file.
#[derive(Debug)]
pub(crate) struct Visit {
    pub(crate) path: PathBuf,
    pub(crate) row: Option<usize>,
    /// `reads`, `edits`, `runs: make`.
    pub(crate) deed: String,
    pub(crate) is_edit: bool,
    pub(crate) tool: Option<ToolCallId>,
    /// The file did not exist before, so it could not be shown when the agent named it.
    pub(crate) is_new_file: bool,
}

impl Following {
    pub(crate) fn is_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// Returns how a session's agent is followed.
    pub(crate) fn mode(&self, key: SessionKey) -> Follow {
        self.trails
            .get(&key)
            .map_or(Follow::Off, |trail| trail.mode)
    }

    pub(crate) fn opened(&mut self, key: SessionKey) {
        let mode = self.default;
        let trail = Trail {
            mode,
            ..Trail::default()
        };
        self.trails.insert(key, trail);
    }

    pub(crate) fn closed(&mut self, key: SessionKey) {
        if self.trails.remove(&key).is_some() {
            self.dirty.insert(key);
        }
    }

    /// Begins a turn: the places of earlier turns are dropped.
    pub(crate) fn turn_begins(&mut self, key: SessionKey) {
        if let Some(trail) = self.trails.get_mut(&key) {
            let mode = trail.mode;
            *trail = Trail {
                mode,
                ..Trail::default()
            };
            self.dirty.insert(key);
        }
    }

    pub(crate) fn turn_ends(&mut self, key: SessionKey) {
        if self
            .trails
            .get(&key)
            .is_some_and(|trail| trail.last.is_some())
        {
            self.dirty.insert(key);
        }
    }

    /// Updates the agents that are in a file for which a buffer was opened.
    pub(crate) fn buffer_came(&mut self, path: &Path, real: &Path) {
        for (key, trail) in &self.trails {
            let is_there = |place: &&TrailPoint| place.path == path || place.path == real;
            if trail.last.as_ref().is_some_and(|place| is_there(&place)) {
                self.dirty.insert(*key);
            }
        }
    }

    /// Moves the agent to a place; ignored if it is the current one.
    pub(crate) fn comes(&mut self, key: SessionKey, step: Visit) {
        let Some(trail) = self.trails.get_mut(&key) else {
            return;
        };
        let mut place = TrailPoint {
            number: self.last_number + 1,
            path: step.path,
            row: step.row,
            deed: step.deed,
            is_edit: step.is_edit,
            tool: step.tool,
        };
        if let Some(last) = trail.last.as_ref().filter(|last| last.path == place.path) {
            // A report without a row keeps the row in the same file.
            place.row = place.row.or(last.row);
            let is_same = (last.row, &last.deed) == (place.row, &place.deed);
            if is_same && !step.is_new_file {
                return;
            }
        }
        self.last_number = place.number;
        if place.is_edit {
            trail.edited = Some(place.clone());
        }
        trail.last = Some(place);
        self.dirty.insert(key);
    }

    /// Updates the description of what the agent does at its place.
    pub(crate) fn renames(&mut self, key: SessionKey, tool: &ToolCallId, deed: &str) {
        let last = self
            .trails
            .get_mut(&key)
            .and_then(|trail| trail.last.as_mut());
        if let Some(last) = last
            && last.tool.as_ref() == Some(tool)
            && last.deed != deed
        {
            deed.clone_into(&mut last.deed);
            self.dirty.insert(key);
        }
    }
}
