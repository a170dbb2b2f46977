//! Sub-agents with separate sessions.
//!
//! An agent announces such a sub-agent below the session that started it. What it sends is
//! translated here to what agents without such sessions send: the sub-agent is a tool call of the
//! session that the client has opened, and its messages and calls name that call as their parent.
//!
//! Invariant: outside of this file, nothing names a sub-agent's session.

use std::collections::BTreeMap;

use crate::conversation::Conversation;
use crate::render::contents::content_markdown;
use crate::spine::cx::Effects;
use crate::spine::effect::HostEffect;
use crate::spine::ids::{AgentKey, SessionKey};
use acp::{
    AgentRequest, Content, ElicitationScope, Role, SessionId, SessionMessage, SubAgentPatch,
    ToolCallId, ToolCallPatch, ToolContent, ToolKind, ToolStatus, Update, Work, client, rpc,
};

/// The sub-agents of one process.
#[derive(Debug, Default)]
pub struct SubAgents {
    by_session: BTreeMap<SessionId, SubAgent>,
    /// The messages between sessions, by the session that has them and their ids.
    messages: BTreeMap<(SessionId, String), Told>,
}

/// A message between sessions, as one of them has it. A later update may leave out either end.
#[derive(Debug, Default)]
struct Told {
    sender: Option<SessionId>,
    recipient: Option<SessionId>,
    has_text: bool,
}

impl Told {
    /// Returns who it is shown as in a session; `None` if the other session shows it, or if nobody
    /// says whose it is.
    fn role(&self, session: &SessionId, known: &BTreeMap<SessionId, SubAgent>) -> Option<Role> {
        let is_below = |id: &SessionId| known.get(id).is_some_and(|sub| sub.above == *session);
        let mut ends = [&self.sender, &self.recipient].into_iter().flatten();
        match &self.sender {
            _ if ends.any(is_below) => None,
            Some(sender) if sender == session => Some(Role::Agent),
            Some(_) => Some(Role::User),
            None => known.contains_key(session).then_some(Role::User),
        }
    }
}

#[derive(Debug)]
struct SubAgent {
    /// The session that the client has opened.
    root: SessionId,
    /// The session that started it: `root`, or another sub-agent's.
    above: SessionId,
    title: Option<String>,
    can_cancel: bool,
    state: State,
    /// How often it began to work again after an end; each time gets a new tool call.
    again: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Announced,
    Working,
    Ended,
}

impl SubAgents {
    /// Translates an update of any session; `None` if it concerns nothing that is shown.
    fn translate(&mut self, session: SessionId, update: Update) -> Option<(SessionId, Update)> {
        let update = match update {
            Update::SubAgent(patch) => return self.report(&session, patch),
            Update::SessionMessage(message) => self.message(&session, message)?,
            Update::SessionMessageChunk { id, content } => {
                self.message_goes_on(&session, id, content)?
            }
            update => update,
        };
        let Some(known) = self.by_session.get(&session) else {
            return Some((session, update));
        };
        let update = match update {
            Update::Chunk {
                role,
                message,
                content,
                ..
            } => Update::Chunk {
                role,
                message,
                parent: Some(known.call(&session)),
                content,
            },
            Update::ToolCall(patch) => Update::ToolCall(known.adopt(&session, patch)),
            Update::Notice { .. } | Update::Unknown { .. } => update,
            // The chat has one plan, and the title and options of the session the client opened.
            _ => return None,
        };
        Some((known.root.clone(), update))
    }

    /// Records an update about a sub-agent of `session`, and returns that of its tool call.
    fn report(&mut self, session: &SessionId, patch: SubAgentPatch) -> Option<(SessionId, Update)> {
        let id = patch.session.clone();
        let above = self.by_session.get(session);
        let root = above.map_or(session, |above| &above.root).clone();
        if id == root || id == *session {
            return None;
        }
        let is_new = !self.by_session.contains_key(&id);
        let known = self
            .by_session
            .entry(id.clone())
            .or_insert_with(|| SubAgent {
                root,
                above: session.clone(),
                title: None,
                can_cancel: false,
                state: State::Announced,
                again: 0,
            });
        let (root, above) = (known.root.clone(), known.above.clone());
        let mut call = known.apply(&id, is_new, patch);
        call.parent = self
            .by_session
            .get(&above)
            .map(|parent| parent.call(&above));
        Some((root, Update::ToolCall(call)))
    }

    /// Translates a message that a session has sent or received.
    ///
    /// A message between a session and its sub-agent is shown once, as the sub-agent's session has
    /// it. The answer of a sub-agent is its text. What has been shown of a message stays.
    fn message(&mut self, session: &SessionId, message: SessionMessage) -> Option<Update> {
        let mut nameless = Told::default();
        let told = match &message.id {
            Some(id) => self
                .messages
                .entry((session.clone(), id.clone()))
                .or_default(),
            None => &mut nameless,
        };
        told.sender = message.sender.or(told.sender.take());
        told.recipient = message.recipient.or(told.recipient.take());
        let texts = message.content.iter().flatten().map(content_markdown);
        let text = texts.collect::<Vec<_>>().join("\n\n");
        if told.has_text || text.is_empty() {
            return None;
        }
        told.has_text = true;
        Some(Update::Chunk {
            role: told.role(session, &self.by_session)?,
            message: message.id,
            parent: None,
            content: Content::Text(text),
        })
    }

    /// Translates a part of such a message. One that was not announced is for the sub-agent.
    fn message_goes_on(
        &mut self,
        session: &SessionId,
        id: String,
        content: Content,
    ) -> Option<Update> {
        let told = self
            .messages
            .entry((session.clone(), id.clone()))
            .or_default();
        told.has_text = true;
        Some(Update::Chunk {
            role: told.role(session, &self.by_session)?,
            message: Some(id),
            parent: None,
            content,
        })
    }

    /// Forgets which messages of a session have been shown: its agent tells them again.
    pub(super) fn forget_messages(&mut self, root: &SessionId) {
        let known = &self.by_session;
        let is_its =
            |of: &SessionId| of == root || known.get(of).is_some_and(|it| it.root == *root);
        self.messages.retain(|(of, _), _| !is_its(of));
    }

    /// Redirects a sub-agent's request to the session that the client has opened.
    fn redirect(&self, request: &mut AgentRequest) {
        let session = match request {
            AgentRequest::ReadTextFile { session, .. }
            | AgentRequest::WriteTextFile { session, .. }
            | AgentRequest::Permission { session, .. }
            | AgentRequest::Terminal { session, .. }
            | AgentRequest::Elicitation {
                scope: ElicitationScope::Session(session),
                ..
            } => session,
            AgentRequest::Elicitation { .. }
            | AgentRequest::Unknown { .. }
            | AgentRequest::Invalid { .. } => return,
        };
        let id = session.clone();
        let Some(known) = self.by_session.get(&id) else {
            return;
        };
        *session = known.root.clone();
        match request {
            AgentRequest::Permission { tool_call, .. } => {
                let patch = std::mem::replace(tool_call, ToolCallPatch::new(known.call(&id)));
                *tool_call = known.adopt(&id, patch);
            }
            AgentRequest::Elicitation { tool, .. } => {
                *tool = tool.take().map(|tool| own_id(&id, &tool));
            }
            _ => {}
        }
    }

    /// Counts the working sub-agents of a session.
    fn working(&self, root: &SessionId) -> usize {
        let is_one = |sub: &&SubAgent| sub.root == *root && sub.state == State::Working;
        self.by_session.values().filter(is_one).count()
    }

    /// Returns the working sub-agents of a session that the agent can cancel.
    fn cancellable(&self, root: &SessionId) -> impl Iterator<Item = &SessionId> {
        self.by_session.iter().filter_map(move |(id, sub)| {
            let is_one = sub.root == *root && sub.state == State::Working && sub.can_cancel;
            is_one.then_some(id)
        })
    }
}

impl SubAgent {
    /// Returns the id of its tool call.
    fn call(&self, id: &SessionId) -> ToolCallId {
        match self.again {
            0 => ToolCallId(id.0.clone()),
            again => ToolCallId(format!("{}#{again}", id.0).into()),
        }
    }

    /// Places one of its tool calls below its own. Ids are unique in one session only.
    fn adopt(&self, id: &SessionId, patch: ToolCallPatch) -> ToolCallPatch {
        ToolCallPatch {
            id: own_id(id, &patch.id),
            parent: Some(self.call(id)),
            ..patch
        }
    }

    /// Applies an update, and returns that of its tool call.
    fn apply(&mut self, id: &SessionId, is_new: bool, patch: SubAgentPatch) -> ToolCallPatch {
        let is_again = self.state == State::Ended && patch.work == Some(Work::Running);
        self.again += u32::from(is_again);
        let mut task = patch.description;
        let title = patch.title.or_else(|| {
            let mut lines = task.as_deref().unwrap_or_default().trim().lines();
            let title = lines.next().unwrap_or("Sub-agent").to_owned();
            // A task of one line is not said twice.
            if is_new && lines.next().is_none() {
                task = None;
            }
            is_new.then_some(title)
        });
        if title.is_some() {
            self.title = title.clone();
        }
        if let Some(can_cancel) = patch.can_cancel {
            self.can_cancel = can_cancel;
        }
        let failure = match &patch.work {
            Some(Work::Failed(why)) => why.clone(),
            _ => None,
        };
        let status = patch.work.and_then(|work| self.set(work));
        let texts: Vec<ToolContent> = [task, failure]
            .into_iter()
            .flatten()
            .map(|text| ToolContent::Content(Content::Text(text)))
            .collect();
        ToolCallPatch {
            title: if is_again { self.title.clone() } else { title },
            kind: (is_new || is_again).then(|| ToolKind::Unknown("sub-agent".to_owned())),
            status,
            content: (!texts.is_empty()).then_some(texts),
            ..ToolCallPatch::new(self.call(id))
        }
    }

    /// Records its activity, and returns the status of its tool call.
    fn set(&mut self, work: Work) -> Option<ToolStatus> {
        let (state, status) = match work {
            Work::Running => (State::Working, ToolStatus::InProgress),
            Work::Done => (State::Ended, ToolStatus::Completed),
            Work::Cancelled => (State::Ended, ToolStatus::Cancelled),
            Work::Failed(_) => (State::Ended, ToolStatus::Failed),
            // How it ended is not known; an end that was reported stays.
            Work::Unknown if self.state == State::Ended => return None,
            Work::Unknown => (State::Ended, ToolStatus::Cancelled),
        };
        self.state = state;
        Some(status)
    }
}

/// Returns the id in the session that the client has opened of a sub-agent's tool call.
fn own_id(session: &SessionId, call: &ToolCallId) -> ToolCallId {
    ToolCallId(format!("{}/{}", session.0, call.0).into())
}

impl Conversation {
    /// Translates an update of a sub-agent's session; see [`SubAgents`].
    pub(crate) fn translate_update(
        &mut self,
        agent: AgentKey,
        session: SessionId,
        update: Update,
    ) -> Option<(SessionId, Update)> {
        // A session that the client has opened is not hidden below another one.
        let is_open = match &update {
            Update::SubAgent(patch) => self.session_of(agent, &patch.session).is_some(),
            _ => false,
        };
        let subagents = &mut self.agents.get_mut(&agent)?.subagents;
        match is_open {
            true => None,
            false => subagents.translate(session, update),
        }
    }

    /// Translates a request of a sub-agent's session.
    pub(crate) fn translate_request(&self, agent: AgentKey, request: &mut AgentRequest) {
        if let Some(agent) = self.agents.get(&agent) {
            agent.subagents.redirect(request);
        }
    }

    /// Prepares for the replay of a session.
    pub(crate) fn is_told_anew(&mut self, agent: AgentKey, id: &SessionId) {
        if let Some(state) = self.agents.get_mut(&agent) {
            state.subagents.forget_messages(id);
        }
    }

    /// Counts the sub-agents of a session that work, in the turn or after its end.
    pub(crate) fn working_subagents(&self, key: SessionKey) -> usize {
        let works = || {
            let session = self.sessions.get(&key)?;
            let agent = self.agents.get(&session.agent?)?;
            Some(agent.subagents.working(session.id.as_ref()?))
        };
        works().unwrap_or_default()
    }

    /// Returns the messages that cancel the working sub-agents of a session.
    pub(crate) fn subagent_cancels(&self, key: SessionKey) -> Effects {
        let mut cancels = Effects::default();
        if let Some(session) = self.sessions.get(&key)
            && let (Some(agent), Some(root)) = (session.agent, &session.id)
            && let Some(state) = self.agents.get(&agent)
        {
            for id in state.subagents.cancellable(root) {
                let line = rpc::notification(client::CANCEL, client::cancel(id));
                cancels.push(HostEffect::Send { agent, line });
            }
        }
        cancels
    }
}
