//! A file's text and what is accepted of it, moved together: a turn that is undone or brought
//! back.
//!
//! Invariants: what is there now is moved, not what was there when it was asked for; what somebody
//! has changed since stays. A file on disk is read before it is written.

use std::path::{Path, PathBuf};

use super::FileReview;
use super::turns::Of;
use super::whole::between;
use crate::core::effect::{EditorEffect, Effect, HostEffect, Level, Save};
use crate::core::event::{DiskFile, DiskText, EditDone, EditError, SaveError, Stamp, WriteError};
use crate::core::feedback::Rejected;
use crate::core::ids::{BufId, TurnKey};
use crate::core::ledger::{Conflict, diff, merge};
use crate::core::model::{Effects, Job, Model, notify};
use crate::core::project::{Body, FileState};
use crate::core::text::{LineEdit, Text};

/// How many decisions can be taken back.
const DECISIONS: usize = 50;

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
    /// The turn that is undone or brought back; `None` for a decision.
    turn: Option<TurnKey>,
    path: PathBuf,
    text: (Text, Text),
    base: (Text, Text),
    /// The file as a whole, if that was another one.
    whole: Option<(FileState, FileState)>,
    /// What is accepted of that.
    origin: (FileState, FileState),
    /// Where it was moved to.
    to: Option<PathBuf>,
    /// Where the agent has moved it from, as far as that is to be decided.
    from: (Option<PathBuf>, Option<PathBuf>),
}

impl Moved {
    /// Begins to note what a decision does to a file.
    pub fn before(path: &Path, review: &FileReview) -> Self {
        let (text, base) = (review.ledger.current(), review.ledger.base());
        Self {
            turn: None,
            path: path.to_owned(),
            text: (text.clone(), text.clone()),
            base: (base.clone(), base.clone()),
            whole: None,
            origin: (review.origin.clone(), review.origin.clone()),
            to: None,
            from: (review.from.clone(), review.from.clone()),
        }
    }

    /// Notes what has come of it, or will with this text.
    pub fn after(mut self, review: &FileReview, text: &Text, is_deleted: bool) -> Self {
        self.text.1.clone_from(text);
        self.base.1.clone_from(review.ledger.base());
        self.origin.1.clone_from(&review.origin);
        self.from.1.clone_from(&review.from);
        self.whole = is_deleted.then(|| (review.now.clone(), FileState::missing()));
        self
    }

    /// Returns where the file is after the move.
    pub fn place(&self) -> &Path {
        self.to.as_deref().unwrap_or(&self.path)
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
    /// The file of a buffer is deleted, or gets its permissions back.
    Whole(FileState),
    /// The file is moved.
    Moving,
}

/// A move that is being carried out.
#[derive(Debug)]
struct Moving {
    moved: Moved,
    edits: Vec<LineEdit>,
    conflicts: Vec<Conflict>,
}

impl Moving {
    /// Returns the file as a whole after the move, if it is another one than before.
    fn whole(&self) -> Option<&FileState> {
        self.moved.whole.as_ref().map(|(_, after)| after)
    }

    fn is_deleted(&self) -> bool {
        self.whole().is_some_and(FileState::is_missing)
    }

    /// There was no file, and now there is one again.
    fn is_made(&self) -> bool {
        let whole = self.moved.whole.as_ref();
        whole.is_some_and(|(before, after)| before.is_missing() && !after.is_missing())
    }
}

impl ShiftJob {
    pub(super) fn path(&self) -> &PathBuf {
        &self.path
    }
}

impl FileReview {
    /// Notes what the user rejects of a turn, or wants back.
    fn note_aim(&mut self, aim: &Aim) {
        match aim {
            Aim::Without(turn, _) => {
                let known = self.of_turn(*turn);
                let rejected = known.map(|known| {
                    let (base, current) = (known.ledger.base(), known.ledger.current());
                    let hunks = known.ledger.hunks().iter();
                    let hunks = hunks.map(|hunk| Rejected::of(hunk, base, current));
                    hunks.collect::<Vec<_>>()
                });
                let whole =
                    known.map(|known| between(&known.origin, &self.now, known.from.as_deref()));
                for rejected in rejected.unwrap_or_default() {
                    self.was_rejected(rejected);
                }
                self.note_rejected_whole(whole.unwrap_or_default());
            }
            Aim::Back(moved) if moved.turn.is_some() => self.forget_rejected(),
            // What waits for a decision again is not told anyway.
            Aim::Back(_) => {}
        }
    }

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
                        turn: Some(*turn),
                        path: path.to_owned(),
                        text: (current, plan.after),
                        base: (base, after),
                        origin: match &plan.whole {
                            // It was accepted, and so is what takes its place.
                            Some(whole) if of == &Of::All && self.origin.is_like(&self.now) => {
                                (self.origin.clone(), whole.clone())
                            }
                            _ => (self.origin.clone(), self.origin.clone()),
                        },
                        whole: plan.whole.map(|whole| (self.now.clone(), whole)),
                        from: (
                            self.from.clone(),
                            self.from
                                .clone()
                                .filter(|from| plan.to.as_ref() != Some(from)),
                        ),
                        to: plan.to,
                    },
                    edits: plan.edits,
                    conflicts: plan.conflicts,
                })
            }
            Aim::Back(moved) => {
                let text = merge(&moved.text.1, &current, &moved.text.0);
                let mut after = current.clone();
                after.apply_all(&text.edits);
                let bases = merge(&moved.base.1, &base, &moved.base.0);
                let mut new_base = base.clone();
                new_base.apply_all(&bases.edits);
                let whole = moved.whole.as_ref();
                let whole = whole.filter(|(_, now)| self.now.is_like(now));
                let back = moved.to.as_ref().map(|_| moved.path.clone());
                Some(Moving {
                    moved: Moved {
                        turn: moved.turn,
                        path: path.to_owned(),
                        whole: whole.map(|(before, _)| (self.now.clone(), with(before, &after))),
                        origin: (moved.origin.1.clone(), moved.origin.0.clone()),
                        text: (current, after),
                        base: (base, new_base),
                        to: back.filter(|back| back != path),
                        from: (moved.from.1.clone(), moved.from.0.clone()),
                    },
                    edits: text.edits,
                    conflicts: text.conflicts,
                })
            }
        }
    }
}

/// Returns a file with another text, if it is one.
fn with(file: &FileState, text: &Text) -> FileState {
    let mut file = file.clone();
    if let Body::Text(content) = &mut file.body {
        content.text.clone_from(text);
    }
    file.stamp = None;
    file
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
        let over = disk.stamp;
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
        let is_base = moving.moved.text.1 == moving.moved.base.1;
        let (now, origin) = (review.now.format(), review.origin.format());
        let format = origin.filter(|_| is_base).or(now).unwrap_or_default();
        let (path, whole) = (job.path.clone(), moving.whole().cloned());
        if moving.edits.is_empty() && whole.is_none() {
            return self.shift_ended(&job.path, moving, fx);
        }
        let text = moving.moved.text.1.clone();
        let token = self.token(Job::Shift(ShiftJob {
            stage: Stage::Writing(Box::new(moving)),
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
    pub(in crate::core) fn shift_written(
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
            (Stage::Writing(moving), Some(review), None) => {
                if let Some(whole) = moving.whole() {
                    review.now = whole.clone();
                }
                review.now.stamp = stamp;
                review.decision_wrote(moving.moved.text.1.clone());
                self.shift_ended(&job.path, *moving, fx);
            }
            (Stage::Whole(state), review, buf) => {
                if let (Some(buf), true) = (buf, state.is_missing()) {
                    fx.push(Effect::Editor(EditorEffect::Deleted { buf }));
                }
                if let Some(review) = review {
                    review.now = FileState { stamp, ..state };
                }
                self.reviews.touch(&job.path);
            }
            // It is in a buffer by now: all that is left is what others have done to it there.
            (Stage::Writing(moving), _, _) => self.shift_ended(&job.path, *moving, fx),
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
            // How it is written is the buffer's affair; its text was saved just now.
            *content = DiskText {
                text: document.text.clone(),
                format: document.state.format,
            };
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

impl super::Reviews {
    /// Begins to note what is decided now, to be taken back as one.
    pub(in crate::core) fn begin_decision(&mut self) {
        self.decided.retain(|decision| !decision.is_empty());
        let many = (self.decided.len() + 1).saturating_sub(DECISIONS);
        self.decided.drain(..many);
        self.decided.push(Vec::new());
    }

    /// Notes what a decision does to a file.
    pub(super) fn note_decided(&mut self, moved: Moved) {
        if let Some(decision) = self.decided.last_mut() {
            decision.retain(|other| other.path != moved.path);
            decision.push(moved);
        }
    }

    /// Takes the last decision out.
    pub(super) fn last_decision(&mut self) -> Vec<Moved> {
        self.decided.retain(|decision| !decision.is_empty());
        self.decided.pop().unwrap_or_default()
    }

    /// Notes that a turn's changes of a file are undone, if such a turn is being undone.
    fn note_undone(&mut self, moved: Moved) {
        let undone = self.undone.iter_mut().rev();
        let mut undone = undone.filter(|undone| Some(undone.turn) == moved.turn);
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
