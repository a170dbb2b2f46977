//! The agent's end of the connection: a thread that reads the client's lines, and the writer.
//!
//! Invariant: a protocol error of the client (a line that is not JSON-RPC, an answer to no open
//! request, a second answer to one request) is a fault, and the next wait reports it.

use std::collections::{HashSet, VecDeque};
use std::io::{self, BufRead, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Maximum number of queued messages; when the queue is full the reader waits and the pipe fills.
const QUEUE: usize = 4096;

/// A request of the client, or a notification (without `id`).
#[derive(Debug, Clone)]
pub struct Message {
    pub id: Option<Value>,
    pub method: String,
    pub whole: Value,
}

impl Message {
    pub fn params(&self) -> &Value {
        self.whole.get("params").unwrap_or(&Value::Null)
    }
}

/// Why a wait failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// The client closed the agent's stdin.
    Eof,
    TimedOut,
    /// The client broke the protocol.
    Fault(String),
}

#[derive(Default)]
struct State {
    queue: VecDeque<Message>,
    /// Answers not yet awaited, with the JSON text of their id.
    answers: Vec<(String, Value)>,
    /// Ids of sent requests without an answer, as JSON text.
    open: HashSet<String>,
    eof: bool,
    fault: Option<String>,
    deaf: bool,
}

/// The client's messages, in order.
#[derive(Default)]
pub struct Inbox {
    state: Mutex<State>,
    changed: Condvar,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the thread that reads stdin. `answer` gets each message first and returns those it
    /// does not answer.
    pub fn start<F>(answer: F) -> Arc<Inbox>
    where
        F: FnMut(Message) -> Result<Option<Message>, String> + Send + 'static,
    {
        let inbox = Arc::new(Inbox::default());
        let reader = inbox.clone();
        std::thread::spawn(move || reader.read(answer));
        inbox
    }

    fn read(&self, mut answer: impl FnMut(Message) -> Result<Option<Message>, String>) {
        let mut stdin = io::stdin().lock();
        let mut line = Vec::new();
        loop {
            line.clear();
            match stdin.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            let taken = classify(&line).and_then(|what| match what {
                Incoming::Answer { id, whole } => self.answered(id, whole).map(|()| None),
                Incoming::Message(message) => answer(message),
            });
            let mut state = self.lock();
            match taken {
                Ok(Some(message)) => state.queue.push_back(message),
                Ok(None) => {}
                Err(why) => drop(state.fault.get_or_insert(why)),
            }
            self.changed.notify_all();
            while state.deaf || state.queue.len() >= QUEUE {
                state = self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
            }
        }
        self.lock().eof = true;
        self.changed.notify_all();
    }

    fn answered(&self, id: String, whole: Value) -> Result<(), String> {
        let mut state = self.lock();
        if !state.open.remove(&id) {
            return Err(format!(
                "an answer to request {id}, which is not open: {whole}"
            ));
        }
        state.answers.push((id, whole));
        Ok(())
    }

    /// Registers a request before it is sent.
    pub fn ask(&self, id: &Value) {
        self.lock().open.insert(id.to_string());
    }

    /// Stops reading, so that the client's pipe fills up.
    pub fn deafen(&self) {
        self.lock().deaf = true;
    }

    /// Waits for a message that satisfies `pick` and takes it out of the queue.
    pub fn take(
        &self,
        within: Duration,
        mut pick: impl FnMut(&Message) -> bool,
    ) -> Result<Message, Ended> {
        self.wait(within, |state| {
            let at = state.queue.iter().position(&mut pick)?;
            state.queue.remove(at)
        })
    }

    /// Waits for the next message. Takes it if it satisfies `pick`, else leaves it in the queue and
    /// returns it as the inner error.
    pub fn next(
        &self,
        within: Duration,
        pick: impl Fn(&Message) -> bool,
    ) -> Result<Result<Message, Message>, Ended> {
        self.wait(within, |state| {
            let first = state.queue.front()?.clone();
            if !pick(&first) {
                return Some(Err(first));
            }
            state.queue.pop_front();
            Some(Ok(first))
        })
    }

    /// Waits for the answer to the request `id`.
    pub fn answer(&self, within: Duration, id: &Value) -> Result<Value, Ended> {
        let id = id.to_string();
        self.wait(within, |state| {
            let at = state.answers.iter().position(|(of, _)| *of == id)?;
            Some(state.answers.swap_remove(at).1)
        })
    }

    /// Waits for the end of stdin.
    pub fn eof(&self, within: Duration) -> Result<(), Ended> {
        match self.wait(within, |_| None::<()>) {
            Err(Ended::Eof) => Ok(()),
            Err(ended) => Err(ended),
            Ok(()) => Ok(()),
        }
    }

    /// Waits for a message or the end of stdin, without a time limit.
    pub fn idle(&self) -> Result<Message, Ended> {
        self.wait(Duration::MAX, |state| state.queue.pop_front())
    }

    /// Sleeps for `time`; fails early when stdin ends.
    pub fn sleep(&self, time: Duration) -> Result<(), Ended> {
        match self.wait(time, |_| None::<()>) {
            Err(Ended::TimedOut) => Ok(()),
            ended => ended,
        }
    }

    /// Describes why a wait for `what` has failed.
    pub fn failure(&self, ended: Ended, what: &str) -> String {
        match ended {
            Ended::Fault(why) => format!("the client sent {why}"),
            Ended::Eof => format!("the client closed the pipe while {what} was awaited"),
            Ended::TimedOut => format!("waited too long for {what}; {}", self.waiting()),
        }
    }

    /// Describes the queue, for the text of a mismatch.
    fn waiting(&self) -> String {
        let state = self.lock();
        let names: Vec<&str> = state.queue.iter().map(|m| m.method.as_str()).collect();
        match names.as_slice() {
            [] => "nothing from the client is waiting".to_owned(),
            names => format!("waiting from the client: {}", names.join(", ")),
        }
    }

    fn wait<T>(
        &self,
        within: Duration,
        mut look: impl FnMut(&mut State) -> Option<T>,
    ) -> Result<T, Ended> {
        let deadline = Instant::now().checked_add(within);
        let mut state = self.lock();
        loop {
            if let Some(why) = state.fault.take() {
                return Err(Ended::Fault(why));
            }
            if let Some(found) = look(&mut state) {
                self.changed.notify_all();
                return Ok(found);
            }
            if state.eof {
                return Err(Ended::Eof);
            }
            state = match deadline {
                None => self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Err(Ended::TimedOut);
                    }
                    self.changed
                        .wait_timeout(state, left)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
            };
        }
    }
}

enum Incoming {
    Message(Message),
    Answer { id: String, whole: Value },
}

fn classify(line: &[u8]) -> Result<Incoming, String> {
    let whole: Value = serde_json::from_slice(line).map_err(|why| {
        let text: String = String::from_utf8_lossy(line).chars().take(200).collect();
        format!("a line that is not JSON ({why}): {text}")
    })?;
    if whole.get("jsonrpc") != Some(&json!("2.0")) {
        return Err(format!("a message without \"jsonrpc\":\"2.0\": {whole}"));
    }
    let id = whole.get("id").cloned();
    match (whole.get("method").and_then(Value::as_str), id) {
        (Some(method), id) => Ok(Incoming::Message(Message {
            id,
            method: method.to_owned(),
            whole,
        })),
        (None, Some(id)) => {
            if whole.get("result").is_some() == whole.get("error").is_some() {
                return Err(format!("an answer without one of result, error: {whole}"));
            }
            Ok(Incoming::Answer {
                id: id.to_string(),
                whole,
            })
        }
        (None, None) => Err(format!("a message without method and id: {whole}")),
    }
}

/// Writes to stdout; an error means that the client has closed its end.
#[derive(Clone, Copy)]
pub struct Out;

impl Out {
    pub fn send(self, message: &Value) -> Result<(), Ended> {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        self.bytes(&line)
    }

    pub fn bytes(self, bytes: &[u8]) -> Result<(), Ended> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)
            .and_then(|()| out.flush())
            .map_err(|_| Ended::Eof)
    }

    pub fn reply(self, id: &Value, result: &Value) -> Result<(), Ended> {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    pub fn refuse(self, id: &Value, error: &Value) -> Result<(), Ended> {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
    }
}
