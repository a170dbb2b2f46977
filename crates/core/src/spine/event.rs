//! Events: the closed enum of all input to the core.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::conversation::agent::Limits;
use crate::conversation::attachment::{Attachment, Image};
use crate::conversation::history::{Bounds, HistoryNews, Wish};
use crate::conversation::login::LoginStep;
use crate::conversation::options::Setting;
use crate::conversation::plan::Place;
use crate::conversation::queue::QueueAction;
use crate::conversation::reach::Reach;
use crate::questions::Answer;
use crate::questions::rules::Rules;
use crate::render::view::Whole;
use crate::spine::effect::Level;
use crate::spine::ids::{
    AgentKey, BufId, ItemKey, QuestionId, QueueId, SessionKey, ToolUseId, TurnKey,
};
use crate::spine::pending::{Token, reply};
use crate::spine::project::{Checkpoint, Committed, FileChange, KeptReview};
use crate::terminals::{Output, TerminalEvent};
use crate::text::format::Format;
use crate::text::{LineEdit, Text};
use crate::tools::{Door, Progress, ToolAsk, ToolResult, ToolSpec};
use crate::view::follow::Follow;
use crate::workspace::proposals::Preview;
use acp::{Message, SessionId};

/// An input to the core.
#[derive(Debug)]
// Events are moved from a queue into one call; boxing the large ones would only cost an allocation.
#[allow(clippy::large_enum_variant)]
pub enum Event {
    // From the user, through the editor.
    /// The user opens a session; its key is new and its window already exists.
    Open {
        session: SessionKey,
        spec: AgentSpec,
        /// The folders the agent may read and write in, including `spec.cwd`, each also with its
        /// symbolic links resolved.
        roots: Vec<PathBuf>,
        /// `spec.cwd` with its symbolic links resolved: the project's root.
        project: PathBuf,
        origin: Origin,
        reach: Reach,
    },
    /// The user sends a prompt.
    Prompt {
        session: SessionKey,
        prompt: Prompt,
    },
    /// The user sends a prompt that takes effect at once.
    Interrupt {
        session: SessionKey,
        prompt: Prompt,
    },
    /// The user's action on a queued prompt.
    Queued {
        session: SessionKey,
        id: QueueId,
        action: QueueAction,
    },
    /// Attaches items to the session's next prompt.
    Attach {
        session: SessionKey,
        items: Vec<Attachment>,
    },
    /// Attaches an image to the next prompt: from a file, or the one in the clipboard.
    AttachImage {
        session: SessionKey,
        path: Option<PathBuf>,
    },
    /// Removes the attachment with this 0-based index, or all.
    Detach {
        session: SessionKey,
        which: Option<usize>,
    },
    Cancel {
        session: SessionKey,
    },
    /// Ends the session's agent; the transcript stays.
    Stop {
        session: SessionKey,
    },
    /// Ends the session's agent and starts it again.
    Restart {
        session: SessionKey,
    },
    /// Removes the session; its agent ends with its last session.
    Close {
        session: SessionKey,
    },
    /// The user logs in to a session's agent with this method.
    Login {
        session: SessionKey,
        method: String,
        step: LoginStep,
    },
    Logout {
        session: SessionKey,
    },
    Answer {
        id: QuestionId,
        answer: Answer,
    },
    Review {
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
    /// Sets whether a session's agent is followed; without `to`, toggles it.
    Follow {
        session: SessionKey,
        to: Option<Follow>,
    },
    /// The user sets a session's mode, model or other option.
    SetOption {
        session: SessionKey,
        wish: Setting,
    },
    /// The user wants to see part of a transcript in full; answered by `ShowWhole`.
    WholeWanted {
        session: SessionKey,
        whole: Whole,
    },
    /// An event in the review list's window.
    List(ListEvent),
    /// The configuration in force, as needed by the core.
    Configure {
        limits: Limits,
        preview: Preview,
        /// Rejected changes are reported to the agent.
        feedback: bool,
        /// Requests answered without asking the user.
        rules: Rules,
        /// Default of following for new sessions.
        follow: Follow,
    },
    /// Limits of the stored sessions; `None`: nothing is stored.
    KeepSessions(Option<Bounds>),
    /// A request about past sessions; answered by `Granted`.
    Wish {
        number: u32,
        wish: Wish,
    },
    /// Where plans are shown while their turns run.
    PlacePlans(Place),
    /// Neovim quits: every agent is shut down.
    Quit,

    /// Adds a text to the prompt history.
    Remember {
        session: SessionKey,
        text: String,
    },
    /// The user starts to type a file name: list the project's files again.
    FilesWanted {
        session: SessionKey,
    },

    // Neovim's own tools; `tools` handles them.
    /// The paths and the secret the tools need; sent once, before all other events.
    ToolDoor(Door),
    /// All defined tools, including those switched off.
    ToolsDefined(Vec<ToolSpec>),
    /// The user switches a tool on or off.
    ToolSwitched {
        name: String,
        on: bool,
    },
    /// A tool's handler makes a request for its call; answered by `ToolAnswer`.
    ToolAsked {
        id: ToolUseId,
        number: u32,
        ask: ToolAsk,
    },
    /// A tool's handler reports progress.
    ToolProgressed {
        id: ToolUseId,
        progress: Progress,
    },
    /// A tool's handler has finished.
    ToolDone {
        id: ToolUseId,
        result: ToolResult,
    },
    /// The tools' server could not be started; `why` is a sentence with the next step.
    ToolServerFailed {
        why: String,
    },
    /// The first bytes of a call have arrived.
    ToolBegun {
        id: ToolUseId,
        session: SessionKey,
        name: String,
    },
    /// A call is complete, with or without an earlier `ToolBegun`. The host has already answered a
    /// call with invalid arguments, with this text.
    ToolUsed {
        id: ToolUseId,
        session: SessionKey,
        name: String,
        arguments: Result<serde_json::Map<String, serde_json::Value>, String>,
    },
    /// The caller cancelled the call or has disconnected.
    ToolGivenUp {
        id: ToolUseId,
    },

    // From the editor itself.
    /// A line for the log only.
    Log {
        level: Level,
        line: String,
    },
    /// The main thread is ready for a frame, with at most this much terminal output.
    FrameWanted {
        output: Output,
    },
    /// The core thread has time for the next slice of the frame it is composing.
    FrameSlice,
    /// A transcript's buffer is new or was emptied: send all of it.
    ChatEmpty {
        session: SessionKey,
    },
    /// A new window shows a transcript: send its folds.
    FoldsWanted {
        session: SessionKey,
    },
    /// Lines of a file's buffer that is too large to be sent at once; `BufAttached` follows the
    /// last.
    BufSlice {
        buf: BufId,
        path: PathBuf,
        real: PathBuf,
        /// The row of the first line; 0 starts over.
        row: usize,
        /// The lines, each with its `\n`.
        text: String,
    },
    /// A file's buffer was loaded: its text, sent once.
    BufAttached {
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
    BufLines {
        buf: BufId,
        tick: u64,
        edit: LineEdit,
        /// The core's edit that caused the change, also through save hooks; `None` for changes of
        /// the user or a plugin.
        made_for: Option<Token<reply::Edited>>,
    },
    /// Options of an attached buffer changed, or it was saved (then `modified` is false).
    BufChanged {
        buf: BufId,
        state: BufState,
    },
    BufSaved {
        buf: BufId,
        stamp: Option<Stamp>,
        /// The file that it was saved over, if that was not merged into the buffer before.
        over: Option<Overwritten>,
    },
    BufDetached {
        buf: BufId,
    },
    /// Neovim found that a buffer's file has changed on disk.
    BufOutdated {
        buf: BufId,
    },
    /// The result of an `Effect::Edit`.
    Edited {
        token: Token<reply::Edited>,
        buf: BufId,
        result: Result<EditDone, EditError>,
    },

    // From the host.
    AgentStarted {
        agent: AgentKey,
        pid: u32,
    },
    /// The process could not be started; `why` is a sentence with the next step.
    AgentFailed {
        agent: AgentKey,
        why: String,
    },
    AgentMessage {
        agent: AgentKey,
        message: Message,
    },
    /// The process has exited and is reaped; `stderr` holds its last lines, at most 100.
    AgentExited {
        agent: AgentKey,
        status: String,
        stderr: Vec<String>,
    },
    DiskRead {
        token: Token<reply::DiskRead>,
        result: Result<DiskFile, String>,
    },
    /// The stamp of the file after the write.
    DiskWritten {
        token: Token<reply::DiskWritten>,
        result: Result<Option<Stamp>, WriteError>,
    },
    /// The resolved paths of a `Resolve`, in its order.
    Resolved {
        token: Token<reply::Resolved>,
        paths: Vec<PathBuf>,
    },
    /// Files of a project have changed on disk, by any program.
    DiskChanged {
        root: PathBuf,
        changes: Vec<FileChange>,
    },
    /// The answer to `Checkpoint`; all earlier changes were reported by `DiskChanged`.
    CheckpointTaken {
        token: Token<reply::CheckpointTaken>,
        result: Result<Checkpoint, String>,
    },
    /// The user's repository has new versions of files under review, in its index or HEAD.
    Committed {
        files: Vec<Committed>,
    },
    /// Reviews stored by an earlier Neovim, sent when a project is opened.
    ReviewsKept {
        root: PathBuf,
        files: Vec<KeptReview>,
    },
    /// A stored session was read, listed or changed.
    History {
        /// The token of the order; `None` if it needs no reply.
        token: Option<Token<reply::History>>,
        news: HistoryNews,
    },
    /// A project can no longer be watched; `why` is a sentence with the next step.
    WatchLimited {
        root: PathBuf,
        why: String,
    },
    /// An event of a terminal.
    Terminal(TerminalEvent),
    Timer {
        token: Token<reply::Timer>,
    },
    /// The answer to `ReadImage`.
    ImageRead {
        token: Token<reply::ImageRead>,
        result: Result<Image, String>,
    },
    /// The answer to `RecallPrompts`, oldest first.
    PromptsRecalled {
        folder: PathBuf,
        texts: Vec<String>,
    },
    /// The answer to `ListFiles`: relative paths, their number limited.
    FilesListed {
        folder: PathBuf,
        paths: Vec<Box<str>>,
    },
    /// The answer to `Diff`.
    DiffRead {
        token: Token<reply::DiffRead>,
        result: Result<String, String>,
    },
    /// A language was loaded; if that failed, its code is not highlighted.
    LanguageReady {
        language: String,
        result: Result<(), String>,
    },

    /// A task or callback panicked with this message; the panic was caught.
    Panicked {
        place: &'static str,
        message: String,
    },
}

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

/// The file at a path on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskFile {
    /// The path with symbolic links resolved; for a new file, those of its nearest existing folder.
    pub real: PathBuf,
    /// `None` if no such file exists.
    pub content: Option<DiskText>,
    /// Taken before the content was read.
    pub stamp: Option<Stamp>,
}

/// Identifies a version of a file on disk without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    pub inode: u64,
    pub bytes: u64,
    /// Time of the last change: seconds and nanoseconds.
    pub modified: (i64, i64),
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
