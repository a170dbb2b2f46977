//! How an agent comes to the tools: the server it is given, and the token it comes with.
//!
//! Invariants: a token is for one session as it was opened once; who comes with it comes before
//! the agent knows of it, and nobody does any more when the agent is gone.

use super::{Door, SERVER};
use crate::model::Model;
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::{Effect, HostEffect, Level};
use crate::spine::ids::SessionKey;
use acp::client::{McpServer, McpTransport};

impl Model {
    pub(crate) fn tool_door(&mut self, door: Door) {
        self.tools.door = Some(door);
    }

    pub(crate) fn tool_server_failed(&mut self, why: String, fx: &mut Effects) {
        self.tools.has_failed = true;
        fx.push(notify(Level::Warn, why));
    }

    /// Returns the server that a session is opened with, and lets the agent in.
    ///
    /// # Errors
    /// A sentence that says why the agent is not offered the tools.
    pub(crate) fn tools_for(
        &mut self,
        key: SessionKey,
        fx: &mut Effects,
    ) -> Result<Option<McpServer>, String> {
        let (Some(door), Some(session)) = (&self.tools.door, self.sessions.get(&key)) else {
            return Ok(None);
        };
        if !session.reach.tools || self.tools.has_failed || self.tools.defined.is_empty() {
            return Ok(None);
        }
        let Some(proxy) = &door.proxy else {
            return Err(format!(
                "Neovim's tools are not offered to the agent \"{}\": the program `acp-mcp` is not \
                 beside the plugin's library. `make build` puts it there; start Neovim again then.",
                session.spec.name
            ));
        };
        let token = token(&door.secret, key, self.tools.tokens + 1);
        let transport = McpTransport::Stdio {
            command: proxy.clone(),
            args: Vec::new(),
            env: vec![
                ("ACP_NVIM_SOCKET".into(), door.socket.display().to_string()),
                ("ACP_NVIM_TOKEN".into(), token.clone()),
            ],
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
