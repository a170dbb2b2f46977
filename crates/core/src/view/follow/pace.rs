//! When the editor may go along: what the user is doing, and how long ago they did.
//!
//! Invariant: between two moves lies [`GAP`]; in the window that follows the user is left alone
//! for [`REST`] after they have done something there, and for as long as they are in it.

use std::time::Duration;

/// The time between two moves: a burst of reads must not flicker.
const GAP: Duration = Duration::from_millis(350);

/// How long the user is left alone after they have moved in the window.
pub const REST: Duration = Duration::from_secs(3);

/// How long after its turn a place is still worth to be gone to.
const GRACE: Duration = Duration::from_secs(3);

/// How long to wait for the end of a command that nothing tells.
const AGAIN: Duration = Duration::from_millis(100);

/// What the user is doing with the keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Nothing: normal mode, no key pending.
    Free,
    /// A command, a macro or the command-line window, whose end is looked for.
    InCommand,
    /// Another mode, whose end is told.
    Busy,
}

/// What there is to know before a move; the times are how long ago something was.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    pub moment: Moment,
    /// The last move.
    pub went: Option<Duration>,
    /// The user has done something in the window that follows.
    pub touched: Option<Duration>,
    /// The user is in it.
    pub is_here: bool,
    /// The turn has ended.
    pub over: Option<Duration>,
}

/// What becomes of a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Go,
    /// Not now: look again after this time.
    Wait(Duration),
    /// Not before the user does something else, which is told.
    Rest,
    /// It has come too late.
    Never,
}

/// Decides about a move.
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

    /// Checks what becomes of a move ten seconds after everything, but for what `change` says.
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
        /// However fast places come and whatever the user does, there are no more moves than the
        /// time has room for, none while the user does something, and the last place is gone to
        /// once they rest.
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
