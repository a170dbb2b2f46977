//! Overload: too many calls, connections and bytes.

use std::net::Shutdown;

use super::*;
use acp_core::event::ToolEvent;

#[test]
fn a_message_of_80_mib_is_answered_but_not_buffered() {
    let run = Run::with_tools();
    let mut client = run.client();
    for (head, tail) in [
        (
            r#"{"id":5,"method":"tools/call","params":{"name":"look","arguments":{"text":""#,
            r#""}}}"#,
        ),
        (
            r#"{"method":"tools/call","params":{"name":"look","arguments":{"text":""#,
            r#"\"id\":9}"}},"jsonrpc":"2.0","id":5}"#,
        ),
    ] {
        client.send(head.as_bytes());
        let begun = run.begun();
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..80 {
            client.send(&piece);
        }
        client.line(tail);
        match run.next() {
            Event::Tool(ToolEvent::Used {
                id,
                arguments: Err(why),
                ..
            }) => {
                assert_eq!(id, begun);
                assert!(why.contains("the limit is 16 MiB"), "{why}");
            }
            other => panic!("{other:?}"),
        }
        let answer = client.next();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(5), &json!(-32600))
        );
    }
    client.call(6, "look", json!({}));
    run.answer(run.used().0, "on it goes");
    assert_eq!(text(&client.next()), "on it goes");
}

#[test]
fn at_most_sixty_four_calls_are_pending() {
    let run = Run::with_tools();
    let mut client = run.client();
    for id in 1..=64 {
        client.call(id, "look", json!({ "text": "a" }));
    }
    let ids: Vec<ToolUseId> = (0..64).map(|_| run.used().0).collect();
    client.call(65, "look", json!({}));
    let answer = client.next();
    assert_eq!(
        (&answer["id"], &answer["result"]["isError"]),
        (&json!(65), &json!(true))
    );
    for id in ids.iter().rev() {
        run.answer(*id, &id.0.to_string());
    }
    let mut answers: Vec<(i64, String)> = (0..64)
        .map(|_| client.next())
        .map(|answer| {
            (
                answer["id"].as_i64().expect("an id"),
                text(&answer).to_owned(),
            )
        })
        .collect();
    answers.sort();
    let ids = ids.iter().map(|id| id.0.to_string());
    let expected: Vec<(i64, String)> = (1..=64).zip(ids).collect();
    assert_eq!(answers, expected);
    client.call(66, "look", json!({}));
    run.answer(run.used().0, "there is room again");
    assert_eq!(client.next()["id"], 66);
}

#[test]
fn ten_thousand_calls_leave_nothing_behind() {
    let run = Run::with_tools();
    let mut client = run.client();
    client.call(0, "look", json!({}));
    run.answer(run.used().0, "");
    client.next();
    for n in 0..10_000 {
        client.call(n, "look", json!({}));
        run.answer(run.used().0, "");
        assert_eq!(client.next()["id"], n);
    }
    assert_eq!(run.host.mcp.open_calls(), 0);
    // The list is not of one moment.
    wait_for("two descriptors", || {
        run.descriptors().is_none_or(|count| count == 2)
    });
    drop(client);
    for _ in 0..100 {
        let mut client = run.client();
        client.call(1, "look", json!({}));
        run.used();
        drop(client);
        run.given_up();
    }
    assert_eq!(run.host.mcp.open_calls(), 0);
    wait_for("the connections to be gone", || run.connections() == 0);
    // The first is the listening one.
    wait_for("the descriptors to be gone", || {
        run.descriptors().is_none_or(|count| count == 1)
    });
}

#[test]
fn a_session_has_at_most_thirty_two_connections() {
    let run = Run::with_tools();
    let mut guests: Vec<Client> = (0..32).map(|_| run.guest()).collect();
    let mut late = run.connect();
    late.line(&format!(r#"{{"token":"{TOKEN}"}}"#));
    assert_eq!(late.end(), "");
    run.log_says("too many connections");
    guests.pop();
    wait_for("room", || run.connections() < 32);
    run.guest();
}

#[test]
fn a_client_that_does_not_read_is_not_read_from() {
    let run = Run::with(|config| config.limits.tools_backlog = 1 << 20);
    run.admit(SESSION, TOKEN);
    let mut large = tool("look");
    large.description = "x".repeat(50_000);
    run.host.run(HostEffect::OfferTools([large].into()));
    let mut client = run.client();
    // One write: the server stops reading early, and many small writes would fill the socket.
    let request = |id| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" });
    let requests: String = (1..=400).map(|id| format!("{}\n", request(id))).collect();
    client.send(requests.as_bytes());
    wait_for("answers to pile up", || {
        run.host.mcp.most_waiting() > 1 << 20
    });
    // Other clients are not delayed.
    let mut other = run.client();
    for id in 1..=300 {
        other.request(id, "tools/list", json!({}));
        assert_eq!(other.next()["id"], id);
    }
    // Once it reads, it gets everything.
    let mut ids: Vec<i64> = (0..400)
        .filter_map(|_| client.next()["id"].as_i64())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=400).collect::<Vec<i64>>());
    assert!(
        run.host.mcp.most_waiting() < 10 << 20,
        "{}",
        run.host.mcp.most_waiting()
    );
    // A client that never reads is disconnected.
    client.send(requests.as_bytes());
    run.shut_out(SESSION);
    wait_for("the connections to be gone", || run.connections() == 0);
}

#[test]
fn clients_without_a_token_do_not_block_others() {
    // None is sent away before all have connected.
    let run = Run::with(|config| config.limits.tools_hello = DEADLINE * 10);
    run.offer(&["look"]);
    run.admit(SESSION, TOKEN);
    let mut guest = run.client();
    let silent: Vec<Client> = (0..64).map(|_| run.connect()).collect();
    // All must have been accepted, so that the next one is one too many.
    let mut late = run.connect();
    assert_eq!(late.end(), "");
    run.log_says("Too many clients connect at once");
    guest.call(1, "look", json!({}));
    run.answer(run.used().0, "undisturbed");
    assert_eq!(text(&guest.next()), "undisturbed");
    for mut client in silent {
        let stream = &client.stream;
        stream.shutdown(Shutdown::Write).expect("it is connected");
        assert_eq!(client.end(), "");
    }
    run.guest();
}

impl Run {
    /// Returns the number of admitted clients.
    fn connections(&self) -> usize {
        self.host.mcp.connections()
    }

    /// Returns the number of the server's descriptors; `None` if the system does not say.
    fn descriptors(&self) -> Option<usize> {
        let sockets = std::fs::read_to_string("/proc/net/unix").ok()?;
        let path = self.socket();
        let path = path.to_str().expect("a plain path");
        Some(sockets.lines().filter(|line| line.ends_with(path)).count())
    }
}
