//! The review of all files: one ledger a file, accepted and rejected by the user.
//!
//! Invariants: while a file is in a buffer, its ledger's current text is the buffer's text. A file's
//! review has the file's path as its name, links resolved; that of a link has the link's path.

mod commits;
mod decide;
mod decided;
mod file;
mod follow;
mod keep;
mod later;
mod lost;
mod moving;
mod reread;
mod restore;
mod revert;
mod seen;
mod shift;
mod turns;
mod undo;
mod whole;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::spine::cx::{Effects, emit};
use crate::spine::effect::Announcement;
use crate::spine::ids::SessionKey;
use crate::spine::project::FileState;
use crate::spine::view::Patch;
use crate::text::Text;
use crate::workspace::Workspace;
use crate::workspace::info::{HunkInfo, ReviewInfo};
pub use decide::Decide;
pub(crate) use decide::{CHANGED, ELSEWHERE, End, GONE, NO_TEXT};
pub use file::FileReview;
pub(crate) use moving::{Aim, Moved, Moving};
pub(crate) use restore::{plan_reread, plan_rest};
pub use turns::{Of, Turns};

/// The files agents have changed.
#[derive(Debug, Default)]
pub struct Reviews {
    files: BTreeMap<PathBuf, FileReview>,
    /// Files whose hunks may have changed since the last announcement.
    touched: BTreeSet<PathBuf>,
    /// The number of files with a pending decision, and of hunks, by session.
    counts: BTreeMap<SessionKey, (usize, usize)>,
    /// The reviews as last sent to the host, by project.
    told: BTreeMap<PathBuf, keep::Told>,
    /// Reviews of an earlier Neovim whose files are being read, by the session that shows them.
    returning: BTreeMap<SessionKey, keep::Returning>,
    pub(crate) turns: Turns,
    /// Undone turns, the last one last.
    undone: Vec<decided::Undone>,
    /// The effects of the last decisions, the last one last.
    decided: Vec<decided::Moves>,
    /// What waits for the decisions under way, the first one first.
    later: VecDeque<later::Later>,
    /// Files to be drawn again.
    pub(crate) dirty: BTreeSet<PathBuf>,
    /// Files whose buffers have had hunks drawn. If such a buffer changes, clearing its hunks may
    /// have to be repeated.
    pub(crate) drawn: BTreeSet<PathBuf>,
}

impl Reviews {
    pub fn iter(&self) -> impl Iterator<Item = (&PathBuf, &FileReview)> {
        self.files.iter()
    }

    pub fn get(&self, path: &Path) -> Option<&FileReview> {
        self.files.get(path)
    }

    pub(crate) fn get_mut(&mut self, path: &Path) -> Option<&mut FileReview> {
        self.files.get_mut(path)
    }

    /// Returns a file's review for an agent's change; begins it with `base` and `origin` if no
    /// decision is pending.
    pub fn begin(
        &mut self,
        path: &Path,
        session: SessionKey,
        base: &Text,
        origin: FileState,
    ) -> &mut FileReview {
        let turn = self.turns.current(session);
        let file = self.files.entry(path.to_owned());
        let file =
            file.or_insert_with(|| FileReview::new(base, path, session, FileState::missing()));
        let is_pending = file.is_pending();
        if !is_pending && file.now.is_missing() && !origin.is_missing() {
            // Another file has taken its place.
            file.others_wrote(base.clone());
        }
        file.enter_turn(turn, &origin);
        if !is_pending {
            file.begin(session, origin);
        }
        file
    }

    /// Gives the review of a moved file its new path, unless a decision is pending under that one.
    pub fn rename(&mut self, from: &Path, to: &Path) {
        let is_free = !self.files.get(to).is_some_and(FileReview::is_pending);
        if from != to
            && is_free
            && let Some(mut review) = self.files.remove(from)
        {
            if let Some(decided) = self.take_decided(to) {
                review.takes_rejects(decided);
            }
            to.clone_into(&mut review.path);
            self.files.insert(to.to_owned(), review);
            self.touched.extend([from.to_owned(), to.to_owned()]);
        }
    }

    /// Removes the review of a file whose place another one takes, unless a decision is pending.
    fn take_decided(&mut self, path: &Path) -> Option<FileReview> {
        if self.files.get(path)?.is_pending() {
            return None;
        }
        self.take(path)
    }

    /// Removes a review whose place another one takes.
    pub(crate) fn take(&mut self, path: &Path) -> Option<FileReview> {
        let taken = self.files.remove(path)?;
        let (session, (files, hunks)) = taken.counted;
        let counts = self.counts.entry(session).or_default();
        *counts = (counts.0 - files, counts.1 - hunks); // It was added before.
        Some(taken)
    }

    /// Notes that a file's hunks may have changed.
    pub fn touch(&mut self, path: &Path) {
        self.touched.insert(path.to_owned());
        self.dirty.insert(path.to_owned());
    }

    /// Returns whether a file's public form is older than its ledger.
    #[cfg(test)]
    pub fn is_touched(&self, path: &Path) -> bool {
        self.touched.contains(path)
    }

    /// Returns the last announced number of a session's files with a pending decision, and of
    /// hunks.
    pub fn counts(&self, session: SessionKey) -> (usize, usize) {
        self.counts.get(&session).copied().unwrap_or_default()
    }

    /// Updates the session's counts with a file's present hunks.
    fn count(&mut self, path: &Path) {
        let Some(file) = self.files.get_mut(path) else {
            return;
        };
        let now = match file.is_pending() {
            true => (1, file.ledger.hunks().len()),
            false => (0, 0),
        };
        let (session, before) = std::mem::replace(&mut file.counted, (file.session, now));
        let counts = self.counts.entry(session).or_default();
        *counts = (counts.0 - before.0, counts.1 - before.1); // It was added before.
        let counts = self.counts.entry(file.session).or_default();
        *counts = (counts.0 + now.0, counts.1 + now.1);
    }

    /// Updates the public form of touched files, announces changed counts, and returns the touched
    /// files.
    pub(crate) fn announce(&mut self, fx: &mut Effects) -> BTreeSet<PathBuf> {
        let touched = std::mem::take(&mut self.touched);
        for path in &touched {
            if let Some(file) = self.files.get_mut(path) {
                file.withdraw_stale();
            }
            self.count(path);
            let Some(file) = self.files.get_mut(path) else {
                continue;
            };
            let (hunks, is_pending) = (file.ledger.hunks().len(), file.is_pending());
            file.info = is_pending.then(|| {
                Arc::new(ReviewInfo {
                    path: path.clone(),
                    session: file.session,
                    hunks: HunkInfo::of(path, &file.ledger),
                    whole: file.whole(),
                })
            });
            let now = (hunks, is_pending);
            if now != file.announced {
                file.announced = now;
                let path = path.clone();
                fx.push(emit(Announcement::ReviewChanged { path, hunks }));
            }
        }
        touched
    }
}

impl Workspace {
    /// Notes that a turn begins, with the user's prompt.
    pub(crate) fn turn_begins(&mut self, session: SessionKey, prompt: &str) {
        self.reviews.turns.begins(session, prompt);
        self.documents.forget_beside(session);
    }

    /// Returns whether a session's agent is known to have changed a file in its current turn.
    pub(crate) fn has_changed_in_turn(&self, session: SessionKey) -> bool {
        let current = self.reviews.turns.current(session);
        let mut files = self.reviews.iter();
        files.any(|(_, file)| file.turns.iter().any(|turn| turn.turn == current))
    }

    /// Clears the rejects of a session's changes.
    pub(crate) fn forget_rejected(&mut self, session: SessionKey) {
        let files = self.reviews.files.values_mut();
        files
            .filter(|file| file.session == session)
            .for_each(FileReview::forget_rejected);
    }

    /// Returns whether any file's hunks may have changed since the last announcement.
    pub(crate) fn has_changed_reviews(&self) -> bool {
        !self.reviews.touched.is_empty()
    }

    /// Returns the hunks, proposed ones included, of the buffers that have to be drawn again.
    pub(crate) fn review_patches(&mut self) -> Vec<Patch> {
        let mut patches = Vec::new();
        for path in std::mem::take(&mut self.reviews.dirty) {
            let Some((buf, document)) = self.documents.find(&path) else {
                continue;
            };
            let tick = document.state.tick;
            let file = self.reviews.get_mut(&path);
            let mut hunks = file.map(FileReview::views).unwrap_or_default();
            let proposed = self.proposals.views(&path);
            if !proposed.is_empty() {
                hunks.extend(proposed);
                hunks.sort_by_key(|hunk| hunk.row);
            }
            if !hunks.is_empty() {
                self.reviews.drawn.insert(path);
            }
            patches.push(Patch::Review { buf, tick, hunks });
        }
        patches
    }
}
