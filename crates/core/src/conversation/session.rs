//! A session, its turn, and its phase.

use std::path::PathBuf;
use std::sync::Arc;

use crate::conversation::clock::Clock;
use crate::conversation::compaction::Compactions;
use crate::conversation::composer::Attached;
use crate::conversation::history::state::Keeping;
use crate::conversation::login::Login;
use crate::conversation::opening::Opening;
use crate::conversation::options::Options;
use crate::conversation::queue::Queue;
use crate::conversation::reach::Reach;
use crate::conversation::transcript::Transcript;
use crate::conversation::usage::Usage;
use crate::spine::event::{AgentSpec, Origin, Prompt};
use crate::spine::ids::AgentKey;
use crate::workspace::Folders;
use acp::{self, SessionId};

#[derive(Debug)]
pub struct Session {
    pub spec: AgentSpec,
    pub roots: Vec<PathBuf>,
    /// The root of its project.
    pub project: PathBuf,
    /// The process that serves it; `None` if that has ended.
    pub agent: Option<AgentKey>,
    /// The agent's id for it, kept while no process serves it.
    pub id: Option<SessionId>,
    /// It has a separate process.
    pub is_alone: bool,
    pub login: Login,
    pub reach: Reach,
    pub opening: Opening,
    pub transcript: Transcript,
    pub(crate) history: Keeping,
    pub turn: Option<Turn>,
    /// Prompts that wait for the session to be ready or for the turn to end.
    pub queue: Queue,
    /// The transcript entry that shows the rejections to report with the next prompt.
    pub along: Option<usize>,
    /// The attachments of the next prompt.
    pub attached: Attached,
    pub stop_reason: Option<String>,
    pub options: Options,
    pub title: Option<String>,
    pub compactions: Compactions,
    pub usage: Option<Usage>,
    pub commands: Arc<[acp::Command]>,
}

/// A prompt and the agent's answer.
#[derive(Debug)]
pub struct Turn {
    pub stage: TurnStage,
    pub cancelled: bool,
    /// The agent has sent output: a chunk, a tool call or a plan.
    pub spoke: bool,
    pub clock: Clock,
    /// The expected echo of the prompt; `None` once other text in the user's name has arrived.
    pub echo: Option<Echo>,
}

/// The event a turn waits for.
#[derive(Debug)]
pub enum TurnStage {
    /// A checkpoint; then the prompt is sent.
    Checkpoint(Box<Prompt>),
    /// The answer to this request.
    Answer(u64),
}

/// A prompt that the agent may echo: the part still expected, and the part removed so far.
#[derive(Debug)]
pub struct Echo {
    pub rest: String,
    pub taken: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Starting,
    Idle,
    Running,
    /// A question or a log-in waits for the user.
    Waiting,
    Dead,
}

impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Phase::Starting => "starting",
            Phase::Idle => "idle",
            Phase::Running => "running",
            Phase::Waiting => "waiting",
            Phase::Dead => "dead",
        }
    }
}

impl Session {
    pub fn new(spec: AgentSpec, roots: Vec<PathBuf>, project: PathBuf, origin: Origin) -> Self {
        let options = Options::with(&spec.defaults, &spec.remembered);
        Self {
            spec,
            roots,
            project,
            agent: None,
            is_alone: false,
            opening: Opening::of(&origin),
            id: match origin {
                Origin::New => None,
                Origin::Past { id } => Some(id),
            },
            login: Login::default(),
            reach: Reach::default(),
            transcript: Transcript::default(),
            history: Keeping::default(),
            turn: None,
            queue: Queue::default(),
            along: None,
            attached: Attached::default(),
            stop_reason: None,
            options,
            title: None,
            compactions: Compactions::default(),
            usage: None,
            commands: Arc::default(),
        }
    }

    /// Returns the folders its agent works in.
    pub fn folders(&self) -> Folders {
        Folders {
            cwd: self.spec.cwd.clone(),
            roots: self.roots.clone(),
            project: self.project.clone(),
            missing_is_empty: self.spec.missing_is_empty,
        }
    }

    /// Returns whether a prompt is a command of the agent.
    pub fn is_command(&self, prompt: &Prompt) -> bool {
        let name = prompt.text.strip_prefix('/');
        let name = name.and_then(|text| text.split_whitespace().next());
        name.is_some_and(|name| self.commands.iter().any(|command| command.name == name))
    }
}
