//! The resources of an agent in a session besides its folder: other folders, MCP servers.
//!
//! Invariant: an agent receives only resources it declares support for; the others are reported
//! once per session.

use crate::model::Model;
use crate::spine::cx::Effects;
use crate::spine::effect::Level;
use crate::spine::ids::{AgentKey, SessionKey};
use acp::client::{McpAbilities, McpServer, McpTransport, SessionSetup};

impl Model {
    /// Returns the parameters for opening a session, and grants access to Neovim's tools if they
    /// are offered.
    pub(crate) fn setup(
        &mut self,
        agent: AgentKey,
        key: SessionKey,
        fx: &mut Effects,
    ) -> SessionSetup {
        let info = self.conversation.info(agent);
        let reaches = info.map(|info| info.mcp).unwrap_or_default();
        let takes_dirs = info.is_some_and(|info| info.sessions.additional_directories);
        let session = self.conversation.session(key);
        let tools = match session.filter(|session| session.reach.tools) {
            Some(session) => self.tools.admit(key, &session.spec.name, fx),
            None => Ok(None),
        };
        let Some(session) = self.conversation.session_mut(key) else {
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
                "The agent \"{name}\" does not reach every MCP server of the configuration: {} \
                 is left out.",
                servers.join(", ")
            ));
        }
        if !takes_dirs && !reach.additional.is_empty() {
            left_out.push(format!(
                "The agent \"{name}\" takes no other folders than its own; it may read and write \
                 in `additional_dirs` through Neovim only."
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
