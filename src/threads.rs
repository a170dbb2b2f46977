//! The threads and the wires between them.
//!
//! Invariant: the core thread outlives every panic in it, and it is the only one that runs
//! effects; what it publishes is at least as new as what it announces.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::editor::{Outbox, Published, Wiring};
use acp_core::event::{Event, SessionEvent, ViewEvent};
use acp_core::model::Model;
use acp_core::spine::cx::Effects;
use acp_core::spine::effect::{EditorEffect, Effect, Level};
use acp_core::spine::view::Frame;
use acp_core::update::update;
use acp_edge::inbox::{Inbox, Outlet, inbox};
use acp_edge::panics;
use acp_host::{Environment, Host, HostConfig};

/// How long agents may take to end when Neovim quits; then they are killed.
const QUIT: Duration = Duration::from_millis(1500);

/// How many events may come between two slices of a frame.
const EVENTS_BETWEEN_SLICES: u32 = 64;

/// What is needed to end the threads.
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
    *ENVIRONMENT.lock().unwrap_or_else(PoisonError::into_inner) = Some(config.environment.clone());
    let host = Host::start(inbox.clone(), config)
        .map_err(|error| format!("acp.nvim could not start its threads: {error}"))?;
    let outbox = Arc::new(Outbox::default());
    let published = Published::default();
    let (ended, is_ended) = channel();
    let is_being_written = Box::new(host.is_being_written());
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
    *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = Some(running);
    Ok(Wiring {
        inbox,
        outbox,
        published,
        is_being_written,
        refresh_environment,
        shut_down,
    })
}

/// Reads the environment again, so that an agent gets what it is now.
fn refresh_environment() {
    let environment = ENVIRONMENT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(environment) = environment.as_ref() {
        environment.refresh();
    }
}

/// Ends the agents, waits for what is being written to disk, and for a bounded time only.
fn shut_down() {
    let running = RUNNING
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    if let Some(running) = running {
        running.inbox.send(Event::Quit);
        // A core that does not answer in time must not keep Neovim from quitting.
        let _ = running
            .ended
            .recv_timeout(QUIT + Duration::from_millis(500));
    }
}

/// Keeps what panics print off Neovim's screen; whoever catches one reports it.
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
        let mut between = 0;
        while let Some(event) = self.next(&model, &mut between) {
            if matches!(event, Event::Quit) {
                self.farewell(&mut model);
                break;
            }
            // Nothing is drawn anew, and the editor looks after the session's files no longer.
            let is_end = matches!(event, Event::Session(SessionEvent::Close { .. }));
            guarded(&mut model, event, &mut effects);
            if is_end || effects.iter().any(is_seen) {
                self.publish(&model);
            }
            for effect in effects.drain() {
                match effect {
                    Effect::Host(effect) => self.host.run(effect),
                    Effect::Editor(effect) => self.outbox.push(effect),
                }
            }
        }
        self.host.shutdown(QUIT);
        // Nobody may be waiting any more.
        let _ = ended.send(());
    }

    /// Has what is not written down yet of the sessions written down.
    fn farewell(&self, model: &mut Model) {
        let mut effects = Effects::default();
        let work = AssertUnwindSafe(|| model.farewell(&mut effects));
        // Neovim quits: nobody is left to tell.
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

    fn publish(&self, model: &Model) {
        let snapshot = Arc::new(model.snapshot());
        *self
            .published
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = snapshot;
    }
}

/// Returns whether what an effect leads to may ask for the snapshot.
fn is_seen(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::Editor(
            EditorEffect::Emit(_) | EditorEffect::Frame(_) | EditorEffect::Candidates { .. }
        )
    )
}

/// Runs `update`; a panic costs the event, and the user hears of it.
fn guarded(model: &mut Model, event: Event, effects: &mut Effects) {
    let is_prompt = matches!(event, Event::Session(SessionEvent::Prompt { .. }));
    let is_frame = matches!(
        event,
        Event::View(ViewEvent::FrameWanted { .. }) | Event::View(ViewEvent::FrameSlice)
    );
    let work = AssertUnwindSafe(|| {
        if is_prompt {
            panics::inject("core");
        }
        update(model, event, effects);
    });
    let Err(panic) = catch_unwind(work) else {
        return;
    };
    let message = panics::message(&*panic);
    if is_frame {
        // The editor waits for the frame it asked for.
        effects.push(Effect::Editor(EditorEffect::Frame(Frame::default())));
    }
    let report = AssertUnwindSafe(|| {
        let place = "the core";
        update(model, Event::Panicked { place, message }, effects);
    });
    // If even that panics there is nobody left to tell.
    let _ = catch_unwind(report);
}
