//! A tool call's content as displayed: texts, rendered incrementally like messages, and diffs.
//!
//! Invariant: content not yet rendered is shown as plain lines, so display is never delayed; only
//! the displayed part of a long text is kept.

use crate::code::{Code, Colours};
use crate::render::markdown::{self, Markdown};
use crate::render::tooldiff::ToolDiff;
use crate::spine::view::Line;
use crate::text::cut::head;
use acp::{Content, Location, ToolContent};

/// Maximum lines and bytes of a text that are shown.
const MAX_LINES: usize = 200;
const MAX_BYTES: usize = 64 * 1024;

/// The items of a tool call's content, by index.
#[derive(Debug, Clone, Default)]
pub struct Contents {
    items: Vec<Item>,
}

#[derive(Debug, Clone, Default)]
enum Item {
    Text(Box<Text>),
    Diff(Box<ToolDiff>),
    /// An item that needs no rendering.
    #[default]
    Plain,
}

#[derive(Debug, Clone, Default)]
struct Text {
    /// The displayed part of the text.
    markdown: Markdown,
    lines: Vec<Line>,
    /// Number of lines that are not shown.
    left: usize,
}

impl Contents {
    /// Replaces the contents; keeps the rendered lines of a text that is only extended.
    pub fn set(&mut self, contents: &[ToolContent]) {
        self.items.resize_with(contents.len(), Item::default);
        for (item, content) in self.items.iter_mut().zip(contents) {
            match content {
                ToolContent::Content(Content::Text(text)) => item.set_text(text),
                ToolContent::Diff { path, old, new } => match item {
                    Item::Diff(diff) if diff.is_of(path, old.as_deref(), new) => {}
                    _ => *item = Item::Diff(Box::new(ToolDiff::new(path, old.as_deref(), new))),
                },
                _ => *item = Item::Plain,
            }
        }
    }

    /// Sets the places of diffs from locations: agents name one for each diff, or none.
    pub fn set_places(&mut self, contents: &[ToolContent], locations: &[Location]) {
        let path_of = |content: &ToolContent| match content {
            ToolContent::Diff { path, .. } => Some(path.clone()),
            _ => None,
        };
        for (index, item) in self.items.iter_mut().enumerate() {
            let Some(path) = contents.get(index).and_then(path_of) else {
                continue;
            };
            let is_of = |content: &&ToolContent| path_of(content).as_ref() == Some(&path);
            let nth = contents.iter().take(index).filter(is_of).count();
            let count = contents.iter().filter(is_of).count();
            let rows = locations.iter().filter(|location| location.path == path);
            let rows: Vec<u32> = rows.filter_map(|location| location.row).collect();
            if let Item::Diff(diff) = item
                && rows.len() == count
                && let Some(row) = rows.get(nth)
            {
                diff.place_by(*row);
            }
        }
    }

    /// Renders new content within the budget of [`Markdown::render`]; returns `false` if some is
    /// left.
    pub fn render(&mut self, budget: usize) -> bool {
        let mut texts = self.items.iter_mut().filter_map(|item| match item {
            Item::Text(text) if text.markdown.is_dirty() => Some(text),
            _ => None,
        });
        let Some(text) = texts.next() else {
            return true;
        };
        text.render(budget);
        !text.markdown.is_dirty() && texts.next().is_none()
    }

    /// Returns whether everything is rendered.
    pub fn is_rendered(&self) -> bool {
        let mut items = self.items.iter();
        !items.any(|item| matches!(item, Item::Text(text) if text.markdown.is_dirty()))
    }

    /// Returns the next code to highlight, as [`Markdown::next_code`].
    pub fn next_code(&mut self, number: u64) -> Option<Code> {
        self.items.iter_mut().find_map(|item| match item {
            Item::Text(text) => text.markdown.next_code(&(0..usize::MAX), number),
            Item::Diff(diff) => diff.next_code(number),
            Item::Plain => None,
        })
    }

    /// Applies highlights, as [`Markdown::set_colours`].
    pub fn set_colours(&mut self, number: u64, colours: Option<Colours>) {
        let mut items = self.items.iter_mut();
        match items.find(|item| item.awaits(number)) {
            Some(Item::Text(text)) => text.markdown.set_colours(number, colours),
            Some(Item::Diff(diff)) => diff.set_colours(colours),
            Some(Item::Plain) | None => {}
        }
    }

    /// Returns the lines of the text at an index, and the number of lines not shown.
    pub fn lines(&self, index: usize) -> (Vec<Line>, usize) {
        match self.items.get(index) {
            Some(Item::Text(text)) => (text.lines(), text.left),
            _ => (Vec::new(), 0),
        }
    }

    /// Returns all lines of the text at an index, passed as `text`: those rendered, and the rest as
    /// plain lines.
    pub fn all_lines(&self, index: usize, text: &str) -> Vec<Line> {
        let Some(Item::Text(item)) = self.items.get(index) else {
            return markdown::plain(text);
        };
        let mut lines = item.lines();
        let head = item.markdown.text();
        let rest = text.get(head.len()..).unwrap_or_default();
        lines.extend(markdown::plain(rest));
        lines
    }

    pub fn diff(&self, index: usize) -> Option<&ToolDiff> {
        match self.items.get(index)? {
            Item::Diff(diff) => Some(diff),
            _ => None,
        }
    }

    /// Returns the diffs and their indices.
    pub fn diffs_mut(&mut self) -> impl Iterator<Item = (usize, &mut ToolDiff)> {
        let items = self.items.iter_mut().enumerate();
        items.filter_map(|(index, item)| match item {
            Item::Diff(diff) => Some((index, &mut **diff)),
            _ => None,
        })
    }
}

impl Item {
    fn set_text(&mut self, text: &str) {
        if let Item::Text(known) = self {
            return known.set(text);
        }
        let mut known = Box::<Text>::default();
        known.set(text);
        *self = Item::Text(known);
    }

    fn awaits(&self, number: u64) -> bool {
        match self {
            Item::Text(text) => text.markdown.awaits(number),
            Item::Diff(diff) => diff.awaits(number),
            Item::Plain => false,
        }
    }
}

impl Text {
    fn set(&mut self, text: &str) {
        let (head, rest) = split(text);
        match head.strip_prefix(self.markdown.text()) {
            Some(more) => self.markdown.push(more),
            None => {
                *self = Self::default();
                self.markdown.push(head);
            }
        }
        self.markdown.finish();
        self.left = rest.lines().count();
    }

    fn lines(&self) -> Vec<Line> {
        let (mut lines, left) = match self.markdown.is_dirty() {
            true => {
                let (done, left) = self.markdown.left();
                (self.lines.get(..done).unwrap_or_default().to_vec(), left)
            }
            false => (self.lines.clone(), ""),
        };
        lines.extend(markdown::plain(left));
        lines
    }

    fn render(&mut self, budget: usize) {
        if let Some(change) = self.markdown.render(budget) {
            let end = change.start + change.removed;
            self.lines.splice(change.start..end, change.lines);
        }
    }
}

/// Splits a text after the lines that are shown.
fn split(text: &str) -> (&str, &str) {
    let kept = head(text, MAX_BYTES);
    let end = match kept.match_indices('\n').nth(MAX_LINES - 1) {
        Some((at, _)) => at + 1,
        None if kept.len() < text.len() => kept.rfind('\n').map_or(kept.len(), |at| at + 1),
        None => kept.len(),
    };
    text.split_at(end)
}

/// Returns a content block as markdown: text unchanged, all else by name and size.
pub fn content_markdown(content: &Content) -> String {
    match content {
        Content::Text(text) => text.clone(),
        Content::Image { mime, uri, bytes } => match uri {
            Some(uri) => format!("[image {mime}]({uri})"),
            None => format!("[image {mime}, {bytes} bytes]"),
        },
        Content::Audio { mime, bytes } => format!("[audio {mime}, {bytes} bytes]"),
        Content::ResourceLink { uri, name } => format!("[{name}]({uri})"),
        Content::Resource { uri, text } => match text {
            Some(text) => format!("[{uri}]({uri})\n```\n{text}\n```\n"),
            None => format!("[{uri}]({uri})"),
        },
        Content::Unknown { kind, raw } => format!("[{kind}] `{raw}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acp::Content;

    /// Sets texts in sequence, renders a little in between, and checks the lines.
    fn check(texts: &[String]) {
        let mut contents = Contents::default();
        for text in texts {
            contents.set(&[ToolContent::Content(Content::Text(text.clone()))]);
            for _ in 0..3 {
                let (lines, left) = contents.lines(0);
                let shown: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
                let want: Vec<&str> = text.lines().collect();
                assert_eq!(shown, want[..want.len() - left]);
                assert!(left == 0 || lines.len() == MAX_LINES || text.len() > MAX_BYTES);
                let all = contents.all_lines(0, text);
                let all: Vec<&str> = all.iter().map(|line| line.text.as_str()).collect();
                assert_eq!(all, want);
                contents.render(1);
            }
        }
        while !contents.render(1) {}
        let whole = contents.lines(0);
        let mut again = Contents::default();
        let last = texts.last().map(|text| Content::Text(text.clone()));
        again.set(&[ToolContent::Content(last.expect("a text"))]);
        while !again.render(usize::MAX) {}
        assert_eq!(whole, again.lines(0));
    }

    #[test]
    fn each_line_is_there_whatever_is_rendered() {
        let part = "# One\n\nSome *text*\nof lines\n\n```rs\nfn a() {}\n```\n- end\n".repeat(20);
        let half = part[..part.len() / 2].to_owned();
        check(std::slice::from_ref(&part));
        check(&[half.clone(), part.clone(), part.clone() + "and **on"]);
        check(&[part.clone(), half]);
        check(&[part.repeat(2 * MAX_BYTES / part.len()), part.clone()]);
        check(&[
            "a long line\n".repeat(MAX_LINES),
            "x\n".repeat(MAX_LINES + 1),
        ]);
    }
}
