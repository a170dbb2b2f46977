//! Reviews that outlive this Neovim: sent to the host as they change, restored at the next start.
//!
//! Invariant: the host keeps the files with a pending decision, by project, and the files of an
//! earlier Neovim that are not read yet. Only changes are sent to it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{FileReview, Reviews};
use crate::spine::cx::Effects;
use crate::spine::effect::{HostEffect, Level};
use crate::spine::event::{DiskFile, DiskText, ReadError, is_later};
use crate::spine::ids::SessionKey;
use crate::spine::project::{Body, FileState, KeptOffer, KeptReview};
use crate::text::Text;
use crate::text::diff::Conflict;
use crate::text::format::{Encoding, Format};
use crate::text::plural;
use crate::workspace::Workspace;
use crate::workspace::documents::Document;
use crate::workspace::jobs::ReadJob;

impl Reviews {
    /// Registers a project that a session opens; its reviews are kept from now on, even after its
    /// sessions close. Returns the files that are under review already, unless the project is open.
    pub(crate) fn project_opens(&mut self, root: &Path) -> Vec<PathBuf> {
        let told = self.told.entry(root.to_owned()).or_default();
        if told.asked.is_some() {
            return Vec::new();
        }
        let is_pending = |path: &&PathBuf| {
            let file = self.files.get(*path);
            file.is_some_and(FileReview::is_pending)
        };
        let begun: Vec<PathBuf> = told.kept.keys().filter(is_pending).cloned().collect();
        told.asked = Some(begun.iter().cloned().collect());
        begun
    }

    /// Notes that a project is closed: the host reports nothing of it.
    pub(crate) fn project_closes(&mut self, root: &Path) {
        if let Some(told) = self.told.get_mut(root) {
            told.asked = None;
        }
    }
}

/// A project's reviews as last sent to the host.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// The reviews it keeps.
    kept: BTreeMap<PathBuf, KeptReview>,
    /// The files whose versions in the user's repository it reports; `None` while the project is
    /// closed.
    asked: Option<BTreeSet<PathBuf>>,
}

/// The reviews of an earlier Neovim that one session restores.
#[derive(Debug, Default)]
pub(super) struct Returning {
    /// The number of files that are being read.
    left: usize,
    /// The files that had a pending decision when they were read.
    restored: Vec<PathBuf>,
    /// Those that may have been committed since: the host is still asking git.
    awaited: BTreeSet<PathBuf>,
}

/// Changes of a project's reviews to send.
#[derive(Debug, Default)]
struct ReviewChanges {
    files: Vec<KeptReview>,
    over: Vec<PathBuf>,
    begun: Vec<PathBuf>,
    ended: Vec<PathBuf>,
}

impl Told {
    fn knows(&self, path: &Path) -> bool {
        let asked = self.asked.as_ref();
        self.kept.contains_key(path) || asked.is_some_and(|asked| asked.contains(path))
    }

    /// Queues a file's review in this project, if it has one, to be sent.
    fn note(&mut self, path: &Path, now: Option<KeptReview>, changes: &mut ReviewChanges) {
        match now {
            Some(now) => {
                if self.kept.get(path) != Some(&now) {
                    changes.files.push(now.clone());
                    self.kept.insert(path.to_owned(), now);
                }
                let asked = self.asked.as_mut();
                if asked.is_some_and(|asked| asked.insert(path.to_owned())) {
                    changes.begun.push(path.to_owned());
                }
            }
            None => {
                if self.kept.remove(path).is_some() {
                    changes.over.push(path.to_owned());
                }
                let asked = self.asked.as_mut();
                if asked.is_some_and(|asked| asked.remove(path)) {
                    changes.ended.push(path.to_owned());
                }
            }
        }
    }
}

impl Workspace {
    /// Sends the host the reviews of these files, and the paths to look up in the user's
    /// repository.
    pub(crate) fn tell_reviews(&mut self, touched: BTreeSet<PathBuf>, fx: &mut Effects) {
        let mut all: BTreeMap<PathBuf, ReviewChanges> = BTreeMap::new();
        for path in touched {
            let document = self.documents.find(&path).map(|(_, document)| document);
            let file = self.reviews.get(&path);
            let kept = file.and_then(|file| file.kept(&path, document));
            let root = file.filter(|_| kept.is_some());
            let root = root.and_then(|file| self.project_of(&path, file));
            let mut kept = root.zip(kept);
            for (root, told) in &mut self.reviews.told {
                let now = kept.take_if(|(here, _)| here == root).map(|(_, now)| now);
                if now.is_some() || told.knows(&path) {
                    told.note(&path, now, all.entry(root.clone()).or_default());
                }
            }
        }
        for (root, changes) in all {
            let ReviewChanges {
                files,
                over,
                begun,
                ended,
            } = changes;
            if !begun.is_empty() || !ended.is_empty() {
                fx.push(HostEffect::Reviewed {
                    root: root.clone(),
                    begun,
                    ended,
                });
            }
            if !files.is_empty() || !over.is_empty() {
                fx.push(HostEffect::KeepReviews {
                    root,
                    files,
                    over,
                    saved: None,
                });
            }
        }
    }

    /// Returns the project of a file's review: the folder of an open or closed session. A file in none
    /// of them belongs to that of its session.
    fn project_of(&self, path: &Path, file: &FileReview) -> Option<PathBuf> {
        let own = self.sessions.get(&file.session);
        let sessions = own.into_iter().chain(self.sessions.values());
        let open = sessions.map(|session| &session.folders.project);
        let mut all = open.chain(self.reviews.told.keys());
        let around = all.find(|root| path.starts_with(root));
        let own = around.or(own.map(|session| &session.folders.project));
        let of_a_closed = || {
            let mut told = self.reviews.told.iter();
            told.find_map(|(root, told)| told.kept.contains_key(path).then_some(root))
        };
        own.or_else(of_a_closed).cloned()
    }

    /// Restores the reviews of an earlier Neovim as soon as their files are read.
    ///
    /// The host keeps them until it receives new reviews of these files.
    pub(crate) fn reviews_kept(
        &mut self,
        root: &Path,
        mut files: Vec<KeptReview>,
        fx: &mut Effects,
    ) {
        let told = self.reviews.told.entry(root.to_owned()).or_default();
        for kept in &files {
            let known = told.kept.entry(kept.path.clone());
            known.or_insert(kept.clone());
        }
        files.retain(|kept| {
            let known = self.reviews.get(&kept.path);
            !known.is_some_and(FileReview::is_pending)
        });
        let mut sessions = self.sessions.iter().rev();
        let session = sessions.find(|(_, session)| session.folders.project == root);
        let Some(session) = session.map(|(key, _)| *key) else {
            return;
        };
        if !files.is_empty() {
            self.reviews.returning.entry(session).or_default().left += files.len();
        }
        for kept in files {
            let path = kept.path.clone();
            let kept = Box::new(kept);
            let token = self.jobs.reads.add(ReadJob::Kept { session, kept });
            fx.push(HostEffect::ReadDisk { token, path });
        }
    }

    /// Restores a kept review after its file was read.
    pub(crate) fn kept_was_read(
        &mut self,
        session: SessionKey,
        kept: KeptReview,
        result: Result<DiskFile, ReadError>,
        fx: &mut Effects,
    ) {
        let may_be_committed = kept.is_uncommitted;
        let restored = self.restore_kept(session, kept, result, fx);
        if let Some(returning) = self.reviews.returning.get_mut(&session) {
            returning.left = returning.left.saturating_sub(1);
            let awaited = restored.clone().filter(|_| may_be_committed);
            returning.awaited.extend(awaited);
            returning.restored.extend(restored);
        }
        self.announce_returned(fx);
    }

    /// Notes that git has answered about files.
    pub(super) fn versions_are_known(&mut self, files: &[PathBuf], fx: &mut Effects) {
        for returning in self.reviews.returning.values_mut() {
            for path in files {
                returning.awaited.remove(path);
            }
        }
        self.announce_returned(fx);
    }

    /// Tells the user of reviews that have returned, once it is known which are still pending.
    fn announce_returned(&mut self, fx: &mut Effects) {
        let is_known = |returning: &Returning| returning.left == 0 && returning.awaited.is_empty();
        let all = std::mem::take(&mut self.reviews.returning).into_iter();
        let (known, others) = all.partition(|(_, returning)| is_known(returning));
        self.reviews.returning = others;
        for (session, returning) in known {
            let is_pending = |path: &&PathBuf| {
                let file = self.reviews.get(path);
                file.is_some_and(FileReview::is_pending)
            };
            let pending = returning.restored.iter().filter(is_pending).count();
            if pending > 0 {
                let count = plural(pending, "file");
                let text =
                    format!("`:Acp review` lists {count} with undecided changes from earlier.");
                fx.notice(session, Level::Info, text);
            }
        }
    }

    /// Restores a kept review; returns its name if a decision about it is pending.
    fn restore_kept(
        &mut self,
        session: SessionKey,
        mut kept: KeptReview,
        result: Result<DiskFile, ReadError>,
        fx: &mut Effects,
    ) -> Option<PathBuf> {
        let is_back = |disk: &DiskFile| disk.content.is_some() && disk.real == kept.path;
        if kept.now.link().is_some() && !result.as_ref().is_ok_and(is_back) {
            return self.restore_linked(session, kept);
        }
        let mut disk = match result {
            Ok(disk) => disk,
            Err(ReadError::Folder(_)) => DiskFile::missing(&kept.path),
            Err(ReadError::Failed(why)) => {
                let text = format!(
                    "{} has undecided changes from earlier, but cannot be read now; they come back \
                     with the next session here: {why}",
                    kept.path.display()
                );
                fx.notice(session, Level::Warn, text);
                return None;
            }
        };
        // The review may continue under another path.
        self.reviews.touch(&kept.path);
        let is_gone = disk.content.is_none() && !kept.now.is_missing();
        if disk.real != kept.path && kept.now.is_missing() {
            // A link has replaced a folder above: the file that was read is another one.
            disk = DiskFile::missing(&kept.path);
        }
        // A link is in its place, to another file than the one that was there.
        let is_elsewhere = disk.real != kept.path && disk.stamp != kept.now.stamp;
        if is_gone || is_elsewhere {
            // Another program has taken the file away since; no decision is needed.
            return None;
        }
        let path = disk.real.clone();
        if self.reviews.get(&path).is_some_and(FileReview::is_pending) {
            return Some(path);
        }
        let opened = self.documents.find(&disk.real);
        let document = opened.map(|(_, document)| document);
        let buffer = document.map(|document| document.text.clone());
        let is_reread = kept.reread(&mut disk, document);
        let now = kept.state_now(&disk);
        let is_binary = |state: &FileState| matches!(state.body, Body::Bytes { .. });
        // Only a buffer shows bytes as lines, in its own way.
        let shown = buffer.clone().filter(|_| is_binary(&now));
        let text = match now.is_missing() {
            true => kept.current.clone(),
            false => shown.clone().or_else(|| now.text()),
        };
        let text = text.unwrap_or_default();
        let content = match &now.body {
            Body::Text(content) => Some(content),
            _ => disk.content.as_ref(),
        };
        if let (Some((buf, _)), Some(content)) = (self.documents.find(&disk.real), content) {
            self.documents.recognise(buf, content, disk.stamp);
        }
        let base = match is_binary(&now) && kept.base.body == now.body {
            true => Some(text.clone()),
            false => kept.accepted.clone().or(kept.base.text()),
        };
        let base = base.unwrap_or_default();
        let origin = kept.base.clone();
        let file = self.reviews.begin(&path, session, &base, origin);
        if *file.ledger.base() != base {
            file.rebase(base);
        }
        // The repository may have had the same lines.
        file.may_be_committed = kept.is_uncommitted && !is_reread;
        file.continues(kept, now, text, shown);
        // The user typed the unsaved text.
        buffer.into_iter().for_each(|text| file.user_wrote(text));
        let is_pending = file.is_pending();
        self.reviews.touch(&path);
        is_pending.then_some(path)
    }

    /// Restores the review of a file that a link has replaced: reading its path reads another file.
    fn restore_linked(&mut self, session: SessionKey, mut kept: KeptReview) -> Option<PathBuf> {
        if let Body::Text(base) = &mut kept.base.body {
            base.read_line_ends();
        }
        let path = kept.path;
        if self.reviews.get(&path).is_some_and(FileReview::is_pending) {
            return Some(path);
        }
        let base = kept.accepted.or(kept.base.text()).unwrap_or_default();
        let file = self.reviews.begin(&path, session, &base, kept.base);
        file.from = kept.from;
        file.now = kept.now;
        file.may_be_committed = kept.is_uncommitted;
        // A buffer that has kept the lines has ended.
        file.agent_wrote(Text::default());
        let is_pending = file.is_pending();
        self.reviews.touch(&path);
        is_pending.then_some(path)
    }
}

impl FileReview {
    /// Continues with the changes of a kept review. Its file has this state and text now; a buffer may
    /// show its bytes as lines.
    fn continues(&mut self, kept: KeptReview, now: FileState, text: Text, shown: Option<Text>) {
        let known = match kept.now.body {
            Body::Bytes { .. } => shown,
            _ => kept.current,
        };
        let known = known.unwrap_or_else(|| text.clone());
        let is_as_left = now.stamp == kept.now.stamp;
        let before = match is_as_left || kept.now.is_unreadable() {
            true => now.clone(),
            false => kept.now.with_text(&known),
        };
        // A mode that was not known then is not the agent's.
        let before = FileState {
            mode: kept.now.mode.or(kept.base.mode),
            ..before
        };
        self.from = kept.from;
        self.now = before.clone();
        self.agent_wrote(known);
        if let Some(alone) = kept.alone {
            self.ledger.was_alone(alone);
        }
        for offer in kept.offers {
            self.offer(offer.into());
        }
        // Later changes are attributed to other programs, such as another editor.
        if *self.ledger.current() != text {
            self.others_wrote(text);
            self.may_be_committed = true;
        }
        if now != before {
            self.others_left(&before, now);
        }
    }

    /// Returns what a later Neovim has to know of the review: also if a decision about the file is
    /// pending once the unsaved lines of its buffer are lost.
    pub fn kept(&self, path: &Path, document: Option<&Document>) -> Option<KeptReview> {
        let ledger = self
            .ledger
            .left(document.and_then(|document| document.saved.as_ref()));
        if !self.is_pending() && ledger.hunks().is_empty() {
            return None;
        }
        let base = ledger.base();
        let mut now = self.now.with_text(&Text::default());
        if let (Body::Text(content), Some(format)) = (&mut now.body, self.format()) {
            content.format = format;
            // What the buffer has saved may not be reported yet.
            let saved = document.and_then(|document| document.stamp);
            if now.stamp.is_none() || is_later(saved, now.stamp) {
                now.stamp = saved;
            }
        }
        // What a buffer shows of bytes is not restored.
        let is_binary = matches!(self.origin.body, Body::Bytes { .. }) && !now.is_text();
        let is_told = self.origin.is_text() || is_binary;
        Some(KeptReview {
            path: path.to_owned(),
            from: self.from.clone(),
            accepted: (!is_told && !base.is_empty()).then(|| base.clone()),
            base: self.origin.with_text(base),
            current: Some(ledger.current().clone()),
            alone: Some(ledger.alone().clone()).filter(|alone| alone != ledger.current()),
            now,
            offers: ledger.offered().into_iter().map(KeptOffer::from).collect(),
            is_uncommitted: self.is_left_uncommitted(ledger.current()),
        })
    }
}

impl From<Conflict> for KeptOffer {
    fn from(conflict: Conflict) -> Self {
        Self {
            rows: conflict.rows,
            lines: conflict.theirs,
        }
    }
}

impl From<KeptOffer> for Conflict {
    fn from(offer: KeptOffer) -> Self {
        Self {
            rows: offer.rows,
            theirs: offer.lines,
            base: Vec::new(),
        }
    }
}

impl KeptReview {
    /// Takes the texts and that of the file as this Neovim reads their bytes: a buffer, here or in the
    /// earlier Neovim, may have another encoding, or show the line ends in its lines. Returns whether
    /// the text under review changes by this.
    fn reread(&mut self, disk: &mut DiskFile, document: Option<&Document>) -> bool {
        let states = [&self.now, &self.base].into_iter();
        let formats = states.filter_map(FileState::format);
        let encodings = formats.map(|format| format.encoding);
        let encodings: Vec<Encoding> = encodings.chain(document.map(Document::encoding)).collect();
        let shows_line_ends = |content: &DiskText| content.format.shows_line_ends(&content.text);
        let is_plain = !disk.content.as_ref().is_some_and(shows_line_ends);
        let read = |content: &mut DiskText| {
            if is_plain {
                content.read_line_ends();
            }
            for encoding in &encodings {
                content.read_in(*encoding);
            }
            if let Some(document) = document {
                *content = document.reads(content);
            }
        };
        if let Some(content) = &mut disk.content {
            read(content);
        }
        if let Body::Text(base) = &mut self.base.body {
            read(base);
        }
        let before = self.current.clone();
        if let Body::Text(now) = &mut self.now.body {
            let format = now.format;
            for text in [&mut self.alone, &mut self.current].into_iter().flatten() {
                now.format = format;
                now.text.clone_from(text);
                read(now);
                text.clone_from(&now.text);
            }
        }
        self.current != before
    }

    /// Returns the state of a file that was read. What only a buffer reads is taken for the same.
    fn state_now(&self, disk: &DiskFile) -> FileState {
        let is_as_left = disk.stamp == self.now.stamp;
        let bytes = disk.stamp.map_or(0, |stamp| stamp.bytes);
        let Some(content) = &disk.content else {
            return FileState::missing();
        };
        let has_nul = content.text.has_nul();
        let body = match &self.now.body {
            Body::Bytes { .. } if is_as_left => self.now.body.clone(),
            Body::Text(now) if is_only_neovims(now.format, content) => self.now.body.clone(),
            Body::Text(_) if self.current.as_ref() == Some(&content.text) => {
                Body::Text(content.clone())
            }
            _ if has_nul && !is_as_left => Body::Bytes { bytes, blob: None },
            _ => Body::Text(content.clone()),
        };
        FileState {
            body,
            mode: disk.mode,
            stamp: disk.stamp,
        }
    }
}

/// Returns whether a file of this format that the host reads like this is in an encoding that only
/// Neovim reads.
fn is_only_neovims(format: Format, read: &DiskText) -> bool {
    let is_misread = read.format.encoding == Encoding::Latin1 || read.text.has_nul();
    format.encoding == Encoding::Other && is_misread
}
