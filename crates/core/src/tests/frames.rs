//! The transcript on the screen, frame by frame.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use super::steps::{Step, step};
use super::world::{A1, FRAME, Part, S1, World};
use crate::event::{Event, ViewEvent};
use crate::spine::effect::EditorEffect;
use crate::spine::history::Past;

fn chunk(w: &mut World, role: &str, text: &str) {
    w.updates(json!({
        "sessionUpdate": role,
        "content": { "type": "text", "text": text },
    }));
}

#[test]
fn the_editor_is_woken_once_for_many_changes() {
    let mut w = World::ready();
    w.holds(Part::Editor);
    for n in 0..1000 {
        w.says(&format!(" {n}"));
    }
    assert_eq!(w.to_editor.len(), 1);
    assert!(matches!(w.to_editor[0], EditorEffect::Wake));
    w.goes_on();
    assert!(w.chat().ends_with("998 999"), "{}", w.chat());
}

#[test]
fn a_long_text_arrives_complete_over_several_frames() {
    let mut w = World::ready();
    w.holds(Part::Editor);
    let line = format!("{}\n", "word ".repeat(20));
    w.says(&line.repeat(40_000));
    let mut frames = 0;
    while let Some(effect) = w.to_editor.front() {
        frames += usize::from(matches!(effect, EditorEffect::Frame(_)));
        w.editor_moves();
        w.settle();
    }
    assert!((3..200).contains(&frames), "{frames} frames");
    assert_eq!(w.chat().lines().count(), 40_000);
}

#[test]
fn an_emptied_screen_is_rendered_again() {
    let mut w = World::ready();
    w.prompts("**hi**");
    chunk(&mut w, "agent_thought_chunk", "Hm.\nYes.");
    w.updates(json!({
        "sessionUpdate": "tool_call", "toolCallId": "t", "title": "Look",
        "content": [{ "type": "content", "content": { "type": "text", "text": "a\nb" } }],
    }));
    w.says("It is `done`");
    w.ends_turn("end_turn");
    let before = w.edits(|editor, _, out| editor.empties(S1, out));
    assert_eq!(w.editor.chats.get(&S1), before.as_ref());
    // A new window on the chat gets the folds, and nothing else.
    let chat = w.editor.chats.get_mut(&S1).unwrap();
    chat.folds.clear();
    w.happens(Event::View(ViewEvent::FoldsWanted { session: S1 }));
    assert_eq!(w.editor.chats.get(&S1), before.as_ref());
}

#[test]
fn a_frame_from_before_the_chat_was_emptied_changes_nothing() {
    let mut w = World::ready();
    w.says("One\n");
    w.holds(Part::Editor);
    w.says("two\n");
    w.happens(FRAME);
    w.edits(|editor, _, out| editor.empties(S1, out));
    w.goes_on();
    assert_eq!(w.chat(), "One\ntwo");
}

#[test]
fn a_message_is_highlighted_to_its_end_when_another_entry_follows() {
    let mut w = World::ready();
    w.prompts("hi");
    w.says("I use `sed`");
    let groups = |w: &World| w.editor.chats[&S1].lines[2].spans.len();
    let open = groups(&w);
    w.updates(json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "title": "Edit" }));
    assert!(groups(&w) > open, "{:?}", w.editor.chats[&S1].lines[2]);
}

#[test]
fn only_the_first_line_of_a_users_message_has_the_mark() {
    let mut w = World::ready();
    chunk(&mut w, "user_message_chunk", "```");
    chunk(&mut w, "user_message_chunk", "rust\nfn a() {}\n```\n");
    assert_eq!(w.chat(), "❯ ```rust\n  fn a() {}\n  ```");
}

/// Messages of a turn: role and text.
fn said() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let role = prop_oneof![
        2 => Just("agent_message_chunk"),
        1 => Just("agent_thought_chunk"),
        1 => Just("user_message_chunk"),
    ];
    let piece = prop_oneof![
        "[a-c*`_ \n]{1,12}",
        Just("\r\n".to_owned()),
        Just("\n\n".to_owned()),
        Just("```rust\nfn a() {}\n```\n".to_owned()),
        Just("| a | b |\n|---|---|\n| 1 | 2 |\n".to_owned()),
        Just("- ä\n  - 日本\n".to_owned()),
        Just("# Title\n".to_owned()),
    ];
    let text = vec(piece, 1..5).prop_map(|pieces| pieces.concat());
    vec((role, text), 1..6)
}

/// Sends the messages in pieces cut at `cuts`, with a frame after a piece where `pauses` says so.
fn told(said: &[(&str, String)], cuts: &[Index], pauses: &[bool]) -> World {
    let mut w = World::ready();
    w.prompts("go");
    w.holds(Part::Editor);
    let mut pauses = pauses.iter().cycle();
    for (role, text) in said {
        let chars: Vec<char> = text.chars().collect();
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(chars.len() + 1)).collect();
        at.extend([0, chars.len()]);
        at.sort_unstable();
        for pair in at.windows(2) {
            let piece: String = chars[pair[0]..pair[1]].iter().collect();
            chunk(&mut w, role, &piece);
            if pauses.next() == Some(&true) {
                w.editor_moves();
                w.settle();
            }
        }
    }
    w.ends_turn("end_turn");
    w.goes_on();
    w
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_chat_does_not_depend_on_chunks_and_frames(
        said in said(),
        cuts in vec(any::<Index>(), 0..8),
        pauses in vec(any::<bool>(), 1..8),
    ) {
        let whole = told(&said, &[], &[false]);
        let cut = told(&said, &cuts, &pauses);
        prop_assert_eq!(cut.chat(), whole.chat());
        prop_assert_eq!(&cut.editor.chats[&S1].lines, &whole.editor.chats[&S1].lines);
        prop_assert_eq!(&cut.editor.chats[&S1].folds, &whole.editor.chats[&S1].folds);
        prop_assert_eq!(cut.agents[&A1].waiting().len(), 0);
    }
}

/// Sends updates that all wait when the core takes the first, and ends the turn.
fn streamed(updates: &[Value], batch: bool) -> World {
    let mut w = World::ready();
    w.batch = batch;
    w.prompts("go");
    w.journal = Some(Vec::new());
    w.tells_again(A1, "s1", updates);
    w.settle();
    w.ends_turn("end_turn");
    w
}

/// Returns what the records say; a later line replaces an earlier one.
fn kept(w: &World) -> Vec<String> {
    let texts = w.records.files.values();
    texts.map(|text| format!("{:?}", Past::of(text))).collect()
}

#[test]
fn finished_tool_calls_that_stream_in_are_written_to_the_record_at_once() {
    let orders = |batch| {
        let ends = |n: usize| {
            json!({ "sessionUpdate": "tool_call", "toolCallId": n.to_string(), "title": "Look",
                "status": "completed" })
        };
        let updates: Vec<Value> = (0..10).map(ends).collect();
        let journal = streamed(&updates, batch).journal.take().unwrap();
        let lines = journal.iter().map(|line| line.trim_start());
        lines
            .filter(|line| line.starts_with("Host(History(Append"))
            .count()
    };
    assert_eq!((orders(false), orders(true)), (11, 2));
}

proptest! {
    #[test]
    fn updates_settled_together_give_the_same_screen_and_record(
        steps in vec(step(), 1..200),
    ) {
        let updates = steps.into_iter().filter_map(|step| match step {
            Step::Chunk(role, text) => Some(json!({
                "sessionUpdate": role,
                "content": { "type": "text", "text": text },
            })),
            Step::Update(update) => Some(update),
            _ => None,
        });
        let updates: Vec<Value> = updates.collect();
        let (one, two) = (streamed(&updates, false), streamed(&updates, true));
        prop_assert_eq!(&one.editor.chats, &two.editor.chats);
        prop_assert_eq!(&one.editor.titles, &two.editor.titles);
        prop_assert_eq!(&one.editor.plans, &two.editor.plans);
        prop_assert_eq!(kept(&one), kept(&two));
        prop_assert_eq!(&one.log, &two.log);
    }
}
