//! Requests of a client, and their answers.

use super::*;
use acp_core::event::ToolEvent;

#[test]
fn a_client_lists_the_tools_and_calls_one() {
    let run = Run::with_tools();
    let mut client = run.guest();
    let server = client.initialize();
    assert_eq!(server["serverInfo"]["name"], "neovim");
    assert_eq!(server["protocolVersion"], "2025-06-18");
    assert_eq!(
        server["capabilities"],
        json!({ "tools": { "listChanged": true } })
    );
    client.request(1, "tools/list", json!({}));
    let tools = client.next()["result"]["tools"].clone();
    assert_eq!(tools.as_array().map(Vec::len), Some(1));
    assert_eq!(tools[0]["name"], "look");
    assert_eq!(tools[0]["title"], "The look");
    assert_eq!(tools[0]["inputSchema"], tool("look").parameters);
    assert_eq!(tools[0]["annotations"]["readOnlyHint"], true);
    client.call(2, "look", json!({ "text": "abc" }));
    let (id, arguments) = run.used();
    assert_eq!(Json::Object(arguments), json!({ "text": "abc" }));
    let result = ToolResult {
        structured: json!({ "n": 1 }).as_object().cloned(),
        ..ToolResult::text("seen")
    };
    run.host.run(HostEffect::AnswerTool { id, result });
    let answer = client.next();
    assert_eq!(answer["id"], 2);
    assert_eq!(text(&answer), "seen");
    assert_eq!(answer["result"]["structuredContent"], json!({ "n": 1 }));
    assert_eq!(answer["result"]["isError"], false);
}

#[test]
fn wrong_arguments_are_reported_by_field() {
    let run = Run::with_tools();
    let mut client = run.client();
    let arguments = json!({ "list": [{ "n": 1 }, { "n": "secret" }], "text": 1, "odd": 1 });
    client.call(1, "look", arguments);
    let words = match run.next() {
        Event::Tool(ToolEvent::Used {
            arguments: Err(words),
            ..
        }) => words,
        other => panic!("{other:?}"),
    };
    let answer = client.next();
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(text(&answer), words);
    let fields: Vec<&str> = words
        .lines()
        .filter_map(|line| line.split(": ").next())
        .collect();
    assert_eq!(fields.len(), 3, "{words}");
    for field in ["/list/1/n", "/text", "arguments"] {
        assert!(fields.contains(&field), "{words}");
    }
    assert!(!words.contains("secret"), "{words}");
    client.request(2, "tools/call", json!({ "name": "look", "arguments": [1] }));
    assert!(matches!(
        run.next(),
        Event::Tool(ToolEvent::Used {
            arguments: Err(_),
            ..
        })
    ));
    assert!(text(&client.next()).starts_with("arguments: "));
}

#[test]
fn an_invalid_call_is_refused_without_the_core() {
    let run = Run::with_tools();
    let mut client = run.guest();
    client.call(1, "look", json!({}));
    assert_eq!(client.next()["error"]["code"], -32600);
    client.initialize();
    client.call(2, "nothing", json!({}));
    let answer = client.next();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(2), &json!(-32602))
    );
    client.request(3, "tools/call", json!({ "arguments": {} }));
    assert_eq!(client.next()["error"]["code"], -32602);
    client.request(4, "no/method", json!({}));
    assert_eq!(client.next()["error"]["code"], -32601);
    client.line("junk");
    client.send(b"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"\xff\"}\n\n\n[]\n{}\n");
    assert_eq!(client.next()["error"]["code"], -32700);
    client.call(6, "look", json!(null));
    // No event resulted from the earlier lines.
    let (id, arguments) = run.used();
    assert_eq!(arguments, Map::new());
    run.answer(id, "there");
    let answer = client.next();
    assert_eq!((&answer["id"], text(&answer)), (&json!(6), "there"));
}

#[test]
fn calling_a_tool_with_an_invalid_schema_is_an_error() {
    let run = Run::with_tools();
    let mut bad = tool("bad");
    bad.parameters = json!({ "type": "object", "properties": { "a": { "type": "strange" } } });
    run.host.run(HostEffect::OfferTools([bad].into()));
    let mut client = run.client();
    client.call(1, "bad", json!({}));
    assert!(matches!(
        run.next(),
        Event::Tool(ToolEvent::Used {
            arguments: Err(_),
            ..
        })
    ));
    let answer = client.next();
    assert!(text(&answer).contains("/properties/a/type"), "{answer}");
}

#[test]
fn clients_are_notified_only_when_the_tools_change() {
    let run = Run::with_tools();
    let mut client = run.client();
    run.offer(&["look"]);
    for id in 1..=50 {
        client.request(id, "ping", json!({}));
        assert_eq!(client.next()["id"], id);
    }
    run.offer(&["look", "listen"]);
    assert_eq!(client.next()["method"], "notifications/tools/list_changed");
    client.request(1, "tools/list", json!({}));
    let answer = client.next();
    let names: Vec<_> = answer["result"]["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .map(|t| &t["name"])
        .collect();
    assert_eq!(names, ["listen", "look"]);
    let mut off = tool("look");
    off.is_on = false;
    run.host.run(HostEffect::OfferTools([off].into()));
    assert_eq!(client.next()["method"], "notifications/tools/list_changed");
    client.request(2, "tools/list", json!({}));
    assert_eq!(client.next()["result"]["tools"], json!([]));
}

#[test]
fn progress_goes_to_clients_that_requested_it() {
    let run = Run::with_tools();
    let mut client = run.client();
    let params = json!({ "name": "look", "arguments": {}, "_meta": { "progressToken": "p" } });
    client.request(1, "tools/call", params);
    client.call(2, "look", json!({}));
    let ids = [run.used().0, run.used().0];
    for (n, id) in [(1.0, ids[0]), (1.0, ids[1]), (2.0, ids[0])] {
        let progress = Progress {
            done: n,
            total: Some(2.0),
            message: Some("at it".to_owned()),
        };
        run.host.run(HostEffect::ReportTool { id, progress });
        if id == ids[0] {
            let note = client.next();
            assert_eq!(note["method"], "notifications/progress");
            let params =
                json!({ "progressToken": "p", "progress": n, "total": 2.0, "message": "at it" });
            assert_eq!(note["params"], params);
        }
    }
    run.answer(ids[1], "b");
    assert_eq!(client.next()["id"], 2);
    run.answer(ids[0], "a");
    assert_eq!(client.next()["id"], 1);
}

#[test]
fn a_cancelled_call_is_abandoned_once_and_not_answered() {
    let run = Run::with_tools();
    let mut client = run.client();
    client.call(1, "look", json!({}));
    let (id, _) = run.used();
    client.notify(
        "notifications/cancelled",
        json!({ "requestId": 1, "reason": "enough" }),
    );
    assert_eq!(run.given_up(), id);
    // The core answers each call; this answer has no waiter.
    run.answer(id, "late");
    client.call(2, "look", json!({}));
    let (id, _) = run.used();
    run.answer(id, "in time");
    let answer = client.next();
    assert_eq!((&answer["id"], text(&answer)), (&json!(2), "in time"));
}

#[test]
fn calls_of_a_lost_connection_are_abandoned() {
    let run = Run::with_tools();
    let mut client = run.client();
    client.call(1, "look", json!({}));
    client.call(2, "look", json!({}));
    client.send(br#"{"method":"tools/call","params":{"name":"look","arguments":{"#);
    let mut open = [run.used().0, run.used().0, run.begun()];
    drop(client);
    let mut given_up = [run.given_up(), run.given_up(), run.given_up()];
    open.sort();
    given_up.sort();
    assert_eq!(given_up, open);
}

#[test]
fn a_call_is_reported_before_its_last_byte() {
    let run = Run::with_tools();
    let mut client = run.client();
    let heads = [
        r#"{"method":"tools/call","params":{"name":"look","arguments":{"text":"a"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"x":[{}]},"name":"look","#,
        r#" { "id" : "a\"b" , "method" : "tools/call" , "params" : { "name" : "look" "#,
    ];
    let tails = [
        r#"b"}},"jsonrpc":"2.0","id":5}"#,
        r#""arguments":{}}}"#,
        r#"},"jsonrpc":"2.0"}"#,
    ];
    for (n, (head, tail)) in heads.into_iter().zip(tails).enumerate() {
        client.send(head.as_bytes());
        let begun = run.begun();
        client.line(tail);
        let (id, _) = run.used();
        assert_eq!(id, begun);
        run.answer(id, "done");
        assert_eq!(client.next()["id"], [json!(5), json!(7), json!("a\"b")][n]);
    }
}

#[test]
fn an_incomplete_call_is_abandoned() {
    let run = Run::with_tools();
    let mut client = run.client();
    client.send(br#"{"id":1,"method":"tools/call","params":{"name":"look","arguments":"#);
    let begun = run.begun();
    client.line("]}");
    assert_eq!(run.given_up(), begun);
    assert_eq!(client.next()["error"]["code"], -32700);
    // The last name wins.
    client.send(br#"{"id":2,"method":"tools/call","params":{"name":"look","arguments":"#);
    let begun = run.begun();
    client.line(r#"{"text":1}}}"#);
    match run.next() {
        Event::Tool(ToolEvent::Used {
            id,
            arguments: Err(_),
            ..
        }) => assert_eq!(id, begun),
        other => panic!("{other:?}"),
    }
    assert_eq!(client.next()["result"]["isError"], true);
}

#[test]
fn an_early_answer_waits_for_the_complete_call() {
    let run = Run::with_tools();
    let mut client = run.client();
    client.send(br#"{"id":1,"method":"tools/call","params":{"name":"look","arguments":"#);
    run.answer(run.begun(), "no");
    client.line("{}}}");
    assert_eq!(text(&client.next()), "no");
    client.call(2, "look", json!({}));
    // Neither the end of the first call nor its completion was reported.
    run.answer(run.used().0, "yes");
    assert_eq!(text(&client.next()), "yes");
}

#[test]
fn lines_do_not_depend_on_how_the_bytes_are_split() {
    let run = Run::with_tools();
    let mut seed = 7_u32;
    let mut next = move |below: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 16) % below
    };
    for _ in 0..20 {
        let mut client = run.client();
        let mut bytes = Vec::new();
        for id in 1..=5 {
            let arguments = json!({ "text": "x".repeat(id * id * 300) });
            let params = json!({ "name": "look", "arguments": arguments });
            let call = json!({ "method": "tools/call", "params": params, "id": id });
            bytes.extend_from_slice(call.to_string().as_bytes());
            bytes.extend_from_slice(if id % 2 == 0 { b"\r\n" } else { b"\n" });
        }
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let most = [3, 100, 5000][next(3) as usize];
            let (piece, more) = rest.split_at((next(most) as usize + 1).min(rest.len()));
            client.send(piece);
            rest = more;
        }
        let mut begun = None;
        let mut lengths = Vec::new();
        while lengths.len() < 5 {
            match run.next() {
                Event::Tool(ToolEvent::Begun { id, .. }) => assert_eq!(begun.replace(id), None),
                Event::Tool(ToolEvent::Used {
                    id,
                    arguments: Ok(arguments),
                    ..
                }) => {
                    assert!(begun.take().is_none_or(|begun| begun == id));
                    lengths.push(arguments["text"].as_str().map_or(0, str::len));
                    run.answer(id, "");
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(lengths, [300, 1200, 2700, 4800, 7500]);
    }
}

#[test]
fn a_client_that_skips_initialize_is_served() {
    let run = Run::with_tools();
    let mut client = run.guest();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "tester", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    client.request(1, "tools/list", json!({ "_meta": meta }));
    assert_eq!(client.next()["result"]["tools"][0]["name"], "look");
    let params = json!({ "name": "look", "arguments": {}, "_meta": meta });
    client.request(2, "tools/call", params);
    run.answer(run.used().0, "seen");
    assert_eq!(text(&client.next()), "seen");
    let wanted = json!({ "notifications": { "toolsListChanged": true }, "_meta": meta });
    client.request(3, "subscriptions/listen", wanted);
    assert_eq!(
        client.next()["method"],
        "notifications/subscriptions/acknowledged"
    );
    run.offer(&["listen"]);
    assert_eq!(client.next()["method"], "notifications/tools/list_changed");
}
