//! Full views of content that the transcript cuts or omits.
//!
//! Invariant: a view is built on request from the model's state; nothing is stored for it.

use serde::Serialize;
use serde_json::{Value, json};

use crate::render::contents::content_markdown;
use crate::render::diffview::diff_lines;
use crate::render::toolcall::ToolCall;
use crate::render::toolview::{kind_name, status_name};
use crate::spine::view::WholeLanguage;
use acp::{Content, Location, ToolContent};

pub(crate) fn content(item: &ToolContent) -> (WholeLanguage, String) {
    let named = WholeLanguage::Named;
    match item {
        ToolContent::Content(Content::Text(text)) => (named("markdown"), text.clone()),
        ToolContent::Content(Content::Resource {
            uri,
            text: Some(text),
        }) => (WholeLanguage::OfFile(uri.clone()), text.clone()),
        ToolContent::Content(Content::Unknown { raw, .. }) | ToolContent::Unknown { raw, .. } => {
            (named("json"), pretty(raw))
        }
        ToolContent::Content(content) => (named("markdown"), content_markdown(content)),
        ToolContent::Diff { path, old, new } => {
            let path = path.display();
            let mut text = format!("--- {path}\n+++ {path}\n");
            for line in diff_lines(old.as_deref().unwrap_or_default(), new) {
                // The first column is the sign; the second is padding.
                let mut chars = line.text.chars();
                let sign = chars.next().unwrap_or(' ');
                text.push(sign);
                text.extend(chars.skip(1));
                text.push('\n');
            }
            (named("diff"), text)
        }
        ToolContent::Terminal { id } => (named(""), format!("terminal {}", id.0)),
    }
}

/// All known fields of a tool call.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Raw<'a> {
    tool_call_id: &'a str,
    title: &'a str,
    kind: &'a str,
    status: &'a str,
    locations: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_input: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_output: Option<&'a Value>,
    content: Vec<Value>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<&'a Value>,
}

/// Returns all known fields of a tool call as JSON.
pub(crate) fn raw(tool: &ToolCall) -> String {
    let place =
        |place: &Location| json!({ "path": place.path, "line": place.row.map(|row| row + 1) });
    pretty(&Raw {
        tool_call_id: &tool.id.0,
        title: &tool.title,
        kind: kind_name(&tool.kind),
        status: status_name(tool.status),
        locations: tool.locations.iter().map(place).collect(),
        raw_input: tool.raw_input.as_ref(),
        raw_output: tool.raw_output.as_ref(),
        content: tool.content.iter().map(content_json).collect(),
        meta: tool.meta.as_ref(),
    })
}

fn content_json(item: &ToolContent) -> Value {
    match item {
        ToolContent::Content(Content::Text(text)) => json!({ "type": "text", "text": text }),
        ToolContent::Content(Content::Unknown { raw, .. }) | ToolContent::Unknown { raw, .. } => {
            raw.clone()
        }
        ToolContent::Content(content) => json!({ "content": content_markdown(content) }),
        ToolContent::Diff { path, old, new } => {
            json!({ "type": "diff", "path": path, "oldText": old, "newText": new })
        }
        ToolContent::Terminal { id } => json!({ "type": "terminal", "terminalId": &*id.0 }),
    }
}

pub(crate) fn pretty(value: &impl Serialize) -> String {
    // Plain data always serializes.
    serde_json::to_string_pretty(value).unwrap_or_default()
}
