//! The events of sessions, agents and past conversations.

use std::path::PathBuf;

use crate::conversation::history::state::Wish;
use crate::conversation::login::LoginStep;
use crate::conversation::options::Setting;
use crate::conversation::plan::PlanPlace;
use crate::conversation::queue::QueueAction;
use crate::conversation::reach::Reach;
use crate::spine::attachment::{Attachment, Image};
use crate::spine::event::{AgentSpec, Defaults, Origin, Prompt};
use crate::spine::history::{Bounds, HistoryNews};
use crate::spine::ids::{AgentKey, QueueId, SessionKey};
use crate::spine::pending::{Token, reply};
use acp::Message;

/// Events of the user that name a session.
#[derive(Debug)]
pub enum SessionEvent {
    /// The user opens a session; its key is new and its window already exists.
    Open {
        session: SessionKey,
        spec: Box<AgentSpec>,
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
    /// The user sends a prompt into the running turn.
    Steer {
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
    /// Adds a text to the prompt history.
    Remember {
        session: SessionKey,
        text: String,
    },
    /// The user starts to type a file name: list the project's files again.
    FilesWanted {
        session: SessionKey,
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
    /// The values that the user told the list of options to remember, for a session that awaits
    /// them.
    Remembered {
        session: SessionKey,
        values: Box<Defaults>,
    },
    /// The user sets a session's mode, model or other option.
    SetOption {
        session: SessionKey,
        wish: Setting,
    },
}

/// Events of an agent's process.
#[derive(Debug)]
// Boxing each message would only cost an allocation.
#[allow(clippy::large_enum_variant)]
pub enum AgentEvent {
    Started {
        agent: AgentKey,
        pid: u32,
    },
    /// The process could not be started; `why` is a sentence with the next step.
    Failed {
        agent: AgentKey,
        why: String,
    },
    Message {
        agent: AgentKey,
        message: Message,
    },
    /// The process has exited and is reaped; `stderr` holds its last lines, at most 100.
    Exited {
        agent: AgentKey,
        status: String,
        stderr: Vec<String>,
    },
}

/// Events of past sessions, and what a prompt is made of.
#[derive(Debug)]
pub enum ConversationEvent {
    /// Limits of the stored sessions; `None`: nothing is stored.
    KeepSessions(Option<Bounds>),
    /// A request about past sessions; answered by `Granted`.
    Wish { number: u32, wish: Wish },
    /// Where plans are shown while their turns run.
    PlacePlans(PlanPlace),
    /// A stored session was read, listed or changed.
    History {
        /// The token of the order; `None` if it needs no reply.
        token: Option<Token<reply::History>>,
        news: HistoryNews,
    },
    /// The answer to `ReadImage`.
    ImageRead {
        token: Token<reply::ImageRead>,
        result: Result<Image, String>,
    },
    /// The answer to `RecallPrompts`, oldest first.
    PromptsRecalled { folder: PathBuf, texts: Vec<String> },
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
}
