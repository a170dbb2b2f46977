//! The highlighting of code that a window shows, or nearly so.
//!
//! Invariant: one request is pending at a time, so the code that is visible when it is answered
//! comes next.

use crate::spine::ids::SessionKey;
use crate::spine::pending::{Pending, Token, reply};
use crate::view::View;
use crate::view::chat::ChatView;

#[derive(Debug, Default)]
pub(super) struct CodeState {
    pending: Pending<reply::Highlighted, Shown>,
    /// There may be code to request.
    pub is_due: bool,
    /// The number of requests.
    count: u64,
}

/// The place of code that is being highlighted.
#[derive(Debug)]
pub(crate) struct Shown {
    pub session: SessionKey,
    pub entry: usize,
    pub number: u64,
}

impl View {
    /// Returns the number of the next request, if one is due and none pending.
    pub(crate) fn next_highlight(&self) -> Option<u64> {
        let is_free = self.code.is_due && self.code.pending.is_empty();
        is_free.then_some(self.code.count + 1)
    }

    pub(crate) fn chats(&self) -> impl Iterator<Item = (SessionKey, &ChatView)> {
        self.chats.iter().map(|(key, chat)| (*key, chat))
    }

    /// Records that no code is left to request.
    pub(crate) fn all_highlighted(&mut self) {
        self.code.is_due = false;
    }

    pub(crate) fn highlight(&mut self, shown: Shown) -> Token<reply::Highlighted> {
        self.code.count = shown.number;
        self.code.pending.add(shown)
    }

    /// Returns the code whose highlights have come; more may be due.
    pub(crate) fn take_highlighted(&mut self, token: Token<reply::Highlighted>) -> Option<Shown> {
        let shown = self.code.pending.take(token)?;
        self.code.is_due = true;
        Some(shown)
    }
}
