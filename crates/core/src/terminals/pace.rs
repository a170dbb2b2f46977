//! Schedules terminal output between keystrokes while the user types in another window.
//!
//! Invariants: no output is drawn between a key and its echo on the screen; output waits for at
//! most [`CALM`] and one key, so it stays live at any typing speed.

use std::time::Duration;

use super::Output;

/// The user counts as typing for this long after a key.
pub const TYPING: Duration = Duration::from_millis(500);

/// The time a key needs to reach the screen; the next one is then furthest away.
const DRAWN: Duration = Duration::from_millis(2);

/// Minimum time between two updates that follow keys.
const APART: Duration = Duration::from_millis(50);

/// Time after which a terminal is updated without waiting for a key.
const CALM: Duration = Duration::from_millis(100);

/// Times of the last key and of the last update, measured from a fixed moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pace {
    pub key: Option<Duration>,
    pub fed: Option<Duration>,
}

impl Pace {
    /// Returns the output a frame may contain now; for [`Output::Held`], also the time at which
    /// that changes.
    pub fn at(self, now: Duration) -> (Output, Duration) {
        let is_typing = |key: &Duration| now.saturating_sub(*key) < TYPING;
        let Some(key) = self.key.filter(is_typing) else {
            return (Output::Much, now);
        };
        let drawn = key + DRAWN;
        let due = match self.fed {
            Some(fed) if fed + APART > drawn => drawn.max(fed + CALM),
            Some(_) | None => drawn,
        };
        match due <= now {
            true => (Output::Little, now),
            false => (Output::Held, due),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the output allowed `now` and the time it is due, in milliseconds.
    #[track_caller]
    fn check(key: Option<u64>, fed: Option<u64>, now: u64, output: Output, due: u64) {
        let after = Duration::from_millis;
        let pace = Pace {
            key: key.map(after),
            fed: fed.map(after),
        };
        assert_eq!(pace.at(after(now)), (output, after(due)));
    }

    #[test]
    fn who_does_not_type_sees_all_there_is() {
        check(None, None, 0, Output::Much, 0);
        check(None, Some(999), 1000, Output::Much, 1000);
        check(Some(0), Some(999), 1000, Output::Much, 1000);
    }

    #[test]
    fn output_comes_behind_a_key() {
        check(Some(1000), None, 1000, Output::Held, 1002);
        check(Some(1000), Some(900), 1001, Output::Held, 1002);
        check(Some(1000), Some(900), 1002, Output::Little, 1002);
    }

    #[test]
    fn keys_that_come_fast_share_what_is_fed_behind_them() {
        check(Some(1000), Some(960), 1002, Output::Held, 1060);
        check(Some(1010), Some(960), 1011, Output::Held, 1012);
    }

    #[test]
    fn a_pause_in_typing_lets_output_come_now_and_then() {
        check(Some(1000), Some(1002), 1050, Output::Held, 1102);
        check(Some(1000), Some(1002), 1102, Output::Little, 1102);
    }
}
