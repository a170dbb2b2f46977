//! Terminals that agents only show: commands they run themselves, told in the `_meta` of tool calls.
//!
//! Invariant: whatever is told of a terminal, in whatever order, is kept; the last word on how it has
//! ended counts.

use std::path::Path;
use std::sync::Arc;

use super::{DEFAULT_LIMIT, State, Terminal, Terminals};
use crate::acp::{News, TerminalNews};
use crate::core::event::TerminalExit;
use crate::core::ids::{SessionKey, TerminalKey};

impl Terminals {
    /// Takes in what is told of a terminal; `cwd` is the session's folder.
    pub(super) fn told(&mut self, session: SessionKey, news: TerminalNews, cwd: &Path) {
        let TerminalNews { terminal: id, what } = news;
        let key = match self.find(session, &id) {
            Some(key) => key,
            None => {
                let terminal = Terminal::new(session, id.clone(), DEFAULT_LIMIT, cwd);
                self.insert(terminal)
            }
        };
        let Some(terminal) = self.all.get_mut(&key) else {
            return;
        };
        // What runs here is known at first hand.
        if terminal.has_process {
            return;
        }
        match what {
            News::Info { cwd } => {
                if let Some(cwd) = cwd {
                    terminal.cwd = Arc::from(Path::new(&cwd));
                }
            }
            News::More(text) => terminal.print(text.as_bytes()),
            News::MoreOrAll(text) => {
                let is_all = terminal.tail.is_begun_by(text.as_bytes());
                let known = if is_all { terminal.tail.end() } else { 0 };
                let known = usize::try_from(known).unwrap_or(usize::MAX);
                terminal.print(text.as_bytes().get(known..).unwrap_or_default());
            }
            News::Exit { code, signal } => {
                let exit = TerminalExit { code, signal };
                let is_known = exit != TerminalExit::default();
                if is_known || !terminal.state.is_over() {
                    terminal.state = State::Exited(exit);
                    terminal.plain.finish();
                    self.tidy();
                }
            }
        }
        self.mark(session, &id);
    }

    /// Ends one that is only shown, when nobody will tell more of it.
    pub(super) fn end_told(&mut self, key: TerminalKey) {
        let Some(terminal) = self.all.get_mut(&key) else {
            return;
        };
        if terminal.has_process || terminal.state.is_over() {
            return;
        }
        terminal.state = State::Exited(TerminalExit::default());
        terminal.plain.finish();
        let (session, id) = (terminal.session, terminal.id.clone());
        self.mark(session, &id);
        self.tidy();
    }

    /// Takes the words that a tool call has for a terminal it shows.
    pub(super) fn is_called(&mut self, key: TerminalKey, title: &str, is_in_turn: bool) {
        if let Some(terminal) = self.all.get_mut(&key)
            && !terminal.has_process
        {
            terminal.is_of_turn |= is_in_turn;
            if !title.is_empty() {
                terminal.title = super::lines::title(title).into();
            }
        }
    }
}
