//! Verdicts of rules on requests of every shape.

use serde_json::{Value, json};

use super::asked::Asked;
use super::{Action, RuleSpec, Rules, Verdict};
use crate::render::toolcall::ToolCall;
use acp::{AgentRequest, Message, rpc};

/// Reads rules as written in the user's configuration.
pub fn rules(list: &Value) -> Rules {
    Rules::new(&specs(list), "/home/me".as_ref()).expect("the rules are right")
}

fn specs(list: &Value) -> Vec<RuleSpec> {
    let texts = |value: &Value| -> Vec<String> {
        match value {
            Value::String(text) => vec![text.clone()],
            Value::Array(texts) => texts
                .iter()
                .map(|text| text.as_str().expect("a text").to_owned())
                .collect(),
            _ => Vec::new(),
        }
    };
    let list = list.as_array().expect("a list").iter();
    list.map(|rule| RuleSpec {
        agent: rule["agent"].as_str().map(str::to_owned),
        kinds: Some(texts(&rule["kind"])).filter(|kinds| !kinds.is_empty()),
        paths: texts(&rule["path"]),
        commands: texts(&rule["command"]),
        action: match rule["action"].as_str() {
            Some("allow") => Action::Allow,
            Some("reject") => Action::Reject,
            _ => Action::Ask,
        },
    })
    .collect()
}

/// Returns the tool call of a permission request as decoded from the wire.
fn tool(call: &Value) -> ToolCall {
    let mut call = call.clone();
    call["toolCallId"] = json!("t");
    let request = json!({
        "jsonrpc": "2.0", "id": 0, "method": "session/request_permission",
        "params": { "sessionId": "s", "toolCall": call, "options": [] },
    });
    let message = rpc::decode(request.to_string().as_bytes())
        .into_iter()
        .next();
    let Some(Message::Request {
        call: AgentRequest::Permission { tool_call, .. },
        ..
    }) = message
    else {
        panic!("no permission request: {message:?}");
    };
    ToolCall::of(tool_call)
}

/// Returns the verdict on a tool call of the agent `bot` in the folder `/p`.
pub fn verdict(rules: &Rules, call: &Value) -> String {
    let asked = Asked::of(&tool(call), "bot", "/p".as_ref());
    match rules.decide(&asked, &["/p".into(), "/other".into()]) {
        Verdict::Allow(by) => format!("allow {by:?}"),
        Verdict::Reject(rule) => format!("reject {rule}"),
        Verdict::Ask => "ask".to_owned(),
    }
}

#[track_caller]
pub fn check(list: &Value, call: Value, want: &str) {
    assert_eq!(verdict(&rules(list), &call), want, "{call}");
}

pub fn run(command: &str) -> Value {
    json!({ "kind": "execute", "rawInput": { "command": command } })
}

pub fn edit(path: &str) -> Value {
    json!({ "kind": "edit", "content": [
        { "type": "diff", "path": path, "oldText": "a", "newText": "b" },
    ] })
}

#[test]
fn without_rules_everything_is_asked() {
    check(&json!([]), run("ls"), "ask");
    check(&json!([]), edit("/p/a"), "ask");
}

#[test]
fn an_edit_is_allowed_where_all_its_paths_match() {
    let list = json!([{ "kind": "edit", "path": ["src/**", "docs/"], "action": "allow" }]);
    check(&list, edit("/p/src/a.rs"), "allow [1]");
    check(&list, edit("src/a.rs"), "allow [1]");
    check(&list, edit("/p/docs/a/b.md"), "allow [1]");
    check(&list, edit("/p/src/../docs/a"), "ask");
    check(&list, edit("/p/src/link/./../a"), "ask");
    check(&list, edit("src/link/.."), "ask");
    check(&list, edit("/p/src/../a"), "ask");
    check(&list, edit("/p/a"), "ask");
    check(&list, edit("/q/src/a.rs"), "ask");
    check(&list, edit("~/src/a.rs"), "ask");
    check(&list, edit("/p/src/$HOME"), "ask");
    check(&list, json!({ "kind": "edit" }), "ask");
    check(&list, json!({ "kind": "edit", "rawInput": {} }), "ask");
    // Every path named anywhere in the call must be covered.
    for elsewhere in [
        json!({ "locations": [{ "path": "/p/src/a" }, { "path": "/p/b" }] }),
        json!({ "rawInput": { "file_path": "/p/b" } }),
        json!({ "rawInput": { "filePath": "b" } }),
        json!({ "rawInput": { "files": [{ "path": "/p/src/x" }, { "path": "/p/b" }] } }),
        json!({ "rawInput": { "unheard_of": "/etc/passwd" } }),
        json!({ "rawInput": { "to": ["../x"] } }),
        json!({ "rawInput": { "changes": { "/p/b": { "type": "update" } } } }),
        json!({ "rawInput": { "input": "*** Begin Patch\n*** Update File: /p/b\n*** End Patch" } }),
        json!({ "rawInput": "/p/src/a" }),
    ] {
        let mut call = edit("/p/src/a.rs");
        let fields = call.as_object_mut().expect("an object");
        fields.extend(elsewhere.as_object().expect("an object").clone());
        check(&list, call, "ask");
    }
    // The texts of an edit are not paths.
    let mut call = edit("/p/src/a.rs");
    call["rawInput"] = json!({
        "file_path": "/p/src/a.rs", "old_string": "/etc", "new_string": "~/x", "content": "/y",
    });
    check(&list, call, "allow [1]");
}

#[test]
fn what_a_request_is_called_does_not_hide_what_it_does() {
    let list = json!([{ "kind": "read", "path": "**", "action": "allow" }]);
    let read = |more: Value| {
        let mut call = json!({ "kind": "read", "locations": [{ "path": "/p/a" }] });
        let fields = call.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        call
    };
    check(&list, read(json!({})), "allow [1]");
    check(
        &list,
        read(json!({ "content": edit("/p/a")["content"] })),
        "ask",
    );
    check(
        &list,
        read(json!({ "rawInput": { "command": "cat a" } })),
        "ask",
    );
    let patch = "*** Begin Patch\n*** Delete File: /p/a\n*** End Patch";
    check(
        &list,
        read(json!({ "rawInput": { "input": patch } })),
        "ask",
    );
}

#[test]
fn a_path_alone_allows_reading_searching_and_editing_and_the_rest_by_its_name() {
    let all = json!([{ "path": "**", "action": "allow" }]);
    let named = |kind: &str| json!([{ "kind": kind, "path": "**", "action": "allow" }]);
    for (kind, by_path, by_name) in [
        ("read", true, true),
        ("search", true, true),
        ("edit", true, true),
        ("delete", false, true),
        ("move", false, true),
        ("other", false, true),
        ("execute", false, false),
        ("fetch", false, false),
        ("think", false, false),
        ("switch_mode", false, false),
    ] {
        let call = json!({ "kind": kind, "locations": [{ "path": "/p/a" }] });
        let says = |yes| if yes { "allow [1]" } else { "ask" };
        check(&all, call.clone(), says(by_path));
        check(&named(kind), call, says(by_name));
    }
    // An unknown kind and a missing one count as `other`.
    for kind in [json!("explode"), Value::Null] {
        let call = json!({ "kind": kind, "locations": [{ "path": "/p/a" }] });
        check(&all, call.clone(), "ask");
        check(&named("other"), call, "allow [1]");
    }
    // A patch that deletes or moves files is recognized as such.
    let patch = |lines: &str| json!({ "kind": "edit", "rawInput": { "patch": format!("*** Begin Patch\n{lines}") } });
    check(&all, patch("*** Update File: a\n+x"), "allow [1]");
    check(&all, patch("*** Delete File: a"), "ask");
    check(&all, patch("*** Update File: a\n*** Move to: b"), "ask");
    let both = json!([{ "kind": ["edit", "delete", "move"], "path": "**", "action": "allow" }]);
    check(
        &both,
        patch("*** Update File: a\n*** Move to: b"),
        "allow [1]",
    );
    check(&both, patch("*** Update File: a\n*** Move to: /b"), "ask");
}

#[test]
fn a_command_is_allowed_when_each_part_of_it_is() {
    let list = json!([
        { "command": "git status*", "action": "allow" },
        { "kind": "execute", "command": ["cargo test", "ls *"], "action": "allow" },
    ]);
    check(&list, run("git status -s"), "allow [1]");
    check(
        &list,
        run("ls -l && git status; cargo test"),
        "allow [1, 2]",
    );
    check(&list, run("git status; rm -rf ~"), "ask");
    check(&list, run("git status && cargo test --release"), "ask");
    check(&list, run("git status $(rm x)"), "ask");
    check(&list, run("git status > x"), "ask");
    check(&list, run("git status &"), "ask");
    check(&list, run(" "), "ask");
    let words = json!(["/bin/bash", "-lc", "git status | ls"]);
    let call = |input: Value| json!({ "kind": "execute", "rawInput": input });
    check(
        &list,
        call(json!({ "command": words, "cwd": "/p" })),
        "allow [1, 2]",
    );
    check(
        &list,
        call(json!({ "commands": ["ls", "git status"] })),
        "allow [1, 2]",
    );
    check(
        &list,
        call(json!({ "command": "ls", "args": ["-l"] })),
        "allow [2]",
    );
    check(
        &list,
        call(json!({ "command": "cargo", "args": ["test"] })),
        "allow [2]",
    );
    check(
        &list,
        call(json!({ "command": "cargo test", "args": ["--x"] })),
        "ask",
    );
    check(
        &list,
        call(json!({ "command": "ls", "args": { "0": "x" } })),
        "ask",
    );
    check(&list, call(json!({ "command": "ls", "cmd": "rm" })), "ask");
    check(&list, call(json!({ "command": { "run": "ls" } })), "ask");
    check(&list, json!({ "kind": "execute", "title": "ls" }), "ask");
    // The second rule applies to executions only.
    let read = json!({ "kind": "read", "rawInput": { "command": "ls" } });
    check(&list, read, "ask");
}

#[test]
fn a_command_runs_in_the_sessions_folders_and_with_no_more_power_than_it_shows() {
    let list = json!([{ "command": "ls *", "action": "allow" }]);
    for (field, value, want) in [
        ("cwd", json!("/p/sub"), "allow [1]"),
        ("cwd", json!("sub"), "allow [1]"),
        ("description", json!("/etc"), "allow [1]"),
        ("timeout", json!(5), "allow [1]"),
        ("env", json!({}), "allow [1]"),
        ("env", json!({ "LD_PRELOAD": "x" }), "ask"),
        ("dangerouslyDisableSandbox", json!(false), "allow [1]"),
        ("dangerouslyDisableSandbox", json!(true), "ask"),
        ("sandbox_permissions", json!("require_escalated"), "ask"),
    ] {
        let mut call = run("ls -l");
        call["rawInput"][field] = value;
        check(&list, call, want);
    }
}

#[test]
fn a_request_with_a_command_and_a_diff_needs_both_allowed() {
    let command = json!({ "command": "sed *", "action": "allow" });
    let path = json!({ "path": "**", "action": "allow" });
    let mut call = edit("/p/a");
    call["rawInput"] = json!({ "command": "sed -i s/a/b/ a" });
    check(&json!([command]), call.clone(), "ask");
    check(&json!([path]), call.clone(), "ask");
    check(&json!([command, path]), call, "allow [1, 2]");
}

#[test]
fn the_strictest_rule_wins_wherever_it_stands() {
    let mut list = vec![
        json!({ "command": "git *", "action": "allow" }),
        json!({ "command": "git push", "action": "reject" }),
        json!({ "command": "git commit *", "action": "ask" }),
    ];
    for _ in 0..list.len() {
        list.rotate_left(1);
        let place = list.iter().position(|rule| rule["action"] == "reject");
        let reject = format!("reject {}", place.expect("it is there") + 1);
        let list = json!(list);
        let got = verdict(&rules(&list), &run("git log"));
        assert!(got.starts_with("allow"), "{got}");
        check(&list, run("git push origin main"), &reject);
        check(&list, run("git log && git commit -m x"), "ask");
        check(&list, run("git commit -m 'git push'"), &reject);
    }
}

#[test]
fn a_rejection_finds_any_path_and_any_part() {
    let list = json!([
        { "path": "**/.env*", "action": "reject" },
        { "command": "rm *", "action": "reject" },
        { "kind": "fetch", "agent": "b*", "action": "reject" },
    ]);
    check(&list, edit("/p/sub/.env.local"), "reject 1");
    check(&list, edit("/p/.ENV"), "reject 1");
    let two = json!({ "kind": "edit", "locations": [{ "path": "/p/a" }, { "path": "/p/.env" }] });
    check(&list, two, "reject 1");
    check(&list, run("cat ./.env"), "reject 1");
    check(&list, run("x --file=.env"), "reject 1");
    check(&list, run("cd x && sudo /bin/rm -r y"), "reject 2");
    check(&list, run("echo $(rm y)"), "reject 2");
    check(
        &list,
        json!({ "kind": "execute", "title": "rm y" }),
        "reject 2",
    );
    let said =
        json!([{ "type": "content", "content": { "type": "text", "text": "Running: rm y" } }]);
    check(
        &list,
        json!({ "title": "Bash", "content": said }),
        "reject 2",
    );
    check(
        &list,
        json!({ "kind": "fetch", "rawInput": { "url": "https://x" } }),
        "reject 3",
    );
    check(&list, edit("/p/rm"), "ask");
    let at_home = json!([
        { "path": "/home/me/.ssh/**", "action": "reject" },
        { "command": "cat *", "action": "allow" },
    ]);
    for path in [
        "~/.ssh/id",
        "/home/me/.ssh/id",
        "$HOME/.ssh/id",
        "../home/me/.ssh/id",
    ] {
        check(&at_home, run(&format!("cat {path}")), "reject 1");
    }
    check(&at_home, edit("~/.ssh/id"), "reject 1");
    check(&at_home, run("cat ~/x"), "allow [2]");
    let by_folder = json!([{ "path": "secrets", "action": "reject" }]);
    check(&by_folder, edit("/p/secrets/key"), "reject 1");
}

#[test]
fn a_rule_may_be_for_one_agent() {
    let list = json!([{ "agent": "b?t", "path": "**", "action": "allow" }]);
    check(&list, edit("/p/a"), "allow [1]");
    let list = json!([{ "agent": "claude", "path": "**", "action": "allow" }]);
    check(&list, edit("/p/a"), "ask");
}

#[test]
fn a_repositorys_own_files_are_allowed_by_name_alone() {
    check(
        &json!([{ "path": "**", "action": "allow" }]),
        edit("/p/.git/config"),
        "ask",
    );
    check(
        &json!([{ "path": ".git/*", "action": "allow" }]),
        edit("/p/.git/config"),
        "allow [1]",
    );
    let all = json!([{ "path": "**", "action": "allow" }]);
    check(&all, edit("/p/.bare/hooks/pre-commit"), "ask");
    check(&all, edit("/p/fixtures/x.git/config"), "ask");
}

#[test]
fn a_call_that_is_too_large_to_be_read_names_something() {
    let call = json!({ "kind": "execute", "title": "rm x ".repeat(100_000) });
    assert!(Asked::of(&tool(&call), "bot", "/p".as_ref()).names_something());
}

#[test]
fn what_is_wrong_is_named_by_rule_and_field() {
    let list = json!([
        { "path": "ok", "action": "allow" },
        { "path": ["ok", "a["], "command": "a && b", "action": "allow" },
    ]);
    let problems = Rules::new(&specs(&list), "/home/me".as_ref()).expect_err("two mistakes");
    assert_eq!(
        problems,
        [
            "permissions.rules[2].path: \"a[\": unclosed character class; missing ']'",
            "permissions.rules[2].command: \"a && b\": '&' matches nothing: a pattern is for one \
             command, word by word, without quotes",
            "permissions.rules[2].path: \"ok\": an \"allow\" rule has either a path or a command: make \
             it two rules",
        ]
    );
}
