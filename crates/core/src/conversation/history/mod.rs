//! Records of sessions: written while a session runs, read by later Neovim instances.
//!
//! Invariants: a record stores what the transcript shows of an entry, so that reading it back
//! restores the transcript; a later line about an entry replaces the earlier one, so a record is
//! append-only, and a truncated one is valid up to where it ends.

pub(crate) mod delete;
pub mod entry;
pub(crate) mod export;
pub(crate) mod keep;
pub mod lines;
pub(crate) mod list;
mod news;
pub(crate) mod past;
mod reopen;
mod time;
mod tool;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use self::entry::KeptEntry;
pub use self::keep::Keeping;
#[cfg(test)]
pub(crate) use self::keep::restore;
pub use self::lines::Past;
pub(crate) use self::news::News;
pub use self::past::{Granted, HistoryJob, PastSession, Pasts, Query, Source, Wish};
use crate::spine::ids::SessionKey;
use crate::spine::pending::{Token, reply};

/// The version of the records that are written.
pub const VERSION: u32 = 1;

/// The name that the host gave a record.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct RecordName(pub String);

/// The first line of a record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    pub version: u32,
    /// The agent's name in the config.
    pub agent: String,
    pub cwd: String,
    /// The root of the project, links resolved.
    pub project: String,
    /// The agent's id for the session, if it was known when the record began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// When the record was begun, in seconds since 1970; set by the host.
    #[serde(default)]
    pub created: u64,
}

/// Any other line of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// The current state of an entry of the transcript.
    Entry {
        /// Its number; a line with the same number replaces the earlier one.
        at: u32,
        /// The number of its parent tool call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        below: Option<u32>,
        entry: KeptEntry,
    },
    /// A question was answered.
    Permission {
        /// The tool call's id.
        tool: String,
        /// The chosen option; `None` when the question was withdrawn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        option: Option<String>,
        /// The number of the rule that answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<usize>,
    },
    /// A turn has ended.
    Turn { stop_reason: String },
    /// Metadata for lists; the last one counts.
    Meta(Meta),
}

/// Metadata of a session for lists.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meta {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The agent's title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The first line of the first prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    pub turns: u32,
}

impl Meta {
    /// Returns the session's name: the agent's title, else the first line of the first prompt.
    pub fn name(&self) -> Option<&str> {
        let title = self.title.as_deref().or(self.prompt.as_deref());
        title.filter(|title| !title.trim().is_empty())
    }
}

/// A record as lists show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub name: RecordName,
    pub header: Header,
    pub meta: Meta,
    /// When it was last written to, in seconds since 1970.
    pub updated: u64,
    /// The session of this Neovim that writes it.
    pub session: Option<SessionKey>,
}

/// Limits on the records that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Records not written to for this many days are deleted.
    pub days: u32,
}

/// Requests to the host about records, handled in order.
#[derive(Debug, Clone, PartialEq)]
pub enum HistoryOrder {
    /// Sets the limits.
    Bound(Bounds),
    /// Begins a session's record.
    Begin {
        session: SessionKey,
        header: Header,
        on: Option<On>,
    },
    Append {
        session: SessionKey,
        records: Vec<Record>,
    },
    /// Closes a session's record.
    End { session: SessionKey },
    /// Answered by `Listed`: the records of a project, or all.
    List {
        token: Token<reply::History>,
        project: Option<PathBuf>,
    },
    /// Answered by `Found`: the record of the session with the agent's id.
    Find {
        token: Token<reply::History>,
        agent: String,
        id: String,
    },
    /// Answered by `Read`.
    Read {
        token: Token<reply::History>,
        name: RecordName,
    },
    /// Answered by `Deleted`.
    Delete {
        token: Token<reply::History>,
        name: RecordName,
    },
}

/// What to do with an existing record of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum On {
    /// Appends to the record, or to a copy of it if another Neovim is writing it.
    GoOn(RecordName),
    /// Replaces the record: the new lines contain all of it.
    Replace(RecordName),
}

/// The host's reports about records.
#[derive(Debug)]
pub enum HistoryNews {
    /// Newest first.
    Listed(Vec<Kept>),
    Found(Option<(RecordName, Past)>),
    Read(Result<Past, String>),
    Deleted(Result<(), String>),
    /// A session's record cannot be written; a sentence with the path.
    Failed(String),
}
