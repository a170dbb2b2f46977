//! The review of all files: one ledger a file, accepted and rejected by the user.
//!
//! Invariant: while a file is in a buffer, its ledger's current text is the buffer's text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::documents::Document;
use super::effect::{Announcement, EditorEffect, Effect, HostEffect, Level, Save};
use super::event::{Author, BufState, DiskFile, EditDone, EditError, ReviewAction, Scope};
use super::files::Hand;
use super::format::Format;
use super::ids::{BufId, SessionKey, Token};
use super::ledger::{Review, Which};
use super::model::{Effects, Job, Model, emit, notify};
use super::snapshot::HunkInfo;
use super::text::{LineEdit, Text};

/// The files agents have changed.
#[derive(Debug, Default)]
pub struct Reviews {
    files: BTreeMap<PathBuf, FileReview>,
    /// Files whose hunks may have changed since the last announcement.
    touched: BTreeSet<PathBuf>,
    /// Files to be drawn again.
    pub(super) dirty: BTreeSet<PathBuf>,
}

#[derive(Debug)]
pub struct FileReview {
    pub ledger: Review,
    pub session: SessionKey,
    /// How the file is written while no buffer holds it.
    pub format: Format,
    /// The agent made the file: rejecting all of it deletes it.
    pub created: bool,
    announced: usize,
    /// The hunks as the public API shows them, made anew when they change.
    pub(super) info: Arc<Vec<HunkInfo>>,
}

/// A review action that waits for an effect.
#[derive(Debug)]
pub struct RejectJob {
    path: PathBuf,
    action: ReviewAction,
    which: Which,
    then: Then,
}

#[derive(Debug)]
enum Then {
    /// The editor carries the edits out.
    Edited,
    /// The editor empties the buffer, then the file is deleted.
    Deleted,
    /// The disk has the new text.
    Written(Text),
    /// The buffer is gone: what is on disk is the current text now.
    Read,
}

impl Reviews {
    pub fn iter(&self) -> impl Iterator<Item = (&PathBuf, &FileReview)> {
        self.files.iter()
    }

    pub fn get(&self, path: &Path) -> Option<&FileReview> {
        self.files.get(path)
    }

    pub fn get_mut(&mut self, path: &Path) -> Option<&mut FileReview> {
        self.files.get_mut(path)
    }

    /// Returns a file's review, begun with `base` if there is none.
    pub fn ensure(&mut self, path: &Path, session: SessionKey, base: &Text) -> &mut FileReview {
        self.files
            .entry(path.to_owned())
            .or_insert_with(|| FileReview {
                ledger: Review::new(base.clone()),
                session,
                format: Format::default(),
                created: false,
                announced: 0,
                info: Arc::default(),
            })
    }

    /// Notes that a file's hunks may have changed.
    pub fn touch(&mut self, path: &Path) {
        self.touched.insert(path.to_owned());
        self.dirty.insert(path.to_owned());
    }

    /// Returns the number of files with hunks, and of hunks, of one session.
    pub fn counts(&self, session: SessionKey) -> (usize, usize) {
        let of_session = self.files.values().filter(|file| file.session == session);
        of_session.fold((0, 0), |(files, hunks), file| {
            match file.ledger.hunks().len() {
                0 => (files, hunks),
                count => (files + 1, hunks + count),
            }
        })
    }

    /// Makes the public form of what was touched and announces counts that changed.
    pub(super) fn announce(&mut self, fx: &mut Effects) {
        for path in std::mem::take(&mut self.touched) {
            let Some(file) = self.files.get_mut(&path) else {
                continue;
            };
            let hunks = file.ledger.hunks().len();
            file.info = Arc::new(HunkInfo::of(&path, &file.ledger));
            if hunks != file.announced {
                file.announced = hunks;
                fx.push(emit(Announcement::ReviewChanged { path, hunks }));
            }
        }
    }
}

impl Model {
    pub(super) fn buffer_attached(&mut self, buf: BufId) {
        let Some(document) = self.documents.get(buf) else {
            return;
        };
        let (path, text) = (document.path.clone(), document.text.clone());
        self.adopt_review(&document.real.clone(), &path);
        if let Some(review) = self.reviews.get_mut(&path) {
            if *review.ledger.current() != text {
                review.ledger.user_wrote(text);
            }
            self.reviews.touch(&path);
        }
    }

    /// A review begun under a file's real name goes on under its buffer's name.
    fn adopt_review(&mut self, real: &Path, path: &Path) {
        if real != path
            && !self.reviews.files.contains_key(path)
            && let Some(review) = self.reviews.files.remove(real)
        {
            self.reviews.files.insert(path.to_owned(), review);
        }
    }

    pub(super) fn buffer_edited(&mut self, buf: BufId, tick: u64, edit: LineEdit, author: Author) {
        let edit = self.documents.edit(buf, tick, edit);
        let hand = match author {
            Author::User | Author::Disk => Hand::Others,
            Author::Client(token) => self.hand_of(token),
        };
        let Some(path) = self
            .documents
            .get(buf)
            .map(|document| document.path.clone())
        else {
            return;
        };
        let Some(review) = self.reviews.get_mut(&path) else {
            return;
        };
        match hand {
            Hand::Agent => review.ledger.agent_edited(&edit),
            Hand::Others => review.ledger.user_edited(&edit),
        }
        self.reviews.touch(&path);
    }

    /// A buffer's options, or its changedtick alone, are others now.
    pub(super) fn buffer_changed(&mut self, buf: BufId, state: BufState) {
        let Some(document) = self.documents.get(buf) else {
            return;
        };
        // Hunks are not shown in a buffer that has moved on: they are drawn again.
        if document.state.tick != state.tick && self.reviews.get(&document.path).is_some() {
            self.reviews.dirty.insert(document.path.clone());
        }
        self.documents.set_state(buf, state);
    }

    fn hand_of(&self, token: Token) -> Hand {
        match self.jobs.get(&token) {
            Some(Job::File(job)) => job.hand(),
            _ => Hand::Agent,
        }
    }

    /// All lines of an edit of the client's have come back from the editor.
    pub(super) fn edit_is_over(&mut self, buf: BufId) {
        if let Some(document) = self.documents.get(buf)
            && let Some(review) = self.reviews.get_mut(&document.path)
        {
            review.ledger.agent_done();
        }
    }

    /// A buffer is gone, its unsaved lines with it: the file's text is what the disk has.
    pub(super) fn buffer_detached(&mut self, buf: BufId, fx: &mut Effects) {
        let Some(Document { path, .. }) = self.documents.detach(buf) else {
            return;
        };
        if self.reviews.get(&path).is_some() {
            let token = self.token(Job::Reject(RejectJob {
                path: path.clone(),
                action: ReviewAction::Accept,
                which: Which::All,
                then: Then::Read,
            }));
            fx.push(Effect::Host(HostEffect::ReadDisk { token, path }));
        }
    }

    pub(super) fn review(&mut self, action: ReviewAction, scope: Scope, fx: &mut Effects) {
        let targets: Vec<(PathBuf, Which)> = match scope {
            Scope::Hunk { buf, row } => self
                .documents
                .get(buf)
                .map(|document| (document.path.clone(), Which::Row(row)))
                .into_iter()
                .collect(),
            Scope::File { path } => vec![(path, Which::All)],
            Scope::All => self
                .reviews
                .iter()
                .map(|(path, _)| (path.clone(), Which::All))
                .collect(),
        };
        let mut hit = false;
        for (path, which) in targets {
            hit |= self.review_file(action, &path, which, fx);
        }
        if !hit {
            fx.push(notify(
                Level::Info,
                "No change of the agent's to review here.",
            ));
        }
    }

    /// Accepts or rejects hunks of one file; `false` when there is none.
    fn review_file(
        &mut self,
        action: ReviewAction,
        path: &Path,
        which: Which,
        fx: &mut Effects,
    ) -> bool {
        let path = match self.documents.find(path) {
            Some((_, document)) => document.path.clone(),
            None => path.to_owned(),
        };
        let Some(review) = self.reviews.get_mut(&path) else {
            return false;
        };
        if review.ledger.hit(&which).is_empty() {
            return false;
        }
        let edits = match action {
            ReviewAction::Accept => review.ledger.accept(&which),
            ReviewAction::Reject => review.ledger.reject(&which),
        };
        let mut after = review.ledger.current().clone();
        for edit in edits.iter().rev() {
            after.apply(edit);
        }
        let is_gone = review.created && action == ReviewAction::Reject && is_blank(&after);
        let format = review.format;
        self.reviews.touch(&path);
        if edits.is_empty() {
            return true;
        }
        let job = |then| RejectJob {
            path: path.clone(),
            action,
            which,
            then,
        };
        if let Some((buf, document)) = self.documents.find(&path) {
            let (tick, modified) = (document.state.tick, document.state.modified);
            let then = if is_gone { Then::Deleted } else { Then::Edited };
            let save = if modified || is_gone {
                Save::No
            } else {
                Save::Yes
            };
            let token = self.token(Job::Reject(job(then)));
            fx.push(Effect::Editor(EditorEffect::Edit {
                token,
                buf,
                tick,
                edits,
                save,
            }));
            return true;
        }
        let token = self.token(Job::Reject(job(Then::Written(after.clone()))));
        fx.push(Effect::Host(if is_gone {
            HostEffect::DeleteDisk { token, path }
        } else {
            HostEffect::WriteDisk {
                token,
                path,
                text: after,
                format,
            }
        }));
        true
    }

    pub(super) fn reject_edited(
        &mut self,
        job: RejectJob,
        result: Result<EditDone, EditError>,
        fx: &mut Effects,
    ) {
        let shown = job.path.display();
        match result {
            Ok(done) => {
                if let Some(Err(why)) = done.saved {
                    let text = format!("{shown} is changed back, but could not be saved: {why}");
                    fx.push(notify(Level::Error, text));
                }
                if let Then::Deleted = job.then {
                    let path = job.path.clone();
                    let then = Then::Written(Text::default());
                    let token = self.token(Job::Reject(RejectJob { then, ..job }));
                    fx.push(Effect::Host(HostEffect::DeleteDisk { token, path }));
                }
            }
            Err(EditError::Stale { .. }) if matches!(job.which, Which::All) => {
                self.review_file(job.action, &job.path, job.which, fx);
            }
            Err(EditError::Stale { .. }) => {
                let text = format!("{shown} changed just now; accept or reject again.");
                fx.push(notify(Level::Warn, text));
            }
            Err(EditError::Gone) => {
                self.review_file(job.action, &job.path, job.which, fx);
            }
            Err(EditError::Refused(why)) => {
                fx.push(notify(Level::Error, format!("{shown}: {why}")));
            }
        }
    }

    pub(super) fn reject_written(
        &mut self,
        job: RejectJob,
        result: Result<(), String>,
        fx: &mut Effects,
    ) {
        if let Err(why) = result {
            fx.push(notify(Level::Error, why));
            return;
        }
        let is_open = self.documents.find(&job.path).is_some();
        if let (Then::Written(text), Some(review), false) =
            (job.then, self.reviews.get_mut(&job.path), is_open)
        {
            review.ledger.agent_wrote(text);
        }
        self.reviews.touch(&job.path);
    }

    pub(super) fn review_read(&mut self, job: &RejectJob, result: Result<DiskFile, String>) {
        let is_open = self.documents.find(&job.path).is_some();
        if let (Ok(disk), Some(review), false) = (result, self.reviews.get_mut(&job.path), is_open)
        {
            let content = disk.content;
            review.format = content
                .as_ref()
                .map_or(review.format, |content| content.format);
            review
                .ledger
                .user_wrote(content.map(|content| content.text).unwrap_or_default());
            self.reviews.touch(&job.path);
        }
    }
}

/// Tells whether a buffer with this text is an empty file.
fn is_blank(text: &Text) -> bool {
    text.len_bytes() <= 1
}
