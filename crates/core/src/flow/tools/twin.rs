//! Matches calls that arrive here with the agent's own announcements of them, so that both share
//! one entry.
//!
//! Invariants: a call matches at most one announcement and the reverse; an announcement that
//! contradicts its call stays visible.

use crate::conversation::transcript::Entry;
use crate::model::Model;
use crate::spine::ids::{SessionKey, ToolUseId};
use acp::{ToolCallId, ToolCallPatch};

impl Model {
    /// Returns the agent's entry for a call that has none.
    pub(super) fn find_twin(&self, id: ToolUseId) -> Option<ToolCallId> {
        let of = self.tools.get(id).filter(|of| of.entry.is_none())?;
        let session = self.conversation.session(of.session)?;
        let entries = session.transcript().entries().iter();
        let calls = entries.filter_map(|entry| match entry {
            Entry::Tool(tool) => Some(&**tool),
            _ => None,
        });
        self.tools.find_announced(of, calls)
    }

    /// Gives a complete call without an entry the one its agent announced, if any.
    pub(super) fn meet_announced(&mut self, id: ToolUseId) {
        if let Some(twin) = self.find_twin(id) {
            self.tools.share_entry(id, twin);
        }
    }

    /// Redirects an agent's announcement to the entry of the matching call.
    pub(crate) fn meet_twin(&mut self, key: SessionKey, patch: &mut ToolCallPatch) {
        let Some(session) = self.conversation.session(key) else {
            return;
        };
        if session.transcript().find_tool(&patch.id).is_none()
            && let Some(entry) = self.tools.take_twin(key, patch)
            && let Some(session) = self.conversation.session_mut(key)
        {
            session.transcript_mut().call_also(patch.id.clone(), &entry);
        }
        let session = self.conversation.session(key);
        let entry = session.and_then(|session| session.transcript().find_tool(&patch.id));
        if let Some(entry) = entry {
            self.tools.leave_ours(key, patch, entry.raw_input.as_ref());
        }
    }
}
