//! The lanes: one a file, first in, first out.
//!
//! Invariants: a lane is there as long as it has an operation; each name of a file leads to one
//! lane. Whether two names mean one file is known from its buffer, its review, or when the disk
//! has been read: then the lanes become one, in which an operation under way stays first.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::{Path, PathBuf};

use super::{Author, Intent, Kind, Landing, Operation};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LaneId(u64);

/// All operations on files.
#[derive(Debug, Default)]
pub struct FileOps {
    lanes: BTreeMap<LaneId, Lane>,
    by_name: HashMap<PathBuf, LaneId>,
    next: u64,
}

/// The operations on one file.
#[derive(Debug, Default)]
struct Lane {
    names: Vec<PathBuf>,
    /// Where links lead is known: there is no lane of the same file by another name.
    is_resolved: bool,
    /// The kind of the operation that is being carried out.
    doing: Option<Kind>,
    /// That operation, while it waits for an effect, and what to remember until it is done;
    /// nothing while the disk is read for it.
    active: Option<(Operation, Option<Landing>)>,
    /// The author of the lines that come back from the editor.
    author: Option<Author>,
    waiting: VecDeque<Operation>,
    /// How many of those follow from the operation that is being carried out.
    follow_ups: usize,
}

impl Lane {
    fn kinds(&self) -> impl Iterator<Item = Kind> {
        let waiting = self.waiting.iter().map(|op| op.intent.kind());
        self.doing.into_iter().chain(waiting)
    }
}

impl FileOps {
    fn lanes(&self, names: &[PathBuf]) -> impl Iterator<Item = &Lane> {
        let ids = names.iter().filter_map(|name| self.by_name.get(name));
        let mut ids: Vec<LaneId> = ids.copied().collect();
        ids.dedup();
        ids.into_iter().filter_map(|id| self.lanes.get(&id))
    }

    /// Returns whether an operation on a file is being carried out.
    pub fn is_busy(&self, names: &[PathBuf]) -> bool {
        self.busy(names).is_some()
    }

    /// Returns whether there is an operation of a kind on a file, waiting ones included.
    pub fn has(&self, names: &[PathBuf], is_meant: impl Fn(Kind) -> bool) -> bool {
        self.lanes(names).any(|lane| lane.kinds().any(&is_meant))
    }

    /// Returns whether there is an operation of a kind on a file, or on one that may turn out to be
    /// the same.
    pub fn may_have(&self, names: &[PathBuf], is_meant: impl Fn(Kind) -> bool) -> bool {
        let mut unresolved = self.lanes.values().filter(|lane| !lane.is_resolved);
        self.has(names, &is_meant) || unresolved.any(|lane| lane.kinds().any(&is_meant))
    }

    /// Returns whether there is an operation of a kind on any file.
    pub fn has_any(&self, is_meant: impl Fn(Kind) -> bool) -> bool {
        self.lanes.values().any(|lane| lane.kinds().any(&is_meant))
    }

    /// Returns what waits to be done with a file.
    pub fn waiting(&self, names: &[PathBuf]) -> impl Iterator<Item = &Operation> {
        self.lanes(names).flat_map(|lane| &lane.waiting)
    }

    /// Returns the kind of the operation that is being carried out on a file.
    pub fn doing(&self, names: &[PathBuf]) -> Option<Kind> {
        self.lanes(names).find_map(|lane| lane.doing)
    }

    /// Returns whether nothing is under way and nothing waits.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.lanes.is_empty() && self.by_name.is_empty()
    }

    /// Returns whether a decision about hunks is being carried out.
    #[cfg(test)]
    pub fn is_review(&self, id: LaneId) -> bool {
        let active = self.lanes.get(&id).and_then(|lane| lane.active.as_ref());
        active.is_some_and(|(op, _)| {
            matches!(
                op.intent,
                Intent::Decide(_) | Intent::Reread { .. } | Intent::PutBack(_)
            )
        })
    }

    /// Lets an operation wait behind all others on its file.
    pub(super) fn enter(&mut self, names: Vec<PathBuf>, mut op: Operation) -> LaneId {
        self.next += 1;
        op.turn = self.next;
        let mut known = names.iter().filter_map(|name| self.by_name.get(name));
        let id = known.next().copied().unwrap_or(LaneId(self.next));
        let lane = self.lanes.entry(id).or_default();
        // More than one is known from a buffer, or a review.
        lane.is_resolved |= names.len() > 1;
        lane.waiting.push_back(op);
        for name in names {
            self.learn(id, name);
        }
        id
    }

    /// Returns the lane in which an operation on a file is being carried out.
    pub(super) fn busy(&self, names: &[PathBuf]) -> Option<LaneId> {
        let mut ids = names.iter().filter_map(|name| self.by_name.get(name));
        let is_busy = |id: &&LaneId| self.lanes.get(id).is_some_and(|lane| lane.doing.is_some());
        ids.find(is_busy).copied()
    }

    /// Lets an operation be carried out after the one under way, and after others that follow
    /// from that.
    pub(super) fn follow_up(&mut self, id: LaneId, op: Operation) {
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.waiting.insert(lane.follow_ups, op);
            lane.follow_ups += 1;
        }
    }

    /// Learns where a lane's links lead, as [`FileOps::learn`] does.
    pub(super) fn resolve(&mut self, id: LaneId, real: PathBuf) -> Option<LaneId> {
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.is_resolved = true;
        }
        self.learn(id, real)
    }

    /// Learns a name of a lane's file. If another lane has it, the two become one, unless an
    /// operation is being carried out in that one, too: then its id is returned.
    pub(super) fn learn(&mut self, id: LaneId, name: PathBuf) -> Option<LaneId> {
        let other = self.by_name.get(&name).copied();
        match other.filter(|other| *other != id) {
            None => {
                if other.is_none()
                    && let Some(lane) = self.lanes.get_mut(&id)
                {
                    lane.names.push(name.clone());
                    self.by_name.insert(name, id);
                }
                None
            }
            Some(other) => {
                let is_busy = self
                    .lanes
                    .get(&other)
                    .is_some_and(|lane| lane.doing.is_some());
                match is_busy {
                    true => Some(other),
                    false => {
                        self.join(other, id);
                        None
                    }
                }
            }
        }
    }

    /// Learns another name of the file of `path`.
    pub(super) fn has_name(&mut self, path: &Path, name: PathBuf) {
        if let Some(id) = self.by_name.get(path) {
            self.learn(*id, name);
        }
    }

    /// Lets what waits in one lane wait in another, in the order in which all of it came, and its
    /// names lead there.
    pub(super) fn join(&mut self, from: LaneId, to: LaneId) {
        let Some(from) = self.lanes.remove(&from) else {
            return;
        };
        for name in &from.names {
            self.by_name.insert(name.clone(), to);
        }
        if let Some(lane) = self.lanes.get_mut(&to) {
            lane.names.extend(from.names);
            lane.waiting.extend(from.waiting);
            lane.waiting.make_contiguous().sort_by_key(|op| op.turn);
        }
    }

    /// Returns the ids of all lanes in which nothing is being carried out.
    pub(super) fn idle(&self) -> Vec<LaneId> {
        let lanes = self.lanes.iter();
        let idle = lanes.filter(|(_, lane)| lane.doing.is_none());
        idle.map(|(id, _)| *id).collect()
    }

    /// Returns the next operation's path, if it may begin.
    pub(super) fn next(&self, id: LaneId) -> Option<&Path> {
        let lane = self.lanes.get(&id).filter(|lane| lane.doing.is_none())?;
        Some(&lane.waiting.front()?.path)
    }

    /// Begins the next operation.
    pub(super) fn begin(&mut self, id: LaneId) -> Option<Operation> {
        let lane = self.lanes.get_mut(&id)?;
        let op = lane.waiting.pop_front()?;
        lane.doing = Some(op.intent.kind());
        lane.follow_ups = 0;
        Some(op)
    }

    /// Lets the operation that is being carried out wait for an effect.
    pub(super) fn waits(
        &mut self,
        id: LaneId,
        op: Operation,
        landing: Option<Landing>,
        author: Option<Author>,
    ) {
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.active = Some((op, landing));
            lane.author = author;
        }
    }

    /// Returns the operation that has waited for an effect.
    pub(super) fn resumes(&mut self, id: LaneId) -> Option<(Operation, Option<Landing>)> {
        self.lanes.get_mut(&id)?.active.take()
    }

    /// Puts the operation that is being carried out back: it begins later.
    pub(super) fn put_back(&mut self, id: LaneId, op: Operation) {
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.waiting.push_front(op);
            lane.waiting.make_contiguous().sort_by_key(|op| op.turn);
            lane.doing = None;
        }
    }

    /// Returns whether an operation waits that came before one which is being carried out: by
    /// another name, before that was known to be one of the same file.
    pub(super) fn is_before(&self, id: LaneId, op: &Operation) -> bool {
        let waiting = self.lanes.get(&id).map(|lane| &lane.waiting);
        let mut waiting = waiting.into_iter().flatten();
        waiting.any(|other| (1..op.turn).contains(&other.turn))
    }

    /// Ends the operation that is being carried out.
    pub(super) fn end(&mut self, id: LaneId) {
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.doing = None;
        }
    }

    /// Forgets a lane without operations; tells whether it was one.
    pub(super) fn tidy(&mut self, id: LaneId) -> bool {
        let is_over = |lane: &Lane| lane.doing.is_none() && lane.waiting.is_empty();
        if !self.lanes.get(&id).is_some_and(is_over) {
            return false;
        }
        for name in self
            .lanes
            .remove(&id)
            .map(|lane| lane.names)
            .unwrap_or_default()
        {
            self.by_name.remove(&name);
        }
        true
    }

    /// Returns the author of the lines that the editor reports back for an operation.
    pub(super) fn author(&self, id: LaneId) -> Option<Author> {
        self.lanes.get(&id)?.author
    }

    /// Takes out an operation that has not begun; tells whether it was there.
    pub(super) fn take_waiting(&mut self, is_meant: impl Fn(&Intent) -> bool) -> Option<LaneId> {
        for (id, lane) in &mut self.lanes {
            if let Some(at) = lane.waiting.iter().position(|op| is_meant(&op.intent)) {
                lane.waiting.remove(at);
                return Some(*id);
            }
        }
        None
    }

    /// Returns an operation that waits for an effect, and whether that changes anything.
    pub(super) fn active_mut(
        &mut self,
        is_meant: impl Fn(&Intent) -> bool,
    ) -> Option<(&mut Intent, bool)> {
        let lanes = self.lanes.values_mut();
        let mut active = lanes.filter_map(|lane| lane.active.as_mut());
        let (op, landing) = active.find(|(op, _)| is_meant(&op.intent))?;
        Some((&mut op.intent, landing.is_some()))
    }
}
