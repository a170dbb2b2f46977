//! The folds of a transcript in a window.
//!
//! Invariant: a fold is made once, and turned only when the core says so; all else that is done to
//! it is the user's.

use nvim_oxi::mlua;

use super::guard;
use super::nvim::{self, api};
use crate::core::view::{ChatOp, FoldState};

/// Makes and turns folds in a window; one that `is_following` has nobody reading in it.
///
/// # Errors
/// What Neovim says of it.
pub fn apply(win: i32, ops: &[ChatOp], is_following: bool) -> mlua::Result<()> {
    if ops.is_empty() {
        return Ok(());
    }
    let ops = ops.to_vec();
    let run = guard::callback("fold", move |()| {
        let is_on: bool = window_option("foldenable")?;
        // Who has opened all folds (|zR|) wants to see all there is.
        let is_open: bool = window_option::<i64>("foldlevel")? > 0;
        for op in &ops {
            match *op {
                ChatOp::Fold { start, end, state } => {
                    let state = if is_open { FoldState::Open } else { state };
                    make(start, end, state, is_on)?;
                }
                ChatOp::TurnFold { start, end, state } => match state {
                    FoldState::Open => open(start)?,
                    FoldState::Closed if is_open => {}
                    FoldState::Closed => close(start, end, is_following)?,
                },
                ChatOp::Splice { .. } => {}
            }
        }
        Ok(())
    })?;
    api("nvim_win_call", (win, run))
}

fn window_option<T: mlua::FromLuaMulti>(name: &str) -> mlua::Result<T> {
    let of_window = nvim::table([("win", nvim::value(0))])?;
    api("nvim_get_option_value", (name, of_window))
}

/// Makes a fold of rows. While folds are shown, Neovim takes a line for all of the closed fold it
/// lies in, so none could be made in it.
fn make(start: usize, end: usize, state: FoldState, is_on: bool) -> mlua::Result<()> {
    let line = start + 1;
    let mut commands = format!("noautocmd setlocal nofoldenable | silent! {line},{end}fold");
    if state == FoldState::Open {
        commands.push_str(&format!(" | silent! {line}foldopen!"));
    }
    if is_on {
        commands.push_str(" | noautocmd setlocal foldenable");
    }
    api("nvim_command", commands)
}

/// Opens the fold that begins at a row, if it is what is seen there.
fn open(start: usize) -> mlua::Result<()> {
    let line = start + 1;
    match nvim::vim_fn::<usize>("foldclosed", line) {
        Ok(first) if first == line => api("nvim_command", format!("silent! {line}foldopen")),
        _ => Ok(()),
    }
}

/// Closes the fold of these rows, unless it is closed or the cursor is in it.
fn close(start: usize, end: usize, is_following: bool) -> mlua::Result<()> {
    let line = start + 1;
    let cursor: usize = nvim::vim_fn("line", ".")?;
    let is_read = !is_following && (line..=end).contains(&cursor);
    if is_read || nvim::vim_fn::<i64>("foldclosed", line)? >= 0 {
        return Ok(());
    }
    api("nvim_command", format!("silent! {line}foldclose"))
}
