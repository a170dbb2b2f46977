//! Code shared by the crates around the core: the inbox, panic messages, path lookups, and text files
//! that are read on the main thread.

pub mod inbox;
pub mod panics;
pub mod paths;
pub mod slow;
pub mod textfile;
