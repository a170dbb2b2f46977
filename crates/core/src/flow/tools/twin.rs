//! Matches calls that arrive here with the agent's own announcements of them, so that both share
//! one entry.
//!
//! Invariants: a call matches at most one announcement and the reverse; an announcement that
//! contradicts its call stays visible.

use serde_json::{Map, Value as Json};

use crate::conversation::transcript::Entry;
use crate::model::Model;
use crate::render::toolcall::ToolCall;
use crate::spine::ids::{SessionKey, ToolUseId};
use crate::tools::twin::{best, likeness, names};
use crate::tools::uses::Use;
use acp::{Content, ToolCallId, ToolCallPatch, ToolContent};

impl Model {
    /// Returns the agent's entry for a call that has none: the oldest with the same input, else the
    /// oldest with an unknown input.
    pub(super) fn find_twin(&self, of: &Use) -> Option<ToolCallId> {
        let session = self.conversation.sessions.get(&of.session)?;
        let entries = session.transcript.entries().iter();
        let tools = entries.filter_map(|entry| match entry {
            Entry::Tool(tool) => Some(&**tool),
            _ => None,
        });
        let is_free = |tool: &&ToolCall| {
            let name = (of.session, tool.id.clone());
            tool.is_open() && !self.tools.taken.contains(&name)
        };
        let named = tools.filter(is_free).filter(|tool| {
            let says = (
                Some(&*tool.title),
                tool.meta.as_ref(),
                tool.raw_input.as_ref(),
            );
            names(says, &of.name)
        });
        let like = named.filter_map(|tool| {
            let like = likeness(tool.raw_input.as_ref(), of.arguments.as_ref())?;
            Some((like, tool.id.clone()))
        });
        best(like)
    }

    /// Gives a complete call without an entry the one its agent announced, if any.
    pub(super) fn meet_announced(&mut self, id: ToolUseId) {
        let Some(of) = self.tools.uses.get(&id).filter(|of| of.entry.is_none()) else {
            return;
        };
        let Some(twin) = self.find_twin(of) else {
            return;
        };
        if let Some(of) = self.tools.uses.get_mut(&id) {
            let name = (of.session, twin.clone());
            self.tools.taken.insert(name.clone());
            self.tools.twins.insert(name, of.name.clone());
            of.entry = Some(twin.clone());
            of.twin = Some(twin);
        }
    }

    /// Redirects an agent's announcement to the entry of the matching call.
    pub(crate) fn meet_twin(&mut self, key: SessionKey, patch: &mut ToolCallPatch) {
        let transcript = self
            .conversation
            .sessions
            .get(&key)
            .map(|session| &session.transcript);
        let Some(transcript) = transcript else {
            return;
        };
        if transcript.find_tool(&patch.id).is_none()
            && let Some(entry) = self.tools.take_twin(key, patch)
            && let Some(session) = self.conversation.sessions.get_mut(&key)
        {
            session.transcript.call_also(patch.id.clone(), &entry);
        }
        let twin = (key, patch.id.clone());
        let session = self.conversation.sessions.get(&key);
        let entry = session.and_then(|session| session.transcript.find_tool(&patch.id));
        if let (Some(name), Some(entry)) = (self.tools.twins.get(&twin), entry) {
            leave_ours(patch, name, entry.raw_input.as_ref());
        }
    }
}

/// Removes from an agent's description the fields known better here, unless it describes something
/// else.
fn leave_ours(patch: &mut ToolCallPatch, name: &str, shown: Option<&Json>) {
    let title = patch.title.as_deref();
    let is_other = title.is_some_and(|title| !names((Some(title), None, None), name));
    let empty = Map::new();
    let arguments = shown.and_then(Json::as_object).unwrap_or(&empty);
    let is_told = patch.raw_input.is_some();
    if is_other || is_told && likeness(patch.raw_input.as_ref(), Some(arguments)).is_none() {
        return;
    }
    patch.title = None;
    patch.kind = None;
    patch.raw_input = None;
    patch.raw_output = None;
    let is_text = |item: &ToolContent| matches!(item, ToolContent::Content(Content::Text(_)));
    if patch
        .content
        .as_ref()
        .is_some_and(|all| all.iter().all(is_text))
    {
        patch.content = None;
    }
}
