//! Following: the place of each session's agent, and the place to which the editor follows it.
//!
//! Invariants: each new place gets a higher number than all before; a repeated report of the same
//! place gets none. An agent is marked only while its turn runs and it does not wait for the user.

pub mod pace;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::render::toolcall::ToolCall;
use crate::spine::ids::SessionKey;
use crate::spine::view::Follow;
use crate::view::View;
use acp::{ToolCallId, ToolContent};

/// The places of all agents.
#[derive(Debug, Default)]
pub(super) struct Following {
    /// The mode of a new session.
    default: Follow,
    trails: BTreeMap<SessionKey, Trail>,
    /// Sessions whose view must be updated.
    pub dirty: BTreeSet<SessionKey>,
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
    named: HashMap<ToolCallId, HashSet<Named>>,
    /// Files that a tool call has announced as changed, until the change is found on disk.
    announced: HashSet<PathBuf>,
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

impl View {
    /// Returns how a session's agent is followed.
    pub(crate) fn follow_mode(&self, key: SessionKey) -> Follow {
        self.trail(key).map_or(Follow::Off, |trail| trail.mode)
    }

    /// Sets how agents of new sessions are followed.
    pub(crate) fn set_follow_default(&mut self, mode: Follow) {
        self.following.default = mode;
    }

    /// Sets how a session's agent is followed, or toggles it; returns the mode.
    pub(crate) fn set_follow(
        &mut self,
        key: SessionKey,
        mode: Option<Follow>,
        is_at_work: bool,
    ) -> Option<Follow> {
        let trail = self.following.trails.get_mut(&key)?;
        let toggled = match (trail.mode, self.following.default) {
            (Follow::Off, Follow::Edits) => Follow::Edits,
            (Follow::Off, _) => Follow::On,
            _ => Follow::Off,
        };
        trail.mode = mode.unwrap_or(toggled);
        if !is_at_work {
            // The place in an ended turn is irrelevant.
            (trail.last, trail.edited) = (None, None);
        }
        let mode = trail.mode;
        self.following.dirty.insert(key);
        Some(mode)
    }

    pub(crate) fn trail(&self, key: SessionKey) -> Option<&Trail> {
        self.following.trails.get(&key)
    }

    /// Returns the sessions whose view must be updated, or all of them.
    pub(crate) fn take_followed(&mut self, all: bool) -> BTreeSet<SessionKey> {
        if all {
            self.following.dirty.extend(self.following.trails.keys());
        }
        std::mem::take(&mut self.following.dirty)
    }

    pub(crate) fn session_opened(&mut self, key: SessionKey) {
        let mode = self.following.default;
        let trail = Trail {
            mode,
            ..Trail::default()
        };
        self.following.trails.insert(key, trail);
    }

    pub(super) fn unfollow(&mut self, key: SessionKey) {
        if self.following.trails.remove(&key).is_some() {
            self.following.dirty.insert(key);
        }
    }

    /// Begins a turn: the places of earlier turns are dropped.
    pub(crate) fn turn_begins(&mut self, key: SessionKey) {
        if let Some(trail) = self.following.trails.get_mut(&key) {
            let mode = trail.mode;
            *trail = Trail {
                mode,
                ..Trail::default()
            };
            self.following.dirty.insert(key);
        }
    }

    pub(crate) fn turn_ends(&mut self, key: SessionKey) {
        if self
            .following
            .trails
            .get(&key)
            .is_some_and(|trail| trail.last.is_some())
        {
            self.following.dirty.insert(key);
        }
    }

    /// Updates the agents that are in a file for which a buffer was opened.
    pub(crate) fn buffer_came(&mut self, path: &Path, real: &Path) {
        for (key, trail) in &self.following.trails {
            let is_there = |place: &&TrailPoint| place.path == path || place.path == real;
            if trail.last.as_ref().is_some_and(|place| is_there(&place)) {
                self.following.dirty.insert(*key);
            }
        }
    }

    /// Returns the place that a tool call names for the first time.
    pub(crate) fn first_named(&mut self, key: SessionKey, tool: &ToolCall) -> Option<Named> {
        fresh(self.following.trails.get_mut(&key)?, tool)
    }

    /// Records that a tool call has announced a change of a file.
    pub(crate) fn announce(&mut self, key: SessionKey, path: &Path) {
        if let Some(trail) = self.following.trails.get_mut(&key) {
            trail.announced.insert(path.to_owned());
        }
    }

    /// Returns whether a tool call had announced the change of a file that was found on disk.
    pub(crate) fn take_announced(&mut self, key: SessionKey, path: &Path) -> bool {
        let trail = self.following.trails.get_mut(&key);
        trail.is_some_and(|trail| trail.announced.remove(path))
    }

    /// Moves the agent to a place; ignored if it is the current one.
    pub(crate) fn comes(&mut self, key: SessionKey, step: Visit) {
        let Some(trail) = self.following.trails.get_mut(&key) else {
            return;
        };
        let mut place = TrailPoint {
            number: self.following.last_number + 1,
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
        self.following.last_number = place.number;
        if place.is_edit {
            trail.edited = Some(place.clone());
        }
        trail.last = Some(place);
        self.following.dirty.insert(key);
    }

    /// Updates the description of what the agent does at its place.
    pub(crate) fn renames(&mut self, key: SessionKey, tool: &ToolCallId, deed: &str) {
        let last = self
            .following
            .trails
            .get_mut(&key)
            .and_then(|trail| trail.last.as_mut());
        if let Some(last) = last
            && last.tool.as_ref() == Some(tool)
            && last.deed != deed
        {
            deed.clone_into(&mut last.deed);
            self.following.dirty.insert(key);
        }
    }
}

/// Returns the place that a tool call names for the first time: the last of its locations, or the
/// last diff of a file for which no location gives the row.
fn fresh(trail: &mut Trail, tool: &ToolCall) -> Option<Named> {
    let named = trail.named.entry(tool.id.clone()).or_default();
    let mut fresh = None;
    for item in &tool.content {
        let ToolContent::Diff { path, old, new } = item else {
            continue;
        };
        let mut locations = tool.locations.iter();
        let is_located = locations.any(|place| place.path == *path && place.row.is_some());
        let old = old.as_ref().map_or(0, String::len);
        let diff = Named::Diff(path.clone(), old, new.len());
        if named.insert(diff.clone()) && !is_located {
            fresh = Some(diff);
        }
    }
    for place in &tool.locations {
        let location = Named::Location(place.path.clone(), place.row);
        if named.insert(location.clone()) {
            fresh = Some(location);
        }
    }
    fresh
}
