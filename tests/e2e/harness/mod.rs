//! A hermetic Neovim for tests, driven over msgpack-RPC, with a readable screen.
//!
//! Invariants: nothing of the user's leaks in (the test has its own XDG folders and environment),
//! no process outlives its test (each carries a mark, and is searched for by it), and no wait is
//! unbounded: each request and each wait has a deadline and fails with a dump of Neovim's state.

mod dump;
mod launch;
mod nvim;
pub mod procs;
mod project;
mod rpc;
mod screen;
mod svg;

#[allow(unused_imports)] // Used by the benchmark.
pub use launch::{agent, binary, checkout, installed, terminal_binary};
pub use nvim::{Nvim, UserEvent};
pub use project::Project;
#[allow(unused_imports)] // Used by the benchmark.
pub use rpc::Flush;
