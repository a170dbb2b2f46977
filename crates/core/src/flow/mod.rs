//! Flows: what one event sets in motion in several rooms.
//!
//! A flow names one room after the other. State and single steps belong to the rooms below.

mod catalog;
mod composer;
mod connection;
mod feedback;
mod login;
mod opening;
mod progress;
mod proposals;
mod questions;
mod queue;
mod steer;
mod takeback;
mod tool_terminals;
mod tools;
mod turn;
