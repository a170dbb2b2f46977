//! The sender of a request: an agent, or a call of one of Neovim's tools.
//!
//! Invariant: the answer to a request does not depend on its sender.

use crate::spine::ids::{AgentKey, ToolUseId};
use acp::{RequestId, RpcError, SessionId, rpc};

/// The sender of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asker {
    Agent(AgentKey, RequestId),
    Tool(ToolUseId, ToolRequest),
}

/// What a tool call's request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolRequest {
    /// The permission to run the call.
    Call,
    /// A request of its handler, by number.
    Handler(u32),
}

impl Asker {
    /// Returns the agent, if it sent the request.
    pub fn agent(&self) -> Option<AgentKey> {
        match self {
            Asker::Agent(agent, _) => Some(*agent),
            Asker::Tool(..) => None,
        }
    }

    /// Returns the tool call, if it sent the request.
    pub fn tool(&self) -> Option<ToolUseId> {
        match self {
            Asker::Agent(..) => None,
            Asker::Tool(id, _) => Some(*id),
        }
    }
}

/// Returns the error for a session id the agent was never given.
pub fn unknown_session(session: &SessionId) -> RpcError {
    let message = format!("params.sessionId: no session \"{}\" here", session.0);
    RpcError::new(rpc::INVALID_PARAMS, message)
}

/// Returns the error for a request that its sender has cancelled.
pub fn was_cancelled() -> RpcError {
    RpcError::new(rpc::REQUEST_CANCELLED, "The request was cancelled")
}
