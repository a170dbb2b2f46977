//! The lines of a message do not depend on its chunks, nor on when they are rendered, and each is
//! one line.

#![no_main]

use acp_core::render::markdown::Markdown;
use acp_core::spine::view::Line;
use libfuzzer_sys::fuzz_target;

/// Renders so much into `lines`.
fn render(markdown: &mut Markdown, budget: usize, lines: &mut Vec<Line>) {
    if let Some(change) = markdown.render(budget) {
        let removed = change.start..change.start + change.removed;
        lines.splice(removed, change.lines);
    }
}

fn lines<'a>(chunks: impl Iterator<Item = (usize, &'a str)>) -> Vec<Line> {
    let (mut markdown, mut lines) = (Markdown::new(), Vec::new());
    for (budget, chunk) in chunks {
        markdown.push(chunk);
        if budget > 0 {
            render(&mut markdown, budget, &mut lines);
        }
    }
    markdown.finish();
    while markdown.is_dirty() {
        render(&mut markdown, usize::MAX, &mut lines);
    }
    lines
}

fuzz_target!(|input: (Vec<(u8, u8)>, &str)| {
    let (cuts, text) = input;
    let whole = lines(std::iter::once((0, text)));
    let mut rest = text;
    let mut chunks = Vec::new();
    for (size, budget) in cuts {
        let end = (0..=usize::from(size).min(rest.len())).rev();
        let end = end.into_iter().find(|end| rest.is_char_boundary(*end));
        let (chunk, after) = rest.split_at(end.unwrap_or(0));
        chunks.push((usize::from(budget), chunk));
        rest = after;
    }
    chunks.push((0, rest));
    let cut = lines(chunks.into_iter());
    assert_eq!(whole, cut);
    for line in &whole {
        let text = line.text.as_str();
        assert!(!text.contains(['\n', '\0', '\x1b']), "{text:?}");
        let mut start = 0;
        for span in &line.spans {
            let part = text.get(span.start as usize..span.end as usize);
            assert!(part.is_some(), "{span:?} in {text:?}");
            assert!(span.start >= start, "{line:?} is not sorted");
            start = span.start;
        }
    }
});
