//! The native module: what the Lua side calls, as the public API describes it.
//!
//! Invariant: every function answers at once, from the main thread's own state or the snapshot;
//! whatever takes longer is an event for the core.

mod agents;
mod composer;
mod elicitations;
mod options;
mod past;
mod queue;
mod reach;
mod reviews;
mod sessions;
mod terminals;
mod tools;

use nvim_oxi::mlua::{self, Lua, LuaSerdeExt, SerializeOptions, Table, Value};

pub use composer::is_image;
pub use reviews::{review, review_rows};

use super::guard::function;
use super::nvim;
use super::state::{send, snapshot};
use super::{decor, question};
use acp_core::spine::event::Event;
use acp_core::spine::ids::PermissionId;
use acp_core::view::snapshot::{PermissionInfo, option_kind};

/// Returns the table of functions.
///
/// # Errors
/// Only when memory is out.
pub fn module() -> mlua::Result<Table> {
    let module = nvim::empty()?;
    module.set("version", env!("CARGO_PKG_VERSION"))?;
    module.set(
        "setup",
        function("setup", |config: Table| super::setup(&config))?,
    )?;
    sessions::add(&module)?;
    composer::add(&module)?;
    agents::add(&module)?;
    options::add(&module)?;
    past::add(&module)?;
    reviews::add(&module)?;
    queue::add(&module)?;
    terminals::add(&module)?;
    elicitations::add(&module)?;
    permissions(&module)?;
    tools::add(&module)?;
    module.set(
        "log_path",
        function("log_path", |()| Ok(super::log_path()))?,
    )?;
    module.set(
        "highlights",
        function("highlights", |()| {
            let list = nvim::empty()?;
            for (name, link) in decor::groups() {
                let group = [("name", nvim::value(name)), ("link", nvim::value(link))];
                list.push(nvim::table(group)?)?;
            }
            Ok(list)
        })?,
    )?;
    Ok(module)
}

fn permissions(module: &Table) -> mlua::Result<()> {
    let list = |()| {
        let list = nvim::empty()?;
        for open in &snapshot().permissions {
            list.push(permission_table(&nvim::lua(), open)?)?;
        }
        Ok(list)
    };
    module.set("permission_list", function("permission_list", list)?)?;
    module.set(
        "permission_answer",
        function("permission_answer", |(id, option): (u64, String)| {
            let id = PermissionId(id);
            send(Event::PermissionAnswer { id, option });
            Ok(())
        })?,
    )?;
    let focus = |()| {
        if !question::focus()? {
            let text = "No permission is asked for.";
            super::apply::notify(acp_core::spine::effect::Level::Info, text)?;
        }
        Ok(())
    };
    module.set("permission_focus", function("permission_focus", focus)?)
}

/// JSON as plain Lua values: what is null is left out.
const PLAIN: SerializeOptions = SerializeOptions::new()
    .set_array_metatable(false)
    .serialize_none_to_null(false)
    .serialize_unit_to_null(false);

fn permission_table(lua: &Lua, open: &PermissionInfo) -> mlua::Result<Table> {
    let options = nvim::empty()?;
    for option in &open.options {
        options.push(nvim::table([
            ("optionId", nvim::value(option.id.as_str())),
            ("name", nvim::value(option.name.as_str())),
            ("kind", nvim::value(option_kind(&option.kind))),
        ])?)?;
    }
    nvim::table([
        ("id", nvim::value(open.id)),
        ("session", nvim::value(open.session.0)),
        ("title", nvim::value(open.title.as_str())),
        ("tool_call", lua.to_value_with(&open.tool_call, PLAIN)?),
        ("options", Value::Table(options)),
    ])
}
