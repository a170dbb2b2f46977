//! What happens to terminals: their commands start, print and end, by themselves, by the user's will,
//! or with their turn, their session and their agent.
//!
//! Invariant: what is to end is ended also when it has not begun yet.

use super::TerminalEvent;
use super::{State, Terminal, Terminals};
use crate::spine::cx::Effects;
use crate::spine::effect::{Effect, HostEffect};
use crate::spine::ids::{SessionKey, TerminalKey};

impl Terminals {
    /// Something happened in a terminal.
    pub(crate) fn apply(&mut self, event: TerminalEvent, fx: &mut Effects) {
        self.has_news |= matches!(
            event,
            TerminalEvent::Started { .. }
                | TerminalEvent::Failed { .. }
                | TerminalEvent::Exited { .. }
        );
        match event {
            TerminalEvent::Started { terminal, .. } => self.started(terminal, fx),
            TerminalEvent::Failed { terminal, why } => self.failed(terminal, why, fx),
            TerminalEvent::Output { terminal, bytes } => {
                if let Some(found) = self.all.get_mut(&terminal) {
                    found.print(&bytes);
                    let (session, id) = (found.session, found.id.clone());
                    self.mark(session, &id);
                }
            }
            TerminalEvent::Exited { terminal, exit } => self.exited(terminal, exit, fx),
            TerminalEvent::Shown { terminal, is_shown } => {
                self.set_shown(terminal, is_shown);
            }
            TerminalEvent::Input { terminal, bytes } if self.runs(terminal) => {
                fx.push(Effect::Host(HostEffect::TerminalInput { terminal, bytes }));
            }
            TerminalEvent::Resized {
                terminal,
                columns,
                rows,
            } if self.runs(terminal) => {
                fx.push(Effect::Host(HostEffect::ResizeTerminal {
                    terminal,
                    columns,
                    rows,
                }));
            }
            TerminalEvent::Kill { terminal } => self.kill(terminal, fx),
            TerminalEvent::Input { .. } | TerminalEvent::Resized { .. } => {}
        }
    }

    fn runs(&self, key: TerminalKey) -> bool {
        self.all.get(&key).is_some_and(Terminal::runs)
    }

    /// Ends what runs in a terminal; one that is being started ends as soon as it has begun.
    pub(super) fn kill(&mut self, key: TerminalKey, fx: &mut Effects) {
        if let Some(terminal) = self.all.get_mut(&key)
            && terminal.runs()
        {
            terminal.is_doomed |= terminal.state == State::Starting;
            fx.push(Effect::Host(HostEffect::KillTerminal { terminal: key }));
        }
    }

    /// Ends what a cancelled turn has started and left running.
    pub(crate) fn kill_turn(&mut self, session: SessionKey, fx: &mut Effects) {
        for key in self.of(session) {
            let terminal = self.all.get(&key);
            if terminal.is_some_and(|terminal| terminal.is_of_turn) {
                self.kill(key, fx);
                self.end_told(key);
            }
        }
    }

    /// Ends a turn: what it started and nobody has ended goes on, unless it was cancelled.
    pub(crate) fn end_turn(&mut self, session: SessionKey, is_cancelled: bool, fx: &mut Effects) {
        if is_cancelled {
            self.kill_turn(session, fx);
        }
        for terminal in self.all.values_mut() {
            if terminal.session == session {
                terminal.is_of_turn = false;
            }
        }
    }

    /// Forgets the terminals of a session that is closed; what runs in them ends.
    pub(crate) fn forget_session(&mut self, session: SessionKey, fx: &mut Effects) {
        self.end_session(session, fx);
        for key in self.of(session) {
            self.remove(key);
        }
        self.names.retain(|(key, _), _| *key != session);
        self.dirty.retain(|(key, _)| *key != session);
    }
}
