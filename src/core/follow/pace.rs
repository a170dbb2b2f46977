//! When the editor may go along: what the user is doing, and how long ago they did.
//!
//! Invariant: between two moves lies [`GAP`]; in the window that follows the user is left alone
//! for [`REST`] after they have done something there, and for as long as they are in it.

use std::time::{Duration, Instant};

/// The time between two moves: a burst of reads must not flicker.
const GAP: Duration = Duration::from_millis(350);

/// How long the user is left alone after they have moved in the window.
const REST: Duration = Duration::from_secs(3);

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

/// What there is to know before a move.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    pub now: Instant,
    pub moment: Moment,
    /// The last move.
    pub went: Option<Instant>,
    /// When the user has done something in the window that follows.
    pub touched: Option<Instant>,
    /// The user is in it.
    pub is_here: bool,
    /// Since when the turn has been over.
    pub over: Option<Instant>,
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
    let left = |since: Option<Instant>, time: Duration| {
        let left = time.checked_sub(facts.now.saturating_duration_since(since?))?;
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

    /// Returns what becomes of a move ten seconds after everything, but for what `change` says.
    #[track_caller]
    fn check(change: impl FnOnce(&mut Facts, Instant), want: Next) {
        let start = Instant::now();
        let mut facts = Facts {
            now: start + Duration::from_secs(10),
            moment: Moment::Free,
            went: Some(start),
            touched: Some(start),
            is_here: false,
            over: None,
        };
        let now = facts.now;
        change(&mut facts, now);
        assert_eq!(next(&facts), want, "{facts:?}");
    }

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_move_waits_for_the_user() {
        check(|_, _| {}, Next::Go);
        check(|facts, _| facts.moment = Moment::Busy, Next::Rest);
        check(|facts, _| facts.is_here = true, Next::Rest);
        check(
            |facts, _| facts.moment = Moment::InCommand,
            Next::Wait(AGAIN),
        );
        check(
            |facts, now| facts.touched = Some(now - MS),
            Next::Wait(REST - MS),
        );
        check(|facts, now| facts.touched = Some(now - REST), Next::Go);
    }

    #[test]
    fn a_move_waits_for_the_one_before() {
        check(|facts, now| facts.went = Some(now), Next::Wait(GAP));
        check(|facts, now| facts.went = Some(now - GAP), Next::Go);
        check(|facts, _| facts.went = None, Next::Go);
    }

    #[test]
    fn a_move_after_the_turn_is_made_soon_or_never() {
        check(|facts, now| facts.over = Some(now), Next::Go);
        check(|facts, now| facts.over = Some(now - GRACE), Next::Never);
        check(
            |facts, now| {
                facts.over = Some(now - GRACE);
                facts.moment = Moment::Busy;
            },
            Next::Never,
        );
    }

    proptest! {
        /// However fast places come and whatever the user does, there are no more moves than the
        /// time has room for, and the last place is gone to once the user rests.
        #[test]
        fn moves_are_few_and_the_last_place_is_reached(
            steps in vec((0..200u64, any::<bool>(), 0..4u8), 1..100),
        ) {
            let start = Instant::now();
            let mut facts = Facts {
                now: start,
                moment: Moment::Free,
                went: None,
                touched: None,
                is_here: false,
                over: None,
            };
            let (mut moves, mut pending, mut idle) = (0, false, 0);
            for (ms, comes, user) in steps {
                facts.now += Duration::from_millis(ms);
                pending |= comes;
                facts.moment = match user {
                    0 => Moment::Busy,
                    1 => Moment::InCommand,
                    _ => Moment::Free,
                };
                if user == 3 && ms % 10 == 7 {
                    facts.touched = Some(facts.now);
                }
                if pending && next(&facts) == Next::Go {
                    prop_assert!(facts.moment == Moment::Free);
                    (facts.went, pending, moves) = (Some(facts.now), false, moves + 1);
                }
            }
            let room = (facts.now - start).as_millis() / GAP.as_millis() + 1;
            prop_assert!(moves <= room, "{moves} moves, room for {room}");
            facts.moment = Moment::Free;
            while pending {
                match next(&facts) {
                    Next::Go => pending = false,
                    Next::Wait(time) => facts.now += time,
                    other => prop_assert!(false, "{other:?}"),
                }
                idle += 1;
                prop_assert!(idle < 5, "it is never reached");
            }
        }
    }
}
