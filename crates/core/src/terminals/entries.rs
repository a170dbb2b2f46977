//! Terminals and the entries of the transcript that show them.
//!
//! Invariant: an entry is dirty only when a frame finds that its lines have changed, however much was
//! printed in between.

use super::shown::Output;
use crate::conversation::transcript::Entry;
use crate::model::Model;
use crate::render::rawview;
use crate::render::toolview;
use crate::render::view::Link;
use crate::spine::ids::SessionKey;
use acp::{TerminalId, TerminalNews, ToolCallPatch, ToolContent, take_terminal_news};

impl Model {
    /// Merges what a message says of a tool call into the transcript, and what it tells of
    /// terminals.
    pub(crate) fn merge_tool(&mut self, session: SessionKey, mut patch: ToolCallPatch) {
        self.frame.permission_dirty |= self.elicitations.is_about(session, &patch.id);
        self.meet_twin(session, &mut patch);
        let news = take_terminal_news(&mut patch);
        self.merge_told(session, patch, news, &[]);
    }

    /// Merges what is known of a tool call: a patch, what was told of terminals, and those that
    /// it has shown.
    pub(crate) fn merge_told(
        &mut self,
        session: SessionKey,
        patch: ToolCallPatch,
        news: Vec<TerminalNews>,
        shown: &[TerminalId],
    ) {
        let has_content = patch.content.is_some();
        let Some(state) = self.sessions.get_mut(&session) else {
            return;
        };
        let index = state.transcript.tool(patch);
        if has_content {
            self.place_diffs(session, index);
        }
        let Some(state) = self.sessions.get_mut(&session) else {
            return;
        };
        let Some(Entry::Tool(tool)) = state.transcript.entry_mut(index) else {
            return;
        };
        for item in &tool.content {
            if let ToolContent::Terminal { id } = item {
                tool.terminals.add(id);
            }
        }
        let named = shown.iter().chain(news.iter().map(|news| &news.terminal));
        for terminal in named {
            tool.terminals.add(terminal);
        }
        let ids: Vec<TerminalId> = tool.terminals.ids().cloned().collect();
        if ids.is_empty() {
            return;
        }
        let title = rawview::command(tool).unwrap_or_else(|| toolview::title(tool));
        let is_over = !tool.is_open();
        let output = tool.raw_output.as_ref().filter(|_| is_over);
        let output = output.and_then(rawview::output);
        let is_in_turn = state.turn.is_some();
        for news in news {
            self.terminals.told(session, news, &state.spec.cwd);
        }
        for id in ids {
            let named = self.terminals.names.entry((session, id.clone()));
            let named = named.or_default();
            named.entries.insert(index);
            if let Some(key) = named.terminal {
                self.terminals.is_called(key, &title, is_in_turn);
                if let Some(output) = &output {
                    self.terminals.stand_in(key, output);
                }
                if is_over {
                    self.terminals.end_told(key);
                }
            }
            self.terminals.mark(session, &id);
        }
    }

    /// Puts what terminals show now into the transcript.
    pub(crate) fn refresh_terminals(&mut self) {
        // The snapshot that goes along with a frame has all of it.
        self.terminals.has_news = false;
        if self.terminals.output == Output::Held {
            return;
        }
        for (key, id) in std::mem::take(&mut self.terminals.dirty) {
            let name = (key, id);
            let named = self.terminals.names.get(&name);
            let shown = named.and_then(|named| {
                let link = Link::Terminal(named.terminal?);
                Some((self.terminals.all.get(&named.terminal?)?, link))
            });
            let (Some(named), Some((terminal, link))) = (named, shown) else {
                continue;
            };
            let Some(session) = self.sessions.get_mut(&key) else {
                continue;
            };
            let asked = self.permissions.shown();
            for &index in &named.entries {
                if let Some(Entry::Tool(tool)) = session.transcript.entry_mut(index)
                    && tool
                        .terminals
                        .set(&name.1, terminal, &session.spec.cwd, &link)
                {
                    self.frame.permission_dirty |= asked.is_some_and(|open| open.tool == tool.id);
                    session.transcript.touch(index);
                }
            }
        }
    }
}
