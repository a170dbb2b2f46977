//! Text of the statusline.

use serde_json::json;

use super::world::{A1, S1, World};
use crate::view::statusline::{Part, statusline};

/// Compares the statusline of the first session.
#[track_caller]
fn check(w: &World, parts: &[Part], want: &str) {
    let snapshot = w.model.snapshot();
    let info = snapshot.sessions.iter().find(|info| info.session == S1);
    let line = statusline(&snapshot, info.unwrap(), parts);
    let text: String = line.into_iter().map(|(text, _)| text.to_string()).collect();
    assert_eq!(text, want);
}

#[test]
fn a_statusline_shows_each_part_with_content() {
    let mut w = World::ready();
    check(&w, &Part::USUAL, "bot idle");
    w.updates(json!({ "sessionUpdate": "current_mode_update", "currentModeId": "plan" }));
    w.updates(
        json!({ "sessionUpdate": "usage_update", "used": 1500, "size": 2000,
                      "cost": { "amount": 2, "currency": "EUR" } }),
    );
    w.updates(json!({ "sessionUpdate": "session_info_update", "title": "Mend the parser" }));
    w.prompts("go");
    w.updates(json!({ "sessionUpdate": "plan", "entries": [
        { "content": "a", "priority": "low", "status": "completed" },
        { "content": "b", "priority": "low", "status": "pending" },
    ] }));
    for id in ["one", "two"] {
        w.updates(
            json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": id,
                          "status": "in_progress" }),
        );
    }
    let gauge = "1.5k/2k 75%";
    check(
        &w,
        &Part::USUAL,
        &format!("bot running 1/2 · plan · two +1 · {gauge}"),
    );
    let parts = [
        Part::Title,
        Part::Phase,
        Part::Cost,
        Part::Model,
        Part::Agent,
    ];
    check(&w, &parts, "Mend the parser · running · 2.00 EUR · bot");
    w.updates(json!({ "sessionUpdate": "usage_update", "used": 1600, "size": 2000 }));
    w.updates(json!({ "sessionUpdate": "session_info_update" }));
    check(&w, &parts, "Mend the parser · running · 2.00 EUR · bot");
    w.updates(json!({ "sessionUpdate": "session_info_update", "title": null }));
    check(&w, &parts[1..], "running · 2.00 EUR · bot");
    assert_eq!(w.session(S1).title(), None);
    check(&w, &[], "");
}

#[test]
fn questions_of_other_sessions_are_counted() {
    let mut w = World::ready();
    w.opens(2, "bot");
    for (id, session) in [("1", "s1"), ("2", "s2"), ("3", "s2")] {
        let question = json!({ "sessionId": session, "toolCall": { "toolCallId": id },
            "options": [{ "optionId": "y", "name": "Yes", "kind": "allow_once" }] });
        w.asks(id, "session/request_permission", &question);
    }
    let parts = [Part::Agent, Part::Phase, Part::Questions];
    check(&w, &parts, "bot waiting · 2 questions elsewhere");
    assert_eq!(w.agents[&A1].waiting().len(), 3);
}

#[test]
fn parts_are_named_as_in_the_configuration() {
    let names = [
        "agent",
        "phase",
        "plan",
        "mode",
        "tools",
        "review",
        "usage",
        "questions",
    ];
    let named: Vec<_> = names.iter().filter_map(|name| Part::named(name)).collect();
    assert_eq!(named, Part::USUAL);
    assert_eq!(Part::named("other"), None);
}
