//! What lists and the public API show of a terminal.

use std::path::Path;
use std::sync::Arc;

use crate::spine::ids::{SessionKey, TerminalKey};
use crate::terminals::CommandState;

/// A terminal that can be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalInfo {
    pub key: TerminalKey,
    pub session: SessionKey,
    /// The command on one line; the tool call's title if the command is unknown.
    pub title: Arc<str>,
    pub cwd: Arc<Path>,
    pub state: CommandState,
    /// Number of bytes printed so far.
    pub bytes: u64,
    /// This client runs, or ran, its command: it accepts input and can be killed. Otherwise it only
    /// shows the agent's reports.
    pub has_process: bool,
    /// The agent has released it.
    pub is_released: bool,
}
