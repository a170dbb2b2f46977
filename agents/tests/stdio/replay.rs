//! Recorded conversations, replayed to a client.

use std::path::Path;

use serde_json::{Value, json};

use crate::SCRIPTED;
use crate::client::Client;

fn records(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Replays `path` to a client that does what the recorded one did, with ids and a folder of its
/// own, and checks that every message of the agent arrives, and its files too.
fn check(path: &Path) {
    let dir = tempfile::tempdir().unwrap();
    let cwd = dir.path().to_str().unwrap();
    let report = dir.path().join("report");
    let args = [
        "--replay",
        path.to_str().unwrap(),
        "--report",
        report.to_str().unwrap(),
    ];
    let mut client = Client::start(SCRIPTED, &args, &[]);
    client.next_id = 40;
    let mut ids: Vec<(Value, Value)> = Vec::new();
    let mut disk: Vec<Value> = Vec::new();
    for record in records(path) {
        let here = |value: &Value| -> Value {
            serde_json::from_str(&value.to_string().replace("/project", cwd)).unwrap()
        };
        let mut msg = here(&record["msg"]);
        match record["dir"].as_str().unwrap() {
            "c>a" if msg.get("method").is_none() => client.send(msg),
            "c>a" if msg.get("id").is_some() => {
                let live = client.request(msg["method"].as_str().unwrap(), msg["params"].clone());
                ids.push((msg["id"].clone(), json!(live)));
            }
            "c>a" => client.send(msg),
            "a>c" => {
                if msg.get("method").is_none() {
                    let at = ids.iter().position(|(old, _)| *old == msg["id"]).unwrap();
                    msg["id"] = ids.remove(at).1;
                }
                assert_eq!(client.recv(), msg);
            }
            "disk" => disk.push(msg),
            _ => {}
        }
    }
    assert_eq!(client.finish(), Some(0));
    assert_eq!(std::fs::read_to_string(&report).unwrap(), "ok\n");
    for msg in disk {
        let written = std::fs::read_to_string(msg["path"].as_str().unwrap()).unwrap();
        assert_eq!(json!(written), msg["content"]);
    }
}

#[test]
fn every_fixture_replays_as_recorded() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/transcripts");
    let files: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(files.len() > 20, "{files:?}");
    for file in files {
        println!("{}", file.display());
        check(&file);
    }
}

/// Replays to a client with other ids, names and answers, which cancels or does not.
fn check_differing(cancel: bool, last: &str) {
    let dir = tempfile::tempdir().unwrap();
    let transcript = dir.path().join("t.jsonl");
    let lines = [
        json!({"dir": "c>a", "msg": {"id": 1, "method": "session/load", "params": {"sessionId": "old", "cwd": "/project"}}}),
        json!({"dir": "a>c", "msg": {"jsonrpc": "2.0", "id": 9, "method": "terminal/create", "params": {"sessionId": "old"}}}),
        json!({"dir": "c>a", "msg": {"id": 9, "result": {"terminalId": "term-1"}}}),
        json!({"dir": "a>c", "msg": {"jsonrpc": "2.0", "method": "x", "params": {"/project/a": "term-1 of old"}}}),
        json!({"dir": "a>c", "msg": {"jsonrpc": "2.0", "id": 10, "method": "y"}}),
        json!({"dir": "c>a", "msg": {"id": 10, "result": {}}}),
        json!({"dir": "c>a", "msg": {"method": "session/cancel"}}),
        json!({"dir": "noise", "msg": "gated"}),
    ];
    std::fs::write(&transcript, lines.map(|line| format!("{line}\n")).concat()).unwrap();
    let report = dir.path().join("report");
    let args = [
        "--replay",
        transcript.to_str().unwrap(),
        "--gate",
        "session/cancel",
        "--report",
        report.to_str().unwrap(),
    ];
    let mut client = Client::start(SCRIPTED, &args, &[]);
    client.request("session/list", json!({}));
    assert_eq!(client.recv()["error"]["code"], -32601);
    client.request("session/load", json!({"sessionId": "new", "cwd": "/here"}));
    let create = client.recv();
    assert_eq!(create["params"]["sessionId"], "new");
    client.reply(&create, json!({"terminalId": "mine"}));
    assert_eq!(client.recv()["params"], json!({"/here/a": "mine of new"}));
    let y = client.recv();
    client.send(json!({"jsonrpc": "2.0", "id": y["id"], "error": {"code": 1, "message": ""}}));
    if cancel {
        client.notify("session/cancel", json!({}));
        assert_eq!(client.line(), "gated");
    }
    assert_eq!(client.finish(), Some(if cancel { 0 } else { 3 }));
    let written = std::fs::read_to_string(&report).unwrap();
    assert!(written.starts_with("{\"differs\":"), "{written}");
    assert!(written.ends_with(last), "{written}");
}

#[test]
fn a_client_that_differs_is_answered_and_reported() {
    check_differing(true, "\nok\n");
    let why = "the client closed the pipe while session/cancel was awaited";
    check_differing(false, &format!("\nmismatch: record 7: {why}\n"));
}
