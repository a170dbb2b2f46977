//! When the permission window may take the keyboard.
//!
//! Invariant: only in normal mode, when no command waits for its next key, and when no key came
//! for [`REST`]. (While a mapping waits for its next key Neovim runs no callbacks at all, so
//! nothing here can come between.)

use std::time::{Duration, Instant};

use nvim_oxi::mlua::{self, Function, Table, Value};

use super::guard;
use super::nvim::{self, api};
use super::permission::{take_focus, with};

/// How long the keyboard must have rested before the window may take it.
pub const REST: Duration = Duration::from_millis(300);

/// What the user is doing with the keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// Nothing: normal mode, no key pending.
    Free,
    /// A command or a mapping waits for its next key.
    InCommand,
    /// Another mode, whose end `ModeChanged` tells.
    Busy,
}

fn moment() -> mlua::Result<Moment> {
    let mode: Table = api("nvim_get_mode", ())?;
    let is_normal = mode.get::<String>("mode")? == "n" && !mode.get::<bool>("blocking")?;
    let window: String = nvim::vim_fn("win_gettype", ())?;
    if !is_normal || window == "command" {
        return Ok(Moment::Busy);
    }
    // See |state()|: within a mapping, after a count, a register, or `f`.
    let pending: String = nvim::vim_fn("state", "moSs")?;
    Ok(if pending.is_empty() {
        Moment::Free
    } else {
        Moment::InCommand
    })
}

/// Takes the focus once the keyboard has rested, if the user is in normal mode then.
///
/// # Errors
/// What Neovim says of it.
pub fn wait_for_rest() -> mlua::Result<()> {
    let is_due = with(|float| {
        let is_due = float.view.is_some() && !float.left && !float.waiting;
        float.waiting |= is_due;
        is_due
    });
    if !is_due {
        return Ok(());
    }
    let try_now = guard::callback("permission focus", |()| {
        with(|float| float.waiting = false);
        if with(|float| float.left || float.view.is_none()) {
            return Ok(());
        }
        let has_rested = with(|float| float.last_key.is_none_or(|last| last.elapsed() >= REST));
        match moment()? {
            Moment::Free if has_rested => take_focus(),
            Moment::Free | Moment::InCommand => wait_for_rest(),
            Moment::Busy => Ok(()),
        }
    })?;
    let defer: Function = nvim::vim()?.get("defer_fn")?;
    defer.call((try_now, u64::try_from(REST.as_millis()).unwrap_or(300)))
}

/// Notes when keys are pressed, while a question is open.
///
/// # Errors
/// What Neovim says of it.
pub fn watch_keys(on: bool) -> mlua::Result<()> {
    let namespace = nvim::namespace("acp_permission")?;
    let callback = if on {
        Value::Function(guard::callback("on_key", |_: mlua::Variadic<Value>| {
            with(|float| float.last_key = Some(Instant::now()));
            Ok(())
        })?)
    } else {
        Value::Nil
    };
    nvim::vim()?
        .get::<Function>("on_key")?
        .call((callback, namespace))
}
