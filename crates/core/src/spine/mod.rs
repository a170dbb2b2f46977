//! The core's interface: events, effects, the jobs between them, and the ids they use.

pub mod asker;
pub mod attachment;
pub mod cx;
pub mod effect;
pub mod event;
pub mod history;
pub mod ids;
pub mod pending;
pub mod project;
pub mod tool;
pub mod view;
