//! A conversation as markdown: an export for the user, or context for an agent.
//!
//! Invariant: messages appear verbatim; each action is one line, with the change it made.

use std::path::Path;

use super::Past;
use super::keep::restore;
use crate::conversation::session::Session;
use crate::conversation::transcript::{Entry, Transcript};
use crate::render::diffview::diff_lines;
use crate::render::toolcall::ToolCall;
use crate::render::toolview::{in_short, kind_name, shown_path};
use crate::spine::effect::Level;
use acp::{PlanEntry, PlanStatus, ToolContent, ToolStatus};

/// Maximum size of the conversation sent to another agent as context, in bytes.
const MAX_TOLD: usize = 48 * 1024;

/// Maximum number of lines of one diff in that context.
const MAX_TOLD_DIFF: usize = 40;

/// Entries nested deeper than this get no further indentation.
const MAX_DEPTH: usize = 6;

/// The state of the markdown writer.
struct Pen<'a> {
    out: String,
    agent: &'a str,
    cwd: &'a Path,
    purpose: Purpose,
    /// The current speaker.
    speaker: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// For a human reader.
    Export,
    /// Context for an agent: thoughts and notices are left out.
    Context,
}

impl Session {
    /// Returns the conversation as markdown.
    pub(crate) fn exported(&self) -> String {
        let id = self.id.as_ref().map(|id| &*id.0);
        let mut out = head(self.title.as_deref(), &self.spec.name, &self.spec.cwd, id);
        let all = 0..self.transcript.entries().len();
        let pen = Pen::new(&self.spec.name, &self.spec.cwd, Purpose::Export);
        out.push_str(&pen.write(&self.transcript, all));
        out
    }

    /// Returns a summary of the conversation before the last prompt, for an agent that does not
    /// know it; a long one is cut at the start.
    pub(crate) fn told_in_short(&self) -> Option<String> {
        let entries = self.transcript.entries();
        let is_prompt = |entry: &Entry| matches!(entry, Entry::User(_));
        let last = entries.iter().rposition(is_prompt)?;
        let pen = Pen::new(&self.spec.name, &self.spec.cwd, Purpose::Context);
        let text = pen.write(&self.transcript, 0..last);
        if text.trim().is_empty() {
            return None;
        }
        let mut from = text.len().saturating_sub(MAX_TOLD);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        let end = text.get(from..).unwrap_or_default();
        // Start at the beginning of a line.
        let end = match (from, end.find('\n')) {
            (0, _) | (_, None) => end.to_owned(),
            (_, Some(at)) => format!("(…)\n{}", end.get(at + 1..).unwrap_or_default()),
        };
        Some(end)
    }
}

/// Returns a record as markdown.
pub(crate) fn kept(past: &Past) -> String {
    let mut transcript = Transcript::default();
    restore(&mut transcript, past);
    let (header, cwd) = (&past.header, Path::new(&past.header.cwd));
    let mut out = head(
        past.meta.title.as_deref(),
        &header.agent,
        cwd,
        past.meta.id.as_deref(),
    );
    let all = 0..transcript.entries().len();
    let pen = Pen::new(&header.agent, cwd, Purpose::Export);
    out.push_str(&pen.write(&transcript, all));
    out
}

fn head(title: Option<&str>, agent: &str, cwd: &Path, id: Option<&str>) -> String {
    let title = title.unwrap_or("A conversation").replace('\n', " ");
    let mut head = format!(
        "# {title}\n\n- Agent: {agent}\n- Folder: {}\n",
        cwd.display()
    );
    if let Some(id) = id {
        head.push_str(&format!("- Session: {id}\n"));
    }
    head
}

impl<'a> Pen<'a> {
    fn new(agent: &'a str, cwd: &'a Path, purpose: Purpose) -> Self {
        Self {
            out: String::new(),
            agent,
            cwd,
            purpose,
            speaker: None,
        }
    }

    /// Writes the top-level entries, each with its descendants.
    fn write(mut self, transcript: &Transcript, range: std::ops::Range<usize>) -> String {
        for index in range {
            if transcript.family().parent(index).is_none() {
                self.entry(transcript, index, 0);
            }
        }
        self.out
    }

    fn entry(&mut self, transcript: &Transcript, index: usize, depth: usize) {
        let is_told = self.purpose == Purpose::Context;
        match transcript.entries().get(index) {
            Some(Entry::User(message)) => {
                self.speaks("You");
                self.paragraph(message.markdown.text(), depth);
            }
            Some(Entry::Agent(message)) => {
                self.speaks("Agent");
                self.paragraph(message.markdown.text(), depth);
            }
            Some(Entry::Thought(_) | Entry::Notice { .. } | Entry::Unknown { .. }) if is_told => {}
            Some(Entry::Thought(message)) => {
                self.speaks("Agent");
                self.paragraph(&quoted(message.markdown.text()), depth);
            }
            Some(Entry::Tool(tool)) => {
                self.speaks("Agent");
                self.tool(tool, depth);
            }
            Some(Entry::Plan(plan)) => {
                self.speaks("Agent");
                self.paragraph(&plan_items(plan), depth);
            }
            Some(Entry::Notice { level, text }) => {
                let mark = match level {
                    Level::Debug | Level::Info => "Note",
                    Level::Warn => "Warning",
                    Level::Error => "Error",
                };
                self.paragraph(&quoted(&format!("**{mark}:** {text}")), depth);
            }
            Some(Entry::Along { head, lines }) => {
                self.paragraph(&quoted(head), depth);
                let lines = lines.iter().map(|line| line.text.as_str());
                self.fence("diff", lines, depth);
            }
            Some(Entry::Unknown { kind, .. }) => {
                self.paragraph(
                    &quoted(&format!("An update of an unknown kind: {kind}")),
                    depth,
                );
            }
            None => {}
        }
        for &child in transcript.family().children(index) {
            self.entry(transcript, child, (depth + 1).min(MAX_DEPTH));
        }
    }

    /// Writes a heading when the speaker changes.
    fn speaks(&mut self, who: &'static str) {
        if self.speaker.replace(who) != Some(who) {
            let name = if who == "Agent" { self.agent } else { who };
            self.out.push_str(&format!("\n## {name}\n"));
        }
    }

    fn paragraph(&mut self, text: &str, depth: usize) {
        let text = text.trim_matches('\n');
        if text.trim().is_empty() {
            return;
        }
        self.out.push('\n');
        for line in text.lines() {
            self.line(line, depth);
        }
    }

    fn line(&mut self, line: &str, depth: usize) {
        if !line.is_empty() {
            self.out.push_str(&"  ".repeat(depth));
        }
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn tool(&mut self, tool: &ToolCall, depth: usize) {
        let mark = match tool.status {
            ToolStatus::Pending => "○",
            ToolStatus::InProgress => "◐",
            ToolStatus::Completed => "✓",
            ToolStatus::Failed => "✗",
            ToolStatus::Cancelled | ToolStatus::Rejected => "⊘",
        };
        // Consecutive calls form one list.
        if !self.is_in_list(depth) {
            self.out.push('\n');
        }
        let what = in_short(tool).replace('`', "'");
        let mut line = format!("- {mark} {}: `{what}`", kind_name(&tool.kind));
        if let Some(place) = tool.locations.first() {
            let path = shown_path(&place.path, self.cwd);
            if !what.contains(&path) {
                line.push_str(&format!(" ({path})"));
            }
        }
        self.line(&line, depth);
        for item in &tool.content {
            if let ToolContent::Diff { path, old, new } = item {
                let mut lines: Vec<String> = vec![shown_path(path, self.cwd)];
                let diff = diff_lines(old.as_deref().unwrap_or_default(), new);
                lines.extend(diff.into_iter().map(|line| line.text.into()));
                if self.purpose == Purpose::Context && lines.len() > MAX_TOLD_DIFF {
                    lines.truncate(MAX_TOLD_DIFF);
                    lines.push("…".to_owned());
                }
                self.fence("diff", lines.iter().map(String::as_str), depth + 1);
            }
        }
    }

    fn is_in_list(&self, depth: usize) -> bool {
        let last = self.out.lines().next_back().unwrap_or_default();
        depth > 0 || last.starts_with("- ")
    }

    /// Writes lines of code, in a fence that none of them closes.
    fn fence<'l>(&mut self, language: &str, lines: impl Iterator<Item = &'l str>, depth: usize) {
        let lines: Vec<&str> = lines.collect();
        if lines.is_empty() {
            return;
        }
        let ticks = lines.iter().map(|line| longest_run(line)).max();
        let fence = "`".repeat(ticks.unwrap_or(0).max(2) + 1);
        self.out.push('\n');
        self.line(&format!("{fence}{language}"), depth);
        for line in lines {
            self.line(line, depth);
        }
        self.line(&fence, depth);
    }
}

fn longest_run(line: &str) -> usize {
    let runs = line.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or(0)
}

fn quoted(text: &str) -> String {
    let lines = text.trim_matches('\n').lines();
    let quoted = lines.map(|line| format!("> {line}").trim_end().to_owned());
    quoted.collect::<Vec<_>>().join("\n")
}

fn plan_items(plan: &[PlanEntry]) -> String {
    let items = plan.iter().map(|entry| {
        let mark = match entry.status {
            PlanStatus::Completed => "[x]",
            PlanStatus::Pending | PlanStatus::InProgress => "[ ]",
        };
        let text = entry.text.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("- {mark} {text}")
    });
    items.collect::<Vec<_>>().join("\n")
}
