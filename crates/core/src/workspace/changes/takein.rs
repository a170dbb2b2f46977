//! Applies a change on disk: completes it by the file as it is now, merges it into the buffer, or
//! records it.
//!
//! Invariant: a reported change may be stale because of a later write of this client: a buffer gets
//! the text on disk, read again, and so does a ledger whose text differs.

use std::path::Path;

use super::{DiskMerge, known_on_disk};
use crate::spine::cx::{Effects, log, notify};
use crate::spine::effect::{EditorEffect, Level};
use crate::spine::event::{DiskFile, DiskText, EditDone, Stamp, is_later};
use crate::spine::ids::SessionKey;
use crate::spine::project::{Body, FileChange, FileState};
use crate::text::Text;
use crate::workspace::fileops::{Author, FileNow, Intent, Landing, Next, Opens, Outcome, Plan};
use crate::workspace::reviews::FileReview;
use crate::workspace::{FileEdit, Signal, Workspace};

/// A reported change on disk, to be applied.
#[derive(Debug)]
pub struct TakeIn {
    pub(super) change: FileChange,
    /// The session whose agent made it; `None` for the user, another program or a plugin.
    pub by: Option<SessionKey>,
    /// The host's report of a change, not this client's own.
    pub(super) is_report: bool,
    /// The session in whose turn it was made, by any author.
    pub(super) in_turn_of: Option<SessionKey>,
    /// The parts of it that were taken for the text before an agent's change when they were read.
    pub(super) read: Vec<FileChange>,
    /// The user's last save before its end.
    pub(super) save: Option<FileState>,
    /// It ends with a version that was known before: a ledger has that from the buffer or a read.
    pub(super) is_in_ledger: bool,
    /// The reported state, if the file has had another text since.
    pub(super) passed: Option<FileState>,
    /// The file to merge into the buffer.
    reading: Option<Box<Reading>>,
}

/// The file whose text a change brings into a buffer.
#[derive(Debug)]
struct Reading {
    disk: DiskFile,
    /// It is the file Neovim knows.
    is_known: bool,
    /// Another author's change follows it.
    is_passing: bool,
}

impl Workspace {
    /// Starts applying a change: the review and the buffer of a moved file take the new path.
    pub(crate) fn change_starts(&mut self, change: &mut TakeIn, fx: &mut Effects) {
        if let Some(gone) = self.take_deletion(&mut change.change) {
            let (path, gone) = (gone.path.clone(), TakeIn::reported(gone, change.by));
            self.operate(path, Intent::TakeIn(Box::new(gone)), fx);
        }
        let FileChange {
            path,
            before,
            after,
            ..
        } = &change.change;
        self.name_leads_to(path, (before, after), fx);
        let Some(from) = change.change.from.take() else {
            return;
        };
        if !self.is_no_move(&from, &change.change) {
            self.file_moved(&from, change, fx);
        } else if !self.has_this(&change.change) {
            change.change.before = FileState::missing();
        }
    }

    /// Returns whether the disk must be read before a change is applied.
    pub(crate) fn reads_change(&self, change: &TakeIn) -> bool {
        let Some((_, document)) = self.documents.find(&change.change.path) else {
            let is_listed = change.is_in_ledger && change.by.is_none();
            let is_unknown = change.change.after.is_unreadable();
            return is_unknown || !is_listed && !self.is_next(&change.change);
        };
        // Neovim knows exactly the reported version: a later one gets a separate report, maybe with
        // another author.
        let is_known = document.stamp.is_some() && document.stamp == change.change.after.stamp;
        !is_known || change.as_told().is_none()
    }

    /// Returns the file that a change has left, as reported, for one that cannot be read. A ledger that
    /// has had that text, or a later version of the file, has what followed it, too.
    pub(crate) fn told_for(&self, change: &TakeIn) -> Option<DiskFile> {
        let told = change.as_told()?;
        let change = &change.change;
        let is_open = self.documents.find(&change.path).is_some();
        let review = self.reviews.get(&change.path).filter(|_| !is_open);
        let (Some(review), false) = (review, self.is_next(change)) else {
            return Some(told);
        };
        let content = told.content?;
        let is_past = is_later(review.now.stamp, change.after.stamp);
        let text = match is_past || review.ledger.remembers(&content.text) {
            true => review.ledger.current().clone(),
            false => content.text.clone(),
        };
        Some(DiskFile {
            content: Some(DiskText { text, ..content }),
            stamp: None,
            ..told
        })
    }

    /// Completes a change by the file that was read; without `disk`, the reported state counts.
    pub(crate) fn prepare_change(
        &mut self,
        path: &Path,
        change: &mut TakeIn,
        disk: Option<&DiskFile>,
    ) {
        self.changes.cut(change);
        self.settle_save(change);
        self.settle_read(change);
        self.keep_own_text(&mut change.change);
        change.reading = None;
        let buffer = self.documents.find(path).map(|(buf, _)| buf);
        let disk = disk.cloned().or_else(|| {
            let told = buffer.is_some().then(|| change.as_told());
            told.flatten()
        });
        let Some(mut disk) = disk else {
            return;
        };
        let FileChange { before, after, .. } = &mut change.change;
        if after.is_missing() && disk.real != path {
            // A link has replaced a folder above: the file that was read is another one.
            disk = DiskFile::missing(path);
        }
        if after.is_unreadable() && disk.stamp.is_some() && disk.stamp == before.stamp {
            after.clone_from(before);
        }
        let restored = self.restored_mode(&change.change);
        let document = buffer.and_then(|buf| self.documents.get(buf));
        let review = self.reviews.get(path);
        let known = match document {
            Some(document) => document.stamp,
            None => review.and_then(|review| review.now.stamp),
        };
        // The buffer, or the ledger, is up to date with the file, and so with all earlier reports.
        let is_current = known.is_some() && known == disk.stamp;
        // If another author's change follows, the present text is not this change's alone, unless
        // it is the very file that this change left.
        // A new file that is gone by now has left nothing.
        let is_over = change.change.before.is_missing() && disk.content.is_none();
        let told = change.as_told().filter(|told| {
            !is_over
                && !is_current
                && told.stamp != disk.stamp
                && self.is_anothers_next(path, change, &disk)
        });
        // A later version is known already, and the next change brings the present one.
        let is_past = is_later(known, told.as_ref().and_then(|told| told.stamp));
        let Some(document) = document else {
            match review.and_then(FileReview::on_disk) {
                Some(now) if is_past => return change.is_read(now, restored),
                _ if told.is_some() && !is_past => return,
                _ => {}
            }
            let content = disk.content.as_ref();
            let is_text = content.is_none_or(|content| !content.text.has_nul());
            // Bytes that are newer than the report get a separate one.
            let is_unknown = change.change.after.is_unreadable();
            if is_text || is_unknown || self.known_state(path, disk.stamp).is_some() {
                change.is_read(disk, restored);
            }
            return;
        };
        // Neovim reads a file again when its mode changes, unless the new stamp is passed to it.
        let FileChange { before, after, .. } = &change.change;
        let is_known = is_current && (before.is_missing() || before.mode == after.mode);
        if let (true, Some(saved)) = (is_known, &document.saved) {
            let text = FileState::of_text(saved.clone(), document.state.format);
            change.change.after.is_this_text(&text);
        }
        let is_known = is_known || is_past;
        let is_passing = told.is_some();
        let disk = told.unwrap_or(disk);
        change.is_read(disk.clone(), restored);
        if let Body::Text(content) = &mut change.change.after.body {
            *content = document.reads(content);
        }
        change.reading = Some(Box::new(Reading {
            disk,
            is_known,
            is_passing,
        }));
    }

    /// Gives a change that this client wrote its text, of which the host may have no copy.
    fn keep_own_text(&self, change: &mut FileChange) {
        if let Some(own) = self.known_state(&change.path, change.after.stamp) {
            change.after.is_this_text(own);
        }
    }

    /// Returns a file's state in its review if that is of the file with this stamp.
    fn known_state(&self, path: &Path, stamp: Option<Stamp>) -> Option<&FileState> {
        let now = self.reviews.get(path).map(|file| &file.now);
        now.filter(|now| now.stamp.is_some() && now.stamp == stamp)
    }

    /// Returns whether the file that was read has a change of another author since this one.
    fn is_anothers_next(&self, path: &Path, change: &TakeIn, disk: &DiskFile) -> bool {
        let mut waiting = self.fileops.waiting(path);
        let is_told = waiting.any(|op| match &op.intent {
            Intent::TakeIn(next) => op.path == path && next.by != change.by,
            _ => false,
        });
        is_told || self.writer_of(path, disk.stamp) != change.by
    }

    /// Records a change: merged by the editor, noted, or for the review of a file without a buffer.
    pub(crate) fn change_landed(
        &mut self,
        path: &Path,
        change: &TakeIn,
        landing: Landing,
        outcome: Outcome,
        fx: &mut Effects,
    ) -> Next {
        match (landing, outcome) {
            (Landing::TakenIn(merge, content), Outcome::Edited(done)) => {
                return self.change_merged(change, *merge, content, &done, fx);
            }
            (Landing::Noted(content, warning), _) => {
                if let Some(text) = warning {
                    fx.push(notify(Level::Warn, text));
                }
                self.take_note(change, content);
            }
            _ => {
                self.proposals_stale(path);
                self.change_ledger(change, fx);
            }
        }
        Next::Done
    }

    /// Records a change that the editor has merged; `content` is the session that wrote the text on
    /// disk.
    fn change_merged(
        &mut self,
        change: &TakeIn,
        merge: DiskMerge,
        content: Option<SessionKey>,
        done: &EditDone,
        fx: &mut Effects,
    ) -> Next {
        let (buf, is_gone) = (merge.buf, merge.disk.content.is_none());
        let landed = merge.lands();
        let is_done = self.disk_is_merged(merge, done, fx);
        if let (Some(session), Some((buf, ours))) = (change.by, &landed)
            && let Some(document) = self.documents.get(*buf)
            && document.text != *ours
        {
            let (path, now) = (document.path.clone(), document.text.clone());
            self.signal(Signal::Changed(FileEdit {
                session,
                path: path.clone(),
                before: Some(ours.clone()),
                after: now.clone(),
            }));
        }
        if !is_done {
            self.disk_has_landed(landed, fx);
            return Next::Again;
        }
        self.take_note(change, content);
        if is_gone {
            fx.push(EditorEffect::Deleted { buf });
        }
        self.disk_has_landed(landed, fx);
        Next::Done
    }

    /// Ends a change that cannot be applied: it is recorded as reported.
    pub(crate) fn change_failed(&mut self, change: &TakeIn, text: String, fx: &mut Effects) {
        fx.push(notify(Level::Error, text));
        self.take_note(change, change.by);
    }

    /// Ends a change of a file that cannot be read: it is recorded as reported.
    pub(crate) fn change_unread(&mut self, change: &mut TakeIn, text: String, fx: &mut Effects) {
        fx.push(log(Level::Warn, text));
        self.settle_save(change);
        self.settle_read(change);
        if self.documents.find(&change.change.path).is_none() {
            self.change_ledger(change, fx);
        }
        self.take_note(change, change.by);
    }
}

impl TakeIn {
    pub(crate) fn new(change: FileChange, by: Option<SessionKey>) -> Self {
        let reading = None;
        Self {
            change,
            by,
            is_report: false,
            in_turn_of: by,
            read: Vec::new(),
            save: None,
            is_in_ledger: false,
            passed: None,
            reading,
        }
    }

    /// A change that the host reports; `agent` is the session whose turn it was made in.
    pub(super) fn reported(change: FileChange, agent: Option<SessionKey>) -> Self {
        Self {
            is_report: true,
            ..Self::new(change, agent)
        }
    }

    /// Plans to merge the change into the file's buffer, or to record it.
    pub(crate) fn plan(&self, now: FileNow) -> Plan {
        let Some((buf, document)) = now.document else {
            return Plan::Done(Landing::Plain);
        };
        let Some(Reading {
            disk,
            is_known,
            is_passing,
        }) = self.reading.as_deref()
        else {
            return Plan::Again;
        };
        let FileChange { before, after, .. } = &self.change;
        let on_disk = match known_on_disk(document, disk) {
            Ok(text) => text,
            Err(_) => {
                // What another program has changed, Neovim asks about.
                let warning = self.by.map(|_| {
                    let path = now.path.display();
                    format!(
                        "The agent changed {path}: no review in its encoding; `:edit` shows it."
                    )
                });
                return Plan::Done(Landing::Noted(self.by, warning));
            }
        };
        // The buffer keeps its text if the file is no longer text, or if the agent did not delete
        // it.
        let is_text = after.is_text() || disk.content.is_none() && !self.is_link();
        let was_this = document.stamp.is_some() || document.saved == before.text();
        let is_kept = on_disk.is_none() && (self.by.is_none() || !was_this);
        if *is_known || !is_text || is_kept {
            return Plan::Done(Landing::Noted(self.by.filter(|_| !is_known), None));
        }
        let is_same = on_disk.as_ref() == Some(&document.text)
            && after.format() == Some(document.state.format);
        let ours = document.text.clone();
        let base = document.saved.clone().or_else(|| before.text());
        let texts = (base.unwrap_or(ours.clone()), on_disk.unwrap_or_default());
        let (merge, edit) = DiskMerge::plan(buf, document, disk.clone(), texts, self.by);
        let edit = if *is_passing { edit.passing() } else { edit };
        // The user or this client wrote the lines that the buffer already contains.
        let is_agents = self.by.is_some() && !edit.is_empty();
        let session = self.by.or_else(|| now.owner());
        let session = session.filter(|_| is_agents || merge.has_conflicts());
        Plan::Edit {
            edit,
            author: Author::on_disk(self.by),
            opens: session.map(|session| {
                Box::new(Opens {
                    path: document.path.clone(),
                    session,
                    base: ours,
                    origin: before.clone(),
                    now: None,
                })
            }),
            // The disk has the buffer's text: it was saved, and the editor has yet to report that.
            landing: Landing::TakenIn(Box::new(merge), self.by.filter(|_| !is_same)),
        }
    }

    /// Takes the state found when the disk was read, with the mode that was `restored` since.
    fn is_read(&mut self, disk: DiskFile, restored: Option<u32>) {
        let told = self.change.after.clone();
        self.change = as_read(self.change.clone(), disk, restored);
        self.passed = Some(told).filter(|told| told.text() != self.change.after.text());
    }

    /// Takes the new path of a file that this client has moved since the report.
    pub fn follow(&mut self, to: &Path) {
        to.clone_into(&mut self.change.path);
        self.change.from.take_if(|from| from == to);
    }

    pub fn leads_to(&self, state: &FileState) -> bool {
        self.change.after == *state
    }

    /// Returns whether the change left a link, which may lead to a folder.
    pub fn is_link(&self) -> bool {
        self.change.after.link().is_some()
    }

    /// Returns the text of the user's last save before its end, and the file of that. A saved binary
    /// file has no lines of the user.
    pub(super) fn saved(&self) -> Option<(Text, Option<Stamp>)> {
        let save = self.save.as_ref()?;
        let text = save.text().filter(|text| !text.has_nul())?;
        Some((text, save.stamp))
    }

    /// Returns the text file that the change has left.
    pub fn as_told(&self) -> Option<DiskFile> {
        let FileChange { path, after, .. } = &self.change;
        match &after.body {
            Body::Text(content) => Some(DiskFile {
                real: path.clone(),
                content: Some(content.clone()),
                stamp: after.stamp,
                mode: after.mode,
            }),
            _ => None,
        }
    }
}

/// Returns a change with the state found when the disk was read.
///
/// The mode was not read: it is the reported one, or the one `restored` since.
fn as_read(change: FileChange, disk: DiskFile, restored: Option<u32>) -> FileChange {
    let mode = restored.or(change.after.mode);
    let is_link = change.after.link().is_some();
    let is_back = is_link && disk.real == change.path;
    let was_text = is_back || matches!(change.after.body, Body::Text(_) | Body::Missing);
    let after = match disk.content {
        // A link has replaced the file: the link's target was read, unless the file is back.
        Some(_) if is_link && !is_back => change.after,
        // It leads nowhere. If it is gone by now, a report will say so.
        None if is_link => change.after,
        None => FileState::missing(),
        // It was not text and has not changed: only the host can say which kind of file it is.
        Some(_) if !was_text && disk.stamp == change.after.stamp => change.after,
        Some(content) if change.after.is_unreadable() && content.text.has_nul() => FileState {
            body: Body::Bytes {
                bytes: disk.stamp.map_or(0, |stamp| stamp.bytes),
                blob: None,
            },
            mode,
            stamp: disk.stamp,
        },
        Some(content) if !was_text && content.text.has_nul() => change.after,
        Some(DiskText { text, format }) => FileState {
            mode,
            stamp: disk.stamp,
            ..FileState::of_text(text, format)
        },
    };
    FileChange { after, ..change }
}
