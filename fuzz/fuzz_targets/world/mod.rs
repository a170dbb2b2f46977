//! The world of the core's tests around a model: a disk, an editor and agents in memory.
//!
//! The laws that need the core's own parts are checked by its tests; those here need its interface.

#![allow(dead_code, reason = "the tests use more of it")]

#[path = "../../../crates/core/src/tests/agent.rs"]
pub mod agent;
#[path = "../../../crates/core/src/tests/disk.rs"]
pub mod disk;
#[path = "../../../crates/core/src/tests/editor.rs"]
pub mod editor;
pub mod laws;
#[path = "../../../crates/core/src/tests/pty.rs"]
pub mod pty;
#[path = "../../../crates/core/src/tests/records.rs"]
pub mod records;
pub mod screen;
#[path = "../../../crates/core/src/tests/shadow.rs"]
pub mod shadow;
pub mod tools;
#[path = "../../../crates/core/src/tests/verbs.rs"]
pub mod verbs;
#[path = "../../../crates/core/src/tests/world.rs"]
#[allow(clippy::module_inception, reason = "the tests' name")]
pub mod world;
