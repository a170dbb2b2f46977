//! Ends the child processes of this process after its death, also by SIGKILL.
//!
//! A shell script reads the process groups from a pipe that only this process holds open. At the
//! pipe's end it sends SIGTERM to the groups that are left after 300 ms, and SIGKILL to those left a
//! second later. On Linux it does so to the jobs of a terminal as well: processes of its session in
//! other groups; and a group whose id another process has got is left alone.
//! After a normal end none is left.
//!
//! A script, not a program: it needs no file beside the library, and `/bin/sh` is everywhere.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;

use super::process::forking;
use acp_edge::panics::lock;

const SCRIPT: &str = include_str!("watchdog.sh");

/// The watchdog of this process.
pub(super) static WATCHDOG: Watchdog = Watchdog::new();

/// The running script and the groups it knows.
#[derive(Debug)]
pub(super) struct Watchdog {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// With the start times of their leaders.
    groups: BTreeMap<u32, String>,
    script: Option<(Child, ChildStdin)>,
}

impl Watchdog {
    const fn new() -> Self {
        Self {
            state: Mutex::new(State {
                groups: BTreeMap::new(),
                script: None,
            }),
        }
    }

    /// Records a group that must end with this process; its leader has not been reaped.
    pub(super) fn add(&self, group: u32) {
        self.add_born(group, born(group).unwrap_or_else(|| "-".to_owned()));
    }

    fn add_born(&self, group: u32, born: String) {
        self.with(|state| {
            state.groups.insert(group, born);
            // Without a script the groups end only when this process ends them.
            let _ = state.add(group).or_else(|_| state.start());
        });
    }

    /// Forgets a group that is empty: its id may be reused.
    pub(super) fn remove(&self, group: u32) {
        self.with(|state| {
            if state.groups.remove(&group).is_some() {
                // A script that is gone signals nothing.
                let _ = state.tell(&format!("drop {group}"));
            }
            if state.groups.is_empty() {
                state.stop();
            }
        });
    }

    fn with(&self, work: impl FnOnce(&mut State)) {
        work(&mut lock(&self.state));
    }
}

impl State {
    fn add(&mut self, group: u32) -> io::Result<()> {
        let born = self.groups.get(&group).map_or("-", String::as_str);
        self.tell(&format!("add {group} {born}"))
    }

    fn tell(&mut self, line: &str) -> io::Result<()> {
        let (script, stdin) = self.script.as_mut().ok_or(io::ErrorKind::NotFound)?;
        if script.try_wait()?.is_some() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        stdin.write_all(format!("{line}\n").as_bytes())
    }

    /// Starts the script anew and tells it all groups.
    fn start(&mut self) -> io::Result<()> {
        self.stop();
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", SCRIPT, "acp-watchdog"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .current_dir("/")
            .process_group(0);
        let mut script = forking(|| command.spawn())?;
        self.script = script.stdin.take().map(|stdin| (script, stdin));
        let groups: Vec<u32> = self.groups.keys().copied().collect();
        groups.into_iter().try_for_each(|group| self.add(group))?;
        Ok(())
    }

    fn stop(&mut self) {
        // Killed while its pipe is open, it ends nothing.
        if let Some((mut script, _stdin)) = self.script.take() {
            // An error means that it has been reaped.
            let _ = script.kill().and_then(|()| script.wait());
        }
    }
}

/// Returns the start time of a process, where the system lists it as
/// "pid (name) state parent group session …", with that time as the 22nd.
fn born(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::process::ExitStatusExt;
    use std::time::{Duration, Instant};

    use super::*;

    /// Starts a shell script and returns it once it has printed a line, with that line.
    fn started(command: &mut Command) -> (Child, String) {
        let mut child = forking(|| command.stdout(Stdio::piped()).spawn()).expect("a child");
        let mut line = Vec::new();
        let mut stdout = child.stdout.take().expect("a pipe");
        let mut byte = [0];
        while stdout.read_exact(&mut byte).is_ok() && byte != *b"\n" {
            line.extend(byte);
        }
        (child, String::from_utf8(line).expect("text"))
    }

    /// Starts a process that ignores SIGTERM and the end of its input, in a new group.
    fn stubborn() -> Child {
        let mut shell = Command::new("sh");
        let script = "trap '' TERM HUP; echo ready; while :; do sleep 0.05; done";
        started(shell.args(["-c", script]).process_group(0)).0
    }

    /// Closes the pipe, as the end of this process would.
    fn bark(watchdog: &Watchdog) {
        watchdog.with(|state| {
            let (mut script, stdin) = state.script.take().expect("it runs");
            drop(stdin);
            script.wait().expect("it ends");
        });
    }

    #[test]
    fn groups_end_when_the_pipe_is_closed_and_removed_ones_do_not() {
        let watchdog = Watchdog::new();
        let (mut first, mut removed, mut last) = (stubborn(), stubborn(), stubborn());
        for child in [&first, &removed, &last] {
            watchdog.add(child.id());
        }
        watchdog.remove(removed.id());
        bark(&watchdog);
        assert_eq!(first.wait().expect("it ends").signal(), Some(9));
        assert_eq!(last.wait().expect("it ends").signal(), Some(9));
        assert_eq!(removed.try_wait().expect("a state"), None);
        removed.kill().expect("it runs");
        removed.wait().expect("it ends");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_that_has_got_the_id_of_a_group_is_left_alone() {
        let watchdog = Watchdog::new();
        let (mut own, mut others) = (stubborn(), stubborn());
        watchdog.add(own.id());
        watchdog.add_born(others.id(), "1".to_owned());
        bark(&watchdog);
        assert_eq!(own.wait().expect("it ends").signal(), Some(9));
        assert_eq!(others.try_wait().expect("a state"), None);
        others.kill().expect("it runs");
        others.wait().expect("it ends");
    }

    #[test]
    fn a_watchdog_that_was_killed_is_replaced_and_knows_all_groups() {
        let watchdog = Watchdog::new();
        let (mut first, mut second) = (stubborn(), stubborn());
        watchdog.add(first.id());
        watchdog.with(|state| {
            let (script, _) = state.script.as_mut().expect("it runs");
            script.kill().expect("it runs");
            script.wait().expect("it ends");
        });
        watchdog.add(second.id());
        bark(&watchdog);
        assert_eq!(first.wait().expect("it ends").signal(), Some(9));
        assert_eq!(second.wait().expect("it ends").signal(), Some(9));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn jobs_of_a_session_end_too() {
        let watchdog = Watchdog::new();
        let mut shell = Command::new("setsid");
        let script = "set -m; (trap '' TERM; while :; do sleep 0.05; done) & echo $!; wait";
        // Not every `sh` controls jobs without a terminal.
        let (mut shell, job) = started(shell.args(["bash", "-c", script]));
        let job = format!("/proc/{job}/stat");
        watchdog.add(shell.id());
        bark(&watchdog);
        shell.wait().expect("it ends");
        // A signal takes effect a moment later; its new parent reaps it.
        let is_alive = || {
            let state = std::fs::read_to_string(&job).unwrap_or_default();
            !state.is_empty() && !state.contains(") Z ")
        };
        let end = Instant::now() + Duration::from_secs(30);
        while is_alive() {
            assert!(Instant::now() < end, "the job lives on");
            std::thread::yield_now();
        }
    }
}
