//! What a transcript is made of: one entry for each thing that was said, done or told.
//!
//! Invariant: a message's text only grows, and its lines do not depend on how it was cut.

use serde_json::Value;

use crate::render::markdown::Markdown;
use crate::render::toolcall::ToolCall;
use crate::render::view::Line;
use crate::spine::effect::Level;
use acp::{Content, PlanEntry};

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
    pub(super) whole: bool,
    /// Line ends at the end: they are text only if more follows.
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

    /// Returns a message of which nothing more is to come.
    pub(crate) fn complete(id: Option<String>, text: &str) -> Self {
        let mut message = Self::new(id, text);
        message.whole = true;
        message.markdown.finish();
        message
    }

    /// What is no text stands on lines of its own.
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
