//! Waits until the notifications of everything that has happened so far are handled.
//!
//! A system reports changes in their order, but later than they happen. A cookie is a watched
//! file that only this client changes: once a change of it is reported, all earlier changes are.
//!
//! Invariants: the wait is bounded, because a system may stop reporting, and after a time-out there
//! is no second wait for the same report. The cookie is not changed while a report of it is due, so
//! each report belongs to one change. Where the system has lost reports, a new cookie is placed;
//! until then, nothing is known.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use notify::event::ModifyKind;
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use acp_edge::panics::lock;

/// Maximum time to wait for a report.
const PATIENCE: Duration = Duration::from_secs(2);

/// A watched file that has no name in any folder.
#[derive(Debug)]
pub(crate) struct Cookie {
    file: File,
    /// The path by which it is watched.
    path: PathBuf,
    /// Held by the one that waits.
    turn: Mutex<()>,
    report: Mutex<Report>,
    /// Notified when the report is not due any longer.
    reported: Condvar,
}

/// The report of the last change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Report {
    #[default]
    Handled,
    Due(Instant),
    /// Reports were lost, perhaps this one.
    Lost,
}

impl Cookie {
    /// Creates a cookie and watches it.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn place(watcher: &mut RecommendedWatcher) -> io::Result<Self> {
        let file = tempfile::tempfile()?;
        // If it had a name in a watched folder, the watch would end when that is removed.
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        let placed = watcher.watch(&path, RecursiveMode::NonRecursive);
        placed.map_err(io::Error::other)?;
        Ok(Self::new(file, path))
    }

    /// Returns a cookie that no system reports.
    #[cfg(all(test, target_os = "linux"))]
    pub(crate) fn silent() -> Self {
        Self::new(tempfile::tempfile().expect("a file"), PathBuf::new())
    }

    fn new(file: File, path: PathBuf) -> Self {
        Self {
            file,
            path,
            turn: Mutex::default(),
            report: Mutex::default(),
            reported: Condvar::new(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Handles a notification about the cookie.
    pub(crate) fn note(&self, kind: EventKind) {
        // Its end is reported as well.
        if matches!(kind, EventKind::Modify(ModifyKind::Data(_))) {
            let mut report = lock(&self.report);
            if *report != Report::Lost {
                *report = Report::Handled;
                self.reported.notify_one();
            }
        }
    }

    /// Records that reports were lost.
    pub(crate) fn lose(&self) {
        *lock(&self.report) = Report::Lost;
        self.reported.notify_one();
    }

    /// Waits until all changes up to now have been handled; returns `false` if that is unknown.
    pub(crate) fn catch_up(&self) -> bool {
        self.catch_up_within(PATIENCE)
    }

    fn catch_up_within(&self, patience: Duration) -> bool {
        let _turn = self.take_turn();
        // A late report of an earlier change must not be taken for the report of this one.
        let mut report = self.wait(patience);
        if *report != Report::Handled || self.file.write_all_at(b"0", 0).is_err() {
            return false;
        }
        *report = Report::Due(Instant::now());
        drop(report);
        *self.wait(patience) == Report::Handled
    }

    /// Lets others wait until the turn ends.
    pub(crate) fn take_turn(&self) -> MutexGuard<'_, ()> {
        lock(&self.turn)
    }

    /// Waits until the report is not due, for so long since the change.
    fn wait(&self, patience: Duration) -> MutexGuard<'_, Report> {
        let report = lock(&self.report);
        let left = match *report {
            Report::Due(since) => patience.saturating_sub(since.elapsed()),
            Report::Handled | Report::Lost => Duration::ZERO,
        };
        let waited = self
            .reported
            .wait_timeout_while(report, left, |it| matches!(it, Report::Due(_)));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::{Arc, OnceLock};

    use notify::event::{DataChange, MetadataKind};

    use super::*;
    use crate::tests::DEADLINE;

    #[test]
    fn what_happened_before_is_handled_after_the_wait() {
        let folder = tempfile::tempdir().expect("a folder");
        let (seen, cookie) = (Arc::new(Mutex::new(Vec::new())), Arc::new(OnceLock::new()));
        let (sees, its) = (Arc::clone(&seen), Arc::clone(&cookie));
        let take = move |event: notify::Result<notify::Event>| {
            let event = event.expect("an event");
            for path in event.paths {
                match its.get() {
                    Some(cookie) if Cookie::path(cookie) == path => cookie.note(event.kind),
                    _ => sees.lock().expect("no panic").push(path),
                }
            }
        };
        let mut watcher = notify::recommended_watcher(take).expect("a watcher");
        // Where temporary files are, as after an agent has named one.
        watcher
            .watch(&std::env::temp_dir(), RecursiveMode::NonRecursive)
            .expect("it can be watched");
        let placed = Cookie::place(&mut watcher).expect("a cookie");
        let cookie = cookie.get_or_init(|| placed);
        watcher
            .watch(folder.path(), RecursiveMode::NonRecursive)
            .expect("it can be watched");
        for n in 0..100 {
            let path = folder.path().join(n.to_string());
            std::fs::write(&path, "text").expect("it can be written");
            assert!(cookie.catch_up_within(DEADLINE));
            assert!(seen.lock().expect("no panic").contains(&path));
        }
    }

    #[test]
    fn a_late_report_is_not_taken_for_the_next_one() {
        let written = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        let cookie = Cookie::silent();
        let bytes = || cookie.file.metadata().expect("a file").len();
        let is_handled = || *lock(&cookie.report) == Report::Handled;
        assert!(!cookie.catch_up_within(Duration::ZERO));
        assert_eq!(bytes(), 1);
        cookie.file.set_len(0).expect("empty");
        for _ in 0..3 {
            assert!(!cookie.catch_up_within(Duration::ZERO), "one is due");
            assert_eq!(bytes(), 0, "changed while a report is due");
        }
        // Other notifications about the file are no report.
        cookie.note(EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any)));
        assert!(!is_handled());
        cookie.note(written);
        assert!(is_handled());
        assert!(!cookie.catch_up_within(Duration::ZERO));
        assert_eq!(bytes(), 1, "the next change");
        // Its report may be that of a change before the loss.
        cookie.lose();
        cookie.note(written);
        assert!(!is_handled());
    }

    #[test]
    fn what_was_waited_for_in_vain_or_is_lost_is_not_waited_for() {
        let patience = Duration::from_secs(60);
        let overdue = Instant::now().checked_sub(patience).expect("a time");
        for report in [Report::Due(overdue), Report::Lost] {
            let (cookie, begun) = (Cookie::silent(), Instant::now());
            *lock(&cookie.report) = report;
            assert!(!cookie.catch_up_within(patience));
            assert!(begun.elapsed() < patience, "{report:?}");
        }
    }
}
