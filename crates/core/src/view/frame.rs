//! Frames: the changes of the screen since the last frame, composed when the editor asks for one.
//!
//! Invariant: the editor is woken once per batch of changes, and at most one frame is pending; a
//! blocked editor costs no memory except the transcript itself.

use std::collections::{BTreeMap, BTreeSet};

use crate::render::ops::Ops;
use crate::spine::ids::SessionKey;
use crate::spine::oneline::OneLine;
use crate::spine::view::{FrameSize, Group};
use crate::view::View;
use crate::view::chat::Budget;

#[derive(Debug, Default)]
pub struct FrameState {
    /// The editor was woken and has not requested a frame since.
    pub(crate) woken: bool,
    /// The question on the screen has plain text that is not rendered yet.
    pub(crate) question_is_plain: bool,
    /// Sessions whose folds a window wants.
    pub folds_wanted: BTreeSet<SessionKey>,
    pub(crate) titles: BTreeMap<SessionKey, Vec<(OneLine, Group)>>,
    /// The most text that the main thread wants in a frame.
    pub(crate) size: FrameSize,
    /// The pending frame, as composed so far.
    pub(crate) composing: Option<Composing>,
}

/// A frame that is being composed, slice by slice.
#[derive(Debug)]
pub(crate) struct Composing {
    pub(crate) chats: BTreeMap<SessionKey, Ops>,
    pub(crate) budget: Budget,
}

impl FrameState {
    /// Returns whether the editor waits for a frame that is not complete yet.
    pub fn is_composing(&self) -> bool {
        self.composing.is_some()
    }

    /// Drops the pending changes of a chat that was emptied.
    pub(crate) fn chat_is_empty(&mut self, session: SessionKey) {
        if let Some(composing) = &mut self.composing {
            composing.chats.remove(&session);
        }
    }
}

impl View {
    /// Returns whether the core must continue with a frame: `FrameSlice` is due.
    pub fn is_composing(&self) -> bool {
        self.frame.is_composing()
    }
}
