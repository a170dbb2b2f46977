//! Tests of markdown rendering: snapshots of ordinary markdown, and properties of streams.

mod colours;
mod cost;
mod golden;
mod stream;

use super::state::MAX_LINE;
use super::*;

/// Renders and highlights a complete text.
fn lines(text: &str) -> Vec<Line> {
    let mut markdown = Markdown::new();
    markdown.push(text);
    markdown.finish();
    let mut screen = Screen::default();
    screen.show(&mut markdown);
    screen.0
}

/// All rows.
const ALL: Range<usize> = 0..usize::MAX;

/// Highlights the next code in some rows; returns whether there was any.
fn highlight(markdown: &mut Markdown, rows: &Range<usize>) -> bool {
    let code = markdown.next_code(rows, 1);
    let is_any = code.is_some();
    if let Some(code) = code {
        markdown.set_colours(1, Some(code.highlight()));
    }
    is_any
}

/// A list of lines to which changes are applied, as the editor does.
#[derive(Default)]
struct Screen(Vec<Line>);

impl Screen {
    /// Renders and highlights all there is.
    fn show(&mut self, markdown: &mut Markdown) {
        while markdown.is_dirty() || highlight(markdown, &ALL) {
            self.apply(markdown.render(usize::MAX));
        }
    }

    /// Applies a change, and checks that its first and last line differ from the lines they
    /// replace.
    fn apply(&mut self, change: Option<Change>) {
        let Some(change) = change else { return };
        let end = change.start + change.removed;
        let old = &self.0[change.start..end];
        if change.is_lit {
            let texts = |lines: &[Line]| -> Vec<String> {
                lines.iter().map(|line| line.text.to_string()).collect()
            };
            assert_eq!(texts(old), texts(&change.lines), "at {}", change.start);
            self.0.splice(change.start..end, change.lines);
            return;
        }
        if !old.is_empty() && !change.lines.is_empty() {
            assert_ne!(old.first(), change.lines.first(), "at {}", change.start);
            if old.len() == change.lines.len() {
                assert_ne!(old.last(), change.lines.last(), "at {}", change.start);
            }
        }
        self.0.splice(change.start..end, change.lines);
    }
}

/// Returns each line followed by its spans: their bytes and highlight groups.
fn dump(lines: &[Line]) -> String {
    let mut out = String::new();
    for line in lines {
        out.push_str(&format!("|{}\n", line.text));
        for span in &line.spans {
            let (start, end) = (span.start as usize, span.end as usize);
            let indent = line.text[..start].chars().count();
            let width = line.text[start..end].chars().count();
            let marks = "^".repeat(width);
            out.push_str(&format!(" {:indent$}{marks} {}\n", "", span.group));
        }
    }
    out
}
