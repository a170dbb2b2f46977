//! Code shared by the crates around the core: the inbox, panic messages, and path lookups.

pub mod inbox;
pub mod panics;
pub mod paths;
