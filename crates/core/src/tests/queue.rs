//! Queued prompts are shown, edited, sent before others, and survive the end of the agent.

use std::path::Path;

use serde_json::json;

use super::agent::Life;
use super::world::{A1, Part, S1, World};
use crate::conversation::queue::QueueAction;
use crate::conversation::session::Phase;
use crate::event::{AgentEvent, Event, SessionEvent};
use crate::spine::event::Prompt;
use crate::spine::ids::QueueId;

/// A session whose agent is busy with a first prompt, with others queued.
fn busy(waiting: &[&str]) -> World {
    let mut w = World::ready();
    w.prompts("first");
    for text in waiting {
        w.prompts(text);
    }
    w.skip();
    w
}

fn acts(w: &mut World, id: u64, action: QueueAction) {
    w.happens(Event::Session(SessionEvent::Queued {
        session: S1,
        id: QueueId(id),
        action,
    }));
}

fn interrupts(w: &mut World, text: &str) {
    w.happens(Event::Session(SessionEvent::Interrupt {
        session: S1,
        prompt: Prompt {
            text: text.into(),
            ..Prompt::default()
        },
    }));
}

/// Compares the queue on the screen, and its length in the snapshot.
#[track_caller]
fn check(w: &World, waiting: &[&str]) {
    let view = w.editor.queues.get(&S1);
    let lines = view.map_or(&[][..], |view| &view.lines);
    let shown: Vec<&str> = lines.iter().map(|line| line.text.trim()).collect();
    assert_eq!(shown, waiting);
    let snapshot = w.model.snapshot();
    assert_eq!(snapshot.sessions[0].queue.len(), waiting.len());
}

#[test]
fn the_queue_is_shown_in_order() {
    let mut w = busy(&["two\nlines", "three\n\n\n"]);
    check(&w, &["1 two … +1 line", "2 three"]);
    w.says("1");
    w.ends_turn("end_turn");
    check(&w, &["1 three"]);
    w.says("2");
    w.ends_turn("end_turn");
    check(&w, &[]);
}

#[test]
fn a_queued_prompt_returns_to_the_input_complete() {
    let mut w = busy(&["two\nlines", "three"]);
    acts(&mut w, 2, QueueAction::Edit);
    assert_eq!(w.editor.put.len(), 1);
    assert_eq!(w.editor.put[0].1.text, "two\nlines");
    check(&w, &["1 three"]);
}

#[test]
fn a_sent_prompt_cannot_be_edited() {
    let mut w = busy(&["two"]);
    w.says("1");
    w.ends_turn("end_turn");
    w.skip();
    acts(&mut w, 2, QueueAction::Edit);
    w.saw(&["Info: This prompt is no longer queued: it was sent or removed."]);
    assert_eq!(w.editor.put.len(), 0);
}

#[test]
fn queued_prompts_are_removed_and_moved_within_bounds() {
    let mut w = busy(&["a", "b", "c"]);
    acts(&mut w, 2, QueueAction::Move(1));
    check(&w, &["1 b", "2 a", "3 c"]);
    acts(&mut w, 4, QueueAction::Move(-9));
    check(&w, &["1 c", "2 b", "3 a"]);
    acts(&mut w, 4, QueueAction::Move(i32::MAX));
    check(&w, &["1 b", "2 a", "3 c"]);
    acts(&mut w, 2, QueueAction::Remove);
    check(&w, &["1 b", "2 c"]);
}

#[test]
fn a_prompt_sent_now_waits_for_the_cancelled_turn() {
    let mut w = busy(&["a", "b"]);
    acts(&mut w, 3, QueueAction::SendNow);
    w.saw(&["a1 <- session/cancel s1"]);
    check(&w, &["1 b", "2 a"]);
    w.says("so far");
    w.ends_turn("cancelled");
    w.saw(&[
        "turn of 1 ended: cancelled",
        "turn of 1 started",
        "a1 <- session/prompt s1: b",
    ]);
    check(&w, &["1 a"]);
}

fn cancels(w: &mut World) {
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    w.ends_turn("cancelled");
    w.skip();
}

fn held(w: &World) -> Option<usize> {
    w.editor.queues.get(&S1).and_then(|view| view.held)
}

#[test]
fn a_cancel_holds_the_queue_until_the_user_sends_a_prompt_of_it() {
    let mut w = busy(&["a", "b"]);
    assert_eq!(held(&w), None);
    cancels(&mut w);
    assert_eq!(w.model.phase(S1), Phase::Idle);
    check(&w, &["1 a", "2 b"]);
    assert_eq!(held(&w), Some(0));
    acts(&mut w, 3, QueueAction::SendNow);
    w.saw(&["turn of 1 started", "a1 <- session/prompt s1: b"]);
    assert_eq!(held(&w), None);
    w.says("done");
    w.ends_turn("end_turn");
    assert!(w.was_told("a1 <- session/prompt s1: a"));
}

#[test]
fn a_new_prompt_goes_out_before_held_ones() {
    let mut w = busy(&["a"]);
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    w.prompts("instead");
    check(&w, &["1 instead", "2 a"]);
    assert_eq!(held(&w), Some(1));
    w.skip();
    w.ends_turn("cancelled");
    w.saw(&[
        "turn of 1 ended: cancelled",
        "turn of 1 started",
        "a1 <- session/prompt s1: instead",
    ]);
    w.says("done");
    w.ends_turn("end_turn");
    assert_eq!(w.model.phase(S1), Phase::Idle);
    check(&w, &["1 a"]);
}

#[test]
fn a_restart_sends_held_prompts() {
    let mut w = busy(&["a"]);
    cancels(&mut w);
    w.happens(Event::Session(SessionEvent::Restart { session: S1 }));
    assert!(w.was_told("session/prompt s2: a"));
}

#[test]
fn an_interrupting_prompt_is_sent_next() {
    let mut w = busy(&["a"]);
    interrupts(&mut w, "stop");
    w.saw(&["a1 <- session/cancel s1"]);
    check(&w, &["1 stop", "2 a"]);
    w.ends_turn("cancelled");
    w.saw(&[
        "turn of 1 ended: cancelled",
        "turn of 1 started",
        "a1 <- session/prompt s1: stop",
    ]);
}

#[test]
fn an_interrupting_prompt_without_a_turn_is_just_sent() {
    let mut w = World::ready();
    w.skip();
    interrupts(&mut w, "hi");
    w.saw(&["turn of 1 started", "a1 <- session/prompt s1: hi"]);
    assert_eq!(w.editor.queues.get(&S1), None);
}

#[test]
fn a_prompt_sent_after_a_restart_is_not_announced_as_queued() {
    let mut w = busy(&["a", "b"]);
    w.happens(Event::Session(SessionEvent::Restart { session: S1 }));
    assert!(w.chat().contains("The agent is started again."));
    assert!(!w.chat().contains("wait"), "{}", w.chat());
    check(&w, &["1 b"]);
}

#[test]
fn the_queue_outlives_the_agent() {
    let mut w = busy(&["a", "b"]);
    w.exits(A1, "signal 9", &[]);
    assert!(
        w.chat().ends_with(
            "2 prompts wait: they will be sent when the agent runs again; your next prompt or \
             `:Acp restart` starts the agent."
        ),
        "{}",
        w.chat()
    );
    check(&w, &["1 a", "2 b"]);
    w.skip();
    w.happens(Event::Session(SessionEvent::Restart { session: S1 }));
    w.saw(&[
        "spawn bot as a2",
        "a2 <- initialize",
        "a2 <- session/new /p",
        "session 1 started",
        "turn of 1 started",
        "a2 <- session/prompt s2: a + [block]",
    ]);
    check(&w, &["1 b"]);
}

#[test]
fn an_exit_does_not_lose_a_prompt_waiting_for_its_checkpoint() {
    let mut w = World::ready();
    w.holds(Part::Shadow);
    w.prompts("a");
    w.prompts("b");
    check(&w, &["1 b"]);
    w.exits(A1, "signal 9", &[]);
    check(&w, &["1 a", "2 b"]);
}

#[test]
fn sending_a_prompt_now_starts_an_exited_agent() {
    let mut w = busy(&["a", "b"]);
    w.exits(A1, "signal 9", &[]);
    w.skip();
    acts(&mut w, 3, QueueAction::SendNow);
    assert_eq!(w.model.phase(S1), Phase::Running);
    assert_eq!(w.agents[&A1].life, Life::Gone);
    check(&w, &["1 a"]);
}

#[test]
fn a_refused_session_keeps_its_queue() {
    let mut w = World::new();
    w.holds(Part::Agents);
    w.opens(1, "bot");
    w.happens(Event::Agent(AgentEvent::Started { agent: A1, pid: 1 }));
    w.prompts("a");
    let answer = w.usual_answer("initialize");
    w.answers(A1, "initialize", Ok(answer));
    w.answers(
        A1,
        "session/new",
        Err(json!({ "code": 1, "message": "no" })),
    );
    check(&w, &["1 a"]);
}

#[test]
fn closing_a_session_reports_unsent_prompts() {
    let mut w = busy(&["a", "b\nc"]);
    w.happens(Event::Session(SessionEvent::Close { session: S1 }));
    let text =
        "Warn: Unsent prompts of the closed session (`<Up>` in a chat shows them): a; b … +1 line";
    assert!(w.was_told(text));
    // They can be recalled in the input.
    assert_eq!(w.records.prompts, ["a", "b\nc"]);
    let known = w.model.conversation.prompts_in(Path::new("/p"));
    let known: Vec<&str> = known.iter().map(|text| &**text).collect();
    assert_eq!(known, ["a", "b\nc"]);
}
