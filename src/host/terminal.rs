//! Commands that run on terminals of their own.

use super::Tools;
use crate::core::event::{Event, TerminalSpec};
use crate::core::ids::TerminalKey;

/// The terminals there are.
#[derive(Debug, Default)]
pub(super) struct Terminals {}

impl Terminals {
    /// Starts a command.
    pub(super) fn start(&self, terminal: TerminalKey, _spec: TerminalSpec, tools: &Tools) {
        let why = "no terminals yet".to_owned();
        tools.inbox.send(Event::TerminalFailed { terminal, why });
    }

    /// Types into a terminal.
    pub(super) fn input(&self, _terminal: TerminalKey, _bytes: Vec<u8>) {}

    pub(super) fn resize(&self, _terminal: TerminalKey, _columns: u16, _rows: u16) {}

    /// Ends what runs there.
    pub(super) fn kill(&self, _terminal: TerminalKey) {}
}
