//! Prompts for the running turn: taken, returned or refused, for every moment at which it may end.

use serde_json::{Value, json};

use super::agent::Life;
use super::world::{A1, Part, S1, World};
use crate::conversation::queue::QueueAction;
use crate::event::{AgentEvent, Event, SessionEvent};
use crate::spine::event::Prompt;
use crate::spine::ids::{AgentKey, QueueId};

const STEER: &str = "_session/steering";

fn initializes(w: &mut World, agent: AgentKey) {
    w.agents.get_mut(&agent).unwrap().life = Life::Alive;
    w.happens(Event::Agent(AgentEvent::Started { agent, pid: 1 }));
    let answer = json!({ "protocolVersion": 1, "_meta": { "steering": { "supported": true } } });
    w.answers(agent, "initialize", Ok(answer));
    w.answers(agent, "session/new", Ok(json!({ "sessionId": "s1" })));
}

/// A session whose agent can be steered and is answering a first prompt.
fn working() -> World {
    let mut w = World::new();
    w.holds(Part::Agents);
    w.opens(1, "bot");
    initializes(&mut w, A1);
    w.prompts("first");
    w.says("Working.");
    w.skip();
    w
}

fn steers(w: &mut World, text: &str) {
    let prompt = Prompt {
        text: text.into(),
        ..Prompt::default()
    };
    w.happens(Event::Session(SessionEvent::Steer {
        session: S1,
        prompt,
    }));
}

fn outcome(w: &mut World, name: &str) {
    w.answers(A1, STEER, Ok(json!({ "outcome": name })));
}

fn queued(w: &World) -> Vec<String> {
    let snapshot = w.model.snapshot();
    let queue = snapshot.sessions[0].queue.iter();
    queue.map(|waiting| waiting.text.clone()).collect()
}

/// Returns the prompts, cancels and steered words that the agents have received since the last
/// check.
fn sent(w: &mut World) -> Vec<String> {
    let log = std::mem::take(&mut w.log).into_iter();
    let is_sent = |line: &String| {
        let parts = ["session/prompt", "session/cancel", STEER];
        parts.iter().any(|part| line.contains(part))
    };
    log.filter(is_sent).collect()
}

/// Checks that the transcript has these texts once each, in this order.
#[track_caller]
fn told(w: &World, texts: &[&str]) {
    let chat = w.chat();
    let places = texts.iter().map(|text| {
        assert_eq!(chat.matches(text).count(), 1, "{text:?} in:\n{chat}");
        chat.find(text)
    });
    assert!(places.is_sorted(), "{texts:?} in:\n{chat}");
}

#[test]
fn steered_words_are_in_the_turn_and_stand_where_they_were_said() {
    let mut w = working();
    assert!(w.model.snapshot().sessions[0].steering);
    w.prompts("afterwards");
    steers(&mut w, "also b");
    assert_eq!(sent(&mut w), ["a1 <- _session/steering s1: also b"]);
    assert_eq!(queued(&w), ["also b", "afterwards"]);
    outcome(&mut w, "injected");
    assert_eq!(queued(&w), ["afterwards"]);
    w.says("Now b.");
    told(&w, &["first", "Working.", "also b", "Now b."]);
    assert_eq!(sent(&mut w), [""; 0]);
    w.ends_turn("end_turn");
    assert_eq!(sent(&mut w), ["a1 <- session/prompt s1: afterwards"]);
}

#[test]
fn words_that_a_turn_takes_at_its_very_end_are_not_sent_again_and_that_is_said() {
    let chunk = |id: &str, text: &str| {
        json!({
            "sessionUpdate": "agent_message_chunk",
            "messageId": id,
            "content": { "type": "text", "text": text },
        })
    };
    let mut w = working();
    w.updates(chunk("m1", "The last"));
    steers(&mut w, "also b");
    outcome(&mut w, "injected");
    // The rest of a message that was begun before the words is no answer to them.
    w.updates(chunk("m1", " of it."));
    sent(&mut w);
    w.ends_turn("end_turn");
    told(&w, &["also b", " of it.", "ended right after"]);
    assert_eq!(sent(&mut w), [""; 0]);
    assert!(queued(&w).is_empty());
}

#[test]
fn of_words_that_a_turn_has_acted_on_nothing_is_said() {
    for end in ["end_turn", "cancelled", "refusal"] {
        let mut w = working();
        steers(&mut w, "also b");
        outcome(&mut w, "injected");
        if end == "end_turn" {
            w.updates(json!({ "sessionUpdate": "tool_call", "toolCallId": "t1", "title": "b" }));
        }
        w.ends_turn(end);
        assert!(!w.chat().contains("ended right after"), "{}", w.chat());
    }
}

#[test]
fn words_that_come_too_late_for_a_turn_begin_the_next_one() {
    for is_answered_first in [true, false] {
        let mut w = working();
        w.prompts("afterwards");
        for text in ["also b", "and c"] {
            steers(&mut w, text);
        }
        sent(&mut w);
        if !is_answered_first {
            w.ends_turn("end_turn");
            // The turn may have taken them: nothing else begins until the agent has said so.
            assert_eq!(sent(&mut w), [""; 0]);
        }
        outcome(&mut w, "promptRequired");
        outcome(&mut w, "promptRequired");
        if is_answered_first {
            w.ends_turn("end_turn");
        }
        assert_eq!(sent(&mut w), ["a1 <- session/prompt s1: also b"]);
        w.ends_turn("end_turn");
        w.ends_turn("end_turn");
        assert_eq!(
            sent(&mut w),
            [
                "a1 <- session/prompt s1: and c",
                "a1 <- session/prompt s1: afterwards",
            ]
        );
        told(&w, &["first", "also b", "and c", "afterwards"]);
    }
}

#[test]
fn words_with_which_the_agent_begins_a_turn_itself_are_not_sent_again() {
    let mut w = working();
    steers(&mut w, "also b");
    w.ends_turn("end_turn");
    outcome(&mut w, "startedNewTurn");
    w.says("On my own.");
    told(
        &w,
        &["also b", "whose end it does not report", "On my own."],
    );
    assert_eq!(sent(&mut w), ["a1 <- _session/steering s1: also b"]);
    assert!(queued(&w).is_empty());
}

#[test]
fn words_that_the_agent_refuses_are_queued() {
    for answer in [
        Ok(json!({ "outcome": "failed" })),
        Err(json!({ "code": -32603, "message": "no" })),
    ] {
        let mut w = working();
        steers(&mut w, "also b");
        w.answers(A1, STEER, answer);
        assert!(w.was_told("Warn: The agent \"bot\" did not accept the prompt during its turn"));
        assert_eq!(queued(&w), ["also b"]);
        sent(&mut w);
        w.ends_turn("end_turn");
        assert_eq!(sent(&mut w), ["a1 <- session/prompt s1: also b"]);
        told(&w, &["Working.", "also b"]);
    }
}

#[test]
fn an_agent_that_cannot_be_steered_gets_the_words_after_its_turn() {
    let mut w = World::ready();
    w.prompts("first");
    w.skip();
    steers(&mut w, "also b");
    assert!(w.was_told("Info: Queued: the agent \"bot\" accepts no prompts during a turn."));
    assert!(!w.model.snapshot().sessions[0].steering);
    assert_eq!(queued(&w), ["also b"]);
    sent(&mut w);
    w.ends_turn("end_turn");
    assert_eq!(sent(&mut w), ["a1 <- session/prompt s1: also b"]);
}

#[test]
fn without_a_turn_that_runs_the_words_are_a_prompt() {
    let mut w = working();
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    sent(&mut w);
    steers(&mut w, "also b");
    assert_eq!(sent(&mut w), [""; 0]);
    w.ends_turn("cancelled");
    assert_eq!(sent(&mut w), ["a1 <- session/prompt s1: also b"]);
    w.updates(json!({
        "sessionUpdate": "available_commands_update",
        "availableCommands": [{ "name": "go", "description": "Goes." }],
    }));
    steers(&mut w, "/go");
    assert_eq!(sent(&mut w), [""; 0]);
    w.ends_turn("end_turn");
    w.ends_turn("end_turn");
    sent(&mut w);
    steers(&mut w, "idle");
    assert_eq!(sent(&mut w), ["a1 <- session/prompt s1: idle"]);
}

#[test]
fn words_on_their_way_outlive_the_agent_and_are_not_taken_back() {
    let mut w = working();
    steers(&mut w, "also b");
    let id = w.model.snapshot().sessions[0].queue[0].id;
    for action in [QueueAction::Remove, QueueAction::Edit, QueueAction::SendNow] {
        w.happens(Event::Session(SessionEvent::Queued {
            session: S1,
            id: QueueId(id.0),
            action,
        }));
    }
    assert_eq!(queued(&w), ["also b"]);
    w.exits(A1, "signal 9", &[]);
    assert_eq!(queued(&w), ["also b"]);
    w.happens(Event::Session(SessionEvent::Restart { session: S1 }));
    sent(&mut w);
    initializes(&mut w, AgentKey(2));
    // The new session gets the conversation so far with it.
    let sent = sent(&mut w);
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert!(
        sent[0].starts_with("a2 <- session/prompt s1: also b"),
        "{sent:?}"
    );
    told(&w, &["Working.", "also b"]);
}

#[test]
fn words_whose_fate_is_unknown_are_not_sent_again() {
    let mut w = working();
    steers(&mut w, "also b");
    w.ends_turn("end_turn");
    sent(&mut w);
    w.time_passes();
    assert_eq!(sent(&mut w), [""; 0]);
    told(&w, &["Working.", "also b", "did not say whether"]);
}

#[test]
fn an_echo_of_steered_words_is_not_shown() {
    let mut w = working();
    steers(&mut w, "also b");
    let echo = |text: &str| -> Value {
        json!({ "sessionUpdate": "user_message_chunk", "content": { "type": "text", "text": text } })
    };
    w.updates(echo("also b"));
    outcome(&mut w, "injected");
    w.says("Now b.");
    told(&w, &["Working.", "also b", "Now b."]);
}

#[test]
fn a_prompt_at_once_waits_for_the_answer_about_one_in_the_turn() {
    let mut w = working();
    steers(&mut w, "in the turn");
    w.happens(Event::Session(SessionEvent::Interrupt {
        session: S1,
        prompt: Prompt {
            text: "at once".into(),
            ..Prompt::default()
        },
    }));
    sent(&mut w);
    w.ends_turn("cancelled");
    assert_eq!(sent(&mut w), [""; 0]);
    outcome(&mut w, "injected");
    told(&w, &["in the turn", "at once"]);
    assert_eq!(sent(&mut w), ["a1 <- session/prompt s1: at once"]);
    w.ends_turn("end_turn");
}
