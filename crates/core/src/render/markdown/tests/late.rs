//! Languages that load late: code is shown at once, and highlighted after its language has loaded.

use super::*;

/// A stream whose languages load when the test says so.
#[derive(Default)]
struct Stream {
    markdown: Markdown,
    screen: Screen,
    languages: Languages,
}

impl Stream {
    fn new(text: &str) -> Self {
        let mut stream = Self::default();
        stream.push(text);
        stream
    }

    fn push(&mut self, text: &str) {
        self.markdown.push(text);
        self.render();
    }

    /// Renders to the end; returns the changed row ranges, half-open.
    fn render(&mut self) -> Vec<(usize, usize)> {
        let mut rows = Vec::new();
        while self.markdown.is_dirty() {
            let change = self.markdown.render(1, &mut self.languages);
            rows.extend(change.iter().map(|change| {
                let end = change.start + change.lines.len();
                (change.start, end)
            }));
            self.screen.apply(change);
        }
        rows
    }

    fn loaded(&mut self, language: &str) -> Vec<(usize, usize)> {
        self.languages.loaded(language);
        self.markdown.language_came();
        self.render()
    }

    fn groups(&self, row: usize) -> Vec<&str> {
        let spans = self.screen.0[row].spans.iter();
        spans.map(|span| span.group).collect()
    }
}

#[test]
fn code_is_on_the_screen_before_its_language_is_there() {
    let mut stream = Stream::new("Text\n```rs\nfn a() {}\nlet x");
    assert_eq!(stream.screen.0.len(), 4);
    assert!(stream.groups(2).is_empty());
    assert_eq!(stream.languages.take_wanted(), ["rs"]);

    assert_eq!(stream.loaded("rs"), [(2, 3), (3, 4)]);
    assert_eq!(stream.groups(2), ["AcpSynKeyword", "AcpSynFunction"]);
    assert_eq!(stream.groups(3), ["AcpSynKeyword"]);
}

#[test]
fn an_open_fence_goes_on_where_its_colours_have_come_to() {
    let mut stream = Stream::new("```rs\n/* a\n");
    stream.loaded("rs");
    stream.push("b\n*/ fn\n");
    assert_eq!(stream.groups(2), ["AcpSynComment"]);
    assert_eq!(stream.groups(3), ["AcpSynComment", "AcpSynKeyword"]);
}

#[test]
fn only_code_in_that_language_is_rendered_again() {
    let text = "```py\ndef a(): pass\n```\n*b*\n\n```lua\nlocal c\n```\n";
    let mut stream = Stream::new(text);
    assert_eq!(stream.languages.take_wanted(), ["py", "lua"]);
    assert_eq!(stream.loaded("lua"), [(6, 7)]);
    assert_eq!(stream.loaded("py"), [(1, 2)]);
    assert_eq!(stream.loaded("rust"), []);
    assert_eq!(stream.screen.0, lines(text));
}

#[test]
fn a_language_is_asked_for_once_by_any_name() {
    let mut stream = Stream::new("```rs\n```\n");
    assert_eq!(stream.languages.take_wanted(), ["rs"]);
    stream.loaded("rs");
    stream.push("```rust,ignore\n```\n```src/a.py\n```\n```python\n```\n```nope\n```\n```\n```\n");
    assert_eq!(stream.languages.take_wanted(), ["Python"]);
}

/// The rest of the name may still arrive: `c` may become `css`.
#[test]
fn a_name_that_is_not_complete_is_not_asked_for() {
    let mut stream = Stream::new("```c");
    assert_eq!(stream.languages.take_wanted(), [""; 0]);
    stream.push("ss\n");
    assert_eq!(stream.languages.take_wanted(), ["css"]);
}

#[test]
fn code_in_an_unknown_language_is_code_when_that_is_known() {
    let mut stream = Stream::new("```nope\na\n```\n```\nb\n```\n");
    assert!(stream.groups(1).is_empty());
    assert_eq!(stream.groups(4), ["AcpCodeBlock"]);
    assert_eq!(stream.loaded("nope"), [(1, 2)]);
    assert_eq!(stream.groups(1), ["AcpCodeBlock"]);
}
