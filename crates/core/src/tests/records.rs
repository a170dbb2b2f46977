//! A fake store for records of sessions: files in memory.

use std::collections::BTreeMap;

use crate::conversation::history::lines;
use crate::event::{ConversationEvent, Event};
use crate::spine::history::{HistoryNews, HistoryOrder, Kept, On, Past, RecordName};
use crate::spine::ids::SessionKey;

/// Records by name; each order advances the clock.
#[derive(Debug, Default)]
pub struct Records {
    pub files: BTreeMap<RecordName, String>,
    pub open: BTreeMap<SessionKey, RecordName>,
    /// The prompts that were stored for recall.
    pub prompts: Vec<String>,
    /// Only the ends of records are read.
    pub is_cut: bool,
    /// Time of each record's last write.
    times: BTreeMap<RecordName, u64>,
    now: u64,
}

impl Records {
    /// Carries out an order and returns its result.
    pub fn does(&mut self, order: HistoryOrder) -> Option<Event> {
        self.now += 1;
        let answer = |token, news| {
            let token = Some(token);
            Some(Event::Conversation(ConversationEvent::History {
                token,
                news,
            }))
        };
        match order {
            HistoryOrder::Bound(_) => None,
            HistoryOrder::Begin {
                session,
                header,
                on,
                ..
            } => {
                let new = || RecordName(format!("r{}", self.now));
                let name = match on {
                    Some(On::GoOn(name)) => name,
                    Some(On::Replace(name)) => {
                        self.files.remove(&name);
                        new()
                    }
                    None => new(),
                };
                let first = || lines::first_line(&header);
                self.files.entry(name.clone()).or_insert_with(first);
                self.times.insert(name.clone(), self.now);
                assert!(self.open.insert(session, name).is_none(), "begun twice");
                None
            }
            HistoryOrder::Append { session, records } => {
                let name = &self.open[&session];
                let file = self.files.entry(name.clone()).or_default();
                records.iter().for_each(|r| file.push_str(&lines::line(r)));
                self.times.insert(name.clone(), self.now);
                None
            }
            HistoryOrder::End { session } => {
                assert!(self.open.remove(&session).is_some(), "ended, never begun");
                None
            }
            HistoryOrder::List { token, project } => {
                let project = project.map(|path| path.display().to_string());
                let kept = self.files.keys().filter_map(|name| self.kept(name));
                let of = |kept: &Kept| project.as_ref().is_none_or(|p| *p == kept.header.project);
                let mut kept: Vec<Kept> = kept.filter(of).collect();
                kept.sort_by_key(|kept| std::cmp::Reverse(kept.updated));
                answer(token, HistoryNews::Listed(kept))
            }
            HistoryOrder::Find { token, agent, id } => {
                answer(token, HistoryNews::Found(self.find(&agent, &id)))
            }
            HistoryOrder::Read { token, name } => {
                let past = self.files.get(&name).and_then(|text| Past::of(text));
                let past = past.ok_or_else(|| format!("{} is not to be had", name.0));
                answer(token, HistoryNews::Read(past))
            }
            HistoryOrder::Delete { token, name } => {
                self.files.remove(&name);
                answer(token, HistoryNews::Deleted(Ok(())))
            }
        }
    }

    fn kept(&self, name: &RecordName) -> Option<Kept> {
        let past = Past::of(&self.files[name])?;
        let open = self.open.iter().find(|(_, open)| *open == name);
        Some(Kept {
            name: name.clone(),
            header: past.header,
            meta: past.meta,
            updated: self.times.get(name).copied().unwrap_or_default(),
            session: open.map(|(session, _)| *session),
        })
    }

    /// Finds the record of an agent's session.
    pub fn find(&self, agent: &str, id: &str) -> Option<(RecordName, Past)> {
        let kept = self.files.keys().filter_map(|name| self.kept(name));
        let mut kept = kept.filter(|kept| kept.header.agent == agent);
        let found = kept.find(|kept| kept.meta.id.as_deref() == Some(id))?;
        let past = Past {
            is_cut: self.is_cut,
            ..Past::of(&self.files[&found.name])?
        };
        Some((found.name, past))
    }

    /// Reads the record of an open session.
    pub fn past(&self, session: SessionKey) -> Option<Past> {
        Past::of(&self.files[self.open.get(&session)?])
    }
}
