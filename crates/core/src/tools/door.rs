//! Connects agents to the tools: the MCP server passed to a session, and its token.
//!
//! Invariants: a token is valid for one opening of one session; it is admitted before the agent
//! receives it, and revoked when the agent has exited.

use super::Door;
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::{HostEffect, Level};
use crate::spine::ids::SessionKey;
use crate::spine::tool::SERVER;
use crate::tools::{Tools, is_own};
use acp::client::{McpServer, McpTransport};

impl Tools {
    pub(crate) fn tool_door(&mut self, door: Door) {
        self.door = Some(door);
    }

    pub(crate) fn tool_server_failed(&mut self, why: String, fx: &mut Effects) {
        self.has_failed = true;
        fx.push(notify(Level::Warn, why));
    }

    /// Returns the MCP server to open a session with, and admits its token.
    ///
    /// # Errors
    /// A sentence that says why the agent gets no tools.
    pub(crate) fn admit(
        &mut self,
        key: SessionKey,
        agent: &str,
        fx: &mut Effects,
    ) -> Result<Option<McpServer>, String> {
        let door = self.door.as_ref();
        let is_open = !self.has_failed && !self.defined.is_empty();
        let Some(door) = door.filter(|_| is_open) else {
            return Ok(None);
        };
        let Some(proxy) = &door.proxy else {
            return Err(format!(
                "Neovim's tools are not offered to the agent \"{agent}\": the program `acp-mcp` is \
                 not beside the plugin's library. Run `./install.sh` in the plugin's folder, and \
                 restart Neovim."
            ));
        };
        let token = token(&door.secret, key, self.tokens + 1);
        let transport = McpTransport::Stdio {
            command: proxy.clone(),
            args: Vec::new(),
            env: vec![
                ("ACP_NVIM_SOCKET".into(), door.socket.display().to_string()),
                ("ACP_NVIM_TOKEN".into(), token.clone()),
            ],
        };
        self.tokens += 1;
        self.admitted.insert(key);
        fx.push(HostEffect::AdmitToTools {
            session: key,
            token,
        });
        Ok(Some(McpServer {
            name: SERVER.into(),
            transport,
        }))
    }
    /// Revokes a session's token.
    pub(crate) fn shut_out_of_tools(&mut self, key: SessionKey, fx: &mut Effects) {
        if self.admitted.remove(&key) {
            fx.push(HostEffect::ShutOutOfTools { session: key });
        }
    }

    /// Drops the state of a closed session, including the user's permissions.
    pub(crate) fn forget_tools(&mut self, key: SessionKey, fx: &mut Effects) {
        self.shut_out_of_tools(key, fx);
        self.always.retain(|(session, _)| *session != key);
        self.over.retain(|one| one.session != key);
        self.taken.retain(|(session, _)| *session != key);
        self.forget_twins(key);
    }

    /// Forgets which calls the agent has announced: in a new session, it may use their ids again.
    pub(crate) fn forget_twins(&mut self, key: SessionKey) {
        self.taken
            .retain(|(session, id)| *session != key || is_own(id));
        self.twins.retain(|(session, _), _| *session != key);
    }
}

/// Returns a token, which cannot be guessed without the secret.
fn token(secret: &[u8; 32], key: SessionKey, number: u64) -> String {
    let name = format!("{}.{number}", key.0);
    let hash = blake3::keyed_hash(secret, name.as_bytes());
    hash.to_hex().to_string()
}
