//! One hunk on the screen: removed lines as virtual lines above it, added lines highlighted,
//! changed words marked, a sign, and its place among the others behind its first line.

use std::cell::RefCell;
use std::collections::HashMap;

use nvim_oxi::mlua::{self, Table, Value};

use super::nvim::{self, api};
use super::state;
use crate::core::removed::{self, Layout};
use crate::core::view::{HunkView, Line};

/// Lines of one hunk that get a sign of their own; more say nothing new.
const MAX_SIGNS: usize = 500;

/// How hunks look in one buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Style {
    signs: bool,
    virtual_lines: bool,
    word_diff: bool,
    tab: usize,
    /// Cells of a row of text in the buffer's window.
    width: usize,
    wrap: bool,
    hint: String,
}

/// A hunk that is drawn.
#[derive(Debug)]
pub struct Drawn {
    pub hunk: HunkView,
    place: String,
    /// The place's is the last one.
    marks: Vec<Mark>,
    /// It lies below the last line.
    is_below: bool,
    /// How many rows the removed lines take.
    rows: usize,
}

#[derive(Debug)]
struct Mark {
    id: i64,
    row: usize,
    column: usize,
}

impl Style {
    /// Returns how hunks look in a buffer now.
    ///
    /// # Errors
    /// What Neovim says of it.
    pub fn of(buf: i32) -> mlua::Result<Self> {
        let flags = state::with(|editor| {
            let config = editor.config.borrow();
            (config.signs, config.virtual_lines, config.word_diff)
        });
        let (signs, virtual_lines, word_diff) = flags.unwrap_or((true, true, true));
        let (width, wrap) = window(buf, signs)?;
        Ok(Self {
            signs,
            virtual_lines,
            word_diff,
            tab: nvim::buf_option::<usize>(buf, "tabstop")?.max(1),
            width,
            wrap,
            hint: super::keys::review_hint(),
        })
    }
}

/// Returns the cells of a row of text in a window that shows the buffer, and whether that wraps.
fn window(buf: i32, signs: bool) -> mlua::Result<(usize, bool)> {
    let columns: usize = nvim::vim()?.get::<Table>("o")?.get("columns")?;
    let Some(win) = nvim::windows_of(buf)?.first().copied() else {
        return Ok((columns, false));
    };
    let of_window = nvim::table([("win", nvim::value(win))])?;
    let wrap: bool = api("nvim_get_option_value", ("wrap", &of_window))?;
    let column: String = api("nvim_get_option_value", ("signcolumn", of_window))?;
    let info: Vec<Table> = nvim::vim_fn("getwininfo", win)?;
    let Some(info) = info.first() else {
        return Ok((columns, wrap));
    };
    let mut taken: usize = info.get("textoff")?;
    if signs && column.starts_with("auto") && !has_signs(buf)? {
        // Neovim makes room for the first sign when it draws.
        taken += 2;
    }
    Ok((info.get::<usize>("width")?.saturating_sub(taken), wrap))
}

fn has_signs(buf: i32) -> mlua::Result<bool> {
    let opts = nvim::table([("type", nvim::value("sign")), ("limit", nvim::value(1))])?;
    let found: Vec<Value> = api("nvim_buf_get_extmarks", (buf, -1, 0, -1, opts))?;
    Ok(!found.is_empty())
}

impl Drawn {
    /// Draws a hunk.
    ///
    /// # Errors
    /// What Neovim says of it.
    pub fn draw(
        buf: i32,
        namespace: i32,
        hunk: HunkView,
        place: String,
        style: &Style,
    ) -> mlua::Result<Self> {
        let total: usize = api("nvim_buf_line_count", buf)?;
        let last = total.saturating_sub(1);
        let mut pen = Pen {
            buf,
            namespace,
            row: hunk.row.min(last),
            is_below: hunk.row > last,
            marks: Vec::new(),
        };
        let mut rows = 0;
        if style.virtual_lines && !hunk.removed.is_empty() {
            let lines = virtual_lines(&hunk.removed, style)?;
            rows = lines.raw_len();
            pen.virtual_lines(lines)?;
        }
        if hunk.count > 0 {
            pen.lines(&hunk, total)?;
        }
        if style.signs {
            pen.signs(&hunk)?;
        }
        if style.word_diff {
            pen.words(&hunk)?;
        }
        pen.label(&hunk, &place, style, None)?;
        Ok(Self {
            is_below: pen.is_below,
            marks: pen.marks,
            hunk,
            place,
            rows,
        })
    }

    /// Becomes `hunk`, as which it stands there already, with another place maybe.
    ///
    /// # Errors
    /// What Neovim says of it.
    pub fn become_hunk(
        mut self,
        buf: i32,
        namespace: i32,
        hunk: HunkView,
        place: String,
        style: &Style,
    ) -> mlua::Result<Self> {
        for mark in &mut self.marks {
            mark.row = (mark.row + hunk.row).saturating_sub(self.hunk.row);
        }
        // The label is drawn last.
        if place != self.place
            && let Some(label) = self.marks.last()
        {
            let mut pen = Pen {
                buf,
                namespace,
                row: label.row,
                is_below: self.is_below,
                marks: Vec::new(),
            };
            pen.label(&hunk, &place, style, Some(label.id))?;
        }
        self.hunk = hunk;
        self.place = place;
        Ok(self)
    }

    /// Tells whether this is `new`, and its extmarks are where they have to be for that.
    ///
    /// `places` has the row and the column of each extmark, `total` is the number of lines.
    pub fn stands_as(
        &self,
        new: &HunkView,
        places: &HashMap<i64, (usize, usize)>,
        total: usize,
    ) -> bool {
        let old = &self.hunk;
        let moved = |row: usize| (row + new.row).saturating_sub(old.row);
        let mut words = old.words.iter().zip(&new.words);
        old.count == new.count
            && old.conflict == new.conflict
            && old.removed == new.removed
            && old.words.len() == new.words.len()
            && words.all(|(a, b)| moved(a.0) == b.0 && a.1 == b.1)
            && self.is_below == (new.row >= total)
            && self.marks.iter().all(|mark| {
                let place = (moved(mark.row), mark.column);
                places.get(&mark.id) == Some(&place)
            })
    }

    /// Takes the hunk off the screen.
    ///
    /// # Errors
    /// What Neovim says of it.
    pub fn erase(self, buf: i32, namespace: i32) -> mlua::Result<()> {
        for mark in self.marks {
            api::<bool>("nvim_buf_del_extmark", (buf, namespace, mark.id))?;
        }
        Ok(())
    }

    /// Returns how many virtual lines of it stand above the buffer's first line.
    pub fn rows_above_first(&self) -> usize {
        match self.hunk.row {
            0 if !self.is_below => self.rows,
            _ => 0,
        }
    }
}

/// Sets the extmarks of one hunk.
struct Pen {
    buf: i32,
    namespace: i32,
    /// The row of the hunk; the last one if it lies below all lines.
    row: usize,
    is_below: bool,
    marks: Vec<Mark>,
}

impl Pen {
    fn mark(&mut self, row: usize, column: usize, opts: Table) -> mlua::Result<()> {
        let at = (self.buf, self.namespace, row, column, opts);
        let id = api("nvim_buf_set_extmark", at)?;
        self.marks.push(Mark { id, row, column });
        Ok(())
    }

    fn virtual_lines(&mut self, lines: Table) -> mlua::Result<()> {
        let opts = nvim::table([
            ("virt_lines", Value::Table(lines)),
            ("virt_lines_above", Value::Boolean(!self.is_below)),
        ])?;
        if scrolls() {
            // With 'nowrap' they scroll as the lines do.
            opts.set("virt_lines_overflow", "scroll")?;
        }
        self.mark(self.row, 0, opts)
    }

    fn lines(&mut self, hunk: &HunkView, total: usize) -> mlua::Result<()> {
        let group = match hunk.conflict {
            true => "AcpConflict",
            false => "AcpAdd",
        };
        let end = (self.row + hunk.count).min(total);
        let opts = nvim::table([
            ("end_row", nvim::value(end)),
            ("end_col", nvim::value(0)),
            ("hl_group", nvim::value(group)),
            ("hl_eol", Value::Boolean(true)),
            ("priority", nvim::value(90)),
            ("strict", Value::Boolean(false)),
        ])?;
        self.mark(self.row, 0, opts)
    }

    /// A deletion's sign is on the side on which its lines were.
    fn signs(&mut self, hunk: &HunkView) -> mlua::Result<()> {
        let (text, group) = match (hunk.count, self.is_below) {
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

    fn words(&mut self, hunk: &HunkView) -> mlua::Result<()> {
        for (row, columns) in &hunk.words {
            let opts = nvim::table([
                ("end_row", nvim::value(*row)),
                ("end_col", nvim::value(columns.end)),
                ("hl_group", nvim::value("AcpAddWord")),
                ("priority", nvim::value(95)),
                ("strict", Value::Boolean(false)),
            ])?;
            self.mark(*row, columns.start as usize, opts)?;
        }
        Ok(())
    }

    /// Writes the hunk's place among the others behind its line, into the extmark `id` if given.
    fn label(
        &mut self,
        hunk: &HunkView,
        place: &str,
        style: &Style,
        id: Option<i64>,
    ) -> mlua::Result<()> {
        let what = if hunk.conflict { " conflict" } else { "" };
        let text = format!("{place}{what}{}", style.hint);
        let chunk = nvim::lua().create_sequence_from([text, "AcpHint".to_owned()])?;
        let opts = nvim::table([
            ("virt_text", nvim::value(vec![chunk])),
            ("virt_text_pos", nvim::value("eol")),
            ("hl_mode", nvim::value("combine")),
        ])?;
        opts.set("id", id)?;
        self.mark(self.row, 0, opts)
    }
}

/// Tells whether virtual lines can scroll sideways, as they can since Neovim 0.11.
fn scrolls() -> bool {
    thread_local! {
        static SCROLLS: bool =
            nvim::vim_fn::<i64>("has", "nvim-0.11").is_ok_and(|has| has == 1);
    }
    SCROLLS.with(|scrolls| *scrolls)
}

/// Returns the removed lines as virtual lines, wrapped as the window wraps its lines.
///
/// In one table: Lua has room for some 8000 of its tables to be held at once.
fn virtual_lines(removed: &[Line], style: &Style) -> mlua::Result<Table> {
    let layout = Layout {
        tab: style.tab,
        width: style.width,
        wrap: style.wrap,
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

/// Returns the cells Neovim gives a character.
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
