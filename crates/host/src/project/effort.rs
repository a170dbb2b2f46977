//! What a look has cost, and the rest that it earns.
//!
//! Invariant: on a busy machine a look mostly waits for its turn, and that wait does not count as
//! work.

use std::cell::Cell;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Rest after a look, as a multiple of its CPU time: unsolicited looks use at most a tenth of one
/// CPU in the long run.
const REST: u32 = 9;

/// The cost of a look.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    /// The CPU time that it used.
    pub(super) cpu: Duration,
    /// The duration of the work.
    pub(super) took: Duration,
}

impl Effort {
    /// Returns the time until the next unsolicited look; a slow disk is used half of the time.
    pub(super) fn rest(self) -> Duration {
        (self.cpu * REST).max(self.took)
    }
}

thread_local! {
    /// The CPU time of the threads that have helped this one.
    static HELPERS: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Does work, and returns the CPU time that it used, in threads that helped it too.
pub(super) fn cpu_time_of<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = of_this_thread();
    let done = work();
    (done, of_this_thread().saturating_sub(begun))
}

/// Counts the CPU time of a thread that has helped this one.
pub(super) fn helped(cpu: Duration) {
    HELPERS.set(HELPERS.get() + cpu);
}

/// Returns the CPU time of this thread and of those that have helped it.
fn of_this_thread() -> Duration {
    let own = Duration::try_from(clock_gettime(ClockId::ThreadCPUTime));
    own.unwrap_or_default() + HELPERS.get()
}

#[cfg(test)]
mod tests {
    use super::super::reading::in_parallel;
    use super::*;

    const LONG: Duration = Duration::from_millis(50);

    fn compute() {
        let begun = of_this_thread();
        while of_this_thread() < begun + LONG {}
    }

    #[test]
    fn waiting_is_no_cpu_time() {
        let sleep = |_: &()| std::thread::sleep(LONG);
        let ((), cpu) = cpu_time_of(|| sleep(&()));
        assert!(cpu < LONG / 2, "{cpu:?}");
        let (_, cpu) = cpu_time_of(|| in_parallel(&[(); 8], &sleep));
        assert!(cpu < LONG * 4, "{cpu:?}");
    }

    #[test]
    fn the_work_of_helping_threads_counts() {
        let (_, cpu) = cpu_time_of(|| in_parallel(&[(); 4], &|()| compute()));
        assert!(cpu >= LONG * 4, "{cpu:?}");
        let ((), cpu) = cpu_time_of(compute);
        assert!(cpu >= LONG, "{cpu:?}");
        assert!(cpu < LONG * 4, "earlier help counts once: {cpu:?}");
    }

    #[test]
    fn a_look_that_waited_is_followed_by_a_short_rest() {
        let second = Duration::from_secs(1);
        let effort = |cpu, took| Effort { cpu, took };
        assert_eq!(effort(second, second).rest(), second * 9);
        assert_eq!(effort(second / 10, second * 3).rest(), second * 3);
    }
}
