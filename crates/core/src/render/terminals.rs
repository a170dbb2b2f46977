//! The terminals of a tool call, as the chat shows them.

use crate::render::diffview::whole;
use crate::spine::view::{Line, Link};
use acp::TerminalId;

/// The lines of the terminals a tool call shows; all that the transcript holds of them.
#[derive(Debug, Clone, Default)]
pub struct ShownTerminals {
    all: Vec<ShownTerminal>,
}

/// A terminal that a tool call shows.
#[derive(Debug, Clone)]
pub struct ShownTerminal {
    pub id: TerminalId,
    pub lines: Option<Vec<Line>>,
    /// The terminal has output.
    pub has_output: bool,
    /// The command, if this client runs it.
    pub command: Option<String>,
}

impl ShownTerminals {
    /// Adds a terminal of the tool call.
    pub fn add(&mut self, id: &TerminalId) {
        if self.get(id).is_none() {
            self.all.push(ShownTerminal {
                id: id.clone(),
                lines: None,
                has_output: false,
                command: None,
            });
        }
    }

    /// Updates a terminal, with its lines linked to `link`; returns whether they changed.
    pub(crate) fn set(&mut self, terminal: ShownTerminal, link: &Link) -> bool {
        let mut all = self.all.iter_mut();
        let Some(entry) = all.find(|entry| entry.id == terminal.id) else {
            return false;
        };
        entry.command = entry.command.take().or(terminal.command);
        entry.has_output = terminal.has_output;
        let lines = terminal.lines.into_iter().flatten();
        let lines = Some(lines.map(|line| line.linked(link.clone())).collect());
        let is_new = entry.lines != lines;
        entry.lines = lines;
        is_new
    }

    fn get(&self, id: &TerminalId) -> Option<&ShownTerminal> {
        self.all.iter().find(|entry| entry.id == *id)
    }

    pub fn all(&self) -> impl Iterator<Item = &ShownTerminal> {
        self.all.iter()
    }

    /// Adds a terminal restored from a saved transcript.
    pub fn restore(&mut self, terminal: ShownTerminal) {
        self.all.push(terminal);
    }

    pub fn ids(&self) -> impl Iterator<Item = &TerminalId> {
        self.all.iter().map(|entry| &entry.id)
    }

    /// Returns whether a terminal has output or a command to show: agents report only the exit
    /// status of some.
    pub fn has(&self, id: &TerminalId) -> bool {
        let is_said = |entry: &ShownTerminal| entry.has_output || entry.command.is_some();
        self.get(id).is_some_and(is_said)
    }

    /// Returns whether any terminal has output.
    pub fn has_output(&self) -> bool {
        self.all.iter().any(|entry| entry.has_output)
    }

    /// Returns a terminal's lines, or a placeholder.
    pub fn lines(&self, id: &TerminalId) -> Vec<Line> {
        let lines = self.get(id).and_then(|entry| entry.lines.clone());
        lines.unwrap_or_else(|| vec![whole(format!("terminal {}", id.0), "AcpDim")])
    }

    /// Returns whether one of the terminals already shows this command.
    pub fn show_command(&self, command: &str) -> bool {
        let commands = self.all.iter().filter_map(|entry| entry.command.as_ref());
        commands.into_iter().any(|run| run.contains(command.trim()))
    }
}
