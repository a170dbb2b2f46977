//! What the module offers for a session's options and commands.

use nvim_oxi::mlua::{self, Table, Value};

use super::sessions::meant;
use crate::editor::guard::function;
use crate::editor::nvim;
use crate::editor::state::{send, snapshot};
use acp::client::ConfigValue;
use acp::{Choice, Command, SessionOption};
use acp_core::conversation::options::Setting;
use acp_core::spine::event::Event;
use acp_core::view::snapshot::SessionInfo;

pub(super) fn add(module: &Table) -> mlua::Result<()> {
    let options = |session| {
        let of = |info: &SessionInfo| list(&info.options, option_table);
        told(session, of)
    };
    module.set("options", function("options", options)?)?;
    let commands = |session| {
        let of = |info: &SessionInfo| list(&info.commands, command_table);
        told(session, of)
    };
    module.set("commands", function("commands", commands)?)?;
    let set = |(session, id, value): (Option<u32>, Option<String>, Value)| {
        let wish = wish(id, &value)?;
        let session = meant(session)?;
        send(Event::SetOption { session, wish });
        Ok(())
    };
    module.set("set_option", function("set_option", set)?)?;
    let next = |session: Option<u32>| {
        let session = meant(session)?;
        let wish = Setting::NextMode;
        send(Event::SetOption { session, wish });
        Ok(())
    };
    module.set("next_mode", function("next_mode", next)?)
}

/// Returns what the snapshot has of a session; nothing of one the core has not heard of.
fn told(
    session: Option<u32>,
    of: impl Fn(&SessionInfo) -> mlua::Result<Table>,
) -> mlua::Result<Table> {
    let key = meant(session)?;
    let snapshot = snapshot();
    let info = snapshot.sessions.iter().find(|info| info.session == key);
    info.map_or_else(nvim::empty, of)
}

/// Reads what is to be set: an option by its id, or the mode.
fn wish(id: Option<String>, value: &Value) -> mlua::Result<Setting> {
    let value = match value {
        Value::Boolean(value) => ConfigValue::Boolean(*value),
        Value::String(value) => ConfigValue::Id(value.to_string_lossy()),
        other => {
            let text = format!("expected a text or a boolean, got {}", other.type_name());
            return Err(mlua::Error::runtime(text));
        }
    };
    Ok(match (id, value) {
        (None, ConfigValue::Id(mode)) => Setting::Mode(mode),
        (id, value) => Setting::Option {
            id: id.unwrap_or_default(),
            value,
        },
    })
}

fn list<T>(items: &[T], table: impl Fn(&T) -> mlua::Result<Table>) -> mlua::Result<Table> {
    let list = nvim::empty()?;
    for item in items {
        list.push(table(item)?)?;
    }
    Ok(list)
}

fn option_table(option: &SessionOption) -> mlua::Result<Table> {
    let (kind, value) = match &option.value {
        ConfigValue::Id(id) => ("select", nvim::value(id.as_str())),
        ConfigValue::Boolean(value) => ("boolean", Value::Boolean(*value)),
    };
    nvim::table([
        ("id", nvim::value(option.id.as_str())),
        ("name", nvim::value(option.name.as_str())),
        ("description", nvim::value(option.description.as_deref())),
        ("category", nvim::value(option.category.as_deref())),
        ("type", nvim::value(kind)),
        ("value", value),
        ("values", Value::Table(list(&option.choices, choice_table)?)),
    ])
}

fn choice_table(choice: &Choice) -> mlua::Result<Table> {
    nvim::table([
        ("id", nvim::value(choice.id.as_str())),
        ("name", nvim::value(choice.name.as_str())),
        ("description", nvim::value(choice.description.as_deref())),
        ("group", nvim::value(choice.group.as_deref())),
    ])
}

fn command_table(command: &Command) -> mlua::Result<Table> {
    nvim::table([
        ("name", nvim::value(command.name.as_str())),
        ("description", nvim::value(command.description.as_str())),
        ("hint", nvim::value(command.hint.as_deref())),
    ])
}
