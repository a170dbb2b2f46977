//! Streams: chunk boundaries and times of rendering do not change the resulting lines.

use proptest::prelude::*;

use super::super::prose;
use super::*;
use crate::code::Code;
use crate::spine::oneline::OneLine;

/// Lines that affect the block structure, in any order.
const LINES: &[&str] = &[
    "",
    "",
    "",
    "a *b* c",
    "**a",
    "b** `c",
    "# a",
    "===",
    "---",
    "***",
    "- a",
    "- ",
    "  - b",
    "    - c",
    "  c",
    "    d",
    "1. a",
    "2) b",
    "> a",
    ">",
    "> - b",
    "> ```",
    "```",
    "```rs",
    "```lua",
    "```nope",
    "local a = [[",
    "````",
    "~~~ py",
    "  ```",
    "    ```",
    "fn a() { \"b\" } // c",
    "/* a",
    "b */",
    "| a | b |",
    "|---|---|",
    "| c |",
    "<div>",
    "<!-- a",
    "-->",
    "<b>",
    "[a]: http://b.c",
    "[a](b) [a]",
    "\tx",
    "-\ty",
    ">\tz",
    "  >\t\tz",
    "\\*a*",
    "ä **ö** ü",
    "~~a~~ https://a.b/c_d.",
    "- [x] a",
    "a\rb",
    "a\r",
    "10. x",
    "   y",
    "      z",
    "'''",
    "```console",
    "$ ls 'a",
    "*",
    "+ a",
    "a  ",
];

fn soup() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        60 => prop::sample::select(LINES).prop_map(str::to_owned),
        1 => (1000..20_000usize).prop_map(|len| "xä ".repeat(len / 3)),
    ];
    let end = prop_oneof![8 => Just("\n"), 1 => Just("\r\n"), 1 => Just("")];
    prop::collection::vec((line, end), 0..40).prop_map(|lines| {
        lines
            .into_iter()
            .flat_map(|(line, end)| [line, end.to_owned()])
            .collect()
    })
}

/// Markdown as agents write it: blocks with a blank line between them.
fn ordinary() -> impl Strategy<Value = String> {
    let block = prop::sample::select(&[
        "A paragraph with **bold\nand** `code`\nand [a link](http://a.b).",
        "## Heading with `code`",
        "Old heading\n-----------",
        "- one\n- two\n  - nested *a*\n    - deeper\n  - back\n- three\n  lazy\nlazier",
        "1. one\n\n   more of one\n\n   - in it\n\n2. two\n   ```\n   ls\n\n   ls\n   ```\n3. three",
        "10. ten\n    - eleven\n\n      more\n\n          code",
        "* [x] done\n* [ ] open ~~no~~",
        "```\nfn main() {}\n\n# no heading\n```",
        "~~~\n```\n~~~",
        "````unknown\n```\n````\ntext at once",
        "| a | b |\n|---|:-:|\n| `c` | **d** |\n| e | f |",
        "> a quote\n> with `code`\n>\n> - and a list\nlazy",
        "> ```\n> code\n> ```",
        "    indented\n\n    code",
        "***",
        "<details>\n<summary>a *b*</summary>\n\ntext *a*\n\n</details>",
        "<!-- a\n\n# b\n-->",
        "Text\n- list at once\n# heading at once\n> quote at once\n```\ncode at once\n```",
        "- > quote in a list\n  > goes on\n- ```\n  fence\n  ```\n- # heading\n- \n  late",
    ]);
    prop::collection::vec(block, 0..8).prop_map(|blocks| blocks.join("\n\n"))
}

/// Streams `text` in chunks that end at `cuts`, rendering with the given `budgets` (0 skips a
/// render); some rows are highlighted in between.
fn stream(text: &str, cuts: &[usize], budgets: &[usize]) -> Vec<Line> {
    let mut cuts: Vec<_> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
    cuts.sort_unstable();
    let mut markdown = Markdown::new();
    let mut screen = Screen::default();
    let mut pending = None;
    let mut from = 0;
    for (number, (&cut, &budget)) in (0..).zip(cuts.iter().zip(budgets)) {
        let Some(chunk) = text.get(from..cut) else {
            continue;
        };
        markdown.push(chunk);
        from = cut;
        if budget > 0 {
            screen.apply(markdown.render(budget));
        }
        // Highlights of some rows are requested, and arrive later.
        if budget % 2 == 1
            && let Some((number, code)) = pending.take()
        {
            let code: Code = code;
            markdown.set_colours(number, Some(code.highlight()));
        }
        if budget % 4 > 0
            && let Some(code) = markdown.next_code(&(cut % 7..cut % 40), number)
        {
            pending = Some((number, code));
        }
        if budget % 3 == 1 {
            markdown.finish();
        }
        if !markdown.is_dirty() {
            check_text(&screen.0, &text[..cut]);
        }
    }
    markdown.push(&text[from..]);
    markdown.finish();
    while markdown.is_dirty() {
        screen.apply(markdown.render(7));
    }
    if let Some((number, code)) = pending {
        markdown.set_colours(number, Some(code.highlight()));
    }
    screen.show(&mut markdown);
    assert_eq!(markdown.text(), text);
    screen.0
}

/// Checks that the lines equal the source; a `\r` at its very end may be held back.
fn check_text(lines: &[Line], source: &str) {
    let mut lines = lines.iter().map(|line| line.text.as_str());
    let mut next = lines.next();
    for (row, want) in source.lines().enumerate() {
        let want = OneLine::new(want);
        let mut got = next.take().unwrap_or_default().to_owned();
        next = lines.next();
        while got.len() + 4 > MAX_LINE && got.len() < want.len() && want.starts_with(&got) {
            match next {
                Some(more) if want[got.len()..].starts_with(more) => got.push_str(more),
                _ => break,
            }
            next = lines.next();
        }
        assert!(
            want == got || want.strip_suffix("^M") == Some(&got),
            "row {row}: {got:?} {want:?}"
        );
    }
    assert_eq!(next, None);
}

/// Checks that two renderings are equal; fails with the first line that differs.
fn check_same(got: &[Line], want: &[Line]) -> Result<(), TestCaseError> {
    for (row, (got, want)) in got.iter().zip(want).enumerate() {
        let pair = format!(
            "{}{}",
            dump(std::slice::from_ref(got)),
            dump(std::slice::from_ref(want))
        );
        prop_assert!(got == want, "row {}:\n{:.2000}", row, pair);
    }
    prop_assert_eq!(got.len(), want.len());
    Ok(())
}

/// Checks that spans lie within their lines and are sorted, the outer before the inner.
fn check_spans(lines: &[Line]) {
    for line in lines {
        for span in &line.spans {
            let range = span.start as usize..span.end as usize;
            assert!(!range.is_empty(), "{line:?}");
            assert!(line.text.get(range).is_some(), "{line:?}");
            assert!(GROUPS.iter().any(|(name, _)| *name == span.group));
        }
        assert!(line.spans.is_sorted_by_key(|span| span.start), "{line:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_chunking_gives_the_same_lines(
        text in soup(),
        cuts in prop::collection::vec(any::<usize>(), 0..60),
        budgets in prop::collection::vec(prop_oneof![Just(0usize), 1..9usize, Just(1 << 20)], 60),
    ) {
        let whole = lines(&text);
        check_text(&whole, &text);
        check_spans(&whole);
        check_same(&stream(&text, &cuts, &budgets), &whole)?;
    }

    #[test]
    fn any_text_is_rendered(
        text in prop_oneof![
            any::<String>(),
            r#"[-*_`~#>+=|\[\]()<>!\\"' \t\r\näb1.:/]{0,200}"#,
        ],
        cuts in prop::collection::vec(any::<usize>(), 9),
    ) {
        let whole = lines(&text);
        check_text(&whole, &text);
        check_spans(&whole);
        check_same(&stream(&text, &cuts, &[1 << 20; 9]), &whole)?;
    }

    #[test]
    fn cutting_changes_nothing_in_ordinary_markdown(text in ordinary()) {
        check_same(&lines(&text), &prose::render("", &text).lines)?;
    }

    /// Generated texts exclude what may differ: links by reference (a definition counts only within
    /// its leaf), leaves and lines over 8 KiB, and code, whose language the whole parse ignores.
    #[test]
    fn cutting_changes_nothing_in_odd_markdown(
        lines in prop::collection::vec(prop::sample::select(LINES), 0..40),
    ) {
        let text: String = lines
            .iter()
            .filter(|line| !line.contains(['\r', ':']))
            .map(|line| line.replace("```rs", "```").replace("```lua", "```").replace("```nope", "```").replace("~~~ py", "~~~") + "\n")
            .collect();
        let text = text.replace("```console", "```");
        check_same(&super::lines(&text), &prose::render("", &text).lines)?;
    }
}
