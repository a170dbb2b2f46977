//! What agents ask of files: reads answered from buffers first, writes merged into buffers or
//! carried out on disk.
//!
//! Invariants: a request gets exactly one response; what the user has typed is never replaced,
//! only merged with.

mod paths;
mod read;
mod write;

pub use read::Read;
pub use write::Write;
pub(crate) use write::{Merged, Saved};
