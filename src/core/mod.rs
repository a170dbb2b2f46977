//! The state machine, pure: an [`event::Event`] and the model go in, [`effect::Effect`]s come out.
//!
//! Invariant: no clock, no I/O, no randomness, no Neovim; the same events give the same effects.

mod changes;
mod chat;
mod connection;
pub mod contents;
pub mod diffview;
pub mod documents;
pub mod effect;
pub mod event;
pub mod family;
pub mod feedback;
pub mod files;
pub mod follow;
pub mod format;
pub mod frame;
pub mod groups;
pub mod hunkview;
pub mod ids;
mod jobs;
pub mod ledger;
pub mod links;
pub mod markdown;
pub mod mediaview;
pub mod model;
pub mod ops;
pub mod permission;
pub mod plan;
pub mod progress;
pub mod project;
pub mod proposals;
pub mod rawview;
pub mod removed;
pub mod reviewlist;
pub mod reviews;
pub mod rules;
pub mod snapshot;
pub mod terminals;
#[cfg(test)]
mod tests;
pub mod text;
pub mod toolcall;
pub mod tooldiff;
pub mod toolview;
pub mod tracked;
pub mod transcript;
mod turn;
pub mod update;
pub mod uri;
pub mod view;
mod wholes;
mod window;
