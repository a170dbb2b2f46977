//! The events that reach the core.

use std::ops::Range;
use std::path::PathBuf;

use crate::code::Colours;
use crate::conversation::agent::Limits;
use crate::conversation::history::state::Wish;
use crate::conversation::login::LoginStep;
use crate::conversation::options::Setting;
use crate::conversation::plan::Place;
use crate::conversation::queue::QueueAction;
use crate::conversation::reach::Reach;
use crate::questions::Answer;
use crate::questions::rules::Rules;
use crate::spine::attachment::{Attachment, Image};
use crate::spine::effect::Level;
use crate::spine::event::{
    AgentSpec, BufState, DiskFile, EditDone, EditError, ListEvent, Origin, Overwritten, Prompt,
    ReviewAction, Scope, Stamp, UndoStep, WriteError,
};
use crate::spine::history::{Bounds, HistoryNews};
use crate::spine::ids::{AgentKey, BufId, QuestionId, QueueId, SessionKey, ToolUseId};
use crate::spine::pending::{Token, reply};
use crate::spine::project::{Checkpoint, Committed, FileChange, KeptReview};
use crate::spine::tool::{Door, Progress, ToolAsk, ToolResult, ToolSpec};
use crate::spine::view::{Follow, FrameSize, Whole};
use crate::terminals::{Output, TerminalEvent};
use crate::text::LineEdit;
use crate::workspace::proposals::Preview;
use acp::Message;

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
    /// The main thread is ready for a frame, with at most this much terminal output and text.
    FrameWanted {
        output: Output,
        size: FrameSize,
    },
    /// The core thread has time for the next slice of the frame it is composing.
    FrameSlice,
    /// A transcript's buffer is new or was emptied: send all of it.
    ChatEmpty {
        session: SessionKey,
    },
    /// A window shows these rows of a transcript, or some of them.
    ChatSeen {
        session: SessionKey,
        rows: Range<usize>,
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
    /// The answer to `Highlight`; without a result, the code stays plain.
    Highlighted {
        token: Token<reply::Highlighted>,
        result: Option<Colours>,
    },

    /// A task or callback panicked with this message; the panic was caught.
    Panicked {
        place: &'static str,
        message: String,
    },
}
