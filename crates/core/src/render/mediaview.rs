//! Content of tool calls other than text and diffs, as lines: images, audio, resources, and unknown
//! types.

use std::path::Path;

use crate::render::toolview::{shown_path, whole_line};
use crate::render::{rawview, uri};
use crate::spine::view::{Line, Link};
use acp::Content;

/// Maximum lines of an embedded resource.
const MAX_LINES: usize = 10;

/// Maximum bytes of a line.
const MAX_LINE: usize = 500;

/// Returns the lines of a content block; `more` links to all of it.
pub fn lines(content: &Content, cwd: &Path, more: Link) -> Vec<Line> {
    match content {
        Content::Text(_) => Vec::new(),
        Content::Image { mime, uri, bytes } => {
            vec![file("image", mime, *bytes, uri.as_deref(), cwd)]
        }
        Content::Audio { mime, bytes } => vec![file("audio", mime, *bytes, None, cwd)],
        Content::ResourceLink { uri, name } => vec![resource(name, uri, cwd)],
        Content::Resource { uri, text } => {
            let mut lines = vec![resource("", uri, cwd)];
            lines.extend(head(text.as_deref().unwrap_or_default(), more));
            lines
        }
        Content::Unknown { kind, raw } => {
            let mut lines = vec![whole_line(format!("content of type {kind}"), "AcpDim")];
            lines.extend(rawview::cut(rawview::json_lines(raw), more));
            lines
        }
    }
}

/// Returns the line of a file whose content is not shown.
fn file(what: &str, mime: &str, bytes: usize, uri: Option<&str>, cwd: &Path) -> Line {
    let mut line = Line::default();
    line.push(what, "AcpToolKind");
    if let Some(uri) = uri.filter(|uri| !uri.is_empty()) {
        line.text.push_str(" ");
        line.push(&shown(uri, cwd), "AcpPath");
        line.link = Some(uri::link(uri));
    }
    line.push(&format!("  {mime}"), "AcpDim");
    if bytes > 0 {
        line.push(&format!(", {}", size(bytes)), "AcpDim");
    }
    line
}

fn resource(name: &str, uri: &str, cwd: &Path) -> Line {
    let target = shown(uri, cwd);
    let mut line = Line::default();
    line.push("→ ", "AcpDim");
    let title = if name.is_empty() { &target } else { name };
    line.push(title, "AcpPath");
    if *title != *target && !target.ends_with(&format!("/{title}")) {
        line.push(&format!("  {target}"), "AcpDim");
    }
    line.linked(uri::link(uri))
}

/// Returns a URI for display: a file as its path relative to `cwd`.
fn shown(uri: &str, cwd: &Path) -> String {
    match uri::link(uri) {
        Link::File { path, row } => match row {
            Some(row) => format!("{}:{}", shown_path(&path, cwd), row.saturating_add(1)),
            None => shown_path(&path, cwd),
        },
        _ => uri.to_owned(),
    }
}

fn head(text: &str, more: Link) -> Vec<Line> {
    let mut all = text.lines();
    let heads = all.by_ref().take(MAX_LINES);
    let mut lines: Vec<Line> = heads
        .map(|line| {
            let end = (0..=MAX_LINE.min(line.len())).rev();
            let end = end.into_iter().find(|&end| line.is_char_boundary(end));
            Line::plain(format!(
                "  {}",
                line.get(..end.unwrap_or(0)).unwrap_or_default()
            ))
        })
        .collect();
    match all.count() {
        0 => {}
        left => lines.push(rawview::more_line(left, more)),
    }
    lines
}

/// Returns a number of bytes for display.
pub fn size(bytes: usize) -> String {
    match bytes {
        0..1000 => format!("{bytes} bytes"),
        1000..999_500 => format!("{} KB", (bytes + 500) / 1000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    }
}
