//! JSON-RPC itself: requests, responses, batches, noise.

use serde_json::{Value, json};

use super::*;

fn check(line: &str, want: &[Message]) {
    assert_eq!(rpc::decode(line.as_bytes()), want, "{line}");
}

fn noise(text: &str) -> Message {
    Message::Noise(text.to_owned())
}

fn unknown(id_json: &str, method: &str) -> Message {
    let method = method.to_owned();
    let call = AgentRequest::Unknown { method };
    Message::Request {
        id: id(id_json),
        call,
    }
}

fn told(method: &str) -> Message {
    let method = method.to_owned();
    Message::Notification(AgentNotification::Unknown { method })
}

fn answer(id: u64, result: Value) -> Message {
    let result = Ok(result);
    Message::Response { id, result }
}

fn failure(id: u64, code: i64, message: &str) -> Message {
    let error = RpcError {
        code,
        message: message.to_owned(),
        data: None,
    };
    let result = Err(error);
    Message::Response { id, result }
}

#[test]
fn requests_keep_their_raw_id() {
    for id in ["0", "-1", "1.50", "\"a\\u00e4\"", "{\"x\": 1}", "true"] {
        let line = format!(r#"{{"jsonrpc":"2.0","id": {id} ,"method":"x/y"}}"#);
        check(&line, &[unknown(id, "x/y")]);
    }
}

#[test]
fn a_null_id_is_an_id_for_requests_only() {
    check(r#"{"id":null,"method":"x","params":{}}"#, &[told("x")]);
    let why = "params.sessionId: missing".to_owned();
    let method = "fs/read_text_file".to_owned();
    check(
        r#"{"id":null,"method":"fs/read_text_file","params":{}}"#,
        &[Message::Request {
            id: id("null"),
            call: AgentRequest::Invalid { method, why },
        }],
    );
}

#[test]
fn a_request_without_an_id_cannot_be_answered() {
    let method = "fs/read_text_file".to_owned();
    let why = "id: missing".to_owned();
    check(
        r#"{"jsonrpc":"2.0","method":"fs/read_text_file","params":{}}"#,
        &[Message::Notification(AgentNotification::Invalid {
            method,
            why,
        })],
    );
}

#[test]
fn an_update_sent_as_a_request_is_applied_and_refused() {
    let update = AgentNotification::Update {
        session: session(),
        update: Update::Mode("m".to_owned()),
    };
    check(
        r#"{"jsonrpc":"2.0","id":3,"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"current_mode_update","currentModeId":"m"}}}"#,
        &[
            Message::Notification(update),
            unknown("3", "session/update"),
        ],
    );
}

#[test]
fn a_response_is_correlated_with_any_spelling_of_its_id() {
    for id in ["3", "3.0", "\"3\"", "\"3.0\"", " 3 "] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a":1}}}}"#);
        check(&line, &[answer(3, json!({"a": 1}))]);
    }
    let huge = u64::MAX;
    let line = format!(r#"{{"jsonrpc":"2.0","id":{huge},"result":1}}"#);
    check(&line, &[answer(huge, json!(1))]);
    for id in ["3.5", "-3", "null", "\"abc\"", "[3]", "1e300"] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1}}"#);
        check(&line, &[noise(&line)]);
    }
}

#[test]
fn a_null_result_is_a_result() {
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
        &[answer(1, Value::Null)],
    );
    check(r#"{"jsonrpc":"2.0","id":1}"#, &[answer(1, Value::Null)]);
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":2,"error":null,"method":null}"#,
        &[answer(1, json!(2))],
    );
    check(r#"{"id":1,"result":[]}"#, &[answer(1, json!([]))]);
    check(r#"{"id":1}"#, &[noise(r#"{"id":1}"#)]);
}

#[test]
fn errors_are_read_in_any_form() {
    let check = |error: &str, code, message: &str| {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#);
        check(&line, &[failure(1, code, message)]);
    };
    check(r#"{"code":-32000,"message":"log in"}"#, -32000, "log in");
    check(r#"{"code":529.0,"message":"busy"}"#, 529, "busy");
    check(r#"{"code":"429","message":"slow"}"#, 429, "slow");
    check(r#"{"code":"E_X","message":7}"#, rpc::INTERNAL_ERROR, "7");
    check(r#"{"code":1e300,"message":"m"}"#, i64::MAX, "m");
    check(r#""boom""#, rpc::INTERNAL_ERROR, "boom");
    check(r#"{"x":1}"#, rpc::INTERNAL_ERROR, r#"{"x":1}"#);
    check("[1]", rpc::INTERNAL_ERROR, "[1]");
}

#[test]
fn the_data_of_an_error_is_kept() {
    let line = r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":{"a":[]}}}"#;
    let Message::Response { result, .. } = one(line) else {
        panic!("no response");
    };
    assert_eq!(result.unwrap_err().data, Some(json!({"a": []})));
}

#[test]
fn a_batch_becomes_its_messages() {
    check(
        r#"[{"jsonrpc":"2.0","method":"a"}, {"jsonrpc":"2.0","id":1,"result":1}, 5]"#,
        &[told("a"), answer(1, json!(1)), noise("5")],
    );
    check("[]", &[noise("[]")]);
    check("[1, [2]]", &[noise("[1, [2]]")]);
}

#[test]
fn other_lines_are_noise() {
    for line in [
        "Loading ...",
        "[INFO] x",
        "{",
        "{}",
        "17",
        "null",
        "{\"level\":1}",
        "\"a\"",
    ] {
        check(line, &[noise(line)]);
    }
    check(" \t ", &[]);
    check("", &[]);
}

#[test]
fn noise_is_cut_between_characters() {
    let line = "€".repeat(500);
    check(&line, &[noise(&"€".repeat(200))]);
}

#[test]
fn several_messages_on_a_line_are_read() {
    check(
        r#"{"jsonrpc":"2.0","method":"a"}{"jsonrpc":"2.0","method":"b"} bye"#,
        &[told("a"), told("b"), noise("bye")],
    );
}

#[test]
fn logged_traffic_is_not_handled_twice() {
    for before in ["DEBUG <-", "2026", "null", "{}", "[1]"] {
        let line = format!(r#"{before} {{"jsonrpc":"2.0","id":1,"result":null}}"#);
        check(&line, &[noise(&line)]);
    }
}

#[test]
fn text_that_is_not_unicode_is_repaired() {
    let line = b"{\"jsonrpc\":\"2.0\",\"method\":\"a\xffb\"}";
    assert_eq!(rpc::decode(line), [told("a\u{fffd}b")]);
    check(
        r#"{"jsonrpc":"2.0","method":"a\ud83d"}"#,
        &[told("a\u{fffd}")],
    );
    check(
        r#"{"jsonrpc":"2.0","method":"\ud83d\ude00"}"#,
        &[told("😀")],
    );
}

#[test]
fn deep_nesting_is_safe() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let line = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{deep}}}"#);
    check(&line, &[answer(1, json!(deep))]);
    check(&deep, &[noise(&"[".repeat(200))]);
    let unknown = format!(r#"{{"sessionUpdate":"agent_message_chunk","content":{deep}}}"#);
    assert!(matches!(
        update(&unknown),
        Update::Chunk {
            content: Content::Unknown { .. },
            ..
        }
    ));
}

#[test]
fn client_messages_are_one_line() {
    let check = |line: String, want: &str| assert_eq!(line, want);
    check(
        rpc::request(1, "a/b", json!({"x": "1\n2"})),
        r#"{"jsonrpc":"2.0","id":1,"method":"a/b","params":{"x":"1\n2"}}"#,
    );
    check(
        rpc::notification("a", json!({})),
        r#"{"jsonrpc":"2.0","method":"a","params":{}}"#,
    );
    check(
        rpc::response(&id("\"\\u0061\""), Value::Null),
        r#"{"jsonrpc":"2.0","id":"\u0061","result":null}"#,
    );
    check(
        rpc::error(&id("1.0"), rpc::METHOD_NOT_FOUND, "no", None),
        r#"{"jsonrpc":"2.0","id":1.0,"error":{"code":-32601,"message":"no"}}"#,
    );
    check(
        rpc::error(&id("null"), 1, "m", Some(json!([1]))),
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m","data":[1]}}"#,
    );
}

#[test]
fn an_encoded_response_is_read_back() {
    check(
        &rpc::response(&id("4"), json!({"a": "ä\u{2028}"})),
        &[answer(4, json!({"a": "ä\u{2028}"}))],
    );
    check(&rpc::error(&id("4"), -1, "m", None), &[failure(4, -1, "m")]);
}

#[test]
fn a_request_that_is_too_long_is_answered() {
    let check = |head: &str, tail: &str, request: Option<(&str, &str)>| {
        let bytes = 70 << 20;
        let (head, tail) = (head.as_bytes(), tail.as_bytes());
        let mut want = vec![Message::TooLong { bytes }];
        want.extend(request.map(|(id, method)| Message::Request {
            id: self::id(id),
            call: invalid(method, "the message has more than 64 MiB"),
        }));
        assert_eq!(Frame::TooLong { head, tail, bytes }.decode(), want);
    };
    let write = r#"{"id":9,"method":"fs/write_text_file","params":{"content":"aa"#;
    check(write, r#"aa"}}"#, Some(("9", "fs/write_text_file")));
    let late = r#"{"method":"fs/write_text_file","params":{"content":"aa"#;
    check(
        late,
        r#"aa"},"id":"x"}"#,
        Some(("\"x\"", "fs/write_text_file")),
    );
    check(late, r#"aa"}}"#, None);
    check(r#"{"id":9,"result":{"a":"aa"#, r#"aa"}}"#, None);
}
