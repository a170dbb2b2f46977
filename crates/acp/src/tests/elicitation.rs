//! `elicitation/*`.

use serde_json::{Value, json};

use super::*;

/// Reads a request and checks its scope and mode; `Err` is the reason for a refusal.
#[track_caller]
fn check(params: &str, want: Result<(ElicitationScope, &str, ElicitationMode), &str>) {
    let want = match want {
        Ok((scope, message, mode)) => AgentRequest::Elicitation {
            scope,
            tool: None,
            message: message.to_owned(),
            mode,
        },
        Err(why) => invalid("elicitation/create", why),
    };
    assert_eq!(request("elicitation/create", params), want, "{params}");
}

fn form(schema: Value) -> ElicitationMode {
    ElicitationMode::Form { schema }
}

fn url(url: &str, id: &str) -> ElicitationMode {
    ElicitationMode::Url {
        url: url.to_owned(),
        id: id.to_owned(),
    }
}

#[test]
fn forms_and_pages_are_read() {
    let in_session = ElicitationScope::Session(session());
    check(
        r#"{"sessionId":"s","mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{"b":{},"a":{}}}}"#,
        Ok((
            in_session.clone(),
            "Who?",
            form(json!({ "type": "object", "properties": { "b": {}, "a": {} } })),
        )),
    );
    check(
        r#"{"sessionId":"s","mode":"url","message":"Log in","url":"https://x/","elicitationId":"e1"}"#,
        Ok((in_session, "Log in", url("https://x/", "e1"))),
    );
}

#[test]
fn form_properties_keep_their_order() {
    let params = r#"{"sessionId":"s","requestedSchema":{"properties":{"z":{},"a":{},"m":{}}}}"#;
    let AgentRequest::Elicitation { mode, .. } = request("elicitation/create", params) else {
        panic!("{params}");
    };
    let ElicitationMode::Form { schema } = mode else {
        panic!("{mode:?}");
    };
    let names: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["z", "a", "m"]);
}

#[test]
fn missing_fields_do_not_lose_a_question() {
    check("{}", Ok((ElicitationScope::Agent, "", form(Value::Null))));
    check(
        r#"{"requestId":"3","url":"https://x/"}"#,
        Ok((ElicitationScope::Request(3), "", url("https://x/", ""))),
    );
    check(
        r#"{"requestId":0.0,"message":null,"requestedSchema":null,"elicitationId":7,"mode":"url","url":"u"}"#,
        Ok((ElicitationScope::Request(0), "", url("u", "7"))),
    );
}

#[test]
fn a_question_that_cannot_be_shown_is_refused_with_a_reason() {
    check(
        r#"{"mode":"hologram"}"#,
        Err("params.mode: \"hologram\" is none of those offered: form, url"),
    );
    check(r#"{"mode":"url"}"#, Err("params.url: missing"));
    check(
        r#"{"mode":"url","url":{}}"#,
        Err("params.url: not a string"),
    );
    check(
        r#"{"mode":"form","requestedSchema":[1]}"#,
        Err("params.requestedSchema: not an object"),
    );
}

#[test]
fn a_questions_tool_call_is_kept() {
    let params = r#"{"sessionId":"s","toolCallId":"t"}"#;
    match request("elicitation/create", params) {
        AgentRequest::Elicitation { tool, .. } => assert_eq!(tool, Some(ToolCallId("t".into()))),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_completion_of_a_page_names_its_id() {
    let check = |params: &str, want: AgentNotification| {
        let line =
            format!(r#"{{"jsonrpc":"2.0","method":"elicitation/complete","params":{params}}}"#);
        assert_eq!(one(&line), Message::Notification(want), "{line}");
    };
    let complete = |id: &str| AgentNotification::ElicitationComplete { id: id.to_owned() };
    check(r#"{"elicitationId":"e1"}"#, complete("e1"));
    check(r#"{"elicitationId":7}"#, complete("7"));
    check(
        "{}",
        AgentNotification::Invalid {
            method: "elicitation/complete".to_owned(),
            why: "params.elicitationId: missing".to_owned(),
        },
    );
}
