//! Agents and the conversations with them.
//!
//! Owns agents' processes and pending requests, sessions with their turns, queues, transcripts and
//! options, log-ins, and the records of past sessions. Offers what needs no other room; the life of
//! a prompt or a session is a flow.

pub mod agent;
mod announce;
pub mod attachment;
pub(crate) mod catalog;
pub mod clock;
pub mod compaction;
pub mod complete;
pub(crate) mod composer;
pub(crate) mod connection;
pub mod event;
pub mod family;
mod feedback;
pub mod history;
pub mod info;
pub(crate) mod jobs;
pub mod login;
pub mod mention;
pub mod notices;
pub(crate) mod opening;
pub mod options;
mod outside;
pub mod plan;
pub mod progress;
mod proposals;
pub(crate) mod questions;
pub mod queue;
pub mod reach;
pub mod recall;
pub(crate) mod replay;
pub(crate) mod requests;
pub(crate) mod retold;
pub mod session;
mod setup;
mod steering;
pub mod subagents;
pub(crate) mod takeback;
pub mod transcript;
mod turn;
pub mod usage;

use std::collections::BTreeMap;

use crate::conversation::composer::Listings;
use crate::conversation::history::state::Pasts;
use crate::conversation::jobs::Jobs;
use crate::conversation::login::Logins;
use crate::conversation::plan::PlanPlace;
use crate::conversation::progress::TerminalsTold;
use crate::conversation::recall::Recall;
use crate::spine::cx::Effects;
use crate::spine::ids::{AgentKey, SessionKey};
use crate::spine::view::{Frame, Patch};
use acp::PlanEntry;
use agent::*;
use session::*;

/// Agents, sessions and their pending work.
#[derive(Debug, Default)]
pub struct Conversation {
    agents: BTreeMap<AgentKey, Agent>,
    sessions: BTreeMap<SessionKey, Session>,
    jobs: Jobs,
    past: Pasts,
    logins: Logins,
    listings: Listings,
    recall: Recall,
    /// Time limits, in milliseconds.
    limits: Limits,
    /// The place of a plan while its turn runs.
    plan_place: PlanPlace,
    feedback_is_dirty: bool,
    terminals_told: TerminalsTold,
    next_agent: u32,
}

impl Conversation {
    pub fn session(&self, key: SessionKey) -> Option<&Session> {
        self.sessions.get(&key)
    }

    pub(crate) fn session_mut(&mut self, key: SessionKey) -> Option<&mut Session> {
        self.sessions.get_mut(&key)
    }

    /// Returns all sessions, oldest first.
    pub fn sessions(&self) -> impl Iterator<Item = (SessionKey, &Session)> {
        self.sessions.iter().map(|(key, session)| (*key, session))
    }

    pub(crate) fn sessions_mut(&mut self) -> impl Iterator<Item = (SessionKey, &mut Session)> {
        let all = self.sessions.iter_mut();
        all.map(|(key, session)| (*key, session))
    }

    pub fn agent(&self, key: AgentKey) -> Option<&Agent> {
        self.agents.get(&key)
    }

    /// Returns all processes, oldest first.
    pub fn agents(&self) -> impl Iterator<Item = (AgentKey, &Agent)> {
        self.agents.iter().map(|(key, agent)| (*key, agent))
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Returns whether the next frame has a change to draw.
    pub(crate) fn is_dirty(&self) -> bool {
        self.feedback_is_dirty
            || self.sessions.values().any(|session| {
                !session.transcript.dirty().is_empty()
                    || session.transcript.plans.is_dirty()
                    || session.queue.is_dirty()
                    || session.attached.is_dirty()
            })
    }

    pub(crate) fn set_plan_place(&mut self, place: PlanPlace) {
        self.plan_place = place;
    }

    /// Shows a session's plan; outside of a turn the agent does not work on it, so it goes to the
    /// transcript.
    pub(crate) fn plan(&mut self, key: SessionKey, plan: Vec<PlanEntry>) {
        if let Some(session) = self.sessions.get_mut(&key) {
            let place = match session.turn {
                Some(_) => self.plan_place,
                None => PlanPlace::Transcript,
            };
            session.transcript.plan(plan, place);
        }
    }

    /// Adds patches for the plans that have changed.
    pub(crate) fn plan_patches(&mut self, frame: &mut Frame) {
        for (key, session) in &mut self.sessions {
            if let Some(view) = session.transcript.plans.take_view() {
                let session = *key;
                frame.patches.push(Patch::Plan { session, view });
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    #[cfg(test)]
    pub(crate) fn logins(&self) -> &Logins {
        &self.logins
    }

    /// Announces what an event has changed in queues and options, and writes the complete entries.
    pub(crate) fn settle(&mut self, fx: &mut Effects) {
        self.tell_queues(fx);
        self.tell_options(fx);
        self.keep_history(fx);
    }
}
