//! The state of what the editor shows: chats, the review list, following, and the next frame.
//!
//! Owns no fact of its own: everything here can be derived again from the rooms below. `screen`
//! composes frames and the snapshot.

pub(crate) mod chat;
pub mod code;
pub mod dock;
pub mod event;
pub mod follow;
pub mod frame;
pub mod questions;
pub mod reviewlist;
pub mod snapshot;
pub mod statusline;
pub(crate) mod wholes;

use std::collections::BTreeMap;

use self::chat::ChatView;
use self::code::CodeState;
use crate::spine::ids::SessionKey;
use crate::view::follow::Following;
use crate::view::frame::FrameState;
use crate::view::reviewlist::ReviewList;

/// The state of this room.
#[derive(Debug, Default)]
pub struct View {
    /// The chats as the editor shows them.
    pub chats: BTreeMap<SessionKey, ChatView>,
    pub list: ReviewList,
    pub following: Following,
    pub frame: FrameState,
    pub code: CodeState,
}
