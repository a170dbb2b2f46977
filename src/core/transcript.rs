//! The transcript of a session: entries in the order in which they began, keyed by id.
//!
//! Invariant: entries are added and changed, never removed or moved. What belongs to a tool call
//! (see [`Family`]) is an entry like any other; where it stands on the screen is the view's
//! business.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use serde_json::Value;

use super::effect::Level;
use super::family::Family;
use super::markdown::Markdown;
use super::plan::Plans;
use super::progress::Progress;
use super::text::Text;
pub use super::toolcall::ToolCall;
use super::tooldiff::only_place;
use super::view::Line;
use crate::acp::{Content, PlanEntry, Role, ToolCallId, ToolCallPatch, ToolContent, ToolStatus};

/// The entries of a session.
#[derive(Debug, Default)]
pub struct Transcript {
    entries: Vec<Entry>,
    tools: HashMap<ToolCallId, usize>,
    pub(super) plans: Plans,
    family: Family,
    /// Entries that belong to another call than before, or to one at last.
    moved: Vec<usize>,
    /// The last entry of the agent itself, and of each sub-agent by the call that started it.
    last: HashMap<Option<ToolCallId>, usize>,
    dirty: BTreeSet<usize>,
    pub(super) progress: Progress,
}

#[derive(Debug)]
pub enum Entry {
    /// What the user said.
    User(Message),
    Agent(Message),
    Thought(Message),
    Tool(Box<ToolCall>),
    Plan(Vec<PlanEntry>),
    /// The client's own word on what happened.
    Notice {
        level: Level,
        text: String,
    },
    /// What goes along with a prompt: a line, and what is folded below it.
    Along {
        head: String,
        lines: Vec<Line>,
    },
    /// An update nobody here knows, kept whole.
    Unknown {
        kind: String,
        raw: Value,
    },
}

/// A message that may still grow.
#[derive(Debug)]
pub struct Message {
    pub id: Option<String>,
    pub markdown: Markdown,
    /// It was said in one piece: what follows is another message.
    whole: bool,
    /// Line ends at the end: they are text only if more follows.
    held: String,
}

impl Message {
    fn new(id: Option<String>, text: &str) -> Self {
        let mut message = Self {
            id,
            markdown: Markdown::new(),
            whole: false,
            held: String::new(),
        };
        message.push(text.trim_start_matches(['\n', '\r']));
        message
    }

    /// What is no text stands on lines of its own.
    fn end_line_at(&mut self, content: &Content) {
        if !matches!(content, Content::Text(_)) && self.held.is_empty() {
            self.held.push('\n');
        }
    }

    fn push(&mut self, text: &str) {
        let body = text.trim_end_matches(['\n', '\r']);
        if !body.is_empty() {
            let held = std::mem::take(&mut self.held);
            self.markdown.push(&held);
            self.markdown.push(body);
        }
        self.held
            .push_str(text.get(body.len()..).unwrap_or_default());
    }
}

impl Transcript {
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns which entries belong to which.
    pub fn family(&self) -> &Family {
        &self.family
    }

    #[cfg(test)]
    pub fn set_family(&mut self, family: Family) {
        self.family = family;
    }

    /// Returns the entries that belong to another call than when this was asked last.
    pub fn take_moved(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.moved)
    }

    pub fn entry_mut(&mut self, index: usize) -> Option<&mut Entry> {
        self.entries.get_mut(index)
    }

    /// Returns the entries that changed since they were last rendered, first to last.
    pub fn dirty(&self) -> &BTreeSet<usize> {
        &self.dirty
    }

    pub fn set_clean(&mut self, index: usize) {
        self.dirty.remove(&index);
    }

    pub fn set_dirty(&mut self, index: usize) {
        if index < self.entries.len() {
            self.dirty.insert(index);
        }
    }

    /// Says that what comes next to an entry has changed: the entry behind it, both where it
    /// belongs by now and among those that belong to none.
    pub fn set_siblings_dirty(&mut self, index: usize) {
        let siblings = self
            .family
            .parent(index)
            .map(|above| self.family.children(above));
        let next = siblings
            .unwrap_or_default()
            .iter()
            .find(|sibling| **sibling > index);
        self.dirty.extend(next);
        let mut others = index + 1..self.entries.len();
        self.dirty
            .extend(others.find(|&other| self.family.parent(other).is_none()));
    }

    pub fn set_all_dirty(&mut self) {
        self.dirty = (0..self.entries.len()).collect();
    }

    /// Says that a language was reported: what waits for one is dirty then.
    pub fn language_came(&mut self) {
        for (index, entry) in self.entries.iter_mut().enumerate() {
            let is_dirty = match entry {
                Entry::User(message) | Entry::Agent(message) | Entry::Thought(message) => {
                    message.markdown.language_came();
                    message.markdown.is_dirty()
                }
                Entry::Tool(tool) => tool.texts.language_came(),
                Entry::Plan(_)
                | Entry::Notice { .. }
                | Entry::Along { .. }
                | Entry::Unknown { .. } => false,
            };
            if is_dirty {
                self.dirty.insert(index);
            }
        }
    }

    /// Appends an entry; a message before it is complete.
    pub fn push(&mut self, entry: Entry) -> usize {
        self.push_below(None, entry)
    }

    /// Appends an entry of a sub-agent's, or of the agent's own; a message before it is complete.
    fn push_below(&mut self, parent: Option<ToolCallId>, entry: Entry) -> usize {
        self.finish_last(&parent);
        let index = self.entries.len();
        self.entries.push(entry);
        self.dirty.insert(index);
        self.last.insert(parent.clone(), index);
        if let Some(parent) = parent {
            self.belong(index, parent);
        }
        index
    }

    /// Says to which call an entry belongs.
    fn belong(&mut self, index: usize, parent: ToolCallId) {
        match self.tools.get(&parent) {
            None => self.family.wait(index, parent),
            Some(&above) => {
                let before = self.family.parent(index);
                if self.family.belong(index, above) {
                    self.moved.push(index);
                    self.dirty.extend([index, above]);
                    let before = before.map(|before| (before, self.family.children(before)));
                    if let Some((before, siblings)) = before {
                        self.dirty.insert(before);
                        self.dirty.extend(siblings);
                    }
                    self.dirty.extend(self.family.above(above));
                }
            }
        }
    }

    /// Puts another entry of its kind in the place of one.
    pub fn replace(&mut self, index: usize, entry: Entry) {
        if let Some(old) = self.entries.get_mut(index) {
            *old = entry;
            self.dirty.insert(index);
        }
    }

    pub fn notice(&mut self, level: Level, text: impl Into<String>) {
        let text = text.into();
        self.push(Entry::Notice { level, text });
    }

    /// Appends to the message that is being said, or begins a new one; line ends alone begin none.
    ///
    /// A sub-agent's goes on whatever others say in between.
    pub fn chunk(
        &mut self,
        role: Role,
        id: Option<String>,
        parent: Option<ToolCallId>,
        content: &Content,
    ) {
        let text = content_markdown(content);
        let last = self.last.get(&parent).copied();
        let entry = last.and_then(|last| self.entries.get_mut(last));
        let open = match (entry, role) {
            (Some(Entry::User(message)), Role::User)
            | (Some(Entry::Agent(message)), Role::Agent)
            | (Some(Entry::Thought(message)), Role::Thought)
                if !message.whole && (id.is_none() || message.id == id) =>
            {
                Some(message)
            }
            _ => None,
        };
        if let Some(message) = open {
            message.end_line_at(content);
            message.push(&text);
            message.end_line_at(content);
            self.dirty.extend(last);
            return;
        }
        if text.trim_matches(['\n', '\r']).is_empty() {
            return;
        }
        let mut message = Message::new(id, &text);
        message.end_line_at(content);
        let entry = match role {
            Role::User => Entry::User(message),
            Role::Agent => Entry::Agent(message),
            Role::Thought => Entry::Thought(message),
        };
        self.push_below(parent, entry);
    }

    /// Merges what a message says of a tool call into the entry with its id, made if need be.
    pub fn tool(&mut self, patch: ToolCallPatch) -> usize {
        let parent = patch.parent();
        if let Some(&index) = self.tools.get(&patch.id) {
            if let Some(Entry::Tool(tool)) = self.entries.get_mut(index) {
                let before = tool.status;
                tool.merge(patch);
                self.progress.tool(index, Some(before), tool.status);
                if tool.status != before {
                    self.dirty.extend(self.family.above(index));
                }
            }
            self.dirty.insert(index);
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
        self.tools.insert(id.clone(), index);
        for child in self.family.take_waiting(&id) {
            self.belong(child, id.clone());
        }
        index
    }

    /// Lets the diffs of a tool call find their places in their files as they are now.
    pub fn place_diffs(&mut self, index: usize, text_of: impl Fn(&Path) -> Option<Text>) {
        let Some(Entry::Tool(tool)) = self.entries.get_mut(index) else {
            return;
        };
        for (at, diff) in tool.texts.diffs_mut() {
            let Some(ToolContent::Diff { path, old, new }) = tool.content.get(at) else {
                continue;
            };
            let Some(text) = text_of(path) else {
                continue;
            };
            let old = old.as_deref().unwrap_or_default();
            let place = only_place(&text, new).or_else(|| only_place(&text, old));
            if let Some(row) = place.and_then(|row| u32::try_from(row).ok()) {
                diff.set_place(row);
            }
        }
    }

    /// Forgets what a tool call shows: its id is used for another one from now on.
    pub fn forget_content(&mut self, id: &ToolCallId) {
        if let Some(Entry::Tool(tool)) = self.tools.get(id).and_then(|&at| self.entries.get_mut(at))
        {
            tool.forget_content();
        }
    }

    pub fn find_tool(&self, id: &ToolCallId) -> Option<&ToolCall> {
        match self.entries.get(*self.tools.get(id)?)? {
            Entry::Tool(tool) => Some(tool),
            _ => None,
        }
    }

    /// Marks every tool call that is not finished as cancelled.
    pub fn cancel_tools(&mut self) {
        for (index, entry) in self.entries.iter_mut().enumerate() {
            if let Entry::Tool(tool) = entry
                && tool.is_open()
            {
                self.progress
                    .tool(index, Some(tool.status), ToolStatus::Cancelled);
                tool.status = ToolStatus::Cancelled;
                self.dirty.insert(index);
                self.dirty.extend(self.family.above(index));
            }
        }
    }

    /// Ends the turn: its plan stays, the next turn's plan is a new one.
    pub fn end_turn(&mut self) {
        self.end_plan();
        self.progress.end_turn();
        for last in self.last.values() {
            finish(&mut self.entries, *last, &mut self.dirty);
        }
    }

    /// Ends what the agent is saying, unless its id will tell whether more belongs to it: it has
    /// done something that is no entry of its own.
    pub(super) fn end_message(&mut self) {
        let Some(&last) = self.last.get(&None) else {
            return;
        };
        if let Some(Entry::Agent(message) | Entry::Thought(message)) = self.entries.get_mut(last)
            && message.id.is_none()
        {
            message.whole = true;
            finish(&mut self.entries, last, &mut self.dirty);
        }
    }

    /// Completes what the agent itself or a sub-agent has said last.
    fn finish_last(&mut self, parent: &Option<ToolCallId>) {
        if let Some(last) = self.last.get(parent) {
            finish(&mut self.entries, *last, &mut self.dirty);
        }
    }

    /// Begins a turn with what the user said.
    pub fn begin_turn(&mut self, prompt: &str) {
        self.plans.begin_turn();
        let mut message = Message::new(None, prompt);
        message.whole = true;
        message.markdown.finish();
        self.push(Entry::User(message));
    }
}

fn finish(entries: &mut [Entry], index: usize, dirty: &mut BTreeSet<usize>) {
    if let Some(Entry::User(message) | Entry::Agent(message) | Entry::Thought(message)) =
        entries.get_mut(index)
    {
        message.markdown.finish();
        dirty.insert(index);
    }
}

/// Returns a content block as markdown: text as it is, everything else by name and size.
pub fn content_markdown(content: &Content) -> String {
    match content {
        Content::Text(text) => text.clone(),
        Content::Image { mime, uri, bytes } => match uri {
            Some(uri) => format!("[image {mime}]({uri})"),
            None => format!("[image {mime}, {bytes} bytes]"),
        },
        Content::Audio { mime, bytes } => format!("[audio {mime}, {bytes} bytes]"),
        Content::ResourceLink { uri, name } => format!("[{name}]({uri})"),
        Content::Resource { uri, text } => match text {
            Some(text) => format!("[{uri}]({uri})\n```\n{text}\n```\n"),
            None => format!("[{uri}]({uri})"),
        },
        Content::Unknown { kind, raw } => format!("[{kind}] `{raw}`"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn chunks_of_one_role_are_one_message_until_another_speaks() {
        let mut transcript = Transcript::default();
        let text = |text: &str| Content::Text(text.into());
        transcript.chunk(Role::Agent, None, None, &text("a"));
        transcript.chunk(Role::Agent, None, None, &text("b"));
        transcript.chunk(Role::Thought, None, None, &text("hm"));
        transcript.chunk(Role::Agent, None, None, &text("c"));
        transcript.chunk(Role::Agent, Some("m2".into()), None, &text("d"));
        assert_eq!(transcript.entries().len(), 4);
    }

    #[test]
    fn line_ends_alone_begin_no_message() {
        let mut transcript = Transcript::default();
        for text in ["", "\n", "\r\n", "\n"] {
            transcript.chunk(Role::Agent, None, None, &Content::Text(text.into()));
        }
        assert_eq!(transcript.entries().len(), 0);
        for text in ["\na", "\n", "\nb", "\n"] {
            transcript.chunk(Role::Agent, None, None, &Content::Text(text.into()));
        }
        let [Entry::Agent(message)] = transcript.entries() else {
            panic!("{transcript:?}");
        };
        assert_eq!(message.markdown.text(), "a\n\nb");
    }

    #[test]
    fn what_a_sub_agent_says_goes_on_whatever_others_say() {
        let mut transcript = Transcript::default();
        let text = |text: &str| Content::Text(text.into());
        let task = |id: &str| Some(ToolCallId(id.into()));
        for id in ["t1", "t2"] {
            transcript.tool(ToolCallPatch::new(ToolCallId(id.into())));
        }
        for (parent, said) in [
            (None, "I "),
            (task("t1"), "one "),
            (task("t2"), "two "),
            (None, "wait"),
            (task("t1"), "more"),
            (task("t2"), "more"),
        ] {
            transcript.chunk(Role::Agent, None, parent, &text(said));
        }
        let said = transcript.entries().iter().filter_map(|entry| match entry {
            Entry::Agent(message) => Some(message.markdown.text()),
            _ => None,
        });
        assert_eq!(said.collect::<Vec<_>>(), ["I wait", "one more", "two more"]);
        assert_eq!(transcript.family().parent(3), Some(0));
        assert_eq!(transcript.family().parent(4), Some(1));
        assert_eq!(transcript.family().parent(2), None);
    }

    #[test]
    fn a_parent_may_come_late_or_never() {
        let child = |id: &str, parent: &str| ToolCallPatch {
            meta: Some(json!({ "claudeCode": { "parentToolUseId": parent } })),
            ..ToolCallPatch::new(ToolCallId(id.into()))
        };
        let mut transcript = Transcript::default();
        transcript.tool(child("a", "late"));
        transcript.tool(child("b", "never"));
        transcript.chunk(
            Role::Agent,
            None,
            Some(ToolCallId("late".into())),
            &Content::Text("x".into()),
        );
        assert!(transcript.take_moved().is_empty());
        transcript.tool(ToolCallPatch::new(ToolCallId("late".into())));
        assert_eq!(transcript.take_moved(), [0, 2]);
        assert_eq!(transcript.family().children(3), [0, 2]);
        assert_eq!(transcript.family().parent(1), None);
    }
}
