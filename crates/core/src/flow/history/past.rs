//! The user's requests about past sessions, and their answers.
//!
//! Invariant: each request is answered once, even if an agent or the host does not answer.

use crate::conversation::history::past::grant;
use crate::conversation::history::state::HistoryJob;
use crate::model::Model;
use crate::spine::cx::{Effects, log, notify};
use crate::spine::effect::Level;
use crate::spine::history::{Granted, HistoryNews};

impl Model {
    /// Handles a report of the host about records.
    pub(crate) fn history_news(
        &mut self,
        job: Option<HistoryJob>,
        news: HistoryNews,
        fx: &mut Effects,
    ) {
        match (job, news) {
            (_, HistoryNews::Failed(why)) => fx.push(notify(Level::Warn, why)),
            (Some(HistoryJob::Find(key)), HistoryNews::Found(found)) => {
                self.is_found(key, found, fx);
            }
            (Some(HistoryJob::List(number)), HistoryNews::Listed(kept)) => {
                if let Some(listing) = self.conversation.past.listings.get_mut(&number) {
                    listing.kept = Some(kept);
                }
                self.conversation.tell_listings(fx);
            }
            (Some(HistoryJob::Export(number)), HistoryNews::Read(past)) => {
                let text = past.map(|past| crate::conversation::history::export::kept(&past));
                grant(number, Granted::Exported(text), fx);
            }
            (Some(HistoryJob::Delete(number)), HistoryNews::Deleted(result)) => {
                if let Some(deletion) = self.conversation.past.deletions.get_mut(&number) {
                    deletion.own = Some(result);
                }
                self.conversation.tell_deletions(fx);
            }
            (job, news) => {
                let line = format!("{news:?} is no answer to {job:?}");
                fx.push(log(Level::Error, line));
            }
        }
    }
}
