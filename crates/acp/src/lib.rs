//! The wire: framing, JSON-RPC, tolerant decoding into the messages the core understands.
//!
//! Bytes become lines ([`LineDecoder`]), lines become messages ([`rpc::decode()`]); what the client
//! says is built by [`client`] and made a line by [`rpc`].
//! Invariant: whatever bytes an agent sends, decoding neither fails nor panics.

pub mod client;
mod decode;
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
pub use frame::{Frame, LineDecoder};
pub use message::*;
pub use options::*;
pub use shown::{News, TerminalNews, take_terminal_news};
