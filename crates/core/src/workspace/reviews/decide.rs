//! Accepting and rejecting: what is decided, and what it begins with, in the buffer where there
//! is one, else on disk.
//!
//! Invariant: a file on disk is read before a decision changes it, so that what others have
//! written there since stays.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::FileReview;
use super::moving::Moved;
use super::queue::Wish;
use crate::model::{Effects, Job, Model, notify};
use crate::spine::effect::{EditorEffect, Effect, HostEffect, Level, Save};
use crate::spine::event::{ReviewAction, Scope};
use crate::spine::ids::BufId;
use crate::spine::project::FileState;
use crate::text::format::Format;
use crate::text::{LineEdit, Text};
use crate::workspace::changes::DiskMerge;
use crate::workspace::ledger::{Which, diff};

/// A review action that waits for an effect.
#[derive(Debug)]
pub struct ReviewJob {
    pub(super) path: PathBuf,
    pub(super) action: ReviewAction,
    pub(super) which: Which,
    pub(super) then: Then,
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
pub(super) struct Plan {
    pub(super) edits: Vec<LineEdit>,
    pub(super) after: Text,
    pub(super) end: End,
}

impl ReviewJob {
    pub(crate) fn path(&self) -> &Path {
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
    pub(super) fn plan(&mut self, action: ReviewAction, which: &Which) -> Plan {
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
pub(crate) fn no_text(path: &Path) -> Effect {
    let text = format!(
        "{} is no text any more: nothing was done to it. Look at it again.",
        path.display()
    );
    notify(Level::Warn, text)
}

impl Model {
    /// Returns whether a decision about a file is being carried out.
    pub(crate) fn is_decided_about(&self, names: &[PathBuf]) -> bool {
        self.jobs.decide_about(names)
    }

    pub(crate) fn review(&mut self, action: ReviewAction, scope: Scope, fx: &mut Effects) {
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
    pub(crate) fn review_file(
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
    pub(super) fn nothing_to_edit(&mut self, path: &Path, end: End, fx: &mut Effects) {
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
}
