//! A file's text and what is accepted of it, moved together: a turn that is undone or brought
//! back.
//!
//! Invariants: what is there now is moved, not what was there when it was asked for; what somebody
//! has changed since stays. A file on disk is read before it is written.

use std::path::{Path, PathBuf};

use super::FileReview;
use super::turns::Of;
use crate::core::effect::{EditorEffect, Effect, HostEffect, Level, Save};
use crate::core::event::{DiskFile, EditDone, EditError, SaveError};
use crate::core::ids::{BufId, TurnKey};
use crate::core::ledger::{Conflict, diff, merge};
use crate::core::model::{Effects, Job, Model, notify};
use crate::core::text::{LineEdit, Text};

/// A move that waits for an effect.
#[derive(Debug)]
pub struct ShiftJob {
    path: PathBuf,
    aim: Aim,
    stage: Stage,
}

/// Where a file is moved to.
#[derive(Debug, Clone)]
pub(super) enum Aim {
    /// To where it would be without a turn.
    Without(TurnKey, Of),
    /// Back to where it was before that.
    Back(Box<Moved>),
}

/// A text and its base, before they were moved and after.
#[derive(Debug, Clone)]
pub(super) struct Moved {
    turn: TurnKey,
    path: PathBuf,
    text: (Text, Text),
    base: (Text, Text),
    /// The file was deleted in that.
    was_deleted: bool,
}

impl Moved {
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A turn that was undone, and its files that were.
#[derive(Debug)]
pub(super) struct Undone {
    pub turn: TurnKey,
    pub files: Vec<Moved>,
}

#[derive(Debug)]
enum Stage {
    /// The disk is read; then the move is made from what is there.
    Reading,
    /// The editor carries the edits out.
    Editing(Box<Moving>),
    /// The disk gets the text, or the file is deleted there.
    Writing(Box<Moving>),
}

/// A move that is being carried out.
#[derive(Debug)]
struct Moving {
    moved: Moved,
    edits: Vec<LineEdit>,
    conflicts: Vec<Conflict>,
    end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Stays,
    Deleted,
    /// There was no file, and now there is one again.
    Made,
}

impl FileReview {
    fn moving(&self, path: &Path, aim: &Aim) -> Option<Moving> {
        let (current, base) = (self.ledger.current().clone(), self.ledger.base().clone());
        match aim {
            Aim::Without(turn, of) => {
                let plan = self.without_turn(*turn, *of)?;
                // What waits for a decision is not accepted by that: only the text goes.
                let after = match of {
                    Of::All => plan.base,
                    Of::Pending => base.clone(),
                };
                Some(Moving {
                    moved: Moved {
                        turn: *turn,
                        path: path.to_owned(),
                        text: (current, plan.after),
                        base: (base, after),
                        was_deleted: plan.is_deleted,
                    },
                    edits: plan.edits,
                    conflicts: plan.conflicts,
                    end: if plan.is_deleted {
                        End::Deleted
                    } else {
                        End::Stays
                    },
                })
            }
            Aim::Back(moved) => {
                let text = merge(&moved.text.1, &current, &moved.text.0);
                let mut after = current.clone();
                after.apply_all(&text.edits);
                let bases = merge(&moved.base.1, &base, &moved.base.0);
                let mut new_base = base.clone();
                new_base.apply_all(&bases.edits);
                let is_made = moved.was_deleted && current.is_empty();
                Some(Moving {
                    moved: Moved {
                        turn: moved.turn,
                        path: path.to_owned(),
                        text: (current, after),
                        base: (base, new_base),
                        was_deleted: false,
                    },
                    edits: text.edits,
                    conflicts: text.conflicts,
                    end: if is_made { End::Made } else { End::Stays },
                })
            }
        }
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
        let save = match moving.end {
            End::Deleted => Save::Deleted,
            End::Made => Save::Over(None),
            End::Stays => Save::OverIfClean(document.stamp),
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
    pub(in crate::core) fn shift_edited(
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
    pub(in crate::core) fn shift_read(
        &mut self,
        job: ShiftJob,
        result: Result<DiskFile, String>,
        fx: &mut Effects,
    ) {
        let disk = match result {
            Ok(disk) => disk,
            Err(why) => return fx.push(notify(Level::Error, why)),
        };
        self.review_from_disk(&job.path, disk);
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
        if moving.edits.is_empty() {
            return self.shift_ended(&job.path, moving, fx);
        }
        let is_base = moving.moved.text.1 == moving.moved.base.1;
        let format = match review.base_format {
            Some(format) if is_base => format,
            _ => review.format,
        };
        let (path, end) = (job.path.clone(), moving.end);
        let text = moving.moved.text.1.clone();
        let token = self.token(Job::Shift(ShiftJob {
            stage: Stage::Writing(Box::new(moving)),
            ..job
        }));
        fx.push(Effect::Host(match end {
            End::Deleted => HostEffect::DeleteDisk { token, path },
            End::Stays | End::Made => HostEffect::WriteDisk {
                token,
                path,
                text,
                format,
            },
        }));
    }

    /// Goes on when the disk has the text, or the file is deleted.
    pub(in crate::core) fn shift_written(
        &mut self,
        job: ShiftJob,
        result: Result<(), String>,
        fx: &mut Effects,
    ) {
        if let Err(why) = result {
            return fx.push(notify(Level::Error, why));
        }
        let buf = self.documents.find(&job.path).map(|(buf, _)| buf);
        let Stage::Writing(moving) = job.stage else {
            // A buffer's file, which is deleted now.
            if let Some(buf) = buf {
                fx.push(Effect::Editor(EditorEffect::Deleted { buf }));
            }
            return;
        };
        if let (Some(review), None) = (self.reviews.get_mut(&job.path), buf) {
            review.decision_wrote(moving.moved.text.1.clone());
        }
        self.shift_ended(&job.path, *moving, fx);
    }

    /// The text is where it shall be: so is what is accepted of it.
    fn shift_ended(&mut self, path: &Path, moving: Moving, fx: &mut Effects) {
        let buf = self.documents.find(path).map(|(buf, _)| buf);
        let Some(review) = self.reviews.get_mut(path) else {
            return;
        };
        let Moving {
            moved,
            conflicts,
            end,
            ..
        } = moving;
        // What save hooks have changed, or others meanwhile, is not lost in that.
        let mut base = review.ledger.base().clone();
        let bases = merge(&moved.base.0, &base, &moved.base.1);
        base.apply_all(&bases.edits);
        if base != *review.ledger.base() {
            review.rebase(base);
        }
        for conflict in conflicts {
            review.offer(conflict);
        }
        self.reviews.touch(path);
        if let (Some(_), End::Deleted) = (buf, end) {
            let job = ShiftJob {
                path: path.to_owned(),
                aim: Aim::Back(Box::new(moved.clone())),
                stage: Stage::Reading,
            };
            let token = self.token(Job::Shift(job));
            let path = path.to_owned();
            fx.push(Effect::Host(HostEffect::DeleteDisk { token, path }));
        }
        self.reviews.note_undone(moved);
    }
}

impl super::Reviews {
    /// Notes that a turn's changes of a file are undone, if such a turn is being undone.
    fn note_undone(&mut self, moved: Moved) {
        let undone = self.undone.iter_mut().rev();
        let mut undone = undone.filter(|undone| undone.turn == moved.turn);
        if let Some(undone) = undone.next() {
            undone.files.retain(|other| other.path != moved.path);
            undone.files.push(moved);
        }
    }
}

/// Returns how many lines a move adds and removes.
pub(super) fn counts(before: &Text, after: &Text) -> (usize, usize) {
    let edits = diff(before, after);
    let added = edits.iter().map(|edit| edit.lines.len()).sum();
    (added, edits.iter().map(|edit| edit.removed).sum())
}
