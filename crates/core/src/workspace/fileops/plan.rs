//! The input of a plan, its output, and the result of carrying it out.

use std::path::{Path, PathBuf};

use crate::spine::effect::{EditorEffect, HardLinks, HostEffect, MayReplace, Save};
use crate::spine::event::{DiskFile, EditDone, Stamp};
use crate::spine::ids::{BufId, SessionKey};
use crate::spine::pending::Token;
use crate::spine::pending::reply::{DiskWritten, Edited};
use crate::spine::project::{Body, FileState};
use crate::text::format::Format;
use crate::text::{LineEdit, Text};
use crate::workspace::Workspace;
use crate::workspace::changes::{DiskMerge, Reapplied};
use crate::workspace::documents::Document;
use crate::workspace::fileops::{Author, Intent, Operation};
use crate::workspace::files::{Answer, Merged, Saved};
use crate::workspace::reviews::{End, FileReview, Moving};
use acp::RpcError;

/// A file at the time an operation is planned: all that a plan may look at.
#[derive(Debug)]
pub(crate) struct FileNow<'a> {
    pub path: &'a Path,
    /// The buffer that has the file.
    pub document: Option<(BufId, &'a Document)>,
    pub review: Option<&'a FileReview>,
    /// The file on disk, if the intent needs it.
    pub disk: Option<DiskFile>,
    workspace: &'a Workspace,
}

impl<'a> FileNow<'a> {
    pub(super) fn of(workspace: &'a Workspace, op: &'a Operation, disk: Option<DiskFile>) -> Self {
        let file = match (&op.intent, &disk) {
            // An agent may name a link to the file.
            (Intent::Read(_) | Intent::Write(_), Some(disk)) => &disk.real,
            _ => &op.path,
        };
        Self {
            path: &op.path,
            document: workspace.documents.find(file),
            review: workspace.reviews.get(file),
            disk,
            workspace,
        }
    }

    /// Returns the stamp of the file on disk.
    pub fn stamp(&self) -> Option<Stamp> {
        self.disk.as_ref()?.stamp
    }

    /// Returns the text of the file as a session last read or wrote it.
    pub fn seen(&self, key: SessionKey, real: &Path) -> Option<&'a Text> {
        self.workspace.seen(key, real)
    }

    /// Returns whether a session's agent reads a missing file as an empty one.
    pub fn missing_is_empty(&self, key: SessionKey) -> bool {
        let session = self.workspace.sessions.get(&key);
        session.is_some_and(|session| session.folders.missing_is_empty)
    }

    /// Returns an error if a session's agent may not use this file.
    pub fn check_root(&self, key: SessionKey, real: &Path) -> Result<(), RpcError> {
        self.workspace.check_root(key, real)
    }

    /// Returns the session whose agent wrote the file on disk.
    pub fn writer(&self, disk: &DiskFile) -> Option<SessionKey> {
        self.workspace.writer_of(&disk.real, disk.stamp)
    }

    /// Returns the session whose folder contains the file; of several, the newest.
    pub fn owner(&self) -> Option<SessionKey> {
        self.workspace.session_at(self.path)
    }

    /// Returns the first change in the lane that a buffer does not have, and its author; `saved` is
    /// what the buffer has of the disk.
    pub fn told(
        &self,
        document: &Document,
        saved: &Text,
    ) -> Option<(DiskFile, Option<SessionKey>)> {
        self.workspace.told_of(document, saved)
    }
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
    /// The file stays as it is, and the operation is complete.
    Done(Landing),
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
    /// An agent gets this answer to its read.
    Answer(Box<Answer>),
    /// An agent may not use the file.
    Refused(RpcError),
    /// An agent's text is in the buffer.
    Merged(Box<Merged>),
    /// An agent's text is on disk.
    Saved(Box<Saved>),
    /// The text on disk is merged into the buffer, before an agent's text.
    Foreign(Box<DiskMerge>),
    /// A change on disk is merged into the buffer; this session's agent wrote it.
    TakenIn(Box<DiskMerge>, Option<SessionKey>),
    /// A change on disk leaves the buffer's lines alone; this session's agent wrote the content.
    /// The user gets the warning.
    Noted(Option<SessionKey>, Option<String>),
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
    /// Lines are put back: in the buffer, or on disk, which then has this text. This number of
    /// edits was left out, because their lines have changed.
    PutBack(Option<Text>, usize),
    /// The intent has all of it.
    Plain,
}

/// A review that begins, or goes on, with a change.
#[derive(Debug)]
pub(crate) struct Opens {
    pub path: PathBuf,
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
    /// No change was planned.
    Unchanged,
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

    pub(super) fn into_effect(
        self,
        token: Token<Edited>,
        roots: Vec<PathBuf>,
        hard_links: HardLinks,
    ) -> EditorEffect {
        EditorEffect::Edit {
            token,
            buf: self.buf,
            tick: self.tick,
            edits: self.edits,
            save: self.save,
            hard_links,
            roots,
        }
    }
}

impl Change {
    pub(super) fn into_effect(
        self,
        token: Token<DiskWritten>,
        path: PathBuf,
        roots: Vec<PathBuf>,
        may_replace: MayReplace,
        hard_links: HardLinks,
    ) -> HostEffect {
        match self {
            Change::Write { over, text, format } => HostEffect::WriteDisk {
                token,
                path,
                roots,
                over,
                hard_links,
                text,
                format,
            },
            Change::Restore(state) if state.is_missing() => HostEffect::DeleteDisk {
                token,
                path,
                roots,
                over: may_replace,
            },
            Change::Restore(state) => HostEffect::Restore {
                token,
                path,
                roots,
                state,
                over: may_replace,
                hard_links,
            },
            Change::Move(to) => HostEffect::MoveDisk {
                token,
                from: path,
                to,
                roots,
            },
        }
    }
}
