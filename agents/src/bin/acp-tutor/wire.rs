//! The state that all turns share: stdout, the sessions, and the client's answers.
//!
//! Invariant: only an answer, a cancel or its own deadline ends the wait of a turn.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use crate::mcp::Server;
use crate::practice::Review;

/// The connection to the client.
pub struct Wire {
    /// The time between two words.
    pub delay: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    reads: bool,
    writes: bool,
    runs_commands: bool,
    sessions: HashMap<String, Session>,
    next_request: u64,
    open: HashSet<u64>,
    answers: HashMap<u64, Value>,
}

/// The state of a session.
#[derive(Debug, Default)]
pub struct Session {
    pub cwd: PathBuf,
    /// The number of the last lesson, from 1; 0 before the first.
    pub lesson: usize,
    /// The files attached to its prompt.
    pub files: Vec<PathBuf>,
    /// The hunks that wait for the user's decision.
    pub review: Option<Review>,
    /// The answer to the permission lesson, if it was "always" or "never".
    pub remembered: Option<Remembered>,
    pub tools: u64,
    /// The server of the editor's tools.
    pub server: Option<Server>,
    running: bool,
    cancelled: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remembered {
    Always,
    Never,
}

/// The result of starting a turn.
#[derive(Debug, PartialEq, Eq)]
pub enum Start {
    Begun,
    Unknown,
    Busy,
}

/// The turn was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancelled;

impl Session {
    pub fn new(cwd: PathBuf, server: Option<Server>) -> Session {
        Session {
            cwd,
            server,
            ..Session::default()
        }
    }
}

impl Wire {
    pub fn new(delay: Duration) -> Wire {
        Wire {
            delay,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn client_can(&self, read: bool, write: bool, run: bool) {
        let mut state = self.lock();
        state.reads = read;
        state.writes = write;
        state.runs_commands = run;
    }

    /// Returns whether the client runs commands for agents.
    pub fn runs_commands(&self) -> bool {
        self.lock().runs_commands
    }

    /// Returns whether the client reads and whether it writes files for agents.
    pub fn abilities(&self) -> (bool, bool) {
        let state = self.lock();
        (state.reads, state.writes)
    }

    /// Adds a session and returns its id.
    pub fn open(&self, session: Session) -> String {
        let mut state = self.lock();
        // Unique across processes: clients remember sessions by this id.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.unwrap_or_default().as_millis();
        let id = format!("tutor-{}-{now:x}", state.sessions.len() + 1);
        state.sessions.insert(id.clone(), session);
        id
    }

    /// Starts a turn unless the session has one running.
    pub fn start(&self, session: &str) -> Start {
        match self.lock().sessions.get_mut(session) {
            None => Start::Unknown,
            Some(session) if session.running => Start::Busy,
            Some(session) => {
                session.running = true;
                session.cancelled = false;
                Start::Begun
            }
        }
    }

    pub fn end(&self, session: &str) {
        if let Some(session) = self.lock().sessions.get_mut(session) {
            session.running = false;
        }
    }

    /// Cancels the session's turn; does nothing without one.
    pub fn cancel(&self, session: &str) {
        if let Some(session) = self.lock().sessions.get_mut(session) {
            session.cancelled = true;
        }
        self.changed.notify_all();
    }

    /// Gives access to a session's state.
    pub fn with<T: Default>(&self, session: &str, look: impl FnOnce(&mut Session) -> T) -> T {
        self.lock()
            .sessions
            .get_mut(session)
            .map(look)
            .unwrap_or_default()
    }

    /// Waits for `time`.
    pub fn pause(&self, session: &str, time: Duration) -> Result<(), Cancelled> {
        self.wait(session, Some(Instant::now() + time), |_| None::<()>)
            .map(|_| ())
    }

    /// Sends a request, waits for the answer and returns the whole message.
    pub fn ask(&self, session: &str, method: &str, params: &Value) -> Result<Value, Cancelled> {
        let id = {
            let mut state = self.lock();
            state.next_request += 1;
            let id = state.next_request;
            state.open.insert(id);
            id
        };
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let answer = self.wait(session, None, |state| state.answers.remove(&id));
        // Drops an answer that arrives after a cancel.
        let mut state = self.lock();
        state.open.remove(&id);
        state.answers.remove(&id);
        answer.map(Option::unwrap_or_default)
    }

    /// Hands an answer of the client to the turn that waits for it.
    pub fn answered(&self, id: &Value, message: &Value) {
        let mut state = self.lock();
        if let Some(id) = id.as_u64().filter(|id| state.open.contains(id)) {
            state.answers.insert(id, message.clone());
        }
        self.changed.notify_all();
    }

    fn wait<T>(
        &self,
        session: &str,
        deadline: Option<Instant>,
        mut look: impl FnMut(&mut State) -> Option<T>,
    ) -> Result<Option<T>, Cancelled> {
        let mut state = self.lock();
        loop {
            if state.sessions.get(session).is_none_or(|s| s.cancelled) {
                return Err(Cancelled);
            }
            if let Some(found) = look(&mut state) {
                return Ok(Some(found));
            }
            state = match deadline {
                None => self
                    .changed
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Ok(None);
                    }
                    self.changed
                        .wait_timeout(state, left)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
            };
        }
    }

    /// Sends a `session/update`.
    pub fn update(&self, session: &str, update: &Value) {
        self.send(&json!({
            "jsonrpc": "2.0",
            "method": "session/update",
            "params": {"sessionId": session, "update": update},
        }));
    }

    pub fn reply(&self, id: &Value, result: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    pub fn refuse(&self, id: &Value, code: i64, why: &str) {
        let error = json!({"code": code, "message": why});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
    }

    fn send(&self, message: &Value) {
        let mut out = std::io::stdout().lock();
        let line = format!("{message}\n");
        // A client that has stopped reading also closes stdin, and that ends the process.
        let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    }
}
