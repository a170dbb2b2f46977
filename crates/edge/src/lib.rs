//! What the rooms around the core share: the inbox, the marks of a caught panic, and what the file
//! system says of a path.

pub mod inbox;
pub mod panics;
pub mod paths;
