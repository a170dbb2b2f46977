//! When a file is still: whoever has written to it is done, as far as anybody can tell.
//!
//! A file that is emptied and written anew, or written in parts, is half a file in between, and
//! half a file is no news: merged into a buffer it would delete lines and bring them back twice.
//! So nothing is read for good that was written to this very moment, or that a writer has open.
//!
//! Invariants: a file that nobody has just written to is not waited for. Waiting is bounded: a
//! file that is written to without end is read as it is.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use acp_core::spine::event::Stamp;

/// How long is waited for files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stillness {
    /// How long ago a file was written to last before it counts as whole.
    pub after: Duration,
    /// How long is waited for that at most.
    pub patience: Duration,
}

impl Default for Stillness {
    fn default() -> Self {
        Self {
            after: Duration::from_millis(30),
            patience: Duration::from_secs(1),
        }
    }
}

impl Stillness {
    /// Returns how long a file that was written to last at `modified` has to be waited for; `None`
    /// when it is still.
    ///
    /// A time that is yet to come says nothing: somebody has set it, or another machine's clock.
    fn wait(self, modified: (i64, i64)) -> Option<Duration> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let seconds = u64::try_from(modified.0).ok()?;
        let then = Duration::new(seconds, u32::try_from(modified.1).ok()?);
        let age = match now.checked_sub(then) {
            Some(age) => age,
            None if then - now < self.after => Duration::ZERO,
            None => return None,
        };
        self.after.checked_sub(age).filter(|left| !left.is_zero())
    }
}

/// A file that somebody is at writing.
#[derive(Debug, Clone, Copy)]
struct Open {
    since: Instant,
    is_written: bool,
}

/// The files whose writers, or whose writing by this client, are remembered.
const REMEMBERED: usize = 256;

/// What is known of files' writers.
#[derive(Debug, Default)]
pub(super) struct Writers {
    stillness: Stillness,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Files that were made or written to, and not closed since.
    open: HashMap<PathBuf, Open>,
    /// Files that were waited for in vain, and when that ended.
    endless: HashMap<PathBuf, Instant>,
    /// Files that this client has written, each in one step.
    whole: Vec<(Stamp, Instant)>,
}

impl Writers {
    pub(super) fn new(stillness: Stillness) -> Self {
        Self {
            stillness,
            state: Mutex::default(),
        }
    }

    pub(super) fn stillness(&self) -> Stillness {
        self.stillness
    }

    /// Takes note that somebody has made a file, and may be about to write it.
    pub(super) fn makes(&self, path: &Path) {
        self.opens(path);
    }

    /// Takes note that somebody writes to a file, and will be [`Self::done`].
    pub(super) fn writes(&self, path: &Path) {
        self.opens(path);
        if let Some(open) = self.lock().open.get_mut(path) {
            open.is_written = true;
        }
    }

    fn opens(&self, path: &Path) {
        // Elsewhere nobody says when a writer is done.
        if !cfg!(target_os = "linux") {
            return;
        }
        let mut state = self.lock();
        if state.open.len() >= REMEMBERED {
            state
                .open
                .retain(|_, it| it.since.elapsed() < self.stillness.patience);
        }
        if state.open.len() < REMEMBERED && !state.open.contains_key(path) {
            let open = Open {
                since: Instant::now(),
                is_written: false,
            };
            state.open.insert(path.to_owned(), open);
        }
    }

    pub(super) fn done(&self, path: &Path) {
        self.lock().open.remove(path);
    }

    /// Returns whether somebody is at writing a file of this size, and has not been for too long.
    ///
    /// One that was made and has a content may be a second name of another file.
    pub(super) fn is_open(&self, path: &Path, bytes: u64) -> bool {
        let state = self.lock();
        let open = state.open.get(path);
        open.is_some_and(|it| {
            it.since.elapsed() < self.stillness.patience && (it.is_written || bytes == 0)
        })
    }

    /// Takes note of a file that is there as a whole, although it is new.
    pub(super) fn is_written(&self, stamp: Stamp) {
        let mut state = self.lock();
        state
            .whole
            .retain(|(_, since)| since.elapsed() < self.stillness.after);
        if state.whole.len() < REMEMBERED {
            state.whole.push((stamp, Instant::now()));
        }
    }

    /// Takes note that a file was waited for in vain.
    pub(super) fn give_up(&self, path: &Path) {
        let mut state = self.lock();
        let patience = self.stillness.patience;
        state.endless.retain(|_, since| since.elapsed() < patience);
        if state.endless.len() < REMEMBERED {
            state.endless.insert(path.to_owned(), Instant::now());
        }
    }

    /// Returns whether a file was just waited for in vain: it is of no use to do so again.
    pub(super) fn is_endless(&self, path: &Path) -> bool {
        let state = self.lock();
        let since = state.endless.get(path);
        since.is_some_and(|since| since.elapsed() < self.stillness.patience)
    }

    /// Returns how long a file has to be waited for; `None` when it is still.
    pub(super) fn wait(&self, path: &Path, stamp: &Stamp) -> Option<Duration> {
        if self.is_open(path, stamp.bytes) {
            return Some(self.stillness.after);
        }
        let wait = self.stillness.wait(stamp.modified)?;
        let state = self.lock();
        let is_whole = state.whole.iter().any(|(whole, _)| whole == stamp);
        (!is_whole).then_some(wait)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Says whether a file that was written to this many milliseconds ago is waited for.
    #[track_caller]
    fn check(age_ms: i64, waits: bool) {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("a time");
        let then = i64::try_from(now.as_nanos()).expect("a time") - age_ms * 1_000_000;
        let modified = (
            then.div_euclid(1_000_000_000),
            then.rem_euclid(1_000_000_000),
        );
        let stillness = Stillness::default();
        let wait = stillness.wait(modified);
        assert_eq!(wait.is_some(), waits, "{age_ms} ms: {wait:?}");
        assert!(wait.is_none_or(|wait| wait <= stillness.after));
    }

    #[test]
    fn only_files_that_were_just_written_to_are_waited_for() {
        check(30, false);
        check(100, false);
        check(1_000_000_000, false);
        // It is a moment later by the time it is asked.
        check(-10, true);
        // A time that somebody has set.
        check(-100, false);
        check(-1_000_000_000, false);
    }

    #[test]
    fn files_from_before_the_epoch_are_still() {
        assert_eq!(Stillness::default().wait((-5, 0)), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_with_a_writer_is_waited_for_and_one_of_ours_is_not() {
        let writers = Writers::default();
        let path = Path::new("/p/a");
        let old = Stamp {
            inode: 1,
            bytes: 1,
            modified: (1, 0),
        };
        assert_eq!(writers.wait(path, &old), None);
        writers.writes(path);
        assert!(writers.wait(path, &old).is_some());
        assert_eq!(writers.wait(Path::new("/p/b"), &old), None);
        writers.done(path);
        assert_eq!(writers.wait(path, &old), None);
        writers.makes(path);
        assert_eq!(writers.wait(path, &old), None);
        assert!(writers.wait(path, &Stamp { bytes: 0, ..old }).is_some());
        let ahead = SystemTime::now() + Duration::from_millis(20);
        let ahead = ahead.duration_since(UNIX_EPOCH).expect("a time");
        let seconds = i64::try_from(ahead.as_secs()).expect("a time");
        let new = Stamp {
            modified: (seconds, i64::from(ahead.subsec_nanos())),
            ..old
        };
        assert!(writers.wait(path, &new).is_some());
        writers.is_written(new);
        assert_eq!(writers.wait(path, &new), None);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let writers = Writers::default();
        for n in 0..10_000 {
            writers.writes(Path::new(&format!("/p/{n}")));
        }
        assert!(writers.lock().open.len() <= REMEMBERED);
    }
}
