//! The events of Neovim's own tools.

use crate::spine::ids::{SessionKey, ToolUseId};
use crate::spine::tool::{Door, Progress, ToolAsk, ToolResult, ToolSpec};

/// Events of Neovim's own tools.
#[derive(Debug)]
pub enum ToolEvent {
    /// The paths and the secret the tools need; sent once, before all other events.
    Door(Door),
    /// All defined tools, including those switched off.
    Defined(Vec<ToolSpec>),
    /// The user switches a tool on or off.
    Switched { name: String, on: bool },
    /// A tool's handler makes a request for its call; answered by `ToolAnswer`.
    Asked {
        id: ToolUseId,
        number: u32,
        ask: ToolAsk,
    },
    /// A tool's handler reports progress.
    Progressed { id: ToolUseId, progress: Progress },
    /// A tool's handler has finished.
    Done { id: ToolUseId, result: ToolResult },
    /// The tools' server could not be started; `why` is a sentence with the next step.
    ServerFailed { why: String },
    /// The first bytes of a call have arrived.
    Begun {
        id: ToolUseId,
        session: SessionKey,
        name: String,
    },
    /// A call is complete, with or without an earlier `ToolBegun`. The host has already answered a
    /// call with invalid arguments, with this text.
    Used {
        id: ToolUseId,
        session: SessionKey,
        name: String,
        arguments: Result<serde_json::Map<String, serde_json::Value>, String>,
    },
    /// The caller cancelled the call or has disconnected.
    GivenUp { id: ToolUseId },
}
