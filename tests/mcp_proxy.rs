//! The proxy that agents start, against a socket of the test's own.
//!
//! Every wait has a deadline: what hangs fails.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

const DEADLINE: Duration = Duration::from_secs(30);
const TOKEN: &str = "a \"token\" \\ nobody knows";

/// A folder with a socket in it.
struct Place {
    _folder: TempDir,
    path: PathBuf,
    listener: UnixListener,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mcp.sock");
        let listener = UnixListener::bind(&path).expect("a socket");
        Self {
            _folder: folder,
            path,
            listener,
        }
    }

    fn proxy(&self) -> Proxy {
        Proxy::start(
            Command::new(env!("CARGO_BIN_EXE_acp-mcp"))
                .env("ACP_NVIM_SOCKET", &self.path)
                .env("ACP_NVIM_TOKEN", TOKEN),
        )
    }

    /// Accepts a client's connection, reads its first line and sends the answer to it.
    fn accept(&self, words: &str) -> UnixStream {
        let (mut stream, _) = self.listener.accept().expect("a client");
        stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
        let mut line = Vec::new();
        while line.last() != Some(&b'\n') {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("a line");
            line.extend(byte);
        }
        let hello: serde_json::Value = serde_json::from_slice(&line).expect("JSON");
        assert_eq!(hello, serde_json::json!({ "token": TOKEN }));
        stream.write_all(words.as_bytes()).expect("it is there");
        stream
    }
}

struct Proxy {
    child: Child,
}

impl Proxy {
    fn start(command: &mut Command) -> Self {
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a proxy");
        Self { child }
    }

    fn stdin(&mut self) -> ChildStdin {
        self.child.stdin.take().expect("once")
    }

    fn stdout(&mut self) -> BufReader<ChildStdout> {
        BufReader::new(self.child.stdout.take().expect("once"))
    }

    /// Waits for its end.
    fn end(mut self) -> Output {
        let end = Instant::now() + DEADLINE;
        while self.child.try_wait().expect("its state").is_none() {
            if Instant::now() > end {
                // By its own handle: it is ours.
                let _ = self.child.kill();
                panic!("the proxy does not end");
            }
            std::thread::yield_now();
        }
        self.child.wait_with_output().expect("its output")
    }
}

fn words(output: &Output) -> String {
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(words.lines().count(), 1, "{words}");
    assert!(
        words.starts_with("acp-mcp: ") && !words.contains("nobody knows"),
        "{words}"
    );
    words
}

#[test]
fn bytes_go_both_ways_as_they_are() {
    let place = Place::new();
    let mut proxy = place.proxy();
    let (mut stdin, mut stdout) = (proxy.stdin(), proxy.stdout());
    // What comes with the greeting is passed on, too.
    let mut server = place.accept("{\"ok\":true}\nfirst\n");
    let mut line = String::new();
    stdout.read_line(&mut line).expect("a line");
    assert_eq!(line, "first\n");
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    let sent = bytes.clone();
    let mut other = server.try_clone().expect("a descriptor");
    let writer = std::thread::spawn(move || {
        stdin.write_all(&sent).expect("it reads");
        stdin
    });
    let echo = std::thread::spawn(move || {
        let mut got = vec![0; 3_000_000];
        other.read_exact(&mut got).expect("all of it");
        other.write_all(&got).expect("it reads");
    });
    let mut got = vec![0; bytes.len()];
    stdout.read_exact(&mut got).expect("all of it");
    assert!(got == bytes);
    echo.join().expect("an echo");
    // The end of stdin ends only what the server reads.
    drop(writer.join().expect("stdin"));
    assert_eq!(server.read(&mut [0]).expect("the end"), 0);
    server.write_all(b"last\n").expect("it reads");
    drop(server);
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).expect("the end");
    assert_eq!(rest, "last\n");
    let output = proxy.end();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
}

#[test]
fn the_servers_end_is_the_proxys_while_the_agent_keeps_stdin_open() {
    let place = Place::new();
    let mut proxy = place.proxy();
    let _stdin = proxy.stdin();
    drop(place.accept("{\"ok\":true}\n"));
    assert_eq!(proxy.end().status.code(), Some(0));
}

#[test]
fn an_agent_that_reads_no_more_ends_the_proxy() {
    let place = Place::new();
    let mut proxy = place.proxy();
    let _stdin = proxy.stdin();
    drop(proxy.stdout());
    let mut server = place.accept("{\"ok\":true}\n");
    while server.write_all(b"to nobody\n").is_ok() {}
    proxy.end();
}

#[test]
fn whoever_is_not_let_in_is_told_what_to_do() {
    let place = Place::new();
    for words_of_server in ["", "{\"ok\":false}\n", "{\"ok\":"] {
        let mut proxy = place.proxy();
        let _stdin = proxy.stdin();
        drop(place.accept(words_of_server));
        let output = proxy.end();
        assert_eq!(output.status.code(), Some(1));
        let words = words(&output);
        assert!(
            words.contains("mcp.sock") && words.contains("restart the session"),
            "{words}"
        );
    }
}

#[test]
fn without_a_neovim_it_says_where_it_looked() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_acp-mcp"));
    command
        .env("ACP_NVIM_SOCKET", "/nowhere/mcp.sock")
        .env("ACP_NVIM_TOKEN", TOKEN);
    let output = Proxy::start(&mut command).end();
    assert_eq!(output.status.code(), Some(1));
    assert!(words(&output).contains("/nowhere/mcp.sock"));
}

#[test]
fn started_by_hand_it_says_what_it_is_for() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_acp-mcp"));
    command
        .env_remove("ACP_NVIM_SOCKET")
        .env("ACP_NVIM_TOKEN", TOKEN);
    let output = Proxy::start(&mut command).end();
    assert_eq!(output.status.code(), Some(1));
    assert!(words(&output).contains("only acp.nvim starts it"));
}
