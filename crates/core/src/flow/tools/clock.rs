//! Time limits of calls, and keep-alives while the user is asked.
//!
//! Invariant: time spent waiting for the user does not count. The clock uses only timers, each for
//! a slice of the limit; a slice in which a question was open is not counted.

use crate::model::Model;
use crate::spine::cx::Effects;
use crate::spine::effect::{Effect, HostEffect};
use crate::spine::tool::ToolResult;
use crate::tools::clock::ToolJob;

impl Model {
    /// Applies the end of a call's timer.
    pub(crate) fn tool_timer(&mut self, job: ToolJob, fx: &mut Effects) {
        match job {
            ToolJob::Slice(id) => {
                let Some(of) = self.tools.uses.get_mut(&id) else {
                    return;
                };
                let ms = of.clock.slice.take().map_or(0, |(_, ms)| ms);
                of.clock.spent += ms;
                match of.clock.limit.filter(|limit| of.clock.spent >= *limit) {
                    Some(limit) => {
                        let text = format!(
                            "{} has taken longer than {} s, its time limit, and was stopped.",
                            of.title(),
                            limit as f64 / 1000.0
                        );
                        self.stop_use(id, ToolResult::error(text), fx);
                    }
                    None => self.tools.mind_the_clock(id, fx),
                }
            }
            ToolJob::Sign(id) => {
                let Some(of) = self.tools.uses.get_mut(&id) else {
                    return;
                };
                of.clock.sign = None;
                let progress = of.clock.sign();
                fx.push(Effect::Host(HostEffect::ReportTool { id, progress }));
                self.tools.mind_the_clock(id, fx);
            }
        }
    }
}
