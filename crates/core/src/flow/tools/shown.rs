//! Shows calls in the transcript.
//!
//! Invariant: a call has one entry, its own or the one its agent announced. The first line shows
//! the arguments, the rest the progress or result.

use crate::model::Model;
use crate::spine::ids::{SessionKey, ToolUseId};
use crate::spine::tool::{Progress, ToolResult};
use acp::{ToolCallPatch, ToolStatus};

impl Model {
    /// Shows a call's status and result.
    pub(super) fn show_use(
        &mut self,
        id: ToolUseId,
        status: ToolStatus,
        result: Option<&ToolResult>,
    ) {
        let Some(session) = self.tools.get(id).map(|of| of.session) else {
            return;
        };
        let Some(state) = self.conversation.session(session) else {
            return;
        };
        if let Some(patch) = self.tools.show(id, state.cwd(), status, result) {
            self.workspace.tool_named(session, &patch);
            self.merge_entry(session, patch);
        }
    }

    /// Updates an entry, and the question that shows it.
    fn merge_entry(&mut self, session: SessionKey, patch: ToolCallPatch) {
        self.merge_told(session, patch, Vec::new(), &[]);
    }

    /// Shows a call's progress.
    pub(super) fn show_progress(&mut self, id: ToolUseId, progress: &Progress) {
        let Some(of) = self.tools.get(id) else {
            return;
        };
        let session = of.session;
        if let Some(patch) = of.progressed(progress) {
            self.merge_entry(session, patch);
        }
    }
}
