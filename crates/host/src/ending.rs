//! Ends a process group: which signal it gets, when, and why.
//!
//! Invariant: every group ends by the same steps: SIGTERM, then SIGKILL, each at its time and only
//! while a member is left. If the first one is late, as on a busy machine, so is the second one. The
//! owner adds what belongs to a step (an agent's stdin is closed, a terminal hangs up).

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::process::Exit;

/// Polling interval for a group whose leader has been reaped.
const LOOK: Duration = Duration::from_millis(10);

/// Time from SIGKILL, or from the end of its leader if that is later, until a group is abandoned (a
/// process stuck in the kernel, or a zombie whose parent does not reap it).
const GIVE_UP: Duration = Duration::from_millis(500);

/// Time from SIGKILL until a leader counts as stuck in the kernel. We reap it ourselves, and on a
/// busy machine it has to wait for a processor to die.
const STUCK: Duration = Duration::from_secs(5);

/// Progress of ending a group.
#[derive(Debug)]
pub(super) struct End {
    /// `None` until the group is to end.
    plan: watch::Sender<Option<Plan>>,
    /// Set when a signal from here reached a living leader.
    signalled: AtomicBool,
    /// The outcome, once the group has ended or was abandoned; `Gone` also for a group that never
    /// started.
    over: watch::Sender<Option<Outcome>>,
}

/// The failure for which an agent is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blame {
    /// It does not read: this many MiB were queued for it.
    Backlog(usize),
    Stdin,
    Stdout,
    Panic,
}

/// How ending a group turned out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Gone,
    /// Members survived SIGKILL.
    Alive,
}

/// The times at which a group gets its signals.
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

    /// Schedules SIGTERM after `term` and SIGKILL after `kill`, both from now. Of several calls,
    /// the earlier times and the first blame win.
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

    /// Waits until the group is to end.
    pub(super) async fn wanted(&self) {
        // The sender is a field of `self`, so it cannot be gone.
        let _ = self.plan.subscribe().wait_for(Option::is_some).await;
    }

    /// Waits until the group has ended or was abandoned.
    pub(super) async fn over(&self) {
        // The sender is a field of `self`, so it cannot be gone.
        let _ = self.over.subscribe().wait_for(Option::is_some).await;
    }

    /// Waits until the group has survived SIGKILL, which nearly always means forever.
    pub(super) async fn survived(&self) {
        let alive = |over: &Option<Outcome>| *over == Some(Outcome::Alive);
        // The sender is a field of `self`, so it cannot be gone.
        let _ = self.over.subscribe().wait_for(alive).await;
    }

    /// Records the outcome.
    pub(super) fn finish(&self, outcome: Outcome) {
        self.over.send_replace(Some(outcome));
    }

    /// Returns an agent's exit status, extended by the failure if the status alone does not explain
    /// it.
    pub(super) fn explain(&self, status: String) -> String {
        let blame = self.plan.borrow().and_then(|plan| plan.blame);
        let signalled = self.signalled.load(Ordering::Relaxed);
        match blame.and_then(|blame| blame.words(signalled)) {
            Some(words) => format!("{status}: {words}"),
            None => status,
        }
    }

    /// Returns the steps that end a group; `exited` is `Some` once its leader is reaped.
    pub(super) fn steps(&self, exited: watch::Receiver<Option<Exit>>) -> EndSteps<'_> {
        EndSteps {
            plan: self.plan.subscribe(),
            signalled: &self.signalled,
            exited,
            sent: None,
            termed: None,
            killed: None,
            reaped: None,
        }
    }
}

/// The steps that end a group, one at a time.
pub(super) struct EndSteps<'a> {
    plan: watch::Receiver<Option<Plan>>,
    signalled: &'a AtomicBool,
    exited: watch::Receiver<Option<Exit>>,
    sent: Option<Signal>,
    /// When SIGTERM was sent.
    termed: Option<Instant>,
    /// When SIGKILL was sent.
    killed: Option<Instant>,
    /// When the leader was seen to be reaped.
    reaped: Option<Instant>,
}

/// The next thing to do to a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndStep {
    Send(Signal),
    Over(Outcome),
}

impl Plan {
    /// Returns when to send SIGKILL if SIGTERM was sent at `termed`.
    fn kill_at(self, termed: Instant) -> Instant {
        let between = self.kill.saturating_duration_since(self.term);
        self.kill.max(termed + between)
    }
}

impl EndSteps<'_> {
    /// Waits for the next planned step; each signal is returned once. `is_gone` says whether the
    /// group is empty.
    pub(super) async fn next(&mut self, is_gone: impl Fn() -> bool) -> EndStep {
        loop {
            if is_gone() {
                return EndStep::Over(Outcome::Gone);
            }
            let led = self.exited.borrow().is_none();
            let Some((due, next)) = self.due(Instant::now(), led) else {
                return EndStep::Over(Outcome::Alive);
            };
            if due != self.sent
                && let Some(signal) = due
            {
                if led {
                    self.signalled.store(true, Ordering::Relaxed);
                }
                self.sent = due;
                return EndStep::Send(signal);
            }
            tokio::select! {
                () = sleep_until(next) => {}
                _ = self.plan.changed() => {}
                // The group cannot be empty before its leader is reaped.
                _ = self.exited.changed(), if led => {}
                () = sleep(LOOK), if !led => {}
            }
        }
    }

    /// Returns the signal that is due at a time, if any, and until when; `None` if the group is
    /// abandoned. `led` says whether its leader is not reaped yet.
    fn due(&mut self, now: Instant, led: bool) -> Option<(Option<Signal>, Instant)> {
        if !led {
            self.reaped.get_or_insert(now);
        }
        let plan = *self.plan.borrow_and_update();
        let kill = plan.map(|plan| plan.kill_at(self.termed.unwrap_or(now)));
        match (plan, kill) {
            (Some(Plan { term, .. }), _) if now < term => Some((None, term)),
            (_, Some(kill)) if now < kill => {
                self.termed.get_or_insert(now);
                Some((Some(Signal::TERM), kill))
            }
            _ => {
                let killed = *self.killed.get_or_insert(now);
                let end = match self.reaped {
                    None => killed + STUCK,
                    Some(reaped) => killed.max(reaped) + GIVE_UP,
                };
                (now < end).then_some((Some(Signal::KILL), end))
            }
        }
    }
}

impl Blame {
    /// Returns the words to add to the exit status. A dying process closes its pipes first, so a
    /// closed pipe explains the exit only if a signal from here ended the process.
    fn words(self, signalled: bool) -> Option<String> {
        match self {
            Blame::Backlog(mib) => Some(format!(
                "it did not read its input; more than {mib} MiB were pending"
            )),
            _ if !signalled => None,
            Blame::Stdin => Some("it had closed its stdin".to_owned()),
            Blame::Stdout => Some("it had closed its stdout".to_owned()),
            Blame::Panic => Some("an internal error in acp.nvim".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the first steps of a group that never ends and begins to end late: SIGTERM was due a
    /// minute ago, and SIGKILL this long after it.
    fn late<const N: usize>(between: Duration, exit: Option<Exit>) -> [EndStep; N] {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime");
        let end = End::new();
        let minute = Duration::from_secs(60);
        let term = Instant::now().checked_sub(minute).expect("a time");
        end.plan.send_replace(Some(Plan {
            term,
            kill: term + between,
            blame: None,
        }));
        let (_report, exited) = watch::channel(exit);
        runtime.block_on(async {
            let mut steps = end.steps(exited);
            let mut found = [EndStep::Over(Outcome::Gone); N];
            for step in &mut found {
                *step = steps.next(|| false).await;
            }
            found
        })
    }

    const TERM: EndStep = EndStep::Send(Signal::TERM);
    const KILL: EndStep = EndStep::Send(Signal::KILL);

    #[test]
    fn a_group_that_starts_after_its_deadline_is_still_killed() {
        assert_eq!(late(Duration::ZERO, None), [KILL]);
        let over = EndStep::Over(Outcome::Alive);
        assert_eq!(late(Duration::ZERO, Some(Exit::Code(0))), [KILL, over]);
    }

    #[test]
    fn a_leader_that_dies_late_is_waited_for_and_then_its_group() {
        let end = End::new();
        end.plan(Duration::ZERO, Duration::ZERO, None);
        let (_report, exited) = watch::channel(None);
        let mut steps = end.steps(exited);
        let killed = Instant::now();
        let kill_until = |end| Some((Some(Signal::KILL), end));
        assert_eq!(steps.due(killed, true), kill_until(killed + STUCK));
        let later = killed + GIVE_UP + LOOK;
        assert_eq!(steps.due(later, true), kill_until(killed + STUCK));
        let reaped = killed + GIVE_UP * 2;
        assert_eq!(steps.due(reaped, false), kill_until(reaped + GIVE_UP));
        assert_eq!(steps.due(reaped + GIVE_UP, false), None);
    }

    #[test]
    fn a_late_end_leaves_time_between_the_signals() {
        let (begun, between) = (Instant::now(), Duration::from_millis(50));
        assert_eq!(late(between, None), [TERM, KILL]);
        assert!(begun.elapsed() >= between);
    }
}
