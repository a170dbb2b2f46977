//! Connects agents to the tools: the MCP server passed to a session, and its token.
//!
//! Invariants: a token is valid for one opening of one session; it is admitted before the agent
//! receives it, and revoked when the agent has exited.

use super::Door;
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::{Effect, HostEffect, Level};
use crate::spine::ids::SessionKey;
use crate::tools::Tools;

impl Tools {
    pub(crate) fn tool_door(&mut self, door: Door) {
        self.door = Some(door);
    }

    pub(crate) fn tool_server_failed(&mut self, why: String, fx: &mut Effects) {
        self.has_failed = true;
        fx.push(notify(Level::Warn, why));
    }

    /// Revokes a session's token.
    pub(crate) fn shut_out_of_tools(&mut self, key: SessionKey, fx: &mut Effects) {
        if self.admitted.remove(&key) {
            fx.push(Effect::Host(HostEffect::ShutOutOfTools { session: key }));
        }
    }

    /// Drops the state of a closed session, including the user's permissions.
    pub(crate) fn forget_tools(&mut self, key: SessionKey, fx: &mut Effects) {
        self.shut_out_of_tools(key, fx);
        self.always.retain(|(session, _)| *session != key);
        self.over.retain(|one| one.session != key);
        self.taken.retain(|(session, _)| *session != key);
        self.twins.retain(|(session, _), _| *session != key);
    }
}
