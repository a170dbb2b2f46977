//! Tool calls: their permissions, their results, and their entries in the chat.

use serde_json::json;

use super::super::world::{S1, World};
use super::{id, tools};
use crate::conversation::session::Phase;
use crate::event::{Event, ToolEvent};
use crate::questions::Answer;
use crate::questions::rules::{Action, RuleSpec, Rules};
use crate::spine::ids::QuestionId;
use crate::spine::tool::{Progress, ToolPermission, ToolResult};

/// Returns the chat without trailing newlines.
fn chat(w: &World) -> String {
    w.chat().trim_end().to_owned()
}

fn choose(w: &mut World, number: u64, option: &str) {
    w.happens(Event::Answer {
        id: QuestionId(number),
        answer: Answer::Option(option.into()),
    });
}

/// Returns the shown question: its title, its lines, the names of its options.
fn shown(w: &World) -> (String, Vec<String>, Vec<String>) {
    let view = w.editor.permission.as_ref();
    let view = view.unwrap_or_else(|| panic!("nobody is asked"));
    let lines = view.lines.iter().map(|line| line.text.to_string());
    let names = view.options.iter().map(|option| option.name.to_string());
    (view.title.to_string(), lines.collect(), names.collect())
}

#[test]
fn an_allowed_call_runs_and_is_answered() {
    let mut w = World::with_tools();
    w.begins(5, "look");
    assert_eq!(chat(&w), "❯ hi\n\n○ ◦ The look  pending");
    w.uses(5, "look", json!({ "path": "src/a" }));
    w.saw(&[r#"run 5 look {"path":"src/a"} for 1"#]);
    assert_eq!(
        chat(&w),
        "❯ hi\n\n◐ ◦ The look  in progress  src/a\n  path: src/a"
    );
    w.tool_is_done(5, "seen");
    w.saw(&["tool 5 is done: seen"]);
    assert_eq!(chat(&w), "❯ hi\n\n✓ ◦ The look  completed  src/a\n  seen");
    w.tool_is_done(5, "again");
    w.saw(&[]);
}

#[test]
fn a_call_may_arrive_unannounced_and_outside_a_turn() {
    let mut w = World::with_tools();
    w.ends_turn("end_turn");
    w.skip();
    w.uses(1, "look", json!({}));
    w.saw(&["run 1 look {} for 1"]);
    let result = ToolResult::error("no");
    w.happens(Event::Tool(ToolEvent::Done { id: id(1), result }));
    w.saw(&["tool 1 fails: no"]);
    assert!(
        chat(&w).ends_with("✗ ◦ The look  failed\n  no"),
        "{}",
        chat(&w)
    );
}

#[test]
fn a_tools_result_is_shown_by_its_content_type() {
    let mut w = World::with_tools();
    w.uses(1, "look", json!({}));
    let image = json!({ "type": "image", "mimeType": "image/png", "data": "AAAA" });
    let link = json!({ "type": "resource_link", "uri": "file:///p/a", "name": "a" });
    let result = ToolResult {
        content: vec![image, link],
        structured: None,
        is_error: false,
    };
    w.happens(Event::Tool(ToolEvent::Done { id: id(1), result }));
    assert!(chat(&w).contains("image/png"), "{}", chat(&w));
}

#[test]
fn calling_an_unavailable_tool_is_an_error() {
    let mut w = World::with_tools();
    let off = |on| {
        Event::Tool(ToolEvent::Switched {
            name: "look".into(),
            on,
        })
    };
    w.uses(1, "nothing", json!({}));
    w.uses(2, "never", json!({}));
    w.begins(3, "look");
    w.happens(off(false));
    w.uses(3, "look", json!({}));
    w.happens(Event::Tool(ToolEvent::Used {
        id: id(4),
        session: crate::spine::ids::SessionKey(9),
        name: "look".into(),
        arguments: Ok(Default::default()),
    }));
    let none = "Neovim does not offer this tool; list the tools again.";
    let saw = [
        format!("tool 1 fails: {none}"),
        "tool 2 fails: The user's configuration rejects calls of this tool: go on without it."
            .into(),
        "offer change never".into(),
        format!("tool 3 fails: {none}"),
        "tool 4 fails: The call was cancelled.".into(),
    ];
    w.saw(&saw.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(chat(&w).contains("✗ ◦ nothing  failed\n"), "{}", chat(&w));
}

#[test]
fn a_tool_disabled_during_its_question_does_not_run() {
    let mut w = World::with_tools();
    w.uses(1, "change", json!({}));
    w.happens(Event::Tool(ToolEvent::Switched {
        name: "change".into(),
        on: false,
    }));
    w.skip();
    choose(&mut w, 1, "allow");
    w.saw(&[
        "tool 1 fails: Neovim does not offer this tool; list the tools again.",
        "permission 1 of 1 answered: allow",
    ]);
}

#[test]
fn a_call_with_wrong_arguments_is_only_shown() {
    let mut w = World::with_tools();
    for begins in [true, false] {
        if begins {
            w.begins(1, "look");
        }
        w.happens(Event::Tool(ToolEvent::Used {
            id: id(1 + u64::from(!begins)),
            session: S1,
            name: "look".into(),
            arguments: Err("path: is missing".into()),
        }));
    }
    w.saw(&[]);
    let failed = "✗ ◦ The look  failed\n  path: is missing";
    assert_eq!(chat(&w), format!("❯ hi\n\n{failed}\n\n{failed}"));
}

#[test]
fn the_question_shows_all_arguments() {
    let mut w = World::with_tools();
    w.uses(1, "change", json!({ "note": "two\nlines", "count": 2 }));
    w.saw(&["permission 1 of 1 requested"]);
    assert_eq!(w.model.phase(S1), Phase::Waiting);
    let (title, lines, options) = shown(&w);
    assert_eq!(title, "bot asks for permission");
    assert_eq!(
        lines,
        ["tool  The change", "note:", "  two", "  lines", "count: 2"]
    );
    assert_eq!(
        options,
        ["Allow", "Always allow The change in this session", "Reject"]
    );
    choose(&mut w, 1, "allow");
    let ran = r#"run 1 change {"note":"two\nlines","count":2} for 1"#;
    w.saw(&[ran, "permission 1 of 1 answered: allow"]);
    w.tool_is_done(1, "ok");
    w.skip();
    // "Allow" holds for one call.
    w.uses(2, "change", json!({}));
    w.saw(&["permission 2 of 1 requested"]);
    choose(&mut w, 2, "reject");
    w.saw(&[
        "tool 2 fails: The user has rejected this call of change: ask them what to do instead, \
         or go on without it.",
        "permission 2 of 1 answered: reject",
    ]);
}

#[test]
fn edits_of_a_file_are_shown_as_a_diff() {
    let mut w = World::with_tools();
    w.disk.put("/p/f", "a\nc\n");
    let mut all = tools();
    all.push(crate::spine::tool::ToolSpec {
        is_builtin: true,
        ..super::tool("edit", ToolPermission::Ask)
    });
    w.happens(Event::Tool(ToolEvent::Defined(all)));
    let edit = json!({ "old_text": "a\n", "new_text": "b\n" });
    w.uses(1, "edit", json!({ "path": "f", "edits": [edit] }));
    let lines = shown(&w).1;
    assert_eq!(lines, ["tool  The edit", "/p/f", "- a", "+ b"]);
}

#[test]
fn a_user_defined_tools_arguments_are_not_shown_as_a_diff() {
    let mut w = World::with_tools();
    w.disk.put("/p/f", "a\nc\n");
    let edit = json!({ "old_text": "a\n", "new_text": "b\n" });
    let arguments = json!({ "path": "f", "edits": [edit], "script": "rm it" });
    w.uses(1, "change", arguments);
    let text = shown(&w).1.join("\n");
    assert!(
        text.contains("rm it") && text.contains("old_text"),
        "{text}"
    );
}

#[test]
fn a_tool_redefined_during_its_question_does_not_run() {
    let mut w = World::with_tools();
    w.uses(1, "change", json!({}));
    let mut all = tools();
    for tool in &mut all {
        tool.kind = "delete".into();
    }
    w.happens(Event::Tool(ToolEvent::Defined(all.clone())));
    w.skip();
    choose(&mut w, 1, "always");
    assert!(
        w.was_told("tool 1 fails: The tool was defined anew"),
        "{:?}",
        w.log
    );
    // The permission for the old definition does not cover the new one.
    w.uses(2, "change", json!({}));
    choose(&mut w, 2, "always");
    for tool in &mut all {
        tool.kind = "execute".into();
    }
    w.happens(Event::Tool(ToolEvent::Defined(all)));
    w.skip();
    w.uses(3, "change", json!({}));
    w.saw(&["permission 3 of 1 requested"]);
}

#[test]
fn always_is_remembered_for_the_tool_and_the_session() {
    let mut w = World::with_tools();
    w.uses(1, "change", json!({}));
    choose(&mut w, 1, "always");
    w.uses(2, "change", json!({ "x": 1 }));
    let ran = r#"run 2 change {"x":1} for 1"#;
    assert!(w.was_told(ran), "{:?}", w.log);
    let mut all = tools();
    all.push(super::tool("other", ToolPermission::Ask));
    w.happens(Event::Tool(ToolEvent::Defined(all)));
    w.skip();
    w.uses(3, "other", json!({}));
    w.saw(&["permission 2 of 1 requested"]);
    w.opens_with_tools(2);
    w.skip();
    w.happens(Event::Tool(ToolEvent::Used {
        id: id(4),
        session: crate::spine::ids::SessionKey(2),
        name: "change".into(),
        arguments: Ok(Default::default()),
    }));
    w.saw(&["permission 3 of 2 requested"]);
}

#[test]
fn rules_answer_before_the_user_is_asked() {
    for (action, want) in [
        (Action::Allow, "run 1 change"),
        (Action::Reject, "tool 1 fails: The user has rejected"),
        (Action::Ask, "permission 1 of 1 requested"),
    ] {
        let mut w = World::with_tools();
        let rule = RuleSpec {
            agent: None,
            kinds: Some(vec!["other".into()]),
            paths: vec!["/p/**".into()],
            commands: Vec::new(),
            action,
        };
        w.happens(Event::Configure {
            limits: Default::default(),
            preview: Default::default(),
            accept_allowed: false,
            feedback: Default::default(),
            follow: Default::default(),
            rules: Rules::new(&[rule], "/home/me".as_ref()).unwrap(),
        });
        w.uses(1, "change", json!({ "path": "/p/f" }));
        assert!(w.was_told(want), "{action:?}: {:?}", w.log);
    }
}

#[test]
fn a_calls_progress_is_announced_and_shown() {
    let mut w = World::with_tools();
    w.uses(1, "look", json!({}));
    w.skip();
    let progress = Progress {
        done: 2.0,
        total: Some(5.0),
        message: Some("files".into()),
    };
    w.happens(Event::Tool(ToolEvent::Progressed {
        id: id(1),
        progress,
    }));
    w.saw(&["tool 1 reports 2/5 files"]);
    assert_eq!(
        chat(&w),
        "❯ hi\n\n◐ ◦ The look  in progress\n  2 of 5: files"
    );
    w.tool_is_done(1, "all");
    assert_eq!(chat(&w), "❯ hi\n\n✓ ◦ The look  completed\n  all");
}

#[test]
fn a_call_counts_as_a_running_tool() {
    let mut w = World::with_tools();
    w.uses(1, "look", json!({}));
    let running = |w: &World| w.model.snapshot().sessions[0].tools.running;
    assert_eq!(running(&w), 1);
    w.tool_is_done(1, "all");
    assert_eq!(running(&w), 0);
}
