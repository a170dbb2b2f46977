//! The three pipes of an agent: lines in, messages out, stderr kept; and [`Pipe`], the end that is
//! read of a pipe or a terminal.
//!
//! Invariants: messages reach the core in the order in which they came, each at most once, and
//! all that the agent had written before it died; no more is read from stdout than the core has
//! room for; of stderr no more is held than its last lines.

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

use super::log::{Log, cut};
use super::process::Exit;
use acp::{Frame, LineDecoder, Message};
use acp_core::spine::effect::Level;
use acp_core::spine::event::Event;
use acp_core::spine::ids::AgentKey;
use acp_edge::inbox::Inbox;

/// How much is read at once, and how much is gathered into one write.
const CHUNK: usize = 64 << 10;

/// A line longer than this is decoded where it holds up nobody else.
const BIG_LINE: usize = 1 << 20;

/// What a pipe can hold at most (Linux' `pipe-max-size`; elsewhere, and in a terminal, it is less).
const PIPE_BYTES: usize = 1 << 20;

/// The lines of stderr that are kept, and the bytes of each.
const STDERR_LINES: usize = 100;
const STDERR_BYTES: usize = 4 << 10;

/// How much of a message the log shows.
const LOGGED_BYTES: usize = 2 << 10;

/// Writes lines to stdin until their senders are gone, then closes it.
///
/// `queued` counts the bytes that wait; whoever queues adds, this subtracts.
///
/// # Errors
/// The agent has closed its stdin, or is gone.
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

/// Reads stdout to its end and sends the messages in it to the core.
///
/// Returns when the pipe is closed, when the agent has exited and the grace after that is over
/// (see [`Pipe`]), or when the core is gone.
pub(super) async fn read_stdout(
    mut pipe: Pipe,
    agent: AgentKey,
    name: &str,
    inbox: &Inbox,
    log: &Log,
) {
    let mut decoder = LineDecoder::new();
    let mut chunk = vec![0; CHUNK];
    // How much the decoder holds of a line that has not ended yet.
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
        for (size, events) in batch.drain(..) {
            let Some(room) = inbox.room(size).await else {
                return;
            };
            let events = events.into_iter();
            inbox.send_agent(
                events.map(|message| Event::AgentMessage { agent, message }),
                room,
            );
        }
        if bytes.is_empty() {
            return;
        }
    }
}

/// Returns a message as the log has it: without what is typed to log in, and without what MCP
/// servers are given in their environment and headers, tokens of our own among it.
fn shown(line: &str) -> Cow<'_, str> {
    let beginning = cut(line, LOGGED_BYTES);
    if beginning.contains(r#""method":"authenticate""#) {
        return "(a log-in)".into();
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
    cut(&message.to_string(), LOGGED_BYTES).to_owned().into()
}

/// Returns the bytes of a frame that are held and the messages in it.
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
            // One byte past the limit says that the line was cut.
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

/// Returns a line of stderr as it may be shown: without escape sequences and control characters,
/// at most [`STDERR_BYTES`] long.
fn plain(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut out = String::with_capacity(text.len());
    let mut chars = cut(&text, STDERR_BYTES).chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            // CSI: up to its final byte.
            '\u{1b}' if chars.next_if_eq(&'[').is_some() => {
                chars.find(|c| ('@'..='~').contains(c));
            }
            // OSC: up to BEL or ESC \.
            '\u{1b}' if chars.next_if_eq(&']').is_some() => {
                if chars.find(|&c| c == '\u{7}' || c == '\u{1b}') == Some('\u{1b}') {
                    chars.next_if_eq(&'\\');
                }
            }
            '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    if text.len() > STDERR_BYTES {
        out.push('…');
    }
    out
}

/// Makes our end of a terminal one that the runtime can wait for.
///
/// # Errors
/// The system has no room to watch it.
pub(super) fn terminal(fd: OwnedFd) -> io::Result<Receiver> {
    let flags = rustix::fs::fcntl_getfl(&fd)?;
    rustix::fs::fcntl_setfl(&fd, flags | OFlags::NONBLOCK)?;
    // Is read by `readable` and `try_read` alone (see `read`): that a read which does not fill the
    // buffer has emptied it holds for pipes and not for terminals.
    Receiver::from_owned_fd_unchecked(fd)
}

/// The reading end of a pipe, or of a terminal, of which the children of a process may hold the
/// other end too.
///
/// It ends with the pipe, or `grace` after the process has exited; then what lies in the pipe is
/// still taken, so that nothing the process has written is lost.
pub(super) struct Pipe {
    receiver: Arc<Receiver>,
    exited: watch::Receiver<Option<Exit>>,
    grace: Duration,
    /// When the grace is over; known once the process has exited.
    end: Option<Instant>,
    /// How much more is read; known once the grace is over.
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

    /// Reads at least one byte; 0 means that there will be no more. Nothing is lost when the future
    /// is dropped.
    ///
    /// An error is the end as well: a terminal tells it by one (EIO).
    pub(super) async fn read(&mut self, chunk: &mut [u8]) -> usize {
        if self.rest.is_none() {
            let grace_over = async {
                // An error means that the thread which reaps is gone: as good as an exit.
                let _ = self.exited.wait_for(Option::is_some).await;
                let end = *self.end.get_or_insert_with(|| Instant::now() + self.grace);
                sleep_until(end).await;
            };
            tokio::select! {
                // The clock first: another process may write without a pause.
                biased;
                () = grace_over => self.rest = Some(PIPE_BYTES),
                read = read(&self.receiver, chunk) => return read.unwrap_or(0),
            }
        }
        // What another process goes on writing is cut off by the size of a pipe.
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

/// Reads at least one byte; 0 is the end.
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
    fn stderr_is_shown_without_its_colours() {
        check("\u{1b}[1;31merror\u{1b}[0m: x\ty\r", "error: x\ty");
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
    fn what_servers_are_given_is_in_no_log() {
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
        assert_eq!(shown(r#"{"id":1,"result":{}}"#), r#"{"id":1,"result":{}}"#);
    }

    #[test]
    fn after_the_grace_all_that_lies_in_the_pipe_is_taken_and_no_more() {
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
