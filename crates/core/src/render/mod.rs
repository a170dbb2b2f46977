//! Lines for the screen from plain data: markdown, diffs, tool calls, removed lines.
//!
//! Invariant: no session, file or question is known here; what comes in is text, what goes out
//! is lines with spans.

pub mod contents;
pub mod diffview;
pub mod groups;
pub mod links;
pub mod markdown;
pub mod mediaview;
pub mod ops;
pub mod rawview;
pub mod removed;
pub mod title;
pub mod toolcall;
pub mod tooldiff;
pub mod toolview;
pub mod uri;
pub mod view;
