//! The kinds of operations on a file.
//!
//! A new kind is a variant of [`Intent`], a `plan`, and a `landed` that records the result. A plan
//! sees the file as a [`FileNow`] and changes nothing.

use std::path::PathBuf;

use super::{Change, FileNow, Landing, Next, Outcome, Plan};
use crate::spine::cx::{Effects, log};
use crate::spine::effect::Level;
use crate::spine::event::{DiskFile, DiskText, Stamp};
use crate::spine::ids::SessionKey;
use crate::spine::project::FileState;
use crate::workspace::Workspace;
use crate::workspace::changes::{Reapply, TakeIn};
use crate::workspace::files::{Read, Write};
use crate::workspace::proposals::PutBack;
use crate::workspace::reviews::{
    Aim, CHANGED, Decide, ELSEWHERE, GONE, Moved, NO_TEXT, plan_reread, plan_rest,
};

/// An intent, and the file it is about.
#[derive(Debug)]
pub(crate) struct Operation {
    pub path: PathBuf,
    pub intent: Intent,
    pub(super) tries: u32,
    /// The order of arrival; 0 for a follow-up of another operation.
    pub(super) turn: u64,
}

#[derive(Debug)]
pub(crate) enum Intent {
    /// An agent reads the file.
    Read(Read),
    /// An agent writes the file.
    Write(Write),
    /// A change on disk is merged into the buffer and the review.
    TakeIn(Box<TakeIn>),
    /// A change that the user saved over comes back.
    Reapply(Reapply),
    /// The user accepts or rejects hunks.
    Decide(Decide),
    /// A turn's changes are undone, or brought back.
    Shift(Aim),
    /// Lines come back that an agent has replaced though the user rejected that.
    PutBack(PutBack),
    /// The file gets another state as a whole; for a reject, which then goes on.
    Restore {
        state: FileState,
        is_reject: bool,
        /// The file that its buffer had when that was decided.
        under: Option<Stamp>,
    },
    /// A rejected move is taken back; then the rest is rejected.
    MoveBack(PathBuf),
    /// The file goes where it was before a turn was undone, or brought back.
    Move(Box<Moved>),
    /// The file on disk, changed by a decision, is merged into the buffer; if the decision is to
    /// reject all, the rest is rejected next.
    Reread { is_reject: bool },
    /// Mode and format are put back after the lines.
    Rest,
    /// The buffer was unloaded: the review gets the text on disk.
    Sync,
}

/// The part of an intent that other operations depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write(SessionKey),
    TakeIn(Option<SessionKey>),
    /// The user has decided something, or what follows from that.
    Decision,
}

impl Operation {
    pub fn new(path: PathBuf, intent: Intent) -> Self {
        Self {
            path,
            intent,
            tries: 0,
            turn: 0,
        }
    }
}

impl Intent {
    pub fn kind(&self) -> Kind {
        match self {
            Intent::Read(_) => Kind::Read,
            Intent::Write(write) => Kind::Write(write.session),
            Intent::TakeIn(change) => Kind::TakeIn(change.by),
            Intent::Reapply(reapply) => Kind::TakeIn(reapply.by),
            _ => Kind::Decision,
        }
    }

    /// Returns whether a folder or a pipe in the file's place means that there is no file.
    pub(super) fn is_of_missing(&self) -> bool {
        match self {
            Intent::TakeIn(change) => !change.is_link(),
            _ => self.kind() == Kind::Decision,
        }
    }
}

impl Workspace {
    /// Begins an operation, before its file is read.
    pub(super) fn starts(&mut self, op: &mut Operation, fx: &mut Effects) {
        if let Intent::TakeIn(change) = &mut op.intent {
            self.change_starts(change, fx);
        }
    }

    /// Returns whether planning an operation needs the file on disk.
    pub(super) fn reads_disk(&self, op: &Operation) -> bool {
        let is_open = self.documents.find(&op.path).is_some();
        match &op.intent {
            Intent::Write(_) | Intent::Reread { .. } | Intent::Rest | Intent::Sync => true,
            Intent::Read(_) | Intent::Decide(_) | Intent::Shift(_) | Intent::PutBack(_) => !is_open,
            // After two tries the reported file may be gone.
            Intent::TakeIn(change) => op.tries > 1 || self.reads_change(change),
            // The save has reported the file.
            Intent::Reapply(_) => op.tries > 0,
            Intent::Restore { .. } => self.restores_text(&op.path),
            Intent::MoveBack(_) | Intent::Move(_) => false,
        }
    }

    /// Returns the file under a buffer as the buffer knows it, for a write's first try: the editor
    /// changes nothing if the disk has another one when the edit is made.
    pub(super) fn known_file(&self, op: &Operation) -> Option<DiskFile> {
        let is_first_write = matches!(op.intent, Intent::Write(_)) && op.tries == 0;
        let (_, document) = self.documents.find(&op.path).filter(|_| is_first_write)?;
        Some(DiskFile {
            real: document.path.clone(),
            content: Some(DiskText {
                text: document.saved.clone()?,
                format: document.state.format,
            }),
            stamp: Some(document.stamp?),
            mode: None,
        })
    }

    /// Records what the read has shown, and what the user has decided, before the operation is
    /// planned.
    ///
    /// # Errors
    /// The file is no longer what the intent is about, for this reason.
    pub(super) fn prepare(
        &mut self,
        op: &mut Operation,
        disk: Option<&DiskFile>,
        fx: &mut Effects,
    ) -> Result<(), String> {
        let path = &op.path;
        let is_about_lines = matches!(
            op.intent,
            Intent::Decide(_) | Intent::Shift(_) | Intent::PutBack(_)
        );
        if let Some(disk) = disk.filter(|disk| is_about_lines && self.is_gone(path, disk)) {
            self.tell_found(path, disk, fx);
            return Err(GONE.to_owned());
        }
        let is_elsewhere = disk.is_some_and(|disk| self.is_elsewhere(path, disk));
        let is_restore = matches!(op.intent, Intent::Restore { .. } | Intent::Rest);
        if is_elsewhere && (is_about_lines || is_restore) {
            return Err(ELSEWHERE.to_owned());
        }
        if (is_about_lines || matches!(op.intent, Intent::Sync))
            && let Some(disk) = disk.filter(|_| !is_elsewhere)
            && !self.review_from_disk(path, disk.clone())
            && is_about_lines
        {
            return Err(NO_TEXT.to_owned());
        }
        let document = self.documents.find(path).map(|(_, document)| document);
        let restores = match &op.intent {
            // What the buffer has saved since is the user's.
            Intent::Restore { state, under, .. } => Some((
                state.text(),
                document.filter(|document| document.stamp == *under),
            )),
            Intent::Rest => Some((None, document)),
            _ => None,
        };
        if let (Some((to, document)), Some(disk)) = (restores, disk) {
            let there = disk.content.as_ref().map(|content| &content.text);
            let is_there = there.is_some() && there == to.as_ref();
            // The buffer may be gone by now.
            let is_users = matches!(&op.intent, Intent::Restore { under: Some(under), .. }
                if document.is_none() && there.is_some() && disk.stamp != Some(*under));
            if !is_there && (is_users || !self.is_known(path, disk, document)) {
                self.tell_found(path, disk, fx);
                return Err(CHANGED.to_owned());
            }
        }
        match &mut op.intent {
            Intent::TakeIn(change) => self.prepare_change(path, change, disk),
            Intent::Reapply(reapply) => self.prepare_reapply(path, reapply, disk),
            Intent::Decide(decide) => self.prepare_decision(path, decide, fx),
            Intent::Shift(aim) => self.prepare_shift(path, aim),
            Intent::Rest => self.prepare_rest(path, disk),
            _ => {}
        }
        Ok(())
    }
}

impl Intent {
    /// Returns the next step for the file in its present state.
    pub(super) fn plan(&self, now: FileNow) -> Plan {
        match self {
            Intent::Read(read) => read.plan(now),
            Intent::Write(write) => write.plan(now),
            Intent::TakeIn(change) => change.plan(now),
            Intent::Reapply(reapply) => reapply.plan(now),
            Intent::Decide(decide) => decide.plan(now),
            Intent::Shift(aim) => aim.plan(now),
            Intent::PutBack(back) => back.plan(now),
            Intent::Restore { state, .. } => {
                Plan::Disk(Change::Restore(state.clone()), Landing::Plain)
            }
            Intent::MoveBack(to) => Plan::Disk(Change::Move(to.clone()), Landing::Plain),
            Intent::Move(moved) => match &moved.to {
                Some(to) => Plan::Disk(Change::Move(to.clone()), Landing::Plain),
                None => Plan::Done(Landing::Plain),
            },
            Intent::Reread { .. } => plan_reread(now),
            Intent::Rest => plan_rest(now),
            Intent::Sync => Plan::Done(Landing::Plain),
        }
    }
}

impl Workspace {
    /// Records the result of a change.
    pub(super) fn landed(
        &mut self,
        op: &mut Operation,
        landing: Landing,
        outcome: Outcome,
        fx: &mut Effects,
    ) -> Next {
        let path = op.path.clone();
        match (&mut op.intent, landing, outcome) {
            (Intent::Read(read), Landing::Answer(answer), _) => {
                self.answer_read(&path, read, *answer, fx)
            }
            (Intent::Read(read), Landing::Refused(error), _) => {
                fx.reply_error(&read.asker, error);
                Next::Done
            }
            (Intent::Write(write), landing, outcome) => {
                self.write_landed(&path, write, landing, outcome, fx)
            }
            (Intent::TakeIn(change), landing, outcome) => {
                self.change_landed(&path, change, landing, outcome, fx)
            }
            (Intent::Reapply(reapply), Landing::Reapplied(reapplied), outcome) => {
                self.reapply_landed(&path, reapply, *reapplied, outcome, fx)
            }
            (Intent::Decide(decide), landing, outcome) => {
                self.decision_landed(&path, decide, landing, outcome, fx)
            }
            (Intent::Shift(_), landing, outcome) => self.shift_landed(&path, landing, outcome, fx),
            (Intent::PutBack(_), Landing::PutBack(text, lost), outcome) => {
                self.put_back_landed(&path, (text, lost), outcome, fx)
            }
            (
                Intent::Restore {
                    state, is_reject, ..
                },
                _,
                Outcome::Written(stamp),
            ) => self.restored(&path, state.clone(), *is_reject, stamp, fx),
            (Intent::Rest, Landing::Rest(state), Outcome::Written(stamp)) => {
                self.restored(&path, state, true, stamp, fx)
            }
            (Intent::MoveBack(to), _, Outcome::Written(stamp)) => {
                self.moved_back(&path, to, stamp, fx)
            }
            (Intent::Move(moved), ..) => self.shift_moved(&path, moved, fx),
            (Intent::Reread { is_reject }, Landing::Reread(merge), Outcome::Edited(done)) => {
                self.reread_landed(&path, *merge, *is_reject, &done, fx)
            }
            _ => Next::Done,
        }
    }

    /// Reports an operation that failed; `text` names the file and the reason.
    pub(super) fn failed(&mut self, op: Operation, text: String, fx: &mut Effects) {
        match op.intent {
            Intent::Read(read) => self.read_failed(&read, text, fx),
            Intent::Write(write) => self.write_failed(&write, text, fx),
            Intent::TakeIn(change) => self.change_failed(&change, text, fx),
            Intent::Reapply(reapply) => self.reapply_failed(&op.path, &reapply, text, fx),
            Intent::Sync => {}
            _ => {
                fx.push(log(Level::Error, text.clone()));
                self.failures.push(text);
            }
        }
    }
}
