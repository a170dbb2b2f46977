//! An agent's three pipes: lines to stdin, messages from stdout, the last lines of stderr. [`Pipe`]
//! is the reading end of a pipe or a terminal.
//!
//! Invariants: messages reach the core in order, each at most once, including everything the agent
//! wrote before it died; stdout is read only as far as the core has capacity; only the last lines
//! of stderr are kept.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::fs::OFlags;
use serde_json::Value as Json;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::log::Log;
use super::process::Exit;
use acp::{Frame, LineDecoder, Message};
use acp_core::event::{AgentEvent, Event};
use acp_core::render::plain::on_screen;
use acp_core::spine::effect::Level;
use acp_core::spine::ids::AgentKey;
use acp_core::text::cut::head;
use acp_edge::inbox::Inbox;

/// Maximum size of one read, and of one write gathered from several lines.
const CHUNK: usize = 64 << 10;

/// Longer lines are decoded with `block_in_place`, so that other tasks are not delayed.
const BIG_LINE: usize = 1 << 20;

/// Maximum capacity of a pipe (Linux: `pipe-max-size`; smaller on other systems and for terminals).
const PIPE_BYTES: usize = 1 << 20;

/// Number of stderr lines kept, and the maximum length of each.
const STDERR_LINES: usize = 100;
const STDERR_BYTES: usize = 4 << 10;

/// Maximum length of a message in the log.
const LOGGED_BYTES: usize = 2 << 10;

/// Writes lines to stdin until their senders are gone, then closes it.
///
/// `queued` counts the bytes in the queue: the sender adds, this function subtracts.
///
/// # Errors
/// The agent has closed its stdin or is gone.
pub(super) async fn write_stdin(
    stdin: OwnedFd,
    mut lines: UnboundedReceiver<String>,
    queued: &AtomicUsize,
    name: &str,
    log: &Log,
) -> io::Result<()> {
    let mut stdin = Sender::from_owned_fd(stdin)?;
    let mut buffer = Vec::with_capacity(CHUNK);
    while let Some(first) = lines.recv().await {
        let mut taken = 0;
        let mut next = Some(first);
        while let Some(line) = next {
            if log.takes(Level::Debug) {
                let shown = shown(&line);
                log.line(Level::Debug, name, &format!("<- {shown}"));
            }
            taken += line.len();
            buffer.extend_from_slice(line.as_bytes());
            buffer.push(b'\n');
            next = if buffer.len() < CHUNK {
                lines.try_recv().ok()
            } else {
                None
            };
        }
        stdin.write_all(&buffer).await?;
        queued.fetch_sub(taken, Ordering::Relaxed);
        buffer.clear();
        buffer.shrink_to(CHUNK);
    }
    Ok(())
}

/// Reads stdout to its end and sends the messages to the core.
///
/// Returns when the pipe is closed, when the grace period after the agent's exit is over (see
/// [`Pipe`]), or when the core is gone.
pub(super) async fn read_stdout(
    mut pipe: Pipe,
    agent: AgentKey,
    name: &str,
    inbox: &Inbox,
    log: &Log,
) {
    let mut decoder = LineDecoder::new();
    let mut chunk = vec![0; CHUNK];
    // Bytes of an unfinished line that the decoder holds.
    let mut held = 0;
    let mut batch = Vec::new();
    loop {
        let read = pipe.read(&mut chunk).await;
        let bytes = chunk.get(..read).unwrap_or_default();
        let mut decode = || {
            let mut out = |frame: Frame<'_>| batch.push(decode(frame, name, log));
            if bytes.is_empty() {
                decoder.finish(&mut out);
            } else {
                decoder.push(bytes, &mut out);
            }
        };
        let line_end = bytes.iter().rposition(|&b| b == b'\n');
        if held > BIG_LINE && (line_end.is_some() || bytes.is_empty()) {
            tokio::task::block_in_place(decode);
        } else {
            decode();
        }
        held = match line_end {
            Some(at) => read - at - 1,
            None => held + read,
        };
        let mut ready = Vec::new();
        for (size, messages) in batch.drain(..) {
            let permit = match inbox.permit_now(size) {
                Some(permit) => Some(permit),
                None => {
                    // The core makes room by taking these.
                    inbox.send_agents(ready.drain(..));
                    inbox.permit(size).await
                }
            };
            let Some(permit) = permit else {
                return;
            };
            let events = messages.into_iter();
            let event = move |message| Event::Agent(AgentEvent::Message { agent, message });
            ready.push((events.map(event), permit));
        }
        inbox.send_agents(ready);
        if bytes.is_empty() {
            return;
        }
    }
}

/// Returns a message as it may be logged: without log-in data, and without the environment and
/// headers of MCP servers, which contain tokens.
pub(super) fn shown(line: &str) -> Cow<'_, str> {
    let beginning = head(line, LOGGED_BYTES);
    if beginning.contains(r#""method":"authenticate""#) {
        return "(a log-in)".into();
    }
    if beginning.contains(r#""result":{"action":"accept","content":"#) {
        return "(an answer to a form)".into();
    }
    if !beginning.contains(r#""mcpServers":[{"#) {
        return beginning.into();
    }
    let Ok(mut message) = serde_json::from_str::<Json>(line) else {
        return "(a session's servers)".into();
    };
    let servers = message.pointer_mut("/params/mcpServers");
    let servers = servers.and_then(Json::as_array_mut).into_iter().flatten();
    for server in servers {
        for field in ["env", "headers"] {
            let pairs = server.get_mut(field).and_then(Json::as_array_mut);
            for value in pairs
                .into_iter()
                .flatten()
                .filter_map(|pair| pair.get_mut("value"))
            {
                *value = "…".into();
            }
        }
    }
    head(&message.to_string(), LOGGED_BYTES).to_owned().into()
}

/// Decodes a frame; returns its size in bytes and its messages.
fn decode(frame: Frame<'_>, name: &str, log: &Log) -> (usize, Vec<Message>) {
    let Frame::Line(line) = frame else {
        return (0, frame.decode());
    };
    if log.takes(Level::Debug) {
        let shown = line.get(..LOGGED_BYTES).unwrap_or(line);
        let shown = String::from_utf8_lossy(shown);
        log.line(Level::Debug, name, &format!("-> {shown}"));
    }
    (line.len(), frame.decode())
}

/// Reads stderr to its end, logs it, and returns its last lines, oldest first.
pub(super) async fn read_stderr(mut pipe: Pipe, name: &str, log: &Log) -> Vec<String> {
    let mut kept = VecDeque::with_capacity(STDERR_LINES);
    let mut line = Vec::new();
    let mut chunk = vec![0; CHUNK / 8];
    loop {
        let read = pipe.read(&mut chunk).await;
        let bytes = chunk.get(..read).unwrap_or_default();
        let mut end = |line: &mut Vec<u8>| {
            let text = plain(line);
            line.clear();
            log.line(Level::Info, name, &text);
            if kept.len() == STDERR_LINES {
                kept.pop_front();
            }
            kept.push_back(text);
        };
        for piece in bytes.split_inclusive(|&b| b == b'\n') {
            let ends = piece.ends_with(b"\n");
            let piece = piece.strip_suffix(b"\n").unwrap_or(piece);
            // One byte over the limit marks the line as cut.
            let room = (STDERR_BYTES + 1).saturating_sub(line.len());
            line.extend_from_slice(piece.get(..room).unwrap_or(piece));
            if ends {
                end(&mut line);
            }
        }
        if bytes.is_empty() {
            if !line.is_empty() {
                end(&mut line);
            }
            return kept.into();
        }
    }
}

/// Returns a line of stderr as a screen would show it, at most [`STDERR_BYTES`] of it.
fn plain(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut out = on_screen(head(&text, STDERR_BYTES));
    if text.len() > STDERR_BYTES {
        out.push('…');
    }
    out
}

/// Registers the editor's side of a pseudo-terminal with the runtime.
///
/// # Errors
/// The system cannot watch another descriptor.
pub(super) fn terminal(fd: OwnedFd) -> io::Result<Receiver> {
    let flags = rustix::fs::fcntl_getfl(&fd)?;
    rustix::fs::fcntl_setfl(&fd, flags | OFlags::NONBLOCK)?;
    // Only read with `readable` and `try_read` (see `read`): the assumption that a short read has
    // emptied the descriptor holds for pipes but not for terminals.
    Receiver::from_owned_fd_unchecked(fd)
}

/// The reading end of a pipe or a terminal whose other end a process's children may hold open.
///
/// It ends when the pipe does, or `grace` after the process has exited. The bytes then left in the
/// pipe are still returned, so nothing the process wrote is lost.
pub(super) struct Pipe {
    receiver: Arc<Receiver>,
    exited: watch::Receiver<Option<Exit>>,
    grace: Duration,
    /// End of the grace period; set once the process has exited.
    end: Option<Instant>,
    /// Bytes still to read; set once the grace period is over.
    rest: Option<usize>,
}

impl Pipe {
    pub(super) fn new(
        receiver: Arc<Receiver>,
        exited: watch::Receiver<Option<Exit>>,
        grace: Duration,
    ) -> Self {
        Self {
            receiver,
            exited,
            grace,
            end: None,
            rest: None,
        }
    }

    /// Reads at least one byte; 0 means the end. Cancel-safe: no bytes are lost when the future is
    /// dropped.
    ///
    /// An error counts as the end: a terminal reports its end as one (EIO).
    pub(super) async fn read(&mut self, chunk: &mut [u8]) -> usize {
        if self.rest.is_none() {
            let grace_over = async {
                // An error means that the reaping thread is gone, which counts as an exit.
                let _ = self.exited.wait_for(Option::is_some).await;
                let end = *self.end.get_or_insert_with(|| Instant::now() + self.grace);
                sleep_until(end).await;
            };
            tokio::select! {
                // The timer is polled first, because another process may write without a pause.
                biased;
                () = grace_over => self.rest = Some(PIPE_BYTES),
                read = read(&self.receiver, chunk) => return read.unwrap_or(0),
            }
        }
        // The limit cuts off a process that keeps writing.
        let rest = self.rest.unwrap_or(0);
        let wanted = chunk.len().min(rest);
        let read = match chunk.get_mut(..wanted) {
            Some(chunk) => self.receiver.try_read(chunk).unwrap_or(0),
            None => 0,
        };
        self.rest = Some(rest - read);
        read
    }
}

/// Reads at least one byte; 0 means the end.
pub(super) async fn read(receiver: &Receiver, chunk: &mut [u8]) -> io::Result<usize> {
    loop {
        receiver.readable().await?;
        match receiver.try_read(chunk) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &str) {
        assert_eq!(plain(line.as_bytes()), expected, "{line:?}");
    }

    #[test]
    fn stderr_is_shown_without_colours() {
        check("\u{1b}[1;31merror\u{1b}[0m: x\ty\r", "error: x\ty");
        check("10%\r 20%\r100%\r", "100%");
        check("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{7}", "link");
        check("\u{1b}[31", "");
        check("\u{1b}", "");
        assert_eq!(plain(b"caf\xe9"), "caf\u{fffd}");
    }

    #[test]
    fn a_long_line_of_stderr_is_cut() {
        let long = plain(&[b'x'; STDERR_BYTES + 1]);
        assert_eq!(long.len(), STDERR_BYTES + "…".len());
        assert_eq!(plain(&[b'x'; STDERR_BYTES]).len(), STDERR_BYTES);
    }

    #[test]
    fn secrets_of_servers_are_not_logged() {
        let line = serde_json::json!({
            "jsonrpc": "2.0",
            "id": 1,
            "method": "session/new",
            "params": {
                "cwd": "/p",
                "mcpServers": [
                    { "name": "a", "command": "/c", "args": [], "env": [{ "name": "K", "value": "hush" }] },
                    { "name": "b", "type": "http", "url": "http://x", "headers": [{ "name": "A", "value": "hush" }] },
                ],
            },
        })
        .to_string();
        let logged = shown(&line);
        assert!(!logged.contains("hush"), "{logged}");
        assert!(logged.contains(r#"{"name":"K","value":"…"}"#), "{logged}");
        assert_eq!(
            shown(r#"{"method":"authenticate","params":{}}"#),
            "(a log-in)"
        );
        let answer =
            r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"key":"hush"}}}"#;
        assert_eq!(shown(answer), "(an answer to a form)");
        assert_eq!(shown(r#"{"id":1,"result":{}}"#), r#"{"id":1,"result":{}}"#);
    }

    #[test]
    fn after_the_grace_period_only_the_buffered_bytes_are_read() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let (reader, mut writer) = io::pipe().expect("a pipe");
        io::Write::write_all(&mut writer, &[b'x'; 25]).expect("room in the pipe");
        let (_exited, exit) = watch::channel(Some(Exit::Code(0)));
        let sizes = runtime.block_on(async {
            let reader = Arc::new(Receiver::from_owned_fd(reader.into()).expect("a pipe"));
            let mut pipe = Pipe::new(reader, exit, Duration::ZERO);
            pipe.receiver.readable().await.expect("readable");
            pipe.end = Instant::now().checked_sub(Duration::from_secs(1));
            let mut sizes = Vec::new();
            for _ in 0..4 {
                sizes.push(pipe.read(&mut [0; 10]).await);
            }
            sizes
        });
        // The writing end is still open.
        assert_eq!(sizes, [10, 10, 5, 0]);
        drop(writer);
    }
}
