//! The state machine, pure: an [`event::Event`] and the model go in, [`effect::Effect`]s come out.
//!
//! Invariant: no clock, no I/O, no randomness, no Neovim; the same events give the same effects.

pub mod effect;
pub mod event;
pub mod format;
pub mod ids;
pub mod inbox;
pub mod ledger;
pub mod markdown;
pub mod text;
pub mod view;
