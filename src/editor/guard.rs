//! The guard around every entry from Neovim: no panic and no error leaves it.
//!
//! Invariant: a callback that panics costs its own work and one message, never the editor.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use nvim_oxi::mlua::{self, FromLuaMulti, Function, IntoLuaMulti, Value};

use super::state::inbox;
use super::{nvim, trace};
use acp_core::event::Event;

/// Returns a Lua function that runs `body` under the guard; a failure returns the default.
pub fn callback<A, R>(
    place: &'static str,
    body: impl Fn(A) -> mlua::Result<R> + 'static,
) -> mlua::Result<Function>
where
    A: FromLuaMulti,
    R: IntoLuaMulti + Default,
{
    nvim::lua().create_function(move |_, args: A| Ok(run(place, || body(args))))
}

/// Runs `body` as [`run`] does; returns whether it succeeded.
pub fn succeeds(place: &'static str, body: impl FnOnce() -> mlua::Result<()>) -> bool {
    run(place, || body().map(|()| true))
}

/// Runs `body`; a panic or an error is reported and gives the default.
pub fn run<R: Default>(place: &'static str, body: impl FnOnce() -> mlua::Result<R>) -> R {
    let _timed = trace::time(place);
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(result)) => result,
        Ok(Err(error)) => {
            report(place, nvim::message(&error));
            R::default()
        }
        Err(panic) => {
            report(place, acp_edge::panics::message(&*panic));
            R::default()
        }
    }
}

/// Runs a part of a callback whose end must be reported in any case; reports a panic and returns
/// `None`.
pub fn caught<R>(place: &'static str, body: impl FnOnce() -> R) -> Option<R> {
    let outcome = catch_unwind(AssertUnwindSafe(body));
    outcome
        .map_err(|panic| report(place, acp_edge::panics::message(&*panic)))
        .ok()
}

/// Runs `body` as the function that `call` passes to Neovim, and returns its result.
///
/// Its error bypasses Neovim, which would add a prefix to the message.
pub fn inside<R: 'static>(
    place: &'static str,
    body: impl FnOnce() -> mlua::Result<R> + 'static,
    call: impl FnOnce(Function) -> mlua::Result<()>,
) -> mlua::Result<R> {
    let outcome = Rc::new(Cell::new(None));
    let (inner, body) = (Rc::clone(&outcome), Cell::new(Some(body)));
    let run = nvim::lua().create_function(move |_, ()| {
        inner.set(body.take().and_then(|body| caught(place, body)));
        Ok(())
    })?;
    call(run)?;
    let not_run = || Err(mlua::Error::runtime(format!("{place}: it did not run")));
    outcome.take().unwrap_or_else(not_run)
}

/// Returns a Lua function for the public API: a panic is reported, an error is raised as one
/// sentence.
pub fn function<A, R>(
    place: &'static str,
    body: impl Fn(A) -> mlua::Result<R> + 'static,
) -> mlua::Result<Function>
where
    A: FromLuaMulti,
    R: IntoLuaMulti,
{
    let run = nvim::lua().create_function(move |lua, args: A| {
        let _timed = trace::time(place);
        let why = match catch_unwind(AssertUnwindSafe(|| body(args))) {
            Ok(Ok(result)) => {
                let mut values = result.into_lua_multi(lua)?;
                values.push_front(Value::Boolean(true));
                return Ok(values);
            }
            Ok(Err(error)) => nvim::message(&error),
            Err(panic) => {
                let message = acp_edge::panics::message(&*panic);
                report(place, message.clone());
                format!("{place}: {message}")
            }
        };
        (false, why).into_lua_multi(lua)
    })?;
    nvim::lua().load(RAISE).call(run)
}

/// Calls a function that returns whether it succeeded, and raises its message if it did not.
///
/// An error raised by Rust is a userdata, whose text `nvim_exec_lua()` and `:lua` do not show.
const RAISE: &str = "
local run = ...
local function result(ok, ...)
    if not ok then
        error((...), 0)
    end
    return ...
end
return function(...)
    return result(run(...))
end";

fn report(place: &'static str, message: String) {
    if let Some(inbox) = inbox() {
        inbox.send(Event::Panicked { place, message });
    }
}
