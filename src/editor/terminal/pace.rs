//! Feeds terminals between the keys of who types in another window, as [`Pace`] has it.
//!
//! Invariant: what is held back is asked for again: by a timer, a key, or the end of watching.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use nvim_oxi::mlua;

use crate::editor::kit::defer::Timer;
use crate::editor::kit::user;
use crate::editor::wake;
use acp_core::terminals::{Output, Pace, TYPING};

thread_local! {
    /// What times are counted from.
    static START: Instant = Instant::now();
    static PACE: Cell<Pace> = const { Cell::new(Pace { key: None, fed: None }) };
    /// How much the frame asked for last brings of what is printed.
    static LAST: Cell<Output> = const { Cell::new(Output::Much) };
    /// There while a window shows a terminal.
    static TIMER: RefCell<Option<Timer>> = const { RefCell::new(None) };
}

/// Returns what time it is.
fn now() -> Duration {
    START.with(Instant::elapsed)
}

/// Returns how much of what terminals print the frame may bring that is asked for now.
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
    match (output, pace.key) {
        (Output::Held, _) => wait(due),
        // Then there is time for what was left out.
        (Output::Little, Some(key)) => wait(key + TYPING),
        _ => {}
    }
    output
}

/// Tells whether more may come now than the last frame could bring: the timer that was to ask for
/// it may have come while that frame was on its way.
pub fn is_due() -> bool {
    let may = || PACE.get().at(now()).0;
    match LAST.get() {
        Output::Much => false,
        Output::Little => may() == Output::Much,
        Output::Held => may() != Output::Held,
    }
}

/// Notes when keys are pressed, while a window shows a terminal.
///
/// # Errors
/// What Neovim says of it.
pub(super) fn watch(on: bool) -> mlua::Result<()> {
    if TIMER.with_borrow(Option::is_some) == on {
        return Ok(());
    }
    if on {
        TIMER.set(Some(Timer::new("terminal timer", wake::want_frame)?));
        return user::watch_keys("acp_terminal", pressed);
    }
    if let Some(timer) = TIMER.take() {
        timer.close()?;
    }
    if LAST.replace(Output::Much) != Output::Much {
        wake::want_frame();
    }
    user::ignore_keys("acp_terminal")
}

/// A key was pressed: what is printed gets out of its way.
fn pressed() -> mlua::Result<()> {
    let now = now();
    let pace = Pace {
        // Who types into a terminal waits for what it prints.
        key: (!user::is_in_terminal()?).then_some(now),
        ..PACE.get()
    };
    PACE.set(pace);
    if LAST.get() == Output::Held {
        wait(pace.at(now).1);
    }
    Ok(())
}

/// Has a frame asked for when terminals may be fed again.
fn wait(due: Duration) {
    let Some(timer) = TIMER.with_borrow(Clone::clone) else {
        return;
    };
    if timer.set(due.saturating_sub(now())).is_err() {
        LAST.set(Output::Much);
        wake::want_frame();
    }
}
