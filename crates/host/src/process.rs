//! One child process in a group of its own: started, signalled, reaped.
//!
//! A thread per child starts it and waits for that pid alone (`waitid`, `waitpid` with the pid),
//! never for "any child" and never by a SIGCHLD handler: Neovim's libuv has one, and its jobs are
//! left alone.
//!
//! Invariant: a signal only ever reaches the child's own group. As long as the child is not
//! reaped, its pid (= the group's id) cannot be given to another process. The reaping and the
//! signals exclude each other by a lock. Once the child is reaped the number stays reserved as
//! long as any member of the group lives; it could name a stranger's group only if the last
//! member had died, and the kernel had gone once through all its pids, since the group was last
//! seen alive. It is looked at every few milliseconds, and once seen empty never signalled again.
//!
//! A child that leaves the group (`setsid`, a daemon) is out of reach on purpose.

use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use tokio::sync::{oneshot, watch};

/// A child that was started, and the ways to it: pipes or a terminal.
pub(super) struct Process<W> {
    pub(super) group: Arc<Group>,
    pub(super) ways: W,
    /// How it ended, once it is reaped.
    pub(super) exited: watch::Receiver<Option<Exit>>,
}

/// Starts a child by `spawn` on a thread of its own, which then waits for its end and reaps it.
///
/// `spawn` makes the child the leader of a process group. `started` is called on that thread with
/// the new group, before anyone else knows of it. Whoever drops the receiver before the child is
/// there gets it killed.
pub(super) fn start<W: Send + 'static>(
    thread: String,
    spawn: impl FnOnce() -> io::Result<(Child, W)> + Send + 'static,
    started: impl FnOnce(&Arc<Group>) + Send + 'static,
) -> oneshot::Receiver<io::Result<Process<W>>> {
    let (sender, receiver) = oneshot::channel();
    let (report, exited) = watch::channel(None);
    let life = move || {
        let (mut child, ways) = match spawn() {
            Ok(spawned) => spawned,
            Err(error) => {
                // Nobody waits for the answer any more: nothing was started either.
                let _ = sender.send(Err(error));
                return;
            }
        };
        let group = Arc::new(Group::of(&child));
        started(&group);
        let process = Process {
            group: Arc::clone(&group),
            ways,
            exited,
        };
        if sender.send(Ok(process)).is_err() {
            group.signal(Signal::KILL);
        }
        report.send_replace(Some(group.reap(&mut child)));
    };
    // Without a thread the sender is dropped with the closure: the receiver says so.
    let _ = std::thread::Builder::new().name(thread).spawn(life);
    receiver
}

/// Held by whoever forks, together with others, or opens something that a child of ours must not
/// inherit, alone.
static FORKS: RwLock<()> = RwLock::new(());

/// Runs what forks.
pub(super) fn forking<T>(work: impl FnOnce() -> T) -> T {
    let _shared = FORKS.read().unwrap_or_else(PoisonError::into_inner);
    work()
}

/// Runs what opens something that is inherited for a moment, while nobody of us forks.
pub(super) fn alone<T>(work: impl FnOnce() -> T) -> T {
    let _alone = FORKS.write().unwrap_or_else(PoisonError::into_inner);
    work()
}

/// How a process has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Exit {
    Code(i32),
    Signal(i32),
    /// Nobody knows, and this is why.
    Unknown(String),
}

/// The process group of a child.
#[derive(Debug)]
pub(super) struct Group {
    /// The leader's pid. `None` for a pid that cannot be one; such a group is never signalled.
    id: Option<Pid>,
    pid: u32,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The leader is not reaped: the number is ours.
    Led,
    /// The leader is reaped; others may still be there.
    Leaderless,
    /// Nobody is left, and the number may be anyone's.
    Gone,
}

impl Group {
    fn of(child: &Child) -> Self {
        let pid = child.id();
        // 0 and 1 would mean "everyone": they cannot be a child's, and must not be signalled.
        let id = i32::try_from(pid).ok().filter(|&pid| pid > 1);
        Self {
            id: id.and_then(Pid::from_raw),
            pid,
            state: Mutex::new(State::Led),
        }
    }

    /// Returns the pid of the leader, which is the group's id as well.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends a signal to every member; none is left to get it: nothing happens.
    pub(super) fn signal(&self, signal: Signal) {
        let mut state = self.lock();
        if self.look(&mut state) != State::Gone
            && let Some(id) = self.id
        {
            // The group may die in this very moment (ESRCH), or hold only members that may not be
            // signalled (EPERM): there is nothing to do about either.
            let _ = rustix::process::kill_process_group(id, signal);
        }
    }

    /// Returns whether the leader is reaped and nobody else is left.
    pub(super) fn is_gone(&self) -> bool {
        self.look(&mut self.lock()) == State::Gone
    }

    /// Returns whether the leader is not reaped yet.
    pub(super) fn is_led(&self) -> bool {
        *self.lock() == State::Led
    }

    fn look(&self, state: &mut State) -> State {
        if *state == State::Leaderless
            && self.id.map(rustix::process::test_kill_process_group) != Some(Ok(()))
        {
            // ESRCH: empty. EPERM: only members that are not ours to signal.
            *state = State::Gone;
        }
        *state
    }

    /// Waits for the leader's end, reaps it, and says how it ended.
    fn reap(&self, child: &mut Child) -> Exit {
        if let Some(id) = self.id {
            // First waits without reaping, so that the lock is not held meanwhile.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(Errno::INTR) = rustix::process::waitid(WaitId::Pid(id), options) {}
        }
        let mut state = self.lock();
        let status = child.wait();
        *state = State::Leaderless;
        self.look(&mut state);
        match status {
            Ok(status) => Exit::from(status),
            // Someone else has reaped it.
            Err(error) => Exit::Unknown(error.to_string()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
    /// "exit code 3", "killed by SIGKILL (9)".
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

/// Returns the name of a signal, `SIGKILL` and the like.
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
    fn an_end_is_told_in_words() {
        check(0, "exit code 0");
        check(3 << 8, "exit code 3");
        check(9, "killed by SIGKILL (9)");
        // With the flag of a core dump.
        check(11 | 128, "killed by SIGSEGV (11)");
        check(50, "killed by signal 50");
    }
}
