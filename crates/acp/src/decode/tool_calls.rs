//! Tool calls: the fields a message carries, as a patch.
//!
//! Invariant: a patch says what the message said and no more. A field that is absent, null or
//! unreadable is `None`; an item of a list that is unreadable is kept raw in its place.

use std::sync::Arc;

use agent_client_protocol_schema::v1;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::message::{
    Content, Location, TerminalId, ToolCallId, ToolCallPatch, ToolContent, ToolKind, ToolStatus,
};
use super::super::raw;
use super::content;

/// The fields of a tool call, not read yet.
pub struct ToolCallFields<'a> {
    id: Option<&'a RawValue>,
    title: Option<&'a RawValue>,
    name: Option<&'a RawValue>,
    kind: Option<&'a RawValue>,
    status: Option<&'a RawValue>,
    content: Option<&'a RawValue>,
    locations: Option<&'a RawValue>,
    raw_input: Option<&'a RawValue>,
    raw_output: Option<&'a RawValue>,
    meta: Option<&'a RawValue>,
}

/// Returns the fields of a tool call, or `None` if `raw` is no object.
///
/// Fields stay raw up to here because the official types drop or replace what they do not know:
/// kinds, statuses, items of content.
pub fn fields(raw: &RawValue) -> Option<ToolCallFields<'_>> {
    let names = [
        "toolCallId",
        "title",
        "name",
        "kind",
        "status",
        "content",
        "locations",
        "rawInput",
        "rawOutput",
        "_meta",
    ];
    let [
        id,
        title,
        name,
        kind,
        status,
        content,
        locations,
        raw_input,
        raw_output,
        meta,
    ] = raw::fields(raw.get(), names)?;
    Some(ToolCallFields {
        id,
        title,
        name,
        kind,
        status,
        content,
        locations,
        raw_input,
        raw_output,
        meta,
    })
}

impl ToolCallFields<'_> {
    /// Returns the tool call's id, if it has one.
    pub fn id(&self) -> Option<ToolCallId> {
        let id = raw::word(self.id?)?;
        Some(ToolCallId(Arc::from(&*id)))
    }

    /// Returns the patch, under `made_up` if the tool call has no id.
    pub fn patch(&self, made_up: impl FnOnce() -> ToolCallId) -> ToolCallPatch {
        ToolCallPatch {
            id: self.id().unwrap_or_else(made_up),
            title: said(self.title),
            kind: said(self.kind).map(kind),
            status: self.status.and_then(raw::word).and_then(|w| status(&w)),
            content: self.content.map(content_list),
            locations: self.locations.and_then(location_list),
            raw_input: self.raw_input.map(raw::value).filter(|v| !is_empty(v)),
            raw_output: self.raw_output.map(raw::value),
            meta: self.meta.map(raw::value),
        }
    }

    /// Returns the patch of a `tool_call`, which says more than an update's and less.
    ///
    /// Its title is required, so the tool's name stands in for one that is missing. Its lists are
    /// not, and an empty one is the same as none: it does not wipe out what came before.
    pub fn first_patch(&self, id: ToolCallId) -> ToolCallPatch {
        let mut patch = self.patch(|| id);
        patch.title = patch.title.or_else(|| said(self.name));
        patch.content = patch.content.filter(|content| !content.is_empty());
        patch.locations = patch.locations.filter(|locations| !locations.is_empty());
        patch
    }
}

/// Returns a text that says something.
fn said(field: Option<&RawValue>) -> Option<String> {
    field.and_then(raw::text).filter(|text| !text.is_empty())
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// Returns the kind with a name of the wire's.
pub fn kind(kind: String) -> ToolKind {
    match &*kind {
        "read" => ToolKind::Read,
        "edit" => ToolKind::Edit,
        "delete" => ToolKind::Delete,
        "move" => ToolKind::Move,
        "search" => ToolKind::Search,
        "execute" => ToolKind::Execute,
        "think" => ToolKind::Think,
        "fetch" => ToolKind::Fetch,
        "switch_mode" => ToolKind::SwitchMode,
        "other" => ToolKind::Other,
        _ => ToolKind::Unknown(kind),
    }
}

/// Returns a status by its name, by a common other word for it, or by draft v2's words.
///
/// Any other word says nothing: the status stays what it was, and the patch is still applied.
fn status(status: &str) -> Option<ToolStatus> {
    match status {
        "pending" | "paused" | "queued" => Some(ToolStatus::Pending),
        "in_progress" | "inProgress" | "running" | "executing" => Some(ToolStatus::InProgress),
        "completed" | "complete" | "success" | "done" => Some(ToolStatus::Completed),
        "failed" | "failure" | "error" | "rejected" => Some(ToolStatus::Failed),
        "cancelled" | "canceled" => Some(ToolStatus::Cancelled),
        _ => None,
    }
}

fn content_list(raw: &RawValue) -> Vec<ToolContent> {
    match raw::list(raw) {
        Some(items) => items.into_iter().map(tool_content).collect(),
        None => vec![tool_content(raw)],
    }
}

/// Reads one item of content.
///
/// A diff is given on as it came: `oldText` may be a snippet, or the word `[file deleted]` by
/// which one agent's older versions mark a deletion. What it means is decided where files are.
fn tool_content(raw: &RawValue) -> ToolContent {
    match raw::typed(raw) {
        Some(v1::ToolCallContent::Content(item)) => ToolContent::Content(item.content.into()),
        Some(v1::ToolCallContent::Diff(diff)) => ToolContent::Diff {
            path: diff.path,
            old: diff.old_text,
            new: diff.new_text,
        },
        Some(v1::ToolCallContent::Terminal(terminal)) => ToolContent::Terminal {
            id: TerminalId(terminal.terminal_id.0),
        },
        _ => mended_content(raw),
    }
}

fn mended_content(raw: &RawValue) -> ToolContent {
    let names = [
        "type",
        "content",
        "path",
        "oldText",
        "newText",
        "terminalId",
    ];
    let read = raw::fields(raw.get(), names).unwrap_or_default();
    let [kind, block, path, old, new, terminal] = read;
    let kind = kind.and_then(raw::text).unwrap_or_default();
    // The fields tell what an item without a type is.
    let diff = matches!(&*kind, "diff" | "");
    if let (true, Some(path), Some(new)) = (diff, path.and_then(raw::text), new.and_then(raw::text))
    {
        let path = path.into();
        let old = old.and_then(raw::text);
        return ToolContent::Diff { path, old, new };
    }
    if let ("terminal" | "", Some(id)) = (&*kind, terminal.and_then(raw::text)) {
        return ToolContent::Terminal {
            id: TerminalId(id.into()),
        };
    }
    if let ("content" | "", Some(block)) = (&*kind, block) {
        return ToolContent::Content(content::block(block));
    }
    // A content block without the wrapper around it, as MCP tools give it.
    match content::block(raw) {
        Content::Unknown { kind, raw } => ToolContent::Unknown { kind, raw },
        block => ToolContent::Content(block),
    }
}

fn location_list(raw: &RawValue) -> Option<Vec<Location>> {
    let items = raw::list(raw)?;
    Some(items.into_iter().filter_map(location).collect())
}

/// Reads a location; one without a path leads nowhere and is left out.
fn location(raw: &RawValue) -> Option<Location> {
    let read = raw::fields(raw.get(), ["path", "line"]);
    // A bare string is a path.
    let [path, line] = read.unwrap_or([Some(raw), None]);
    let path: String = raw::typed(path?)?;
    let line = line.and_then(raw::whole);
    let row = line.map(|line| u32::try_from(line.saturating_sub(1)).unwrap_or(u32::MAX));
    Some(Location {
        path: path.into(),
        row,
    })
}
