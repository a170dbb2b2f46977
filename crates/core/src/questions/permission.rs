//! A permission request: its options, the call it shows, and the progress of the rules.
//!
//! Invariant: no rule allows a call that the user has read, since it may show something else now.

use super::elicitation::json;
use super::{Answer, End, Outcome, Outcomes, Question};
use crate::render::toolcall::ToolCall;
use crate::render::toolview;
use crate::spine::asker::was_cancelled;
use crate::spine::cx::{emit, log};
use crate::spine::effect::{Announcement, Level};
use crate::spine::ids::{QuestionId, SessionKey};
use acp::{OptionKind, PermissionOption, ToolCallId, client};

#[derive(Debug)]
pub struct Permission {
    pub options: Vec<PermissionOption>,
    /// The call it shows instead of the transcript's: set if the agent reused the id, or if one of
    /// Neovim's tools asks.
    own: Option<Box<ToolCall>>,
    /// The call as this request alone shows it, if an earlier request named the same call.
    alone: Option<Box<ToolCall>>,
    pub(super) stage: PermissionStage,
    /// The user has seen a command or a path, so no rule may allow the call.
    pub(super) has_shown_something: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PermissionStage {
    /// The rules are being consulted.
    New,
    /// The user is asked.
    Asked,
    /// A rule allows the call once the host has resolved its paths; the user may already be asked.
    Resolving { is_asked: bool },
}

/// The outcome of a permission.
#[derive(Debug)]
pub struct Decision {
    pub id: QuestionId,
    pub session: SessionKey,
    pub tool: ToolCallId,
    /// The chosen option.
    pub option: Option<String>,
    /// The number of the rule that chose it.
    pub rule: Option<usize>,
    /// Whether the chosen option allows the call; `None` if none was chosen, or one of an unknown kind.
    pub is_allowed: Option<bool>,
    /// The transcript's call is another one.
    pub is_apart: bool,
    /// The user's answer as a sentence for the transcript, without the call.
    pub told: Option<Told>,
}

/// The user's answer in the transcript.
#[derive(Debug)]
pub struct Told {
    /// The answer, up to the call's title.
    pub lead: String,
    /// The title of the call, if it is not the transcript's.
    pub title: Option<String>,
    /// What the answer decides about later calls, in the agent's words.
    pub from_now_on: Option<String>,
}

impl Told {
    fn of(chosen: &PermissionOption, own: Option<&ToolCall>) -> Self {
        let (lead, is_lasting) = match chosen.kind {
            OptionKind::AllowOnce => ("You allowed".to_owned(), false),
            OptionKind::AllowAlways => ("You allowed".to_owned(), true),
            OptionKind::RejectOnce => ("You rejected".to_owned(), false),
            OptionKind::RejectAlways => ("You rejected".to_owned(), true),
            OptionKind::Unknown(_) => (format!("You answered \"{}\"", chosen.name), false),
        };
        Self {
            lead,
            title: own.map(toolview::in_short),
            from_now_on: is_lasting.then(|| chosen.name.clone()),
        }
    }

    /// Returns the sentence; `known` is the transcript's call.
    pub fn text(&self, known: Option<&ToolCall>) -> String {
        let known = || known.map(toolview::in_short);
        let title = self.title.clone().or_else(known).unwrap_or_default();
        let mut text = format!("{}: {title}", self.lead);
        if let Some(name) = &self.from_now_on {
            text.push_str(". ");
            text.push_str(&also_later(name));
        }
        text
    }
}

/// Returns the sentence about a lasting answer, which has this name.
pub fn also_later(name: &str) -> String {
    format!("\"{name}\" also answers later calls.")
}

impl Permission {
    /// Returns an agent's permission; `alone` is the call as this request shows it, if an earlier
    /// request named the same call.
    pub fn of_agent(options: Vec<PermissionOption>, alone: Option<ToolCall>) -> Self {
        Self {
            options,
            own: None,
            alone: alone.map(Box::new),
            stage: PermissionStage::New,
            has_shown_something: false,
        }
    }

    /// Returns the permission of one of Neovim's tools; it shows this call, not the agent's
    /// description of it.
    pub fn of_tool(options: Vec<PermissionOption>, call: ToolCall) -> Self {
        Self {
            own: Some(Box::new(call)),
            ..Self::of_agent(options, None)
        }
    }

    pub(super) fn is_asked(&self) -> bool {
        matches!(
            self.stage,
            PermissionStage::Asked | PermissionStage::Resolving { is_asked: true }
        )
    }

    /// Returns whether it shows another call than the transcript.
    pub(super) fn is_apart(&self) -> bool {
        self.own.is_some()
    }

    pub(super) fn set_apart(&mut self, call: Option<&ToolCall>) {
        self.own = call.cloned().map(Box::new);
    }

    /// Returns the call it shows; `known` is the transcript's.
    pub fn call<'a>(&'a self, known: Option<&'a ToolCall>) -> Option<&'a ToolCall> {
        self.own.as_deref().or(known)
    }

    /// Returns the call for the rules to read, without the parts that only earlier requests showed.
    pub fn call_for_rules<'a>(&'a self, known: Option<&'a ToolCall>) -> Option<&'a ToolCall> {
        self.alone.as_deref().or_else(|| self.call(known))
    }

    fn option(&self, id: &str) -> Option<&PermissionOption> {
        self.options.iter().find(|known| known.id == id)
    }

    /// Checks an answer.
    ///
    /// # Errors
    /// Returns a sentence for the user if there is no such option.
    pub(super) fn check(&self, option: &str) -> Result<(), String> {
        if self.option(option).is_some() {
            return Ok(());
        }
        let ids: Vec<&str> = self.options.iter().map(|known| known.id.as_str()).collect();
        Err(format!(
            "This request has no option \"{option}\": it has {}.",
            ids.join(", ")
        ))
    }

    pub(super) fn end(&self, question: &Question, end: End, out: &mut Outcomes) {
        let is_withdrawn = matches!(end, End::Withdrawn);
        let (option, rule) = match end {
            End::Answer(Answer::Option(option)) => (Some(option), None),
            End::Rule(option, rule) => (Some(option), Some(rule)),
            _ => (None, None),
        };
        let (id, session) = (question.id, question.session);
        let chosen = option.as_deref().and_then(|id| self.option(id));
        if let Some(chosen) = chosen {
            let line = format!("permission {}: {} ({})", id.0, chosen.name, chosen.id);
            out.push(Outcome::Effect(log(Level::Info, line)));
        }
        if let Some(tool) = &question.tool {
            let allows = |option: &PermissionOption| match option.kind {
                OptionKind::AllowOnce | OptionKind::AllowAlways => Some(true),
                OptionKind::RejectOnce | OptionKind::RejectAlways => Some(false),
                OptionKind::Unknown(_) => None,
            };
            out.push(Outcome::Decided(Decision {
                id,
                session,
                tool: tool.clone(),
                option: option.clone(),
                rule,
                is_allowed: chosen.and_then(allows),
                is_apart: self.own.is_some() && question.asker.agent().is_some(),
                told: chosen
                    .filter(|_| rule.is_none())
                    .map(|chosen| Told::of(chosen, self.own.as_deref())),
            }));
        }
        let reply = match &option {
            Some(option) => Ok(json(client::selected(option))),
            None if is_withdrawn => Err(was_cancelled()),
            None => Ok(json(client::cancelled())),
        };
        out.push(Outcome::Reply(question.asker.clone(), reply));
        // A permission that ends before it was shown was not announced.
        if self.is_asked() || rule.is_some() {
            out.push(Outcome::Effect(emit(Announcement::PermissionAnswered {
                session,
                id: id.0,
                option,
                rule,
            })));
        }
    }
}
