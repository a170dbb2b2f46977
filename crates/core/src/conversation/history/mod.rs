//! Records of sessions: written while a session runs, read by later Neovim instances.
//!
//! Invariants: a record stores what the transcript shows of an entry, so that reading it back
//! restores the transcript; a later line about an entry replaces the earlier one, so a record is
//! append-only, and a truncated one is valid up to where it ends.

pub(crate) mod delete;
pub mod entry;
pub(crate) mod export;
pub(crate) mod keep;
pub mod lines;
pub(crate) mod list;
mod news;
pub(crate) mod past;
mod reopen;
mod time;
mod tool;

pub use self::keep::Keeping;
#[cfg(test)]
pub(crate) use self::keep::restore;
pub(crate) use self::news::News;
pub use self::past::{HistoryJob, Pasts, Query, Source, Wish};
use crate::spine::history::Past;
