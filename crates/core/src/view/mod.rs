//! The state of what the editor shows: chats, the review list, following, and the next frame.
//!
//! Owns no facts: everything here can be derived again from the rooms below. `screen`
//! composes frames and the snapshot.

pub(crate) mod chat;
mod code;
pub mod dock;
pub mod event;
pub mod follow;
mod frame;
pub mod questions;
pub mod reviewlist;
pub mod snapshot;
pub mod statusline;
pub(crate) mod wholes;

use std::collections::BTreeMap;
use std::ops::Range;

use self::chat::ChatView;
use self::code::CodeState;
pub(crate) use self::code::Shown;
use self::follow::Following;
pub(crate) use self::frame::Composing;
use self::frame::FrameState;
use self::reviewlist::ReviewList;
use crate::conversation::transcript::Transcript;
use crate::spine::ids::SessionKey;

/// The state of this room.
#[derive(Debug, Default)]
pub struct View {
    /// The chats as the editor shows them.
    chats: BTreeMap<SessionKey, ChatView>,
    list: ReviewList,
    following: Following,
    frame: FrameState,
    code: CodeState,
}

impl View {
    /// Returns whether the next frame has a change to draw that is known here.
    pub(crate) fn is_dirty(&self) -> bool {
        self.list.is_dirty()
            || !self.following.dirty.is_empty()
            || !self.frame.folds_wanted.is_empty()
    }

    pub(crate) fn chat_mut(&mut self, key: SessionKey) -> &mut ChatView {
        self.chats.entry(key).or_default()
    }

    /// Handles a transcript's buffer that is new or was emptied.
    pub(crate) fn chat_is_empty(&mut self, key: SessionKey, transcript: &mut Transcript) {
        self.chat_mut(key).reset(transcript);
        if let Some(composing) = &mut self.frame.composing {
            composing.chats.remove(&key);
        }
    }

    /// Handles a window that shows other rows of a transcript.
    pub(crate) fn chat_seen(&mut self, key: SessionKey, rows: Range<usize>) {
        self.chat_mut(key).set_seen(rows);
        self.code.is_due = true;
    }

    pub(crate) fn session_closed(&mut self, key: SessionKey) {
        self.chats.remove(&key);
        self.unfollow(key);
    }
}
