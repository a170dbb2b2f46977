//! Calls of Neovim's API through its Lua state, which take Lua tables and are the same in every
//! version; and the few helpers that make them short.

use std::cell::RefCell;
use std::collections::HashMap;

use nvim_oxi::mlua::{
    self, FromLua, FromLuaMulti, Function, IntoLua, IntoLuaMulti, Lua, LuaSerdeExt, ObjectLike,
    SerializeOptions, Table, Value,
};
use serde::Serialize;

thread_local! {
    static LUA: Lua = kept();
    static FUNCTIONS: RefCell<HashMap<&'static str, Function>> = RefCell::default();
}

/// What the user may have put in the place of a function of Neovim's: a function, or a table that is
/// called like one, as nvim-notify is.
#[derive(Debug)]
pub enum Callable {
    Function(Function),
    Table(Table),
}

impl Callable {
    /// Calls it.
    ///
    /// # Errors
    /// Its error, or that the table cannot be called.
    pub fn call<R: FromLuaMulti>(&self, args: impl IntoLuaMulti) -> mlua::Result<R> {
        match self {
            Self::Function(function) => function.call(args),
            Self::Table(table) => table.call(args),
        }
    }
}

impl FromLua for Callable {
    fn from_lua(value: Value, lua: &Lua) -> mlua::Result<Self> {
        match value {
            Value::Table(table) => Ok(Self::Table(table)),
            other => Function::from_lua(other, lua).map(Self::Function),
        }
    }
}

/// Returns the Lua state of the main thread.
pub fn lua() -> Lua {
    LUA.with(Clone::clone)
}

/// Returns the state in a form that may be cloned and dropped at no cost.
///
/// What `mlua::lua` returns collects all of Neovim's garbage when it is dropped, which takes
/// milliseconds; its clones do not.
fn kept() -> Lua {
    let lua = mlua::lua();
    // Without this, each string and table passed to Lua costs a protected call, in case memory
    // runs out; but then Neovim exits anyway.
    lua.skip_memory_check(true);
    let kept = lua.clone();
    std::mem::forget(lua);
    kept
}

/// Calls `vim.api.{name}`.
///
/// # Errors
/// Neovim's error.
pub fn api<R: FromLuaMulti>(name: &'static str, args: impl IntoLuaMulti) -> mlua::Result<R> {
    function("api", name)?.call(args)
}

/// Calls `vim.fn.{name}`.
///
/// # Errors
/// Neovim's error.
pub fn vim_fn<R: FromLuaMulti>(name: &'static str, args: impl IntoLuaMulti) -> mlua::Result<R> {
    function("fn", name)?.call(args)
}

/// Returns `vim.{module}.{name}`, looked up once. No name is in both modules.
fn function(module: &str, name: &'static str) -> mlua::Result<Function> {
    let known = FUNCTIONS.with_borrow(|functions| functions.get(name).cloned());
    if let Some(function) = known {
        return Ok(function);
    }
    let function: Function = vim()?.get::<Table>(module)?.get(name)?;
    FUNCTIONS.with_borrow_mut(|functions| functions.insert(name, function.clone()));
    Ok(function)
}

/// Returns the table `vim`.
///
/// # Errors
/// Only if a script has removed it.
pub fn vim() -> mlua::Result<Table> {
    lua().globals().get("vim")
}

/// Returns a table with these fields.
///
/// # Errors
/// Only when out of memory.
pub fn table<const N: usize>(fields: [(&str, Value); N]) -> mlua::Result<Table> {
    let table = lua().create_table()?;
    for (name, value) in fields {
        table.set(name, value)?;
    }
    Ok(table)
}

/// Converts a value to Lua; nil if that fails.
pub fn value(any: impl IntoLua) -> Value {
    any.into_lua(&lua()).unwrap_or(Value::Nil)
}

/// Returns data as Lua has it: a field that is null is left out.
///
/// # Errors
/// Only when out of memory.
pub fn data(data: &impl Serialize) -> mlua::Result<Value> {
    let options = SerializeOptions::new()
        .set_array_metatable(false)
        .serialize_none_to_null(false)
        .serialize_unit_to_null(false);
    lua().to_value_with(data, options)
}

/// Returns a list of data, as [`data`] does.
///
/// # Errors
/// Only when out of memory.
pub fn list<T: Serialize>(items: impl Iterator<Item = T>) -> mlua::Result<Value> {
    data(&items.collect::<Vec<_>>())
}

/// Returns an empty table.
///
/// # Errors
/// Only when out of memory.
pub fn empty() -> mlua::Result<Table> {
    lua().create_table()
}

/// Sets an option of a buffer.
///
/// # Errors
/// Neovim's error.
pub fn set_buf_option(buf: i32, name: &str, to: impl IntoLua) -> mlua::Result<()> {
    let scope = table([("buf", value(buf))])?;
    api("nvim_set_option_value", (name, to, scope))
}

/// Sets an option of a window for the buffer it shows now, not for later ones.
///
/// # Errors
/// Neovim's error.
pub fn set_win_option(win: i32, name: &str, to: impl IntoLua) -> mlua::Result<()> {
    let scope = table([("win", value(win)), ("scope", value("local"))])?;
    api("nvim_set_option_value", (name, to, scope))
}

/// Returns an option of a window.
///
/// # Errors
/// Neovim's error.
pub fn win_option<R: FromLuaMulti>(win: i32, name: &str) -> mlua::Result<R> {
    let scope = table([("win", value(win)), ("scope", value("local"))])?;
    api("nvim_get_option_value", (name, scope))
}

/// Returns an option of a buffer.
///
/// # Errors
/// Neovim's error.
pub fn buf_option<R: FromLuaMulti>(buf: i32, name: &str) -> mlua::Result<R> {
    let scope = table([("buf", value(buf))])?;
    api("nvim_get_option_value", (name, scope))
}

/// Returns the namespace with this name.
///
/// # Errors
/// Neovim's error.
pub fn namespace(name: &str) -> mlua::Result<i32> {
    api("nvim_create_namespace", name)
}

/// Returns the windows that show a buffer, in all tab pages.
///
/// # Errors
/// Neovim's error.
pub fn windows_of(buf: i32) -> mlua::Result<Vec<i32>> {
    vim_fn("win_findbuf", buf)
}

/// Returns the message of an error without Lua's traceback.
pub fn message(error: &mlua::Error) -> String {
    let text = match error {
        mlua::Error::CallbackError { cause, .. } => return message(cause),
        mlua::Error::RuntimeError(text) => text.clone(),
        other => other.to_string(),
    };
    let text = text.split("\nstack traceback:").next().unwrap_or_default();
    text.lines()
        .next_back()
        .unwrap_or_default()
        .trim()
        .to_owned()
}
