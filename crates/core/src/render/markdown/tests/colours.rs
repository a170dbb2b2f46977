//! Code is shown at once, and highlighted afterwards.

use super::*;

/// A stream that is highlighted when the test says so.
#[derive(Default)]
struct Stream {
    markdown: Markdown,
    screen: Screen,
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

    fn finish(&mut self) {
        self.markdown.finish();
        self.render();
    }

    fn render(&mut self) {
        while self.markdown.is_dirty() {
            self.screen.apply(self.markdown.render(1));
        }
    }

    /// Highlights the next code in some rows; returns whether there was any.
    fn highlight(&mut self, rows: Range<usize>) -> bool {
        let is_any = highlight(&mut self.markdown, &rows);
        self.render();
        is_any
    }

    /// Highlights all code in some rows.
    fn highlight_all(&mut self, rows: Range<usize>) {
        while self.highlight(rows.clone()) {}
    }

    fn groups(&self, row: usize) -> Vec<&str> {
        let spans = self.screen.0[row].spans.iter();
        spans.map(|span| span.group).collect()
    }
}

#[test]
fn code_is_on_the_screen_before_its_colours() {
    let mut stream = Stream::new("Text\n```rs\nfn a() {}\nlet x");
    assert_eq!(stream.screen.0.len(), 4);
    assert!(stream.groups(2).is_empty());
    stream.highlight_all(ALL);
    assert_eq!(stream.groups(2), ["AcpSynKeyword", "AcpSynFunction"]);
    // More of the last line may come.
    assert!(stream.groups(3).is_empty());
    stream.finish();
    stream.highlight_all(ALL);
    assert_eq!(stream.groups(3), ["AcpSynKeyword"]);
    stream.push("y = 1;\n");
    stream.highlight_all(ALL);
    assert_eq!(
        stream.screen.0[..],
        lines("Text\n```rs\nfn a() {}\nlet xy = 1;\n")[..]
    );
}

#[test]
fn an_open_block_goes_on_where_its_colours_have_come_to() {
    let mut stream = Stream::new("```rs\n/* a\n");
    stream.highlight_all(ALL);
    stream.push("b\n*/ fn\n");
    assert!(stream.groups(2).is_empty());
    stream.highlight_all(ALL);
    assert_eq!(stream.groups(2), ["AcpSynComment"]);
    assert_eq!(stream.groups(3), ["AcpSynComment", "AcpSynKeyword"]);
    assert!(!stream.highlight(ALL));
}

#[test]
fn only_code_in_the_rows_is_highlighted() {
    let text = "```py\ndef a(): pass\n```\n*b*\n\n```lua\nlocal c\nlocal d\n```\n";
    let mut stream = Stream::new(text);
    assert!(!stream.highlight(2..6));
    stream.highlight_all(2..7);
    assert!(stream.groups(1).is_empty());
    assert_eq!(stream.groups(6), ["AcpSynKeyword"]);
    assert!(stream.groups(7).is_empty());
    stream.highlight_all(ALL);
    assert_eq!(stream.screen.0, lines(text));
}

#[test]
fn a_long_block_is_highlighted_in_parts() {
    let text = format!("```rs\n{}```\n", "let x = 1; // one\n".repeat(5000));
    let mut stream = Stream::new(&text);
    let mut parts = 0;
    while stream.highlight(ALL) {
        parts += 1;
    }
    assert_eq!(parts, 6);
    assert_eq!(stream.screen.0, lines(&text));
}

#[test]
fn colours_that_come_too_late_are_dropped() {
    let mut stream = Stream::new("```rs\nfn a() {}\n```\n");
    let code = stream.markdown.next_code(&ALL, 1).expect("the code");
    assert!(stream.markdown.next_code(&ALL, 2).is_none());
    stream.markdown.restart();
    stream.screen = Screen::default();
    stream.render();
    stream.markdown.set_colours(1, Some(code.highlight()));
    assert!(!stream.markdown.is_dirty());
    stream.highlight_all(ALL);
    assert_eq!(stream.groups(1), ["AcpSynKeyword", "AcpSynFunction"]);
}

#[test]
fn code_without_colours_is_asked_for_once() {
    let mut stream = Stream::new("```rs\nfn a() {}\n");
    assert!(stream.markdown.next_code(&ALL, 1).is_some());
    stream.markdown.set_colours(1, None);
    stream.push("fn b() {}\n```\n");
    assert!(!stream.highlight(ALL));
}

#[test]
fn code_in_an_unknown_language_is_code() {
    let mut stream = Stream::new("```nope\na\n```\n```\nb\n```\n");
    assert!(stream.groups(1).is_empty());
    assert_eq!(stream.groups(4), ["AcpCodeBlock"]);
    stream.highlight_all(ALL);
    assert_eq!(stream.groups(1), ["AcpCodeBlock"]);
}
