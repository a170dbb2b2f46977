//! Tool calls in a transcript.
//!
//! Invariant: an id has one entry, regardless of the kind of message that arrives first, until its
//! agent reuses the id for another call.

use std::path::Path;

use super::{Entry, Transcript};
use crate::render::toolcall::ToolCall;
use crate::render::tooldiff::only_place;
use crate::text::Text;
use acp::{ToolCallId, ToolCallPatch, ToolContent, ToolStatus};

/// How many of the newest entries may be tool calls whose files are still being read.
const UNREAD: usize = 64;

impl Transcript {
    /// Merges a message about a tool call into the entry with its id, which is created if missing.
    pub fn tool(&mut self, patch: ToolCallPatch) -> usize {
        let parent = patch.parent.clone();
        if let Some(&index) = self.tools.get(&patch.id) {
            if let Some(Entry::Tool(tool)) = self.entries.get_mut(index) {
                let before = tool.status;
                tool.merge(patch);
                self.progress.tool(index, Some(before), tool.status);
                if tool.status != before {
                    self.dirty.extend(self.family.above(index));
                }
            }
            self.touch(index);
            self.settle_tool(index);
            if let Some(parent) = parent {
                self.belong(index, parent);
            }
            return index;
        }
        let id = patch.id.clone();
        let mut tool = ToolCall::new(id.clone());
        tool.merge(patch);
        let status = tool.status;
        let index = self.push_below(parent, Entry::Tool(Box::new(tool)));
        self.progress.tool(index, None, status);
        self.settle_tool(index);
        self.tools.insert(id.clone(), index);
        for child in self.family.take_waiting(&id) {
            self.belong(child, id.clone());
        }
        index
    }

    /// Registers another id for a tool call, and adopts the entries that waited for it.
    pub fn call_also(&mut self, id: ToolCallId, known: &ToolCallId) {
        let Some(&index) = self.tools.get(known) else {
            return;
        };
        self.tools.entry(id.clone()).or_insert(index);
        for child in self.family.take_waiting(&id) {
            self.belong(child, id.clone());
        }
    }

    /// Locates the diffs of a tool call in the current texts of their files.
    pub fn place_diffs(&mut self, index: usize, text_of: impl Fn(&Path) -> Option<Text>) {
        if let Some(Entry::Tool(tool)) = self.entries.get_mut(index) {
            place(tool, |path, _| text_of(path));
        }
    }

    /// Locates the diffs of a file whose text had not been read when their tool calls came.
    pub fn place_new_diffs(&mut self, of: &Path, text: &Text) {
        let newest = self.entries.len().saturating_sub(UNREAD);
        for index in newest..self.entries.len() {
            if let Some(Entry::Tool(tool)) = self.entries.get_mut(index)
                && place(tool, |path, is_placed| {
                    (path == of && !is_placed).then(|| text.clone())
                })
            {
                self.touch(index);
            }
        }
    }

    /// Drops the content of an open tool call: its agent asks about something else of it.
    pub fn forget_content(&mut self, id: &ToolCallId) {
        let Some(at) = self.entry_of(id) else {
            return;
        };
        if let Some(Entry::Tool(tool)) = self.entries.get_mut(at) {
            tool.forget_content();
            self.touch(at);
        }
    }

    /// Lets the next message with an id begin a new entry, because the id is reused for another
    /// call; returns the entry so far, which stays as it is.
    pub fn begin_anew(&mut self, id: &ToolCallId) -> Option<usize> {
        self.last.remove(&Some(id.clone()));
        self.tools.remove(id)
    }

    /// Returns the entry of the tool call with an id.
    pub fn entry_of(&self, id: &ToolCallId) -> Option<usize> {
        self.tools.get(id).copied()
    }

    pub fn find_tool(&self, id: &ToolCallId) -> Option<&ToolCall> {
        match self.entries.get(*self.tools.get(id)?)? {
            Entry::Tool(tool) => Some(tool),
            _ => None,
        }
    }

    /// Returns the parent of the tool call with an id.
    pub fn find_parent(&self, id: &ToolCallId) -> Option<&ToolCall> {
        let parent = self.family.parent(*self.tools.get(id)?)?;
        match self.entries.get(parent)? {
            Entry::Tool(tool) => Some(tool),
            _ => None,
        }
    }

    /// Returns the tool call with an id, and its entry's index.
    pub fn tool_mut(&mut self, id: &ToolCallId) -> Option<(usize, &mut ToolCall)> {
        let index = *self.tools.get(id)?;
        match self.entries.get_mut(index)? {
            Entry::Tool(tool) => Some((index, tool)),
            _ => None,
        }
    }

    /// Forgets the calls' ids, except those that `is_kept` selects.
    pub fn forget_calls(&mut self, is_kept: impl Fn(&ToolCallId) -> bool) {
        self.last.retain(|of, _| of.as_ref().is_none_or(&is_kept));
        self.tools.retain(|id, _| is_kept(id));
        self.family.forget_waiting();
    }

    /// Returns whether an entry is the tool call with an id.
    pub fn is_tool(&self, index: usize, id: &ToolCallId) -> bool {
        self.tools.get(id) == Some(&index)
    }

    /// Marks all unfinished tool calls as cancelled.
    pub fn cancel_tools(&mut self) {
        self.cancel_tools_but(|_| false);
    }

    /// Marks all unfinished tool calls as cancelled, except those that `is_kept` selects.
    pub fn cancel_tools_but(&mut self, is_kept: impl Fn(&ToolCallId) -> bool) {
        for (index, entry) in self.entries.iter_mut().enumerate() {
            if let Entry::Tool(tool) = entry
                && tool.is_open()
                && !is_kept(&tool.id)
            {
                self.progress
                    .tool(index, Some(tool.status), ToolStatus::Cancelled);
                tool.status = ToolStatus::Cancelled;
                self.dirty.insert(index);
                self.news.touch(index);
                self.news.settle(index);
                self.dirty.extend(self.family.above(index));
            }
        }
    }

    /// Marks a tool call as rejected, unless it was completed; as in progress, if it was pending; or
    /// as pending again, because its agent asks once more.
    pub fn decide_tool(&mut self, index: usize, to: ToolStatus) {
        let Some(Entry::Tool(tool)) = self.entries.get_mut(index) else {
            return;
        };
        let is_news = match to {
            ToolStatus::Rejected => tool.status != ToolStatus::Completed,
            ToolStatus::InProgress => tool.status == ToolStatus::Pending,
            _ => tool.status == ToolStatus::Rejected,
        };
        if is_news {
            self.progress.tool(index, Some(tool.status), to);
            tool.status = to;
            self.touch(index);
            self.settle_tool(index);
            self.dirty.extend(self.family.above(index));
        }
    }

    /// Marks a tool call that has ended as complete for the record.
    pub(super) fn settle_tool(&mut self, index: usize) {
        if let Some(Entry::Tool(tool)) = self.entries.get(index)
            && !tool.is_open()
        {
            self.news.settle(index);
        }
    }
}

/// Locates the diffs of a tool call in the texts that `text_of` has for a path, and whether the diff
/// is located already; returns whether any was.
fn place(tool: &mut ToolCall, text_of: impl Fn(&Path, bool) -> Option<Text>) -> bool {
    let mut any = false;
    for (at, diff) in tool.texts.diffs_mut() {
        let Some(ToolContent::Diff { path, old, new }) = tool.content.get(at) else {
            continue;
        };
        let Some(text) = text_of(path, diff.place().is_some()) else {
            continue;
        };
        let old = old.as_deref().unwrap_or_default();
        let place = only_place(&text, new).or_else(|| only_place(&text, old));
        if let Some(row) = place.and_then(|row| u32::try_from(row).ok()) {
            diff.set_place(row);
            any = true;
        }
    }
    any
}
