//! The extmarks of one hunk: virtual lines with the removed text, highlights of added lines and
//! changed words, signs, and a label with its number among the hunks.

use std::cell::RefCell;
use std::collections::HashMap;

use nvim_oxi::mlua::{self, Table, Value};

use super::nvim::{self, api};
use super::{config, decor};
use acp_core::render::removed::{self, Layout};
use acp_core::spine::event::ReviewAction;
use acp_core::spine::view::{HunkView, Line};

/// Lines of a hunk that get a sign; more would add nothing.
const MAX_SIGNS: usize = 500;

/// The look of the hunks in a buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Style {
    signs: bool,
    virtual_lines: bool,
    word_diff: bool,
    tab: usize,
    /// Cells of a row of text in the buffer's window.
    width: usize,
    /// Cells of a row of the window.
    padded: usize,
    wrap: bool,
    /// The colours of a change go before those of code.
    is_over: bool,
    /// So do those of lines that a proposal removes.
    is_removal_over: bool,
    hints: Vec<String>,
}

impl Style {
    /// Returns the priority of a hunk's lines: above or below that of code in them.
    fn priority(&self, hunk: &HunkView) -> i64 {
        let is_over = match hunk.proposed {
            Some(_) => self.is_removal_over,
            None => self.is_over,
        };
        match is_over {
            true => decor::OVER_CODE,
            false => 90,
        }
    }

    /// Returns the look of the hunks in a buffer now.
    pub fn of(buf: i32) -> mlua::Result<Self> {
        let (signs, virtual_lines, word_diff) =
            config::with(|config| (config.signs, config.virtual_lines, config.word_diff));
        let (width, padded, wrap) = window(buf, signs)?;
        Ok(Self {
            signs,
            // They would shift the lines of a window in diff mode against those of the other one,
            // which shows the removed lines.
            virtual_lines: virtual_lines && !is_in_diff(buf)?,
            word_diff,
            tab: nvim::buf_option::<usize>(buf, "tabstop")?.max(1),
            width,
            padded,
            wrap,
            is_over: decor::is_over_code()?,
            is_removal_over: decor::is_removal_over_code()?,
            hints: super::keys::review_hints(),
        })
    }
}

/// Returns the cells of a row of text in a window that shows the buffer, those of the window, and
/// whether rows wrap.
fn window(buf: i32, signs: bool) -> mlua::Result<(usize, usize, bool)> {
    let columns: usize = nvim::vim()?.get::<Table>("o")?.get("columns")?;
    let Some(win) = nvim::windows_of(buf)?.first().copied() else {
        return Ok((columns, columns, false));
    };
    let wrap: bool = nvim::win_option(win, "wrap")?;
    let column: String = nvim::win_option(win, "signcolumn")?;
    let info: Vec<Table> = nvim::vim_fn("getwininfo", win)?;
    let Some(info) = info.first() else {
        return Ok((columns, columns, wrap));
    };
    let mut taken: usize = info.get("textoff")?;
    if signs && column.starts_with("auto") {
        // Neovim opens and closes the sign column as it draws; it is open where hunks are.
        let is_open = match other_columns(win, buf)? {
            Some(others) => taken >= others + 2,
            None => has_signs(buf)?,
        };
        if !is_open {
            taken += 2;
        }
    }
    let width: usize = info.get("width")?;
    Ok((width.saturating_sub(taken), width, wrap))
}

/// Returns the cells left of a window's text without the sign column; `None` if they depend on more
/// than options.
fn other_columns(win: i32, buf: i32) -> mlua::Result<Option<usize>> {
    let fold: String = nvim::win_option(win, "foldcolumn")?;
    let status: String = nvim::win_option(win, "statuscolumn")?;
    let (Ok(fold), true) = (fold.parse::<usize>(), status.is_empty()) else {
        return Ok(None);
    };
    let number: bool = nvim::win_option(win, "number")?;
    let relative: bool = nvim::win_option(win, "relativenumber")?;
    let largest: usize = match (number, relative) {
        (true, _) => api("nvim_buf_line_count", buf)?,
        (false, true) => api("nvim_win_get_height", win)?,
        (false, false) => return Ok(Some(fold)),
    };
    let least: usize = nvim::win_option(win, "numberwidth")?;
    Ok(Some(fold + least.max(largest.to_string().len() + 1)))
}

/// Returns whether a window shows the buffer in diff mode.
fn is_in_diff(buf: i32) -> mlua::Result<bool> {
    for win in nvim::windows_of(buf)? {
        if nvim::win_option(win, "diff")? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn has_signs(buf: i32) -> mlua::Result<bool> {
    let opts = nvim::table([("type", nvim::value("sign")), ("limit", nvim::value(1))])?;
    let found: Vec<Value> = api("nvim_buf_get_extmarks", (buf, -1, 0, -1, opts))?;
    Ok(!found.is_empty())
}

/// A buffer in which hunks are drawn.
#[derive(Debug, Clone, Copy)]
pub struct Canvas {
    pub buf: i32,
    pub namespace: i32,
    /// The number of lines.
    lines: usize,
    /// A window that shows it.
    win: Option<i32>,
}

/// An extmark, and where it was set.
#[derive(Debug)]
pub struct Mark {
    pub id: i64,
    pub row: usize,
    pub column: usize,
}

/// The extmarks that draw a hunk.
pub struct Ink {
    /// The last one is the label.
    pub marks: Vec<Mark>,
    /// The number of rows that the removed lines take.
    pub rows: usize,
}

impl Canvas {
    /// Returns the canvas of a buffer as it is now.
    pub fn of(buf: i32, namespace: i32) -> mlua::Result<Self> {
        let lines = api("nvim_buf_line_count", buf)?;
        let win = nvim::windows_of(buf)?.first().copied();
        Ok(Self {
            buf,
            namespace,
            lines,
            win,
        })
    }

    /// Returns the row at which a hunk is drawn, and whether it lies below all lines.
    pub fn place(self, hunk: &HunkView) -> (usize, bool) {
        let last = self.lines.saturating_sub(1);
        (hunk.row.min(last), hunk.row > last)
    }

    /// Returns the row and the column of each extmark.
    pub fn places(self) -> mlua::Result<HashMap<i64, (usize, usize)>> {
        let at = (self.buf, self.namespace, 0, -1, nvim::empty()?);
        // As a Lua table: mlua cannot hold more than a few thousand values.
        let marks: Table = api("nvim_buf_get_extmarks", at)?;
        let marks = marks.sequence_values::<Table>();
        let places = marks.map(|mark| {
            let mark = mark?;
            Ok((mark.raw_get(1)?, (mark.raw_get(2)?, mark.raw_get(3)?)))
        });
        places.collect()
    }
}

/// Draws a hunk.
pub fn draw(canvas: &Canvas, hunk: &HunkView, place: &str, style: &Style) -> mlua::Result<Ink> {
    let (row, is_below) = canvas.place(hunk);
    let mut pen = Pen {
        canvas: *canvas,
        row,
        is_below,
        marks: Vec::new(),
    };
    let mut rows = 0;
    let choice = hunk.proposed.as_ref().and_then(|proposed| proposed.choice);
    if choice == Some(ReviewAction::Reject) {
        // The lines stay as they are, and only the label shows the decision.
        pen.label(hunk, place, style, None)?;
        let marks = pen.marks;
        return Ok(Ink { marks, rows });
    }
    // A proposed hunk has no other representation.
    let is_shown = style.virtual_lines || hunk.proposed.is_some();
    if is_shown && !hunk.removed.is_empty() {
        let lines = virtual_lines(&hunk.removed, style)?;
        let count = lines.raw_len();
        if pen.virtual_lines(hunk, lines)? {
            rows = count;
        }
    }
    if hunk.count > 0 {
        pen.lines(hunk, style)?;
    }
    if style.signs {
        pen.signs(hunk)?;
    }
    if style.word_diff {
        pen.words(hunk, style)?;
    }
    pen.label(hunk, place, style, None)?;
    Ok(Ink {
        marks: pen.marks,
        rows,
    })
}

/// Replaces the number in a hunk's label.
pub fn relabel(
    canvas: &Canvas,
    hunk: &HunkView,
    place: &str,
    style: &Style,
    label: &Mark,
) -> mlua::Result<()> {
    let mut pen = Pen {
        canvas: *canvas,
        row: label.row,
        is_below: false,
        marks: Vec::new(),
    };
    pen.label(hunk, place, style, Some(label.id))
}

/// Sets the extmarks of one hunk.
struct Pen {
    canvas: Canvas,
    /// The row of the hunk; the last one if it lies below all lines.
    row: usize,
    is_below: bool,
    marks: Vec<Mark>,
}

impl Pen {
    fn mark(&mut self, row: usize, column: usize, opts: Table) -> mlua::Result<()> {
        let at = (self.canvas.buf, self.canvas.namespace, row, column, opts);
        let id = api("nvim_buf_set_extmark", at)?;
        self.marks.push(Mark { id, row, column });
        Ok(())
    }

    /// Draws virtual lines above the hunk, or below it if they are proposed to replace its lines.
    /// Returns whether they are above.
    fn virtual_lines(&mut self, hunk: &HunkView, lines: Table) -> mlua::Result<bool> {
        let is_below = self.is_below || hunk.proposed.is_some() && hunk.count > 0;
        let last = (self.row + hunk.count.max(1)).min(self.canvas.lines);
        let row = match is_below {
            true => last.saturating_sub(1),
            false => self.row,
        };
        let opts = nvim::table([
            ("virt_lines", nvim::value(lines)),
            ("virt_lines_above", Value::Boolean(!is_below)),
        ])?;
        if scrolls() {
            // With 'nowrap' they scroll like the lines.
            opts.set("virt_lines_overflow", "scroll")?;
        }
        self.mark(row, 0, opts)?;
        Ok(!is_below)
    }

    fn lines(&mut self, hunk: &HunkView, style: &Style) -> mlua::Result<()> {
        let group = match (hunk.conflict, &hunk.proposed) {
            (true, _) => "AcpConflict",
            (false, Some(_)) => "AcpProposedDelete",
            (false, None) => "AcpAdd",
        };
        let end = (self.row + hunk.count).min(self.canvas.lines);
        let opts = nvim::table([
            ("end_row", nvim::value(end)),
            ("end_col", nvim::value(0)),
            ("hl_group", nvim::value(group)),
            ("hl_eol", Value::Boolean(true)),
            ("priority", nvim::value(style.priority(hunk))),
            ("strict", Value::Boolean(false)),
        ])?;
        self.mark(self.row, 0, opts)
    }

    /// The sign of a deletion is on the side where the removed lines were.
    fn signs(&mut self, hunk: &HunkView) -> mlua::Result<()> {
        let (text, group) = match (hunk.count, self.is_below) {
            _ if hunk.proposed.is_some() => ("┆", "AcpProposed"),
            (0, false) => ("▔", "AcpSignDelete"),
            (0, true) => ("▁", "AcpSignDelete"),
            _ => ("┃", "AcpSign"),
        };
        for row in self.row..self.row + hunk.count.clamp(1, MAX_SIGNS) {
            let opts = nvim::table([
                ("sign_text", nvim::value(text)),
                ("sign_hl_group", nvim::value(group)),
                ("priority", nvim::value(90)),
            ])?;
            self.mark(row, 0, opts)?;
        }
        Ok(())
    }

    fn words(&mut self, hunk: &HunkView, style: &Style) -> mlua::Result<()> {
        let group = match hunk.proposed {
            Some(_) => "AcpDeleteWord",
            None => "AcpAddWord",
        };
        for (row, columns) in &hunk.words {
            let opts = nvim::table([
                ("end_row", nvim::value(*row)),
                ("end_col", nvim::value(columns.end)),
                ("hl_group", nvim::value(group)),
                ("priority", nvim::value(style.priority(hunk) + 1)),
                ("strict", Value::Boolean(false)),
            ])?;
            self.mark(*row, columns.start as usize, opts)?;
        }
        Ok(())
    }

    /// Writes the hunk's number behind its line, into the extmark `id` if given.
    fn label(
        &mut self,
        hunk: &HunkView,
        place: &str,
        style: &Style,
        id: Option<i64>,
    ) -> mlua::Result<()> {
        let what = if hunk.conflict { " conflict" } else { "" };
        let mut text = format!("{place}{what}");
        let hint = self.hint(&text, style)?;
        text.push_str(&hint);
        let lua = nvim::lua();
        let chunks = match &hunk.proposed {
            Some(proposed) if proposed.is_second => {
                vec![lua.create_sequence_from([place, "AcpProposed"])?]
            }
            Some(_) => vec![
                lua.create_sequence_from([place, "AcpProposed"])?,
                lua.create_sequence_from([hint.as_str(), "AcpHint"])?,
            ],
            None => vec![lua.create_sequence_from([text.as_str(), "AcpHint"])?],
        };
        let opts = nvim::table([
            ("virt_text", nvim::value(chunks)),
            ("virt_text_pos", nvim::value("eol")),
            ("hl_mode", nvim::value("combine")),
        ])?;
        if hunk.proposed.as_ref().is_some_and(|it| it.is_second) {
            // Behind the label of the other hunk.
            opts.set("priority", 5000)?;
        }
        opts.set("id", id)?;
        self.mark(self.row, 0, opts)
    }

    /// Returns the keys that fit into the window behind the hunk's line and its label.
    fn hint(&self, label: &str, style: &Style) -> mlua::Result<String> {
        let line = match self.canvas.win {
            Some(win) => cells_of(win, self.row)?,
            None => 0,
        };
        let line = match style.wrap {
            true => line % style.width.max(1),
            // It is seen only after scrolling sideways.
            false if line >= style.width => 0,
            false => line,
        };
        // Neovim leaves a blank between the line and the label.
        let mut cells = line + 1 + label.chars().count();
        let hints = style.hints.iter().take_while(|hint| {
            cells += hint.chars().count();
            cells <= style.width
        });
        Ok(hints.cloned().collect())
    }
}

/// Returns the cells that a line takes in a window, in all of its rows.
fn cells_of(win: i32, row: usize) -> mlua::Result<usize> {
    let end = nvim::lua().create_sequence_from([nvim::value(row + 1), nvim::value("$")])?;
    let column: usize = nvim::vim_fn("virtcol", (end, 0, win))?;
    Ok(column.saturating_sub(1))
}

/// Returns whether virtual lines can scroll sideways; they can since Neovim 0.11.
fn scrolls() -> bool {
    thread_local! {
        static SCROLLS: bool =
            nvim::vim_fn::<i64>("has", "nvim-0.11").is_ok_and(|has| has == 1);
    }
    SCROLLS.with(|scrolls| *scrolls)
}

/// Returns the removed lines as virtual lines, wrapped like the window's lines.
fn virtual_lines(removed: &[Line], style: &Style) -> mlua::Result<Table> {
    let layout = Layout {
        tab: style.tab,
        width: style.width,
        wrap: style.wrap,
        padded: style.padded,
        cells: &cells,
    };
    let lines = nvim::empty()?;
    for row in removed.iter().flat_map(|line| removed::rows(line, &layout)) {
        let chunks = nvim::empty()?;
        for (text, group) in row {
            chunks.push(nvim::lua().create_sequence_from([text.as_str(), group])?)?;
        }
        lines.push(chunks)?;
    }
    Ok(lines)
}

/// Returns the cells that Neovim gives a character.
fn cells(c: char) -> usize {
    thread_local! {
        static KNOWN: RefCell<HashMap<char, usize>> = RefCell::default();
    }
    if c.is_ascii() {
        return 1;
    }
    let known = KNOWN.with_borrow(|known| known.get(&c).copied());
    known.unwrap_or_else(|| {
        let cells = nvim::vim_fn("strdisplaywidth", c.to_string()).unwrap_or(1);
        KNOWN.with_borrow_mut(|known| known.insert(c, cells));
        cells
    })
}
