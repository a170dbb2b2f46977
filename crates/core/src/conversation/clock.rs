//! The time a turn has run, and the time its agent has been silent.
//!
//! Invariant: a session has one timer at most that counts seconds, and none without a turn once it
//! has fired.

use crate::conversation::Conversation;
use crate::conversation::jobs::TimerJob;
use crate::spine::cx::Effects;
use crate::spine::effect::HostEffect;
use crate::spine::ids::{AgentKey, SessionKey};
use crate::spine::pending::{Token, reply};

/// The silence of an agent that is shown, in seconds.
const LONG: u32 = 60;

/// The silence after the answer to a load that ends the replay, in milliseconds.
pub const SILENCE_MS: u64 = 150;

/// The seconds of a turn.
#[derive(Debug, Default)]
pub struct Clock {
    /// The timer of the next second.
    pub(super) next: Option<Token<reply::Timer>>,
    ran: u32,
    silent: u32,
}

impl Clock {
    /// Counts a second. An agent that waits for something else is not silent.
    pub(super) fn tick(&mut self, is_waiting: bool) {
        self.ran = self.ran.saturating_add(1);
        self.silent = match is_waiting {
            true => 0,
            false => self.silent.saturating_add(1),
        };
    }

    /// Returns the time that the turn has run, after its first second.
    pub(crate) fn ran(&self) -> Option<String> {
        (self.ran > 0).then(|| spelled(self.ran))
    }

    /// Returns the time without a message from the agent, if it is long.
    pub(crate) fn silence(&self) -> Option<String> {
        (self.silent >= LONG).then(|| spelled(self.silent))
    }
}

/// Spells a time: `12s`, `2m 05s`, `1h 02m`.
fn spelled(seconds: u32) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m {:02}s", seconds % 60),
        _ => format!("{hours}h {:02}m", minutes % 60),
    }
}

impl Conversation {
    /// Sets the timer of a turn's next second.
    pub(crate) fn wait_a_second(&mut self, key: SessionKey, fx: &mut Effects) {
        let session = self.sessions.get_mut(&key);
        if let Some(turn) = session.and_then(|session| session.turn.as_mut()) {
            let token = self.jobs.timers.add(TimerJob::Second(key));
            turn.clock.next = Some(token);
            fx.push(HostEffect::Timer { token, ms: 1000 });
        }
    }

    /// Returns whether a session's turn has run this long.
    pub(crate) fn has_run(&self, key: SessionKey, seconds: u32) -> bool {
        let turn = self.sessions.get(&key).and_then(|it| it.turn.as_ref());
        turn.is_some_and(|turn| turn.clock.ran >= seconds)
    }

    /// Records a sign of life of an agent.
    pub(crate) fn heard(&mut self, agent: AgentKey) {
        let served = self.sessions.values_mut();
        for session in served.filter(|session| session.agent == Some(agent)) {
            if let Some(turn) = &mut session.turn {
                turn.clock.silent = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        let times = [1, 59, 60, 125, 3599, 3600, 7265].map(spelled);
        assert_eq!(
            times,
            [
                "1s", "59s", "1m 00s", "2m 05s", "59m 59s", "1h 00m", "2h 01m"
            ]
        );
    }
}
