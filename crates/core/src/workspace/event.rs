//! The events of buffers, reviews and projects.

use std::path::PathBuf;

use crate::spine::effect::Turns;
use crate::spine::event::{
    BufState, EditDone, EditError, Overwritten, ReviewAction, Scope, Stamp, UndoStep,
};
use crate::spine::ids::{BufId, SessionKey};
use crate::spine::pending::{Token, reply};
use crate::spine::project::{Checkpoint, Committed, FileChange, KeptReview};
use crate::text::LineEdit;

/// Events of a file's buffer.
#[derive(Debug)]
pub enum BufferEvent {
    /// Lines of a file's buffer that is too large to be sent at once; `BufAttached` follows the
    /// last.
    Slice {
        buf: BufId,
        path: PathBuf,
        real: PathBuf,
        /// The row of the first line; 0 starts over.
        row: usize,
        /// The lines, each with its `\n`.
        text: String,
    },
    /// A file's buffer was loaded: its text, sent once.
    Attached {
        buf: BufId,
        path: PathBuf,
        /// `path` with symbolic links resolved.
        real: PathBuf,
        /// The row of the first line; the lines above were sent in slices.
        row: usize,
        /// The lines, each with its `\n`.
        text: String,
        state: BufState,
        /// The file the text was just read from; `None` if it was read earlier, or never.
        stamp: Option<Stamp>,
    },
    /// Lines of an attached buffer changed.
    Lines {
        buf: BufId,
        tick: u64,
        edit: LineEdit,
        /// The core's edit that caused the change, also through save hooks; `None` for changes of
        /// the user or a plugin.
        made_for: Option<Token<reply::Edited>>,
    },
    /// Options of an attached buffer changed, or it was saved (then `modified` is false).
    Changed {
        buf: BufId,
        state: BufState,
    },
    Saved {
        buf: BufId,
        /// The path of the file with symbolic links resolved.
        real: PathBuf,
        stamp: Option<Stamp>,
        /// The file that it was saved over, if that was not merged into the buffer before.
        over: Option<Overwritten>,
        /// The core's edit that caused the save; `None` for one of the user or a plugin.
        made_for: Option<Token<reply::Edited>>,
    },
    /// Neovim has written lines of a buffer to a file without saving the buffer: to another one, as
    /// `:write NAME` does, or a part to its own.
    Written {
        path: PathBuf,
        /// The file that was there before.
        before: Option<Stamp>,
        after: Stamp,
        /// The buffer whose own file this is, and the file's present content.
        part_of: Option<(BufId, Vec<u8>)>,
    },
    Detached {
        buf: BufId,
    },
    /// Neovim found that a buffer's file has changed on disk.
    Outdated {
        buf: BufId,
    },
    /// The result of an `Effect::Edit`.
    Edited {
        token: Token<reply::Edited>,
        buf: BufId,
        result: Result<EditDone, EditError>,
    },
}

/// Decisions of the user.
#[derive(Debug)]
pub enum ReviewEvent {
    Decide {
        action: ReviewAction,
        scope: Scope,
    },
    /// Undoes or redoes a turn: the last one of this session, or of all.
    UndoTurn {
        session: Option<SessionKey>,
        step: UndoStep,
    },
    /// Discards the pending feedback about rejected changes: of this session, or of all.
    DropFeedback {
        session: Option<SessionKey>,
    },
}

/// Events of a project's files on disk.
#[derive(Debug)]
pub enum ProjectEvent {
    /// Files of a project have changed on disk, by any program.
    Changed {
        root: PathBuf,
        changes: Vec<FileChange>,
    },
    /// The answer to `Checkpoint`; all earlier changes were reported by `DiskChanged`.
    CheckpointTaken {
        token: Token<reply::CheckpointTaken>,
        result: Result<Checkpoint, String>,
    },
    /// The user's repository has new versions of files under review, in its index or HEAD. If turns
    /// ran since it was last asked, they may be an agent's.
    Committed { files: Vec<Committed>, turns: Turns },
    /// Reviews stored by an earlier Neovim, sent when a project is opened.
    ReviewsKept {
        root: PathBuf,
        files: Vec<KeptReview>,
    },
    /// A project can no longer be watched; `why` is a sentence with the next step.
    WatchLimited { root: PathBuf, why: String },
}
