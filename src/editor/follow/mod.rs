//! Going along with agents: their marks in every buffer, and one window that follows.
//!
//! Invariants: the window the user is in is never changed, nor is any while they are doing
//! something else than resting in normal mode; of the places that come meanwhile the last one
//! counts. While nobody is followed there is no timer and no autocommand.

mod going;
mod mark;
mod swap;
mod user;
mod window;

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
use super::{chat, nvim, state};
use acp_core::render::view::{FollowTarget, FollowView};
use acp_core::spine::ids::SessionKey;
use acp_core::view::follow::Follow;
use acp_core::view::follow::pace::{self, Facts, Moment, Next};

/// How long to wait for what comes right after a mode has ended.
const SOON: Duration = Duration::from_millis(30);

/// What is known of all agents' ways.
#[derive(Debug, Default)]
pub struct Trails {
    by_session: BTreeMap<SessionKey, Trail>,
    /// When the timer goes off that was set last.
    due: Option<Instant>,
    /// Buffers that were made to follow, and are not listed before the user comes there.
    unlisted: BTreeSet<i32>,
    /// When the user has last done something in each window.
    touched: BTreeMap<i32, Instant>,
    /// The autocommands, while an agent is followed.
    watching: Vec<i32>,
}

/// The way of one session's agent.
#[derive(Debug, Default)]
struct Trail {
    mode: Follow,
    mark: Option<Mark>,
    /// Where the editor has yet to go.
    target: Option<FollowTarget>,
    /// Since when the target's turn has been over.
    over: Option<Instant>,
    /// The number of the place that was gone to last, or was found to be none to go to.
    done: u64,
    went: Option<Instant>,
    /// The window that follows, by tab page.
    followers: BTreeMap<i32, Follower>,
    /// Windows that the user has taken back.
    taken: BTreeSet<i32>,
    /// Files of which the user was told why they are not opened.
    told: BTreeSet<PathBuf>,
}

/// Shows where a session's agent is, and goes there if that is wanted.
///
/// # Errors
/// What Neovim says of it.
pub fn show(key: SessionKey, view: FollowView) -> mlua::Result<()> {
    let is_closed = chat::get(key).is_none();
    // What was under way when the session was closed is no news any more.
    let view = if is_closed {
        FollowView::default()
    } else {
        view
    };
    let old = with(key, |trail| trail.mark.take());
    let mark = mark::show(old, view.mark)?;
    with(key, |trail| {
        trail.mark = mark;
        trail.mode = view.mode;
        if trail.mode == Follow::Off {
            trail.followers.clear();
            trail.taken.clear();
        }
        trail.target = view.target.filter(|target| target.number > trail.done);
        let is_over = trail.target.as_ref().is_some_and(|target| target.is_over);
        trail.over = is_over.then(|| trail.over.unwrap_or_else(Instant::now));
    });
    if is_closed {
        state::with(|editor| editor.trails.borrow_mut().by_session.remove(&key));
    }
    user::watch()?;
    attend(key)
}

/// Runs `body` with what is known of a session's agent.
fn with<R: Default>(key: SessionKey, body: impl FnOnce(&mut Trail) -> R) -> R {
    let run = |trails: &mut Trails| body(trails.by_session.entry(key).or_default());
    state::with(|editor| run(&mut editor.trails.borrow_mut())).unwrap_or_default()
}

/// Runs `body` with every window that follows.
fn each_follower(mut body: impl FnMut(&mut Follower)) {
    state::with(|editor| {
        let mut trails = editor.trails.borrow_mut();
        let followers = trails
            .by_session
            .values_mut()
            .flat_map(|trail| trail.followers.values_mut());
        followers.for_each(&mut body);
    });
}

/// Returns whether the agent is followed to whom this input's prompts go.
pub fn is_followed_from(input: i32) -> bool {
    let is_followed = |editor: &state::Editor| {
        let (chats, trails) = (editor.chats.borrow(), editor.trails.borrow());
        let mut all = chats.by_session.iter();
        let key = all.find(|(_, chat)| chat.input == input)?.0;
        Some(trails.by_session.get(key)?.mode != Follow::Off)
    };
    state::with(is_followed).flatten().unwrap_or(false)
}

/// Goes to the session's target, now or when the time has come.
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
        // Its window was closed.
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
                // The window was chosen just now, and the user has been there just before.
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

/// Returns what the user is doing, as far as it decides whether a window may go along.
fn moment() -> mlua::Result<Moment> {
    Ok(match keyboard::activity()? {
        Activity::Idle => Moment::Free,
        Activity::InMacro | Activity::InCommand => Moment::InCommand,
        Activity::Busy => Moment::Busy,
    })
}

/// Notes that a target was gone to, or cannot be: then the user is told why, once for each file.
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
                "{}: the agent is not followed there: {why}.",
                target.path.display()
            );
            super::apply::notify(acp_core::spine::effect::Level::Info, &text)
        }
        false => Ok(()),
    }
}

fn attend_all() -> mlua::Result<()> {
    let keys = state::with(|editor| {
        let trails = editor.trails.borrow();
        let pending = trails.by_session.iter();
        let pending = pending.filter(|(_, trail)| trail.target.is_some());
        pending.map(|(key, _)| *key).collect::<Vec<_>>()
    });
    keys.unwrap_or_default().into_iter().try_for_each(attend)
}

/// Looks again after some time, if not sooner.
fn wait(time: Duration) -> mlua::Result<()> {
    let due = Instant::now() + time;
    let is_sooner = state::with(|editor| {
        let mut trails = editor.trails.borrow_mut();
        let is_sooner = trails.due.is_none_or(|set| due < set);
        if is_sooner {
            trails.due = Some(due);
        }
        is_sooner
    });
    if is_sooner != Some(true) {
        return Ok(());
    }
    // Neovim counts whole milliseconds.
    defer::after("follow timer", time + Duration::from_millis(1), move || {
        state::with(|editor| {
            let mut trails = editor.trails.borrow_mut();
            trails.due = trails.due.filter(|set| *set != due);
        });
        attend_all()
    })
}

/// Returns whether there is a place that the editor has yet to go to.
fn is_pending() -> bool {
    let is_pending = |trails: &Trails| {
        let mut all = trails.by_session.values();
        all.any(|trail| trail.target.is_some())
    };
    state::with(|editor| is_pending(&editor.trails.borrow())).unwrap_or(false)
}
