//! The texts in a tool call's content, rendered bit by bit as messages are.
//!
//! Invariant: what is not rendered yet is shown as plain lines, so nothing waits to be seen.

use super::markdown::{self, Languages, Markdown};
use super::transcript::content_markdown;
use super::view::Line;
use crate::acp::ToolContent;

/// How much of a text is rendered as markdown: the chat shows no more lines than these are.
const MAX_BYTES: usize = 256 * 1024;

/// The texts of a list of contents, by their places in it.
#[derive(Debug, Clone, Default)]
pub struct Contents {
    texts: Vec<Text>,
}

#[derive(Debug, Clone, Default)]
struct Text {
    markdown: Markdown,
    lines: Vec<Line>,
    /// What is left of the text, which is shown plainly.
    rest: String,
}

impl Contents {
    /// Takes the contents as they are now; what was rendered of a text that goes on stays.
    pub fn set(&mut self, contents: &[ToolContent]) {
        self.texts.resize_with(contents.len(), Text::default);
        for (text, content) in self.texts.iter_mut().zip(contents) {
            match content {
                ToolContent::Content(content) => text.set(&content_markdown(content)),
                _ => *text = Text::default(),
            }
        }
    }

    /// Renders what is new, up to the budget of [`Markdown::render`]; `false` when more is left.
    pub fn render(&mut self, budget: usize, languages: &mut Languages) -> bool {
        let mut texts = self.texts.iter_mut().filter(|text| text.is_dirty());
        let Some(text) = texts.next() else {
            return true;
        };
        text.render(budget, languages);
        !text.is_dirty() && texts.next().is_none()
    }

    /// Returns whether all is rendered.
    pub fn is_rendered(&self) -> bool {
        !self.texts.iter().any(Text::is_dirty)
    }

    /// Says that a language was reported; returns whether there is something to render now.
    pub fn language_came(&mut self) -> bool {
        for text in &mut self.texts {
            text.markdown.language_came();
        }
        !self.is_rendered()
    }

    /// Returns the lines of the text at a place.
    pub fn lines(&self, index: usize) -> Vec<Line> {
        let Some(text) = self.texts.get(index) else {
            return Vec::new();
        };
        let (mut lines, left) = match text.is_dirty() {
            true => {
                let (done, left) = text.markdown.left();
                (text.lines.get(..done).unwrap_or_default().to_vec(), left)
            }
            false => (text.lines.clone(), ""),
        };
        lines.extend(markdown::plain(left));
        lines.extend(markdown::plain(&text.rest));
        lines
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
        rest.clone_into(&mut self.rest);
    }

    fn is_dirty(&self) -> bool {
        self.markdown.is_dirty()
    }

    fn render(&mut self, budget: usize, languages: &mut Languages) {
        if let Some(change) = self.markdown.render(budget, languages) {
            let end = change.start + change.removed;
            self.lines.splice(change.start..end, change.lines);
        }
    }
}

/// Splits a text behind the lines that are rendered.
fn split(text: &str) -> (&str, &str) {
    if text.len() <= MAX_BYTES {
        return (text, "");
    }
    let mut end = MAX_BYTES;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let head = text.get(..end).unwrap_or_default();
    let end = head.rfind('\n').map_or(end, |at| at + 1);
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acp::Content;

    /// Sets texts one after the other, rendering a bit in between, and checks the lines.
    fn check(texts: &[String]) {
        let mut contents = Contents::default();
        let mut languages = Languages::default();
        for text in texts {
            contents.set(&[ToolContent::Content(Content::Text(text.clone()))]);
            for _ in 0..3 {
                let lines = contents.lines(0);
                let shown: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
                let want: Vec<&str> = text.lines().collect();
                assert_eq!(shown, want);
                contents.render(1, &mut languages);
            }
        }
        while !contents.render(1, &mut languages) {}
        let whole = contents.lines(0);
        let mut again = Contents::default();
        let last = texts.last().map(|text| Content::Text(text.clone()));
        again.set(&[ToolContent::Content(last.expect("a text"))]);
        while !again.render(usize::MAX, &mut languages) {}
        assert_eq!(whole, again.lines(0));
    }

    #[test]
    fn each_line_is_there_whatever_is_rendered() {
        let part = "# One\n\nSome *text*\nof lines\n\n```rs\nfn a() {}\n```\n- end\n".repeat(20);
        let half = part[..part.len() / 2].to_owned();
        check(std::slice::from_ref(&part));
        check(&[half.clone(), part.clone(), part.clone() + "and **on"]);
        check(&[part.clone(), half]);
        check(&[part.repeat(2 * MAX_BYTES / part.len())]);
    }
}
