//! API functions for a session's options and commands.

use nvim_oxi::mlua::{self, Table, Value};
use serde_json::{Value as Json, json};

use super::provide;
use super::sessions::meant;
use crate::editor::nvim;
use crate::editor::state::{self, send};
use acp::client::ConfigValue;
use acp::{Choice, Command, SessionOption};
use acp_core::conversation::info::SessionInfo;
use acp_core::conversation::options::Setting;
use acp_core::event::{Event, SessionEvent};
use acp_core::spine::event::Defaults;
use acp_core::spine::ids::SessionKey;

pub(super) fn add(module: &Table) -> mlua::Result<()> {
    let options = |session| told(session, |info| nvim::list(info.options.iter().map(option)));
    provide(module, "options", options)?;
    let commands = |session| {
        told(session, |info| {
            nvim::list(info.commands.iter().map(command))
        })
    };
    provide(module, "commands", commands)?;
    let set = |(session, id, value): (Option<u32>, Option<String>, Value)| {
        let wish = wish(id, &value)?;
        let session = meant(session)?;
        send(Event::Session(SessionEvent::SetOption { session, wish }));
        Ok(())
    };
    provide(module, "set_option", set)?;
    let remembered = |(session, values): (u32, Option<Table>)| {
        let read = values.map_or_else(|| Ok(Defaults::default()), |values| defaults(&values));
        // The prompts wait for it, also if it is an error.
        let (values, result) = match read {
            Ok(values) => (values, Ok(())),
            Err(why) => (Defaults::default(), Err(why)),
        };
        send(Event::Session(SessionEvent::Remembered {
            session: SessionKey(session),
            values: Box::new(values),
        }));
        result
    };
    provide(module, "remembered", remembered)?;
    let next = |session: Option<u32>| {
        let session = meant(session)?;
        let wish = Setting::NextMode;
        send(Event::Session(SessionEvent::SetOption { session, wish }));
        Ok(())
    };
    provide(module, "next_mode", next)
}

/// Reads from the snapshot of a session; returns an empty table if the core does not know it yet.
fn told(
    session: Option<u32>,
    of: impl Fn(&SessionInfo) -> mlua::Result<Value>,
) -> mlua::Result<Value> {
    let told = state::session(meant(session)?, of);
    told.unwrap_or_else(|| nvim::empty().map(Value::Table))
}

/// Reads values for the options of an agent's sessions, by the keys of its config.
pub(super) fn defaults(agent: &Table) -> mlua::Result<Defaults> {
    let mut options = Vec::new();
    if let Some(table) = agent.get::<Option<Table>>("options")? {
        for pair in table.pairs::<String, Value>() {
            let (id, of) = pair?;
            options.push((id, value(&of)?));
        }
    }
    // Lua has no order, and an option may decide which others there are.
    options.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(Defaults {
        mode: agent.get("mode")?,
        model: agent.get("model")?,
        options,
    })
}

fn value(of: &Value) -> mlua::Result<ConfigValue> {
    match of {
        Value::Boolean(value) => Ok(ConfigValue::Boolean(*value)),
        Value::String(value) => Ok(ConfigValue::Id(value.to_string_lossy())),
        other => {
            let text = format!("expected a text or a boolean, got {}", other.type_name());
            Err(mlua::Error::runtime(text))
        }
    }
}

/// Reads a setting: an option by its id, or the mode.
fn wish(id: Option<String>, of: &Value) -> mlua::Result<Setting> {
    Ok(match (id, value(of)?) {
        (None, ConfigValue::Id(mode)) => Setting::Mode(mode),
        (id, value) => Setting::Option {
            id: id.unwrap_or_default(),
            value,
        },
    })
}

fn option(option: &SessionOption) -> Json {
    let (kind, value) = match &option.value {
        ConfigValue::Id(id) => ("select", json!(id)),
        ConfigValue::Boolean(value) => ("boolean", json!(value)),
    };
    json!({
        "id": option.id,
        "name": option.name,
        "description": option.description,
        "category": option.category,
        "type": kind,
        "value": value,
        "values": option.choices.iter().map(choice).collect::<Vec<_>>(),
    })
}

fn choice(choice: &Choice) -> Json {
    json!({
        "id": choice.id,
        "name": choice.name,
        "description": choice.description,
        "group": choice.group,
    })
}

fn command(command: &Command) -> Json {
    json!({
        "name": command.name,
        "description": command.description,
        "hint": command.hint,
    })
}
