//! Time limits of calls, and keep-alives while the user is asked.
//!
//! Invariant: time spent waiting for the user does not count. The clock uses only timers, each for
//! a slice of the limit; a slice in which a question was open is not counted.

use crate::model::Model;
use crate::spine::cx::Effects;
use crate::spine::pending::{Token, reply};
use crate::spine::tool::ToolResult;

impl Model {
    /// Applies the end of a call's timer; of another one, the limited work has finished.
    pub(crate) fn tool_timer(&mut self, token: Token<reply::Timer>, fx: &mut Effects) {
        if let Some((id, limit)) = self.tools.timer_ended(token, fx) {
            let text = format!(
                "{} has taken longer than {} s, its time limit, and was stopped.",
                self.tools.tool_title(id).unwrap_or_default(),
                limit as f64 / 1000.0
            );
            self.stop_use(id, ToolResult::error(text), fx);
        }
    }
}
