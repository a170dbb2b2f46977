//! The room a window of ours takes from the others, for as long as it is there.
//!
//! Invariant: sizes are given back only to the windows that were there before, lying as they did.

use nvim_oxi::mlua::{self, Table, Value};

use super::nvim::{self, api};

/// The windows of a tab page: how they lie, and the command that gives them their sizes.
#[derive(Debug, Clone)]
pub struct Room {
    layout: String,
    sizes: String,
}

impl Room {
    /// Returns the windows of the current tab page as they are.
    ///
    /// # Errors
    /// What Neovim says of it.
    pub fn now() -> mlua::Result<Self> {
        Ok(Self {
            layout: layout()?,
            sizes: nvim::vim_fn("winrestcmd", ())?,
        })
    }

    /// Gives the windows their sizes again, which Neovim would give to any one of them.
    ///
    /// # Errors
    /// What Neovim says of it.
    pub fn give_back(self) -> mlua::Result<()> {
        match self.layout == layout()? {
            true => api("nvim_command", self.sizes),
            false => Ok(()),
        }
    }
}

/// Opens a window on a buffer below everything, where its lines have all the width there is, and
/// goes there; returns the room it has taken as well.
///
/// # Errors
/// What Neovim says of it.
pub fn open_below(buf: i32) -> mlua::Result<(i32, Room)> {
    let room = Room::now()?;
    let lines: i64 = nvim::vim()?.get::<Table>("o")?.get("lines")?;
    let config = nvim::table([
        ("win", Value::Integer(-1)),
        ("split", nvim::value("below")),
        ("height", nvim::value((lines * 2 / 5).max(6))),
    ])?;
    Ok((api("nvim_open_win", (buf, true, config))?, room))
}

fn layout() -> mlua::Result<String> {
    let layout: Value = nvim::vim_fn("winlayout", ())?;
    nvim::vim_fn("string", layout)
}
