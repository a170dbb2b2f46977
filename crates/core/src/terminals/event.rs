//! Events of terminals, from the host and the user.

use crate::spine::event::TerminalExit;
use crate::spine::ids::TerminalKey;

#[derive(Debug)]
pub enum TerminalEvent {
    /// The command has started.
    Started { terminal: TerminalKey, pid: u32 },
    /// The command could not be started; `why` is a sentence with the next step.
    Failed { terminal: TerminalKey, why: String },
    /// Raw output with escape codes; a chunk can end anywhere.
    Output {
        terminal: TerminalKey,
        bytes: Vec<u8>,
    },
    /// The command has ended; all its output was sent before this event.
    Exited {
        terminal: TerminalKey,
        exit: TerminalExit,
    },
    /// A window shows the terminal and needs all kept output; or none shows it now.
    Shown {
        terminal: TerminalKey,
        is_shown: bool,
    },
    /// The user types into a terminal.
    Input {
        terminal: TerminalKey,
        bytes: Vec<u8>,
    },
    /// The terminal's size on the screen changed.
    Resized {
        terminal: TerminalKey,
        columns: u16,
        rows: u16,
    },
    /// The user kills the command.
    Kill { terminal: TerminalKey },
}
