//! Records of sessions: their lines, and what the core and the host tell each other about them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::spine::effect::Level;
use crate::spine::ids::SessionKey;
use crate::spine::pending::{Token, reply};
use acp::{Location, PlanEntry, SessionId, ToolStatus, path_as_text};

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

/// The answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Granted {
    /// Newest first.
    Listed(Vec<PastSession>),
    /// The markdown, or the error.
    Exported(Result<String, String>),
    /// Whether its agent has deleted it too.
    Deleted(Result<bool, String>),
}

/// A session as lists show it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PastSession {
    /// The session, if it is open here.
    pub session: Option<SessionKey>,
    pub agent: String,
    pub id: Option<SessionId>,
    /// The record, if one is kept here.
    #[serde(rename = "record")]
    pub name: Option<RecordName>,
    #[serde(serialize_with = "path_as_text")]
    pub cwd: PathBuf,
    pub title: Option<String>,
    /// In seconds since 1970.
    pub updated: Option<u64>,
    /// The agent lists it.
    #[serde(rename = "listed")]
    pub is_listed: bool,
}

/// An entry in its persistent form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptEntry {
    User(KeptMessage),
    Agent(KeptMessage),
    Thought(KeptMessage),
    Tool(Box<KeptTool>),
    Plan(Vec<PlanEntry>),
    Notice {
        level: Level,
        text: String,
    },
    /// An attachment of a prompt.
    Along {
        head: String,
        lines: Vec<KeptLine>,
    },
    Unknown {
        kind: String,
        raw: Value,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptMessage {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub text: String,
}

/// A line with its highlights: start and end in bytes, group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptLine {
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<(u32, u32, String)>,
}

/// A tool call in its persistent form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptTool {
    pub tool_call_id: String,
    pub title: String,
    pub kind: String,
    pub status: ToolStatus,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<KeptToolContent>,
    /// The rows of their files at which the content's diffs were located.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<(usize, u32)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locations: Vec<Location>,
    /// The output its terminals showed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub terminals: Vec<KeptTerminal>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_input: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_output: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum KeptToolContent {
    Content {
        content: KeptContent,
    },
    Diff {
        path: String,
        #[serde(default, rename = "oldText", skip_serializing_if = "Option::is_none")]
        old: Option<String>,
        #[serde(rename = "newText")]
        new: String,
    },
    Terminal {
        #[serde(rename = "terminalId")]
        id: String,
    },
    Unknown {
        kind: String,
        raw: Value,
    },
}

/// A content block; of one that is not text, only its label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum KeptContent {
    Text {
        text: String,
    },
    Image {
        mime: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uri: Option<String>,
        bytes: usize,
    },
    Audio {
        mime: String,
        bytes: usize,
    },
    ResourceLink {
        uri: String,
        name: String,
    },
    Resource {
        uri: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    Unknown {
        kind: String,
        raw: Value,
    },
}

/// The part of a terminal's output that the transcript showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptTerminal {
    pub id: String,
    pub lines: Option<Vec<KeptLine>>,
    pub has_output: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// A record that was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Past {
    pub header: Header,
    pub meta: Meta,
    /// By number, each with the number of its parent tool call.
    pub entries: BTreeMap<u32, (Option<u32>, KeptEntry)>,
    /// The beginning was too large to be read.
    pub is_cut: bool,
}
