//! A tool call as lines: a header with its kind and status, and its content.

use std::path::Path;
use std::sync::Arc;

use crate::render::contents::content_markdown;
use crate::render::diffview::diff_lines;
pub use crate::render::diffview::whole as whole_line;
use crate::render::toolcall::ToolCall;
use crate::render::{markdown, mediaview, rawview, restview};
use crate::spine::view::{FoldState, Line, Link, Piece, Whole};
use crate::text::plural;
use acp::{Content, Location, TerminalId, ToolContent, ToolKind, ToolStatus};

/// Maximum content lines of one tool call; the number of further lines is shown.
const MAX_LINES: usize = 1000;

/// Maximum bytes of a line.
const MAX_LINE: usize = 4000;

/// Maximum lines of a short tool call.
const SHORT: usize = 24;

/// The context a tool call is rendered in.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// The index of its entry.
    pub entry: u32,
    /// The session's folder; paths in it are shown relative to it.
    pub cwd: &'a Path,
    /// Number of its nested tool calls, and of those still open.
    pub calls: (usize, usize),
}

/// Returns the header and the lines of the content, each with its link; long content is truncated.
pub fn lines(tool: &ToolCall, look: &Look<'_>) -> Vec<Line> {
    let mut lines = vec![header(tool, look)];
    let body = shown_body(tool, look);
    let left = body.len().saturating_sub(MAX_LINES);
    lines.extend(body.into_iter().take(MAX_LINES).map(indented));
    if left > 0 {
        lines.push(indented(rawview::more_line(left, look.whole(Piece::Raw))));
    }
    for line in lines.iter_mut() {
        if line.text.len() > 2 * MAX_LINE {
            cut_line(line, look.whole(Piece::Raw));
        }
        line.link = line.link.take().or(Some(Link::Part { entry: look.entry }));
    }
    lines
}

impl Look<'_> {
    /// Returns the link to a piece of the tool call in full.
    fn whole(&self, piece: Piece) -> Link {
        Link::Whole(Whole {
            entry: self.entry,
            piece,
        })
    }
}

/// Returns the initial state of a tool call's fold, by its number of lines.
///
/// Readers look for the agent's messages and changes. Diffs and failures are therefore open;
/// results of reads, searches and commands are closed. A command or sub-agent is open while it
/// runs, to show its progress, and closed once it is done. A pending call usually asks for
/// permission, and the question and the file show all of it. Long calls are closed: one key opens
/// them.
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
        ToolStatus::Cancelled | ToolStatus::Rejected => false,
    };
    match is_open {
        true => FoldState::Open,
        false => FoldState::Closed,
    }
}

/// Returns the whole body of a call in a session with this folder: the command, the input, the diffs,
/// the content, the output.
pub fn body(tool: &ToolCall, cwd: &Path) -> Vec<Line> {
    let mut lines = title_lines(tool);
    lines.extend(command_lines(tool));
    lines.extend(rawview::input_lines(tool, None));
    lines.extend(restview::rest_lines(tool, cwd));
    for (index, item) in tool.content.iter().enumerate() {
        lines.extend(content_lines(tool, index, item));
    }
    lines.extend(other_terminals(tool));
    lines.extend(rawview::output_lines(tool, usize::MAX).0);
    lines.extend(rawview::exit_line(tool));
    lines
}

/// Returns the part of the body shown in the transcript.
fn shown_body(tool: &ToolCall, look: &Look<'_>) -> Vec<Line> {
    let cut = |lines, piece| rawview::cut(lines, look.whole(piece));
    let mut lines = title_lines(tool);
    if !is_titled_by_command(tool) {
        lines.extend(cut(command_lines(tool), Piece::Input));
    }
    lines.extend(cut(
        rawview::input_lines(tool, Some(look.cwd)),
        Piece::Input,
    ));
    for (index, item) in tool.content.iter().enumerate() {
        lines.extend(shown_content(tool, index, item, look));
    }
    lines.extend(other_terminals(tool));
    let (output, left) = rawview::output_lines(tool, rawview::MAX_LINES);
    lines.extend(output);
    if left > 0 {
        lines.push(rawview::more_line(left, look.whole(Piece::Output)));
    }
    lines.extend(rawview::exit_line(tool));
    lines.extend(other_places(tool, look));
    lines
}

/// Returns the lines of a title that has several.
fn title_lines(tool: &ToolCall) -> Vec<Line> {
    let title = tool.title.trim();
    match title.contains('\n') {
        true => title.lines().map(Line::plain).collect(),
        false => Vec::new(),
    }
}

fn command_lines(tool: &ToolCall) -> Vec<Line> {
    let command = rawview::command(tool);
    let command = command
        .filter(|command| !tool.terminals.show_command(command) && !starts_content(tool, command));
    let command = command.unwrap_or_default();
    let lines = command.lines().enumerate().map(|(row, line)| {
        let mark = if row == 0 { "$ " } else { "  " };
        whole_line(format!("{mark}{line}"), "AcpCommand")
    });
    lines.collect()
}

/// Returns whether the header shows all of the command.
fn is_titled_by_command(tool: &ToolCall) -> bool {
    let title = tool.title.trim();
    let title = title.strip_prefix("$ ").unwrap_or(title).trim_matches('`');
    !title.contains('\n')
        && rawview::command(tool).is_some_and(|command| command.trim() == title.trim())
}

/// Returns whether a text of the content begins with the command, as in a terminal.
fn starts_content(tool: &ToolCall, command: &str) -> bool {
    tool.content.iter().any(|item| match item {
        ToolContent::Content(Content::Text(text)) => {
            let mut lines = text.lines().filter(|line| !line.starts_with("```"));
            let first = lines.next().unwrap_or_default().trim();
            first.strip_prefix("$ ") == Some(command.trim())
        }
        _ => false,
    })
}

/// Returns the lines of terminals that the content does not name.
fn other_terminals(tool: &ToolCall) -> Vec<Line> {
    let is_named = |id: &TerminalId| {
        let is_it =
            |item: &ToolContent| matches!(item, ToolContent::Terminal { id: named } if named == id);
        tool.content.iter().any(is_it)
    };
    let ids = tool.terminals.ids().filter(|id| !is_named(id));
    ids.flat_map(|id| tool.terminals.lines(id)).collect()
}

/// Returns the tool call's locations, without the first, which the header links to, and those of
/// its diffs.
fn other_places(tool: &ToolCall, look: &Look<'_>) -> Vec<Line> {
    let has_diff = |path: &Path| {
        let mut items = tool.content.iter();
        items.any(|item| matches!(item, ToolContent::Diff { path: of, .. } if of == path))
    };
    let places = tool.locations.iter().skip(1);
    let places = places.filter(|place| !has_diff(&place.path));
    let line = |place: &Location| {
        let mut line = Line::default();
        line.push("→ ", "AcpDim");
        line.push(&shown_at(place, look.cwd), "AcpPath");
        line.linked(Link::File {
            path: Arc::from(place.path.as_path()),
            row: place.row,
        })
    };
    rawview::cut(places.map(line).collect(), look.whole(Piece::Raw))
}

/// Returns the name of a kind of tool call.
pub fn kind_name(kind: &ToolKind) -> &str {
    match kind {
        ToolKind::SwitchMode => "switch mode",
        ToolKind::Other => "tool",
        known => known.name(),
    }
}

/// Returns the name of a status.
pub fn status_name(status: ToolStatus) -> &'static str {
    match status {
        ToolStatus::Pending => "pending",
        ToolStatus::InProgress => "in progress",
        ToolStatus::Completed => "completed",
        ToolStatus::Failed => "failed",
        ToolStatus::Cancelled => "cancelled",
        ToolStatus::Rejected => "rejected",
    }
}

/// Returns the icon of a kind of tool call: one cell wide, and included in terminal fonts.
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

/// Returns the title on one line; if it is empty, the first location, command or id.
pub fn title(tool: &ToolCall) -> String {
    let title = tool.title.trim().lines().next().unwrap_or_default().trim();
    match (title.is_empty(), tool.locations.first()) {
        (false, _) => title.to_owned(),
        (true, Some(location)) => location.path.display().to_string(),
        (true, None) => match rawview::command(tool) {
            Some(command) => command.trim().lines().next().unwrap_or_default().to_owned(),
            None => tool.id.0.to_string(),
        },
    }
}

/// Returns a tool call on one line: the command, else the title.
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

/// Returns a tool call's header: status, kind, title, location.
fn header(tool: &ToolCall, look: &Look<'_>) -> Line {
    let (mark, group) = match tool.status {
        ToolStatus::Pending => ("○", "AcpToolPending"),
        ToolStatus::InProgress => ("◐", "AcpToolRunning"),
        ToolStatus::Completed => ("✓", "AcpToolDone"),
        ToolStatus::Failed => ("✗", "AcpToolFailed"),
        ToolStatus::Cancelled | ToolStatus::Rejected => ("⊘", "AcpToolCancelled"),
    };
    let status = status_name(tool.status);
    let mut line = Line::default();
    line.push(mark, group);
    line.push(" ", group);
    line.push(icon(&tool.kind), "AcpToolKind");
    line.push(" ", "AcpToolKind");
    if tool.title.trim().is_empty() || matches!(tool.kind, ToolKind::Unknown(_)) {
        line.push(kind_name(&tool.kind), "AcpToolKind");
        line.push("  ", "AcpToolKind");
    }
    let title = match tool.locations.first() {
        Some(location) if tool.title.trim().is_empty() => shown_at(location, look.cwd),
        _ => title(tool),
    };
    line.push(&title, "AcpToolTitle");
    let place = tool.locations.first().cloned().or_else(|| changed(tool));
    line.push("  ", "AcpDim");
    line.push(status, "AcpDim");
    match look.calls {
        (0, _) => {}
        (all, 0) => line.push(&format!(" · {}", plural(all, "call")), "AcpDim"),
        (all, open) => {
            let calls = format!(" · {}, {open} running", plural(all, "call"));
            line.push(&calls, "AcpDim");
        }
    }
    // A closed fold is cut at the window's edge, so less important parts come last.
    let is_news = |place: &&Location| place.path != look.cwd && !names(&title, place);
    if let Some(place) = place.as_ref().filter(is_news) {
        line.push("  ", "AcpDim");
        line.push(&shown_at(place, look.cwd), "AcpPath");
    }
    line.linked(Link::Call {
        entry: look.entry,
        path: place.as_ref().map(|place| Arc::from(place.path.as_path())),
        row: place.and_then(|place| place.row),
    })
}

/// Returns the first file that a tool call's diffs change.
fn changed(tool: &ToolCall) -> Option<Location> {
    tool.content.iter().find_map(|item| match item {
        ToolContent::Diff { path, .. } => Some(Location {
            path: path.clone(),
            row: None,
        }),
        _ => None,
    })
}

/// Returns whether a title contains a file's name as a word.
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

/// Returns a place for display, relative to a folder: `src/a.rs:12`.
fn shown_at(place: &Location, cwd: &Path) -> String {
    let path = shown_path(&place.path, cwd);
    match place.row {
        Some(row) => format!("{path}:{}", row.saturating_add(1)),
        None => path,
    }
}

/// Returns a path relative to a folder, if it is below it.
pub fn shown_path(path: &Path, cwd: &Path) -> String {
    match path.strip_prefix(cwd) {
        Ok(below) if !below.as_os_str().is_empty() => below.display().to_string(),
        _ => path.display().to_string(),
    }
}

/// Returns an item of the content in full.
fn content_lines(tool: &ToolCall, index: usize, item: &ToolContent) -> Vec<Line> {
    match item {
        ToolContent::Content(Content::Text(text)) => tool.texts.all_lines(index, text),
        ToolContent::Content(content) => markdown::plain(&content_markdown(content)),
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

/// Returns the displayed part of an item of the content.
fn shown_content(tool: &ToolCall, index: usize, item: &ToolContent, look: &Look<'_>) -> Vec<Line> {
    let whole = || look.whole(Piece::Content(u32::try_from(index).unwrap_or(u32::MAX)));
    match item {
        ToolContent::Content(Content::Text(_)) => {
            let (mut lines, left) = tool.texts.lines(index);
            let is_long = |line: &&mut Line| line.text.len() > MAX_LINE;
            lines
                .iter_mut()
                .filter(is_long)
                .for_each(|line| cut_line(line, whole()));
            if left > 0 {
                lines.push(rawview::more_line(left, whole()));
            }
            lines
        }
        ToolContent::Content(content) => mediaview::lines(content, look.cwd, whole()),
        ToolContent::Diff { .. } => {
            let diff = tool.texts.diff(index);
            diff.map_or(Vec::new(), |diff| diff.lines(look.cwd, whole()))
        }
        ToolContent::Terminal { .. } => content_lines(tool, index, item),
        ToolContent::Unknown { .. } => rawview::cut(content_lines(tool, index, item), whole()),
    }
}

/// Truncates a line to [`MAX_LINE`] and links it to its full version.
fn cut_line(line: &mut Line, whole: Link) {
    let most = u32::try_from(line.text.truncate(MAX_LINE)).unwrap_or(u32::MAX);
    line.spans.retain(|span| span.start < most);
    for span in &mut line.spans {
        span.end = span.end.min(most);
    }
    line.push(" …", "AcpDim");
    line.link = Some(whole);
}

fn indented(mut line: Line) -> Line {
    line.indent("  ");
    line
}
