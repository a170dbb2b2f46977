//! Decides when a file is quiescent: as far as can be observed, its writer has finished.
//!
//! A file that is truncated and rewritten, or written in parts, is incomplete in between. An
//! incomplete file must not be merged: it would delete lines from the buffer and bring them back
//! twice. So a file that was modified just now, or that a writer has open, is not read yet.
//!
//! Invariants: only recently written files are waited for. The wait is bounded: a file that is
//! written to without end is read as it is. (A file that its writer has shortened is incomplete, and
//! is not reported before it is closed; see `project::postponed`.)

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use acp_core::spine::event::{SaveStep, Stamp};
use acp_edge::panics::lock;

use crate::cookie::Cookie;
use crate::open_files::OpenFiles;

/// The delays of waiting for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quiescence {
    /// Time since the last write after which a file counts as complete.
    pub after: Duration,
    /// Maximum time to wait for that.
    pub patience: Duration,
}

impl Default for Quiescence {
    fn default() -> Self {
        Self {
            after: Duration::from_millis(30),
            patience: Duration::from_secs(1),
        }
    }
}

impl Quiescence {
    /// Returns the time for which an exhausted system is asked again; afterwards, missing data counts
    /// as unreadable.
    pub(super) fn exhausted(self) -> Duration {
        self.patience * 5
    }

    /// Returns the longest wait for a save of Neovim's, with its hooks, if its end is not noted
    /// before.
    fn saving(self) -> Duration {
        self.patience * 60
    }

    /// Returns the time left to wait for a file last modified at `modified`; `None` if it is
    /// quiescent.
    ///
    /// A modification time in the future is ignored: a program set it, or another machine's clock
    /// is ahead.
    fn wait(self, modified: (i64, i64)) -> Option<Duration> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        self.wait_at(now, modified)
    }

    /// Like [`Quiescence::wait`], at this time since the epoch.
    fn wait_at(self, now: Duration, modified: (i64, i64)) -> Option<Duration> {
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

/// A file that a program has created or is writing.
#[derive(Debug, Clone, Copy)]
struct Open {
    since: Instant,
    is_written: bool,
}

/// A write of Neovim's to a file, with its hooks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Saving {
    /// Until when it is waited for. The end of a save that fails is noted late while Neovim waits
    /// for a key.
    pub(super) until: Instant,
    /// Lines are written there, and no buffer is saved.
    pub(super) is_of_lines: bool,
}

/// Capacity of each of the maps and lists below.
const REMEMBERED: usize = 256;

/// Maximum time that a save waits for a file's writer.
const CLOSING: Duration = Duration::from_millis(200);

/// Pause before a save asks again.
const PAUSE: Duration = Duration::from_millis(10);

/// Tracks which files are being written.
#[derive(Debug, Default)]
pub(super) struct Writers {
    quiescence: Quiescence,
    tracked: Mutex<Tracked>,
    /// One for each watcher that reports writers.
    cookies: Mutex<Vec<Weak<Cookie>>>,
}

#[derive(Debug, Default)]
struct Tracked {
    /// Files that were created or written to, and not closed since.
    open: HashMap<PathBuf, Open>,
    /// Files whose wait timed out, and when.
    timed_out: HashMap<PathBuf, Instant>,
    /// Files that this client or Neovim has written to their end.
    own_writes: Vec<(Stamp, Instant)>,
    /// Files that Neovim is writing.
    saving: HashMap<PathBuf, Saving>,
}

impl Tracked {
    /// Returns for how long a program has been writing a file of this size.
    ///
    /// A created file that already has content may be a hard link to another file, so it does not
    /// count.
    fn open_for(&self, path: &Path, bytes: u64) -> Option<Duration> {
        let open = self.open.get(path);
        let open = open.filter(|it| it.is_written || bytes == 0)?;
        Some(open.since.elapsed())
    }
}

impl Writers {
    pub(super) fn new(quiescence: Quiescence) -> Self {
        Self {
            quiescence,
            tracked: Mutex::default(),
            cookies: Mutex::default(),
        }
    }

    pub(super) fn quiescence(&self) -> Quiescence {
        self.quiescence
    }

    /// Adds a watcher that reports writers.
    pub(super) fn add_watcher(&self, cookie: &Arc<Cookie>) {
        let mut cookies = lock(&self.cookies);
        cookies.retain(|it| it.strong_count() > 0);
        cookies.push(Arc::downgrade(cookie));
    }

    /// Waits until the watchers have reported all writers up to now; returns `false` if they have not
    /// done so in time. Blocks; do not call it on the main thread.
    pub(super) fn catch_up(&self) -> bool {
        let cookies: Vec<Arc<Cookie>> = {
            let cookies = lock(&self.cookies);
            cookies.iter().filter_map(Weak::upgrade).collect()
        };
        cookies.iter().all(|cookie| cookie.catch_up())
    }

    /// Returns whether a file was modified so recently that its writer may be unknown.
    pub(super) fn is_recent(&self, stamp: &Stamp) -> bool {
        let recently = Quiescence {
            after: self.quiescence.patience,
            ..self.quiescence
        };
        recently.wait(stamp.modified).is_some() && !self.is_own_write(stamp)
    }

    /// Records that a program has created a file and may be about to write it.
    pub(super) fn note_created(&self, path: &Path) {
        self.insert_open(path);
    }

    /// Records a write to a file; [`Self::note_closed`] follows, except after a `truncate` of its
    /// path.
    pub(super) fn note_written(&self, path: &Path) {
        self.insert_open(path);
        if let Some(open) = lock(&self.tracked).open.get_mut(path) {
            open.is_written = true;
        }
    }

    fn insert_open(&self, path: &Path) {
        // Other systems do not report when a writer closes a file.
        if !cfg!(target_os = "linux") {
            return;
        }
        let mut tracked = lock(&self.tracked);
        if tracked.open.len() >= REMEMBERED {
            tracked
                .open
                .retain(|_, it| it.since.elapsed() < self.quiescence.patience);
        }
        if tracked.open.len() < REMEMBERED && !tracked.open.contains_key(path) {
            let open = Open {
                since: Instant::now(),
                is_written: false,
            };
            tracked.open.insert(path.to_owned(), open);
        }
    }

    pub(super) fn note_closed(&self, path: &Path) {
        lock(&self.tracked).open.remove(path);
    }

    /// Forgets all writers: their closing may have been missed.
    pub(super) fn forget(&self) {
        lock(&self.tracked).open.clear();
    }

    /// Returns whether a program has a file of this size open and is writing it.
    pub(super) fn is_open(&self, path: &Path, bytes: u64) -> bool {
        lock(&self.tracked).open_for(path, bytes).is_some()
    }

    /// Returns whether a program has a file of this size open for writing and does not close it soon.
    /// The system is asked, because the reports that it was opened or closed may be late. Blocks for
    /// [`CLOSING`] at most, and while the open files are listed.
    pub(super) fn stays_open(&self, path: &Path, bytes: u64) -> bool {
        let end = Instant::now() + CLOSING;
        loop {
            if Instant::now() >= end || !self.is_open(path, bytes) {
                let has_writer = self.has_writer(path, bytes, &OpenFiles::list());
                // The list takes a while, too.
                if !has_writer || Instant::now() >= end {
                    return has_writer;
                }
            }
            thread::sleep(PAUSE);
        }
    }

    /// Returns whether a program has a file of this size open for writing: as the system shows, else as
    /// the watchers have reported.
    ///
    /// If none has, `truncate` has shortened it by its path: no report that it was closed follows, so
    /// it is not waited for any longer.
    pub(super) fn has_writer(&self, path: &Path, bytes: u64, open_files: &OpenFiles) -> bool {
        match open_files.contain_for_writing(path) {
            Some(false) => {
                self.note_closed(path);
                false
            }
            Some(true) => true,
            None => self.is_open(path, bytes),
        }
    }

    /// Records the writer of a file, if the system shows one: the watchers have not reported all in
    /// time.
    pub(super) fn note_shown(&self, path: &Path, open_files: &OpenFiles) {
        if open_files.contain_for_writing(path) == Some(true) {
            self.note_written(path);
        }
    }

    /// Records a file that this client or Neovim has written: it is complete although it is new.
    pub(super) fn note_own_write(&self, stamp: Stamp) {
        let mut tracked = lock(&self.tracked);
        tracked
            .own_writes
            .retain(|(_, since)| since.elapsed() < self.quiescence.after);
        if tracked.own_writes.len() < REMEMBERED {
            tracked.own_writes.push((stamp, Instant::now()));
        }
    }

    /// Records that Neovim begins or has ended writing a file. In between, the file may be missing: it
    /// is renamed to a backup, and written anew.
    pub(super) fn note_saving(&self, path: &Path, step: SaveStep) {
        let mut tracked = lock(&self.tracked);
        let now = Instant::now();
        tracked.saving.retain(|_, saving| saving.until > now);
        if step == SaveStep::Ended {
            tracked.saving.remove(path);
            return;
        }
        let saving = Saving {
            until: now + self.quiescence.saving(),
            is_of_lines: step == SaveStep::Lines,
        };
        tracked.saving.entry(path.to_owned()).or_insert(saving);
    }

    /// Returns Neovim's write to a file, if it is to be waited for.
    pub(super) fn saving(&self, path: &Path) -> Option<Saving> {
        let saving = lock(&self.tracked).saving.get(path).copied();
        saving.filter(|saving| saving.until > Instant::now())
    }

    /// Records that waiting for a file timed out.
    pub(super) fn note_timed_out(&self, path: &Path) {
        let mut tracked = lock(&self.tracked);
        let patience = self.quiescence.patience;
        tracked
            .timed_out
            .retain(|_, since| since.elapsed() < patience);
        if tracked.timed_out.len() < REMEMBERED {
            tracked.timed_out.insert(path.to_owned(), Instant::now());
        }
    }

    /// Returns whether waiting for a file has just timed out, so that waiting again is pointless.
    pub(super) fn has_timed_out(&self, path: &Path) -> bool {
        let tracked = lock(&self.tracked);
        let since = tracked.timed_out.get(path);
        since.is_some_and(|since| since.elapsed() < self.quiescence.patience)
    }

    /// Returns the time left to wait for a file that had a text before; `None` if it is quiescent.
    ///
    /// A file that was emptied just now waits: some systems report that only after a while.
    pub(super) fn wait_full(&self, path: &Path, stamp: &Stamp) -> Option<Duration> {
        let is_emptied = stamp.bytes == 0 && self.is_recent(stamp);
        let wait = self.wait(path, stamp);
        wait.or(is_emptied.then_some(self.quiescence.after))
    }

    /// Returns the time left to wait for a file; `None` if it is quiescent.
    pub(super) fn wait(&self, path: &Path, stamp: &Stamp) -> Option<Duration> {
        if self.is_own_write(stamp) {
            // The report that it was closed may be late.
            return None;
        }
        let open_for = lock(&self.tracked).open_for(path, stamp.bytes);
        if open_for.is_some_and(|it| it < self.quiescence.patience) {
            return Some(self.quiescence.after);
        }
        self.quiescence.wait(stamp.modified)
    }

    fn is_own_write(&self, stamp: &Stamp) -> bool {
        let tracked = lock(&self.tracked);
        tracked.own_writes.iter().any(|(own, _)| own == stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_os = "linux")]
    use crate::tests::wait_for;

    /// Waits longer than a test takes.
    const LONG: Quiescence = Quiescence {
        after: Duration::from_secs(60 * 60),
        patience: Duration::from_secs(60 * 60),
    };

    /// Checks the wait for a file last written `age_ms` milliseconds ago.
    #[track_caller]
    fn check(age_ms: i64, wait_ms: Option<u64>) {
        let now: i64 = 2_000_000_000_000;
        let then = now - age_ms;
        let modified = (then.div_euclid(1000), then.rem_euclid(1000) * 1_000_000);
        let now = Duration::from_millis(now.unsigned_abs());
        let wait = Quiescence::default().wait_at(now, modified);
        assert_eq!(wait, wait_ms.map(Duration::from_millis), "{age_ms} ms");
    }

    /// Returns a stamp of a file last written this many seconds ago.
    fn written(bytes: u64, seconds_ago: u64) -> Stamp {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let then = now.expect("a time").as_secs() - seconds_ago;
        Stamp {
            inode: 1,
            bytes,
            modified: (then.cast_signed(), 0),
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_save_waits_for_a_writer_that_was_not_reported() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let (file, path) = file.into_parts();
        let writers = Writers::default();
        let begun = Instant::now();
        assert!(writers.stays_open(&path, 1), "nobody closes it");
        assert!(begun.elapsed() >= CLOSING);
        assert!(!writers.stays_open(Path::new("/p/b"), 1));
        thread::scope(|scope| {
            scope.spawn(move || drop(file));
            // On a busy machine, that thread may begin late.
            while writers.stays_open(&path, 1) {}
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn while_a_watcher_is_waited_for_others_are_added() {
        let (writers, cookie) = (Writers::default(), Arc::new(Cookie::silent()));
        assert!(writers.catch_up());
        writers.add_watcher(&cookie);
        thread::scope(|scope| {
            let turn = cookie.take_turn();
            let waiting = scope.spawn(|| writers.catch_up());
            let is_free = || writers.cookies.try_lock().is_ok();
            wait_for("the list", || Arc::strong_count(&cookie) == 2 && is_free());
            cookie.lose();
            drop(turn);
            assert!(!waiting.join().expect("no panic"));
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_save_finds_out_that_a_written_file_was_never_open() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let (writers, path) = (Writers::default(), file.into_temp_path());
        writers.note_written(&path);
        // A child of another test may have it for a moment.
        while writers.stays_open(&path, 1) {
            writers.note_written(&path);
        }
        // The next save does not wait.
        assert!(!writers.is_open(&path, 1));
    }

    #[test]
    fn a_file_that_neovim_has_saved_is_not_waited_for_until_it_changes_again() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let saved = |text: &str| {
            std::fs::write(file.path(), text).expect("it is written");
            acp_edge::paths::stamp(file.path()).expect("it is there")
        };
        let writers = Writers::new(LONG);
        let stamp = saved("one\n");
        assert!(writers.wait_full(file.path(), &stamp).is_some());
        // Its writer is known, and not that it was closed.
        writers.note_written(file.path());
        writers.note_own_write(stamp);
        assert_eq!(writers.wait_full(file.path(), &stamp), None);
        let later = saved("another\n");
        assert!(writers.wait_full(file.path(), &later).is_some());
    }

    #[test]
    fn only_files_that_were_just_written_to_are_waited_for() {
        check(0, Some(30));
        check(29, Some(1));
        check(30, None);
        check(1_000_000_000, None);
        // The clock of the file system is a little ahead.
        check(-29, Some(30));
        // A time that a program has set.
        check(-30, None);
        check(-1_000_000_000, None);
    }

    #[test]
    fn files_older_than_the_epoch_are_quiescent() {
        assert_eq!(Quiescence::default().wait((-5, 0)), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_with_a_writer_is_waited_for_but_not_our_own() {
        let writers = Writers::new(LONG);
        let path = Path::new("/p/a");
        let old = written(1, 2 * 60 * 60);
        assert_eq!(writers.wait(path, &old), None);
        writers.note_written(path);
        assert!(writers.wait(path, &old).is_some());
        assert_eq!(writers.wait(Path::new("/p/b"), &old), None);
        writers.note_closed(path);
        assert_eq!(writers.wait(path, &old), None);
        writers.note_created(path);
        assert_eq!(writers.wait(path, &old), None);
        assert!(writers.wait(path, &Stamp { bytes: 0, ..old }).is_some());
        let new = written(1, 0);
        assert!(writers.wait(path, &new).is_some());
        writers.note_own_write(new);
        assert_eq!(writers.wait(path, &new), None);
    }

    #[test]
    fn a_file_that_was_emptied_just_now_is_waited_for() {
        let writers = Writers::new(Quiescence {
            after: Duration::ZERO,
            ..LONG
        });
        let wait = |stamp: Stamp| writers.wait_full(Path::new("/p/a"), &stamp);
        assert!(wait(written(0, 0)).is_some());
        assert_eq!(wait(written(1, 0)), None);
        assert_eq!(wait(written(0, 2 * 60 * 60)), None);
    }

    #[test]
    fn tracked_writers_are_bounded() {
        let writers = Writers::default();
        for n in 0..10_000 {
            writers.note_written(Path::new(&format!("/p/{n}")));
        }
        assert!(lock(&writers.tracked).open.len() <= REMEMBERED);
    }
}
