//! The attachments of a session's next prompt, until it is sent.
//!
//! Invariant: an attachment is sent with the next prompt unless the user removes it; a prompt waits
//! until its attachments are fetched.

use crate::conversation::attachment::{Fetch, whole};
use crate::model::Model;
use crate::spine::cx::Effects;
use crate::spine::ids::{AgentKey, SessionKey};

impl Model {
    /// Fetches the current content that the outgoing prompt names; returns `false` while some of it
    /// is pending.
    pub(crate) fn has_contents(
        &mut self,
        agent: AgentKey,
        key: SessionKey,
        fx: &mut Effects,
    ) -> bool {
        for (at, fetch) in self.conversation.wanted(agent, key) {
            let text = match &fetch {
                Fetch::File(path) => {
                    let found = self.workspace.documents().named(path);
                    found.map(|(_, open)| whole(&open.text, open.state.format))
                }
                Fetch::Diff(_) | Fetch::Image(_) => None,
            };
            self.conversation.fetch(key, at, fetch, text, fx);
        }
        self.conversation.has_contents(key)
    }

    /// Sends the prompt of a session whose last content has come.
    pub(crate) fn send_ready(&mut self, ready: Option<SessionKey>, fx: &mut Effects) {
        if let Some(key) = ready {
            self.send_prompt(key, fx);
        }
    }
}
