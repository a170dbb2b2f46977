//! Queued prompts, which wait until the session is ready or the turn has ended.
//!
//! Invariant: a prompt leaves the queue only when its turn begins, or when the user removes it or
//! closes the session: it stays if the agent ends, requires a log-in, or the turn is cancelled. What
//! waits when the user cancels a turn is held until the user sends one of it.

use crate::conversation::queue::QueueAction;
use crate::model::Model;
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::{EditorEffect, Level};
use crate::spine::event::Prompt;
use crate::spine::ids::{QueueId, SessionKey};

impl Model {
    /// Carries out the user's action on a queued prompt.
    pub(crate) fn queue_action(
        &mut self,
        key: SessionKey,
        id: QueueId,
        action: QueueAction,
        fx: &mut Effects,
    ) {
        let Some(session) = self.conversation.session_mut(key) else {
            return;
        };
        if let QueueAction::Move(by) = action {
            return session.queue_mut().shift(id, by);
        }
        let Some(prompt) = session.queue_mut().take(id) else {
            let text = "This prompt is no longer queued: it was sent or removed.";
            fx.push(notify(Level::Info, text));
            return;
        };
        match action {
            QueueAction::Edit => {
                fx.push(EditorEffect::PutPrompt {
                    session: key,
                    prompt,
                });
            }
            QueueAction::SendNow => {
                session.queue_mut().hold(false);
                self.send_first(key, prompt, fx);
            }
            QueueAction::Remove | QueueAction::Move(_) => {}
        }
    }

    /// Cancels the running turn, and holds the queued prompts.
    pub(crate) fn stop_turn(&mut self, key: SessionKey, fx: &mut Effects) {
        if let Some(session) = self.conversation.session_mut(key)
            && session.is_in_turn()
        {
            session.queue_mut().hold(true);
        }
        self.cancel(key, fx);
    }

    /// Sends a prompt before all others, at once; the running turn is cancelled.
    pub(crate) fn send_first(&mut self, key: SessionKey, prompt: Prompt, fx: &mut Effects) {
        let Some(session) = self.conversation.session_mut(key) else {
            return;
        };
        session.queue_mut().push_front(prompt);
        let is_busy = session.is_in_turn();
        if self.conversation.serving(key).is_none() {
            self.connect(key, fx);
        } else if is_busy {
            self.cancel(key, fx);
        }
        self.next_prompt(key, fx);
    }
}
