//! What an operation sees of its file, what it wants done, and what came of that.

use std::path::PathBuf;

use crate::spine::effect::{EditorEffect, Effect, HostEffect, Save};
use crate::spine::event::{DiskFile, EditDone, Stamp};
use crate::spine::ids::{BufId, SessionKey, Token};
use crate::spine::project::{Body, FileState};
use crate::text::format::Format;
use crate::text::{LineEdit, Text};
use crate::workspace::changes::DiskMerge;
use crate::workspace::documents::Document;
use crate::workspace::fileops::Author;
use crate::workspace::files::{Merged, Saved};
use crate::workspace::reviews::{End, Moving};

/// A file at the time an operation is planned.
#[derive(Debug)]
pub(crate) struct FileNow<'a> {
    /// The buffer that has the file.
    pub document: Option<(BufId, &'a Document)>,
    pub disk: DiskFile,
    /// The text the session last read or wrote.
    pub seen: Option<&'a Text>,
    /// The change that was reported of the text the buffer was saved with, and not taken in yet.
    pub told: Option<(DiskFile, Option<SessionKey>)>,
    /// The session whose agent has written what is on disk.
    pub by: Option<SessionKey>,
}

/// What an operation wants done with its file next.
#[derive(Debug)]
pub(crate) enum Plan {
    /// A buffer is changed, if it still is as it was when this was planned.
    Edit {
        edit: BufferEdit,
        author: Author,
        /// A review begins before the first line comes back.
        opens: Option<Box<Opens>>,
        landing: Landing,
    },
    /// The disk is changed.
    Disk(Change, Landing),
    /// The file is not as it was: it is read, and the operation planned again.
    Again,
    /// There is nothing (more) to do.
    Done,
    /// It cannot be done; the reason.
    Fail(String),
}

/// A change of a file on disk.
#[derive(Debug)]
pub(crate) enum Change {
    /// Replaces the file that has the stamp `over`.
    Write {
        over: Option<Stamp>,
        text: Text,
        format: Format,
    },
    /// Puts back what was there; nothing, if it is missing.
    Restore(FileState),
    Move(PathBuf),
}

/// What an operation has to remember until its change is made.
#[derive(Debug)]
pub(crate) enum Landing {
    /// An agent's text is in the buffer.
    Merged(Box<Merged>),
    /// An agent's text is on disk.
    Saved(Box<Saved>),
    /// What the disk had is in the buffer, ahead of an agent's text.
    Foreign(Box<DiskMerge>),
    /// What the disk had is in the buffer; this session's agent wrote it.
    TakenIn(Box<DiskMerge>, Option<SessionKey>),
    /// A decision is carried out in the buffer, or on disk.
    Decided(End),
    DecidedOnDisk(FileState, End),
    /// A turn's changes are undone, or back, in the buffer or on disk.
    Shifted(Box<Moving>),
    ShiftedOnDisk(Box<Moving>, Format),
    /// What the disk has after a decision is in the buffer.
    Reread(Box<DiskMerge>),
    /// The file has this state again.
    Rest(FileState),
    /// Lines are put back: in the buffer, or on disk, which then has this text.
    PutBack(Option<Text>),
    /// The intent says it all.
    Plain,
}

/// A review that begins, or goes on, with a change.
#[derive(Debug)]
pub(crate) struct Opens {
    pub path: PathBuf,
    pub real: PathBuf,
    pub session: SessionKey,
    pub base: Text,
    pub origin: FileState,
    /// What the file is now, where that is known for sure.
    pub now: Option<Body>,
}

/// An edit of a buffer, of which nothing is made if the buffer has moved on.
#[derive(Debug)]
pub(crate) struct BufferEdit {
    pub buf: BufId,
    tick: u64,
    edits: Vec<LineEdit>,
    save: Save,
}

/// What has come of a change.
#[derive(Debug)]
pub(crate) enum Outcome {
    Edited(EditDone),
    Written(Option<Stamp>),
}

/// How an operation goes on when its change is made.
#[derive(Debug)]
pub(crate) enum Next {
    Done,
    Again,
    /// It is planned again, for this file on disk.
    Over(DiskFile),
}

impl BufferEdit {
    /// Returns edits of a document's text as an edit of its buffer.
    pub fn new(buf: BufId, document: &Document, edits: Vec<LineEdit>, save: Save) -> Self {
        Self {
            buf,
            tick: document.state.tick,
            edits: document.to_buffer(edits),
            save,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Says that the disk has more than this, which comes next: Neovim cannot take the buffer for
    /// what it has read.
    pub fn passing(self) -> Self {
        Self {
            save: Save::No,
            ..self
        }
    }

    pub(super) fn into_effect(self, token: Token) -> Effect {
        Effect::Editor(EditorEffect::Edit {
            token,
            buf: self.buf,
            tick: self.tick,
            edits: self.edits,
            save: self.save,
        })
    }
}

impl Change {
    pub(super) fn into_effect(self, token: Token, path: PathBuf) -> Effect {
        Effect::Host(match self {
            Change::Write { over, text, format } => HostEffect::WriteDisk {
                token,
                path,
                over,
                text,
                format,
            },
            Change::Restore(state) if state.is_missing() => HostEffect::DeleteDisk { token, path },
            Change::Restore(state) => HostEffect::Restore { token, path, state },
            Change::Move(to) => HostEffect::MoveDisk {
                token,
                from: path,
                to,
            },
        })
    }
}
