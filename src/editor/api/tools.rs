//! API functions for the tools that Neovim defines.

use std::path::PathBuf;

use nvim_oxi::mlua::{self, Table, Value};
use serde_json::{Map, Value as Json, json};

use super::provide;
use crate::editor::nvim;
use crate::editor::state::send;
use crate::editor::tools::json::{Empty, to_json};
use crate::editor::tools::result;
use acp_core::event::{Event, ToolEvent};
use acp_core::spine::effect::Level;
use acp_core::spine::ids::ToolUseId;
use acp_core::spine::tool::{Progress, ToolAsk, ToolPermission, ToolResult, ToolSpec};
use acp_schema::check_schema;

pub(super) fn add(module: &Table) -> mlua::Result<()> {
    provide(module, "tools_define", define)?;
    let switch = |(name, on): (String, bool)| {
        send(Event::Tool(ToolEvent::Switched { name, on }));
        Ok(())
    };
    provide(module, "tool_switch", switch)?;
    let ask = |(id, number, kind, what): (u64, u32, String, Table)| {
        let id = ToolUseId(id);
        let ask = read_ask(&kind, &what)?;
        send(Event::Tool(ToolEvent::Asked { id, number, ask }));
        Ok(())
    };
    provide(module, "tool_ask", ask)?;
    let progress = |(id, done, total, message): (u64, f64, Option<f64>, Option<mlua::String>)| {
        let id = ToolUseId(id);
        let progress = Progress {
            done,
            total,
            message: message.map(|text| text.to_string_lossy()),
        };
        send(Event::Tool(ToolEvent::Progressed { id, progress }));
        Ok(())
    };
    provide(module, "tool_progress", progress)?;
    provide(module, "tool_done", done)?;
    let log = |line: mlua::String| {
        say(line.to_string_lossy());
        Ok(())
    };
    provide(module, "tool_log", log)
}

fn say(line: String) {
    let level = Level::Warn;
    send(Event::Log { level, line });
}

/// Defines the tools; returns the invalid ones with their errors. The others are offered.
fn define(tables: Vec<Table>) -> mlua::Result<Value> {
    let mut tools = Vec::with_capacity(tables.len());
    let mut problems = Vec::new();
    for table in &tables {
        match read_spec(table)? {
            Ok(spec) => tools.push(spec),
            Err(why) => {
                let name: String = table.get("name")?;
                problems.push(json!({ "name": name, "why": why }));
            }
        }
    }
    send(Event::Tool(ToolEvent::Defined(tools)));
    nvim::data(&problems)
}

/// Reads a tool that the Lua side has checked; `Err` describes the mistake in its schema.
fn read_spec(table: &Table) -> mlua::Result<Result<ToolSpec, String>> {
    let is_builtin: bool = table.get("builtin")?;
    let parameters = match parameters(table.get("parameters")?) {
        Ok(parameters) => parameters,
        Err(why) => return Ok(Err(why)),
    };
    // The built-in ones are valid, and the first chat does not wait until they are compiled.
    if !is_builtin && let Err(why) = check_schema(&parameters) {
        return Ok(Err(why));
    }
    let seconds: Option<f64> = table.get("time_limit")?;
    Ok(Ok(ToolSpec {
        name: table.get("name")?,
        title: text(table, "title")?,
        description: text(table, "description")?.unwrap_or_default(),
        parameters,
        is_read_only: table.get("read_only")?,
        permission: match table.get::<String>("permission")?.as_str() {
            "allow" => ToolPermission::Allow,
            "reject" => ToolPermission::Reject,
            _ => ToolPermission::Ask,
        },
        is_on: table.get("enabled")?,
        limit_ms: seconds.map(milliseconds),
        kind: table.get("kind")?,
        is_builtin,
    }))
}

/// Returns a text field, with invalid UTF-8 replaced.
fn text(table: &Table, field: &str) -> mlua::Result<Option<String>> {
    let text: Option<mlua::String> = table.get(field)?;
    Ok(text.map(|text| text.to_string_lossy()))
}

// The cast saturates; no call takes that long.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn milliseconds(seconds: f64) -> u64 {
    (seconds * 1000.0).clamp(1.0, 1e15) as u64
}

/// Reads the schema of a tool's arguments, which are always an object.
fn parameters(value: Value) -> Result<Json, String> {
    let Json::Object(mut schema) = to_json(value, Empty::Schema)? else {
        return Err("it is not a table with names".to_owned());
    };
    schema.entry("type").or_insert_with(|| "object".into());
    // Some agents expect it even for a tool without arguments.
    schema
        .entry("properties")
        .or_insert_with(|| Json::Object(Map::new()));
    Ok(Json::Object(schema))
}

fn read_ask(kind: &str, what: &Table) -> mlua::Result<ToolAsk> {
    let path = || what.get::<String>("path").map(PathBuf::from);
    match kind {
        "read" => Ok(ToolAsk::Read {
            path: path()?,
            line: what.get("line")?,
            limit: what.get("limit")?,
        }),
        "write" => {
            let content: mlua::String = what.get("content")?;
            let why = "ctx.write: the text is not UTF-8";
            let content = content.to_str().map_err(|_| mlua::Error::runtime(why))?;
            Ok(ToolAsk::Write {
                path: path()?,
                content: content.to_owned(),
            })
        }
        _ => {
            let schema = to_json(what.get("schema")?, Empty::Schema);
            let wrong = |why| mlua::Error::runtime(format!("ctx.ask: form.schema: {why}"));
            Ok(ToolAsk::Form {
                message: text(what, "message")?.unwrap_or_default(),
                schema: schema.map_err(wrong)?,
            })
        }
    }
}

fn done((id, is_ok, value): (u64, bool, Value)) -> mlua::Result<()> {
    let id = ToolUseId(id);
    let result = if is_ok {
        result::read(value).unwrap_or_else(|why| {
            say(format!("tool call {}: {why}", id.0));
            ToolResult::error(why)
        })
    } else {
        ToolResult::error(match value {
            Value::String(why) => why.to_string_lossy(),
            _ => "The tool has failed.".to_owned(),
        })
    };
    send(Event::Tool(ToolEvent::Done { id, result }));
    Ok(())
}
