//! Everything that shall happen, as one closed enum: the only way out of the core.

use std::path::PathBuf;

use serde::Serialize;

use crate::conversation::history::{Granted, HistoryOrder};
use crate::render::view::{Frame, UndoView, WholeView};
use crate::spine::event::{AgentSpec, Prompt, Stamp, TerminalExit, TerminalSpec};
use crate::spine::ids::{
    AgentKey, BufId, PermissionId, SessionKey, TerminalKey, ToolUseId, TurnKey,
};
use crate::spine::pending::{Token, reply};
use crate::spine::project::{FileState, KeptReview};
use crate::text::format::Format;
use crate::text::{LineEdit, Text};
use crate::tools::{Progress, ToolResult, ToolSpec};
use acp::{Location, SessionId, path_as_text};

/// Something that shall happen. Its result, if there is one, comes back as an event.
#[derive(Debug)]
pub enum Effect {
    Host(HostEffect),
    Editor(EditorEffect),
}

/// What the host carries out.
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
    /// Replaces a file atomically, if it still has the stamp `over` (`None`: if there still is
    /// none); answered by `DiskWritten`.
    WriteDisk {
        token: Token<reply::DiskWritten>,
        path: PathBuf,
        over: Option<Stamp>,
        text: Text,
        format: Format,
    },
    /// Looks where paths lead, symbolic links followed; answered by `Resolved`.
    Resolve {
        token: Token<reply::Resolved>,
        paths: Vec<PathBuf>,
    },
    /// Deletes a file; answered by `DiskWritten`.
    DeleteDisk {
        token: Token<reply::DiskWritten>,
        path: PathBuf,
    },
    /// Begins to watch a project: takes a checkpoint, the base of all that is told of it, and
    /// reports what changes by `DiskChanged`. Once more: nothing.
    OpenProject { root: PathBuf },
    /// No session works there any more.
    CloseProject { root: PathBuf },
    /// Looks at every file of an open project, reports what has changed, and keeps the state of
    /// all; answered by `CheckpointTaken`.
    Checkpoint {
        token: Token<reply::CheckpointTaken>,
        root: PathBuf,
        /// What holds from now on, over all sessions of the project.
        turns: Turns,
    },
    /// Compares files of an open project with what was told of them, now; what has changed is
    /// reported by `DiskChanged`.
    Look { root: PathBuf, paths: Vec<PathBuf> },
    /// Files that are watched though `.gitignore` hides them: open ones, ones an agent has named.
    Track { root: PathBuf, paths: Vec<PathBuf> },
    /// The files under review: what the user's repository has of them is told by `Committed`.
    Reviewed { root: PathBuf, paths: Vec<PathBuf> },
    /// Keeps reviews for a Neovim that comes after this one, in place of what was kept of the
    /// same files; those that are over are kept no longer.
    KeepReviews {
        root: PathBuf,
        files: Vec<KeptReview>,
        over: Vec<PathBuf>,
    },
    /// Does something about what is kept of sessions; see there.
    History(HistoryOrder),
    /// Puts back what was at a path: content, kind and mode; answered by `DiskWritten`.
    Restore {
        token: Token<reply::DiskWritten>,
        path: PathBuf,
        state: FileState,
    },
    /// Moves a file where nothing is; answered by `DiskWritten`.
    MoveDisk {
        token: Token<reply::DiskWritten>,
        from: PathBuf,
        to: PathBuf,
    },
    /// Runs a command on a terminal of its own; answered by `TerminalStarted` or
    /// `TerminalFailed`, and later by `TerminalOutput`s and one `TerminalExited`.
    StartTerminal {
        terminal: TerminalKey,
        spec: TerminalSpec,
    },
    /// Types into a terminal.
    TerminalInput {
        terminal: TerminalKey,
        bytes: Vec<u8>,
    },
    ResizeTerminal {
        terminal: TerminalKey,
        columns: u16,
        rows: u16,
    },
    /// SIGTERM, then SIGKILL, to the whole process group; answered by `TerminalExited`. One that
    /// has ended already is left alone.
    KillTerminal { terminal: TerminalKey },
    /// Answered by `Timer` after `ms` milliseconds.
    Timer { token: Token<reply::Timer>, ms: u64 },
    /// Reads an image for a prompt: from a file, or from the clipboard; answered by `ImageRead`.
    ReadImage {
        token: Token<reply::ImageRead>,
        path: Option<PathBuf>,
    },
    /// Reads the prompts that were written in a folder; answered by `PromptsRecalled`.
    RecallPrompts { folder: PathBuf },
    /// Keeps a prompt that was written there.
    KeepPrompt { folder: PathBuf, text: String },
    /// Lists the files of a folder that `.gitignore` lets through; answered by `FilesListed`.
    ListFiles { folder: PathBuf },
    /// Asks git what has changed in a folder since the last commit; answered by `DiffRead`.
    Diff {
        token: Token<reply::DiffRead>,
        folder: PathBuf,
    },
    /// Runs [`crate::render::markdown::preload`] for a language; answered by `LanguageReady`.
    Preload { language: String },
    /// Agents are offered these tools from now on; those that are connected are told.
    OfferTools(std::sync::Arc<[ToolSpec]>),
    /// Whoever comes with this token reaches the tools, in the name of this session. The server
    /// listens when this is done.
    AdmitToTools { session: SessionKey, token: String },
    /// Nobody reaches the tools in the name of this session any more; who is there is put out.
    ShutOutOfTools { session: SessionKey },
    /// Answers a call, once.
    AnswerTool { id: ToolUseId, result: ToolResult },
    /// Tells a caller who wants to know how far a call is.
    ReportTool { id: ToolUseId, progress: Progress },
    /// One line for the log file.
    Log { level: Level, line: String },
}

/// What the editor carries out.
#[derive(Debug)]
pub enum EditorEffect {
    /// Something is dirty: ask for a frame when the screen has time for one.
    Wake,
    /// The answer to `FrameWanted`.
    Frame(Frame),
    /// Changes a buffer if its lines still are those of `tick`; answered by `Edited`.
    Edit {
        token: Token<reply::Edited>,
        buf: BufId,
        tick: u64,
        /// Disjoint, from the top down, in rows of the text at `tick`.
        edits: Vec<LineEdit>,
        save: Save,
    },
    /// A buffer's file was deleted because the user wanted that: nothing to complain about.
    Deleted { buf: BufId },
    /// A buffer's file was moved: the buffer gets its new name.
    Moved { buf: BufId, path: PathBuf },
    /// The user is asked whether a turn shall be undone; answered by `UndoTurn`, or not at all.
    AskUndo { turn: TurnKey, view: UndoView },
    /// The question is at the front of the queue, and the user has to choose an option.
    AskPermission { id: PermissionId },
    /// There is more to complete in the session's input than before.
    Candidates { session: SessionKey },
    /// What came of a wish for sessions of the past.
    Granted { number: u32, granted: Granted },
    /// Something of a transcript is shown in full.
    ShowWhole(WholeView),
    /// A prompt waits for the end of the turn: whoever does not see that is told.
    Queued { session: SessionKey },
    /// A prompt that has not gone out comes back into the session's input, what was attached to it
    /// as well; a draft there stays below it.
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
    /// What a handler has asked for, as the protocol answers it, or a sentence.
    ToolAnswer {
        id: ToolUseId,
        number: u32,
        result: Result<serde_json::Value, String>,
    },
    /// Nobody wants a handler's result any more: it may stop.
    StopTool { id: ToolUseId },
    /// A message for the user.
    Notify { level: Level, text: String },
    /// A `User` autocommand; the published snapshot is already the new one.
    Emit(Announcement),
}

/// Whether an edited buffer is saved, and how it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Save {
    No,
    /// As `:write` does, hooks included, if the file on disk still has this stamp (`None`: if
    /// there still is none).
    Over(Option<Stamp>),
    /// As `Over`, unless the buffer has changes that are not saved: whether those shall be is for
    /// the user to say.
    OverIfClean(Option<Stamp>),
    /// Not saved, and unmodified all the same: the file is deleted next.
    Deleted,
    /// Not saved: what the file with this stamp has is in the buffer now. Neovim shall ask
    /// nothing about it, now or at the next `:write`.
    Merged {
        stamp: Option<Stamp>,
        /// The buffer has nothing else: it is unmodified.
        is_clean: bool,
        /// How the file is written by now.
        format: Format,
    },
}

/// Whether a turn runs in a project: its files are compared again and again then, should the
/// system not be able to watch them. Never otherwise: idle costs nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turns {
    /// The checkpoint begins one, or others go on after the one it ends.
    Running,
    /// The checkpoint ends the last one.
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// The `User` autocommands and their data, serialized as Lua gets them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "pattern", content = "data")]
pub enum Announcement {
    #[serde(rename = "AcpSessionStarted")]
    SessionStarted {
        session: SessionKey,
        agent: String,
        id: SessionId,
        /// The agent goes on with a session that there was before.
        #[serde(rename = "loaded")]
        is_loaded: bool,
    },
    /// The agent goes on only for somebody who has logged in.
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
        /// The number of the rule that has answered in the user's place.
        rule: Option<usize>,
    },
    #[serde(rename = "AcpElicitationRequested")]
    ElicitationRequested { session: SessionKey, id: u64 },
    #[serde(rename = "AcpElicitationAnswered")]
    ElicitationAnswered {
        session: SessionKey,
        id: u64,
        /// `accept`, `decline` or `cancel`; `None` when the agent has taken it back.
        action: Option<String>,
    },
    /// A tool call began, or has another status.
    #[serde(rename = "AcpToolCall")]
    ToolCall {
        session: SessionKey,
        id: String,
        kind: String,
        status: &'static str,
        title: String,
        locations: Vec<Location>,
    },
    /// The plan is another one, or further on.
    #[serde(rename = "AcpPlanChanged")]
    PlanChanged {
        session: SessionKey,
        done: usize,
        total: usize,
    },
    /// A session's options have other values, or are others.
    #[serde(rename = "AcpOptionsChanged")]
    OptionsChanged {
        session: SessionKey,
        /// Their ids.
        changed: Vec<String>,
    },
    /// A command runs in a terminal, or an agent shows one of its own there.
    #[serde(rename = "AcpTerminalStarted")]
    TerminalStarted {
        session: SessionKey,
        #[serde(rename = "id")]
        terminal: TerminalKey,
        title: String,
        #[serde(serialize_with = "path_as_text")]
        cwd: PathBuf,
    },
    /// It has ended, or was never started.
    #[serde(rename = "AcpTerminalExited")]
    TerminalExited {
        session: SessionKey,
        #[serde(rename = "id")]
        terminal: TerminalKey,
        title: String,
        #[serde(flatten)]
        exit: TerminalExit,
        /// Why it was never started.
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
    /// Other prompts wait than before, or in another order.
    #[serde(rename = "AcpQueueChanged")]
    QueueChanged { session: SessionKey, queued: usize },
}
