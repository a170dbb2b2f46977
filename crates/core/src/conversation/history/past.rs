//! The user's requests about past sessions, and their answers.
//!
//! Invariant: each request is answered once, even if an agent or the host does not answer.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::delete::Deletion;
use super::keep::order;
use super::list::Listing;
use crate::conversation::Conversation;
use crate::spine::cx::Effects;
use crate::spine::effect::{EditorEffect, Effect};
use crate::spine::history::{Bounds, Granted, HistoryOrder, RecordName};
use crate::spine::ids::SessionKey;
use acp::SessionId;

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
