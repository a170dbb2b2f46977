//! Output of a component while it applies an event: effects, answers to agents' requests, and
//! notices for sessions.
//!
//! Invariant: effects are carried out in the order in which they were pushed.

use std::vec::Drain;

use serde::Serialize;
use serde_json::Value as Json;

use super::asker::{Asker, ToolRequest};
use super::effect::{Announcement, EditorEffect, Effect, HostEffect, Level};
use super::ids::{AgentKey, SessionKey, ToolUseId};
use acp::{RequestId, RpcError, rpc};

/// The effects of one event, in order.
#[derive(Debug, Default)]
pub struct Effects {
    effects: Vec<Effect>,
    notices: Vec<Notice>,
    tool_answers: Vec<ToolAnswer>,
}

/// The answer to a request of one of Neovim's tools.
pub type ToolAnswer = (ToolUseId, ToolRequest, Result<Json, RpcError>);

/// A notice for a session's transcript.
#[derive(Debug)]
pub struct Notice {
    pub session: SessionKey,
    pub level: Level,
    pub text: String,
}

impl Effects {
    pub fn push(&mut self, effect: impl Into<Effect>) {
        self.effects.push(effect.into());
    }

    /// Moves the effects and notices of `other` to the end.
    pub fn append(&mut self, other: &mut Effects) {
        self.effects.append(&mut other.effects);
        self.notices.append(&mut other.notices);
        self.tool_answers.append(&mut other.tool_answers);
    }

    /// Inserts effects before the one at `at`.
    pub fn insert_all(&mut self, at: usize, effects: impl Iterator<Item = Effect>) {
        self.effects.splice(at..at, effects);
    }

    /// Answers an agent's request. The host drops the answer if the process is gone.
    pub fn respond(
        &mut self,
        agent: AgentKey,
        id: &RequestId,
        result: Result<impl Serialize, RpcError>,
    ) {
        let line = match result {
            Ok(result) => rpc::response(id, result),
            Err(error) => rpc::error(id, error.code, &error.message, error.data),
        };
        self.push(HostEffect::Send { agent, line });
    }

    /// Answers an agent's request with an error.
    pub fn refuse(&mut self, agent: AgentKey, id: &RequestId, error: RpcError) {
        self.respond(agent, id, Err::<(), _>(error));
    }

    /// Answers a request, of an agent or of a call of one of Neovim's tools.
    pub fn reply(&mut self, asker: &Asker, result: Result<impl Serialize, RpcError>) {
        match asker {
            Asker::Agent(agent, request) => self.respond(*agent, request, result),
            Asker::Tool(id, step) => {
                // As for an agent: an answer that JSON cannot express becomes `null`.
                let result = result.map(|answer| serde_json::to_value(answer).unwrap_or_default());
                self.tool_answers.push((*id, *step, result));
            }
        }
    }

    /// Answers a request with an error.
    pub fn reply_error(&mut self, asker: &Asker, error: RpcError) {
        self.reply(asker, Err::<(), _>(error));
    }

    pub fn has_tool_answers(&self) -> bool {
        !self.tool_answers.is_empty()
    }

    /// Takes the answers that their tools have not received yet.
    pub fn take_tool_answers(&mut self) -> Vec<ToolAnswer> {
        std::mem::take(&mut self.tool_answers)
    }

    /// Adds a notice to a session's transcript.
    pub fn notice(&mut self, session: SessionKey, level: Level, text: impl Into<String>) {
        let text = text.into();
        self.notices.push(Notice {
            session,
            level,
            text,
        });
    }

    /// Takes the notices that are not yet in transcripts.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Effect> {
        self.effects.iter()
    }

    pub fn len(&self) -> usize {
        self.effects.len()
    }

    pub fn is_empty(&self) -> bool {
        self.effects.is_empty()
    }

    /// Removes and returns all effects.
    pub fn drain(&mut self) -> Drain<'_, Effect> {
        self.effects.drain(..)
    }
}

/// Returns the effect that shows a message to the user.
pub fn notify(level: Level, text: impl Into<String>) -> Effect {
    Effect::Editor(EditorEffect::Notify {
        level,
        text: text.into(),
    })
}

/// Returns the effect that writes a line to the log.
pub fn log(level: Level, line: impl Into<String>) -> Effect {
    Effect::Host(HostEffect::Log {
        level,
        line: line.into(),
    })
}

/// Returns the effect that runs a `User` autocommand.
pub fn emit(announcement: Announcement) -> Effect {
    Effect::Editor(EditorEffect::Emit(announcement))
}
