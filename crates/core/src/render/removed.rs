//! Removed lines as virtual lines in a buffer: chunks of text with their groups, tabs as spaces,
//! wrapped like the window's lines.
//!
//! Invariant: the text of a row is never wider than the layout allows, and is all of its part of the
//! line.

use crate::spine::view::{Group, Line};

/// A part of a row in one group.
pub type Chunk = (String, Group);

/// The layout of lines in a window.
#[derive(Clone, Copy)]
pub struct Layout<'a> {
    /// Cells between two tab stops; at least 1.
    pub tab: usize,
    /// Cells of a row; longer lines wrap if `wrap`.
    pub width: usize,
    pub wrap: bool,
    /// Cells of a row with its padding; Neovim cuts it at the window's edge.
    pub padded: usize,
    /// Returns the cells of a character.
    pub cells: &'a dyn Fn(char) -> usize,
}

/// Returns the rows of a line, each padded in the line's group.
pub fn rows(line: &Line, layout: &Layout) -> Vec<Vec<Chunk>> {
    let ground = line.spans.first().map_or("AcpDelete", |span| span.group);
    let mut rows = Rows {
        layout,
        done: Vec::new(),
        row: Vec::new(),
        cells: 0,
    };
    let mut tab_cells = 0;
    for (at, c) in line.text.char_indices() {
        let covers = |span: &&crate::spine::view::Span| {
            (span.start as usize..span.end as usize).contains(&at)
        };
        let group = line
            .spans
            .iter()
            .rfind(covers)
            .map_or(ground, |span| span.group);
        let before = rows.cells + rows.done.len() * layout.width;
        if c == '\t' {
            let spaces = layout.tab - tab_cells % layout.tab;
            (0..spaces).for_each(|_| rows.put(" ", 1, group, ground));
            tab_cells += spaces;
            continue;
        }
        match control(c) {
            Some(shown) => rows.put(&shown, 2, group, ground),
            None => {
                let mut bytes = [0; 4];
                rows.put(c.encode_utf8(&mut bytes), (layout.cells)(c), group, ground);
            }
        }
        let after = rows.cells + rows.done.len() * layout.width;
        tab_cells += after.saturating_sub(before);
    }
    rows.end(ground);
    rows.done
}

struct Rows<'a> {
    layout: &'a Layout<'a>,
    done: Vec<Vec<Chunk>>,
    row: Vec<Chunk>,
    cells: usize,
}

impl Rows<'_> {
    fn put(&mut self, text: &str, cells: usize, group: Group, ground: Group) {
        let is_full = self.cells + cells > self.layout.width && self.cells > 0;
        if self.layout.wrap && is_full {
            self.end(ground);
        }
        self.cells += cells;
        match self.row.last_mut() {
            Some((last, of)) if *of == group => last.push_str(text),
            _ => self.row.push((text.to_owned(), group)),
        }
    }

    fn end(&mut self, ground: Group) {
        let rest = self.layout.padded.saturating_sub(self.cells);
        // An empty line must be visible too.
        if rest > 0 || self.row.is_empty() {
            self.row.push((" ".repeat(rest.max(1)), ground));
        }
        self.done.push(std::mem::take(&mut self.row));
        self.cells = 0;
    }
}

/// Returns a control character as displayed by Neovim.
fn control(c: char) -> Option<String> {
    match c {
        '\0'..='\u{1f}' => Some(format!("^{}", char::from(c as u8 ^ 0x40))),
        '\u{7f}' => Some("^?".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spine::view::Span;

    /// Checks the rows for a layout; chunks of changed words are in brackets.
    #[track_caller]
    fn check(text: &str, word: std::ops::Range<u32>, layout: (usize, bool), want: &[&str]) {
        let span = |start, end, group| Span { start, end, group };
        let line = Line::new(
            text,
            vec![
                span(0, text.len() as u32, "AcpDelete"),
                span(word.start, word.end, "AcpDeleteWord"),
            ],
        );
        let layout = Layout {
            tab: 4,
            width: layout.0,
            wrap: layout.1,
            padded: layout.0,
            cells: &|c| if c > '\u{1000}' { 2 } else { 1 },
        };
        let rows = rows(&line, &layout).into_iter().map(|row| {
            let chunks = row.into_iter().map(|(text, group)| match group {
                "AcpDeleteWord" => format!("[{text}]"),
                _ => text,
            });
            chunks.collect::<String>()
        });
        assert_eq!(rows.collect::<Vec<_>>(), want);
    }

    #[test]
    fn a_row_is_filled_and_its_words_are_marked() {
        check("ab cd", 3..5, (8, true), &["ab [cd]   "]);
        check("", 0..0, (3, true), &["   "]);
        check("", 0..0, (0, true), &[" "]);
    }

    #[test]
    fn tabs_go_to_the_next_stop() {
        check("\ta", 0..0, (6, true), &["    a "]);
        check("ab\tc", 0..0, (6, true), &["ab  c "]);
        check("abcd\tc", 0..0, (9, true), &["abcd    c"]);
        check("漢\tc", 0..0, (6, true), &["漢  c "]);
    }

    #[test]
    fn long_lines_go_on_in_the_next_row() {
        check("abcdef", 2..4, (3, true), &["ab[c]", "[d]ef"]);
        check("abcdef", 0..0, (3, false), &["abcdef"]);
        check("ab漢c", 0..0, (3, true), &["ab ", "漢c"]);
        check("漢", 0..0, (1, true), &["漢"]);
        check("a\tb", 0..0, (3, true), &["a  ", " b "]);
    }

    #[test]
    fn control_characters_are_shown_as_neovim_shows_them() {
        check("a\0b\u{1b}\u{7f}", 0..0, (9, true), &["a^@b^[^? "]);
    }
}
