//! What windows show of terminals: their output, frame by frame.
//!
//! Invariants: one frame brings at most [`FRAME`] bytes of all terminals together, shared fairly;
//! who is further behind than what is kept is shown the end anew, and all that is kept once the
//! command has ended.

use std::collections::BTreeSet;

use super::tail::{TAIL, Tail};
use super::{Terminal, Terminals};
use crate::core::ids::TerminalKey;
use crate::core::view::Patch;

/// How much output one frame may bring: Neovim takes it in within two milliseconds, even where all
/// of it is coloured, and keys that are typed meanwhile do not wait longer.
const FRAME: usize = 24 * 1024;

/// How far a window has come with a terminal's output.
#[derive(Debug)]
pub(super) struct Shown {
    /// The number of the next byte.
    at: u64,
    /// What was shown before is over.
    is_anew: bool,
    /// Something was left out.
    has_gap: bool,
}

impl Shown {
    /// Returns a window that shows nothing yet, and wants all that is kept.
    pub(super) fn new(tail: &Tail) -> Self {
        Self {
            at: tail.begin(TAIL),
            is_anew: true,
            has_gap: false,
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

    /// Returns whether a window is behind.
    pub(super) fn is_shown_dirty(&self) -> bool {
        let shown = self.shown.iter().filter_map(|key| self.all.get(key));
        shown.into_iter().any(|terminal| terminal.behind() > 0)
    }

    /// Brings windows further, as much as one frame may.
    pub(in crate::core) fn shown_patches(&mut self) -> Vec<Patch> {
        let mut behind: BTreeSet<(usize, TerminalKey)> = BTreeSet::new();
        for key in &self.shown {
            if let Some(terminal) = self.all.get_mut(key) {
                terminal.catch_up();
                let rest = terminal.behind();
                if rest > 0 {
                    behind.insert((rest, *key));
                }
            }
        }
        let mut left = FRAME;
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
    fn behind(&self) -> usize {
        let Some(shown) = &self.shown else {
            return 0;
        };
        let is_to_fill = shown.has_gap && self.state.is_over();
        let rest = self.tail.end().saturating_sub(shown.at);
        let rest = usize::try_from(rest).unwrap_or(usize::MAX);
        rest.max(usize::from(shown.is_anew || is_to_fill))
    }

    /// Leaves out what is no longer there; when all has been printed, all that is kept is shown.
    fn catch_up(&mut self) {
        let is_over = self.state.is_over();
        let Some(shown) = &mut self.shown else {
            return;
        };
        let is_lost = !self.tail.has(shown.at);
        if is_over && (shown.has_gap || is_lost) {
            *shown = Shown::new(&self.tail);
        } else if is_lost {
            *shown = Shown {
                at: self.tail.begin(FRAME / 2),
                is_anew: true,
                has_gap: true,
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
        (std::mem::take(&mut shown.is_anew), bytes)
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
