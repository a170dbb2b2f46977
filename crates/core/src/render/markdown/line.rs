//! One line of markdown: its indentation, and the blocks it can begin.
//!
//! Invariant: columns count tabs to the next multiple of four, offsets count bytes.

use super::html;

/// A position in a line, after any white space there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    line: &'a str,
    offset: usize,
    column: usize,
    /// The column of the text around a block quote where this line's first column is.
    origin: usize,
}

/// The marker of a list item.
#[derive(Debug, Clone, Copy)]
pub(super) struct Marker<'a> {
    /// The column where the item's content starts.
    pub content: usize,
    /// The text after the marker, if any.
    pub rest: Option<Cursor<'a>>,
}

impl<'a> Cursor<'a> {
    /// Returns the position of the first character of `line` that is not white space.
    pub fn new(line: &'a str) -> Self {
        Self {
            line,
            offset: 0,
            column: 0,
            origin: 0,
        }
        .skip_white()
    }

    /// Returns the position in the text after a block quote's mark, which is here.
    ///
    /// One column of white space belongs to the mark; a tab may be wider.
    pub fn quoted(&self) -> Self {
        let rest = self.rest();
        let rest = rest.strip_prefix('>').unwrap_or(rest);
        let origin = self.origin + self.column + 1;
        let (line, column, origin) = match rest.strip_prefix('\t') {
            Some(line) => (line, tab_width(origin) - 1, origin + 1),
            None => match rest.strip_prefix(' ') {
                Some(line) => (line, 0, origin + 1),
                None => (rest, 0, origin),
            },
        };
        Self {
            line,
            offset: 0,
            column,
            origin,
        }
        .skip_white()
    }

    pub fn line(&self) -> &'a str {
        self.line
    }

    pub fn offset(&self) -> usize {
        self.offset
    }

    pub fn column(&self) -> usize {
        self.column
    }

    pub fn rest(&self) -> &'a str {
        self.line.get(self.offset..).unwrap_or_default()
    }

    pub fn is_blank(&self) -> bool {
        self.rest().is_empty()
    }

    pub fn starts_with(&self, c: char) -> bool {
        self.rest().starts_with(c)
    }

    /// Returns whether the line begins a block other than a paragraph.
    ///
    /// If `interrupting`, the line could also continue a paragraph; fewer list markers count then,
    /// because a number at a line's start is usually just a number.
    pub fn begins_block(&self, interrupting: bool) -> bool {
        self.starts_with('>')
            || self.is_heading()
            || self.is_rule()
            || self.fence().is_some()
            || html::start(self.rest()).is_some_and(|end| end != html::End::Tag)
            || self.marker().is_some_and(|marker| {
                let one = self.rest().starts_with("1.") || self.rest().starts_with("1)");
                let digit = self.rest().starts_with(|c: char| c.is_ascii_digit());
                !interrupting || marker.rest.is_some() && (one || !digit)
            })
    }

    pub fn is_heading(&self) -> bool {
        let rest = self.rest().trim_start_matches('#');
        (1..=6).contains(&(self.rest().len() - rest.len()))
            && (rest.is_empty() || rest.starts_with([' ', '\t']))
    }

    pub fn is_rule(&self) -> bool {
        let mut marks = self.rest().chars().filter(|c| !matches!(c, ' ' | '\t'));
        let Some(mark @ ('-' | '_' | '*')) = marks.next() else {
            return false;
        };
        let mut count = 1;
        for c in marks {
            if c != mark {
                return false;
            }
            count += 1;
        }
        count >= 3
    }

    /// Returns whether the line makes the paragraph above it a heading.
    pub fn is_setext(&self) -> bool {
        let rest = self.rest().trim_end_matches([' ', '\t']);
        !rest.is_empty() && (rest.bytes().all(|b| b == b'=') || rest.bytes().all(|b| b == b'-'))
    }

    /// Returns the number of cells the line would have as a table row.
    pub fn cells(&self) -> usize {
        let row = self.rest().trim_end();
        let mut escaped = false;
        let mut cells = 1;
        for c in row.chars() {
            cells += usize::from(c == '|' && !escaped);
            escaped = c == '\\' && !escaped;
        }
        let ends = row.len() > 1 && row.ends_with('|') && !row.ends_with("\\|");
        cells - usize::from(row.starts_with('|')) - usize::from(ends)
    }

    /// Returns whether the line can be the delimiter row of a table.
    pub fn is_delimiter_row(&self) -> bool {
        let rest = self.rest();
        rest.contains('-')
            && rest.contains(['|', ':'])
            && rest
                .chars()
                .all(|c| matches!(c, '-' | '|' | ':' | ' ' | '\t'))
    }

    /// Returns the mark and its length if the line opens a code fence.
    pub fn fence(&self) -> Option<(u8, usize)> {
        let mark = *self.rest().as_bytes().first()?;
        let info = match mark {
            b'`' | b'~' => self.rest().trim_start_matches(char::from(mark)),
            _ => return None,
        };
        let len = self.rest().len() - info.len();
        (len >= 3 && !(mark == b'`' && info.contains('`'))).then_some((mark, len))
    }

    /// Returns the list marker here, unless there is none or the line is a rule.
    pub fn marker(&self) -> Option<Marker<'a>> {
        let rest = self.rest();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let width = match digits {
            0 if rest.starts_with(['-', '+', '*']) => 1,
            1..=9 if matches!(rest.as_bytes().get(digits), Some(b'.' | b')')) => digits + 1,
            _ => return None,
        };
        let after = rest.get(width..).unwrap_or_default();
        if !(after.is_empty() || after.starts_with([' ', '\t'])) || self.is_rule() {
            return None;
        }
        let end = Self {
            offset: self.offset + width,
            column: self.column + width,
            ..*self
        };
        let next = end.skip_white();
        if next.is_blank() {
            return Some(Marker {
                content: end.column + 1,
                rest: None,
            });
        }
        let content = match next.column - end.column {
            spaces @ 1..=4 => end.column + spaces,
            _ => end.column + 1,
        };
        Some(Marker {
            content,
            rest: Some(next),
        })
    }

    fn skip_white(mut self) -> Self {
        for byte in self.rest().bytes() {
            match byte {
                b' ' => self.column += 1,
                b'\t' => self.column += tab_width(self.origin + self.column),
                _ => break,
            }
            self.offset += 1;
        }
        self
    }
}

fn tab_width(column: usize) -> usize {
    4 - column % 4
}

/// Returns the number of bytes of `line`'s indentation within its first `columns` columns.
pub(super) fn dedent(line: &str, columns: usize) -> usize {
    let mut column = 0;
    line.bytes()
        .take_while(|byte| {
            column += match byte {
                b' ' => 1,
                b'\t' => tab_width(column),
                _ => return false,
            };
            column <= columns
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_say_where_their_content_starts() {
        let check = |line: &str, want: Option<usize>| {
            let content = Cursor::new(line).marker().map(|marker| marker.content);
            assert_eq!(content, want, "{line:?}");
        };
        check("- a", Some(2));
        check("   -   a", Some(7));
        check("-     a", Some(2));
        check("-\ta", Some(4));
        check("10) a", Some(4));
        check("-", Some(2));
        check("-a", None);
        check("- - -", None);
        check("1234567890. a", None);
        check("1.a", None);
    }

    #[test]
    fn indentation_is_cut_at_whole_characters() {
        assert_eq!(dedent("    a", 2), 2);
        assert_eq!(dedent(" a", 4), 1);
        assert_eq!(dedent("\ta", 4), 1);
        assert_eq!(dedent("\ta", 2), 0);
        assert_eq!(dedent("  ", 4), 2);
    }
}
