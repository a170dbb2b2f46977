//! What the user and the public API see, composed of all rooms.

mod code;
mod follow;
mod frame;
mod questions;
mod reviewlist;
mod snapshot;
mod wholes;
