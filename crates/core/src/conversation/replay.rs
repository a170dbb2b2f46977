//! A conversation that an agent replays, held until the replay is complete.
//!
//! Invariants: the held items give the same transcript as the updates would have, one by one; what
//! a later update supersedes is dropped at once; the newest items are kept, within [`KEPT_BYTES`]
//! and [`KEPT_ITEMS`]. So a replay of hundreds of megabytes costs an editor only what it shows.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use crate::render::toolcall;
use acp::{
    CompactionPatch, Content, News, PlanEntry, Role, Summary, TerminalId, TerminalNews, ToolCallId,
    ToolCallPatch, ToolContent, Update, take_terminal_news,
};

/// Maximum size of a held conversation, in estimated bytes.
pub const KEPT_BYTES: usize = 8 << 20;

/// Maximum number of held items: messages, tool calls, plans and others.
pub const KEPT_ITEMS: usize = 20_000;

/// The end of a terminal's output that is always kept, in bytes.
const KEPT_OUTPUT: usize = 1 << 20;

/// Estimated size of an item besides its texts.
const ITEM_BYTES: usize = 200;

/// The held part of a conversation, in the order in which its items began.
#[derive(Debug, Default)]
pub struct Replay {
    items: VecDeque<Item>,
    /// The number of items dropped from the front.
    dropped: usize,
    /// The position of each tool call, counted from the first item of the replay.
    tools: HashMap<ToolCallId, usize>,
    bytes: usize,
}

/// A part of a conversation.
#[derive(Debug)]
pub enum Item {
    Chunk {
        role: Role,
        message: Option<String>,
        parent: Option<ToolCallId>,
        content: Content,
    },
    Tool(Box<Told>),
    Plan(Vec<PlanEntry>),
    Compaction(CompactionPatch),
    Unknown {
        kind: String,
        raw: Value,
    },
}

/// The combined updates of one tool call.
#[derive(Debug)]
pub struct Told {
    pub patch: ToolCallPatch,
    /// All terminals it has shown, including those that later content replaced.
    pub terminals: Vec<TerminalId>,
    pub news: Vec<TerminalNews>,
}

impl Told {
    fn new(id: ToolCallId) -> Self {
        Self {
            patch: ToolCallPatch::new(id),
            terminals: Vec::new(),
            news: Vec::new(),
        }
    }

    fn add(&mut self, mut patch: ToolCallPatch) {
        for news in take_terminal_news(&mut patch) {
            self.tell(news);
        }
        for item in patch.content.iter().flatten() {
            if let ToolContent::Terminal { id } = item
                && !self.terminals.contains(id)
            {
                self.terminals.push(id.clone());
            }
        }
        toolcall::fold(&mut self.patch, patch);
    }

    /// Merges a terminal's report; output is appended to earlier output, or replaces it: some
    /// agents send all of it each time.
    fn tell(&mut self, news: TerminalNews) {
        let (text, may_be_all) = match news.what {
            News::More(text) => (text, false),
            News::MoreOrAll(text) => (text, true),
            News::Info { .. } | News::Exit { .. } => {
                let kind = std::mem::discriminant(&news.what);
                let is_superseded = |known: &TerminalNews| {
                    known.terminal == news.terminal && std::mem::discriminant(&known.what) == kind
                };
                self.news.retain(|known| !is_superseded(known));
                return self.news.push(news);
            }
        };
        let mut known = self.news.iter_mut();
        let known = known.find_map(|known| match &mut known.what {
            News::More(output) if known.terminal == news.terminal => Some(output),
            _ => None,
        });
        match known {
            Some(output) if may_be_all && text.starts_with(&**output) => *output = text,
            Some(output) => {
                output.push_str(&text);
                // The factor 2 avoids moving the whole output for each chunk.
                if output.len() > 2 * KEPT_OUTPUT {
                    let far = output.len() - KEPT_OUTPUT;
                    let cut = (far..output.len()).find(|at| output.is_char_boundary(*at));
                    output.drain(..cut.unwrap_or(far));
                }
            }
            None => self.news.push(TerminalNews {
                terminal: news.terminal,
                what: News::More(text),
            }),
        }
    }
}

impl Replay {
    /// Holds an update of the conversation; returns any other update.
    pub fn hold(&mut self, update: Update) -> Option<Update> {
        match update {
            Update::Chunk {
                role,
                message,
                parent,
                content,
            } => self.chunk(role, message, parent, content),
            Update::ToolCall(patch) => self.tool(patch),
            Update::Plan(entries) => self.plan(entries),
            Update::Compaction(patch) => self.push(Item::Compaction(patch)),
            Update::Unknown { kind, raw } => self.push(Item::Unknown { kind, raw }),
            other => return Some(other),
        }
        self.cut();
        None
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns whether the beginning of the conversation was dropped.
    pub fn is_cut(&self) -> bool {
        self.dropped > 0
    }

    pub fn into_items(self) -> impl Iterator<Item = Item> {
        self.items.into_iter()
    }

    fn chunk(
        &mut self,
        role: Role,
        message: Option<String>,
        parent: Option<ToolCallId>,
        content: Content,
    ) {
        if matches!(&content, Content::Text(text) if text.is_empty()) {
            // It tells nothing.
            return;
        }
        if let Some(Item::Chunk {
            role: last_role,
            message: last_message,
            parent: last_parent,
            content: Content::Text(known),
        }) = self.items.back_mut()
            // A user's chunks are complete blocks: each is a separate text.
            && role != Role::User
            && let Content::Text(more) = &content
            && (*last_role, &*last_message, &*last_parent) == (role, &message, &parent)
        {
            known.push_str(more);
            self.bytes += more.len();
            return;
        }
        self.push(Item::Chunk {
            role,
            message,
            parent,
            content,
        });
    }

    fn tool(&mut self, patch: ToolCallPatch) {
        let at = self.tools.get(&patch.id);
        let at = at.and_then(|at| at.checked_sub(self.dropped));
        if let Some(Item::Tool(known)) = at.and_then(|at| self.items.get_mut(at)) {
            let before = weight_of_call(known);
            known.add(patch);
            self.bytes = (self.bytes + weight_of_call(known)).saturating_sub(before);
            return;
        }
        let id = patch.id.clone();
        self.tools
            .insert(id.clone(), self.dropped + self.items.len());
        let mut told = Told::new(id);
        told.add(patch);
        self.push(Item::Tool(Box::new(told)));
    }

    /// Plans arrive complete: one that directly follows another replaces it.
    fn plan(&mut self, entries: Vec<PlanEntry>) {
        if let Some(Item::Plan(_)) = self.items.back() {
            self.drop_back();
        }
        self.push(Item::Plan(entries));
    }

    fn push(&mut self, item: Item) {
        self.bytes += weight(&item);
        self.items.push_back(item);
    }

    fn drop_back(&mut self) {
        if let Some(item) = self.items.pop_back() {
            self.bytes = self.bytes.saturating_sub(weight(&item));
        }
    }

    fn cut(&mut self) {
        let is_much = |all: &Self| all.bytes > KEPT_BYTES || all.items.len() > KEPT_ITEMS;
        while is_much(self) && self.items.len() > 1 {
            let Some(item) = self.items.pop_front() else {
                return;
            };
            self.bytes = self.bytes.saturating_sub(weight(&item));
            if let Item::Tool(told) = &item {
                self.tools.remove(&told.patch.id);
            }
            self.dropped += 1;
        }
    }
}

fn weight(item: &Item) -> usize {
    ITEM_BYTES
        + match item {
            Item::Chunk { content, .. } => weight_of_content(content),
            Item::Tool(told) => weight_of_call(told),
            Item::Plan(entries) => entries.iter().map(|entry| entry.text.len() + 40).sum(),
            Item::Compaction(patch) => match &patch.summary {
                Some(Summary::Whole(blocks)) => blocks.iter().map(weight_of_content).sum(),
                Some(Summary::More(content)) => weight_of_content(content),
                None => 0,
            },
            Item::Unknown { raw, .. } => weight_of_value(raw),
        }
}

fn weight_of_call(told: &Told) -> usize {
    let patch = &told.patch;
    let news = told.news.iter().map(|news| match &news.what {
        News::More(text) | News::MoreOrAll(text) => text.len(),
        News::Info { .. } | News::Exit { .. } => 0,
    });
    let raw = [&patch.raw_input, &patch.raw_output, &patch.meta];
    let raw = raw.into_iter().flatten().map(weight_of_value);
    let content = patch.content.iter().flatten().map(|item| match item {
        ToolContent::Content(content) => weight_of_content(content),
        ToolContent::Diff { old, new, .. } => old.as_ref().map_or(0, String::len) + new.len(),
        ToolContent::Terminal { .. } => 0,
        ToolContent::Unknown { raw, .. } => weight_of_value(raw),
    });
    let title = patch.title.as_ref().map_or(0, String::len);
    let locations = patch.locations.iter().flatten();
    let locations = locations.map(|location| location.path.as_os_str().len() + 40);
    let said = raw.chain(content).chain(locations).chain(news);
    title + said.sum::<usize>()
}

fn weight_of_content(content: &Content) -> usize {
    match content {
        Content::Text(text) => text.len(),
        Content::Resource { uri, text } => uri.len() + text.as_ref().map_or(0, String::len),
        Content::ResourceLink { uri, name } => uri.len() + name.len(),
        Content::Image { uri, .. } => uri.as_ref().map_or(0, String::len),
        Content::Audio { .. } => 0,
        Content::Unknown { raw, .. } => weight_of_value(raw),
    }
}

/// Estimates the memory a value holds, in bytes.
fn weight_of_value(value: &Value) -> usize {
    32 + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight_of_value).sum(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| key.len() + 32 + weight_of_value(value))
            .sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use acp::Severity;

    use super::*;

    fn said(role: Role, text: &str) -> Update {
        Update::Chunk {
            role,
            message: None,
            parent: None,
            content: Content::Text(text.into()),
        }
    }

    fn output(meta: Value) -> Update {
        Update::ToolCall(ToolCallPatch {
            meta: Some(meta),
            ..ToolCallPatch::new(ToolCallId("t".into()))
        })
    }

    fn held(updates: impl IntoIterator<Item = Update>) -> Replay {
        let mut replay = Replay::default();
        for update in updates {
            replay.hold(update);
        }
        replay
    }

    #[test]
    fn whole_outputs_that_are_sent_again_and_again_are_kept_once() {
        let line = "a line of output\n";
        let with_content = (1..2000).map(|lines| {
            let text = Content::Text(line.repeat(lines));
            Update::ToolCall(ToolCallPatch {
                content: Some(vec![ToolContent::Content(text)]),
                raw_output: Some(json!({ "output": line.repeat(lines) })),
                ..ToolCallPatch::new(ToolCallId("t".into()))
            })
        });
        let replay = held(with_content);
        assert!(replay.bytes < 3 * 2000 * line.len(), "{}", replay.bytes);
        let with_meta = (1..2000).map(|lines| {
            output(json!({ "terminal_output": { "terminal_id": "x", "data": line.repeat(lines) } }))
        });
        let replay = held(with_meta);
        assert!(replay.bytes < 2 * 2000 * line.len(), "{}", replay.bytes);
        assert!(!replay.is_cut());
    }

    #[test]
    fn what_a_terminal_has_printed_comes_together() {
        let replay = held([
            output(json!({ "terminal_output": { "data": "one\n" } })),
            output(json!({ "terminal_output": { "data": "one\ntwo\n" } })),
            output(json!({ "terminal_output_delta": { "data": "three\n" } })),
            output(json!({ "terminal_exit": { "exit_code": 1 } })),
            output(json!({ "terminal_exit": { "exit_code": 0 } })),
        ]);
        let Some(Item::Tool(told)) = replay.items.front() else {
            panic!("{replay:?}");
        };
        let whats: Vec<&News> = told.news.iter().map(|news| &news.what).collect();
        let exit = News::Exit {
            code: Some(0),
            signal: None,
        };
        assert_eq!(whats, [&News::More("one\ntwo\nthree\n".into()), &exit]);
    }

    #[test]
    fn the_newest_is_kept_however_long_one_item_is() {
        let long = "x".repeat(KEPT_BYTES);
        let check = |updates: Vec<Update>, kept: usize, is_cut: bool| {
            let replay = held(updates);
            assert_eq!((replay.items.len(), replay.is_cut()), (kept, is_cut));
        };
        check(vec![said(Role::Agent, &long)], 1, false);
        check(
            vec![said(Role::User, "a"), said(Role::Agent, &long)],
            1,
            true,
        );
        check(
            vec![said(Role::Agent, &long), said(Role::User, "a")],
            1,
            true,
        );
        let many = (0..KEPT_ITEMS + 5).map(|_| said(Role::User, "a"));
        check(many.collect(), KEPT_ITEMS, true);
    }

    #[test]
    fn a_call_that_was_dropped_may_come_again() {
        let call = || Update::ToolCall(ToolCallPatch::new(ToolCallId("t".into())));
        let mut replay = held([call(), said(Role::Agent, &"x".repeat(KEPT_BYTES)), call()]);
        assert_eq!(replay.items.len(), 1);
        replay.hold(call());
        assert_eq!(replay.items.len(), 1, "{replay:?}");
    }

    #[test]
    fn what_the_session_is_in_is_no_part_of_the_conversation() {
        let mut replay = Replay::default();
        for update in [
            Update::Mode("plan".into()),
            Update::Commands(Vec::new()),
            Update::Info { title: None },
            Update::Notice {
                severity: Severity::Info,
                text: "n".into(),
            },
        ] {
            assert_eq!(replay.hold(update.clone()), Some(update));
        }
        assert!(replay.is_empty());
    }
}
