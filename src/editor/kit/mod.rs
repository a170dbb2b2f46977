//! The parts that the rest of the editor is built from: autocommands, deferred calls, buffers,
//! windows and floats of this plugin, and the one answer to "is the user busy?".
//!
//! Invariants: every callback runs under the guard; nothing here knows sessions.

pub mod autocmd;
pub mod buffer;
pub mod defer;
pub mod float;
pub mod user;
pub mod window;
