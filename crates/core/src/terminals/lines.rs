//! A terminal's lines in the transcript: its command, the end of its output, its exit status.
//!
//! Invariant: the number of lines is bounded, and building them costs the same for any amount of
//! output.

use std::path::Path;

use super::{State, Terminal};
use crate::render::diffview::whole;
use crate::render::view::{Group, Line, Link};
use acp::TerminalId;

/// Maximum lines of output while the command runs, and after it ended.
const RUNNING: usize = 20;
const ENDED: usize = 50;

/// Maximum lines of a command.
const COMMAND: usize = 20;

/// Maximum characters of a line.
const LINE: usize = 500;

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

    /// Sets a terminal's lines, linked to `link`; returns whether they changed.
    pub(crate) fn set(
        &mut self,
        id: &TerminalId,
        terminal: &Terminal,
        cwd: &Path,
        link: &Link,
    ) -> bool {
        let Some(entry) = self.all.iter_mut().find(|entry| entry.id == *id) else {
            return false;
        };
        if entry.command.is_none() && terminal.has_process {
            entry.command = Some(terminal.command.clone());
        }
        entry.has_output = terminal.plain.last_lines(1) != (Vec::new(), 0);
        let lines = terminal.lines(cwd).into_iter();
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

impl Terminal {
    /// Returns the terminal's lines in the transcript; `cwd` is the session's folder.
    pub(super) fn lines(&self, cwd: &Path) -> Vec<Line> {
        let mut lines = Vec::new();
        if self.has_process {
            let command = self.command.lines().take(COMMAND).enumerate();
            lines.extend(command.map(|(row, line)| {
                let mark = if row == 0 { "$ " } else { "  " };
                whole(format!("{mark}{}", clipped(line)), "AcpCommand")
            }));
            if self.command.lines().nth(COMMAND).is_some() {
                lines.push(whole("  …".to_owned(), "AcpDim"));
            }
        }
        if &*self.cwd != cwd {
            lines.push(whole(format!("in {}", self.cwd.display()), "AcpDim"));
        }
        let most = if self.state.is_over() { ENDED } else { RUNNING };
        let (output, above) = self.plain.last_lines(most);
        if above > 0 {
            let noun = if above == 1 { "line" } else { "lines" };
            lines.push(whole(format!("… {above} {noun} above"), "AcpDim"));
        }
        lines.extend(output.into_iter().map(|line| Line::plain(clipped(line))));
        lines.extend(self.end_line());
        lines
    }

    fn end_line(&self) -> Option<Line> {
        let group: Group = match &self.state {
            State::Exited(exit) => match (&exit.signal, exit.code) {
                (None, Some(0)) => "AcpDim",
                // The status is unknown, or the tool call shows it.
                (None, None) => return None,
                _ => "AcpToolFailed",
            },
            State::Failed(_) => "AcpToolFailed",
            State::Starting | State::Running => return None,
        };
        Some(whole(self.state.end()?, group))
    }
}

/// Returns a line, truncated if it is long.
fn clipped(line: &str) -> String {
    match line.char_indices().nth(LINE) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

/// Returns a command as typed in a shell; for `sh -c SCRIPT`, the script itself.
pub fn command_line(command: &str, args: &[String]) -> String {
    let name = command.rsplit('/').next().unwrap_or(command);
    let is_shell = matches!(name, "sh" | "bash" | "zsh" | "dash" | "fish" | "ksh");
    match args {
        [] => command.to_owned(),
        [option, script] if is_shell && matches!(&**option, "-c" | "-lc" | "-ic") => script.clone(),
        args => {
            let words = std::iter::once(command).chain(args.iter().map(String::as_str));
            let words: Vec<String> = words.map(crate::render::rawview::quoted).collect();
            words.join(" ")
        }
    }
}

/// Returns the first line that is not blank, marked if more follow.
pub fn title(command: &str) -> String {
    let mut lines = command
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let first = clipped(lines.next().unwrap_or_default());
    match lines.next() {
        Some(_) => format!("{first} …"),
        None => first,
    }
}
