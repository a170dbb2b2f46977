//! Tests of markdown rendering: snapshots of ordinary markdown, and properties of streams.

mod cost;
mod golden;
mod late;
mod stream;

use std::sync::LazyLock;

use super::state::MAX_LINE;
use super::*;

/// Renders a complete text with all languages loaded.
fn lines(text: &str) -> Vec<Line> {
    let mut markdown = Markdown::new();
    markdown.push(text);
    markdown.finish();
    let mut screen = Screen::default();
    screen.apply(markdown.render(usize::MAX, &mut every()));
    assert!(!markdown.is_dirty());
    screen.0
}

/// Returns the languages, all of them loaded.
fn every() -> Languages {
    static EVERY: LazyLock<Languages> = LazyLock::new(|| {
        let mut languages = Languages::default();
        for syntax in super::engine::syntaxes().syntaxes() {
            languages.loaded(&syntax.name);
        }
        languages
    });
    EVERY.clone()
}

/// A list of lines to which changes are applied, as the editor does.
#[derive(Default)]
struct Screen(Vec<Line>);

impl Screen {
    /// Applies a change, and checks that its first and last line differ from the lines they
    /// replace.
    fn apply(&mut self, change: Option<Change>) {
        let Some(change) = change else { return };
        let end = change.start + change.removed;
        let old = &self.0[change.start..end];
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
