//! The spans of a piece of markdown, from pulldown-cmark's events.
//!
//! Invariant: the text of the lines is the source, byte for byte; only spans are added.

use std::ops::Range;

use memchr::memmem;
use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};

use crate::code::groups as g;
use crate::spine::view::{Group, Line, Span};

/// A rendered leaf.
#[derive(Debug, Default)]
pub(super) struct Leaf {
    pub lines: Vec<Line>,
    /// The head of the table at the end of the source: later rows of it are parsed after this.
    pub table: Option<String>,
}

/// Renders `source` as the text after `context`; the context itself is not rendered.
pub(super) fn render(context: &str, source: &str) -> Leaf {
    if context.is_empty() {
        return Mapper::new(source, 0).leaf();
    }
    let whole = format!("{context}{source}");
    Mapper::new(&whole, context.len()).leaf()
}

/// A span of the whole text.
struct Mark {
    range: Range<usize>,
    group: Group,
    /// It is in a block quote, whose marks are at the start of each line.
    quoted: bool,
}

struct Mapper<'a> {
    text: &'a str,
    /// The start of the source, after the context.
    skip: usize,
    spans: Vec<Mark>,
    quotes: usize,
    /// The open links, and the end of each link's text.
    links: Vec<(LinkType, usize)>,
    /// The end of the open code block's opening line and of its code.
    code: Option<usize>,
    cells: Vec<Range<usize>>,
    in_head: bool,
    table: Option<Range<usize>>,
    /// A run of plain text: the parser splits it at each character that could be a mark.
    plain: Range<usize>,
}

impl<'a> Mapper<'a> {
    fn new(text: &'a str, skip: usize) -> Self {
        Self {
            text,
            skip,
            spans: Vec::new(),
            quotes: 0,
            links: Vec::new(),
            code: None,
            cells: Vec::new(),
            in_head: false,
            table: None,
            plain: 0..0,
        }
    }

    fn leaf(mut self) -> Leaf {
        let options =
            Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
        let text = self.text;
        let events = Parser::new_ext(text, options).into_offset_iter();
        for (_, definition) in events.reference_definitions().iter() {
            self.push(definition.span.clone(), g::LINK);
        }
        for (event, range) in events {
            self.event(event, range);
        }
        self.flush_plain();
        // A stable sort: an outer span was pushed before the inner one with the same start.
        self.spans.sort_by_key(|mark| mark.range.start);
        let table = self.table.take().filter(|table| {
            self.text
                .get(table.end..)
                .is_some_and(|rest| rest.trim().is_empty())
        });
        Leaf {
            table: table.map(|table| head(self.text, &table)),
            lines: self.lines(),
        }
    }

    fn event(&mut self, event: Event, range: Range<usize>) {
        if !matches!(event, Event::Text(_)) || range.start != self.plain.end {
            self.flush_plain();
        }
        if let Some((_, end)) = self.links.last_mut()
            && !matches!(event, Event::End(TagEnd::Link | TagEnd::Image))
        {
            *end = (*end).max(range.end);
        }
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag, range),
            Event::Text(_) if self.code.is_some() => {
                self.code = Some(range.end);
                self.push(range, g::CODE_BLOCK);
            }
            Event::Text(_) if self.links.is_empty() => {
                if self.plain.is_empty() {
                    self.plain = range;
                } else {
                    self.plain.end = range.end;
                }
            }
            Event::Code(_) => self.push(range, g::CODE),
            Event::Rule => self.push(range, g::RULE),
            Event::TaskListMarker(true) => self.push(range, g::TASK_DONE),
            Event::TaskListMarker(false) => self.push(range, g::TASK_OPEN),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag, range: Range<usize>) {
        match tag {
            Tag::Heading { .. } => self.push(range, g::HEADING),
            Tag::Strong => self.push(range, g::BOLD),
            Tag::Emphasis => self.push(range, g::ITALIC),
            Tag::Strikethrough => self.push(range, g::STRIKE),
            Tag::Item => self.push(marker(self.text, range), g::LIST),
            Tag::BlockQuote(_) => {
                if self.quotes == 0 {
                    self.push(range, g::QUOTE);
                }
                self.quotes += 1;
            }
            Tag::CodeBlock(CodeBlockKind::Fenced(_)) => {
                let end = line_end(self.text, range.start);
                self.push(range.start..end, g::FENCE);
                self.code = Some(end);
            }
            Tag::CodeBlock(CodeBlockKind::Indented) => self.code = Some(range.end),
            Tag::Link { link_type, .. } | Tag::Image { link_type, .. } => {
                let group = match link_type {
                    LinkType::Autolink | LinkType::Email => g::URL,
                    _ => g::LINK,
                };
                self.links.push((link_type, range.start));
                self.push(range, group);
            }
            Tag::Table(_) => self.cells.clear(),
            Tag::TableHead => self.in_head = true,
            Tag::TableCell => {
                if self.in_head {
                    self.push(range.clone(), g::TABLE_HEAD);
                }
                self.cells.push(range);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd, range: Range<usize>) {
        match tag {
            TagEnd::BlockQuote(_) => self.quotes -= 1,
            TagEnd::CodeBlock => self.end_code(range),
            TagEnd::Link | TagEnd::Image => {
                if let Some((LinkType::Inline, shown)) = self.links.pop() {
                    let rest = self.text.get(shown..range.end).unwrap_or_default();
                    if let Some(at) = rest.find("](") {
                        self.push(shown + at + 2..range.end - 1, g::URL);
                    }
                }
                // The link itself is part of the text of an enclosing link.
                if let Some((_, end)) = self.links.last_mut() {
                    *end = range.end;
                }
            }
            TagEnd::Table => {
                self.end_table(&range);
                self.table = Some(range);
            }
            TagEnd::TableHead => self.in_head = false,
            _ => {}
        }
    }

    /// Marks the closing line of a fence; an indented block has none.
    fn end_code(&mut self, range: Range<usize>) {
        let Some(code) = self.code.take().filter(|&code| code < range.end) else {
            return;
        };
        let rest = self.text.get(code..range.end).unwrap_or_default();
        if let Some(at) = rest.find(['`', '~']) {
            self.push(code + at..range.end, g::FENCE);
        }
    }

    /// Marks the parts of a table outside its cells.
    fn end_table(&mut self, range: &Range<usize>) {
        let mut start = range.start;
        for cell in std::mem::take(&mut self.cells) {
            self.push_borders(start..cell.start);
            start = start.max(cell.end);
        }
        self.push_borders(start..range.end);
    }

    /// Marks the text between two cells, which has words too if a row has more cells than its head.
    fn push_borders(&mut self, range: Range<usize>) {
        let text = self.text.get(range.clone()).unwrap_or_default();
        let is_border = |c: char| c.is_whitespace() || matches!(c, '|' | '-' | ':' | '>');
        if text.chars().all(is_border) {
            self.push(range, g::TABLE);
        } else {
            for (at, bar) in text.match_indices('|') {
                let start = range.start + at;
                self.push(start..start + bar.len(), g::TABLE);
            }
        }
    }

    /// Marks the web addresses in the run of plain text.
    fn flush_plain(&mut self) {
        let range = std::mem::replace(&mut self.plain, 0..0);
        let mut start = range.start;
        while let Some(rest) = self.text.get(start..range.end)
            && let Some(at) = memmem::find(rest.as_bytes(), b"http")
        {
            start += at;
            let url = address(rest.get(at..).unwrap_or_default());
            if url.starts_with("http://") || url.starts_with("https://") {
                self.push(start..start + url.len(), g::URL);
            }
            start += url.len().max("http".len());
        }
    }

    fn push(&mut self, range: Range<usize>, group: Group) {
        let start = range.start.max(self.skip);
        if start < range.end {
            self.spans.push(Mark {
                range: start..range.end,
                group,
                quoted: self.quotes > 0,
            });
        }
    }

    /// Splits the source into lines, and the spans with them.
    fn lines(&self) -> Vec<Line> {
        let mut at = self.skip;
        let mut lines = Vec::new();
        let mut starts = Vec::new();
        for line in self
            .text
            .get(self.skip..)
            .unwrap_or_default()
            .split_inclusive('\n')
        {
            starts.push(at);
            at += line.len();
            let text = match line.strip_suffix('\n') {
                Some(text) => text.strip_suffix('\r').unwrap_or(text),
                None => line,
            };
            lines.push((text, Vec::new()));
        }
        for mark in &self.spans {
            let range = &mark.range;
            let first = starts.partition_point(|&start| start <= range.start).max(1) - 1;
            for ((line, spans), &start) in lines.iter_mut().zip(&starts).skip(first) {
                if start >= range.end {
                    break;
                }
                spans.extend(part(line, start, mark));
            }
        }
        let lines = lines.into_iter();
        lines.map(|(text, spans)| Line::new(text, spans)).collect()
    }
}

/// Returns the part of a span in the line at `start`, without white space around it.
fn part(line: &str, start: usize, mark: &Mark) -> Option<Span> {
    let from = mark.range.start.saturating_sub(start);
    let to = (mark.range.end - start).min(line.len());
    let text = line.get(from..to)?;
    let text = match mark.quoted && mark.range.start < start {
        true => text.trim_start_matches([' ', '\t', '>']),
        false => text.trim_start(),
    };
    let from = to - text.len();
    let to = from + text.trim_end().len();
    (from < to).then(|| crate::code::span(from, to, mark.group))
}

/// Returns the web address that `text` starts with, without punctuation after it.
fn address(text: &str) -> &str {
    let ends = |c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '`' | '|');
    let url = text.split(ends).next().unwrap_or_default();
    url.trim_end_matches(['.', ',', ':', ';', '!', '?', ')', '\'', '*'])
}

/// Returns the range of a list item's marker.
fn marker(text: &str, item: Range<usize>) -> Range<usize> {
    let source = text.get(item.clone()).unwrap_or_default();
    let marker = source.trim_start();
    let indent = source.len() - marker.len();
    let digits = marker.bytes().take_while(u8::is_ascii_digit).count();
    let start = item.start + indent;
    start..(start + digits + 1).min(item.end)
}

/// Returns the header and the delimiter row of a table, from the start of their lines.
fn head(text: &str, table: &Range<usize>) -> String {
    let before = text.get(..table.start).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let end = line_end(text, line_end(text, table.start) + 1);
    format!("{}\n", text.get(start..end).unwrap_or_default())
}

/// Returns the end of the line at `at`, before its `\n`.
fn line_end(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    rest.find('\n').map_or(text.len(), |len| at + len)
}
