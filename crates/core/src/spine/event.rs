//! Events: the closed enum of all input to the core.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::spine::attachment::Attachment;
use crate::spine::ids::{BufId, ItemKey, SessionKey, TurnKey};
use crate::text::Text;
use crate::text::format::Format;
use acp::SessionId;
use acp::client::ConfigValue;

/// How a session begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Origin {
    #[default]
    New,
    /// A past session of the agent is loaded with its transcript.
    Past { id: SessionId },
}

/// The command of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSpec {
    /// Its name in the config.
    pub name: String,
    pub command: String,
    pub args: Vec<String>,
    /// Added to the user's environment.
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
    /// A missing file is read as an empty one, because the agent treats an error as the failure of
    /// the file it was about to create.
    pub missing_is_empty: bool,
    pub defaults: Defaults,
    /// Those that the user told the list of options to remember follow in an event.
    pub awaits_remembered: bool,
}

/// The values that the options of an agent's sessions get.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Defaults {
    /// Ids or names.
    pub mode: Option<String>,
    pub model: Option<String>,
    /// By the ids of other options.
    pub options: Vec<(String, ConfigValue)>,
}

/// A command to run in a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalSpec {
    /// A program; without `args`, also a command line for a shell.
    pub command: String,
    pub args: Vec<String>,
    /// Added to the user's environment.
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
    pub columns: u16,
    pub rows: u16,
}

/// How a command has ended: by a code or a signal; neither if unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TerminalExit {
    pub code: Option<u32>,
    /// The signal's name, such as `SIGKILL`.
    pub signal: Option<String>,
}

/// A prompt: its text, attachments, and content blocks in the protocol's format.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prompt {
    pub text: String,
    /// Items the user attached.
    pub attached: Vec<Attachment>,
    /// Items mentioned in the text with `@`.
    pub mentioned: Vec<Attachment>,
    pub blocks: Vec<serde_json::Value>,
}

/// Lines of a file attached to a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    pub path: PathBuf,
    /// Rows of the file, 0-based and half-open.
    pub rows: std::ops::Range<usize>,
    pub text: String,
}

/// The state of a buffer apart from its lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufState {
    /// Number of the last reported change of lines, over all buffers.
    ///
    /// Not Neovim's changedtick, which also advances when no line has changed, and not always with
    /// a report.
    pub tick: u64,
    pub modified: bool,
    pub readonly: bool,
    pub format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewAction {
    Accept,
    Reject,
}

/// Events of the review list's window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListEvent {
    /// The window was opened; it shows paths relative to this folder.
    Opened { cwd: PathBuf },
    /// The last window of the list was closed.
    Closed,
    /// Requests the preview of an item, or none.
    At { item: Option<ItemKey> },
    /// Decides files and hunks.
    Decide {
        action: ReviewAction,
        items: Vec<ItemKey>,
    },
    /// Undoes the last decision.
    Undo,
}

/// A step in undoing a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoStep {
    /// Shows the user the effects of the undo, and asks.
    Ask,
    /// Undoes this turn, or the last one that changed files.
    Undo(Option<TurnKey>),
    /// Redoes the last undone turn.
    Back,
}

/// A step of a write of Neovim's to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaveStep {
    /// A buffer is about to be saved.
    Buffer,
    /// Lines are about to be written without a save of a buffer, or a buffer to another file than its
    /// name led to before. An event tells the core afterwards that they are the user's.
    Lines,
    /// The write has ended, and its event was sent.
    Ended,
}

/// The hunks a review action applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// The hunk at `row` of a buffer.
    Hunk { buf: BufId, row: usize },
    /// The lines of hunks within these rows of a buffer; a hunk without lines must touch one of
    /// them.
    Rows {
        buf: BufId,
        rows: std::ops::Range<usize>,
    },
    /// The hunk at `row` of a file, loaded in a buffer or not.
    At { path: PathBuf, row: usize },
    /// Like `Rows`, for a file that is loaded in a buffer or not.
    Span {
        path: PathBuf,
        rows: std::ops::Range<usize>,
    },
    /// The changes of the last turn that changed files: of this session, or of all.
    Turn { session: Option<SessionKey> },
    /// All hunks of one file.
    File { path: PathBuf },
    /// All hunks of all files.
    All,
}

/// A successful edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditDone {
    pub tick: u64,
    /// The result of saving, if it was requested.
    pub saved: Option<Result<(), SaveError>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaveError {
    /// Another program has changed the file: it is not overwritten.
    Stale,
    /// Neovim's error message.
    Refused(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditError {
    /// The buffer is already at `tick`: compute the edit again.
    Stale { tick: u64 },
    /// The buffer is gone.
    Gone,
    /// Neovim's error message.
    Refused(String),
}

/// Why a file was not written, restored, moved or deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteError {
    /// The file has changed since it was read: nothing is overwritten.
    Stale,
    /// A sentence with the path and the next step.
    Failed(String),
}

impl From<String> for WriteError {
    fn from(why: String) -> Self {
        WriteError::Failed(why)
    }
}

/// Why a file was not read: a sentence with the path and the next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError {
    /// There is a folder, or a pipe, a socket or a device: no file.
    Folder(String),
    Failed(String),
}

impl ReadError {
    pub fn into_words(self) -> String {
        match self {
            ReadError::Folder(why) | ReadError::Failed(why) => why,
        }
    }
}

/// The file at a path on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskFile {
    /// The path with symbolic links resolved; for a new file, those of its nearest existing folder.
    pub real: PathBuf,
    /// `None` if no such file exists.
    pub content: Option<DiskText>,
    /// Taken before the content was read.
    pub stamp: Option<Stamp>,
    /// The permission bits, if they were read.
    pub mode: Option<u32>,
}

impl DiskFile {
    pub fn missing(path: &Path) -> Self {
        Self {
            real: path.to_owned(),
            content: None,
            stamp: None,
            mode: None,
        }
    }
}

/// Identifies a version of a file on disk without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stamp {
    pub inode: u64,
    pub bytes: u64,
    /// Time of the last change: seconds and nanoseconds.
    pub modified: (i64, i64),
}

/// Returns whether one version is known to be later than another, as far as their times tell.
pub fn is_later(one: Option<Stamp>, other: Option<Stamp>) -> bool {
    one.zip(other)
        .is_some_and(|(one, other)| one.modified > other.modified)
}

/// A file that the user saved a buffer over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overwritten {
    pub stamp: Stamp,
    pub bytes: Vec<u8>,
}

/// A file as read from disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskText {
    /// Not serialized: the host stores texts separately.
    #[serde(skip)]
    pub text: Text,
    pub format: Format,
}
