//! Writing a session's record: its contents and the times of writing.
//!
//! Invariants: nothing is written before there is a prompt; a streamed entry is written once it is
//! complete, so the cost does not depend on the number of chunks.

use crate::model::Model;
use crate::spine::cx::Effects;

impl Model {
    /// Writes all remaining entries of all sessions, and the changes that wait to be reapplied,
    /// because Neovim quits.
    pub fn farewell(&mut self, fx: &mut Effects) {
        self.workspace.reapply_all(fx);
        for session in self.conversation.sessions.values_mut() {
            session.transcript.news.settle_all();
        }
        self.conversation.keep_history(fx);
    }
}
