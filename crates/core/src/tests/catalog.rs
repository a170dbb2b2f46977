//! Sessions on the agent's side: listed, deleted, closed. A failure in one session leaves the
//! others alone.

use serde_json::{Value, json};

use super::agent::Life;
use super::world::{A1, Part, S1, World};
use crate::conversation::session::Phase;
use crate::event::{Event, SessionEvent};
use crate::spine::cx::Effects;
use crate::spine::ids::SessionKey;
use acp::SessionId;

const S2: SessionKey = SessionKey(2);

/// A world whose agent has all abilities with sessions, and in which the session 1 is ready.
fn able() -> World {
    let mut w = World::new();
    w.abilities = json!({
        "loadSession": true,
        "sessionCapabilities": { "list": {}, "close": {}, "delete": {}, "resume": {} },
    });
    w.opens(1, "bot");
    w.skip();
    w
}

/// Runs an action on the model, and lets the world carry out its effects.
fn does(
    w: &mut World,
    action: impl FnOnce(&mut crate::model::Model, &mut Effects) -> bool,
) -> bool {
    let mut fx = Effects::default();
    let was_asked = action(&mut w.model, &mut fx);
    for effect in fx.drain() {
        w.carries_out(effect);
    }
    was_asked
}

/// Lists the agent's sessions, answered with these pages; returns the number of requests and the
/// log line about the agent.
fn listed(pages: impl Fn(usize) -> Result<Value, Value>) -> (usize, String) {
    let mut w = able();
    w.holds(Part::Agents);
    assert!(does(&mut w, |model, fx| model.conversation.list_sessions(
        A1,
        Some("/p".into()),
        fx
    )));
    w.journal = Some(Vec::new());
    let mut asked = 0;
    while w.agents[&A1]
        .calls
        .iter()
        .any(|call| call.1 == "session/list")
    {
        w.answers(A1, "session/list", pages(asked));
        asked += 1;
    }
    let journal = w.journal.take().unwrap_or_default();
    let line = journal.iter().find(|line| line.contains("agent 1 "));
    (asked, line.cloned().unwrap_or_default())
}

fn page(ids: std::ops::Range<usize>, next: Option<&str>) -> Result<Value, Value> {
    let sessions = ids.map(|id| json!({ "sessionId": format!("s{id}"), "cwd": "/p" }));
    Ok(json!({ "sessions": sessions.collect::<Vec<_>>(), "nextCursor": next }))
}

#[test]
fn a_list_joins_all_pages_and_ends() {
    let check = |pages: &dyn Fn(usize) -> Result<Value, Value>, asked: usize, text: &str| {
        let (times, line) = listed(pages);
        assert_eq!(times, asked);
        assert!(line.contains(text), "{line}");
    };
    check(&|_| page(0..3, None), 1, "has 3 sessions");
    let two = |at| match at {
        0 => page(0..3, Some("more")),
        _ => page(3..5, None),
    };
    check(&two, 2, "has 5 sessions");
    // Endless pages, with a repeated cursor or without.
    check(&|_| page(0..3, Some("again")), 20, "has 3 sessions");
    let long = |at| page(at * 300..(at + 1) * 300, Some("more"));
    check(&long, 4, "has 1000 sessions");
    let no = || Err(json!({ "code": -32603, "message": "no" }));
    check(&|_| no(), 1, "lists no sessions: no (-32603)");
    let half = |at| match at {
        0 => page(0..3, Some("more")),
        _ => no(),
    };
    check(&half, 2, "has 3 sessions");
}

#[test]
fn a_pending_list_fails_when_the_agent_exits_or_stays_silent() {
    for end in [World::time_passes as fn(&mut World), |w| {
        w.exits(A1, "signal 9", &[])
    }] {
        let mut w = able();
        w.holds(Part::Agents);
        assert!(does(&mut w, |model, fx| model
            .conversation
            .list_sessions(A1, None, fx)));
        w.journal = Some(Vec::new());
        end(&mut w);
        let journal = w.journal.take().unwrap_or_default();
        let told = journal
            .iter()
            .filter(|line| line.contains("lists no sessions"));
        assert_eq!(told.count(), 1, "{journal:?}");
    }
}

#[test]
fn an_agent_receives_only_requests_it_supports() {
    let mut w = World::ready();
    assert!(!does(&mut w, |model, fx| model
        .conversation
        .list_sessions(A1, None, fx)));
    let old = || SessionId("old".into());
    assert!(!does(&mut w, |model, fx| model
        .conversation
        .delete_session(A1, old(), fx)));
    w.happens(Event::Session(SessionEvent::Close { session: S1 }));
    w.saw(&["shutdown a1"]);
    let mut w = able();
    assert!(does(&mut w, |model, fx| model.conversation.delete_session(
        A1,
        old(),
        fx
    )));
    w.saw(&["a1 <- session/delete old"]);
}

#[test]
fn session_close_is_sent_before_the_agent_ends() {
    let mut w = able();
    w.opens(2, "bot");
    w.prompts_in(S2, "hi");
    w.skip();
    w.happens(Event::Session(SessionEvent::Close { session: S2 }));
    w.saw(&["a1 <- session/cancel s2", "a1 <- session/close s2"]);
    w.happens(Event::Session(SessionEvent::Close { session: S1 }));
    w.saw(&["a1 <- session/close s1", "shutdown a1"]);
}

#[test]
fn a_session_closed_while_opening_is_closed_once_opened() {
    let mut w = able();
    w.holds(Part::Agents);
    w.opens(2, "bot");
    w.reopens(3, "bot", "old");
    w.skip();
    w.happens(Event::Session(SessionEvent::Close { session: S2 }));
    w.happens(Event::Session(SessionEvent::Close {
        session: SessionKey(3),
    }));
    w.saw(&["a1 <- $/cancel_request", "a1 <- $/cancel_request"]);
    w.answers(A1, "session/new", Ok(json!({ "sessionId": "late" })));
    let cancelled = json!({ "code": -32800, "message": "cancelled" });
    w.answers(A1, "session/load", Err(cancelled));
    w.saw(&["a1 <- session/close late"]);
    assert_eq!(w.model.phase(S1), Phase::Idle);
}

#[test]
fn a_session_without_an_answer_fails_alone() {
    let mut w = able();
    w.prompts("busy");
    w.holds(Part::Agents);
    w.opens(2, "bot");
    w.prompts_in(S2, "hi");
    w.skip();
    w.time_passes();
    let text = "The agent \"bot\" has not answered session/new for 90 seconds: this chat has no \
                session. Your next prompt tries again.";
    w.saw(&["a1 <- $/cancel_request", &format!("Error: {text}")]);
    assert_eq!(
        (w.model.phase(S1), w.model.phase(S2)),
        (Phase::Running, Phase::Dead)
    );
    assert_eq!(w.agents[&A1].life, Life::Alive);
    // The late answer belongs to no session; the next prompt opens a new one.
    w.answers(A1, "session/new", Ok(json!({ "sessionId": "late" })));
    w.saw(&["a1 <- session/close late"]);
    w.goes_on();
    w.skip();
    w.prompts_in(S2, "again");
    assert_eq!(w.model.phase(S2), Phase::Running);
    w.says("still here");
    assert!(w.chat().ends_with("still here"), "{}", w.chat());
}

#[test]
fn a_load_does_not_time_out_while_updates_arrive() {
    let mut w = able();
    w.holds(Part::Agents);
    w.reopens(2, "bot", "old");
    w.skip();
    let chunk = json!({
        "sessionUpdate": "agent_message_chunk",
        "content": { "type": "text", "text": "and on " },
    });
    for _ in 0..3 {
        w.tells_again(A1, "old", std::slice::from_ref(&chunk));
        w.settle();
        let limit = w.timers.pop_front();
        let limit = limit.into_iter().next_back().unwrap();
        w.happens(Event::Timer { token: limit });
        assert_eq!(w.model.phase(S2), Phase::Starting);
    }
    w.time_passes();
    assert_eq!(w.model.phase(S2), Phase::Dead);
    assert!(
        w.editor.chats[&S2]
            .text()
            .contains("has not answered session/load")
    );
}

#[test]
fn a_list_or_close_without_an_answer_affects_no_session() {
    let mut w = able();
    w.holds(Part::Agents);
    w.opens(2, "bot");
    w.answers(A1, "session/new", Ok(json!({ "sessionId": "s2" })));
    assert!(does(&mut w, |model, fx| model
        .conversation
        .list_sessions(A1, None, fx)));
    w.happens(Event::Session(SessionEvent::Close { session: S2 }));
    w.skip();
    w.time_passes();
    assert_eq!(w.model.phase(S1), Phase::Idle);
    assert_eq!(w.agents[&A1].life, Life::Alive);
}

#[test]
fn a_session_reopened_while_it_is_being_loaded_gets_another_process() {
    let mut w = able();
    w.holds(Part::Agents);
    w.reopens(3, "bot", "old");
    w.happens(Event::Session(SessionEvent::Close {
        session: SessionKey(3),
    }));
    w.skip();
    w.reopens(4, "bot", "old");
    assert!(w.was_told("spawn bot as a2"), "{:?}", w.log);
}
