//! Turns the return value of a handler into the result of a call.
//!
//! Invariant: every value gives a result, or an error that describes the mistake.

use nvim_oxi::mlua::{Table, Value};
use serde_json::{Map, Value as Json};

use super::json::{Empty, to_json};
use acp_core::spine::tool::ToolResult;

/// The kinds of content blocks in the Model Context Protocol.
const BLOCKS: [&str; 5] = ["text", "image", "audio", "resource", "resource_link"];

/// The text for a handler that has returned nothing.
const NOTHING: &str = "Done. The tool returned nothing.";

/// Reads the return value of a handler.
///
/// # Errors
/// A sentence that tells the agent why the value is not plain data.
pub fn read(value: Value) -> Result<ToolResult, String> {
    if value.is_nil() {
        return Ok(ToolResult::text(NOTHING));
    }
    let is_content = matches!(&value, Value::Table(table) if has_blocks(table));
    let wrong = |why: String| format!("The tool returned a value that cannot be sent: {why}.");
    let json = to_json(value, Empty::List).map_err(wrong)?;
    Ok(match json {
        Json::Object(fields) if is_content => whole(fields),
        Json::Object(fields) => data(&Json::Object(fields.clone()), fields),
        // The protocol allows only objects.
        Json::Array(items) if items.is_empty() => data(&Json::Object(Map::new()), Map::new()),
        Json::Array(items) => {
            let list = Json::Array(items);
            let fields = Map::from_iter([("result".to_owned(), list.clone())]);
            data(&list, fields)
        }
        Json::String(text) => ToolResult::text(text),
        Json::Null => ToolResult::text(NOTHING),
        other => ToolResult::text(other.to_string()),
    })
}

/// Returns whether a table is a complete result, with content blocks.
fn has_blocks(table: &Table) -> bool {
    let Ok(Value::Table(blocks)) = table.raw_get("content") else {
        return false;
    };
    let kind = |index: usize| {
        let block: Table = blocks.raw_get(index).ok()?;
        block.raw_get::<String>("type").ok()
    };
    let length = blocks.raw_len();
    length > 0
        && (1..=length).all(|index| kind(index).is_some_and(|kind| BLOCKS.contains(&kind.as_str())))
}

fn whole(mut fields: Map<String, Json>) -> ToolResult {
    let content = match fields.remove("content") {
        Some(Json::Array(blocks)) => blocks,
        _ => Vec::new(),
    };
    let structured = match fields.remove("structuredContent") {
        Some(Json::Object(structured)) => Some(structured),
        _ => None,
    };
    ToolResult {
        content,
        structured,
        is_error: fields.get("isError") == Some(&Json::Bool(true)),
    }
}

/// Returns data as a result, with the same data as text for agents that read only text.
fn data(shown: &Json, fields: Map<String, Json>) -> ToolResult {
    let text = serde_json::to_string_pretty(shown).unwrap_or_default();
    ToolResult {
        structured: Some(fields),
        ..ToolResult::text(text)
    }
}
