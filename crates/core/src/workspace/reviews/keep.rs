//! Reviews that outlive this Neovim: sent to the host as they change, restored at the next start.
//!
//! Invariant: the host keeps the files with a pending decision, by project, and the files of an
//! earlier Neovim that are not read yet. Only changes are sent to it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{FileReview, Reviews};
use crate::spine::cx::Effects;
use crate::spine::effect::{Effect, HostEffect, Level};
use crate::spine::event::{DiskFile, DiskText};
use crate::spine::ids::SessionKey;
use crate::spine::project::{Body, FileState, KeptReview};
use crate::text::{Text, plural};
use crate::workspace::Workspace;
use crate::workspace::jobs::ReadJob;

impl Reviews {
    /// Registers a project; its reviews are kept from now on, even after its sessions close.
    pub(crate) fn knows_project(&mut self, root: &Path) {
        self.told.entry(root.to_owned()).or_default();
    }
}

/// Changes of a project's reviews to send.
#[derive(Debug, Default)]
struct News {
    files: Vec<KeptReview>,
    over: Vec<PathBuf>,
    /// The set of files under review has changed.
    is_other: bool,
}

impl Workspace {
    /// Sends the host the reviews of these files, and the paths to look up in the user's
    /// repository.
    pub(crate) fn tell_reviews(&mut self, touched: BTreeSet<PathBuf>, fx: &mut Effects) {
        let mut news: BTreeMap<PathBuf, News> = BTreeMap::new();
        for path in touched {
            let file = self.reviews.get(&path).filter(|file| file.is_pending());
            let root = file.and_then(|file| self.project_of(&path, file));
            let mut kept = file.zip(root).map(|(file, root)| (root, file.kept(&path)));
            for (root, told) in &mut self.reviews.told {
                match kept.take_if(|(here, _)| here == root) {
                    Some((_, now)) if told.get(&path) == Some(&now) => {}
                    Some((_, now)) => {
                        let news = news.entry(root.clone()).or_default();
                        news.files.push(now.clone());
                        news.is_other |= told.insert(path.clone(), now).is_none();
                    }
                    None => {
                        if told.remove(&path).is_some() {
                            let news = news.entry(root.clone()).or_default();
                            news.over.push(path.clone());
                            news.is_other = true;
                        }
                    }
                }
            }
        }
        for (
            root,
            News {
                files,
                over,
                is_other,
            },
        ) in news
        {
            if is_other {
                let told = self.reviews.told.get(&root).into_iter();
                fx.push(Effect::Host(HostEffect::Reviewed {
                    root: root.clone(),
                    paths: told.flat_map(BTreeMap::keys).cloned().collect(),
                }));
            }
            fx.push(Effect::Host(HostEffect::KeepReviews { root, files, over }));
        }
    }

    /// Returns the project of a file's review: the folder of an open or closed session.
    fn project_of(&self, path: &Path, file: &FileReview) -> Option<PathBuf> {
        let own = self.sessions.get(&file.session);
        let sessions = own.into_iter().chain(self.sessions.values());
        let open = sessions.map(|session| &session.folders.project);
        let mut all = open.chain(self.reviews.told.keys());
        all.find(|root| path.starts_with(root)).cloned()
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
            told.entry(kept.path.clone()).or_insert(kept.clone());
        }
        files.retain(|kept| {
            let name = self.reviews.name_of(&kept.path, &kept.path);
            let known = self.reviews.get(&name);
            !known.is_some_and(FileReview::is_pending)
        });
        let mut sessions = self.sessions.iter().rev();
        let session = sessions.find(|(_, session)| session.folders.project == root);
        let Some(session) = session.map(|(key, _)| *key) else {
            return;
        };
        if !files.is_empty() {
            let count = plural(files.len(), "file");
            let text = format!(
                "{count} changed before, not decided about yet: `:Acp review` shows what is open."
            );
            fx.notice(session, Level::Info, text);
        }
        for kept in files {
            let path = kept.path.clone();
            let token = self.jobs.reads.add(ReadJob::Kept { session, kept });
            fx.push(Effect::Host(HostEffect::ReadDisk { token, path }));
        }
    }

    /// Restores a kept review after its file was read.
    pub(crate) fn kept_was_read(
        &mut self,
        session: SessionKey,
        kept: KeptReview,
        result: Result<DiskFile, String>,
        fx: &mut Effects,
    ) {
        let disk = match result {
            Ok(disk) => disk,
            Err(why) => {
                let text = format!(
                    "{} was changed before and is not decided about yet; that comes back with the \
                     next session here, for the file cannot be read now: {why}",
                    kept.path.display()
                );
                return fx.notice(session, Level::Warn, text);
            }
        };
        // The review may continue under another name.
        self.reviews.touch(&kept.path);
        if disk.content.is_none() && !kept.is_deleted {
            // Another program has deleted the file since; no decision is needed.
            return;
        }
        let path = self.reviews.name_of(&kept.path, &disk.real);
        if self.reviews.get(&path).is_some_and(FileReview::is_pending) {
            return;
        }
        if let Some((buf, _)) = self.documents.find(&disk.real) {
            self.documents.recognise(buf, &disk);
        }
        let opened = self.documents.find(&disk.real);
        let buffer = opened.map(|(_, document)| (document.path.clone(), document.text.clone()));
        let (path, buffer) = match buffer {
            Some((name, text)) => (name, Some(text)),
            None => (path, None),
        };
        let now = state_of(&disk, &kept.base);
        let text = now.text().unwrap_or_default();
        let base = kept.base.text().unwrap_or_default();
        let from = kept.from;
        let file = self
            .reviews
            .begin(&path, &disk.real, session, &base, kept.base);
        if *file.ledger.base() != base {
            file.rebase(base);
        }
        file.from = from;
        file.now = now;
        // Later changes are attributed to other programs, such as another editor.
        let current = kept.current.unwrap_or_else(|| text.clone());
        file.agent_wrote(current);
        if *file.ledger.current() != text {
            file.user_wrote(text);
        }
        // The user typed the unsaved text.
        buffer.into_iter().for_each(|text| file.user_wrote(text));
        self.reviews.touch(&path);
    }
}

impl FileReview {
    fn kept(&self, path: &Path) -> KeptReview {
        let base: &Text = self.ledger.base();
        let body = match &self.origin.body {
            Body::Text(content) => Body::Text(DiskText {
                text: base.clone(),
                format: content.format,
            }),
            body => body.clone(),
        };
        KeptReview {
            path: path.to_owned(),
            from: self.from.clone(),
            base: FileState {
                body,
                ..self.origin.clone()
            },
            current: Some(self.ledger.current().clone()),
            is_deleted: self.now.is_missing(),
        }
    }
}

/// Returns the state of a path whose mode was not read.
fn state_of(disk: &DiskFile, base: &FileState) -> FileState {
    let body = match &disk.content {
        Some(content) => Body::Text(content.clone()),
        None => Body::Missing,
    };
    FileState {
        body,
        mode: base.mode,
        stamp: disk.stamp,
    }
}
