//! The report of rejected changes that goes with the next prompt, as the transcript shows it.

use crate::model::Model;
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::Level;
use crate::spine::ids::SessionKey;

impl Model {
    /// Updates what depends on the state of reviews in other rooms: proposals at once, the report of
    /// rejections with the next frame, because it names all rejected files and each event decides
    /// one.
    pub(crate) fn settle_reviews(&mut self, fx: &mut Effects) {
        self.refresh_proposals(fx);
        if self.workspace.has_changed_reviews() {
            self.conversation.touch_feedback();
        }
    }

    /// Updates, in every chat, the report that is attached to the next prompt.
    pub(crate) fn refresh_feedback(&mut self) {
        if !self.conversation.take_feedback_dirty() {
            return;
        }
        let keys: Vec<SessionKey> = self.conversation.sessions().map(|(key, _)| key).collect();
        for key in keys {
            let feedback = self.workspace.feedback_of(key);
            let Some(session) = self.conversation.session_mut(key) else {
                continue;
            };
            session.show_feedback(feedback.as_ref());
        }
    }

    /// Returns the report for a prompt that is being sent, and clears it.
    pub(crate) fn take_feedback(&mut self, key: SessionKey) -> Option<String> {
        let feedback = self.workspace.feedback_of(key);
        if feedback.is_some() {
            self.workspace.rejects_are_told(key);
        }
        self.workspace.forget_rejected(key);
        let session = self.conversation.session_mut(key)?;
        session.feedback_sent(feedback)
    }

    /// Discards the pending reports; says so if there is none.
    pub(crate) fn drop_feedback(&mut self, session: Option<SessionKey>, fx: &mut Effects) {
        let mut any = false;
        let keys: Vec<SessionKey> = self.conversation.sessions().map(|(key, _)| key).collect();
        for key in keys
            .into_iter()
            .filter(|key| session.is_none_or(|s| s == *key))
        {
            any |= self.workspace.feedback_of(key).is_some();
            self.workspace.forget_rejected(key);
            if let Some(session) = self.conversation.session_mut(key) {
                any |= session.take_refused_report().is_some();
            }
        }
        if !any {
            fx.push(notify(Level::Info, "No rejected changes to report."));
        }
        self.conversation.touch_feedback();
    }
}
