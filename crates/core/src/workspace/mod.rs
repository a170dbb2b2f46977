//! Files: mirrors of buffers, what agents read and write, changes on disk, and their review.
//!
//! Owns each session's access to files ([`Folders`]) and the text it has seen. Every change of a file
//! is an operation of `fileops`. Reports to the rooms above by [`Signal`]s.

pub(crate) mod changes;
pub mod documents;
mod encodings;
pub mod event;
pub mod feedback;
pub(crate) mod fileops;
pub mod files;
pub mod hunkview;
pub mod info;
pub(crate) mod jobs;
pub mod ledger;
pub mod proposals;
pub mod reviews;
mod sessions;
mod signal;
pub mod tracked;
pub(crate) mod window;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use self::changes::Changes;
use self::documents::Documents;
use self::fileops::FileOps;
use self::jobs::Jobs;
use self::proposals::{Preview, Proposals};
use self::reviews::Reviews;
pub use self::sessions::Folders;
use self::sessions::SessionFiles;
pub use self::signal::{FileEdit, Signal};
use self::tracked::Tracked;
use self::window::Windows;
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::Level;
use crate::spine::ids::SessionKey;
use crate::text::plural;

/// The state of this room.
#[derive(Debug, Default)]
pub struct Workspace {
    documents: Documents,
    reviews: Reviews,
    proposals: Proposals,
    fileops: FileOps,
    changes: Changes,
    windows: Windows,
    tracked: Tracked,
    jobs: Jobs,
    /// Rejections are reported to the agent.
    feedback: bool,
    sessions: BTreeMap<SessionKey, SessionFiles>,
    /// The folders of all sessions so far, and their projects.
    roots: BTreeSet<PathBuf>,
    signals: Vec<Signal>,
    /// Decisions that failed and are not reported yet.
    failures: Vec<String>,
    /// The files in whose modified buffers hunks were rejected.
    unsaved: BTreeSet<PathBuf>,
}

impl Workspace {
    pub fn documents(&self) -> &Documents {
        &self.documents
    }

    pub fn reviews(&self) -> &Reviews {
        &self.reviews
    }

    pub fn proposals(&self) -> &Proposals {
        &self.proposals
    }

    /// Applies the user's configuration: how proposals are shown, whether allowed changes count as
    /// accepted, and whether rejects are reported to the agent.
    pub(crate) fn configure(&mut self, preview: Preview, accept_allowed: bool, feedback: bool) {
        self.proposals.preview = preview;
        self.proposals.accept_allowed = accept_allowed;
        self.feedback = feedback;
    }

    /// Returns whether a buffer's hunks have to be drawn again.
    pub(crate) fn is_dirty(&self) -> bool {
        !self.reviews.dirty.is_empty()
    }

    #[cfg(test)]
    pub(crate) fn fileops(&self) -> &FileOps {
        &self.fileops
    }

    #[cfg(test)]
    pub(crate) fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    /// Sends what an event has changed: the files to watch and, if due, the reviews.
    pub(crate) fn settle(&mut self, reviews_are_due: bool, fx: &mut Effects) {
        if reviews_are_due {
            let touched = self.reviews.announce(fx);
            self.tell_reviews(touched, fx);
            self.tell_over(fx);
        }
        self.tell_tracked(fx);
        let is_silent = self.failures.is_empty() && self.unsaved.is_empty();
        if !is_silent && !self.is_deciding() {
            self.tell_failures(fx);
            self.tell_unsaved(fx);
        }
    }

    /// Names the files that still have rejected or undone lines on disk: their buffers have other unsaved
    /// changes, and no hunk is left to show it.
    fn tell_unsaved(&mut self, fx: &mut Effects) {
        let mut files = std::mem::take(&mut self.unsaved);
        files.retain(|path| {
            let document = self.documents.find(path);
            let review = self.reviews.get(path);
            document.is_some_and(|(_, document)| document.state.modified)
                && review.is_none_or(|review| !review.is_pending())
        });
        let text = match files.first() {
            None => return,
            Some(path) if files.len() == 1 => format!(
                "{} is not saved, because it has other unsaved changes; `:write` saves all.",
                path.display()
            ),
            Some(_) => format!(
                "{} are not saved, because they have other unsaved changes; `:wall` saves all.",
                plural(files.len(), "file")
            ),
        };
        fx.push(notify(Level::Info, text));
    }

    /// Reports failed decisions in one message, once none is under way: Neovim waits for a key after
    /// several.
    fn tell_failures(&mut self, fx: &mut Effects) {
        let failures = std::mem::take(&mut self.failures);
        let text = match failures.as_slice() {
            [text] => text.clone(),
            [first, ..] => format!(
                "{} failed; `:Acp log` has all. The first: {first}",
                plural(failures.len(), "decision")
            ),
            [] => return,
        };
        fx.push(notify(Level::Error, text));
    }
}
