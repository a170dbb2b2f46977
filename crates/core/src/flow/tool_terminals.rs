//! Tool calls in the transcript, with the terminals they show.
//!
//! Invariant: an entry is dirty only when its lines have changed, regardless of the amount of
//! output.

use crate::conversation::transcript::Entry;
use crate::model::Model;
use crate::render::{rawview, toolview};
use crate::spine::ids::SessionKey;
use crate::terminals::Showing;
use acp::{TerminalId, TerminalNews, ToolCallPatch, ToolContent, take_terminal_news};

impl Model {
    /// Merges a message about a tool call, and its reports about terminals, into the transcript.
    pub(crate) fn merge_tool(&mut self, session: SessionKey, mut patch: ToolCallPatch) {
        self.meet_twin(session, &mut patch);
        let reports = take_terminal_news(&mut patch);
        self.merge_told(session, patch, reports, &[]);
    }

    /// Merges the parts of a tool call: a patch, reports about terminals, and the terminals it has
    /// shown.
    pub(crate) fn merge_told(
        &mut self,
        key: SessionKey,
        patch: ToolCallPatch,
        reports: Vec<TerminalNews>,
        shown: &[TerminalId],
    ) {
        self.questions.touch_in(key);
        let has_content = patch.content.is_some();
        let Some(session) = self.conversation.session_mut(key) else {
            return;
        };
        let entry = session.transcript_mut().tool(patch);
        if has_content {
            self.place_diffs(key, entry);
        }
        let Some(session) = self.conversation.session_mut(key) else {
            return;
        };
        let is_in_turn = session.is_in_turn();
        let (transcript, cwd) = session.transcript_in_cwd();
        let Some(Entry::Tool(tool)) = transcript.entry_mut(entry) else {
            return;
        };
        for item in &tool.content {
            if let ToolContent::Terminal { id } = item {
                tool.terminals.add(id);
            }
        }
        let named = reports.iter().map(|report| &report.terminal);
        for terminal in shown.iter().chain(named) {
            tool.terminals.add(terminal);
        }
        let ids: Vec<TerminalId> = tool.terminals.ids().cloned().collect();
        if ids.is_empty() {
            return;
        }
        let is_over = !tool.is_open();
        let output = tool.raw_output.as_ref().filter(|_| is_over);
        let call = Showing {
            session: key,
            entry,
            ids,
            title: rawview::command(tool).unwrap_or_else(|| toolview::title(tool)),
            output: output.and_then(rawview::output),
            is_over,
            is_in_turn,
            cwd,
        };
        self.terminals.show_in(call, reports);
    }

    /// Updates the terminals' output in the transcript.
    pub(crate) fn refresh_terminals(&mut self) {
        for name in self.terminals.take_dirty() {
            let Some((terminal, link, entries)) = self.terminals.named(&name) else {
                continue;
            };
            let Some(session) = self.conversation.session_mut(name.0) else {
                continue;
            };
            let (transcript, cwd) = session.transcript_in_cwd();
            for &index in entries {
                if let Some(Entry::Tool(tool)) = transcript.entry_mut(index)
                    && tool.terminals.set(terminal.shown_as(&name.1, cwd), &link)
                {
                    self.questions.touch_in(name.0);
                    transcript.touch(index);
                }
            }
        }
    }
}
