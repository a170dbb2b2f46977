//! Fake commands in terminals: they start, print and end when the test says so.
//!
//! Invariant: a command that ended sends nothing more, and a killed command ends.

use std::collections::BTreeMap;

use crate::event::Event;
use crate::spine::event::{TerminalExit, TerminalSpec};
use crate::spine::ids::TerminalKey;
use crate::terminals::TerminalEvent;

#[derive(Debug, Default)]
pub struct Pty {
    commands: BTreeMap<TerminalKey, Command>,
    /// The commands that were started, in order.
    pub specs: Vec<TerminalSpec>,
    /// The user's input.
    pub typed: Vec<(TerminalKey, Vec<u8>)>,
    pub sizes: Vec<(TerminalKey, u16, u16)>,
}

#[derive(Debug, Default)]
struct Command {
    is_missing: bool,
    runs: bool,
    is_killed: bool,
}

impl Pty {
    /// Starts a command; one named `nowhere` cannot be found.
    pub fn starts(&mut self, key: TerminalKey, spec: TerminalSpec) {
        let command = Command {
            is_missing: spec.command == "nowhere",
            ..Command::default()
        };
        self.specs.push(spec);
        let before = self.commands.insert(key, command);
        assert!(before.is_none(), "{key:?} is started twice");
    }

    /// Kills a command, unless it has already ended.
    pub fn kills(&mut self, key: TerminalKey) {
        if let Some(command) = self.commands.get_mut(&key) {
            command.is_killed = true;
        }
    }

    /// Returns the next event that no test has to cause: a start, or the end of a killed command.
    pub fn moves(&mut self) -> Option<Event> {
        let next = |command: &Command| !command.runs || command.is_killed;
        let mut all = self.commands.iter_mut();
        let (&terminal, command) = all.find(|(_, command)| next(command))?;
        if !command.runs && !command.is_missing {
            command.runs = true;
            let pid = 1000 + terminal.0;
            return Some(Event::Terminal(TerminalEvent::Started { terminal, pid }));
        }
        let is_missing = command.is_missing;
        self.commands.remove(&terminal);
        Some(match is_missing {
            true => Event::Terminal(TerminalEvent::Failed {
                terminal,
                why: "nowhere was not found: install it.".into(),
            }),
            false => Event::Terminal(TerminalEvent::Exited {
                terminal,
                exit: TerminalExit {
                    code: None,
                    signal: Some("SIGTERM".into()),
                },
            }),
        })
    }

    /// Returns the running commands.
    pub fn running(&self) -> Vec<TerminalKey> {
        let all = self.commands.iter().filter(|(_, command)| command.runs);
        all.map(|(key, _)| *key).collect()
    }

    /// A command prints.
    pub fn prints(&self, terminal: TerminalKey, bytes: &[u8]) -> Option<Event> {
        let runs = self.commands.get(&terminal)?.runs;
        let bytes = bytes.to_vec();
        runs.then_some(Event::Terminal(TerminalEvent::Output { terminal, bytes }))
    }

    /// A command ends by itself.
    pub fn ends(&mut self, terminal: TerminalKey, code: u32) -> Option<Event> {
        self.commands
            .get(&terminal)
            .filter(|command| command.runs)?;
        self.commands.remove(&terminal);
        let exit = TerminalExit {
            code: Some(code),
            signal: None,
        };
        Some(Event::Terminal(TerminalEvent::Exited { terminal, exit }))
    }
}
