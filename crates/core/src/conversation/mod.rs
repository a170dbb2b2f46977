//! Agents and the conversations with them.
//!
//! Owns agents' processes and pending requests, sessions with their turns, queues, transcripts and
//! options, log-ins, and the records of past sessions. Offers what needs no other room; the life of
//! a prompt or a session is a flow.

pub mod agent;
pub mod attachment;
pub(crate) mod catalog;
pub mod clock;
pub mod compaction;
pub mod complete;
pub(crate) mod composer;
pub(crate) mod connection;
pub mod event;
pub mod family;
pub mod history;
pub mod info;
pub(crate) mod jobs;
pub mod login;
pub mod mention;
pub mod notices;
pub(crate) mod opening;
pub mod options;
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
mod steering;
pub mod subagents;
pub(crate) mod takeback;
pub mod transcript;
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
use agent::*;
use session::*;

/// Agents, sessions and their pending work.
#[derive(Debug, Default)]
pub struct Conversation {
    pub agents: BTreeMap<AgentKey, Agent>,
    pub sessions: BTreeMap<SessionKey, Session>,
    pub jobs: Jobs,
    pub past: Pasts,
    pub logins: Logins,
    pub listings: Listings,
    pub recall: Recall,
    /// Time limits, in milliseconds.
    pub limits: Limits,
    /// The place of a plan while its turn runs.
    pub plan_place: PlanPlace,
    pub feedback_is_dirty: bool,
    pub terminals_told: TerminalsTold,
    pub next_agent: u32,
}

impl Conversation {
    /// Announces what an event has changed in queues and options, and writes the complete entries.
    pub(crate) fn settle(&mut self, fx: &mut Effects) {
        self.tell_queues(fx);
        self.tell_options(fx);
        self.keep_history(fx);
    }
}
