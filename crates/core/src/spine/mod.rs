//! The core's interface: effects, the tokens of their replies, ids, and the data that events and
//! effects carry.

pub mod asker;
pub mod attachment;
pub mod cx;
pub mod effect;
pub mod event;
pub mod history;
pub mod ids;
pub mod oneline;
pub mod pending;
pub mod project;
pub mod tool;
pub mod view;
