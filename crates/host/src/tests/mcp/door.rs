//! Which clients are admitted.

use acp_core::event::ToolEvent;
use std::os::unix::fs::PermissionsExt;

use super::*;

fn mode(path: &Path) -> u32 {
    path.metadata().expect("it is there").permissions().mode() & 0o777
}

#[test]
fn the_socket_exists_immediately_for_the_user_only() {
    let run = Run::new();
    assert!(!run.socket().exists());
    run.admit(SESSION, TOKEN);
    UnixStream::connect(run.socket()).expect("a server");
    assert_eq!(mode(&run.socket()), 0o600);
    assert_eq!(mode(run.socket().parent().expect("a folder")), 0o700);
}

#[test]
fn without_the_token_a_client_gets_no_byte() {
    let run = Run::with_tools();
    let long = format!(r#"{{"token":"{}"}}"#, "x".repeat(5000));
    let attempts = [
        r#"{"token":"0123456789abcdee"}"#,
        r#"{"token":""}"#,
        r#"{"token":null}"#,
        "{}",
        "",
        "junk",
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#,
        &long,
    ];
    let mut clients: Vec<Client> = Vec::new();
    for attempt in attempts {
        let mut client = run.connect();
        client.line(attempt);
        // Later input is not read either.
        let _ = client.stream.write_all(b"{\"id\":1,\"method\":\"ping\"}\n");
        clients.push(client);
    }
    // Rejected clients do not delay others.
    run.guest();
    for (client, attempt) in clients.iter_mut().zip(attempts) {
        assert_eq!(client.end(), "", "{attempt}");
    }
    let log = run.log_says("a wrong token");
    assert!(!log.contains("0123456789abcde"), "{log}");
}

#[test]
fn a_silent_client_is_disconnected() {
    let run = Run::with(|config| config.limits.tools_hello = Duration::from_millis(50));
    run.admit(SESSION, TOKEN);
    let mut half = run.connect();
    // On a busy machine, the server may have hung up already.
    let _ = half.stream.write_all(b"{\"token\":\"0123");
    let mut silent = run.connect();
    assert_eq!(silent.end(), "");
    assert_eq!(half.end(), "");
    run.log_says("has said nothing");
}

#[test]
fn clients_of_one_session_are_independent() {
    let run = Run::with_tools();
    let (mut first, mut second) = (run.client(), run.client());
    first.call(1, "look", json!({ "text": "first" }));
    let (a, arguments) = run.used();
    assert_eq!(arguments["text"], "first");
    second.call(1, "look", json!({ "text": "second" }));
    let (b, arguments) = run.used();
    assert_eq!(arguments["text"], "second");
    run.answer(b, "to the second");
    run.answer(a, "to the first");
    assert_eq!(text(&first.next()), "to the first");
    assert_eq!(text(&second.next()), "to the second");
}

#[test]
fn a_session_that_is_shut_out_loses_its_clients_and_its_token() {
    let run = Run::with_tools();
    let other = SessionKey(2);
    run.admit(other, "other");
    let mut client = run.client();
    client.call(1, "look", json!({}));
    let (id, _) = run.used();
    run.shut_out(SESSION);
    assert_eq!(run.given_up(), id);
    client.end();
    let mut late = run.connect();
    late.line(&format!(r#"{{"token":"{TOKEN}"}}"#));
    assert_eq!(late.end(), "");
    let mut guest = run.connect();
    guest.line(r#"{"token":"other"}"#);
    assert_eq!(guest.next(), json!({ "ok": true }));
}

#[test]
fn answers_before_a_session_is_shut_out_are_delivered() {
    let run = Run::with_tools();
    let mut client = run.client();
    client.call(1, "look", json!({}));
    let (id, _) = run.used();
    run.answer(id, "last words");
    run.shut_out(SESSION);
    assert!(client.end().contains("last words"));
}

#[test]
fn a_new_token_replaces_the_earlier_one() {
    let run = Run::with_tools();
    let mut client = run.client();
    run.admit(SESSION, "new");
    client.end();
    let mut late = run.connect();
    late.line(&format!(r#"{{"token":"{TOKEN}"}}"#));
    assert_eq!(late.end(), "");
    let mut guest = run.connect();
    guest.line(r#"{"token":"new"}"#);
    assert_eq!(guest.next(), json!({ "ok": true }));
}

#[test]
fn sockets_are_removed_also_those_of_dead_neovims() {
    let run = Run::new();
    let mut child = std::process::Command::new("true")
        .spawn()
        .expect("a process");
    let dead = child.id();
    child.wait().expect("its end");
    let (old, alive, odd) = (
        run.path(&format!("acp.nvim.{dead}.abc")),
        run.path(&format!("acp.nvim.{}.abc", std::process::id())),
        run.path("acp.nvim.x"),
    );
    for folder in [&old, &alive, &odd] {
        std::fs::create_dir(folder).expect("a folder");
        drop(std::os::unix::net::UnixListener::bind(folder.join("mcp.sock")).expect("a socket"));
    }
    run.admit(SESSION, TOKEN);
    wait_for("the old folder to be gone", || !old.exists());
    assert!(alive.join("mcp.sock").exists() && odd.join("mcp.sock").exists());
    let folder = run.socket().parent().expect("a folder").to_owned();
    assert!(folder.exists());
    let Run {
        host,
        outlet,
        folder: _kept,
    } = run;
    host.shutdown(Duration::from_secs(1));
    assert!(!folder.exists());
    drop(outlet);
}

#[test]
fn a_failed_socket_is_reported_with_its_path() {
    let run = Run::with(|config| {
        let file = config.log_path.with_file_name("file");
        std::fs::write(&file, "").expect("a file");
        config.tools_socket = file.join("acp.nvim.1.x/mcp.sock");
    });
    run.admit(SESSION, TOKEN);
    match run.next() {
        Event::Tool(ToolEvent::ServerFailed { why }) => {
            assert!(why.contains("file/acp.nvim.1.x"), "{why}")
        }
        other => panic!("{other:?}"),
    }
}
