//! The lanes: one per file, first in, first out.
//!
//! Invariants: a lane exists while it has operations; each name of a file leads to one lane. A
//! buffer, a review or a read of the disk shows that two names mean one file: then their lanes are
//! joined, and operations keep the order of their arrival as far as none has changed the file.
//!
//! Operations on a path and on paths below it, while it is or was a folder, keep their order as
//! well, except reads: a file and a folder cannot exist at one path.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::Bound;
use std::path::{Path, PathBuf};

use super::{Author, Intent, Kind, Landing, Operation};
use crate::spine::project::FileState;
use crate::text::Text;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LaneId(u64);

/// All operations on files.
#[derive(Debug, Default)]
pub struct FileOps {
    lanes: BTreeMap<LaneId, Lane>,
    by_name: HashMap<PathBuf, LaneId>,
    /// The lanes by their places.
    by_place: BTreeMap<PathBuf, BTreeSet<LaneId>>,
    /// The lanes that wait for another one, by that lane.
    blocked: BTreeMap<LaneId, BTreeSet<LaneId>>,
    /// The lanes that waited and may go on.
    freed: BTreeSet<LaneId>,
    next: u64,
}

/// The operations on one file.
#[derive(Debug, Default)]
struct Lane {
    names: Vec<PathBuf>,
    /// The names, and the paths to which operations may move the file.
    places: BTreeSet<PathBuf>,
    /// The links in its names are resolved: no other lane is about the same file.
    is_resolved: bool,
    /// The kind of the active operation.
    doing: Option<Kind>,
    /// The active operation while it waits for an effect, and the data its `landed` needs: none
    /// while the disk is read.
    active: Option<(Operation, Option<Landing>)>,
    /// The author of the lines that the editor reports for the active operation.
    author: Option<Author>,
    waiting: VecDeque<Operation>,
    /// The number of waiting follow-ups of the active operation.
    follow_ups: usize,
}

impl Lane {
    fn kinds(&self) -> impl Iterator<Item = Kind> {
        let waiting = self.waiting.iter().map(|op| op.intent.kind());
        self.doing.into_iter().chain(waiting)
    }

    /// Returns the place in the order of all operations of the first one that changes the file;
    /// 0 for the active one and its follow-ups.
    fn rank(&self) -> Option<u64> {
        let is_change = |kind: Kind| kind != Kind::Read;
        let mut waiting = self.waiting.iter();
        match self.doing {
            Some(kind) if is_change(kind) => Some(0),
            _ => waiting
                .find(|op| is_change(op.intent.kind()))
                .map(|op| op.turn),
        }
    }
}

impl FileOps {
    fn lane(&self, path: &Path) -> Option<&Lane> {
        self.lanes.get(self.by_name.get(path)?)
    }

    /// Returns the text before an agent's write that is under way and leaves a file, or its buffer,
    /// with this text.
    pub fn text_before(&self, path: &Path, text: &Text) -> Option<Text> {
        let (op, landing) = self.lane(path)?.active.as_ref()?;
        let Intent::Write(write) = &op.intent else {
            return None;
        };
        let before = match landing {
            Some(Landing::Saved(saved)) => saved.text_before(text),
            Some(Landing::Merged(merged)) => merged.text_before(text),
            _ => None,
        };
        before.or_else(|| write.text_before(text))
    }

    /// Returns whether a file has an active or waiting operation of a kind.
    pub fn has(&self, path: &Path, is_meant: impl Fn(Kind) -> bool) -> bool {
        self.lane(path)
            .is_some_and(|lane| lane.kinds().any(is_meant))
    }

    /// Returns the same as [`FileOps::has`], including files that a link may make the same one.
    pub fn may_have(&self, path: &Path, is_meant: impl Fn(Kind) -> bool) -> bool {
        let mut unresolved = self.lanes.values().filter(|lane| !lane.is_resolved);
        self.has(path, &is_meant) || unresolved.any(|lane| lane.kinds().any(&is_meant))
    }

    /// Returns whether any file has an operation of a kind.
    pub fn has_any(&self, is_meant: impl Fn(Kind) -> bool) -> bool {
        self.lanes.values().any(|lane| lane.kinds().any(&is_meant))
    }

    /// Returns whether a file below a folder has an operation.
    pub fn has_below(&self, folder: &Path) -> bool {
        let from = (Bound::Included(folder), Bound::Unbounded);
        let mut places = self.by_place.range::<Path, _>(from);
        places.next().is_some_and(|(at, _)| at.starts_with(folder))
    }

    /// Returns a file's waiting operations.
    pub fn waiting(&self, path: &Path) -> impl Iterator<Item = &Operation> {
        self.lane(path).into_iter().flat_map(|lane| &lane.waiting)
    }

    /// Returns a file's active operation, while it waits for an effect.
    pub fn active(&self, path: &Path) -> Option<&Operation> {
        let active = self.lane(path)?.active.as_ref();
        active.map(|(op, _)| op)
    }

    /// Returns whether no file has an operation.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.lanes.is_empty() && self.by_name.is_empty() && self.by_place.is_empty()
    }

    /// Returns whether the active operation carries out a decision about hunks.
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

    /// Adds an operation at the end of its file's lane. Whether the operation's path leads elsewhere is
    /// known if it `is_resolved`.
    pub(super) fn enter(
        &mut self,
        mut op: Operation,
        is_resolved: bool,
        goal: Option<PathBuf>,
    ) -> LaneId {
        self.next += 1;
        op.turn = self.next;
        let path = op.path.clone();
        let known = self.by_name.get(&path).copied();
        let id = known.unwrap_or(LaneId(self.next));
        let lane = self.lanes.entry(id).or_default();
        lane.is_resolved |= is_resolved;
        lane.waiting.push_back(op);
        self.learn(id, path);
        if let Some(goal) = goal {
            self.add_place(id, goal);
        }
        id
    }

    fn add_place(&mut self, id: LaneId, place: PathBuf) {
        let lane = self.lanes.get_mut(&id);
        if lane.is_none_or(|lane| !lane.places.insert(place.clone())) {
            return;
        }
        self.by_place.entry(place).or_default().insert(id);
    }

    fn drop_places(&mut self, id: LaneId, places: &BTreeSet<PathBuf>) {
        for place in places {
            if let Some(lanes) = self.by_place.get_mut(place) {
                lanes.remove(&id);
                if lanes.is_empty() {
                    self.by_place.remove(place);
                }
            }
        }
    }

    /// Returns a lane, of a file above or below, with an operation that comes before a lane's next
    /// one.
    fn blocker(&self, id: LaneId) -> Option<LaneId> {
        let lane = self.lanes.get(&id)?;
        let op = lane.waiting.front()?;
        if op.intent.kind() == Kind::Read {
            return None;
        }
        let own = (op.turn, id);
        let is_before = |other: &&LaneId| {
            let rank = self.lanes.get(other).and_then(|lane| {
                let is_active = lane.doing.is_some_and(|kind| kind != Kind::Read);
                lane.rank().map(|rank| (is_active, (rank, **other)))
            });
            **other != id && rank.is_some_and(|(is_active, rank)| is_active || rank < own)
        };
        lane.places.iter().find_map(|place| {
            let mut above = place.ancestors().filter_map(|at| self.by_place.get(at));
            let above = above.find_map(|lanes| lanes.iter().find(is_before));
            let below = (Bound::Excluded(place.as_path()), Bound::Unbounded);
            let below = self.by_place.range::<Path, _>(below);
            let mut below = below.take_while(|(other, _)| other.starts_with(place));
            let below = || below.find_map(|(_, lanes)| lanes.iter().find(is_before));
            above.or_else(below).copied()
        })
    }

    /// Lets the lanes go on that wait for this one.
    fn free(&mut self, id: LaneId) {
        self.freed
            .extend(self.blocked.remove(&id).unwrap_or_default());
    }

    /// Returns a lane that waited and may go on.
    pub(super) fn next_freed(&mut self) -> Option<LaneId> {
        self.freed.pop_first()
    }

    /// Returns the lane of a file's active operation.
    pub(super) fn busy(&self, path: &Path) -> Option<LaneId> {
        let is_busy = self.lane(path).is_some_and(|lane| lane.doing.is_some());
        self.by_name.get(path).copied().filter(|_| is_busy)
    }

    /// Inserts a follow-up of the active operation, behind its other follow-ups.
    pub(super) fn follow_up(&mut self, id: LaneId, op: Operation) {
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.waiting.insert(lane.follow_ups, op);
            lane.follow_ups += 1;
        }
    }

    /// Notes the file that a lane's names lead to; returns as [`FileOps::learn`] does.
    pub(super) fn resolve(&mut self, id: LaneId, real: PathBuf) -> Option<LaneId> {
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.is_resolved = true;
        }
        self.learn(id, real)
    }

    /// Adds a name to a lane. Another lane with that name is joined to this one, unless it has an
    /// active operation, too: then its id is returned.
    pub(super) fn learn(&mut self, id: LaneId, name: PathBuf) -> Option<LaneId> {
        let other = self.by_name.get(&name).copied();
        match other.filter(|other| *other != id) {
            None => {
                if other.is_none()
                    && let Some(lane) = self.lanes.get_mut(&id)
                {
                    lane.names.push(name.clone());
                    self.by_name.insert(name.clone(), id);
                    self.add_place(id, name);
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

    /// Adds a name to the lane of `path`.
    pub(super) fn has_name(&mut self, path: &Path, name: PathBuf) {
        if let Some(id) = self.by_name.get(path) {
            self.learn(*id, name);
        }
    }

    /// Gives the decisions about a file's review the review's new name.
    pub fn review_renamed(&mut self, from: &Path, to: &Path) {
        let Some(lane) = self.by_name.get(from).and_then(|id| self.lanes.get_mut(id)) else {
            return;
        };
        let active = lane.active.iter_mut().map(|(op, _)| op);
        let ops = active.chain(&mut lane.waiting);
        ops.filter(|op| op.intent.kind() == Kind::Decision && op.path == from)
            .for_each(|op| to.clone_into(&mut op.path));
    }

    /// Gives decisions, and changes that were reported before, the new path of a file that the
    /// active operation has moved.
    pub(super) fn follow(&mut self, from: &Path, to: &Path) {
        let lane = self.by_name.get(from).and_then(|id| self.lanes.get_mut(id));
        let waiting = lane.into_iter().flat_map(|lane| &mut lane.waiting);
        for op in waiting.filter(|op| op.path == from) {
            match &mut op.intent {
                Intent::TakeIn(change) => change.follow(to),
                Intent::Read(_) | Intent::Write(_) | Intent::Reapply(_) => continue,
                _ => {}
            }
            to.clone_into(&mut op.path);
        }
    }

    /// Drops the reports of a link that the active operation has replaced. A read would not show
    /// that they are stale: the link's replacement may be a folder, and so may its target.
    pub fn forget_link(&mut self, path: &Path, link: &FileState) {
        let lane = self.by_name.get(path).and_then(|id| self.lanes.get_mut(id));
        if let (Some(lane), Some(_)) = (lane, link.link()) {
            lane.waiting.retain(|op| match &op.intent {
                Intent::TakeIn(change) => op.path != path || !change.leads_to(link),
                _ => true,
            });
        }
    }

    /// Moves the names and the waiting operations of one lane to another, in order of arrival.
    pub(super) fn join(&mut self, from: LaneId, to: LaneId) {
        let id = from;
        let Some(from) = self.lanes.remove(&id) else {
            return;
        };
        for name in &from.names {
            self.by_name.insert(name.clone(), to);
        }
        self.drop_places(id, &from.places);
        for place in from.places {
            self.add_place(to, place);
        }
        self.free(id);
        if let Some(lane) = self.lanes.get_mut(&to) {
            lane.names.extend(from.names);
            lane.waiting.extend(from.waiting);
            lane.waiting.make_contiguous().sort_by_key(|op| op.turn);
        }
    }

    /// Returns all lanes without an active operation.
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

    /// Makes the next operation the active one, unless it waits for one on a file above or below.
    pub(super) fn begin(&mut self, id: LaneId) -> Option<Operation> {
        if let Some(other) = self.blocker(id) {
            self.blocked.entry(other).or_default().insert(id);
            return None;
        }
        let lane = self.lanes.get_mut(&id)?;
        let op = lane.waiting.pop_front()?;
        lane.doing = Some(op.intent.kind());
        lane.follow_ups = 0;
        Some(op)
    }

    /// Stores the active operation until its effect reports back.
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

    /// Returns the active operation when its effect has reported back.
    pub(super) fn resumes(&mut self, id: LaneId) -> Option<(Operation, Option<Landing>)> {
        self.lanes.get_mut(&id)?.active.take()
    }

    /// Puts the active operation back into the queue, to begin later.
    pub(super) fn put_back(&mut self, id: LaneId, op: Operation) {
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.waiting.push_front(op);
            lane.waiting.make_contiguous().sort_by_key(|op| op.turn);
            lane.doing = None;
        }
        self.free(id);
    }

    /// Returns whether an operation waits that arrived before the active one, under another name of
    /// the file.
    pub(super) fn is_before(&self, id: LaneId, op: &Operation) -> bool {
        let waiting = self.lanes.get(&id).map(|lane| &lane.waiting);
        let mut waiting = waiting.into_iter().flatten();
        waiting.any(|other| (1..op.turn).contains(&other.turn))
    }

    /// Ends the active operation.
    pub(super) fn end(&mut self, id: LaneId) {
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.doing = None;
        }
        self.free(id);
    }

    /// Drops a lane that has no operations.
    pub(super) fn tidy(&mut self, id: LaneId) {
        let is_over = |lane: &Lane| lane.doing.is_none() && lane.waiting.is_empty();
        if !self.lanes.get(&id).is_some_and(is_over) {
            return;
        }
        let lane = self.lanes.remove(&id).unwrap_or_default();
        for name in &lane.names {
            self.by_name.remove(name);
        }
        self.drop_places(id, &lane.places);
    }

    /// Returns the author of the lines that the editor reports for the active operation.
    pub(super) fn author(&self, id: LaneId) -> Option<Author> {
        self.lanes.get(&id)?.author
    }

    /// Removes a waiting operation; returns its lane.
    pub(super) fn take_waiting(&mut self, is_meant: impl Fn(&Intent) -> bool) -> Option<LaneId> {
        let (id, lane, at) = self.lanes.iter_mut().find_map(|(id, lane)| {
            let at = lane.waiting.iter().position(|op| is_meant(&op.intent))?;
            Some((*id, lane, at))
        })?;
        lane.waiting.remove(at);
        self.free(id);
        Some(id)
    }

    /// Takes out the changes that wait to be reapplied.
    pub fn take_reapplies(&mut self) -> Vec<(LaneId, Operation)> {
        let mut taken = Vec::new();
        for (id, lane) in &mut self.lanes {
            for op in std::mem::take(&mut lane.waiting) {
                match op.intent {
                    Intent::Reapply(_) => taken.push((*id, op)),
                    _ => lane.waiting.push_back(op),
                }
            }
        }
        taken
    }

    /// Returns an active operation, and whether its effect changes the file.
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
