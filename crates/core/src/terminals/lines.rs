//! A terminal's lines in the transcript: its command, the end of its output, its exit status.
//!
//! Invariant: the number of lines is bounded, and building them costs the same for any amount of
//! output.

use std::path::Path;

use super::{CommandState, Terminal};
use crate::render::diffview::whole;
use crate::render::terminals::ShownTerminal;
use crate::spine::view::{Group, Line};
use crate::text::cut::shortened;
use acp::TerminalId;

/// Maximum lines of output while the command runs, and after it ended.
const RUNNING: usize = 20;
const ENDED: usize = 50;

/// Maximum lines of a command.
const COMMAND: usize = 20;

/// Maximum characters of a line.
const LINE: usize = 500;

impl Terminal {
    /// Returns the terminal as a tool call shows it.
    pub(crate) fn shown_as(&self, id: &TerminalId, cwd: &Path) -> ShownTerminal {
        ShownTerminal {
            id: id.clone(),
            lines: Some(self.lines(cwd)),
            has_output: self.plain.last_lines(1) != (Vec::new(), 0),
            command: self.has_process.then(|| self.command.clone()),
        }
    }

    /// Returns the terminal's lines in the transcript; `cwd` is the session's folder.
    pub(crate) fn lines(&self, cwd: &Path) -> Vec<Line> {
        let mut lines = Vec::new();
        if self.has_process {
            let command = self.command.lines().take(COMMAND).enumerate();
            lines.extend(command.map(|(row, line)| {
                let mark = if row == 0 { "$ " } else { "  " };
                whole(format!("{mark}{}", shortened(line, LINE)), "AcpCommand")
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
        // Some agents write the status into the output that they report.
        let is_it = |end: &Line| {
            let mut output = output.iter();
            !self.has_process && output.any(|line| line.trim().eq_ignore_ascii_case(&end.text))
        };
        let end = self.end_line().filter(|end| !is_it(end));
        lines.extend(
            output
                .into_iter()
                .map(|line| Line::plain(shortened(line, LINE))),
        );
        lines.extend(end);
        lines
    }

    fn end_line(&self) -> Option<Line> {
        let group: Group = match &self.state {
            CommandState::Exited(exit) => match (&exit.signal, exit.code) {
                (None, Some(0)) => "AcpDim",
                // The status is unknown, or the tool call shows it.
                (None, None) => return None,
                _ => "AcpToolFailed",
            },
            CommandState::Failed(_) => "AcpToolFailed",
            CommandState::Starting | CommandState::Running => return None,
        };
        Some(whole(self.state.end()?, group))
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
    let first = shortened(lines.next().unwrap_or_default(), LINE);
    match lines.next() {
        Some(_) => format!("{first} …"),
        None => first,
    }
}
