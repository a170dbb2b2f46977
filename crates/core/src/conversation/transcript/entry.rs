//! The entries of a transcript: messages, tool calls, plans and notices.
//!
//! Invariant: a message's text only grows, and its lines do not depend on its chunks' boundaries.

use serde_json::Value;

use crate::render::markdown::Markdown;
use crate::render::toolcall::ToolCall;
use crate::spine::effect::Level;
use crate::spine::view::Line;
use acp::{Content, PlanEntry};

#[derive(Debug)]
pub enum Entry {
    User(Message),
    Agent(Message),
    Thought(Message),
    Tool(Box<ToolCall>),
    Plan(Vec<PlanEntry>),
    /// A message from this client.
    Notice {
        level: Level,
        text: String,
    },
    /// An attachment of a prompt, or another text: a line with folded lines below.
    Along {
        head: String,
        lines: Vec<Line>,
    },
    /// An update of an unknown kind, kept whole.
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
    /// It is complete: the next text begins another message.
    pub(super) whole: bool,
    /// Trailing line ends, appended only if more text follows.
    pub(super) held: String,
}

impl Message {
    pub(super) fn new(id: Option<String>, text: &str) -> Self {
        let mut message = Self {
            id,
            markdown: Markdown::new(),
            whole: false,
            held: String::new(),
        };
        message.push(text.trim_start_matches(['\n', '\r']));
        message
    }

    /// Returns a complete message.
    pub(crate) fn complete(id: Option<String>, text: &str) -> Self {
        let mut message = Self::new(id, text);
        message.whole = true;
        message.markdown.finish();
        message
    }

    /// Puts content that is not text on separate lines.
    pub(super) fn end_line_at(&mut self, content: &Content) {
        if !matches!(content, Content::Text(_)) && self.held.is_empty() {
            self.held.push('\n');
        }
    }

    pub(super) fn push(&mut self, text: &str) {
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
