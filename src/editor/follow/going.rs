//! Moves a window to the place where an agent works: loads the file and shows the line.
//!
//! Invariants: the current window, its cursor and its mode stay; no prompt opens; the jumplist of
//! the moved window leads back.

use std::io::Read;
use std::path::Path;

use nvim_oxi::mlua;

use super::swap;
use super::window::{self, Follower, Sight};
use crate::editor::kit::buffer;
use crate::editor::kit::window::{buf_of, go_to, here, is_valid, row, set_row, tab_of};
use crate::editor::nvim::{self, api};
use crate::editor::walk;
use acp_core::spine::ids::SessionKey;
use acp_core::spine::view::FollowTarget;
use acp_core::view::follow::pace;

/// The largest file that is loaded, in bytes: Neovim blocks while it loads.
const MAX_LOADED: u64 = 1 << 20;

/// The number of bytes searched for a NUL, to detect binary files.
const PROBE: u64 = 8192;

/// The outcome of a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Gone,
    /// The file does not exist, or no window can show it.
    NoPlace,
    /// The user has just been in the window that could show it.
    Later,
    /// The file is not opened, and why.
    Refused(String),
}

/// Moves to a place, in the given window or one chosen now.
pub fn go(
    key: SessionKey,
    target: &FollowTarget,
    follower: Option<Follower>,
) -> mlua::Result<Outcome> {
    let buf = match buffer(target)? {
        Ok(buf) => buf,
        Err(outcome) => return Ok(outcome),
    };
    let here = here()?;
    let outcome = window::with_option("shortmess", "AF", || show(key, target, buf, follower));
    // The user's autocommands may have changed the window.
    if self::here()? != here && is_valid(here)? {
        go_to(here)?;
    }
    outcome
}

fn show(
    key: SessionKey,
    target: &FollowTarget,
    buf: i32,
    follower: Option<Follower>,
) -> mlua::Result<Outcome> {
    let known = match follower {
        Some(follower) if window::can_leave(follower.win, buf)? => Some(follower),
        _ => None,
    };
    let is_known = known.is_some();
    let follower = match known {
        Some(follower) => Some(follower),
        None => window::choose(key, buf)?,
    };
    let Some(mut follower) = follower else {
        return Ok(Outcome::NoPlace);
    };
    let win = follower.win;
    if !is_known && super::user::touched(win).is_some_and(|then| then.elapsed() < pace::REST) {
        return Ok(Outcome::Later);
    }
    let is_other = buf_of(win)? != buf;
    if is_other {
        window::run_in(win, &["mark '"])?;
        api::<()>("nvim_win_set_buf", (win, buf))?;
    }
    if let Some(row) = target.row {
        put_cursor(win, buf, row, is_other)?;
    }
    follower.buffers.insert(buf);
    follower.sight = Sight::of(win)?;
    window::keep(key, tab_of(win)?, &follower);
    Ok(Outcome::Gone)
}

/// Puts the cursor of a window on a row and brings the row into view, also from a fold.
fn put_cursor(win: i32, buf: i32, to: usize, is_other: bool) -> mlua::Result<()> {
    let lines: usize = api("nvim_buf_line_count", buf)?;
    let to = to.min(lines.saturating_sub(1));
    let first: usize = nvim::vim_fn("line", ("w0", win))?;
    let last: usize = nvim::vim_fn("line", ("w$", win))?;
    if !is_other && row(win)? != to {
        window::run_in(win, &["mark '"])?;
    }
    set_row(win, to)?;
    let is_in_view = (first..=last).contains(&(to + 1));
    match is_in_view {
        true => window::run_in(win, &["silent! normal! zv"]),
        false => window::run_in(win, &["silent! normal! zvzz"]),
    }
}

/// Returns the buffer for a place, which may be unloaded, or why the file is not opened.
fn buffer(target: &FollowTarget) -> mlua::Result<Result<i32, Outcome>> {
    if let Some(buf) = target.buf
        && buffer::is_loaded(buf.0)?
    {
        return Ok(Ok(buf.0));
    }
    if let Err(outcome) = check(&target.path, &target.roots) {
        return Ok(Err(outcome));
    }
    if walk::is_packed(&target.path)? {
        return Ok(Err(Outcome::NoPlace));
    }
    if swap::is_there(&acp_edge::paths::resolved(&target.path))? {
        let why = "it has a swap file; open it yourself to decide what to do".to_owned();
        return Ok(Err(Outcome::Refused(why)));
    }
    let buf: i32 = nvim::vim_fn("bufadd", walk::typed(&target.path)?)?;
    if !nvim::buf_option::<bool>(buf, "buflisted")? {
        super::trails(|trails| trails.unlisted.insert(buf));
    }
    Ok(Ok(buf))
}

/// Returns why a file must not be opened.
fn check(path: &Path, roots: &[std::path::PathBuf]) -> Result<(), Outcome> {
    let real = acp_edge::paths::resolved(path);
    let is_inside = roots.iter().any(|root| real.starts_with(root));
    let known = std::fs::metadata(path).ok();
    let Some(known) = known.filter(|known| known.is_file() && is_inside) else {
        return Err(Outcome::NoPlace);
    };
    if known.len() > MAX_LOADED {
        return Err(Outcome::Refused(
            "it is larger than 1 MiB; open it yourself to see it".to_owned(),
        ));
    }
    let mut probe = Vec::new();
    let file = std::fs::File::open(path).map_err(|_| Outcome::NoPlace)?;
    let read = file.take(PROBE).read_to_end(&mut probe);
    match read.is_err() || probe.contains(&0) {
        // A binary file has no readable text.
        true => Err(Outcome::NoPlace),
        false => Ok(()),
    }
}
