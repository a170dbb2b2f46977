//! The main thread's own state, in cells of the main thread.
//!
//! Invariant: no borrow is held across a call into Neovim, because such a call may run
//! autocommands and callbacks that borrow it again.

use std::cell::{Cell, OnceCell, RefCell};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::chat::Chats;
use super::config::Config;
use super::documents::Attached;
use super::follow::Trails;
use super::panel::Panels;
use super::question::Window;
use super::review::Reviews;
use super::reviewlist::List;
use super::terminal::Terminals;
use super::wake::Outbox;
use acp_core::conversation::info::SessionInfo;
use acp_core::spine::ids::SessionKey;
use acp_core::spine::pending::Token;
use acp_core::spine::pending::reply::Edited;
use acp_core::view::snapshot::Snapshot;
use acp_edge::inbox::Inbox;

/// The snapshot the core published last.
pub type Published = Arc<Mutex<Arc<Snapshot>>>;

/// Returns without delay whether a program is writing to a file of this size.
pub type Probe = Box<dyn Fn(&Path, u64) -> bool>;

/// What the main thread owns.
pub struct Editor {
    pub inbox: Inbox,
    pub outbox: Arc<Outbox>,
    pub published: Published,
    pub config: RefCell<Config>,
    pub chats: RefCell<Chats>,
    pub attached: RefCell<Attached>,
    pub question: RefCell<Window>,
    pub reviews: RefCell<Reviews>,
    pub list: RefCell<List>,
    pub terminals: RefCell<Terminals>,
    pub trails: RefCell<Trails>,
    pub panels: RefCell<Panels>,
    /// The user is in another program.
    pub is_away: Cell<bool>,
    /// The edit that is being applied, with its buffer: `on_lines` attributes changes to it.
    pub applying: Cell<Option<(i32, Token<Edited>)>>,
    pub is_being_written: Probe,
    pub refresh_environment: fn(),
}

thread_local! {
    static EDITOR: OnceCell<Editor> = const { OnceCell::new() };
}

/// Puts the state in place, once.
pub fn install(editor: Editor) {
    EDITOR.with(|cell| {
        // A second start of the plugin finds the first one's state and keeps it.
        let _ = cell.set(editor);
    });
}

/// Runs `body` with the state, if the plugin has been started.
pub fn with<R>(body: impl FnOnce(&Editor) -> R) -> Option<R> {
    EDITOR.with(|cell| cell.get().map(body))
}

/// Returns the sender of events to the core.
pub fn inbox() -> Option<Inbox> {
    with(|editor| editor.inbox.clone())
}

/// Returns the snapshot the core published last.
pub fn snapshot() -> Arc<Snapshot> {
    with(|editor| {
        let published = editor.published.lock();
        Arc::clone(&published.unwrap_or_else(PoisonError::into_inner))
    })
    .unwrap_or_default()
}

/// Runs `body` with the last snapshot of a session; `None` if the core does not know it yet.
pub fn session<R>(key: SessionKey, body: impl FnOnce(&SessionInfo) -> R) -> Option<R> {
    let snapshot = snapshot();
    let mut all = snapshot.sessions.iter();
    all.find(|info| info.session == key).map(body)
}

/// Refreshes the environment from Neovim's, for agents that are about to be started.
pub fn refresh_environment() {
    if let Some(refresh) = with(|editor| editor.refresh_environment) {
        refresh();
    }
}

/// Sends an event to the core.
pub fn send(event: acp_core::event::Event) {
    with(|editor| editor.inbox.send(event));
}
