//! Files that have changed on disk: whose change it was, and what becomes of it.
//!
//! Invariants: changes of one path are taken in one after another, in the order in which they
//! were told, and none while something of ours is under way there: so what we have written
//! ourselves is known by then, and recognised. Whose a change was is settled when it is told.
//! A change that is told may be over already, by something we have written since: a buffer gets
//! what the disk has, read anew, and so does a ledger that knows of another text.

mod ledger;
mod merge;

pub use merge::{DiskMerge, advance, known_on_disk};

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use crate::model::{Effects, Job, Model, log, notify};
use crate::spine::effect::{EditorEffect, Effect, HostEffect, Level};
use crate::spine::event::{DiskFile, DiskText, EditDone, EditError, Stamp};
use crate::spine::ids::{BufId, SessionKey};
use crate::spine::project::{Body, FileChange, FileState};
use crate::text::Text;
use crate::workspace::documents::Document;
use crate::workspace::files::Hand;

/// How often a change is looked at again because things have moved on meanwhile.
const MAX_TRIES: u32 = 100;

/// Of how many files it is remembered that Neovim has saved them.
const MAX_SAVED: usize = 100;

/// The changes that wait, and what is not known of texts as yet.
#[derive(Debug, Default)]
pub struct Changes {
    waiting: BTreeMap<PathBuf, VecDeque<Change>>,
    /// Paths a change is being taken in at.
    active: BTreeSet<PathBuf>,
    /// Texts taken from the disk while a window was open: what an agent had done to the file by
    /// then has not been told yet.
    unsure: BTreeMap<PathBuf, Text>,
    /// Files as Neovim has saved them last, until that is told.
    saved: BTreeMap<PathBuf, FileState>,
}

/// The session whose agent has changed a file; `None` when somebody else has.
pub type Writer = Option<SessionKey>;

/// A change, and who made it.
#[derive(Debug, Clone)]
struct Change {
    change: FileChange,
    by: Writer,
}

/// A change that is being taken into a buffer.
#[derive(Debug)]
pub struct ChangeJob {
    change: Change,
    tries: u32,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// The file as it is on disk by now.
    Reading,
    /// It is being merged into the buffer; this one has written it.
    Merging(Box<DiskMerge>, Writer),
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

    /// No window is open any more: all that agents did has been told, if not taken in.
    pub fn all_is_told(&mut self) {
        let (waiting, active) = (&self.waiting, &self.active);
        self.unsure
            .retain(|path, _| waiting.contains_key(path) || active.contains(path));
    }
}

impl ChangeJob {
    /// Tells whose text the job's edit brings.
    pub fn hand(&self) -> Hand {
        match self.change.by {
            Some(_) => Hand::Agent,
            None => Hand::Others,
        }
    }
}

impl Model {
    /// Files have changed on disk; each is taken in as soon as nothing of ours is under way there.
    pub(crate) fn disk_changed(&mut self, changes: Vec<FileChange>) {
        for mut change in changes {
            let (saved, is_save) = self.changes.take_save(&mut change);
            let by = self.agent_at(&change.path).filter(|_| !is_save);
            let waiting = self.changes.waiting.entry(change.path.clone());
            let waiting = waiting.or_default();
            waiting.extend(saved.map(|change| Change { change, by: None }));
            waiting.push_back(Change { change, by });
        }
    }

    /// Neovim has saved a buffer: if not for this client, what is there is the user's.
    pub(crate) fn buffer_saved(&mut self, buf: BufId, stamp: Option<Stamp>) {
        if let Some(document) = self.documents.get(buf)
            && !self.is_under_way(&document.real)
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

    /// Takes in the changes that need not wait any more.
    pub(crate) fn take_changes(&mut self, fx: &mut Effects) {
        if self.changes.waiting.is_empty() {
            return;
        }
        let paths: Vec<PathBuf> = self.changes.waiting.keys().cloned().collect();
        for path in paths {
            while !self.is_under_way(&path)
                && let Some(waiting) = self.changes.waiting.get_mut(&path)
            {
                match waiting.pop_front() {
                    Some(change) => self.take_change(change, fx),
                    None => {
                        self.changes.waiting.remove(&path);
                        if !self.windows.is_any_open() {
                            self.changes.unsure.remove(&path);
                        }
                        self.resume_held(fx);
                    }
                }
            }
        }
    }

    /// Returns whether a file is being changed, or a change of it taken in.
    fn is_under_way(&self, path: &Path) -> bool {
        if self.changes.active.contains(path) {
            return true;
        }
        let names = self.names_of(path);
        self.documents.is_loading(path)
            || self.is_written_to(&names)
            || self.is_decided_about(&names)
    }

    /// Returns whether a change of a file is known, and not in its buffer yet.
    pub(crate) fn is_change_known(&self, path: &Path) -> bool {
        let names = self.names_of(path);
        let mut names = names.iter();
        names.any(|name| {
            self.changes.active.contains(name) || self.changes.waiting.contains_key(name)
        })
    }

    /// Returns whether a change of a file is being taken into its buffer.
    pub(crate) fn is_change_active(&self, path: &Path) -> bool {
        let names = self.names_of(path);
        let mut names = names.iter();
        names.any(|name| self.changes.active.contains(name))
    }

    /// Returns whose agent has written what is found at `path` just now: as it was told, if that
    /// waits to be taken in or is being taken in, else as it would be told.
    pub(crate) fn writer_at(&self, path: &Path) -> Option<SessionKey> {
        let names = self.names_of(path);
        let mut waiting = names
            .iter()
            .filter_map(|name| self.changes.waiting.get(name)?.back());
        match waiting.next() {
            Some(change) => change.by,
            None => self
                .active_writer(&names)
                .unwrap_or_else(|| self.agent_at(path)),
        }
    }

    /// Returns who has made the change that is being taken in at one of these paths.
    fn active_writer(&self, names: &[PathBuf]) -> Option<Writer> {
        if !names.iter().any(|name| self.changes.active.contains(name)) {
            return None;
        }
        self.jobs.values().find_map(|job| match job {
            Job::Change(job) if names.contains(&job.change.change.path) => Some(job.change.by),
            _ => None,
        })
    }

    /// Returns the change that was told, and waits, of a file whose text is `saved`: others than
    /// who has changed it last may have made it.
    pub(crate) fn told_of(&self, path: &Path, saved: &Text) -> Option<(DiskFile, Writer)> {
        let names = self.names_of(path);
        let waiting = names
            .iter()
            .filter_map(|name| self.changes.waiting.get(name));
        let mut waiting = waiting.flatten();
        let told = waiting.find(|told| told.change.before.text().as_ref() == Some(saved))?;
        let disk = as_told(&told.change)?;
        let is_news = disk.content.as_ref().is_some_and(|now| now.text != *saved);
        is_news.then_some((disk, told.by))
    }

    pub(crate) fn names_of(&self, path: &Path) -> Vec<PathBuf> {
        let mut names = vec![path.to_owned()];
        if let Some((_, document)) = self.documents.find(path) {
            names.extend([document.path.clone(), document.real.clone()]);
        }
        names
    }

    fn take_change(&mut self, change: Change, fx: &mut Effects) {
        if let Some(from) = change.change.from.clone() {
            self.file_moved(&from, &change, fx);
        }
        let is_open = self.documents.find(&change.change.path).is_some();
        if is_open || !self.is_next(&change.change) {
            self.changes.active.insert(change.change.path.clone());
            return self.read_change(change, 0, fx);
        }
        self.settle_unsure(&change);
        self.proposals_stale(&change.change.path, &change.change.path);
        self.change_ledger(&change.change, change.by, fx);
    }

    fn read_change(&mut self, change: Change, tries: u32, fx: &mut Effects) {
        let path = change.change.path.clone();
        let stage = Stage::Reading;
        let job = ChangeJob {
            change,
            tries,
            stage,
        };
        let token = self.token(Job::Change(job));
        fx.push(Effect::Host(HostEffect::ReadDisk { token, path }));
    }

    fn change_is_over(&mut self, path: &Path, fx: &mut Effects) {
        self.changes.active.remove(path);
        self.resume_held(fx);
    }

    /// Goes on when the disk was read for a file that is in a buffer.
    pub(crate) fn change_read(
        &mut self,
        job: ChangeJob,
        result: Result<DiskFile, String>,
        fx: &mut Effects,
    ) {
        let ChangeJob { change, tries, .. } = job;
        let path = change.change.path.clone();
        let disk = match result {
            Ok(disk) => disk,
            // What was told will do.
            Err(why) => match as_told(&change.change) {
                Some(told) => told,
                None => {
                    fx.push(log(Level::Warn, why));
                    match self.documents.find(&path) {
                        Some(_) => self.take_note(&change, change.by),
                        None => self.change_ledger(&change.change, change.by, fx),
                    }
                    return self.change_is_over(&path, fx);
                }
            },
        };
        if self.documents.is_loading(&path) {
            // It is taken in when all of the buffer is there.
            let waiting = self.changes.waiting.entry(path.clone());
            waiting.or_default().push_front(change);
            return self.change_is_over(&path, fx);
        }
        self.settle_unsure(&change);
        match self.documents.find(&path) {
            Some((buf, _)) => self.merge_change(change, tries, buf, disk, fx),
            None => {
                let restored = self.restored_mode(&change.change);
                let read = as_read(change.change, disk, restored);
                self.change_ledger(&read, change.by, fx);
                self.change_is_over(&path, fx);
            }
        }
    }

    fn merge_change(
        &mut self,
        change: Change,
        tries: u32,
        buf: BufId,
        disk: DiskFile,
        fx: &mut Effects,
    ) {
        let path = change.change.path.clone();
        let restored = self.restored_mode(&change.change);
        let Some(document) = self.documents.get(buf) else {
            return self.change_is_over(&path, fx);
        };
        // Neovim reads a file again whose mode is another one, unless it is told of it.
        let is_known = document.stamp.is_some()
            && document.stamp == disk.stamp
            && change.change.before.mode == change.change.after.mode;
        // Where somebody else's change comes next, what is there now is not this one's alone.
        let told = as_told(&change.change).filter(|_| self.is_anothers_next(&change));
        let is_passing = told.is_some();
        let disk = told.unwrap_or(disk);
        let change = Change {
            change: as_read(change.change, disk.clone(), restored),
            ..change
        };
        let on_disk = match known_on_disk(document, &disk) {
            Ok(text) => text,
            Err(why) => {
                fx.push(notify(Level::Warn, format!("{}: {why}.", path.display())));
                self.take_note(&change, change.by);
                return self.change_is_over(&path, fx);
            }
        };
        // A file that is no text any more leaves its buffer alone; so does one that somebody
        // else has deleted.
        let is_text = disk.content.is_none() || change.change.after.is_text();
        let was_this = document.stamp.is_some() || document.saved == change.change.before.text();
        let is_kept = on_disk.is_none() && (change.by.is_none() || !was_this);
        if is_known || !is_text || is_kept {
            let content = change.by.filter(|_| !is_known);
            self.take_note(&change, content);
            return self.change_is_over(&path, fx);
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
        let (name, real) = (document.path.clone(), document.real.clone());
        let edit = match is_passing {
            true => DiskMerge::passing(edit),
            false => edit,
        };
        // What is in the buffer already the user has written there, or this client.
        let is_agents = change.by.is_some() && !edit.is_empty();
        if is_agents || merge.has_conflicts() {
            let session = change.by.or_else(|| self.session_at(&path));
            if let Some(session) = session {
                let origin = change.change.before.clone();
                self.reviews.begin(&name, &real, session, &ours, origin);
            }
        }
        // Just what is in the buffer: it was saved, and the editor has yet to say so.
        let content = change.by.filter(|_| !is_same);
        let stage = Stage::Merging(Box::new(merge), content);
        let job = ChangeJob {
            change,
            tries,
            stage,
        };
        let token = self.token(Job::Change(job));
        fx.push(edit.into_effect(token));
    }

    fn is_anothers_next(&self, change: &Change) -> bool {
        let waiting = self.changes.waiting.get(&change.change.path);
        let mut waiting = waiting.into_iter().flatten();
        waiting.any(|next| next.by != change.by)
    }

    /// Goes on when the editor has merged, or has not.
    pub(crate) fn change_merged(
        &mut self,
        job: ChangeJob,
        result: Result<EditDone, EditError>,
        fx: &mut Effects,
    ) {
        let ChangeJob {
            change,
            tries,
            stage,
        } = job;
        let Stage::Merging(merge, content) = stage else {
            return;
        };
        let path = change.change.path.clone();
        let buf = merge.buf;
        let is_gone = merge.disk.content.is_none();
        let landed = merge.lands().filter(|_| result.is_ok());
        let is_done = match result {
            Ok(done) => self.disk_is_merged(*merge, &done, fx),
            Err(EditError::Stale { .. } | EditError::Gone) => false,
            Err(EditError::Refused(why)) => {
                let text = format!(
                    "{} was changed on disk, and its buffer was not: {why}.",
                    path.display()
                );
                fx.push(notify(Level::Error, text));
                true
            }
        };
        if let (Some(session), Some((buf, ours))) = (change.by, &landed)
            && let Some(document) = self.documents.get(*buf)
            && document.text != *ours
        {
            let (path, now) = (document.path.clone(), document.text.clone());
            self.follow_change(session, &path, Some(ours), &now);
        }
        if !is_done && tries < MAX_TRIES {
            self.disk_has_landed(landed, fx);
            return self.read_change(change, tries + 1, fx);
        }
        self.take_note(&change, content);
        if is_gone {
            fx.push(Effect::Editor(EditorEffect::Deleted { buf }));
        }
        self.disk_has_landed(landed, fx);
        self.change_is_over(&path, fx);
    }

    /// Returns the session that works where a file is, the last one of several.
    fn session_at(&self, path: &Path) -> Option<SessionKey> {
        let mut all = self.sessions.iter().rev();
        all.find(|(_, session)| path.starts_with(&session.project))
            .map(|(key, _)| *key)
    }
}

/// Returns the text file that a change has left.
fn as_told(change: &FileChange) -> Option<DiskFile> {
    match &change.after.body {
        Body::Text(content) => Some(DiskFile {
            real: change.path.clone(),
            content: Some(content.clone()),
            stamp: change.after.stamp,
        }),
        _ => None,
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
