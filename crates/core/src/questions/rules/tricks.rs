//! Requests whose effects differ from what they show: none is allowed.

use serde_json::{Value, json};

use super::tests::{check, edit, run};

fn with(mut call: Value, field: &str, value: Value) -> Value {
    call["rawInput"][field] = value;
    call
}

#[test]
fn a_command_that_goes_into_another_folder_is_asked() {
    let list = json!([{ "command": ["git status *", "ls *", "cd *", "pushd *", "popd *"], "action": "allow" }]);
    let also =
        json!([{ "command": ["git status *", "builtin *", "command *"], "action": "allow" }]);
    for line in [
        "cd / && git status",
        "cd .. && git status",
        "cd ~ && ls",
        "cd ~me && ls",
        "cd; ls",
        "cd - && ls",
        "cd -P / && ls",
        "cd sub/.. && ls",
        "pushd /tmp; ls",
        "pushd +1; ls",
        "popd && ls",
        "bash -c 'cd /; ls'",
    ] {
        check(&list, run(line), "ask");
    }
    check(&also, run("builtin cd /; git status"), "ask");
    check(&also, run("command cd /; git status"), "ask");
    check(&list, run("cd sub && git status"), "allow [1]");
    check(&list, run("cd /p/sub && cd a && ls"), "allow [1]");
    let secret = json!([
        { "path": "/etc/**", "action": "reject" },
        { "command": "*", "action": "allow" },
    ]);
    check(&secret, run("cd / && cat etc/passwd"), "reject 1");
}

#[test]
fn a_field_nobody_knows_makes_it_asked() {
    let list = json!([
        { "command": "git status *", "action": "allow" },
        { "path": "**", "action": "allow" },
    ]);
    for (field, value) in [
        ("additional_permissions", json!(["x"])),
        ("permissions", json!("all")),
        ("require_escalated", json!(true)),
        ("elevated", json!(true)),
        ("sandbox", json!(false)),
        ("disable_sandbox", json!(true)),
        ("user", json!("root")),
        ("host", json!("h")),
        ("envs", json!({ "A": "x" })),
        ("environment_variables", json!({ "A": "x" })),
        ("variables", json!(["A=x"])),
        ("cwd", json!("file:///")),
        ("cwd", json!("sub/..")),
        ("cwd", json!(["/"])),
        ("cd", json!("/")),
        ("path", json!("/tmp")),
        ("folder", json!("/")),
        ("root", json!("/")),
        ("script", json!("rm x")),
        ("steps", json!(["rm x"])),
        ("input", json!("rm x")),
        ("Command", json!("rm x")),
        ("content", json!("rm x")),
        ("nested", json!({ "command": "rm x" })),
        ("timeout", json!("rm x")),
        ("description", json!({ "command": "rm x" })),
        ("workdir", json!("/")),
    ] {
        check(&list, with(run("git status"), field, value), "ask");
    }
    let two = json!({ "command": "git status", "args": null, "arguments": ["-s"] });
    let two = json!({ "kind": "execute", "rawInput": two });
    check(&list, two, "ask");
    for (field, value) in [
        ("script", json!("rm -rf x")),
        ("program", json!("rm")),
        ("args", json!(["x"])),
        ("arguments", json!("{\"path\": \"/etc/x\"}")),
        ("output", json!("Makefile")),
        ("output_file", json!("Makefile")),
        ("rename_to", json!("Makefile")),
        ("newName", json!("Makefile")),
        ("cwd", json!("/p")),
        ("patch", json!("s/a/b/")),
        ("path", json!({ "new": "x" })),
        ("glob", json!("../**")),
        ("pattern", json!("/etc/*")),
    ] {
        check(&list, with(edit("/p/a"), field, value), "ask");
    }
    // Known fields are harmless.
    for (field, value) in [
        ("replace_all", json!(false)),
        ("limit", json!(5)),
        ("-n", json!(true)),
        ("pattern", json!("fn .*\\(")),
        ("glob", json!("**/*.rs")),
        ("path", json!("/p/sub")),
        ("description", json!("see /etc")),
        ("edits", json!([{ "oldText": "/a", "newText": "rm" }])),
        ("cwd", Value::Null),
    ] {
        check(&list, with(edit("/p/a"), field, value), "allow [2]");
    }
}

#[test]
fn a_diff_names_its_files() {
    let list = json!([{ "path": "src/**", "action": "allow" }]);
    let diff = |text: &str| with(edit("/p/src/a"), "diff", json!(text));
    let hunk = "@@ -1,2 +1,2 @@\n a\n--- /etc\n+++ b\n";
    check(&list, diff(hunk), "allow [1]");
    check(
        &list,
        diff(&format!(
            "Index: src/a\n===\n--- src/a\t1970\n+++ src/a\n{hunk}"
        )),
        "allow [1]",
    );
    for text in [
        format!("--- a/Makefile\n+++ b/Makefile\n{hunk}"),
        format!("--- src/a\n+++ Makefile\n{hunk}"),
        format!("{hunk}--- Makefile\n+++ Makefile\n{hunk}"),
        format!("--- src/a\n+++ /dev/null\n{hunk}"),
        "diff --git a/src/a b/src/a\nrename from src/a\nrename to x\n".into(),
        "@@ nonsense\n--- src/a".into(),
        "rm x".into(),
    ] {
        check(&list, diff(&text), "ask");
        check(&list, with(edit("/p/src/a"), "patch", json!(text)), "ask");
    }
    let patch = "*** Begin Patch\n*** Add File: src/a\n+x\n  *** Delete File: Makefile\n";
    check(&list, with(edit("/p/src/a"), "input", json!(patch)), "ask");
}

#[test]
fn a_rejection_sees_every_text_of_an_input() {
    let list = json!([
        { "command": ["rm *", "git push"], "action": "reject" },
        { "path": "**/.env*", "action": "reject" },
        { "command": "git status", "action": "allow" },
    ]);
    for (field, value, want) in [
        ("script", json!("rm x"), "reject 1"),
        ("steps", json!(["ls", "rm x"]), "reject 1"),
        ("input", json!("rm x"), "reject 1"),
        ("deep", json!([{ "er": { "x": "sudo rm y" } }]), "reject 1"),
        ("arguments", json!("{\"run\": [\"rm\", \"x\"]}"), "reject 1"),
        ("glob", json!(".env*"), "reject 2"),
        ("include", json!("*/.env"), "reject 2"),
        ("pattern", json!(".env"), "reject 2"),
        ("unheard_of", json!("a b/.env"), "reject 2"),
        ("files", json!({ "sub/.env": 1 }), "reject 2"),
        // A description is not run.
        ("description", json!("before git push"), "ask"),
        ("description", json!("show it"), "allow [3]"),
    ] {
        check(&list, with(run("git status"), field, value), want);
    }
    let mut call = run("git status");
    call["title"] = json!("rm -rf src");
    check(&list, call, "reject 1");
    let program = json!({ "program": "git", "args": ["push", "origin"] });
    check(
        &list,
        json!({ "kind": "edit", "rawInput": program }),
        "reject 1",
    );
    // The new content of a file is neither a command nor a path.
    let all = json!([list[0], list[1], { "path": "**", "action": "allow" }]);
    let call = with(edit("/p/a"), "content", json!("rm x .env"));
    check(&all, call, "allow [3]");
}

#[test]
fn words_that_a_shell_may_read_otherwise_are_asked() {
    let list = json!([{ "command": ["echo *", "cat *"], "action": "allow" }]);
    let call = |input: Value| json!({ "kind": "execute", "rawInput": input });
    for input in [
        json!({ "command": ["echo", "a", ";", "curl", "evil"] }),
        json!({ "command": ["echo", "$(curl evil)"] }),
        json!({ "command": ["echo", "a\nb"] }),
        json!({ "command": ["cat", ".e*"] }),
        json!({ "command": "echo", "args": ["; curl evil"] }),
        json!({ "command": ["echo"], "args": ["`x`"] }),
        json!({ "commands": ["echo 'a", "curl evil #'"] }),
        json!({ "commands": ["echo a"], "args": ["b"] }),
        json!({ "command": "cat .e*" }),
        json!({ "command": "cat .?/x" }),
    ] {
        check(&list, call(input), "ask");
    }
    check(
        &list,
        call(json!({ "command": ["echo", "a-b", "c/d"] })),
        "allow [1]",
    );
    check(&list, call(json!({ "command": "cat '.e*'" })), "allow [1]");
}

#[test]
fn the_folder_itself_is_searched_and_not_removed() {
    let call = |kind: &str, path: &str| json!({ "kind": kind, "rawInput": { "path": path, "pattern": "x" } });
    let list = json!([{ "path": "**", "action": "allow" }]);
    for path in ["/p", "/p/", ".", "./"] {
        check(&list, call("search", path), "allow [1]");
        check(&list, call("edit", path), "ask");
    }
    check(&list, call("search", "/"), "ask");
    let list = json!([{ "path": "**", "kind": "delete", "action": "allow" }]);
    check(&list, call("delete", "/p"), "ask");
    check(&list, call("delete", "/p/a"), "allow [1]");
}

#[test]
fn what_an_input_does_counts_whatever_it_is_called() {
    let list = json!([{ "kind": "read", "path": "**", "action": "allow" }]);
    let read = |input: Value| json!({ "kind": "read", "rawInput": input });
    check(&list, read(json!({ "path": "a" })), "allow [1]");
    check(
        &list,
        read(json!({ "path": "a", "type": "rust" })),
        "allow [1]",
    );
    for input in [
        json!({ "path": "a", "content": "x" }),
        json!({ "path": "a", "edits": [{ "newText": "x" }] }),
        json!({ "path": "a", "diff": "@@ -1 +1 @@\n-a\n+b\n" }),
        json!({ "path": "a", "new_path": "b" }),
        json!({ "path": " /etc/passwd" }),
        json!({ "path": "file:/etc/passwd" }),
    ] {
        check(&list, read(input), "ask");
    }
    let list = json!([{ "path": "**", "action": "allow" }]);
    check(&list, with(edit("/p/a"), "type", json!("delete")), "ask");
}

#[test]
fn a_request_that_is_too_large_is_asked_and_takes_neither_time_nor_memory() {
    const MANY: usize = 100_000;
    let list = json!([
        { "path": "**", "action": "allow" },
        { "command": ["cd *", "ls *"], "action": "allow" },
        { "command": "rm *", "action": "reject" },
    ]);
    let long = "x".repeat(1 << 20);
    let call = |names: usize| {
        let places = (0..MANY).map(|n| json!({ "path": format!("/p/{}", n % names) }));
        json!({ "kind": "edit", "locations": places.collect::<Vec<_>>() })
    };
    check(&list, call(MANY), "ask");
    check(&list, call(9), "allow [1]");
    check(&list, edit(&format!("/p/{}", "a/".repeat(MANY))), "ask");
    check(&list, with(edit("/p/a"), "pattern", json!(long)), "ask");
    // The command is rejected all the same, wherever it stands.
    check(&list, with(run("rm x"), "query", json!(long)), "reject 3");
    let late = json!({ "kind": "execute", "rawInput": { "query": long, "command": "rm x" } });
    check(&list, late, "reject 3");
    let mut placed = call(MANY);
    placed["kind"] = json!("execute");
    placed["rawInput"] = json!({ "command": "rm x" });
    check(&list, placed, "reject 3");
    let mut titled = run("rm x");
    titled["title"] = json!(long);
    check(&list, titled, "reject 3");
    // Every word in a folder that is far below.
    let mut far = run(&format!("cd {}", "a/".repeat(4000)));
    far["title"] = json!("a ".repeat(100_000));
    let secret = json!([{ "path": "secrets/**", "action": "reject" }]);
    check(&secret, far, "ask");
    // Each field beside the list: 200 GB.
    let mut fields: Value = (0..MANY).map(|n| (format!("f{n}"), "x")).collect();
    fields["list"] = json!([long]);
    let input = |input: Value| json!({ "kind": "edit", "rawInput": input });
    check(&list, input(fields), "ask");
    // A long name, read for each item.
    let named: Value = [(long.clone(), vec!["x"; MANY])].into_iter().collect();
    check(&list, input(named), "ask");
    // Each command in a folder with a long name.
    let commands = json!({ "commands": vec!["cd a"; MANY], "cwd": long });
    check(
        &list,
        json!({ "kind": "execute", "rawInput": commands }),
        "ask",
    );
}
