//! A tool call as lines: one for what it is and how it stands, its content below.

use super::diffview::diff_lines;
pub use super::diffview::whole as whole_line;
use super::rawview;
use super::transcript::ToolCall;
use super::view::{Group, Line, Span};
use crate::acp::{TerminalId, ToolContent, ToolKind, ToolStatus};

/// Content lines shown of one tool call; the rest is named by its number.
const MAX_LINES: usize = 2000;

/// Returns the tool call's line and, after it, the lines of its content.
pub fn lines(tool: &ToolCall) -> Vec<Line> {
    let mut lines = vec![header(tool)];
    let body = body(tool);
    let left = body.len().saturating_sub(MAX_LINES);
    lines.extend(body.into_iter().take(MAX_LINES).map(indented));
    if left > 0 {
        lines.push(whole_line(format!("  … {left} more lines"), "AcpDim"));
    }
    lines
}

/// Returns what a tool call does, in full: the command, the input, the diffs, the content, the output.
pub fn body(tool: &ToolCall) -> Vec<Line> {
    let mut lines = Vec::new();
    if tool.title.contains('\n') {
        lines.extend(tool.title.lines().map(|line| plain(line.to_owned())));
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

/// Returns the title on one line; the id where there is none.
pub fn title(tool: &ToolCall) -> String {
    let title = tool.title.lines().next().unwrap_or_default().trim();
    match (title.is_empty(), tool.locations.first()) {
        (false, _) => title.to_owned(),
        (true, Some(location)) => location.path.display().to_string(),
        (true, None) => tool.id.0.to_string(),
    }
}

fn header(tool: &ToolCall) -> Line {
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
    push(&mut line, kind_name(&tool.kind), "AcpToolKind");
    push(&mut line, "  ", "AcpToolKind");
    push(&mut line, &title(tool), "AcpToolTitle");
    push(&mut line, "  ", "AcpDim");
    push(&mut line, status, "AcpDim");
    line
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

fn plain(text: String) -> Line {
    Line::plain(text)
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
