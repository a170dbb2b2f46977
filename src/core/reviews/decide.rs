//! Accepting and rejecting: in the buffer where there is one, else on disk.
//!
//! Invariant: a file on disk is read before a decision changes it, so that what others have
//! written there since stays.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::FileReview;
use super::moving::Moved;
use super::queue::Wish;
use crate::core::changes::DiskMerge;
use crate::core::effect::{EditorEffect, Effect, HostEffect, Level, Save};
use crate::core::event::{
    DiskFile, EditDone, EditError, ReviewAction, SaveError, Scope, Stamp, WriteError,
};
use crate::core::format::Format;
use crate::core::ids::BufId;
use crate::core::ledger::{Which, diff};
use crate::core::model::{Effects, Job, Model, notify};
use crate::core::project::FileState;
use crate::core::text::{LineEdit, Text};

/// A review action that waits for an effect.
#[derive(Debug)]
pub struct ReviewJob {
    path: PathBuf,
    action: ReviewAction,
    which: Which,
    then: Then,
}

#[derive(Debug)]
pub(super) enum Then {
    /// The editor carries the edits out.
    Edited { before: Text, end: End },
    /// The disk is read; then the decision is made for what is there.
    Read,
    /// The disk has the new text.
    Written {
        text: Text,
        format: Format,
        end: End,
    },
    /// The file is deleted.
    Deleted,
    /// The buffer is gone: what is on disk is the current text now.
    Sync,
    /// The file is back where it was before the agent moved it.
    MovedBack(PathBuf),
    /// What was there is back on disk.
    Restored(Box<FileState>),
    /// The disk is read for what was restored to be merged into the buffer.
    Reread,
    /// The editor merges it.
    Merged(Box<DiskMerge>),
    /// The disk is read for the mode and the format to be put back.
    Rest,
}

/// What becomes of a file whose hunks are rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It stays, with other text.
    Stays,
    /// It is deleted.
    Deleted,
    /// The agent made it, but the user's lines in it stay, as the user's.
    Users,
}

/// The edits a decision comes to.
struct Plan {
    edits: Vec<LineEdit>,
    after: Text,
    end: End,
}

impl ReviewJob {
    pub(in crate::core) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a step of rejecting a whole file.
    pub(super) fn reject(path: PathBuf, then: Then) -> Self {
        Self {
            path,
            action: ReviewAction::Reject,
            which: Which::All,
            then,
        }
    }

    /// Returns the job that lets a ledger have what is on disk.
    pub(super) fn sync(path: PathBuf) -> Self {
        Self {
            path,
            action: ReviewAction::Accept,
            which: Which::All,
            then: Then::Sync,
        }
    }
}

impl FileReview {
    /// Decides about hunks, and returns what has to be done to the text.
    fn plan(&mut self, action: ReviewAction, which: &Which) -> Plan {
        let edits = match action {
            ReviewAction::Accept => self.accept(which),
            ReviewAction::Reject => self.reject(which),
        };
        let mut after = self.ledger.current().clone();
        after.apply_all(&edits);
        let is_gone = self.is_created() && action == ReviewAction::Reject && after.is_empty();
        let plan = Plan {
            edits,
            after,
            end: if is_gone { End::Deleted } else { End::Stays },
        };
        if !is_gone {
            return plan;
        }
        self.note_rejected_whole(self.whole());
        self.without_agent().unwrap_or(plan)
    }

    /// Returns how the file loses what the agent wrote but not what the user did to it since;
    /// `None` if nothing of the user's is in it.
    fn without_agent(&self) -> Option<Plan> {
        let current = self.ledger.current();
        let mut edits = Vec::new();
        let mut row = 0;
        let gone = |rows: Range<usize>| LineEdit {
            start: rows.start,
            removed: rows.len(),
            lines: Vec::new(),
        };
        // What lies between the user's changes is as the agent wrote it.
        for change in diff(current, &self.written) {
            edits.extend((row < change.start).then(|| gone(row..change.start)));
            row = change.start + change.removed;
        }
        edits.extend((row < current.len()).then(|| gone(row..current.len())));
        let mut after = current.clone();
        after.apply_all(&edits);
        (!after.is_empty()).then_some(Plan {
            edits,
            after,
            end: End::Users,
        })
    }
}

/// Says that what a decision was about is not there any more.
pub(in crate::core) fn no_text(path: &Path) -> Effect {
    let text = format!(
        "{} is no text any more: nothing was done to it. Look at it again.",
        path.display()
    );
    notify(Level::Warn, text)
}

impl Model {
    /// Returns whether a decision about a file is being carried out.
    pub(in crate::core) fn is_decided_about(&self, names: &[PathBuf]) -> bool {
        self.jobs.decide_about(names)
    }

    pub(in crate::core) fn review(&mut self, action: ReviewAction, scope: Scope, fx: &mut Effects) {
        let turn = match scope {
            Scope::Turn { session } => Some(session),
            _ => None,
        };
        let targets: Vec<(PathBuf, Which)> = match scope {
            Scope::Turn { .. } => Vec::new(),
            Scope::Hunk { buf, row } => {
                let path = self.path_of(buf).into_iter();
                path.map(|path| (path, Which::Row(row))).collect()
            }
            Scope::Rows { buf, rows } => {
                let path = self.path_of(buf).into_iter();
                path.map(|path| (path, Which::Rows(rows.clone()))).collect()
            }
            Scope::At { path, row } => vec![(path, Which::Row(row))],
            Scope::Span { path, rows } => vec![(path, Which::Rows(rows))],
            Scope::File { path } => vec![(path, Which::All)],
            Scope::All => {
                let all = self.reviews.iter().map(|(path, _)| path.clone());
                let mut all: Vec<PathBuf> = all.chain(self.proposed_files()).collect();
                all.sort();
                all.dedup();
                all.into_iter().map(|path| (path, Which::All)).collect()
            }
        };
        let mut hit = match turn {
            Some(session) => self.review_turn(action, session, fx),
            None => false,
        };
        for (path, which) in targets {
            // What is proposed for a row comes before what has been written there.
            let is_proposed = self.decide_proposals(action, &path, &which);
            let is_done = is_proposed && matches!(which, Which::Row(_));
            let wish = Wish::Hunks(action, which);
            hit |= is_done || self.decide(&path, wish, fx) || is_proposed;
        }
        self.answer_decided(fx);
        if !hit {
            let mut all = self.reviews.iter();
            let text = match all.any(|(_, review)| !review.ledger.hunks().is_empty()) {
                true => "No change to review here; `:Acp next` goes to one.",
                false => "No change of the agent's to review here.",
            };
            fx.push(notify(Level::Info, text));
        }
    }

    /// Accepts or rejects hunks of one file; `false` when there is none.
    pub(in crate::core) fn review_file(
        &mut self,
        action: ReviewAction,
        path: &Path,
        which: Which,
        fx: &mut Effects,
    ) -> bool {
        let found = self.documents.find(path);
        let buf = found.map(|(buf, _)| buf);
        let path = found
            .map_or(path, |(_, document)| &document.path)
            .to_owned();
        let Some(review) = self.reviews.get_mut(&path) else {
            return false;
        };
        let is_whole = review.is_whole(&which);
        let is_hit = !review.ledger.hit(&which).is_empty();
        let is_meant = is_hit || is_whole && review.is_pending();
        if !is_meant {
            return false;
        }
        let is_reject = is_whole && action == ReviewAction::Reject;
        if is_reject {
            let whole = review.whole();
            review.note_rejected_whole(whole);
        }
        if is_reject && (self.reject_first(&path, fx) || !is_hit && self.reject_last(&path, fx)) {
            return true;
        }
        let Some(review) = self.reviews.get_mut(&path) else {
            return false;
        };
        let job = |then| ReviewJob {
            path: path.clone(),
            action,
            which: which.clone(),
            then,
        };
        match buf {
            Some(buf) => {
                let before = review.ledger.current().clone();
                let noted = Moved::before(&path, review);
                let plan = review.plan(action, &which);
                let end = plan.end;
                let noted = noted.after(review, &plan.after, end == End::Deleted);
                self.reviews.note_decided(noted);
                let job = job(Then::Edited { before, end });
                self.change_buffer(job, buf, plan, fx);
            }
            None => {
                let token = self.token(Job::Review(job(Then::Read)));
                let path = path.clone();
                fx.push(Effect::Host(HostEffect::ReadDisk { token, path }));
            }
        }
        true
    }

    /// Ends a decision that changes no line: of a file that was made, all may be the user's.
    fn nothing_to_edit(&mut self, path: &Path, end: End, fx: &mut Effects) {
        if end == End::Users {
            self.review_ended(path, end, fx);
        }
    }

    fn change_buffer(&mut self, job: ReviewJob, buf: BufId, plan: Plan, fx: &mut Effects) {
        self.reviews.touch(&job.path);
        let Some(document) = self.documents.get(buf).filter(|_| !plan.edits.is_empty()) else {
            return self.nothing_to_edit(&job.path, plan.end, fx);
        };
        let save = match plan.end {
            End::Deleted => Save::Deleted,
            End::Stays | End::Users => Save::OverIfClean(document.stamp),
        };
        let tick = document.state.tick;
        let edits = document.to_buffer(plan.edits);
        let token = self.token(Job::Review(job));
        fx.push(Effect::Editor(EditorEffect::Edit {
            token,
            buf,
            tick,
            edits,
            save,
        }));
    }

    /// Goes on with a decision when the editor has carried out its edits, or has not.
    pub(in crate::core) fn review_edited(
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

    fn review_ended(&mut self, path: &Path, end: End, fx: &mut Effects) {
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
    pub(in crate::core) fn review_written(
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
    pub(in crate::core) fn review_read(
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
