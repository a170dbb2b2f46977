//! Connects agents to the tools: the MCP server passed to a session, and its token.
//!
//! Invariants: a token is valid for one opening of one session; it is admitted before the agent
//! receives it, and revoked when the agent has exited.

use crate::model::Model;
use crate::spine::cx::Effects;
use crate::spine::effect::{Effect, HostEffect};
use crate::spine::ids::SessionKey;
use crate::spine::tool::SERVER;
use acp::client::{McpServer, McpTransport};

impl Model {
    /// Returns the MCP server to open a session with, and admits its token.
    ///
    /// # Errors
    /// A sentence that says why the agent gets no tools.
    pub(crate) fn tools_for(
        &mut self,
        key: SessionKey,
        fx: &mut Effects,
    ) -> Result<Option<McpServer>, String> {
        let (Some(door), Some(session)) = (&self.tools.door, self.conversation.sessions.get(&key))
        else {
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
}

/// Returns a token, which cannot be guessed without the secret.
fn token(secret: &[u8; 32], key: SessionKey, number: u64) -> String {
    let name = format!("{}.{number}", key.0);
    let hash = blake3::keyed_hash(secret, name.as_bytes());
    hash.to_hex().to_string()
}
