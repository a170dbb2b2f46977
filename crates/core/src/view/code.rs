//! The highlighting of code that a window shows, or nearly so.
//!
//! Invariant: one request is pending at a time, so the code that is visible when it is answered
//! comes next.

use crate::spine::ids::SessionKey;
use crate::spine::pending::{Pending, reply};

#[derive(Debug, Default)]
pub struct CodeState {
    pub(crate) pending: Pending<reply::Highlighted, Shown>,
    /// There may be code to request.
    pub(crate) is_due: bool,
    /// The number of requests.
    pub(crate) count: u64,
}

/// The place of code that is being highlighted.
#[derive(Debug)]
pub(crate) struct Shown {
    pub session: SessionKey,
    pub entry: usize,
    pub number: u64,
}
