//! The model: all rooms' state, owned by the core thread.
//!
//! Invariant: everything the screen and the public API show is derived from here.

use crate::conversation::Conversation;
use crate::conversation::session::Phase;
use crate::questions::Questions;
use crate::spine::ids::SessionKey;
use crate::terminals::Terminals;
use crate::tools::Tools;
use crate::view::View;
use crate::workspace::Workspace;

/// One component per room.
#[derive(Debug, Default)]
pub struct Model {
    pub workspace: Workspace,
    pub questions: Questions,
    pub terminals: Terminals,
    pub tools: Tools,
    pub conversation: Conversation,
    pub view: View,
}

impl Model {
    /// Returns whether an agent works, on a prompt or outside a turn.
    pub fn is_working(&self) -> bool {
        let mut sessions = self.conversation.sessions();
        sessions.any(|(key, session)| session.is_in_turn() || self.workspace.works_outside(key))
    }

    pub fn phase(&self, key: SessionKey) -> Phase {
        let session = self.conversation.session(key);
        session.map_or(Phase::Dead, |session| {
            session.phase(self.questions.wait_in(key))
        })
    }
}
