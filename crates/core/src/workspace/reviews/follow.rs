//! Keeps ledgers in step with their buffers: loaded, edited, renamed, unloaded.

use std::path::{Path, PathBuf};

use crate::spine::cx::Effects;
use crate::spine::effect::{EditorEffect, HostEffect};
use crate::spine::event::{BufState, DiskFile, ReadError, Stamp, is_later};
use crate::spine::ids::BufId;
use crate::spine::pending::Token;
use crate::spine::pending::reply::Edited;
use crate::spine::project::{FileChange, FileState, Whole};
use crate::text::{LineEdit, Text};
use crate::workspace::Workspace;
use crate::workspace::changes::{How, TakeIn};
use crate::workspace::documents::Document;
use crate::workspace::fileops::{Author, Intent};
use crate::workspace::jobs::ReadJob;

impl Workspace {
    /// Notes a part of a buffer's text whose rest is still to come.
    pub(crate) fn buffer_is_loading(
        &mut self,
        buf: BufId,
        name: PathBuf,
        path: PathBuf,
        row: usize,
        text: Text,
    ) {
        self.documents.load(buf, name, path, row, text);
    }

    /// Handles a buffer that was loaded or sent again as a whole: its name and its file's path,
    /// and its text from a row on.
    pub(crate) fn buffer_attached(
        &mut self,
        buf: BufId,
        (name, path): (PathBuf, PathBuf),
        text: (usize, Text),
        (state, stamp): (BufState, Option<Stamp>),
        fx: &mut Effects,
    ) {
        let before = self.documents.get(buf).cloned();
        let gone = self.documents.attach(buf, name, path, text, state, stamp);
        self.follow_attached(buf, before, gone, fx);
        self.run_lanes(fx);
    }

    fn follow_attached(
        &mut self,
        buf: BufId,
        before: Option<Document>,
        gone: Option<Document>,
        fx: &mut Effects,
    ) {
        let Some(document) = self.documents.get(buf) else {
            return;
        };
        let path = document.path.clone();
        self.tracked.note(&path);
        let (text, stamp) = (document.text.clone(), document.stamp);
        let encoding = document.encoding();
        let is_saved_known = document.saved.is_some();
        let is_new = document.stamp.is_none() && text.is_empty();
        let state = match is_new {
            true => FileState::missing(),
            false => FileState {
                stamp,
                ..FileState::of_text(text.clone(), document.state.format)
            },
        };
        let is_read = (document.stamp.is_some() || is_new) && !document.state.modified;
        let from = before.as_ref();
        let from = from.filter(|before| document.is_moved_from(before));
        let from = from.map(|before| before.path.clone());
        let was_moved = from.is_some_and(|from| self.moves_along(&from, &path));
        let was_saved = match before {
            Some(before) if was_moved => before.saved,
            Some(before) if before.path != path => {
                self.file_has_no_buffer(before.path, fx);
                None
            }
            before => before.and_then(|before| before.saved),
        };
        if let Some(review) = self.reviews.get_mut(&path) {
            review.read_in(encoding);
        }
        // The user's move changes no text.
        let by = self.writer_of(&path, stamp).filter(|_| !was_moved);
        let how = match self.reviews.get(&path) {
            Some(_) => How::Listed,
            None => How::Read,
        };
        // Reported and reviewed while Neovim was still reading the version before it.
        let newer = self.reviews.get(&path).map(|review| review.now.clone());
        let newer = newer.filter(|now| {
            let is_other = now.is_text() && now.text().as_ref() != Some(&text);
            is_other && is_read && stamp.is_some() && is_later(now.stamp, stamp)
        });
        let newer = newer.map(|after| (state.clone(), after));
        let missed = gone.and_then(|gone| self.missed(gone));
        let unsaved_over = missed.as_ref().and_then(|(before, _)| before.text());
        let change = newer.or(missed).map(|(before, after)| FileChange {
            path: path.clone(),
            from: None,
            before,
            after,
        });
        let is_agents = is_read && by.is_some() && self.note_read(&path, state, how);
        // Loaded after an agent's write, before the report of that.
        let is_written = self.fileops.text_before(&path, &text).is_some();
        let was_saved = was_saved.filter(|_| is_read && !is_written);
        if let Some(saved) = was_saved.or(unsaved_over) {
            // Unsaved lines go first; the rest has changed on disk.
            self.buffer_has(&path, saved, by.is_some());
        }
        let review = self.reviews.get(&path);
        let is_new = review.is_some_and(|review| *review.ledger.current() != text);
        match by.filter(|_| is_new && is_agents && !is_written) {
            Some(session) => {
                // Another program's change may have been reported before.
                self.take_told(&path, stamp);
                // The report of the rest, still to come, will say so.
                let review = self.reviews.get(&path);
                let now = review.map_or(FileState::missing(), |review| review.now.clone());
                let review = self.reviews.begin(&path, session, &text, now);
                review.agent_wrote(text);
            }
            None => self.buffer_has(&path, text, by.is_some()),
        }
        self.proposals_stale(&path);
        // Needed without a review too: the buffer may show hunks from its earlier name.
        self.reviews.touch(&path);
        if let Some(change) = change {
            let by = self.writer_of(&path, change.after.stamp);
            let change = TakeIn::new(change, by);
            self.operate(path.clone(), Intent::TakeIn(Box::new(change)), fx);
        }
        if !is_saved_known {
            let token = self.jobs.reads.add(ReadJob::Saved(buf));
            fx.push(HostEffect::ReadDisk { token, path });
        }
    }

    /// Returns the change of a file since its buffer was let go: the unsaved lines are not from the
    /// version that is there now.
    fn missed(&self, gone: Document) -> Option<(FileState, FileState)> {
        let review = self.reviews.get(&gone.path)?;
        let now = review.now.with_text(review.ledger.current());
        let saved = FileState::of_text(gone.saved?, gone.state.format);
        let stamp = gone.stamp;
        let is_other = now.body != saved.body;
        is_other.then_some((FileState { stamp, ..saved }, now))
    }

    /// Gives the review of a file that the user has moved, with its buffer, the new path; `false` if a
    /// decision about another file is pending there.
    fn moves_along(&mut self, from: &Path, to: &Path) -> bool {
        self.reviews.rename(from, to);
        if self.reviews.get(from).is_some() {
            return false;
        }
        self.reviews.decisions_follow(from, to);
        self.fileops.review_renamed(from, to);
        self.is_also(from, to);
        true
    }

    /// Applies the text of a buffer to the review of its file. The user is the author, unless an
    /// agent's write under way leaves the file with this text; the text that it replaced may be an
    /// earlier change of the agent.
    fn buffer_has(&mut self, path: &Path, text: Text, is_agents: bool) {
        let before = self.fileops.text_before(path, &text);
        let Some(review) = self.reviews.get_mut(path) else {
            return;
        };
        match before {
            _ if *review.ledger.current() == text => {}
            Some(before) => review.agent_wrote_over(&before, text, is_agents),
            // A buffer shows them as lines.
            None if review.has_agents_bytes() => review.agent_wrote(text),
            None => review.text_left(&text),
        }
    }

    /// Records the saved text of a buffer that was already modified when it was first reported.
    pub(crate) fn saved_text_read(&mut self, buf: BufId, result: Result<DiskFile, ReadError>) {
        let Ok(disk) = result else {
            return;
        };
        let is_open = self
            .documents
            .get(buf)
            .is_some_and(|document| document.saved.is_none() && document.path == disk.real);
        if let (true, Some(content)) = (is_open, disk.content) {
            self.documents.set_disk(buf, content.text, disk.stamp);
        }
    }

    /// Applies an edit of a buffer's lines: this client's edit, `made_for` an operation, or the
    /// user's.
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
        let author = made_for.map(|token| self.author_of(token));
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
            None => review.user_edited(&edit),
            Some(Author::Agent(_)) => review.agent_edited(&edit),
            Some(Author::Others) => review.others_edited(&edit),
            Some(Author::Decision) => review.decision_edited(&edit),
            Some(Author::Taken) => review.taken(&edit),
        }
        self.reviews.touch(&path);
    }

    /// Records a buffer's new options or tick.
    pub(crate) fn buffer_changed(&mut self, buf: BufId, state: BufState) {
        let Some(document) = self.documents.get(buf) else {
            return;
        };
        // The editor skips hunks planned for an older tick, so they are drawn again.
        let is_shown = self.reviews.get(&document.path).is_some()
            || self.reviews.drawn.contains(&document.path)
            || self.proposals.of_file(&document.path).next().is_some();
        if document.state.tick != state.tick && is_shown {
            self.reviews.dirty.insert(document.path.clone());
        }
        self.documents.set_state(buf, state);
    }

    /// Handles the end of a client's edit: the editor has reported all its lines.
    pub(crate) fn edit_is_over(&mut self, buf: BufId, token: Token<Edited>) {
        let author = self.author_of(token);
        if let Some(path) = self.path_of(buf)
            && let Some(review) = self.reviews.get_mut(&path)
        {
            match author {
                Author::Agent(_) => review.agent_done(),
                Author::Others => review.others_done(),
                Author::Decision => review.decision_done(),
                Author::Taken => review.taken_done(),
            }
        }
    }

    /// Handles an unloaded buffer: its unsaved lines are gone.
    pub(crate) fn buffer_detached(&mut self, buf: BufId, fx: &mut Effects) {
        let document = self.documents.detach(buf);
        self.has_left(document, fx);
        self.run_lanes(fx);
    }

    /// Lets go of the buffers that have a path, or one below it, as their names, if that leads to other
    /// files now that its state has changed: the editor attaches them anew.
    pub(crate) fn name_leads_to(
        &mut self,
        path: &Path,
        (before, there): (&FileState, &FileState),
        fx: &mut Effects,
    ) {
        let to = there.link_at(path);
        let is_folder = to.is_some() || before.link().is_some();
        let to = to.as_deref().unwrap_or(path);
        let is_left = |name: &Path, file: Option<&Path>| {
            let rest = name.strip_prefix(path);
            let is_there = |rest| file.is_some_and(|file| file.strip_prefix(to) == Ok(rest));
            rest.is_ok_and(|rest| !is_there(rest))
        };
        let left = match is_folder {
            true => self.documents.left(is_left),
            false => {
                let found = self.documents.named(path);
                let found = found.filter(|(_, found)| is_left(&found.name, Some(&found.path)));
                found.map(|(buf, _)| buf).into_iter().collect()
            }
        };
        for buf in left {
            self.buffer_is_relinked(buf, fx);
        }
    }

    /// Lets go of a file's buffer if its name is a link to the file, which does not follow the file when
    /// that is moved.
    pub(crate) fn link_stays(&mut self, path: &Path, fx: &mut Effects) {
        let found = self.documents.find(path);
        if let Some((buf, _)) = found.filter(|(_, document)| document.name != document.path) {
            self.buffer_is_relinked(buf, fx);
        }
    }

    pub(crate) fn buffer_is_relinked(&mut self, buf: BufId, fx: &mut Effects) {
        fx.push(EditorEffect::Relinked { buf });
        let document = self.documents.let_go(buf);
        self.has_left(document, fx);
    }

    fn has_left(&mut self, document: Option<Document>, fx: &mut Effects) {
        if let Some(document) = document {
            self.proposals_stale(&document.path);
            if let Some(saved) = document.saved {
                let by = self.writer_of(&document.path, document.stamp);
                self.buffer_has(&document.path, saved.clone(), by.is_some());
                // The disk is read next, which may fail.
                if let Some(review) = self.reviews.get_mut(&document.path) {
                    let (stamp, known) = (document.stamp, review.now.stamp);
                    let saved = FileState::of_text(saved, document.state.format);
                    let is_new = stamp.is_some() && known.is_none() || is_later(stamp, known);
                    if is_new && review.now.is_text() {
                        review.has_version(FileState { stamp, ..saved });
                        self.reviews.touch(&document.path);
                    }
                }
            }
            self.file_has_no_buffer(document.path, fx);
        }
    }

    /// Reads a file from disk whose buffer was unloaded.
    fn file_has_no_buffer(&mut self, path: PathBuf, fx: &mut Effects) {
        if self.reviews.get(&path).is_some() {
            self.operate(path, Intent::Sync, fx);
        }
    }

    /// Updates a file's ledger from disk, unless the file has a buffer; `false` when the file is no
    /// longer text.
    ///
    /// A change found here is not pending, because the user has not seen it, unless another program
    /// had taken it away before. If it is later reported as an agent's, it becomes pending.
    pub(crate) fn review_from_disk(&mut self, path: &Path, disk: DiskFile) -> bool {
        let is_open = self.documents.find(path).is_some();
        let by = self.writer_of(&disk.real, disk.stamp);
        let review = self.reviews.get(path).filter(|_| !is_open);
        if !review.is_some_and(|review| review.now.is_text() || review.now.is_missing()) {
            return true;
        }
        self.take_told(path, disk.stamp);
        // What Neovim or this client has written is a text, whatever is in it.
        let is_known = self.is_known(path, &disk, None);
        let Some(review) = self.reviews.get_mut(path) else {
            return true;
        };
        let now = match disk.content {
            Some(content) if content.text.has_nul() && !is_known => {
                // It may have what was reported before.
                self.reviews.touch(path);
                return false;
            }
            Some(content) => FileState::of_text(content.text, content.format),
            None => FileState::missing(),
        };
        let text = now.text().unwrap_or_default();
        let now = FileState {
            stamp: disk.stamp,
            ..now
        };
        if now.is_missing() && by.is_none() && !review.now.is_missing() {
            // Not the agent, so there is nothing to decide.
            let before = review.now.clone();
            review.others_wrote(text);
            review.others_left(&before, now);
            self.reviews.touch(path);
            return true;
        }
        let is_deletion = now.is_missing() && review.whole() == [Whole::Deleted];
        review.has_version(now.clone());
        if text != *review.ledger.current() {
            match is_deletion {
                // Only the buffer had kept the text.
                true => review.agent_wrote(text),
                false => review.text_left(&text),
            }
            if by.is_some() {
                self.note_read(&disk.real, now, How::Read);
            }
        }
        self.reviews.touch(path);
        true
    }

    /// Returns whether another file than the one under review was read: a link has replaced a folder above
    /// it, or the file itself.
    pub(crate) fn is_elsewhere(&self, path: &Path, disk: &DiskFile) -> bool {
        let review = self.reviews.get(path);
        let is_of_file = review.is_some_and(|review| review.place_of(&review.now).is_some());
        is_of_file && disk.real != path
    }

    /// Returns whether a file without a buffer is gone, and its deletion is not reported yet: what
    /// is rejected now would be written as the whole file.
    pub(crate) fn is_gone(&self, path: &Path, disk: &DiskFile) -> bool {
        let review = self.reviews.get(path);
        let is_open = self.documents.find(path).is_some();
        disk.content.is_none() && !is_open && review.is_some_and(|review| review.now.is_text())
    }

    /// Returns the path of a buffer's file.
    pub(super) fn path_of(&self, buf: BufId) -> Option<PathBuf> {
        let document = self.documents.get(buf)?;
        Some(document.path.clone())
    }
}
