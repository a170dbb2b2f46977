//! The tools that Neovim defines: who may call them, how far each call is, what came of it.
//!
//! Invariants: a call that was heard of is answered once, whatever becomes of its turn, its
//! session, its handler or the user; no handler runs that the user has not let run.

mod asks;
mod clock;
mod door;
mod permit;
mod registry;
pub mod schema;
mod shown;
mod twin;
mod uses;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

pub use self::clock::ToolJob;
pub(crate) use self::shown::keep_apart;
use self::twin::Over;
use self::uses::Use;
use crate::spine::ids::{SessionKey, ToolUseId};
use acp::ToolCallId;

/// What an agent sees of the server, and its calls begin with.
pub const SERVER: &str = "neovim";

/// How agents reach the tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Door {
    /// The Unix socket the server listens on.
    pub socket: PathBuf,
    /// The program that agents start to get there; `None` where it is not installed.
    pub proxy: Option<PathBuf>,
    /// What tokens are made of: nobody else knows it.
    pub secret: [u8; 32],
}

/// A tool as it was defined.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    /// What the user sees of it; its name where there is none.
    pub title: Option<String>,
    /// What the agent reads.
    pub description: String,
    /// The JSON Schema of its arguments: an object.
    pub parameters: Json,
    /// It changes nothing.
    pub is_read_only: bool,
    pub permission: ToolPermission,
    /// It is offered to agents.
    pub is_on: bool,
    /// How long its handler may take, the user's time not counted; `None`: without end.
    pub limit_ms: Option<u64>,
    /// The protocol's word for what kind of tool call it is.
    pub kind: String,
    /// It comes with the plugin.
    pub is_builtin: bool,
}

impl ToolSpec {
    /// Tells whether it is the same tool, switched on or not.
    fn is_as(&self, other: &Self) -> bool {
        let same = |tool: &Self| Self {
            is_on: true,
            ..tool.clone()
        };
        same(self) == same(other)
    }
}

/// Who decides whether a tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolPermission {
    Allow,
    Ask,
    Reject,
}

/// How far something is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    pub done: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// Content blocks as the Model Context Protocol has them.
    pub content: Vec<Json>,
    /// The same as data: an object.
    pub structured: Option<Map<String, Json>>,
    pub is_error: bool,
}

impl ToolResult {
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![json!({ "type": "text", "text": text.into() })],
            structured: None,
            is_error: false,
        }
    }

    pub fn error(text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::text(text)
        }
    }
}

/// What a handler may ask for. The answers are the protocol's own: those an agent would get.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolAsk {
    /// Answered as `fs/read_text_file` is.
    Read {
        path: PathBuf,
        line: Option<u32>,
        limit: Option<u32>,
    },
    /// Answered as `fs/write_text_file` is: merged, saved, reviewed.
    Write { path: PathBuf, content: String },
    /// Answered as `elicitation/create` with a form is.
    Form { message: String, schema: Json },
}

/// All there is about the tools.
#[derive(Debug, Default)]
pub struct Tools {
    door: Option<Door>,
    /// Nobody can reach the tools.
    has_failed: bool,
    /// How many tokens were made: each is another one.
    tokens: u64,
    /// The sessions in whose name somebody may come.
    admitted: BTreeSet<SessionKey>,
    defined: BTreeMap<String, Arc<ToolSpec>>,
    /// Those that agents were told of last.
    offered: Arc<[ToolSpec]>,
    /// The calls that have had no answer yet.
    uses: BTreeMap<ToolUseId, Use>,
    /// What the user always allows in a session.
    always: BTreeSet<(SessionKey, String)>,
    /// Calls that are over and that the agent has not told of itself.
    over: Vec<Over>,
    /// The entries that stand for a call.
    taken: BTreeSet<(SessionKey, ToolCallId)>,
    /// What agents call a call themselves, and the tool's name.
    twins: BTreeMap<(SessionKey, ToolCallId), String>,
}

impl Tools {
    /// Tells whether a call has had no answer yet.
    #[cfg(test)]
    pub(crate) fn is_open(&self, id: ToolUseId) -> bool {
        let of = self.uses.get(&id);
        of.is_some_and(|of| of.is_complete())
    }

    /// Tells whether a call's handler runs for a session.
    #[cfg(test)]
    pub(crate) fn runs_in(&self, id: ToolUseId, session: SessionKey) -> bool {
        let of = self.uses.get(&id);
        of.is_some_and(|of| of.session == session && of.is_running())
    }
}
