//! Applies a terminal's control codes to plain text, line by line.
//!
//! Invariants: memory is bounded, and each character costs the same for any amount of text; only
//! the last [`LINE`] bytes of the current line can change, so a stray `\r` cannot erase earlier
//! output.

use vte::{Params, Perform};

use crate::text::cut::head;

/// Maximum size of the end of a line that can be overwritten.
pub(crate) const LINE: usize = 4096;

/// Maximum distance of the cursor from the end of a line.
const COLUMNS: usize = 1000;

/// The text and the cursor.
#[derive(Debug, Default)]
pub(crate) struct Screen {
    pub(crate) text: String,
    /// The size to keep when the beginning is cut off.
    pub(crate) keep: usize,
    /// The beginning was cut off.
    pub(crate) is_cut: bool,
    /// Number of line ends, including those cut off.
    pub(crate) ends: usize,
    /// Start of the text that can be overwritten.
    line: usize,
    /// The cursor: at the end, or on an existing character.
    at: usize,
    /// Number of columns from the end of the text to the cursor.
    gap: usize,
}

impl Screen {
    /// Returns an empty screen that keeps `keep` bytes when the beginning is cut off.
    pub(crate) fn new(keep: usize) -> Self {
        Self {
            keep,
            ..Self::default()
        }
    }

    fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    /// Returns the cursor's column, counted from the start of the text that can be overwritten.
    fn column(&self) -> usize {
        let before = self.text.get(self.line..self.at).unwrap_or_default();
        before.chars().count() + self.gap
    }

    /// Writes a character at the cursor.
    fn put(&mut self, c: char) {
        if self.is_at_end() {
            for _ in 0..std::mem::take(&mut self.gap) {
                self.text.push(' ');
            }
            self.text.push(c);
            self.at = self.text.len();
            self.settle();
            return;
        }
        let old = self.next().map_or(0, char::len_utf8);
        let mut bytes = [0; 4];
        let new = c.encode_utf8(&mut bytes);
        self.text.replace_range(self.at..self.at + old, new);
        self.at += new.len();
    }

    /// Returns the character under the cursor.
    fn next(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }

    /// Makes the beginning of a long line permanent.
    fn settle(&mut self) {
        if self.text.len() - self.line > LINE {
            self.line = ceil(&self.text, self.text.len() - LINE / 2);
            self.cut_if_long();
        }
    }

    fn end_line(&mut self) {
        self.text.push('\n');
        self.ends += 1;
        self.gap = 0;
        self.line = self.text.len();
        self.at = self.line;
        self.cut_if_long();
    }

    /// Cuts once the text is a quarter too long, so that each byte is moved only a few times.
    fn cut_if_long(&mut self) {
        if self.text.len() > self.keep.saturating_add(self.keep / 4) {
            self.cut();
        }
    }

    pub(crate) fn cut(&mut self) {
        let surplus = self.text.len().saturating_sub(self.keep);
        // Keeps the text that can be overwritten.
        let end = head(&self.text, surplus.min(self.line)).len();
        if end > 0 {
            self.text.drain(..end);
            self.is_cut = true;
            self.line -= end;
            self.at -= end;
        }
    }

    fn go_to_start(&mut self) {
        self.at = self.line;
        self.gap = 0;
    }

    fn go_right(&mut self, columns: usize) {
        let mut left = columns.min(COLUMNS);
        while left > 0
            && let Some(c) = self.next()
        {
            self.at += c.len_utf8();
            left -= 1;
        }
        self.gap = (self.gap + left).min(COLUMNS);
    }

    fn go_left(&mut self, columns: usize) {
        for _ in 0..columns.min(LINE + COLUMNS) {
            if self.gap > 0 {
                self.gap -= 1;
                continue;
            }
            let before = self.text.get(self.line..self.at).unwrap_or_default();
            match before.chars().next_back() {
                Some(c) => self.at -= c.len_utf8(),
                None => return,
            }
        }
    }

    fn tab(&mut self) {
        if self.is_at_end() {
            self.put('\t');
        } else {
            self.go_right(8 - self.column() % 8);
        }
    }

    /// Erases part of the line: from the cursor (0), to the cursor (1), all of it (2).
    fn erase_line(&mut self, what: usize) {
        let column = self.column();
        match what {
            0 => self.text.truncate(self.at),
            1 if !self.is_at_end() => {
                let end = self.at + self.next().map_or(0, char::len_utf8);
                let blank = " ".repeat(column + 1);
                self.text.replace_range(self.line..end, &blank);
                self.at = self.line + column;
            }
            1 | 2 => {
                self.text.truncate(self.line);
                self.at = self.line;
                self.gap = column.min(COLUMNS);
            }
            _ => {}
        }
    }
}

impl Perform for Screen {
    fn print(&mut self, c: char) {
        if c != '\u{7f}' {
            self.put(c);
        }
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\n' | 0x0b | 0x0c => self.end_line(),
            b'\r' => self.go_to_start(),
            0x08 => self.go_left(1),
            b'\t' => self.tab(),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], _ignore: bool, action: char) {
        if !intermediates.is_empty() {
            return;
        }
        let param = params.iter().next().and_then(|param| param.first());
        let param = usize::from(param.copied().unwrap_or(0));
        match action {
            'C' => self.go_right(param.max(1)),
            'D' => self.go_left(param.max(1)),
            'G' | '`' => {
                self.go_to_start();
                self.go_right(param.max(1) - 1);
            }
            'K' => self.erase_line(param),
            'J' if param == 0 => self.erase_line(0),
            // Text written elsewhere on the screen is not part of this line.
            'H' | 'f' | 'd' if self.text.len() > self.line => self.end_line(),
            _ => {}
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], _ignore: bool, byte: u8) {
        if intermediates.is_empty() && matches!(byte, b'D' | b'E') {
            self.end_line();
        }
    }
}

/// Returns the first character boundary at or after `at`.
pub(crate) fn ceil(text: &str, at: usize) -> usize {
    (at..text.len())
        .find(|&at| text.is_char_boundary(at))
        .unwrap_or(text.len())
}
