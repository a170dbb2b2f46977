//! Opening a session with its agent: a new one, or an existing one resumed.
//!
//! Invariants: a session keeps its id across processes until its agent has forgotten it; a
//! conversation that an agent replays enters the transcript once, after the whole replay has
//! arrived, and triggers no actions.

use crate::conversation::Conversation;
use crate::conversation::compaction::Compactions;
use crate::conversation::replay::Replay;
use crate::conversation::session::Session;
use crate::spine::effect::Level;
use crate::spine::event::Origin;
use crate::spine::ids::{AgentKey, SessionKey};
use acp::client::SessionAbilities;
use acp::{RpcError, SessionId, ToolCallId, Update, rpc};

/// The state of a session with its agent.
#[derive(Debug, Default)]
pub struct Opening {
    stage: OpeningStage,
    /// The session has content that the agent might resume.
    has_past: bool,
    /// It had some before the last prompt was sent.
    had_past: bool,
    /// The agent could not resume it.
    is_refused: bool,
}

#[derive(Debug, Default)]
enum OpeningStage {
    /// The session has not been requested from the agent, or the agent has ended.
    #[default]
    Closed,
    /// A new session is being opened; `Some` is the notice about the session it replaces.
    New(Option<String>),
    Resuming,
    Loading {
        /// The replay so far, unless the transcript has the conversation already.
        replay: Option<Replay>,
        /// The agent has sent a part of the replay since the timer last checked.
        is_telling: bool,
    },
    Open,
}

/// The request that opens a session.
pub(crate) enum Ask {
    New,
    Resume(SessionId),
    Load(SessionId),
}

impl Opening {
    /// Returns the state of a session; one that starts with an id has existed before.
    pub fn of(origin: &Origin) -> Self {
        Self {
            has_past: matches!(origin, Origin::Past { .. }),
            ..Self::default()
        }
    }

    /// Returns whether prompts can be sent.
    pub fn is_open(&self) -> bool {
        matches!(self.stage, OpeningStage::Open)
    }

    /// Handles the end of the process that served the session.
    pub fn close(&mut self) {
        self.stage = OpeningStage::Closed;
    }

    /// Records that a prompt is sent: the session has content to resume from now on.
    pub fn is_used(&mut self) {
        self.had_past = std::mem::replace(&mut self.has_past, true);
    }

    /// Records that the agent has begun with the prompt that was sent last.
    pub fn is_begun(&mut self) {
        self.had_past = true;
    }

    /// Records that the agent has not taken the prompt that was sent last.
    pub fn is_not_used(&mut self) {
        self.has_past = self.had_past;
    }
}

impl Session {
    /// Returns whether the request to the agent is pending.
    #[cfg(test)]
    pub(crate) fn is_asked_for(&self) -> bool {
        !matches!(
            self.opening.stage,
            OpeningStage::Closed | OpeningStage::Open
        )
    }

    #[cfg(test)]
    pub(crate) fn close_opening(&mut self) {
        self.opening.close();
    }

    /// Lets the session be requested again, although its agent refused to resume it before.
    pub(crate) fn allow_resuming(&mut self) {
        self.opening.is_refused = false;
    }

    /// Records that the agent could not resume the session, and shows its saved transcript.
    pub(crate) fn refused(&mut self) {
        self.show_kept();
        self.opening.is_refused = true;
    }

    /// Returns whether a load is not over.
    pub(crate) fn is_loading(&self) -> bool {
        matches!(self.opening.stage, OpeningStage::Loading { .. })
    }

    /// Returns whether a replay is held that the transcript does not have yet.
    pub(crate) fn is_replaying(&self) -> bool {
        let stage = &self.opening.stage;
        matches!(
            stage,
            OpeningStage::Loading {
                replay: Some(_),
                ..
            }
        )
    }

    pub(crate) fn is_resuming(&self) -> bool {
        matches!(self.opening.stage, OpeningStage::Resuming)
    }

    /// Begins to load the session.
    pub(crate) fn load(&mut self) {
        let is_here = self.transcript.has_conversation();
        self.opening.stage = OpeningStage::Loading {
            replay: (!is_here).then(Replay::default),
            is_telling: false,
        };
    }

    /// Holds an update of a replay; returns an update that must be applied now.
    pub(crate) fn hold(&mut self, update: Update) -> Option<Update> {
        let OpeningStage::Loading { replay, is_telling } = &mut self.opening.stage else {
            return Some(update);
        };
        *is_telling = true;
        match replay {
            Some(replay) => replay.hold(update),
            // The transcript has it already.
            None => Replay::default().hold(update),
        }
    }

    /// Returns whether the agent has sent a part of the replay since the last call.
    pub(crate) fn is_telling(&mut self) -> bool {
        match &mut self.opening.stage {
            OpeningStage::Loading { is_telling, .. } => std::mem::take(is_telling),
            _ => false,
        }
    }

    /// Takes the replay so far; more may follow.
    pub(crate) fn take_replay(&mut self) -> Option<Replay> {
        match &mut self.opening.stage {
            OpeningStage::Loading { replay, .. } => replay.as_mut().map(std::mem::take),
            _ => None,
        }
    }

    /// Handles the agent's answer that the session is open; returns whether it existed before, and
    /// what the agent has replayed of it.
    pub(crate) fn opened(&mut self, id: SessionId) -> (bool, Option<Replay>) {
        self.id = Some(id);
        match std::mem::replace(&mut self.opening.stage, OpeningStage::Open) {
            OpeningStage::New(instead) => {
                self.opening.has_past = false;
                self.opening.is_refused = false;
                self.history.is_to_be_told |= instead.is_some();
                if let Some(text) = instead {
                    self.transcript.notice(Level::Warn, text);
                }
                (false, None)
            }
            OpeningStage::Loading { replay, .. } => (true, replay),
            OpeningStage::Resuming | OpeningStage::Open | OpeningStage::Closed => (true, None),
        }
    }

    /// Forgets the agent's ids, except those that `is_kept` selects: it may use them again in a new
    /// session.
    pub(crate) fn forget_ids(&mut self, is_kept: impl Fn(&ToolCallId) -> bool) {
        self.transcript.forget_calls(is_kept);
        self.compactions = Compactions::default();
    }

    /// Returns how to open the session with an agent of these abilities.
    pub(crate) fn ask(&mut self, can: SessionAbilities) -> Ask {
        let is_here = self.transcript.has_conversation();
        let opening = &mut self.opening;
        let past = self.id.clone().filter(|_| opening.has_past);
        match past {
            Some(_) if opening.is_refused || !(can.load || can.resume) => {
                let name = &self.spec.name;
                let new = match is_here {
                    true => "this is a new session for it; the next prompt includes what was said",
                    false => "this is a new session for it, in which nothing was said yet",
                };
                let text = match opening.is_refused {
                    true => format!("The agent \"{name}\" starts over: {new}."),
                    false => {
                        format!("The agent \"{name}\" cannot go on with this conversation: {new}.")
                    }
                };
                opening.stage = OpeningStage::New(Some(text));
                Ask::New
            }
            Some(id) if can.resume && (is_here || !can.load) => {
                opening.stage = OpeningStage::Resuming;
                Ask::Resume(id)
            }
            Some(id) => {
                self.load();
                Ask::Load(id)
            }
            // The session never had a prompt.
            None => {
                opening.stage = OpeningStage::New(None);
                Ask::New
            }
        }
    }
}

impl Conversation {
    /// Returns whether another chat shows a session already, and detaches this one then: two would
    /// take each other's updates.
    pub(crate) fn is_open_elsewhere(&mut self, key: SessionKey) -> bool {
        let Some(session) = self.sessions.get(&key) else {
            return false;
        };
        let is_it =
            |other: &Session| other.id == session.id && other.spec.name == session.spec.name;
        let mut others = self.sessions.iter().filter(|(other, _)| **other != key);
        let is_open = session.id.is_some() && others.any(|(_, other)| is_it(other));
        if is_open && let Some(session) = self.sessions.get_mut(&key) {
            session.id = None;
            let text = "This conversation is open in another chat: `:AcpChat` goes there.";
            session.transcript.notice(Level::Warn, text);
        }
        is_open
    }

    /// Returns whether an agent may have refused a session because the user is not logged in: then
    /// its process is kept, because the log-in needs it.
    pub(crate) fn may_be_for_a_login(&self, agent: AgentKey, error: &RpcError) -> bool {
        match error.code {
            rpc::AUTH_REQUIRED => true,
            rpc::INVALID_PARAMS | rpc::METHOD_NOT_FOUND => false,
            _ => !self.auth_methods(agent).is_empty(),
        }
    }

    /// Returns the session an answer is for, unless another process serves it now.
    pub(crate) fn served(&mut self, agent: AgentKey, key: SessionKey) -> Option<&mut Session> {
        let staying = self.is_staying(agent);
        let served = |session: &&mut Session| staying && session.agent == Some(agent);
        self.sessions.get_mut(&key).filter(served)
    }

    /// Handles a resumed session whose agent has replayed nothing.
    pub(crate) fn nothing_was_told(&mut self, key: SessionKey) {
        let session = self.sessions.get_mut(&key);
        if session.is_some_and(Session::show_kept) {
            return;
        }
        let text = "The agent continues this conversation, but did not replay it: earlier messages \
                    are not shown.";
        self.notice(key, Level::Info, text);
    }
}
