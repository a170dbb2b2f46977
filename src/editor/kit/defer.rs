//! Deferred calls: after the current event of Neovim, or after some time.

use std::cell::Cell;
use std::time::Duration;

use nvim_oxi::mlua::{self, Function, Table, Value};

use crate::editor::guard;
use crate::editor::nvim;

/// Runs `body` once Neovim has finished the current event; `place` names it in the log.
pub fn soon(
    place: &'static str,
    body: impl FnOnce() -> mlua::Result<()> + 'static,
) -> mlua::Result<()> {
    let schedule: Function = nvim::vim()?.get("schedule")?;
    schedule.call(once(place, body)?)
}

/// Runs `body` after a time.
pub fn after(
    place: &'static str,
    time: Duration,
    body: impl FnOnce() -> mlua::Result<()> + 'static,
) -> mlua::Result<()> {
    let defer: Function = nvim::vim()?.get("defer_fn")?;
    defer.call((once(place, body)?, milliseconds(time)))
}

fn once(
    place: &'static str,
    body: impl FnOnce() -> mlua::Result<()> + 'static,
) -> mlua::Result<Function> {
    let body = Cell::new(Some(body));
    guard::callback(place, move |()| body.take().map_or(Ok(()), |body| body()))
}

/// A timer that can be set again and again.
#[derive(Clone)]
pub struct Timer {
    timer: Value,
    start: Function,
    run: Function,
}

impl Timer {
    /// Creates a timer. `body` runs inside libuv, where Neovim's API may not be called.
    pub fn new(place: &'static str, body: impl Fn() + 'static) -> mlua::Result<Self> {
        let uv = uv()?;
        Ok(Self {
            timer: uv.get::<Function>("new_timer")?.call(())?,
            start: uv.get("timer_start")?,
            run: guard::callback(place, move |()| {
                body();
                Ok(())
            })?,
        })
    }

    /// Sets the timer, in place of its last setting.
    pub fn set(&self, time: Duration) -> mlua::Result<()> {
        // libuv counts whole milliseconds, from a clock that may be behind.
        let ms = milliseconds(time).saturating_add(1);
        self.start.call((&self.timer, ms, 0, &self.run))
    }

    pub fn close(self) -> mlua::Result<()> {
        uv()?.get::<Function>("close")?.call(self.timer)
    }
}

fn uv() -> mlua::Result<Table> {
    nvim::vim()?.get("uv")
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
