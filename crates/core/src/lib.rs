//! The state machine, pure: an [`event::Event`] and the model go in,
//! [`spine::effect::Effect`]s come out.
//!
//! Invariant: no clock, no I/O, no randomness, no Neovim; the same events give the same effects.

pub mod code;
pub mod conversation;
pub mod event;
mod flow;
pub mod form;
pub mod model;
pub mod questions;
pub mod render;
mod screen;
pub mod spine;
pub mod terminals;
#[cfg(test)]
mod tests;
pub mod text;
pub mod tools;
pub mod update;
pub mod view;
pub mod workspace;
