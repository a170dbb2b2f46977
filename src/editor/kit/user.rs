//! The user's activity: the one place that decides whether a window may follow the agent.

use std::cell::Cell;
use std::time::Duration;

use nvim_oxi::mlua::{self, Function, Table, Value, Variadic};

use super::autocmd::{self, Scope};
use super::{buffer, defer, window};
use crate::editor::guard;
use crate::editor::nvim::{self, api};

/// What the user is doing with the keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// Nothing: normal mode, no key pending.
    Idle,
    /// A macro is recorded or executed, or a command or a mapping waits for its next key; no event
    /// reports its end.
    InCommand,
    /// Another mode or the command-line window, whose end `ModeChanged` reports.
    Busy,
}

thread_local! {
    /// The user types into a block: Neovim repeats the text in its other lines, which it knows by
    /// their numbers.
    static IN_BLOCK: Cell<bool> = const { Cell::new(false) };
}

/// Starts to notice what Neovim does not report on request.
pub fn start() -> mlua::Result<()> {
    // From the selection of a block to insert mode.
    let begins = Scope::Patterns(&["\u{16}*:i*", "\u{13}*:i*"]);
    autocmd::on("block insert", &["ModeChanged"], begins, |_| {
        IN_BLOCK.set(true);
        Ok(())
    })?;
    // <C-c> triggers no InsertLeave.
    let ends = Scope::Patterns(&["i*:n*", "R*:n*"]);
    autocmd::on("block insert's end", &["ModeChanged"], ends, |_| {
        IN_BLOCK.set(false);
        Ok(())
    })
    .map(drop)
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
    // See |state()|: within a mapping, after a count, a register, or `f`.
    let is_in_command = !nvim::vim_fn::<String>("state", "moSs")?.is_empty();
    Ok(match is_in_command || is_recording()? || is_in_macro()? {
        true => Activity::InCommand,
        false => Activity::Idle,
    })
}

/// Runs `body` soon, but not while an autocommand waits or Neovim asks something: the command that
/// is under way then has not ended.
pub fn after_autocommands(
    place: &'static str,
    body: impl FnOnce() -> mlua::Result<()> + 'static,
) -> mlua::Result<()> {
    const AGAIN: Duration = Duration::from_millis(20);
    defer::soon(place, move || {
        let is_in_autocommand = !nvim::vim_fn::<String>("state", "x")?.is_empty();
        match is_in_autocommand || mode()?.starts_with('r') {
            true => defer::after(place, AGAIN, move || after_autocommands(place, body)),
            false => body(),
        }
    })
}

/// Returns whether a macro runs.
pub fn is_in_macro() -> mlua::Result<bool> {
    Ok(!nvim::vim_fn::<String>("reg_executing", ())?.is_empty())
}

/// Returns whether the user records a macro.
pub fn is_recording() -> mlua::Result<bool> {
    Ok(!nvim::vim_fn::<String>("reg_recording", ())?.is_empty())
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

/// Returns whether the keys of an unfinished command refer to lines of this buffer, so that they
/// would strike other lines if the lines changed now: a selection, a block that is typed into, a
/// command line, a command that asks, an operator, a mapping or a macro under way. Neovim itself puts back a completion
/// by its line's number.
pub fn refers_to_lines(buf: i32) -> mlua::Result<bool> {
    is_under_way(buf, "moS")
}

/// Returns what [`refers_to_lines`] does, in a |SafeState| autocommand: the state is safe only
/// after it.
pub fn refers_to_lines_still(buf: i32) -> mlua::Result<bool> {
    is_under_way(buf, "mo")
}

fn is_under_way(buf: i32, flags: &str) -> mlua::Result<bool> {
    let state = |flags: &str| -> mlua::Result<bool> {
        Ok(!nvim::vim_fn::<String>("state", flags)?.is_empty())
    };
    let is_here = buf == buffer::here()?;
    let mode = mode()?;
    match mode.chars().next() {
        // A terminal is never reported as safe (|SafeState|), and refers to no lines.
        Some('t') => Ok(false),
        Some('v' | 'V' | '\u{16}' | 's' | 'S' | '\u{13}' | 'c') if is_here => Ok(true),
        // A command asks whether to go on, as `:s` with `c` and |confirm()| do, or has more to show:
        // it may change any buffer.
        Some('r') => Ok(mode != "r"),
        Some('i' | 'R') => Ok(state("m")? || is_here && (IN_BLOCK.get() || state("a")?)),
        // A script that runs before Neovim has started may wait for a change.
        _ => Ok(has_started()? && state(flags)?),
    }
}

/// Returns whether Neovim has carried out its arguments and waits for keys.
fn has_started() -> mlua::Result<bool> {
    let variables: Table = nvim::vim()?.get("v")?;
    Ok(variables.get::<i64>("vim_did_enter")? == 1)
}

/// Returns whether the menu of completions is open.
pub fn is_in_menu() -> mlua::Result<bool> {
    Ok(nvim::vim_fn::<i64>("pumvisible", ())? == 1)
}

/// Runs `body` with each key that is pressed, until [`ignore_keys`] with the same name.
pub fn watch_keys(
    name: &'static str,
    body: impl Fn(&mlua::String) -> mlua::Result<()> + 'static,
) -> mlua::Result<()> {
    let run = guard::callback(name, move |(key, _): (mlua::String, Variadic<Value>)| {
        body(&key)
    })?;
    on_key(name, Value::Function(run))
}

pub fn ignore_keys(name: &'static str) -> mlua::Result<()> {
    on_key(name, Value::Nil)
}

fn on_key(name: &'static str, run: Value) -> mlua::Result<()> {
    let on_key: Function = nvim::vim()?.get("on_key")?;
    on_key.call((run, nvim::namespace(name)?))
}

/// Returns the count before the key that is running, or 1.
pub fn count() -> mlua::Result<i32> {
    let vim: Table = nvim::vim()?.get("v")?;
    vim.get("count1")
}
