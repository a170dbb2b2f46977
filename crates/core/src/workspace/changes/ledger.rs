//! Applies a change on disk to the review of its file.
//!
//! Invariant: a buffer's text is left to the buffer. This file handles the state of the file as a
//! whole, and the text of files without a buffer.

use std::path::Path;

use super::TakeIn;
use crate::spine::cx::Effects;
use crate::spine::effect::EditorEffect;
use crate::spine::event::{Stamp, is_later};
use crate::spine::ids::SessionKey;
use crate::spine::project::{Body, FileChange, FileState};
use crate::text::Text;
use crate::workspace::reviews::FileReview;
use crate::workspace::{FileEdit, Signal, Workspace};

impl Workspace {
    /// Returns whether a change begins with the recorded state of the file or ends with the
    /// recorded content. A change that does neither may have been observed before the recorded
    /// state.
    pub(super) fn is_next(&self, change: &FileChange) -> bool {
        let Some(review) = self.reviews.get(&change.path) else {
            return true;
        };
        let begins = change.before.stamp.is_some() && change.before.stamp == review.now.stamp;
        begins || review.knows(&change.after)
    }

    /// Returns the mode this client has set since the reported change.
    pub(super) fn restored_mode(&mut self, change: &FileChange) -> Option<u32> {
        let review = self.reviews.get_mut(&change.path);
        review?.restored_mode(&change.after)
    }

    /// Applies a change of a file without a buffer.
    pub(super) fn change_ledger(&mut self, change: &TakeIn, fx: &mut Effects) {
        let TakeIn {
            change,
            by,
            is_in_ledger,
            passed,
            ..
        } = change;
        let by = *by;

        let is_unchanged =
            change.before.body == change.after.body && change.before.mode == change.after.mode;
        if is_unchanged || *is_in_ledger && by.is_none() && !self.is_next(change) {
            return;
        }
        let path = change.path.clone();
        let (before, after) = (change.before.text(), change.after.text());
        if let Some(review) = self.reviews.get_mut(&path)
            && review.knows(&change.after)
        {
            review.found_again(change, by);
            return self.reviews.touch(&path);
        }
        if let Some(session) = by {
            let base = before.clone().unwrap_or_default();
            let now = self.reviews.get(&path).map(|review| &review.now);
            // A later state is this client's: it has written or restored the file since.
            let now = now.filter(|now| match now.stamp {
                Some(_) if change.before.is_missing() => true,
                stamp => is_later(stamp, change.before.stamp),
            });
            let origin = now.unwrap_or(&change.before).clone();
            self.reviews.begin(&path, session, &base, origin);
            if let Some(after) = &after {
                self.signal(Signal::Changed(FileEdit {
                    session,
                    path: change.path.clone(),
                    before: before.clone(),
                    after: after.clone(),
                }));
            }
            if let (Some(before), Some(after)) = (&before, &after) {
                self.agent_has_left(session, &change.path, before, after);
            }
        }
        let Some(review) = self.reviews.get_mut(&path) else {
            return;
        };
        let ours = review.ledger.current().clone();
        if let Some(after) = after
            && *review.ledger.current() != after
        {
            match by {
                Some(_) => {
                    // A later report may begin with it.
                    if let Some(passed) = passed
                        && is_later(passed.stamp, review.now.stamp)
                        && let Some(passed) = passed.text()
                    {
                        review.agent_wrote(passed);
                    }
                    review.agent_wrote(after);
                }
                None => review.others_wrote(after),
            }
        }
        review.take_note(change, by);
        let now = review.ledger.current().clone();
        self.reviews.touch(&path);
        if by.is_some() {
            self.proposals_landed(&path, &ours, &now, fx);
        }
    }

    /// Records how a change affects the file as a whole, for a file with a buffer; `content` is the
    /// session that wrote the content.
    pub(super) fn take_note(&mut self, change: &TakeIn, content: Option<SessionKey>) {
        let TakeIn { change, by, .. } = change;
        let Some((_, document)) = self.documents.find(&change.path) else {
            return;
        };
        let is_kept = matches!(
            change.after.body,
            Body::Missing | Body::Link(_) | Body::Bytes { .. }
        );
        if by.is_none() && is_kept {
            // The buffer keeps its text and the undecided hunks in it.
            let path = document.path.clone();
            if change.after.is_missing()
                && let Some(review) = self.reviews.get_mut(&path)
            {
                review.has_no_mode();
                self.reviews.touch(&path);
            }
            return;
        }
        let path = document.path.clone();
        let text = document.text.clone();
        let review = self.reviews.get(&path);
        let is_known = review.is_some_and(|review| review.now.is_like(&change.after));
        let is_agents = match content {
            Some(_) => !change.before.is_like(&change.after),
            None => change.before.has_other_mode(&change.after),
        };
        if let (Some(session), true, false) = (*by, is_agents, is_known) {
            let origin = change.before.clone();
            let is_new = review.is_none();
            let review = self.reviews.begin(&path, session, &text, origin);
            if let (true, true, Some(saved)) =
                (is_new, change.after.is_missing(), change.before.text())
            {
                // The user had removed all lines before.
                review.file_changed(&saved, &Text::default(), true);
            }
        }
        if let Some(review) = self.reviews.get_mut(&path) {
            match (by, content) {
                (Some(_), None) => {
                    review.learn_mode(&change.before);
                    // Writing a file does not set its mode.
                    let mode = change.after.mode;
                    let before = change.before.clone();
                    let before = FileState { mode, ..before };
                    review.others_left(&before, change.after.clone());
                }
                _ => review.take_note(change, content),
            }
            self.reviews.touch(&path);
        }
    }

    /// Returns whether the file's review has what a report says already.
    pub(super) fn has_this(&self, change: &FileChange) -> bool {
        let review = self.reviews.get(&change.path);
        review.is_some_and(|review| review.knows(&change.after))
    }

    /// Takes the deletion out of a reported move that is of two files: one has taken the place of
    /// another, whose deletion is pending or that the agent had created, or the agent wrote the one
    /// and deleted the other.
    pub(super) fn take_deletion(&self, change: &mut FileChange) -> Option<FileChange> {
        let review = self.reviews.get(&change.path);
        let review = review.filter(|review| review.is_pending());
        let is_of_two = review.is_some_and(|review| match review.is_created() {
            true => {
                let document = self.documents.find(&change.path);
                let there = document.map_or(review.now.stamp, |(_, document)| document.stamp);
                let is_other = there.is_some() && there != change.after.stamp;
                let is_changed = change.before.stamp != change.after.stamp;
                is_other && self.agent_at(&change.path).is_some()
                    || is_changed && review.knows(&change.after)
            }
            false => review.now.is_missing(),
        });
        let path = change.from.take_if(|_| is_of_two)?;
        Some(FileChange {
            path,
            from: None,
            before: std::mem::replace(&mut change.before, FileState::missing()),
            after: FileState::missing(),
        })
    }

    /// Returns whether a reported move is outdated: this client moved the file back, or deleted the
    /// one and restored the other; or the file exists again.
    pub(super) fn is_no_move(&self, from: &Path, change: &FileChange) -> bool {
        match self.reviews.get(from) {
            None => {
                let review = self.reviews.get(&change.path);
                let is_this = |stamp: Option<Stamp>| stamp.is_some() && stamp == change.after.stamp;
                // This client moved it back, and may have written to it since; or the user moved it,
                // with a buffer that may have unsaved lines.
                let is_there = review
                    .is_some_and(|review| is_this(review.now.stamp) || is_this(review.moved_back));
                (is_there || self.has_this(change)) && !self.is_written_since(change)
            }
            Some(review) => {
                let is_after = |told: Option<Stamp>| is_later(review.now.stamp, told);
                let is_back = is_after(change.before.stamp) && is_after(change.after.stamp);
                review.now.is_missing() || is_back
            }
        }
    }

    /// Returns whether this client has written, for an agent, to a file after the agent had moved it.
    fn is_written_since(&self, change: &FileChange) -> bool {
        let review = self.reviews.get(&change.path);
        review.is_some_and(|review| {
            review.from.is_none()
                && review.is_pending()
                && review.origin.text() == change.before.text()
        })
    }

    /// Removes the review of what this client has written for an agent to the new path of a moved
    /// file before the move was reported, if the review or the buffer at the old path goes on there.
    fn take_later_review(&mut self, from: &Path, change: &TakeIn) -> Option<FileReview> {
        let to = &change.change.path;
        let has_past = self.reviews.get(from).is_some_and(FileReview::is_pending)
            || self.documents.find(from).is_some();
        let is_later = change.by.is_some()
            && from != to
            && has_past
            && self.documents.find(to).is_none()
            && self.is_written_since(&change.change);
        is_later.then(|| self.reviews.take(to)).flatten()
    }

    /// Records a move: the review and the buffer take the new path.
    pub(super) fn file_moved(&mut self, from: &Path, change: &TakeIn, fx: &mut Effects) {
        let to = &change.change.path;
        self.link_stays(from, fx);
        let later = self.take_later_review(from, change);
        let is_back = self
            .reviews
            .get(from)
            .is_some_and(|review| review.from.as_ref() == Some(to));
        self.reviews.rename(from, to);
        if self.reviews.get(from).is_none() {
            self.reviews.decisions_follow(from, to);
        }
        if let Some(session) = change.by {
            let before = &change.change.before;
            let base = before.text().unwrap_or_default();
            let buffer = self.documents.find(from);
            let base = buffer.map_or(base, |(_, document)| document.text.clone());
            let there = self.documents.find(to).filter(|_| buffer.is_none());
            let there = there.map(|(_, document)| document.text.clone());
            let review = self.reviews.begin(to, session, &base, before.clone());
            // A buffer gets the text from the disk.
            if let Some(later) = later.filter(|_| buffer.is_none()) {
                review.go_on_as(later);
            }
            match is_back {
                true => review.from = None,
                false => drop(review.from.get_or_insert_with(|| from.to_owned())),
            }
            review.moved_in_turn(from);
            if let Some(text) = there {
                // The buffer of a file that was not there: it gets the moved text.
                review.agent_wrote(Text::default());
                review.user_wrote(text);
            }
        }
        if self.reviews.get(to).is_some() {
            self.reviews.touch(to);
            if let Some((buf, _)) = self.documents.find(from) {
                self.documents.rename(buf, to);
                let path = to.clone();
                fx.push(EditorEffect::Moved { buf, path });
            }
        }
    }

    /// Gives the review of a file without a buffer the user's save before a change, if the review
    /// began too late to have it from the buffer.
    pub(super) fn settle_save(&mut self, change: &mut TakeIn) {
        let Some(save) = change.save.take() else {
            return;
        };
        let path = &change.change.path;
        let is_open = self.documents.find(path).is_some();
        let Some(review) = self.reviews.get_mut(path).filter(|_| !is_open) else {
            return;
        };
        if !is_later(save.stamp, review.now.stamp) {
            return;
        }
        // A saved binary file has no lines of the user.
        if let Some(text) = save.text().filter(|text| !text.has_nul())
            && text != *review.ledger.current()
        {
            review.user_wrote(text);
            let before = review.now.clone();
            let mode = before.mode;
            review.others_left(&before, FileState { mode, ..save });
            self.reviews.touch(path);
        }
    }

    /// Attributes texts to the agent that were read as the original content but, as reported now,
    /// were the agent's work.
    pub(super) fn settle_read(&mut self, change: &mut TakeIn) {
        let Some(session) = change.in_turn_of else {
            return;
        };
        let review = self.reviews.get(&change.change.path);
        let text = review.map(|review| review.ledger.current().clone());
        if !change.is_report && text.is_some() && text == change.change.after.text() {
            // This client wrote it, and its text was read before that was known.
            change.read.push(change.change.clone());
        }
        let last = match change.is_in_ledger {
            true => &change.change.after,
            false => &change.change.before,
        };
        let last = last.clone();
        let text = last.text().unwrap_or_default();
        for part in std::mem::take(&mut change.read) {
            let path = part.path.clone();
            let open = self
                .documents
                .find(&path)
                .map(|(_, document)| &document.text);
            let base = open.unwrap_or(&text).clone();
            // A file that comes back is not new: it continues from the one that was gone.
            let gone = self.reviews.get(&path).map(|review| &review.origin);
            let gone = gone.filter(|origin| {
                let created = part.after.stamp;
                let is_part = origin.stamp.is_some() && origin.stamp == created;
                // Of a new file, a reject leaves what it does not know for the agent's.
                let is_left = is_later(origin.stamp, created);
                part.before.is_missing() && !origin.is_missing() && !is_part && !is_left
            });
            let origin = gone.unwrap_or(&part.before).clone();
            let (Some(before), Some(taken)) = (origin.text(), part.after.text()) else {
                continue;
            };
            if taken == before {
                continue;
            }
            // The text stays that of the version that was read last.
            let now = self.reviews.get(&path).map_or(&last, |review| &review.now);
            let now = Some(now.clone()).filter(|now| !now.is_missing());
            let review = self.reviews.begin(&path, session, &base, origin.clone());
            if let Some(now) = now {
                review.has_version(now);
            }
            review.was_agents(&taken, &origin);
            self.reviews.touch(&path);
        }
    }
}
