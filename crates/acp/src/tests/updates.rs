//! `session/update`, except tool calls.

use super::*;

fn check(json: &str, want: Update) {
    assert_eq!(update(json), want, "{json}");
}

fn check_unknown(json: &str, kind: &str) {
    let raw = serde_json::from_str(json).unwrap();
    let kind = kind.to_owned();
    check(json, Update::Unknown { kind, raw });
}

fn check_content(block: &str, want: Content) {
    let json = format!(r#"{{"sessionUpdate":"agent_message_chunk","content":{block}}}"#);
    let chunk = Update::Chunk {
        role: Role::Agent,
        message: None,
        parent: None,
        content: want,
    };
    check(&json, chunk);
}

#[track_caller]
fn check_options(options: &str, want: &[&str]) {
    let json = format!(r#"{{"sessionUpdate":"config_option_update","configOptions":{options}}}"#);
    let Update::ConfigOptions(options) = update(&json) else {
        panic!("{json}");
    };
    let ids = options.iter().map(|option| option.id.as_str());
    assert_eq!(ids.collect::<Vec<_>>(), want);
}

fn text(text: &str) -> Content {
    Content::Text(text.to_owned())
}

#[test]
fn chunks_have_three_roles() {
    let check = |kind: &str, role| {
        let json = format!(
            r#"{{"content":{{"type":"text","text":"a\nb"}},"messageId":"m","sessionUpdate":"{kind}"}}"#
        );
        let message = Some("m".to_owned());
        let content = text("a\nb");
        check(
            &json,
            Update::Chunk {
                role,
                message,
                parent: None,
                content,
            },
        );
    };
    check("user_message_chunk", Role::User);
    check("agent_message_chunk", Role::Agent);
    check("agent_thought_chunk", Role::Thought);
}

#[test]
fn a_message_id_may_be_a_number() {
    check(
        r#"{"sessionUpdate":"agent_message_chunk","messageId":12,"content":"x"}"#,
        Update::Chunk {
            role: Role::Agent,
            message: Some("12".to_owned()),
            parent: None,
            content: text("x"),
        },
    );
}

#[test]
fn a_sub_agents_update_names_its_parent_call() {
    let check = |meta: &str, parent: Option<&str>| {
        check(
            &format!(r#"{{"sessionUpdate":"agent_thought_chunk","content":"x","_meta":{meta}}}"#),
            Update::Chunk {
                role: Role::Thought,
                message: None,
                parent: parent.map(|id| ToolCallId(id.into())),
                content: text("x"),
            },
        );
    };
    check(r#"{"claudeCode":{"parentToolUseId":"task"}}"#, Some("task"));
    check(r#"{"claudeCode":{"parentToolUseId":null}}"#, None);
    check(r#"{"claudeCode":{"parentToolUseId":""}}"#, None);
    check(r#"{"claudeCode":7}"#, None);
    check("null", None);
}

#[test]
fn text_is_read_in_any_wrapping() {
    check_content(r#"{"type":"text","text":"a","annotations":3}"#, text("a"));
    check_content(r#"{"text":"a"}"#, text("a"));
    check_content(r#""a""#, text("a"));
    check_content(r#"{"type":"text","text":null}"#, text(""));
    check_content(r#"{"type":"text","text":12}"#, text("12"));
    check_content(r#"[{"type":"text","text":"a"},"b"]"#, text("ab"));
}

#[test]
fn binary_data_is_counted_and_dropped() {
    let image = |uri: Option<&str>, bytes| Content::Image {
        mime: "image/png".to_owned(),
        uri: uri.map(str::to_owned),
        bytes,
    };
    let check = |data: &str, bytes| {
        let json = format!(r#"{{"type":"image","data":"{data}","mimeType":"image/png"}}"#);
        check_content(&json, image(None, bytes));
    };
    check("", 0);
    check("YQ==", 1);
    check("YWI=", 2);
    check("YWJj", 3);
    check("YWJjZA", 4);
    check_content(
        r#"{"type":"image","mimeType":"image/png","uri":"file:///a"}"#,
        image(Some("file:///a"), 0),
    );
    let mime = "application/octet-stream".to_owned();
    check_content(
        r#"{"type":"audio","data":"YWJj"}"#,
        Content::Audio { mime, bytes: 3 },
    );
}

#[test]
fn resources_are_kept_with_their_text() {
    let resource = |uri: &str, text: Option<&str>| Content::Resource {
        uri: uri.to_owned(),
        text: text.map(str::to_owned),
    };
    check_content(
        r#"{"type":"resource","resource":{"uri":"u","text":"t"}}"#,
        resource("u", Some("t")),
    );
    check_content(
        r#"{"type":"resource","resource":{"uri":"u","blob":"YQ=="}}"#,
        resource("u", None),
    );
    check_content(
        r#"{"type":"resource","resource":{"text":"t"}}"#,
        resource("", Some("t")),
    );
    let uri = "file:///a".to_owned();
    let name = uri.clone();
    check_content(
        r#"{"type":"resource_link","uri":"file:///a"}"#,
        Content::ResourceLink { uri, name },
    );
}

#[test]
fn unknown_content_is_kept_in_full() {
    let check = |json: &str, kind: &str| {
        let raw = serde_json::from_str(json).unwrap();
        let kind = kind.to_owned();
        check_content(json, Content::Unknown { kind, raw });
    };
    check(r#"{"type":"hologram","data":{"x":1}}"#, "hologram");
    check(r#"{"type":"text","text":{"x":1}}"#, "text");
    check(r#"{"x":1}"#, "unknown");
    check("[[1]]", "unknown");
}

#[test]
fn a_plan_with_an_id_is_read_and_removed() {
    check(
        r#"{"sessionUpdate":"plan_update","plan":{"type":"items","planId":"p","entries":[
            {"content":"a","priority":"high","status":"completed"}]}}"#,
        Update::Plan(vec![PlanEntry {
            text: "a".to_owned(),
            priority: Priority::High,
            status: PlanStatus::Completed,
        }]),
    );
    check(
        r#"{"sessionUpdate":"plan_removed","planId":"p"}"#,
        Update::Plan(Vec::new()),
    );
    // Agents send these only to clients that ask for them.
    let markdown =
        r#"{"sessionUpdate":"plan_update","plan":{"type":"markdown","planId":"p","content":"a"}}"#;
    check_unknown(markdown, "plan_update");
}

#[test]
fn a_sub_agents_plan_does_not_replace_the_agents() {
    let check_of = |parent: &str, want: Update| {
        let json = format!(
            r#"{{"sessionUpdate":"plan","entries":[],"_meta":{{"claudeCode":{{"parentToolUseId":{parent}}}}}}}"#
        );
        check(&json, want);
    };
    check_of(r#""task""#, Update::Info { title: None });
    check_of("null", Update::Plan(Vec::new()));
}

#[test]
fn a_plan_keeps_every_entry() {
    let entry = |text: &str, priority, status| PlanEntry {
        text: text.to_owned(),
        priority,
        status,
    };
    check(
        r#"{"sessionUpdate":"plan","entries":[
            {"content":"a","priority":"high","status":"completed"},
            {"content":"b","priority":"low","status":"in_progress"},
            {"content":"c"},
            {"content":"d","priority":"urgent","status":"cancelled"},
            {"content":"e","priority":"medium","status":"blocked"},
            "f",
            {"x":1}]}"#,
        Update::Plan(vec![
            entry("a", Priority::High, PlanStatus::Completed),
            entry("b", Priority::Low, PlanStatus::InProgress),
            entry("c", Priority::Medium, PlanStatus::Pending),
            entry("d (cancelled)", Priority::Medium, PlanStatus::Completed),
            entry("e (blocked)", Priority::Medium, PlanStatus::Pending),
            entry("f", Priority::Medium, PlanStatus::Pending),
            entry(r#"{"x":1}"#, Priority::Medium, PlanStatus::Pending),
        ]),
    );
    check(
        r#"{"sessionUpdate":"plan","entries":[]}"#,
        Update::Plan(vec![]),
    );
}

#[test]
fn commands_need_only_a_name() {
    let command = |name: &str, description: &str, hint: Option<&str>| Command {
        name: name.to_owned(),
        description: description.to_owned(),
        hint: hint.map(str::to_owned),
    };
    check(
        r#"{"sessionUpdate":"available_commands_update","availableCommands":[
            {"name":"a","description":"A","input":{"hint":"file"}},
            {"name":"/b","input":null}, "c", {"description":"no name"}]}"#,
        Update::Commands(vec![
            command("a", "A", Some("file")),
            command("b", "", None),
            command("c", "", None),
        ]),
    );
}

#[test]
fn mode_options_and_title_are_read() {
    check(
        r#"{"sessionUpdate":"current_mode_update","currentModeId":"plan"}"#,
        Update::Mode("plan".to_owned()),
    );
    let gemini =
        |text: &str| format!(r#"{{"sessionUpdate":"agent_message_chunk","content":"{text}"}}"#);
    for (said, mode) in [
        ("[MODE_UPDATE] yolo", Some("yolo")),
        ("[MODE_UPDATE] is text", None),
        ("[MODE_UPDATE] ", None),
        ("the [MODE_UPDATE] yolo", None),
    ] {
        let chunk = Update::Chunk {
            role: Role::Agent,
            message: None,
            parent: None,
            content: text(said),
        };
        assert_eq!(chunk.mode_of_gemini(), mode, "{said}");
        check(&gemini(said), chunk);
    }
    check_options(r#"[{"id":"a","currentValue":"x"},{"type":"new"}]"#, &["a"]);
    check_options("[]", &[]);
    check_unknown(
        r#"{"sessionUpdate":"config_option_update","configOptions":[{"type":"new"}]}"#,
        "config_option_update",
    );
    let info = |title: Option<&str>| Update::Info {
        title: title.map(str::to_owned),
    };
    check(
        r#"{"sessionUpdate":"session_info_update","title":"T"}"#,
        info(Some("T")),
    );
    check(
        r#"{"sessionUpdate":"session_info_update","title":null}"#,
        info(Some("")),
    );
    check(
        r#"{"sessionUpdate":"session_info_update","_meta":{"codex":{"error":null}}}"#,
        info(None),
    );
    for (status, is_active) in [("active", true), ("idle", false), ("systemError", false)] {
        let json = format!(
            r#"{{"sessionUpdate":"session_info_update","_meta":{{"codex":{{"threadStatus":{{"type":"{status}"}}}}}}}}"#
        );
        check(&json, Update::Active(is_active));
    }
    check(
        r#"{"sessionUpdate":"session_info_update","_meta":{"codex":{"threadStatus":{"type":"active","activeFlags":["waitingOnApproval"]}}}}"#,
        Update::Active(false),
    );
    let notice = |severity, text: &str| Update::Notice {
        severity,
        text: text.to_owned(),
    };
    check(
        r#"{"sessionUpdate":"session_info_update","_meta":{"codex":{"error":{"message":"Reconnecting 2/5","additionalDetails":"no route","willRetry":true}}}}"#,
        notice(Severity::Warning, "Reconnecting 2/5: no route"),
    );
    check(
        r#"{"sessionUpdate":"session_info_update","_meta":{"codex":{"error":{"message":"It failed","willRetry":false}}}}"#,
        notice(Severity::Error, "It failed"),
    );
}

#[test]
fn usage_has_its_cost_as_text() {
    let check = |cost: &str, want: Option<&str>| {
        let json =
            format!(r#"{{"sessionUpdate":"usage_update","used":5.0,"size":"9","cost":{cost}}}"#);
        let cost = want.map(str::to_owned);
        let (used, size) = (5, 9);
        check(&json, Update::Usage { used, size, cost });
    };
    check("null", None);
    check(r#"{"amount":0.1234,"currency":"USD"}"#, Some("0.12 USD"));
    check(r#"{"amount":0.0012,"currency":"EUR"}"#, Some("0.0012 EUR"));
    check(r#"{"amount":0,"currency":"USD"}"#, Some("0.00 USD"));
    check(r#"{"amount":"2"}"#, Some("2.00"));
    check(r#"{"currency":"USD"}"#, None);
}

#[test]
fn notices_are_read_with_their_severity() {
    let check = |json: &str, severity, text: &str| {
        let text = text.to_owned();
        check(json, Update::Notice { severity, text });
    };
    check(
        r#"{"sessionUpdate":"notice","severity":"warning","title":"Slow","description":"busy"}"#,
        Severity::Warning,
        "Slow: busy",
    );
    check(
        r#"{"sessionUpdate":"notice","severity":"error","title":"Hi"}"#,
        Severity::Error,
        "Hi",
    );
    check(
        r#"{"sessionUpdate":"notice","severity":"_odd","description":"Hi"}"#,
        Severity::Info,
        "Hi",
    );
}

#[test]
fn compaction_updates_are_read_field_by_field() {
    let check = |more: &str, status, summary, error: Option<&str>| {
        let kind = "compaction_update";
        let json = format!(r#"{{"sessionUpdate":"{kind}","compactionId":"c"{more}}}"#);
        let error = error.map(|why| Some(why.to_owned()).filter(|why| !why.is_empty()));
        let id = "c".to_owned();
        let patch = CompactionPatch {
            id,
            status,
            summary,
            error,
        };
        check(&json, Update::Compaction(patch));
    };
    check(
        r#","status":"in_progress""#,
        Some(CompactionStatus::InProgress),
        None,
        None,
    );
    check(
        r#","status":"failed","error":"why","summary":null"#,
        Some(CompactionStatus::Failed),
        Some(Summary::Whole(vec![])),
        Some("why"),
    );
    check(
        r#","status":"_late","error":null,"summary":[{"type":"text","text":"s"},{"type":"text","text":"t"}]"#,
        Some(CompactionStatus::Unknown("_late".to_owned())),
        Some(Summary::Whole(vec![text("s"), text("t")])),
        Some(""),
    );
    let chunk = r#"{"sessionUpdate":"compaction_summary_chunk","compactionId":1,"content":{"type":"text","text":"s"}}"#;
    let patch = CompactionPatch {
        id: "1".to_owned(),
        status: None,
        summary: Some(Summary::More(text("s"))),
        error: None,
    };
    self::check(chunk, Update::Compaction(patch));
    check_unknown(
        r#"{"sessionUpdate":"compaction_update","status":"completed"}"#,
        "compaction_update",
    );
}

#[test]
fn unreadable_updates_are_kept_in_full() {
    check_unknown(
        r#"{"sessionUpdate":"state_update","state":"idle"}"#,
        "state_update",
    );
    check_unknown(
        r#"{"sessionUpdate":"agent_message_chunk"}"#,
        "agent_message_chunk",
    );
    check_unknown(r#"{"sessionUpdate":"plan","entries":{}}"#, "plan");
    check_unknown(r#"{"sessionUpdate":"usage_update"}"#, "usage_update");
    check_unknown(r#"{"sessionUpdate":"notice","severity":"info"}"#, "notice");
    check_unknown(r#"{"sessionUpdate":"tool_call","title":"x"}"#, "tool_call");
    check_unknown(r#"{"content":1}"#, "unknown");
    check_unknown(r#""x""#, "unknown");
}

#[test]
fn an_update_without_a_session_names_the_missing_field() {
    let check = |params: &str, why: &str| {
        let line = format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{params}}}"#);
        let method = "session/update".to_owned();
        let why = why.to_owned();
        let want = AgentNotification::Invalid { method, why };
        assert_eq!(one(&line), Message::Notification(want), "{line}");
    };
    check(r#"{"update":{}}"#, "params.sessionId: missing");
    check(r#"{"sessionId":"s"}"#, "params.update: missing");
    check("[]", "params: not an object");
}

#[test]
fn an_update_of_a_sub_agent_is_read_field_by_field() {
    let check = |more: &str, want: SubAgentPatch| {
        let json = format!(r#"{{"sessionUpdate":"subagent_update","sessionId":"c"{more}}}"#);
        assert_eq!(update(&json), Update::SubAgent(want));
    };
    let of = || SubAgentPatch {
        session: SessionId("c".into()),
        title: None,
        description: None,
        can_cancel: None,
        work: None,
    };
    check("", of());
    check(
        r#","title":"T","description":"D","capabilities":{"cancel":{}},"state":{"state":"running"}"#,
        SubAgentPatch {
            title: Some("T".into()),
            description: Some("D".into()),
            can_cancel: Some(true),
            work: Some(Work::Running),
            ..of()
        },
    );
    check(
        r#","title":null,"cwd":"/p","capabilities":{},"state":{"state":"new"}"#,
        of(),
    );
    let can_cancel = Some(false);
    check(
        r#","capabilities":{"cancel":null}"#,
        SubAgentPatch { can_cancel, ..of() },
    );
    for (state, work) in [
        (r#""requires_action""#, Work::Running),
        (r#""idle""#, Work::Done),
        (r#""idle","stopReason":"end_turn""#, Work::Done),
        (r#""idle","stopReason":"cancelled""#, Work::Cancelled),
        (r#""idle","stopReason":"error""#, Work::Failed(None)),
        (
            r#""idle","stopReason":"error","error":{"code":1,"message":"why"}"#,
            Work::Failed(Some("why".into())),
        ),
        (r#""unknown""#, Work::Unknown),
    ] {
        let work = Some(work);
        check(
            &format!(r#","state":{{"state":{state}}}"#),
            SubAgentPatch { work, ..of() },
        );
    }
    let nameless = update(r#"{"sessionUpdate":"subagent_update","title":"T"}"#);
    assert!(matches!(nameless, Update::Unknown { .. }), "{nameless:?}");
}

#[test]
fn a_message_between_sessions_names_both() {
    let id = |id: &str| Some(SessionId(id.into()));
    assert_eq!(
        update(
            r#"{"sessionUpdate":"session_message","messageId":"m","senderSessionId":"s","recipientSessionId":"c","content":[{"type":"text","text":"hi"}]}"#
        ),
        Update::SessionMessage(SessionMessage {
            id: Some("m".into()),
            sender: id("s"),
            recipient: id("c"),
            content: Some(vec![Content::Text("hi".into())]),
        })
    );
    assert_eq!(
        update(r#"{"sessionUpdate":"session_message","messageId":"m"}"#),
        Update::SessionMessage(SessionMessage {
            id: Some("m".into()),
            sender: None,
            recipient: None,
            content: None,
        })
    );
    assert_eq!(
        update(
            r#"{"sessionUpdate":"session_message_chunk","messageId":"m","content":{"type":"text","text":"hi"}}"#
        ),
        Update::SessionMessageChunk {
            id: "m".into(),
            content: Content::Text("hi".into()),
        }
    );
    for nameless in ["session_message", "session_message_chunk"] {
        let nameless = update(&format!(r#"{{"sessionUpdate":"{nameless}"}}"#));
        assert!(matches!(nameless, Update::Unknown { .. }), "{nameless:?}");
    }
}
