//! The transcript of a session: entries in the order in which they began, keyed by id.
//!
//! Invariant: entries are added and changed, never removed or moved; a tool call's status
//! never goes back (see [`ToolCall::merge`]).

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::contents::Contents;
use super::effect::Level;
use super::markdown::Markdown;
use super::progress::Progress;
use super::view::Line;
use crate::acp::{
    Content, Location, PlanEntry, Role, ToolCallId, ToolCallPatch, ToolContent, ToolKind,
    ToolStatus,
};

/// The entries of a session.
#[derive(Debug, Default)]
pub struct Transcript {
    entries: Vec<Entry>,
    tools: HashMap<ToolCallId, usize>,
    /// The plan of the current turn.
    plan: Option<usize>,
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

/// What is known of a tool call.
#[derive(Debug, Clone)]
pub struct ToolCall {
    pub id: ToolCallId,
    pub title: String,
    pub kind: ToolKind,
    pub status: ToolStatus,
    pub content: Vec<ToolContent>,
    /// What of the content is text, as it is shown.
    pub texts: Contents,
    pub locations: Vec<Location>,
    pub raw_input: Option<Value>,
    pub raw_output: Option<Value>,
    pub meta: Option<Value>,
}

impl Transcript {
    pub fn entries(&self) -> &[Entry] {
        &self.entries
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
        self.finish_last();
        let index = self.entries.len();
        self.entries.push(entry);
        self.dirty.insert(index);
        index
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
    pub fn chunk(&mut self, role: Role, id: Option<String>, content: &Content) {
        let text = content_markdown(content);
        let last = self.entries.len().wrapping_sub(1);
        let open = match (self.entries.last_mut(), role) {
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
            self.dirty.insert(last);
            return;
        }
        if text.trim_matches(['\n', '\r']).is_empty() {
            return;
        }
        let mut message = Message::new(id, &text);
        message.end_line_at(content);
        self.push(match role {
            Role::User => Entry::User(message),
            Role::Agent => Entry::Agent(message),
            Role::Thought => Entry::Thought(message),
        });
    }

    /// Merges what a message says of a tool call into the entry with its id, made if need be.
    pub fn tool(&mut self, patch: ToolCallPatch) -> usize {
        if let Some(&index) = self.tools.get(&patch.id) {
            if let Some(Entry::Tool(tool)) = self.entries.get_mut(index) {
                let before = tool.status;
                tool.merge(patch);
                self.progress.tool(index, Some(before), tool.status);
            }
            self.dirty.insert(index);
            return index;
        }
        let id = patch.id.clone();
        let mut tool = ToolCall::new(id.clone());
        tool.merge(patch);
        let status = tool.status;
        let index = self.push(Entry::Tool(Box::new(tool)));
        self.progress.tool(index, None, status);
        self.tools.insert(id, index);
        index
    }

    /// Forgets what a tool call shows: its id is used for another one from now on.
    pub fn forget_content(&mut self, id: &ToolCallId) {
        if let Some(Entry::Tool(tool)) = self.tools.get(id).and_then(|&at| self.entries.get_mut(at))
        {
            tool.content.clear();
            tool.texts.set(&[]);
            tool.raw_input = None;
            tool.locations.clear();
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
                && matches!(tool.status, ToolStatus::Pending | ToolStatus::InProgress)
            {
                self.progress
                    .tool(index, Some(tool.status), ToolStatus::Cancelled);
                tool.status = ToolStatus::Cancelled;
                self.dirty.insert(index);
            }
        }
    }

    /// Shows a plan in place of the turn's last one.
    pub fn plan(&mut self, entries: Vec<PlanEntry>) {
        self.progress.plan();
        if let Some(index) = self.plan
            && let Some(Entry::Plan(plan)) = self.entries.get_mut(index)
        {
            *plan = entries;
            self.dirty.insert(index);
        } else if !entries.is_empty() {
            self.plan = Some(self.push(Entry::Plan(entries)));
        }
    }

    /// Returns how many entries of the current plan are done, and how many there are.
    pub fn plan_progress(&self) -> Option<(usize, usize)> {
        match self.entries.get(self.plan?)? {
            Entry::Plan(plan) => {
                let done = |entry: &&PlanEntry| entry.status == crate::acp::PlanStatus::Completed;
                Some((plan.iter().filter(done).count(), plan.len()))
            }
            _ => None,
        }
    }

    /// Ends the turn: its plan stays, the next turn's plan is a new one.
    pub fn end_turn(&mut self) {
        if self.plan_progress().is_some_and(|(done, all)| done == all) {
            self.plan = None;
        }
        self.progress.end_turn();
        self.finish_last();
    }

    fn finish_last(&mut self) {
        let last = self.entries.len().wrapping_sub(1);
        if let Some(Entry::User(message) | Entry::Agent(message) | Entry::Thought(message)) =
            self.entries.last_mut()
        {
            message.markdown.finish();
            self.dirty.insert(last);
        }
    }

    /// Begins a turn with what the user said.
    pub fn begin_turn(&mut self, prompt: &str) {
        self.plan = None;
        let mut message = Message::new(None, prompt);
        message.whole = true;
        message.markdown.finish();
        self.push(Entry::User(message));
    }
}

impl ToolCall {
    fn new(id: ToolCallId) -> Self {
        Self {
            id,
            title: String::new(),
            kind: ToolKind::Other,
            status: ToolStatus::Pending,
            content: Vec::new(),
            texts: Contents::default(),
            locations: Vec::new(),
            raw_input: None,
            raw_output: None,
            meta: None,
        }
    }

    /// Takes over the fields the patch carries.
    ///
    /// A status never goes back: agents announce a call as `pending` after it was `in_progress`,
    /// or again with the same id. A late `completed` or `failed` replaces `cancelled`.
    /// Content that would drop a known diff for a mere reason is added to it instead.
    pub fn merge(&mut self, patch: ToolCallPatch) {
        if let Some(title) = patch.title {
            self.title = title;
        }
        if let Some(kind) = patch.kind {
            self.kind = kind;
        }
        if let Some(status) = patch.status
            && rank(status) >= rank(self.status)
        {
            self.status = status;
        }
        if let Some(content) = patch.content {
            self.replace_content(content);
            self.texts.set(&self.content);
        }
        if let Some(locations) = patch.locations {
            self.locations = locations;
        }
        self.raw_input = patch.raw_input.or(self.raw_input.take());
        self.raw_output = patch.raw_output.or(self.raw_output.take());
        self.meta = patch.meta.or(self.meta.take());
    }

    fn replace_content(&mut self, content: Vec<ToolContent>) {
        let is_diff = |item: &ToolContent| matches!(item, ToolContent::Diff { .. });
        if content.iter().any(is_diff) || !self.content.iter().any(is_diff) {
            self.content = content;
            return;
        }
        self.content.retain(is_diff);
        self.content.extend(content);
    }
}

fn rank(status: ToolStatus) -> u8 {
    match status {
        ToolStatus::Pending => 0,
        ToolStatus::InProgress => 1,
        ToolStatus::Cancelled => 2,
        ToolStatus::Completed | ToolStatus::Failed => 3,
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
    use super::*;

    fn patch(id: &str) -> ToolCallPatch {
        ToolCallPatch {
            id: ToolCallId(id.into()),
            title: None,
            kind: None,
            status: None,
            content: None,
            locations: None,
            raw_input: None,
            raw_output: None,
            meta: None,
        }
    }

    fn check_status(steps: &[ToolStatus], want: ToolStatus) {
        let mut transcript = Transcript::default();
        for &status in steps {
            transcript.tool(ToolCallPatch {
                status: Some(status),
                ..patch("a")
            });
        }
        assert_eq!(transcript.entries().len(), 1);
        let tool = transcript.find_tool(&ToolCallId("a".into()));
        assert_eq!(tool.map(|tool| tool.status), Some(want), "{steps:?}");
    }

    #[test]
    fn a_status_never_goes_back() {
        use ToolStatus::*;
        check_status(&[InProgress, Pending], InProgress);
        check_status(&[Completed, InProgress], Completed);
        check_status(&[InProgress, Cancelled, Completed], Completed);
        check_status(&[Cancelled, InProgress], Cancelled);
    }

    #[test]
    fn a_reason_does_not_replace_a_known_diff() {
        let diff = ToolContent::Diff {
            path: "/p/a".into(),
            old: None,
            new: "x".into(),
        };
        let reason = ToolContent::Content(Content::Text("why".into()));
        let mut transcript = Transcript::default();
        for content in [vec![diff.clone()], vec![reason.clone()]] {
            transcript.tool(ToolCallPatch {
                content: Some(content),
                ..patch("a")
            });
        }
        let tool = transcript.find_tool(&ToolCallId("a".into()));
        assert_eq!(
            tool.map(|tool| tool.content.clone()),
            Some(vec![diff, reason])
        );
    }

    #[test]
    fn chunks_of_one_role_are_one_message_until_another_speaks() {
        let mut transcript = Transcript::default();
        let text = |text: &str| Content::Text(text.into());
        transcript.chunk(Role::Agent, None, &text("a"));
        transcript.chunk(Role::Agent, None, &text("b"));
        transcript.chunk(Role::Thought, None, &text("hm"));
        transcript.chunk(Role::Agent, None, &text("c"));
        transcript.chunk(Role::Agent, Some("m2".into()), &text("d"));
        assert_eq!(transcript.entries().len(), 4);
    }

    #[test]
    fn line_ends_alone_begin_no_message() {
        let mut transcript = Transcript::default();
        for text in ["", "\n", "\r\n", "\n"] {
            transcript.chunk(Role::Agent, None, &Content::Text(text.into()));
        }
        assert_eq!(transcript.entries().len(), 0);
        for text in ["\na", "\n", "\nb", "\n"] {
            transcript.chunk(Role::Agent, None, &Content::Text(text.into()));
        }
        let [Entry::Agent(message)] = transcript.entries() else {
            panic!("{transcript:?}");
        };
        assert_eq!(message.markdown.text(), "a\n\nb");
    }
}
