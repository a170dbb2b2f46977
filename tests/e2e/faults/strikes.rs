//! What goes wrong.

use super::*;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::harness::agent;

/// Passes the agent's output on in a separate process, so that it can be closed from outside.
const PIPED: &str = "mkfifo ../out; cat <../out & echo $! >../cat; exec \"$0\" \"$1\" >../out";

/// Descriptors and bytes of a limit that is none.
const NO_LIMIT: Option<u64> = None;

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fault {
    AgentKilled,
    /// The agent stops for good; the user cancels, and stops it.
    AgentFrozen,
    /// The agent stops, the user cancels, and the agent goes on.
    AgentStalls,
    OutputClosed,
    NeovimKilled,
    /// A file or its folder is gone, or something else is in its place.
    FileReplaced,
    /// The plugin's state folder is gone, or a file is in its place.
    StateGone,
    /// Another program changes the open file.
    OtherWriter,
    /// Neovim can open a few files only, or none.
    FewDescriptors,
    /// Neovim can write to no file. A file system that is full needs the right to mount one; a
    /// limit of 0 bytes fails the same calls.
    DiskFull,
}

pub const FAULTS: [Fault; 10] = [
    Fault::AgentKilled,
    Fault::AgentFrozen,
    Fault::AgentStalls,
    Fault::OutputClosed,
    Fault::NeovimKilled,
    Fault::FileReplaced,
    Fault::StateGone,
    Fault::OtherWriter,
    Fault::FewDescriptors,
    Fault::DiskFull,
];

/// What ends a fault.
type Lift = Box<dyn FnOnce(&Run)>;

impl Fault {
    /// Returns whether the fault means something for this work.
    pub fn is_apt(self, work: Work, _moment: Moment) -> bool {
        match self {
            // Limits of another process are set on Linux only.
            Self::FewDescriptors => cfg!(target_os = "linux"),
            Self::DiskFull => cfg!(target_os = "linux") && work.is_about_files(),
            Self::FileReplaced | Self::OtherWriter => work.is_about_files(),
            // After its turn nothing is asked of the agent, and nothing can be cancelled.
            Self::AgentFrozen | Self::AgentStalls => !work.is_users(),
            _ => true,
        }
    }

    /// Returns whether the agent lives on and its script ends.
    pub fn spares_agent(self) -> bool {
        !matches!(
            self,
            Self::AgentKilled | Self::AgentFrozen | Self::OutputClosed | Self::NeovimKilled
        )
    }

    /// Prepares a project for the fault.
    pub fn prepare(self, project: Project) -> Project {
        match self {
            Self::OutputClosed => {
                let script = project.root().join("agents/agent.jsonl");
                let args = json!(["-c", PIPED, agent("acp-scripted"), script]);
                let project = project.agent_key("agent", "command", json!("sh"));
                project.agent_key("agent", "args", args)
            }
            // Otherwise the limit kills Neovim.
            Self::DiskFull => project.shell("trap '' XFSZ"),
            _ => project,
        }
    }

    /// Lets it happen, and returns what ends it.
    #[track_caller]
    pub fn strike(self, run: &mut Run) -> Lift {
        let root = run.nvim.project.root().to_owned();
        match self {
            Self::AgentKilled => {
                procs::kill(run.agent);
                wait_dead(&run.nvim, "ended unexpectedly: killed by SIGKILL (9)");
            }
            Self::AgentFrozen => {
                procs::freeze(run.agent);
                cancel(&run.nvim);
                run.nvim.cmd("Acp stop");
                wait_dead(&run.nvim, "has ended");
            }
            Self::AgentStalls => {
                procs::freeze(run.agent);
                cancel(&run.nvim);
                procs::thaw(run.agent);
            }
            Self::OutputClosed => {
                let pid = fs::read_to_string(root.join("cat")).expect("the process has started");
                procs::kill(pid.trim().parse().expect("a number"));
                wait_dead(&run.nvim, "ended unexpectedly");
            }
            Self::NeovimKilled => run.nvim.kill(),
            Self::FileReplaced => return replace(run),
            Self::StateGone => {
                let state = root.join("state/nvim/acp.nvim");
                fs::rename(&state, root.join("state-away")).expect("the folder is there");
                if run.random.below(2) == 0 {
                    fs::write(&state, "a file").expect("it can be written");
                }
            }
            Self::OtherWriter => other_writer(run),
            Self::FewDescriptors => {
                let pid = run.nvim.pid();
                let open = fs::read_dir(format!("/proc/{pid}/fd"))
                    .expect("Neovim's")
                    .count();
                let limit = open as u64 + run.random.below(5);
                limit_files(pid, Some(limit));
                return Box::new(move |_| limit_files(pid, NO_LIMIT));
            }
            Self::DiskFull => {
                let pid = run.nvim.pid();
                limit_bytes(pid, Some(0));
                return Box::new(move |_| limit_bytes(pid, NO_LIMIT));
            }
        }
        Box::new(|_| ())
    }
}

#[track_caller]
fn cancel(nvim: &Nvim) {
    nvim.lua("require('acp').cancel()", ());
}

#[track_caller]
fn wait_dead(nvim: &Nvim, message: &str) {
    talk::wait_phase(nvim, "dead");
    talk::wait_said(nvim, message);
}

/// Appends a line to the open file, in place or by replacing it.
#[track_caller]
fn other_writer(run: &mut Run) {
    use std::io::Write;
    let path = run.nvim.project.path(OPEN);
    if run.random.below(2) == 0 {
        let file = fs::OpenOptions::new().append(true).open(path);
        writeln!(file.expect("it is there"), "{THEIRS}").expect("it can be written");
    } else {
        let beside = run.nvim.project.root().join("theirs");
        let text = fs::read_to_string(&path).expect("it is there");
        fs::write(&beside, format!("{text}{THEIRS}\n")).expect("it can be written");
        fs::rename(beside, path).expect("it is on the same file system");
    }
}

/// Takes a file or the folder of all files away, and puts something else in its place.
#[track_caller]
fn replace(run: &mut Run) -> Lift {
    let target = [OPEN, CLOSED, "src"][run.random.below(3) as usize];
    let path = run.nvim.project.path(target);
    let away = run.nvim.project.root().join("away");
    fs::rename(&path, &away).expect("it is there");
    // The agent may have written the file again already; then it is only gone for a moment.
    let _ = match run.random.below(4) {
        0 => Ok(()),
        1 if target == "src" => fs::write(&path, "a file"),
        1 => fs::create_dir(&path),
        2 => symlink(&path, &path),
        _ => Command::new("mkfifo").arg(&path).output().map(drop),
    };
    Box::new(move |_| put_back(&path, &away))
}

/// Restores the removed files, except for those that have been written anew.
fn put_back(path: &Path, away: &Path) {
    let there = fs::symlink_metadata(path).ok();
    if there.as_ref().is_some_and(fs::Metadata::is_dir) && away.is_dir() {
        for entry in fs::read_dir(away).expect("a folder").flatten() {
            put_back(&path.join(entry.file_name()), &entry.path());
        }
        return;
    }
    let is_new = there.is_some_and(|there| there.is_file());
    if away.is_dir() || !is_new {
        // There may be nothing in its place.
        let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
        fs::rename(away, path).expect("its place is free");
    }
}

#[cfg(target_os = "linux")]
fn set_limit(pid: u32, resource: rustix::process::Resource, limit: Option<u64>) {
    use rustix::process::{Pid, Rlimit, getrlimit, prlimit};
    let maximum = getrlimit(resource).maximum;
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let limit = Rlimit {
        current: limit.or(maximum),
        maximum,
    };
    prlimit(pid, resource, limit).expect("the limit can be set");
}

#[cfg(target_os = "linux")]
fn limit_files(pid: u32, limit: Option<u64>) {
    set_limit(pid, rustix::process::Resource::Nofile, limit);
}

#[cfg(target_os = "linux")]
fn limit_bytes(pid: u32, limit: Option<u64>) {
    set_limit(pid, rustix::process::Resource::Fsize, limit);
}

#[cfg(not(target_os = "linux"))]
fn limit_files(_: u32, _: Option<u64>) {}

#[cfg(not(target_os = "linux"))]
fn limit_bytes(_: u32, _: Option<u64>) {}
