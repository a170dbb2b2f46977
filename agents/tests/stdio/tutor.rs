//! The tutor's lessons.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::TUTOR;
use crate::client::{Client, text};
use crate::user::{User, option};

#[test]
fn greets_and_lists_the_lessons() {
    let mut user = User::start("0");
    let first = user.prompt("write me an editor");
    first.check("end_turn", &["# Hello!", "`help`", "> write me an editor"]);
    let titled = |update: &Value| update["title"] == "First steps";
    assert!(first.updates.iter().any(titled));
    user.prompt("help")
        .check("end_turn", &["1. **stream**", "4. **permission**"]);
    let other = user.prompt("what is\nthis?");
    other.check("end_turn", &["> what is\n> this?", "`help`"]);
    assert!(!other.said.contains("# Hello!"));
    user.prompt("hello").check("end_turn", &["12. **finish**"]);
}

#[test]
fn offers_the_lessons_as_commands() {
    let mut client = Client::start(TUTOR, &[], &[]);
    client.request("session/new", json!({"cwd": "/", "mcpServers": []}));
    let id = client.recv()["result"]["sessionId"].clone();
    assert!(id.as_str().unwrap().starts_with("tutor-1-"), "{id}");
    let update = client.recv()["params"]["update"].clone();
    assert_eq!(update["sessionUpdate"], "available_commands_update");
    assert_eq!(update["availableCommands"][0]["name"], "help");
    assert_eq!(update["availableCommands"].as_array().unwrap().len(), 13);
    // The greeting arrives before the first prompt.
    let mut kinds = (0..2).map(|_| client.recv()["params"]["update"]["sessionUpdate"].clone());
    assert_eq!(kinds.next(), Some(json!("session_info_update")));
    assert_eq!(kinds.next(), Some(json!("agent_message_chunk")));
}

#[test]
fn streams_a_thought_and_markdown() {
    let mut user = User::start("0");
    let id = user
        .client
        .request("session/prompt", text(&user.session, "1"));
    let mut chunks = 0;
    let heard = user.listen(id, |_, update| {
        chunks += usize::from(update["sessionUpdate"] == "agent_message_chunk");
    });
    heard.check(
        "end_turn",
        &[
            "## Text",
            "**bold**",
            "\n```rust\nfn main() {\n    let",
            "```lua\n",
        ],
    );
    assert!(heard.thought.starts_with("This is a thought."));
    assert!(chunks > 80, "{chunks}");
}

#[test]
fn works_off_a_plan() {
    let heard = User::start("0").prompt("/plan");
    let statuses: Vec<String> = heard
        .updates
        .iter()
        .filter(|update| update["sessionUpdate"] == "plan")
        .map(|update| {
            let entries = update["entries"].as_array().unwrap();
            let letter = |entry: &Value| entry["status"].as_str().unwrap()[..1].to_owned();
            entries.iter().map(letter).collect()
        })
        .collect();
    assert_eq!(statuses, ["ippp", "cipp", "ccip", "ccci", "cccc"]);
}

#[test]
fn quotes_an_unsaved_line() {
    let mut user = User::start("0");
    let path = user.dir.path().join("my notes.md");
    std::fs::write(&path, "one\ntwo\n").unwrap();
    let path = path.to_str().unwrap().to_owned();
    let uri = format!("file://{}", path.replace(' ', "%20"));
    let mut read = |buffer: &str| {
        user.buffers.insert(path.clone(), buffer.to_owned());
        let prompt = json!([
            {"type": "text", "text": "read"},
            {"type": "resource_link", "uri": uri, "name": "my notes.md"},
        ]);
        let params = json!({"sessionId": user.session, "prompt": prompt});
        let id = user.client.request("session/prompt", params);
        user.listen(id, |_, _| {})
    };
    let heard = read("one\nsecret words\ntwo\n");
    heard.check("end_turn", &["Line 2 of `my notes.md`", "\nsecret words\n"]);
    assert_eq!(heard.tools(), ["completed"]);
    read("one\n").check(
        "end_turn",
        &["On disk, `my notes.md` still has this line", "\ntwo\n"],
    );
    read("one\ntwo\n").check("end_turn", &["2 lines, and all is saved", "`again`"]);
    // The file is still the attached one.
    user.buffers.insert(path, "one\nmine\ntwo\n".to_owned());
    let again = user.prompt("again");
    again.check("end_turn", &["Line 2 of `my notes.md`", "\nmine\n"]);
}

#[test]
fn makes_a_practice_file_only_when_allowed() {
    let mut user = User::start("0");
    user.answer = option("reject_once");
    let refused = user.prompt("read");
    refused.check("end_turn", &["nothing was written"]);
    assert_eq!(refused.tools(), ["failed"]);
    assert!(!Path::new(&user.practice()).exists());
    user.answer = option("allow_once");
    let made = user.prompt("again");
    made.check("end_turn", &["`acp-practice.lua` is written"]);
    let methods = [
        "fs/read_text_file",
        "session/request_permission",
        "fs/write_text_file",
    ];
    assert_eq!(made.methods(), methods);
    let diff = &made.asked[1]["params"]["toolCall"]["content"][0];
    assert_eq!(diff["type"], "diff");
    assert_eq!(diff["newText"], made.asked[2]["params"]["content"]);
    let practice = user.practice();
    user.buffers
        .get_mut(&practice)
        .unwrap()
        .push_str("-- mine\n");
    user.prompt("again").check("end_turn", &["-- mine"]);
}

#[test]
fn reacts_to_each_answer() {
    let mut user = User::start("0");
    let mut check = |answer: Value, asks: usize, stop_reason: &str, word: &str, tool: &str| {
        user.answer = answer;
        let heard = user.prompt("permission");
        heard.check(stop_reason, &[word]);
        assert_eq!(heard.asked.len(), asks);
        assert_eq!(heard.tools(), [tool]);
        for question in heard.asked {
            let call = &question["params"]["toolCall"];
            assert_eq!(call["kind"], "execute");
            assert_eq!(call["rawInput"]["command"], "echo 'Hello from the tutor'");
        }
    };
    check(option("allow_once"), 1, "end_turn", "**once**", "completed");
    check(option("reject_once"), 1, "end_turn", "**no**", "failed");
    check(
        option("allow_always"),
        1,
        "end_turn",
        "**always**",
        "completed",
    );
    check(
        option("reject_once"),
        0,
        "end_turn",
        "*always*",
        "completed",
    );
    check(
        option("reject_always"),
        1,
        "end_turn",
        "**never**",
        "failed",
    );
    check(option("allow_once"), 0, "end_turn", "*never*", "failed");
    check(option("what"), 1, "end_turn", "never offered", "failed");
    check(
        json!({"outcome": {"outcome": "cancelled"}}),
        1,
        "cancelled",
        "",
        "pending",
    );
}

#[test]
fn edits_in_three_hunks_and_sees_what_was_kept() {
    let mut user = User::start("0");
    user.prompt("edit")
        .check("end_turn", &["`acp-practice.lua` is written"]);
    let practice = user.practice();
    let before = user.buffers[&practice].clone();
    let edit = user.prompt("edit");
    edit.check(
        "end_turn",
        &[
            "`:Acp accept`",
            "`:Acp reject`",
            "`:Acp next`",
            "`:Acp prev`",
        ],
    );
    assert_eq!(edit.tools(), ["completed"; 3]);
    let writes = edit
        .methods()
        .iter()
        .filter(|m| **m == "fs/write_text_file")
        .count();
    assert_eq!(writes, 3);
    let after = user.buffers[&practice].clone();
    let changed = before
        .lines()
        .filter(|line| !after.lines().any(|l| l == *line));
    assert_eq!(changed.count(), 5);

    // The first is rejected, the second kept, the third rewritten.
    let hello = "  return (\"Hello, %s!\"):format(name)\n";
    assert!(after.contains(hello));
    let mixed = after
        .replace(hello, "  return \"Hello \" .. name\n")
        .replace("text:gsub", "text.gsub");
    user.buffers.insert(practice, mixed);
    let done = user.prompt("done");
    done.check(
        "end_turn",
        &[
            "greeting: **rejected**",
            "loop for the list: **kept**",
            "to count: **rewritten**",
            "`next`",
        ],
    );
    // It looks once.
    let again = user.prompt("done");
    assert_eq!(again.methods(), [""; 0]);
    again.check("end_turn", &["no new review", "`next`"]);
    assert!(!again.said.contains("You wrote"), "{}", again.said);
}

#[test]
fn proposes_a_change_and_makes_it_only_when_allowed() {
    let mut user = User::start("0");
    user.prompt("propose")
        .check("end_turn", &["`acp-practice.lua` is written"]);
    let practice = user.practice();
    let before = user.buffers[&practice].clone();
    user.answer = option("reject_once");
    let no = user.prompt("propose");
    no.check("end_turn", &["stays as it was"]);
    assert_eq!(no.tools(), ["failed"]);
    assert_eq!(user.buffers[&practice], before);
    user.answer = option("allow_once");
    let yes = user.prompt("propose");
    yes.check("end_turn", &["The change is written"]);
    let question = yes
        .asked
        .iter()
        .find(|m| m["params"]["toolCall"].is_object());
    let diff = &question.unwrap()["params"]["toolCall"]["content"][0];
    assert_eq!(diff["oldText"], before);
    assert_eq!(diff["newText"], user.buffers[&practice]);
    let done = user.prompt("done");
    done.check("end_turn", &["greeting: **kept**", "count: **kept**"]);
}

#[test]
fn writes_to_the_disk_without_a_word_to_the_client() {
    let mut user = User::start("0");
    user.prompt("disk")
        .check("end_turn", &["`acp-practice.lua` is written"]);
    let practice = user.practice();
    let before = user.buffers[&practice].clone();
    let heard = user.prompt("disk");
    heard.check("end_turn", &["`:Acp review`", "`:Acp undo-turn`"]);
    assert_eq!(heard.methods(), [""; 0]);
    assert_eq!(heard.tools(), ["completed"]);
    assert_eq!(user.buffers[&practice], before);
    let on_disk = std::fs::read_to_string(&practice).unwrap();
    let changed = before
        .lines()
        .filter(|line| !on_disk.lines().any(|l| l == *line));
    assert_eq!(changed.count(), 5);
}

#[test]
fn runs_a_command_in_a_terminal() {
    let mut user = User::start("0");
    let heard = user.prompt("terminal");
    heard.check(
        "end_turn",
        &["`:Acp terminal`", "exit code 0", "`line 8 of 8`"],
    );
    let methods = [
        "terminal/create",
        "terminal/wait_for_exit",
        "terminal/output",
        "terminal/release",
    ];
    assert_eq!(heard.methods(), methods);
    assert_eq!(heard.tools(), ["completed"]);
    let content = &heard.updates.iter().find(|u| u["content"].is_array());
    assert_eq!(content.unwrap()["content"][0]["terminalId"], "term-1");

    user.exit = json!({"exitCode": null, "signal": "SIGHUP"});
    let ended = user.prompt("again");
    ended.check("end_turn", &["ended by SIGHUP"]);
    assert_eq!(ended.tools(), ["failed"]);
}

#[test]
fn names_the_lines_to_follow() {
    let mut user = User::start("0");
    user.prompt("edit");
    let heard = user.prompt("follow");
    let lines: Vec<u64> = heard
        .updates
        .iter()
        .filter_map(|update| update["locations"][0]["line"].as_u64())
        .collect();
    assert_eq!(lines.len(), 5);
    assert!(lines.is_sorted(), "{lines:?}");
    assert_eq!(heard.tools(), ["completed"]);
}

#[test]
fn sums_up() {
    let heard = User::start("0").prompt("finish");
    heard.check(
        "end_turn",
        &["`:Acp log`", "vim.g.acp = { default_agent = \"claude\" }"],
    );
}

#[test]
fn counts_until_it_is_cancelled() {
    let mut user = User::start("1");
    let session = user.session.clone();
    let id = user
        .client
        .request("session/prompt", text(&session, "cancel"));
    let mut cancelled = false;
    let heard = user.listen(id, |client, update| {
        if !cancelled && update["content"]["text"] == "2 " {
            client.notify("session/cancel", json!({"sessionId": session}));
            cancelled = true;
        }
    });
    heard.check("cancelled", &["1 2 "]);
    assert!(!heard.said.contains("60 "));
    // Cancelled is what the client has made of it.
    assert_eq!(heard.tools(), ["in_progress"]);
    // The session lives on.
    user.prompt("help").check("end_turn", &["1. **stream**"]);
}

#[test]
fn a_cancel_ends_an_unanswered_question() {
    let mut user = User::start("0");
    let session = user.session.clone();
    let id = user
        .client
        .request("session/prompt", text(&session, "permission"));
    let question = loop {
        let message = user.client.recv();
        if message["method"] == "session/request_permission" {
            break message;
        }
    };
    // One turn at a time; another session has its own.
    let busy = user
        .client
        .request("session/prompt", text(&session, "help"));
    let refused = user.client.recv();
    assert_eq!(
        (&refused["id"], &refused["error"]["code"]),
        (&json!(busy), &json!(-32600))
    );
    user.client
        .request("session/new", json!({"cwd": "/", "mcpServers": []}));
    let other = user.client.recv()["result"]["sessionId"].clone();
    assert!(other.as_str().unwrap().starts_with("tutor-2-"), "{other}");
    let second = user.client.request("session/prompt", text(&other, "help"));
    user.listen(second, |_, _| {})
        .check("end_turn", &["1. **stream**"]);
    user.client
        .notify("session/cancel", json!({"sessionId": session}));
    let heard = user.listen(id, |_, _| {});
    heard.check("cancelled", &[]);
    let last = &heard.updates.last().unwrap()["content"][0]["content"]["text"];
    assert_eq!(last, "Cancelled.");
    // A late answer does no harm.
    user.client.reply(&question, option("allow_once"));
    user.prompt("help").check("end_turn", &["1. **stream**"]);
}

#[test]
fn refuses_what_it_does_not_know() {
    let mut client = Client::start(TUTOR, &[], &[]);
    let mut check = |line: Value, code: i64, why: &str| {
        client.send(line);
        let error = client.recv()["error"].clone();
        assert_eq!(error["code"], json!(code), "{error}");
        assert!(error["message"].as_str().unwrap().contains(why), "{error}");
    };
    let ask = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    check(ask("session/load", json!({})), -32601, "session/load");
    check(ask("initialize", json!({})), -32602, "protocolVersion");
    check(
        ask("session/new", json!({"cwd": "here", "mcpServers": []})),
        -32602,
        "cwd",
    );
    check(
        ask("session/new", json!({"cwd": "/"})),
        -32602,
        "mcpServers",
    );
    check(
        ask("session/prompt", json!({"prompt": []})),
        -32602,
        "sessionId",
    );
    check(
        ask("session/prompt", json!({"sessionId": "x"})),
        -32602,
        "prompt",
    );
    check(
        ask("session/prompt", json!({"sessionId": "x", "prompt": []})),
        -32602,
        "x is not known",
    );
    check(json!("neither"), -32600, "neither method nor id");
    writeln!(client.stdin.as_mut().unwrap(), "junk").unwrap();
    assert_eq!(client.recv()["error"]["code"], -32700);
    client.notify("$/whatever", json!({}));
    assert_eq!(client.finish(), Some(0));
}

#[test]
fn says_so_when_the_client_has_no_files_and_runs_no_commands() {
    let mut client = Client::start(TUTOR, &[], &[("ACP_TUTOR_DELAY_MS", "0")]);
    client.call("initialize", json!({"protocolVersion": 1}));
    let session =
        client.call("session/new", json!({"cwd": "/", "mcpServers": []}))["sessionId"].clone();
    for (lesson, missing) in [
        ("read", "fs.readTextFile"),
        ("edit", "fs.readTextFile"),
        ("follow", "fs.readTextFile"),
        ("terminal", "`terminal`"),
        ("tools", "`tools.enabled`"),
    ] {
        let id = client.request("session/prompt", text(&session, lesson));
        let mut said = String::new();
        loop {
            let message = client.recv();
            if message["id"] == json!(id) {
                break;
            }
            let text = &message["params"]["update"]["content"]["text"];
            said.push_str(text.as_str().unwrap_or_default());
        }
        assert!(said.contains(missing), "{said}");
    }
}

#[test]
fn the_end_of_stdin_ends_it_at_once() {
    let mut user = User::start("10000");
    user.client
        .request("session/prompt", text(&user.session, "1"));
    // The turn has begun, and its first word is ten seconds away.
    while user.client.recv()["params"]["update"]["title"] != "First steps" {}
    assert_eq!(user.client.finish(), Some(0));
}
