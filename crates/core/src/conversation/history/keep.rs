//! Writing a session's record: its contents and the times of writing.
//!
//! Invariants: nothing is written before there is a prompt; a streamed entry is written once it is
//! complete, so the cost does not depend on the number of chunks.

use super::Past;
use crate::conversation::Conversation;
use crate::conversation::session::Session;
use crate::conversation::transcript::{Entry, Transcript};
use crate::spine::cx::Effects;
use crate::spine::effect::HostEffect;
use crate::spine::history::{Header, HistoryOrder, KeptEntry, Meta, Record, RecordName, VERSION};
use crate::spine::ids::SessionKey;

/// Restores a record at the end of a transcript.
pub(crate) fn restore(transcript: &mut Transcript, past: &Past) {
    let place = |number: u32| past.entries.keys().position(|known| *known == number);
    let entries = past.entries.values().map(|(below, entry)| {
        let above = below.and_then(place);
        (entry.restored(), above)
    });
    transcript.restore(entries.collect());
}

impl Session {
    /// Restores a session's record and continues it. If the session has entries already, the record is
    /// rewritten in the transcript's order; one that is too long to be read whole is continued without
    /// them.
    pub(crate) fn go_on_with(&mut self, name: RecordName, past: &Past) {
        let first = self.transcript.entries().len();
        restore(&mut self.transcript, past);
        let keeping = &mut self.history;
        if first > 0 && !past.is_cut {
            keeping.is_written_anew(name, past);
            for index in first..self.transcript.entries().len() {
                self.transcript.news.touch(index);
            }
            self.transcript.news.settle_all();
        } else {
            keeping.first = first;
            keeping.numbers = past.entries.keys().copied().collect();
            keeping.goes_on_behind(name, past);
            self.transcript.news.pass_over(0..first);
        }
        if self.title.is_none() {
            self.title.clone_from(&past.meta.title);
        }
    }

    /// Returns the session's current metadata for lists.
    fn meta(&self) -> Meta {
        let id = self.id.as_ref().map(|id| id.0.to_string());
        let keeping = &self.history;
        Meta {
            // The id may have ended with the process; the conversation is the same.
            id: id.or(keeping.told.id.clone()),
            title: self.title.clone().or(keeping.told.title.clone()),
            prompt: keeping.prompt.clone(),
            turns: keeping.turns,
        }
    }

    /// Returns the pending records.
    fn take_records(&mut self) -> Vec<Record> {
        let ready = self.transcript.news.take();
        let mut records = Vec::with_capacity(ready.len());
        for index in ready {
            let Some(entry) = self.transcript.entries().get(index) else {
                continue;
            };
            if let (Entry::User(message), None) = (entry, &self.history.prompt) {
                let first = message.markdown.text().lines().next();
                self.history.prompt = first.map(|line| line.trim().to_owned());
            }
            let below = self.transcript.family().parent(index);
            records.push(Record::Entry {
                at: self.history.number(index),
                below: below.map(|above| self.history.number(above)),
                entry: KeptEntry::of(entry),
            });
        }
        records.append(&mut self.history.pending);
        let meta = self.meta();
        if meta != self.history.told {
            self.history.told = meta.clone();
            records.push(Record::Meta(meta));
        }
        records
    }

    /// Returns whether any record is pending.
    fn has_news(&self) -> bool {
        let keeping = &self.history;
        let is_named = |title: &String| Some(title) == keeping.told.title.as_ref();
        let is_title_known = self.title.as_ref().is_none_or(is_named);
        let told = keeping.told.id.as_deref();
        let is_id_known = self.id.as_ref().is_none_or(|id| Some(&*id.0) == told);
        self.transcript.news.is_ready()
            || !keeping.pending.is_empty()
            || keeping.is_begun && !(is_title_known && is_id_known)
    }

    /// Returns whether the session has a prompt by which the user can recognize it.
    fn has_prompt(&self) -> bool {
        let mut entries = self.transcript.entries().iter();
        self.history.is_begun || entries.any(|entry| matches!(entry, Entry::User(_)))
    }

    #[cfg(test)]
    pub(crate) fn history_prompt(&self) -> Option<&str> {
        self.history.prompt.as_deref()
    }

    fn header(&self) -> Header {
        Header {
            version: VERSION,
            agent: self.spec.name.clone(),
            cwd: self.spec.cwd.to_string_lossy().into_owned(),
            project: self.project.to_string_lossy().into_owned(),
            id: self.id.as_ref().map(|id| id.0.to_string()),
            created: 0,
        }
    }
}

impl Conversation {
    /// Writes the complete entries of all sessions.
    pub(crate) fn keep_history(&mut self, fx: &mut Effects) {
        for (key, session) in &mut self.sessions {
            if !self.past.is_off && session.has_news() {
                keep(*key, session, fx);
            }
        }
    }

    /// Writes all remaining entries of all sessions.
    pub(crate) fn finish_history(&mut self, fx: &mut Effects) {
        for session in self.sessions.values_mut() {
            session.transcript.news.settle_all();
        }
        self.keep_history(fx);
    }

    /// Writes all remaining entries of a session that is closed, complete or not.
    pub(crate) fn end_history(&self, key: SessionKey, session: &mut Session, fx: &mut Effects) {
        if !self.past.is_off {
            session.transcript.news.settle_all();
            keep(key, session, fx);
        }
        if session.history.is_begun {
            let session = key;
            fx.push(HostEffect::History(HistoryOrder::End { session }));
        }
    }
}

/// Writes the complete entries of a session.
fn keep(key: SessionKey, session: &mut Session, fx: &mut Effects) {
    // While a replay goes on, it is not known yet what the record has of it.
    let is_replayed = session.history.found.is_some() && session.is_replaying();
    if is_replayed || !session.has_prompt() {
        return;
    }
    let records = session.take_records();
    if records.is_empty() {
        return;
    }
    if !session.history.is_begun {
        session.history.is_begun = true;
        fx.push(HostEffect::History(HistoryOrder::Begin {
            session: key,
            header: session.header(),
            on: session.history.on.take(),
        }));
    }
    let session = key;
    fx.push(HostEffect::History(HistoryOrder::Append {
        session,
        records,
    }));
}
