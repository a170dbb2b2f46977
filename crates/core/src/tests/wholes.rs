//! Content that the transcript cuts, and that can be opened in full.

use serde_json::{Value, json};

use super::world::{S1, World};
use crate::event::{Event, ViewEvent};
use crate::spine::view::{Link, Piece, Whole, WholeLanguage};

/// Sends a tool call, requests a piece of it in full, and returns the piece's language and text.
fn shown(mut call: Value, piece: Piece) -> Option<(String, String)> {
    let mut w = World::ready();
    call["sessionUpdate"] = json!("tool_call");
    call["toolCallId"] = json!("t");
    w.updates(call);
    let whole = Whole { entry: 0, piece };
    w.happens(Event::View(ViewEvent::WholeWanted { session: S1, whole }));
    let view = w.editor.whole.take()?;
    let language = match view.language {
        WholeLanguage::Named(name) => name.to_owned(),
        WholeLanguage::OfFile(name) => format!("of {name}"),
    };
    Some((language, view.text))
}

#[track_caller]
fn check(call: Value, piece: Piece, language: &str, text: &str) {
    let want = Some((language.to_owned(), text.to_owned()));
    assert_eq!(shown(call, piece), want);
}

fn content(block: Value) -> Value {
    json!({ "content": [{ "type": "content", "content": block }] })
}

#[test]
fn each_piece_is_complete() {
    let long = "word\n".repeat(500);
    let text = content(json!({ "type": "text", "text": long }));
    check(text, Piece::Content(0), "markdown", &long);
    let resource =
        json!({ "type": "resource", "resource": { "uri": "file:///a.rs", "text": "fn" } });
    check(
        content(resource),
        Piece::Content(0),
        "of file:///a.rs",
        "fn",
    );
    let unknown = content(json!({ "type": "smell" }));
    check(
        unknown,
        Piece::Content(0),
        "json",
        "{\n  \"type\": \"smell\"\n}",
    );
    let diff = json!({ "content": [
        { "type": "diff", "path": "/p/a", "oldText": "x\ny\n", "newText": "x\nz\n" },
    ] });
    let want = "--- /p/a\n+++ /p/a\n x\n-y\n+z\n";
    check(diff, Piece::Content(0), "diff", want);
    let input = json!({ "rawInput": { "command": "a\nb" } });
    check(input, Piece::Input, "sh", "a\nb");
    check(
        json!({ "rawInput": { "q": 1 } }),
        Piece::Input,
        "json",
        "{\n  \"q\": 1\n}",
    );
    check(
        json!({ "rawOutput": { "stdout": long } }),
        Piece::Output,
        "",
        &long,
    );
    check(
        json!({ "rawOutput": { "n": 1 } }),
        Piece::Output,
        "json",
        "{\n  \"n\": 1\n}",
    );
}

#[test]
fn a_missing_piece_is_not_shown() {
    assert_eq!(shown(json!({}), Piece::Content(0)), None);
    assert_eq!(shown(json!({}), Piece::Input), None);
    assert_eq!(shown(json!({}), Piece::Output), None);
    let mut w = World::ready();
    let (entry, piece) = (7, Piece::Raw);
    let whole = Whole { entry, piece };
    w.happens(Event::View(ViewEvent::WholeWanted { session: S1, whole }));
    assert_eq!(w.editor.whole, None);
}

/// A call with large parts takes few lines of the transcript, and each part can be opened in full.
#[test]
fn large_content_is_cut_and_links_to_the_full_piece() {
    let long = "a line of text\n".repeat(100_000);
    let wide = "x".repeat(1_000_000);
    let mut w = World::ready();
    w.updates(json!({
        "sessionUpdate": "tool_call", "toolCallId": "t", "title": "Much",
        "rawInput": { "command": long }, "rawOutput": { "stdout": format!("out\n{long}") },
        "content": [
            { "type": "content", "content": { "type": "text", "text": long } },
            { "type": "content", "content": { "type": "text", "text": wide } },
            { "type": "diff", "path": "/p/a", "oldText": long, "newText": format!("{wide}\n") },
            { "type": "blob", "data": wide },
        ],
    }));
    let lines = &w.editor.chats[&S1].lines;
    let bytes: usize = lines.iter().map(|line| line.text.len()).sum();
    assert!(
        lines.len() < 1100 && bytes < 300_000,
        "{} lines, {bytes} bytes",
        lines.len()
    );
    let wholes = lines.iter().filter_map(|line| match line.link {
        Some(Link::Whole(whole)) => Some(whole.piece),
        _ => None,
    });
    let mut wholes: Vec<Piece> = wholes.collect();
    wholes.dedup();
    let content = Piece::Content;
    let want = [Piece::Input, content(0), content(1), content(2)];
    assert_eq!(wholes[..4], want, "{wholes:?}");
    assert!(
        wholes.contains(&Piece::Raw) || wholes.contains(&Piece::Output),
        "{wholes:?}"
    );
}
