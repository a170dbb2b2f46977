//! The tools that Neovim defines: who may call them, how far each call is, what came of it.
//!
//! Invariants: a call that was heard of is answered once, whatever becomes of its turn, its
//! session, its handler or the user; no handler runs that the user has not let run.

pub mod schema;

use std::path::PathBuf;

use serde_json::{Map, Value as Json, json};

use super::asker::Step;
use super::ids::{SessionKey, ToolUseId};
use super::model::{Effects, Model};
use crate::acp::RpcError;

/// What an agent sees of the server, and its calls begin with.
pub const SERVER: &str = "neovim";

/// How agents reach the tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Door {
    /// The Unix socket the server listens on.
    pub socket: PathBuf,
    /// The program that agents start to get there; `None` where it is not installed.
    pub proxy: Option<PathBuf>,
    /// What tokens are made of: nobody else knows it.
    pub secret: [u8; 32],
}

/// By which way an agent is offered the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It starts the proxy.
    Stdio,
    /// It comes to 127.0.0.1.
    Http,
}

/// A tool as it was defined.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    /// What the user sees of it; its name where there is none.
    pub title: Option<String>,
    /// What the agent reads.
    pub description: String,
    /// The JSON Schema of its arguments: an object.
    pub parameters: Json,
    /// It changes nothing.
    pub is_read_only: bool,
    pub permission: ToolPermission,
    /// It is offered to agents.
    pub is_on: bool,
    /// How long its handler may take, the user's time not counted; `None`: without end.
    pub limit_ms: Option<u64>,
    /// The protocol's word for what kind of tool call it is.
    pub kind: String,
    /// It comes with the plugin.
    pub is_builtin: bool,
}

/// Who decides whether a tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolPermission {
    Allow,
    Ask,
    Reject,
}

/// How far something is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    pub done: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// Content blocks as the Model Context Protocol has them.
    pub content: Vec<Json>,
    /// The same as data: an object.
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

/// What a handler may ask for. The answers are the protocol's own: those an agent would get.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolAsk {
    /// Answered as `fs/read_text_file` is.
    Read {
        path: PathBuf,
        line: Option<u32>,
        limit: Option<u32>,
    },
    /// Answered as `fs/write_text_file` is: merged, saved, reviewed.
    Write { path: PathBuf, content: String },
    /// Answered as `elicitation/create` with a form is.
    Form { message: String, schema: Json },
}

impl Model {
    pub(super) fn tool_is_answered(
        &mut self,
        _id: ToolUseId,
        _step: Step,
        _result: Result<Json, RpcError>,
        _fx: &mut Effects,
    ) {
    }

    pub(super) fn tool_door(&mut self, _door: Door) {}

    pub(super) fn tools_defined(&mut self, _tools: Vec<ToolSpec>, _fx: &mut Effects) {}

    pub(super) fn tool_switched(&mut self, _name: &str, _on: bool, _fx: &mut Effects) {}

    pub(super) fn tool_asked(
        &mut self,
        _id: ToolUseId,
        _number: u32,
        _ask: ToolAsk,
        _fx: &mut Effects,
    ) {
    }

    pub(super) fn tool_progressed(
        &mut self,
        _id: ToolUseId,
        _progress: Progress,
        _fx: &mut Effects,
    ) {
    }

    pub(super) fn tool_done(&mut self, _id: ToolUseId, _result: ToolResult, _fx: &mut Effects) {}

    pub(super) fn tool_port(&mut self, _port: u16) {}

    pub(super) fn tool_server_failed(&mut self, _why: String, _fx: &mut Effects) {}

    pub(super) fn tool_begun(
        &mut self,
        _id: ToolUseId,
        _session: SessionKey,
        _name: String,
        _fx: &mut Effects,
    ) {
    }

    pub(super) fn tool_used(
        &mut self,
        _id: ToolUseId,
        _session: SessionKey,
        _name: String,
        _arguments: Result<Map<String, Json>, String>,
        _fx: &mut Effects,
    ) {
    }

    pub(super) fn tool_given_up(&mut self, _id: ToolUseId, _fx: &mut Effects) {}
}
