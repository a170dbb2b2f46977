//! The same over HTTP, written by hand.

use std::net::TcpStream;

use super::*;

impl Run {
    fn port(&self) -> u16 {
        self.host.run(HostEffect::ServeToolsByHttp);
        match self.next() {
            Event::ToolPort { port } => port,
            other => panic!("{other:?}"),
        }
    }
}

/// An answer as it came.
#[derive(Debug)]
struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the message in the body, which is JSON or the last event of a stream.
    fn message(&self) -> Json {
        let data = self
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data:"));
        let last = data.map(str::trim).rfind(|data| data.starts_with('{'));
        serde_json::from_str(last.unwrap_or(&self.body)).unwrap_or_else(|_| panic!("{self:?}"))
    }
}

/// Sends one request and reads the answer to its end; `headers` are lines.
fn ask(port: u16, path: &str, headers: &str, body: &str) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a server");
    stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
    let head = format!(
        "POST {path} HTTP/1.1\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\n\
         Content-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("the server reads");
    // It may have answered already, and read no further.
    let _ = stream.write_all(body.as_bytes());
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text);
    let (head, body) = text
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("{text}"));
    let mut lines = head.lines();
    let status = lines
        .next()
        .and_then(|line| line.split(' ').nth(1))
        .expect("a status");
    Answer {
        status: status.parse().expect("a number"),
        headers: lines
            .filter_map(|line| line.split_once(": "))
            .map(|(key, value)| (key.to_ascii_lowercase(), value.to_owned()))
            .collect(),
        body: body.to_owned(),
    }
}

fn host(port: u16) -> String {
    format!("Host: 127.0.0.1:{port}\r\n")
}

fn bearer(port: u16) -> String {
    format!("{}Authorization: Bearer {TOKEN}\r\n", host(port))
}

fn message(id: i64, method: &str, params: Json) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

#[test]
fn without_the_token_there_is_nothing_over_http() {
    let run = Run::with_tools();
    let port = run.port();
    let body = message(1, "initialize", initialize());
    let wrong = [
        host(port),
        format!("{}Authorization: Bearer wrong\r\n", host(port)),
        format!("{}Authorization: Bearer\r\n", host(port)),
        format!("{}Authorization: Basic {TOKEN}\r\n", host(port)),
    ];
    for headers in &wrong {
        let answer = ask(port, "/mcp", headers, &body);
        assert_eq!(answer.status, 401, "{headers}");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
    // The body is not waited for: one that never comes is answered all the same.
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a server");
    stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
    let head = format!(
        "POST /mcp HTTP/1.1\r\nContent-Length: 99\r\n{}\r\n",
        host(port)
    );
    stream.write_all(head.as_bytes()).expect("the server reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    assert_eq!(ask(port, "/", &bearer(port), &body).status, 404);
    let log = run.log_says("no token, or a wrong one");
    assert!(!log.contains(TOKEN), "{log}");
}

#[test]
fn a_page_in_a_browser_does_not_get_in() {
    let run = Run::with_tools();
    let port = run.port();
    let body = message(1, "initialize", initialize());
    let rebound = format!("Host: evil.example:{port}\r\nAuthorization: Bearer {TOKEN}\r\n");
    assert_eq!(ask(port, "/mcp", &rebound, &body).status, 403);
    let page = format!("{}Origin: https://evil.example\r\n", bearer(port));
    assert_eq!(ask(port, "/mcp", &page, &body).status, 403);
    assert_eq!(ask(port, "/mcp", &bearer(port), &body).status, 200);
}

#[test]
fn a_client_over_http_learns_of_the_tools_and_calls_one() {
    let run = Run::with_tools();
    let port = run.port();
    assert_eq!(run.port(), port);
    let first = ask(
        port,
        "/mcp",
        &bearer(port),
        &message(0, "initialize", initialize()),
    );
    assert_eq!(first.status, 200, "{first:?}");
    assert_eq!(first.message()["result"]["serverInfo"]["name"], "neovim");
    let session = first
        .header("mcp-session-id")
        .expect("a session")
        .to_owned();
    let headers = format!("{}Mcp-Session-Id: {session}\r\n", bearer(port));
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
    assert_eq!(ask(port, "/mcp", &headers, &note).status, 202);
    let tools = ask(port, "/mcp", &headers, &message(1, "tools/list", json!({})));
    assert_eq!(tools.message()["result"]["tools"][0]["name"], "look");
    let params = json!({ "name": "look", "arguments": { "text": 5 } });
    let wrong = ask(port, "/mcp", &headers, &message(2, "tools/call", params));
    assert!(matches!(
        run.next(),
        Event::ToolUsed {
            arguments: Err(_),
            ..
        }
    ));
    assert!(text(&wrong.message()).starts_with("/text: "));
    let params = json!({ "name": "look", "arguments": { "text": "abc" } });
    let call = message(3, "tools/call", params);
    let (asked, with) = (call.clone(), headers.clone());
    let caller = std::thread::spawn(move || ask(port, "/mcp", &with, &asked));
    let (id, arguments) = run.used();
    assert_eq!(arguments["text"], "abc");
    run.answer(id, "seen");
    assert_eq!(text(&caller.join().expect("an answer").message()), "seen");
    // What waits when the session ends is given up, and the token is worth nothing.
    let (asked, with) = (call.clone(), headers.clone());
    let caller = std::thread::spawn(move || ask(port, "/mcp", &with, &asked));
    let (id, _) = run.used();
    run.shut_out(SESSION);
    assert_eq!(run.given_up(), id);
    caller.join().expect("an end");
    assert_eq!(ask(port, "/mcp", &headers, &call).status, 401);
}

#[test]
fn a_body_that_is_too_long_is_refused() {
    let run = Run::with_tools();
    let port = run.port();
    // By so little that the server has read all of it when it answers.
    let long = "x".repeat(16 << 20);
    let params = json!({ "name": "look", "arguments": { "text": long } });
    let answer = ask(
        port,
        "/mcp",
        &bearer(port),
        &message(1, "tools/call", params),
    );
    assert_eq!(answer.status, 413, "{}", answer.body);
}

#[test]
fn a_client_over_http_is_told_of_other_tools() {
    let run = Run::with_tools();
    let port = run.port();
    let first = ask(
        port,
        "/mcp",
        &bearer(port),
        &message(0, "initialize", initialize()),
    );
    let session = first
        .header("mcp-session-id")
        .expect("a session")
        .to_owned();
    let headers = format!("{}Mcp-Session-Id: {session}\r\n", bearer(port));
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a server");
    stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
    let head = format!("GET /mcp HTTP/1.1\r\nAccept: text/event-stream\r\n{headers}\r\n");
    stream.write_all(head.as_bytes()).expect("the server reads");
    let mut lines = BufReader::new(stream).lines();
    let status = lines.next().and_then(Result::ok);
    assert_eq!(status.as_deref(), Some("HTTP/1.1 200 OK"));
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
    assert_eq!(ask(port, "/mcp", &headers, &note).status, 202);
    run.offer(&["look", "listen"]);
    let is_told = lines.any(|line| line.is_ok_and(|line| line.contains("tools/list_changed")));
    assert!(is_told);
}
