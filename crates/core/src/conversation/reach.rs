//! What an agent can reach in a session besides its folder: other folders, MCP servers.
//!
//! Invariant: an agent gets only what it declares support for; the rest is reported once per
//! session.

use std::path::PathBuf;

use acp::client::McpServer;

/// A session's configured folders and servers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    pub mcp: Vec<McpServer>,
    /// Other folders in which this agent works.
    pub additional: Vec<PathBuf>,
    /// Folders in which any agent may read and write through Neovim.
    pub allowed: Vec<PathBuf>,
    /// The agent is offered Neovim's own tools.
    pub tools: bool,
    /// The parts that the agent does not support were reported.
    pub is_told: bool,
}
