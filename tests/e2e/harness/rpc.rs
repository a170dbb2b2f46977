//! The msgpack-RPC client: one request at a time, each with a deadline.
//!
//! Reading and writing happen on two threads, so that a hanging Neovim blocks neither the test nor
//! the dump of its state.

use std::collections::HashMap;
use std::env;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufReader, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rmpv::Value;
use serde_json::Value as Json;

use super::screen::Screen;

/// The time limit of waiting for a complete screen; then it is read as it is.
const FRAME: Duration = Duration::from_secs(1);

/// The time by which all messages of one Neovim may be late together: far less than any deadline.
const LATE: Duration = Duration::from_secs(1);

/// A connection to one Neovim.
pub struct Client {
    outgoing: Sender<Vec<u8>>,
    shared: Arc<Shared>,
    next_id: AtomicU64,
}

/// A flush: Neovim has drawn all pending changes.
#[derive(Debug, Clone, Copy)]
pub struct Flush {
    pub at: Instant,
    /// Row and column of the cursor.
    pub cursor: (usize, usize),
}

#[derive(Debug)]
pub enum RpcError {
    /// Neovim answered with an error.
    Refused(String),
    /// No answer arrived in time.
    Timeout,
    /// Neovim closed the connection.
    Closed,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Signals that a message arrived or the connection closed.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    screen: Screen,
    flushes: Vec<Flush>,
    responses: HashMap<u64, Result<Value, Value>>,
    notifications: Vec<(String, Vec<Json>)>,
    closed: bool,
}

impl Client {
    /// Returns a client that writes to `stdin` and reads `stdout` of an `nvim --embed`.
    pub fn new(mut stdin: impl Write + Send + 'static, stdout: impl Read + Send + 'static) -> Self {
        let shared = Arc::new(Shared::default());
        let (outgoing, queue) = mpsc::channel::<Vec<u8>>();
        thread::spawn(move || {
            for message in queue {
                if stdin
                    .write_all(&message)
                    .and_then(|()| stdin.flush())
                    .is_err()
                {
                    break;
                }
            }
        });
        let reader = Arc::clone(&shared);
        thread::spawn(move || reader.read_all(BufReader::new(stdout)));
        Self {
            outgoing,
            shared,
            next_id: AtomicU64::new(1),
        }
    }

    /// Calls an API function and waits for its result.
    pub fn request(
        &self,
        method: &str,
        params: Vec<Value>,
        patience: Duration,
    ) -> Result<Json, RpcError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.send(vec![
            0.into(),
            id.into(),
            method.into(),
            Value::Array(params),
        ]);
        let deadline = Instant::now() + patience;
        let mut state = self.shared.lock();
        loop {
            match state.responses.remove(&id) {
                Some(Ok(result)) => return Ok(to_json(&result)),
                Some(Err(error)) => return Err(RpcError::Refused(error_text(&error))),
                None if state.closed => return Err(RpcError::Closed),
                None if Instant::now() >= deadline => return Err(RpcError::Timeout),
                None => state = self.shared.pause(state, deadline),
            }
        }
    }

    /// Calls an API function without waiting for its result.
    pub fn notify(&self, method: &str, params: Vec<Value>) {
        self.send(vec![2.into(), method.into(), Value::Array(params)]);
    }

    /// Returns the screen as of its last flush.
    pub fn screen(&self) -> Screen {
        let deadline = Instant::now() + FRAME;
        let mut state = self.shared.lock();
        while state.screen.is_mid_frame() && Instant::now() < deadline {
            state = self.shared.pause(state, deadline);
        }
        state.screen.clone()
    }

    /// Returns the flushes so far, oldest first, without the first `from`.
    pub fn flushes(&self, from: usize) -> Vec<Flush> {
        let state = self.shared.lock();
        state.flushes.get(from..).unwrap_or_default().to_vec()
    }

    /// Returns the notifications named `name` so far, oldest first.
    pub fn notifications(&self, name: &str) -> Vec<Vec<Json>> {
        let state = self.shared.lock();
        let named = state.notifications.iter().filter(|(n, _)| n == name);
        named.map(|(_, params)| params.clone()).collect()
    }

    /// Waits until a message arrives, at most for `time`.
    pub fn pause(&self, time: Duration) {
        drop(self.shared.pause(self.shared.lock(), Instant::now() + time));
    }

    fn send(&self, message: Vec<Value>) {
        let mut bytes = Vec::new();
        rmpv::encode::write_value(&mut bytes, &Value::Array(message))
            .expect("a Vec accepts every write");
        // If the writer is gone, so is Neovim; the reader reports that.
        let _ = self.outgoing.send(bytes);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pause<'a>(&self, state: MutexGuard<'a, State>, deadline: Instant) -> MutexGuard<'a, State> {
        let time = deadline.saturating_duration_since(Instant::now());
        let (state, _) = self
            .changed
            .wait_timeout(state, time)
            .unwrap_or_else(PoisonError::into_inner);
        state
    }

    fn read_all(&self, mut stdout: impl Read) {
        let mut late = env::var_os("ACP_TEST_LATE").map(|_| Late(LATE));
        while let Ok(message) = rmpv::decode::read_value(&mut stdout) {
            if let Some(late) = &mut late {
                late.pause();
            }
            let mut state = self.lock();
            state.take(message);
            drop(state);
            self.changed.notify_all();
        }
        self.lock().closed = true;
        self.changed.notify_all();
    }
}

/// Delays messages at random, as if Neovim had to wait for a processor before it sent them; the field
/// is the remaining time for delays. `make soak` asks for it.
struct Late(Duration);

impl Late {
    fn pause(&mut self) {
        let random = RandomState::new().hash_one(0);
        let time = Duration::from_millis(random / 8 % 100).min(self.0);
        if random.is_multiple_of(8) && !time.is_zero() {
            self.0 -= time;
            thread::sleep(time);
        }
    }
}

impl State {
    fn take(&mut self, message: Value) {
        let Value::Array(mut parts) = message else {
            return;
        };
        match (parts.first().and_then(Value::as_u64), parts.len()) {
            (Some(1), 4) => {
                let result = parts.remove(3);
                let error = parts.remove(2);
                let answer = if error.is_nil() {
                    Ok(result)
                } else {
                    Err(error)
                };
                let id = parts[1].as_u64().expect("a response has an id");
                self.responses.insert(id, answer);
            }
            (Some(2), 3) => {
                let params = parts[2].as_array().map_or(&[][..], Vec::as_slice);
                match parts[1].as_str() {
                    Some("redraw") => {
                        params.iter().for_each(|batch| self.screen.apply(batch));
                        if !self.screen.is_mid_frame() {
                            let (at, cursor) = (Instant::now(), self.screen.cursor);
                            self.flushes.push(Flush { at, cursor });
                        }
                    }
                    name => self.notifications.push((
                        name.unwrap_or_default().to_owned(),
                        params.iter().map(to_json).collect(),
                    )),
                }
            }
            // Neovim sends no requests to this client.
            _ => {}
        }
    }
}

/// Converts a value to JSON; handles become numbers, invalid UTF-8 is replaced.
pub fn to_json(value: &Value) -> Json {
    match value {
        Value::Nil => Json::Null,
        Value::Boolean(b) => (*b).into(),
        Value::Integer(n) => match n.as_i64() {
            Some(n) => n.into(),
            None => n.as_u64().into(),
        },
        Value::F32(n) => (*n).into(),
        Value::F64(n) => (*n).into(),
        Value::String(s) => String::from_utf8_lossy(s.as_bytes()).into(),
        Value::Binary(bytes) => String::from_utf8_lossy(bytes).into(),
        Value::Array(items) => items.iter().map(to_json).collect(),
        Value::Map(pairs) => pairs
            .iter()
            .map(|(key, value)| {
                let key = match to_json(key) {
                    Json::String(key) => key,
                    key => key.to_string(),
                };
                (key, to_json(value))
            })
            .collect(),
        // Buffers, windows and tab pages: the handle as a packed integer.
        Value::Ext(_, bytes) => {
            rmpv::decode::read_value(&mut bytes.as_slice()).map_or(Json::Null, |n| to_json(&n))
        }
    }
}

/// Converts JSON to a value for Neovim.
pub fn from_json(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(b) => (*b).into(),
        Json::Number(n) => match (n.as_i64(), n.as_u64()) {
            (Some(n), _) => n.into(),
            (None, Some(n)) => n.into(),
            (None, None) => n.as_f64().map_or(Value::Nil, Into::into),
        },
        Json::String(s) => s.as_str().into(),
        Json::Array(items) => Value::Array(items.iter().map(from_json).collect()),
        Json::Object(map) => Value::Map(
            map.iter()
                .map(|(key, value)| (key.as_str().into(), from_json(value)))
                .collect(),
        ),
    }
}

/// Returns the text of an error, which Neovim sends as `[type, text]`.
fn error_text(error: &Value) -> String {
    match to_json(error) {
        Json::Array(parts) => match parts.as_slice() {
            [_, Json::String(text)] => text.clone(),
            _ => Json::Array(parts).to_string(),
        },
        other => other.to_string(),
    }
}
