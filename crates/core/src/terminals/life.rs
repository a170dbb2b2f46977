//! Applies terminal events, and ends commands with their turn, session or agent.
//!
//! Invariant: a command that is killed while it starts ends as soon as it has started.

use super::TerminalEvent;
use super::{CommandState, Terminal, Terminals};
use crate::spine::cx::Effects;
use crate::spine::effect::HostEffect;
use crate::spine::ids::{SessionKey, TerminalKey};

impl Terminals {
    /// Applies a terminal event.
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
                fx.push(HostEffect::TerminalInput { terminal, bytes });
            }
            TerminalEvent::Resized {
                terminal,
                columns,
                rows,
            } if self.runs(terminal) => {
                fx.push(HostEffect::ResizeTerminal {
                    terminal,
                    columns,
                    rows,
                });
            }
            TerminalEvent::Kill { terminal } => self.kill(terminal, fx),
            TerminalEvent::Input { .. } | TerminalEvent::Resized { .. } => {}
        }
    }

    fn runs(&self, key: TerminalKey) -> bool {
        self.all.get(&key).is_some_and(Terminal::runs)
    }

    /// Kills a terminal's command; one that is starting is killed once it has started.
    pub(super) fn kill(&mut self, key: TerminalKey, fx: &mut Effects) {
        if let Some(terminal) = self.all.get_mut(&key)
            && terminal.runs()
        {
            terminal.is_doomed |= terminal.state == CommandState::Starting;
            fx.push(HostEffect::KillTerminal { terminal: key });
        }
    }

    /// Kills the commands a cancelled turn started.
    pub(crate) fn kill_turn(&mut self, session: SessionKey, fx: &mut Effects) {
        for key in self.of(session) {
            let terminal = self.all.get(&key);
            if terminal.is_some_and(|terminal| terminal.is_of_turn) {
                self.kill(key, fx);
                self.end_told(key);
            }
        }
    }

    /// Ends a turn; its commands keep running unless it was cancelled.
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

    /// Ends and removes the terminals of a closed session.
    pub(crate) fn forget_session(&mut self, session: SessionKey, fx: &mut Effects) {
        self.end_session(session, fx);
        for key in self.of(session) {
            self.remove(key);
        }
        self.names.retain(|(key, _), _| *key != session);
        self.dirty.retain(|(key, _)| *key != session);
    }
}
