//! Commands that run on pseudo-terminals.
//!
//! [`Terminals`] holds them by key; [`life`] manages one terminal, with the tasks of [`serve`].

mod jobs;
mod life;
mod output;
mod pty;
mod serve;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use self::jobs::SessionTables;
pub(super) use self::life::Terminal;
#[cfg(test)]
pub(super) use self::serve::spawn_guarded;
use super::Kit;
use acp_core::spine::event::TerminalSpec;
use acp_core::spine::ids::TerminalKey;
use acp_edge::panics::lock;

/// The terminals whose command is starting, running or ending, or has left processes behind.
#[derive(Debug, Clone, Default)]
pub(super) struct Terminals {
    there: Arc<Mutex<HashMap<TerminalKey, Arc<Terminal>>>>,
    sessions: SessionTables,
}

impl Terminals {
    /// Starts a command.
    pub(super) fn start(&self, key: TerminalKey, spec: TerminalSpec, kit: &Kit) {
        let mut there = lock(&self.there);
        let terminal = Terminal::start(key, spec, self, kit);
        if let Some(old) = there.insert(key, terminal) {
            // Keys are unique; if one were reused, the old process must not be orphaned.
            old.end();
        }
    }

    /// Sends input to a terminal; dropped if its command has ended.
    pub(super) fn input(&self, key: TerminalKey, bytes: Vec<u8>) {
        if let Some(terminal) = self.get(key) {
            terminal.input(bytes);
        }
    }

    pub(super) fn resize(&self, key: TerminalKey, columns: u16, rows: u16) {
        if let Some(terminal) = self.get(key) {
            terminal.resize(columns, rows);
        }
    }

    /// Ends a terminal's command. If it has ended already, its surviving processes are left alone.
    pub(super) fn kill(&self, key: TerminalKey) {
        if let Some(terminal) = self.get(key)
            && !terminal.has_ended()
        {
            terminal.end();
        }
    }

    pub(super) fn all(&self) -> Vec<Arc<Terminal>> {
        lock(&self.there).values().cloned().collect()
    }

    pub(super) fn get(&self, key: TerminalKey) -> Option<Arc<Terminal>> {
        lock(&self.there).get(&key).cloned()
    }

    fn forget(&self, terminal: &Arc<Terminal>) {
        let mut there = lock(&self.there);
        let current = there.get(&terminal.key());
        if current.is_some_and(|current| Arc::ptr_eq(current, terminal)) {
            there.remove(&terminal.key());
        }
    }
}
