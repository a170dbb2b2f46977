//! Sends terminals' output to the windows that show them, frame by frame.
//!
//! Invariants: a frame contains at most [`FRAME`] bytes of all terminals together, shared fairly; a
//! window that falls behind skips to the end, with a mark at the gap, and gets all kept output once
//! the command has ended.

use std::collections::BTreeSet;

use super::tail::{TAIL, Tail};
use super::{Terminal, Terminals};
use crate::spine::ids::TerminalKey;
use crate::spine::view::Patch;

/// Maximum output per frame: Neovim processes it within two milliseconds, even if all of it is
/// coloured.
const FRAME: usize = 24 * 1024;

/// The same while the user is typing: a screen or two, so that no key waits.
const LITTLE: usize = 4 * 1024;

/// Marks a gap; cancels the escape code, colour or character that was cut off before it.
const CUT: &[u8] = "\x18\x1b[!p\r\n\x1b[2m⋯\x1b[m\r\n".as_bytes();

/// The amount of terminal output a frame may contain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Output {
    /// The user is not typing.
    #[default]
    Much,
    /// Between two keys.
    Little,
    /// None: a key is being drawn. Output does not request a frame until one may contain it.
    Held,
}

impl Output {
    fn bytes(self) -> usize {
        match self {
            Output::Much => FRAME,
            Output::Little => LITTLE,
            Output::Held => 0,
        }
    }
}

/// A window's position in a terminal's output.
#[derive(Debug)]
pub(super) struct Shown {
    /// Number of the next byte to send.
    at: u64,
    /// The window is emptied before the next bytes.
    is_anew: bool,
    /// Output was skipped.
    has_gap: bool,
    /// The mark for the gap is still to be sent.
    is_cut: bool,
}

impl Shown {
    /// Returns the state of an empty window that gets all kept output.
    pub(super) fn new(tail: &Tail) -> Self {
        Self {
            at: tail.begin(TAIL),
            is_anew: true,
            has_gap: false,
            is_cut: false,
        }
    }
}

impl Terminals {
    /// Starts or stops showing a terminal.
    pub(super) fn set_shown(&mut self, key: TerminalKey, is_shown: bool) {
        let Some(terminal) = self.all.get_mut(&key) else {
            return;
        };
        terminal.shown = is_shown.then(|| Shown::new(&terminal.tail));
        match is_shown {
            true => self.shown.insert(key),
            false => self.shown.remove(&key),
        };
    }

    /// Sets the amount of output frames may contain.
    pub(crate) fn set_output(&mut self, output: Output) {
        self.output = output;
    }

    /// Returns whether a window lacks output.
    pub(super) fn is_shown_dirty(&self) -> bool {
        let shown = self.shown.iter().filter_map(|key| self.all.get(key));
        shown
            .into_iter()
            .any(|terminal| terminal.behind(self.output) > 0)
    }

    /// Returns the next output for each window, within the limit of one frame.
    pub(crate) fn shown_patches(&mut self) -> Vec<Patch> {
        let mut left = self.output.bytes();
        if left == 0 {
            return Vec::new();
        }
        let mut behind: BTreeSet<(usize, TerminalKey)> = BTreeSet::new();
        for key in &self.shown {
            if let Some(terminal) = self.all.get_mut(key) {
                terminal.catch_up(self.output);
                let rest = terminal.behind(self.output);
                if rest > 0 {
                    behind.insert((rest, *key));
                }
            }
        }
        let mut patches = Vec::new();
        // A window that needs less than its share leaves the rest to the others.
        for (index, (_, key)) in behind.iter().enumerate() {
            let share = left / (behind.len() - index);
            let Some(terminal) = self.all.get_mut(key) else {
                continue;
            };
            let (is_anew, bytes) = terminal.read_on(share);
            left -= bytes.len().min(left);
            patches.push(Patch::Terminal {
                terminal: *key,
                is_anew,
                bytes,
            });
        }
        patches
    }
}

impl Terminal {
    /// Returns the number of bytes its window lacks; 1 if the window only needs to be emptied.
    fn behind(&self, output: Output) -> usize {
        let Some(shown) = &self.shown else {
            return 0;
        };
        let is_to_fill = shown.has_gap && self.state.is_over() && output == Output::Much;
        let rest = self.tail.end().saturating_sub(shown.at);
        let rest = usize::try_from(rest).unwrap_or(usize::MAX);
        rest.max(usize::from(shown.is_anew || is_to_fill))
    }

    /// Skips output that was dropped or would be outdated when shown; once the command has ended
    /// and the user is not typing, starts again with all kept output.
    fn catch_up(&mut self, output: Output) {
        let (is_over, most) = (self.state.is_over(), output.bytes());
        let Some(shown) = &mut self.shown else {
            return;
        };
        let rest = self.tail.end().saturating_sub(shown.at);
        let is_late = output != Output::Much && rest > most as u64;
        let is_lost = is_late || !self.tail.has(shown.at);
        if is_over && output == Output::Much && (shown.has_gap || is_lost) {
            *shown = Shown::new(&self.tail);
        } else if is_lost {
            *shown = Shown {
                at: self.tail.begin(most / 2),
                is_anew: shown.is_anew,
                has_gap: true,
                is_cut: true,
            };
        }
    }

    /// Returns the next bytes for its window, and whether the window is emptied first.
    fn read_on(&mut self, most: usize) -> (bool, Vec<u8>) {
        let Some(shown) = &mut self.shown else {
            return (false, Vec::new());
        };
        let (read, bytes) = if self.has_process {
            let bytes = self.tail.read(shown.at, most);
            (bytes.len(), bytes.to_vec())
        } else {
            let bytes = self.tail.read(shown.at, (most / 2).max(1));
            (bytes.len(), with_returns(bytes, self.tail.before(shown.at)))
        };
        shown.at += read as u64;
        let is_anew = std::mem::take(&mut shown.is_anew);
        let is_cut = std::mem::take(&mut shown.is_cut) && !is_anew;
        (
            is_anew,
            if is_cut {
                [CUT, &bytes].concat()
            } else {
                bytes
            },
        )
    }
}

/// Returns text with `\r\n` line ends; it can be twice as long.
fn with_returns(text: &[u8], before: Option<u8>) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 32);
    let mut last = before;
    for &byte in text {
        if byte == b'\n' && last != Some(b'\r') {
            out.push(b'\r');
        }
        out.push(byte);
        last = Some(byte);
    }
    out
}
