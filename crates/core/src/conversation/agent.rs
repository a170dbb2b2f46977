//! One agent process, and the requests it has not answered.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use crate::conversation::catalog::{MAX_PAGES, MAX_SESSIONS};
use crate::conversation::subagents::SubAgents;
use crate::spine::event::AgentSpec;
use crate::spine::ids::SessionKey;
use acp::client::{self, Initialized, ListedSession};
use acp::{PermissionOption, RequestId, SessionId, ToolCallPatch, Update, Way};

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
    pub(super) spec: AgentSpec,
    pub(super) state: AgentState,
    pub(super) info: Option<Initialized>,
    /// The client's requests without a response.
    pub(super) pending: BTreeMap<u64, Call>,
    /// The client's cancelled requests, which may still be answered.
    pub(super) given_up: HashSet<u64>,
    pub(super) next_id: u64,
    /// Updates for sessions whose id is not known yet: they may precede the answer to
    /// `session/new`. At most [`EARLY_UPDATES`]; more are dropped with a log line.
    pub(super) early: Vec<(SessionId, Update)>,
    /// Held permissions of such sessions.
    pub(super) early_permissions: Vec<PermissionRequest>,
    pub(super) subagents: SubAgents,
}

impl Agent {
    pub(super) fn new(spec: AgentSpec) -> Self {
        Self {
            spec,
            state: AgentState::Starting,
            info: None,
            pending: BTreeMap::new(),
            given_up: HashSet::new(),
            next_id: 0,
            early: Vec::new(),
            early_permissions: Vec::new(),
            subagents: SubAgents::default(),
        }
    }

    pub(crate) fn spec(&self) -> &AgentSpec {
        &self.spec
    }

    pub(crate) fn state(&self) -> AgentState {
        self.state
    }

    pub(crate) fn info(&self) -> Option<&Initialized> {
        self.info.as_ref()
    }

    /// Returns whether a new session is being created.
    pub(super) fn creates_session(&self) -> bool {
        let creates = |call: &Call| matches!(call, Call::NewSession(_));
        self.pending.values().any(creates)
    }

    #[cfg(test)]
    pub(crate) fn pending(&self) -> &BTreeMap<u64, Call> {
        &self.pending
    }

    #[cfg(test)]
    pub(crate) fn has_given_up(&self) -> bool {
        !self.given_up.is_empty()
    }
}

/// How many updates, and permissions, are kept for sessions that are being created.
pub(super) const EARLY_UPDATES: usize = 1000;

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
    /// Words for the running turn.
    Steer(SessionKey),
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
            Call::Steer(_) => client::STEER,
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
            | Call::Prompt(session)
            | Call::Steer(session) => Some(*session),
            Call::Authenticate { session, .. } | Call::Logout(session) => Some(*session),
            _ => None,
        }
    }
}

/// A `session/request_permission` of an agent.
#[derive(Debug)]
pub struct PermissionRequest {
    pub request: RequestId,
    pub session: SessionId,
    pub tool: ToolCallPatch,
    pub options: Vec<PermissionOption>,
}

/// The pages of a list received so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Restricts the list to sessions of this folder.
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) listed: Vec<ListedSession>,
    pub(crate) pages: usize,
}

impl Listing {
    /// Adds a page; of a session that is listed twice the first entry counts.
    pub(crate) fn add(&mut self, page: Vec<ListedSession>) {
        let mut known: HashSet<SessionId> =
            self.listed.iter().map(|it| it.session.clone()).collect();
        let fresh = page
            .into_iter()
            .filter(|it| known.insert(it.session.clone()));
        self.listed.extend(fresh);
        self.listed.truncate(MAX_SESSIONS);
        self.pages += 1;
    }

    pub(crate) fn wants_more(&self) -> bool {
        self.pages < MAX_PAGES && self.listed.len() < MAX_SESSIONS
    }
}
