//! Lists of sessions: open here, saved here, and stored by their agents.
//!
//! Invariants: a session is in a list once, even if several sources report it; an agent that does
//! not answer delays a list by [`LIST_MS`] at most.

use std::collections::BTreeSet;
use std::path::Path;

use super::past::grant;
use super::time;
use crate::conversation::Conversation;
use crate::conversation::history::state::{HistoryJob, Listing, Query};
use crate::conversation::jobs::TimerJob;
use crate::conversation::session::Session;
use crate::spine::cx::Effects;
use crate::spine::effect::HostEffect;
use crate::spine::event::AgentSpec;
use crate::spine::history::{Granted, HistoryOrder, Kept, PastSession};
use crate::spine::ids::{AgentKey, SessionKey};
use crate::spine::oneline::OneLine;
use acp::SessionId;
use acp::client::ListedSession;

/// Timeout for agents to list their sessions; then the list is answered without them.
const LIST_MS: u64 = 3_000;

impl Conversation {
    pub(super) fn list_past(&mut self, number: u32, query: Query, fx: &mut Effects) {
        let asked = self.ask_for_lists(&query, fx);
        let is_asked = !asked.is_empty();
        let listing = Listing {
            kept: None,
            asked,
            listed: Vec::new(),
            query,
        };
        let project = listing.query.project.clone();
        self.past.listings.insert(number, listing);
        let token = self.jobs.history.add(HistoryJob::List(number));
        fx.push(HostEffect::History(HistoryOrder::List { token, project }));
        if is_asked {
            let token = self.jobs.timers.add(TimerJob::Listing(number));
            let ms = LIST_MS;
            fx.push(HostEffect::Timer { token, ms });
        }
    }

    /// Asks the running agents for their sessions; returns the agents that were asked.
    fn ask_for_lists(&mut self, query: &Query, fx: &mut Effects) -> BTreeSet<AgentKey> {
        let cwd = query.project.as_ref().map(|_| query.cwd.clone());
        let wanted = query.agent.as_ref();
        let mut known: Vec<AgentSpec> = Vec::new();
        let mut asked = BTreeSet::new();
        for agent in self.agents_called(wanted) {
            let spec = self.agents.get(&agent).map(|agent| agent.spec.clone());
            // Another process of the same agent has the same sessions.
            let is_same = |spec: &AgentSpec, other: &AgentSpec| {
                spec.command == other.command && spec.args == other.args && spec.env == other.env
            };
            let Some(spec) = spec.filter(|spec| !known.iter().any(|it| is_same(it, spec))) else {
                continue;
            };
            if self.list_sessions(agent, cwd.clone(), fx) {
                known.push(spec);
                asked.insert(agent);
            }
        }
        asked
    }

    pub(super) fn agents_called(&self, name: Option<&String>) -> Vec<AgentKey> {
        let all = self.agents.iter();
        all.filter(|(_, agent)| name.is_none_or(|name| *name == agent.spec.name))
            .map(|(key, _)| *key)
            .collect()
    }

    /// Handles an agent's list of sessions, or its failure to list them.
    pub(crate) fn sessions_listed(
        &mut self,
        agent: AgentKey,
        result: Result<Vec<ListedSession>, String>,
        fx: &mut Effects,
    ) {
        let name = self.agents.get(&agent).map(|agent| agent.spec.name.clone());
        let (name, listed) = (name.unwrap_or_default(), result.unwrap_or_default());
        for listing in self.past.listings.values_mut() {
            if listing.asked.remove(&agent) {
                let listed = listed.iter().cloned();
                listing.listed.extend(listed.map(|one| (name.clone(), one)));
            }
        }
        self.tell_listings(fx);
    }

    /// Answers the lists for which all agents have answered.
    pub(super) fn tell_listings(&mut self, fx: &mut Effects) {
        let is_done = |listing: &Listing| listing.kept.is_some() && listing.asked.is_empty();
        let all = self.past.listings.iter();
        let done: Vec<u32> = all
            .filter(|(_, listing)| is_done(listing))
            .map(|(number, _)| *number)
            .collect();
        for number in done {
            if let Some(listing) = self.past.listings.remove(&number) {
                let sessions = self.gathered(listing);
                grant(number, Granted::Listed(sessions), fx);
            }
        }
    }

    /// Returns the sessions of a list, each once.
    fn gathered(&self, listing: Listing) -> Vec<PastSession> {
        let query = listing.query;
        let is_agents = |name: &str| query.agent.as_deref().is_none_or(|agent| agent == name);
        let open = self.sessions.iter();
        let open = open.filter(|(_, session)| {
            let project = query.project.as_ref();
            project.is_none_or(|project| *project == session.project)
        });
        let mut all: Vec<PastSession> = open.map(|(key, session)| session.listed(*key)).collect();
        for kept in listing.kept.into_iter().flatten() {
            add(&mut all, of_record(kept));
        }
        for (agent, listed) in listing.listed {
            let is_here = |cwd: &Path| {
                let project = query.project.as_deref();
                project.is_none_or(|project| cwd == project || cwd == query.cwd)
            };
            if listed.cwd.as_os_str().is_empty() || is_here(&listed.cwd) {
                add(&mut all, of_agent(agent, listed));
            }
        }
        all.retain(|session| is_agents(&session.agent));
        for session in &mut all {
            // A list has a line for each.
            let title = session.title.take();
            session.title = title.map(|title| OneLine::from_words(&title).into());
        }
        // A session without a prompt is the newest.
        all.sort_by_key(|session| std::cmp::Reverse(session.updated.unwrap_or(u64::MAX)));
        all
    }

    /// Handles the timeout of agents that list their sessions.
    pub(crate) fn list_is_due(&mut self, number: u32, fx: &mut Effects) {
        if let Some(listing) = self.past.listings.get_mut(&number) {
            listing.asked.clear();
        }
        self.tell_listings(fx);
    }
}

impl Session {
    fn listed(&self, key: SessionKey) -> PastSession {
        PastSession {
            session: Some(key),
            agent: self.spec.name.clone(),
            id: self.id.clone(),
            cwd: self.spec.cwd.clone(),
            title: self.topic().map(str::to_owned),
            ..PastSession::default()
        }
    }
}

fn of_record(kept: Kept) -> PastSession {
    PastSession {
        session: kept.session,
        agent: kept.header.agent,
        title: kept.meta.name().map(str::to_owned),
        id: kept.meta.id.map(|id| SessionId(id.into())),
        name: Some(kept.name),
        cwd: kept.header.cwd.into(),
        updated: Some(kept.updated),
        is_listed: false,
    }
}

fn of_agent(agent: String, listed: ListedSession) -> PastSession {
    PastSession {
        agent,
        id: Some(listed.session),
        cwd: listed.cwd,
        title: listed.title,
        updated: listed.updated.as_deref().and_then(time::seconds),
        is_listed: true,
        ..PastSession::default()
    }
}

/// Adds a session to a list, or merges it into the entry that is already in the list.
fn add(all: &mut Vec<PastSession>, new: PastSession) {
    let is_same = |known: &&mut PastSession| {
        let is_open = known.session.is_some() && known.session == new.session;
        is_open || known.id.is_some() && (&known.agent, &known.id) == (&new.agent, &new.id)
    };
    let Some(known) = all.iter_mut().find(is_same) else {
        return all.push(new);
    };
    known.name = known.name.take().or(new.name);
    // An agent's title is better than the first words of a prompt.
    let title = new.title.filter(|_| new.is_listed || known.title.is_none());
    known.title = title.or(known.title.take());
    known.updated = known.updated.max(new.updated);
    known.is_listed |= new.is_listed;
}
