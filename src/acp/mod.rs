//! The wire: framing, JSON-RPC, tolerant decoding into the messages the core understands.
//!
//! Invariant: whatever bytes an agent sends, decoding neither fails nor panics.

mod message;

pub use message::*;
