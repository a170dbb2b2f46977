//! Cost of rendering a stream, in counted units rather than time.

use super::*;

/// Streams `bytes` of repeated `unit` in chunks of 40 bytes, rendered and highlighted after each
/// chunk; returns the cost.
fn cost(start: &str, unit: &str, bytes: usize) -> usize {
    let text = format!("{start}{}", unit.repeat(bytes / unit.len()));
    let mut markdown = Markdown::new();
    let mut screen = Screen::default();
    for chunk in text.as_bytes().chunks(40) {
        markdown.push(std::str::from_utf8(chunk).expect("ASCII"));
        screen.show(&mut markdown);
    }
    let whole = lines(&text);
    // The text is unfinished, so its end may be unstyled.
    let last = whole.len() - 1;
    assert_eq!(screen.0[..last], whole[..last]);
    markdown.spent
}

/// Checks that each byte costs at most `most` units, also in a longer message.
fn check(start: &str, unit: &str, most: usize) {
    let one = cost(start, unit, 20_000);
    assert!(one <= most * 20_000, "{} a byte: {unit:?}", one / 20_000);
    let two = cost(start, unit, 40_000);
    assert!(two <= one * 9 / 4, "from {one} to {two}: {unit:?}");
}

#[test]
fn a_chunk_costs_the_same_however_long_the_message_is() {
    check(
        "",
        "A paragraph of *some* words,\nand `more` of them.\n\n",
        4,
    );
    check("", "- an item with **bold** words\n  - and one in it\n", 4);
    check("", "1. an item\n\n   ```rust\n   let x = 1;\n   ```\n\n", 8);
    check("```rust\n", "let x = \"a string\"; // and more\n", 8);
    check("```\n", "no language\n\n", 4);
    check("<!--\n", "a comment\n\n", 4);
    check("| a | b |\n|---|---|\n", "| `c` | **d** |\n", 10);
    check("    ", "code\n    ", 300);
    // Blocks without an end and a line without an end: up to 4 KiB are parsed again with each
    // chunk.
    check("", "one paragraph, *without* an end\n", 300);
    check("", "> a quote\n", 300);
    check("- list\n", "  lazy line\n", 300);
    check("", "one line and no end ", 300);
}

/// Two thousand chunks of a message with blocks of all kinds.
#[test]
fn a_stream_is_parsed_a_few_times_over_at_most() {
    let unit = "## A heading\n\nA paragraph of *some* words, and `more`\nof them.\n\n\
        - an item\n  - and one in it\n\n| a | b |\n|---|---|\n| c | d |\n\n\
        ```text\nno language\n```\n\n> a quote\n\n";
    let bytes = 80_000;
    let cost = cost("", unit, bytes);
    assert!(cost <= 4 * bytes, "{cost}");
}

#[test]
fn short_leaves_are_parsed_together() {
    let mut markdown = Markdown::new();
    markdown.push(&"## A heading\n\nWords.\n\n- one\n- two\n\n".repeat(1000));
    while markdown.render(128).is_some() {}
    assert!(markdown.parses <= 20, "{}", markdown.parses);
}

#[test]
fn a_leaf_that_was_cut_goes_on_as_what_it_was() {
    let check = |start: &str, unit: &str, want: &str| {
        let text = format!("{start}{}", unit.repeat(40_000 / unit.len()));
        let whole = lines(&text);
        let last = dump(&whole[whole.len() - 1..]);
        assert_eq!(last, want, "{}", &text[..100]);
    };
    let table =
        "|  | `c` |\n  ^ AcpTable\n     ^ AcpTable\n       ^^^ AcpCode\n           ^ AcpTable\n";
    let _ = table;
    check(
        "| a | b |\n|---|---|\n",
        "| c | `d` |\n",
        "|| c | `d` |\n ^ AcpTable\n     ^ AcpTable\n       ^^^ AcpCode\n           ^ AcpTable\n",
    );
    check(
        "1. a\n\n   | a | b |\n   |---|---|\n",
        "   | c | d |\n",
        "|   | c | d |\n    ^ AcpTable\n        ^ AcpTable\n            ^ AcpTable\n",
    );
    check(
        "10.  a\n\n",
        "     b `c`\n",
        "|     b `c`\n        ^^^ AcpCode\n",
    );
    check(
        "",
        "> a `b`\n",
        "|> a `b`\n ^^^^^^^ AcpQuote\n     ^^^ AcpCode\n",
    );
    check("", "    a `b`\n", "|    a `b`\n     ^^^^^ AcpCodeBlock\n");
    check("", "a `b`\n", "|a `b`\n   ^^^ AcpCode\n");
}

#[test]
fn a_burst_is_spread_over_renders() {
    let text = format!("```rust\n{}```\n", "let x = 1; // one\n".repeat(200));
    let mut markdown = Markdown::new();
    let mut screen = Screen::default();
    markdown.push(&text);
    markdown.finish();
    let mut renders = 0;
    while markdown.is_dirty() {
        let rows = screen.0.len();
        screen.apply(markdown.render(1));
        assert!((1..=10).contains(&(screen.0.len() - rows)));
        renders += 1;
    }
    assert!(renders > 20);
    screen.show(&mut markdown);
    assert_eq!(screen.0, lines(&text));
}

#[test]
fn a_line_that_is_too_long_is_broken_and_plain() {
    let text = format!("- a\n{}\n  *b*\n", "  *ä*".repeat(3000));
    let whole = lines(&text);
    assert_eq!(whole.len(), 5);
    let long = &whole[1..4];
    assert!(
        long.iter()
            .all(|line| line.text.len() <= MAX_LINE && line.spans.is_empty())
    );
    let joined: String = long.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(Some(joined.as_str()), text.lines().nth(1));
    assert_eq!(dump(&whole[4..]), "|  *b*\n   ^^^ AcpItalic\n");
}
