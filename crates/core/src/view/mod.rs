//! What the screen and the public API show of the other rooms.

pub(crate) mod chat;
pub mod follow;
pub mod frame;
pub mod reviewlist;
pub mod snapshot;
pub mod statusline;
pub(crate) mod wholes;
