//! What is kept of sessions: written down while they run, for the Neovims that come after.
//!
//! Invariants: what is kept of an entry is what the transcript shows of it, so a record that is
//! read back is the transcript that was; what is written down later of an entry takes the place of
//! what was before, so a record only ever grows, and one that ends anywhere is good up to there.

mod delete;
pub mod entry;
pub(crate) mod export;
mod keep;
pub mod lines;
mod list;
mod news;
mod past;
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

/// The version of records that is written.
pub const VERSION: u32 = 1;

/// The name that the host has given a record.
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
    /// The agent's id for the session, if it was known by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// When the record was begun, in seconds since 1970; the host knows.
    #[serde(default)]
    pub created: u64,
}

/// Any other line of a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// An entry of the transcript as it is by now.
    Entry {
        /// Its number; one that was written down before is replaced.
        at: u32,
        /// The number of the tool call it belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        below: Option<u32>,
        entry: KeptEntry,
    },
    /// A question was answered.
    Permission {
        /// The tool call's id.
        tool: String,
        /// What was chosen; nothing when the question was taken back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        option: Option<String>,
        /// The number of the rule that has answered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<usize>,
    },
    /// A turn has ended.
    Turn { stop_reason: String },
    /// What lists show; the last one counts.
    Meta(Meta),
}

/// What lists show of a session.
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
    /// Returns what the session is called: as its agent says, else by what was asked first.
    pub fn name(&self) -> Option<&str> {
        let title = self.title.as_deref().or(self.prompt.as_deref());
        title.filter(|title| !title.trim().is_empty())
    }
}

/// A record as lists have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub name: RecordName,
    pub header: Header,
    pub meta: Meta,
    /// When it was last written to, in seconds since 1970.
    pub updated: u64,
    /// The session of this Neovim that it is being written for.
    pub session: Option<SessionKey>,
}

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Records that nobody has written to for so long are given up.
    pub days: u32,
}

/// What the host shall do about records, one after the other.
#[derive(Debug, Clone, PartialEq)]
pub enum HistoryOrder {
    /// From now on so much is kept.
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
    /// Nothing more is to come of a session.
    End { session: SessionKey },
    /// Answered by `Listed`: the records of a project, or all.
    List {
        token: Token<reply::History>,
        project: Option<PathBuf>,
    },
    /// Answered by `Found`: the record of what its agent calls so.
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

/// What becomes of a record that there is already of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum On {
    /// It is gone on with; if somebody else is writing it, a copy of it is.
    GoOn(RecordName),
    /// What is to come has all of it.
    Replace(RecordName),
}

/// What the host has done about records.
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
