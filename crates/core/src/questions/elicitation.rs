//! Elicitations: forms and pages, their answers and the replies to their requests.

use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::{Answer, Content, End, Outcome, Outcomes, Question, Questions};
use crate::form::Ask;
use crate::spine::asker::{Asker, was_cancelled};
use crate::spine::cx::emit;
use crate::spine::effect::Announcement;
use crate::spine::ids::{AgentKey, SessionKey};
use acp::{ToolCallId, client};

#[derive(Debug)]
pub struct Elicitation {
    pub message: String,
    pub ask: Ask,
    /// Set by Neovim's tools; the protocol has no such field.
    pub importance: Option<Importance>,
}

/// The importance of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Importance {
    Low,
    Medium,
    High,
    Critical,
}

/// The user's answer to a form or a page.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationAnswer {
    /// With the content of a form.
    Accept(Map<String, Json>),
    Decline,
    /// Neither accepts nor declines.
    Cancel,
}

/// A page the user opened.
#[derive(Debug)]
pub(super) struct Opened {
    pub agent: AgentKey,
    pub session: SessionKey,
    pub name: String,
    pub host: String,
}

impl Importance {
    /// Parses the name of an importance.
    pub fn of(name: &Json) -> Option<Self> {
        let all = [Self::Low, Self::Medium, Self::High, Self::Critical];
        all.into_iter().find(|one| name == one.name())
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

impl ElicitationAnswer {
    /// Returns the protocol's word.
    fn action(&self) -> &'static str {
        match self {
            ElicitationAnswer::Accept(_) => "accept",
            ElicitationAnswer::Decline => "decline",
            ElicitationAnswer::Cancel => "cancel",
        }
    }
}

impl Questions {
    /// Asks a question by a form or a page.
    pub fn elicit(
        &mut self,
        session: SessionKey,
        asker: Asker,
        tool: Option<ToolCallId>,
        elicitation: Elicitation,
        out: &mut Outcomes,
    ) {
        let id = self.push(session, asker, tool, Content::Elicitation(elicitation));
        self.touch();
        out.push(Outcome::Effect(emit(Announcement::ElicitationRequested {
            session,
            id: id.0,
        })));
    }
}

impl Elicitation {
    /// Checks an answer.
    ///
    /// # Errors
    /// Why a form cannot be accepted with this content, for the user.
    pub(super) fn check(&self, answer: &ElicitationAnswer) -> Result<(), String> {
        let (Ask::Form(form), ElicitationAnswer::Accept(content)) = (&self.ask, answer) else {
            return Ok(());
        };
        form.check(content).map_err(|mistakes| {
            format!(
                "This does not answer the question: {}.",
                mistakes.join("; ")
            )
        })
    }

    pub(super) fn is_page(&self, name: &str) -> bool {
        matches!(&self.ask, Ask::Page { id, .. } if id == name)
    }

    /// Returns the page that an answer opens, if any.
    pub(super) fn opened(&self, question: &Question, end: &End) -> Option<Opened> {
        match (&self.ask, end) {
            (
                Ask::Page { page, id },
                End::Answer(Answer::Elicitation(ElicitationAnswer::Accept(_))),
            ) => Some(Opened {
                agent: question.asker.agent()?,
                session: question.session,
                name: id.clone(),
                host: page.host.clone(),
            }),
            _ => None,
        }
    }

    pub(super) fn end(&self, question: &Question, end: &End, out: &mut Outcomes) {
        let answer = match end {
            End::Answer(Answer::Elicitation(answer)) => Some(answer),
            End::Cancelled => Some(&ElicitationAnswer::Cancel),
            _ => None,
        };
        let reply = answer.map(|answer| self.reply(answer));
        let reply = reply.ok_or_else(was_cancelled);
        out.push(Outcome::Reply(question.asker.clone(), reply));
        let announcement = Announcement::ElicitationAnswered {
            session: question.session,
            id: question.id.0,
            action: answer.map(|answer| answer.action().to_owned()),
        };
        out.push(Outcome::Effect(emit(announcement)));
    }

    fn reply(&self, answer: &ElicitationAnswer) -> Json {
        match (answer, &self.ask) {
            (ElicitationAnswer::Accept(content), Ask::Form(_)) => {
                json(client::elicitation_accepted(Some(content)))
            }
            (ElicitationAnswer::Accept(_), _) => json(client::elicitation_accepted(None)),
            (ElicitationAnswer::Decline, _) => json(client::elicitation_declined()),
            (ElicitationAnswer::Cancel, _) => json(client::elicitation_cancelled()),
        }
    }

    /// Returns the notice about an answer: the answer and the first line of the question.
    pub(super) fn told(&self, answer: &ElicitationAnswer) -> String {
        let message = self.message.trim().lines().next().unwrap_or_default();
        let message = match (message, &self.ask) {
            ("", Ask::Form(_)) => "The agent's question",
            ("", Ask::Page { .. }) => "The agent's page",
            (message, _) => message,
        };
        match (answer, &self.ask) {
            (ElicitationAnswer::Accept(_), Ask::Form(form)) if form.fields.is_empty() => {
                format!("Yes: {message}")
            }
            (ElicitationAnswer::Decline, Ask::Form(form)) if form.fields.is_empty() => {
                format!("No: {message}")
            }
            (ElicitationAnswer::Accept(content), Ask::Form(form)) => {
                let mut text = format!("Answered: {message}");
                for field in &form.fields {
                    let shown = content.get(&field.name).and_then(|json| field.shown(json));
                    if let Some(shown) = shown {
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
}

/// Returns a reply as JSON; every reply of the protocol has such a form.
pub(super) fn json(reply: impl Serialize) -> Json {
    serde_json::to_value(reply).unwrap_or_default()
}
