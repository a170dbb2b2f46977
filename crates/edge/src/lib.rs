//! Code shared by the crates around the core: the inbox, panic messages, path lookups, and files that a save replaces.

pub mod inbox;
pub mod panics;
pub mod paths;
pub mod replaced;
pub mod slow;
