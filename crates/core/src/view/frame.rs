//! Frames: the changes of the screen since the last frame, composed when the editor asks for one.
//!
//! Invariant: the editor is woken once per batch of changes, and at most one frame is pending; a
//! blocked editor costs no memory except the transcript itself.

use std::collections::{BTreeMap, BTreeSet};

use crate::render::ops::Ops;
use crate::spine::cx::Effects;
use crate::spine::effect::EditorEffect;
use crate::spine::ids::SessionKey;
use crate::spine::oneline::OneLine;
use crate::spine::view::{FoldState, FrameSize, Group, Patch};
use crate::view::View;
use crate::view::chat::Budget;

#[derive(Debug, Default)]
pub(super) struct FrameState {
    /// The editor was woken and has not requested a frame since.
    woken: bool,
    /// The question on the screen has plain text that is not rendered yet.
    question_is_plain: bool,
    /// The name of who asks it.
    asker: Option<String>,
    /// Sessions whose folds a window wants.
    pub folds_wanted: BTreeSet<SessionKey>,
    titles: BTreeMap<SessionKey, Vec<(OneLine, Group)>>,
    /// The most text that the main thread wants in a frame.
    size: FrameSize,
    /// The pending frame, as composed so far.
    pub composing: Option<Composing>,
}

/// A frame that is being composed, slice by slice.
#[derive(Debug)]
pub(crate) struct Composing {
    pub chats: BTreeMap<SessionKey, Ops>,
    pub budget: Budget,
}

impl View {
    /// Returns whether the core must continue with a frame: `FrameSlice` is due.
    pub fn is_composing(&self) -> bool {
        self.frame.composing.is_some()
    }

    /// Returns whether the editor requests no frame unless it is woken.
    pub(crate) fn may_wake(&self) -> bool {
        !self.frame.woken && !self.is_composing()
    }

    pub(crate) fn wake(&mut self, fx: &mut Effects) {
        self.frame.woken = true;
        fx.push(EditorEffect::Wake);
    }

    pub(crate) fn set_frame_size(&mut self, size: FrameSize) {
        self.frame.size = size;
    }

    /// Returns the pending frame, as composed so far; `None` if a new one begins.
    pub(crate) fn take_frame(&mut self) -> Option<Composing> {
        self.frame.woken = false;
        self.frame.composing.take()
    }

    pub(crate) fn new_frame(&self) -> Composing {
        Composing {
            chats: BTreeMap::new(),
            budget: Budget::new(self.frame.size),
        }
    }

    /// Keeps an incomplete frame until its next slice is due.
    pub(crate) fn keep_frame(&mut self, composing: Composing) {
        self.frame.composing = Some(composing);
    }

    /// Records that a frame is complete, so there may be code to highlight.
    pub(crate) fn frame_is_complete(&mut self) {
        self.code.is_due = true;
        // The remaining requests are for closed sessions.
        self.frame.folds_wanted.clear();
    }

    /// Records that a window wants the folds of a chat.
    pub(crate) fn want_folds(&mut self, key: SessionKey) {
        self.frame.folds_wanted.insert(key);
    }

    /// Returns the folds of a chat, if a window wants them.
    pub(crate) fn take_folds(&mut self, key: SessionKey) -> Option<Vec<(usize, usize, FoldState)>> {
        let is_wanted = self.frame.folds_wanted.remove(&key);
        is_wanted.then(|| self.chat_mut(key).folds())
    }

    pub(crate) fn has_title(&self, key: SessionKey, title: &[(OneLine, Group)]) -> bool {
        self.frame
            .titles
            .get(&key)
            .is_some_and(|shown| shown == title)
    }

    /// Returns the title's patch, unless it is on the screen.
    pub(crate) fn title_patch(
        &mut self,
        session: SessionKey,
        title: Vec<(OneLine, Group)>,
    ) -> Option<Patch> {
        let is_new = !self.has_title(session, &title);
        is_new.then(|| {
            self.frame.titles.insert(session, title.clone());
            Patch::ChatTitle { session, title }
        })
    }

    /// Marks the text of the question on the screen for rendering.
    pub(crate) fn question_has_colours(&mut self) {
        self.frame.question_is_plain = true;
    }

    /// Records whether the question's text is rendered; returns whether only now it is.
    pub(crate) fn question_is_rendered(&mut self, is_rendered: bool) -> bool {
        let was_plain = std::mem::replace(&mut self.frame.question_is_plain, !is_rendered);
        was_plain && is_rendered
    }

    /// Records who asks the question on the screen; returns whether that has another name now.
    pub(crate) fn question_is_of(&mut self, asker: Option<String>) -> bool {
        let before = std::mem::replace(&mut self.frame.asker, asker);
        before != self.frame.asker
    }
}
