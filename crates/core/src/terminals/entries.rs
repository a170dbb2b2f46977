//! Links terminals to the transcript entries that show them.
//!
//! Invariant: a terminal is marked dirty once, regardless of the amount printed since its last
//! draw.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use super::shown::Output;
use super::{Terminal, Terminals};
use crate::spine::ids::SessionKey;
use crate::spine::view::Link;
use acp::{TerminalId, TerminalNews};

/// A tool call that shows terminals.
#[derive(Debug)]
pub(crate) struct Showing<'a> {
    pub session: SessionKey,
    /// The session's folder.
    pub cwd: &'a Path,
    /// The entry of the transcript.
    pub entry: usize,
    /// All terminals the call shows.
    pub ids: Vec<TerminalId>,
    /// The title the call gives its terminals.
    pub title: String,
    /// The output in the call's result, once the call has ended.
    pub output: Option<Cow<'a, str>>,
    pub is_over: bool,
    pub is_in_turn: bool,
}

impl Terminals {
    /// Links an entry to the terminals its tool call shows, and applies what the call's messages
    /// report of them.
    pub(crate) fn show_in(&mut self, call: Showing<'_>, reports: Vec<TerminalNews>) {
        let session = call.session;
        for report in reports {
            self.told(session, report, call.cwd);
        }
        for id in call.ids {
            let named = self.names.entry((session, id.clone())).or_default();
            named.entries.insert(call.entry);
            if let Some(key) = named.terminal {
                self.is_called(key, &call.title, call.is_in_turn);
                if let Some(output) = &call.output {
                    self.stand_in(key, output);
                }
                if call.is_over {
                    self.end_told(key);
                }
            }
            self.mark(session, &id);
        }
    }

    /// Takes the terminals whose entries show an older state; none while output is held back.
    pub(crate) fn take_dirty(&mut self) -> BTreeSet<(SessionKey, TerminalId)> {
        // The frame's snapshot contains the rest.
        self.has_news = false;
        match self.output {
            Output::Held => BTreeSet::new(),
            Output::Much | Output::Little => std::mem::take(&mut self.dirty),
        }
    }

    /// Returns a terminal, the link to it, and the entries that show it.
    pub(crate) fn named(
        &self,
        name: &(SessionKey, TerminalId),
    ) -> Option<(&Terminal, Link, &BTreeSet<usize>)> {
        let named = self.names.get(name)?;
        let key = named.terminal?;
        Some((self.all.get(&key)?, Link::Terminal(key), &named.entries))
    }
}
