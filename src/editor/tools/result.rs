//! What a handler returns, as a call's result.
//!
//! Invariant: there is a result for every value, if only an error that says what is wrong with it.

use nvim_oxi::mlua::{Table, Value};
use serde_json::{Map, Value as Json};

use super::json::{Empty, to_json};
use acp_core::tools::ToolResult;

/// The kinds of content blocks that the Model Context Protocol has.
const BLOCKS: [&str; 5] = ["text", "image", "audio", "resource", "resource_link"];

/// What agents are told of a handler that has returned nothing.
const NOTHING: &str = "Done. The tool has nothing to say.";

/// Reads what a handler has returned; `Err` has the words for the agent where that is no data.
///
/// # Errors
/// What is wrong with it.
pub fn read(value: Value) -> Result<ToolResult, String> {
    if value.is_nil() {
        return Ok(ToolResult::text(NOTHING));
    }
    let is_content = matches!(&value, Value::Table(table) if has_blocks(table));
    let wrong = |why: String| format!("The tool has returned what is no data: {why}.");
    let json = to_json(value, Empty::List).map_err(wrong)?;
    Ok(match json {
        Json::Object(fields) if is_content => whole(fields),
        Json::Object(fields) => data(&Json::Object(fields.clone()), fields),
        // The protocol has objects only.
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

/// Returns whether a table is a result as the protocol has it.
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

/// Returns data, with a text of the same for agents that read no data.
fn data(shown: &Json, fields: Map<String, Json>) -> ToolResult {
    let text = serde_json::to_string_pretty(shown).unwrap_or_default();
    ToolResult {
        structured: Some(fields),
        ..ToolResult::text(text)
    }
}
