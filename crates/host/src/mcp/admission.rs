//! Admits clients by a session's token, and limits a session's connections and calls.
//!
//! Invariant: tokens are stored only as hashes and never shown or logged; comparing them takes
//! constant time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio_util::sync::CancellationToken;

use acp_core::spine::ids::SessionKey;

/// Maximum number of connections per session.
const CONNECTIONS: usize = 32;

/// Maximum number of pending calls per session.
pub(super) const CALLS: usize = 64;

/// An admitted session.
#[derive(Debug)]
pub(super) struct Admission {
    pub session: SessionKey,
    /// Cancelled when the session is shut out.
    pub end: CancellationToken,
    token: blake3::Hash,
    connections: Arc<AtomicUsize>,
    calls: Arc<AtomicUsize>,
}

/// A permit for one connection or call, returned when dropped.
#[derive(Debug)]
pub(super) struct AdmissionPermit {
    taken: Arc<AtomicUsize>,
}

impl Admission {
    pub fn new(session: SessionKey, token: &str) -> Self {
        Self {
            session,
            end: CancellationToken::new(),
            token: blake3::hash(token.as_bytes()),
            connections: Arc::default(),
            calls: Arc::default(),
        }
    }

    /// Returns whether this is the session's token; hashes are compared in constant time.
    pub fn takes(&self, token: &blake3::Hash) -> bool {
        self.token == *token
    }

    /// Takes a connection permit; `None` if none is left.
    pub fn connection(&self) -> Option<AdmissionPermit> {
        AdmissionPermit::take(&self.connections, CONNECTIONS)
    }

    /// Takes a call permit; `None` if none is left.
    pub fn call(&self) -> Option<AdmissionPermit> {
        AdmissionPermit::take(&self.calls, CALLS)
    }
}

impl AdmissionPermit {
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

impl Drop for AdmissionPermit {
    fn drop(&mut self) {
        self.taken.fetch_sub(1, Ordering::Relaxed);
    }
}
