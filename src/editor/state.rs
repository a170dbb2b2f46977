//! The main thread's connection to the core: events go out, the published snapshot is read.
//!
//! The state of each part of the editor is in a thread-local cell of its module.
//!
//! Invariant: no borrow of such a cell is held across a call into Neovim, because such a call may
//! run autocommands and callbacks that borrow it again.

use std::cell::OnceCell;
use std::path::Path;
use std::sync::{Arc, Mutex};

use acp_core::conversation::info::SessionInfo;
use acp_core::spine::effect::Level;
use acp_core::spine::event::SaveStep;
use acp_core::spine::ids::SessionKey;
use acp_core::view::snapshot::Snapshot;
use acp_edge::inbox::Inbox;
use acp_edge::panics::lock;

/// The snapshot the core published last.
pub type Published = Arc<Mutex<Arc<Snapshot>>>;

/// Returns whether a program is writing to a file of this size; waits a moment for it to end.
pub type Probe = Box<dyn Fn(&Path, u64) -> bool>;

/// Notes a step of a write of Neovim's to a file.
pub type NoteSaving = Box<dyn Fn(&Path, SaveStep)>;

/// Sets the lowest level of the log's entries.
pub type SetLogLevel = Box<dyn Fn(Level)>;

/// The connection.
pub struct Connection {
    pub inbox: Inbox,
    pub published: Published,
    pub is_being_written: Probe,
    pub note_saving: NoteSaving,
    pub set_log_level: SetLogLevel,
    pub refresh_environment: fn(),
}

thread_local! {
    static CONNECTION: OnceCell<Connection> = const { OnceCell::new() };
}

/// Puts the connection in place, once.
pub fn install(connection: Connection) {
    CONNECTION.with(|cell| {
        // A second start of the plugin finds the first one's connection and keeps it.
        let _ = cell.set(connection);
    });
}

/// Runs `body` with the connection, if the plugin has been started.
fn with<R>(body: impl FnOnce(&Connection) -> R) -> Option<R> {
    CONNECTION.with(|cell| cell.get().map(body))
}

/// Returns the sender of events to the core.
pub fn inbox() -> Option<Inbox> {
    with(|it| it.inbox.clone())
}

/// Returns the snapshot the core published last.
pub fn snapshot() -> Arc<Snapshot> {
    with(|it| Arc::clone(&lock(&it.published))).unwrap_or_default()
}

/// Runs `body` with the last snapshot of a session; `None` if the core does not know it yet.
pub fn session<R>(key: SessionKey, body: impl FnOnce(&SessionInfo) -> R) -> Option<R> {
    let snapshot = snapshot();
    let mut all = snapshot.sessions.iter();
    all.find(|info| info.session == key).map(body)
}

/// Refreshes the environment from Neovim's, for agents that are about to be started.
pub fn refresh_environment() {
    if let Some(refresh) = with(|it| it.refresh_environment) {
        refresh();
    }
}

/// Sends an event to the core.
pub fn send(event: acp_core::event::Event) {
    with(|it| it.inbox.send(event));
}

/// Returns whether a program has a file of this size open and writes to it; waits a moment for it to
/// close the file.
pub fn is_being_written(path: &Path, bytes: u64) -> bool {
    with(|it| (it.is_being_written)(path, bytes)).unwrap_or(false)
}

/// Notes a step of a write of Neovim's to a file.
pub fn note_saving(path: &Path, step: SaveStep) {
    with(|it| (it.note_saving)(path, step));
}

/// Sets the lowest level of the log's entries.
pub fn set_log_level(level: Level) {
    with(|it| (it.set_log_level)(level));
}

/// Returns whether the plugin has been started.
pub fn is_started() -> bool {
    with(|_| ()).is_some()
}
