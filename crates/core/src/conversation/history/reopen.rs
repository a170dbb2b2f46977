//! Reopening past sessions: the record is shown where an agent does not replay the conversation,
//! and sent to an agent that has forgotten it.
//!
//! Invariant: the record of a session is looked up before its agent is asked for the session, and
//! is shown once.

use crate::conversation::Conversation;
use crate::conversation::history::state::HistoryJob;
use crate::conversation::session::Session;
use crate::conversation::transcript::Entry;
use crate::spine::cx::Effects;
use crate::spine::effect::{HostEffect, Level};
use crate::spine::history::{HistoryOrder, KeptEntry, On};
use crate::spine::ids::SessionKey;
use acp::ToolCallId;
use acp::client::PromptBlock;

/// The URI of a conversation that is attached to a prompt.
const CONVERSATION: &str = "conversation:/before.md";

impl Conversation {
    /// Looks up the record of a session that is being opened; returns whether the session waits for
    /// it.
    pub(crate) fn find_kept(&mut self, key: SessionKey, fx: &mut Effects) -> bool {
        let Some(session) = self.sessions.get_mut(&key) else {
            return false;
        };
        let Some(id) = session.id.as_ref().filter(|_| !self.past.is_off) else {
            return false;
        };
        let (agent, id) = (session.spec.name.clone(), id.0.to_string());
        session.history.is_looked_for = true;
        let token = self.jobs.history.add(HistoryJob::Find(key));
        fx.push(HostEffect::History(HistoryOrder::Find { token, agent, id }));
        true
    }

    /// Returns the conversation that the agent does not know, once.
    pub(crate) fn take_past(&mut self, key: SessionKey, embeds: bool) -> Option<PromptBlock> {
        let session = self.sessions.get_mut(&key)?;
        if !std::mem::take(&mut session.history.is_to_be_told) {
            return None;
        }
        let told = session.told_in_short()?;
        let text = format!(
            "This prompt goes on with a conversation that you do not have. So far it went like \
             this:\n{told}"
        );
        Some(match embeds {
            true => PromptBlock::Resource {
                uri: CONVERSATION.to_owned(),
                text,
                mime: Some("text/markdown".to_owned()),
            },
            false => PromptBlock::Text(text),
        })
    }
}

impl Session {
    /// Shows the session's record; returns whether there was one.
    pub(crate) fn show_kept(&mut self) -> bool {
        let found = self.history.found.take();
        let Some((name, past)) = found.map(|found| *found) else {
            return false;
        };
        if past.entries.is_empty() {
            return false;
        }
        if past.is_cut {
            let text = "The beginning of this conversation is not shown: it is too long.";
            self.transcript.notice(Level::Info, text);
        }
        self.go_on_with(name, &past);
        true
    }

    /// Lets the record go on behind a part of a replay that the transcript has, whose rest does not come.
    pub(crate) fn replay_was_cut(&mut self) {
        let has_part = self.history.found.is_some() && self.transcript.has_conversation();
        if has_part && !self.history.is_begun {
            self.is_told_again(|_| false);
        }
    }

    /// Handles the agent's replay of the conversation. The record is continued, unless the session
    /// was continued elsewhere since: then it is rewritten. One that was not read whole is continued
    /// in any case, because it may have more than the replay.
    ///
    /// Tool calls that are still open have ended, except those that `asked` names: the agent does
    /// not report how.
    pub(crate) fn is_told_again(&mut self, asked: impl Fn(&ToolCallId) -> bool) {
        self.transcript.cancel_tools_but(asked);
        self.compactions.end(&mut self.transcript);
        self.transcript.end_turn();
        self.transcript.end_told();
        self.transcript.progress.forget();
        let Some((name, past)) = self.history.found.take().map(|found| *found) else {
            return;
        };
        if self.title.is_none() {
            self.title.clone_from(&past.meta.title);
        }
        let entries = self.transcript.entries().iter();
        let told = entries.filter(|entry| matches!(entry, Entry::User(_)));
        let kept = past.entries.values();
        let is_user = |entry: &KeptEntry| matches!(entry, KeptEntry::User(_));
        let kept = kept.filter(|(_, entry)| is_user(entry)).count();
        if told.count() > kept && !past.is_cut {
            self.history.replaces(On::Replace(name));
            return;
        }
        let is_open = |entry: &Entry| matches!(entry, Entry::Tool(tool) if tool.is_open());
        let told = self.transcript.entries().iter().enumerate();
        let told: Vec<usize> = told
            .filter(|(_, entry)| !is_open(entry))
            .map(|(index, _)| index)
            .collect();
        self.transcript.news.pass_over(told.into_iter());
        self.history.goes_on_behind(name, &past);
    }
}
