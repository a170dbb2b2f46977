//! The server that agents reach Neovim's tools by: MCP on a Unix socket, and on loopback HTTP.
//!
//! Invariants: nobody without a session's token gets an answer; every call is reported as an event
//! with an id of its own, and answered once.

use std::sync::Arc;

use super::Kit;
use crate::core::ids::{SessionKey, ToolUseId};
use crate::core::tools::{Progress, ToolResult, ToolSpec};

#[derive(Debug, Default)]
pub(super) struct McpServer {}

impl McpServer {
    pub fn offer(&self, _tools: Arc<[ToolSpec]>, _kit: &Kit) {}

    pub fn admit(&self, _session: SessionKey, _token: String, _kit: &Kit) {}

    pub fn shut_out(&self, _session: SessionKey) {}

    pub fn serve_http(&self, _kit: &Kit) {}

    pub fn answer(&self, _id: ToolUseId, _result: ToolResult) {}

    pub fn report(&self, _id: ToolUseId, _progress: Progress) {}
}
