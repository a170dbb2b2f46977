//! Progress of a session: running tool calls, and pending announcements about them and the plan.
//!
//! Invariants: changes are announced with the next frame, or before any other announcement if that
//! is sooner; of several changes of one thing only the last is announced. So a burst costs the
//! editor only the changes it shows, and a blocked editor costs no memory.

use crate::model::Model;
use crate::spine::cx::{Effects, emit};
use crate::spine::effect::{EditorEffect, Effect};

impl Model {
    /// Announces the pending changes of all sessions, before any other announcement of the event.
    ///
    /// Called after each event; `is_due` is set with a frame, and when a terminal begins or ends.
    pub(crate) fn tell_progress(&mut self, is_due: bool, fx: &mut Effects) {
        let is_emit = |fx: &Effect| matches!(fx, Effect::Editor(EditorEffect::Emit(_)));
        let before = fx.iter().position(is_emit);
        if !is_due && before.is_none() {
            return;
        }
        let news = self.conversation.take_progress(&self.terminals.infos());
        let at = before.unwrap_or(fx.len());
        fx.insert_all(at, news.into_iter().map(emit));
    }
}
