//! Proposals of tool calls and questions: updates them, and answers a question once its hunks are
//! decided.

use crate::conversation::session::Session;
use crate::workspace::proposals::Standing;
use acp::{ToolCallId, ToolStatus};

impl Session {
    /// Returns whether a tool call is pending in the running turn.
    pub(crate) fn is_pending(&self, id: &ToolCallId) -> bool {
        let runs = self.turn.as_ref().is_some_and(|turn| !turn.cancelled);
        let tool = self.transcript.find_tool(id);
        runs && tool.is_some_and(|tool| tool.status == ToolStatus::Pending)
    }

    pub(crate) fn standing(&self, id: &ToolCallId) -> Standing {
        let tool = self.transcript.find_tool(id);
        match tool.map(|tool| tool.status) {
            Some(ToolStatus::InProgress | ToolStatus::Completed) => Standing::CarriedOut,
            _ if self.is_pending(id) => Standing::Open,
            _ => Standing::Over,
        }
    }
}
