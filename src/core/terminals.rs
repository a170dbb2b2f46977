//! Terminals: what agents run in them, and what they only show there.

use super::event::Event;
use super::ids::AgentKey;
use super::model::{Effects, Model};
use crate::acp::{AgentRequest, RequestId, RpcError, rpc};

impl Model {
    /// An agent asks something of a terminal.
    pub(super) fn terminal_request(
        &mut self,
        agent: AgentKey,
        id: RequestId,
        _call: AgentRequest,
        fx: &mut Effects,
    ) {
        let error = RpcError::new(rpc::METHOD_NOT_FOUND, "Method not found");
        self.refuse(agent, &id, error, fx);
    }

    /// Something happened in a terminal.
    pub(super) fn terminal_event(&mut self, _event: Event, _fx: &mut Effects) {}
}
