//! How an agent comes to the tools: the server it is given, and the token it comes with.
//!
//! Invariants: a token is for one session as it was opened once; who comes with it comes before
//! the agent knows of it, and nobody does any more when the agent is gone.

use super::{Door, SERVER, Way};
use crate::model::Model;
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::{Effect, HostEffect, Level};
use crate::spine::ids::SessionKey;
use acp::client::{McpAbilities, McpServer, McpTransport};

impl Model {
    pub(crate) fn tool_door(&mut self, door: Door) {
        self.tools.door = Some(door);
    }

    pub(crate) fn tool_port(&mut self, port: u16) {
        self.tools.port = Some(port);
    }

    pub(crate) fn tool_server_failed(&mut self, why: String, fx: &mut Effects) {
        self.tools.has_failed = true;
        fx.push(notify(Level::Warn, why));
    }

    /// Has the tools served over HTTP, if a session's agent is to come that way.
    pub(crate) fn serve_tools_to(&mut self, key: SessionKey, fx: &mut Effects) {
        let way = self.way_to_tools(key);
        if way == Some(Way::Http) && !std::mem::replace(&mut self.tools.is_served_by_http, true) {
            fx.push(Effect::Host(HostEffect::ServeToolsByHttp));
        }
    }

    /// Returns by which way a session's agent comes to the tools, if there are any to come to.
    fn way_to_tools(&self, key: SessionKey) -> Option<Way> {
        let tools = &self.tools;
        let can_be = tools.door.is_some() && !tools.has_failed && !tools.defined.is_empty();
        let session = self.sessions.get(&key).filter(|_| can_be)?;
        session.reach.tools
    }

    /// Returns the server that a session is opened with, and lets the agent in.
    ///
    /// # Errors
    /// A sentence that says why the agent is not offered the tools.
    pub(crate) fn tools_for(
        &mut self,
        can: McpAbilities,
        key: SessionKey,
        fx: &mut Effects,
    ) -> Result<Option<McpServer>, String> {
        let Some(way) = self.way_to_tools(key) else {
            return Ok(None);
        };
        let (Some(door), Some(session)) = (&self.tools.door, self.sessions.get(&key)) else {
            return Ok(None);
        };
        let agent = &session.spec.name;
        let token = token(&door.secret, key, self.tools.tokens + 1);
        let transport = match (way, &door.proxy, self.tools.port) {
            (Way::Stdio, None, _) => {
                return Err(format!(
                    "Neovim's tools are not offered to the agent \"{agent}\": the program \
                     `acp-mcp` is not beside the plugin's library. `make build` puts it there; \
                     start Neovim again then."
                ));
            }
            (Way::Stdio, Some(proxy), _) => McpTransport::Stdio {
                command: proxy.clone(),
                args: Vec::new(),
                env: vec![
                    ("ACP_NVIM_SOCKET".into(), door.socket.display().to_string()),
                    ("ACP_NVIM_TOKEN".into(), token.clone()),
                ],
            },
            (Way::Http, ..) if !can.http => {
                return Err(format!(
                    "Neovim's tools are not offered to the agent \"{agent}\": it reaches no MCP \
                     server over HTTP. Set `agents.{agent}.tools` to \"stdio\"."
                ));
            }
            (Way::Http, _, None) => {
                return Err(format!(
                    "Neovim's tools are not offered to the agent \"{agent}\": they are not \
                     served over HTTP yet. `:Acp restart` tries again."
                ));
            }
            (Way::Http, _, Some(port)) => McpTransport::Http {
                url: format!("http://127.0.0.1:{port}/mcp"),
                headers: vec![("Authorization".into(), format!("Bearer {token}"))],
            },
        };
        self.tools.tokens += 1;
        self.tools.admitted.insert(key);
        fx.push(Effect::Host(HostEffect::AdmitToTools {
            session: key,
            token,
        }));
        Ok(Some(McpServer {
            name: SERVER.into(),
            transport,
        }))
    }

    /// Nobody comes to the tools in the name of a session any more.
    pub(crate) fn shut_out_of_tools(&mut self, key: SessionKey, fx: &mut Effects) {
        if self.tools.admitted.remove(&key) {
            fx.push(Effect::Host(HostEffect::ShutOutOfTools { session: key }));
        }
    }

    /// A session is closed: what the user has allowed in it is forgotten.
    pub(crate) fn forget_tools(&mut self, key: SessionKey, fx: &mut Effects) {
        self.shut_out_of_tools(key, fx);
        let tools = &mut self.tools;
        tools.always.retain(|(session, _)| *session != key);
        tools.over.retain(|one| one.session != key);
        tools.taken.retain(|(session, _)| *session != key);
        tools.twins.retain(|(session, _), _| *session != key);
    }
}

/// Returns what somebody comes with: nobody can tell it who does not know the secret.
fn token(secret: &[u8; 32], key: SessionKey, number: u64) -> String {
    let name = format!("{}.{number}", key.0);
    let hash = blake3::keyed_hash(secret, name.as_bytes());
    hash.to_hex().to_string()
}
