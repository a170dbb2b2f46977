//! Floating windows over the screen: their position and frame.

use nvim_oxi::mlua::{self, Table};

use super::window;
use crate::editor::nvim;

/// A float on the screen: the corner of its border, and the size of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rect {
    pub row: i64,
    pub column: i64,
    pub width: i64,
    pub height: i64,
}

impl Rect {
    /// Returns a float of this size in the middle of the screen.
    pub fn middle(width: i64, height: i64) -> mlua::Result<Self> {
        let (columns, rows) = window::screen()?;
        Ok(Self {
            row: ((rows - height) / 2 - 2).max(0),
            column: ((columns - width) / 2 - 1).max(0),
            width,
            height,
        })
    }
}

/// The frame of a float, and its level above other floats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub title: String,
    pub footer: String,
    pub zindex: i64,
}

/// Returns the configuration of a float, as `nvim_open_win` takes it.
pub fn config(rect: Rect, frame: &Frame) -> mlua::Result<Table> {
    nvim::table([
        ("relative", nvim::value("editor")),
        ("width", nvim::value(rect.width)),
        ("height", nvim::value(rect.height)),
        ("row", nvim::value(rect.row)),
        ("col", nvim::value(rect.column)),
        ("border", nvim::value("rounded")),
        ("style", nvim::value("minimal")),
        ("zindex", nvim::value(frame.zindex)),
        ("title", nvim::value(frame.title.as_str())),
        ("footer", nvim::value(frame.footer.as_str())),
    ])
}

/// Cuts a text to a number of characters.
pub fn clipped(text: &str, width: i64) -> String {
    let width = usize::try_from(width).unwrap_or(0).max(1);
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let head: String = text.chars().take(width - 1).collect();
    format!("{head}…")
}
