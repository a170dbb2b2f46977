//! The events that reach the core, by the room that handles them.

use std::path::PathBuf;

use crate::conversation::agent::Limits;
use crate::questions::Answer;
use crate::questions::rules::Rules;
use crate::spine::effect::Level;
use crate::spine::event::{DiskFile, ReadError, Stamp, WriteError};
use crate::spine::ids::QuestionId;
use crate::spine::pending::{Token, reply};
use crate::spine::view::Follow;
use crate::workspace::proposals::Preview;

pub use crate::conversation::event::{AgentEvent, ConversationEvent, SessionEvent};
pub use crate::terminals::TerminalEvent;
pub use crate::tools::event::ToolEvent;
pub use crate::view::event::ViewEvent;
pub use crate::workspace::event::{BufferEvent, ProjectEvent, ReviewEvent};

/// An input to the core.
#[derive(Debug)]
// Events are moved from a queue into one call; boxing the large ones would only cost an allocation.
#[allow(clippy::large_enum_variant)]
pub enum Event {
    Session(SessionEvent),
    Agent(AgentEvent),
    Conversation(ConversationEvent),
    Buffer(BufferEvent),
    Review(ReviewEvent),
    Project(ProjectEvent),
    Tool(ToolEvent),
    Terminal(TerminalEvent),
    View(ViewEvent),
    Answer {
        id: QuestionId,
        answer: Answer,
    },
    /// The configuration in force, as needed by the core.
    Configure {
        limits: Limits,
        preview: Preview,
        /// What the user allows after it was shown hunk by hunk counts as accepted.
        accept_allowed: bool,
        /// Rejected changes are reported to the agent.
        feedback: bool,
        /// Requests answered without asking the user.
        rules: Rules,
        /// Default of following for new sessions.
        follow: Follow,
    },
    /// Neovim quits: every agent is shut down.
    Quit,
    /// A line for the log only.
    Log {
        level: Level,
        line: String,
    },
    DiskRead {
        token: Token<reply::DiskRead>,
        result: Result<DiskFile, ReadError>,
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
    Timer {
        token: Token<reply::Timer>,
    },
    /// A task or callback panicked with this message; the panic was caught.
    Panicked {
        place: &'static str,
        message: String,
    },
}
