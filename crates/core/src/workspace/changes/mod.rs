//! Files that have changed on disk: whose change it was, and what becomes of it.
//!
//! Invariants: changes of one file are taken in one after another, in the order in which they
//! were told, and after what was under way there: so what this client has written itself is known
//! then, and recognised. The author of a change is found out when it is told.
//! A change that is told may be over already, by something we have written since: a buffer gets
//! what the disk has, read anew, and so does a ledger that knows of another text.

mod ledger;
mod merge;

pub(crate) use merge::DiskMerge;
pub use merge::{advance, known_on_disk};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::model::Model;
use crate::spine::cx::{Effects, log, notify};
use crate::spine::effect::{EditorEffect, Effect, HostEffect, Level};
use crate::spine::event::{DiskFile, DiskText, EditDone, Stamp};
use crate::spine::ids::{BufId, SessionKey};
use crate::spine::project::{Body, FileChange, FileState};
use crate::text::Text;
use crate::workspace::documents::Document;
use crate::workspace::fileops::{Author, Intent, Kind, Landing, Next, Opens, Plan, failure};

/// Of how many files it is remembered that Neovim has saved them.
const MAX_SAVED: usize = 100;

/// What is not known of texts as yet.
#[derive(Debug, Default)]
pub struct Changes {
    /// Texts taken from the disk while a window was open: what an agent had done to the file by
    /// then has not been told yet.
    unsure: BTreeMap<PathBuf, Text>,
    /// Files as Neovim has saved them last, until that is told.
    saved: BTreeMap<PathBuf, FileState>,
}

/// A change that was found on disk.
#[derive(Debug)]
pub struct TakeIn {
    change: FileChange,
    /// The session whose agent made it; `None` when somebody else did.
    pub by: Option<SessionKey>,
}

impl Changes {
    /// Notes a text that was taken from the disk before what led to it was told.
    pub fn is_unsure(&mut self, real: &Path, text: &Text) {
        self.unsure.insert(real.to_owned(), text.clone());
    }

    /// Notes that Neovim has saved a buffer.
    pub fn is_saved(&mut self, document: &Document, stamp: Option<Stamp>) {
        let saved = FileState {
            stamp,
            ..FileState::of_text(document.text.clone(), document.state.format)
        };
        self.saved.insert(document.real.clone(), saved);
        if self.saved.len() > MAX_SAVED {
            self.saved.pop_first();
        }
    }

    /// Takes what Neovim has saved out of a change, whatever has become of the buffer: it comes
    /// first, and nobody else has made it; returns whether that was all.
    fn take_save(&mut self, change: &mut FileChange) -> (Option<FileChange>, bool) {
        let Some(saved) = self.saved.remove(&change.path) else {
            return (None, false);
        };
        let is_told = change.before.stamp == saved.stamp
            || !change.after.is_text()
            || self.unsure.contains_key(&change.path);
        if is_told || change.after.stamp == saved.stamp || change.after.text() == saved.text() {
            return (None, !is_told);
        }
        let saved = FileState {
            mode: change.before.mode,
            ..saved
        };
        let first = FileChange {
            after: saved.clone(),
            ..change.clone()
        };
        (change.before, change.from) = (saved, None);
        (Some(first), false)
    }
}

impl Model {
    /// Files have changed on disk; each change is taken in after all that is under way there.
    pub(crate) fn disk_changed(&mut self, changes: Vec<FileChange>, fx: &mut Effects) {
        let mut lanes = BTreeMap::new();
        for mut change in changes {
            let (saved, is_save) = self.changes.take_save(&mut change);
            let by = self.agent_at(&change.path).filter(|_| !is_save);
            let saved = saved.map(|change| TakeIn { change, by: None });
            for change in saved.into_iter().chain([TakeIn { change, by }]) {
                let path = change.change.path.clone();
                let lane = self.line_up(path.clone(), Intent::TakeIn(change));
                lanes.insert(path, lane);
            }
        }
        for lane in lanes.into_values() {
            self.run_lane(lane, fx);
        }
    }

    /// No window is open any more: all that agents did has been told, if not taken in.
    pub(crate) fn all_is_told(&mut self) {
        let mut unsure = std::mem::take(&mut self.changes.unsure);
        unsure.retain(|path, _| self.is_change_told(path));
        self.changes.unsure = unsure;
    }

    /// Returns whether a change of a file was told that is not taken in, or not all of it.
    fn is_change_told(&self, path: &Path) -> bool {
        let is_change = |kind| matches!(kind, Kind::TakeIn(_));
        self.fileops.has(&self.names_of(path), is_change)
    }

    /// Neovim has saved a buffer: if not for this client, what is there is the user's.
    pub(crate) fn buffer_saved(&mut self, buf: BufId, stamp: Option<Stamp>) {
        if let Some(document) = self.documents.get(buf)
            && !self.fileops.is_busy(&self.names_of(&document.real))
        {
            self.changes.is_saved(document, stamp);
        }
    }

    /// Has the host look at a buffer's file now: what has become of it is told, if it was not.
    pub(crate) fn look_at_file(&mut self, buf: BufId, fx: &mut Effects) {
        let Some(document) = self.documents.get(buf) else {
            return;
        };
        let mut sessions = self.sessions.values();
        let session = sessions.find(|session| document.real.starts_with(&session.project));
        if let Some(root) = session.map(|session| session.project.clone()) {
            let paths = vec![document.real.clone()];
            fx.push(Effect::Host(HostEffect::Look { root, paths }));
        }
    }

    /// Returns whose agent has written what is found at `path` just now: as it was told, if that
    /// waits to be taken in or is being taken in, else as it would be told.
    pub(crate) fn writer_at(&self, path: &Path) -> Option<SessionKey> {
        let names = self.names_of(path);
        let waiting = self.fileops.waiting(&names);
        let told = waiting.filter_map(|op| match &op.intent {
            Intent::TakeIn(change) => Some(change.by),
            _ => None,
        });
        match (told.last(), self.fileops.doing(&names)) {
            (Some(by), _) | (None, Some(Kind::TakeIn(by))) => by,
            _ => self.agent_at(path),
        }
    }

    /// Returns the change that was told, and waits, of a file whose text is `saved`: others than
    /// who has changed it last may have made it.
    pub(crate) fn told_of(
        &self,
        path: &Path,
        saved: &Text,
    ) -> Option<(DiskFile, Option<SessionKey>)> {
        let names = self.names_of(path);
        let waiting = self.fileops.waiting(&names);
        let mut waiting = waiting.filter_map(|op| match &op.intent {
            Intent::TakeIn(change) => Some(change),
            _ => None,
        });
        let told = waiting.find(|told| told.change.before.text().as_ref() == Some(saved))?;
        let disk = told.as_told()?;
        let is_news = disk.content.as_ref().is_some_and(|now| now.text != *saved);
        is_news.then_some((disk, told.by))
    }

    /// Begins to take a change in; returns whether the disk has to be read for that.
    pub(crate) fn reads_change(&mut self, change: &mut TakeIn, fx: &mut Effects) -> bool {
        if let Some(from) = change.change.from.take() {
            self.file_moved(&from, change, fx);
        }
        let is_open = self.documents.find(&change.change.path).is_some();
        is_open || !self.is_next(&change.change)
    }

    /// Takes a change into the buffer, or the review, of its file; without `disk`, just as it was
    /// told.
    pub(crate) fn plan_change(
        &mut self,
        path: &Path,
        change: &mut TakeIn,
        disk: Option<DiskFile>,
        fx: &mut Effects,
    ) -> Plan {
        self.settle_unsure(change);
        let buffer = self.documents.find(path).map(|(buf, _)| buf);
        match (buffer, disk) {
            (Some(buf), Some(disk)) => return self.plan_merge(path, change, buf, disk, fx),
            (_, Some(disk)) => {
                let restored = self.restored_mode(&change.change);
                let read = as_read(change.change.clone(), disk, restored);
                self.change_ledger(&read, change.by, fx);
            }
            (_, None) => {
                self.proposals_stale(path, path);
                self.change_ledger(&change.change, change.by, fx);
            }
        }
        self.change_is_over(path);
        Plan::Done
    }

    /// Notes that a change is taken in; of the last one, nothing is left to be told.
    fn change_is_over(&mut self, path: &Path) {
        let names = self.names_of(path);
        let mut waiting = self.fileops.waiting(&names);
        let is_last = !waiting.any(|op| matches!(op.intent, Intent::TakeIn(_)));
        drop(waiting);
        if is_last && !self.windows.is_any_open() {
            self.changes.unsure.remove(path);
        }
    }

    fn plan_merge(
        &mut self,
        path: &Path,
        change: &mut TakeIn,
        buf: BufId,
        disk: DiskFile,
        fx: &mut Effects,
    ) -> Plan {
        let restored = self.restored_mode(&change.change);
        let Some(document) = self.documents.get(buf) else {
            return Plan::Again;
        };
        // Neovim reads a file again whose mode is another one, unless it is told of it.
        let is_known = document.stamp.is_some()
            && document.stamp == disk.stamp
            && change.change.before.mode == change.change.after.mode;
        // Where somebody else's change comes next, what is there now is not this one's alone.
        let told = change
            .as_told()
            .filter(|_| self.is_anothers_next(path, change));
        let is_passing = told.is_some();
        let disk = told.unwrap_or(disk);
        change.change = as_read(change.change.clone(), disk.clone(), restored);
        let on_disk = match known_on_disk(document, &disk) {
            Ok(text) => text,
            Err(why) => {
                fx.push(notify(Level::Warn, failure(path, &format!("{why}."))));
                return self.change_noted(change, change.by);
            }
        };
        // A file that is no text any more leaves its buffer alone; so does one that somebody
        // else has deleted.
        let is_text = disk.content.is_none() || change.change.after.is_text();
        let was_this = document.stamp.is_some() || document.saved == change.change.before.text();
        let is_kept = on_disk.is_none() && (change.by.is_none() || !was_this);
        if is_known || !is_text || is_kept {
            return self.change_noted(change, change.by.filter(|_| !is_known));
        }
        let formats = (change.change.after.format(), document.state.format);
        let is_same = on_disk.as_ref() == Some(&document.text) && formats.0 == Some(formats.1);
        let ours = document.text.clone();
        let base = document
            .saved
            .clone()
            .or_else(|| change.change.before.text());
        let texts = (base.unwrap_or(ours.clone()), on_disk.unwrap_or_default());
        let (merge, edit) = DiskMerge::plan(buf, document, disk, texts, change.by);
        let edit = if is_passing { edit.passing() } else { edit };
        // What is in the buffer already the user has written there, or this client.
        let is_agents = change.by.is_some() && !edit.is_empty();
        let session = change.by.or_else(|| self.session_at(path));
        let session = session.filter(|_| is_agents || merge.has_conflicts());
        Plan::Edit {
            edit,
            author: Author::on_disk(change.by),
            opens: session.map(|session| {
                Box::new(Opens {
                    path: document.path.clone(),
                    real: document.real.clone(),
                    session,
                    base: ours,
                    origin: change.change.before.clone(),
                    now: None,
                })
            }),
            // Just what is in the buffer: it was saved, and the editor has yet to say so.
            landing: Landing::TakenIn(Box::new(merge), change.by.filter(|_| !is_same)),
        }
    }

    /// Ends a change that leaves the buffer's lines alone; `content` has written what is there.
    fn change_noted(&mut self, change: &TakeIn, content: Option<SessionKey>) -> Plan {
        self.take_note(change, content);
        self.change_is_over(&change.change.path);
        Plan::Done
    }

    fn is_anothers_next(&self, path: &Path, change: &TakeIn) -> bool {
        let names = self.names_of(path);
        let mut waiting = self.fileops.waiting(&names);
        waiting.any(|op| match &op.intent {
            Intent::TakeIn(next) => op.path == path && next.by != change.by,
            _ => false,
        })
    }

    /// Records a change that the editor has merged; `content` has written what was on disk.
    pub(crate) fn change_landed(
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
            self.follow_change(session, &path, Some(ours), &now);
        }
        if !is_done {
            self.disk_has_landed(landed, fx);
            return Next::Again;
        }
        self.take_note(change, content);
        if is_gone {
            fx.push(Effect::Editor(EditorEffect::Deleted { buf }));
        }
        self.disk_has_landed(landed, fx);
        self.change_is_over(&change.change.path);
        Next::Done
    }

    /// Ends a change that cannot be taken in: it is known of as it was told.
    pub(crate) fn change_failed(&mut self, change: &TakeIn, text: String, fx: &mut Effects) {
        fx.push(notify(Level::Error, text));
        self.change_noted(change, change.by);
    }

    /// Ends a change of a file that cannot be read: it is known of as it was told.
    pub(crate) fn change_unread(&mut self, change: &TakeIn, text: String, fx: &mut Effects) {
        fx.push(log(Level::Warn, text));
        if self.documents.find(&change.change.path).is_none() {
            self.change_ledger(&change.change, change.by, fx);
        }
        self.change_noted(change, change.by);
    }

    /// Returns the session that works where a file is, the last one of several.
    fn session_at(&self, path: &Path) -> Option<SessionKey> {
        let mut all = self.sessions.iter().rev();
        all.find(|(_, session)| path.starts_with(&session.project))
            .map(|(key, _)| *key)
    }
}

impl TakeIn {
    /// Returns the text file that the change has left.
    pub fn as_told(&self) -> Option<DiskFile> {
        let FileChange { path, after, .. } = &self.change;
        match &after.body {
            Body::Text(content) => Some(DiskFile {
                real: path.clone(),
                content: Some(content.clone()),
                stamp: after.stamp,
            }),
            _ => None,
        }
    }
}

/// Returns a change as it was found when the disk was read.
///
/// The mode was not read: it is what was told, or what has been `restored` since.
fn as_read(change: FileChange, disk: DiskFile, restored: Option<u32>) -> FileChange {
    let mode = restored.or(change.after.mode);
    let was_text = matches!(change.after.body, Body::Text(_) | Body::Missing);
    let after = match disk.content {
        None => FileState::missing(),
        // No text, and still just that: only the host can tell what it is.
        Some(_) if !was_text && disk.stamp == change.after.stamp => change.after,
        Some(content) if !was_text && content.text.has_nul() => change.after,
        Some(DiskText { text, format }) => FileState {
            mode,
            stamp: disk.stamp,
            ..FileState::of_text(text, format)
        },
    };
    FileChange { after, ..change }
}
