//! The proxy that agents start to reach Neovim's tools: stdin and stdout to the plugin's socket.
//!
//! Invariants: bytes go both ways unchanged; the proxy ends when either side does; the token is
//! never printed.

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::thread;

const CHUNK: usize = 64 << 10;

/// The longest first line of the server's.
const HELLO_BYTES: u64 = 4 << 10;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // stderr may be closed; then the exit code is the only report.
            let _ = writeln!(io::stderr(), "acp-mcp: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let (Some(path), Ok(token)) = (env::var_os("ACP_NVIM_SOCKET"), env::var("ACP_NVIM_TOKEN"))
    else {
        return Err(
            "This program connects a coding agent to the tools of the Neovim that has started the \
             agent; only acp.nvim starts it. ACP_NVIM_SOCKET and ACP_NVIM_TOKEN must both be set: \
             open a chat in Neovim with :AcpChat."
                .to_owned(),
        );
    };
    let shown = path.to_string_lossy().into_owned();
    let lost = |error: io::Error| {
        format!("Neovim cannot be reached at {shown} ({error}): restart the session there.")
    };
    let socket = UnixStream::connect(&path).map_err(lost)?;
    greet(&socket, &token).map_err(lost)?;
    let other = socket.try_clone().map_err(lost)?;
    thread::Builder::new()
        .spawn(move || {
            pass(io::stdin().lock(), &other);
            // The server ends when it has read all, and with it the proxy. Where that fails, the
            // server is gone already.
            let _ = other.shutdown(Shutdown::Write);
        })
        .map_err(lost)?;
    pass(&socket, io::stdout().lock());
    // The server is gone: the rest of stdin is dropped with the process and its threads.
    Ok(())
}

/// Shows the token, and waits until the server lets us in.
fn greet(mut socket: &UnixStream, token: &str) -> io::Result<()> {
    socket.write_all(format!("{{\"token\":{}}}\n", quoted(token)).as_bytes())?;
    let mut line = Vec::new();
    // Byte by byte, so that nothing behind the line is taken.
    BufReader::with_capacity(1, socket)
        .take(HELLO_BYTES)
        .read_until(b'\n', &mut line)?;
    let line: String = String::from_utf8_lossy(&line).split_whitespace().collect();
    match line == r#"{"ok":true}"# {
        true => Ok(()),
        false => Err(io::Error::other("it no longer accepts this session")),
    }
}

/// Returns a text as JSON has it.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Passes bytes on until one of the two ends.
fn pass(mut from: impl Read, mut to: impl Write) {
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = match from.read(&mut chunk) {
            Ok(0) => return,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        let bytes = chunk.get(..read).unwrap_or_default();
        if to.write_all(bytes).and_then(|()| to.flush()).is_err() {
            return;
        }
    }
}
