//! Who waits for the answer to a request: an agent, or a call of one of Neovim's tools.
//!
//! Invariant: whoever asks, the same request gets the same answer.

use serde::Serialize;

use crate::model::Model;
use crate::spine::cx::Effects;
use crate::spine::ids::{AgentKey, ToolUseId};
use acp::{RequestId, RpcError};

/// Who has made a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asker {
    Agent(AgentKey, RequestId),
    Tool(ToolUseId, Step),
}

/// What of a tool's call a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Whether the call may be made at all.
    Call,
    /// What its handler has asked for, by its number.
    Handler(u32),
}

impl Asker {
    /// Returns the agent, where it is one that asks.
    pub fn agent(&self) -> Option<AgentKey> {
        match self {
            Asker::Agent(agent, _) => Some(*agent),
            Asker::Tool(..) => None,
        }
    }

    /// Returns the call, where one of Neovim's tools asks.
    pub fn tool(&self) -> Option<ToolUseId> {
        match self {
            Asker::Agent(..) => None,
            Asker::Tool(id, _) => Some(*id),
        }
    }
}

impl Model {
    /// Answers a request.
    pub(crate) fn reply(
        &mut self,
        asker: &Asker,
        result: Result<impl Serialize, RpcError>,
        fx: &mut Effects,
    ) {
        match asker {
            Asker::Agent(agent, request) => fx.respond(*agent, request, result),
            Asker::Tool(id, step) => {
                // What cannot be written as JSON has no such answer; the agent's has `null` then.
                let result = result.map(|answer| serde_json::to_value(answer).unwrap_or_default());
                self.tool_is_answered(*id, *step, result, fx);
            }
        }
    }

    /// Answers a request with an error.
    pub(crate) fn reply_error(&mut self, asker: &Asker, error: RpcError, fx: &mut Effects) {
        self.reply(asker, Err::<(), _>(error), fx);
    }
}
