//! The executor: reads files, makes and verifies changes, plans operations again.
//!
//! Invariant: an operation leaves its lane when it is done, has failed, or has been tried
//! [`MAX_TRIES`] times; then the next one begins.

use std::path::{Path, PathBuf};

use super::intent::{Intent, Operation};
use super::lane::LaneId;
use super::plan::{Change, FileNow, Landing, Next, Opens, Outcome, Plan};
use super::{Author, MAX_TRIES, failure};
use crate::spine::asker::{Asker, was_cancelled};
use crate::spine::cx::Effects;
use crate::spine::effect::{HardLinks, HostEffect, MayReplace};
use crate::spine::event::{DiskFile, EditDone, EditError, ReadError, Stamp, WriteError};
use crate::spine::pending::Token;
use crate::spine::pending::reply::Edited;
use crate::spine::project::Body;
use crate::workspace::Workspace;
use crate::workspace::jobs::ReadJob;
use crate::workspace::reviews::FileReview;

/// Why a change was not made.
enum Why {
    /// The editor's words.
    Refused(String),
    /// The host's sentence, with the path.
    Failed(String),
}

impl Workspace {
    /// Carries out an operation after all others on its file.
    pub(crate) fn operate(&mut self, path: PathBuf, intent: Intent, fx: &mut Effects) {
        let lane = self.line_up(path, intent);
        self.run_lane(lane, fx);
    }

    /// Adds an operation at the end of its file's lane.
    pub(crate) fn line_up(&mut self, path: PathBuf, intent: Intent) -> LaneId {
        let is_file = |file: &FileReview| file.now.link().is_none();
        let is_resolved =
            self.documents.find(&path).is_some() || self.reviews.get(&path).is_some_and(is_file);
        let goal = self.goal_of(&path, &intent);
        let op = Operation::new(path, intent);
        self.fileops.enter(op, is_resolved, goal)
    }

    /// Returns the path to which an operation, or what follows from it, may move its file.
    fn goal_of(&self, path: &Path, intent: &Intent) -> Option<PathBuf> {
        match intent {
            Intent::Decide(_) => self.reviews.get(path)?.from.clone(),
            Intent::Shift(aim) => self.reviews.get(path)?.goal(aim),
            Intent::MoveBack(to) => Some(to.clone()),
            Intent::Move(moved) => moved.to.clone(),
            _ => None,
        }
    }

    /// Carries out an operation that follows from the active one on the same file, before all that
    /// wait.
    pub(crate) fn follow_up(&mut self, path: PathBuf, intent: Intent, fx: &mut Effects) {
        match self.fileops.busy(&path) {
            Some(lane) => self.fileops.follow_up(lane, Operation::new(path, intent)),
            None => self.operate(path, intent, fx),
        }
    }

    /// Notes another name of a file.
    pub(crate) fn is_also(&mut self, path: &Path, name: &Path) {
        self.fileops.has_name(path, name.to_owned());
    }

    /// Notes that the active operation has moved a file: those that wait follow it.
    pub(crate) fn has_moved(&mut self, from: &Path, to: &Path) {
        self.fileops.follow(from, to);
        self.is_also(from, to);
    }

    /// Continues operations that wait for a buffer to load.
    pub(crate) fn run_lanes(&mut self, fx: &mut Effects) {
        for lane in self.fileops.idle() {
            self.run_lane(lane, fx);
        }
    }

    /// Carries out operations until one waits for an effect, then those that have waited for them.
    pub(crate) fn run_lane(&mut self, lane: LaneId, fx: &mut Effects) {
        self.run_one(lane, fx);
        while let Some(lane) = self.fileops.next_freed() {
            self.run_one(lane, fx);
        }
    }

    fn run_one(&mut self, lane: LaneId, fx: &mut Effects) {
        while let Some(path) = self.fileops.next(lane) {
            if self.documents.is_loading(path) {
                return;
            }
            let Some(op) = self.fileops.begin(lane) else {
                return;
            };
            self.go_on(lane, op, None, fx);
        }
        self.fileops.tidy(lane);
    }

    /// Plans an operation and starts its effect.
    fn go_on(&mut self, lane: LaneId, mut op: Operation, disk: Option<DiskFile>, fx: &mut Effects) {
        if disk.is_none() {
            self.starts(&mut op, fx);
        }
        if disk.is_none() && self.reads_disk(&op) {
            if let Some(known) = self.known_file(&op) {
                self.fileops.waits(lane, op, None, None);
                return self.file_was_read(lane, Ok(known), fx);
            }
            let token = self.jobs.reads.add(ReadJob::Operation(lane));
            let path = op.path.clone();
            fx.push(HostEffect::ReadDisk { token, path });
            return self.fileops.waits(lane, op, None, None);
        }
        let may_replace = match &disk {
            Some(disk) if self.restores_text(&op.path) => MayReplace::Only(disk.stamp),
            _ => MayReplace::Anything,
        };
        let plan = match self.prepare(&mut op, disk.as_ref(), fx) {
            Ok(()) => op.intent.plan(FileNow::of(self, &op, disk)),
            Err(why) => Plan::Fail(why),
        };
        match plan {
            Plan::Edit {
                edit,
                author,
                opens,
                landing,
            } => {
                self.open_review(opens);
                let token = self.jobs.edits.add(lane);
                let roots = self.roots_of(&op.intent);
                let hard_links = self.hard_links_of(&op);
                fx.push(edit.into_effect(token, roots, hard_links));
                self.fileops.waits(lane, op, Some(landing), Some(author));
            }
            Plan::Disk(change, landing) => {
                let token = self.jobs.writes.add(lane);
                let roots = self.roots_of(&op.intent);
                let path = self.place_of(&op.path, &change);
                let hard_links = self.hard_links_of(&op);
                fx.push(change.into_effect(token, path, roots, may_replace, hard_links));
                self.fileops.waits(lane, op, Some(landing), None);
            }
            Plan::Again => self.replan(lane, op, None, fx),
            Plan::Done(landing) => self.has_ended(lane, op, landing, Outcome::Unchanged, fx),
            Plan::Fail(why) => {
                let text = failure(&op.path, &why);
                self.end_failed(lane, op, text, fx);
            }
        }
    }

    /// Returns the folders in which an operation may change files: the session's for an agent's
    /// write, all that are known for the rest.
    fn roots_of(&self, intent: &Intent) -> Vec<PathBuf> {
        match intent {
            Intent::Write(write) => self.roots_of_session(write.session),
            _ => self.all_roots(),
        }
    }

    /// Returns what an operation does to a file's hard links: what the agent has created, or put in a
    /// file's place, may be another file of the user's.
    fn hard_links_of(&self, op: &Operation) -> HardLinks {
        let review = self.reviews.get(&op.path);
        let is_replaced = review.is_some_and(FileReview::is_replaced);
        match &op.intent {
            Intent::Write(_) | Intent::Reapply(_) => HardLinks::Keep,
            _ if is_replaced => HardLinks::Break,
            _ => HardLinks::Keep,
        }
    }

    /// Returns the path of a change of the disk. A restore and a deletion follow no link.
    fn place_of(&self, path: &Path, change: &Change) -> PathBuf {
        let place = match (change, self.reviews.get(path)) {
            (Change::Restore(state), Some(review)) => review.place_of(state),
            _ => None,
        };
        place.unwrap_or(path).to_owned()
    }

    /// Returns whether a restore of a file replaces or deletes a text, or creates the file, so that
    /// reading it shows what is lost.
    pub(super) fn restores_text(&self, path: &Path) -> bool {
        let review = self.reviews.get(path);
        review.is_some_and(|review| {
            let is_text = review.now.is_text() || review.now.is_missing();
            is_text && review.place_of(&review.now).is_some()
        })
    }

    fn open_review(&mut self, opens: Option<Box<Opens>>) {
        if let Some(opens) = opens {
            let review = self
                .reviews
                .begin(&opens.path, opens.session, &opens.base, opens.origin);
            if let Some(now) = opens.now {
                review.now.body = now;
            }
        }
    }

    /// Plans an operation again, for `disk` if that is known.
    fn replan(
        &mut self,
        lane: LaneId,
        mut op: Operation,
        disk: Option<DiskFile>,
        fx: &mut Effects,
    ) {
        op.tries += 1;
        if op.tries <= MAX_TRIES {
            return self.go_on(lane, op, disk, fx);
        }
        let text = failure(&op.path, "it changes too fast to be written to; try again");
        self.end_failed(lane, op, text, fx);
    }

    fn end_failed(&mut self, lane: LaneId, op: Operation, text: String, fx: &mut Effects) {
        self.failed(op, text, fx);
        self.fileops.end(lane);
    }

    /// Continues an operation when the disk was read.
    pub(crate) fn file_was_read(
        &mut self,
        lane: LaneId,
        result: Result<DiskFile, ReadError>,
        fx: &mut Effects,
    ) {
        let Some((mut op, _)) = self.fileops.resumes(lane) else {
            return;
        };
        let disk = match result {
            Ok(disk) => Ok(disk),
            // A change reports the folder in the file's place.
            Err(ReadError::Folder(_)) if op.intent.is_of_missing() => {
                Ok(DiskFile::missing(&op.path))
            }
            Err(why) => match &op.intent {
                Intent::TakeIn(change) => self.told_for(change).ok_or(why.into_words()),
                _ => self.known_whole(&op).ok_or_else(|| why.into_words()),
            },
        };
        match disk {
            Err(text) => match &mut op.intent {
                // The report has the content.
                Intent::TakeIn(change) => {
                    self.change_unread(change, text, fx);
                    self.fileops.end(lane);
                }
                _ => self.end_failed(lane, op, text, fx),
            },
            Ok(disk) => {
                let is_loading = [&op.path, &disk.real]
                    .iter()
                    .any(|name| self.documents.is_loading(name));
                if let Some(other) = self.fileops.resolve(lane, disk.real.clone()) {
                    // The file belongs to another lane, which has an active operation.
                    self.fileops.put_back(lane, op);
                    self.fileops.join(lane, other);
                } else if is_loading || self.fileops.is_before(lane, &op) {
                    self.fileops.put_back(lane, op);
                } else {
                    self.go_on(lane, op, Some(disk), fx);
                }
            }
        }
        self.run_lane(lane, fx);
    }

    /// Returns the file of a decision that is about all of it and needs no new text, although it cannot
    /// be read.
    fn known_whole(&self, op: &Operation) -> Option<DiskFile> {
        let review = self.reviews.get(&op.path)?;
        let content = match (&op.intent, &review.now.body) {
            (Intent::Decide(_) | Intent::Shift(_), Body::Bytes { .. } | Body::Link(_)) => None,
            (Intent::Restore { .. }, Body::Text(content)) => Some(content.clone()),
            _ => return None,
        };
        let document = self.documents.find(&op.path).map(|(_, document)| document);
        let stamp = document.and_then(|document| document.stamp);
        Some(DiskFile {
            real: review.path.clone(),
            content,
            stamp: stamp.or(review.now.stamp),
            mode: None,
        })
    }

    /// Continues an operation when the editor has made or refused its edit.
    pub(crate) fn file_was_edited(
        &mut self,
        lane: LaneId,
        result: Result<EditDone, EditError>,
        fx: &mut Effects,
    ) {
        let result = match result {
            Ok(done) => Ok(Outcome::Edited(done)),
            Err(EditError::Stale { .. } | EditError::Gone) => Err(None),
            Err(EditError::Refused(why)) => Err(Some(Why::Refused(why))),
        };
        self.has_landed(lane, result, fx);
    }

    /// Continues an operation when the host has changed the disk, or failed.
    pub(crate) fn file_was_written(
        &mut self,
        lane: LaneId,
        result: Result<Option<Stamp>, WriteError>,
        fx: &mut Effects,
    ) {
        let result = match result {
            Ok(stamp) => Ok(Outcome::Written(stamp)),
            Err(WriteError::Stale) => Err(None),
            Err(WriteError::Failed(text)) => Err(Some(Why::Failed(text))),
        };
        self.has_landed(lane, result, fx);
    }

    /// Records a result: done, not made because the file has changed (`None`), or refused.
    fn has_landed(&mut self, lane: LaneId, result: Result<Outcome, Option<Why>>, fx: &mut Effects) {
        let Some((op, landing)) = self.fileops.resumes(lane) else {
            return;
        };
        match (result, landing) {
            (Ok(outcome), Some(landing)) => self.has_ended(lane, op, landing, outcome, fx),
            (Err(Some(Why::Refused(why))), _) => {
                let text = failure(&op.path, &format!("nothing was changed: {why}"));
                self.end_failed(lane, op, text, fx);
            }
            (Err(Some(Why::Failed(text))), _) => self.end_failed(lane, op, text, fx),
            (Err(None), _) | (Ok(_), None) => self.replan(lane, op, None, fx),
        }
        self.run_lane(lane, fx);
    }

    /// Records the result of a change, or that none was needed.
    fn has_ended(
        &mut self,
        lane: LaneId,
        mut op: Operation,
        landing: Landing,
        outcome: Outcome,
        fx: &mut Effects,
    ) {
        match self.landed(&mut op, landing, outcome, fx) {
            Next::Done => self.fileops.end(lane),
            Next::Again => self.replan(lane, op, None, fx),
            Next::Over(disk) => self.replan(lane, op, Some(disk), fx),
        }
    }

    /// Returns the author of the lines that the editor reports for an edit of this client.
    pub(crate) fn author_of(&self, token: Token<Edited>) -> Author {
        let lane = self.jobs.edits.get(token);
        let author = lane.and_then(|lane| self.fileops.author(*lane));
        author.unwrap_or(Author::Others)
    }

    /// Cancels a request for a file; returns whether there was one.
    ///
    /// An operation that already changes the file continues and answers with its result.
    pub(crate) fn file_taken_back(&mut self, asker: &Asker, fx: &mut Effects) -> bool {
        let is_it = |intent: &Intent| match intent {
            Intent::Read(read) => read.asker == *asker,
            Intent::Write(write) => write.asker == *asker,
            _ => false,
        };
        if let Some(lane) = self.fileops.take_waiting(is_it) {
            fx.reply_error(asker, was_cancelled());
            self.run_lane(lane, fx);
            return true;
        }
        let is_taken_back = match self.fileops.active_mut(is_it) {
            None => return false,
            Some((Intent::Read(read), _)) => &mut read.is_taken_back,
            Some((Intent::Write(write), false)) => &mut write.is_taken_back,
            Some(_) => return true,
        };
        if !std::mem::replace(is_taken_back, true) {
            fx.reply_error(asker, was_cancelled());
        }
        true
    }
}
