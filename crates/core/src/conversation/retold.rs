//! Replayed conversations in the transcript.
//!
//! Invariant: a message of the user begins a turn, as a prompt does; a text that an agent sent to
//! its model in the user's name is folded.

use crate::conversation::plan::PlanPlace;
use crate::conversation::replay::Item;
use crate::conversation::transcript::{Entry, Transcript};
use crate::render::toolview::whole_line;
use acp::{Content, Role};

impl Transcript {
    /// Returns whether the transcript has messages or tool calls.
    pub(crate) fn has_conversation(&self) -> bool {
        let mut entries = self.entries().iter();
        entries.any(|entry| {
            matches!(
                entry,
                Entry::User(_) | Entry::Agent(_) | Entry::Thought(_) | Entry::Tool(_)
            )
        })
    }

    /// Appends an item of a replayed conversation.
    pub(crate) fn tell_again(&mut self, item: Item) {
        match item {
            Item::Chunk {
                role: Role::User,
                content: Content::Text(text),
                ..
            } if is_reminder(&text) => {
                self.push(along(&text));
            }
            Item::Chunk {
                role: Role::User,
                message,
                parent,
                content,
            } => {
                if parent.is_none() && !matches!(self.entries().last(), Some(Entry::User(_))) {
                    self.end_plan();
                    self.plans.begin_turn();
                }
                self.end_line();
                self.chunk(Role::User, message, parent, &content);
            }
            Item::Chunk {
                role,
                message,
                parent,
                content,
            } => self.chunk(role, message, parent, &content),
            Item::Plan(entries) => self.plan(entries, PlanPlace::Transcript),
            Item::Unknown { kind, raw } => {
                self.push(Entry::Unknown { kind, raw });
            }
            // Compactions change their entries, so the session applies them.
            Item::Compaction(_) => {}
            Item::Tool(told) => {
                self.tool(told.patch);
            }
        }
    }
}

/// Returns whether the agent, or another client, sent this text to the model in the user's name.
fn is_reminder(text: &str) -> bool {
    let text = text.trim();
    text.starts_with("<system-reminder>") && text.ends_with("</system-reminder>")
}

/// Returns the entry for a reminder, with its text folded.
fn along(text: &str) -> Entry {
    let text = text.trim();
    let inner = text.strip_prefix("<system-reminder>");
    let inner = inner.and_then(|text| text.strip_suffix("</system-reminder>"));
    let lines = inner.unwrap_or(text).trim().lines();
    Entry::Along {
        head: "A reminder from the agent".to_owned(),
        lines: lines
            .map(|line| whole_line(format!("  {line}"), "AcpNotice"))
            .collect(),
    }
}
