//! The transcript of a session: entries in the order in which they began, keyed by id.
//!
//! Invariant: entries are added and changed, never removed or moved. A child of a tool call (see
//! [`Family`]) is an entry like any other; the view decides where the screen shows it.

mod calls;
mod entry;

use std::collections::{BTreeSet, HashMap};

pub use self::entry::{Entry, Message};
use crate::code::Colours;
use crate::conversation::family::Family;
use crate::conversation::history::news::Unwritten;
use crate::conversation::plan::Plans;
use crate::conversation::progress::Progress;
use crate::render::contents::content_markdown;
use crate::spine::effect::Level;
use acp::{Content, Role, ToolCallId};

/// The entries of a session.
#[derive(Debug, Default)]
pub struct Transcript {
    entries: Vec<Entry>,
    tools: HashMap<ToolCallId, usize>,
    pub(crate) plans: Plans,
    family: Family,
    /// Entries with a new parent since the last [`Transcript::take_moved`].
    moved: Vec<usize>,
    /// The last entry of the agent itself (`None`), and of each sub-agent by the call that started
    /// it.
    last: HashMap<Option<ToolCallId>, usize>,
    dirty: BTreeSet<usize>,
    pub(crate) progress: Progress,
    /// The entries to be written to the record.
    pub(crate) news: Unwritten,
}

impl Transcript {
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub fn family(&self) -> &Family {
        &self.family
    }

    #[cfg(test)]
    pub fn set_family(&mut self, family: Family) {
        self.family = family;
    }

    /// Returns the entries whose parent has changed since the last call.
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

    /// Marks the entry after `index` as dirty, because its predecessor has changed: the next
    /// sibling, and the next entry without a parent.
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

    /// Applies the highlights of an entry's code; see
    /// [`crate::render::markdown::Markdown::set_colours`].
    pub fn set_colours(&mut self, index: usize, number: u64, colours: Option<Colours>) {
        match self.entries.get_mut(index) {
            Some(Entry::User(message) | Entry::Agent(message) | Entry::Thought(message)) => {
                message.markdown.set_colours(number, colours);
            }
            Some(Entry::Tool(tool)) => tool.texts.set_colours(number, colours),
            _ => return,
        }
        self.dirty.insert(index);
    }

    /// Appends an entry; this completes the message before it.
    pub fn push(&mut self, entry: Entry) -> usize {
        self.push_below(None, entry)
    }

    /// Appends an entry of a sub-agent, or of the agent itself; this completes its previous
    /// message.
    fn push_below(&mut self, parent: Option<ToolCallId>, entry: Entry) -> usize {
        self.finish_last(&parent);
        let index = self.entries.len();
        let is_done = matches!(
            entry,
            Entry::Notice { .. } | Entry::Along { .. } | Entry::Unknown { .. }
        );
        self.entries.push(entry);
        self.touch(index);
        if is_done {
            self.news.settle(index);
        }
        self.last.insert(parent.clone(), index);
        if let Some(parent) = parent {
            self.belong(index, parent);
        }
        index
    }

    /// Sets the parent of an entry.
    fn belong(&mut self, index: usize, parent: ToolCallId) {
        match self.tools.get(&parent) {
            None => self.family.wait(index, parent),
            Some(&above) => {
                let before = self.family.parent(index);
                if self.family.belong(index, above) {
                    self.moved.push(index);
                    self.touch(index);
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

    /// Replaces an entry by another of the same kind.
    pub fn replace(&mut self, index: usize, entry: Entry) {
        if let Some(old) = self.entries.get_mut(index) {
            *old = entry;
            self.touch(index);
        }
    }

    pub fn notice(&mut self, level: Level, text: impl Into<String>) {
        let text = text.into();
        self.push(Entry::Notice { level, text });
    }

    /// Appends to the current message, or begins a new one; line ends alone begin none.
    ///
    /// A sub-agent's message continues even if others speak in between.
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
                if !message.whole && message.id == id =>
            {
                Some(message)
            }
            _ => None,
        };
        if let Some(message) = open {
            message.end_line_at(content);
            message.push(&text);
            message.end_line_at(content);
            if let Some(last) = last {
                self.touch(last);
            }
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

    /// Ends the turn: its plan stays, the next turn's plan is a new one.
    pub fn end_turn(&mut self) {
        self.end_plan();
        self.progress.end_turn();
        for last in self.last.values() {
            finish(&mut self.entries, *last, &mut self.dirty);
        }
        self.news.settle_all();
    }

    /// Completes what was told of the past: what the agent says now is new.
    pub(crate) fn end_told(&mut self) {
        self.last.clear();
    }

    /// Completes the agent's message after an action that has no entry. A message with an id stays
    /// open: the id of the next chunk decides whether it continues.
    pub(crate) fn end_message(&mut self) {
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

    /// Puts the next text of the last message on a new line.
    pub(crate) fn end_line(&mut self) {
        let last = self
            .last
            .get(&None)
            .and_then(|&last| self.entries.get_mut(last));
        if let Some(Entry::User(message) | Entry::Agent(message) | Entry::Thought(message)) = last
            && message.held.is_empty()
        {
            message.held.push('\n');
        }
    }

    /// Completes the last message of the agent itself or of a sub-agent.
    fn finish_last(&mut self, parent: &Option<ToolCallId>) {
        if let Some(last) = self.last.get(parent) {
            finish(&mut self.entries, *last, &mut self.dirty);
            if !matches!(self.entries.get(*last), Some(Entry::Tool(_))) {
                self.news.settle(*last);
            }
        }
    }

    /// Begins a turn with the user's prompt.
    pub fn begin_turn(&mut self, prompt: &str) {
        self.plans.begin_turn();
        self.said(prompt);
    }

    /// Returns the id of the message that the agent itself is writing.
    pub(crate) fn open_message(&self) -> Option<&str> {
        match self.entries.get(*self.last.get(&None)?)? {
            Entry::Agent(message) | Entry::Thought(message) => message.id.as_deref(),
            _ => None,
        }
    }

    /// Appends what the user has said: the beginning of a turn, or words for the one that runs.
    pub fn said(&mut self, text: &str) {
        self.push(Entry::User(Message::complete(None, text)));
        self.news.settle_all();
    }

    /// Appends entries of a past session, each with the position of its parent among them. Their
    /// ids are not registered: an agent may use the same ids again.
    pub fn restore(&mut self, past: Vec<(Entry, Option<usize>)>) {
        let first = self.entries.len();
        self.dirty.extend(first..first + past.len());
        let (entries, parents): (Vec<Entry>, Vec<Option<usize>>) = past.into_iter().unzip();
        self.entries.extend(entries);
        for (index, parent) in (first..).zip(parents) {
            let is_tool = |at: &usize| matches!(self.entries.get(*at), Some(Entry::Tool(_)));
            if let Some(above) = parent.map(|parent| first + parent).filter(is_tool)
                && self.family.belong(index, above)
            {
                self.moved.push(index);
            }
        }
        self.last.clear();
    }

    /// Marks an entry as changed, for the screen and for the record.
    pub fn touch(&mut self, index: usize) {
        self.set_dirty(index);
        self.news.touch(index);
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

#[cfg(test)]
mod tests {
    use super::*;
    use acp::ToolCallPatch;

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
        // A chunk without an id does not continue a message that has one.
        transcript.chunk(Role::Agent, None, None, &text("e"));
        assert_eq!(transcript.entries().len(), 5);
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
            parent: Some(ToolCallId(parent.into())),
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
