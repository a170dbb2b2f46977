//! Effects: the closed enum of all output of the core.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::code::Code;
use crate::spine::event::{AgentSpec, Prompt, Stamp, TerminalExit, TerminalSpec};
use crate::spine::history::{Granted, HistoryOrder};
use crate::spine::ids::{AgentKey, BufId, SessionKey, TerminalKey, ToolUseId, TurnKey};
use crate::spine::pending::{Token, reply};
use crate::spine::project::{FileState, KeptReview};
use crate::spine::tool::{Progress, ToolResult, ToolSpec};
use crate::spine::view::{Frame, UndoView, WholeView};
use crate::text::format::Format;
use crate::text::{LineEdit, Text};
use acp::{Location, SessionId, ToolStatus, path_as_text};

/// An action outside the core. Its result, if any, is reported by an event.
#[derive(Debug)]
pub enum Effect {
    Host(HostEffect),
    Editor(EditorEffect),
}

impl From<HostEffect> for Effect {
    fn from(effect: HostEffect) -> Self {
        Self::Host(effect)
    }
}

impl From<EditorEffect> for Effect {
    fn from(effect: EditorEffect) -> Self {
        Self::Editor(effect)
    }
}

/// What a restore or a deletion may replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MayReplace {
    Anything,
    /// The file with this stamp; without one, nothing.
    Only(Option<Stamp>),
}

/// What a write of a file with several names (hard links) does to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HardLinks {
    /// All names have the same content.
    Keep,
    /// The others keep the old one.
    Break,
}

/// An action of the host.
#[derive(Debug)]
pub enum HostEffect {
    /// Answered by `AgentStarted` or `AgentFailed`, and later by `AgentExited`.
    Spawn { agent: AgentKey, spec: AgentSpec },
    /// Writes one line of JSON, without its `\n`, to the agent's stdin.
    Send { agent: AgentKey, line: String },
    /// Closes stdin, then SIGTERM, then SIGKILL to the process group; answered by `AgentExited`.
    Shutdown { agent: AgentKey },
    /// Answered by `DiskRead`.
    ReadDisk {
        token: Token<reply::DiskRead>,
        path: PathBuf,
    },
    /// Neovim has saved a buffer: a file with this stamp is complete, however new.
    Saved { stamp: Stamp },
    /// Replaces a file atomically if its stamp is still `over` (`None`: if it still does not
    /// exist); answered by `DiskWritten`. As for the next ones, a link above the file must not lead
    /// out of `roots`.
    WriteDisk {
        token: Token<reply::DiskWritten>,
        path: PathBuf,
        roots: Vec<PathBuf>,
        over: Option<Stamp>,
        hard_links: HardLinks,
        text: Text,
        format: Format,
    },
    /// Resolves symbolic links in paths; answered by `Resolved`.
    Resolve {
        token: Token<reply::Resolved>,
        paths: Vec<PathBuf>,
    },
    /// Deletes a file; answered by `DiskWritten`.
    DeleteDisk {
        token: Token<reply::DiskWritten>,
        path: PathBuf,
        roots: Vec<PathBuf>,
        over: MayReplace,
    },
    /// Starts to watch a project: takes a checkpoint, the base of later reports, and reports
    /// changes by `DiskChanged`. Has no effect on an open project.
    OpenProject { root: PathBuf },
    /// Stops watching a project, because its last session was closed.
    CloseProject { root: PathBuf },
    /// Reports all changes of an open project up to now, and stores the state of its files; answered
    /// by `CheckpointTaken`.
    Checkpoint {
        token: Token<reply::CheckpointTaken>,
        root: PathBuf,
        /// Whether turns run in the project from now on, in any session.
        turns: Turns,
    },
    /// Compares files of an open project with their last report; reports changes by `DiskChanged`.
    Look { root: PathBuf, paths: Vec<PathBuf> },
    /// Watches files although `.gitignore` hides them: open ones, and ones an agent has named.
    Track { root: PathBuf, paths: Vec<PathBuf> },
    /// Changes the set of files under review; `Committed` reports their versions in the user's
    /// repository.
    Reviewed {
        root: PathBuf,
        begun: Vec<PathBuf>,
        ended: Vec<PathBuf>,
    },
    /// All that the last turns in a project changed is in the reviews that were sent: a later Neovim
    /// need not look for more. Comes after the checkpoint that has said that no turn runs.
    TurnsAreOver { root: PathBuf },
    /// Stores reviews for a later Neovim, replaces those of the same files, and deletes finished
    /// ones.
    KeepReviews {
        root: PathBuf,
        files: Vec<KeptReview>,
        over: Vec<PathBuf>,
        /// What the user saved: if a turn is cut, such a file is not the agent's for a later Neovim.
        saved: Option<Stamp>,
    },
    /// Reads or changes stored sessions.
    History(HistoryOrder),
    /// Restores the content, kind and mode of a path; answered by `DiskWritten`.
    Restore {
        token: Token<reply::DiskWritten>,
        path: PathBuf,
        roots: Vec<PathBuf>,
        state: FileState,
        over: MayReplace,
        hard_links: HardLinks,
    },
    /// Moves a file to a path that must not exist; answered by `DiskWritten`.
    MoveDisk {
        token: Token<reply::DiskWritten>,
        from: PathBuf,
        to: PathBuf,
        roots: Vec<PathBuf>,
    },
    /// Runs a command in its own terminal; answered by `TerminalEvent`s: `Started` or `Failed`,
    /// later `Output`s and one `Exited`.
    StartTerminal {
        terminal: TerminalKey,
        spec: TerminalSpec,
    },
    /// Writes to a terminal's input.
    TerminalInput {
        terminal: TerminalKey,
        bytes: Vec<u8>,
    },
    ResizeTerminal {
        terminal: TerminalKey,
        columns: u16,
        rows: u16,
    },
    /// Sends SIGTERM, then SIGKILL, to the process group; answered by `Exited`. Has no effect on a
    /// command that has ended.
    KillTerminal { terminal: TerminalKey },
    /// Answered by `Timer` after `ms` milliseconds.
    Timer { token: Token<reply::Timer>, ms: u64 },
    /// Reads an image for a prompt from a file or the clipboard; answered by `ImageRead`.
    ReadImage {
        token: Token<reply::ImageRead>,
        path: Option<PathBuf>,
    },
    /// Reads the prompts once sent in a folder; answered by `PromptsRecalled`.
    RecallPrompts { folder: PathBuf },
    /// Stores a prompt sent in a folder.
    KeepPrompt { folder: PathBuf, text: String },
    /// Lists the files of a folder that `.gitignore` does not exclude; answered by `FilesListed`.
    ListFiles { folder: PathBuf },
    /// Runs git to get a folder's changes since the last commit; answered by `DiffRead`.
    Diff {
        token: Token<reply::DiffRead>,
        folder: PathBuf,
    },
    /// Runs [`Code::highlight`]; answered by `Highlighted`.
    Highlight {
        token: Token<reply::Highlighted>,
        code: Code,
    },
    /// Offers these tools from now on, and notifies connected agents.
    OfferTools(std::sync::Arc<[ToolSpec]>),
    /// Admits connections with this token for this session. The server listens once this is done.
    AdmitToTools { session: SessionKey, token: String },
    /// Revokes the session's token and closes its connections.
    ShutOutOfTools { session: SessionKey },
    /// Answers a call; sent once per call.
    AnswerTool { id: ToolUseId, result: ToolResult },
    /// Reports a call's progress, if its caller asked for that.
    ReportTool { id: ToolUseId, progress: Progress },
    /// One line for the log file.
    Log { level: Level, line: String },
}

/// An action of the editor.
#[derive(Debug)]
pub enum EditorEffect {
    /// The view is dirty: request a frame when the screen is ready.
    Wake,
    /// The answer to `FrameWanted`.
    Frame(Frame),
    /// Edits a buffer if its lines are still those of `tick`; answered by `Edited`.
    Edit {
        token: Token<reply::Edited>,
        buf: BufId,
        tick: u64,
        /// Disjoint, sorted, in rows of the text at `tick`.
        edits: Vec<LineEdit>,
        save: Save,
        /// What a save does to the file's other names.
        hard_links: HardLinks,
        /// A save follows no link that leads out of these folders.
        roots: Vec<PathBuf>,
    },
    /// Makes Neovim notice, without a message, that a buffer's file was deleted on request.
    Deleted { buf: BufId },
    /// Renames a buffer after its file was moved.
    Moved { buf: BufId, path: PathBuf },
    /// Attaches a buffer anew, with the text of the file that its name leads to by now: a link was
    /// made, changed or replaced there. One with unsaved lines, or below a folder that a link has replaced,
    /// is not attached while it has the text of another file.
    Relinked { buf: BufId },
    /// Asks the user whether to undo a turn; `UndoTurn` answers, if anything does.
    AskUndo { turn: TurnKey, view: UndoView },
    /// There is more to complete in the session's input than before.
    Candidates { session: SessionKey },
    /// The answer to a request about past sessions.
    Granted { number: u32, granted: Granted },
    /// Shows part of a transcript in full.
    ShowWhole(WholeView),
    /// A prompt is queued until the turn ends; notifies the user if the queue is not visible.
    Queued { session: SessionKey },
    /// Puts a prompt that was not sent back into the session's input, with its attachments; a draft
    /// stays below it.
    PutPrompt { session: SessionKey, prompt: Prompt },
    /// Runs a tool's handler; answered by `ToolDone`, with `ToolAsked` and `ToolProgressed` before.
    RunTool {
        id: ToolUseId,
        session: SessionKey,
        name: String,
        /// The folders that the session may read and write in.
        roots: Vec<PathBuf>,
        arguments: serde_json::Map<String, serde_json::Value>,
    },
    /// The answer to a handler's request, in the protocol's format, or an error message.
    ToolAnswer {
        id: ToolUseId,
        number: u32,
        result: Result<serde_json::Value, String>,
    },
    /// A handler's result is no longer needed: it may stop.
    StopTool { id: ToolUseId },
    /// Shows a message to the user.
    Notify { level: Level, text: String },
    /// Runs a `User` autocommand; the snapshot published before it is current.
    Emit(Announcement),
}

/// Whether and how an edited buffer is saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Save {
    No,
    /// Like `:write`, including hooks, if the file on disk still has this stamp (`None`: if it
    /// still does not exist).
    Over(Option<Stamp>),
    /// Like `Over`, but not if the buffer has unsaved changes: only the user saves those.
    OverIfClean(Option<Stamp>),
    /// Like `OverIfClean`, but 'fixendofline' adds no line end to the last line.
    AsItEnds(Option<Stamp>),
    /// Marked as unmodified without saving, because the file is deleted next.
    Deleted,
    /// Not saved: the buffer already contains the file with this stamp. Neovim must not ask about
    /// the changed file, now or at the next `:write`.
    Merged {
        stamp: Option<Stamp>,
        /// The buffer has no other changes: it is unmodified.
        is_clean: bool,
        /// The file's present format.
        format: Format,
    },
}

impl Save {
    /// Returns the save of what is taken back over a file with this stamp, in the format that the file
    /// gets.
    pub(crate) fn back(stamp: Option<Stamp>, format: Format) -> Self {
        match format.final_newline {
            true => Self::OverIfClean(stamp),
            false => Self::AsItEnds(stamp),
        }
    }
}

/// Whether a turn runs in a project, or an agent works outside of one. Only then, if the system cannot
/// watch its files, the host compares them repeatedly: an idle project costs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Turns {
    /// The checkpoint begins a turn, or ends one while others run.
    Running,
    /// The checkpoint ends the last turn.
    #[default]
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// The `User` autocommands and their data, as serialized for Lua.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "pattern", content = "data")]
pub enum Announcement {
    #[serde(rename = "AcpSessionStarted")]
    SessionStarted {
        session: SessionKey,
        agent: String,
        id: SessionId,
        /// The agent continues a past session.
        #[serde(rename = "loaded")]
        is_loaded: bool,
    },
    /// The agent requires the user to log in.
    #[serde(rename = "AcpLoginNeeded")]
    LoginNeeded { session: SessionKey, agent: String },
    #[serde(rename = "AcpTurnStarted")]
    TurnStarted { session: SessionKey },
    #[serde(rename = "AcpTurnEnded")]
    TurnEnded {
        session: SessionKey,
        stop_reason: String,
    },
    #[serde(rename = "AcpPermissionRequested")]
    PermissionRequested { session: SessionKey, id: u64 },
    #[serde(rename = "AcpPermissionAnswered")]
    PermissionAnswered {
        session: SessionKey,
        id: u64,
        option: Option<String>,
        /// The number of the rule that answered for the user.
        rule: Option<usize>,
    },
    #[serde(rename = "AcpElicitationRequested")]
    ElicitationRequested { session: SessionKey, id: u64 },
    #[serde(rename = "AcpElicitationAnswered")]
    ElicitationAnswered {
        session: SessionKey,
        id: u64,
        /// `accept`, `decline` or `cancel`; `None` if the agent withdrew it.
        action: Option<String>,
    },
    /// A tool call began or changed its status.
    #[serde(rename = "AcpToolCall")]
    ToolCall {
        session: SessionKey,
        id: String,
        kind: String,
        status: ToolStatus,
        title: String,
        locations: Vec<Location>,
    },
    /// The plan or its progress changed.
    #[serde(rename = "AcpPlanChanged")]
    PlanChanged {
        session: SessionKey,
        done: usize,
        total: usize,
    },
    /// A session's options or their values changed.
    #[serde(rename = "AcpOptionsChanged")]
    OptionsChanged {
        session: SessionKey,
        /// The ids of the changed options.
        changed: Vec<String>,
    },
    /// A command runs in a terminal, or an agent displays one that it runs itself.
    #[serde(rename = "AcpTerminalStarted")]
    TerminalStarted {
        session: SessionKey,
        #[serde(rename = "id")]
        terminal: TerminalKey,
        title: String,
        #[serde(serialize_with = "path_as_text")]
        cwd: PathBuf,
    },
    /// The command has ended or could not be started.
    #[serde(rename = "AcpTerminalExited")]
    TerminalExited {
        session: SessionKey,
        #[serde(rename = "id")]
        terminal: TerminalKey,
        title: String,
        #[serde(flatten)]
        exit: TerminalExit,
        /// The reason, if it could not be started.
        why: Option<String>,
    },
    #[serde(rename = "AcpReviewChanged")]
    ReviewChanged {
        #[serde(serialize_with = "path_as_text")]
        path: PathBuf,
        hunks: usize,
    },
    #[serde(rename = "AcpAgentExited")]
    AgentExited {
        session: SessionKey,
        agent: String,
        status: String,
    },
    /// The queued prompts or their order changed.
    #[serde(rename = "AcpQueueChanged")]
    QueueChanged { session: SessionKey, queued: usize },
}
