//! What agents ask the user for, by a form or by a page, as one queue over all sessions.
//!
//! Invariants: a request in the queue has had no response yet; leaving the queue and being
//! answered are one step. Of these and the permissions one question is shown at a time, the
//! oldest first, and one that is shown stays until it is answered.

use serde_json::{Map, Value as Json};

use crate::model::{Call, Model};
use crate::questions::form::Form;
use crate::questions::page::Page;
use crate::questions::permission::{Permission, unknown_session, was_cancelled};
use crate::render::toolview;
use crate::render::view::{ElicitationView, Line};
use crate::spine::asker::Asker;
use crate::spine::cx::{Effects, emit, log, notify};
use crate::spine::effect::{Announcement, Level};
use crate::spine::ids::{AgentKey, ElicitationId, PermissionId, SessionKey};
use acp::{ElicitationMode, ElicitationScope, RequestId, RpcError, SessionId, ToolCallId, client};

/// Open requests. An agent waits for its answers, so there are few.
#[derive(Debug, Default)]
pub struct Elicitations {
    /// Oldest first.
    queue: Vec<Elicitation>,
    /// The one on the screen.
    shown: Option<ElicitationId>,
    /// The editor shows one, as far as it was told.
    is_on_screen: bool,
    /// Pages that were opened and of which the agent has not said yet that they are done.
    opened: Vec<Opened>,
}

/// A question of an agent that waits for the user.
#[derive(Debug)]
pub struct Elicitation {
    pub id: ElicitationId,
    pub session: SessionKey,
    pub asker: Asker,
    /// What it is asked for.
    tool: Option<ToolCallId>,
    pub message: String,
    pub ask: Ask,
    /// How much depends on the answer, where that is said.
    importance: Option<Importance>,
}

/// How much depends on an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Importance {
    Low,
    Medium,
    High,
    Critical,
}

impl Importance {
    /// Reads one by its name.
    pub fn of(name: &Json) -> Option<Self> {
        let all = [Self::Low, Self::Medium, Self::High, Self::Critical];
        all.into_iter().find(|one| name == one.name())
    }

    fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

/// How the user is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    Form(Form),
    Page {
        page: Page,
        /// What the agent calls it when it is done.
        id: String,
    },
}

#[derive(Debug)]
struct Opened {
    agent: AgentKey,
    session: SessionKey,
    id: String,
    host: String,
}

/// How many opened pages are waited for; the oldest are forgotten, which costs a line in the chat.
const OPENED: usize = 100;

/// What the user says to a question.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationAnswer {
    /// Yes; a form with what it was filled in with.
    Accept(Map<String, Json>),
    /// No.
    Decline,
    /// Neither.
    Cancel,
}

impl ElicitationAnswer {
    /// Returns the protocol's word.
    pub fn action(&self) -> &'static str {
        match self {
            ElicitationAnswer::Accept(_) => "accept",
            ElicitationAnswer::Decline => "decline",
            ElicitationAnswer::Cancel => "cancel",
        }
    }
}

/// A request as it came.
#[derive(Debug)]
pub struct Asked {
    pub request: RequestId,
    pub scope: ElicitationScope,
    pub tool: Option<ToolCallId>,
    pub message: String,
    pub mode: ElicitationMode,
}

impl Elicitations {
    /// Returns all that have had no answer yet, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Elicitation> {
        self.queue.iter()
    }

    pub fn count(&self, session: SessionKey) -> usize {
        self.iter().filter(|open| open.session == session).count()
    }

    /// Tells whether one is asked for a tool call.
    pub(crate) fn is_about(&self, session: SessionKey, tool: &ToolCallId) -> bool {
        let mut all = self.iter();
        all.any(|open| open.session == session && open.tool.as_ref() == Some(tool))
    }

    fn take(&mut self, matches: impl Fn(&Elicitation) -> bool) -> Option<Elicitation> {
        let index = self.queue.iter().position(matches)?;
        Some(self.queue.remove(index))
    }
}

impl Model {
    pub(crate) fn elicited(&mut self, agent: AgentKey, asked: Asked, fx: &mut Effects) {
        let session = match self.elicited_session(agent, &asked.scope) {
            Ok(session) => session,
            Err(error) => return fx.refuse(agent, &asked.request, error),
        };
        let turn = session.and_then(|key| self.sessions.get_mut(&key)?.turn.as_mut());
        let is_cancelled = turn.is_some_and(|turn| {
            turn.spoke = true;
            turn.cancelled
        });
        let (Some(session), false) = (session, is_cancelled || !self.is_staying(agent)) else {
            let answer = client::elicitation_cancelled();
            return fx.respond(agent, &asked.request, Ok(answer));
        };
        let ask = match asked.mode {
            ElicitationMode::Form { schema } => Ask::Form(Form::of_schema(&schema)),
            ElicitationMode::Url { url, id } => Ask::Page {
                page: Page::new(&url),
                id,
            },
        };
        let asker = Asker::Agent(agent, asked.request);
        self.put_elicitation(session, asker, asked.tool, asked.message, (ask, None), fx);
    }

    /// Asks the user.
    pub(crate) fn put_elicitation(
        &mut self,
        session: SessionKey,
        asker: Asker,
        tool: Option<ToolCallId>,
        message: String,
        (ask, importance): (Ask, Option<Importance>),
        fx: &mut Effects,
    ) {
        let id = ElicitationId(self.permissions.number());
        self.elicitations.queue.push(Elicitation {
            id,
            session,
            asker,
            tool,
            message,
            ask,
            importance,
        });
        self.frame.permission_dirty = true;
        fx.push(emit(Announcement::ElicitationRequested {
            session,
            id: id.0,
        }));
    }

    /// Finds the session a question is for; where the agent names none, one that it serves.
    fn elicited_session(
        &self,
        agent: AgentKey,
        scope: &ElicitationScope,
    ) -> Result<Option<SessionKey>, RpcError> {
        let pending = self.agents.get(&agent).map(|agent| &agent.pending);
        let mut calls = pending.into_iter().flatten();
        let found = match scope {
            ElicitationScope::Session(id) => {
                return match self.session_of(agent, id) {
                    Some(session) => Ok(Some(session)),
                    None => self.session_to_be(agent, id).map(Some),
                };
            }
            ElicitationScope::Request(id) => calls
                .find(|(pending, _)| *pending == id)
                .and_then(|(_, call)| call.session()),
            ElicitationScope::Agent => None,
        };
        Ok(found.or_else(|| self.sessions_of(agent).pop()))
    }

    /// Returns the session that is being made: its id is not known before the answer.
    fn session_to_be(&self, agent: AgentKey, id: &SessionId) -> Result<SessionKey, RpcError> {
        let pending = self.agents.get(&agent).map(|agent| &agent.pending);
        let mut calls = pending.into_iter().flatten();
        let made = calls.find_map(|(_, call)| match call {
            Call::NewSession(session) => Some(*session),
            _ => None,
        });
        made.ok_or_else(|| unknown_session(id))
    }

    pub(crate) fn elicitation_answered(
        &mut self,
        id: ElicitationId,
        answer: ElicitationAnswer,
        fx: &mut Effects,
    ) {
        let Some(open) = self.elicitations.iter().find(|open| open.id == id) else {
            let text = "That question is no longer open.";
            return fx.push(notify(Level::Info, text));
        };
        if let (Ask::Form(form), ElicitationAnswer::Accept(content)) = (&open.ask, &answer)
            && let Err(mistakes) = form.check(content)
        {
            let text = format!(
                "This does not answer the question: {}.",
                mistakes.join("; ")
            );
            return fx.push(notify(Level::Error, text));
        }
        let told = told(open, &answer);
        if let Some(open) = self.elicitations.take(|open| open.id == id) {
            fx.notice(open.session, Level::Info, told);
            self.settle_elicitation(open, &answer, fx);
        }
    }

    /// Answers every open request of a session `cancel`.
    pub(crate) fn close_elicitations(&mut self, key: SessionKey, fx: &mut Effects) {
        while let Some(open) = self.elicitations.take(|open| open.session == key) {
            self.settle_elicitation(open, &ElicitationAnswer::Cancel, fx);
        }
    }

    /// A request is taken back; tells whether it was one of these.
    pub(crate) fn elicitation_taken_back(&mut self, asker: &Asker, fx: &mut Effects) -> bool {
        let Some(open) = self.elicitations.take(|open| open.asker == *asker) else {
            return false;
        };
        self.reply_error(asker, was_cancelled(), fx);
        self.elicitation_is_over(&open, None, fx);
        true
    }

    /// The agent says that what a page was for is done.
    pub(crate) fn elicitation_completed(&mut self, agent: AgentKey, id: &str, fx: &mut Effects) {
        // Without this client's help: nobody needs to open it any more.
        let is_it =
            |open: &Elicitation| matches!(&open.ask, Ask::Page { id: page, .. } if page == id);
        if let Some(open) = self
            .elicitations
            .take(|open| open.asker.agent() == Some(agent) && is_it(open))
        {
            let answer = ElicitationAnswer::Accept(Map::new());
            self.settle_elicitation(open, &answer, fx);
        }
        let opened = &mut self.elicitations.opened;
        let at = opened
            .iter()
            .position(|opened| opened.agent == agent && opened.id == id);
        match at.map(|at| opened.remove(at)) {
            Some(done) => {
                let text = format!("{} is done, the agent says.", done.host);
                fx.notice(done.session, Level::Info, text);
            }
            None => fx.push(log(Level::Debug, format!("no page of ours: {id}"))),
        }
    }

    fn settle_elicitation(
        &mut self,
        open: Elicitation,
        answer: &ElicitationAnswer,
        fx: &mut Effects,
    ) {
        match (answer, &open.ask) {
            (ElicitationAnswer::Accept(content), Ask::Form(_)) => {
                let answer = client::elicitation_accepted(Some(content));
                self.reply(&open.asker, Ok(answer), fx);
            }
            (ElicitationAnswer::Accept(_), Ask::Page { page, id }) => {
                let answer = client::elicitation_accepted(None);
                self.reply(&open.asker, Ok(answer), fx);
                let opened = &mut self.elicitations.opened;
                if opened.len() >= OPENED {
                    opened.remove(0);
                }
                // Only agents ask for pages.
                opened.extend(open.asker.agent().map(|agent| Opened {
                    agent,
                    session: open.session,
                    id: id.clone(),
                    host: page.host.clone(),
                }));
            }
            (ElicitationAnswer::Decline, _) => {
                self.reply(&open.asker, Ok(client::elicitation_declined()), fx);
            }
            (ElicitationAnswer::Cancel, _) => {
                self.reply(&open.asker, Ok(client::elicitation_cancelled()), fx);
            }
        }
        self.elicitation_is_over(&open, Some(answer.action()), fx);
    }

    fn elicitation_is_over(&mut self, open: &Elicitation, action: Option<&str>, fx: &mut Effects) {
        self.frame.permission_dirty = true;
        fx.push(emit(Announcement::ElicitationAnswered {
            session: open.session,
            id: open.id.0,
            action: action.map(str::to_owned),
        }));
    }

    /// Forgets the pages that were opened for an agent that is gone.
    pub(crate) fn forget_pages(&mut self, agent: AgentKey) {
        self.elicitations
            .opened
            .retain(|opened| opened.agent != agent);
    }

    /// Returns the permission that is the one question on the screen.
    pub(crate) fn permission_shown(&self) -> Option<&Permission> {
        match self.elicitation_shown() {
            Some(_) => None,
            None => self.permissions.shown(),
        }
    }

    /// Returns the elicitation that is the one question on the screen.
    pub(crate) fn elicitation_shown(&self) -> Option<&Elicitation> {
        let oldest = self.elicitations.queue.first()?;
        if self.permissions.is_brought_forward() {
            return None;
        }
        let mut all = self.elicitations.iter();
        if let Some(shown) = all.find(|open| Some(open.id) == self.elicitations.shown) {
            return Some(shown);
        }
        let is_older = |open: &&Permission| open.id < PermissionId(oldest.id.0);
        match self.permissions.shown().filter(is_older) {
            Some(_) => None,
            None => Some(oldest),
        }
    }

    /// Returns how many questions wait behind the one that is shown.
    pub(crate) fn questions_behind(&self) -> usize {
        let all = self.permissions.asked().count() + self.elicitations.queue.len();
        all.saturating_sub(1)
    }

    /// Renders the one that is shown; `None` for the outer where the editor shows none anyway.
    pub(crate) fn elicitation_patch(&mut self) -> Option<Option<ElicitationView>> {
        let view = self.elicitation_view();
        self.elicitations.shown = view.as_ref().map(|view| view.id);
        let was_on_screen = std::mem::replace(&mut self.elicitations.is_on_screen, view.is_some());
        (was_on_screen || view.is_some()).then_some(view)
    }

    pub(crate) fn elicitation_view(&self) -> Option<ElicitationView> {
        let open = self.elicitation_shown()?;
        let session = self.sessions.get(&open.session)?;
        let agent = session.spec.name.as_str();
        let tool = open.tool.as_ref();
        let tool = tool.and_then(|tool| session.transcript.find_tool(tool));
        let mut head = Vec::new();
        if let Some(tool) = tool {
            let mut line = Line::default();
            toolview::push(&mut line, toolview::kind_name(&tool.kind), "AcpToolKind");
            toolview::push(&mut line, "  ", "AcpToolKind");
            // What it is about is in the message.
            let own = open.asker.tool().and_then(|id| self.tool_title(id));
            let title = own.map_or_else(|| toolview::title(tool), str::to_owned);
            toolview::push(&mut line, &title, "AcpToolTitle");
            line.flatten();
            head.push(line);
        }
        head.extend(open.message.trim().lines().map(Line::plain));
        let mut title = match open.ask {
            Ask::Form(_) => format!("{agent} asks you"),
            Ask::Page { .. } => format!("{agent} asks you to open a page"),
        };
        if let Some(importance) = open.importance {
            title.push_str(&format!(" ({} importance)", importance.name()));
        }
        Some(ElicitationView {
            id: open.id,
            session: open.session,
            title,
            head,
            ask: open.ask.clone(),
            waiting: self.questions_behind(),
        })
    }
}

/// Returns what the chat says of an answer: the question's first line, and what was said to it.
fn told(open: &Elicitation, answer: &ElicitationAnswer) -> String {
    let message = open.message.trim().lines().next().unwrap_or_default();
    let message = match (message, &open.ask) {
        ("", Ask::Form(_)) => "The agent's question",
        ("", Ask::Page { .. }) => "The agent's page",
        (message, _) => message,
    };
    match (answer, &open.ask) {
        (ElicitationAnswer::Accept(_), Ask::Form(form)) if form.fields.is_empty() => {
            format!("Yes: {message}")
        }
        (ElicitationAnswer::Decline, Ask::Form(form)) if form.fields.is_empty() => {
            format!("No: {message}")
        }
        (ElicitationAnswer::Accept(content), Ask::Form(form)) => {
            let mut text = format!("Answered: {message}");
            for field in &form.fields {
                if let Some(shown) = content.get(&field.name).and_then(|json| field.shown(json)) {
                    text.push_str(&format!("\n  {}: {shown}", field.title));
                }
            }
            text
        }
        (ElicitationAnswer::Accept(_), Ask::Page { page, .. }) => {
            format!("Opened: {}\n  {message}", page.url)
        }
        (ElicitationAnswer::Decline, _) => format!("Declined: {message}"),
        (ElicitationAnswer::Cancel, _) => format!("Dismissed: {message}"),
    }
}
