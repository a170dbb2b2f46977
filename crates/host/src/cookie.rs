//! Waits until the notifications of everything that has happened so far are handled.
//!
//! A system reports changes in their order, but later than they happen. A cookie is a file of ours
//! that is watched like the others: once a change of it has been reported, so have all changes
//! before it.
//!
//! Invariant: the wait is bounded, because a system may stop reporting.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

/// Maximum time to wait for a report.
const PATIENCE: Duration = Duration::from_secs(2);

/// A watched file that has no name in any folder.
#[derive(Debug)]
pub(crate) struct Cookie {
    file: File,
    /// Its path when the watch was placed.
    path: PathBuf,
    /// Held by the one that waits.
    turn: Mutex<()>,
    is_reported: Mutex<bool>,
    reported: Condvar,
}

impl Cookie {
    /// Creates a cookie and watches it.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn place(watcher: &mut RecommendedWatcher) -> io::Result<Self> {
        let (file, name) = tempfile::NamedTempFile::new()?.into_parts();
        let path = name.to_path_buf();
        let placed = watcher.watch(&path, RecursiveMode::NonRecursive);
        placed.map_err(io::Error::other)?;
        // The watch is on the file, which lives as long as it is open.
        drop(name);
        Ok(Self {
            file,
            path,
            turn: Mutex::default(),
            is_reported: Mutex::default(),
            reported: Condvar::new(),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Records that a change of the cookie was reported.
    pub(crate) fn note(&self) {
        *self
            .is_reported
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = true;
        self.reported.notify_one();
    }

    /// Waits until all changes up to now have been handled.
    pub(crate) fn catch_up(&self) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_reported = self
            .is_reported
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *is_reported = false;
        if self.file.write_all_at(b"0", 0).is_err() {
            return;
        }
        // Without a report in time, what is known so far has to do.
        let _ = self
            .reported
            .wait_timeout_while(is_reported, PATIENCE, |is_reported| !*is_reported);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::{Arc, OnceLock};

    use super::*;

    #[test]
    fn what_happened_before_is_handled_after_the_wait() {
        let folder = tempfile::tempdir().expect("a folder");
        let (seen, cookie) = (Arc::new(Mutex::new(Vec::new())), Arc::new(OnceLock::new()));
        let (sees, its) = (Arc::clone(&seen), Arc::clone(&cookie));
        let take = move |event: notify::Result<notify::Event>| {
            for path in event.expect("an event").paths {
                match its.get() {
                    Some(cookie) if Cookie::path(cookie) == path => cookie.note(),
                    _ => sees.lock().expect("no panic").push(path),
                }
            }
        };
        let mut watcher = notify::recommended_watcher(take).expect("a watcher");
        let placed = Cookie::place(&mut watcher).expect("a cookie");
        let cookie = cookie.get_or_init(|| placed);
        watcher
            .watch(folder.path(), RecursiveMode::NonRecursive)
            .expect("it can be watched");
        for n in 0..100 {
            let path = folder.path().join(n.to_string());
            std::fs::write(&path, "text").expect("it can be written");
            cookie.catch_up();
            assert!(*cookie.is_reported.lock().expect("no panic"));
            assert!(seen.lock().expect("no panic").contains(&path));
        }
    }
}
