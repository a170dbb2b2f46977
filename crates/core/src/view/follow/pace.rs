//! Pace of following: a move depends on the user's recent actions.
//!
//! Invariant: two moves are at least [`GAP`] apart; the window that follows does not move while the
//! user is in it, nor within [`REST`] after an action of the user there.

use std::time::Duration;

/// Minimum time between two moves: a burst of reads must not flicker.
const GAP: Duration = Duration::from_millis(350);

/// Time without moves after the user has moved in the window.
pub const REST: Duration = Duration::from_secs(3);

/// Time after the end of a turn in which its last place is still shown.
const GRACE: Duration = Duration::from_secs(3);

/// Interval for polling the end of a command, which no event reports.
const AGAIN: Duration = Duration::from_millis(100);

/// The state of the user's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Normal mode, no key pending.
    Free,
    /// A command, a macro or the command-line window, whose end must be polled.
    InCommand,
    /// Another mode, whose end an event reports.
    Busy,
}

/// The facts a move depends on; the times are durations since an event.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    pub moment: Moment,
    /// Since the last move.
    pub went: Option<Duration>,
    /// Since the user's last action in the window that follows.
    pub touched: Option<Duration>,
    /// The user is in that window.
    pub is_here: bool,
    /// Since the end of the turn.
    pub over: Option<Duration>,
}

/// The decision about a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Go,
    /// Not now: decide again after this time.
    Wait(Duration),
    /// Not before the user's next action, which an event reports.
    Rest,
    /// Too late: the move is dropped.
    Never,
}

pub fn next(facts: &Facts) -> Next {
    let left = |ago: Option<Duration>, time: Duration| {
        let left = time.checked_sub(ago?)?;
        (!left.is_zero()).then_some(left)
    };
    if facts.over.is_some() && left(facts.over, GRACE).is_none() {
        return Next::Never;
    }
    if facts.moment == Moment::Busy || facts.is_here {
        return Next::Rest;
    }
    let waits = [left(facts.went, GAP), left(facts.touched, REST)];
    match waits.into_iter().flatten().max() {
        Some(time) => Next::Wait(time),
        None if facts.moment == Moment::InCommand => Next::Wait(AGAIN),
        None => Next::Go,
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Checks the decision ten seconds after every event, except for the facts that `change` sets.
    #[track_caller]
    fn check(change: impl FnOnce(&mut Facts), want: Next) {
        let long = Some(Duration::from_secs(10));
        let mut facts = Facts {
            moment: Moment::Free,
            went: long,
            touched: long,
            is_here: false,
            over: None,
        };
        change(&mut facts);
        assert_eq!(next(&facts), want, "{facts:?}");
    }

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_move_waits_for_the_user() {
        check(|_| {}, Next::Go);
        check(|facts| facts.moment = Moment::Busy, Next::Rest);
        check(|facts| facts.is_here = true, Next::Rest);
        check(|facts| facts.moment = Moment::InCommand, Next::Wait(AGAIN));
        check(|facts| facts.touched = Some(MS), Next::Wait(REST - MS));
        check(|facts| facts.touched = Some(REST), Next::Go);
    }

    #[test]
    fn a_move_waits_for_the_one_before() {
        check(|facts| facts.went = Some(Duration::ZERO), Next::Wait(GAP));
        check(|facts| facts.went = Some(GAP), Next::Go);
        check(|facts| facts.went = None, Next::Go);
    }

    #[test]
    fn a_move_after_the_turn_is_made_soon_or_never() {
        check(|facts| facts.over = Some(Duration::ZERO), Next::Go);
        check(|facts| facts.over = Some(GRACE), Next::Never);
        let late = |facts: &mut Facts| {
            facts.over = Some(GRACE);
            facts.moment = Moment::Busy;
        };
        check(late, Next::Never);
    }

    proptest! {
        /// For any sequence of places and user actions: the moves keep their distance in time, none
        /// happens during an action, and the last place is reached once the user rests.
        #[test]
        fn moves_are_few_and_the_last_place_is_reached(
            steps in vec((0..200u64, any::<bool>(), 0..5u8), 1..100),
        ) {
            let (mut now, mut went, mut touched) = (Duration::ZERO, None, None);
            let (mut moves, mut pending) = (0, false);
            let facts = |now: Duration, moment, went: Option<Duration>, touched: Option<Duration>| {
                Facts {
                    moment,
                    went: went.map(|then| now - then),
                    touched: touched.map(|then| now - then),
                    is_here: false,
                    over: None,
                }
            };
            for (ms, comes, user) in steps {
                now += Duration::from_millis(ms);
                pending |= comes;
                let moment = match user {
                    0 => Moment::Busy,
                    1 => Moment::InCommand,
                    _ => Moment::Free,
                };
                if user == 4 && ms % 10 == 7 {
                    touched = Some(now);
                }
                if pending && next(&facts(now, moment, went, touched)) == Next::Go {
                    prop_assert!(moment == Moment::Free);
                    prop_assert!(touched.is_none_or(|then| now - then >= REST));
                    (went, pending, moves) = (Some(now), false, moves + 1);
                }
            }
            let room = now.as_millis() / GAP.as_millis() + 1;
            prop_assert!(moves <= room, "{moves} moves, room for {room}");
            for _ in 0..5 {
                match next(&facts(now, Moment::Free, went, touched)) {
                    Next::Go => pending = false,
                    Next::Wait(time) => now += time,
                    other => prop_assert!(false, "{other:?}"),
                }
            }
            prop_assert!(!pending, "it is never reached");
        }
    }
}
