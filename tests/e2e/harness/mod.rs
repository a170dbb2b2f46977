//! A Neovim for tests: hermetic, driven over msgpack-RPC, with a screen that can be read.
//!
//! Invariants: nothing of the user's leaks in (own XDG folders, own environment), nothing is
//! left behind (processes carry a mark and are looked for), and nothing waits for ever: each
//! request and each wait has a deadline and fails with a dump of all that is known.

mod dump;
mod launch;
mod nvim;
pub mod procs;
mod project;
mod rpc;
mod screen;
mod slots;
mod svg;

#[allow(unused_imports)] // By the benchmark.
pub use launch::{agent, binary};
pub use nvim::{Nvim, UserEvent};
pub use project::Project;
#[allow(unused_imports)] // By the benchmark.
pub use rpc::Flush;
