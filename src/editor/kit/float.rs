//! Floating windows over the screen: their size, position and frame.

use nvim_oxi::mlua::{self, Table};

use super::window;
use crate::editor::nvim;
use acp_core::spine::view::Line;

/// The size of a float, whose lines wrap where it is narrower than they are.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub width: i64,
    pub height: i64,
    /// Some lines do not fit.
    pub is_cut: bool,
}

impl Size {
    /// Returns the size for these lines: between `least` (at most 100) and 100 columns wide, and at
    /// most `tenths` of the screen high.
    pub fn of(lines: &[Line], least: i64, tenths: i64) -> mlua::Result<Self> {
        let (columns, rows) = window::screen()?;
        let cells = |line: &Line| i64::try_from(line.text.chars().count()).unwrap_or(columns);
        let longest = lines.iter().map(cells).max().unwrap_or(0);
        let width = longest.clamp(least.min(100), 100).min(columns - 4).max(1);
        let needed: i64 = lines
            .iter()
            .map(|line| 1 + (cells(line) - 1).max(0) / width)
            .sum();
        let height = needed.min(rows * tenths / 10).max(1);
        Ok(Self {
            width,
            height,
            is_cut: needed > height,
        })
    }
}

/// The position of a float.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spot {
    Middle,
    /// At the bottom right, above the status line and the command line.
    Corner,
}

/// The frame of a float, and its level above other floats.
#[derive(Debug)]
pub struct Frame {
    pub title: String,
    pub footer: String,
    pub spot: Spot,
    pub zindex: i64,
}

/// Returns the configuration of a float, as `nvim_open_win` takes it.
pub fn config(size: Size, frame: Frame) -> mlua::Result<Table> {
    let (columns, rows) = window::screen()?;
    let Size { width, height, .. } = size;
    let (row, column) = match frame.spot {
        Spot::Middle => ((rows - height) / 2 - 2, (columns - width) / 2 - 1),
        Spot::Corner => (rows - height - 4, columns - width - 2),
    };
    nvim::table([
        ("relative", nvim::value("editor")),
        ("width", nvim::value(width)),
        ("height", nvim::value(height)),
        ("row", nvim::value(row.max(0))),
        ("col", nvim::value(column.max(0))),
        ("border", nvim::value("rounded")),
        ("style", nvim::value("minimal")),
        ("zindex", nvim::value(frame.zindex)),
        ("title", nvim::value(frame.title)),
        ("footer", nvim::value(frame.footer)),
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
