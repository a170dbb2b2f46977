//! Work on thousands of files grows in proportion to them.

use serde_json::json;

use super::world::{A1, Part, S1, World};
use crate::event::{Event, ReviewEvent};
use crate::spine::event::{ReviewAction, Scope, UndoStep};

/// A world whose agent has replaced a line in each of these files, in a turn that is over.
fn changed(files: usize) -> World {
    let mut w = World::ready();
    w.happens(Event::Configure {
        limits: Default::default(),
        feedback: true,
        preview: Default::default(),
        accept_allowed: false,
        rules: Default::default(),
        follow: Default::default(),
    });
    for file in 0..files {
        w.disk.put(&format!("/p/{file:04}"), "a\nb\nc\n");
    }
    w.prompts("hi");
    w.holds(Part::Watcher);
    for file in 0..files {
        let path = format!("/p/{file:04}");
        let params = json!({ "sessionId": "s1", "path": path, "content": "a\nB\nc\n" });
        w.asks(&file.to_string(), "fs/write_text_file", &params);
    }
    w.ends_turn("end_turn");
    w.goes_on();
    w
}

fn rejects_all(w: &mut World) {
    w.decides(ReviewAction::Reject, Scope::All);
}

/// Returns the size of all effects on this many files.
fn effects(files: usize, of: fn(&mut World)) -> usize {
    let mut w = changed(files);
    w.journal = Some(Vec::new());
    of(&mut w);
    assert_eq!(w.disk.get("/p/0000").as_deref(), Some("a\nb\nc\n"));
    let journal = w.journal.take().unwrap_or_default();
    let effects = journal.iter().filter(|line| line.starts_with("  "));
    effects.map(String::len).sum()
}

#[test]
fn twice_as_many_files_have_twice_as_many_effects() {
    let undoes = |w: &mut World| {
        let (session, step) = (None, UndoStep::Undo(None));
        w.happens(Event::Review(ReviewEvent::UndoTurn { session, step }));
    };
    for of in [rejects_all, undoes] {
        let (once, twice) = (effects(80, of), effects(160, of));
        assert!(twice * 10 < once * 21, "{once} and {twice}");
    }
}

#[test]
fn the_report_of_many_rejects_is_made_once_a_frame() {
    let mut w = changed(5);
    let entries = |w: &World| w.session(S1).transcript().entries().len();
    let before = entries(&w);
    w.holds(Part::Editor);
    rejects_all(&mut w);
    assert_eq!(w.disk.get("/p/0004").as_deref(), Some("a\nb\nc\n"));
    assert_eq!(entries(&w), before);
    w.goes_on();
    assert_eq!(entries(&w), before + 1);
    assert!(
        w.chat().contains("5 rejected hunks in 5 files"),
        "{}",
        w.chat()
    );
    // The next prompt reports them also if no frame was drawn.
    w.prompts("again");
    let asked = format!("{:?}", w.agents[&A1].calls);
    assert!(asked.contains("/0004"), "{asked}");
    w.ends_turn("end_turn");
}

#[test]
fn a_long_title_of_a_session_is_cut() {
    let mut w = World::ready();
    let title = "ä".repeat(100_000);
    w.updates(json!({ "sessionUpdate": "session_info_update", "title": title }));
    let title = w.model.snapshot().sessions[0].title.clone();
    assert_eq!(title.map(|title| title.chars().count()), Some(500));
}
