//! What the module offers for questions by forms and pages.

use nvim_oxi::mlua::{self, LuaSerdeExt, Table, Value};

use super::PLAIN;
use crate::editor::guard::function;
use crate::editor::nvim;
use crate::editor::state::{send, snapshot};
use acp_core::questions::elicitation::{Ask, ElicitationAnswer};
use acp_core::questions::form::{Choice, Field, Kind};
use acp_core::spine::event::Event;
use acp_core::spine::ids::ElicitationId;
use acp_core::view::snapshot::ElicitationInfo;

pub(super) fn add(module: &Table) -> mlua::Result<()> {
    let list = |()| {
        let list = nvim::empty()?;
        for open in &snapshot().elicitations {
            list.push(elicitation_table(open)?)?;
        }
        Ok(list)
    };
    module.set("elicitation_list", function("elicitation_list", list)?)?;
    let answer = |(id, action, content): (u64, String, Value)| {
        let answer = match action.as_str() {
            "accept" => ElicitationAnswer::Accept(read_content(content)?),
            "decline" => ElicitationAnswer::Decline,
            _ => ElicitationAnswer::Cancel,
        };
        let id = ElicitationId(id);
        send(Event::ElicitationAnswer { id, answer });
        Ok(())
    };
    module.set(
        "elicitation_answer",
        function("elicitation_answer", answer)?,
    )
}

/// Reads what a form is filled in with; an empty table is a list nowhere but in a field.
fn read_content(content: Value) -> mlua::Result<serde_json::Map<String, serde_json::Value>> {
    match nvim::lua().from_value(content)? {
        serde_json::Value::Object(mut content) => {
            for value in content.values_mut() {
                if value.as_object().is_some_and(serde_json::Map::is_empty) {
                    *value = serde_json::Value::Array(Vec::new());
                }
            }
            Ok(content)
        }
        _ => Ok(serde_json::Map::new()),
    }
}

fn elicitation_table(open: &ElicitationInfo) -> mlua::Result<Table> {
    let table = nvim::table([
        ("id", nvim::value(open.id)),
        ("session", nvim::value(open.session.0)),
        ("message", nvim::value(open.message.as_str())),
    ])?;
    match &open.ask {
        Ask::Form(form) => {
            table.set("mode", "form")?;
            let fields = nvim::empty()?;
            for field in &form.fields {
                fields.push(field_table(field)?)?;
            }
            table.set("fields", fields)?;
        }
        Ask::Page { page, .. } => {
            table.set("mode", "url")?;
            table.set("url", page.url.as_str())?;
        }
    }
    Ok(table)
}

fn field_table(field: &Field) -> mlua::Result<Table> {
    let (kind, choices): (&str, &[Choice]) = match &field.kind {
        Kind::Text => ("string", &[]),
        Kind::Integer => ("integer", &[]),
        Kind::Number => ("number", &[]),
        Kind::Flag => ("boolean", &[]),
        Kind::One(choices) => ("one", choices),
        Kind::Many(choices) => ("many", choices),
        Kind::Unknown(_) => ("unknown", &[]),
    };
    let table = nvim::table([
        ("name", nvim::value(field.name.as_str())),
        ("title", nvim::value(field.title.as_str())),
        ("description", nvim::value(field.description.as_deref())),
        ("required", nvim::value(field.is_required)),
        ("type", nvim::value(kind)),
    ])?;
    if let Some(default) = &field.default {
        let default = nvim::lua().to_value_with(&default, PLAIN)?;
        table.set("default", default)?;
    }
    if !choices.is_empty() {
        let list = nvim::empty()?;
        for choice in choices {
            list.push(nvim::table([
                ("value", nvim::value(choice.value.as_str())),
                ("title", nvim::value(choice.title.as_str())),
            ])?)?;
        }
        table.set("choices", list)?;
    }
    Ok(table)
}
