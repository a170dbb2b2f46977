//! Questions answered by rules: each is answered exactly once, shown in the chat, and never lost.

use serde_json::{Value, json};

use super::world::{A1, Part, S1, World};
use crate::event::{Event, SessionEvent};
use crate::questions::Answer;
use crate::questions::rules::{Action, RuleSpec, Rules};
use crate::spine::event::{ReviewAction, Scope};
use crate::spine::ids::QuestionId;

const ALLOW: Action = Action::Allow;
const REJECT: Action = Action::Reject;

/// A rule for commands if the pattern has a blank, otherwise for paths.
fn rule(action: Action, pattern: &str) -> RuleSpec {
    let is_command = pattern.contains(' ');
    let list = |is_meant: bool| Some(pattern.to_owned()).filter(|_| is_meant).into_iter();
    RuleSpec {
        agent: None,
        kinds: None,
        paths: list(!is_command).collect(),
        commands: list(is_command).collect(),
        action,
    }
}

/// Begins a turn under these rules.
fn ruled(rules: &[RuleSpec]) -> World {
    let mut w = World::ready();
    w.disk.put("/p/f", "a\nb\n");
    w.opens_file("/p/f");
    let rules = Rules::new(rules, "/home/me".as_ref()).unwrap();
    w.happens(Event::Configure {
        follow: Default::default(),
        limits: Default::default(),
        preview: Default::default(),
        accept_allowed: false,
        feedback: false,
        rules,
    });
    w.prompts("hi");
    w.skip();
    w
}

const ONCE: [(&str, &str); 2] = [("yes", "allow_once"), ("no", "reject_once")];

/// The agent asks about a tool call, with options of these kinds.
fn asks(w: &mut World, id: &str, tool: &Value, options: &[(&str, &str)]) {
    let options: Vec<Value> = options
        .iter()
        .map(|(id, kind)| json!({ "optionId": id, "name": id, "kind": kind }))
        .collect();
    let params = json!({ "sessionId": "s1", "toolCall": tool, "options": options });
    w.asks(id, "session/request_permission", &params);
}

fn edit(path: &str) -> Value {
    json!({
        "toolCallId": "e", "title": "Edit f", "kind": "edit",
        "content": [{ "type": "diff", "path": path, "oldText": "b", "newText": "c" }],
    })
}

fn run(command: &str) -> Value {
    json!({ "toolCallId": "r", "title": "bash", "kind": "execute", "rawInput": { "command": command } })
}

fn selected(option: &str) -> Result<Value, Value> {
    Ok(json!({ "outcome": { "outcome": "selected", "optionId": option } }))
}

#[test]
fn a_rule_answers_without_a_question_and_the_chat_shows_it() {
    let mut w = ruled(&[
        rule(ALLOW, "f"),
        rule(ALLOW, "git status *"),
        rule(REJECT, "git push *"),
    ]);
    asks(&mut w, "0", &edit("/p/f"), &ONCE);
    w.saw(&[
        r#"a1 <- answer 0 {"outcome":{"outcome":"selected","optionId":"yes"}}"#,
        "permission 1 of 1 answered by rule 1: yes",
    ]);
    asks(&mut w, "1", &run("git status && git push"), &ONCE);
    w.saw(&[
        r#"a1 <- answer 1 {"outcome":{"outcome":"selected","optionId":"no"}}"#,
        "permission 2 of 1 answered by rule 3: no",
    ]);
    assert!(w.editor.permission.is_none());
    let chat = w.chat();
    assert!(chat.contains("Allowed by rule 1: Edit f"), "{chat}");
    assert!(
        chat.contains("Rejected by rule 3: git status && git push"),
        "{chat}"
    );
}

#[test]
fn a_rules_answer_ends_the_preview() {
    let mut w = ruled(&[rule(ALLOW, "f")]);
    let mut call = edit("/p/f");
    call["sessionUpdate"] = json!("tool_call");
    w.updates(call);
    let buf = w.buf("/p/f");
    assert_eq!(w.editor.hunks[&buf].len(), 1);
    w.holds(Part::Disk);
    asks(&mut w, "0", &json!({ "toolCallId": "e" }), &ONCE);
    // While the path is resolved, no question is shown.
    assert!(w.editor.permission.is_none());
    assert!(w.model.snapshot().questions.is_empty());
    w.goes_on();
    assert_eq!(w.answer("0"), &selected("yes"));
    assert!(w.editor.hunks[&buf].is_empty());
}

#[test]
fn without_exactly_one_matching_option_the_user_is_asked() {
    let rules = [rule(ALLOW, "git status *"), rule(REJECT, "git push *")];
    let asked = |command: &str, options: &[(&str, &str)]| {
        let mut w = ruled(&rules);
        asks(&mut w, "0", &run(command), options);
        match w.editor.permission.is_some() {
            true => {
                w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
                "asked".to_owned()
            }
            false => {
                let answer = w.answer("0").clone().unwrap();
                answer["outcome"]["optionId"].as_str().unwrap().to_owned()
            }
        }
    };
    let both = ("always", "allow_always");
    assert_eq!(asked("git status", &[both, ("x", "allow_once")]), "x");
    assert_eq!(asked("git status", &[both, ("n", "reject_once")]), "asked");
    let two = [("x", "allow_once"), ("y", "allow_once")];
    assert_eq!(asked("git status", &two), "asked");
    assert_eq!(asked("git status", &[("x", "allow")]), "asked");
    // An id shared by two options selects neither.
    let same = [("x", "allow_once"), ("x", "allow_always")];
    assert_eq!(asked("git status", &same), "asked");
    let same = [("x", "reject_once"), ("x", "allow_once")];
    assert_eq!(asked("git push", &same), "asked");
    let never = ("never", "reject_always");
    assert_eq!(asked("git push", &[never, ("n", "reject_once")]), "n");
    assert_eq!(asked("git push", &[both, never]), "never");
    assert_eq!(asked("git push", &[both]), "asked");
}

#[test]
fn an_incomplete_request_is_shown_until_an_update_completes_it() {
    let mut w = ruled(&[rule(ALLOW, "git status *")]);
    asks(
        &mut w,
        "0",
        &json!({ "toolCallId": "r", "kind": "execute", "rawInput": {} }),
        &ONCE,
    );
    w.saw(&["permission 1 of 1 requested"]);
    assert!(w.editor.permission.is_some());
    w.updates(json!({
        "sessionUpdate": "tool_call_update", "toolCallId": "r",
        "rawInput": { "command": "git status" },
    }));
    assert_eq!(w.answer("0"), &selected("yes"));
    assert!(w.editor.permission.is_none());
    // A call that shows any other command is left to the user.
    asks(
        &mut w,
        "1",
        &json!({ "toolCallId": "s", "kind": "execute" }),
        &ONCE,
    );
    for command in ["git push", "git status; git push"] {
        w.updates(json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "s",
            "rawInput": { "command": command },
        }));
        assert!(w.editor.permission.is_some(), "{command}");
    }
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
}

#[test]
fn links_are_not_trusted() {
    let mut w = ruled(&[rule(ALLOW, "**"), rule(REJECT, "/etc/**")]);
    w.disk.link("/p/home", "/home/user");
    w.disk.link("/p/etc", "/etc");
    w.disk.link("/p/inside", "/p/f");
    w.skip();
    asks(&mut w, "0", &edit("/p/home/.bashrc"), &ONCE);
    assert!(w.was_told("permission 1 of 1 requested"));
    let id = QuestionId(1);
    w.happens(Event::Answer {
        id,
        answer: Answer::Option("no".into()),
    });
    asks(&mut w, "1", &edit("/p/etc/passwd"), &ONCE);
    assert_eq!(w.answer("1"), &selected("no"));
    asks(&mut w, "2", &edit("/p/inside"), &ONCE);
    assert_eq!(w.answer("2"), &selected("yes"));
}

#[test]
fn updates_while_links_are_resolved_count() {
    let mut w = ruled(&[rule(ALLOW, "f")]);
    w.holds(Part::Disk);
    asks(&mut w, "0", &edit("/p/f"), &ONCE);
    w.updates(json!({
        "sessionUpdate": "tool_call_update", "toolCallId": "e",
        "locations": [{ "path": "/p/f" }, { "path": "/p/other" }],
    }));
    w.goes_on();
    assert!(w.editor.permission.is_some());
    w.updates(json!({
        "sessionUpdate": "tool_call_update", "toolCallId": "e",
        "locations": [{ "path": "/p/f" }],
    }));
    // It was shown with the other path before.
    assert!(w.editor.permission.is_some());
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
}

#[test]
fn a_shown_call_is_never_allowed_as_another() {
    let rules = [rule(ALLOW, "git status *"), rule(REJECT, "git push *")];
    for shown in [
        run("wget x"),
        json!({ "toolCallId": "r", "kind": "execute", "title": "wget x" }),
        json!({ "toolCallId": "r", "kind": "other", "title": "wget x", "rawInput": { "a": 1 } }),
        json!({ "toolCallId": "r", "kind": "edit", "locations": [{ "path": "/etc/x" }] }),
    ] {
        let mut w = ruled(&rules);
        asks(&mut w, "0", &shown, &ONCE);
        for (command, is_open) in [("git status", true), ("git push", false)] {
            let mut update = run(command);
            update["sessionUpdate"] = json!("tool_call_update");
            w.updates(update);
            assert_eq!(w.editor.permission.is_some(), is_open, "{shown} {command}");
        }
        assert_eq!(w.answer("0"), &selected("no"));
    }
}

#[test]
fn a_command_is_not_allowed_in_a_folder_linked_from_outside() {
    let mut w = ruled(&[rule(ALLOW, "cd *"), rule(ALLOW, "git status *")]);
    w.disk.link("/p/etc", "/etc");
    asks(&mut w, "0", &run("cd etc && git status"), &ONCE);
    assert!(w.editor.permission.is_some());
    w.happens(Event::Answer {
        id: QuestionId(1),
        answer: Answer::Option("no".into()),
    });
    asks(&mut w, "1", &run("cd src && git status"), &ONCE);
    assert_eq!(w.answer("1"), &selected("yes"));
}

#[test]
fn a_question_can_end_while_links_are_resolved() {
    let mut w = ruled(&[rule(ALLOW, "f")]);
    w.holds(Part::Disk);
    asks(&mut w, "0", &edit("/p/f"), &ONCE);
    asks(&mut w, "1", &edit("/p/f"), &ONCE);
    w.notifies(A1, "$/cancel_request", &json!({ "requestId": 0 }));
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    assert!(w.answer("0").is_err());
    assert_eq!(
        w.answer("1"),
        &Ok(json!({ "outcome": { "outcome": "cancelled" } }))
    );
    // No question was shown, so no answer is announced.
    assert!(!w.was_told("permission"));
    w.goes_on();
    assert_eq!(w.agents[&A1].answers.len(), 2);
}

#[test]
fn a_question_the_user_has_begun_to_decide_is_not_answered_by_rules() {
    let mut w = ruled(&[rule(ALLOW, "f")]);
    let mut call = edit("/p/f");
    call["sessionUpdate"] = json!("tool_call");
    w.updates(call);
    w.decides(
        ReviewAction::Reject,
        Scope::File {
            path: "/p/f".into(),
        },
    );
    asks(&mut w, "0", &json!({ "toolCallId": "e" }), &ONCE);
    assert!(w.editor.permission.is_some());
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
}

#[test]
fn content_of_another_question_with_the_same_id_is_ignored() {
    let mut w = ruled(&[rule(ALLOW, "git status *"), rule(ALLOW, "f")]);
    asks(&mut w, "0", &run("git status"), &ONCE);
    assert_eq!(w.answer("0"), &selected("yes"));
    // The next question's call has no content in it.
    asks(
        &mut w,
        "1",
        &json!({ "toolCallId": "r", "title": "rm" }),
        &ONCE,
    );
    assert!(w.editor.permission.is_some());
    let id = QuestionId(2);
    let option = "no".into();
    w.happens(Event::Answer {
        id,
        answer: Answer::Option(option),
    });
    asks(&mut w, "2", &run("git status -s"), &ONCE);
    assert_eq!(w.answer("2"), &selected("yes"));
    // The same for a question about a completed call.
    let mut call = edit("/p/f");
    call["sessionUpdate"] = json!("tool_call");
    call["status"] = json!("completed");
    w.updates(call);
    asks(&mut w, "3", &json!({ "toolCallId": "e" }), &ONCE);
    assert!(w.editor.permission.is_some());
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
}

#[test]
fn a_command_with_a_diff_needs_a_rule_for_each() {
    let (command, path) = (rule(ALLOW, "cargo fmt"), rule(ALLOW, "f"));
    let mut call = run("cargo fmt");
    call["content"] = edit("/p/f")["content"].clone();
    let mut w = ruled(std::slice::from_ref(&command));
    asks(&mut w, "0", &call, &ONCE);
    assert!(w.editor.permission.is_some());
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
    let mut w = ruled(&[command, path]);
    asks(&mut w, "0", &call, &ONCE);
    assert_eq!(w.answer("0"), &selected("yes"));
}

#[test]
fn content_that_is_not_understood_is_not_allowed_by_a_rule() {
    let mut w = ruled(&[rule(ALLOW, "f")]);
    let mut call = edit("/p/f");
    let whole = call["content"].as_array_mut().expect("a list");
    whole.push(json!({ "type": "diff", "path": "/p/Makefile", "oldText": "x" }));
    asks(&mut w, "0", &call, &ONCE);
    assert!(w.editor.permission.is_some());
    w.happens(Event::Session(SessionEvent::Cancel { session: S1 }));
}
