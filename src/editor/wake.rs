//! Passes effects from the core to the main thread: the outbox, the wake-up, and the pace of
//! frames.
//!
//! Invariants: the callback of an `AsyncHandle` only schedules; the outbox is drained in order, in
//! slices of [`SLICE`] or one frame; at most one frame is requested at a time, and one per
//! [`FRAME_MS`] unless the last one had no room for all text: then the core composes the next one
//! while that one is applied.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use nvim_oxi::libuv::AsyncHandle;
use nvim_oxi::mlua::{self, Function};

use super::edit;
use super::kit::defer::{self, Timer};
use super::terminal::pace;
use super::{guard, nvim, state};
use acp_core::event::{Event, ViewEvent};
use acp_core::spine::effect::EditorEffect;
use acp_core::spine::view::{Frame, FrameSize};
use acp_edge::panics::lock;

/// The shortest time between two frames, in milliseconds.
pub const FRAME_MS: u64 = 16;

/// Maximum time to carry out effects without a pause: thousands of files may change at once.
const SLICE: Duration = Duration::from_millis(4);

/// Pending effects for the main thread.
#[derive(Default)]
pub struct Outbox {
    queue: Mutex<VecDeque<EditorEffect>>,
    handle: OnceLock<AsyncHandle>,
}

impl Outbox {
    /// Queues an effect for the main thread. Never blocks; besides edits, messages and
    /// announcements about files, the queue holds at most one frame and one wake-up.
    pub fn push(&self, effect: EditorEffect) {
        lock(&self.queue).push_back(effect);
        self.wake();
    }

    /// Wakes Neovim's loop to drain the queue.
    fn wake(&self) {
        if let Some(handle) = self.handle.get() {
            // Fails only when Neovim's loop is closed; then no wake-up is needed.
            let _ = handle.send();
        }
    }

    /// Wakes Neovim's loop again if the queue is not empty.
    fn wake_if_more(&self) {
        if !lock(&self.queue).is_empty() {
            self.wake();
        }
    }

    fn pop(&self) -> Option<EditorEffect> {
        lock(&self.queue).pop_front()
    }

    /// Removes the wake-up if it is the only pending effect; returns whether it was.
    fn take_lone_wake(&self) -> bool {
        let mut queue = lock(&self.queue);
        let lone = queue.len() == 1 && matches!(queue.front(), Some(EditorEffect::Wake));
        if lone {
            queue.clear();
        }
        lone
    }
}

thread_local! {
    static OUTBOX: OnceCell<Arc<Outbox>> = const { OnceCell::new() };
    static SCHEDULED: Cell<bool> = const { Cell::new(false) };
    /// The time of the last frame, if the next one has to wait.
    static LAST_FRAME: Cell<Option<Instant>> = const { Cell::new(None) };
    /// The text that a frame may contain.
    static SIZE: Cell<FrameSize> = Cell::default();
    static ASKED: Cell<bool> = const { Cell::new(false) };
    static TOOLS: RefCell<Option<Tools>> = const { RefCell::new(None) };
}

/// Lua functions that a wake-up needs, looked up once.
#[derive(Clone)]
struct Tools {
    schedule: Function,
    drain: Function,
    timer: Timer,
}

fn outbox() -> Option<Arc<Outbox>> {
    OUTBOX.with(|cell| cell.get().cloned())
}

/// Connects the outbox with Neovim's loop.
///
/// # Errors
/// The error of Neovim or libuv.
pub fn start(outbox: Arc<Outbox>) -> mlua::Result<()> {
    let tools = Tools {
        schedule: nvim::vim()?.get("schedule")?,
        drain: guard::callback("drain", |()| {
            SCHEDULED.set(false);
            drain();
            Ok(())
        })?,
        timer: Timer::new("frame timer", ask)?,
    };
    TOOLS.set(Some(tools));
    let handle = AsyncHandle::new(|| {
        guard::run("wake", || {
            woken();
            Ok(())
        });
        Ok::<(), std::io::Error>(())
    })
    .map_err(mlua::Error::external)?;
    // A second start of the plugin keeps the first one's handle.
    let _ = outbox.handle.set(handle);
    let _ = OUTBOX.with(|cell| cell.set(outbox));
    Ok(())
}

/// Runs inside libuv, where no API may be called; only schedules.
fn woken() {
    if outbox().is_some_and(|outbox| outbox.take_lone_wake()) {
        want_frame();
    } else {
        schedule_drain();
    }
}

fn schedule_drain() {
    if SCHEDULED.replace(true) {
        return;
    }
    let tools = TOOLS.with_borrow(Clone::clone);
    if let Some(tools) = tools
        && tools.schedule.call::<()>(tools.drain).is_err()
    {
        SCHEDULED.set(false);
    }
}

/// Requests a frame, at the earliest [`FRAME_MS`] after the last one.
pub(super) fn want_frame() {
    if ASKED.get() {
        return;
    }
    let frame = Duration::from_millis(FRAME_MS);
    let wait = LAST_FRAME
        .get()
        .and_then(|last| frame.checked_sub(last.elapsed()));
    match wait {
        None => ask(),
        Some(wait) => {
            ASKED.set(true);
            let tools = TOOLS.with_borrow(Clone::clone);
            let started = tools.map(|tools| tools.timer.set(wait));
            if !matches!(started, Some(Ok(()))) {
                ask();
            }
        }
    }
}

fn ask() {
    ASKED.set(true);
    let output = pace::output();
    let size = SIZE.get();
    state::send(Event::View(ViewEvent::FrameWanted { output, size }));
}

/// Carries out the effects in the outbox; after a slice, keys and the screen are handled before the
/// rest.
fn drain() {
    acp_edge::panics::inject("callback");
    acp_edge::slow::pause("callback");
    super::heard::forget();
    let Some(outbox) = outbox() else {
        return;
    };
    let start = Instant::now();
    while let Some(effect) = outbox.pop() {
        let is_frame = matches!(effect, EditorEffect::Frame(_));
        match effect {
            EditorEffect::Wake => want_frame(),
            EditorEffect::Frame(frame) => guard::run("frame", || show(frame, false)),
            other => guard::run("effect", || super::apply::effect(other)),
        }
        if is_frame || start.elapsed() > SLICE {
            // A callback scheduled here would run before the keys.
            outbox.wake_if_more();
            return;
        }
    }
}

/// Applies a frame; tries again later if Neovim has locked the text. No other frame is requested
/// until then, so a late one is followed by another.
fn show(frame: Frame, is_late: bool) -> mlua::Result<()> {
    if edit::is_locked() {
        return defer::after("frame", edit::LOCKED, || show(frame, true));
    }
    ASKED.set(false);
    let (bytes, is_behind) = (frame.bytes(), frame.is_behind);
    if is_behind {
        ask();
    }
    let begun = Instant::now();
    super::apply::frame(frame);
    let ended = Instant::now();
    SIZE.set(SIZE.get().after(bytes, ended.duration_since(begun)));
    LAST_FRAME.set(Some(ended));
    if is_late || pace::is_due() {
        want_frame();
    }
    Ok(())
}
