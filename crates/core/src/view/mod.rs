//! The screen and the public API: views of the other rooms' state.

pub(crate) mod chat;
pub mod follow;
pub mod frame;
pub mod questions;
pub mod reviewlist;
pub mod snapshot;
pub mod statusline;
pub(crate) mod wholes;
