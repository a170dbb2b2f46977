//! Everything that happens, as one closed enum: the only way into the core.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::conversation::attachment::{Attachment, Image};
use crate::conversation::history::{Bounds, HistoryNews, Wish};
use crate::conversation::login::LoginStep;
use crate::conversation::options::Setting;
use crate::conversation::plan::Place;
use crate::conversation::queue::QueueAction;
use crate::conversation::reach::Reach;
use crate::model::Limits;
use crate::questions::elicitation::ElicitationAnswer;
use crate::questions::rules::Rules;
use crate::render::view::Whole;
use crate::spine::effect::Level;
use crate::spine::ids::{
    AgentKey, BufId, ElicitationId, ItemKey, PermissionId, QueueId, SessionKey, ToolUseId, TurnKey,
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

/// Something that happened.
#[derive(Debug)]
// An event lives from one queue to one call: boxing the large ones would only cost an allocation.
#[allow(clippy::large_enum_variant)]
pub enum Event {
    // From the user, through the editor.
    /// The user wants a session; its key is new, its window is already there.
    Open {
        session: SessionKey,
        spec: AgentSpec,
        /// The folders the agent may read and write in, `spec.cwd` among them, each also with
        /// its symbolic links resolved.
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
    /// The user sends a prompt that the agent shall turn to at once.
    Interrupt {
        session: SessionKey,
        prompt: Prompt,
    },
    /// What the user does with a prompt that waits.
    Queued {
        session: SessionKey,
        id: QueueId,
        action: QueueAction,
    },
    /// What shall go along with the session's next prompt.
    Attach {
        session: SessionKey,
        items: Vec<Attachment>,
    },
    /// An image shall go along likewise: one in a file, or the one in the clipboard.
    AttachImage {
        session: SessionKey,
        path: Option<PathBuf>,
    },
    /// One of the attachments, counted from 0, shall not go along; or none shall.
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
    /// Forgets the session; its agent ends with its last session.
    Close {
        session: SessionKey,
    },
    /// The user logs in to a session's agent, by the method with this id.
    Login {
        session: SessionKey,
        method: String,
        step: LoginStep,
    },
    Logout {
        session: SessionKey,
    },
    PermissionAnswer {
        id: PermissionId,
        option: String,
    },
    ElicitationAnswer {
        id: ElicitationId,
        answer: ElicitationAnswer,
    },
    Review {
        action: ReviewAction,
        scope: Scope,
    },
    /// A turn is undone, or brought back: the last one of this session, or of any.
    UndoTurn {
        session: Option<SessionKey>,
        step: UndoStep,
    },
    /// What was rejected is not told to the agent: of this session, or of any.
    DropFeedback {
        session: Option<SessionKey>,
    },
    /// A session's agent is followed, or not; without `to` the other one of both.
    Follow {
        session: SessionKey,
        to: Option<Follow>,
    },
    /// The user sets a session's mode, model or other option.
    SetOption {
        session: SessionKey,
        wish: Setting,
    },
    /// The user wants to see something of a transcript in full; answered by `ShowWhole`.
    WholeWanted {
        session: SessionKey,
        whole: Whole,
    },
    /// Something in the window of the review list.
    List(ListEvent),
    /// The configuration in force, as far as the core needs it.
    Configure {
        limits: Limits,
        preview: Preview,
        /// What the user rejects is told to the agent.
        feedback: bool,
        /// What is answered without the user.
        rules: Rules,
        /// Whether new sessions' agents are followed.
        follow: Follow,
    },
    /// How much is kept of sessions; `None`: nothing.
    KeepSessions(Option<Bounds>),
    /// Something is to be done about sessions of the past; answered by `Granted`.
    Wish {
        number: u32,
        wish: Wish,
    },
    /// Where plans are shown while their turns run.
    PlacePlans(Place),
    /// Neovim quits: every agent is shut down.
    Quit,

    /// The user has written this: it can be come back to.
    Remember {
        session: SessionKey,
        text: String,
    },
    /// The user begins to name a file: the project's are listed anew.
    FilesWanted {
        session: SessionKey,
    },

    // Neovim's own tools; what happens to them is told in `tools`.
    /// Where agents reach the tools, once, before anything else.
    ToolDoor(Door),
    /// The tools there are, those that are switched off among them.
    ToolsDefined(Vec<ToolSpec>),
    /// A tool of this name is switched on or off by the user.
    ToolSwitched {
        name: String,
        on: bool,
    },
    /// A tool's handler asks for something on behalf of its call; answered by `ToolAnswer`.
    ToolAsked {
        id: ToolUseId,
        number: u32,
        ask: ToolAsk,
    },
    /// A tool's handler says how far it is.
    ToolProgressed {
        id: ToolUseId,
        progress: Progress,
    },
    /// A tool's handler is done.
    ToolDone {
        id: ToolUseId,
        result: ToolResult,
    },
    /// The tools can be reached by nobody; `why` is a sentence with the next step.
    ToolServerFailed {
        why: String,
    },
    /// The first bytes of a call are there.
    ToolBegun {
        id: ToolUseId,
        session: SessionKey,
        name: String,
    },
    /// A call is complete, with or without a `ToolBegun` before it. One with wrong arguments has
    /// been answered already, with these words.
    ToolUsed {
        id: ToolUseId,
        session: SessionKey,
        name: String,
        arguments: Result<serde_json::Map<String, serde_json::Value>, String>,
    },
    /// The caller wants no answer any more, or is gone.
    ToolGivenUp {
        id: ToolUseId,
    },

    // From the editor itself.
    /// Something that is for the log alone.
    Log {
        level: Level,
        line: String,
    },
    /// The main thread is ready for a frame, which may bring so much of what terminals print.
    FrameWanted {
        output: Output,
    },
    /// The core thread has time for the next slice of the frame it is composing.
    FrameSlice,
    /// A transcript's buffer is new or was emptied: all of it is wanted again.
    ChatEmpty {
        session: SessionKey,
    },
    /// A window shows a transcript anew: its folds are wanted again.
    FoldsWanted {
        session: SessionKey,
    },
    /// Lines of a file's buffer that is too large to be sent at once; `BufAttached` is the last.
    BufSlice {
        buf: BufId,
        path: PathBuf,
        real: PathBuf,
        /// The row of the first line; 0 starts over.
        row: usize,
        /// The lines, each with its `\n`.
        text: String,
    },
    /// A file's buffer was loaded: its whole text, once.
    BufAttached {
        buf: BufId,
        path: PathBuf,
        /// `path` with symbolic links resolved.
        real: PathBuf,
        /// The row of the first line; those above have come in slices.
        row: usize,
        /// The lines, each with its `\n`.
        text: String,
        state: BufState,
        /// The file on disk that the text was read from just now; `None` when it was read
        /// before, or never.
        stamp: Option<Stamp>,
    },
    /// Lines of an attached buffer changed.
    BufLines {
        buf: BufId,
        tick: u64,
        edit: LineEdit,
        /// The edit of this client's that it is part of, save hooks included; `None` for the user's,
        /// or a plugin's.
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
    },
    BufDetached {
        buf: BufId,
    },
    /// Neovim has found that a buffer's file is another one than it was told of.
    BufOutdated {
        buf: BufId,
    },
    /// An `Effect::Edit` was carried out, or not.
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
    /// The process is gone and reaped; `stderr` holds its last lines, at most 100.
    AgentExited {
        agent: AgentKey,
        status: String,
        stderr: Vec<String>,
    },
    DiskRead {
        token: Token<reply::DiskRead>,
        result: Result<DiskFile, String>,
    },
    /// The stamp is that of what is there now.
    DiskWritten {
        token: Token<reply::DiskWritten>,
        result: Result<Option<Stamp>, WriteError>,
    },
    /// Where the paths of a `Resolve` lead, in their order.
    Resolved {
        token: Token<reply::Resolved>,
        paths: Vec<PathBuf>,
    },
    /// Files of a project have changed on disk, whoever did it.
    DiskChanged {
        root: PathBuf,
        changes: Vec<FileChange>,
    },
    /// The answer to `Checkpoint`; all that had changed before has been told by `DiskChanged`.
    CheckpointTaken {
        token: Token<reply::CheckpointTaken>,
        result: Result<Checkpoint, String>,
    },
    /// The user's repository has other versions of files under review than before.
    Committed {
        files: Vec<Committed>,
    },
    /// Reviews that a Neovim before this one has left, when a project is opened.
    ReviewsKept {
        root: PathBuf,
        files: Vec<KeptReview>,
    },
    /// Something was done about what is kept of sessions.
    History {
        /// That of the order; none where nobody waits for it.
        token: Option<Token<reply::History>>,
        news: HistoryNews,
    },
    /// The files of a project can no longer be watched; the words say why and what to do.
    WatchLimited {
        root: PathBuf,
        why: String,
    },
    /// Something happened to a terminal, or the user wants something of one.
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
    /// The answer to `ListFiles`: paths below the folder, at most so many as are of use.
    FilesListed {
        folder: PathBuf,
        paths: Vec<Box<str>>,
    },
    /// The answer to `Diff`.
    DiffRead {
        token: Token<reply::DiffRead>,
        result: Result<String, String>,
    },
    /// A language was loaded; if that failed, code in it stays plain.
    LanguageReady {
        language: String,
        result: Result<(), String>,
    },

    /// A task or a callback panicked; it was caught, and this is what it said.
    Panicked {
        place: &'static str,
        message: String,
    },
}

/// Where a session comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Origin {
    #[default]
    New,
    /// The agent has had it before: it is loaded, with all that was said.
    Past { id: SessionId },
}

/// How to start an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSpec {
    /// The name in the config.
    pub name: String,
    pub command: String,
    pub args: Vec<String>,
    /// Added to the user's whole environment.
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
    /// A file that is not there is read as an empty one: the agent takes an error for the end of
    /// what it was about to make.
    pub missing_is_empty: bool,
}

/// A command to be run in a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalSpec {
    /// A program; without arguments also a whole command line, which a shell takes apart.
    pub command: String,
    pub args: Vec<String>,
    /// Added to the user's whole environment.
    pub env: Vec<(String, String)>,
    pub cwd: PathBuf,
    pub columns: u16,
    pub rows: u16,
}

/// How a command has ended: one of both, or neither if nobody knows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TerminalExit {
    pub code: Option<u32>,
    /// `SIGKILL` and the like.
    pub signal: Option<String>,
}

/// A prompt: a text, what goes along, content blocks as the protocol has them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prompt {
    pub text: String,
    /// What the user has attached.
    pub attached: Vec<Attachment>,
    /// What the text names by an `@`.
    pub mentioned: Vec<Attachment>,
    pub blocks: Vec<serde_json::Value>,
}

/// Lines of a file that go along with a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    pub path: PathBuf,
    /// Rows of the file, 0-based and half-open.
    pub rows: std::ops::Range<usize>,
    pub text: String,
}

/// The state of a buffer that its lines do not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufState {
    /// The number of the last change of lines that the editor has reported, of any buffer.
    ///
    /// Not Neovim's changedtick, which also moves when no line has changed, and of which not
    /// every move is reported.
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

/// What happens in the window of the review list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListEvent {
    /// It is there, and shows paths relative to this folder.
    Opened { cwd: PathBuf },
    /// No window shows the list any more.
    Closed,
    /// A preview of this item is wanted, or none.
    At { item: Option<ItemKey> },
    /// Files and hunks are decided.
    Decide {
        action: ReviewAction,
        items: Vec<ItemKey>,
    },
    /// The last decision is taken back.
    Undo,
}

/// What is done about a turn that is to be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoStep {
    /// The user is told what it comes to, and asked.
    Ask,
    /// It is undone: this one, or the last one that has changed anything.
    Undo(Option<TurnKey>),
    /// What was undone last is brought back.
    Back,
}

/// Which hunks a review action is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// The hunk at `row` of a buffer.
    Hunk { buf: BufId, row: usize },
    /// The lines of hunks that lie in these rows of a buffer; a hunk without lines at one of them.
    Rows {
        buf: BufId,
        rows: std::ops::Range<usize>,
    },
    /// The hunk at `row` of a file, in a buffer or not.
    At { path: PathBuf, row: usize },
    /// As `Rows`, of a file in a buffer or not.
    Span {
        path: PathBuf,
        rows: std::ops::Range<usize>,
    },
    /// What the last turn that has changed anything has changed: of this session, or of any.
    Turn { session: Option<SessionKey> },
    /// All hunks of one file.
    File { path: PathBuf },
    /// All hunks of all files.
    All,
}

/// An edit that was carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditDone {
    pub tick: u64,
    /// `Some` when the buffer was to be saved: what came of it.
    pub saved: Option<Result<(), SaveError>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaveError {
    /// Somebody else has written to the file: it is not overwritten.
    Stale,
    /// Neovim refused, in its own words.
    Refused(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditError {
    /// The buffer is at `tick` already: compute the edit again.
    Stale { tick: u64 },
    /// The buffer is gone.
    Gone,
    /// Neovim refused, in its own words.
    Refused(String),
}

/// Why a file was not written, restored, moved or deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteError {
    /// Another file is there than the one that was read: nothing is overwritten.
    Stale,
    /// A sentence with the path and the next step.
    Failed(String),
}

impl From<String> for WriteError {
    fn from(why: String) -> Self {
        WriteError::Failed(why)
    }
}

/// What is on disk at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskFile {
    /// The path with symbolic links resolved (of the nearest folder that exists, for a new file).
    pub real: PathBuf,
    /// `None` means that there is no such file.
    pub content: Option<DiskText>,
    /// Taken before the content was read.
    pub stamp: Option<Stamp>,
}

/// Tells a file on disk from the one that was there before, without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    pub inode: u64,
    pub bytes: u64,
    /// When it was last written to: seconds and nanoseconds.
    pub modified: (i64, i64),
}

/// A file as read from disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskText {
    /// Not serialized: the host keeps texts apart, in its store.
    #[serde(skip)]
    pub text: Text,
    pub format: Format,
}
