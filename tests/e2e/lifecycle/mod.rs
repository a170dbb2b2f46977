//! Life and death of agents: none is left behind, and Neovim survives all of them.

mod deaths;
mod ends;
mod wire;

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::harness::{Nvim, Project, procs};
use super::talk::{
    self, count, ended, go, open, prompt, said, start, status, transcript, wait_phase, wait_said,
};

/// Returns the test agents among Neovim's child processes.
fn agents(nvim: &Nvim) -> Vec<procs::Process> {
    let mut agents = nvim.children();
    agents.retain(|child| child.zombie || child.command.contains("acp-scripted"));
    agents
}

/// Returns the process id of the only agent. Another process that has just ended is a zombie until
/// it is reaped.
#[track_caller]
fn agent(nvim: &Nvim) -> u32 {
    let mut agent = None;
    nvim.wait("one agent", || {
        agent = match &agents(nvim)[..] {
            [one] if !one.zombie => Some(one.pid),
            _ => None,
        };
        agent.is_some()
    });
    agent.expect("one agent")
}

#[track_caller]
fn wait_gone(nvim: &Nvim, pid: u32) {
    nvim.wait("the process to end", || !procs::alive(pid));
}
