//! What happens to terminals: their commands start, print and end, by themselves, by the user's will,
//! or with their turn, their session and their agent.
//!
//! Invariant: what is to end is ended also when it has not begun yet.

use super::{State, Terminal};
use crate::model::Model;
use crate::spine::cx::Effects;
use crate::spine::effect::{Effect, HostEffect};
use crate::spine::event::Event;
use crate::spine::ids::{SessionKey, TerminalKey};

impl Model {
    /// Something happened in a terminal.
    pub(crate) fn terminal_event(&mut self, event: Event, fx: &mut Effects) {
        self.terminals.has_news |= matches!(
            event,
            Event::TerminalStarted { .. }
                | Event::TerminalFailed { .. }
                | Event::TerminalExited { .. }
        );
        match event {
            Event::TerminalStarted { terminal, .. } => self.terminal_started(terminal, fx),
            Event::TerminalFailed { terminal, why } => self.terminal_failed(terminal, why, fx),
            Event::TerminalOutput { terminal, bytes } => {
                if let Some(found) = self.terminals.all.get_mut(&terminal) {
                    found.print(&bytes);
                    let (session, id) = (found.session, found.id.clone());
                    self.terminals.mark(session, &id);
                }
            }
            Event::TerminalExited { terminal, exit } => self.terminal_exited(terminal, exit, fx),
            Event::TerminalShown { terminal, is_shown } => {
                self.terminals.set_shown(terminal, is_shown);
            }
            Event::TerminalInput { terminal, bytes } if self.terminal_runs(terminal) => {
                fx.push(Effect::Host(HostEffect::TerminalInput { terminal, bytes }));
            }
            Event::TerminalResized {
                terminal,
                columns,
                rows,
            } if self.terminal_runs(terminal) => {
                fx.push(Effect::Host(HostEffect::ResizeTerminal {
                    terminal,
                    columns,
                    rows,
                }));
            }
            Event::TerminalKill { terminal } => self.kill_terminal(terminal, fx),
            _ => {}
        }
    }

    fn terminal_runs(&self, key: TerminalKey) -> bool {
        self.terminals.all.get(&key).is_some_and(Terminal::runs)
    }

    /// Ends what runs in a terminal; one that is being started ends as soon as it has begun.
    pub(super) fn kill_terminal(&mut self, key: TerminalKey, fx: &mut Effects) {
        if let Some(terminal) = self.terminals.all.get_mut(&key)
            && terminal.runs()
        {
            terminal.is_doomed |= terminal.state == State::Starting;
            fx.push(Effect::Host(HostEffect::KillTerminal { terminal: key }));
        }
    }

    /// Ends what a cancelled turn has started and left running.
    pub(crate) fn kill_turns_terminals(&mut self, session: SessionKey, fx: &mut Effects) {
        for key in self.terminals.of(session) {
            let terminal = self.terminals.all.get(&key);
            if terminal.is_some_and(|terminal| terminal.is_of_turn) {
                self.kill_terminal(key, fx);
                self.terminals.end_told(key);
            }
        }
    }

    /// Ends a turn: what it started and nobody has ended goes on, unless it was cancelled.
    pub(crate) fn end_turns_terminals(
        &mut self,
        session: SessionKey,
        is_cancelled: bool,
        fx: &mut Effects,
    ) {
        if is_cancelled {
            self.kill_turns_terminals(session, fx);
        }
        for terminal in self.terminals.all.values_mut() {
            if terminal.session == session {
                terminal.is_of_turn = false;
            }
        }
    }

    /// Forgets the terminals of a session that is closed; what runs in them ends.
    pub(crate) fn forget_terminals(&mut self, session: SessionKey, fx: &mut Effects) {
        self.end_terminals(session, fx);
        for key in self.terminals.of(session) {
            self.terminals.remove(key);
        }
        self.terminals.names.retain(|(key, _), _| *key != session);
        self.terminals.dirty.retain(|(key, _)| *key != session);
    }
}
