//! The folds of a transcript in a window.
//!
//! Invariant: a fold is created once, and opened or closed only when the core requests it;
//! everything else is up to the user.

use nvim_oxi::mlua;

use super::kit::window;
use super::nvim::{self, api};
use acp_core::spine::view::{ChatOp, FoldState};

/// Removes all folds of a window: Neovim restores those of the buffer's last window, by the line
/// numbers of that time, and the lines may have changed since.
pub fn forget(win: i32) -> mlua::Result<()> {
    window::call(win, || api("nvim_command", "silent! normal! zE"))
}

/// Returns the changes that create folds.
pub fn created(folds: Vec<(usize, usize, FoldState)>) -> Vec<ChatOp> {
    let folds = folds.into_iter();
    folds
        .map(|(start, end, state)| ChatOp::Fold { start, end, state })
        .collect()
}

/// Creates, opens and closes folds in a window; if `is_following`, the user reads the end.
pub fn apply(win: i32, ops: &[ChatOp], is_following: bool) -> mlua::Result<()> {
    if ops.is_empty() {
        return Ok(());
    }
    let ops = ops.to_vec();
    window::call(win, move || {
        // A user who has opened all folds (|zR|) wants to see everything.
        let is_open: bool = nvim::win_option::<i64>(0, "foldlevel")? > 0;
        make_all(&ops, is_open)?;
        for op in &ops {
            match *op {
                ChatOp::TurnFold {
                    start,
                    state: FoldState::Open,
                    ..
                } => open(start)?,
                ChatOp::TurnFold { start, end, .. } if !is_open => {
                    close(start, end, is_following)?;
                }
                _ => {}
            }
        }
        Ok(())
    })
}

/// Creates the new folds. While folds are enabled, Neovim takes a line for the whole closed fold
/// around it, so no fold could be created inside. A new fold inside a closed one stays closed:
/// opening it would open the other.
fn make_all(ops: &[ChatOp], is_open: bool) -> mlua::Result<()> {
    let mut commands = Vec::new();
    let mut closed: Vec<(usize, usize)> = Vec::new();
    for op in ops {
        if let ChatOp::Fold { start, end, state } = *op {
            let line = start + 1;
            commands.push(format!("silent! {line},{end}fold"));
            let is_in_closed = closed.iter().any(|fold| (fold.0..fold.1).contains(&start))
                || nvim::vim_fn::<i64>("foldclosed", line)? >= 0;
            if !is_open && state == FoldState::Closed {
                closed.push((start, end));
            } else if !is_in_closed {
                commands.push(format!("silent! {line}foldopen"));
            }
        }
    }
    if commands.is_empty() {
        return Ok(());
    }
    let is_on: bool = nvim::win_option(0, "foldenable")?;
    api::<()>("nvim_command", "noautocmd setlocal nofoldenable")?;
    let mut result = Ok(());
    for command in commands {
        result = result.and_then(|()| api::<()>("nvim_command", command));
    }
    if is_on {
        api::<()>("nvim_command", "noautocmd setlocal foldenable")?;
    }
    result
}

/// Opens the fold that starts at a row, unless another closed fold hides that row.
fn open(start: usize) -> mlua::Result<()> {
    let line = start + 1;
    match nvim::vim_fn::<usize>("foldclosed", line) {
        Ok(first) if first == line => api("nvim_command", format!("silent! {line}foldopen")),
        _ => Ok(()),
    }
}

/// Closes the fold of these rows, unless the cursor is in it.
fn close(start: usize, end: usize, is_following: bool) -> mlua::Result<()> {
    let line = start + 1;
    let cursor: usize = nvim::vim_fn("line", ".")?;
    let is_read = !is_following && (line..=end).contains(&cursor);
    if is_read || nvim::vim_fn::<i64>("foldclosed", line)? >= 0 {
        return Ok(());
    }
    api("nvim_command", format!("silent! {line}foldclose"))
}
