//! A tool call as lines: one for what it is and how it stands, its content below.

use std::path::Path;
use std::sync::Arc;

use super::diffview::diff_lines;
pub use super::diffview::whole as whole_line;
use super::rawview;
use super::transcript::ToolCall;
use super::view::{FoldState, Group, Line, Link, Span};
use crate::acp::{Location, TerminalId, ToolContent, ToolKind, ToolStatus};

/// Content lines shown of one tool call; the rest is named by its number.
const MAX_LINES: usize = 2000;

/// A tool call of no more lines is not long.
const SHORT: usize = 24;

/// What there is to know of a tool call besides itself.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// The number of its entry.
    pub entry: u32,
    /// The session's folder: paths in it are shown without it.
    pub cwd: &'a Path,
    /// The tool calls that belong to it, and those of them that are not over.
    pub calls: (usize, usize),
}

/// Returns the tool call's line and, after it, the lines of its content, each with its link.
pub fn lines(tool: &ToolCall, look: &Look<'_>) -> Vec<Line> {
    let mut lines = vec![header(tool, look)];
    let body = body(tool);
    let left = body.len().saturating_sub(MAX_LINES);
    lines.extend(body.into_iter().take(MAX_LINES).map(indented));
    if left > 0 {
        lines.push(whole_line(format!("  … {left} more lines"), "AcpDim"));
    }
    for line in lines.iter_mut().filter(|line| line.link.is_none()) {
        line.link = Some(Link::Part { entry: look.entry });
    }
    lines
}

/// Returns how the fold of a tool call of so many lines should be.
///
/// A transcript is read for what the agent says and what it has changed. So a diff is open, and so
/// is what went wrong; what was read, searched and printed is closed. A command, or a sub-agent,
/// is open while it works, because then one wants to see how it goes, and closed once it is done.
/// What is pending asks for permission, most often: all of it is in the question, and in the file.
/// Whatever is long is closed: one key opens it.
pub fn fold(tool: &ToolCall, look: &Look<'_>, lines: usize) -> FoldState {
    let is = |wanted: fn(&ToolContent) -> bool| tool.content.iter().any(wanted);
    let has_diff = is(|item| matches!(item, ToolContent::Diff { .. }));
    let runs = look.calls.0 > 0 || tool.terminals.ids().next().is_some();
    let is_open = match tool.status {
        ToolStatus::Pending => runs,
        ToolStatus::InProgress => {
            runs || tool.kind == ToolKind::Execute || (has_diff && lines <= SHORT)
        }
        ToolStatus::Completed => has_diff && lines <= SHORT,
        ToolStatus::Failed => lines <= SHORT,
        ToolStatus::Cancelled => false,
    };
    match is_open {
        true => FoldState::Open,
        false => FoldState::Closed,
    }
}

/// Returns what a tool call does, in full: the command, the input, the diffs, the content, the output.
pub fn body(tool: &ToolCall) -> Vec<Line> {
    let mut lines = Vec::new();
    if tool.title.trim().contains('\n') {
        lines.extend(tool.title.trim().lines().map(Line::plain));
    }
    let command = rawview::command(tool);
    if let Some(command) = command.filter(|command| !tool.terminals.show_command(command)) {
        for (row, line) in command.lines().enumerate() {
            let mark = if row == 0 { "$ " } else { "  " };
            lines.push(whole_line(format!("{mark}{line}"), "AcpCommand"));
        }
    }
    lines.extend(rawview::input_lines(tool));
    for (index, item) in tool.content.iter().enumerate() {
        lines.extend(content_lines(tool, index, item));
    }
    let named = |id: &&TerminalId| {
        let is_it = |item: &ToolContent| matches!(item, ToolContent::Terminal { id: named } if named == *id);
        !tool.content.iter().any(is_it)
    };
    for id in tool.terminals.ids().filter(named) {
        lines.extend(tool.terminals.lines(id));
    }
    lines.extend(rawview::output_lines(tool));
    lines
}

/// Returns the word for a kind of tool call.
pub fn kind_name(kind: &ToolKind) -> &str {
    match kind {
        ToolKind::Read => "read",
        ToolKind::Edit => "edit",
        ToolKind::Delete => "delete",
        ToolKind::Move => "move",
        ToolKind::Search => "search",
        ToolKind::Execute => "execute",
        ToolKind::Think => "think",
        ToolKind::Fetch => "fetch",
        ToolKind::SwitchMode => "switch mode",
        ToolKind::Other => "tool",
        ToolKind::Unknown(name) => name,
    }
}

/// Returns the sign for a kind of tool call: one cell wide, and in every font for terminals.
fn icon(kind: &ToolKind) -> &'static str {
    match kind {
        ToolKind::Read => "≡",
        ToolKind::Edit => "✎",
        ToolKind::Delete => "⌫",
        ToolKind::Move => "⇄",
        ToolKind::Search => "⌕",
        ToolKind::Execute => "$",
        ToolKind::Think => "∴",
        ToolKind::Fetch => "⇣",
        ToolKind::SwitchMode => "↻",
        ToolKind::Other | ToolKind::Unknown(_) => "◦",
    }
}

/// Returns the title on one line; the id where there is none.
pub fn title(tool: &ToolCall) -> String {
    let title = tool.title.trim().lines().next().unwrap_or_default().trim();
    match (title.is_empty(), tool.locations.first()) {
        (false, _) => title.to_owned(),
        (true, Some(location)) => location.path.display().to_string(),
        (true, None) => tool.id.0.to_string(),
    }
}

/// Returns what the tool call does in one line: the command, else the title.
pub fn in_short(tool: &ToolCall) -> String {
    let Some(command) = rawview::command(tool) else {
        return title(tool);
    };
    let mut lines = command.trim().lines();
    let first = lines.next().unwrap_or_default().to_owned();
    match lines.next() {
        Some(_) => first + " …",
        None => first,
    }
}

/// Returns the line of a tool call: how it stands, what it is, where.
fn header(tool: &ToolCall, look: &Look<'_>) -> Line {
    let (mark, group, status) = match tool.status {
        ToolStatus::Pending => ("○", "AcpToolPending", "pending"),
        ToolStatus::InProgress => ("◐", "AcpToolRunning", "in progress"),
        ToolStatus::Completed => ("✓", "AcpToolDone", "completed"),
        ToolStatus::Failed => ("✗", "AcpToolFailed", "failed"),
        ToolStatus::Cancelled => ("⊘", "AcpToolCancelled", "cancelled"),
    };
    let mut line = Line::default();
    push(&mut line, mark, group);
    push(&mut line, " ", group);
    push(&mut line, icon(&tool.kind), "AcpToolKind");
    push(&mut line, " ", "AcpToolKind");
    if tool.title.trim().is_empty() || matches!(tool.kind, ToolKind::Unknown(_)) {
        push(&mut line, kind_name(&tool.kind), "AcpToolKind");
        push(&mut line, "  ", "AcpToolKind");
    }
    let title = match tool.locations.first() {
        Some(location) if tool.title.trim().is_empty() => shown_at(location, look.cwd),
        _ => title(tool),
    };
    push(&mut line, &title, "AcpToolTitle");
    let place = tool.locations.first();
    push(&mut line, "  ", "AcpDim");
    push(&mut line, status, "AcpDim");
    match look.calls {
        (0, _) => {}
        (all, 0) => push(&mut line, &format!(" · {}", plural(all, "call")), "AcpDim"),
        (all, open) => {
            let calls = format!(" · {}, {open} running", plural(all, "call"));
            push(&mut line, &calls, "AcpDim");
        }
    }
    // A closed fold is cut at the window's edge: what matters less stands behind.
    let is_news = |place: &&Location| place.path != look.cwd && !names(&title, place);
    if let Some(place) = place.filter(is_news) {
        push(&mut line, "  ", "AcpDim");
        push(&mut line, &shown_at(place, look.cwd), "AcpPath");
    }
    line.linked(Link::Call {
        entry: look.entry,
        path: place.map(|place| Arc::from(place.path.as_path())),
        row: place.and_then(|place| place.row),
    })
}

fn plural(count: usize, noun: &str) -> String {
    super::frame::plural(count, noun)
}

/// Tells whether a title names a file, as a word of its own.
fn names(title: &str, place: &Location) -> bool {
    let name = place.path.file_name().unwrap_or(place.path.as_os_str());
    let name = name.to_string_lossy();
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    title.match_indices(&*name).any(|(at, name)| {
        let (before, behind) = (title.get(..at), title.get(at + name.len()..));
        !is_part(before.and_then(|text| text.chars().next_back()))
            && !is_part(behind.and_then(|text| text.chars().next()))
    })
}

/// Returns a place as people write it, seen from a folder: `src/a.rs:12`.
fn shown_at(place: &Location, cwd: &Path) -> String {
    let path = shown_path(&place.path, cwd);
    match place.row {
        Some(row) => format!("{path}:{}", row.saturating_add(1)),
        None => path,
    }
}

/// Returns a path as it is seen from a folder.
pub fn shown_path(path: &Path, cwd: &Path) -> String {
    match path.strip_prefix(cwd) {
        Ok(below) if !below.as_os_str().is_empty() => below.display().to_string(),
        _ => path.display().to_string(),
    }
}

/// Appends a highlighted piece to a line.
pub fn push(line: &mut Line, text: &str, group: Group) {
    let start = u32::try_from(line.text.len()).unwrap_or(u32::MAX);
    line.text.push_str(text);
    let end = u32::try_from(line.text.len()).unwrap_or(u32::MAX);
    if !text.trim().is_empty() {
        line.spans.push(Span { start, end, group });
    }
}

fn content_lines(tool: &ToolCall, index: usize, item: &ToolContent) -> Vec<Line> {
    match item {
        ToolContent::Content(_) => tool.texts.lines(index),
        ToolContent::Diff { path, old, new } => {
            let mut lines = vec![whole_line(path.display().to_string(), "AcpPath")];
            lines.extend(diff_lines(old.as_deref().unwrap_or_default(), new));
            lines
        }
        ToolContent::Terminal { id } => tool.terminals.lines(id),
        ToolContent::Unknown { kind, raw } => {
            let mut lines = vec![whole_line(format!("content of type {kind}"), "AcpDim")];
            lines.extend(rawview::json_lines(raw));
            lines
        }
    }
}

fn indented(mut line: Line) -> Line {
    if !line.text.is_empty() {
        line.text.insert_str(0, "  ");
        for span in &mut line.spans {
            span.start += 2;
            span.end += 2;
        }
    }
    line
}
