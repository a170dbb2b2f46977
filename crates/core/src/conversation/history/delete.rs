//! Deletion of past sessions: the record kept here and the session stored by the agent.
//!
//! Invariant: an open session is not deleted; the caller is answered once the host and the agent
//! have both answered.

use super::past::grant;
use crate::conversation::Conversation;
use crate::conversation::history::state::{Deletion, HistoryJob};
use crate::conversation::session::Session;
use crate::spine::cx::Effects;
use crate::spine::effect::HostEffect;
use crate::spine::history::{Granted, HistoryOrder, RecordName};
use acp::SessionId;

impl Conversation {
    pub(super) fn delete_past(
        &mut self,
        number: u32,
        agent: &str,
        id: Option<SessionId>,
        name: Option<RecordName>,
        fx: &mut Effects,
    ) {
        let is_it = |session: &Session| session.spec.name == agent && session.id == id;
        if id.is_some() && self.sessions.values().any(is_it) {
            let why = "this session is open: `:Acp close` in its chat closes it".to_owned();
            return grant(number, Granted::Deleted(Err(why)), fx);
        }
        let asked = id.as_ref().is_some_and(|id| {
            let mut agents = self.agents_called(Some(&agent.to_owned())).into_iter();
            agents.any(|agent| self.delete_session(agent, id.clone(), fx))
        });
        let deletion = Deletion {
            agents: id.filter(|_| asked).map(|id| (id, None)),
            is_kept: name.is_some(),
            own: name.is_none().then_some(Ok(())),
        };
        self.past.deletions.insert(number, deletion);
        if let Some(name) = name {
            let token = self.jobs.history.add(HistoryJob::Delete(number));
            fx.push(HostEffect::History(HistoryOrder::Delete { token, name }));
        }
        self.tell_deletions(fx);
    }

    /// Handles an agent's answer to a request to delete a session.
    pub(crate) fn deleted_by_agent(
        &mut self,
        session: &SessionId,
        result: Result<(), String>,
        fx: &mut Effects,
    ) {
        for deletion in self.past.deletions.values_mut() {
            if let Some((id, told)) = &mut deletion.agents
                && id == session
            {
                told.get_or_insert(result.clone());
            }
        }
        self.tell_deletions(fx);
    }

    /// Answers the deletions for which all answers have arrived.
    pub(super) fn tell_deletions(&mut self, fx: &mut Effects) {
        let deletions = std::mem::take(&mut self.past.deletions);
        for (number, deletion) in deletions {
            let is_agents_gone = matches!(&deletion.agents, Some((_, Some(Ok(())))));
            let result = match deletion {
                Deletion { own: None, .. }
                | Deletion {
                    agents: Some((_, None)),
                    ..
                } => {
                    self.past.deletions.insert(number, deletion);
                    continue;
                }
                // An agent that refuses may have lost the session long ago.
                Deletion {
                    agents: Some((_, Some(Err(_)))),
                    is_kept: true,
                    own: Some(Ok(())),
                } => Ok(false),
                Deletion {
                    agents: Some((_, Some(Err(why)))),
                    ..
                }
                | Deletion {
                    own: Some(Err(why)),
                    ..
                } => Err(why),
                Deletion {
                    own: Some(Ok(())), ..
                } => Ok(is_agents_gone),
            };
            grant(number, Granted::Deleted(result), fx);
        }
    }
}
