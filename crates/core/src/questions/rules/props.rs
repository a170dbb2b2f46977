//! Random rules and requests: nothing is allowed that no rule covers.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::shell;
use super::tests::{rules, verdict};

fn allows(list: &Value, call: &Value) -> bool {
    verdict(&rules(list), call).starts_with("allow")
}

fn run(command: &str) -> Value {
    json!({ "kind": "execute", "rawInput": { "command": command } })
}

/// Characters that are special to a shell, and words.
fn shell_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[ -~\n\t]",
        3 => prop_oneof![
            Just(" && "), Just(" || "), Just("; "), Just(" | "), Just("\n"), Just(" & "),
            Just("$("), Just(")"), Just("`"), Just(" > "), Just("'"), Just("\""), Just("\\"),
            Just(" #"), Just("{"), Just("}"), Just("\0"), Just("\r"),
        ].prop_map(str::to_owned),
        3 => prop_oneof![
            Just("git status"), Just("git"), Just("status"), Just("rm -rf ~"), Just("bash -c "),
        ].prop_map(str::to_owned),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn rule() -> impl Strategy<Value = Value> {
    let action = prop_oneof![3 => Just("allow"), 1 => Just("reject"), 1 => Just("ask")];
    let path = prop_oneof![
        Just("**"),
        Just("src/**"),
        Just("/etc/*"),
        Just("/**"),
        Just("a")
    ];
    let command = prop_oneof![Just("*"), Just("git *"), Just("git status"), Just("ls*")];
    let kind = prop_oneof![Just("read"), Just("edit"), Just("execute"), Just("delete")];
    let of = |text: &'static str| proptest::option::of(Just(text));
    (
        action,
        proptest::option::of(path),
        proptest::option::of(command),
        proptest::option::of(kind),
        of("bot"),
    )
        .prop_map(|(action, path, command, kind, agent)| {
            let path = path.filter(|_| action != "allow" || command.is_none());
            json!({ "action": action, "path": path, "command": command, "kind": kind, "agent": agent })
        })
}

fn path() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("/p/a"),
        Just("/p/src/x"),
        Just("/p/src/../../etc/x"),
        Just("/etc/passwd"),
        Just("/p/.git/config"),
        Just("src/y"),
        Just("~/x"),
    ]
}

fn call() -> impl Strategy<Value = Value> {
    let kind = prop_oneof![
        Just("read"),
        Just("edit"),
        Just("execute"),
        Just("delete"),
        Just("fetch"),
        Just("odd"),
    ];
    let command = prop_oneof![Just("git status"), Just("ls"), Just("git push; rm x")];
    let paths = proptest::collection::vec(path(), 0..3);
    (kind, proptest::option::of(command), paths).prop_map(|(kind, command, paths)| {
        let locations: Vec<Value> = paths.iter().map(|path| json!({ "path": path })).collect();
        json!({ "kind": kind, "rawInput": { "command": command }, "locations": locations })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Text before or after an allowed command: the line is allowed only if every command in it is
    /// the allowed one.
    #[test]
    fn text_added_to_a_command_is_never_allowed_along(before in shell_text(), after in shell_text()) {
        let list = json!([{ "command": "git status", "action": "allow" }]);
        let line = format!("{before}git status{after}");
        if allows(&list, &run(&line)) {
            let all = shell::commands(&line).expect("it was understood");
            prop_assert!(all.iter().all(|words| words == &["git", "status"]), "{line:?}");
            let is_plain = |c: char| !"$`<>(){}\0\r#".contains(c);
            prop_assert!(line.chars().all(is_plain) || line.contains("bash -c"), "{line:?}");
        }
    }

    /// A pattern that ends in `*` allows more words of its command, and no other command.
    #[test]
    fn an_open_pattern_stays_within_its_command(after in shell_text()) {
        let list = json!([{ "command": "git status*", "action": "allow" }]);
        let line = format!("git status{after}");
        if allows(&list, &run(&line)) {
            let all = shell::commands(&line).expect("it was understood");
            let is_git = |words: &Vec<String>| {
                words.first().is_some_and(|word| word == "git")
                    && words.get(1).is_some_and(|word| word.starts_with("status"))
            };
            prop_assert!(all.iter().all(is_git), "{line:?}");
            // A backslash before the dollar makes it a character of the word.
            let bare = after.replace(r"\\", "").replace(r"\$", "");
            prop_assert!(!bare.contains("$(") || after.contains('\''), "{line:?}");
        }
    }

    /// A call that shows neither a path nor a command is never allowed.
    #[test]
    fn what_is_not_shown_is_never_allowed(list in proptest::collection::vec(rule(), 0..5), call in call()) {
        let mut call = call;
        call["locations"] = json!([]);
        call["rawInput"] = json!({});
        prop_assert!(!allows(&json!(list), &call), "{list:?} {call}");
    }

    /// Adding a path, or removing the kind, never makes a call allowed.
    #[test]
    fn more_paths_and_fewer_words_never_allow(
        list in proptest::collection::vec(rule(), 0..5),
        call in call(),
        more in path(),
    ) {
        let list = json!(list);
        let has_paths = call["locations"].as_array().is_some_and(|paths| !paths.is_empty());
        if has_paths && !allows(&list, &call) {
            let mut longer = call.clone();
            longer["locations"].as_array_mut().expect("a list").push(json!({ "path": more }));
            prop_assert!(!allows(&list, &longer), "{list} {longer}");
        }
        let is_rejected = |call: &Value| verdict(&rules(&list), call).starts_with("reject");
        if !allows(&list, &call) && !is_rejected(&call) {
            let mut shorter = call.clone();
            shorter["kind"] = Value::Null;
            prop_assert!(!allows(&list, &shorter), "{list} {shorter}");
        }
    }

    /// Rules that reject or ask never allow a call, and the order of the rules does not matter.
    #[test]
    fn the_order_of_rules_does_not_matter(
        list in proptest::collection::vec(rule(), 0..5).prop_shuffle(),
        call in call(),
    ) {
        let mut back = list.clone();
        back.reverse();
        let word = |list: &Vec<Value>| {
            let verdict = verdict(&rules(&json!(list)), &call);
            verdict.split(' ').next().map(str::to_owned)
        };
        prop_assert_eq!(word(&list), word(&back));
        let allowing: Vec<Value> = list.iter().filter(|rule| rule["action"] == "allow").cloned().collect();
        if allows(&json!(list), &call) {
            prop_assert!(allows(&json!(allowing), &call));
        }
    }

    /// Any line parses without a panic.
    #[test]
    fn any_line_is_read(line in "\\PC{0,40}", other in shell_text()) {
        for line in [line, other] {
            let _ = shell::commands(&line);
            let _ = shell::loose_words(&line);
        }
    }
}
