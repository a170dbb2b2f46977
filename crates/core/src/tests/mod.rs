//! Tests of the core through its interface: events in, effects out. A fake editor, host, disk and
//! agent carry out every effect.
//!
//! Each test drives a [`world::World`], which checks its invariants at each step and at its end
//! (see there).

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
mod colours;
mod composer;
mod elicitation;
mod feedback;
mod fileops;
mod files;
mod follow;
mod frames;
mod growth;
mod history;
mod hostile;
mod kinds;
mod lifecycle;
mod linked;
mod lives;
mod login;
mod notices;
mod ondisk;
mod opening;
mod options;
mod outlive;
mod overlap;
mod overwritten;
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
mod steering;
mod takeback;
mod terminals;
mod tools;
mod tracked;
mod turns;
mod undo_turn;
mod whole;
