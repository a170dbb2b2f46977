//! A file's text and what is accepted of it, moved together: a turn that is undone or brought
//! back.
//!
//! Invariants: what is there now is moved, not what was there when it was asked for; what somebody
//! has changed since stays. A file on disk is read before it is written.

use std::path::{Path, PathBuf};

use super::decide::{Then, no_text};
use super::moving::{Aim, Moved, Moving};
use crate::model::{Effects, Job, Model, notify};
use crate::spine::effect::{EditorEffect, Effect, HostEffect, Level, Save};
use crate::spine::event::{DiskFile, DiskText, EditDone, EditError, SaveError, Stamp, WriteError};
use crate::spine::ids::BufId;
use crate::spine::project::{Body, FileState};
use crate::text::Text;
use crate::text::format::Format;
use crate::workspace::ledger::merge;

/// A move that waits for an effect.
#[derive(Debug)]
pub struct ShiftJob {
    path: PathBuf,
    aim: Aim,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// The disk is read; then the move is made from what is there.
    Reading,
    /// The editor carries the edits out.
    Editing(Box<Moving>),
    /// The disk gets the text, or the file is deleted there.
    Writing(Box<Moving>, Format),
    /// The file of a buffer is deleted, or gets its permissions back.
    Whole(FileState),
    /// The file is moved.
    Moving,
}

impl ShiftJob {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Model {
    /// Moves a file; `false` when there is nothing to move.
    pub(super) fn shift(&mut self, path: &Path, aim: Aim, fx: &mut Effects) -> bool {
        let found = self.documents.find(path);
        let buf = found.map(|(buf, _)| buf);
        let path = found
            .map_or(path, |(_, document)| &document.path)
            .to_owned();
        let moving = self.reviews.get(&path);
        let Some(moving) = moving.and_then(|review| review.moving(&path, &aim)) else {
            return false;
        };
        if let Some(review) = self.reviews.get_mut(&path) {
            review.note_aim(&aim);
        }
        match buf {
            Some(buf) => self.shift_buffer(path, aim, buf, moving, fx),
            None => {
                let token = self.token(Job::Shift(ShiftJob {
                    path: path.clone(),
                    aim,
                    stage: Stage::Reading,
                }));
                fx.push(Effect::Host(HostEffect::ReadDisk { token, path }));
            }
        }
        true
    }

    fn shift_buffer(
        &mut self,
        path: PathBuf,
        aim: Aim,
        buf: BufId,
        moving: Moving,
        fx: &mut Effects,
    ) {
        let Some(document) = self.documents.get(buf) else {
            return;
        };
        if moving.edits.is_empty() {
            return self.shift_ended(&path, moving, fx);
        }
        let save = match document.stamp {
            _ if moving.is_deleted() => Save::Deleted,
            _ if moving.is_made() => Save::Over(None),
            stamp => Save::OverIfClean(stamp),
        };
        let tick = document.state.tick;
        let edits = document.to_buffer(moving.edits.clone());
        let token = self.token(Job::Shift(ShiftJob {
            path,
            aim,
            stage: Stage::Editing(Box::new(moving)),
        }));
        fx.push(Effect::Editor(EditorEffect::Edit {
            token,
            buf,
            tick,
            edits,
            save,
        }));
    }

    /// Goes on when the editor has carried the edits out, or has not.
    pub(crate) fn shift_edited(
        &mut self,
        job: ShiftJob,
        result: Result<EditDone, EditError>,
        fx: &mut Effects,
    ) {
        let Stage::Editing(moving) = job.stage else {
            return;
        };
        let shown = job.path.display();
        match result {
            Ok(done) => {
                if let Some(Err(why)) = done.saved {
                    let why = match why {
                        SaveError::Refused(why) => why,
                        SaveError::Stale => "somebody else has changed it on disk".to_owned(),
                    };
                    fx.push(notify(Level::Error, format!("Not saved: {why}. ({shown})")));
                }
                self.shift_ended(&job.path, *moving, fx);
            }
            Err(EditError::Stale { .. } | EditError::Gone) => {
                self.shift(&job.path, job.aim, fx);
            }
            Err(EditError::Refused(why)) => {
                fx.push(notify(Level::Error, format!("{shown}: {why}")));
            }
        }
    }

    /// Goes on when the disk was read.
    pub(crate) fn shift_read(
        &mut self,
        job: ShiftJob,
        result: Result<DiskFile, String>,
        fx: &mut Effects,
    ) {
        let disk = match result {
            Ok(disk) => disk,
            Err(why) => return fx.push(notify(Level::Error, why)),
        };
        let over = disk.stamp;
        if !self.review_from_disk(&job.path, disk) {
            return fx.push(no_text(&job.path));
        }
        if self.documents.find(&job.path).is_some() {
            self.shift(&job.path, job.aim, fx);
            return;
        }
        let Some(review) = self.reviews.get(&job.path) else {
            return;
        };
        let Some(moving) = review.moving(&job.path, &job.aim) else {
            return;
        };
        let is_base = moving.moved.text.1 == moving.moved.base.1;
        let (now, origin) = (review.now.format(), review.origin.format());
        let format = origin.filter(|_| is_base).or(now).unwrap_or_default();
        let (path, whole) = (job.path.clone(), moving.whole().cloned());
        if moving.edits.is_empty() && whole.is_none() {
            return self.shift_ended(&job.path, moving, fx);
        }
        let text = moving.moved.text.1.clone();
        let token = self.token(Job::Shift(ShiftJob {
            stage: Stage::Writing(Box::new(moving), format),
            ..job
        }));
        fx.push(Effect::Host(match whole {
            Some(state) if state.is_missing() => HostEffect::DeleteDisk { token, path },
            Some(state) => HostEffect::Restore { token, path, state },
            None => HostEffect::WriteDisk {
                token,
                path,
                over,
                text,
                format,
            },
        }));
    }

    /// Goes on when the disk has the text, or the file is deleted or moved.
    pub(crate) fn shift_written(
        &mut self,
        job: ShiftJob,
        result: Result<Option<Stamp>, WriteError>,
        fx: &mut Effects,
    ) {
        let stamp = match result {
            Ok(stamp) => stamp,
            Err(WriteError::Stale) => {
                self.shift(&job.path, job.aim, fx);
                return;
            }
            Err(WriteError::Failed(why)) => return fx.push(notify(Level::Error, why)),
        };
        let buf = self.documents.find(&job.path).map(|(buf, _)| buf);
        let review = self.reviews.get_mut(&job.path);
        match (job.stage, review, buf) {
            (Stage::Writing(moving, format), Some(review), None) => {
                if let Some(whole) = moving.whole() {
                    review.now = whole.clone();
                    review.restored = stamp.filter(|_| whole.mode.is_some());
                } else {
                    let text = moving.moved.text.1.clone();
                    let mode = review.now.mode;
                    review.now = FileState {
                        mode,
                        ..FileState::of_text(text, format)
                    };
                }
                review.now.stamp = stamp;
                review.decision_wrote(moving.moved.text.1.clone());
                self.shift_ended(&job.path, *moving, fx);
            }
            (Stage::Whole(state), review, buf) => {
                if let (Some(buf), true) = (buf, state.is_missing()) {
                    self.documents.set_disk(buf, Text::default(), None);
                    fx.push(Effect::Editor(EditorEffect::Deleted { buf }));
                }
                if let Some(review) = review {
                    review.restored = stamp.filter(|_| state.mode.is_some());
                    review.now = FileState { stamp, ..state };
                }
                self.reviews.touch(&job.path);
            }
            (Stage::Writing(moving, _), _, _) => {
                // Loaded just before the file was replaced.
                self.reread(job.path.clone(), Then::Reread, fx);
                self.shift_ended(&job.path, *moving, fx);
            }
            (Stage::Moving, ..) => {
                if let Aim::Back(moved) = job.aim {
                    self.shift_moved(&job.path, &moved, fx);
                }
            }
            _ => {}
        }
    }

    /// The file is where it shall be: its review and its buffer go with it.
    fn shift_moved(&mut self, path: &Path, moved: &Moved, fx: &mut Effects) {
        let Some(to) = &moved.to else {
            return;
        };
        self.reviews.rename(path, to);
        if let Some(review) = self.reviews.get_mut(to) {
            to.clone_into(&mut review.real);
            review.from = moved.from.1.clone();
        }
        if let Some((buf, _)) = self.documents.find(path) {
            self.documents.rename(buf, to);
            let path = to.clone();
            fx.push(Effect::Editor(EditorEffect::Moved { buf, path }));
        }
        self.reviews.touch(path);
        self.reviews.touch(to);
    }

    /// The text is where it shall be: so is what is accepted of it, and the file as a whole.
    fn shift_ended(&mut self, path: &Path, moving: Moving, fx: &mut Effects) {
        let document = self.documents.find(path);
        let is_clean = document.map(|(_, document)| !document.state.modified);
        let Some(review) = self.reviews.get_mut(path) else {
            return;
        };
        let Moving {
            moved, conflicts, ..
        } = moving;
        // What save hooks have changed, or others meanwhile, is not lost in that.
        let mut base = review.ledger.base().clone();
        let bases = merge(&moved.base.0, &base, &moved.base.1);
        base.apply_all(&bases.edits);
        if base != *review.ledger.base() {
            review.rebase(base);
        }
        if moved.origin.0 != moved.origin.1 && review.origin.is_like(&moved.origin.0) {
            review.origin = moved.origin.1.clone();
        }
        if moved.turn.is_none() {
            review.from = moved.from.1.clone();
        }
        for conflict in conflicts {
            review.offer(conflict);
        }
        self.reviews.touch(path);
        let whole = moved.whole.as_ref().map(|(_, after)| after.clone());
        if let (Some(is_clean), Some(state)) = (is_clean, whole) {
            self.shift_whole(path, state, is_clean, &moved, fx);
        }
        if let Some(to) = moved.to.clone() {
            let job = self.rest_of(path, &moved, Stage::Moving);
            let (token, from) = (self.token(Job::Shift(job)), path.to_owned());
            fx.push(Effect::Host(HostEffect::MoveDisk { token, from, to }));
        }
        self.reviews.note_undone(moved);
    }

    /// Brings back what lines do not show of a buffer's file, or deletes it.
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
            // How it is written is the buffer's affair, unless that is what is taken back; its text
            // was saved just now.
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
                "{} has changes that are not saved: its permissions stay as they are.",
                path.display()
            );
            return fx.push(notify(Level::Warn, text));
        }
        let job = self.rest_of(path, moved, Stage::Whole(state.clone()));
        let (token, path) = (self.token(Job::Shift(job)), path.to_owned());
        fx.push(Effect::Host(match state.is_missing() {
            true => HostEffect::DeleteDisk { token, path },
            false => HostEffect::Restore { token, path, state },
        }));
    }

    fn rest_of(&self, path: &Path, moved: &Moved, stage: Stage) -> ShiftJob {
        ShiftJob {
            path: path.to_owned(),
            aim: Aim::Back(Box::new(moved.clone())),
            stage,
        }
    }
}
