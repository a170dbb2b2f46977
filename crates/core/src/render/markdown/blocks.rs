//! The block structure of markdown, one line at a time.
//!
//! Invariant: the step of a line depends only on this line and those before it. The boundary
//! between two leaves (paragraphs, headings, tables, quotes ...) therefore never moves when more
//! text arrives, and each leaf can be parsed separately, after [`Scanner::context`] for its
//! enclosing list items.
//!
//! The rules are those of CommonMark; a block quote is one leaf, including the blocks in it.

use std::ops::Range;

use super::html::{self, End};
use super::line::{Cursor, Marker};

/// Items and quotes nested deeper are text, so that a line of 4,000 marks stays cheap.
const MAX_DEPTH: usize = 32;

/// The relation of a line to the leaf before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LineRole {
    /// It continues the leaf.
    Join,
    /// It begins a leaf.
    Begin,
    /// It begins a code fence with an info string at these bytes, indented by these columns.
    Open { info: Range<usize>, indent: usize },
    /// It is code in a fence; this number of columns of its indentation belongs to the markdown.
    Body { indent: usize },
    /// It ends a code fence.
    Close,
    /// It is HTML.
    Plain,
}

/// The open list items and the leaf in them, after some lines.
#[derive(Debug, Clone, Default)]
pub(super) struct Scanner {
    /// The column where the content of each open list item starts.
    items: Vec<usize>,
    /// Number of items open before the line that began the leaf.
    outer: usize,
    leaf: Leaf,
    /// Number of enclosing quotes.
    depth: usize,
}

#[derive(Debug, Clone, Default)]
enum Leaf {
    /// The next line begins a leaf.
    #[default]
    None,
    /// The same, in a list item that is still empty; a blank line ends the item.
    EmptyItem,
    /// Lines that do not begin a block continue it.
    Paragraph {
        /// Number of cells in its last line, in case that is the head of a table.
        cells: usize,
    },
    Table,
    /// The state of the quote's lines without its marks: a paragraph in it may continue without
    /// them.
    Quote(Box<Scanner>),
    Indented,
    Fence(Fence),
    Html(End),
}

#[derive(Debug, Clone)]
struct Fence {
    mark: u8,
    len: usize,
    indent: usize,
}

impl Scanner {
    /// Applies the next line, given without its line end.
    pub fn step(&mut self, line: &str) -> LineRole {
        self.step_at(Cursor::new(line))
    }

    fn step_at(&mut self, cursor: Cursor) -> LineRole {
        if cursor.is_blank() {
            return self.blank();
        }
        let open = self
            .items
            .iter()
            .take_while(|&&content| cursor.column() >= content)
            .count();
        let inside = open == self.items.len();
        match &self.leaf {
            Leaf::Fence(fence) if inside => {
                if fence.is_closed_by(&cursor, self.items.last().copied().unwrap_or(0)) {
                    self.leaf = Leaf::None;
                    return LineRole::Close;
                }
                return LineRole::Body {
                    indent: fence.indent,
                };
            }
            Leaf::Html(end) if inside => {
                if end.is_in(cursor.line()) {
                    self.leaf = Leaf::None;
                }
                return LineRole::Plain;
            }
            _ => {}
        }
        if self.continues(&cursor, open) {
            return LineRole::Join;
        }
        self.items.truncate(open);
        self.outer = open;
        self.begin(cursor)
    }

    /// Ends the leaf, unless only a closing line can end it.
    pub fn cut(&mut self) {
        if !matches!(self.leaf, Leaf::Fence(_) | Leaf::Html(_)) {
            self.leaf = Leaf::None;
        }
    }

    /// Makes all open items the context of the leaf's next part.
    pub fn split(&mut self) {
        self.outer = self.items.len();
    }

    /// Returns whether a code fence is open.
    pub fn in_fence(&self) -> bool {
        matches!(self.leaf, Leaf::Fence(_))
    }

    /// Returns whether the lines so far end in a table, including its delimiter row.
    pub fn in_table(&self) -> bool {
        matches!(self.leaf, Leaf::Table)
    }

    fn in_paragraph(&self) -> bool {
        match &self.leaf {
            Leaf::Paragraph { .. } => true,
            Leaf::Quote(inner) => inner.in_paragraph(),
            _ => false,
        }
    }

    /// Returns markdown that opens the leaf's enclosing list items when put before it.
    pub fn context(&self) -> String {
        let mut text = String::new();
        for &content in self.items.iter().take(self.outer) {
            // At most four spaces can follow a marker, so a wide one needs digits.
            let width = content.saturating_sub(text.len());
            if width <= 5 {
                text.push('-');
            } else {
                let digits = (width - 2).min(9);
                text.extend(std::iter::repeat_n('1', digits));
                text.push('.');
            }
            while text.len() < content {
                text.push(' ');
            }
        }
        if !text.is_empty() {
            text.push_str("x\n\n");
        }
        text
    }

    fn blank(&mut self) -> LineRole {
        match &self.leaf {
            Leaf::Fence(fence) => LineRole::Body {
                indent: fence.indent,
            },
            Leaf::Html(End::Raw | End::Text(_)) => LineRole::Plain,
            Leaf::Indented => LineRole::Join,
            Leaf::EmptyItem => {
                self.items.pop();
                self.leaf = Leaf::None;
                LineRole::Join
            }
            _ => {
                self.leaf = Leaf::None;
                LineRole::Join
            }
        }
    }

    /// Returns whether a line continues the leaf; it is inside `open` items.
    fn continues(&mut self, cursor: &Cursor, open: usize) -> bool {
        let inside = open == self.items.len();
        let indent = cursor.column() - self.content(open);
        match &mut self.leaf {
            Leaf::None | Leaf::EmptyItem | Leaf::Fence(_) | Leaf::Html(_) => false,
            Leaf::Indented => inside && indent >= 4,
            Leaf::Paragraph { cells } => {
                if inside && indent < 4 && cursor.is_setext() {
                    self.leaf = Leaf::None;
                    return true;
                }
                if indent < 4 && cursor.begins_block(inside) {
                    return false;
                }
                if inside && indent < 4 && cursor.is_delimiter_row() && cursor.cells() == *cells {
                    self.leaf = Leaf::Table;
                } else {
                    *cells = cursor.cells();
                }
                true
            }
            Leaf::Table => inside && !cursor.begins_block(false),
            Leaf::Quote(inner) if inside && indent < 4 && cursor.starts_with('>') => {
                inner.step_at(cursor.quoted());
                true
            }
            Leaf::Quote(inner) => {
                inner.in_paragraph() && (indent >= 4 || !cursor.begins_block(false))
            }
        }
    }

    /// Applies a line that begins a leaf, possibly after markers of list items.
    fn begin(&mut self, mut cursor: Cursor) -> LineRole {
        loop {
            let indent = cursor
                .column()
                .saturating_sub(self.content(self.items.len()));
            if indent >= 4 {
                self.leaf = Leaf::Indented;
                return LineRole::Begin;
            }
            match cursor.marker() {
                Some(Marker { content, rest }) if self.items.len() < MAX_DEPTH => {
                    self.items.push(content);
                    match rest {
                        Some(rest) => cursor = rest,
                        None => {
                            self.leaf = Leaf::EmptyItem;
                            return LineRole::Begin;
                        }
                    }
                }
                _ => break,
            }
        }
        if let Some((mark, len)) = cursor.fence() {
            let start = cursor.offset() + len;
            self.leaf = Leaf::Fence(Fence {
                mark,
                len,
                indent: cursor.column(),
            });
            return LineRole::Open {
                info: start..cursor.line().len(),
                indent: cursor.column(),
            };
        }
        self.leaf = if cursor.is_rule() || cursor.is_heading() {
            Leaf::None
        } else if cursor.starts_with('>') && self.depth < MAX_DEPTH {
            let mut inner = Scanner {
                depth: self.depth + 1,
                ..Scanner::default()
            };
            inner.step_at(cursor.quoted());
            Leaf::Quote(Box::new(inner))
        } else if let Some(end) = html::start(cursor.rest()) {
            match end.is_in(cursor.rest()) {
                true => Leaf::None,
                false => Leaf::Html(end),
            }
        } else {
            Leaf::Paragraph {
                cells: cursor.cells(),
            }
        };
        LineRole::Begin
    }

    /// Returns the column where the content of the innermost of `open` items starts.
    fn content(&self, open: usize) -> usize {
        let innermost = open.checked_sub(1).and_then(|last| self.items.get(last));
        innermost.copied().unwrap_or(0)
    }
}

impl Fence {
    fn is_closed_by(&self, cursor: &Cursor, content: usize) -> bool {
        let rest = cursor.rest().trim_end();
        cursor.column().saturating_sub(content) < 4
            && rest.len() >= self.len
            && rest.bytes().all(|byte| byte == self.mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the steps of a text: one letter for each line.
    fn check(text: &str, want: &str) {
        let mut scanner = Scanner::default();
        let got: String = text
            .lines()
            .map(|line| match scanner.step(line) {
                LineRole::Join => 'j',
                LineRole::Begin => 'b',
                LineRole::Open { .. } => 'o',
                LineRole::Body { .. } => '.',
                LineRole::Close => 'c',
                LineRole::Plain => 'p',
            })
            .collect();
        assert_eq!(got, want, "{text}");
    }

    #[test]
    fn paragraphs_end_where_commonmark_says() {
        check("a\nb\n\nc", "bjjb");
        check("a\n# b\nc", "bbb");
        check("a\n===\nb", "bjb");
        check("a\n- b\nlazy\n- c\n  d", "bbjbj");
        check("a\n2. b", "bj");
        check("a\n1. b\n2. c", "bbb");
        check("a\n-", "bj");
        check("a\n    b", "bj");
        check("> a\nlazy\n> b\n\n> c", "bjjjb");
        check("> a\n```\nb", "bo.");
        // A tab after the mark has the width of that column.
        check(">\ta\nlazy\n> b", "bjj");
        check("  >\ta\nlazy", "bj");
        check(">\t\ta\nb", "bb");
        check("> >\ta\nlazy", "bj");
    }

    #[test]
    fn fences_open_and_close() {
        check("```\n\n# a\n```\nb", "o..cb");
        check("````\n```\n````", "o.c");
        check("~~~\n```\n~~~~", "o.c");
        check("a\n```\nb", "bo.");
        check("- a\n  ```rs\n  b\n\n  c\n  ```\n  d", "bo...cb");
        check("- ```rs\n  b\nc", "o.b");
        check("1. a\n\n   ```\n   b\n   ```", "bjo.c");
        check("a\n\n    ```\n    b", "bjbj");
        check("``` a`b", "b");
        check("```\n    ```\n```", "o.c");
    }

    #[test]
    fn html_blocks_hide_what_is_in_them() {
        check("<!-- a\n```\n\n-->\nb", "bpppb");
        check("<div>\n```\n\n```\na", "bpjo.");
        check("<pre>a</pre>\nb", "bb");
        check("a\n<span>\nb", "bjj");
        check("<span>\n\n# a\nb", "bjbb");
    }

    #[test]
    fn the_context_of_a_leaf_opens_its_items() {
        let check = |text: &str, want: &str| {
            let mut scanner = Scanner::default();
            for line in text.lines() {
                scanner.step(line);
            }
            assert_eq!(scanner.context(), want, "{text}");
        };
        check("a", "");
        check("- a", "");
        check("- a\n  - b", "- x\n\n");
        check("- a\n  1. b\n\n     c", "- -  x\n\n");
        check("1000. a\n\n      b", "1111. x\n\n");
        check("- a\n  - b\n\nc", "");
    }
}
