//! The resources of an agent in a session besides its folder: other folders, MCP servers.
//!
//! Invariant: an agent receives only resources it declares support for; the others are reported
//! once per session.

use crate::conversation::Conversation;
use crate::conversation::session::Session;
use crate::spine::effect::Level;
use crate::spine::ids::{AgentKey, SessionKey};
use acp::client::{McpAbilities, McpServer, McpTransport, SessionSetup};

impl Session {
    /// Returns whether the agent is offered Neovim's own tools.
    pub(crate) fn wants_tools(&self) -> bool {
        self.reach.tools
    }
}

impl Conversation {
    /// Returns the parameters for opening a session. `tools` is the server of Neovim's tools, or
    /// says why the agent gets none.
    pub(crate) fn setup(
        &mut self,
        agent: AgentKey,
        key: SessionKey,
        tools: Result<Option<McpServer>, String>,
    ) -> SessionSetup {
        let info = self.info(agent);
        let reaches = info.map(|info| info.mcp).unwrap_or_default();
        let takes_dirs = info.is_some_and(|info| info.sessions.additional_directories);
        let Some(session) = self.sessions.get_mut(&key) else {
            return SessionSetup::default();
        };
        let name = &session.spec.name;
        let reach = &mut session.reach;
        let (mut mcp, beyond): (Vec<_>, Vec<_>) = reach
            .mcp
            .iter()
            .cloned()
            .partition(|server| can_reach(reaches, server));
        let mut left_out = Vec::new();
        if !beyond.is_empty() {
            let servers: Vec<String> = beyond.iter().map(in_words).collect();
            left_out.push(format!(
                "The agent \"{name}\" does not support the transport of these MCP servers, which are \
                 left out: {}.",
                servers.join(", ")
            ));
        }
        if !takes_dirs && !reach.additional.is_empty() {
            left_out.push(format!(
                "The agent \"{name}\" does not support additional folders; it can read and write in \
                 `additional_dirs` only through Neovim."
            ));
        }
        match tools {
            Ok(server) => mcp.extend(server),
            Err(why) => left_out.push(why),
        }
        let mut additional = Vec::new();
        if takes_dirs {
            for dir in reach.additional.iter().chain(&reach.allowed) {
                if *dir != session.spec.cwd && !additional.contains(dir) {
                    additional.push(dir.clone());
                }
            }
        }
        if !std::mem::replace(&mut reach.is_told, true) {
            for text in left_out {
                session.transcript.notice(Level::Warn, text);
            }
        }
        SessionSetup {
            cwd: session.spec.cwd.clone(),
            additional,
            mcp,
        }
    }
}

fn can_reach(can: McpAbilities, server: &McpServer) -> bool {
    match server.transport {
        McpTransport::Stdio { .. } => true,
        McpTransport::Http { .. } => can.http,
        McpTransport::Sse { .. } => can.sse,
    }
}

fn in_words(server: &McpServer) -> String {
    let over = match server.transport {
        McpTransport::Stdio { .. } => "stdio",
        McpTransport::Http { .. } => "http",
        McpTransport::Sse { .. } => "sse",
    };
    format!("\"{}\" ({over})", server.name)
}
