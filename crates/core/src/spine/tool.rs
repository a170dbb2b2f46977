//! The definitions, requests and results of Neovim's own tools.

use std::path::PathBuf;

use serde_json::{Map, Value as Json, json};

/// The server's name, as agents see it and as their names for its tools begin.
pub const SERVER: &str = "neovim";

/// How agents connect to the tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Door {
    /// The Unix socket the server listens on.
    pub socket: PathBuf,
    /// The proxy program agents start; `None` if it is not installed.
    pub proxy: Option<PathBuf>,
    /// The secret key that tokens are derived from.
    pub secret: [u8; 32],
}

/// A tool's definition.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    /// The title shown to the user; defaults to the name.
    pub title: Option<String>,
    /// The description for the agent.
    pub description: String,
    /// The JSON Schema of its arguments, an object.
    pub parameters: Json,
    /// It has no side effects.
    pub is_read_only: bool,
    pub permission: ToolPermission,
    /// It is offered to agents.
    pub is_on: bool,
    /// Time limit of the handler, without the time spent asking the user; `None`: no limit.
    pub limit_ms: Option<u64>,
    /// The protocol's name of its kind of tool call.
    pub kind: String,
    /// It is part of the plugin.
    pub is_builtin: bool,
}

impl ToolSpec {
    /// Returns whether both are the same definition, regardless of `is_on`.
    pub(crate) fn is_as(&self, other: &Self) -> bool {
        let same = |tool: &Self| Self {
            is_on: true,
            ..tool.clone()
        };
        same(self) == same(other)
    }
}

/// Whether a tool may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolPermission {
    Allow,
    Ask,
    Reject,
}

/// Progress of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    pub done: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// Content blocks in the Model Context Protocol's format.
    pub content: Vec<Json>,
    /// The same result as structured data, an object.
    pub structured: Option<Map<String, Json>>,
    pub is_error: bool,
}

impl ToolResult {
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![json!({ "type": "text", "text": text.into() })],
            structured: None,
            is_error: false,
        }
    }

    pub fn error(text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::text(text)
        }
    }
}

/// A request of a handler; it gets the answer an agent would get to the same request.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolAsk {
    /// Answered like `fs/read_text_file`.
    Read {
        path: PathBuf,
        line: Option<u32>,
        limit: Option<u32>,
    },
    /// Answered like `fs/write_text_file`: merged, saved, reviewed.
    Write { path: PathBuf, content: String },
    /// Answered like `elicitation/create` with a form.
    Form { message: String, schema: Json },
}
