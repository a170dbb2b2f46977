//! The bridge to AG-UI, between a client and a server that does wrong what a server can do wrong.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::BRIDGE;
use crate::client::{Client, text};

/// A server that answers each request as the test says.
struct Server {
    url: String,
    requests: Receiver<(Asked, TcpStream)>,
}

/// A request that the bridge sent.
#[derive(Debug)]
struct Asked {
    head: String,
    body: Value,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/agui", listener.local_addr().unwrap());
        let (send, requests) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Some(asked) = read(stream.unwrap()) else {
                    continue;
                };
                if send.send(asked).is_err() {
                    return;
                }
            }
        });
        Self { url, requests }
    }

    #[track_caller]
    fn next(&self) -> (Asked, TcpStream) {
        let next = self.requests.recv_timeout(Duration::from_secs(20));
        next.expect("a request in time")
    }

    /// Answers the next request with these bytes and closes the connection.
    #[track_caller]
    fn answer(&self, bytes: impl AsRef<[u8]>) -> Asked {
        let (asked, mut stream) = self.next();
        // The bridge may hang up before it has read everything.
        let _ = stream.write_all(bytes.as_ref());
        asked
    }
}

fn read(stream: TcpStream) -> Option<(Asked, TcpStream)> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut line) = (String::new(), String::new());
    while reader.read_line(&mut line).ok()? > 2 {
        head.push_str(&line.to_ascii_lowercase());
        line.clear();
    }
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length = length.map_or(0, |length| length.trim().parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Some((Asked { head, body }, reader.into_inner()))
}

const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// Returns an answer with these events.
fn events(events: &[Value]) -> String {
    let lines = events.iter().map(|event| format!("data: {event}\n\n"));
    STREAM.to_owned() + &lines.collect::<String>()
}

fn started() -> Value {
    json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"})
}

fn said(text: &str) -> Value {
    json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": text})
}

fn finished() -> Value {
    json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"})
}

/// A client in a session of a bridge.
struct Chat {
    client: Client,
    session: Value,
    state: tempfile::TempDir,
}

impl Chat {
    fn start(url: &str, env: &[(&str, &str)]) -> Self {
        let state = tempfile::tempdir().unwrap();
        let mut env = env.to_vec();
        env.push(("XDG_STATE_HOME", state.path().to_str().unwrap()));
        let mut client = Client::start(BRIDGE, &[url], &env);
        let session = client.session(std::path::Path::new("/"));
        client.recv();
        Self {
            client,
            session,
            state,
        }
    }

    fn prompt(&mut self, words: &str) -> u64 {
        self.client
            .request("session/prompt", text(&self.session, words))
    }

    /// Waits for the end of the turn; returns its answer and what the agent said before.
    #[track_caller]
    fn ended(&mut self, id: u64) -> (Value, String) {
        let mut said = String::new();
        loop {
            let message = self.client.recv();
            if message["id"] == json!(id) && message.get("method").is_none() {
                return (message, said);
            }
            let update = &message["params"]["update"];
            if update["sessionUpdate"] == "agent_message_chunk" {
                said += update["content"]["text"].as_str().unwrap();
            }
        }
    }

    /// Waits for the error of the turn and checks its text.
    #[track_caller]
    fn fails(&mut self, id: u64, words: &[&str]) -> String {
        let (answer, said) = self.ended(id);
        let why = answer["error"]["message"].as_str();
        let why = why.unwrap_or_else(|| panic!("{answer}"));
        for word in words {
            assert!(why.contains(word), "{word:?} is not in {why:?}");
        }
        said
    }

    /// Shows that the bridge still works, and returns the messages that it sent.
    #[track_caller]
    fn works(&mut self, server: &Server) -> Value {
        let id = self.prompt("And now?");
        let asked = server.answer(events(&[started(), said("fine"), finished()]));
        let (answer, said) = self.ended(id);
        assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
        assert_eq!(said, "fine");
        asked.body["messages"].clone()
    }
}

/// Answers a prompt with these bytes; the user reads the words, and the chat works afterwards.
#[track_caller]
fn check_answer(bytes: impl AsRef<[u8]>, words: &[&str]) -> String {
    let server = Server::start();
    let mut chat = Chat::start(&server.url, &[]);
    let id = chat.prompt("Hello");
    server.answer(bytes);
    let said = chat.fails(id, words);
    chat.works(&server);
    assert!(server.requests.try_recv().is_err(), "nothing is sent twice");
    said
}

#[test]
fn a_server_that_dies_in_the_midst_is_an_error_that_keeps_what_arrived() {
    let server = Server::start();
    let mut chat = Chat::start(&server.url, &[]);
    let id = chat.prompt("Hello");
    server.answer(events(&[started(), said("half of")]));
    let said = chat.fails(
        id,
        &[
            "/agui ended its answer before the run was finished",
            "to go on",
        ],
    );
    assert_eq!(said, "half of");
    let messages = chat.works(&server);
    assert_eq!(messages[1]["content"], "half of");
}

#[test]
fn half_an_event_is_an_error() {
    let bytes = events(&[started()]) + "data: {\"type\":\"TEXT_MESS";
    check_answer(bytes, &["ended its answer before the run was finished"]);
    // The length that was promised is not reached.
    let short =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 999\r\n\r\ndata: {";
    check_answer(short, &["lost the connection in the middle of its answer"]);
}

#[test]
fn an_event_of_ten_megabytes_arrives_and_one_without_an_end_does_not_fill_the_memory() {
    let server = Server::start();
    let mut chat = Chat::start(&server.url, &[]);
    let id = chat.prompt("Hello");
    let long = "x".repeat(10 << 20);
    server.answer(events(&[started(), said(&long), finished()]));
    let (answer, said) = chat.ended(id);
    assert_eq!(answer["result"]["stopReason"], "end_turn");
    assert_eq!(said.len(), long.len());
    let endless = STREAM.to_owned() + "data: " + &"x".repeat(17 << 20);
    check_answer(endless, &["sent an event of more than 16 MiB"]);
}

#[test]
fn what_is_no_event_stream_is_named() {
    let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\n\
                connection: close\r\n\r\n<html>";
    check_answer(
        page,
        &[
            "answered with text/html instead of an event stream",
            "correct `url`",
        ],
    );
    let json = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{}";
    check_answer(json, &["answered with application/json instead"]);
    let bare = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nhello";
    check_answer(bare, &["answered with no content type instead"]);
    let nonsense = STREAM.to_owned() + "data: hello\n\n";
    check_answer(nonsense, &["sent an event that is not AG-UI: `hello`"]);
    check_answer(
        "SSH-2.0-OpenSSH\r\n",
        &["ended the connection before it answered"],
    );
    check_answer("", &["ended the connection before it answered"]);
}

/// Returns a refusal with this body.
fn refused(status: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{body}"
    )
}

#[test]
fn a_refusal_is_shown_with_what_to_do() {
    let json = refused(
        "500 Internal Server Error",
        "application/json",
        "{\"detail\":\"No model.\"}",
    );
    check_answer(
        json,
        &[
            "(500 Internal Server Error): No model.",
            "the log of that server",
        ],
    );
    let page = refused(
        "500 Internal Server Error",
        "text/html",
        "<html>secret</html>",
    );
    check_answer(
        page,
        &["refused the prompt (500 Internal Server Error). Next:"],
    );
    let none = refused("401 Unauthorized", "text/plain", "who?");
    check_answer(none, &["(401 Unauthorized): who?", "set ACP_AGUI_TOKEN"]);
    check_answer(
        refused("404 Not Found", "text/plain", ""),
        &["correct `url`"],
    );
}

#[test]
fn the_text_of_a_refusal_is_left_out_if_it_is_long_or_has_no_end() {
    let of_length = |length| {
        refused(
            "500 Internal Server Error",
            "text/plain",
            &"x".repeat(length),
        )
    };
    check_answer(of_length(64 << 10), &["(500 Internal Server Error): xxx"]);
    let bare = ["refused the prompt (500 Internal Server Error). Next:"];
    check_answer(of_length((64 << 10) + 1), &bare);
    let server = Server::start();
    let mut chat = Chat::start(&server.url, &[]);
    let id = chat.prompt("Hello");
    let (_, mut stream) = server.next();
    let half = "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 9\r\n\r\nhalf";
    stream.write_all(half.as_bytes()).unwrap();
    // The connection stays open.
    chat.fails(id, &bare);
    chat.works(&server);
}

#[test]
fn the_token_is_sent_and_is_in_no_message() {
    let server = Server::start();
    let headers = "{\"X-Team\": \"blue-secret\"}";
    let env = [
        ("ACP_AGUI_TOKEN", "the-secret"),
        ("ACP_AGUI_HEADERS", headers),
    ];
    let mut chat = Chat::start(&server.url, &env);
    let id = chat.prompt("Hello");
    let body = "HTTP/1.1 401 Unauthorized\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    let asked = server.answer(body);
    assert!(
        asked.head.contains("authorization: bearer the-secret\r\n"),
        "{}",
        asked.head
    );
    assert!(
        asked.head.contains("x-team: blue-secret\r\n"),
        "{}",
        asked.head
    );
    let (answer, _) = chat.ended(id);
    let why = answer.to_string();
    assert!(
        why.contains("correct ACP_AGUI_TOKEN") && !why.contains("secret"),
        "{why}"
    );
}

#[test]
fn a_redirect_is_followed_on_its_server_and_refused_elsewhere() {
    let server = Server::start();
    let other = Server::start();
    let env = [("ACP_AGUI_TOKEN", "the-secret")];
    let mut chat = Chat::start(&server.url, &env);
    let id = chat.prompt("Hello");
    let redirect = |to: &str| {
        format!(
            "HTTP/1.1 307 Temporary Redirect\r\nlocation: {to}\r\ncontent-length: 0\r\n\
             connection: close\r\n\r\n"
        )
    };
    server.answer(redirect("/agui/"));
    let asked = server.answer(events(&[started(), said("here"), finished()]));
    assert!(asked.head.starts_with("post /agui/ "), "{}", asked.head);
    assert_eq!(asked.body["messages"][0]["content"], "Hello");
    assert_eq!(chat.ended(id).1, "here");
    let id = chat.prompt("Hello");
    server.answer(redirect(&other.url));
    chat.fails(
        id,
        &[&format!(
            "redirects to {}, which is another server",
            other.url
        )],
    );
    assert!(other.requests.try_recv().is_err());
    let id = chat.prompt("Hello");
    for _ in 0..6 {
        server.answer(redirect("/agui"));
    }
    chat.fails(id, &["(307 Temporary Redirect)"]);
}

#[test]
fn a_slow_drip_is_shown_as_it_comes() {
    let server = Server::start();
    let mut chat = Chat::start(&server.url, &[]);
    let id = chat.prompt("Hello");
    let (_, mut stream) = server.next();
    let mut drip = |bytes: &str| {
        for byte in bytes.as_bytes() {
            stream.write_all(&[*byte]).unwrap();
        }
    };
    drip(STREAM);
    for word in ["a ", "slow ", "drip"] {
        drip(&format!(": still here\n\ndata: {}\n\n", said(word)));
        // Each word arrives before the next one is sent.
        let update = &chat.client.recv()["params"]["update"];
        assert_eq!(update["content"]["text"], *word);
    }
    drip(&format!("data: {}\n\n", finished()));
    assert_eq!(chat.ended(id).0["result"]["stopReason"], "end_turn");
}

#[test]
fn a_cancel_ends_the_connection_and_the_next_prompt_says_so() {
    let server = Server::start();
    let mut chat = Chat::start(&server.url, &[]);
    let id = chat.prompt("Hello");
    let (_, mut stream) = server.next();
    let call =
        json!({"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "t", "delta": "{"});
    stream
        .write_all(events(&[started(), call]).as_bytes())
        .unwrap();
    chat.client.recv();
    let session = chat.session.clone();
    chat.client
        .notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(chat.ended(id).0["result"]["stopReason"], "cancelled");
    // The server sees the end of the connection.
    let mut rest = Vec::new();
    assert_eq!(stream.read_to_end(&mut rest).unwrap_or(0), 0);
    let messages = chat.works(&server);
    let made = &messages[1]["toolCalls"][0]["function"];
    assert_eq!(made["arguments"], "{}");
    assert_eq!(messages[2]["toolCallId"], "c");
    let why = messages[2]["error"].as_str().unwrap();
    assert!(why.contains("cancelled"), "{why}");
}

#[test]
fn what_arrived_is_kept_when_the_client_goes() {
    let server = Server::start();
    let mut chat = Chat::start(&server.url, &[]);
    chat.prompt("Hello");
    let (_, mut stream) = server.next();
    let bytes = events(&[started(), said("half of")]);
    stream.write_all(bytes.as_bytes()).unwrap();
    // It has arrived.
    chat.client.recv();
    let (state, session) = (chat.state, chat.session);
    assert_eq!(chat.client.finish(), Some(0));
    let state = state.path().to_str().unwrap();
    let mut client = Client::start(BRIDGE, &[&server.url], &[("XDG_STATE_HOME", state)]);
    let params = json!({"sessionId": session, "cwd": "/", "mcpServers": []});
    assert_eq!(client.call("session/resume", params), json!({}));
    client.request("session/prompt", text(&session, "Go on"));
    let sent = server.answer(events(&[started(), finished()]));
    assert_eq!(sent.body["messages"][1]["content"], "half of");
}

#[test]
fn a_second_prompt_is_refused_while_a_turn_runs() {
    let server = Server::start();
    let mut chat = Chat::start(&server.url, &[]);
    let id = chat.prompt("Hello");
    let second = chat.prompt("And this?");
    chat.fails(second, &["A turn is running"]);
    server.answer(events(&[started(), said("ok"), finished()]));
    assert_eq!(chat.ended(id).1, "ok");
}

#[test]
fn a_server_that_is_not_there_is_named() {
    // Another test may get a port that was free a moment ago; nobody gets this one.
    let gone = "127.0.0.1:9";
    let url = format!("http://{gone}/agui?key=secret");
    let mut chat = Chat::start(&url, &[]);
    let id = chat.prompt("Hello");
    let shown = format!("http://{gone}/agui does not answer (Connection refused");
    chat.fails(id, &[&shown, "start the agent there, or correct `url`"]);
    let mut check = std::process::Command::new(BRIDGE);
    let done = check.args(["--check", &url]).output().unwrap();
    let why = String::from_utf8(done.stderr).unwrap();
    assert!(!done.status.success() && why.starts_with(&shown), "{why}");
}

#[test]
fn a_check_starts_no_run() {
    let server = Server::start();
    let check = std::process::Command::new(BRIDGE)
        .args(["--check", &server.url])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let body = "HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let asked = server.answer(body);
    assert!(asked.head.starts_with("get /agui "), "{}", asked.head);
    let done = check.wait_with_output().unwrap();
    let said = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success(), "{said}");
    assert_eq!(
        said,
        format!("{} answers (405 Method Not Allowed)\n", server.url)
    );
}

#[test]
fn an_older_endpoint_gets_no_field_that_it_refuses() {
    let server = Server::start();
    let mut chat = Chat::start(&server.url, &[]);
    let id = chat.prompt("Hello");
    let refused =
        "HTTP/1.1 422 Unprocessable Entity\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let asked = server.answer(refused);
    assert_eq!(asked.body["protocolVersion"], "1.0");
    let asked = server.answer(events(&[started(), finished()]));
    assert_eq!(asked.body.get("protocolVersion"), None);
    assert_eq!(chat.ended(id).0["result"]["stopReason"], "end_turn");
    let id = chat.prompt("Again");
    let asked = server.answer(events(&[started(), finished()]));
    assert_eq!(asked.body.get("protocolVersion"), None);
    assert_eq!(chat.ended(id).0["result"]["stopReason"], "end_turn");
}

#[test]
fn an_interrupt_is_asked_and_answered_with_the_next_run() {
    let server = Server::start();
    let mut chat = Chat::start(&server.url, &[]);
    let interrupts = json!([
        {"id": "i1", "reason": "tool_call", "message": "Deploy?", "responseSchema": {
            "type": "object", "properties": {"approved": {"type": "boolean"}},
        }},
        {"id": "i2", "reason": "input_required", "message": "Your name?"},
    ]);
    let outcome = json!({"type": "interrupt", "interrupts": interrupts});
    let end = json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": outcome});
    let id = chat.prompt("Hello");
    server.answer(events(&[started(), end]));
    let asked = chat.client.recv();
    assert_eq!(asked["method"], "session/request_permission");
    assert_eq!(
        asked["params"]["toolCall"]["content"][0]["content"]["text"],
        "Deploy?"
    );
    let chosen = json!({"outcome": {"outcome": "selected", "optionId": "reject"}});
    chat.client.reply(&asked, chosen);
    // This client shows no forms.
    let notice = chat.client.recv()["params"]["update"]["title"].clone();
    assert!(notice.as_str().unwrap().contains("a form"), "{notice}");
    let sent = server.answer(events(&[started(), said("ok"), finished()]));
    assert_eq!(
        sent.body["resume"],
        json!([
            {"interruptId": "i1", "status": "resolved", "payload": {"approved": false}},
            {"interruptId": "i2", "status": "cancelled"},
        ])
    );
    assert_eq!(chat.ended(id).1, "ok");
}

/// Answers a prompt with an interrupt that expires; returns whether the user was asked, what the
/// chat shows, and the next run's `resume`.
#[track_caller]
fn expire(expiry: &str) -> (bool, String, Value) {
    let server = Server::start();
    let mut chat = Chat::start(&server.url, &[]);
    let interrupt =
        json!({"id": "i", "reason": "tool_call", "toolCallId": "c", "expiresAt": expiry});
    let outcome = json!({"type": "interrupt", "interrupts": [interrupt]});
    let end = json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": outcome});
    let id = chat.prompt("Hello");
    server.answer(events(&[started(), end]));
    let (mut asked, mut withdrawn) = (Value::Null, Value::Null);
    let notice = loop {
        let message = chat.client.recv();
        match message["method"].as_str() {
            Some("session/request_permission") => asked = message["id"].clone(),
            Some("$/cancel_request") => withdrawn = message["params"]["requestId"].clone(),
            _ => break message["params"]["update"]["title"].clone(),
        }
    };
    assert_eq!(withdrawn, asked);
    let sent = server.answer(events(&[started(), finished()]));
    chat.ended(id);
    let notice = notice.as_str().unwrap_or_default().to_owned();
    (!asked.is_null(), notice, sent.body["resume"].clone())
}

#[test]
fn an_interrupt_that_expires_is_withdrawn_and_dismissed() {
    let dismissed = json!([{"interruptId": "i", "status": "cancelled"}]);
    // A machine that is too busy to ask within this time does not ask.
    let soon = chrono::Utc::now() + Duration::from_secs(2);
    let (_, notice, resume) = expire(&soon.to_rfc3339());
    assert!(notice.contains("has expired"), "{notice}");
    assert_eq!(resume, dismissed);
    let (is_asked, notice, resume) = expire("2026-01-01T00:00:00Z");
    assert!(!is_asked);
    assert!(notice.contains("has expired"), "{notice}");
    assert_eq!(resume, dismissed);
}

/// An MCP server with one tool, which writes down that it was called.
const OTHER: &str = r#"while read -r line; do
  id=$(expr "$line" : '.*"id":\([0-9]*\)')
  case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"other","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"deploy","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"deployed"}]}'; echo called >>"$CALLS" ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done"#;

/// Lets the agent call a tool of another MCP server and answers the question about it; returns the
/// result that the agent gets, and whether the tool was called.
#[track_caller]
fn call_other(option: Option<&str>) -> (String, bool) {
    let server = Server::start();
    let mut chat = Chat::start(&server.url, &[]);
    let folder = tempfile::tempdir().unwrap();
    let calls = folder.path().join("calls");
    let env = json!([{"name": "CALLS", "value": calls}]);
    let other = json!({"name": "other", "command": "sh", "args": ["-c", OTHER], "env": env});
    let new = json!({"cwd": "/", "mcpServers": [other]});
    chat.session = chat.client.call("session/new", new)["sessionId"].clone();
    let id = chat.prompt("Deploy");
    let call = json!({
        "type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "deploy", "delta": "{\"to\":1}",
    });
    let sent = server.answer(events(&[started(), call, finished()]));
    assert_eq!(sent.body["tools"][0]["name"], "deploy");
    let asked = loop {
        let message = chat.client.recv();
        if message["method"] == "session/request_permission" {
            break message;
        }
    };
    assert!(!calls.exists(), "called before the answer");
    let shown = &asked["params"]["toolCall"];
    assert_eq!(
        (&shown["title"], &shown["rawInput"]),
        (&json!("deploy"), &json!({"to": 1}))
    );
    let outcome = match option {
        Some(option) => json!({"outcome": "selected", "optionId": option}),
        None => json!({"outcome": "cancelled"}),
    };
    chat.client.reply(&asked, json!({"outcome": outcome}));
    let sent = server.answer(events(&[started(), finished()]));
    chat.ended(id);
    let messages = sent.body["messages"].as_array().unwrap();
    let result = messages
        .iter()
        .rfind(|message| message["role"] == "tool")
        .unwrap();
    (
        result["content"].as_str().unwrap().to_owned(),
        calls.exists(),
    )
}

#[test]
fn a_tool_of_another_server_is_called_only_with_permission() {
    assert_eq!(call_other(Some("allow")), ("deployed".to_owned(), true));
    for (option, why) in [(Some("reject"), "rejected"), (None, "cancelled")] {
        let (result, is_called) = call_other(option);
        assert!(result.contains(why), "{result}");
        assert!(!is_called);
    }
}

#[test]
fn a_question_that_was_cancelled_is_dismissed_with_the_next_prompt() {
    let server = Server::start();
    let mut chat = Chat::start(&server.url, &[]);
    let interrupt = json!({"id": "i", "reason": "tool_call", "toolCallId": "c"});
    let outcome = json!({"type": "interrupt", "interrupts": [interrupt]});
    let call =
        json!({"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "t", "delta": "{}"});
    let end = json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": outcome});
    let id = chat.prompt("Hello");
    server.answer(events(&[started(), call, end]));
    while chat.client.recv()["method"] != "session/request_permission" {}
    let session = chat.session.clone();
    chat.client
        .notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(chat.ended(id).0["result"]["stopReason"], "cancelled");
    let id = chat.prompt("Go on");
    let sent = server.answer(events(&[started(), finished()]));
    assert_eq!(
        sent.body["resume"],
        json!([{"interruptId": "i", "status": "cancelled"}])
    );
    let messages = sent.body["messages"].as_array().unwrap();
    assert!(
        messages.iter().all(|message| message["role"] != "tool"),
        "{messages:?}"
    );
    chat.ended(id);
}

#[test]
fn a_session_is_listed_loaded_and_deleted_by_another_bridge() {
    let server = Server::start();
    let mut chat = Chat::start(&server.url, &[]);
    chat.works(&server);
    let state = chat.state.path().to_str().unwrap().to_owned();
    let session = chat.session.clone();
    drop(chat.client);
    let mut client = Client::start(BRIDGE, &[&server.url], &[("XDG_STATE_HOME", &state)]);
    let listed = client.call("session/list", json!({"cwd": "/"}));
    assert_eq!(listed["sessions"][0]["sessionId"], session);
    assert_eq!(listed["sessions"][0]["title"], "And now?");
    let other = client.call("session/list", json!({"cwd": "/elsewhere"}));
    assert_eq!(other["sessions"], json!([]));
    let params = json!({"sessionId": session, "cwd": "/", "mcpServers": []});
    client.request("session/load", params);
    let mut told = Vec::new();
    let loaded = loop {
        let message = client.recv();
        match message.get("method") {
            Some(_) => told.push(message["params"]["update"]["content"]["text"].clone()),
            None => break message,
        }
    };
    assert_eq!(loaded["result"], json!({}));
    assert_eq!(told, ["And now?", "fine"]);
    client.recv();
    let id = client.request("session/prompt", text(&session, "More"));
    let sent = server.answer(events(&[started(), finished()]));
    assert_eq!(sent.body["threadId"], session);
    assert_eq!(sent.body["messages"].as_array().unwrap().len(), 3);
    assert_eq!(client.recv()["id"], json!(id));
    client.call("session/delete", json!({"sessionId": session}));
    assert_eq!(
        client.call("session/list", json!({}))["sessions"],
        json!([])
    );
    let id = client.request(
        "session/load",
        json!({"sessionId": session, "cwd": "/", "mcpServers": []}),
    );
    let refused = client.recv();
    assert_eq!(refused["id"], json!(id));
    assert!(
        refused["error"]["message"]
            .as_str()
            .unwrap()
            .contains("is not known")
    );
}
