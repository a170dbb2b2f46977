//! Agents and the conversations with them: processes, sessions, turns, prompts, transcripts.

pub mod attachment;
pub(crate) mod catalog;
pub mod compaction;
pub mod complete;
pub(crate) mod composer;
pub(crate) mod connection;
pub mod family;
pub mod history;
pub mod login;
pub mod mention;
pub mod notices;
pub(crate) mod opening;
pub mod options;
pub mod plan;
pub mod progress;
pub(crate) mod questions;
pub mod queue;
pub mod reach;
pub mod recall;
pub(crate) mod replay;
pub(crate) mod retold;
pub(crate) mod takeback;
pub(crate) mod tool_terminals;
pub mod transcript;
pub(crate) mod turn;
pub mod usage;
