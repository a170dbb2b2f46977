//! Opens a pseudo-terminal and starts a command on it.
//!
//! Invariant: the command leads a new session (and a process group with the same id), and the
//! terminal controls that session.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command};

use pty_process::Error;
use pty_process::blocking::{self, open};
use rustix::termios::{InputModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

use super::super::process::{alone, forking};

/// Both sides of a pseudo-terminal.
#[derive(Debug)]
pub(super) struct Pty {
    /// The side the host reads and writes.
    pub(super) editor_side: OwnedFd,
    /// The command's side. While the host holds it, the terminal does not end when the command
    /// redirects its output and later opens the terminal again (as password prompts do).
    pub(super) command_side: OwnedFd,
}

/// Starts a command on a new terminal.
///
/// # Errors
/// The system has no terminal, descriptor or process left, or the command cannot be executed.
pub(super) fn spawn(command: Command, size: Winsize) -> io::Result<(Child, Pty)> {
    // The descriptor becomes close-on-exec only after it was opened.
    let (editor_side, command_side) = alone(open).map_err(plain)?;
    tcsetwinsize(&editor_side, size)?;
    let mut modes = tcgetattr(&command_side)?;
    // Backspace then deletes a whole character even when the kernel edits the line.
    modes.input_modes |= InputModes::IUTF8;
    tcsetattr(&command_side, OptionalActions::Now, &modes)?;
    let held = command_side.as_fd().try_clone_to_owned()?;
    let command = blocking::Command::from(command);
    let child = forking(|| command.spawn(command_side)).map_err(plain)?;
    let ends = Pty {
        editor_side: editor_side.into(),
        command_side: held,
    };
    Ok((child, ends))
}

/// Returns a terminal size for the system, at least one cell.
pub(super) fn size(columns: u16, rows: u16) -> Winsize {
    Winsize {
        ws_row: rows.max(1),
        ws_col: columns.max(1),
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

fn plain(error: Error) -> io::Error {
    match error {
        Error::Io(error) => error,
        Error::Rustix(errno) => errno.into(),
    }
}
