//! What of a tool call's input a question still has to show, beside its command and its content.
//!
//! Invariant: in doubt a field is shown: what is approved must have been visible.

use std::path::Path;

use serde_json::Value;

use crate::render::rawview::{command, field_lines, value_lines};
use crate::render::toolcall::ToolCall;
use crate::spine::view::Line;
use acp::{Content, ToolContent};

/// The fields with a command, and with further words of it.
const COMMANDS: [&str; 3] = ["command", "cmd", "commands"];
const ARGS: [&str; 2] = ["args", "arguments"];

/// How a line begins that names a file of a patch.
const FILE_HEADS: [&str; 4] = [
    "+++ ",
    "*** Add File: ",
    "*** Update File: ",
    "*** Delete File: ",
];

/// Fields in which Codex numbers its requests, and repeats what else it tells.
const BOOKKEEPING: [&str; 6] = [
    "available_decisions",
    "call_id",
    "parsed_cmd",
    "proposed_execpolicy_amendment",
    "started_at_ms",
    "turn_id",
];

/// Returns the fields of a tool call's input that neither its command nor its content shows, where
/// [`crate::render::rawview::input_lines`] returns none; not that it is about the session's folder.
pub fn rest_lines(tool: &ToolCall, cwd: &Path) -> Vec<Line> {
    let mut lines = Vec::new();
    let has_command = command(tool).is_some();
    let fields = match &tool.raw_input {
        Some(_) if !has_command && tool.content.is_empty() => return lines,
        Some(Value::Object(fields)) => fields,
        Some(input) if !has_value(tool, input) => return value_lines(input, None),
        _ => return lines,
    };
    let told = COMMANDS.into_iter().find(|name| fields.contains_key(*name));
    let args = ARGS.into_iter().find(|name| fields.contains_key(*name));
    let has_words = |value: &Value| {
        let words = value.as_array();
        words.is_some_and(|words| words.iter().all(Value::is_string))
    };
    for (name, value) in fields {
        let name = name.as_str();
        let is_of_command = has_command
            && (Some(name) == told
                || Some(name) == args && has_words(value) && told != Some("commands"));
        let is_of_diff = matches!(name, "changes" | "diff" | "patch") && has_patch(tool, value);
        let is_here = value.as_str().is_some_and(|text| Path::new(text) == cwd);
        let is_shown = is_of_command || is_of_diff || is_here || has_value(tool, value);
        if !is_shown && !BOOKKEEPING.contains(&name) {
            field_lines(name, value, None, &mut lines);
        }
    }
    lines
}

fn diffs(tool: &ToolCall) -> impl Iterator<Item = &Path> {
    tool.content.iter().filter_map(|item| match item {
        ToolContent::Diff { path, .. } => Some(&**path),
        _ => None,
    })
}

/// Returns whether the call's diffs are of all files that a patch names, in a text or as fields.
fn has_patch(tool: &ToolCall, patch: &Value) -> bool {
    match patch {
        Value::Object(files) => files
            .keys()
            .all(|name| diffs(tool).any(|path| path.ends_with(name))),
        Value::String(text) => {
            let is_file = |line: &&str| FILE_HEADS.iter().any(|head| line.starts_with(head));
            text.lines().filter(is_file).count() <= diffs(tool).count()
        }
        _ => false,
    }
}

/// Returns whether a value says nothing, or the call's content shows all its texts.
fn has_value(tool: &ToolCall, value: &Value) -> bool {
    match value {
        Value::Null => true,
        // Beside a diff it says that nothing more is changed.
        Value::Bool(false) => diffs(tool).next().is_some(),
        Value::Bool(true) | Value::Number(_) => false,
        Value::String(text) => text.is_empty() || has_text(tool, text),
        Value::Array(all) => all.iter().all(|value| has_value(tool, value)),
        Value::Object(all) => all.values().all(|value| has_value(tool, value)),
    }
}

fn has_text(tool: &ToolCall, text: &str) -> bool {
    tool.content.iter().any(|item| match item {
        ToolContent::Diff { path, old, new } => {
            let old = old.as_deref().unwrap_or_default();
            path.ends_with(text) || has_whole(old, text) || has_whole(new, text)
        }
        ToolContent::Content(Content::Text(shown)) => has_whole(shown, text),
        _ => false,
    })
}

/// Returns whether a text has another, not as a part of a longer word or path.
fn has_whole(shown: &str, text: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || "_-./~*".contains(c));
    let (first, last) = (text.chars().next(), text.chars().next_back());
    shown.match_indices(text).any(|(at, it)| {
        let before = shown.get(..at).and_then(|text| text.chars().next_back());
        let behind = shown
            .get(at + it.len()..)
            .and_then(|text| text.chars().next());
        !(is_part(first) && is_part(before) || is_part(last) && is_part(behind))
    })
}
