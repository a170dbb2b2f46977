//! Which prompts a running turn can take, and what the transcript has of them.

use crate::conversation::Conversation;
use crate::conversation::session::Session;
use crate::spine::event::Prompt;
use crate::spine::ids::AgentKey;

impl Conversation {
    /// Returns whether a session's agent takes words into a running turn.
    pub(crate) fn can_steer(&self, session: &Session) -> bool {
        let info = session.agent.and_then(|agent| self.info(agent));
        info.is_some_and(|info| info.steering)
    }

    /// Returns the agent that takes this prompt into its running turn, if it can.
    pub(crate) fn steered_by(&self, session: &Session, prompt: &Prompt) -> Option<AgentKey> {
        let runs = !session.is_cancelled() && session.awaited().is_some();
        // The content of attachments is fetched for a turn, and a command is a turn.
        let is_plain = prompt.along().next().is_none() && !session.is_command(prompt);
        let agent = session.agent.filter(|agent| self.is_staying(*agent));
        agent.filter(|_| runs && is_plain && self.can_steer(session))
    }
}

impl Session {
    /// Moves a prompt that the agent has taken into the transcript.
    pub(crate) fn is_said(&mut self, request: u64) {
        if let Some(prompt) = self.queue.take_sent(request) {
            let text = prompt.shown(&self.spec.cwd);
            self.transcript.said(&text);
        }
    }

    /// Moves a prompt that the running turn has taken into the transcript.
    pub(crate) fn is_injected(&mut self, request: u64) {
        let begun = self.transcript.open_message().map(str::to_owned);
        self.is_said(request);
        if let Some(turn) = &mut self.turn {
            turn.is_unheeded = true;
            turn.begun = begun.or(turn.begun.take());
        }
    }

    /// Returns whether the running turn has taken words that no output has followed.
    pub(crate) fn is_unheeded(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.is_unheeded)
    }
}
