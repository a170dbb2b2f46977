//! The core as its neighbours see it: events in, effects out, with a fake editor, host, disk and
//! agent around it that carry every effect out.
//!
//! A test is a story told to a [`world::World`]; whatever the story, the world itself checks at
//! each step and at its end what must always hold (see there).

mod agent;
mod disk;
mod editor;
mod golden;
mod laws;
mod pty;
mod records;
mod screen;
mod shadow;
mod statusline;
mod steps;
mod story;
mod subagents;
mod verbs;
mod wholes;
mod world;

mod catalog;
mod composer;
mod elicitation;
mod feedback;
mod fileops;
mod files;
mod follow;
mod frames;
mod history;
mod languages;
mod lifecycle;
mod login;
mod notices;
mod ondisk;
mod opening;
mod options;
mod outlive;
mod permissions;
mod progress;
mod proposals;
mod queue;
mod races;
mod random;
mod reach;
mod review_list;
mod reviews;
mod rules;
mod slices;
mod takeback;
mod terminals;
mod tools;
mod tracked;
mod turns;
mod undo_turn;
mod whole;
