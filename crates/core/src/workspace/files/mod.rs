//! Agents' file requests: reads answered from buffers first, writes merged into buffers or carried
//! out on disk.
//!
//! Invariants: a request gets exactly one response; the user's edits are merged, never replaced.

mod paths;
mod read;
mod write;

pub(crate) use read::Answer;
pub use read::Read;
pub use write::Write;
pub(crate) use write::{Merged, Saved};
