//! When the window of a question may take the keyboard.
//!
//! Invariant: only in normal mode, when no command waits for its next key, and when no key came
//! for [`REST`]. (While a mapping waits for its next key Neovim runs no callbacks at all, so
//! nothing here can come between.)

use std::time::{Duration, Instant};

use nvim_oxi::mlua::{self, Function, Table, Value};

use super::nvim::{self, api};
use super::{form, guard, permission, state};

/// How long the keyboard must have rested before the window may take it.
pub const REST: Duration = Duration::from_millis(300);

/// What is known of the keyboard.
#[derive(Debug, Default)]
pub struct Keyboard {
    last_key: Option<Instant>,
    /// The end of the rest is waited for.
    is_waiting: bool,
}

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

fn with<R: Default>(body: impl FnOnce(&mut Keyboard) -> R) -> R {
    state::with(|editor| body(&mut editor.keyboard.borrow_mut())).unwrap_or_default()
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

/// Returns what gives the keyboard to the question on the screen, if that wants it.
fn wanted() -> Option<fn() -> mlua::Result<()>> {
    if permission::wants_focus() {
        Some(permission::take_focus)
    } else if form::wants_focus() {
        Some(form::take_focus)
    } else {
        None
    }
}

/// Takes the focus once the keyboard has rested, if the user is in normal mode then.
///
/// # Errors
/// What Neovim says of it.
pub fn wait_for_rest() -> mlua::Result<()> {
    if wanted().is_none() || with(|keyboard| std::mem::replace(&mut keyboard.is_waiting, true)) {
        return Ok(());
    }
    let try_now = guard::callback("focus of a question", |()| {
        with(|keyboard| keyboard.is_waiting = false);
        let Some(take_focus) = wanted() else {
            return Ok(());
        };
        let last_key = with(|keyboard| keyboard.last_key);
        let has_rested = last_key.is_none_or(|last| last.elapsed() >= REST);
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
pub fn watch_keys() -> mlua::Result<()> {
    let namespace = nvim::namespace("acp_permission")?;
    let callback = if permission::is_open() || form::is_open() {
        Value::Function(guard::callback("on_key", |_: mlua::Variadic<Value>| {
            with(|keyboard| keyboard.last_key = Some(Instant::now()));
            Ok(())
        })?)
    } else {
        Value::Nil
    };
    nvim::vim()?
        .get::<Function>("on_key")?
        .call((callback, namespace))
}
