//! One connection of the socket: reads lines, passes messages through rmcp, writes lines.
//!
//! Invariants: calls are reported to the core in order of arrival, each before it can be answered;
//! reading waits for the core, the server and the client; when the connection ends for any reason,
//! its calls are abandoned at once.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, ErrorCode,
    RequestId, RequestMetaObject, ServerJsonRpcMessage,
};
use rmcp::service::serve_server_with_ct;
use rmcp::transport::Transport;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::Notify;
use tokio::sync::mpsc::{
    Receiver, Sender, UnboundedReceiver, UnboundedSender, channel, unbounded_channel,
};
use tokio_util::sync::CancellationToken;

use super::admission::Admission;
use super::calls::Call;
use super::service::{Parcel, Service};
use super::{LINE_BYTES, Server};
use acp::{END_BYTES, Frame, LineDecoder, ends};
use acp_core::event::{Event, ToolEvent};
use acp_core::spine::effect::Level;
use acp_core::text::cut::head;

/// Maximum size of one read.
const CHUNK: usize = 64 << 10;

/// A longer line is decoded without blocking other tasks.
const BIG_LINE: usize = 1 << 20;

/// Maximum number of messages queued for the server.
const MESSAGES: usize = 8;

/// Maximum time to write the last answers when the connection is ended.
const FAREWELL: Duration = Duration::from_secs(2);

/// Maximum part of a message in the log.
const LOGGED_BYTES: usize = 2 << 10;

/// Serves an admitted client until it, its session or the host ends; `first` is what it has already
/// sent after its token.
pub(super) async fn serve(
    server: Arc<Server>,
    admission: Arc<Admission>,
    reading: OwnedReadHalf,
    writing: OwnedWriteHalf,
    first: Vec<u8>,
) {
    let end = admission.end.child_token();
    let gone = end.child_token();
    // The session's end does not stop rmcp, which still answers the messages read before.
    let last = CancellationToken::new();
    let (out, queue) = Out::new();
    let (messages, inward) = channel(MESSAGES);
    let writer = write(writing, queue, out.waiting.clone(), end.clone());
    let (finish, over) = (end.clone(), last.clone());
    server.kit.spawn("a client's output", async move {
        writer.await;
        finish.cancel();
        over.cancel();
    });
    let reader = Reader {
        server: Arc::clone(&server),
        admission,
        out: out.clone(),
        messages,
        decoder: LineDecoder::with_max_line(LINE_BYTES),
        begun: None,
        has_looked: false,
        is_initialized: false,
        stop: end.clone(),
    };
    let lost = gone.clone();
    server.kit.spawn("a client's input", async move {
        reader.run(reading, first).await;
        lost.cancel();
    });
    let service = Service::new(Arc::clone(&server), gone);
    let wire = Wire {
        server: Arc::clone(&server),
        inward,
        out,
    };
    match serve_server_with_ct(service, wire, last).await {
        // Waits for the end of rmcp; a failure of its task is an end, too.
        Ok(running) => drop(running.waiting().await),
        Err(error) => server.log(Level::Debug, &format!("A client has left early: {error}")),
    }
    // If the server ended first, the reader may still run.
    end.cancel();
}

/// The queue of lines for a client, with their total size.
#[derive(Debug, Clone)]
struct Out {
    queue: UnboundedSender<Vec<u8>>,
    waiting: Arc<Waiting>,
}

/// Number of queued bytes.
#[derive(Debug, Default)]
struct Waiting {
    bytes: AtomicUsize,
    less: Notify,
}

impl Out {
    fn new() -> (Self, UnboundedReceiver<Vec<u8>>) {
        let (queue, receiver) = unbounded_channel();
        let waiting = Arc::default();
        (Self { queue, waiting }, receiver)
    }

    /// Queues a line; returns whether the writer still runs.
    fn send(&self, mut line: Vec<u8>) -> bool {
        line.push(b'\n');
        self.waiting.bytes.fetch_add(line.len(), Ordering::Relaxed);
        self.queue.send(line).is_ok()
    }

    #[cfg(test)]
    fn count(&self, most: &AtomicUsize) {
        most.fetch_max(
            self.waiting.bytes.load(Ordering::Relaxed),
            Ordering::Relaxed,
        );
    }

    /// Waits until the client has read enough to get below the limit.
    async fn is_drained(&self, limit: usize) {
        while self.waiting.bytes.load(Ordering::Relaxed) > limit {
            self.waiting.less.notified().await;
        }
    }
}

/// Writes queued lines until every sender is gone, or the time for the last answers is over.
async fn write(
    mut writing: OwnedWriteHalf,
    mut queue: UnboundedReceiver<Vec<u8>>,
    waiting: Arc<Waiting>,
    end: CancellationToken,
) {
    let work = async {
        while let Some(line) = queue.recv().await {
            if writing.write_all(&line).await.is_err() {
                break;
            }
            waiting.bytes.fetch_sub(line.len(), Ordering::Relaxed);
            waiting.less.notify_one();
        }
    };
    let late = async {
        end.cancelled().await;
        tokio::time::sleep(FAREWELL).await;
    };
    tokio::select! {
        () = work => {}
        () = late => {}
    }
}

/// A socket as rmcp's transport.
struct Wire {
    server: Arc<Server>,
    inward: Receiver<ClientJsonRpcMessage>,
    out: Out,
}

impl Transport<RoleServer> for Wire {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let is_sent = serde_json::to_vec(&message)
            .map_err(io::Error::from)
            .and_then(|line| {
                log_message(&self.server, "<-", &line);
                let is_sent = self.out.send(line);
                #[cfg(test)]
                self.out.count(&self.server.most_waiting);
                match is_sent {
                    true => Ok(()),
                    false => Err(io::ErrorKind::BrokenPipe.into()),
                }
            });
        std::future::ready(is_sent)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.inward.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.inward.close();
        Ok(())
    }
}

/// Reads a client's lines, and reports its calls to the core.
struct Reader {
    server: Arc<Server>,
    admission: Arc<Admission>,
    out: Out,
    messages: Sender<ClientJsonRpcMessage>,
    decoder: LineDecoder,
    /// The call that the unfinished line begins.
    begun: Option<Call>,
    /// The unfinished line's beginning was searched for a call completely.
    has_looked: bool,
    is_initialized: bool,
    /// Cancelled to stop reading.
    stop: CancellationToken,
}

/// The server has ended and accepts no messages.
struct Over;

/// A complete line.
enum Whole {
    Line(Vec<u8>),
    /// A line above the maximum length; `id` is its request's.
    TooLong {
        id: Option<String>,
        bytes: usize,
    },
}

impl Reader {
    /// Reads until the client or its session ends; passes on everything read before.
    async fn run(mut self, mut reading: OwnedReadHalf, first: Vec<u8>) {
        if self.take(&first).await.is_err() {
            return;
        }
        let mut chunk = vec![0; CHUNK];
        loop {
            let read = tokio::select! {
                read = reading.read(&mut chunk) => read,
                () = self.stop.cancelled() => return,
            };
            let Ok(read @ 1..) = read else {
                return;
            };
            let bytes = chunk.get(..read).unwrap_or_default();
            if self.take(bytes).await.is_err() {
                return;
            }
        }
    }

    async fn take(&mut self, bytes: &[u8]) -> Result<(), Over> {
        let limit = self.server.kit.limits.tools_backlog;
        let mut frames = Vec::new();
        self.decoder.push(bytes, &mut |frame| {
            frames.push(match frame {
                Frame::Line(line) => Whole::Line(line.to_vec()),
                Frame::TooLong { head, tail, bytes } => Whole::TooLong {
                    id: ends::id(head, tail),
                    bytes,
                },
            });
        });
        for frame in frames {
            let begun = self.begun.take();
            self.has_looked = false;
            tokio::select! {
                () = self.out.is_drained(limit) => {}
                () = self.stop.cancelled() => return Err(Over),
            }
            match frame {
                Whole::Line(line) => self.line(&line, begun).await?,
                Whole::TooLong { id, bytes } => self.too_long(id, bytes, begun).await,
            }
        }
        self.look().await;
        Ok(())
    }

    /// Reports a call to the core as soon as its name is known.
    async fn look(&mut self) {
        if self.has_looked || !self.is_initialized {
            return;
        }
        let line = self.decoder.unfinished();
        let beginning = line.get(..END_BYTES).unwrap_or(line);
        self.has_looked = beginning.len() == END_BYTES;
        let Some(name) = ends::called(beginning) else {
            return;
        };
        self.has_looked = true;
        if self.server.offer().find(&name).is_none() {
            return;
        }
        if let Some(mut call) = self.server.calls.open(&self.admission, name.clone()) {
            let event = Event::Tool(ToolEvent::Begun {
                id: call.id,
                session: self.admission.session,
                name,
            });
            if call.tell(0, event).await.is_some() {
                self.begun = Some(call);
            }
        }
    }

    async fn line(&mut self, line: &[u8], begun: Option<Call>) -> Result<(), Over> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(());
        }
        log_message(&self.server, "->", line);
        let Ok(outline) = serde_json::from_slice::<Outline<'_>>(line) else {
            let id = ends::id(line, line);
            self.server
                .log(Level::Warn, "A client sent an invalid message.");
            self.refuse(id, ErrorCode::PARSE_ERROR, "This is not a JSON message.");
            return Ok(());
        };
        match (outline.method.as_deref(), outline.id) {
            (Some("tools/call"), Some(id)) => {
                let params = outline.params.map_or("{}", RawValue::get);
                self.call(id.get(), params, line.len(), begun).await
            }
            _ => self.other(line, outline).await,
        }
    }

    async fn call(
        &mut self,
        id: &str,
        params: &str,
        bytes: usize,
        begun: Option<Call>,
    ) -> Result<(), Over> {
        let raw_id = id.to_owned();
        let Ok(id) = serde_json::from_str::<RequestId>(id) else {
            let why = "This is not an id.";
            self.refuse(Some(raw_id), ErrorCode::INVALID_REQUEST, why);
            return Ok(());
        };
        let params = match bytes > BIG_LINE {
            true => tokio::task::block_in_place(|| serde_json::from_str::<Params>(params)),
            false => serde_json::from_str(params),
        };
        let params = match params {
            Ok(params) => params,
            Err(error) => {
                let why = format!("This is not a tool call: {error}");
                self.refuse(Some(raw_id), ErrorCode::INVALID_PARAMS, &why);
                return Ok(());
            }
        };
        if !self.is_ready(params.meta.as_ref()) {
            let why = "The server must be initialized first.";
            self.refuse(Some(raw_id), ErrorCode::INVALID_REQUEST, why);
            return Ok(());
        }
        self.is_initialized = true;
        let (name, arguments) = (params.name.clone(), params.arguments);
        let take = self
            .server
            .take(&self.admission, begun, name, arguments, bytes);
        let taken = take.await;
        let (name, meta) = (params.name, params.meta);
        let mut request = CallToolRequest::new(CallToolRequestParams::new(name));
        request.extensions.insert(Parcel::new(taken));
        if let Some(meta) = meta {
            request.extensions.insert(meta);
        }
        let request = ClientRequest::CallToolRequest(request);
        let message = ClientJsonRpcMessage::request(request, id);
        self.messages.send(message).await.map_err(|_| Over)
    }

    /// Returns whether a request is accepted: after the initialization, or if it names the protocol
    /// version itself.
    fn is_ready(&self, meta: Option<&RequestMetaObject>) -> bool {
        self.is_initialized || meta.is_some_and(|meta| meta.protocol_version().is_some())
    }

    /// Passes on any message but a tool call.
    async fn other(&mut self, line: &[u8], outline: Outline<'_>) -> Result<(), Over> {
        let (method, id) = (outline.method.as_deref(), outline.id);
        if !self.is_initialized {
            if method.is_none() || id.is_none() {
                // Before the first request, other messages are ignored.
                return Ok(());
            }
            let params = outline.params.map_or("{}", RawValue::get);
            let meta = serde_json::from_str(params)
                .ok()
                .and_then(|Meta { meta }| meta);
            self.is_initialized = self.is_ready(meta.as_ref());
        }
        let message = match line.len() > BIG_LINE {
            true => tokio::task::block_in_place(|| serde_json::from_slice(line)),
            false => serde_json::from_slice(line),
        };
        match message {
            Ok(message) => {
                self.is_initialized |= method == Some("initialize");
                self.messages.send(message).await.map_err(|_| Over)
            }
            Err(error) => {
                let why = format!("This message cannot be understood: {error}");
                self.server.log(Level::Warn, &why);
                if method.is_some() {
                    let id = id.map(|id| id.get().to_owned());
                    self.refuse(id, ErrorCode::INVALID_REQUEST, &why);
                }
                Ok(())
            }
        }
    }

    async fn too_long(&mut self, id: Option<String>, bytes: usize, begun: Option<Call>) {
        let why = format!(
            "A message of {} MiB is too long: the limit is {} MiB. Send less at once.",
            bytes.div_ceil(1 << 20),
            LINE_BYTES >> 20
        );
        self.server.log(Level::Warn, &why);
        if let Some(call) = begun {
            let event = Event::Tool(ToolEvent::Used {
                id: call.id,
                session: self.admission.session,
                name: call.name.clone(),
                arguments: Err(why.clone()),
            });
            // If the core is gone, no report is needed.
            let _ = call.settle(0, event).await;
        }
        self.refuse(id, ErrorCode::INVALID_REQUEST, &why);
    }

    /// Answers a request that the server never receives; without an id, no answer is possible.
    fn refuse(&self, id: Option<String>, code: ErrorCode, why: &str) {
        let Some(id) = id.and_then(|id| serde_json::from_str::<Json>(&id).ok()) else {
            return;
        };
        let error = json!({ "code": code.0, "message": why });
        let line = json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string();
        // If the client is gone, no answer is needed.
        self.out.send(line.into_bytes());
    }
}

fn log_message(server: &Server, way: &str, line: &[u8]) {
    if server.kit.log.takes(Level::Debug) {
        let line = line.get(..LOGGED_BYTES).unwrap_or(line);
        let line = String::from_utf8_lossy(line);
        let line = format!("{way} {}", head(&line, LOGGED_BYTES));
        server.log(Level::Debug, &line);
    }
}

/// The fields of a message that this file needs.
#[derive(Deserialize)]
struct Outline<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

/// The metadata of a request.
#[derive(Deserialize)]
struct Meta {
    #[serde(rename = "_meta")]
    meta: Option<RequestMetaObject>,
}

#[derive(Deserialize)]
struct Params {
    name: String,
    #[serde(default)]
    arguments: Json,
    #[serde(rename = "_meta")]
    meta: Option<RequestMetaObject>,
}
