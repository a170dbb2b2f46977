//! Processes as the system reports them: their parents, whether they live, and the test they belong
//! to.
//!
//! A zombie is not alive, but it is still its parent's child, so that tests of reaping can see it.

use rustix::process::{Pid, Signal, kill_process};

/// The environment variable that identifies the processes of one test.
pub const MARK: &str = "ACP_TEST_MARK";

/// A process at the moment it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    /// Ended, but not reaped by its parent.
    pub zombie: bool,
    /// The command line; empty for a zombie.
    pub command: String,
}

/// Returns the children of `pid`, zombies included.
pub fn children_of(pid: u32) -> Vec<Process> {
    let mut all = system::all();
    all.retain(|process| process.parent == pid);
    all
}

/// Returns whether the process `pid` runs.
pub fn alive(pid: u32) -> bool {
    system::all()
        .iter()
        .any(|process| process.pid == pid && !process.zombie)
}

/// Returns the living processes whose environment carries `mark`, however they are related.
pub fn marked(mark: &str) -> Vec<Process> {
    let assignment = format!("{MARK}={mark}");
    let mut all = system::all();
    all.retain(|process| !process.zombie && system::has_variable(process.pid, &assignment));
    all
}

/// Describes the threads of the process `pid`, where `ps` can: their states, and what each waits for
/// in the kernel.
pub fn threads_of(pid: u32) -> String {
    let columns = "lwp,stat,wchan:32,time,comm";
    let ps = std::process::Command::new("ps")
        .args(["-L", "-o", columns, "-p", &pid.to_string()])
        .output();
    ps.map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
        .unwrap_or_default()
}

/// Kills the process `pid`.
pub fn kill(pid: u32) {
    send(pid, Signal::KILL);
}

/// Stops the process `pid`, which then does nothing until [`thaw`].
pub fn freeze(pid: u32) {
    send(pid, Signal::STOP);
}

pub fn thaw(pid: u32) {
    send(pid, Signal::CONT);
}

fn send(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        // The process may have ended by itself.
        let _ = kill_process(pid, signal);
    }
}

#[cfg(target_os = "linux")]
mod system {
    use super::Process;

    pub fn all() -> Vec<Process> {
        let entries = std::fs::read_dir("/proc").expect("Linux has /proc");
        entries
            .filter_map(|entry| read(entry.ok()?.file_name().to_str()?.parse().ok()?))
            .collect()
    }

    pub fn has_variable(pid: u32, assignment: &str) -> bool {
        // Unreadable processes belong to other users, not to the test.
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment
            .split(|&byte| byte == 0)
            .any(|variable| variable == assignment.as_bytes())
    }

    /// Returns the process, or `None` if it has ended.
    fn read(pid: u32) -> Option<Process> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // "pid (name) state parent ...", where the name may contain any character.
        let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        Some(Process {
            pid,
            parent,
            zombie: state == "Z",
            command: command.trim_end().to_owned(),
        })
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::process::Command;

    use super::Process;

    pub fn all() -> Vec<Process> {
        let text = ps(&["-A", "-o", "pid=,ppid=,stat=,command="]);
        text.lines().filter_map(parse).collect()
    }

    pub fn has_variable(pid: u32, assignment: &str) -> bool {
        // `e` appends the environment to the command.
        let text = ps(&["eww", "-o", "command=", "-p", &pid.to_string()]);
        text.split_whitespace().any(|word| word == assignment)
    }

    fn ps(args: &[&str]) -> String {
        let output = Command::new("ps").args(args).output().expect("`ps` runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn parse(line: &str) -> Option<Process> {
        let mut words = line.split_whitespace();
        Some(Process {
            pid: words.next()?.parse().ok()?,
            parent: words.next()?.parse().ok()?,
            zombie: words.next()?.starts_with('Z'),
            command: words.collect::<Vec<_>>().join(" "),
        })
    }
}
