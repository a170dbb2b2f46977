//! Questions that wait for the user: permissions, forms and pages, in one queue over all sessions;
//! and the rules that answer some permissions.
//!
//! Invariants: a question in the queue is unanswered, and it leaves the queue and is answered in
//! one step. One question is shown at a time, and it stays until it is answered, unless another one
//! is brought forward.
//!
//! This room knows neither sessions nor files. It takes facts about them as arguments; the rooms
//! above carry out its [`Outcome`]s in order.

pub mod elicitation;
pub mod formview;
pub mod permission;
pub mod rules;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value as Json};

use crate::render::toolcall::ToolCall;
use crate::spine::asker::Asker;
use crate::spine::cx::{log, notify};
use crate::spine::effect::{Effect, Level};
use crate::spine::ids::{AgentKey, QuestionId, SessionKey};
use crate::spine::pending::{Pending, Token, reply};
use acp::{RpcError, ToolCallId};
use elicitation::{Elicitation, ElicitationAnswer, Opened};
use permission::{Decision, Permission};
use rules::{Check, Rules};

/// All unanswered questions. An agent waits for its answers, so there are few; an agent that asks
/// endlessly fills its own transcript first.
#[derive(Debug, Default)]
pub struct Questions {
    rules: Rules,
    /// Oldest first.
    queue: BTreeMap<QuestionId, Question>,
    /// The questions about each tool call, oldest first.
    about: HashMap<(SessionKey, ToolCallId), Vec<QuestionId>>,
    /// The number of the newest question.
    last: u64,
    /// The question to show before all others.
    forward: Option<QuestionId>,
    /// The question on the screen.
    shown: Option<QuestionId>,
    /// Tool calls of earlier permissions: some agents reuse one id for all their questions.
    known: HashSet<(SessionKey, ToolCallId)>,
    /// Pages the user opened, until the agent reports them as done.
    opened: Vec<Opened>,
    /// The screen shows another question than the one to show, or an old state of it.
    is_dirty: bool,
    /// Rules that wait for resolved paths.
    checks: Pending<reply::Resolved, Check>,
}

#[derive(Debug)]
pub struct Question {
    pub id: QuestionId,
    pub session: SessionKey,
    pub asker: Asker,
    /// The tool call the question is about.
    pub tool: Option<ToolCallId>,
    pub content: Content,
}

#[derive(Debug)]
pub enum Content {
    Permission(Permission),
    Elicitation(Elicitation),
}

/// The user's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// One of a permission's options.
    Option(String),
    Elicitation(ElicitationAnswer),
}

/// A consequence of a question, carried out by the rooms above.
#[derive(Debug)]
pub enum Outcome {
    Effect(Effect),
    /// A notice to the user in a session's transcript.
    Notice(SessionKey, Level, String),
    /// The host resolves paths before a rule allows the request.
    Resolve(Check),
    /// The user is asked about a tool call.
    Asked(SessionKey, ToolCallId),
    Decided(Decision),
    Reply(Asker, Result<Json, RpcError>),
}

pub type Outcomes = Vec<Outcome>;

/// The way a question ends.
#[derive(Debug)]
pub(crate) enum End {
    Answer(Answer),
    /// A rule chose an option.
    Rule(String, usize),
    /// The turn, the session or the agent ended.
    Cancelled,
    /// The asker cancelled its request.
    Withdrawn,
}

/// Maximum number of opened pages to remember; forgetting the oldest only costs a line in the chat.
const OPENED: usize = 100;

impl Question {
    pub fn permission(&self) -> Option<&Permission> {
        match &self.content {
            Content::Permission(permission) => Some(permission),
            Content::Elicitation(_) => None,
        }
    }

    fn permission_mut(&mut self) -> Option<&mut Permission> {
        match &mut self.content {
            Content::Permission(permission) => Some(permission),
            Content::Elicitation(_) => None,
        }
    }

    /// Returns whether the question waits for the user rather than the rules.
    pub fn is_asked(&self) -> bool {
        self.permission().is_none_or(Permission::is_asked)
    }

    /// Returns whether the question shows a separate call instead of the transcript's.
    fn is_apart(&self) -> bool {
        self.permission().is_some_and(Permission::is_apart)
    }
}

impl Questions {
    pub fn set_rules(&mut self, rules: Rules) {
        self.rules = rules;
    }

    /// Returns all unanswered questions, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Question> {
        self.queue.values()
    }

    /// Returns the questions that wait for the user, oldest first.
    pub fn asked(&self) -> impl Iterator<Item = &Question> {
        self.iter().filter(|question| question.is_asked())
    }

    pub fn get(&self, id: QuestionId) -> Option<&Question> {
        self.queue.get(&id)
    }

    fn get_mut(&mut self, id: QuestionId) -> Option<&mut Question> {
        self.queue.get_mut(&id)
    }

    /// Returns whether a question of this session waits for the user.
    pub fn wait_in(&self, session: SessionKey) -> bool {
        self.asked().any(|question| question.session == session)
    }

    /// Returns the unanswered questions that name a tool call, oldest first.
    pub fn about(&self, session: SessionKey, tool: &ToolCallId) -> impl Iterator<Item = &Question> {
        let ids = self.about.get(&(session, tool.clone())).into_iter();
        ids.flatten().filter_map(|id| self.queue.get(id))
    }

    /// Returns whether any question shows this tool call as it is in the transcript.
    pub fn are_about(&self, session: SessionKey, tool: &ToolCallId) -> bool {
        let mut about = self.about(session, tool);
        about.any(|question| !question.is_apart())
    }

    /// Returns the question to show: the one brought forward, else the one on the screen, else the
    /// oldest.
    pub fn front(&self) -> Option<&Question> {
        let find = |id: Option<QuestionId>| {
            let question = self.get(id?)?;
            question.is_asked().then_some(question)
        };
        find(self.forward)
            .or_else(|| find(self.shown))
            .or_else(|| self.asked().next())
    }

    /// Returns the number of questions waiting behind the one to show.
    pub fn behind(&self) -> usize {
        self.asked().count().saturating_sub(1)
    }

    /// Shows a question before older ones.
    pub fn bring_forward(&mut self, id: QuestionId) {
        self.forward = self.get(id).map(|question| question.id);
        self.is_dirty = true;
    }

    /// Shows the oldest question of a session before those of others, if one waits.
    pub fn bring_session_forward(&mut self, session: SessionKey) {
        let is_shown = self.front().is_some_and(|front| front.session == session);
        let oldest = self.asked().find(|question| question.session == session);
        let oldest = oldest.map(|question| question.id);
        if let Some(id) = oldest.filter(|_| !is_shown) {
            self.bring_forward(id);
        }
    }

    /// Marks the question on the screen as outdated.
    pub fn touch(&mut self) {
        self.is_dirty = true;
    }

    /// Marks the question on the screen as outdated if it shows a tool call of this session: one
    /// call may have several ids.
    pub fn touch_in(&mut self, session: SessionKey) {
        let front = self.front();
        self.is_dirty |= front.is_some_and(|it| it.session == session && it.tool.is_some());
    }

    pub fn is_dirty(&self) -> bool {
        self.is_dirty
    }

    /// Records that the screen now shows the question to show.
    pub fn show(&mut self) {
        self.shown = self.front().map(|question| question.id);
        self.is_dirty = false;
    }

    /// Adds a permission to the queue; the caller then consults the rules.
    pub fn ask(
        &mut self,
        session: SessionKey,
        asker: Asker,
        tool: ToolCallId,
        permission: Permission,
    ) -> QuestionId {
        let content = Content::Permission(permission);
        self.push(session, asker, Some(tool), content)
    }

    fn push(
        &mut self,
        session: SessionKey,
        asker: Asker,
        tool: Option<ToolCallId>,
        content: Content,
    ) -> QuestionId {
        self.last += 1;
        let id = QuestionId(self.last);
        if let Some(tool) = &tool {
            let about = self.about.entry((session, tool.clone())).or_default();
            about.push(id);
        }
        let question = Question {
            id,
            session,
            asker,
            tool,
            content,
        };
        self.queue.insert(id, question);
        id
    }

    /// Records that a permission names a tool call; returns whether an earlier one did.
    pub fn is_repeated(&mut self, session: SessionKey, tool: &ToolCallId) -> bool {
        !self.known.insert((session, tool.clone()))
    }

    /// Fixes the call shown by the open permission about a tool call, because its agent reuses the
    /// id for another call. Returns its question, if there is one.
    pub fn set_apart(
        &mut self,
        session: SessionKey,
        tool: &ToolCallId,
        call: Option<&ToolCall>,
    ) -> Option<QuestionId> {
        let is_shared = |it: &&Question| it.permission().is_some() && !it.is_apart();
        let open = self.about(session, tool).find(is_shared)?.id;
        self.get_mut(open)?.permission_mut()?.set_apart(call);
        Some(open)
    }

    /// Applies the user's answer to a question; an invalid one leaves it open.
    pub fn answer(&mut self, id: QuestionId, answer: Answer, out: &mut Outcomes) {
        let question = self.get(id).filter(|question| question.is_asked());
        let checked = match (question.map(|question| &question.content), &answer) {
            (Some(Content::Permission(permission)), Answer::Option(option)) => {
                permission.check(option).map(|()| None)
            }
            (Some(Content::Elicitation(asked)), Answer::Elicitation(answer)) => {
                asked.check(answer).map(|()| Some(asked.told(answer)))
            }
            _ => {
                let text = "That question is no longer open.";
                return out.push(Outcome::Effect(notify(Level::Info, text)));
            }
        };
        match checked {
            Ok(told) => {
                if let Some(question) = self.take(id) {
                    let session = question.session;
                    out.extend(told.map(|text| Outcome::Notice(session, Level::Info, text)));
                    self.end(question, End::Answer(answer), out);
                }
            }
            Err(text) => out.push(Outcome::Effect(notify(Level::Error, text))),
        }
    }

    /// Cancels every question of a session.
    pub fn cancel(&mut self, session: SessionKey, out: &mut Outcomes) {
        let of_session = self.iter().filter(|question| question.session == session);
        let ids: Vec<QuestionId> = of_session.map(|question| question.id).collect();
        for id in ids {
            if let Some(question) = self.take(id) {
                self.end(question, End::Cancelled, out);
            }
        }
    }

    /// Withdraws the question of a request that its asker cancelled; returns whether there was one.
    pub fn withdraw(&mut self, asker: &Asker, out: &mut Outcomes) -> bool {
        let question = self.take_first(|question| question.asker == *asker);
        let is_open = question.is_some();
        if let Some(question) = question {
            self.end(question, End::Withdrawn, out);
        }
        is_open
    }

    /// Answers the request of a question that left the queue.
    fn end(&mut self, question: Question, end: End, out: &mut Outcomes) {
        match &question.content {
            Content::Permission(permission) => permission.end(&question, end, out),
            Content::Elicitation(asked) => {
                self.opened.extend(asked.opened(&question, &end));
                if self.opened.len() > OPENED {
                    self.opened.remove(0);
                }
                asked.end(&question, &end, out);
            }
        }
    }

    /// Handles the agent's report that a page is done.
    pub fn page_is_done(&mut self, agent: AgentKey, name: &str, out: &mut Outcomes) {
        // It was done outside this client: the user need not open it.
        let open = self.take_first(|question| match &question.content {
            Content::Elicitation(asked) => {
                question.asker.agent() == Some(agent) && asked.is_page(name)
            }
            Content::Permission(_) => false,
        });
        if let Some(question) = open {
            let done = Answer::Elicitation(ElicitationAnswer::Accept(Map::new()));
            self.end(question, End::Answer(done), out);
        }
        let mut opened = self.opened.iter();
        let at = opened.position(|opened| opened.agent == agent && opened.name == name);
        out.push(match at.map(|at| self.opened.remove(at)) {
            Some(done) => {
                let text = format!("{} is done, the agent says.", done.host);
                Outcome::Notice(done.session, Level::Info, text)
            }
            None => Outcome::Effect(log(Level::Debug, format!("no page of ours: {name}"))),
        });
    }

    fn take_first(&mut self, is_meant: impl Fn(&&Question) -> bool) -> Option<Question> {
        let id = self.iter().find(is_meant)?.id;
        self.take(id)
    }

    fn take(&mut self, id: QuestionId) -> Option<Question> {
        let question = self.queue.remove(&id)?;
        self.is_dirty = true;
        if let Some(tool) = &question.tool {
            let name = (question.session, tool.clone());
            if let Some(about) = self.about.get_mut(&name) {
                about.retain(|other| *other != id);
                if about.is_empty() {
                    self.about.remove(&name);
                }
            }
        }
        Some(question)
    }

    /// Keeps a check until the host has resolved its paths.
    pub(crate) fn resolve(&mut self, check: Check) -> Token<reply::Resolved> {
        self.checks.add(check)
    }

    #[cfg(test)]
    pub(crate) fn checks(&self) -> &Pending<reply::Resolved, Check> {
        &self.checks
    }

    pub(crate) fn take_check(&mut self, token: Token<reply::Resolved>) -> Option<Check> {
        self.checks.take(token)
    }

    /// Forgets the tool calls of a closed session's questions.
    pub fn forget_session(&mut self, session: SessionKey) {
        self.known.retain(|(known, _)| *known != session);
    }

    /// Forgets the pages opened for an agent that ended.
    pub fn forget_agent(&mut self, agent: AgentKey) {
        self.opened.retain(|opened| opened.agent != agent);
    }
}
