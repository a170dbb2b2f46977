//! What the user does in windows, as far as it matters to those that follow.
//!
//! Invariant: while nobody is followed there are no autocommands.

use std::time::Instant;

use nvim_oxi::mlua::{self, Table, Value};

use super::window::Sight;
use super::{Trails, each_home, is_pending, moment, wait};
use crate::editor::nvim::{self, api};
use crate::editor::{guard, state};
use acp_core::view::follow::{Follow, pace};

const GROUP: &str = "acp_follow";

/// Watches what the user does, for as long as somebody is followed.
///
/// # Errors
/// What Neovim says of it.
pub fn watch() -> mlua::Result<()> {
    let is_wanted = |trails: &Trails| {
        let mut all = trails.by_session.values();
        all.any(|trail| trail.mode != Follow::Off)
    };
    let change = state::with(|editor| {
        let mut trails = editor.trails.borrow_mut();
        let is_wanted = is_wanted(&trails);
        let was_watching = std::mem::replace(&mut trails.is_watching, is_wanted);
        (is_wanted != was_watching).then_some(is_wanted)
    });
    let Some(is_wanted) = change.flatten() else {
        return Ok(());
    };
    let clear = nvim::table([("clear", Value::Boolean(true))])?;
    let group: i32 = api("nvim_create_augroup", (GROUP, clear))?;
    if !is_wanted {
        return list_shown();
    }
    on(group, &["CursorMoved", "CursorMovedI"], |_| moved())?;
    on(group, &["WinScrolled"], |_| scrolled())?;
    let free = ["ModeChanged", "WinEnter", "CmdwinLeave", "RecordingLeave"];
    on(group, &free, |_| {
        list()?;
        match is_pending() {
            // Another mode may come right after this one.
            true => wait(moment::SOON),
            false => Ok(()),
        }
    })
}

/// Lists the buffer that the user has come to: one file after the other that an agent reads would
/// fill the buffer list with what nobody has looked for.
fn list() -> mlua::Result<()> {
    let buf: i32 = api("nvim_get_current_buf", ())?;
    let was_unlisted = state::with(|editor| editor.trails.borrow_mut().unlisted.remove(&buf));
    match was_unlisted {
        Some(true) => nvim::set_buf_option(buf, "buflisted", true),
        _ => Ok(()),
    }
}

fn on(
    group: i32,
    events: &[&str],
    body: impl Fn(Table) -> mlua::Result<()> + 'static,
) -> mlua::Result<()> {
    let callback = guard::callback("follow autocommand", body)?;
    let opts = nvim::table([
        ("group", nvim::value(group)),
        ("callback", Value::Function(callback)),
    ])?;
    api("nvim_create_autocmd", (events.to_vec(), opts))
}

/// Lists what is in sight when nobody is followed any more: the user may go on there.
fn list_shown() -> mlua::Result<()> {
    let take = |editor: &state::Editor| std::mem::take(&mut editor.trails.borrow_mut().unlisted);
    for buf in state::with(take).unwrap_or_default() {
        if !nvim::windows_of(buf)?.is_empty() {
            nvim::set_buf_option(buf, "buflisted", true)?;
        }
    }
    Ok(())
}

/// Returns when the user has last done something in a window.
pub fn touched(win: i32) -> Option<Instant> {
    state::with(|editor| editor.trails.borrow().touched.get(&win).copied()).flatten()
}

/// The user does something in a window.
fn touch(win: i32) {
    state::with(|editor| {
        let touched = &mut editor.trails.borrow_mut().touched;
        if !touched.contains_key(&win) {
            touched.retain(|_, then| then.elapsed() < pace::REST);
        }
        touched.insert(win, Instant::now());
    });
}

/// The user has moved the cursor, or typed.
fn moved() -> mlua::Result<()> {
    touch(api("nvim_get_current_win", ())?);
    list()
}

/// Windows were scrolled: one that follows may have been by the user's mouse.
fn scrolled() -> mlua::Result<()> {
    let event: Table = nvim::vim()?.get::<Table>("v")?.get("event")?;
    let mut homes = Vec::new();
    each_home(|home| homes.push(home.clone()));
    for home in homes {
        let win = home.win;
        if !event.contains_key(win.to_string())? {
            continue;
        }
        let sight = Sight::of(win)?;
        if home.sight.is_left_by_user(&sight) {
            touch(win);
        }
        each_home(|home| {
            if home.win == win {
                home.sight.clone_from(&sight);
            }
        });
    }
    Ok(())
}
