//! Requests that are taken back: the client's own, and the agent's.
//!
//! Invariants: a request of the client's that was given up concerns nobody any more; what the
//! agent answers to it all the same is dropped. A request that the agent takes back gets its one
//! answer as every other: the error for it where it still waits, else what became of it.

use crate::model::{Call, Model};
use crate::spine::asker::Asker;
use crate::spine::cx::Effects;
use crate::spine::effect::{Effect, HostEffect};
use crate::spine::ids::AgentKey;
use acp::{RequestId, client, rpc};

impl Model {
    /// Gives up a request of the client's and tells the agent so by `$/cancel_request`.
    ///
    /// Returns what it was for; `None` if it has been answered, or given up before. An agent that
    /// is not initialized is told nothing: it would not know what to make of it.
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
            fx.push(Effect::Host(HostEffect::Send { agent, line }));
        }
        Some(call)
    }

    /// The agent takes back one of its own requests.
    pub(crate) fn request_cancelled(&mut self, agent: AgentKey, id: &RequestId, fx: &mut Effects) {
        let asker = Asker::Agent(agent, id.clone());
        let is_done = self.permission_taken_back(agent, id, fx)
            || self.elicitation_taken_back(&asker, fx)
            || self.file_taken_back(&asker, fx);
        if !is_done {
            self.terminals.waiter_cancelled(agent, id, fx);
        }
    }
}
