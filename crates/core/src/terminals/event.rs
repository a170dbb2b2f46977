//! What happens to terminals, and what the user wants of them.

use crate::spine::event::TerminalExit;
use crate::spine::ids::TerminalKey;

#[derive(Debug)]
pub enum TerminalEvent {
    /// The command runs.
    Started { terminal: TerminalKey, pid: u32 },
    /// It does not, and never will; `why` is a sentence with the next step.
    Failed { terminal: TerminalKey, why: String },
    /// What the command has printed, escape codes and all, cut anywhere.
    Output {
        terminal: TerminalKey,
        bytes: Vec<u8>,
    },
    /// The command has ended; all that it printed has been told before.
    Exited {
        terminal: TerminalKey,
        exit: TerminalExit,
    },
    /// Windows show a terminal's output now, all of which is wanted; or none does any more.
    Shown {
        terminal: TerminalKey,
        is_shown: bool,
    },
    /// The user types into a terminal.
    Input {
        terminal: TerminalKey,
        bytes: Vec<u8>,
    },
    /// A terminal has another size on the screen.
    Resized {
        terminal: TerminalKey,
        columns: u16,
        rows: u16,
    },
    /// The user ends what runs in a terminal.
    Kill { terminal: TerminalKey },
}
