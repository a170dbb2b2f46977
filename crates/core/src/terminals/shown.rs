//! What windows show of terminals: their output, frame by frame.
//!
//! Invariants: one frame brings at most [`FRAME`] bytes of all terminals together, shared fairly;
//! who falls behind goes on at the end, with a mark where something was left out, and is shown all
//! that is kept once the command has ended.

use std::collections::BTreeSet;

use super::tail::{TAIL, Tail};
use super::{Terminal, Terminals};
use crate::render::view::Patch;
use crate::spine::ids::TerminalKey;

/// How much output one frame may bring: Neovim takes it in within two milliseconds, even where all
/// of it is coloured.
const FRAME: usize = 24 * 1024;

/// How much that is while the user is typing: not more than a screen or two, and no key waits.
const LITTLE: usize = 4 * 1024;

/// Stands where something was left out; what was cut off, a colour or a character, has no effect on
/// what follows.
const CUT: &[u8] = "\x18\x1b[!p\r\n\x1b[2m⋯\x1b[m\r\n".as_bytes();

/// How much of what terminals print a frame may bring.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Output {
    /// Nobody is typing.
    #[default]
    Much,
    /// Between two keys.
    Little,
    /// None: a key is on its way to the screen. What is printed makes nobody ask for a frame either
    /// until one is asked for that may bring it.
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

/// How far a window has come with a terminal's output.
#[derive(Debug)]
pub(super) struct Shown {
    /// The number of the next byte.
    at: u64,
    /// What was shown before is over.
    is_anew: bool,
    /// Something was left out.
    has_gap: bool,
    /// And the mark that says so is still to come.
    is_cut: bool,
}

impl Shown {
    /// Returns a window that shows nothing yet, and wants all that is kept.
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
    /// Begins to show a terminal, or stops.
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

    /// Takes how much frames may bring from now on.
    pub(crate) fn set_output(&mut self, output: Output) {
        self.output = output;
    }

    /// Returns whether a window is behind.
    pub(super) fn is_shown_dirty(&self) -> bool {
        let shown = self.shown.iter().filter_map(|key| self.all.get(key));
        shown
            .into_iter()
            .any(|terminal| terminal.behind(self.output) > 0)
    }

    /// Brings windows further, as much as one frame may.
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
        // Who needs less than its share leaves the rest to the others.
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
    /// Returns how much its window does not show yet; 1 where it only has to be emptied.
    fn behind(&self, output: Output) -> usize {
        let Some(shown) = &self.shown else {
            return 0;
        };
        let is_to_fill = shown.has_gap && self.state.is_over() && output == Output::Much;
        let rest = self.tail.end().saturating_sub(shown.at);
        let rest = usize::try_from(rest).unwrap_or(usize::MAX);
        rest.max(usize::from(shown.is_anew || is_to_fill))
    }

    /// Leaves out what is no longer there, and what would be old by the time it is shown; when all
    /// has been printed and nobody types, all that is kept is shown.
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

    /// Returns the next bytes for its window, and whether it begins anew with them.
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

/// Returns text with each line's end as a terminal needs it; it may be twice as long.
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
