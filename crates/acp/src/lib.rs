//! The wire: framing, JSON-RPC, and tolerant decoding into the messages the core understands.
//!
//! Bytes become lines ([`LineDecoder`]), lines become messages ([`rpc::decode()`]). Outgoing
//! messages are built by [`client`] and encoded by [`rpc`].
//! Invariant: decoding neither fails nor panics on any bytes.

pub mod client;
mod decode;
pub mod ends;
mod frame;
mod mend;
mod message;
mod options;
mod raw;
pub mod rpc;
mod shown;
#[cfg(test)]
mod tests;

pub use decode::{content_block, tool_kind};
pub use frame::{END_BYTES, Frame, LineDecoder, MAX_LINE};
pub use message::*;
pub use options::*;
pub use shown::{News, TerminalNews, take_terminal_news};
