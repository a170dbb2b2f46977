//! The screen as a user sees it, built from Neovim's `redraw` events (`:help ui-linegrid`).
//!
//! Rows and columns are 0-based cells; a wide character fills two, the second one empty. Highlights
//! are identified by the names of their groups (`ext_hlstate`), so that assertions about them hold
//! in every version and colour scheme.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

use rmpv::Value;

/// The content of the screen.
#[derive(Debug, Clone, Default)]
pub struct Screen {
    pub width: usize,
    pub height: usize,
    /// Row and column of the cursor.
    pub cursor: (usize, usize),
    /// The mode as the screen shows it: `normal`, `insert`, `cmdline_normal`, ...
    pub mode: String,
    pub(super) default: Style,
    cells: Vec<Cell>,
    styles: HashMap<u64, Arc<Style>>,
    mid_frame: bool,
}

#[derive(Debug, Clone, Default)]
struct Cell {
    text: String,
    style: u64,
}

/// The look of a cell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Style {
    /// The groups it combines, lowest first and joined by `+`; empty for plain text.
    pub groups: String,
    pub fg: Option<u32>,
    pub bg: Option<u32>,
    /// The colour of underlines.
    pub sp: Option<u32>,
    pub bold: bool,
    pub italic: bool,
    pub underline: bool,
    pub undercurl: bool,
    pub strikethrough: bool,
    pub reverse: bool,
}

impl Screen {
    /// Returns the rows as text, without trailing blanks.
    pub fn rows(&self) -> Vec<String> {
        (0..self.height).map(|row| self.row(row)).collect()
    }

    /// Returns one row as text, without trailing blanks.
    pub fn row(&self, row: usize) -> String {
        let text: String = self.cells_of(row).iter().map(|c| c.text.as_str()).collect();
        text.trim_end().to_owned()
    }

    /// Returns the whole screen as text.
    pub fn text(&self) -> String {
        self.rows().join("\n")
    }

    /// Returns whether one of the rows contains `text`.
    pub fn has(&self, text: &str) -> bool {
        self.find(text).is_some()
    }

    /// Returns the row and column of the topmost occurrence of `text`.
    pub fn find(&self, text: &str) -> Option<(usize, usize)> {
        (0..self.height).find_map(|row| Some((row, self.find_in(row, text)?)))
    }

    /// Returns the groups of the topmost occurrence of `text`, one entry for each change within it;
    /// none if the text is not on the screen.
    pub fn groups_of(&self, text: &str) -> Vec<String> {
        let Some((row, start)) = self.find(text) else {
            return Vec::new();
        };
        let end = self.column_after(row, start, text);
        let mut groups: Vec<_> = (start..end)
            .map(|column| self.style(row, column).groups.clone())
            .collect();
        groups.dedup();
        groups
    }

    /// Returns the style of a cell.
    pub fn style(&self, row: usize, column: usize) -> Arc<Style> {
        let id = self.cells_of(row).get(column).map_or(0, |cell| cell.style);
        self.styles.get(&id).cloned().unwrap_or_default()
    }

    /// Returns the text and the highlights of `rows` in the form of a snapshot.
    ///
    /// First the rows of text; then, for each row with highlights, one letter per cell; then
    /// the letters' groups, in the order in which they first appear.
    pub fn dump(&self, rows: Range<usize>) -> String {
        let rows = rows.start.min(self.height)..rows.end.min(self.height);
        let mut out = String::new();
        for row in rows.clone() {
            let _ = writeln!(out, "{row:2}|{}", self.row(row));
        }
        let mut legend: Vec<String> = Vec::new();
        let mut marks = String::new();
        for row in rows {
            let line: String = (0..self.width)
                .map(|column| letter(&mut legend, &self.style(row, column).groups))
                .collect();
            let line = line.trim_end();
            if !line.is_empty() {
                let _ = writeln!(marks, "{row:2}|{line}");
            }
        }
        if !marks.is_empty() {
            let _ = write!(out, "--\n{marks}--\n");
        }
        for (at, groups) in legend.iter().enumerate() {
            let _ = writeln!(out, " {} {groups}", LETTERS[at % LETTERS.len()] as char);
        }
        out
    }

    /// Returns the cells of a row: the text and the style of each.
    pub(super) fn cells(&self, row: usize) -> impl Iterator<Item = (&str, Arc<Style>)> {
        let cells = self.cells_of(row).iter().enumerate();
        cells.map(move |(column, cell)| (cell.text.as_str(), self.style(row, column)))
    }

    /// Returns whether a frame has begun but not ended.
    pub(super) fn is_mid_frame(&self) -> bool {
        self.mid_frame
    }

    fn cells_of(&self, row: usize) -> &[Cell] {
        let start = row * self.width;
        self.cells.get(start..start + self.width).unwrap_or(&[])
    }

    fn find_in(&self, row: usize, text: &str) -> Option<usize> {
        let cells = self.cells_of(row);
        (0..cells.len()).find(|&start| {
            let mut rest = text;
            for cell in &cells[start..] {
                if rest.is_empty() {
                    break;
                }
                match rest.strip_prefix(cell.text.as_str()) {
                    Some(after) => rest = after,
                    None => return false,
                }
            }
            rest.is_empty() && !cells[start].text.is_empty()
        })
    }

    fn column_after(&self, row: usize, start: usize, text: &str) -> usize {
        let mut bytes = 0;
        let cells = self.cells_of(row).iter().skip(start);
        start
            + cells
                .take_while(|cell| {
                    bytes += cell.text.len();
                    bytes <= text.len()
                })
                .count()
    }
}

/// Redraw events.
impl Screen {
    /// Applies one batch of a `redraw` notification: a name and its calls.
    pub(super) fn apply(&mut self, batch: &Value) {
        let Some([name, calls @ ..]) = batch.as_array().map(Vec::as_slice) else {
            return;
        };
        let name = name.as_str().unwrap_or_default();
        self.mid_frame = name != "flush";
        for call in calls {
            let args = call.as_array().map_or(&[][..], Vec::as_slice);
            self.apply_call(name, args);
        }
    }

    fn apply_call(&mut self, name: &str, args: &[Value]) {
        match name {
            "grid_resize" => self.resize(number(args, 1), number(args, 2)),
            "grid_clear" => self.cells.fill(Cell::blank()),
            "grid_line" => self.line(args),
            "grid_scroll" => self.scroll(args),
            "grid_cursor_goto" => self.cursor = (number(args, 1), number(args, 2)),
            "mode_change" => {
                self.mode = args[0].as_str().unwrap_or_default().to_owned();
            }
            "default_colors_set" => {
                self.default.fg = colour(&args[0]);
                self.default.bg = colour(&args[1]);
                self.default.sp = colour(&args[2]);
            }
            "hl_attr_define" => {
                let style = Style::read(&args[1], &args[3]);
                self.styles.insert(number(args, 0) as u64, Arc::new(style));
            }
            _ => {}
        }
    }

    fn resize(&mut self, width: usize, height: usize) {
        let mut cells = vec![Cell::blank(); width * height];
        for row in 0..height.min(self.height) {
            for column in 0..width.min(self.width) {
                cells[row * width + column] = self.cells[row * self.width + column].clone();
            }
        }
        (self.width, self.height, self.cells) = (width, height, cells);
    }

    fn line(&mut self, args: &[Value]) {
        let mut at = number(args, 1) * self.width + number(args, 2);
        let mut style = 0;
        for cell in args[3].as_array().into_iter().flatten() {
            let cell = cell.as_array().map_or(&[][..], Vec::as_slice);
            let text = cell[0].as_str().unwrap_or("\u{fffd}");
            style = cell.get(1).and_then(Value::as_u64).unwrap_or(style);
            let repeat = cell.get(2).and_then(Value::as_u64).unwrap_or(1);
            for _ in 0..repeat {
                self.cells[at] = Cell {
                    text: text.to_owned(),
                    style,
                };
                at += 1;
            }
        }
    }

    fn scroll(&mut self, args: &[Value]) {
        let [top, bottom, left, right] = [1, 2, 3, 4].map(|at| number(args, at));
        let by = args[5].as_i64().unwrap_or(0);
        let height = bottom - top;
        let kept = height.saturating_sub(by.unsigned_abs() as usize);
        for step in 0..kept {
            // Up: from the top; down: from the bottom, so that each row is read before it is
            // overwritten.
            let (from, to) = if by > 0 {
                (bottom - kept + step, top + step)
            } else {
                (top + kept - 1 - step, bottom - 1 - step)
            };
            for column in left..right {
                self.cells[to * self.width + column] =
                    self.cells[from * self.width + column].clone();
            }
        }
    }
}

impl Cell {
    fn blank() -> Self {
        Self {
            text: " ".to_owned(),
            style: 0,
        }
    }
}

impl Style {
    fn read(attributes: &Value, info: &Value) -> Self {
        let mut style = Self {
            groups: group_names(info).join("+"),
            ..Self::default()
        };
        for (key, value) in attributes.as_map().into_iter().flatten() {
            match key.as_str().unwrap_or_default() {
                "foreground" => style.fg = colour(value),
                "background" => style.bg = colour(value),
                "special" => style.sp = colour(value),
                "bold" => style.bold = true,
                "italic" => style.italic = true,
                "underline" => style.underline = true,
                "undercurl" => style.undercurl = true,
                "strikethrough" => style.strikethrough = true,
                "reverse" => style.reverse = true,
                _ => {}
            }
        }
        style
    }
}

/// Returns the groups named in the `info` of `hl_attr_define`, lowest first.
fn group_names(info: &Value) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for item in info.as_array().into_iter().flatten() {
        let field = |name: &str| {
            let pairs = item.as_map().into_iter().flatten();
            let mut named = pairs.filter(|(key, _)| key.as_str() == Some(name));
            named.find_map(|(_, value)| value.as_str().filter(|text| !text.is_empty()))
        };
        // Elements of the UI have a `ui_name`; other highlights have the group that sets the
        // colours.
        let name = field("ui_name").or_else(|| field("hi_name"));
        if let Some(name) = name
            && names.last().is_none_or(|last| last != name)
        {
            names.push(name.to_owned());
        }
    }
    names
}

const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

fn letter(legend: &mut Vec<String>, groups: &str) -> char {
    if groups.is_empty() {
        return ' ';
    }
    let at = legend.iter().position(|known| known == groups);
    let at = at.unwrap_or_else(|| {
        legend.push(groups.to_owned());
        legend.len() - 1
    });
    LETTERS[at % LETTERS.len()] as char
}

fn number(args: &[Value], at: usize) -> usize {
    args[at].as_u64().unwrap_or(0) as usize
}

fn colour(value: &Value) -> Option<u32> {
    value.as_i64().and_then(|rgb| u32::try_from(rgb).ok())
}
