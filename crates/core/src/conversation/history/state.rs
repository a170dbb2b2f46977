//! The requests about past sessions that are pending, and what a session has stored.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::spine::history::{Kept, Meta, On, Past, Record, RecordName};
use crate::spine::ids::{AgentKey, SessionKey};
use acp::SessionId;
use acp::client::ListedSession;

/// The user's requests about past sessions. Each has its number, which the answer repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    List(Query),
    Delete {
        agent: String,
        id: Option<SessionId>,
        name: Option<RecordName>,
    },
    /// A conversation as markdown: of an open session, or of a record.
    Export(Source),
}

/// Filter for the listed sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    pub cwd: PathBuf,
    /// `cwd` with its links resolved; `None` for the sessions of all projects.
    pub project: Option<PathBuf>,
    /// Only sessions of this agent.
    pub agent: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Session(SessionKey),
    Kept(RecordName),
}

/// Work that continues when the host or a timer reports.
#[derive(Debug)]
pub enum HistoryJob {
    /// A session waits for the search for its record.
    Find(SessionKey),
    List(u32),
    Export(u32),
    Delete(u32),
}

/// Pending work on past sessions.
#[derive(Debug, Default)]
pub struct Pasts {
    /// The user has turned records off.
    pub(crate) is_off: bool,
    pub(super) listings: BTreeMap<u32, Listing>,
    pub(super) deletions: BTreeMap<u32, Deletion>,
}

/// A session whose deletion is pending.
#[derive(Debug)]
pub(crate) struct Deletion {
    /// The agent's id for the session, if the agent was asked, and its answer.
    pub(crate) agents: Option<(SessionId, Option<Result<(), String>>)>,
    /// Whether a record is kept here.
    pub(crate) is_kept: bool,
    /// The host's answer about the record; success if none is kept.
    pub(crate) own: Option<Result<(), String>>,
}

/// A list whose answers are pending.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) query: Query,
    pub(crate) kept: Option<Vec<Kept>>,
    /// Agents that have not answered.
    pub(crate) asked: BTreeSet<AgentKey>,
    pub(crate) listed: Vec<(String, ListedSession)>,
}

/// The state of a session's record.
#[derive(Debug, Default)]
pub struct Keeping {
    pub(crate) is_begun: bool,
    /// The record to continue, used when the first line is written.
    pub(crate) on: Option<On>,
    /// Index in the transcript of the first entry of that record, and the entries' numbers.
    pub(crate) first: usize,
    pub(crate) numbers: Vec<u32>,
    /// Higher than all of those numbers.
    next: u32,
    /// Pending records other than entries.
    pub(crate) pending: Vec<Record>,
    /// The metadata written last.
    pub(crate) told: Meta,
    pub(crate) prompt: Option<String>,
    pub(crate) turns: u32,
    /// The search for the session's record is pending.
    pub(crate) is_looked_for: bool,
    /// The record that was found, until it is shown or its agent replays the conversation.
    pub(crate) found: Option<Box<(RecordName, Past)>>,
    /// The agent does not know the transcript: it is sent with the next prompt.
    pub(crate) is_to_be_told: bool,
}

impl Keeping {
    /// Records the end of a turn.
    pub(crate) fn turn_ended(&mut self, reason: &str) {
        self.turns += 1;
        self.pending.push(Record::Turn {
            stop_reason: reason.to_owned(),
        });
    }

    /// Records that a question was answered or withdrawn.
    pub(crate) fn answered(&mut self, tool: &str, option: Option<String>, rule: Option<usize>) {
        self.pending.push(Record::Permission {
            tool: tool.to_owned(),
            option,
            rule,
        });
    }

    /// Makes the next write replace an existing record.
    pub(crate) fn replaces(&mut self, on: On) {
        self.on = Some(on);
    }

    /// Makes the next write replace an existing record with the whole transcript, which contains it.
    pub(crate) fn is_written_anew(&mut self, name: RecordName, past: &Past) {
        self.replaces(On::Replace(name));
        self.told.id.clone_from(&past.meta.id);
        self.turns = past.meta.turns;
    }

    /// Makes the next write append to an existing record.
    pub(crate) fn goes_on_behind(&mut self, name: RecordName, past: &Past) {
        let last = past.entries.keys().next_back();
        self.next = last.map_or(0, |last| last.saturating_add(1));
        self.on = Some(On::GoOn(name));
        self.told = past.meta.clone();
        self.prompt.clone_from(&past.meta.prompt);
        self.turns = past.meta.turns;
    }

    /// Returns the number of an entry in the record.
    pub(crate) fn number(&self, index: usize) -> u32 {
        let known = index.checked_sub(self.first);
        let known = known.and_then(|at| self.numbers.get(at).copied());
        let new = || {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            self.next.saturating_add(index)
        };
        known.unwrap_or_else(new)
    }
}
