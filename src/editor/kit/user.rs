//! The user's activity: the one place that decides whether a window may take the focus or move.

use nvim_oxi::mlua::{self, Function, Table, Value, Variadic};

use super::window;
use crate::editor::guard;
use crate::editor::nvim::{self, api};

/// What the user is doing with the keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// Nothing: normal mode, no key pending.
    Idle,
    /// Nothing, while a macro is recorded or executed.
    InMacro,
    /// A command or a mapping waits for its next key; no event reports its end.
    InCommand,
    /// Another mode or the command-line window, whose end `ModeChanged` reports.
    Busy,
}

/// Returns what the user is doing.
///
/// While a mapping waits for its next key Neovim runs no callbacks, so nothing can come between.
pub fn activity() -> mlua::Result<Activity> {
    let state: Table = api("nvim_get_mode", ())?;
    let mode: String = state.get("mode")?;
    let is_normal = matches!(mode.as_str(), "n" | "nt") && !state.get::<bool>("blocking")?;
    if !is_normal || window::is_command_line()? {
        return Ok(Activity::Busy);
    }
    let is_empty = |text: String| text.is_empty();
    // See |state()|: within a mapping, after a count, a register, or `f`.
    Ok(if !is_empty(nvim::vim_fn("state", "moSs")?) {
        Activity::InCommand
    } else if is_empty(nvim::vim_fn("reg_recording", ())?)
        && is_empty(nvim::vim_fn("reg_executing", ())?)
    {
        Activity::Idle
    } else {
        Activity::InMacro
    })
}

/// Returns the mode, as |mode()| names it in full.
pub fn mode() -> mlua::Result<String> {
    api::<Table>("nvim_get_mode", ())?.get("mode")
}

pub fn is_inserting() -> mlua::Result<bool> {
    Ok(mode()?.starts_with('i'))
}

/// Returns whether the user types into a terminal.
pub fn is_in_terminal() -> mlua::Result<bool> {
    Ok(mode()? == "t")
}

/// Returns whether Neovim shows a prompt that waits for a line or a key.
pub fn is_at_prompt() -> mlua::Result<bool> {
    Ok(mode()?.starts_with(['c', 'r']))
}

/// Returns whether the user selects text in this window, or has typed an operator there.
pub fn is_selecting(win: i32) -> mlua::Result<bool> {
    let mode = mode()?;
    let is_selecting = mode.starts_with("no") || mode.starts_with(['v', 'V', '\u{16}']);
    Ok(is_selecting && win == window::here()?)
}

/// Returns whether the menu of completions is open.
pub fn is_in_menu() -> mlua::Result<bool> {
    Ok(nvim::vim_fn::<i64>("pumvisible", ())? == 1)
}

/// Runs `body` at each key that is pressed, until [`ignore_keys`] with the same name.
pub fn watch_keys(
    name: &'static str,
    body: impl Fn() -> mlua::Result<()> + 'static,
) -> mlua::Result<()> {
    let run = guard::callback(name, move |_: Variadic<Value>| body())?;
    on_key(name, Value::Function(run))
}

pub fn ignore_keys(name: &'static str) -> mlua::Result<()> {
    on_key(name, Value::Nil)
}

fn on_key(name: &'static str, run: Value) -> mlua::Result<()> {
    let on_key: Function = nvim::vim()?.get("on_key")?;
    on_key.call((run, nvim::namespace(name)?))
}
