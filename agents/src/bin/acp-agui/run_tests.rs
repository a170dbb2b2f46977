//! Events in, updates and messages out.

use futures_util::stream::iter;
use hyper::body::Bytes;
use proptest::prelude::*;

use super::*;
use crate::show::replayed;
use crate::sse::Events;

/// Applies events; returns the updates and the thread's body.
fn applied(events: &[Value]) -> (Vec<Value>, Body, Run) {
    let (mut run, mut body) = (Run::default(), Body::default());
    let updates = events.iter().flat_map(|event| run.apply(event, &mut body));
    (updates.collect(), body, run)
}

/// Checks the updates of events, as `kind` or `kind: text`.
#[track_caller]
fn check(events: &[Value], want: &[&str]) -> (Body, Run) {
    let (updates, body, run) = applied(events);
    let line = |update: &Value| {
        let text = update.pointer("/content/text").or(update.get("rawInput"));
        let text = text.or(update.pointer("/content/0/content/text"));
        let text = text.or(update.get("title")).map(|text| match text {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        let kind = update["sessionUpdate"].as_str().unwrap();
        let status = update["status"]
            .as_str()
            .map_or(String::new(), |is| format!(" {is}"));
        text.map_or(format!("{kind}{status}"), |text| {
            format!("{kind}{status}: {text}")
        })
    };
    let got: Vec<String> = updates.iter().map(line).collect();
    assert_eq!(got, want);
    (body, run)
}

fn start(id: &str, name: &str) -> Value {
    json!({
        "type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name,
        "parentMessageId": "m",
    })
}

fn part(id: &str, delta: &str) -> Value {
    json!({"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": delta})
}

#[test]
fn text_and_thoughts_are_streamed_and_kept() {
    let (body, _) = check(
        &[
            json!({"type": "RUN_STARTED"}),
            json!({"type": "REASONING_START", "messageId": "r"}),
            json!({"type": "REASONING_MESSAGE_START", "messageId": "r", "role": "reasoning"}),
            json!({"type": "REASONING_MESSAGE_CONTENT", "messageId": "r", "delta": "Hm"}),
            json!({"type": "REASONING_MESSAGE_END", "messageId": "r"}),
            json!({
                "type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "r",
                "encryptedValue": "x",
            }),
            json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "a"}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": ""}),
            json!({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "b"}),
            json!({"type": "TEXT_MESSAGE_END", "messageId": "m"}),
        ],
        &[
            "agent_thought_chunk: Hm",
            "agent_message_chunk: a",
            "agent_message_chunk: b",
        ],
    );
    let want = [
        json!({"id": "r", "role": "reasoning", "content": "Hm", "encryptedValue": "x"}),
        json!({"id": "m", "role": "assistant", "content": "ab"}),
    ];
    assert_eq!(body.messages, want);
}

#[test]
fn chunks_without_an_id_continue_what_is_open() {
    let (body, _) = check(
        &[
            json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "a"}),
            json!({"type": "TEXT_MESSAGE_CHUNK", "delta": "b"}),
            json!({
                "type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "t",
                "delta": "{\"a",
            }),
            json!({"type": "TOOL_CALL_CHUNK", "delta": "\":1}"}),
            json!({"type": "RUN_FINISHED"}),
        ],
        &[
            "agent_message_chunk: a",
            "agent_message_chunk: b",
            "tool_call pending: t",
            "tool_call_update: {}",
            "tool_call_update: {\"a\":1}",
            "tool_call_update in_progress: {\"a\":1}",
        ],
    );
    assert_eq!(body.messages[0]["content"], "ab");
    assert_eq!(
        body.messages[1]["toolCalls"][0]["function"]["arguments"],
        "{\"a\":1}"
    );
}

#[test]
fn the_older_thoughts_are_understood() {
    check(
        &[
            json!({"type": "THINKING_START", "title": "T"}),
            json!({"type": "THINKING_TEXT_MESSAGE_START"}),
            json!({"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "Hm"}),
            json!({"type": "THINKING_TEXT_MESSAGE_END"}),
            json!({"type": "THINKING_END"}),
        ],
        &["agent_thought_chunk: Hm"],
    );
}

#[test]
fn arguments_are_shown_as_they_arrive() {
    let (body, run) = check(
        &[
            json!({"type": "TEXT_MESSAGE_START", "messageId": "m"}),
            start("c", "confirmAction"),
            part("c", "{\"act"),
            part("c", "ion\":\"Depl"),
            part("c", "oy\"}"),
            json!({"type": "TOOL_CALL_END", "toolCallId": "c"}),
            json!({
                "type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c",
                "content": "yes",
            }),
            json!({"type": "RUN_FINISHED", "outcome": {"type": "success"}}),
        ],
        &[
            "tool_call pending: confirmAction",
            "tool_call_update: {}",
            "tool_call_update: {\"action\":\"Depl\"}",
            "tool_call_update: {\"action\":\"Deploy\"}",
            "tool_call_update in_progress: {\"action\":\"Deploy\"}",
            "tool_call_update completed: yes",
        ],
    );
    assert_eq!(body.messages[0]["id"], "m");
    assert_eq!(body.messages[0]["toolCalls"][0]["id"], "c");
    assert_eq!(body.messages[1]["role"], "tool");
    assert!(body.open_calls().is_empty() && run.end.is_some());
}

#[test]
fn an_id_that_is_used_again_is_another_call() {
    let result =
        json!({"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": "1"});
    let (_, mut body, _) = applied(&[start("c", "t"), part("c", "{}"), result]);
    assert!(!body.is_open("c"));
    let mut run = Run::default();
    let again = json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "t"});
    run.apply(&again, &mut body);
    run.apply(&part("c", "{\"a\":1}"), &mut body);
    assert!(body.is_open("c"));
    let made: Vec<&Value> = body.messages.iter().flat_map(calls).collect();
    assert_eq!(made[0]["function"]["arguments"], "{}");
    assert_eq!(made[1]["function"]["arguments"], "{\"a\":1}");
    body.settle("Stopped.");
    assert!(!body.is_open("c"));
}

#[test]
fn a_call_that_a_later_run_tells_again_has_its_arguments_once() {
    let (_, mut body, _) = applied(&[start("c", "t"), part("c", "{\"a\":1}")]);
    let mut run = Run::default();
    for event in [start("c", "t"), part("c", "{\"a\""), part("c", ":1}")] {
        run.apply(&event, &mut body);
    }
    let made: Vec<&Value> = body.messages.iter().flat_map(calls).collect();
    assert_eq!(made.len(), 1);
    assert_eq!(made[0]["function"]["arguments"], "{\"a\":1}");
}

#[test]
fn long_arguments_cost_little_however_many_pieces_they_come_in() {
    let mut events = vec![start("c", "write"), part("c", "{\"text\":\"")];
    events.extend(std::iter::repeat_n(part("c", "word "), 20_000));
    let (updates, ..) = applied(&events);
    let sent: usize = updates.iter().map(|update| update.to_string().len()).sum();
    assert!(sent < 100_000 * 12, "{sent}");
    assert!(updates.len() > 50, "{}", updates.len());
}

#[test]
fn steps_are_a_plan_with_each_step_once() {
    let step = |kind: &str, name: &str| json!({"type": kind, "stepName": name});
    let (updates, ..) = applied(&[
        step("STEP_STARTED", "a"),
        step("STEP_FINISHED", "a"),
        step("STEP_STARTED", "b"),
        step("STEP_STARTED", "a"),
    ]);
    let last = updates[3]["entries"].as_array().unwrap();
    let entries: Vec<_> = last
        .iter()
        .map(|entry| (&entry["content"], &entry["status"]))
        .collect();
    let (a, b, now) = (json!("a"), json!("b"), json!("in_progress"));
    assert_eq!(entries, [(&a, &now), (&b, &now)]);
}

#[test]
fn the_state_follows_snapshots_and_changes_and_a_bad_change_is_none() {
    let delta = |patch: Value| json!({"type": "STATE_DELTA", "delta": patch});
    let (body, _) = check(
        &[
            json!({"type": "STATE_SNAPSHOT", "snapshot": {"a": [1]}}),
            delta(json!([{"op": "add", "path": "/a/-", "value": 2}])),
            delta(json!([
                {"op": "add", "path": "/b", "value": 3}, {"op": "remove", "path": "/none"},
            ])),
            delta(json!("nonsense")),
        ],
        &[
            "notice: The agent sent a change that does not fit its state, which stays.",
            "notice: The agent sent a change that does not fit its state, which stays.",
        ],
    );
    assert_eq!(body.state, json!({"a": [1, 2]}));
}

#[test]
fn activities_are_shown_and_changed() {
    let (body, _) = check(
        &[
            json!({
                "type": "ACTIVITY_SNAPSHOT", "messageId": "p", "activityType": "PLAN",
                "content": {"done": 0},
            }),
            json!({
                "type": "ACTIVITY_DELTA", "messageId": "p", "activityType": "PLAN",
                "patch": [{"op": "replace", "path": "/done", "value": 1}],
            }),
            json!({
                "type": "ACTIVITY_SNAPSHOT", "messageId": "p", "activityType": "PLAN",
                "content": {"done": 9}, "replace": false,
            }),
        ],
        &[
            "tool_call completed: ```json\n{\n  \"done\": 0\n}\n```",
            "tool_call completed: ```json\n{\n  \"done\": 1\n}\n```",
        ],
    );
    assert_eq!(body.messages[0]["content"], json!({"done": 1}));
}

#[test]
fn a_snapshot_replaces_the_messages_and_shows_what_was_not_streamed() {
    let (body, _) = check(
        &[
            json!({"type": "REASONING_MESSAGE_CHUNK", "messageId": "r", "delta": "Hm"}),
            json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "streamed"}),
            json!({"type": "MESSAGES_SNAPSHOT", "messages": [
                {"id": "u", "role": "user", "content": "hello"},
                {"id": "other", "role": "assistant", "content": "streamed"},
                {"id": "new", "role": "assistant", "content": "not streamed", "toolCalls": [
                    {"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}},
                    {"id": "d", "type": "function", "function": {"name": "t", "arguments": ""}},
                ]},
                {"id": "r1", "role": "tool", "toolCallId": "c", "content": "ok"},
            ]}),
        ],
        &[
            "agent_thought_chunk: Hm",
            "agent_message_chunk: streamed",
            "agent_message_chunk: not streamed",
            "tool_call in_progress: {}",
            "tool_call in_progress: {}",
            "tool_call_update completed: ok",
        ],
    );
    assert_eq!(body.open_calls(), ["d"]);
    let ids: Vec<_> = body.messages.iter().map(|message| &message["id"]).collect();
    assert_eq!(ids, ["r", "u", "other", "new", "r1"]);
}

#[test]
fn a_sub_agents_work_is_below_its_call() {
    let (updates, ..) = applied(&[
        json!({"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "Helper"}),
        json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "x", "subagentRunId": "s"}),
        json!({"type": "SUBAGENT_ERROR", "subagentRunId": "s", "message": "broken"}),
    ]);
    assert_eq!(updates[0]["title"], "Helper");
    assert_eq!(
        updates[1]["_meta"]["claudeCode"]["parentToolUseId"],
        "subagent-s"
    );
    assert_eq!(updates[2]["status"], "failed");
}

#[test]
fn unknown_events_are_shown_and_raw_ones_once() {
    check(
        &[
            json!({"type": "CUSTOM", "name": "n", "value": 1}),
            json!({"type": "FUTURE"}),
            json!({"type": "RAW", "event": 1}),
            json!({"type": "RAW", "event": 2}),
        ],
        &["CUSTOM", "FUTURE", "RAW"],
    );
}

#[test]
fn every_way_to_end_is_told_apart() {
    let end = |event: Value| applied(&[event, json!({"type": "CUSTOM"})]).2.end;
    let finished = |outcome: Value| end(json!({"type": "RUN_FINISHED", "outcome": outcome}));
    let plain = End::Finished {
        pending: None,
        interrupts: Vec::new(),
    };
    assert_eq!(end(json!({"type": "RUN_FINISHED"})), Some(plain.clone()));
    assert_eq!(
        finished(json!({"type": "success", "pendingToolCallIds": []})),
        Some(plain)
    );
    let pending = finished(json!({"type": "success", "pendingToolCallIds": ["c"]}));
    let named = End::Finished {
        pending: Some(vec!["c".to_owned()]),
        interrupts: Vec::new(),
    };
    assert_eq!(pending, Some(named));
    let one = json!({"id": "i", "reason": "tool_call"});
    let asked = finished(json!({"type": "interrupt", "interrupts": [one]}));
    assert_eq!(
        asked,
        Some(End::Finished {
            pending: None,
            interrupts: vec![one]
        })
    );
    assert_eq!(finished(json!({"type": "cancelled"})), Some(End::Cancelled));
    let failed = end(json!({"type": "RUN_ERROR", "message": "no"}));
    assert_eq!(failed, Some(End::Failed("no".to_owned())));
}

#[test]
fn an_interrupt_that_langgraph_announces_counts_if_the_run_names_none() {
    let custom = json!({
        "type": "CUSTOM", "name": "on_interrupt", "value": "Which?", "rawEvent": {"id": "i"},
    });
    let ended = |outcome: Value| {
        let end = json!({"type": "RUN_FINISHED", "outcome": outcome});
        let (updates, _, run) = applied(&[custom.clone(), end]);
        assert_eq!(updates, Vec::<Value>::new());
        match run.end {
            Some(End::Finished { interrupts, .. }) => interrupts,
            other => panic!("{other:?}"),
        }
    };
    let one = json!({"id": "i", "reason": "interrupt", "message": "Which?"});
    assert_eq!(ended(Value::Null), [one]);
    let other = json!({"id": "o", "reason": "r"});
    let named = json!({"type": "interrupt", "interrupts": [other]});
    assert_eq!(ended(named), [other]);
}

#[test]
fn a_kept_thread_is_shown_again() {
    let source = json!({"type": "data", "value": "aa", "mimeType": "image/png"});
    let image = json!({"type": "image", "source": source});
    let body = Body {
        messages: vec![
            json!({"id": "u", "role": "user", "content": [{"type": "text", "text": "see"}, image]}),
            json!({"id": "m", "role": "assistant", "content": "ok", "toolCalls": [
                {"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}},
            ]}),
            json!({"id": "r", "role": "tool", "toolCallId": "c", "content": "no", "error": "no"}),
        ],
        ..Body::default()
    };
    let updates = replayed(&body);
    let kinds: Vec<_> = updates
        .iter()
        .map(|update| &update["sessionUpdate"])
        .collect();
    let prompt = "user_message_chunk";
    assert_eq!(
        kinds,
        [
            prompt,
            prompt,
            "agent_message_chunk",
            "tool_call",
            "tool_call_update"
        ]
    );
    assert_eq!(updates[1]["content"]["mimeType"], "image/png");
    assert_eq!(updates[4]["status"], "failed");
}

/// Applies a recorded answer of an agent of LangGraph.
fn recorded(bytes: &[u8]) -> (Vec<Value>, Body, Run) {
    applied(&read(bytes, &[]))
}

#[test]
fn an_agent_of_langgraph_is_understood() {
    let (updates, ..) = recorded(include_bytes!(
        "../../../tests/recordings/langgraph.hello.sse"
    ));
    let said = updates
        .iter()
        .filter_map(|update| update["content"]["text"].as_str());
    // The snapshot at the end says nothing again.
    assert_eq!(said.collect::<String>(), "you said hello ok");
    // Its calls are in the snapshot alone.
    let (updates, body, _) = recorded(include_bytes!(
        "../../../tests/recordings/langgraph.tool.sse"
    ));
    let call = updates
        .iter()
        .find(|update| update["sessionUpdate"] == "tool_call");
    assert_eq!(call.map(|call| &call["rawInput"]), Some(&json!({"a": 1})));
    assert_eq!(body.open_calls(), ["call-1"]);
    let (.., run) = recorded(include_bytes!(
        "../../../tests/recordings/langgraph.ask.sse"
    ));
    let Some(End::Finished { interrupts, .. }) = run.end else {
        panic!("{:?}", run.end);
    };
    assert_eq!(interrupts[0]["message"], "Which colour?");
}

/// An event with texts that bytes can be cut in.
fn event() -> impl Strategy<Value = Value> {
    let text = "[a-c\"\\\\{}:,é\u{1F600}\n]{0,8}";
    let id = prop::sample::select(vec!["", "a", "b"]);
    let kind = prop::sample::select(vec![
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_CHUNK",
        "TEXT_MESSAGE_END",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CHUNK",
        "REASONING_ENCRYPTED_VALUE",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_CHUNK",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
        "STATE_SNAPSHOT",
        "STATE_DELTA",
        "ACTIVITY_SNAPSHOT",
        "ACTIVITY_DELTA",
        "STEP_STARTED",
        "STEP_FINISHED",
        "SUBAGENT_STARTED",
        "SUBAGENT_FINISHED",
        "MESSAGES_SNAPSHOT",
        "CUSTOM",
        "RAW",
        "RUN_STARTED",
        "X",
    ]);
    (kind, id.clone(), id, text).prop_map(|(kind, id, other, text)| {
        json!({
            "type": kind, "messageId": id, "toolCallId": other, "toolCallName": id, "delta": text,
            "content": text, "parentMessageId": other, "stepName": text, "snapshot": {"t": text},
            "patch": [{"op": "add", "path": "/x", "value": text}], "subagentRunId": other,
            "messages": [{"id": id, "role": "assistant", "content": text}], "activityType": "A",
            "subtype": "message", "entityId": id, "encryptedValue": text, "name": text,
        })
    })
}

fn read(bytes: &[u8], cuts: &[usize]) -> Vec<Value> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    let pieces: Vec<_> = cuts
        .windows(2)
        .map(|pair| Ok(Bytes::copy_from_slice(&bytes[pair[0]..pair[1]])))
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (mut events, mut all) = (Events::new(iter(pieces)), Vec::new());
        while let Some(event) = events.next().await {
            all.push(event.unwrap());
        }
        all
    })
}

proptest! {
    #[test]
    fn updates_do_not_depend_on_the_cuts(
        events in prop::collection::vec(event(), 1..12),
        end in prop::sample::select(vec!["\n", "\r\n", "\r"]),
        cuts in prop::collection::vec(any::<usize>(), 0..40),
    ) {
        let text: String = events.iter().map(|event| format!("data: {event}{end}{end}")).collect();
        // Random ids of messages without one differ between two lives.
        let whole = read(text.as_bytes(), &[]);
        prop_assert_eq!(&whole, &events);
        prop_assert_eq!(&read(text.as_bytes(), &cuts), &whole);
        prop_assert_eq!(read(text.as_bytes(), &(0..text.len()).collect::<Vec<_>>()), whole);
    }

    #[test]
    fn every_event_is_applied_and_each_call_is_answered_once(
        events in prop::collection::vec(event(), 0..40),
    ) {
        let (updates, mut body, _) = applied(&events);
        for update in &updates {
            prop_assert!(update["sessionUpdate"].is_string());
        }
        body.settle("Stopped.");
        for message in &body.messages {
            for call in calls(message) {
                prop_assert!(body.messages.iter().any(|answer| answer["toolCallId"] == call["id"]));
            }
        }
        let before = body.messages.len();
        body.settle("Stopped.");
        prop_assert_eq!(body.messages.len(), before);
    }
}
