//! Following agents: their marks in every buffer, and one window that follows each of them.
//!
//! Invariants: the user's own window never moves, and no window does unless the user rests in
//! normal mode; of several pending places only the last one counts. While no agent is followed,
//! no timer runs and no autocommand exists.

mod going;
mod mark;
mod swap;
mod user;
mod window;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nvim_oxi::mlua;

use self::going::Outcome;
use self::mark::Mark;
use self::window::Follower;
use super::kit::defer;
use super::kit::user::{self as keyboard, Activity};
use super::kit::window::here;
use super::{chats, input, nvim};
use acp_core::spine::ids::SessionKey;
use acp_core::spine::view::{Follow, FollowTarget, FollowView};
use acp_core::view::follow::pace::{self, Facts, Moment, Next};

/// The delay after the end of a mode, since another mode may start at once.
const SOON: Duration = Duration::from_millis(30);

/// The state of following, for all sessions.
#[derive(Debug, Default)]
pub struct Trails {
    by_session: BTreeMap<SessionKey, Trail>,
    /// When the pending timer fires.
    due: Option<Instant>,
    /// Buffers that were created for a followed place; listed once the user goes there.
    unlisted: BTreeSet<i32>,
    /// The last time the user was active in each window.
    touched: BTreeMap<i32, Instant>,
    /// The autocommands, while an agent is followed.
    watching: Vec<i32>,
}

/// The state of following one session's agent.
#[derive(Debug, Default)]
struct Trail {
    mode: Follow,
    mark: Option<Mark>,
    /// The place to go to next.
    target: Option<FollowTarget>,
    /// When the turn of the pending place ended.
    over: Option<Instant>,
    /// The number of the last place that was visited or given up.
    done: u64,
    went: Option<Instant>,
    /// The window that follows, by tab page.
    followers: BTreeMap<i32, Follower>,
    /// Windows that the user has taken back.
    taken: BTreeSet<i32>,
    /// Files for which the user was informed that they are not opened.
    told: BTreeSet<PathBuf>,
}

/// Shows a session's agent at its place, and moves a window there if the agent is followed.
pub fn show(key: SessionKey, view: FollowView) -> mlua::Result<()> {
    let is_closed = chats::get(key).is_none();
    // An update that was pending when the session was closed.
    let view = if is_closed {
        FollowView::default()
    } else {
        view
    };
    let old = with(key, |trail| trail.mark.take());
    let mark = mark::show(old, view.mark)?;
    let is_new = with(key, |trail| {
        trail.mark = mark;
        let is_new = trail.mode != view.mode;
        trail.mode = view.mode;
        if trail.mode == Follow::Off {
            trail.followers.clear();
            trail.taken.clear();
        }
        trail.target = view.target.filter(|target| target.number > trail.done);
        let is_over = trail.target.as_ref().is_some_and(|target| target.is_over);
        trail.over = is_over.then(|| trail.over.unwrap_or_else(Instant::now));
        is_new
    });
    if is_closed {
        trails(|trails| trails.by_session.remove(&key));
    }
    user::watch()?;
    attend(key)?;
    match is_new {
        true => input::update_hint(key),
        false => Ok(()),
    }
}

thread_local! {
    static TRAILS: RefCell<Trails> = RefCell::default();
}

fn trails<R>(body: impl FnOnce(&mut Trails) -> R) -> R {
    TRAILS.with_borrow_mut(body)
}

/// Runs `body` with the state of a session.
fn with<R: Default>(key: SessionKey, body: impl FnOnce(&mut Trail) -> R) -> R {
    trails(|trails| body(trails.by_session.entry(key).or_default()))
}

/// Runs `body` with every window that follows.
fn each_follower(mut body: impl FnMut(&mut Follower)) {
    trails(|trails| {
        let followers = trails
            .by_session
            .values_mut()
            .flat_map(|trail| trail.followers.values_mut());
        followers.for_each(&mut body);
    });
}

/// Returns whether a session's agent is followed.
pub fn is_followed(key: SessionKey) -> bool {
    trails(|trails| {
        let trail = trails.by_session.get(&key);
        trail.is_some_and(|trail| trail.mode != Follow::Off)
    })
}

/// Moves to the session's pending place, now or when the user is idle.
fn attend(key: SessionKey) -> mlua::Result<()> {
    let pending = with(key, |trail| {
        let target = trail.target.clone()?;
        Some((target, trail.went, trail.over))
    });
    let Some((target, went, over)) = pending else {
        return Ok(());
    };
    let follower = window::follower(key)?;
    if with(key, |trail| trail.target.is_none()) {
        // The user has closed the window that followed.
        return Ok(());
    }
    let here = here()?;
    let ago = |then: Option<Instant>| then.map(|then| then.elapsed());
    let facts = Facts {
        moment: moment()?,
        went: ago(went),
        touched: ago(follower
            .as_ref()
            .and_then(|follower| user::touched(follower.win))),
        is_here: follower
            .as_ref()
            .is_some_and(|follower| follower.win == here),
        over: ago(over),
    };
    match pace::next(&facts) {
        Next::Go => {
            let outcome = going::go(key, &target, follower);
            match outcome {
                // The window was chosen just now, and the user has just been there.
                Ok(Outcome::Later) => wait(SOON),
                outcome => arrived(key, &target, outcome),
            }
        }
        Next::Wait(time) => wait(time),
        Next::Rest => Ok(()),
        Next::Never => {
            with(key, |trail| trail.target = None);
            Ok(())
        }
    }
}

/// Returns what the user is doing, as the core's pace needs it.
fn moment() -> mlua::Result<Moment> {
    Ok(match keyboard::activity()? {
        Activity::Idle => Moment::Free,
        Activity::InCommand => Moment::InCommand,
        Activity::Busy => Moment::Busy,
    })
}

/// Records the outcome of a move; reports a file that is not opened, once.
fn arrived(
    key: SessionKey,
    target: &FollowTarget,
    outcome: mlua::Result<Outcome>,
) -> mlua::Result<()> {
    let is_news = with(key, |trail| {
        trail.done = target.number;
        trail.target = None;
        if matches!(outcome, Ok(Outcome::Gone)) {
            trail.went = Some(Instant::now());
        }
        matches!(outcome, Ok(Outcome::Refused(_)) | Err(_))
            && trail.told.insert(target.path.clone())
    });
    let why = match outcome {
        Ok(Outcome::Refused(why)) => why,
        Err(error) => nvim::message(&error),
        Ok(Outcome::Gone | Outcome::NoPlace | Outcome::Later) => return Ok(()),
    };
    match is_news {
        true => {
            let text = format!(
                "{}: not shown while following the agent: {why}.",
                target.path.display()
            );
            super::notify::notify(acp_core::spine::effect::Level::Info, &text)
        }
        false => Ok(()),
    }
}

fn attend_all() -> mlua::Result<()> {
    let keys = trails(|trails| {
        let pending = trails.by_session.iter();
        let pending = pending.filter(|(_, trail)| trail.target.is_some());
        pending.map(|(key, _)| *key).collect::<Vec<_>>()
    });
    keys.into_iter().try_for_each(attend)
}

/// Tries again after some time, unless a timer fires earlier.
fn wait(time: Duration) -> mlua::Result<()> {
    let due = Instant::now() + time;
    let is_sooner = trails(|trails| {
        let is_sooner = trails.due.is_none_or(|set| due < set);
        if is_sooner {
            trails.due = Some(due);
        }
        is_sooner
    });
    if !is_sooner {
        return Ok(());
    }
    // The timer counts whole milliseconds.
    defer::after("follow timer", time + Duration::from_millis(1), move || {
        trails(|trails| {
            trails.due = trails.due.filter(|set| *set != due);
        });
        attend_all()
    })
}

/// Returns whether a place is pending.
fn is_pending() -> bool {
    trails(|trails| {
        let mut all = trails.by_session.values();
        all.any(|trail| trail.target.is_some())
    })
}
