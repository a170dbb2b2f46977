//! Everything in Neovim: the only room that names nvim_oxi.
//!
//! Invariants: nothing here waits, parses or diffs; every entry from Neovim is guarded against
//! panics.

mod api;
mod apply;
mod ask;
mod chat;
mod chats;
mod complete;
mod config;
mod decor;
mod documents;
mod edit;
mod folds;
mod follow;
mod guard;
mod heard;
mod hunk;
mod input;
mod inputmarks;
mod keymaps;
mod keys;
mod kit;
mod layout;
mod lines;
mod links;
mod loading;
mod mentions;
mod moved;
mod notices;
mod notify;
mod nvim;
mod outside;
mod panel;
mod past;
mod pen;
mod question;
mod queue;
mod recall;
mod review;
mod reviewkeys;
mod reviewlist;
mod saving;
mod spans;
mod state;
mod status;
mod swap;
mod terminal;
mod tools;
mod trace;
mod tui;
mod wake;
mod walk;
mod whole;
mod winbar;
mod written;

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;

use nvim_oxi::mlua::{self, Table};

use acp_core::event::{ConversationEvent, Event};
use acp_core::spine::effect::Level;
use acp_edge::inbox::Inbox;
use kit::autocmd::{self, Scope};
use kit::user;
pub use state::{NoteSaving, Probe, Published, SetLogLevel};
pub use wake::Outbox;

/// The editor's connections to the rest of the library.
pub struct Wiring {
    pub inbox: Inbox,
    pub outbox: Arc<Outbox>,
    pub published: Published,
    pub is_being_written: Probe,
    pub note_saving: NoteSaving,
    pub set_log_level: SetLogLevel,
    /// Copies the current environment before an agent is started.
    pub refresh_environment: fn(),
    /// Ends the agents and waits for them, for a bounded time.
    pub shut_down: fn(),
}

/// Starts the threads and returns the connections to them. Takes the log file, the folder for kept
/// state, the tools' socket and the log level.
pub type Start = fn(PathBuf, PathBuf, PathBuf, Level) -> Result<Wiring, String>;

thread_local! {
    static START: Cell<Option<Start>> = const { Cell::new(None) };
    static SHUT_DOWN: Cell<Option<fn()>> = const { Cell::new(None) };
}

/// Returns the native module; `start` runs at the first setup.
///
/// # Errors
/// Only when out of memory.
pub fn module(start: Start) -> mlua::Result<Table> {
    START.set(Some(start));
    api::module()
}

/// Applies a configuration, and starts the threads the first time; returns its mistakes.
fn setup(table: &Table) -> mlua::Result<Vec<String>> {
    let config = config::Config::read(table);
    let configure = Event::Configure {
        limits: config.limits(),
        preview: config.preview,
        accept_allowed: config.accept_allowed,
        feedback: config.feedback,
        rules: config.rules.clone(),
        follow: config.follow,
    };
    let place_plans = Event::Conversation(ConversationEvent::PlacePlans(config.plan));
    let keep = Event::Conversation(ConversationEvent::KeepSessions(config.history));
    let events = [configure, place_plans, keep];
    let problems = config.problems.clone();
    let log_level = config.log_level;
    config::set(config);
    if state::is_started() {
        state::set_log_level(log_level);
        events.into_iter().for_each(state::send);
        return Ok(problems);
    }
    let Some(start) = START.get() else {
        return Ok(problems);
    };
    let log = PathBuf::from(log_path());
    if let Some(folder) = log.parent() {
        // Neovim also creates this folder, for its swap files, and fails if another thread creates
        // it first; so it is created here, on the main thread. On failure, nothing is logged.
        let _ = std::fs::create_dir_all(folder);
    }
    let socket = tools::door::tools_socket_path();
    let wiring =
        start(log, state_path(), socket.clone(), log_level).map_err(mlua::Error::runtime)?;
    SHUT_DOWN.set(Some(wiring.shut_down));
    state::install(state::Connection {
        inbox: wiring.inbox,
        published: wiring.published,
        is_being_written: wiring.is_being_written,
        note_saving: wiring.note_saving,
        set_log_level: wiring.set_log_level,
        refresh_environment: wiring.refresh_environment,
    });
    tools::door::open(socket);
    events.into_iter().for_each(state::send);
    wake::start(wiring.outbox)?;
    user::start()?;
    decor::start()?;
    documents::start()?;
    outside::start()?;
    written::start()?;
    notices::start()?;
    review::start()?;
    layout::start()?;
    walk::start()?;
    autocmd::on("VimLeavePre", &["VimLeavePre"], Scope::All, |_| {
        input::keep_drafts();
        if let Some(shut_down) = SHUT_DOWN.take() {
            shut_down();
        }
        trace::write();
        Ok(())
    })?;
    Ok(problems)
}

/// Returns the path of the log file.
fn log_path() -> String {
    let folder: String = nvim::vim_fn("stdpath", "log").unwrap_or_else(|_| ".".into());
    format!("{folder}/acp.log")
}

/// Returns the folder for state that outlives this Neovim.
fn state_path() -> PathBuf {
    let folder: String = nvim::vim_fn("stdpath", "state").unwrap_or_else(|_| ".".into());
    PathBuf::from(folder).join("acp.nvim")
}
