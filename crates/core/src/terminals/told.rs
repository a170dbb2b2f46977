//! Terminals that agents run themselves and report in the `_meta` of tool calls.
//!
//! Invariant: all reports of a terminal are kept in any order; the last known exit status wins.

use std::path::Path;
use std::sync::Arc;

use super::shown::Shown;
use super::tail::Tail;
use super::{CommandState, DEFAULT_LIMIT, Terminal, Terminals};
use crate::render::plain::Plain;
use crate::spine::event::TerminalExit;
use crate::spine::ids::{SessionKey, TerminalKey};
use acp::{News, TerminalNews};

impl Terminals {
    /// Applies a report of a terminal; `cwd` is the session's folder.
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
        // The host's events are authoritative for commands run here.
        if terminal.has_process {
            return;
        }
        match what {
            News::Info { cwd } => {
                if let Some(cwd) = cwd {
                    terminal.cwd = Arc::from(Path::new(&cwd));
                }
            }
            News::More(text) => {
                terminal.forget_stand_in();
                terminal.print(text.as_bytes());
            }
            News::MoreOrAll(text) => {
                terminal.forget_stand_in();
                let is_all = terminal.tail.is_begun_by(text.as_bytes());
                let known = if is_all { terminal.tail.end() } else { 0 };
                let known = usize::try_from(known).unwrap_or(usize::MAX);
                terminal.print(text.as_bytes().get(known..).unwrap_or_default());
            }
            News::Exit { code, signal } => {
                let exit = TerminalExit { code, signal };
                let is_known = exit != TerminalExit::default();
                if is_known || !terminal.state.is_over() {
                    terminal.state = CommandState::Exited(exit);
                    terminal.plain.finish();
                    self.has_news = true;
                    self.tidy();
                }
            }
        }
        self.mark(session, &id);
    }

    /// Ends a terminal without a process, because no further reports will arrive.
    pub(super) fn end_told(&mut self, key: TerminalKey) {
        let Some(terminal) = self.all.get_mut(&key) else {
            return;
        };
        if terminal.has_process || terminal.state.is_over() {
            return;
        }
        terminal.state = CommandState::Exited(TerminalExit::default());
        terminal.plain.finish();
        let (session, id) = (terminal.session, terminal.id.clone());
        self.has_news = true;
        self.mark(session, &id);
        self.tidy();
    }

    /// Ends a session's terminals without a process; returns their keys.
    pub(crate) fn end_all_told(&mut self, session: SessionKey) -> Vec<TerminalKey> {
        let told = self.all.iter();
        let told = told.filter(|(_, it)| it.session == session && !it.has_process);
        let told: Vec<TerminalKey> = told.map(|(key, _)| *key).collect();
        told.iter().for_each(|key| self.end_told(*key));
        told
    }

    /// Shows the output in a tool call's result, if the agent reported no output of the terminal.
    pub(super) fn stand_in(&mut self, key: TerminalKey, output: &str) {
        if let Some(terminal) = self.all.get_mut(&key)
            && !terminal.has_process
            && (terminal.tail.end() == 0 || terminal.is_stand_in)
        {
            terminal.forget_stand_in();
            terminal.is_stand_in = true;
            terminal.print(output.as_bytes());
        }
    }

    /// Sets the title from the tool call that shows the terminal.
    pub(super) fn is_called(&mut self, key: TerminalKey, title: &str, is_in_turn: bool) {
        if let Some(terminal) = self.all.get_mut(&key)
            && !terminal.has_process
        {
            terminal.is_of_turn |= is_in_turn;
            if !title.is_empty() {
                let title = super::lines::title(title).into();
                self.has_news |= terminal.title != title;
                terminal.title = title;
            }
        }
    }
}

impl Terminal {
    /// Discards the tool call's output when real output arrives.
    fn forget_stand_in(&mut self) {
        if std::mem::take(&mut self.is_stand_in) {
            self.plain = Plain::new(DEFAULT_LIMIT);
            self.tail = Tail::default();
            self.shown = self.shown.is_some().then(|| Shown::new(&self.tail));
        }
    }
}
