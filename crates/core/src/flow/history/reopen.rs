//! Reopening past sessions: the record is shown where an agent does not replay the conversation,
//! and sent to an agent that has forgotten it.
//!
//! Invariant: the record of a session is looked up before its agent is asked for the session, and
//! is shown once.

use crate::model::Model;
use crate::spine::cx::Effects;
use crate::spine::history::{Past, RecordName};
use crate::spine::ids::SessionKey;

impl Model {
    pub(super) fn is_found(
        &mut self,
        key: SessionKey,
        found: Option<(RecordName, Past)>,
        fx: &mut Effects,
    ) {
        let Some(session) = self.conversation.sessions.get_mut(&key) else {
            return;
        };
        session.history.is_looked_for = false;
        session.history.found = found.map(Box::new);
        // A prompt may have connected the session first.
        if session.agent.is_none() {
            self.connect(key, fx);
        }
    }
}
