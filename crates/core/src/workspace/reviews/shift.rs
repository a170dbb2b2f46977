//! Moves a file's text and its accepted text together, to undo or redo a turn.
//!
//! Invariants: the present text is moved, not the text at the time of the request; other authors'
//! later changes stay. A file on disk is read before it is written.

use std::path::Path;

use super::moving::{Aim, Moved, Moving};
use super::turns::Of;
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::{EditorEffect, Level, Save};
use crate::spine::event::DiskText;
use crate::spine::project::{Body, FileState};
use crate::workspace::Workspace;
use crate::workspace::fileops::{
    Author, BufferEdit, Change, FileNow, Intent, Landing, Next, Outcome, Plan, not_saved,
};

impl Aim {
    /// Plans to move a file, in its buffer, else on disk.
    pub(crate) fn plan(&self, now: FileNow) -> Plan {
        let moving = now
            .review
            .zip(now.review.and_then(|review| review.moving(now.path, self)));
        let Some((review, moving)) = moving else {
            return Plan::Done(Landing::Plain);
        };
        let is_base = moving.moved.text.1 == moving.moved.base.1;
        let origin = review.origin.format().filter(|_| is_base);
        let format = origin.or_else(|| review.format()).unwrap_or_default();
        let whole = moving.whole().cloned();
        match now.document {
            Some(_) if moving.edits.is_empty() => Plan::Done(Landing::Shifted(Box::new(moving))),
            Some((buf, document)) => {
                let save = match document.stamp {
                    _ if moving.is_deleted() => Save::Deleted,
                    _ if moving.is_made() => Save::Over(None),
                    stamp => Save::back(stamp, format),
                };
                Plan::Edit {
                    edit: BufferEdit::new(buf, document, moving.edits.clone(), save),
                    author: Author::Decision,
                    opens: None,
                    landing: Landing::Shifted(Box::new(moving)),
                }
            }
            None if moving.edits.is_empty() && whole.is_none() => {
                Plan::Done(Landing::Shifted(Box::new(moving)))
            }
            None => {
                let change = match whole {
                    Some(state) => Change::Restore(state),
                    None => Change::Write {
                        over: now.stamp(),
                        text: moving.moved.text.1.clone(),
                        format,
                    },
                };
                Plan::Disk(change, Landing::ShiftedOnDisk(Box::new(moving), format))
            }
        }
    }
}

impl Workspace {
    /// Queues a move behind the file's other operations; `false` if nothing would move. No decision
    /// is under way that may leave something else to move.
    pub(super) fn shift(&mut self, path: &Path, aim: Aim, fx: &mut Effects) -> bool {
        let Some(review) = self.reviews.get(path) else {
            return false;
        };
        if review.moving(path, &aim).is_none() {
            return false;
        }
        self.operate(path.to_owned(), Intent::Shift(aim), fx);
        true
    }

    /// Records the rejects that a move implies.
    pub(crate) fn prepare_shift(&mut self, path: &Path, aim: &Aim) {
        if let Some(review) = self.reviews.get_mut(path)
            && review.moving(path, aim).is_some()
        {
            review.note_aim(aim);
        }
    }

    /// Records that a file's text was moved.
    pub(crate) fn shift_landed(
        &mut self,
        path: &Path,
        landing: Landing,
        outcome: Outcome,
        fx: &mut Effects,
    ) -> Next {
        let is_on_disk = matches!(landing, Landing::ShiftedOnDisk(..));
        let moving = match (landing, outcome) {
            (Landing::Shifted(moving), Outcome::Unchanged) => moving,
            (Landing::Shifted(moving), Outcome::Edited(done)) => {
                match done.saved {
                    Some(Err(why)) => fx.push(notify(Level::Error, not_saved(path, why))),
                    Some(Ok(())) => {}
                    None => drop(self.unsaved.insert(path.to_owned())),
                }
                moving
            }
            (Landing::ShiftedOnDisk(moving, format), Outcome::Written(stamp)) => {
                if let Some((before, whole)) = &moving.moved.whole {
                    self.name_leads_to(path, (before, whole), fx);
                }
                let is_open = self.documents.find(path).is_some();
                if let Some(review) = self.reviews.get_mut(path) {
                    let text = moving.moved.text.1.clone();
                    if let Some(whole) = moving.whole() {
                        review.now = whole.clone();
                        review.restored = stamp.filter(|_| whole.mode.is_some());
                    } else {
                        let mode = review.now.mode;
                        review.now = FileState {
                            mode,
                            ..FileState::of_text(text.clone(), format)
                        };
                    }
                    review.now.stamp = stamp;
                    if !is_open {
                        review.decision_wrote(text);
                    }
                }
                // A buffer was loaded just before the file was replaced.
                if is_open {
                    self.reread(path, false, fx);
                }
                moving
            }
            _ => return Next::Done,
        };
        self.shift_ended(path, *moving, is_on_disk, fx);
        Next::Done
    }

    /// Moves the review and the buffer after the file reached its new path.
    pub(crate) fn shift_moved(&mut self, path: &Path, moved: &Moved, fx: &mut Effects) -> Next {
        let Some(to) = &moved.to else {
            return Next::Done;
        };
        self.link_stays(path, fx);
        self.reviews.rename(path, to);
        if let Some(review) = self.reviews.get_mut(to) {
            review.from = moved.from.1.clone();
        }
        if let Some((buf, _)) = self.documents.find(path) {
            self.documents.rename(buf, to);
            let path = to.clone();
            fx.push(EditorEffect::Moved { buf, path });
        }
        self.reviews.touch(path);
        self.reviews.touch(to);
        self.has_moved(path, to);
        Next::Done
    }

    /// Moves the accepted text and the state of the file as a whole after its text was moved; on disk,
    /// the whole file was written.
    fn shift_ended(&mut self, path: &Path, moving: Moving, is_on_disk: bool, fx: &mut Effects) {
        let document = self.documents.find(path);
        // The buffer may have ended since.
        let is_clean = document.is_none_or(|(_, document)| !document.state.modified);
        let is_clean = (!is_on_disk).then_some(is_clean);
        let Some(review) = self.reviews.get_mut(path) else {
            return;
        };
        let Moving {
            moved,
            edits,
            conflicts,
            withdrawn,
            agents,
            takes,
            ..
        } = moving;
        for conflict in review.ledger.offered() {
            if withdrawn.contains(&conflict) {
                review.ledger.withdraw(&conflict.rows);
            }
        }
        if let Some(agents) = agents {
            review.agent_is_back(&moved.text.0, &agents);
        }
        // Keeps changes made by save hooks or other programs during the move.
        review.shift_base(&moved.base, &moved.file_base);
        if moved.origin.0 != moved.origin.1 && review.origin.is_like(&moved.origin.0) {
            review.origin = moved.origin.1.clone();
        }
        if moved.turn.is_none() && moved.from.0 != moved.from.1 {
            review.from = moved.from.1.clone();
        }
        let whole = moved.whole.as_ref().map(|(_, after)| after);
        let is_gone = whole.unwrap_or(&review.now).is_missing();
        for conflict in conflicts {
            match takes {
                _ if is_gone => review.offer_deletion(conflict),
                // An undo in the buffer takes the edits back.
                Some(_) if !edits.is_empty() => review.offer_earlier(conflict),
                _ => review.offer(conflict),
            }
        }
        if let Some(turn) = moved.turn {
            let before = moved.text.0.clone();
            review.turn_is_undone(turn, (takes == Some(Of::All)).then_some(before));
        }
        self.reviews.touch(path);
        let whole = moved.whole.as_ref().map(|(_, after)| after.clone());
        if let (Some(is_clean), Some(state)) = (is_clean, whole) {
            self.shift_whole(path, state, is_clean, &moved, fx);
        }
        if moved.to.is_some() {
            let intent = Intent::Move(Box::new(moved.clone()));
            self.follow_up(path.to_owned(), intent, fx);
        }
        match takes {
            Some(Of::All) => self.reviews.note_undone(moved),
            Some(Of::Pending) => self.reviews.note_decided(moved),
            None => {}
        }
    }

    /// Restores the state of a buffer's file apart from its lines, or deletes the file.
    fn shift_whole(
        &mut self,
        path: &Path,
        state: FileState,
        is_clean: bool,
        moved: &Moved,
        fx: &mut Effects,
    ) {
        let mut state = state;
        if let (Body::Text(content), Some((_, document))) =
            (&mut state.body, self.documents.find(path))
        {
            // The buffer decides its format, unless the format is being undone; the text was just
            // saved.
            let formats = moved.whole.as_ref();
            let formats = formats.map(|(before, after)| (before.format(), after.format()));
            let is_other =
                formats.is_some_and(|(before, after)| before.is_some() && before != after);
            let format = match is_other {
                true => content.format,
                false => document.state.format,
            };
            let text = document.text.clone();
            *content = DiskText { text, format };
        }
        if !is_clean && !state.is_missing() {
            let text = format!(
                "{} has unsaved changes: only lines were undone; line ends and permissions stay.",
                path.display()
            );
            return fx.push(notify(Level::Warn, text));
        }
        let intent = self.restore(path, state, false);
        self.follow_up(path.to_owned(), intent, fx);
    }
}
