//! Who may come in: a session's token, and how much may be done by it at once.
//!
//! Invariant: a token is never kept, shown or logged, and how long a comparison takes says nothing
//! of it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use super::http::Service;
use acp_core::spine::ids::SessionKey;

/// How many connections a session may have.
const CONNECTIONS: usize = 32;

/// How many of a session's calls may wait for their answers.
pub(super) const CALLS: usize = 64;

/// A session that was let in.
#[derive(Debug)]
pub(super) struct Admission {
    pub session: SessionKey,
    /// Cancelled when it is shut out.
    pub end: CancellationToken,
    /// Serves the session over HTTP, from its first request on.
    pub http: OnceLock<Service>,
    token: blake3::Hash,
    connections: Arc<AtomicUsize>,
    calls: Arc<AtomicUsize>,
}

/// One of those that may be there at once, as long as it is held.
#[derive(Debug)]
pub(super) struct Share {
    taken: Arc<AtomicUsize>,
}

impl Admission {
    pub fn new(session: SessionKey, token: &str) -> Self {
        Self {
            session,
            end: CancellationToken::new(),
            http: OnceLock::new(),
            token: blake3::hash(token.as_bytes()),
            connections: Arc::default(),
            calls: Arc::default(),
        }
    }

    /// Tells whether this is the session's token; hashes are compared in constant time.
    pub fn takes(&self, token: &blake3::Hash) -> bool {
        self.token == *token
    }

    /// Counts a connection in; `None` when there are too many.
    pub fn connection(&self) -> Option<Share> {
        Share::take(&self.connections, CONNECTIONS)
    }

    /// Counts a call in; `None` when there are too many.
    pub fn call(&self) -> Option<Share> {
        Share::take(&self.calls, CALLS)
    }
}

impl Share {
    pub fn take(taken: &Arc<AtomicUsize>, most: usize) -> Option<Self> {
        let more = |n: usize| (n < most).then_some(n + 1);
        taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .ok()?;
        Some(Self {
            taken: Arc::clone(taken),
        })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.taken.fetch_sub(1, Ordering::Relaxed);
    }
}
