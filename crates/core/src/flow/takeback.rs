//! Cancellation of requests: the client's own, and the agent's.
//!
//! Invariants: a response to a cancelled request of the client is dropped. A request that the agent
//! cancels still gets exactly one response: the cancellation error if it is pending, else its
//! outcome.

use crate::model::Model;
use crate::spine::asker::Asker;
use crate::spine::cx::Effects;
use crate::spine::ids::AgentKey;
use acp::RequestId;

impl Model {
    /// Handles the agent's cancellation of a request it sent.
    pub(crate) fn request_cancelled(&mut self, agent: AgentKey, id: &RequestId, fx: &mut Effects) {
        let asker = Asker::Agent(agent, id.clone());
        let is_done =
            self.withdraw_question(&asker, fx) || self.workspace.file_taken_back(&asker, fx);
        if !is_done {
            self.terminals.waiter_cancelled(agent, id, fx);
        }
    }
}
