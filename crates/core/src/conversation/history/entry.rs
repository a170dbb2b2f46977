//! Entries of a transcript in their persistent form, close to the protocol's.
//!
//! Invariant: an entry that is saved and restored is shown as before, with two exceptions: large
//! content is cut, with a note, and live content is no longer live.

use serde_json::Value;

use crate::conversation::transcript::{Entry, Message};
use crate::render::{groups, markdown};
pub use crate::spine::history::KeptTool;
use crate::spine::history::{KeptEntry, KeptLine, KeptMessage};
use crate::spine::view::{Line, Span};
use crate::text::cut::head;

/// Maximum size of a saved text: the same as the transcript shows of a tool's output.
const MAX_TEXT: usize = 64 * 1024;

/// Texts in a larger value are cut; a value that is still larger is not saved.
const MAX_VALUE: usize = 64 * 1024;
const MAX_IN_VALUE: usize = 8 * 1024;

impl KeptEntry {
    /// Returns the persistent form of an entry.
    pub fn of(entry: &Entry) -> Self {
        match entry {
            Entry::User(message) => KeptEntry::User(KeptMessage::of(message)),
            Entry::Agent(message) => KeptEntry::Agent(KeptMessage::of(message)),
            Entry::Thought(message) => KeptEntry::Thought(KeptMessage::of(message)),
            Entry::Tool(tool) => KeptEntry::Tool(Box::new(KeptTool::of(tool))),
            Entry::Plan(plan) => KeptEntry::Plan(plan.clone()),
            Entry::Notice { level, text } => KeptEntry::Notice {
                level: *level,
                text: text.clone(),
            },
            Entry::Along { head, lines } => KeptEntry::Along {
                head: head.clone(),
                lines: lines.iter().map(KeptLine::of).collect(),
            },
            Entry::Unknown { kind, raw } => KeptEntry::Unknown {
                kind: kind.clone(),
                raw: bounded(raw).unwrap_or_default(),
            },
        }
    }

    /// Returns the entry in its finished state.
    pub fn restored(&self) -> Entry {
        match self {
            KeptEntry::User(message) => Entry::User(message.restored()),
            KeptEntry::Agent(message) => Entry::Agent(message.restored()),
            KeptEntry::Thought(message) => Entry::Thought(message.restored()),
            KeptEntry::Tool(tool) => Entry::Tool(Box::new(tool.restored())),
            KeptEntry::Plan(plan) => Entry::Plan(plan.clone()),
            KeptEntry::Notice { level, text } => Entry::Notice {
                level: *level,
                text: text.clone(),
            },
            KeptEntry::Along { head, lines } => Entry::Along {
                head: head.clone(),
                lines: lines.iter().map(KeptLine::restored).collect(),
            },
            KeptEntry::Unknown { kind, raw } => Entry::Unknown {
                kind: kind.clone(),
                raw: raw.clone(),
            },
        }
    }
}

impl KeptMessage {
    fn of(message: &Message) -> Self {
        Self {
            id: message.id.clone(),
            text: message.markdown.text().to_owned(),
        }
    }

    fn restored(&self) -> Message {
        Message::complete(self.id.clone(), &self.text)
    }
}

impl KeptLine {
    pub(super) fn of(line: &Line) -> Self {
        let spans = line.spans.iter();
        Self {
            text: line.text.to_string(),
            spans: spans
                .map(|span| (span.start, span.end, span.group.to_owned()))
                .collect(),
        }
    }

    /// Returns the line; a span that does not fit it, or has an unknown group, is left out.
    pub(super) fn restored(&self) -> Line {
        let known = |name: &str| {
            let mut all = groups::GROUPS.iter().chain(markdown::GROUPS);
            all.find(|(group, _)| *group == name)
                .map(|(group, _)| *group)
        };
        let (mut last, mut spans) = (0, Vec::new());
        for (start, end, name) in &self.spans {
            let fits = self.text.get(*start as usize..*end as usize).is_some();
            if let Some(group) = known(name)
                && fits
                && *start >= last
            {
                last = *start;
                let (start, end) = (*start, *end);
                spans.push(Span { start, end, group });
            }
        }
        Line::new(self.text.clone(), spans)
    }
}

/// Room for the note of a text that was cut when it was saved before.
const NOTE: usize = 64;

/// Returns the part of a text that is saved, with a note of its size if it was cut.
pub(crate) fn bounded_text(text: &str) -> String {
    if text.len() <= MAX_TEXT + NOTE {
        return text.to_owned();
    }
    let kept = head(text, MAX_TEXT);
    let rest = text.len() - kept.len();
    format!("{kept}\n… {rest} bytes more were not kept")
}

/// Returns a value in its persistent form; `None` when it is too large.
pub(crate) fn bounded(value: &Value) -> Option<Value> {
    if size(value) <= MAX_VALUE {
        return Some(value.clone());
    }
    let cut = cut(value);
    (size(&cut) <= MAX_VALUE).then_some(cut)
}

fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(size).sum::<usize>() + 2,
        Value::Object(fields) => {
            let fields = fields.iter();
            fields
                .map(|(key, value)| key.len() + size(value))
                .sum::<usize>()
                + 2
        }
    }
}

fn cut(value: &Value) -> Value {
    match value {
        Value::String(text) if text.len() > MAX_IN_VALUE => {
            let kept = head(text, MAX_IN_VALUE);
            let rest = text.len() - kept.len();
            format!("{kept}… ({rest} bytes more)").into()
        }
        Value::Array(items) => items.iter().map(cut).collect(),
        Value::Object(fields) => {
            let fields = fields.iter();
            fields
                .map(|(key, value)| (key.clone(), cut(value)))
                .collect()
        }
        value => value.clone(),
    }
}
