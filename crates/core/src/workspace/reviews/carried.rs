//! What a decision has come to, in the buffer or on disk: what is done next.
//!
//! Invariant: what could not be carried out is decided again for what is there now, or said; the
//! ledger has what was really done.

use std::path::Path;

use super::decide::{End, ReviewJob, Then, no_text};
use super::moving::Moved;
use crate::model::{Effects, Job, Model, notify};
use crate::spine::effect::Level;
use crate::spine::effect::{EditorEffect, Effect, HostEffect};
use crate::spine::event::{
    DiskFile, EditDone, EditError, ReviewAction, SaveError, Stamp, WriteError,
};
use crate::spine::project::FileState;
use crate::text::Text;
use crate::workspace::ledger::Which;

impl Model {
    /// Goes on with a decision when the editor has carried out its edits, or has not.
    pub(crate) fn review_edited(
        &mut self,
        job: ReviewJob,
        result: Result<EditDone, EditError>,
        fx: &mut Effects,
    ) {
        let ReviewJob {
            path,
            action,
            which,
            then,
        } = job;
        let (before, end) = match then {
            Then::Edited { before, end } => (before, end),
            Then::Merged(merge) => return self.restored_is_merged(path, *merge, result, fx),
            _ => return,
        };
        let shown = path.display();
        match result {
            Ok(done) => {
                if let Some(Err(why)) = done.saved {
                    let why = match why {
                        SaveError::Refused(why) => why,
                        SaveError::Stale => {
                            "somebody else has changed it on disk; `:checktime` loads that"
                                .to_owned()
                        }
                    };
                    let text = format!("Not saved: {why}. ({shown})");
                    fx.push(notify(Level::Error, text));
                }
                let is_back = action == ReviewAction::Reject && which == Which::All;
                if end == End::Stays && is_back {
                    self.reject_last(&path, fx);
                }
                self.review_ended(&path, end, fx);
            }
            Err(EditError::Stale { .. } | EditError::Gone) => {
                // The hunk that was meant has moved with what was typed meanwhile.
                let which = match self.reviews.get(&path) {
                    Some(review) => which.moved(&before, review.ledger.current()),
                    None => which,
                };
                self.review_file(action, &path, which, fx);
            }
            Err(EditError::Refused(why)) => {
                fx.push(notify(Level::Error, format!("{shown}: {why}")));
            }
        }
    }

    pub(super) fn review_ended(&mut self, path: &Path, end: End, fx: &mut Effects) {
        match end {
            End::Stays => {}
            End::Users => {
                if let Some(review) = self.reviews.get_mut(path) {
                    review.accept(&Which::All);
                    self.reviews.touch(path);
                }
            }
            End::Deleted => {
                let path = path.to_owned();
                let job = ReviewJob {
                    path: path.clone(),
                    action: ReviewAction::Reject,
                    which: Which::All,
                    then: Then::Deleted,
                };
                let token = self.token(Job::Review(job));
                fx.push(Effect::Host(HostEffect::DeleteDisk { token, path }));
            }
        }
    }

    /// Goes on when the disk has the new text, or the file is deleted.
    pub(crate) fn review_written(
        &mut self,
        job: ReviewJob,
        result: Result<Option<Stamp>, WriteError>,
        fx: &mut Effects,
    ) {
        let stamp = match result {
            Ok(stamp) => stamp,
            Err(WriteError::Failed(why)) => {
                fx.push(notify(Level::Error, why));
                return;
            }
            Err(WriteError::Stale) => {
                self.review_file(job.action, &job.path, job.which, fx);
                return;
            }
        };
        let found = self.documents.find(&job.path);
        let has_text = found.is_some_and(|(_, document)| !document.text.is_empty());
        let buf = found.map(|(buf, _)| buf);
        let (now, end) = match job.then {
            Then::Written { text, format, end } => (FileState::of_text(text, format), end),
            Then::MovedBack(to) => return self.moved_back(&job.path, &to, stamp, fx),
            Then::Restored(state) => return self.restored(job.path, *state, stamp, fx),
            _ => (FileState::missing(), End::Deleted),
        };
        match (self.reviews.get_mut(&job.path), buf) {
            (Some(review), None) => {
                let mode = review.now.mode.filter(|_| end != End::Deleted);
                review.decision_wrote(now.text().unwrap_or_default());
                review.now = FileState { mode, stamp, ..now };
            }
            (review, Some(buf)) if end == End::Deleted => {
                if let Some(review) = review {
                    review.now = FileState::missing();
                }
                match has_text {
                    true => self.reread(job.path.clone(), Then::Reread, fx),
                    false => self.documents.set_disk(buf, Text::default(), None),
                }
                fx.push(Effect::Editor(EditorEffect::Deleted { buf }));
            }
            // Loaded just before the file was replaced.
            (_, Some(_)) => self.reread(job.path.clone(), Then::Reread, fx),
            _ => {}
        }
        self.reviews.touch(&job.path);
        if end != End::Deleted {
            self.review_ended(&job.path, end, fx);
            if job.action == ReviewAction::Reject && job.which == Which::All && end == End::Stays {
                self.reject_last(&job.path, fx);
            }
        }
    }

    /// Goes on when the disk was read.
    pub(crate) fn review_read(
        &mut self,
        job: ReviewJob,
        result: Result<DiskFile, String>,
        fx: &mut Effects,
    ) {
        let ReviewJob {
            path,
            action,
            which,
            then,
        } = job;
        let is_decision = matches!(then, Then::Read | Then::Reread | Then::Rest);
        let disk = match result {
            Ok(disk) => disk,
            Err(why) => {
                if is_decision {
                    fx.push(notify(Level::Error, why));
                }
                return;
            }
        };
        match then {
            Then::Reread => return self.merge_restored(path, disk, fx),
            Then::Rest => return self.reject_rest(path, disk, fx),
            _ => {}
        }
        let over = disk.stamp;
        let text = |model: &Self| {
            let review = model.reviews.get(&path);
            review.map(|review| review.ledger.current().clone())
        };
        let before = text(self);
        let is_text = self.review_from_disk(&path, disk);
        if !is_decision {
            return;
        }
        if !is_text {
            return fx.push(no_text(&path));
        }
        let which = match before.zip(text(self)) {
            Some((before, now)) => which.moved(&before, &now),
            None => which,
        };
        if self.documents.find(&path).is_some() {
            self.review_file(action, &path, which, fx);
            return;
        }
        let Some(review) = self.reviews.get_mut(&path) else {
            return;
        };
        let noted = Moved::before(&path, review);
        let plan = review.plan(action, &which);
        let noted = noted.after(review, &plan.after, plan.end == End::Deleted);
        let is_base = plan.after == *review.ledger.base();
        let (now, origin) = (review.now.format(), review.origin.format());
        let format = origin.filter(|_| is_base).or(now).unwrap_or_default();
        self.reviews.note_decided(noted);
        self.reviews.touch(&path);
        if plan.edits.is_empty() {
            return self.nothing_to_edit(&path, plan.end, fx);
        }
        if plan.end == End::Deleted {
            return self.review_ended(&path, End::Deleted, fx);
        }
        let job = ReviewJob {
            path: path.clone(),
            action,
            which,
            then: Then::Written {
                text: plan.after.clone(),
                format,
                end: plan.end,
            },
        };
        let token = self.token(Job::Review(job));
        fx.push(Effect::Host(HostEffect::WriteDisk {
            token,
            path,
            over,
            text: plan.after,
            format,
        }));
    }
}
