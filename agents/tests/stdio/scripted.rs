//! What a script can say, and what fails it.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use serde_json::json;

use crate::SCRIPTED;
use crate::client::{Client, DEADLINE, text};

/// Runs `drive` against a script and checks the exit code and the report's last lines.
fn check(script: &str, drive: impl FnOnce(&mut Client, &Path), code: i32, report: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("script.jsonl");
    let report_path = dir.path().join("report");
    std::fs::write(&path, script).unwrap();
    let args = [
        path.to_str().unwrap(),
        "--report",
        report_path.to_str().unwrap(),
    ];
    let mut client = Client::start(SCRIPTED, &args, &[]);
    drive(&mut client, dir.path());
    assert_eq!(client.finish(), Some(code));
    let written = std::fs::read_to_string(&report_path).unwrap();
    let lines: Vec<&str> = written.lines().collect();
    let last = &lines[lines.len().saturating_sub(report.len())..];
    assert_eq!(last.len(), report.len(), "{written}");
    for (line, expected) in last.iter().zip(report) {
        assert!(line.starts_with(expected), "{line}\nis not\n{expected}");
    }
}

#[test]
fn a_turn_goes_as_written() {
    let script = r#"
        {"expect":"session/prompt","params":{"prompt":[{"text":"hi"}]},"as":"p","save":{"said":"/params/prompt/0/text"}}
        {"think":"hm"}
        {"say":"you said ${said} in ${cwd}"}
        {"read":"${cwd}/a.txt","line":2,"as":"r"}
        {"await":"r","result":{"content":{"$contains":"two"}},"save":{"text":"/result/content"}}
        {"permission":{"toolCallId":"t"},"as":"q"}
        {"expect":"session/cancel"}
        {"await":"q","choice":"cancelled"}
        {"repeat":3,"do":[{"tool_update":{"id":"t","title":"${i} ${text}"}}]}
        {"end":"p","reason":"cancelled"}
    "#;
    let drive = |client: &mut Client, dir: &Path| {
        let session = client.session(dir);
        let prompt = client.request("session/prompt", text(&session, "hi"));
        assert_eq!(client.recv()["params"]["update"]["content"]["text"], "hm");
        let said = client.recv()["params"]["update"]["content"]["text"].clone();
        assert_eq!(said, json!(format!("you said hi in {}", dir.display())));
        let read = client.recv();
        assert_eq!(read["params"]["line"], 2);
        client.reply(&read, json!({"content": "two\n"}));
        let permission = client.recv();
        assert_eq!(permission["params"]["options"].as_array().unwrap().len(), 4);
        client.notify("session/cancel", json!({"sessionId": session}));
        client.reply(&permission, json!({"outcome": {"outcome": "cancelled"}}));
        for i in 0..3 {
            let title = format!("{i} two\n");
            let update =
                json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "title": title});
            assert_eq!(client.recv()["params"]["update"], update);
        }
        let end = client.recv();
        assert_eq!(end["id"], json!(prompt));
        assert_eq!(end["result"]["stopReason"], "cancelled");
    };
    check(script, drive, 0, &["ok"]);
}

#[test]
fn what_was_not_expected_is_a_mismatch() {
    let prompt = |client: &mut Client, dir: &Path| {
        let session = client.session(dir);
        client.request("session/prompt", text(&session, "hi"));
        client.exit();
    };
    check(
        "{\"expect\":\"session/prompt\",\"params\":{\"prompt\":[{\"text\":\"ho\"}]}}",
        prompt,
        3,
        &["mismatch: line 1: expected session/prompt: /prompt/0/text: expected \"ho\", got \"hi\""],
    );
    check(
        "# nothing\n{\"expect\":\"session/cancel\"}",
        prompt,
        3,
        &["mismatch: line 2: expected session/cancel: got {"],
    );
    check(
        "",
        prompt,
        3,
        &["ok", "mismatch: after the last step: unexpected {"],
    );
    let quit = |_: &mut Client, _: &Path| {};
    let dies = |client: &mut Client, _: &Path| assert_ne!(client.exit(), Some(0));
    check(
        "{\"expect\":\"session/prompt\"}",
        quit,
        3,
        &["mismatch: line 1: the client closed the pipe while session/prompt was awaited"],
    );
    check(
        "{\"expect\":\"session/prompt\",\"within\":1}",
        dies,
        3,
        &["mismatch: line 1: waited too long for session/prompt; nothing from the client"],
    );
    check(
        "{\"say\":\"${unknown}\"}",
        dies,
        3,
        &["mismatch: line 1: ${unknown}"],
    );
    check("{\"sing\":1}", dies, 2, &["script: line 1, step \"sing\""]);
}

#[test]
fn a_client_that_breaks_the_protocol_is_a_mismatch() {
    let check_line = |line: &str, report: &str| {
        let send = |client: &mut Client, _: &Path| {
            let _ = writeln!(client.stdin.as_mut().unwrap(), "{line}");
            client.exit();
        };
        let report = format!("mismatch: line 1: the client sent {report}");
        check("{\"expect\":\"session/prompt\"}", send, 3, &[&report]);
    };
    check_line("hello", "a line that is not JSON");
    check_line(
        "{\"id\":1,\"method\":\"x\"}",
        "a message without \"jsonrpc\"",
    );
    check_line("[]", "a message without \"jsonrpc\"");
    check_line(
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}",
        "an answer to request 7, which",
    );
    check_line(
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"session/new\",\"params\":{\"cwd\":\"a\",\"mcpServers\":[]}}",
        "session/new with params.cwd = \"a\"",
    );
}

#[test]
fn two_answers_to_one_request_are_a_mismatch() {
    let script = "{\"request\":\"x\",\"as\":\"r\"}\n{\"await\":\"r\"}\n{\"notify\":\"z\"}\n{\"expect\":\"y\"}";
    let drive = |client: &mut Client, _: &Path| {
        let request = client.recv();
        client.reply(&request, json!(null));
        assert_eq!(client.recv()["method"], "z");
        client.reply(&request, json!(null));
        client.exit();
    };
    check(
        script,
        drive,
        3,
        &["mismatch: line 4: the client sent an answer to request 0"],
    );
}

#[test]
fn defaults_can_be_changed_and_taken_over() {
    let script = r#"
        {"defaults":{"initialize":{"protocolVersion":99,"agentCapabilities":{"loadSession":true}},"session/set_mode":{"$error":{"code":-32000,"message":"no"}}}}
        {"expect":"session/new","as":"n"}
        {"update":{"sessionUpdate":"plan","entries":[]},"session":"early"}
        {"reply":"n","result":{"sessionId":"early"}}
    "#;
    let drive = |client: &mut Client, dir: &Path| {
        let init = client.call("initialize", json!({"protocolVersion": 1}));
        assert_eq!(init["protocolVersion"], 99);
        assert_eq!(init["agentCapabilities"]["loadSession"], true);
        assert_eq!(
            init["agentCapabilities"]["promptCapabilities"]["image"],
            true
        );
        client.request("session/new", json!({"cwd": dir, "mcpServers": []}));
        assert_eq!(client.recv()["params"]["sessionId"], "early");
        assert_eq!(client.recv()["result"]["sessionId"], "early");
        client.request("session/set_mode", json!({}));
        assert_eq!(client.recv()["error"]["code"], -32000);
    };
    check(script, drive, 0, &["ok"]);
}

#[test]
fn bytes_and_files_are_as_written() {
    let script = r#"
        {"expect":"session/prompt","as":"p"}
        {"raw":"not json"}
        {"raw_b64":"/2hp","newline":false}
        {"flood":{"bytes":200000,"byte":"z"}}
        {"big_say":{"bytes":1000,"kind":"code","chunk":400}}
        {"touch":{"path":"${cwd}/made/a","content":"one\n"}}
        {"shell":"printf two >> made/a"}
        {"disk":{"path":"${cwd}/made/a","content":"one\ntwo"}}
        {"disk":{"path":"${cwd}/made/b"}}
        {"spawn_child":["sh","-c","echo > ${cwd}/child"],"pid_file":"${cwd}/pid"}
        {"wait_file":"${cwd}/child"}
        {"disk":{"path":"${cwd}/pid","content":"${child_pid}"}}
        {"signal_file":"${cwd}/here"}
        {"wait_file":"${cwd}/go"}
        {"mark":"done"}
        {"measure":{"path":"${cwd}/a","count":5}}
        {"expect_eof":true}
        {"delay":1}
        {"exit":7}
    "#;
    let drive = |client: &mut Client, dir: &Path| {
        let session = client.session(dir);
        client.request("session/prompt", text(&session, "hi"));
        assert_eq!(client.line(), "not json");
        assert_eq!(client.line(), format!("\u{fffd}hi{}", "z".repeat(200_000)));
        let lengths: Vec<usize> = (0..3)
            .map(|_| {
                client.recv()["params"]["update"]["content"]["text"]
                    .as_str()
                    .unwrap()
                    .len()
            })
            .collect();
        assert_eq!(lengths, [400, 400, 200]);
        let start = Instant::now();
        while !dir.join("here").exists() {
            assert!(start.elapsed() < DEADLINE);
            std::thread::yield_now();
        }
        std::fs::write(dir.join("go"), "").unwrap();
        for _ in 0..5 {
            let read = client.recv();
            client.reply(&read, json!({"content": ""}));
        }
    };
    check(
        script,
        drive,
        7,
        &["{\"mark\":\"done\",\"us\":", "{\"measure\":"],
    );
}

#[test]
fn an_agent_can_die_and_live_again() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("s");
    let lives = "{\"life\":1}\n{\"abort\":\"SIGKILL\"}\n{\"life\":2}\n{\"notify\":\"${env:WHO}\"}\n{\"exit\":5}";
    std::fs::write(&script, lives).unwrap();
    let report = dir.path().join("report");
    let env = [
        ("ACP_SCRIPT_REPORT", report.to_str().unwrap()),
        ("WHO", "me"),
    ];
    let mut first = Client::start(SCRIPTED, &[script.to_str().unwrap()], &env);
    assert_eq!(first.exit(), None);
    for _ in 0..2 {
        let mut later = Client::start(SCRIPTED, &[script.to_str().unwrap()], &env);
        assert_eq!(later.recv()["method"], "me");
        assert_eq!(later.exit(), Some(5));
    }
}

#[test]
fn sigterm_can_be_ignored() {
    let script = r#"
        {"options":{"ignore_sigterm":true}}
        {"shell":"kill -TERM ${pid}"}
    "#;
    check(script, |_, _| {}, 0, &["ok"]);
}
