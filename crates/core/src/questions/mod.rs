//! Questions that wait for the user: permissions, forms and pages, in one queue over all sessions;
//! and the rules that answer some permissions.
//!
//! Invariants: a question in the queue has had no answer, and leaving the queue and being answered
//! are one step. One question is shown at a time, and it stays until it is answered, unless another
//! one is brought forward.
//!
//! This room knows no sessions and no files. It takes facts about them as arguments; the rooms
//! above carry out its [`Outcome`]s in order.

pub mod elicitation;
pub mod formview;
pub mod permission;
pub mod rules;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use serde_json::{Map, Value as Json};

use crate::render::toolcall::ToolCall;
use crate::spine::asker::Asker;
use crate::spine::cx::{log, notify};
use crate::spine::effect::{Effect, Level};
use crate::spine::ids::{AgentKey, QuestionId, SessionKey};
use crate::spine::pending::{Pending, reply};
use acp::{RpcError, ToolCallId};
use elicitation::{Elicitation, ElicitationAnswer, Opened};
use permission::{Decision, Permission};
use rules::{Check, Rules};

/// All questions without an answer. An agent waits for its answers, so there are few; one that
/// asks without end fills its own transcript first.
#[derive(Debug, Default)]
pub struct Questions {
    rules: Rules,
    /// Oldest first.
    queue: Vec<Question>,
    /// The number of the newest question.
    last: u64,
    /// The question to show before all others.
    forward: Option<QuestionId>,
    /// The question on the screen.
    shown: Option<QuestionId>,
    /// Tool calls of earlier permissions: some agents use one id for all their questions.
    known: HashSet<(SessionKey, ToolCallId)>,
    /// Pages the user has opened, until the agent says that they are done.
    opened: Vec<Opened>,
    /// The screen shows another question than it should, or an old state of it.
    is_dirty: bool,
    /// The rules that wait for resolved paths.
    pub(crate) checks: Pending<reply::Resolved, Check>,
}

#[derive(Debug)]
pub struct Question {
    pub id: QuestionId,
    pub session: SessionKey,
    pub asker: Asker,
    /// The tool call it is about.
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

/// A consequence of a question, which the rooms above carry out.
#[derive(Debug)]
pub enum Outcome {
    Effect(Effect),
    /// The transcript of a session tells the user something.
    Notice(SessionKey, Level, String),
    /// The host resolves paths before a rule allows a question.
    Resolve(Check),
    /// The user is asked about a tool call.
    Asked(SessionKey, ToolCallId),
    Decided(Decision),
    Reply(Asker, Result<Json, RpcError>),
}

pub type Outcomes = Vec<Outcome>;

/// The end of a question.
#[derive(Debug)]
pub(crate) enum End {
    Answer(Answer),
    /// A rule chooses an option.
    Rule(String, usize),
    /// The turn, the session or the agent ends.
    Cancelled,
    /// The asker has cancelled its request.
    Withdrawn,
}

/// The number of opened pages to remember; forgetting the oldest costs a line in the chat.
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

    /// Tells whether the question waits for the user, and not for the rules.
    fn is_asked(&self) -> bool {
        self.permission().is_none_or(Permission::is_asked)
    }

    /// Tells whether it shows a tool call as the transcript has it.
    fn is_about(&self, session: SessionKey, tool: &ToolCallId) -> bool {
        let is_apart = self.permission().is_some_and(Permission::is_apart);
        self.session == session && self.tool.as_ref() == Some(tool) && !is_apart
    }
}

impl Questions {
    pub fn set_rules(&mut self, rules: Rules) {
        self.rules = rules;
    }

    /// Returns all questions without an answer, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Question> {
        self.queue.iter()
    }

    /// Returns those that wait for the user, oldest first.
    pub fn asked(&self) -> impl Iterator<Item = &Question> {
        self.iter().filter(|question| question.is_asked())
    }

    pub fn get(&self, id: QuestionId) -> Option<&Question> {
        self.iter().find(|question| question.id == id)
    }

    fn get_mut(&mut self, id: QuestionId) -> Option<&mut Question> {
        self.queue.iter_mut().find(|question| question.id == id)
    }

    /// Tells whether one of a session's questions waits for the user.
    pub fn wait_in(&self, session: SessionKey) -> bool {
        self.asked().any(|question| question.session == session)
    }

    /// Tells whether a question shows a tool call as the transcript has it.
    pub fn are_about(&self, session: SessionKey, tool: &ToolCallId) -> bool {
        self.iter().any(|question| question.is_about(session, tool))
    }

    /// Returns the question to show: one that was brought forward, or the one on the screen, or
    /// the oldest.
    pub fn front(&self) -> Option<&Question> {
        let find = |id: Option<QuestionId>| {
            let id = id?;
            self.asked().find(|question| question.id == id)
        };
        find(self.forward)
            .or_else(|| find(self.shown))
            .or_else(|| self.asked().next())
    }

    /// Returns how many questions wait behind the one to show.
    pub fn behind(&self) -> usize {
        self.asked().count().saturating_sub(1)
    }

    /// Shows a question before the older ones.
    pub fn bring_forward(&mut self, id: QuestionId) {
        self.forward = self.get(id).map(|question| question.id);
        self.is_dirty = true;
    }

    /// Notes that the screen shows another question, or other facts about it.
    pub fn touch(&mut self) {
        self.is_dirty = true;
    }

    /// Notes that a tool call changes, which the question to show may be about.
    pub fn touch_about(&mut self, session: SessionKey, tool: &ToolCallId) {
        let front = self.front();
        self.is_dirty |= front.is_some_and(|question| question.is_about(session, tool));
    }

    pub fn is_dirty(&self) -> bool {
        self.is_dirty
    }

    /// Notes that the screen gets the question to show as it is now.
    pub fn show(&mut self) {
        self.shown = self.front().map(|question| question.id);
        self.is_dirty = false;
    }

    /// Asks for a permission; the rules are to be consulted next.
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
        self.queue.push(Question {
            id,
            session,
            asker,
            tool,
            content,
        });
        id
    }

    /// Notes that a permission names a tool call; tells whether an earlier one did.
    pub fn is_repeated(&mut self, session: SessionKey, tool: &ToolCallId) -> bool {
        !self.known.insert((session, tool.clone()))
    }

    /// Fixes the call that the open permission about a tool call shows: its agent reuses the id for
    /// another one. Tells whether there is such a permission.
    pub fn set_apart(
        &mut self,
        session: SessionKey,
        tool: &ToolCallId,
        call: Option<&ToolCall>,
    ) -> bool {
        let about = self.queue.iter_mut();
        let about = about.filter(|question| question.is_about(session, tool));
        let permission = about.filter_map(Question::permission_mut).next();
        let is_open = permission.is_some();
        if let Some(permission) = permission {
            permission.set_apart(call);
        }
        is_open
    }

    /// Takes the user's answer to a question; a wrong one leaves it open.
    pub fn answer(&mut self, id: QuestionId, answer: Answer, out: &mut Outcomes) {
        let question = self.asked().find(|question| question.id == id);
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
                if let Some(question) = self.take(|question| question.id == id) {
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
        while let Some(question) = self.take(|question| question.session == session) {
            self.end(question, End::Cancelled, out);
        }
    }

    /// Withdraws the question of a request that its asker has cancelled; tells whether there is
    /// one.
    pub fn withdraw(&mut self, asker: &Asker, out: &mut Outcomes) -> bool {
        let question = self.take(|question| question.asker == *asker);
        let is_open = question.is_some();
        if let Some(question) = question {
            self.end(question, End::Withdrawn, out);
        }
        is_open
    }

    /// Answers the request of a question that has left the queue.
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

    /// Takes the report that what a page was for is done.
    pub fn page_is_done(&mut self, agent: AgentKey, name: &str, out: &mut Outcomes) {
        // It was done without this client's help: the user need not open it.
        let open = self.take(|question| match &question.content {
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

    fn take(&mut self, is_meant: impl Fn(&Question) -> bool) -> Option<Question> {
        let index = self.queue.iter().position(is_meant)?;
        self.is_dirty = true;
        Some(self.queue.remove(index))
    }

    /// Forgets what a closed session's questions were about.
    pub fn forget_session(&mut self, session: SessionKey) {
        self.known.retain(|(known, _)| *known != session);
    }

    /// Forgets the pages that were opened for an agent that has ended.
    pub fn forget_agent(&mut self, agent: AgentKey) {
        self.opened.retain(|opened| opened.agent != agent);
    }
}
