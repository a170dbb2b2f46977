//! Feeds terminals between the keys that the user types in another window, as [`Pace`] decides.
//!
//! Invariant: output that is held back is requested again: by a timer, a key, or when the last
//! window of a terminal closes.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use nvim_oxi::mlua;

use crate::editor::kit::defer::Timer;
use crate::editor::kit::user;
use crate::editor::wake;
use acp_core::terminals::{Output, Pace, TYPING};

thread_local! {
    /// The start of the clock.
    static START: Instant = Instant::now();
    static PACE: Cell<Pace> = const { Cell::new(Pace { key: None, fed: None }) };
    /// The output budget of the last requested frame.
    static LAST: Cell<Output> = const { Cell::new(Output::Much) };
    /// Set while a window shows a terminal.
    static TIMER: RefCell<Option<Timer>> = const { RefCell::new(None) };
}

/// Returns the time since [`START`].
fn now() -> Duration {
    START.with(Instant::elapsed)
}

/// Returns the budget for terminals' output in a frame requested now.
pub fn output() -> Output {
    if TIMER.with_borrow(Option::is_none) {
        return Output::Much;
    }
    let now = now();
    let pace = PACE.get();
    let (output, due) = pace.at(now);
    LAST.set(output);
    if output != Output::Held {
        PACE.set(Pace {
            fed: Some(now),
            ..pace
        });
    }
    wait_for_more(output, due);
    output
}

/// Returns whether a frame may bring more output now than the last one did. If it may not yet, sets
/// the timer again: it may have fired while that frame was pending, and early, as libuv's clock can
/// be behind.
pub fn is_due() -> bool {
    let (output, due) = PACE.get().at(now());
    let is_due = match LAST.get() {
        Output::Much => return false,
        Output::Little => output == Output::Much,
        Output::Held => output != Output::Held,
    };
    if !is_due {
        wait_for_more(output, due);
    }
    is_due
}

/// Requests a frame for when it may bring more than this output, which may change at `due`.
fn wait_for_more(output: Output, due: Duration) {
    match (output, PACE.get().key) {
        (Output::Held, _) => wait(due),
        // The rest may be fed at that time.
        (Output::Little, Some(key)) => wait(key + TYPING),
        _ => {}
    }
}

/// Watches the keys while a window shows a terminal.
pub(super) fn watch(on: bool) -> mlua::Result<()> {
    if TIMER.with_borrow(Option::is_some) == on {
        return Ok(());
    }
    if on {
        TIMER.set(Some(Timer::new("terminal timer", wake::want_frame)?));
        return user::watch_keys("acp_terminal", |_| pressed());
    }
    if let Some(timer) = TIMER.take() {
        timer.close()?;
    }
    if LAST.replace(Output::Much) != Output::Much {
        wake::want_frame();
    }
    user::ignore_keys("acp_terminal")
}

/// Delays output after a key was pressed.
fn pressed() -> mlua::Result<()> {
    let now = now();
    let pace = Pace {
        // A user who types into a terminal waits for its output.
        key: (!user::is_in_terminal()?).then_some(now),
        ..PACE.get()
    };
    PACE.set(pace);
    if LAST.get() == Output::Held {
        wait(pace.at(now).1);
    }
    Ok(())
}

/// Requests a frame for when terminals may be fed again.
fn wait(due: Duration) {
    let Some(timer) = TIMER.with_borrow(Clone::clone) else {
        return;
    };
    if timer.set(due.saturating_sub(now())).is_err() {
        LAST.set(Output::Much);
        wake::want_frame();
    }
}
