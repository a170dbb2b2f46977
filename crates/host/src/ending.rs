//! The end of a process group: when it gets which signal, and who is to blame.
//!
//! Invariant: however the end of a group comes about, it goes in the same steps: SIGTERM, then
//! SIGKILL, each at its time and only if somebody of the group is left. What goes with a step (an
//! agent's stdin is closed, a terminal hangs up) is up to whose group it is.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::process::Exit;

/// How often a group without its leader is looked at while it is being ended.
const LOOK: Duration = Duration::from_millis(10);

/// How long a group may survive SIGKILL before it is left to itself (a process stuck in the
/// kernel, or a zombie whose parent does not reap it).
const GIVE_UP: Duration = Duration::from_millis(500);

/// How far the end of a group has come.
#[derive(Debug)]
pub(super) struct End {
    /// `None` as long as nobody wants it to end.
    plan: watch::Sender<Option<Plan>>,
    /// The leader got a signal from here while it lived.
    signalled: AtomicBool,
    /// What came of it, once it is over; a group that never was is gone.
    over: watch::Sender<Option<Outcome>>,
}

/// What went wrong, if that is why an agent is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blame {
    /// It does not read: this many MiB were waiting.
    Backlog(usize),
    Stdin,
    Stdout,
    Panic,
}

/// What became of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Gone,
    /// It survived even SIGKILL.
    Alive,
}

/// When a group that does not end by itself gets which signal.
#[derive(Debug, Clone, Copy)]
struct Plan {
    term: Instant,
    kill: Instant,
    blame: Option<Blame>,
}

impl End {
    pub(super) fn new() -> Self {
        Self {
            plan: watch::Sender::new(None),
            signalled: AtomicBool::new(false),
            over: watch::Sender::new(None),
        }
    }

    /// Plans SIGTERM after `term` and SIGKILL after `kill`, both from now on; of several plans the
    /// earlier times and the first blame hold.
    pub(super) fn plan(&self, term: Duration, kill: Duration, blame: Option<Blame>) {
        let now = Instant::now();
        let (term, kill) = (now + term, now + kill);
        self.plan.send_modify(|plan| match plan {
            Some(plan) => {
                plan.term = plan.term.min(term);
                plan.kill = plan.kill.min(kill);
            }
            None => *plan = Some(Plan { term, kill, blame }),
        });
    }

    /// Waits until somebody wants the group to end.
    pub(super) async fn wanted(&self) {
        // The sender is a field of this very value, so it cannot be gone.
        let _ = self.plan.subscribe().wait_for(Option::is_some).await;
    }

    /// Waits until the end is over.
    pub(super) async fn over(&self) {
        // As above.
        let _ = self.over.subscribe().wait_for(Option::is_some).await;
    }

    /// Waits until the group has survived its end; for nearly every group that is for ever.
    pub(super) async fn survived(&self) {
        let alive = |over: &Option<Outcome>| *over == Some(Outcome::Alive);
        // As above.
        let _ = self.over.subscribe().wait_for(alive).await;
    }

    /// Declares that the end is over.
    pub(super) fn finish(&self, outcome: Outcome) {
        self.over.send_replace(Some(outcome));
    }

    /// Returns an agent's exit status with what went wrong, where the status does not speak for itself.
    pub(super) fn explain(&self, status: String) -> String {
        let blame = self.plan.borrow().and_then(|plan| plan.blame);
        let signalled = self.signalled.load(Ordering::Relaxed);
        match blame.and_then(|blame| blame.words(signalled)) {
            Some(words) => format!("{status}: {words}"),
            None => status,
        }
    }

    /// Returns the steps by which a group is ended; `exited` is `Some` once its leader is reaped.
    pub(super) fn steps(&self, exited: watch::Receiver<Option<Exit>>) -> Steps<'_> {
        Steps {
            plan: self.plan.subscribe(),
            signalled: &self.signalled,
            exited,
            sent: None,
            killed: None,
        }
    }
}

/// The steps by which a group is ended, one at a time.
pub(super) struct Steps<'a> {
    plan: watch::Receiver<Option<Plan>>,
    signalled: &'a AtomicBool,
    exited: watch::Receiver<Option<Exit>>,
    sent: Option<Signal>,
    /// When SIGKILL was sent.
    killed: Option<Instant>,
}

/// What is to be done next about a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Send(Signal),
    Over(Outcome),
}

impl Steps<'_> {
    /// Waits for the next step, as planned; each signal comes once. `is_gone` says when nobody is
    /// left.
    pub(super) async fn next(&mut self, is_gone: impl Fn() -> bool) -> Step {
        loop {
            if is_gone() {
                return Step::Over(Outcome::Gone);
            }
            let now = Instant::now();
            let (due, next) = match *self.plan.borrow_and_update() {
                Some(Plan { term, .. }) if now < term => (None, term),
                Some(Plan { kill, .. }) if now < kill => (Some(Signal::TERM), kill),
                // However late it is (a process may have been slow to start), it is tried.
                _ => match *self.killed.get_or_insert(now) + GIVE_UP {
                    end if now < end => (Some(Signal::KILL), end),
                    _ => return Step::Over(Outcome::Alive),
                },
            };
            let led = self.exited.borrow().is_none();
            if due != self.sent
                && let Some(signal) = due
            {
                if led {
                    self.signalled.store(true, Ordering::Relaxed);
                }
                self.sent = due;
                return Step::Send(signal);
            }
            tokio::select! {
                () = sleep_until(next) => {}
                _ = self.plan.changed() => {}
                // The group cannot be empty before its leader has been reaped.
                _ = self.exited.changed(), if led => {}
                () = sleep(LOOK), if !led => {}
            }
        }
    }
}

impl Blame {
    /// Returns the words for the exit status. Who dies closes its pipes first, so that is no
    /// news unless it took a signal from here to end it.
    fn words(self, signalled: bool) -> Option<String> {
        match self {
            Blame::Backlog(mib) => Some(format!(
                "it did not read its input while more than {mib} MiB were waiting"
            )),
            _ if !signalled => None,
            Blame::Stdin => Some("it had closed its stdin".to_owned()),
            Blame::Stdout => Some("it had closed its stdout".to_owned()),
            Blame::Panic => Some("an internal error of this client".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_began_after_its_time_was_over_is_killed_all_the_same() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        let end = End::new();
        let past = Instant::now().checked_sub(GIVE_UP * 2).expect("a time");
        end.plan.send_replace(Some(Plan {
            term: past,
            kill: past,
            blame: None,
        }));
        let (_report, exited) = watch::channel(None);
        let steps = runtime.block_on(async {
            let mut steps = end.steps(exited);
            [steps.next(|| false).await, steps.next(|| false).await]
        });
        let killed = Step::Send(Signal::KILL);
        assert_eq!(steps, [killed, Step::Over(Outcome::Alive)]);
    }
}
