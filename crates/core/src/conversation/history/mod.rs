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
pub(crate) mod news;
pub(crate) mod past;
mod reopen;
pub mod state;
mod time;
mod tool;

#[cfg(test)]
pub(crate) use self::keep::restore;
use crate::spine::history::Past;
