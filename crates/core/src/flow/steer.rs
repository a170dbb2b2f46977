//! Steering: prompts that the user sends during a turn and that this turn takes.
//!
//! Invariant: a sent prompt stays in the queue until the agent has reported its outcome, and no
//! other turn begins before. So it is in the queue or in the transcript, and is sent once.

use serde_json::Value;

use crate::conversation::agent::Call;
use crate::model::Model;
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::Level;
use crate::spine::event::Prompt;
use crate::spine::ids::{AgentKey, SessionKey};
use acp::RpcError;
use acp::client::{self, Steered};

impl Model {
    /// Sends a prompt into the running turn; returns it if that is not possible.
    pub(super) fn steer(
        &mut self,
        key: SessionKey,
        prompt: Prompt,
        fx: &mut Effects,
    ) -> Option<Prompt> {
        let session = self.conversation.session(key);
        let found = session.and_then(|session| {
            let agent = self.conversation.steered_by(session, &prompt)?;
            Some((agent, session.id()?.clone()))
        });
        let Some((agent, id)) = found else {
            return Some(prompt);
        };
        let takes = self.conversation.takes(agent);
        let params = client::steer(&id, prompt.clone().into_blocks(takes));
        let call = Call::Steer(key);
        let Some(request) = self.conversation.request(agent, call, params, fx) else {
            return Some(prompt);
        };
        if let Some(session) = self.conversation.session_mut(key) {
            session.expect_echo(prompt.text.clone());
            session.queue_mut().push_sent(prompt, request);
        }
        None
    }

    /// Handles the agent's answer: the words are in its turn, or stay in the queue.
    pub(crate) fn steered(
        &mut self,
        agent: AgentKey,
        key: SessionKey,
        request: u64,
        result: Result<Value, RpcError>,
        fx: &mut Effects,
    ) {
        let session = self.conversation.session_mut(key);
        let Some(session) = session.filter(|session| session.is_served_by(agent)) else {
            return;
        };
        let (outcome, why) = match result {
            Ok(value) => (client::steered(&value), String::new()),
            Err(error) => (Steered::Failed, format!(" ({error})")),
        };
        match outcome {
            Steered::PromptRequired => session.queue_mut().keep_sent(Some(request)),
            Steered::Failed => {
                session.queue_mut().keep_sent(Some(request));
                let text = format!(
                    "The agent \"{}\" did not accept the prompt during its turn{why}: it is queued.",
                    session.name()
                );
                fx.push(notify(Level::Warn, text));
            }
            Steered::Injected => session.is_injected(request),
            Steered::StartedNewTurn => {
                session.is_said(request);
                let text = "The agent answers this prompt in a separate turn, whose end it does not report.";
                session.notice(Level::Info, text);
            }
        }
        self.next_prompt(key, fx);
    }

    /// Handles words whose fate the agent does not tell: they are not sent again.
    pub(super) fn steer_is_late(&mut self, key: SessionKey, request: u64, fx: &mut Effects) {
        if let Some(session) = self.conversation.session_mut(key) {
            session.is_said(request);
            let text = "The agent did not say whether it has accepted this prompt: if it does not act on \
                        it, send it again.";
            session.notice(Level::Warn, text);
        }
        self.next_prompt(key, fx);
    }
}
