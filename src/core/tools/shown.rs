//! A call as an entry of the transcript.
//!
//! Invariant: a call has one entry, its own or the one its agent has made for it.

use std::path::Path;

use serde_json::Value as Json;
use serde_json::value::to_raw_value;

use super::uses::Use;
use super::{Progress, ToolResult};
use crate::acp::{self, Content, Location, ToolCallId, ToolCallPatch, ToolContent, ToolStatus};
use crate::core::ids::ToolUseId;
use crate::core::model::Model;

impl Use {
    /// Returns what is known of the call: what it is, and what with.
    pub fn patch(&self, cwd: &Path) -> Option<ToolCallPatch> {
        let arguments = self.arguments.as_ref();
        let kind = self.spec.as_ref().map(|spec| spec.kind.clone());
        let path = arguments.and_then(|all| all.get("path")?.as_str());
        let row = arguments.and_then(|all| all.get("line")?.as_u64());
        let row = row.and_then(|line| u32::try_from(line.saturating_sub(1)).ok());
        let location = path.filter(|path| !path.is_empty()).map(|path| Location {
            path: cwd.join(path),
            row,
        });
        let input = arguments.filter(|all| !all.is_empty());
        Some(ToolCallPatch {
            title: Some(self.title().to_owned()),
            kind: kind.map(acp::tool_kind),
            locations: location.map(|location| vec![location]),
            raw_input: input.map(|all| Json::Object(all.clone())),
            ..ToolCallPatch::new(self.entry.clone()?)
        })
    }
}

impl Model {
    /// Shows how a call stands, and what has come of it.
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
        let Some(state) = self.sessions.get(&session) else {
            return;
        };
        let own = || ToolCallId(format!("neovim/{}", id.0).into());
        let entry = of.entry.get_or_insert_with(own).clone();
        let Some(mut patch) = of.patch(&state.spec.cwd) else {
            return;
        };
        self.tools.taken.insert((session, entry));
        patch.status = Some(status);
        patch.content = result.map(|result| result.content.iter().map(content).collect());
        self.tracked.named(&patch);
        self.merge_told(session, patch, Vec::new(), &[]);
    }

    /// Shows how far a call is.
    pub(super) fn show_progress(&mut self, id: ToolUseId, progress: &Progress) {
        let of = self.tools.uses.get(&id);
        let Some((session, entry)) = of.and_then(|of| Some((of.session, of.entry.clone()?))) else {
            return;
        };
        let patch = ToolCallPatch {
            content: Some(vec![ToolContent::Content(Content::Text(words(progress)))]),
            ..ToolCallPatch::new(entry)
        };
        self.merge_told(session, patch, Vec::new(), &[]);
    }
}

/// Returns a content block of a result as the transcript has them.
fn content(block: &Json) -> ToolContent {
    match to_raw_value(block) {
        Ok(raw) => ToolContent::Content(acp::content_block(&raw)),
        // A value of JSON always is one.
        Err(_) => ToolContent::Content(Content::Text(block.to_string())),
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
