//! Tool calls as patches.

use serde_json::json;

use super::*;

fn check(kind: &str, fields: &str, want: ToolCallPatch) {
    let json = format!(r#"{{"sessionUpdate":"{kind}","toolCallId":"t"{fields}}}"#);
    assert_eq!(update(&json), Update::ToolCall(want), "{json}");
}

fn check_update(fields: &str, want: ToolCallPatch) {
    check("tool_call_update", fields, want);
}

fn check_content(content: &str, want: Vec<ToolContent>) {
    let content_json = format!(r#","content":{content}"#);
    let content = Some(want);
    check_update(
        &content_json,
        ToolCallPatch {
            content,
            ..patch("t")
        },
    );
}

fn text(text: &str) -> ToolContent {
    ToolContent::Content(Content::Text(text.to_owned()))
}

fn unknown(json: serde_json::Value, kind: &str) -> ToolContent {
    let kind = kind.to_owned();
    ToolContent::Unknown { kind, raw: json }
}

#[test]
fn a_patch_has_exactly_the_fields_of_its_message() {
    check_update("", patch("t"));
    check_update(
        r#","title":"","kind":null,"status":null,"content":null,"locations":null,"rawInput":{},"rawOutput":null,"_meta":null"#,
        patch("t"),
    );
    check_update(
        r#","title":"T","kind":"edit","status":"in_progress","content":[],"locations":[],"rawInput":{"a":1},"rawOutput":"o","_meta":{"m":1}"#,
        ToolCallPatch {
            title: Some("T".to_owned()),
            kind: Some(ToolKind::Edit),
            status: Some(ToolStatus::InProgress),
            content: Some(vec![]),
            locations: Some(vec![]),
            raw_input: Some(json!({"a": 1})),
            raw_output: Some(json!("o")),
            meta: Some(json!({"m": 1})),
            ..patch("t")
        },
    );
}

#[test]
fn an_update_with_only_meta_is_kept() {
    let meta = Some(json!({"terminal_output": {"data": "x"}}));
    check_update(
        r#","_meta":{"terminal_output":{"data":"x"}}"#,
        ToolCallPatch { meta, ..patch("t") },
    );
}

#[test]
fn a_tool_call_names_the_call_whose_sub_agent_made_it() {
    let meta = json!({"claudeCode": {"parentToolUseId": "task"}});
    check_update(
        r#","_meta":{"claudeCode":{"parentToolUseId":"task"}}"#,
        ToolCallPatch {
            parent: Some(ToolCallId("task".into())),
            meta: Some(meta),
            ..patch("t")
        },
    );
}

#[test]
fn a_tool_call_may_lack_its_title_and_clears_nothing() {
    let title = Some("Bash".to_owned());
    check(
        "tool_call",
        r#","name":"Bash","content":[],"locations":[],"rawInput":{}"#,
        ToolCallPatch {
            title,
            ..patch("t")
        },
    );
    check("tool_call", "", patch("t"));
    let title = Some("Run".to_owned());
    check(
        "tool_call",
        r#","name":"Bash","title":"Run""#,
        ToolCallPatch {
            title,
            ..patch("t")
        },
    );
}

#[test]
fn an_id_may_be_a_number() {
    assert_eq!(
        update(r#"{"sessionUpdate":"tool_call_update","toolCallId":12}"#),
        Update::ToolCall(patch("12"))
    );
}

#[test]
fn kinds_are_known_or_kept_by_name() {
    let check = |kind_json: &str, want| {
        let fields = format!(r#","kind":{kind_json}"#);
        let kind = want;
        check_update(&fields, ToolCallPatch { kind, ..patch("t") });
    };
    check("\"read\"", Some(ToolKind::Read));
    check("\"delete\"", Some(ToolKind::Delete));
    check("\"move\"", Some(ToolKind::Move));
    check("\"search\"", Some(ToolKind::Search));
    check("\"execute\"", Some(ToolKind::Execute));
    check("\"think\"", Some(ToolKind::Think));
    check("\"fetch\"", Some(ToolKind::Fetch));
    check("\"switch_mode\"", Some(ToolKind::SwitchMode));
    check("\"other\"", Some(ToolKind::Other));
    check("\"dance\"", Some(ToolKind::Unknown("dance".to_owned())));
    check("{}", None);
}

#[test]
fn an_unknown_status_changes_nothing() {
    let check = |status_json: &str, want| {
        let fields = format!(r#","status":{status_json},"title":"T""#);
        let (status, title) = (want, Some("T".to_owned()));
        check_update(
            &fields,
            ToolCallPatch {
                status,
                title,
                ..patch("t")
            },
        );
    };
    check("\"pending\"", Some(ToolStatus::Pending));
    check("\"completed\"", Some(ToolStatus::Completed));
    check("\"failed\"", Some(ToolStatus::Failed));
    check("\"cancelled\"", Some(ToolStatus::Cancelled));
    check("\"running\"", Some(ToolStatus::InProgress));
    check("\"pondering\"", None);
    check("3", None);
}

#[test]
fn rows_are_zero_based() {
    let check = |line: &str, row| {
        let fields = format!(r#","locations":[{{"path":"/a","line":{line}}}]"#);
        let path = "/a".into();
        let locations = Some(vec![Location { path, row }]);
        check_update(
            &fields,
            ToolCallPatch {
                locations,
                ..patch("t")
            },
        );
    };
    check("1", Some(0));
    check("0", Some(0));
    check("12", Some(11));
    check("12.0", Some(11));
    check("\"12\"", Some(11));
    check("null", None);
    check("-4", None);
    check("1e20", Some(u32::MAX));
}

#[test]
fn a_location_without_a_path_is_left_out() {
    let path = "/b".into();
    let locations = Some(vec![Location { path, row: None }]);
    check_update(
        r#","locations":[{"line":1},{"path":null},"/b",7]"#,
        ToolCallPatch {
            locations,
            ..patch("t")
        },
    );
    check_update(r#","locations":{}"#, patch("t"));
}

#[test]
fn diffs_are_passed_on_unchanged() {
    let diff = |old: Option<&str>, new: &str| ToolContent::Diff {
        path: "/a".into(),
        old: old.map(str::to_owned),
        new: new.to_owned(),
    };
    check_content(
        r#"[{"type":"diff","path":"/a","oldText":"x","newText":"y"},
            {"type":"diff","path":"/a","oldText":null,"newText":"y"},
            {"type":"diff","path":"/a","newText":"y"},
            {"type":"diff","path":"/a","oldText":"[file deleted]","newText":""},
            {"path":"/a","oldText":"","newText":"y"}]"#,
        vec![
            diff(Some("x"), "y"),
            diff(None, "y"),
            diff(None, "y"),
            diff(Some("[file deleted]"), ""),
            diff(Some(""), "y"),
        ],
    );
}

#[test]
fn content_items_are_read_in_any_wrapping() {
    let terminal = |id: &str| ToolContent::Terminal {
        id: TerminalId(id.into()),
    };
    check_content(
        r#"[{"type":"content","content":{"type":"text","text":"a"}},
            {"type":"terminal","terminalId":"x"},
            {"type":"terminal","terminalId":3},
            {"type":"text","text":"b"},
            {"content":"c"},
            "d"]"#,
        vec![
            text("a"),
            terminal("x"),
            terminal("3"),
            text("b"),
            text("c"),
            text("d"),
        ],
    );
    check_content(r#"{"type":"text","text":"alone"}"#, vec![text("alone")]);
}

#[test]
fn an_unknown_item_keeps_its_position() {
    let hologram = Content::Unknown {
        kind: "hologram".to_owned(),
        raw: json!({"type": "hologram"}),
    };
    check_content(
        r#"["a", {"type":"table","rows":[1]}, {"type":"content","content":{"type":"hologram"}},
            {"type":"diff","path":"/a"}, {"type":"diff","newText":"x"}, {"type":"terminal"}, 5, "b"]"#,
        vec![
            text("a"),
            unknown(json!({"type": "table", "rows": [1]}), "table"),
            ToolContent::Content(hologram),
            unknown(json!({"type": "diff", "path": "/a"}), "diff"),
            unknown(json!({"type": "diff", "newText": "x"}), "diff"),
            unknown(json!({"type": "terminal"}), "terminal"),
            text("5"),
            text("b"),
        ],
    );
}

#[test]
fn a_patch_in_the_input_stands_in_for_a_missing_diff() {
    let input = json!({
        "filepath": "/p/a",
        "diff": "Index: /p/a\n===\n--- /p/a\n+++ /p/a\n@@ -3,2 +3,2 @@\n one\n-two\n+TWO\n",
    });
    let diff = ToolContent::Diff {
        path: "/p/a".into(),
        old: Some("one\ntwo\n".to_owned()),
        new: "one\nTWO\n".to_owned(),
    };
    let place = |row| {
        vec![Location {
            path: "/p/a".into(),
            row,
        }]
    };
    check_update(
        &format!(r#","rawInput":{input},"locations":[{{"path":"/p/a"}}]"#),
        ToolCallPatch {
            content: Some(vec![diff]),
            locations: Some(place(Some(2))),
            raw_input: Some(input.clone()),
            ..patch("t")
        },
    );
    // The agent's own diff is better.
    let content = r#"[{"type":"diff","path":"/p/a","oldText":"x","newText":"y"}]"#;
    let own = ToolContent::Diff {
        path: "/p/a".into(),
        old: Some("x".to_owned()),
        new: "y".to_owned(),
    };
    check_update(
        &format!(r#","rawInput":{input},"content":{content}"#),
        ToolCallPatch {
            content: Some(vec![own]),
            raw_input: Some(input.clone()),
            ..patch("t")
        },
    );
    // Text that is not a patch is only shown.
    let input = json!({ "filepath": "/p/a", "diff": "see above" });
    check_update(
        &format!(r#","rawInput":{input}"#),
        ToolCallPatch {
            raw_input: Some(input.clone()),
            ..patch("t")
        },
    );
}
