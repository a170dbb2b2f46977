//! Shows calls in the transcript.
//!
//! Invariant: a call has one entry, its own or the one its agent announced. The first line shows
//! the arguments, the rest the progress or result.

use crate::model::Model;
use crate::spine::ids::{SessionKey, ToolUseId};
use crate::spine::tool::{Progress, ToolResult};
use crate::tools::shown::{ENTRY, content};
use acp::{self, Content, ToolCallId, ToolCallPatch, ToolContent, ToolStatus};

impl Model {
    /// Shows a call's status and result.
    pub(super) fn show_use(
        &mut self,
        id: ToolUseId,
        status: ToolStatus,
        result: Option<&ToolResult>,
    ) {
        let Some(of) = self.tools.uses.get_mut(&id) else {
            return;
        };
        let session = of.session;
        let Some(state) = self.conversation.sessions.get(&session) else {
            return;
        };
        let own = || ToolCallId(format!("{ENTRY}{}", id.0).into());
        let entry = of.entry.get_or_insert_with(own).clone();
        let Some(mut patch) = of.patch(&state.spec.cwd) else {
            return;
        };
        self.tools.taken.insert((session, entry));
        patch.status = Some(status);
        let blocks = result.into_iter().flat_map(|result| result.content.iter());
        patch.content = Some(of.content(blocks.map(content))).filter(|all| !all.is_empty());
        self.workspace.tool_named(session, &patch);
        self.merge_entry(session, patch);
    }

    /// Updates an entry, and the question that shows it.
    fn merge_entry(&mut self, session: SessionKey, patch: ToolCallPatch) {
        self.merge_told(session, patch, Vec::new(), &[]);
    }

    /// Shows a call's progress.
    pub(super) fn show_progress(&mut self, id: ToolUseId, progress: &Progress) {
        let Some(of) = self.tools.uses.get(&id) else {
            return;
        };
        let (session, Some(entry)) = (of.session, of.entry.clone()) else {
            return;
        };
        let words = ToolContent::Content(Content::Text(words(progress)));
        let patch = ToolCallPatch {
            content: Some(of.content(std::iter::once(words))),
            ..ToolCallPatch::new(entry)
        };
        self.merge_entry(session, patch);
    }
}

fn words(progress: &Progress) -> String {
    let mut words = progress.done.to_string();
    if let Some(total) = progress.total {
        words.push_str(&format!(" of {total}"));
    }
    if let Some(message) = &progress.message {
        words.push_str(&format!(": {message}"));
    }
    words
}
