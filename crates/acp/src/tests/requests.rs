//! `fs/*`, permissions, `$/cancel_request`.

use super::*;

fn check_read(params: &str, want: Result<(&str, Option<u32>, Option<u32>), &str>) {
    let want = match want {
        Ok((path, line, limit)) => AgentRequest::ReadTextFile {
            session: session(),
            path: path.into(),
            line,
            limit,
        },
        Err(why) => invalid("fs/read_text_file", why),
    };
    assert_eq!(request("fs/read_text_file", params), want, "{params}");
}

fn check_write(params: &str, want: Result<&str, &str>) {
    let want = match want {
        Ok(content) => AgentRequest::WriteTextFile {
            session: session(),
            path: "/a".into(),
            content: content.into(),
        },
        Err(why) => invalid("fs/write_text_file", why),
    };
    assert_eq!(request("fs/write_text_file", params), want, "{params}");
}

fn check_options(options: &str, want: &[(&str, &str, OptionKind)]) {
    let params =
        format!(r#"{{"sessionId":"s","toolCall":{{"toolCallId":"t"}},"options":{options}}}"#);
    let options = want.iter().map(|(id, name, kind)| PermissionOption {
        id: (*id).to_owned(),
        name: (*name).to_owned(),
        kind: kind.clone(),
    });
    let want = AgentRequest::Permission {
        session: session(),
        tool_call: patch("t"),
        options: options.collect(),
    };
    assert_eq!(request("session/request_permission", &params), want);
}

fn unknown(kind: &str) -> OptionKind {
    OptionKind::Unknown(kind.to_owned())
}

#[test]
fn a_reads_numbers_may_have_any_form() {
    check_read(r#"{"sessionId":"s","path":"/a"}"#, Ok(("/a", None, None)));
    let check = |line: &str, want| {
        let params = format!(r#"{{"sessionId":"s","path":"/a","line":{line},"limit":2}}"#);
        check_read(&params, Ok(("/a", want, Some(2))));
    };
    check("3", Some(3));
    check("3.0", Some(3));
    check("\"3\"", Some(3));
    check("0", Some(0));
    check("null", None);
    check("9007199254740991", Some(u32::MAX));
    let numeric = request(
        "fs/read_text_file",
        r#"{"sessionId":5,"path":"/a","line":1.0}"#,
    );
    assert!(
        matches!(&numeric, AgentRequest::ReadTextFile { session, .. } if &*session.0 == "5"),
        "{numeric:?}"
    );
}

#[test]
fn a_bad_read_names_the_field() {
    check_read("[1]", Err("params: not an object"));
    check_read("null", Err("params: missing"));
    check_read(r#"{"path":"/a"}"#, Err("params.sessionId: missing"));
    check_read(
        r#"{"path":"/a","sessionId":{}}"#,
        Err("params.sessionId: not a string"),
    );
    check_read(r#"{"sessionId":"s"}"#, Err("params.path: missing"));
    check_read(
        r#"{"sessionId":"s","path":null}"#,
        Err("params.path: missing"),
    );
    check_read(
        r#"{"sessionId":"s","path":1}"#,
        Err("params.path: not a string"),
    );
    check_read(
        r#"{"sessionId":"s","path":"/a","line":-1}"#,
        Err("params.line: not a whole number from 0"),
    );
    check_read(
        r#"{"sessionId":"s","path":"/a","limit":"all"}"#,
        Err("params.limit: not a whole number from 0"),
    );
}

#[test]
fn the_text_of_a_write_is_accepted_unchanged_or_refused() {
    let check = |content: &str, want| {
        let params = format!(r#"{{"path":"/a","sessionId":"s","content":{content}}}"#);
        check_write(&params, want);
    };
    check(r#""a\r\nä""#, Ok("a\r\nä"));
    check(r#""""#, Ok(""));
    check("\"\u{fffd}\"", Ok("\u{fffd}"));
    check("null", Err("params.content: missing"));
    check("3", Err("params.content: not a string"));
    check(r#""\ud83d""#, Err("params.content: not valid UTF-8"));
    check_write(
        r#"{"path":"/a","sessionId":"s"}"#,
        Err("params.content: missing"),
    );
}

#[test]
fn a_write_with_stray_bytes_is_refused() {
    let line = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"fs/write_text_file\",\
        \"params\":{\"sessionId\":\"s\",\"path\":\"/a\",\"content\":\"caf\xe9\"}}";
    let want = Message::Request {
        id: id("1"),
        call: invalid("fs/write_text_file", "params.content: not valid UTF-8"),
    };
    assert_eq!(rpc::decode(line), [want]);
}

#[test]
fn options_keep_their_order_whatever_their_kinds() {
    check_options(
        r#"[{"optionId":"b","name":"Always","kind":"allow_always"},
            {"optionId":"a","name":"Once","kind":"allow_once"},
            {"optionId":"c","name":"Also always","kind":"allow_always"},
            {"optionId":"no","name":"No","kind":"reject_once"},
            {"optionId":"never","name":"Never","kind":"reject_always"},
            {"optionId":"x","name":"Later","kind":"allow_tomorrow"}]"#,
        &[
            ("b", "Always", OptionKind::AllowAlways),
            ("a", "Once", OptionKind::AllowOnce),
            ("c", "Also always", OptionKind::AllowAlways),
            ("no", "No", OptionKind::RejectOnce),
            ("never", "Never", OptionKind::RejectAlways),
            ("x", "Later", unknown("allow_tomorrow")),
        ],
    );
}

#[test]
fn an_option_needs_only_an_id() {
    check_options(
        r#"[{"optionId":"a"}, {"optionId":2,"name":"","kind":"allow_once"}, "c",
            {"id":"d","name":"D","kind":null}]"#,
        &[
            ("a", "a", unknown("")),
            ("2", "2", OptionKind::AllowOnce),
            ("c", "c", unknown("")),
            ("d", "D", unknown("")),
        ],
    );
}

#[test]
fn an_option_without_an_id_is_kept_only_if_none_has_one() {
    check_options(
        r#"[{"name":"Yes","kind":"allow_once"}, {"optionId":"n","name":"No","kind":"reject_once"}]"#,
        &[("n", "No", OptionKind::RejectOnce)],
    );
    check_options(
        r#"[{"name":"Yes","kind":"allow_once"}, {"kind":"reject_once"}, {}]"#,
        &[
            ("Yes", "Yes", OptionKind::AllowOnce),
            ("reject_once", "reject_once", OptionKind::RejectOnce),
        ],
    );
}

#[test]
fn a_question_without_options_is_accepted() {
    check_options("[]", &[]);
    check_options("null", &[]);
    check_options("{}", &[]);
}

#[test]
fn a_question_without_a_tool_call_gets_a_made_up_one() {
    let check = |tool_call: &str, want: ToolCallPatch| {
        let params = format!(r#"{{"sessionId":"s","options":[]{tool_call}}}"#);
        let want = AgentRequest::Permission {
            session: session(),
            tool_call: want,
            options: vec![],
        };
        assert_eq!(request("session/request_permission", &params), want);
    };
    check("", patch("permission 7"));
    check(r#","toolCall":null"#, patch("permission 7"));
    check(r#","toolCall":"x""#, patch("permission 7"));
    check(r#","toolCall":{"toolCallId":"t"}"#, patch("t"));
    let titled = ToolCallPatch {
        title: Some("Delete".to_owned()),
        ..patch("permission 7")
    };
    check(r#","toolCall":{"title":"Delete"}"#, titled);
}

#[test]
fn a_question_without_a_session_is_refused() {
    assert_eq!(
        request("session/request_permission", r#"{"options":[]}"#),
        invalid("session/request_permission", "params.sessionId: missing"),
    );
}

#[test]
fn other_methods_are_unknown() {
    for method in [
        "terminal/resize",
        "elicitation/createAll",
        "craft/drainMidTurnQueue",
    ] {
        let method = method.to_owned();
        let want = AgentRequest::Unknown { method };
        let AgentRequest::Unknown { method } = &want else {
            unreachable!()
        };
        assert_eq!(request(method, "{}"), want);
    }
}

#[test]
fn a_cancellation_carries_the_raw_id() {
    let check = |params: &str, want: AgentNotification| {
        let line = format!(r#"{{"jsonrpc":"2.0","method":"$/cancel_request","params":{params}}}"#);
        assert_eq!(one(&line), Message::Notification(want), "{line}");
    };
    let cancel = |json| AgentNotification::CancelRequest { id: id(json) };
    check(r#"{"requestId": 0 }"#, cancel("0"));
    check(r#"{"requestId":"a-b"}"#, cancel("\"a-b\""));
    check(r#"{"id":4}"#, cancel("4"));
    check(
        "{}",
        AgentNotification::Invalid {
            method: "$/cancel_request".to_owned(),
            why: "params.requestId: missing".to_owned(),
        },
    );
}
