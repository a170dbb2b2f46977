//! The input of a plan, its output, and the result of carrying it out.

use std::path::PathBuf;

use crate::spine::effect::{EditorEffect, Effect, HostEffect, Save};
use crate::spine::event::{DiskFile, EditDone, Stamp};
use crate::spine::ids::{BufId, SessionKey};
use crate::spine::pending::Token;
use crate::spine::pending::reply::{DiskWritten, Edited};
use crate::spine::project::{Body, FileState};
use crate::text::format::Format;
use crate::text::{LineEdit, Text};
use crate::workspace::changes::{DiskMerge, Reapplied};
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
    /// The reported change of the text last saved in the buffer that waits in the lane.
    pub told: Option<(DiskFile, Option<SessionKey>)>,
    /// The session whose agent wrote the file on disk.
    pub by: Option<SessionKey>,
}

/// The next step of an operation.
#[derive(Debug)]
pub(crate) enum Plan {
    /// Change a buffer, unless it has changed since this was planned.
    Edit {
        edit: BufferEdit,
        author: Author,
        /// A review begins before the first line comes back.
        opens: Option<Box<Opens>>,
        landing: Landing,
    },
    /// Change the file on disk.
    Disk(Change, Landing),
    /// The file has changed: read it and plan again.
    Again,
    /// The operation is complete.
    Done,
    /// The operation cannot be carried out, for this reason.
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
    /// Restores a state of the file; deletes the file if that is missing.
    Restore(FileState),
    Move(PathBuf),
}

/// The data that `landed` needs when the change is made.
#[derive(Debug)]
pub(crate) enum Landing {
    /// An agent's text is in the buffer.
    Merged(Box<Merged>),
    /// An agent's text is on disk.
    Saved(Box<Saved>),
    /// The text on disk is merged into the buffer, before an agent's text.
    Foreign(Box<DiskMerge>),
    /// A change on disk is merged into the buffer; this session's agent wrote it.
    TakenIn(Box<DiskMerge>, Option<SessionKey>),
    /// A change that the user saved over is back on disk.
    Reapplied(Box<Reapplied>),
    /// A decision is carried out in the buffer, or on disk.
    Decided(End),
    DecidedOnDisk(FileState, End),
    /// A turn's changes are undone, or back, in the buffer or on disk.
    Shifted(Box<Moving>),
    ShiftedOnDisk(Box<Moving>, Format),
    /// The file on disk, changed by a decision, is merged into the buffer.
    Reread(Box<DiskMerge>),
    /// The file has this state again.
    Rest(FileState),
    /// Lines are put back: in the buffer, or on disk, which then has this text.
    PutBack(Option<Text>),
    /// The intent has all of it.
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
    /// The file's present content, if it is known.
    pub now: Option<Body>,
}

/// An edit of a buffer, rejected as a whole if the buffer has changed.
#[derive(Debug)]
pub(crate) struct BufferEdit {
    pub buf: BufId,
    tick: u64,
    edits: Vec<LineEdit>,
    save: Save,
}

/// The result of a change.
#[derive(Debug)]
pub(crate) enum Outcome {
    Edited(EditDone),
    Written(Option<Stamp>),
}

/// The continuation of an operation whose change was made.
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

    /// Leaves Neovim's knowledge of the file alone: a newer change on disk follows.
    pub fn passing(self) -> Self {
        Self {
            save: Save::No,
            ..self
        }
    }

    pub(super) fn into_effect(self, token: Token<Edited>) -> Effect {
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
    pub(super) fn into_effect(self, token: Token<DiskWritten>, path: PathBuf) -> Effect {
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
