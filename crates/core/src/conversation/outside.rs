//! The work of an agent outside a turn: what Codex does after `/goal`, and calls that go on or begin
//! without a prompt.
//!
//! Invariant: such work is over after one or two times [`QUIET_MS`] without a sign of it, so that short
//! calls are one piece of work.

use std::collections::BTreeSet;

use super::Conversation;
use super::jobs::TimerJob;
use super::session::Session;
use crate::render::toolcall::ToolCall;
use crate::spine::cx::Effects;
use crate::spine::effect::HostEffect;
use crate::spine::ids::SessionKey;
use acp::{ToolCallId, ToolKind};

/// The time between two looks at whether work goes on, in milliseconds.
const QUIET_MS: u64 = 2_000;

/// What is known of the work of a session's agent outside a turn.
#[derive(Debug, Default)]
pub(super) struct Outside {
    /// The agent reports that it works.
    pub(super) is_active: bool,
    /// The calls that it has reported outside a turn.
    calls: BTreeSet<ToolCallId>,
    /// There was a sign of work since the last timer.
    was_seen: bool,
    has_timer: bool,
}

impl Session {
    /// Records a call that the agent has reported outside a turn, or that the user has allowed.
    pub(crate) fn note_outside_call(&mut self, id: &ToolCallId) {
        let is_outside = self.awaited().is_none();
        let call = self.transcript.find_tool(id);
        match is_outside && call.is_some_and(ToolCall::is_open) {
            true => drop(self.outside.calls.insert(id.clone())),
            false => self.forget_outside_call(id),
        }
    }

    /// Forgets a call that does not go on.
    pub(crate) fn forget_outside_call(&mut self, id: &ToolCallId) {
        self.outside.calls.remove(id);
    }

    /// Forgets all such calls: one that is never closed must not count for ever.
    pub(crate) fn forget_outside_calls(&mut self) {
        self.outside.calls.clear();
    }

    /// Cancels all calls but those outside a turn: the agent reports how these end.
    pub(crate) fn cancel_tools_inside(&mut self) {
        let calls = &self.outside.calls;
        self.transcript.cancel_tools_but(|id| calls.contains(id));
    }

    /// Returns whether the agent reports that it works, or a call that may change files is open and
    /// does not wait for the user.
    pub(crate) fn shows_work(&self, is_asked: impl Fn(&ToolCallId) -> bool) -> bool {
        let calls = self.outside.calls.iter().filter(|id| !is_asked(id));
        let mut calls = calls.filter_map(|id| self.transcript.find_tool(id));
        let is_at_work =
            |call: &ToolCall| call.is_open() && may_change(&call.kind) && !is_asked(&call.id);
        self.outside.is_active || calls.any(is_at_work)
    }
}

impl Conversation {
    /// Records a sign of work outside a turn, and waits for the next one.
    pub(crate) fn saw_work(&mut self, key: SessionKey, fx: &mut Effects) {
        let Some(session) = self.sessions.get_mut(&key) else {
            return;
        };
        session.outside.was_seen = true;
        self.wait_for_quiet(key, fx);
    }

    /// Sets the timer after which work without a sign of it may be over, unless it is set.
    pub(crate) fn wait_for_quiet(&mut self, key: SessionKey, fx: &mut Effects) {
        let session = self.sessions.get_mut(&key);
        if let Some(session) = session.filter(|session| !session.outside.has_timer) {
            let token = self.jobs.timers.add(TimerJob::Quiet(key));
            session.outside.has_timer = true;
            let ms = QUIET_MS;
            fx.push(HostEffect::Timer { token, ms });
        }
    }

    /// Ends the timer; returns whether there was no sign of work since it was set.
    pub(crate) fn was_quiet(&mut self, key: SessionKey) -> bool {
        let session = self.sessions.get_mut(&key);
        session.is_none_or(|session| {
            session.outside.has_timer = false;
            !std::mem::take(&mut session.outside.was_seen)
        })
    }
}

/// Returns whether calls of a kind may change files.
fn may_change(kind: &ToolKind) -> bool {
    match kind {
        ToolKind::Read
        | ToolKind::Search
        | ToolKind::Think
        | ToolKind::Fetch
        | ToolKind::SwitchMode => false,
        // `SubAgents` knows whether these work.
        ToolKind::Unknown(name) => name != "sub-agent",
        ToolKind::Edit
        | ToolKind::Delete
        | ToolKind::Move
        | ToolKind::Execute
        | ToolKind::Other => true,
    }
}
