//! End to end: a real Neovim with a screen, driven by keys, connected to real agent processes.
//!
//! `harness` drives Neovim; each other module tests one area. No test sleeps: it waits for a
//! condition, and a wait that times out fails with the screen, the messages and the logs.

mod agents;
mod agui;
mod chat;
mod chat_windows;
mod composer;
mod cost;
mod disk_door;
mod events;
mod faults;
mod files;
mod follow;
mod form;
mod handlers;
mod harness;
mod harness_tests;
mod history;
mod killed;
mod lifecycle;
mod loading;
mod login;
mod many;
mod notices;
mod options;
mod overview;
mod panics;
mod permission;
mod picture;
mod plan;
mod proposals;
mod queue;
mod reach;
mod recordings;
mod review;
mod review_list;
mod scenarios;
mod steering;
mod stories;
mod subagents;
mod talk;
mod terminal_window;
mod terminals;
mod tool_calls;
mod tools;
mod turns;
mod tutor;
