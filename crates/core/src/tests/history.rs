//! Records of sessions, and sessions restored from them.

use proptest::prelude::*;
use serde_json::json;

use super::random::cases;
use super::screen::{ALL, Chat};
use super::steps::{Can, Step, can, step};
use super::story::Story;
use super::world::{Part, S1, World};
use crate::conversation::history::lines;
use crate::conversation::history::state::{Query, Source, Wish};
use crate::conversation::plan::PlanPlace;
use crate::conversation::session::Phase;
use crate::conversation::transcript::Transcript;
use crate::event::{ConversationEvent, Event, SessionEvent};
use crate::questions::Answer;
use crate::spine::history::{Bounds, Granted, Past, RecordName};
use crate::spine::ids::{AgentKey, QuestionId, SessionKey};
use crate::spine::view::{Line, Link};

/// Removes links to terminals, which do not outlive a session.
fn outlived(lines: Vec<Line>) -> Vec<Line> {
    let mut lines = lines;
    for line in &mut lines {
        if matches!(line.link, Some(Link::Terminal(_))) {
            line.link = None;
        }
    }
    lines
}

fn shown(transcript: &Transcript) -> Vec<Line> {
    outlived(Chat::of(transcript, "/p".as_ref(), true, ALL).lines)
}

/// Checks that the session's record restores the transcript it has now.
#[track_caller]
fn check_kept(w: &mut World, session: SessionKey) {
    if let Some(session) = w.model.conversation.session_mut(session) {
        session.transcript_mut().cancel_tools();
    }
    // Makes the core notice the change.
    w.happens(Event::Conversation(ConversationEvent::PlacePlans(
        PlanPlace::Panel,
    )));
    let mut fx = crate::spine::cx::Effects::default();
    w.model.farewell(&mut fx);
    for effect in fx.drain() {
        if let crate::spine::effect::Effect::Host(effect) = effect {
            w.host_does(effect);
        }
    }
    w.settle();
    let there = w.session(session);
    // One that has said nothing since it was opened has the record that it was opened from; if it is
    // not open yet, there may be another one by now.
    let shows = there
        .history_prompt()
        .filter(|_| there.phase(false) != Phase::Starting);
    let opened_from = || w.records.find("bot", &there.id()?.0).map(|found| found.1);
    let own = w.records.past(session);
    let Some(past) = own.or_else(|| shows.and_then(|_| opened_from())) else {
        assert_eq!(shows, None, "nothing is kept of a session");
        return;
    };
    let mut back = Transcript::default();
    crate::conversation::history::restore(&mut back, &past);
    let want = shown(there.transcript());
    let got = shown(&back);
    let texts = |lines: &[Line]| {
        lines
            .iter()
            .map(|line| line.text.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(texts(&got), texts(&want));
    // A restored line of a terminal links to its call instead.
    let unlinked = |lines: Vec<Line>| -> Vec<Line> {
        let plain = |line: Line| Line { link: None, ..line };
        lines.into_iter().map(plain).collect()
    };
    assert_eq!(unlinked(got), unlinked(want));
    assert_eq!(past.meta.title.as_deref(), there.title());
    assert_eq!(
        past.meta.id.as_deref(),
        there.id().map(|id| &*id.0).or(past.meta.id.as_deref())
    );
}

#[test]
fn a_session_is_restored_as_it_was() {
    let mut w = World::ready();
    w.prompts("Do **it**\nnow");
    w.says("I *do*:\n\n```rust\nlet a = 1;\n```\n");
    w.updates(json!({
        "sessionUpdate": "tool_call", "toolCallId": "a", "title": "Edit f", "kind": "edit",
        "status": "in_progress", "locations": [{ "path": "/p/f", "line": 3 }],
        "content": [
            { "type": "diff", "path": "/p/f", "oldText": "a\n", "newText": "b\n" },
            { "type": "content", "content": { "type": "image", "mimeType": "image/png", "data": "YWJj" } },
        ],
    }));
    w.updates(json!({
        "sessionUpdate": "tool_call", "toolCallId": "b", "title": "Look", "kind": "juggle",
        "status": "completed", "rawInput": { "x": 1 }, "rawOutput": "out",
        "_meta": { "claudeCode": { "parentToolUseId": "a" } },
    }));
    w.updates(json!({ "sessionUpdate": "plan", "entries": [
        { "content": "x", "priority": "high", "status": "in_progress" },
    ] }));
    w.updates(json!({ "sessionUpdate": "unheard_of", "x": [1] }));
    w.updates(json!({ "sessionUpdate": "session_info_update", "title": "On f" }));
    w.says("Done.");
    w.ends_turn("end_turn");
    check_kept(&mut w, S1);
    let past = w.records.past(S1).unwrap();
    assert_eq!(past.meta.prompt.as_deref(), Some("Do **it**"));
    assert_eq!(past.meta.name(), Some("On f"));
    assert_eq!(past.meta.turns, 1);
}

#[test]
fn a_message_is_recorded_once_when_complete() {
    let mut w = World::ready();
    w.prompts("go");
    let before = w.records.files.values().map(String::len).sum::<usize>();
    assert!(before > 0, "the prompt is written at once");
    for _ in 0..50 {
        w.says("more ");
    }
    let during = w.records.files.values().map(String::len).sum::<usize>();
    assert_eq!(during, before);
    w.ends_turn("end_turn");
    let after = w.records.files.values().next().unwrap();
    assert_eq!(after.matches("more more").count(), 25, "{after}");
}

#[test]
fn a_session_without_a_prompt_is_not_recorded() {
    let mut w = World::ready();
    w.says("Welcome.");
    check_kept(&mut w, S1);
    assert!(w.records.files.is_empty());
}

#[test]
fn torn_lines_and_lines_of_later_versions_are_skipped() {
    let mut w = World::ready();
    w.prompts("go");
    w.says("Yes.");
    w.ends_turn("end_turn");
    let text = w.records.files.values().next().unwrap().clone();
    let past = Past::of(&text).unwrap();
    let more = format!("{text}{{\"hologram\":{{}}}}\n\n[]\n{{\"entry\":{{\"at\":1");
    assert_eq!(Past::of(&more), Some(past));
    // A file cut at any line can be read.
    let mut last = 0;
    for (at, _) in text.match_indices('\n') {
        let past = Past::of(&text[..at + 3.min(text.len() - at)]).unwrap();
        assert!(past.entries.len() >= last);
        last = past.entries.len();
    }
    assert_eq!(lines::header("{}"), None);
    assert_eq!(
        lines::header("{\"version\":99,\"agent\":\"a\",\"cwd\":\"\",\"project\":\"\"}"),
        None
    );
}

#[test]
fn lines_that_are_on_disk_already_are_read_and_written_as_they_are() {
    let entry = |entry: &str| format!(r#"{{"entry":{{"at":1,"entry":{{{entry}}}}}}}"#);
    let step = |priority: &str, status: &str| {
        entry(&format!(
            r#""plan":[{{"content":"x","priority":"{priority}","status":"{status}"}}]"#
        ))
    };
    let notice = |level: &str| entry(&format!(r#""notice":{{"level":"{level}","text":"x"}}"#));
    let places = r#"[{"path":"/p/f","row":2},{"path":"/p/g"}]"#;
    let tool = |status: &str| {
        entry(&format!(
            r#""tool":{{"toolCallId":"a","title":"x","kind":"edit","status":"{status}","locations":{places}}}"#
        ))
    };
    let mut all = vec![
        step("high", "pending"),
        step("medium", "in_progress"),
        step("low", "completed"),
    ];
    all.extend(["debug", "info", "warn", "error"].map(notice));
    all.extend(["pending", "in_progress", "completed"].map(tool));
    all.extend(["failed", "cancelled", "rejected"].map(tool));
    for want in all {
        let record = lines::record(&want).expect("a record");
        assert_eq!(lines::line(&record), format!("{want}\n"));
    }
}

/// A world in which a session was used and closed, and whose agent has these abilities with
/// sessions.
fn used(abilities: serde_json::Value) -> World {
    let mut w = World::new();
    w.abilities = abilities;
    w.opens(1, "bot");
    w.prompts("Count");
    w.says("One.");
    w.ends_turn("end_turn");
    w.happens(Event::Session(SessionEvent::Close { session: S1 }));
    assert_eq!(w.records.files.len(), 1);
    w.log.clear();
    w
}

const S2: SessionKey = SessionKey(2);

fn texts(w: &World, session: SessionKey) -> String {
    let chat = w.editor.chats.get(&session);
    chat.map(|chat| chat.text()).unwrap_or_default()
}

/// The running agent answers a prompt of the second session.
fn goes_on(w: &mut World) {
    let agent = *w.agents.keys().next_back().unwrap();
    w.prompts_in(S2, "and on");
    let id = w.session(S2).id().cloned().unwrap();
    let said = json!({ "sessionUpdate": "agent_message_chunk",
        "content": { "type": "text", "text": "Two." } });
    w.notifies(
        agent,
        "session/update",
        &json!({ "sessionId": &*id.0, "update": said }),
    );
    w.answers(
        agent,
        "session/prompt",
        Ok(json!({ "stopReason": "end_turn" })),
    );
}

/// Checks that there is one record, with exactly these lines in this order.
#[track_caller]
fn check_record(w: &World, said: &[&str]) {
    assert_eq!(w.records.files.len(), 1);
    let past = Past::of(w.records.files.values().next().unwrap()).unwrap();
    let mut back = Transcript::default();
    crate::conversation::history::restore(&mut back, &past);
    let texts: Vec<String> = shown(&back)
        .into_iter()
        .map(|line| line.text.into())
        .filter(|text: &String| !text.is_empty())
        .collect();
    assert_eq!(texts, said);
}

#[test]
fn a_resumed_session_is_shown_from_its_record() {
    let mut w = used(json!({ "sessionCapabilities": { "resume": {} } }));
    w.reopens(2, "bot", "s1");
    w.saw(&[
        "spawn bot as a2",
        "a2 <- initialize",
        "a2 <- session/resume s1",
        "session 2 is back",
    ]);
    assert_eq!(texts(&w, S2), "❯ Count\n\nOne.");
    goes_on(&mut w);
    check_record(&w, &["❯ Count", "One.", "❯ and on", "Two."]);
    check_kept(&mut w, S2);
}

#[test]
fn a_replayed_conversation_is_recorded_once() {
    let mut w = used(json!({ "loadSession": true }));
    let said = |role: &str, text: &str| json!({ "sessionUpdate": role, "content": { "type": "text", "text": text } });
    let told = vec![
        said("user_message_chunk", "Count"),
        said("agent_message_chunk", "One, as I said."),
    ];
    w.told.insert("s1".into(), told.clone());
    w.reopens(2, "bot", "s1");
    assert_eq!(texts(&w, S2), "❯ Count\n\nOne, as I said.");
    goes_on(&mut w);
    check_record(&w, &["❯ Count", "One.", "❯ and on", "Two."]);
    // The agent's session was continued by another client.
    w.happens(Event::Session(SessionEvent::Close { session: S2 }));
    let more = vec![
        said("user_message_chunk", "and on"),
        said("agent_message_chunk", "Two."),
        said("user_message_chunk", "elsewhere"),
        said("agent_message_chunk", "Three."),
    ];
    w.told.insert("s1".into(), [told, more].concat());
    w.reopens(3, "bot", "s1");
    let all = [
        "❯ Count",
        "One, as I said.",
        "❯ and on",
        "Two.",
        "❯ elsewhere",
        "Three.",
    ];
    check_record(&w, &all);
    check_kept(&mut w, SessionKey(3));
}

#[test]
fn a_record_that_is_too_long_to_be_read_whole_is_not_replaced_by_a_replay() {
    let mut w = used(json!({ "loadSession": true }));
    w.records.is_cut = true;
    let said = |role: &str, text: &str| json!({ "sessionUpdate": role, "content": { "type": "text", "text": text } });
    let told = vec![
        said("user_message_chunk", "Count"),
        said("agent_message_chunk", "One, as I said."),
        said("user_message_chunk", "Once more"),
        said("agent_message_chunk", "One."),
    ];
    w.told.insert("s1".into(), told);
    w.reopens(2, "bot", "s1");
    goes_on(&mut w);
    check_record(&w, &["❯ Count", "One.", "❯ and on", "Two."]);
}

#[test]
fn a_session_closed_while_its_replay_ends_is_closed_with_its_agent() {
    let mut w = used(json!({ "loadSession": true, "sessionCapabilities": { "close": {} } }));
    w.opens(3, "bot");
    w.tells_late = true;
    w.reopens(2, "bot", "s1");
    w.happens(Event::Session(SessionEvent::Close { session: S2 }));
    assert!(w.was_told("session/close"), "{:?}", w.log);
    w.time_passes();
    w.skip();
}

#[test]
fn an_agent_that_is_never_silent_after_a_load_gets_its_prompts() {
    let mut w = used(json!({ "loadSession": true }));
    w.holds(Part::Agents);
    w.tells_late = true;
    w.reopens(2, "bot", "s1");
    let agent = loading(&mut w);
    let mode = |id: &str| json!({ "id": id, "name": id });
    let modes = json!({ "currentModeId": "ask", "availableModes": [mode("ask"), mode("yolo")] });
    w.answers(agent, "session/load", Ok(json!({ "modes": modes })));
    w.prompts_in(S2, "and on");
    let update = json!({ "sessionUpdate": "current_mode_update", "currentModeId": "yolo" });
    let mut rounds = 0;
    while !w.was_told("session/prompt s1: and on") {
        w.tells_again(agent, "s1", std::slice::from_ref(&update));
        w.time_passes();
        rounds += 1;
    }
    assert!((2..1000).contains(&rounds), "{rounds}");
    // The mode that was told last, not that of the answer.
    let snapshot = w.model.snapshot();
    let mode = snapshot.sessions.iter().find(|info| info.session == S2);
    assert_eq!(mode.and_then(|info| info.mode.as_deref()), Some("yolo"));
    w.tells_late = false;
    w.goes_on();
    w.answers(
        agent,
        "session/prompt",
        Ok(json!({ "stopReason": "end_turn" })),
    );
}

#[test]
fn a_record_goes_on_after_a_replay_that_was_cut() {
    let cuts: [fn(&mut World, AgentKey); 2] = [
        |w, agent| w.exits(agent, "signal 9", &[]),
        |w, agent| {
            let refused = json!({ "code": -32000, "message": "Authentication required" });
            w.answers(agent, "session/load", Err(refused));
        },
    ];
    for cut in cuts {
        let mut w = used(json!({ "loadSession": true }));
        w.holds(Part::Agents);
        w.reopens(2, "bot", "s1");
        let agent = loading(&mut w);
        let said = json!({ "sessionUpdate": "user_message_chunk",
            "content": { "type": "text", "text": "Count" } });
        w.tells_again(agent, "s1", &[said]);
        asks_during_replay(&mut w, agent);
        cut(&mut w, agent);
        w.goes_on();
        w.prompts_in(S2, "and on");
        let records: Vec<&String> = w.records.files.values().collect();
        assert_eq!(records.len(), 1);
        assert!(records[0].contains("and on"), "{records:?}");
        let agent = *w.agents.keys().next_back().unwrap();
        let answer = json!({ "stopReason": "end_turn" });
        w.answers(agent, "session/prompt", Ok(answer));
    }
}

/// The agent asks for permission.
fn asks_during_replay(w: &mut World, agent: AgentKey) {
    let question = json!({
        "jsonrpc": "2.0", "id": 7, "method": "session/request_permission",
        "params": {
            "sessionId": "s1",
            "toolCall": { "toolCallId": "t", "title": "Look" },
            "options": [{ "optionId": "yes", "name": "Allow", "kind": "allow_once" }],
        },
    });
    w.prints(agent, &question.to_string());
}

/// Lets agents act until one is asked to load a session, and returns it.
fn loading(w: &mut World) -> AgentKey {
    let is_load = |(_, method, _): &(_, String, _)| method == "session/load";
    while !w.agents.values().any(|it| it.calls.iter().any(is_load)) {
        assert!(w.agents_move());
        w.settle();
    }
    *w.agents.keys().next_back().unwrap()
}

#[test]
fn a_question_during_a_replay_does_not_begin_another_record() {
    let mut w = used(json!({ "loadSession": true }));
    w.holds(Part::Agents);
    w.reopens(2, "bot", "s1");
    let agent = loading(&mut w);
    let said = |role: &str, text: &str| json!({ "sessionUpdate": role, "content": { "type": "text", "text": text } });
    w.tells_again(agent, "s1", &[said("user_message_chunk", "Count")]);
    asks_during_replay(&mut w, agent);
    w.tells_again(agent, "s1", &[said("agent_message_chunk", "One.")]);
    w.answers(agent, "session/load", Ok(json!({})));
    w.goes_on();
    let id = QuestionId(1);
    let answer = Answer::Option("yes".into());
    w.happens(Event::Answer { id, answer });
    assert_eq!(w.records.files.len(), 1);
}

#[test]
fn what_an_agent_replays_after_its_answer_is_told_once() {
    let mut w = used(json!({ "loadSession": true }));
    w.holds(Part::Agents);
    w.tells_late = true;
    w.reopens(2, "bot", "s1");
    let agent = loading(&mut w);
    let said = |role: &str, text: &str| json!({ "sessionUpdate": role, "content": { "type": "text", "text": text } });
    let (user, one) = (
        said("user_message_chunk", "Count"),
        said("agent_message_chunk", "One."),
    );
    w.tells_again(agent, "s1", std::slice::from_ref(&user));
    w.answers(agent, "session/load", Ok(json!({})));
    w.prompts_in(S2, "and on");
    w.tells_again(agent, "s1", std::slice::from_ref(&one));
    w.time_passes();
    w.tells_again(agent, "s1", &[said("agent_message_chunk", " Two.")]);
    w.time_passes();
    assert!(!w.was_told("session/prompt s1: and on"));
    w.time_passes();
    assert!(w.was_told("session/prompt s1: and on"));
    assert_eq!(texts(&w, S2), "❯ Count\n\nOne. Two.\n\n❯ and on");
    // The process ends: what the new one replays is in the transcript already.
    w.exits(agent, "signal 9", &[]);
    w.prompts_in(S2, "again");
    let agent = loading(&mut w);
    w.answers(agent, "session/load", Ok(json!({})));
    w.tells_again(agent, "s1", &[user, one]);
    w.time_passes();
    w.time_passes();
    assert!(w.was_told("session/prompt s1: again"));
    assert_eq!(texts(&w, S2).matches("Count").count(), 1);
    w.tells_late = false;
    w.goes_on();
    assert_eq!(w.records.files.len(), 1);
    let past = Past::of(w.records.files.values().next().unwrap()).unwrap();
    let mut back = Transcript::default();
    crate::conversation::history::restore(&mut back, &past);
    let is_told = |line: &&Line| line.text == "❯ Count";
    assert_eq!(shown(&back).iter().filter(is_told).count(), 1);
}

#[test]
fn the_record_is_shown_if_the_agent_replays_nothing_or_refuses() {
    let mut w = used(json!({ "loadSession": true }));
    w.reopens(2, "bot", "s1");
    assert_eq!(texts(&w, S2), "❯ Count\n\nOne.");
    goes_on(&mut w);
    check_record(&w, &["❯ Count", "One.", "❯ and on", "Two."]);
    w.happens(Event::Session(SessionEvent::Close { session: S2 }));
    w.holds(Part::Agents);
    w.reopens(3, "bot", "s1");
    let agent = loading(&mut w);
    let error = json!({ "code": -32002, "message": "no such session" });
    w.answers(agent, "session/load", Err(error));
    w.goes_on();
    let text = texts(&w, SessionKey(3));
    assert!(
        text.starts_with("❯ Count\n\nOne.\n\n❯ and on\n\nTwo.\n\n"),
        "{text}"
    );
    assert!(text.contains("could not go on"), "{text}");
}

#[test]
fn a_conversation_that_the_agent_lacks_is_told_after_another_restart() {
    let mut w = used(json!({}));
    w.reopens(2, "bot", "s1");
    w.happens(Event::Session(SessionEvent::Restart { session: S2 }));
    w.prompts_in(S2, "and on");
    let agent = *w.agents.keys().next_back().unwrap();
    let (_, _, params) = &w.agents[&agent].calls[0];
    assert_eq!(params["prompt"].as_array().unwrap().len(), 2, "{params}");
}

#[test]
fn a_replayed_call_that_changes_later_is_not_recorded_again() {
    let mut w = used(json!({ "loadSession": true }));
    let said = |role: &str, text: &str| json!({ "sessionUpdate": role, "content": { "type": "text", "text": text } });
    w.told.insert(
        "s1".into(),
        vec![
            said("user_message_chunk", "Count"),
            json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "title": "Look",
                "status": "completed",
                "_meta": { "terminal_output": { "terminal_id": "x", "data": "a\n" } } }),
            said("agent_message_chunk", "One."),
        ],
    );
    w.reopens(2, "bot", "s1");
    goes_on(&mut w);
    check_record(&w, &["❯ Count", "One.", "❯ and on", "Two."]);
}

#[test]
fn a_replayed_session_keeps_its_title() {
    let mut w = World::new();
    w.abilities = json!({ "loadSession": true });
    w.opens(1, "bot");
    w.prompts("Count");
    w.updates(json!({ "sessionUpdate": "session_info_update", "title": "On numbers" }));
    w.ends_turn("end_turn");
    w.happens(Event::Session(SessionEvent::Close { session: S1 }));
    let said = json!({ "sessionUpdate": "user_message_chunk",
        "content": { "type": "text", "text": "Count" } });
    w.told.insert("s1".into(), vec![said]);
    w.reopens(2, "bot", "s1");
    assert_eq!(w.session(S2).title(), Some("On numbers"));
}

#[test]
fn a_record_has_the_order_of_the_transcript_if_something_came_before_it() {
    check_lived(
        Can::Forget,
        &[
            Step::User("close"),
            Step::Agents,
            Step::User("open first"),
            Step::Agents,
            Step::Chunk("agent_message_chunk", "`".to_owned()),
            Step::Answer(0, 2),
        ],
    );
}

#[test]
fn an_agent_without_the_session_receives_the_conversation() {
    let mut w = used(json!({}));
    w.reopens(2, "bot", "s1");
    let text = texts(&w, S2);
    assert!(text.starts_with("❯ Count\n\nOne.\n\n"), "{text}");
    assert!(
        text.contains("the next prompt includes what was said"),
        "{text}"
    );
    let agent = *w.agents.keys().next_back().unwrap();
    w.prompts_in(S2, "and on");
    let (_, _, params) = &w.agents[&agent].calls[0];
    let blocks = params["prompt"].as_array().unwrap();
    assert_eq!(blocks.len(), 2, "{params}");
    assert_eq!(blocks[0]["text"], "and on");
    let told = blocks[1]["resource"]["text"].as_str().unwrap();
    assert!(
        told.contains("\n## You\n\nCount\n") && told.contains("\n## bot\n\nOne.\n"),
        "{told}"
    );
    assert!(!told.contains("and on"), "{told}");
    w.answers(
        agent,
        "session/prompt",
        Ok(json!({ "stopReason": "end_turn" })),
    );
    w.prompts_in(S2, "again");
    let (_, _, params) = &w.agents[&agent].calls[0];
    assert_eq!(params["prompt"].as_array().unwrap().len(), 1, "told once");
    w.answers(
        agent,
        "session/prompt",
        Ok(json!({ "stopReason": "end_turn" })),
    );
    // The conversation stays one record, under the agent's new session id.
    check_kept(&mut w, S2);
    assert_eq!(w.records.files.len(), 1);
    assert_eq!(w.records.past(S2).unwrap().meta.id.as_deref(), Some("s2"));
}

#[test]
fn with_records_disabled_sessions_depend_on_their_agent() {
    let mut w = World::new();
    w.abilities = json!({ "loadSession": true });
    w.happens(Event::Conversation(ConversationEvent::KeepSessions(None)));
    w.opens(1, "bot");
    w.prompts("Count");
    w.ends_turn("end_turn");
    w.happens(Event::Session(SessionEvent::Close { session: S1 }));
    assert!(w.records.files.is_empty());
    w.reopens(2, "bot", "s1");
    assert_eq!(w.records.files.len(), 0);
}

#[test]
fn prompts_are_stored_only_if_records_are() {
    let mut w = World::ready();
    let mut remembers = |text: &str, bounds: Option<Bounds>| {
        w.happens(Event::Conversation(ConversationEvent::KeepSessions(bounds)));
        w.happens(Event::Session(SessionEvent::Remember {
            session: S1,
            text: text.to_owned(),
        }));
    };
    remembers("stored", Some(Bounds { days: 90 }));
    remembers("only known", None);
    assert_eq!(w.records.prompts, ["stored"]);
    let folder = w.session(S1).spec().cwd.clone();
    let known = w.model.conversation.prompts_in(&folder);
    assert_eq!(known.last().map(|last| &**last), Some("only known"));
}

/// Returns each listed session as a line.
fn listed(w: &mut World, number: u32, query: Query) -> Vec<String> {
    let wish = Wish::List(query);
    w.happens(Event::Conversation(ConversationEvent::Wish {
        number,
        wish,
    }));
    let Some(Granted::Listed(all)) = w.granted.get(&number) else {
        panic!("{:?}", w.granted);
    };
    let short = all.iter().map(|one| {
        let id = one.id.as_ref().map_or("-", |id| &*id.0);
        let is_open = if one.session.is_some() { " open" } else { "" };
        let title = one.title.as_deref().unwrap_or("-");
        format!("{} {id}{is_open}: {title}", one.agent)
    });
    short.collect()
}

#[test]
fn sessions_are_listed_once_newest_first() {
    let mut w = used(json!({}));
    w.opens(2, "cat");
    w.prompts_in(S2, "Meow\nplease");
    w.opens(3, "cat");
    let query = |project: Option<&str>, agent: Option<&str>| Query {
        cwd: "/p".into(),
        project: project.map(Into::into),
        agent: agent.map(Into::into),
    };
    let all = ["cat s3 open: -", "cat s2 open: Meow", "bot s1: Count"];
    assert_eq!(listed(&mut w, 1, query(Some("/p"), None)), all);
    assert_eq!(listed(&mut w, 2, query(None, Some("bot"))), all[2..]);
    assert!(listed(&mut w, 3, query(Some("/q"), None)).is_empty());
    w.happens(Event::Session(SessionEvent::Cancel { session: S2 }));
    let agent = *w.agents.keys().next_back().unwrap();
    w.answers(
        agent,
        "session/prompt",
        Ok(json!({ "stopReason": "cancelled" })),
    );
}

#[test]
fn agents_list_and_delete_sessions() {
    let mut w = used(json!({ "sessionCapabilities": { "list": {}, "delete": {} } }));
    w.opens(2, "bot");
    w.holds(super::world::Part::Agents);
    let query = Query {
        cwd: "/p".into(),
        project: Some("/p".into()),
        agent: None,
    };
    let list = |w: &mut World, number| {
        let wish = Wish::List(query.clone());
        w.happens(Event::Conversation(ConversationEvent::Wish {
            number,
            wish,
        }));
        assert_eq!(w.granted.get(&number), None, "the agent has its time");
        *w.timers.back().unwrap()
    };
    let token = list(&mut w, 1);
    let agent = *w.agents.keys().next_back().unwrap();
    let sessions = json!([
        { "sessionId": "s1", "cwd": "/p", "title": "Counting", "updatedAt": "2026-01-02T03:04:05Z" },
        { "sessionId": "x", "cwd": "/p", "title": "Elsewhere", "updatedAt": "2026-01-01T03:04:05Z" },
        { "sessionId": "y", "cwd": "/q", "title": "Far away" },
    ]);
    w.answers(agent, "session/list", Ok(json!({ "sessions": sessions })));
    let Some(Granted::Listed(all)) = w.granted.get(&1).cloned() else {
        panic!("{:?}", w.granted);
    };
    let titles: Vec<_> = all.iter().map(|one| one.title.as_deref()).collect();
    assert_eq!(titles, [None, Some("Counting"), Some("Elsewhere")]);
    assert!(all[1].name.is_some() && all[1].is_listed, "{all:?}");
    // An agent that does not answer does not block the list of the others.
    w.happens(Event::Timer { token });
    let token = list(&mut w, 2);
    w.happens(Event::Timer { token });
    assert!(matches!(w.granted[&2], Granted::Listed(ref all) if all.len() == 2));
    w.answers(agent, "session/list", Ok(json!({ "sessions": [] })));
    let wish = Wish::Delete {
        agent: "bot".into(),
        id: all[1].id.clone(),
        name: all[1].name.clone(),
    };
    w.happens(Event::Conversation(ConversationEvent::Wish {
        number: 3,
        wish,
    }));
    assert_eq!(w.granted.get(&3), None);
    w.answers(agent, "session/delete", Ok(json!({})));
    assert_eq!(w.granted[&3], Granted::Deleted(Ok(true)));
    assert!(w.records.files.is_empty());
}

#[test]
fn a_kept_session_that_its_agent_does_not_delete_is_deleted_here() {
    let mut w = used(json!({ "sessionCapabilities": { "list": {}, "delete": {} } }));
    w.opens(2, "bot");
    w.holds(Part::Agents);
    let name = w.records.files.keys().next().cloned();
    let agent = *w.agents.keys().next_back().unwrap();
    let mut delete = |number, name: Option<RecordName>| {
        let wish = Wish::Delete {
            agent: "bot".into(),
            id: Some(acp::SessionId("s1".into())),
            name,
        };
        w.happens(Event::Conversation(ConversationEvent::Wish {
            number,
            wish,
        }));
        let error = json!({ "code": -32002, "message": "no such session" });
        w.answers(agent, "session/delete", Err(error));
        (w.granted[&number].clone(), w.records.files.len())
    };
    assert!(name.is_some());
    assert_eq!(delete(1, name), (Granted::Deleted(Ok(false)), 0));
    let (granted, _) = delete(2, None);
    let Granted::Deleted(Err(why)) = granted else {
        panic!("{granted:?}");
    };
    assert!(why.contains("no such session"), "{why}");
}

#[test]
fn only_closed_sessions_can_be_deleted() {
    let mut w = used(json!({ "loadSession": true }));
    let name = w.records.files.keys().next().unwrap().clone();
    w.reopens(2, "bot", "s1");
    let delete = |w: &mut World, number| {
        let wish = Wish::Delete {
            agent: "bot".into(),
            id: Some(acp::SessionId("s1".into())),
            name: Some(name.clone()),
        };
        w.happens(Event::Conversation(ConversationEvent::Wish {
            number,
            wish,
        }));
        w.granted[&number].clone()
    };
    assert!(matches!(delete(&mut w, 1), Granted::Deleted(Err(_))));
    w.happens(Event::Session(SessionEvent::Close { session: S2 }));
    assert_eq!(delete(&mut w, 2), Granted::Deleted(Ok(false)));
    assert!(w.records.files.is_empty());
}

#[test]
fn a_conversation_is_exported_as_markdown() {
    let mut w = World::ready();
    w.prompts("Mend **this**:\n\n- [ ] f");
    w.updates(json!({ "sessionUpdate": "agent_thought_chunk",
        "content": { "type": "text", "text": "Where?\n\nThere." } }));
    w.says("I look.\n\n```rust\nlet a = 1;\n```\n");
    for (id, title, kind, status, content, meta) in [
        ("a", "Read f", "read", "completed", json!([]), json!({})),
        ("b", "Run `make`", "execute", "failed", json!([]), json!({})),
        ("c", "A task", "think", "completed", json!([]), json!({})),
        (
            "d",
            "Edit f",
            "edit",
            "completed",
            json!([
                { "type": "diff", "path": "/p/src/f", "oldText": "a\n```\n", "newText": "b\n```\n" },
            ]),
            json!({ "claudeCode": { "parentToolUseId": "c" } }),
        ),
    ] {
        w.updates(
            json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": title,
            "kind": kind, "status": status, "content": content, "_meta": meta,
            "locations": [{ "path": "/p/src/f" }] }),
        );
    }
    w.updates(json!({ "sessionUpdate": "plan", "entries": [
        { "content": "look", "status": "completed" }, { "content": "mend", "status": "pending" },
    ] }));
    w.says("Done.");
    w.updates(json!({ "sessionUpdate": "session_info_update", "title": "On f" }));
    w.ends_turn("max_tokens");
    w.prompts("Thanks");
    w.ends_turn("end_turn");
    let export = |w: &mut World, number, source| {
        let wish = Wish::Export(source);
        w.happens(Event::Conversation(ConversationEvent::Wish {
            number,
            wish,
        }));
        match &w.granted[&number] {
            Granted::Exported(Ok(text)) => text.clone(),
            other => panic!("{other:?}"),
        }
    };
    let text = export(&mut w, 1, Source::Session(S1));
    insta::with_settings!({
        prepend_module_to_snapshot => false,
        snapshot_path => "snapshots",
        omit_expression => true,
    }, {
        insta::assert_snapshot!("export", &text);
    });
    // The record exports to the same text.
    let name = w.records.open[&S1].clone();
    assert_eq!(export(&mut w, 2, Source::Kept(name)), text);
    w.happens(Event::Conversation(ConversationEvent::Wish {
        number: 3,
        wish: Wish::Export(Source::Session(SessionKey(9))),
    }));
    assert!(matches!(w.granted[&3], Granted::Exported(Err(_))));
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn the_record_equals_the_transcript_after_any_events(
        can in can(),
        steps in proptest::collection::vec(step(), 1..80),
    ) {
        check_lived(can, &steps);
    }
}

/// Checks that each session's record restores its transcript after these steps.
#[track_caller]
fn check_lived(can: Can, steps: &[Step]) {
    let mut life = Story::new(can, false);
    life.live(&Step::User("prompt"));
    for step in steps {
        life.live(step);
    }
    let mut w = life.rests();
    let sessions: Vec<SessionKey> = w
        .model
        .conversation
        .sessions()
        .map(|(key, _)| key)
        .collect();
    for session in sessions {
        check_kept(&mut w, session);
    }
}

#[test]
fn a_session_that_was_opened_from_a_record_and_says_nothing_has_that() {
    check_lived(
        Can::Load,
        &[
            Step::User("close"),
            Step::Agents,
            Step::User("open first"),
            Step::Agents,
            Step::Answer(0, 2),
            Step::Answer(0, 1),
        ],
    );
}

#[test]
fn an_agent_that_tells_an_empty_text_again_has_told_nothing() {
    check_lived(
        Can::Load,
        &[
            Step::User("close"),
            Step::User("open"),
            Step::Agents,
            Step::User("open first"),
            Step::Agents,
            Step::Agents,
            Step::Agents,
            Step::Chunk("agent_message_chunk", String::new()),
            Step::Agents,
        ],
    );
}

#[test]
fn a_created_file_that_another_program_empties_is_empty_in_its_review() {
    check_lived(
        Can::Forget,
        &[
            Step::User("prompt"),
            Step::Write(2, vec![(0, 0, 1)]),
            Step::Check,
            Step::Tell,
            Step::Answer(0, 0),
            Step::Check,
            // The turn is over.
            Step::Shell(2, vec![(0, 1, 0)]),
        ],
    );
}
