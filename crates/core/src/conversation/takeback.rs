//! Cancellation of requests: the client's own, and the agent's.
//!
//! Invariants: a response to a cancelled request of the client is dropped. A request that the agent
//! cancels still gets exactly one response: the cancellation error if it is pending, else its
//! outcome.

use crate::conversation::Conversation;
use crate::conversation::agent::Call;
use crate::spine::cx::Effects;
use crate::spine::effect::HostEffect;
use crate::spine::ids::AgentKey;
use acp::{client, rpc};

impl Conversation {
    /// Cancels a request of the client and notifies the agent with `$/cancel_request`.
    ///
    /// Returns the call; `None` if the request was answered or cancelled before. An `initialize` is
    /// only dropped: an agent that is not initialized does not understand the notification.
    pub(crate) fn cancel_request_of(
        &mut self,
        agent: AgentKey,
        id: u64,
        fx: &mut Effects,
    ) -> Option<Call> {
        let state = self.agents.get_mut(&agent)?;
        let call = state.pending.remove(&id)?;
        state.given_up.insert(id);
        if call != Call::Initialize {
            let line = rpc::notification(client::CANCEL_REQUEST, client::cancel_request(id));
            fx.push(HostEffect::Send { agent, line });
        }
        Some(call)
    }
}
