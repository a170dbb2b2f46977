//! Rejects changes of a file as a whole: moves it back, restores it, deletes it.
//!
//! Invariant: the order is path, content, mode and format; mode and format come first if no line can
//! come back before. A step starts after the previous one has succeeded; if one fails, the rest of the
//! decision stays pending.

use std::path::{Path, PathBuf};

use super::FileReview;
use super::moving::Moved;
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::{EditorEffect, Level};
use crate::spine::event::{DiskFile, DiskText, EditDone, ReviewAction, Stamp};
use crate::spine::project::{Body, FileState};
use crate::text::Text;
use crate::text::format::{Encoding, Format};
use crate::workspace::Workspace;
use crate::workspace::changes::{DiskMerge, known_on_disk};
use crate::workspace::documents::Document;
use crate::workspace::fileops::{Author, Change, FileNow, Intent, Landing, Next, Plan};
use crate::workspace::ledger::Which;

/// A step apart from the file's lines.
enum WholeStep {
    MoveTo(PathBuf),
    Restore(FileState),
    /// The original content was not kept, or could not be read.
    Lost,
}

impl FileReview {
    /// Returns the step before the lines when the whole file is rejected; its buffer may be modified, and
    /// then keeps its lines.
    fn first_step(&self, is_modified: bool) -> Option<WholeStep> {
        if let (Some(from), false) = (&self.from, self.now.is_missing()) {
            return Some(WholeStep::MoveTo(from.clone()));
        }
        match (&self.origin.body, &self.now.body) {
            (Body::Missing, Body::Missing) => None,
            (Body::Missing, Body::Bytes { .. } | Body::Link(_)) => {
                Some(WholeStep::Restore(FileState::missing()))
            }
            (Body::Missing, Body::Text(_)) if self.is_empty() => {
                Some(WholeStep::Restore(FileState::missing()))
            }
            (Body::Missing, _) => None,
            // The user's lines stay, in the place of the link.
            (Body::Link(_), Body::Text(_)) if !is_modified && self.without_agent().is_some() => {
                None
            }
            (Body::Text(_), Body::Text(_)) if !self.is_unread() => None,
            (_, Body::Unreadable(_)) => None,
            (Body::Unreadable(_), _) if self.is_of_unknown() => Some(WholeStep::Lost),
            (Body::Unreadable(_), _) => None,
            (Body::Bytes { blob: None, .. }, _) if self.origin.body != self.now.body => {
                Some(WholeStep::Lost)
            }
            (Body::Text(content), _) => {
                // The user's unsaved lines stay unsaved.
                let (base, format) = (self.ledger.of_file().base(), content.format);
                // Neovim may have loaded it in another encoding.
                let is_other = format.encode(base).is_err();
                let text = if is_other { &content.text } else { base }.clone();
                Some(WholeStep::Restore(FileState {
                    body: Body::Text(DiskText { text, format }),
                    ..self.origin.clone()
                }))
            }
            (origin, now) => {
                let is_other = origin != now || self.origin.has_other_mode(&self.now);
                is_other.then(|| WholeStep::Restore(self.origin.clone()))
            }
        }
    }

    /// Returns whether the file's bytes are not in the encoding of its lines.
    fn is_unread(&self) -> bool {
        self.origin.told_encoding().is_some() && self.now.is_latin1()
    }

    /// Returns whether the file is empty, and no line comes back when it is rejected.
    fn is_empty(&self) -> bool {
        self.ledger.current().is_empty() && self.ledger.base().is_empty()
    }

    /// Returns whether no line can be rejected before the mode and format are: the agent made the
    /// file read-only, or converted it to an encoding that lacks a character.
    pub(super) fn is_locked(&self) -> bool {
        let is_writable = |state: &FileState| state.mode.map(|mode| mode & 0o222 != 0);
        let is_taken =
            is_writable(&self.origin) == Some(true) && is_writable(&self.now) == Some(false);
        let lacks = |format: Format| {
            let is_limited = matches!(format.encoding, Encoding::Latin1 | Encoding::Named(_));
            is_limited && format.encode(self.ledger.base()).is_err()
        };
        let is_text = self.origin.is_text() && self.now.is_text();
        (is_taken || self.format().is_some_and(lacks)) && is_text && !self.ledger.hunks().is_empty()
    }

    /// Returns the text file with the mode and format that rejecting the whole file leaves; `None`
    /// if it has them.
    fn last_step(&self, disk: DiskText) -> Option<FileState> {
        let (Body::Text(origin), Body::Text(_)) = (&self.origin.body, &self.now.body) else {
            return None;
        };
        let mode = self.origin.mode;
        let is_mode = mode.is_none() || self.now.mode.is_none() || mode == self.now.mode;
        if !self.has_other_format() && is_mode {
            return None;
        }
        let format = origin.format;
        Some(FileState {
            body: Body::Text(DiskText { format, ..disk }),
            mode,
            stamp: None,
        })
    }

    /// Returns [`FileReview::last_step`] for a file on disk.
    fn rest(&self, disk: Option<&DiskFile>) -> Option<FileState> {
        self.last_step(disk?.content.clone()?)
    }

    /// Returns whether deciding these hunks decides the whole file: a deletion or creation would be
    /// fully decided.
    pub(super) fn is_whole(&self, which: &Which) -> bool {
        let is_kind = self.origin.is_missing() != self.now.is_missing() || self.is_of_unknown();
        let is_all = self.ledger.hit(which).len() == self.ledger.hunks().len();
        *which == Which::All || is_kind && is_all && !matches!(which, Which::Rows(_))
    }

    /// Returns whether the earlier lines are unknown: the base is empty for lack of a better one, and
    /// rejecting all would empty the file.
    fn is_of_unknown(&self) -> bool {
        matches!(self.origin.body, Body::Unreadable(_)) && self.ledger.base().is_empty()
    }

    /// Returns whether any decision about these hunks is pending.
    pub(super) fn is_meant(&self, which: &Which) -> bool {
        let is_hit = !self.ledger.hit(which).is_empty();
        is_hit || self.is_whole(which) && self.is_pending()
    }

    /// Returns whether rejecting the whole file changes more than lines.
    fn has_last_step(&self) -> bool {
        let step = match &self.now.body {
            Body::Text(now) => self.last_step(now.clone()),
            _ => None,
        };
        step.is_some() || self.is_left_of_made()
    }

    /// Returns whether a file on disk is as the last decision has left it.
    fn is_as_left(&self, disk: &DiskFile) -> bool {
        let there = disk.content.as_ref().map(|content| &content.text);
        let left = self.now.text().filter(|_| !self.now.is_missing());
        self.now.stamp == disk.stamp || left.as_ref() == there
    }

    /// Returns whether all remaining lines of a file the agent created, or has put in the place of a
    /// link, are the user's.
    fn is_left_of_made(&self) -> bool {
        let is_made = self.is_created() || self.origin.link().is_some() && self.now.is_text();
        is_made && self.ledger.hunks().is_empty() && !self.ledger.current().is_empty()
    }
}

impl Workspace {
    /// Starts the step before the lines of a rejected file; `false` if it needs none.
    pub(super) fn reject_first(&mut self, path: &Path, fx: &mut Effects) -> bool {
        let document = self.documents.find(path);
        let is_modified = document.is_some_and(|(_, document)| document.state.modified);
        let review = self.reviews.get(path);
        let Some(step) = review.and_then(|review| review.first_step(is_modified)) else {
            return false;
        };
        let intent = match step {
            WholeStep::MoveTo(to) => Intent::MoveBack(to),
            WholeStep::Restore(state) => {
                self.note_restored(path, &state);
                self.restore(path, state, true)
            }
            WholeStep::Lost => {
                let is_unknown = self
                    .reviews
                    .get(path)
                    .is_some_and(FileReview::is_of_unknown);
                let why = match is_unknown {
                    true => "could not be read before it was changed",
                    false => "was too large to be kept",
                };
                let text = format!(
                    "{} {why}, so it cannot be restored here; use version control or a backup.",
                    path.display()
                );
                fx.push(notify(Level::Error, text));
                return true;
            }
        };
        self.follow_up(path.to_owned(), intent, fx);
        true
    }

    /// Returns the restore of a file's state.
    pub(super) fn restore(&self, path: &Path, state: FileState, is_reject: bool) -> Intent {
        let under = self.documents.find(path);
        let under = under.and_then(|(_, document)| document.stamp);
        Intent::Restore {
            state,
            is_reject,
            under,
        }
    }

    /// Returns whether a file on disk is the one that its review or its buffer has; a missing one loses
    /// nothing.
    pub(crate) fn is_known(
        &self,
        path: &Path,
        disk: &DiskFile,
        document: Option<&Document>,
    ) -> bool {
        let Some(content) = &disk.content else {
            return true;
        };
        let now = self.reviews.get(path).map(|review| &review.now);
        let stamps = [
            now.and_then(|now| now.stamp),
            document.and_then(|document| document.stamp),
        ];
        let is_now = |now: &FileState| {
            now.format().is_some_and(|format| {
                let mut there = content.clone();
                there.read_in(format.encoding);
                now.text() == Some(there.text)
            })
        };
        let is_saved =
            |document: &Document| document.saved.as_ref() == Some(&document.reads(content).text);
        disk.stamp.is_some() && stamps.contains(&disk.stamp)
            || now.is_some_and(is_now)
            || document.is_some_and(is_saved)
    }

    /// Records, for undo, that the whole file gets another state.
    fn note_restored(&mut self, path: &Path, state: &FileState) {
        if let Some(review) = self.reviews.get(path) {
            let moved = Moved::restored(path, review, state);
            self.reviews.note_decided(moved);
        }
    }

    /// Requests the disk content for restoring the mode and format of a rejected file, if they
    /// differ; returns whether a step was left.
    pub(super) fn reject_last(&mut self, path: &Path, fx: &mut Effects) -> bool {
        let Some(review) = self.reviews.get_mut(path) else {
            return false;
        };
        if !review.has_last_step() {
            return false;
        }
        if review.is_left_of_made() {
            // The file is the user's too.
            review.accept_whole();
            self.reviews.touch(path);
        } else {
            self.follow_up(path.to_owned(), Intent::Rest, fx);
        }
        true
    }

    /// Queues a merge of the disk content into the buffer.
    pub(super) fn reread(&mut self, path: &Path, is_reject: bool, fx: &mut Effects) {
        self.follow_up(path.to_owned(), Intent::Reread { is_reject }, fx);
    }

    /// Records, for undo, that the mode and format are restored.
    pub(crate) fn prepare_rest(&mut self, path: &Path, disk: Option<&DiskFile>) {
        let Some(review) = self.reviews.get(path) else {
            return;
        };
        if let Some(state) = review.rest(disk) {
            let moved = Moved::restored(path, review, &state);
            self.reviews.note_last(moved);
        }
    }

    /// Continues a reject after the file was moved back.
    pub(crate) fn moved_back(
        &mut self,
        path: &Path,
        to: &Path,
        stamp: Option<Stamp>,
        fx: &mut Effects,
    ) -> Next {
        self.link_stays(path, fx);
        if let Some(review) = self.reviews.get(path) {
            let moved = Moved::moved_back(path, review, to);
            self.reviews.note_decided(moved);
        }
        self.reviews.rename(path, to);
        if let Some(review) = self.reviews.get_mut(to) {
            review.from = None;
            review.now.stamp = stamp;
            review.moved_back = stamp;
        }
        let own = self.documents.find(path).map(|(buf, _)| buf);
        if let Some(buf) = own {
            self.documents.rename(buf, to);
            let path = to.to_owned();
            fx.push(EditorEffect::Moved { buf, path });
        }
        self.reviews.touch(path);
        self.reviews.touch(to);
        self.has_moved(path, to);
        // The user may have opened the old name meanwhile.
        let opened = self.documents.find(to).filter(|_| own.is_none());
        if let Some(((_, document), review)) = opened.zip(self.reviews.get_mut(to)) {
            review.decision_wrote(document.saved.clone().unwrap_or_default());
            review.user_wrote(document.text.clone());
            self.reread(to, true, fx);
        } else {
            self.review_next(ReviewAction::Reject, to, Which::All, fx);
        }
        Next::Done
    }

    /// Updates the buffer, else the ledger, after the content was restored on disk.
    pub(crate) fn restored(
        &mut self,
        path: &Path,
        state: FileState,
        is_reject: bool,
        stamp: Option<Stamp>,
        fx: &mut Effects,
    ) -> Next {
        let before = self.reviews.get(path).map(|review| review.now.clone());
        let before = before.unwrap_or_else(FileState::missing);
        self.name_leads_to(path, (&before, &state), fx);
        let found = self.documents.find(path);
        let has_lines = found.is_some_and(|(_, document)| !document.text.is_empty());
        let buf = found.map(|(buf, _)| buf);
        let text = state.text();
        let review = self.reviews.get(path);
        // The buffer may have a binary file's lines.
        let has_base = review.is_some_and(|review| review.ledger.base().has_nul());
        let is_text = state.is_text() || has_base && matches!(state.body, Body::Bytes { .. });
        if let Some(buf) = buf.filter(|_| state.is_missing()) {
            match has_lines && is_reject {
                true => self.reread(path, is_reject, fx),
                false => self.documents.set_disk(buf, Text::default(), None),
            }
            fx.push(EditorEffect::Deleted { buf });
        } else if buf.is_some() && is_text {
            self.reread(path, is_reject, fx);
        }
        let state = FileState { stamp, ..state };
        self.note_written(path, state.clone());
        if let Some(review) = self.reviews.get_mut(path) {
            self.fileops.forget_link(path, &review.now);
            review.restored = stamp.filter(|_| state.mode.is_some());
            review.now = state;
            if let (Some(text), None) = (text, buf) {
                review.decision_wrote(text.clone());
                // A buffer may have kept the lines of a link's target, or shown bytes as lines.
                let has_no_lines = matches!(review.now.body, Body::Link(_) | Body::Bytes { .. });
                if has_no_lines && review.now.body == review.origin.body {
                    review.rebase(text);
                }
            }
        }
        self.reviews.touch(path);
        let review = self.reviews.get(path);
        if is_reject && review.is_some_and(|review| review.now.is_missing() && review.is_empty()) {
            // Conflicts may be left.
            self.review_next(ReviewAction::Reject, path, Which::All, fx);
        }
        Next::Done
    }

    /// Continues a reject after the restored content reached the buffer.
    pub(crate) fn reread_landed(
        &mut self,
        path: &Path,
        merge: DiskMerge,
        is_reject: bool,
        done: &EditDone,
        fx: &mut Effects,
    ) -> Next {
        let (buf, is_gone) = (merge.buf, merge.disk.content.is_none());
        let landed = merge.lands();
        let review = self.reviews.get(path);
        // What another program has written since was not rejected.
        let is_reject = is_reject && review.is_none_or(|review| review.is_as_left(&merge.disk));
        let is_done = self.disk_is_merged(merge, done, fx);
        self.disk_has_landed(landed, fx);
        self.reviews.touch(path);
        if !is_done {
            return Next::Again;
        }
        if is_gone {
            fx.push(EditorEffect::Deleted { buf });
        } else if is_reject {
            // The user's adjacent changes may have kept some of the agent's lines.
            self.review_next(ReviewAction::Reject, path, Which::All, fx);
        }
        Next::Done
    }
}

/// Plans to restore the mode and format on disk.
pub(crate) fn plan_rest(now: FileNow) -> Plan {
    let disk = now.disk.as_ref();
    match now.review.and_then(|review| review.rest(disk)) {
        Some(state) => Plan::Disk(Change::Restore(state.clone()), Landing::Rest(state)),
        None => Plan::Done(Landing::Plain),
    }
}

/// Plans to merge the disk content into the buffer.
pub(crate) fn plan_reread(mut now: FileNow) -> Plan {
    let (Some((buf, document)), Some(disk)) = (now.document, now.disk.take()) else {
        return Plan::Done(Landing::Plain);
    };
    let Ok(theirs) = known_on_disk(document, &disk) else {
        return Plan::Done(Landing::Plain);
    };
    let theirs = theirs.unwrap_or_default();
    let ledger = now.review.map(|review| &review.ledger);
    let beside = ledger.filter(|ledger| {
        let (base, of_file) = (ledger.base(), ledger.of_file());
        *base != theirs && *of_file.base() == theirs && of_file.current().is_empty()
    });
    let base = document.saved.as_ref().unwrap_or(&document.text).clone();
    let is_as_left = now.review.is_none_or(|review| review.is_as_left(&disk));
    let by = now.writer(&disk).filter(|_| !is_as_left);
    let (merge, edit) = match beside {
        Some(ledger) => DiskMerge::plan_beside(buf, document, disk, theirs, ledger.base()),
        None => DiskMerge::plan(buf, document, disk, (base, theirs), by),
    };
    Plan::Edit {
        edit,
        author: match is_as_left {
            true => Author::Decision,
            false => Author::on_disk(by),
        },
        opens: None,
        landing: Landing::Reread(Box::new(merge)),
    }
}
