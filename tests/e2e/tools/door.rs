//! Access control: only a client with the token of an open session gets in.

use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use super::*;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
const CALL: &str =
    r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"touch","arguments":{}}}"#;

/// Sends `hello` and a few requests to the socket, and returns all output until it closes.
#[track_caller]
fn told(socket: &PathBuf, hello: &str) -> String {
    let mut stream = UnixStream::connect(socket).expect("the socket accepts connections");
    stream
        .set_read_timeout(Some(Duration::from_secs(15)))
        .expect("the timeout is not zero");
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let lines = [hello, INITIALIZE, initialized, LIST, CALL].join("\n") + "\n";
    // The socket may be closed before everything is written.
    let _ = stream.write_all(lines.as_bytes());
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => {}
        // It was closed with unread input.
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
        Err(error) => panic!("the socket is not closed: {error}"),
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hello(token: &str) -> String {
    json!({ "token": token }).to_string()
}

#[track_caller]
fn check_nothing(nvim: &Nvim, socket: &PathBuf, hello: &str) {
    let answer = told(socket, hello);
    assert_eq!(answer, "", "to {hello:?}");
    assert_eq!(nvim.lua("return vim.g.touched or 0", ()), 0);
}

const TOUCH: &str = "name = 'touch', description = 'x', read_only = true,
    handler = function() vim.g.touched = (vim.g.touched or 0) + 1 end";

#[test]
fn a_process_without_the_token_gets_nothing() {
    let nvim = start(project());
    define(&nvim, TOUCH);
    let server = server(&nvim);
    let socket = PathBuf::from(variable(&server, "ACP_NVIM_SOCKET"));
    let token = variable(&server, "ACP_NVIM_TOKEN");
    assert!(token.len() >= 32, "long enough not to be guessed");
    // Other users cannot see it.
    let mode = |path: &Path| path.metadata().expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&socket), 0o600);
    let folder = socket.parent().expect("a folder");
    assert_eq!(mode(folder), 0o700);
    assert_eq!(
        folder.metadata().expect("it is there").uid(),
        rustix::process::getuid().as_raw()
    );
    // No token.
    check_nothing(&nvim, &socket, INITIALIZE);
    check_nothing(&nvim, &socket, "");
    check_nothing(&nvim, &socket, "{}");
    check_nothing(&nvim, &socket, r#"{"token":null}"#);
    // A wrong token.
    check_nothing(&nvim, &socket, &hello(""));
    check_nothing(&nvim, &socket, &hello(&"0".repeat(token.len())));
    check_nothing(&nvim, &socket, &hello(&token[..token.len() - 1]));
    check_nothing(&nvim, &socket, &hello(&format!("{token}0")));
    check_nothing(
        &nvim,
        &socket,
        &hello(&token.to_uppercase()).replace("token", "Token"),
    );
    // The same lines with the right token work, so the token was the reason.
    let answer = told_in(&socket, &hello(&token));
    assert!(answer.contains("\"touch\""), "{answer}");
    nvim.wait("the call", || {
        nvim.lua("return vim.g.touched or 0", ()) == 1
    });
    // The token is in no log.
    let log = nvim.lua("return vim.fn.stdpath('log')", ());
    let logs = std::process::Command::new("grep")
        .args(["-rlF", &token])
        .arg(log.as_str().expect("a path"))
        .output()
        .expect("grep runs");
    assert_eq!(String::from_utf8_lossy(&logs.stdout), "");
    nvim.quit();
    assert!(!folder.exists(), "the folder is removed");
}

/// Sends `hello` and the requests, and returns the socket's output up to the answer to the call.
#[track_caller]
fn told_in(socket: &PathBuf, hello: &str) -> String {
    let mut stream = UnixStream::connect(socket).expect("the socket accepts connections");
    stream
        .set_read_timeout(Some(Duration::from_secs(15)))
        .expect("the timeout is not zero");
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    let mut all = String::new();
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).expect("an answer");
        all.push_str(&line);
    };
    writeln!(stream, "{hello}").expect("the socket accepts input");
    line();
    writeln!(stream, "{INITIALIZE}").expect("the socket accepts input");
    line();
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    writeln!(stream, "{initialized}\n{LIST}").expect("the socket accepts input");
    line();
    writeln!(stream, "{CALL}").expect("the socket accepts input");
    line();
    all
}

#[test]
fn the_proxy_reports_a_wrong_token_to_the_client() {
    let nvim = start(project());
    let mut wrong = server(&nvim);
    for variable in wrong["env"].as_array_mut().expect("a list") {
        if variable["name"] == "ACP_NVIM_TOKEN" {
            variable["value"] = "0".repeat(64).into();
        }
    }
    let client = Client::try_start(&wrong);
    let answer = client.answer(&nvim);
    assert!(answer["failed"].is_string(), "{answer}");
    nvim.quit();
}

#[test]
fn the_token_of_a_closed_session_opens_nothing() {
    let nvim = start(project());
    define(&nvim, TOUCH);
    nvim.cmd("tabnew | AcpChat! user");
    nvim.wait("a second session", || servers(&nvim).len() == 2);
    wait_phase(&nvim, "idle");
    let [first, second] = [0, 1].map(|n| servers(&nvim)[n].clone());
    assert_ne!(
        variable(&first, "ACP_NVIM_TOKEN"),
        variable(&second, "ACP_NVIM_TOKEN")
    );
    let client = Client::start(&nvim, &second);
    assert!(client.names(&nvim).contains(&"touch".to_owned()));
    nvim.lua("require('acp').close({ session = 2 })", ());
    client.wait_closed(&nvim);
    let socket = PathBuf::from(variable(&second, "ACP_NVIM_SOCKET"));
    check_nothing(&nvim, &socket, &hello(&variable(&second, "ACP_NVIM_TOKEN")));
    // The other session's token is still valid.
    let client = Client::start(&nvim, &first);
    client.call(&nvim, "touch", &json!({}));
    assert_eq!(nvim.lua("return vim.g.touched", ()), 1);
    nvim.quit();
}
