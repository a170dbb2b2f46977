//! One child process that leads its own group: starting, signalling, reaping.
//!
//! One thread per child starts it and waits for that pid alone (`waitid`, `waitpid` with the pid),
//! never for "any child" and never through a SIGCHLD handler: Neovim's libuv has its own handler,
//! and its jobs must not be reaped here.
//!
//! Invariant: a signal reaches only the child's own group. Until the child is reaped, its pid
//! (which is the group's id) cannot be reused. A lock keeps reaping and signalling apart. After the
//! reaping, the id stays reserved while any member of the group lives. It could name another group
//! only if the last member died and the kernel cycled through all pids since the group was last
//! checked; the check runs every few milliseconds, and a group once seen empty is never signalled
//! again.
//!
//! A child that leaves the group (`setsid`, a daemon) is deliberately not followed.

use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use tokio::sync::{oneshot, watch};

use super::watchdog::WATCHDOG;
use acp_edge::panics::lock;

/// A running child, its group, and its pipes or terminal.
pub(super) struct Process<W> {
    pub(super) group: Arc<Group>,
    pub(super) io: W,
    /// The exit status, once the child is reaped.
    pub(super) exited: watch::Receiver<Option<Exit>>,
}

/// Starts a child with `spawn` on a new thread, which then waits for its exit and reaps it.
///
/// `spawn` must make the child the leader of a process group. `started` is called on that thread
/// with the new group before anything else can see it. If the receiver is dropped before the child
/// runs, the child is killed.
pub(super) fn start<W: Send + 'static>(
    thread: String,
    spawn: impl FnOnce() -> io::Result<(Child, W)> + Send + 'static,
    started: impl FnOnce(&Arc<Group>) + Send + 'static,
) -> oneshot::Receiver<io::Result<Process<W>>> {
    let (sender, receiver) = oneshot::channel();
    let (report, exited) = watch::channel(None);
    let life = move || {
        let (mut child, io) = match spawn() {
            Ok(spawned) => spawned,
            Err(error) => {
                // If the receiver is gone, the error can be dropped: nothing was started.
                let _ = sender.send(Err(error));
                return;
            }
        };
        let group = Arc::new(Group::of(&child));
        WATCHDOG.add(group.pid());
        started(&group);
        let process = Process {
            group: Arc::clone(&group),
            io,
            exited,
        };
        if sender.send(Ok(process)).is_err() {
            group.signal(Signal::KILL);
        }
        report.send_replace(Some(group.reap(&mut child)));
    };
    // Without a thread the closure and its sender are dropped, which closes the receiver.
    let _ = std::thread::Builder::new().name(thread).spawn(life);
    receiver
}

/// Time between two looks at a process that has closed its output.
const PAUSE: Duration = Duration::from_millis(1);

/// Waits for the end of a process, until a time.
pub(super) fn ended(child: &mut Child, until: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        match child.try_wait()? {
            None if Instant::now() < until => std::thread::sleep(PAUSE),
            ended => return Ok(ended),
        }
    }
}

/// Locked shared by code that forks, and exclusively by code that opens a descriptor which a child
/// must not inherit.
static FORKS: RwLock<()> = RwLock::new(());

/// Runs code that forks.
pub(super) fn forking<T>(work: impl FnOnce() -> T) -> T {
    let _shared = FORKS.read().unwrap_or_else(PoisonError::into_inner);
    work()
}

/// Runs code that opens a descriptor inheritable for a moment; no fork happens in between.
pub(super) fn alone<T>(work: impl FnOnce() -> T) -> T {
    let _alone = FORKS.write().unwrap_or_else(PoisonError::into_inner);
    work()
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Exit {
    Code(i32),
    Signal(i32),
    /// The status is unknown, for this reason.
    Unknown(String),
}

/// The process group of a child.
#[derive(Debug)]
pub(super) struct Group {
    /// The leader's pid. `None` for an impossible pid; such a group is never signalled.
    id: Option<Pid>,
    pid: u32,
    state: Mutex<GroupState>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GroupState {
    /// The leader is not reaped, so the id cannot be reused.
    Led,
    /// The leader is reaped; other members may be alive.
    Leaderless,
    /// The group is empty, and its id may be reused.
    Gone,
}

impl Group {
    fn of(child: &Child) -> Self {
        let pid = child.id();
        // For `kill`, 0 and 1 have special meanings; they are never a child's pid and must not be
        // signalled.
        let id = i32::try_from(pid).ok().filter(|&pid| pid > 1);
        Self {
            id: id.and_then(Pid::from_raw),
            pid,
            state: Mutex::new(GroupState::Led),
        }
    }

    /// Returns the pid of the leader, which is also the group's id.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends a signal to every member; does nothing if the group is empty.
    pub(super) fn signal(&self, signal: Signal) {
        let mut state = lock(&self.state);
        if self.look(&mut state) != GroupState::Gone
            && let Some(id) = self.id
        {
            // The group may have died just now (ESRCH) or consist of members we may not signal
            // (EPERM); neither can be helped.
            let _ = rustix::process::kill_process_group(id, signal);
        }
    }

    /// Returns whether the leader is reaped and the group is empty.
    pub(super) fn is_gone(&self) -> bool {
        self.look(&mut lock(&self.state)) == GroupState::Gone
    }

    /// Returns whether the leader has not been reaped yet.
    pub(super) fn is_led(&self) -> bool {
        *lock(&self.state) == GroupState::Led
    }

    fn look(&self, state: &mut GroupState) -> GroupState {
        // ESRCH: empty. EPERM: only members we may not signal. While it has members, no other process
        // gets its leader's id.
        let is_gone = |id: Pid| {
            rustix::process::test_kill_process_group(id) != Ok(())
                || rustix::process::test_kill_process(id) != Err(Errno::SRCH)
        };
        if *state == GroupState::Leaderless && self.id.is_none_or(is_gone) {
            *state = GroupState::Gone;
            WATCHDOG.remove(self.pid);
        }
        *state
    }

    /// Waits for the leader's exit, reaps it, and returns its status.
    fn reap(&self, child: &mut Child) -> Exit {
        if let Some(id) = self.id {
            // First waits without reaping, so that the lock is not held during the wait.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(Errno::INTR) = rustix::process::waitid(WaitId::Pid(id), options) {}
        }
        let mut state = lock(&self.state);
        let status = child.wait();
        *state = GroupState::Leaderless;
        self.look(&mut state);
        match status {
            Ok(status) => Exit::from(status),
            // Another part of the process has reaped it.
            Err(error) => Exit::Unknown(error.to_string()),
        }
    }
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, Some(signal)) => Exit::Signal(signal),
            (None, None) => Exit::Unknown(status.to_string()),
        }
    }
}

impl fmt::Display for Exit {
    /// Writes "exit code 3" or "killed by SIGKILL (9)".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "exit code {code}"),
            Exit::Signal(signal) => match signal_name(*signal) {
                Some(name) => write!(f, "killed by {name} ({signal})"),
                None => write!(f, "killed by signal {signal}"),
            },
            Exit::Unknown(why) => write!(f, "exit status unknown ({why})"),
        }
    }
}

/// Returns the name of a signal, such as `SIGKILL`.
pub(super) fn signal_name(signal: i32) -> Option<&'static str> {
    let names = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
        (Signal::SYS, "SIGSYS"),
    ];
    names
        .iter()
        .find(|(known, _)| known.as_raw() == signal)
        .map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(raw: i32, expected: &str) {
        assert_eq!(Exit::from(ExitStatus::from_raw(raw)).to_string(), expected);
    }

    #[test]
    fn an_exit_status_is_described_in_words() {
        check(0, "exit code 0");
        check(3 << 8, "exit code 3");
        check(9, "killed by SIGKILL (9)");
        // With the core dump flag.
        check(11 | 128, "killed by SIGSEGV (11)");
        check(50, "killed by signal 50");
    }
}
