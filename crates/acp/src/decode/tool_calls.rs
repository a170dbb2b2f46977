//! Tool calls: the fields of a message, as a patch.
//!
//! Invariant: a patch contains exactly what the message did. A field that is absent, null or
//! unreadable is `None`; an unreadable list item is kept raw in its position.

use std::sync::Arc;

use agent_client_protocol_schema::v1;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::message::{
    Content, Location, TerminalId, ToolCallId, ToolCallPatch, ToolContent, ToolKind, ToolStatus,
};
use super::super::raw;
use super::{content, patch};

/// The raw fields of a tool call.
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

/// Returns the fields of a tool call, or `None` if `raw` is not an object.
///
/// The fields stay raw because the official types drop or replace unknown kinds, statuses and
/// content.
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

    /// Returns the patch; `made_up` supplies a missing id.
    ///
    /// A patch in the input stands in for the diff that the content lacks.
    pub fn patch(&self, made_up: impl FnOnce() -> ToolCallId) -> ToolCallPatch {
        let mut patch = self.fields_alone(made_up);
        let has_diff = patch.content.iter().flatten().any(is_diff);
        if let (false, Some(diffs)) = (has_diff, patch.raw_input.as_ref().and_then(diffs_in)) {
            let (diffs, places): (Vec<_>, Vec<_>) = diffs.into_iter().unzip();
            patch.content.get_or_insert_default().extend(diffs);
            let has_rows = |all: &Vec<Location>| all.iter().any(|place| place.row.is_some());
            patch.locations = patch.locations.filter(has_rows).or(Some(places));
        }
        patch
    }

    fn fields_alone(&self, made_up: impl FnOnce() -> ToolCallId) -> ToolCallPatch {
        ToolCallPatch {
            id: self.id().unwrap_or_else(made_up),
            parent: self.meta.and_then(parent),
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

    /// Returns the patch of a `tool_call`, which differs from an update's.
    ///
    /// A title is required, so the tool's name replaces a missing one. Lists are optional, and an
    /// empty one means "absent": it does not clear earlier content.
    pub fn first_patch(&self, id: ToolCallId) -> ToolCallPatch {
        let mut patch = self.patch(|| id);
        patch.title = patch.title.or_else(|| said(self.name));
        patch.content = patch.content.filter(|content| !content.is_empty());
        patch.locations = patch.locations.filter(|locations| !locations.is_empty());
        patch
    }
}

/// Returns the tool call whose sub-agent sent a message, by the message's `_meta`.
pub fn parent(meta: &RawValue) -> Option<ToolCallId> {
    let [of_agent] = raw::fields(meta.get(), ["claudeCode"])?;
    let [parent] = raw::fields(of_agent?.get(), ["parentToolUseId"])?;
    let parent = raw::text(parent?)?;
    (!parent.is_empty()).then(|| ToolCallId(parent.into()))
}

fn is_diff(item: &ToolContent) -> bool {
    matches!(item, ToolContent::Diff { .. })
}

/// Returns the diffs of the patch in a tool call's input, as OpenCode sends one.
fn diffs_in(input: &Value) -> Option<Vec<(ToolContent, Location)>> {
    let text = |name| input.get(name).and_then(Value::as_str);
    let path = ["filepath", "filePath", "file_path", "path"]
        .into_iter()
        .find_map(text);
    patch::diffs(text("diff")?, path)
}

/// Returns a non-empty text.
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

/// Returns the kind with this wire name.
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

/// Returns a status by its name, a common synonym, or draft v2's name.
///
/// Other words leave the status unchanged; the rest of the patch is still applied.
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
/// A diff is passed on unchanged: `oldText` may be a snippet, or the text `[file deleted]` with
/// which older versions of one agent mark a deletion. The core interprets it.
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
    // Without a type, the fields identify a diff.
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
    // A content block without its wrapper, as MCP tools return it.
    match content::block(raw) {
        Content::Unknown { kind, raw } => ToolContent::Unknown { kind, raw },
        block => ToolContent::Content(block),
    }
}

fn location_list(raw: &RawValue) -> Option<Vec<Location>> {
    let items = raw::list(raw)?;
    Some(items.into_iter().filter_map(location).collect())
}

/// Reads a location; one without a path is left out.
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
