//! Attributes changes on disk to the agent, the user or another program, and applies them.
//!
//! Invariants: changes of one file are applied in the order in which they were reported, and after
//! the operations already queued for it. So this client's own writes are recorded first, and
//! recognised. A change is attributed when it is reported. A reported change may be stale because
//! of a later write of this client: a buffer gets the text on disk, read again, and so does a
//! ledger whose text differs.

mod ledger;
mod merge;
mod reapply;
mod unreported;

use std::collections::BTreeMap;
use std::path::Path;

use crate::spine::cx::{Effects, log, notify};
use crate::spine::effect::{EditorEffect, Effect, HostEffect, Level};
use crate::spine::event::{DiskFile, DiskText, EditDone, Overwritten, Stamp};
use crate::spine::ids::{BufId, SessionKey};
use crate::spine::pending::Token;
use crate::spine::pending::reply::{CheckpointTaken, Edited};
use crate::spine::project::{Body, FileChange, FileState};
use crate::text::Text;
use crate::text::format::Format;
use crate::workspace::documents::Document;
use crate::workspace::fileops::{
    Author, FileNow, Intent, Kind, Landing, Next, Opens, Outcome, Plan, failure,
};
use crate::workspace::reviews::FileReview;
use crate::workspace::{FileEdit, Signal, Workspace};
pub(crate) use merge::DiskMerge;
pub use merge::known_on_disk;
pub(crate) use reapply::{Reapplied, Reapply};
pub(crate) use unreported::How;
use unreported::{Cut, Unreported};

/// Changes that still wait for a report.
#[derive(Debug, Default)]
pub struct Changes {
    unreported: Unreported,
}

/// A reported change on disk, to be applied.
#[derive(Debug)]
pub struct TakeIn {
    change: FileChange,
    /// The session whose agent made it; `None` for the user, another program or a plugin.
    pub by: Option<SessionKey>,
    /// The host's report of a change, not this client's own.
    is_report: bool,
    /// The session whose turn it was made in, whoever made it.
    in_turn_of: Option<SessionKey>,
    /// The parts of it that were taken for the text before an agent's change when they were read.
    read: Vec<FileChange>,
    /// The user's last save before its end.
    save: Option<FileState>,
    /// It ends with a version that was known before: a ledger has that from the buffer or a read.
    is_in_ledger: bool,
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

impl Changes {
    /// Records a state that was read from disk before its change was reported, unless Neovim has
    /// saved it; returns whether it is recorded.
    pub fn note_read(&mut self, real: &Path, state: FileState, how: How) -> bool {
        let is_new = !self.unreported.is_saved(real, &state);
        if is_new {
            self.unreported.add(real, state, how);
        }
        is_new
    }

    /// Records that Neovim has saved a buffer, and the state that this replaced without a merge.
    fn note_saved(&mut self, document: &Document, over: Option<FileState>) {
        if let Some(over) = over {
            self.unreported.add(&document.real, over, How::Replaced);
        }
        let saved = FileState {
            stamp: document.stamp,
            ..FileState::of_text(document.text.clone(), document.state.format)
        };
        self.unreported.add(&document.real, saved, How::Saved);
    }

    /// Notes that a checkpoint of a project is asked for.
    pub fn asked(&mut self, root: &Path, checkpoint: Token<CheckpointTaken>) {
        self.unreported.asked(root, checkpoint);
    }

    pub fn project_closes(&mut self, root: &Path) {
        self.unreported.forget(root);
    }

    /// Takes off a change the versions that were known before its report, also of a buffer that is
    /// gone. A save is the user's.
    fn cut(&mut self, take: &mut TakeIn) {
        if !take.is_report {
            return;
        }
        let Cut { last, save, end } = self.unreported.cut(&take.change, &mut take.read);
        let path = take.change.path.clone();
        if save.is_some() {
            self.unreported.told(&path, None);
        }
        if let Some(last) = last {
            take.save = save.or(take.save.take());
            if let Some(end) = end {
                take.is_in_ledger = true;
                if end == How::Saved {
                    take.by = None;
                }
                return;
            }
            take.change.before = last;
        }
        let before = take.by.is_some().then(|| take.change.before.clone());
        self.unreported.told(&path, before);
    }
}

impl Workspace {
    /// Queues each change on disk behind the operations on its file.
    pub(crate) fn disk_changed(&mut self, changes: Vec<FileChange>, fx: &mut Effects) {
        let mut lanes = BTreeMap::new();
        for change in changes {
            let path = change.path.clone();
            let agent = self.agent_at(&path);
            let mut change = TakeIn::reported(change, agent);
            self.changes.cut(&mut change);
            if let Some(session) = agent.filter(|_| change.by.is_some() || !change.read.is_empty())
            {
                self.tell_git(session, &path, fx);
            }
            let lane = self.line_up(path.clone(), Intent::TakeIn(Box::new(change)));
            lanes.insert(path, lane);
        }
        for lane in lanes.into_values() {
            self.run_lane(lane, fx);
        }
    }

    /// Reports that a file under review is gone if no host does, because its session is closed.
    pub(crate) fn tell_gone(&mut self, path: &Path, fx: &mut Effects) {
        let Some(review) = self.reviews.get(path) else {
            return;
        };
        if self.session_at(&review.real).is_none() {
            let change = FileChange {
                path: review.real.clone(),
                from: None,
                before: review.now.clone(),
                after: FileState::missing(),
            };
            self.disk_changed(vec![change], fx);
        }
    }

    /// Reports, once a turn, a change by an agent that git obeys later or that hides files from the
    /// review.
    fn tell_git(&mut self, session: SessionKey, path: &Path, fx: &mut Effects) {
        let Some(why) = obeyed_by_git(path) else {
            return;
        };
        if self.windows.is_first_of(session, path) {
            let text = format!("The agent changed {}: {why}.", path.display());
            fx.notice(session, Level::Warn, text);
        }
    }

    /// Ends the versions from before a checkpoint was asked for. If a file has some from a turn and no
    /// report since, the agent has brought back what the host knew: the file is read again.
    pub(crate) fn checkpoint_has_all(
        &mut self,
        checkpoint: Token<CheckpointTaken>,
        fx: &mut Effects,
    ) {
        let mut unreported = std::mem::take(&mut self.changes.unreported);
        let mut left = unreported.taken(checkpoint, |path| self.is_change_told(path));
        self.changes.unreported = unreported;
        left.retain(|change| {
            let is_turns = self.agent_at(&change.path).is_some();
            if !is_turns {
                self.changes.unreported.cut(change, &mut Vec::new());
            }
            is_turns
        });
        self.disk_changed(left, fx);
    }

    /// Returns whether a reported change of a file is queued or partly applied.
    fn is_change_told(&self, path: &Path) -> bool {
        let is_change = |kind| matches!(kind, Kind::TakeIn(_));
        self.fileops.has(&self.names_of(path), is_change)
    }

    /// Records that Neovim has saved a buffer, and what that replaced without a merge. Unless the
    /// save was `made_for` an operation, the content is the user's; a change that it replaced is
    /// reapplied.
    pub(crate) fn buffer_saved(
        &mut self,
        buf: BufId,
        (stamp, over): (Option<Stamp>, Option<Overwritten>),
        made_for: Option<Token<Edited>>,
        fx: &mut Effects,
    ) {
        let document = self.documents.get(buf);
        let base = document.and_then(|document| document.saved.clone());
        let overwritten = over.as_ref().map(|over| over.stamp);
        self.documents.set_saved(buf, stamp, overwritten);
        if let Some(stamp) = stamp {
            fx.push(Effect::Host(HostEffect::Saved { stamp }));
        }
        let Some(document) = self.documents.get(buf) else {
            return;
        };
        if (over.is_some() || made_for.is_none()) && self.session_at(&document.real).is_some() {
            let over = over.as_ref().map(|over| {
                let (format, text) = Format::decode(&over.bytes);
                FileState {
                    stamp: Some(over.stamp),
                    ..FileState::of_text(text, format)
                }
            });
            self.changes.note_saved(document, over);
            self.tell_saved(&document.real, stamp, fx);
        }
        if let Some(over) = over {
            self.change_was_overwritten(buf, base, over, fx);
        }
    }

    /// Has the host remember a save of the user's, in case a turn is cut.
    fn tell_saved(&self, real: &Path, stamp: Option<Stamp>, fx: &mut Effects) {
        let session = self
            .session_at(real)
            .and_then(|key| self.sessions.get(&key));
        if let (Some(session), Some(_)) = (session, stamp) {
            fx.push(Effect::Host(HostEffect::KeepReviews {
                root: session.folders.project.clone(),
                files: vec![],
                over: vec![],
                saved: stamp,
            }));
        }
    }

    /// Has the host check a buffer's file and report a change it has not reported.
    pub(crate) fn look_at_file(&mut self, buf: BufId, fx: &mut Effects) {
        let Some(document) = self.documents.get(buf) else {
            return;
        };
        let mut sessions = self.sessions.values();
        let session = sessions.find(|session| document.real.starts_with(&session.folders.project));
        if let Some(root) = session.map(|session| session.folders.project.clone()) {
            let paths = vec![document.real.clone()];
            fx.push(Effect::Host(HostEffect::Look { root, paths }));
        }
    }

    /// Returns the session whose agent wrote the version of `path` with this stamp: by the first
    /// reported change, queued or active, that has come to it, else by the attribution a report
    /// would get now.
    pub(crate) fn writer_of(&self, path: &Path, stamp: Option<Stamp>) -> Option<SessionKey> {
        let names = self.names_of(path);
        let active = self.fileops.active(&names);
        let told = active.into_iter().chain(self.fileops.waiting(&names));
        let mut told = told.filter_map(|op| match &op.intent {
            // Of the file, not of a link to it.
            Intent::TakeIn(change) if !change.is_link() => Some(&**change),
            _ => None,
        });
        let has_come_to = |change: &&TakeIn| {
            let stamps = change.change.after.stamp.zip(stamp);
            stamps.is_some_and(|(told, stamp)| !stamp.is_later(&told))
        };
        let told = match stamp {
            Some(_) => told.find(has_come_to),
            None => told.last(),
        };
        match (told, active.map(|op| &op.intent)) {
            (Some(change), _) => change.by,
            (None, Some(Intent::Reapply(reapply))) => reapply.by,
            _ => self.agent_at(path),
        }
    }

    /// Returns the first queued change of a file that its buffer does not have, where `saved` is the
    /// text that the buffer has of the disk. Its author may differ from the author of the latest
    /// change.
    pub(crate) fn told_of(
        &self,
        document: &Document,
        saved: &Text,
    ) -> Option<(DiskFile, Option<SessionKey>)> {
        let names = self.names_of(&document.real);
        let mut waiting = self
            .fileops
            .waiting(&names)
            .filter_map(|op| match &op.intent {
                Intent::TakeIn(change) => Some(&**change),
                _ => None,
            });
        let is_next = |told: &&TakeIn| {
            let FileChange { before, after, .. } = &told.change;
            let times = after.stamp.zip(document.stamp);
            before.text().as_ref() == Some(saved)
                || times.is_some_and(|(after, known)| after.is_later(&known))
        };
        let told = waiting.find(is_next)?;
        let disk = told.as_told()?;
        let is_news = disk.content.as_ref().is_some_and(|now| now.text != *saved);
        is_news.then_some((disk, told.by))
    }

    /// Gives the review of a file without a buffer what is reported and queued, up to the version
    /// `over` that a write has replaced: it may have several authors.
    pub(crate) fn take_told(&mut self, name: &Path, real: &Path, over: Option<Stamp>) {
        let names = self.names_of(real);
        let waiting = self.fileops.waiting(&names);
        let told = waiting.filter_map(|op| match &op.intent {
            Intent::TakeIn(change) => Some((change.as_told()?, change.by)),
            _ => None,
        });
        let told: Vec<_> = told.collect();
        let Some(review) = self.reviews.get_mut(name) else {
            return;
        };
        let known = review.now.stamp;
        let is_later = |one: Option<Stamp>, other: Option<Stamp>| {
            one.zip(other)
                .is_some_and(|(one, other)| one.is_later(&other))
        };
        for (disk, by) in told {
            let Some(DiskText { text, .. }) = disk.content else {
                continue;
            };
            // It has a text that a buffer had in the meantime, and what followed that.
            let is_known = review.ledger.remembers(&text) || !is_later(disk.stamp, known);
            if !is_known && !is_later(disk.stamp, over) {
                match by {
                    Some(_) => review.agent_wrote(text),
                    None => review.others_wrote(text),
                }
            }
        }
    }

    /// Starts applying a change: the review and the buffer of a moved file take the new path.
    pub(crate) fn change_starts(&mut self, change: &mut TakeIn, fx: &mut Effects) {
        if let Some(from) = change.change.from.take() {
            self.file_moved(&from, change, fx);
        }
    }

    /// Returns whether the disk must be read before a change is applied.
    pub(crate) fn reads_change(&self, change: &TakeIn) -> bool {
        let Some((_, document)) = self.documents.find(&change.change.path) else {
            let is_listed = change.is_in_ledger && change.by.is_none();
            let is_unknown = change.change.after.is_unreadable();
            return is_unknown || !is_listed && !self.is_next(&change.change);
        };
        // Neovim knows the very file that is reported: what follows on disk has a report of its own,
        // and maybe another author.
        let is_known = document.stamp.is_some() && document.stamp == change.change.after.stamp;
        !is_known || change.as_told().is_none()
    }

    /// Returns the file that a change has left, as reported, for one that cannot be read. A ledger that
    /// has had that text has what followed it, too.
    pub(crate) fn told_for(&self, change: &TakeIn) -> Option<DiskFile> {
        let told = change.as_told()?;
        let change = &change.change;
        let name = self.reviews.name_of(&change.path, &change.path);
        let is_open = self.documents.find(&change.path).is_some();
        let review = self.reviews.get(&name).filter(|_| !is_open);
        let (Some(review), false) = (review, self.is_next(change)) else {
            return Some(told);
        };
        let content = told.content?;
        let text = match review.ledger.remembers(&content.text) {
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
            // A link is in the place of a folder above: what was read is another file.
            disk = DiskFile::missing(path);
        }
        if after.is_unreadable() && disk.stamp.is_some() && disk.stamp == before.stamp {
            after.clone_from(before);
        }
        let restored = self.restored_mode(&change.change);
        let document = buffer.and_then(|buf| self.documents.get(buf));
        let review = self.reviews.get(&self.reviews.name_of(path, path));
        let known = match document {
            Some(document) => document.stamp,
            None => review.and_then(|review| review.now.stamp),
        };
        // The buffer, or the ledger, has all that the file has, and what was reported before that.
        let is_current = known.is_some() && known == disk.stamp;
        // If another author's change follows, the present text is not this change's alone, unless
        // it is the very file that this change left.
        let told = change.as_told().filter(|told| {
            !is_current && told.stamp != disk.stamp && self.is_anothers_next(path, change, &disk)
        });
        let stamps = told.as_ref().and_then(|told| told.stamp).zip(known);
        // A later version is known already, and the next change brings the present one.
        let is_past = stamps.is_some_and(|(told, known)| known.is_later(&told));
        let Some(document) = document else {
            match review.and_then(FileReview::on_disk) {
                Some(now) if is_past => {
                    change.change = as_read(change.change.clone(), now, restored);
                    return;
                }
                _ if told.is_some() && !is_past => return,
                _ => {}
            }
            let content = disk.content.as_ref();
            let is_text = content.is_none_or(|content| !content.text.has_nul());
            // Bytes that the report does not have yet get a report of their own.
            if is_text || self.known_state(path, disk.stamp).is_some() {
                change.change = as_read(change.change.clone(), disk, restored);
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
        change.change = as_read(change.change.clone(), disk.clone(), restored);
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
        let name = self.reviews.name_of(path, path);
        let now = self.reviews.get(&name).map(|file| &file.now);
        now.filter(|now| now.stamp.is_some() && now.stamp == stamp)
    }

    /// Ends a change that leaves the buffer's lines alone; `content` is the session that wrote the
    /// content.
    fn change_noted(&mut self, change: &TakeIn, content: Option<SessionKey>) {
        self.take_note(change, content);
    }

    /// Returns whether the file that was read has a change of another author since this one.
    fn is_anothers_next(&self, path: &Path, change: &TakeIn, disk: &DiskFile) -> bool {
        let names = self.names_of(path);
        let mut waiting = self.fileops.waiting(&names);
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
                self.change_noted(change, content);
            }
            _ => {
                self.proposals_stale(path, path);
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
            fx.push(Effect::Editor(EditorEffect::Deleted { buf }));
        }
        self.disk_has_landed(landed, fx);
        Next::Done
    }

    /// Ends a change that cannot be applied: it is recorded as reported.
    pub(crate) fn change_failed(&mut self, change: &TakeIn, text: String, fx: &mut Effects) {
        fx.push(notify(Level::Error, text));
        self.change_noted(change, change.by);
    }

    /// Ends a change of a file that cannot be read: it is recorded as reported.
    pub(crate) fn change_unread(&mut self, change: &TakeIn, text: String, fx: &mut Effects) {
        fx.push(log(Level::Warn, text));
        if self.documents.find(&change.change.path).is_none() {
            self.change_ledger(change, fx);
        }
        self.change_noted(change, change.by);
    }

    /// Returns the session whose folder contains a file; of several, the newest.
    pub(crate) fn session_at(&self, path: &Path) -> Option<SessionKey> {
        let mut all = self.sessions.iter().rev();
        all.find(|(_, session)| path.starts_with(&session.folders.project))
            .map(|(key, _)| *key)
    }
}

/// Returns why the user should look at a change of this file, if git obeys it.
fn obeyed_by_git(path: &Path) -> Option<&'static str> {
    let hides = "new files that it hides are not in the review";
    let mut names = path.iter().rev().map(|name| name.as_encoded_bytes());
    match [names.next()?, names.next()?, names.next()?] {
        [b".gitignore", ..] | [b"exclude", b"info", b".git"] => Some(hides),
        [b"config", b".git", _] => Some("git obeys it with the next command"),
        [_, b"hooks", b".git"] => Some("git runs it with a later command"),
        _ => None,
    }
}

impl TakeIn {
    pub(super) fn new(change: FileChange, by: Option<SessionKey>) -> Self {
        let reading = None;
        Self {
            change,
            by,
            is_report: false,
            in_turn_of: by,
            read: Vec::new(),
            save: None,
            is_in_ledger: false,
            reading,
        }
    }

    /// A change that the host reports; `agent` is the session whose turn it was made in.
    fn reported(change: FileChange, agent: Option<SessionKey>) -> Self {
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
            Err(why) => {
                let warning = failure(now.path, &format!("{why}."));
                return Plan::Done(Landing::Noted(self.by, Some(warning)));
            }
        };
        // The buffer keeps its text if the file is no longer text, or if the agent did not delete
        // it.
        let is_text = disk.content.is_none() || after.is_text();
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
                    real: document.real.clone(),
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

/// Returns a change with the state found when the disk was read.
///
/// The mode was not read: it is the reported one, or the one `restored` since.
fn as_read(change: FileChange, disk: DiskFile, restored: Option<u32>) -> FileChange {
    let mode = restored.or(change.after.mode);
    let is_link = change.after.link().is_some();
    let is_back = is_link && disk.real == change.path;
    let was_text = is_back || matches!(change.after.body, Body::Text(_) | Body::Missing);
    let after = match disk.content {
        None => FileState::missing(),
        // A link has replaced the file: what was read is the link's target, unless the file is back.
        Some(_) if is_link && !is_back => change.after,
        // It was not text and has not changed: only the host can say which kind of file it is.
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
