//! The threads and the wires between them.
//!
//! Invariant: the core thread outlives every panic in it, and it is the only one that runs
//! effects; the snapshot is published before the announcements of the same event.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::editor::{Outbox, Published, Wiring};
use acp_core::event::{Event, SessionEvent, ViewEvent};
use acp_core::model::Model;
use acp_core::spine::cx::Effects;
use acp_core::spine::effect::{EditorEffect, Effect, Level};
use acp_core::spine::view::Frame;
use acp_core::update::{is_streamed, update};
use acp_core::view::snapshot::{Publishing, Snapshot};
use acp_edge::inbox::{Inbox, Outlet, inbox};
use acp_edge::panics::{self, lock};
use acp_edge::slow;
use acp_host::{Environment, Host, HostConfig};

/// The time pending writes, and then agents, have to end when Neovim quits.
const QUIT: Duration = Duration::from_millis(1500);

/// How many events may come between two slices of a frame.
const EVENTS_BETWEEN_SLICES: u32 = 64;

/// How many more events that stream in are settled with one.
const BATCH: usize = 64;

/// The handles that end the threads.
struct Running {
    inbox: Inbox,
    ended: Receiver<()>,
}

/// The user's environment, read on the main thread alone: Neovim changes it there.
static ENVIRONMENT: Mutex<Option<Environment>> = Mutex::new(None);
static RUNNING: Mutex<Option<Running>> = Mutex::new(None);

/// Starts the host and the core thread.
///
/// # Errors
/// A sentence, when the system gives no threads.
pub fn start(
    log_path: PathBuf,
    state_path: PathBuf,
    tools_socket: PathBuf,
    log_level: Level,
) -> Result<Wiring, String> {
    quiet_panics();
    let (inbox, outlet) = inbox();
    let config = HostConfig::new(log_path, state_path, tools_socket, log_level);
    *lock(&ENVIRONMENT) = Some(config.environment.clone());
    let host = Host::start(inbox.clone(), config)
        .map_err(|error| format!("acp.nvim could not start its threads: {error}"))?;
    let outbox = Arc::new(Outbox::default());
    let published = Published::default();
    let (ended, is_ended) = channel();
    let is_being_written = Box::new(host.is_being_written());
    let note_saving = Box::new(host.note_saving());
    let set_log_level = Box::new(host.set_log_level());
    let core = Core {
        outlet,
        host,
        outbox: Arc::clone(&outbox),
        published: Arc::clone(&published),
    };
    std::thread::Builder::new()
        .name("acp-core".into())
        .spawn(move || core.run(&ended))
        .map_err(|error| format!("acp.nvim could not start its threads: {error}"))?;
    let running = Running {
        inbox: inbox.clone(),
        ended: is_ended,
    };
    *lock(&RUNNING) = Some(running);
    Ok(Wiring {
        inbox,
        outbox,
        published,
        is_being_written,
        note_saving,
        set_log_level,
        refresh_environment,
        shut_down,
    })
}

/// Reads the environment again, for agents started from now on.
fn refresh_environment() {
    let environment = lock(&ENVIRONMENT);
    if let Some(environment) = environment.as_ref() {
        environment.refresh();
    }
}

/// Ends the agents, and waits a bounded time for pending writes.
fn shut_down() {
    let running = lock(&RUNNING).take();
    if let Some(running) = running {
        running.inbox.send(Event::Quit);
        // A core that does not answer in time must not keep Neovim from quitting.
        let _ = running
            .ended
            .recv_timeout(QUIT + Duration::from_millis(500));
    }
}

/// Keeps panics from printing over Neovim's screen; the code that catches one reports it.
fn quiet_panics() {
    std::panic::set_hook(Box::new(|_| {}));
}

struct Core {
    outlet: Outlet,
    host: Host,
    outbox: Arc<Outbox>,
    published: Published,
}

impl Core {
    fn run(self, ended: &Sender<()>) {
        let mut model = Model::default();
        let mut effects = Effects::default();
        let (mut between, mut is_working) = (0, false);
        let (mut publishing, mut held) = (Publishing::default(), Vec::new());
        while let Some(event) = self.next(&model, &mut between) {
            if matches!(event, Event::Quit) {
                is_working = model.is_working();
                self.farewell(&mut model);
                break;
            }
            // Nothing is drawn anew, and the editor looks after the session's files no longer.
            let is_end = matches!(event, Event::Session(SessionEvent::Close { .. }));
            slow::pause("core");
            let mut left = BATCH;
            let more = || {
                left = left.checked_sub(1)?;
                self.outlet.try_recv_if(is_streamed)
            };
            guarded(&mut model, event, &mut effects, more);
            publishing.event();
            for effect in effects.drain() {
                match effect {
                    Effect::Host(effect) => self.host.run(effect),
                    Effect::Editor(effect) => held.push(effect),
                }
            }
            let is_seen = is_end || held.iter().any(is_seen);
            if is_seen && !is_end && !publishing.is_due() && !self.outlet.is_empty() {
                continue;
            }
            if is_seen {
                slow::pause("publish");
                let snapshot = model.snapshot();
                publishing.published(&snapshot);
                self.publish(snapshot);
                slow::pause("announce");
            }
            held.drain(..).for_each(|effect| self.outbox.push(effect));
        }
        // The receiver gives up after its time limit.
        if is_working {
            // What agents change until their end is under review in the next Neovim.
            self.host.shutdown(QUIT);
            let _ = ended.send(());
        } else {
            self.host.finish_writes(QUIT);
            // Neovim does not wait for idle agents: if it is faster, the watchdog ends them.
            let _ = ended.send(());
            self.host.shutdown(QUIT);
        }
    }

    /// Writes the sessions' remaining entries to their history.
    fn farewell(&self, model: &mut Model) {
        let mut effects = Effects::default();
        let work = AssertUnwindSafe(|| model.farewell(&mut effects));
        // Neovim quits: the report could not be shown.
        let _ = catch_unwind(work);
        for effect in effects.drain() {
            if let Effect::Host(effect) = effect {
                self.host.run(effect);
            }
        }
    }

    /// Returns the next event; while a frame is being composed, its next slice comes when nothing
    /// else waits, or when enough else had its turn.
    fn next(&self, model: &Model, between: &mut u32) -> Option<Event> {
        if !model.view.is_composing() {
            *between = 0;
            return self.outlet.recv();
        }
        *between += 1;
        if *between <= EVENTS_BETWEEN_SLICES
            && let Some(event) = self.outlet.try_recv()
        {
            return Some(event);
        }
        *between = 0;
        Some(Event::View(ViewEvent::FrameSlice))
    }

    fn publish(&self, snapshot: Snapshot) {
        *lock(&self.published) = Arc::new(snapshot);
    }
}

/// Returns whether what an effect leads to may ask for the snapshot.
fn is_seen(effect: &EditorEffect) -> bool {
    matches!(
        effect,
        EditorEffect::Emit(_) | EditorEffect::Frame(_) | EditorEffect::Candidates { .. }
    )
}

/// Runs `update`; a panic costs the event, and the user hears of it.
fn guarded(
    model: &mut Model,
    event: Event,
    effects: &mut Effects,
    more: impl FnMut() -> Option<Event>,
) {
    let is_prompt = matches!(event, Event::Session(SessionEvent::Prompt { .. }));
    let is_frame = matches!(
        event,
        Event::View(ViewEvent::FrameWanted { .. }) | Event::View(ViewEvent::FrameSlice)
    );
    let work = AssertUnwindSafe(|| {
        if is_prompt {
            panics::inject("core");
        }
        update(model, event, effects, more);
    });
    let Err(panic) = catch_unwind(work) else {
        return;
    };
    let message = panics::message(&*panic);
    if is_frame {
        // The editor waits for the frame it asked for.
        effects.push(EditorEffect::Frame(Frame::default()));
    }
    let report = AssertUnwindSafe(|| {
        let place = "the core";
        update(model, Event::Panicked { place, message }, effects, || None);
    });
    // A panic in the report itself cannot be reported.
    let _ = catch_unwind(report);
}
