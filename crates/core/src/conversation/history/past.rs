//! The user's requests about past sessions, and their answers.
//!
//! Invariant: each request is answered once, even if an agent or the host does not answer.

use crate::conversation::Conversation;
use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use super::delete::Deletion;
use super::keep::order;
use super::list::Listing;
use super::{Bounds, HistoryOrder, RecordName};
use crate::spine::cx::Effects;
use crate::spine::effect::{EditorEffect, Effect};
use crate::spine::ids::SessionKey;
use acp::{SessionId, path_as_text};

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
    pub(crate) listings: BTreeMap<u32, Listing>,
    pub(crate) deletions: BTreeMap<u32, Deletion>,
}

impl Conversation {
    /// Sets the limits on records, or turns records off.
    pub(crate) fn keep_sessions(&mut self, bounds: Option<Bounds>, fx: &mut Effects) {
        self.past.is_off = bounds.is_none();
        if let Some(bounds) = bounds {
            fx.push(order(HistoryOrder::Bound(bounds)));
        }
    }

    /// Carries out a request.
    pub(crate) fn wish(&mut self, number: u32, wish: Wish, fx: &mut Effects) {
        match wish {
            Wish::List(query) => self.list_past(number, query, fx),
            Wish::Delete { agent, id, name } => self.delete_past(number, &agent, id, name, fx),
            Wish::Export(Source::Session(key)) => {
                let session = self.sessions.get(&key);
                let text = session.map(|session| session.exported());
                let text = text.ok_or_else(|| "there is no such session".to_owned());
                grant(number, Granted::Exported(text), fx);
            }
            Wish::Export(Source::Kept(name)) => {
                let token = self.jobs.history.add(HistoryJob::Export(number));
                fx.push(order(HistoryOrder::Read { token, name }));
            }
        }
    }
}

pub(crate) fn grant(number: u32, granted: Granted, fx: &mut Effects) {
    fx.push(Effect::Editor(EditorEffect::Granted { number, granted }));
}
