//! Renders plain data as lines for the screen: markdown, diffs, tool calls, removed lines.
//!
//! Invariant: nothing here depends on sessions, files or questions; the input is text, the output
//! is lines with spans.

pub mod contents;
pub mod diffview;
pub mod groups;
pub mod links;
pub mod markdown;
pub mod mediaview;
pub mod ops;
pub mod osc;
pub mod plain;
pub mod rawview;
pub mod removed;
mod restview;
mod screen;
pub mod terminals;
pub mod title;
pub mod toolcall;
pub mod tooldiff;
pub mod toolview;
pub mod uri;
