//! Sessions that an agent stores: listing, deleting and closing them; requests about one session.
//!
//! Invariants: each request for a list gets one answer, even if the agent dies; an abandoned
//! session is closed, even if the agent opens it late.

use crate::conversation::agent::Call;
use crate::model::Model;
use crate::spine::cx::{Effects, log};
use crate::spine::effect::Level;
use crate::spine::ids::AgentKey;
use acp::{RpcError, rpc};

impl Model {
    /// Fails a request that concerns one session or none.
    pub(crate) fn call_failed(&mut self, agent: AgentKey, id: u64, why: &str, fx: &mut Effects) {
        let Some(call) = self.conversation.pending_call(agent, id) else {
            return;
        };
        if let Some(key) = call.opens() {
            let session = self.conversation.session(key);
            let session = session.and_then(|it| it.id().cloned());
            self.conversation.orphan(agent, id, session, fx);
            let text = format!("{why}: this chat has no session. Your next prompt tries again.");
            return self.is_not_open(agent, key, text, fx);
        }
        fx.push(log(Level::Warn, why));
        // The session waits for an answer that may come too late.
        if !matches!(call, Call::Orphan(..)) {
            self.conversation.cancel_request_of(agent, id, fx);
        }
        let error = RpcError::new(rpc::INTERNAL_ERROR, why);
        self.conversation.fail(agent, call, error, fx);
    }
}
