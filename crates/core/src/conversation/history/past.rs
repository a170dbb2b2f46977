//! The user's requests about past sessions, and their answers.
//!
//! Invariant: each request is answered once, even if an agent or the host does not answer.

use super::keep::order;
use crate::conversation::Conversation;
use crate::conversation::history::state::{HistoryJob, Source, Wish};
use crate::spine::cx::Effects;
use crate::spine::effect::{EditorEffect, Effect};
use crate::spine::history::{Bounds, Granted, HistoryOrder};

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
