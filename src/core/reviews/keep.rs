//! Reviews that outlive this Neovim: told to the host as they change, taken up when they come back.
//!
//! Invariant: the host is told of every file there is something to decide about, by project; of
//! none when all is decided.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{FileReview, Reviews};
use crate::core::effect::{Effect, HostEffect, Level};
use crate::core::event::{DiskFile, DiskText};
use crate::core::frame::plural;
use crate::core::ids::SessionKey;
use crate::core::model::{Effects, Job, Model, log};
use crate::core::project::{Body, FileState, KeptReview};
use crate::core::text::Text;

impl Reviews {
    /// Notes a project; its files' reviews are kept from now on, whatever becomes of its sessions.
    pub(in crate::core) fn knows_project(&mut self, root: &Path) {
        self.told.entry(root.to_owned()).or_default();
    }
}

impl Model {
    /// Tells the host what there is to keep, and which files the user's repository may have.
    pub(in crate::core) fn tell_reviews(&mut self, fx: &mut Effects) {
        let mut projects: BTreeMap<PathBuf, Vec<KeptReview>> = BTreeMap::new();
        for root in self.reviews.told.keys() {
            projects.insert(root.clone(), Vec::new());
        }
        for (path, file) in self.reviews.iter().filter(|(_, file)| file.is_pending()) {
            if let Some(root) = self.project_of(path, file) {
                projects.entry(root).or_default().push(file.kept(path));
            }
        }
        for (root, files) in projects {
            let paths: BTreeSet<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
            let told = self.reviews.told.entry(root.clone()).or_default();
            if *told != paths {
                told.clone_from(&paths);
                fx.push(Effect::Host(HostEffect::Reviewed {
                    root: root.clone(),
                    paths: paths.into_iter().collect(),
                }));
            }
            fx.push(Effect::Host(HostEffect::KeepReviews { root, files }));
        }
    }

    /// Returns the project a file's review belongs to: one that sessions work in, or did.
    fn project_of(&self, path: &Path, file: &FileReview) -> Option<PathBuf> {
        let own = self.sessions.get(&file.session);
        let sessions = own.into_iter().chain(self.sessions.values());
        let open = sessions.map(|session| &session.project);
        let mut all = open.chain(self.reviews.told.keys());
        all.find(|root| path.starts_with(root)).cloned()
    }

    /// A Neovim before this one has left reviews: they go on, as soon as the files are read.
    pub(in crate::core) fn reviews_kept(
        &mut self,
        root: &Path,
        files: Vec<KeptReview>,
        fx: &mut Effects,
    ) {
        let mut sessions = self.sessions.iter().rev();
        let session = sessions.find(|(_, session)| session.project == root);
        let Some(session) = session.map(|(key, _)| *key) else {
            return;
        };
        if !files.is_empty() {
            let count = plural(files.len(), "file");
            let text = format!(
                "{count} changed before, not decided about yet: `:Acp review` shows what is open."
            );
            self.notice(session, Level::Info, text);
        }
        for kept in files {
            let path = kept.path.clone();
            let token = self.token(Job::Kept { session, kept });
            fx.push(Effect::Host(HostEffect::ReadDisk { token, path }));
        }
    }

    /// A file of a review that was left has been read.
    pub(in crate::core) fn kept_was_read(
        &mut self,
        session: SessionKey,
        kept: KeptReview,
        result: Result<DiskFile, String>,
        fx: &mut Effects,
    ) {
        let disk = match result {
            Ok(disk) => disk,
            Err(why) => return fx.push(log(Level::Warn, format!("a review was left: {why}"))),
        };
        let path = self.reviews.name_of(&kept.path, &disk.real);
        if self.reviews.get(&path).is_some_and(FileReview::is_pending) {
            return;
        }
        if let Some((buf, _)) = self.documents.find(&disk.real) {
            self.documents.recognise(buf, &disk);
        }
        let opened = self.documents.find(&disk.real);
        let buffer = opened.map(|(_, document)| (document.path.clone(), document.text.clone()));
        let (path, text) = match buffer {
            Some((name, text)) => (name, Some(text)),
            None => (path, None),
        };
        let now = state_of(&disk, &kept.base);
        let text = text.or_else(|| now.text()).unwrap_or_default();
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
        // What has become of it since then somebody else has done, be it in another editor.
        let current = kept.current.unwrap_or_else(|| text.clone());
        file.agent_wrote(current.clone());
        file.written = current;
        if *file.ledger.current() != text {
            file.user_wrote(text);
        }
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
        }
    }
}

/// Returns what is at a path, of which the mode was not read.
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
