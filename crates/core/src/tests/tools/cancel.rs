//! Calls that end early: cancelled, abandoned by the caller, out of time.

use serde_json::json;

use super::super::world::{A1, S1, World};
use super::{Story, id, tools};
use crate::event::{Event, SessionEvent, ToolEvent};
use crate::questions::Answer;
use crate::questions::elicitation::ElicitationAnswer;
use crate::spine::ids::QuestionId;
use crate::spine::tool::ToolAsk;

const CANCELLED: &str = "fails: The call was cancelled.";

/// A world in which one call runs, another waits for the user, and a third has begun to arrive.
fn three() -> World {
    let mut w = World::with_tools();
    w.uses(1, "look", json!({}));
    w.uses(2, "change", json!({}));
    w.begins(3, "look");
    w.skip();
    w
}

#[test]
fn calls_end_with_their_turn_or_agent() {
    let session = S1;
    let ends: [Story; 5] = [
        ("cancel", |w| {
            w.happens(Event::Session(SessionEvent::Cancel { session: S1 }))
        }),
        ("stop", |w| {
            w.happens(Event::Session(SessionEvent::Stop { session: S1 }))
        }),
        ("restart", |w| {
            w.happens(Event::Session(SessionEvent::Restart { session: S1 }))
        }),
        ("close", |w| {
            w.happens(Event::Session(SessionEvent::Close { session: S1 }))
        }),
        ("crash", |w| w.exits(A1, "signal 9", &[])),
    ];
    for (how, end) in ends {
        let mut w = three();
        end(&mut w);
        let about = |line: &&String| line.contains("tool ") || line.starts_with("stop");
        let about: Vec<&String> = w.log.iter().filter(about).collect();
        let want = [
            "stop 1".to_owned(),
            format!("tool 1 {CANCELLED}"),
            format!("tool 2 {CANCELLED}"),
        ];
        assert_eq!(about, want.iter().collect::<Vec<_>>(), "{how}");
        assert!(w.was_told("permission 1 of 1 answered: -"), "{how}");
        assert!(w.editor.permission.is_none(), "{how}");
        w.skip();
        // The call was not complete when the turn ended, so it never runs.
        w.uses(3, "look", json!({}));
        let want = format!("tool 3 {CANCELLED}");
        assert!(
            w.was_told(&want) && !w.was_told("run 3"),
            "{how} {:?}",
            w.log
        );
        w.tool_is_done(1, "late");
        if w.model.conversation.session(session).is_some() {
            assert_eq!(
                w.chat().matches("  cancelled").count(),
                3,
                "{how}\n{}",
                w.chat()
            );
        }
    }
}

#[test]
fn a_call_during_a_cancel_does_not_run_and_a_later_one_does() {
    let mut w = World::with_tools();
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    w.skip();
    w.uses(1, "look", json!({}));
    w.saw(&[&format!("tool 1 {CANCELLED}")]);
    w.ends_turn("cancelled");
    w.skip();
    w.uses(2, "look", json!({}));
    w.saw(&["run 2 look {} for 1"]);
}

#[test]
fn a_cancel_outside_a_turn_ends_the_calls_there() {
    let mut w = World::with_tools();
    w.ends_turn("end_turn");
    w.uses(1, "look", json!({}));
    w.skip();
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    w.saw(&["stop 1", &format!("tool 1 {CANCELLED}")]);
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    w.saw(&["Info: Nothing is running in this chat."]);
}

#[test]
fn a_caller_abandons_its_call() {
    let mut w = three();
    for number in 1..=4 {
        w.happens(Event::Tool(ToolEvent::GivenUp { id: id(number) }));
    }
    w.saw(&[
        "stop 1",
        &format!("tool 1 {CANCELLED}"),
        "permission 1 of 1 answered: -",
        &format!("tool 2 {CANCELLED}"),
    ]);
    assert_eq!(w.chat().matches("cancelled").count(), 3, "{}", w.chat());
    let told = "The agent gave up this call before you answered: The change.";
    assert_eq!(w.chat().matches(told).count(), 1, "{}", w.chat());
}

#[test]
fn a_handler_past_its_time_limit_is_stopped() {
    let mut w = World::with_tools();
    w.uses(1, "look", json!({}));
    w.skip();
    for _ in 0..9 {
        w.time_passes();
    }
    w.saw(&[]);
    w.time_passes();
    w.saw(&[
        "stop 1",
        "tool 1 fails: The look has taken longer than 1 s, its time limit, and was stopped.",
    ]);
}

#[test]
fn a_tool_without_a_time_limit_is_not_stopped() {
    let mut w = World::with_tools();
    let mut all = tools();
    all[0].limit_ms = None;
    w.happens(Event::Tool(ToolEvent::Defined(all)));
    w.uses(1, "look", json!({}));
    w.skip();
    assert!(!w.model.tools.has_timers());
    w.time_passes();
    w.tool_is_done(1, "at last");
    w.saw(&["tool 1 is done: at last"]);
}

#[test]
fn the_users_time_does_not_count_and_is_reported_to_the_caller() {
    let mut w = World::with_tools();
    w.uses(1, "change", json!({}));
    w.skip();
    for _ in 0..20 {
        w.time_passes();
    }
    let signs = w.log.iter().filter(|line| line.contains("tool 1 reports"));
    assert_eq!(signs.count(), 20);
    assert_eq!(w.log[1], "tool 1 reports 0.002 Waiting for the user.");
    w.happens(Event::Answer {
        id: QuestionId(1),
        answer: Answer::Option("allow".into()),
    });
    for _ in 0..8 {
        w.time_passes();
    }
    let ask = ToolAsk::Form {
        message: "Sure?".into(),
        schema: json!({}),
    };
    w.tool_asks(1, 1, ask);
    for _ in 0..20 {
        w.time_passes();
    }
    w.happens(Event::Answer {
        id: QuestionId(2),
        answer: Answer::Elicitation(ElicitationAnswer::Decline),
    });
    w.skip();
    w.time_passes();
    w.saw(&[]);
    w.time_passes();
    assert!(w.was_told("time limit"), "{:?}", w.log);
}
