//! The user's activity in windows, as far as following depends on it.
//!
//! Invariant: while no agent is followed, there are no autocommands.

use std::time::Instant;

use nvim_oxi::mlua;

use super::window::Sight;
use super::{SOON, Trails, each_follower, is_pending, wait};
use crate::editor::kit::autocmd::{self, Scope};
use crate::editor::kit::{buffer, window};
use crate::editor::nvim;
use acp_core::spine::view::Follow;
use acp_core::view::follow::pace;

/// Watches the user's activity while an agent is followed.
pub fn watch() -> mlua::Result<()> {
    let is_wanted = |trails: &Trails| {
        let mut all = trails.by_session.values();
        all.any(|trail| trail.mode != Follow::Off)
    };
    let change = super::trails(|trails| {
        let is_change = is_wanted(trails) == trails.watching.is_empty();
        is_change.then(|| std::mem::take(&mut trails.watching))
    });
    let Some(watching) = change else {
        return Ok(());
    };
    if !watching.is_empty() {
        watching.into_iter().try_for_each(autocmd::remove)?;
        return list_shown();
    }
    // Also one who has only read there has just been in the window that is left.
    let moves = ["CursorMoved", "CursorMovedI", "WinLeave"];
    let ends = ["ModeChanged", "WinEnter", "CmdwinLeave", "RecordingLeave"];
    let watching = vec![
        autocmd::on("follow cursor", &moves, Scope::All, |_| moved())?,
        autocmd::on("follow scroll", &["WinScrolled"], Scope::All, |_| {
            scrolled()
        })?,
        autocmd::on(
            "follow window",
            &["WinClosed"],
            Scope::All,
            |fired| match fired.matched()?.parse() {
                Ok(win) => super::window::closes(win),
                Err(_) => Ok(()),
            },
        )?,
        autocmd::on("follow mode", &ends, Scope::All, |_| {
            list()?;
            match is_pending() {
                // Another mode may start right after this one.
                true => wait(SOON),
                false => Ok(()),
            }
        })?,
    ];
    super::trails(|trails| trails.watching = watching);
    Ok(())
}

/// Lists the current buffer, since the user is in it: listing every file that an agent reads would
/// fill the buffer list.
fn list() -> mlua::Result<()> {
    let buf = buffer::here()?;
    let was_unlisted = super::trails(|trails| trails.unlisted.remove(&buf));
    match was_unlisted {
        true => nvim::set_buf_option(buf, "buflisted", true),
        false => Ok(()),
    }
}

/// Lists the visible buffers when following ends, since the user may stay there.
fn list_shown() -> mlua::Result<()> {
    let unlisted = super::trails(|trails| std::mem::take(&mut trails.unlisted));
    for buf in unlisted {
        if !nvim::windows_of(buf)?.is_empty() {
            nvim::set_buf_option(buf, "buflisted", true)?;
        }
    }
    Ok(())
}

/// Returns the last time the user was active in a window.
pub fn touched(win: i32) -> Option<Instant> {
    super::trails(|trails| trails.touched.get(&win).copied())
}

/// Records that the user is active in a window.
fn touch(win: i32) {
    super::trails(|trails| {
        let touched = &mut trails.touched;
        if !touched.contains_key(&win) {
            touched.retain(|_, then| then.elapsed() < pace::REST);
        }
        touched.insert(win, Instant::now());
    });
}

/// Records that the user has moved the cursor or typed, or leaves a window.
fn moved() -> mlua::Result<()> {
    touch(window::here()?);
    list()
}

/// Records which followed windows the user has scrolled, by mouse for example.
fn scrolled() -> mlua::Result<()> {
    let event = autocmd::v_event()?;
    let mut followers = Vec::new();
    each_follower(|follower| followers.push(follower.clone()));
    for follower in followers {
        let win = follower.win;
        if !event.contains_key(win.to_string())? {
            continue;
        }
        let sight = Sight::of(win)?;
        if follower.sight.is_left_by_user(&sight) {
            touch(win);
        }
        each_follower(|follower| {
            if follower.win == win {
                follower.sight.clone_from(&sight);
            }
        });
    }
    Ok(())
}
