//! A session's turn: its prompt waits to be sent, then for its answer.
//!
//! Invariant: a prompt that was not sent is not lost with its turn: `outgoing` has it.

use crate::conversation::Conversation;
use crate::conversation::clock::Clock;
use crate::conversation::session::{Echo, Session, Turn, TurnStage};
use crate::spine::attachment::Attachment;
use crate::spine::cx::Effects;
use crate::spine::event::Prompt;
use crate::spine::ids::SessionKey;
use crate::spine::pending::{Token, reply};
use acp::{Content, SessionId};

/// How a turn has ended.
pub(crate) struct Ended {
    pub is_cancelled: bool,
    /// The prompt was sent.
    pub was_sent: bool,
}

impl Session {
    pub fn is_in_turn(&self) -> bool {
        self.turn.is_some()
    }

    /// Returns whether the user has cancelled the turn.
    pub fn is_cancelled(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.cancelled)
    }

    /// Returns whether the agent has sent output in this turn.
    pub(crate) fn has_spoken(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.spoke)
    }

    /// Records that the agent has sent output.
    pub(crate) fn speaks(&mut self) {
        self.writes(None);
    }

    /// Records that the agent has sent output; `message` is the message it belongs to.
    pub(crate) fn writes(&mut self, message: Option<&str>) {
        if let Some(turn) = &mut self.turn {
            turn.spoke = true;
            self.opening.is_begun();
            if message.is_none() || message != turn.begun.as_deref() {
                turn.is_unheeded = false;
            }
        }
    }

    pub(crate) fn clock(&self) -> Option<&Clock> {
        self.turn.as_ref().map(|turn| &turn.clock)
    }

    /// Returns the prompt that waits to be sent.
    pub(crate) fn outgoing(&self) -> Option<&Prompt> {
        match &self.turn.as_ref()?.stage {
            TurnStage::Checkpoint(prompt) => Some(prompt),
            TurnStage::Answer(_) => None,
        }
    }

    pub(super) fn outgoing_mut(&mut self) -> Option<&mut Prompt> {
        match &mut self.turn.as_mut()?.stage {
            TurnStage::Checkpoint(prompt) => Some(prompt),
            TurnStage::Answer(_) => None,
        }
    }

    /// Returns the request whose answer ends the turn.
    pub(crate) fn awaited(&self) -> Option<u64> {
        match self.turn.as_ref()?.stage {
            TurnStage::Checkpoint(_) => None,
            TurnStage::Answer(request) => Some(request),
        }
    }

    /// Begins the turn of the first queued prompt, if there is one and the session is ready.
    pub(crate) fn begin_turn(&mut self) -> bool {
        let is_busy = self.is_in_turn() || self.login.is_needed || self.options.is_setting_up();
        if is_busy || !self.opening.is_open() {
            return false;
        }
        let Some(mut prompt) = self.queue.pop_front() else {
            return false;
        };
        prompt.along_mut().for_each(Attachment::renew);
        self.transcript.begin_turn(&prompt.shown(&self.spec.cwd));
        self.stop_reason = None;
        self.turn = Some(Turn {
            stage: TurnStage::Checkpoint(Box::new(prompt)),
            cancelled: false,
            spoke: false,
            clock: Clock::default(),
            echo: None,
            is_unheeded: false,
            begun: None,
        });
        true
    }

    /// Takes the prompt that waits to be sent, and the id of its session.
    pub(crate) fn take_outgoing(&mut self) -> Option<(Prompt, SessionId)> {
        let id = self.id.clone()?;
        let prompt = std::mem::take(self.outgoing_mut()?);
        // Up to here, output belongs to the last turn.
        self.turn.as_mut()?.spoke = false;
        Some((prompt, id))
    }

    /// Expects that the agent echoes a prompt.
    pub(crate) fn expect_echo(&mut self, rest: String) {
        if let Some(turn) = &mut self.turn {
            let taken = String::new();
            turn.echo = Some(Echo { rest, taken });
        }
    }

    /// Records that the prompt was sent with this request.
    pub(crate) fn prompt_sent(&mut self, request: u64) {
        if let Some(turn) = &mut self.turn {
            turn.stage = TurnStage::Answer(request);
            self.opening.is_used();
        }
    }

    /// Marks the turn as cancelled; returns its request, once.
    pub(crate) fn cancel_turn(&mut self) -> Option<u64> {
        let turn = self.turn.as_mut().filter(|turn| !turn.cancelled)?;
        turn.cancelled = true;
        self.transcript.cancel_tools();
        self.awaited()
    }

    /// Ends the turn.
    pub(crate) fn end_turn(&mut self, reason: &str) -> Ended {
        let ended = Ended {
            is_cancelled: self.is_cancelled(),
            was_sent: self.awaited().is_some(),
        };
        self.turn = None;
        self.stop_reason = Some(reason.to_owned());
        self.transcript.end_turn();
        self.history.turn_ended(reason);
        ended
    }

    /// Removes the echo of the prompt from a user's chunk: some agents send the prompt back, whole
    /// or in pieces.
    ///
    /// If a later chunk differs from the prompt, the removed part is restored.
    pub(crate) fn not_echoed(&mut self, content: Content) -> Option<Content> {
        let (Some(turn), Content::Text(text)) = (&mut self.turn, &content) else {
            return Some(content);
        };
        let Some(mut echo) = turn.echo.take() else {
            return Some(content);
        };
        if let Some(rest) = echo.rest.trim_start().strip_prefix(text.trim()) {
            echo.rest = rest.to_owned();
            echo.taken.push_str(text);
            turn.echo = Some(echo);
            return None;
        }
        match echo.rest.trim().is_empty() {
            true => Some(content),
            false => Some(Content::Text(echo.taken + text)),
        }
    }
}

impl Conversation {
    /// Counts a second of a turn; the agent is not silent while it waits for something else.
    pub(crate) fn second_passed(
        &mut self,
        key: SessionKey,
        token: Token<reply::Timer>,
        is_waiting: bool,
        fx: &mut Effects,
    ) {
        let session = self.sessions.get_mut(&key);
        let turn = session.and_then(|session| session.turn.as_mut());
        // Otherwise it was a second of an earlier turn.
        if let Some(turn) = turn.filter(|turn| turn.clock.next == Some(token)) {
            turn.clock.tick(is_waiting);
            self.wait_a_second(key, fx);
        }
    }
}
