//! The whole state, owned by the core thread alone.
//!
//! Invariant: everything the screen and the public API show is derived from here.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::terminals::Terminals;
use super::tools::Tools;
use crate::conversation::catalog::Listing;
use crate::conversation::compaction::Compactions;
use crate::conversation::composer::{Attached, Listings};
use crate::conversation::history::{Keeping, Pasts};
use crate::conversation::jobs::{Jobs, TimerJob};
use crate::conversation::login::{Login, Logins};
use crate::conversation::opening::Opening;
use crate::conversation::options::Options;
use crate::conversation::plan::Place;
use crate::conversation::progress::TerminalsTold;
use crate::conversation::questions::PermissionRequest;
use crate::conversation::queue::Queue;
use crate::conversation::reach::Reach;
use crate::conversation::recall::Recall;
use crate::conversation::transcript::Transcript;
pub use crate::conversation::usage::Usage;
use crate::questions::Questions;
use crate::render::markdown::Languages;
use crate::spine::cx::Effects;
use crate::spine::effect::{Effect, HostEffect, Level};
use crate::spine::event::{AgentSpec, Origin, Prompt};
use crate::spine::ids::{AgentKey, SessionKey};
use crate::view::chat::ChatView;
use crate::view::follow::Following;
use crate::view::frame::FrameState;
use crate::view::reviewlist::ReviewList;
use crate::workspace::{Folders, Workspace};
use acp::client::{self, Initialized};
use acp::{self, SessionId, Update, Way, rpc};

#[derive(Debug, Default)]
pub struct Model {
    pub agents: BTreeMap<AgentKey, Agent>,
    pub sessions: BTreeMap<SessionKey, Session>,
    pub workspace: Workspace,
    pub(crate) list: ReviewList,
    pub questions: Questions,
    pub(crate) terminals_told: TerminalsTold,
    pub terminals: Terminals,
    pub languages: Languages,
    pub(crate) jobs: Jobs,
    pub(crate) following: Following,
    pub(crate) tools: Tools,
    pub(crate) past: Pasts,
    pub(crate) logins: Logins,
    pub(crate) frame: FrameState,
    pub(crate) listings: Listings,
    pub(crate) recall: Recall,
    /// Time limits, in milliseconds.
    pub limits: Limits,
    pub(crate) feedback_is_dirty: bool,
    /// The place of a plan while its turn runs.
    pub plan_place: Place,
    next_agent: u32,
}

/// Timeouts for an agent's answers.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub control_ms: u64,
}

impl Default for Limits {
    /// Half a minute more than a launcher needs to download its agent first.
    fn default() -> Self {
        Self { control_ms: 90_000 }
    }
}

/// One process of an agent.
#[derive(Debug)]
pub struct Agent {
    pub spec: AgentSpec,
    pub state: AgentState,
    pub info: Option<Initialized>,
    /// The client's requests without a response.
    pub pending: HashMap<u64, Call>,
    /// The client's cancelled requests, which may still be answered.
    pub given_up: HashSet<u64>,
    pub next_id: u64,
    /// Updates for sessions whose id is not known yet: they may precede the answer to
    /// `session/new`. At most [`EARLY_UPDATES`]; more are dropped with a log line.
    pub early: Vec<(SessionId, Update)>,
    /// Permissions of such sessions, held likewise.
    pub early_permissions: Vec<PermissionRequest>,
}

/// How many updates, and permissions, are kept for sessions that are being created.
pub const EARLY_UPDATES: usize = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentState {
    Starting,
    Ready,
    /// The client has asked it to end.
    Leaving,
}

/// A request of the client, with the context of its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    Initialize,
    NewSession(SessionKey),
    LoadSession(SessionKey),
    ResumeSession(SessionKey),
    Prompt(SessionKey),
    SetOption {
        session: SessionKey,
        /// The number of the change.
        change: u64,
        way: Way,
    },
    /// With the id of the log-in method.
    Authenticate {
        session: SessionKey,
        method: String,
    },
    Logout(SessionKey),
    /// One page of the list of stored sessions.
    ListSessions(Box<Listing>),
    CloseSession(SessionId),
    DeleteSession(SessionId),
    /// An abandoned opening request: its method, and the session's id if it has one. The session is
    /// closed if the agent opens it.
    Orphan(&'static str, Option<SessionId>),
}

impl Call {
    pub fn method(&self) -> &'static str {
        match self {
            Call::Initialize => client::INITIALIZE,
            Call::NewSession(_) => client::NEW_SESSION,
            Call::LoadSession(_) => client::LOAD_SESSION,
            Call::ResumeSession(_) => client::RESUME_SESSION,
            Call::Prompt(_) => client::PROMPT,
            Call::SetOption { way, .. } => match way {
                Way::Config => client::SET_CONFIG_OPTION,
                Way::Mode => client::SET_MODE,
                Way::Model => client::SET_MODEL,
            },
            Call::Authenticate { .. } => client::AUTHENTICATE,
            Call::Logout(_) => client::LOGOUT,
            Call::ListSessions(_) => client::LIST_SESSIONS,
            Call::CloseSession(_) => client::CLOSE_SESSION,
            Call::DeleteSession(_) => client::DELETE_SESSION,
            Call::Orphan(method, _) => method,
        }
    }

    /// Returns the open session that the call concerns.
    pub fn session(&self) -> Option<SessionKey> {
        match self {
            Call::NewSession(session)
            | Call::LoadSession(session)
            | Call::ResumeSession(session)
            | Call::Prompt(session) => Some(*session),
            Call::Authenticate { session, .. } | Call::Logout(session) => Some(*session),
            _ => None,
        }
    }
}

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
    pub chat: ChatView,
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
    pub stage: Stage,
    pub cancelled: bool,
    /// The agent has sent output: a chunk, a tool call or a plan.
    pub spoke: bool,
    /// The expected echo of the prompt; `None` once other text in the user's name has arrived.
    pub echo: Option<Echo>,
}

/// The event a turn waits for.
#[derive(Debug)]
pub enum Stage {
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
            chat: ChatView::default(),
            turn: None,
            queue: Queue::default(),
            along: None,
            attached: Attached::default(),
            stop_reason: None,
            options: Options::default(),
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

impl Model {
    pub(crate) fn new_agent_key(&mut self) -> AgentKey {
        self.next_agent += 1;
        AgentKey(self.next_agent)
    }

    pub fn phase(&self, key: SessionKey) -> Phase {
        let Some(session) = self.sessions.get(&key) else {
            return Phase::Dead;
        };
        if session.history.is_looked_for {
            Phase::Starting
        } else if session.agent.is_none() {
            Phase::Dead
        } else if self.questions.wait_in(key) || session.login.is_needed {
            Phase::Waiting
        } else if session.turn.is_some() {
            Phase::Running
        } else if !session.opening.is_open() {
            Phase::Starting
        } else {
            Phase::Idle
        }
    }

    /// Returns the session with this id of an agent.
    pub fn session_of(&self, agent: AgentKey, id: &SessionId) -> Option<SessionKey> {
        self.sessions
            .iter()
            .find(|(_, session)| session.agent == Some(agent) && session.id.as_ref() == Some(id))
            .map(|(key, _)| *key)
    }

    /// Returns the sessions a process serves.
    pub fn sessions_of(&self, agent: AgentKey) -> Vec<SessionKey> {
        let served = self.sessions.iter();
        served
            .filter(|(_, session)| session.agent == Some(agent))
            .map(|(key, _)| *key)
            .collect()
    }

    /// Sends a request and records the context of its answer.
    pub(crate) fn request(
        &mut self,
        agent: AgentKey,
        call: Call,
        params: impl serde::Serialize,
        fx: &mut Effects,
    ) -> Option<u64> {
        let state = self.agents.get_mut(&agent)?;
        let id = state.next_id;
        state.next_id += 1;
        let line = rpc::request(id, call.method(), params);
        let is_control = call.is_limited();
        state.pending.insert(id, call);
        fx.push(Effect::Host(HostEffect::Send { agent, line }));
        if is_control {
            self.limit(agent, id, fx);
        }
        Some(id)
    }

    /// Starts the timeout of a request.
    pub(crate) fn limit(&mut self, agent: AgentKey, id: u64, fx: &mut Effects) {
        let ms = self.limits.control_ms;
        let token = self.jobs.timers.add(TimerJob::Control { agent, id });
        fx.push(Effect::Host(HostEffect::Timer { token, ms }));
    }

    /// Writes a notice into a session's transcript.
    pub(crate) fn notice(&mut self, key: SessionKey, level: Level, text: impl Into<String>) {
        if let Some(session) = self.sessions.get_mut(&key) {
            session.transcript.notice(level, text);
        }
    }
}
