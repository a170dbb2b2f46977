//! The user's requests about past sessions, and their answers.
//!
//! Invariant: each request is answered once, even if an agent or the host does not answer.

use super::export;
use crate::conversation::Conversation;
use crate::conversation::history::state::{HistoryJob, Source, Wish};
use crate::spine::cx::{Effects, log, notify};
use crate::spine::effect::{EditorEffect, HostEffect, Level};
use crate::spine::history::{Bounds, Granted, HistoryNews, HistoryOrder};
use crate::spine::ids::SessionKey;
use crate::spine::pending::{Token, reply};

impl Conversation {
    /// Sets the limits on records, or turns records off.
    pub(crate) fn keep_sessions(&mut self, bounds: Option<Bounds>, fx: &mut Effects) {
        self.past.is_off = bounds.is_none();
        if let Some(bounds) = bounds {
            fx.push(HostEffect::History(HistoryOrder::Bound(bounds)));
        }
    }

    /// Handles a report of the host about records; returns the session that waited for it, if no
    /// process serves that yet.
    pub(crate) fn history_news(
        &mut self,
        token: Option<Token<reply::History>>,
        news: HistoryNews,
        fx: &mut Effects,
    ) -> Option<SessionKey> {
        let job = token.and_then(|token| self.jobs.history.take(token));
        match (job, news) {
            (_, HistoryNews::Failed(why)) => fx.push(notify(Level::Warn, why)),
            (Some(HistoryJob::Find(key)), HistoryNews::Found(found)) => {
                let session = self.sessions.get_mut(&key)?;
                session.history.is_looked_for = false;
                session.history.found = found.map(Box::new);
                // A prompt may have connected the session first.
                return session.agent.is_none().then_some(key);
            }
            (Some(HistoryJob::List(number)), HistoryNews::Listed(kept)) => {
                if let Some(listing) = self.past.listings.get_mut(&number) {
                    listing.kept = Some(kept);
                }
                self.tell_listings(fx);
            }
            (Some(HistoryJob::Export(number)), HistoryNews::Read(past)) => {
                let text = past.map(|past| export::kept(&past));
                grant(number, Granted::Exported(text), fx);
            }
            (Some(HistoryJob::Delete(number)), HistoryNews::Deleted(result)) => {
                if let Some(deletion) = self.past.deletions.get_mut(&number) {
                    deletion.own = Some(result);
                }
                self.tell_deletions(fx);
            }
            (job, news) => {
                let line = format!("{news:?} is no answer to {job:?}");
                fx.push(log(Level::Error, line));
            }
        }
        None
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
                fx.push(HostEffect::History(HistoryOrder::Read { token, name }));
            }
        }
    }
}

pub(super) fn grant(number: u32, granted: Granted, fx: &mut Effects) {
    fx.push(EditorEffect::Granted { number, granted });
}
