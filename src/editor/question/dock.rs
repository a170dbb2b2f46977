//! Where on the screen the window of a question is: above the chat's input, in a low chat above the
//! agent's last words, else in a corner.
//!
//! Invariant: it covers neither the chat's input nor the queued prompts nor, while the user is
//! elsewhere, the cursor's line and the hunk there, unless the rest of the screen has no room for
//! the options. It covers the agent's last words before any of them, then the files that the user
//! has left it to see and is in, and the queue before the other two.

use std::ops::Range;

use nvim_oxi::mlua;

use super::with;
use crate::editor::chat;
use crate::editor::chats::{self, Chat};
use crate::editor::kit::float::Rect;
use crate::editor::kit::window::{self, rows_of};
use crate::editor::nvim::{self, api};
use crate::editor::{panel, review};
use acp_core::view::dock::{self, Area};

/// The narrowest and the widest window, with its border.
const COLUMNS: (i64, i64) = (40, 102);

/// The rows of the transcript's end that stay visible: why the agent asks.
const WORDS: i64 = 4;
/// The rows of what a permission would allow that count more than the transcript's end.
const DETAILS: i64 = 2;

/// A transcript with more lines fills its window, also with closed folds.
const MANY: usize = 1000;

/// What the window has to show.
#[derive(Debug, Clone, Copy)]
pub(super) struct Needs {
    /// Cells of the longest line.
    pub longest: i64,
    /// The user is in the window, and reads it.
    pub is_here: bool,
    /// The greatest height, in tenths of the screen.
    pub tenths: i64,
}

/// The first row of the transcript's text, and the area of its last lines.
pub(super) type Words = (i64, Area);

/// The part of the screen that the window may take, and the rows it must not cover.
#[derive(Debug)]
pub(super) struct Dock {
    area: Area,
    /// The same columns, down to the status line.
    whole: Area,
    blocked: Vec<Area>,
    pub words: Option<Words>,
    /// The greatest height, with the border.
    highest: i64,
}

impl Dock {
    /// Returns the dock in the current tab page.
    pub fn now(needs: Needs) -> mlua::Result<Self> {
        let (columns, lines) = window::screen()?;
        let wanted = (needs.longest + 2).clamp(COLUMNS.0, COLUMNS.1);
        let lowest = lowest(lines)?;
        let input = shown(|chat| chat.input)?.map(area_of).transpose()?;
        let (left, right, bottom) = match input {
            Some(input) => {
                let width = input.columns.end - input.columns.start;
                // A window as wide as the chat looks like a part of it.
                let fitting = if width > COLUMNS.1 {
                    wanted
                } else {
                    width.max(COLUMNS.0)
                };
                let left = input.columns.start.min(columns - fitting).max(0);
                (left, (left + fitting).min(columns), input.rows.start)
            }
            None => ((columns - wanted).max(0), columns, lowest),
        };
        let area = Area {
            rows: 0..bottom,
            columns: left..right,
        };
        let from = match needs.is_here {
            true => with(|window| window.home),
            false => Some(window::here()?),
        };
        let mut at_cursor = Vec::new();
        if let Some(from) = from
            && window::is_valid(from)?
        {
            at_cursor = cursor_areas(from)?;
        }
        let mut at_cursor = at_cursor.into_iter();
        let mut blocked: Vec<Area> = at_cursor.next().into_iter().collect();
        // The user's prompts that wait; the plan is the agent's.
        blocked.extend(queue()?.map(area_of).transpose()?);
        blocked.extend(at_cursor);
        let whole = Area {
            rows: 0..lowest,
            columns: left..right,
        };
        Ok(Self {
            area,
            whole,
            blocked,
            words: words()?,
            highest: lines * needs.tenths / 10,
        })
    }

    /// Returns the dock beside these windows, if that has room for the options.
    pub fn beside(mut self, wins: &[i32]) -> mlua::Result<Self> {
        for win in wins {
            self.blocked.push(area_of(*win)?);
        }
        Ok(self)
    }

    /// Returns the dock for a user who reads what does not fit: wider, and over the line they left.
    pub fn for_reading(mut self, longest: i64) -> mlua::Result<Self> {
        let (columns, _) = window::screen()?;
        self.blocked.clear();
        self.words = None;
        let width = (longest + 2).clamp(COLUMNS.0, COLUMNS.1).min(columns);
        let (left, right) = (self.area.columns.start, self.area.columns.end);
        if width > right - left {
            let left = if left == 0 { 0 } else { (right - width).max(0) };
            self.area.columns = left..left + width;
        }
        Ok(self)
    }

    /// Returns the rows of a window above the input.
    fn rows(&self, wanted: i64, least: i64) -> Range<i64> {
        let rows = dock::rows(&self.area, &self.blocked, wanted, least);
        let Some((first, words)) = &self.words else {
            return rows;
        };
        if rows.end - wanted - first >= WORDS {
            // Above the window the transcript scrolls.
            return rows;
        }
        let mut blocked = self.blocked.clone();
        blocked.push(words.clone());
        // With the options, `least` has one row of details.
        let enough = wanted.min(least + DETAILS - 1);
        let beside = dock::rows(&self.area, &blocked, wanted, least);
        match beside.end - beside.start >= enough.min(rows.end - rows.start) {
            true => beside,
            false => rows,
        }
    }

    /// Returns the width of the text.
    pub fn width(&self) -> i64 {
        (self.area.columns.end - self.area.columns.start - 2).max(1)
    }

    /// Returns the place for a text with `all` rows, of which `least` must be visible.
    pub fn place(&self, all: i64, least: i64) -> Rect {
        let least = least + 2;
        let wanted = (all + 2).min(self.highest).max(least);
        let has_room = self.area.rows.end - self.area.rows.start >= least;
        let rows = match has_room {
            true => self.rows(wanted, least),
            // The screen is too low for the options above the input.
            false => dock::rows(&self.whole, &[], wanted, least),
        };
        Rect {
            row: rows.start,
            column: self.area.columns.start,
            width: self.width(),
            height: (rows.end - rows.start - 2).max(1),
        }
    }
}

/// Returns whether a window at this place covers the cursor's line or the hunk there.
pub(super) fn covers_cursor(rect: Rect) -> mlua::Result<bool> {
    let taken = Area {
        rows: rect.row..rect.row + rect.height + 2,
        columns: rect.column..rect.column + rect.width + 2,
    };
    let areas = cursor_areas(window::here()?)?;
    Ok(areas.iter().any(|area| area.meets(&taken)))
}

/// Returns the first row below all windows: of the status line and the command line.
fn lowest(lines: i64) -> mlua::Result<i64> {
    let options: mlua::Table = nvim::vim()?.get("o")?;
    let status = i64::from(options.get::<i64>("laststatus")? > 0);
    Ok(lines - options.get::<i64>("cmdheight")? - status)
}

/// Returns the window in which the tab page shows a buffer of its chat.
fn shown(buf: impl Fn(&Chat) -> i32) -> mlua::Result<Option<i32>> {
    let tab = window::tab()?;
    let buf = chats::with(|chats| {
        let key = chats.by_tab.get(&tab)?;
        chats.by_session.get(key).map(buf)
    });
    buf.map_or(Ok(None), |buf| window::showing(buf, tab))
}

/// Returns the window in which the tab page shows its chat's queue.
fn queue() -> mlua::Result<Option<i32>> {
    let tab = window::tab()?;
    let key = chats::with(|chats| chats.by_tab.get(&tab).copied());
    let buf = key.and_then(|key| panel::buffer(key, panel::Kind::Queue));
    buf.map_or(Ok(None), |buf| window::showing(buf, tab))
}

/// Returns where the transcript of the tab page ends in a window that shows its end, while it fills
/// the window.
pub(super) fn words() -> mlua::Result<Option<Words>> {
    let Some(win) = shown(|chat| chat.transcript)? else {
        return Ok(None);
    };
    let buf = window::buf_of(win)?;
    if !chat::following(buf)?.contains(&win) {
        return Ok(None);
    }
    let mut area = area_of(win)?;
    // The first row is the bar's.
    let first = area.rows.start + 1;
    let lines: usize = api("nvim_buf_line_count", buf)?;
    if lines <= MANY {
        let rows = rows_of(win, 0, lines)?;
        area.rows.end = area.rows.end.min(first + rows);
    }
    area.rows.start = first.max(area.rows.end - WORDS);
    Ok(Some((first, area)))
}

fn area_of(win: i32) -> mlua::Result<Area> {
    let (row, column) = position(win)?;
    Ok(Area {
        rows: row..row + window::height(win)?,
        columns: column..column + window::width(win)?,
    })
}

fn position(win: i32) -> mlua::Result<(i64, i64)> {
    let at: Vec<i64> = api("nvim_win_get_position", win)?;
    match at[..] {
        [row, column] => Ok((row, column)),
        _ => Ok((0, 0)),
    }
}

/// Returns the area of the line with a window's cursor, or of one that takes more than half of the
/// window, of the cursor's row; then the area of the hunk there.
fn cursor_areas(win: i32) -> mlua::Result<Vec<Area>> {
    let whole = area_of(win)?;
    scrolled(win)?;
    let (line, column) = window::cursor(win)?;
    let Some(here) = row_of(win, line, column + 1)? else {
        return Ok(Vec::new());
    };
    let span = |first: i64, last: i64| -> mlua::Result<Range<i64>> {
        let start = row_of(win, first, 1)?.unwrap_or(whole.rows.start);
        let end = row_of(win, last, end_of(win, last)?)?.unwrap_or(whole.rows.end - 1);
        Ok(start.min(here)..end.max(here) + 1)
    };
    let mut rows = span(line, line)?;
    if (rows.end - rows.start) * 2 > whole.rows.end - whole.rows.start {
        rows = here..here + 1;
    }
    let mut areas = vec![rows];
    let buf = window::buf_of(win)?;
    let lines: i64 = api("nvim_buf_line_count", buf)?;
    if let Some((first, last)) = review::hunk_at(buf, usize::try_from(line - 1).unwrap_or(0)) {
        let line_of = |row: usize| i64::try_from(row).map_or(lines, |row| lines.min(row + 1));
        let (first, last) = (line_of(first), line_of(last));
        let mut hunk = span(first, last)?;
        hunk.start = (hunk.start - window::virtual_above(win, first)?).max(whole.rows.start);
        hunk.end = (hunk.end + window::virtual_above(win, last + 1)?).min(whole.rows.end);
        areas.push(hunk);
    }
    let area = |rows| Area {
        rows,
        columns: whole.columns.clone(),
    };
    Ok(areas.into_iter().map(area).collect())
}

/// Lets a window scroll to where its cursor has moved.
fn scrolled(win: i32) -> mlua::Result<()> {
    for edge in ["w0", "w$"] {
        nvim::vim_fn::<i64>("line", (edge, win))?;
    }
    Ok(())
}

/// Returns the screen's row with this column of a line, if it is visible.
fn row_of(win: i32, line: i64, column: i64) -> mlua::Result<Option<i64>> {
    let at: mlua::Table = nvim::vim_fn("screenpos", (win, line, column))?;
    let row: i64 = at.get("row")?;
    Ok((row > 0).then_some(row - 1))
}

/// Returns the column behind a line's last character.
fn end_of(win: i32, line: i64) -> mlua::Result<i64> {
    let end = nvim::lua().create_sequence_from([nvim::value(line), nvim::value("$")])?;
    nvim::vim_fn("col", (end, win))
}
