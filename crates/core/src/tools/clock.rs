//! Time limits of calls, and keep-alives while the user is asked.
//!
//! Invariant: time spent waiting for the user does not count. The clock uses only timers, each for
//! a slice of the limit; a slice in which a question was open is not counted.

use crate::spine::cx::Effects;
use crate::spine::effect::HostEffect;
use crate::spine::ids::ToolUseId;
use crate::spine::pending::Token;
use crate::spine::pending::reply::Timer;
use crate::spine::tool::Progress;
use crate::tools::Tools;

/// Number of slices of a limit; a call can exceed its limit by one slice.
const SLICES: u64 = 10;

/// Interval of keep-alives to the caller while the user is asked.
const SIGN_MS: u64 = 10_000;

/// The time used by a call.
#[derive(Debug, Default)]
pub(super) struct Clock {
    limit: Option<u64>,
    spent: u64,
    /// The timer of the current slice, and the slice's length.
    slice: Option<(Token<Timer>, u64)>,
    /// The timer of the next keep-alive.
    sign: Option<Token<Timer>>,
    /// The progress last reported to the caller.
    told: Option<Progress>,
}

/// The purpose of a timer.
#[derive(Debug, Clone, Copy)]
pub(super) enum ToolJob {
    /// The end of a slice of a call's time.
    Slice(ToolUseId),
    /// The next keep-alive to the caller.
    Sign(ToolUseId),
}

impl Clock {
    pub fn new(limit: Option<u64>) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// Returns a keep-alive: the last progress, slightly increased.
    fn sign(&mut self) -> Progress {
        let told = self.told.take();
        let sign = Progress {
            done: told.as_ref().map_or(0.0, |told| told.done) + 0.001,
            total: told.and_then(|told| told.total),
            message: Some("Waiting for the user.".into()),
        };
        self.told = Some(sign.clone());
        sign
    }

    /// Returns the running timers, for cancellation.
    pub fn stop(&mut self) -> impl Iterator<Item = Token<Timer>> + use<> {
        let slice = self.slice.take().map(|(token, _)| token);
        slice.into_iter().chain(self.sign.take())
    }
}

impl Tools {
    /// Applies the end of a call's timer; returns the call and its limit once that has passed.
    pub(crate) fn timer_ended(
        &mut self,
        token: Token<Timer>,
        fx: &mut Effects,
    ) -> Option<(ToolUseId, u64)> {
        let job = self.timers.take(token)?;
        let (ToolJob::Slice(id) | ToolJob::Sign(id)) = job;
        let clock = &mut self.uses.get_mut(&id)?.clock;
        if let ToolJob::Slice(_) = job {
            clock.spent += clock.slice.take().map_or(0, |(_, ms)| ms);
            if let Some(limit) = clock.limit.filter(|limit| clock.spent >= *limit) {
                return Some((id, limit));
            }
        } else {
            clock.sign = None;
            let progress = clock.sign();
            fx.push(HostEffect::ReportTool { id, progress });
        }
        self.mind_the_clock(id, fx);
        None
    }

    /// Reports a call's progress to the caller; returns whether the call runs.
    pub(crate) fn report(&mut self, id: ToolUseId, progress: Progress, fx: &mut Effects) -> bool {
        let Some(of) = self.uses.get_mut(&id).filter(|of| of.is_running()) else {
            return false;
        };
        of.clock.told = Some(progress.clone());
        fx.push(HostEffect::ReportTool { id, progress });
        true
    }

    /// Starts a call's clock, or stops it while the user is asked.
    pub(crate) fn mind_the_clock(&mut self, id: ToolUseId, fx: &mut Effects) {
        let Some(of) = self.uses.get_mut(&id) else {
            return;
        };
        let (is_asking, is_running) = (of.is_asking(), of.is_running());
        let clock = &mut of.clock;
        let slice = match clock.limit {
            Some(limit) if is_running && !is_asking => {
                let rest = limit.saturating_sub(clock.spent);
                Some(limit.div_ceil(SLICES).clamp(1, rest.max(1)))
            }
            _ => None,
        };
        let is_right = slice.is_some() == clock.slice.is_some();
        if !is_right && let Some((token, _)) = clock.slice.take() {
            self.timers.take(token);
        } else if !is_right && let Some(ms) = slice {
            let token = self.timer(ToolJob::Slice(id), ms, fx);
            if let Some(of) = self.uses.get_mut(&id) {
                of.clock.slice = Some((token, ms));
            }
        }
        let sign = self.uses.get(&id).and_then(|of| of.clock.sign);
        let sign = match (sign, is_asking) {
            (None, true) => Some(self.timer(ToolJob::Sign(id), SIGN_MS, fx)),
            (Some(token), false) => {
                self.timers.take(token);
                None
            }
            (same, _) => same,
        };
        if let Some(of) = self.uses.get_mut(&id) {
            of.clock.sign = sign;
        }
    }

    fn timer(&mut self, job: ToolJob, ms: u64, fx: &mut Effects) -> Token<Timer> {
        let token = self.timers.add(job);
        fx.push(HostEffect::Timer { token, ms });
        token
    }
}
