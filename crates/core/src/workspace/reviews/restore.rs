//! Rejecting what happened to a file as a whole: moved back, put back, deleted.
//!
//! Invariant: the order is place, content, mode; each step is taken when the one before has
//! succeeded, and one that fails leaves what is left of the decision to be made again.

use std::path::{Path, PathBuf};

use super::FileReview;
use super::decide::{ReviewJob, Then};
use super::moving::Moved;
use crate::model::{Effects, Job, Model, notify};
use crate::spine::effect::{EditorEffect, Effect, HostEffect, Level};
use crate::spine::event::{DiskFile, DiskText, EditDone, EditError, ReviewAction, Stamp};
use crate::spine::project::{Body, FileState};
use crate::workspace::changes::{DiskMerge, known_on_disk};
use crate::workspace::ledger::Which;

/// What has to be done to a file beside its lines.
enum Step {
    MoveTo(PathBuf),
    Delete,
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
            (Body::Missing, Body::Bytes { .. } | Body::Link(_)) => Some(Step::Delete),
            (Body::Missing, Body::Text(_)) if self.ledger.current().is_empty() => {
                Some(Step::Delete)
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
}

impl Model {
    /// Takes the step that comes before the lines of a file that is rejected; `false` when there
    /// is none.
    pub(super) fn reject_first(&mut self, path: &Path, fx: &mut Effects) -> bool {
        let Some(step) = self.reviews.get(path).and_then(FileReview::first_step) else {
            return false;
        };
        let path = path.to_owned();
        match step {
            Step::MoveTo(to) => {
                let then = Then::MovedBack(to.clone());
                let token = self.token(Job::Review(ReviewJob::reject(path.clone(), then)));
                let from = path;
                fx.push(Effect::Host(HostEffect::MoveDisk { token, from, to }));
            }
            Step::Delete => {
                self.note_restored(&path, &FileState::missing());
                let job = ReviewJob::reject(path.clone(), Then::Deleted);
                let token = self.token(Job::Review(job));
                fx.push(Effect::Host(HostEffect::DeleteDisk { token, path }));
            }
            Step::Restore(state) => {
                self.note_restored(&path, &state);
                self.restore(path, state, fx);
            }
            Step::Lost => {
                let text = format!(
                    "{} was too large to be kept: it cannot be brought back here.",
                    path.display()
                );
                fx.push(notify(Level::Error, text));
            }
        }
        true
    }

    /// Notes, for the decision to be taken back, that the whole file is given another state.
    fn note_restored(&mut self, path: &Path, state: &FileState) {
        if let Some(review) = self.reviews.get(path) {
            let moved = Moved::restored(path, review, state);
            self.reviews.note_decided(moved);
        }
    }

    fn restore(&mut self, path: PathBuf, state: FileState, fx: &mut Effects) {
        let then = Then::Restored(Box::new(state.clone()));
        let token = self.token(Job::Review(ReviewJob::reject(path.clone(), then)));
        fx.push(Effect::Host(HostEffect::Restore { token, path, state }));
    }

    /// Has the disk read for the mode and the format of a file whose lines are rejected, if these
    /// are others too; whether anything was left to be done.
    pub(super) fn reject_last(&mut self, path: &Path, fx: &mut Effects) -> bool {
        if let Some(review) = self.reviews.get_mut(path)
            && review.is_created()
            && review.ledger.hunks().is_empty()
            && !review.ledger.current().is_empty()
        {
            // What is left of a file that was made is the user's, and so is the file.
            review.accept_whole();
            self.reviews.touch(path);
            return true;
        }
        let review = self.reviews.get(path);
        let step = review.and_then(|review| match &review.now.body {
            Body::Text(now) => review.last_step(now.clone()),
            _ => None,
        });
        if step.is_some() {
            self.reread(path.to_owned(), Then::Rest, fx);
        }
        step.is_some()
    }

    pub(super) fn reread(&mut self, path: PathBuf, then: Then, fx: &mut Effects) {
        let token = self.token(Job::Review(ReviewJob::reject(path.clone(), then)));
        fx.push(Effect::Host(HostEffect::ReadDisk { token, path }));
    }

    /// Puts back mode and format of what is on disk.
    pub(super) fn reject_rest(&mut self, path: PathBuf, disk: DiskFile, fx: &mut Effects) {
        let review = self.reviews.get(&path);
        let state = review.zip(disk.content);
        let Some((review, disk)) = state else {
            return;
        };
        if let Some(state) = review.last_step(disk) {
            let moved = Moved::restored(&path, review, &state);
            self.reviews.note_last(moved);
            self.restore(path, state, fx);
        }
    }

    /// A file is where it was before the agent moved it: what else was done to it comes next.
    pub(super) fn moved_back(
        &mut self,
        path: &Path,
        to: &Path,
        stamp: Option<Stamp>,
        fx: &mut Effects,
    ) {
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
        self.review_file(ReviewAction::Reject, to, Which::All, fx);
    }

    /// What was there is back on disk: in the buffer, or the ledger, too.
    pub(super) fn restored(
        &mut self,
        path: PathBuf,
        state: FileState,
        stamp: Option<Stamp>,
        fx: &mut Effects,
    ) {
        let is_open = self.documents.find(&path).is_some();
        let Some(review) = self.reviews.get_mut(&path) else {
            return;
        };
        let text = state.text();
        let is_text = state.is_text();
        review.restored = stamp.filter(|_| state.mode.is_some());
        review.now = FileState { stamp, ..state };
        if is_text && is_open {
            self.reread(path.clone(), Then::Reread, fx);
        } else if let (Some(text), false) = (text, is_open) {
            review.decision_wrote(text);
        }
        self.reviews.touch(&path);
    }

    /// Merges what was restored into the buffer.
    pub(super) fn merge_restored(&mut self, path: PathBuf, disk: DiskFile, fx: &mut Effects) {
        let Some((buf, document)) = self.documents.find(&path) else {
            return;
        };
        let Ok(theirs) = known_on_disk(document, &disk) else {
            return;
        };
        let theirs = theirs.unwrap_or_default();
        let base = document.saved.clone();
        let base = base.unwrap_or_else(|| document.text.clone());
        let (merge, edit) = DiskMerge::plan(buf, document, disk, (base, theirs), None);
        let then = Then::Merged(Box::new(merge));
        let token = self.token(Job::Review(ReviewJob::reject(path, then)));
        fx.push(edit.into_effect(token));
    }

    /// Goes on when the buffer has what was restored, or has not.
    pub(super) fn restored_is_merged(
        &mut self,
        path: PathBuf,
        merge: DiskMerge,
        result: Result<EditDone, EditError>,
        fx: &mut Effects,
    ) {
        let (buf, is_gone) = (merge.buf, merge.disk.content.is_none());
        let is_done = match result {
            Ok(done) => self.disk_is_merged(merge, &done, fx),
            Err(EditError::Stale { .. } | EditError::Gone) => false,
            Err(EditError::Refused(why)) => {
                let text = format!("{}: {why}", path.display());
                fx.push(notify(Level::Error, text));
                true
            }
        };
        self.reviews.touch(&path);
        if is_done && is_gone {
            fx.push(Effect::Editor(EditorEffect::Deleted { buf }));
        } else if is_done {
            // What the user had changed beside may have kept lines of the agent's there.
            self.review_file(ReviewAction::Reject, &path, Which::All, fx);
        } else if self.documents.find(&path).is_some() {
            self.reread(path, Then::Reread, fx);
        }
    }
}
