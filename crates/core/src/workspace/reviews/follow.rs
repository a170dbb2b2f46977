//! Ledgers follow their buffers: loaded, edited, renamed, gone.

use std::path::{Path, PathBuf};

use crate::model::Model;
use crate::spine::cx::Effects;
use crate::spine::effect::{Effect, HostEffect};
use crate::spine::event::{BufState, DiskFile};
use crate::spine::ids::BufId;
use crate::spine::jobs::ReadJob;
use crate::spine::pending::Token;
use crate::spine::pending::reply::Edited;
use crate::spine::project::FileState;
use crate::text::LineEdit;
use crate::workspace::documents::Document;
use crate::workspace::fileops::{Author, Intent};

impl Model {
    /// A buffer was loaded, or its whole text was sent again; `before` is what it was.
    pub(crate) fn buffer_attached(
        &mut self,
        buf: BufId,
        before: Option<Document>,
        fx: &mut Effects,
    ) {
        let Some(document) = self.documents.get(buf) else {
            return;
        };
        let (path, real) = (document.path.clone(), document.real.clone());
        self.tracked.note(&real);
        let text = document.text.clone();
        let is_saved_known = document.saved.is_some();
        let is_new = document.stamp.is_none() && text.is_empty();
        let is_read = (document.stamp.is_some() || is_new) && !document.state.modified;
        if let Some(before) = before.filter(|before| before.path != path) {
            self.file_has_no_buffer(before.path, fx);
        }
        let name = self.reviews.name_of(&path, &real);
        self.reviews.rename(&name, &path);
        if is_read && self.writer_at(&real).is_some() {
            self.changes.is_unsure(&real, &text);
        }
        if let Some(review) = self.reviews.get_mut(&path)
            && *review.ledger.current() != text
        {
            review.user_wrote(text);
        }
        self.proposals_stale(&path, &real);
        // Without a review as well: the buffer may show that of another name it had.
        self.reviews.touch(&path);
        if !is_saved_known {
            let token = self.jobs.reads.add(ReadJob::Saved(buf));
            fx.push(Effect::Host(HostEffect::ReadDisk { token, path }));
        }
    }

    /// The disk has been read for a buffer that was modified when it was first seen.
    pub(crate) fn saved_text_read(&mut self, buf: BufId, result: Result<DiskFile, String>) {
        let Ok(disk) = result else {
            return;
        };
        let is_open = self
            .documents
            .get(buf)
            .is_some_and(|document| document.saved.is_none() && document.real == disk.real);
        if let (true, Some(content)) = (is_open, disk.content) {
            self.documents.set_disk(buf, content.text, disk.stamp);
        }
    }

    /// A buffer's lines are others now, by the edit of the client's that is `made_for` an
    /// operation, or by the user.
    pub(crate) fn buffer_edited(
        &mut self,
        buf: BufId,
        tick: u64,
        edit: LineEdit,
        made_for: Option<Token<Edited>>,
    ) {
        let Some(edit) = self.documents.edit(buf, tick, edit) else {
            return;
        };
        let author = made_for.map_or(Author::Others, |token| self.author_of(token));
        let Some(path) = self.path_of(buf) else {
            return;
        };
        if self.proposals.edited(&path, &edit) || self.reviews.drawn.contains(&path) {
            self.reviews.dirty.insert(path.clone());
        }
        let Some(review) = self.reviews.get_mut(&path) else {
            return;
        };
        match author {
            Author::Agent(_) => review.agent_edited(&edit),
            Author::Others => review.user_edited(&edit),
            Author::Decision => review.decision_edited(&edit),
        }
        self.reviews.touch(&path);
    }

    /// A buffer's options, or its tick alone, are others now.
    pub(crate) fn buffer_changed(&mut self, buf: BufId, state: BufState) {
        let Some(document) = self.documents.get(buf) else {
            return;
        };
        // Hunks are not shown in a buffer that has moved on: they are drawn again.
        let is_shown = self.reviews.get(&document.path).is_some()
            || self.reviews.drawn.contains(&document.path)
            || self.proposals.of_file(&document.path).next().is_some();
        if document.state.tick != state.tick && is_shown {
            self.reviews.dirty.insert(document.path.clone());
        }
        self.documents.set_state(buf, state);
    }

    /// All lines of an edit of the client's have come back from the editor.
    pub(crate) fn edit_is_over(&mut self, buf: BufId, token: Token<Edited>) {
        let author = self.author_of(token);
        if let Some(path) = self.path_of(buf)
            && let Some(review) = self.reviews.get_mut(&path)
        {
            match author {
                Author::Agent(_) => review.agent_done(),
                Author::Others | Author::Decision => review.decision_done(),
            }
        }
    }

    /// A buffer is gone.
    pub(crate) fn buffer_detached(&mut self, buf: BufId, fx: &mut Effects) {
        if let Some(document) = self.documents.detach(buf) {
            self.proposals_stale(&document.path, &document.real);
            self.file_has_no_buffer(document.path, fx);
        }
    }

    /// A file's buffer is gone, unsaved lines with it: the file's text is what the disk has.
    fn file_has_no_buffer(&mut self, path: PathBuf, fx: &mut Effects) {
        if self.reviews.get(&path).is_some() {
            self.operate(path, Intent::Sync, fx);
        }
    }

    /// Lets a file's ledger have what is on disk, unless a buffer has the file; `false` when that
    /// is no text any more.
    ///
    /// What is found stays whatever is decided now: nobody was shown it. Should it be told that an
    /// agent has written it, it is there to be decided about.
    pub(crate) fn review_from_disk(&mut self, path: &Path, disk: DiskFile) -> bool {
        let is_open = self.documents.find(path).is_some();
        let by = self.writer_at(&disk.real);
        let Some(review) = self.reviews.get_mut(path).filter(|_| !is_open) else {
            return true;
        };
        if !review.now.is_text() && !review.now.is_missing() {
            return true;
        }
        let now = match disk.content {
            Some(content) if content.text.has_nul() => return false,
            Some(content) => FileState::of_text(content.text, content.format),
            None => FileState::missing(),
        };
        let text = now.text().unwrap_or_default();
        review.now = FileState {
            mode: review.now.mode,
            stamp: disk.stamp,
            ..now
        };
        if text != *review.ledger.current() {
            review.user_wrote(text.clone());
            if by.is_some() {
                self.changes.is_unsure(&disk.real, &text);
            }
        }
        self.reviews.touch(path);
        true
    }

    /// Returns the path of a buffer's file.
    pub(super) fn path_of(&self, buf: BufId) -> Option<PathBuf> {
        let document = self.documents.get(buf)?;
        Some(document.path.clone())
    }
}
