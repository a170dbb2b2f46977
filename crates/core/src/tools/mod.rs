//! Neovim's own tools: permission, progress and results of agents' calls.
//!
//! Invariants: every reported call is answered exactly once, even if its turn, session or handler
//! ends or the user never answers; a handler runs only if the user or the configuration allowed it.

mod clock;
mod door;
pub mod event;
mod registry;
mod shown;
mod twin;
mod uses;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use self::clock::ToolJob;
pub(crate) use self::shown::{is_own, keep_apart};
use self::twin::Over;
pub(crate) use self::uses::{Use, Wait, not_offered};
use crate::spine::ids::{SessionKey, ToolUseId};
use crate::spine::pending::{Pending, reply};
use crate::spine::tool::{Door, ToolSpec};
use acp::ToolCallId;

/// The state of the tools and their calls.
#[derive(Debug, Default)]
pub struct Tools {
    door: Option<Door>,
    /// The server could not be started.
    has_failed: bool,
    /// Number of tokens created; makes each token unique.
    tokens: u64,
    /// The sessions whose agents may connect.
    admitted: BTreeSet<SessionKey>,
    defined: BTreeMap<String, Arc<ToolSpec>>,
    /// The tools last offered to agents.
    offered: Arc<[ToolSpec]>,
    /// The pending calls.
    uses: BTreeMap<ToolUseId, Use>,
    /// The tools the user always allows, by session.
    always: BTreeSet<(SessionKey, String)>,
    /// Finished calls that the agent has not announced.
    over: Vec<Over>,
    /// The transcript entries that show a call.
    taken: BTreeSet<(SessionKey, ToolCallId)>,
    /// The tools' names, by the ids agents gave their calls.
    twins: BTreeMap<(SessionKey, ToolCallId), String>,
    timers: Pending<reply::Timer, ToolJob>,
}

impl Tools {
    /// Returns whether a call is complete and pending.
    #[cfg(test)]
    pub(crate) fn is_open(&self, id: ToolUseId) -> bool {
        let of = self.uses.get(&id);
        of.is_some_and(|of| of.is_complete())
    }

    /// Returns whether a call's handler runs for a session.
    #[cfg(test)]
    pub(crate) fn runs_in(&self, id: ToolUseId, session: SessionKey) -> bool {
        let of = self.uses.get(&id);
        of.is_some_and(|of| of.session == session && of.is_running())
    }

    #[cfg(test)]
    pub(crate) fn has_timers(&self) -> bool {
        self.timers.values().next().is_some()
    }
}
