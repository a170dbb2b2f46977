//! A terminal of the system's, and a command on it.
//!
//! Invariant: the command leads a session of its own (and with it a process group of the same
//! number), and the terminal controls that session.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command};

use pty_process::Error;
use pty_process::blocking::{self, open};
use rustix::termios::{InputModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

use super::super::process::{alone, forking};

/// Both ends of a terminal.
#[derive(Debug)]
pub(super) struct Ends {
    /// What we read and write.
    pub(super) ours: OwnedFd,
    /// What the command reads and writes. As long as we hold it, the terminal has no end, however
    /// often the command redirects its output and opens the terminal again (as who asks for a
    /// password does).
    pub(super) commands: OwnedFd,
}

/// Starts a command on a new terminal.
///
/// # Errors
/// There is no terminal, no descriptor or no process left, or the command cannot be executed.
pub(super) fn spawn(command: Command, size: Winsize) -> io::Result<(Child, Ends)> {
    // It is closed on exec a moment after it was opened, not from the start.
    let (ours, commands) = alone(open).map_err(plain)?;
    tcsetwinsize(&ours, size)?;
    let mut modes = tcgetattr(&commands)?;
    // So that backspace takes away a whole character, also where the system reads the line.
    modes.input_modes |= InputModes::IUTF8;
    tcsetattr(&commands, OptionalActions::Now, &modes)?;
    let held = commands.as_fd().try_clone_to_owned()?;
    let command = blocking::Command::from(command);
    let child = forking(|| command.spawn(commands)).map_err(plain)?;
    let ends = Ends {
        ours: ours.into(),
        commands: held,
    };
    Ok((child, ends))
}

/// Returns the size of a terminal in the system's form; nothing is smaller than one cell.
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
