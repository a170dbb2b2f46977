//! Rejecting what happened to a file as a whole: moved back, put back, deleted.
//!
//! Invariant: the order is place, content, mode; each step is taken when the one before has
//! succeeded, and one that fails leaves what is left of the decision to be made again.

use std::path::{Path, PathBuf};

use super::FileReview;
use super::moving::Moved;
use crate::model::Model;
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::{EditorEffect, Effect, Level};
use crate::spine::event::{DiskFile, DiskText, EditDone, ReviewAction, Stamp};
use crate::spine::project::{Body, FileState};
use crate::text::Text;
use crate::workspace::changes::{DiskMerge, known_on_disk};
use crate::workspace::fileops::{Author, Change, Intent, Landing, Next, Plan};
use crate::workspace::ledger::Which;

/// What has to be done to a file beside its lines.
enum Step {
    MoveTo(PathBuf),
    Restore(FileState),
    /// What was there was not kept.
    Lost,
}

impl FileReview {
    /// Returns what comes before the lines when the whole file is rejected.
    fn first_step(&self) -> Option<Step> {
        if let (Some(from), false) = (&self.from, self.now.is_missing()) {
            return Some(Step::MoveTo(from.clone()));
        }
        match (&self.origin.body, &self.now.body) {
            (Body::Missing, Body::Missing) => None,
            (Body::Missing, Body::Bytes { .. } | Body::Link(_)) => {
                Some(Step::Restore(FileState::missing()))
            }
            (Body::Missing, Body::Text(_)) if self.ledger.current().is_empty() => {
                Some(Step::Restore(FileState::missing()))
            }
            (Body::Missing, _) | (Body::Text(_), Body::Text(_)) => None,
            (_, Body::Unreadable(_)) | (Body::Unreadable(_), _) => None,
            (Body::Bytes { blob: None, .. }, _) if self.origin.body != self.now.body => {
                Some(Step::Lost)
            }
            (Body::Text(content), _) => {
                let text = self.ledger.base().clone();
                let format = content.format;
                Some(Step::Restore(FileState {
                    body: Body::Text(DiskText { text, format }),
                    ..self.origin.clone()
                }))
            }
            (origin, now) => {
                let is_other = origin != now || self.origin.has_other_mode(&self.now);
                is_other.then(|| Step::Restore(self.origin.clone()))
            }
        }
    }

    /// Returns the text file with the mode and the format that a reject of the whole leaves;
    /// `None` if it has them.
    fn last_step(&self, disk: DiskText) -> Option<FileState> {
        let (Body::Text(origin), Body::Text(_)) = (&self.origin.body, &self.now.body) else {
            return None;
        };
        let mode = self.origin.mode;
        let is_mode = mode.is_none() || self.now.mode.is_none() || mode == self.now.mode;
        if !self.has_other_format() && is_mode {
            return None;
        }
        let format = origin.format;
        Some(FileState {
            body: Body::Text(DiskText { format, ..disk }),
            mode,
            stamp: None,
        })
    }

    /// Returns whether a decision about these hunks is one about the whole file: nothing of a
    /// deletion, or of a file that was made, would be left.
    pub(super) fn is_whole(&self, which: &Which) -> bool {
        let is_kind = self.origin.is_missing() != self.now.is_missing();
        let is_all = self.ledger.hit(which).len() == self.ledger.hunks().len();
        *which == Which::All || is_kind && is_all && !matches!(which, Which::Rows(_))
    }

    /// Returns whether there is anything to decide of these hunks.
    pub(super) fn is_meant(&self, which: &Which) -> bool {
        let is_hit = !self.ledger.hit(which).is_empty();
        is_hit || self.is_whole(which) && self.is_pending()
    }

    /// Returns whether a reject of the whole has something to do but for lines.
    fn has_last_step(&self) -> bool {
        let step = match &self.now.body {
            Body::Text(now) => self.last_step(now.clone()),
            _ => None,
        };
        step.is_some() || self.is_left_of_made()
    }

    /// Returns whether what is left of a file that an agent made is the user's alone.
    fn is_left_of_made(&self) -> bool {
        self.is_created() && self.ledger.hunks().is_empty() && !self.ledger.current().is_empty()
    }
}

impl Model {
    /// Has the step taken that comes before the lines of a file that is rejected; `false` when
    /// there is none.
    pub(super) fn reject_first(&mut self, path: &Path, fx: &mut Effects) -> bool {
        let Some(step) = self.reviews.get(path).and_then(FileReview::first_step) else {
            return false;
        };
        let intent = match step {
            Step::MoveTo(to) => Intent::MoveBack(to),
            Step::Restore(state) => {
                self.note_restored(path, &state);
                let is_reject = true;
                Intent::Restore { state, is_reject }
            }
            Step::Lost => {
                let text = format!(
                    "{} was too large to be kept: it cannot be brought back here.",
                    path.display()
                );
                fx.push(notify(Level::Error, text));
                return true;
            }
        };
        self.follow_up(path.to_owned(), intent, fx);
        true
    }

    /// Notes, for the decision to be taken back, that the whole file is given another state.
    fn note_restored(&mut self, path: &Path, state: &FileState) {
        if let Some(review) = self.reviews.get(path) {
            let moved = Moved::restored(path, review, state);
            self.reviews.note_decided(moved);
        }
    }

    /// Has the disk read for the mode and the format of a file whose lines are rejected, if these
    /// are others too; whether anything was left to be done.
    pub(super) fn reject_last(&mut self, path: &Path, fx: &mut Effects) -> bool {
        let Some(review) = self.reviews.get_mut(path) else {
            return false;
        };
        if !review.has_last_step() {
            return false;
        }
        if review.is_left_of_made() {
            // And so is the file.
            review.accept_whole();
            self.reviews.touch(path);
        } else {
            self.follow_up(path.to_owned(), Intent::Rest, fx);
        }
        true
    }

    /// Has what is on disk merged into the buffer.
    pub(super) fn reread(&mut self, path: &Path, is_reject: bool, fx: &mut Effects) {
        self.follow_up(path.to_owned(), Intent::Reread { is_reject }, fx);
    }

    /// Plans to put back mode and format of what is on disk.
    pub(crate) fn plan_rest(&mut self, path: &Path, disk: DiskFile) -> Plan {
        let review = self.reviews.get(path);
        let state = review.zip(disk.content);
        let state = state.and_then(|(review, disk)| Some((review, review.last_step(disk)?)));
        let Some((review, state)) = state else {
            return Plan::Done;
        };
        let moved = Moved::restored(path, review, &state);
        self.reviews.note_last(moved);
        Plan::Disk(Change::Restore(state.clone()), Landing::Rest(state))
    }

    /// A file is where it was before the agent moved it: what else was done to it comes next.
    pub(crate) fn moved_back(
        &mut self,
        path: &Path,
        to: &Path,
        stamp: Option<Stamp>,
        fx: &mut Effects,
    ) -> Next {
        if let Some(review) = self.reviews.get(path) {
            let moved = Moved::moved_back(path, review, to);
            self.reviews.note_decided(moved);
        }
        self.reviews.rename(path, to);
        if let Some(review) = self.reviews.get_mut(to) {
            review.from = None;
            review.now.stamp = stamp;
            to.clone_into(&mut review.real);
        }
        if let Some((buf, _)) = self.documents.find(path) {
            self.documents.rename(buf, to);
            let path = to.to_owned();
            fx.push(Effect::Editor(EditorEffect::Moved { buf, path }));
        }
        self.reviews.touch(path);
        self.reviews.touch(to);
        self.is_also(path, to);
        self.review_next(ReviewAction::Reject, to, Which::All, fx);
        Next::Done
    }

    /// What was there is back on disk: in the buffer, or the ledger, too.
    pub(crate) fn restored(
        &mut self,
        path: &Path,
        state: FileState,
        is_reject: bool,
        stamp: Option<Stamp>,
        fx: &mut Effects,
    ) -> Next {
        let found = self.documents.find(path);
        let has_lines = found.is_some_and(|(_, document)| !document.text.is_empty());
        let buf = found.map(|(buf, _)| buf);
        let (text, is_text) = (state.text(), state.is_text());
        if let Some(buf) = buf.filter(|_| state.is_missing()) {
            match has_lines && is_reject {
                true => self.reread(path, is_reject, fx),
                false => self.documents.set_disk(buf, Text::default(), None),
            }
            fx.push(Effect::Editor(EditorEffect::Deleted { buf }));
        } else if buf.is_some() && is_text && is_reject {
            self.reread(path, is_reject, fx);
        }
        if let Some(review) = self.reviews.get_mut(path) {
            review.restored = stamp.filter(|_| state.mode.is_some());
            review.now = FileState { stamp, ..state };
            if let (Some(text), None) = (text, buf) {
                review.decision_wrote(text);
            }
        }
        self.reviews.touch(path);
        Next::Done
    }

    /// Plans to merge what is on disk into the buffer.
    pub(crate) fn plan_reread(&mut self, path: &Path, disk: DiskFile) -> Plan {
        let Some((buf, document)) = self.documents.find(path) else {
            return Plan::Done;
        };
        let Ok(theirs) = known_on_disk(document, &disk) else {
            return Plan::Done;
        };
        let theirs = theirs.unwrap_or_default();
        let base = document.saved.clone();
        let base = base.unwrap_or_else(|| document.text.clone());
        let (merge, edit) = DiskMerge::plan(buf, document, disk, (base, theirs), None);
        Plan::Edit {
            edit,
            author: Author::Decision,
            opens: None,
            landing: Landing::Reread(Box::new(merge)),
        }
    }

    /// Goes on when the buffer has what was restored.
    pub(crate) fn reread_landed(
        &mut self,
        path: &Path,
        merge: DiskMerge,
        is_reject: bool,
        done: &EditDone,
        fx: &mut Effects,
    ) -> Next {
        let (buf, is_gone) = (merge.buf, merge.disk.content.is_none());
        let is_done = self.disk_is_merged(merge, done, fx);
        self.reviews.touch(path);
        if !is_done {
            return Next::Again;
        }
        if is_gone {
            fx.push(Effect::Editor(EditorEffect::Deleted { buf }));
        } else if is_reject {
            // What the user had changed beside may have kept lines of the agent's there.
            self.review_next(ReviewAction::Reject, path, Which::All, fx);
        }
        Next::Done
    }
}
