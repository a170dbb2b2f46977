//! Attributes changes on disk to the agent, the user or another program, and queues them.
//!
//! Invariants: changes of one file are applied in the order in which they were reported, and after
//! the operations already queued for it. So this client's own writes are recorded first, and
//! recognised. A change is attributed when it is reported.

mod ledger;
mod merge;
mod reapply;
mod takein;
mod unreported;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::spine::cx::Effects;
use crate::spine::effect::{HostEffect, Level};
use crate::spine::event::{DiskFile, Overwritten, Stamp, is_later};
use crate::spine::ids::{BufId, SessionKey};
use crate::spine::pending::Token;
use crate::spine::pending::reply::{CheckpointTaken, Edited};
use crate::spine::project::{Body, FileChange, FileState};
use crate::text::Text;
use crate::workspace::Workspace;
use crate::workspace::documents::Document;
use crate::workspace::fileops::{FileOps, Intent, Kind};
pub(crate) use merge::DiskMerge;
pub use merge::known_on_disk;
pub(crate) use reapply::{Reapplied, Reapply};
pub use takein::TakeIn;
pub(crate) use unreported::How;
use unreported::{Cut, Unreported};

/// Changes that still wait for a report.
#[derive(Debug, Default)]
pub struct Changes {
    unreported: Unreported,
    /// What the user has written to files other than a buffer's own, oldest first.
    written: Vec<Written>,
}

/// The maximum number of such files that are remembered until they are reported.
const WRITTEN: usize = 100;

/// A file that the user has written from Neovim.
#[derive(Debug)]
struct Written {
    path: PathBuf,
    before: Option<Stamp>,
    after: Stamp,
}

impl Changes {
    /// Returns whether the user alone wrote everything in a report.
    fn is_users(&mut self, change: &FileChange) -> bool {
        let mut at = change.before.stamp;
        let mut last = None;
        for (index, written) in self.written.iter().enumerate() {
            if written.path == change.path && written.before == at {
                at = Some(written.after);
                if at == change.after.stamp {
                    last = Some(index);
                }
            }
        }
        if let Some(last) = last {
            // A later write gets a separate report.
            let later = self.written.split_off(last + 1);
            self.written.retain(|it| it.path != change.path);
            self.written.extend(later);
        }
        last.is_some()
    }

    fn note_read(&mut self, real: &Path, state: FileState, how: How) -> bool {
        let is_new = !self.unreported.is_saved(real, &state);
        if is_new {
            self.unreported.add(real, state, how);
        }
        is_new
    }

    /// Records that Neovim has saved a buffer, and the state that this replaced without a merge.
    fn note_saved(&mut self, document: &Document, over: Option<FileState>) {
        if let Some(over) = over {
            self.unreported.add(&document.path, over, How::Replaced);
        }
        self.unreported
            .add(&document.path, as_saved(document), How::Saved);
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
        let cut = self
            .unreported
            .cut(&take.change, take.in_turn_of, &mut take.read);
        let Cut {
            last,
            save,
            end,
            by,
        } = cut;
        take.in_turn_of = take.in_turn_of.or(by);
        if save.is_some() {
            self.unreported.saved(&take.change.path);
        }
        if let Some(last) = last {
            take.save = save.or(take.save.take());
            if let Some(end) = end {
                take.is_in_ledger = true;
                if end == How::Saved {
                    // A save sets no mode.
                    match last.has_other_mode(&take.change.after) {
                        true => take.change.before = last,
                        false => take.by = None,
                    }
                }
                return;
            }
            // A moved file existed before.
            if take.change.from.is_none() || !last.is_missing() {
                take.change.before = last;
            }
        }
        if let Some(by) = take.by {
            self.unreported.told(&take.change, by);
        }
    }
}

impl Workspace {
    /// Records a state that was read from disk before its change was reported, unless Neovim has
    /// saved it; returns whether it is recorded. The reported and queued changes led to it, also the one
    /// that ends there: another report may come before that is applied.
    pub(crate) fn note_read(&mut self, real: &Path, state: FileState, how: How) -> bool {
        let stamp = state.stamp;
        let is_new = self.changes.note_read(real, state, how);
        for (change, by) in told_in(&self.fileops, real).filter(|_| is_new) {
            let told = change.after.stamp;
            if is_later(stamp, told) || stamp.is_some() && stamp == told {
                self.changes.unreported.told(change, by);
            }
        }
        is_new
    }

    /// Records a version that this client has written of a file. If no report of it follows, an agent has
    /// brought back at once what the host knew.
    pub(crate) fn note_written(&mut self, real: &Path, state: FileState) {
        if state.is_text() && state.stamp.is_some() && self.session_at(real).is_some() {
            self.changes.unreported.add(real, state, How::Written);
        }
    }

    /// Returns whether a change that an agent made and the host reported is queued or partly applied.
    pub(crate) fn is_agent_told(&self, path: &Path) -> bool {
        told_in(&self.fileops, path).next().is_some()
    }

    /// Queues each change on disk behind the operations on its file.
    pub(crate) fn disk_changed(&mut self, mut changes: Vec<FileChange>, fx: &mut Effects) {
        for change in &mut changes {
            self.change_as_known(change);
        }
        let mut lanes = BTreeMap::new();
        // Before the unreported versions are taken off, which are of one file.
        let halves = |mut change| [self.take_deletion(&mut change), Some(change)];
        let changes: Vec<FileChange> = changes.into_iter().flat_map(halves).flatten().collect();
        for change in changes {
            let path = change.path.clone();
            let is_users = is_editors(&change) || self.changes.is_users(&change);
            let agent = self.agent_at(&path).filter(|_| !is_users);
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

    /// Reports what a file under review was found to be if no host does, because its session is
    /// closed.
    pub(crate) fn tell_found(&mut self, path: &Path, disk: &DiskFile, fx: &mut Effects) {
        let Some(review) = self.reviews.get(path) else {
            return;
        };
        let content = disk.content.clone();
        let is_binary = content.as_ref().is_some_and(|it| it.text.has_nul());
        if self.session_at(&review.path).is_none() && !is_binary {
            let before = review.now.clone();
            let after = content.map(|content| FileState {
                mode: before.mode,
                stamp: disk.stamp,
                ..FileState::of_text(content.text, content.format)
            });
            let change = FileChange {
                path: review.path.clone(),
                from: None,
                before,
                after: after.unwrap_or_else(FileState::missing),
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
                self.changes.unreported.cut(change, None, &mut Vec::new());
            }
            is_turns
        });
        self.disk_changed(left, fx);
    }

    /// Returns whether a reported change of a file is queued or partly applied.
    fn is_change_told(&self, path: &Path) -> bool {
        let is_change = |kind| matches!(kind, Kind::TakeIn(_));
        self.fileops.has(path, is_change)
    }

    /// Records that Neovim has saved a buffer, and what that replaced without a merge. Unless the
    /// save was `made_for` an operation, the content is the user's; a change that it replaced is
    /// reapplied.
    pub(crate) fn buffer_saved(
        &mut self,
        buf: BufId,
        (real, stamp, over): (PathBuf, Option<Stamp>, Option<Overwritten>),
        made_for: Option<Token<Edited>>,
        fx: &mut Effects,
    ) {
        if let Some(stamp) = stamp {
            fx.push(HostEffect::Saved { stamp });
        }
        if made_for.is_none() && self.documents.is_elsewhere(buf, &real) {
            self.buffer_is_relinked(buf, fx);
            if let Some(document) = self.documents.saved_elsewhere(buf, real, stamp) {
                self.save_is_known(&document, None, fx);
            }
            return;
        }
        let document = self.documents.get(buf);
        let base = document.and_then(|document| document.saved.clone());
        let overwritten = over.as_ref().map(|over| over.stamp);
        self.documents.set_saved(buf, stamp, overwritten);
        let Some(document) = self.documents.get(buf).cloned() else {
            return;
        };
        if let Some(review) = self.reviews.get_mut(&document.path) {
            review.note_saved();
            self.reviews.touch(&document.path);
        }
        match over.is_some() || made_for.is_none() {
            true => self.save_is_known(&document, over.as_ref(), fx),
            false => self.note_written(&document.path, as_saved(&document)),
        }
        if let Some(over) = over {
            self.change_was_overwritten(buf, base, over, fx);
        }
    }

    /// Notes the version that Neovim has saved of a buffer's file, and what that replaced without a merge.
    fn save_is_known(&mut self, document: &Document, over: Option<&Overwritten>, fx: &mut Effects) {
        if self.session_at(&document.path).is_some() {
            let over = over.map(|over| {
                let there = document.decode(&over.bytes);
                FileState {
                    stamp: Some(over.stamp),
                    ..FileState::of_text(there.text, there.format)
                }
            });
            self.changes.note_saved(document, over);
            self.tell_saved(&document.path, document.stamp, fx);
        }
    }

    /// Records what the user has written to a buffer's own file without saving the buffer: its other
    /// lines are unsaved ones.
    pub(crate) fn user_wrote_part(&mut self, buf: BufId, bytes: &[u8], after: Stamp) {
        let document = self.documents.get(buf);
        if let Some(document) = document.filter(|it| it.encoding().reads(bytes)) {
            let there = document.reads(&document.decode(bytes));
            self.documents.set_disk(buf, there.text, Some(after));
        }
    }

    /// Records that the user has written lines to a file, which a report will follow.
    pub(crate) fn user_wrote(
        &mut self,
        path: PathBuf,
        before: Option<Stamp>,
        after: Stamp,
        fx: &mut Effects,
    ) {
        if self.session_at(&path).is_none() {
            return;
        }
        fx.push(HostEffect::Saved { stamp: after });
        self.tell_saved(&path, Some(after), fx);
        let written = &mut self.changes.written;
        written.drain(..(written.len() + 1).saturating_sub(WRITTEN));
        written.push(Written {
            path,
            before,
            after,
        });
    }

    /// Has the host remember a save of the user's, in case a turn is cut.
    fn tell_saved(&self, real: &Path, stamp: Option<Stamp>, fx: &mut Effects) {
        let session = self
            .session_at(real)
            .and_then(|key| self.sessions.get(&key));
        if let (Some(session), Some(_)) = (session, stamp) {
            fx.push(HostEffect::KeepReviews {
                root: session.folders.project.clone(),
                files: vec![],
                over: vec![],
                saved: stamp,
            });
        }
    }

    /// Has the host check a buffer's file and report a change it has not reported.
    pub(crate) fn look_at_file(&mut self, buf: BufId, fx: &mut Effects) {
        let Some(document) = self.documents.get(buf) else {
            return;
        };
        let mut sessions = self.sessions.values();
        let session = sessions.find(|session| document.path.starts_with(&session.folders.project));
        if let Some(root) = session.map(|session| session.folders.project.clone()) {
            let paths = vec![document.path.clone()];
            fx.push(HostEffect::Look { root, paths });
        }
    }

    /// Returns the session whose agent wrote the version of `path` with this stamp: by the first
    /// reported change, queued or active, that ends at it or later, else by the attribution a report
    /// would get now.
    pub(crate) fn writer_of(&self, path: &Path, stamp: Option<Stamp>) -> Option<SessionKey> {
        let active = self.fileops.active(path);
        let told = active.into_iter().chain(self.fileops.waiting(path));
        let mut told = told.filter_map(|op| match &op.intent {
            // Of the file, not of a link to it.
            Intent::TakeIn(change) if !change.is_link() => Some(&**change),
            _ => None,
        });
        let has_come_to = |change: &&TakeIn| {
            let told = change.change.after.stamp;
            told.is_some() && !is_later(stamp, told)
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
        let mut waiting = self
            .fileops
            .waiting(&document.path)
            .filter_map(|op| match &op.intent {
                Intent::TakeIn(change) => Some(&**change),
                _ => None,
            });
        let is_next = |told: &&TakeIn| {
            let FileChange { before, after, .. } = &told.change;
            before.text().as_ref() == Some(saved) || is_later(after.stamp, document.stamp)
        };
        let told = waiting.find(is_next)?;
        let disk = told.as_told()?;
        let is_news = disk.content.as_ref().is_some_and(|now| now.text != *saved);
        is_news.then_some((disk, told.by))
    }

    /// Returns the file before the first reported and queued change that an agent made, and the
    /// agent's session, if the version `over` followed that change.
    pub(crate) fn before_told(
        &self,
        real: &Path,
        over: Option<Stamp>,
    ) -> Option<(FileState, SessionKey)> {
        let (change, by) = told_in(&self.fileops, real).next()?;
        let told = change.after.stamp;
        let is_led = over.is_some() && told.is_some() && !is_later(told, over);
        (is_led && change.before.is_text()).then(|| (change.before.clone(), by))
    }

    /// Applies reported and queued changes, which may have several authors, and the user's saves before
    /// their ends to the review of a file that has none of them from a buffer, up to the version `over`
    /// that a write has replaced or that was read.
    pub(crate) fn take_told(&mut self, path: &Path, over: Option<Stamp>) {
        let active = self.fileops.active(path);
        let told = active.into_iter().chain(self.fileops.waiting(path));
        let mut news = Vec::new();
        for op in told {
            if let Intent::TakeIn(change) = &op.intent
                && let Some(disk) = change.as_told()
            {
                let save = change.saved().map(|(text, stamp)| (stamp, text, None));
                let text = disk.content.map(|content| content.text);
                news.extend(save);
                news.extend(text.map(|text| (disk.stamp, text, Some(change.by))));
            }
        }
        let saves = self.changes.unreported.saves(path);
        news.extend(saves.filter_map(|save| Some((save.stamp, save.text()?, None))));
        news.sort_by_key(|(stamp, ..)| stamp.map(|stamp| stamp.modified));
        let Some(review) = self.reviews.get_mut(path) else {
            return;
        };
        let known = review.now.stamp;
        for (stamp, text, author) in news {
            // It has a text that a buffer had in the meantime, and what followed that.
            let is_known = review.ledger.remembers(&text) || !is_later(stamp, known);
            if is_known || is_later(stamp, over) {
                continue;
            }
            match author {
                None => review.user_wrote(text),
                Some(Some(_)) => review.agent_wrote(text),
                Some(None) => review.others_wrote(text),
            }
        }
    }

    /// Returns the session whose folder contains a file; of several, the newest.
    pub(crate) fn session_at(&self, path: &Path) -> Option<SessionKey> {
        let mut all = self.sessions.iter().rev();
        all.find(|(_, session)| path.starts_with(&session.folders.project))
            .map(|(key, _)| *key)
    }
}

/// Returns the file of a buffer that was just saved.
fn as_saved(document: &Document) -> FileState {
    FileState {
        stamp: document.stamp,
        ..FileState::of_text(document.text.clone(), document.state.format)
    }
}

/// Returns the reported changes of a file by agents that are queued or partly applied.
fn told_in<'a>(
    fileops: &'a FileOps,
    path: &Path,
) -> impl Iterator<Item = (&'a FileChange, SessionKey)> {
    let all = fileops
        .active(path)
        .into_iter()
        .chain(fileops.waiting(path));
    all.filter_map(|op| match &op.intent {
        Intent::TakeIn(change) if change.is_report => Some((&change.change, change.by?)),
        _ => None,
    })
}

/// Returns whether a file is a swap file (`.NAME.swp`, or `%PATH.swp` in a folder for all) or an undo
/// file (`.NAME.un~`) of Neovim's or Vim's. Its name decides, not its author: it is never put back,
/// because it holds unsaved lines of the user.
fn is_editors(change: &FileChange) -> bool {
    let name = change.path.file_name().map(|name| name.as_encoded_bytes());
    let is_named = match name {
        Some([b'.' | b'%', _, .., b'.', b's', b'w', last]) => last.is_ascii_lowercase(),
        Some(name) => name.starts_with(b".") && name.ends_with(b".un~"),
        None => false,
    };
    let is_binary = |state: &FileState| match &state.body {
        Body::Missing | Body::Bytes { .. } => true,
        // Between its creation and its first block.
        Body::Text(text) => text.text.is_empty(),
        Body::Link(_) | Body::Unreadable(_) => false,
    };
    is_named && is_binary(&change.before) && is_binary(&change.after)
}

/// Returns why the user should look at a change of this file, if git obeys it.
fn obeyed_by_git(path: &Path) -> Option<&'static str> {
    let hides = "new files that it hides are not in the review";
    let mut names = path.iter().rev().map(|name| name.as_encoded_bytes());
    match [names.next()?, names.next()?, names.next()?] {
        [b".gitignore", ..] | [b"exclude", b"info", b".git"] => Some(hides),
        [b"config" | b"config.worktree", b".git", _] | [b"attributes", b"info", b".git"] => {
            Some("git obeys it with the next command")
        }
        [b".git", ..] | [b"commondir", b".git", _] => {
            Some("it tells git where its config and hooks are")
        }
        [_, b"hooks", b".git"] => Some("git runs it with a later command"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_editors(name: &str, want: bool) {
        let change = FileChange {
            path: PathBuf::from("/p").join(name),
            from: None,
            before: FileState::missing(),
            after: FileState::of_text(Text::default(), Default::default()),
        };
        assert_eq!(is_editors(&change), want, "{name}");
    }

    #[test]
    fn swap_and_undo_files_are_known_by_their_names() {
        for (name, want) in [
            (".a.txt.swp", true),
            (".a.txt.swo", true),
            ("%home%a.txt.swp", true),
            (".a.txt.un~", true),
            ("a.txt.swp", false),
            (".swp", false),
            (".a.txt.sw1", false),
            ("%.txt", false),
        ] {
            check_editors(name, want);
        }
    }
}
