//! What files contain: read, kept in the store, and read back as the core has it.
//!
//! Invariant: a stat is taken before the content it goes with is read, from the same open file.
//! So whoever writes to a file meanwhile makes it look changed the next time; if the clock is too
//! coarse for that, the entry is not settled.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{Mode, OFlags};

use super::manifest::{Entry, Stat, What};
use super::scan::Seen;
use super::store::Store;
use crate::disk::is_missing;
use acp_core::spine::event::DiskText;
use acp_core::spine::project::{Body, FileState};
use acp_core::text::format::Format;

/// How coarse the clock of a file system is: one with nanoseconds takes the kernel's tick.
const TICK_NS: i128 = 50_000_000;
/// One without.
const SECONDS_NS: i128 = 2_000_000_000;

/// From how many files on reading is shared among threads.
const MANY: usize = 64;
const THREADS: usize = 4;

/// A file that is to be read.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) seen: Seen,
    pub(super) need: Need,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Now.
    Now,
    /// If there is time and room; else it is read another time.
    Spare,
}

/// What may be spent on files that need not be read now.
#[derive(Debug)]
pub(super) struct Budget {
    pub(super) until: Instant,
    pub(super) bytes: AtomicU64,
}

impl Budget {
    fn spend(&self, bytes: u64) -> bool {
        let less = |left: u64| left.checked_sub(bytes);
        Instant::now() < self.until
            && self
                .bytes
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
                .is_ok()
    }
}

/// Files that were read.
#[derive(Debug, Default)]
pub(super) struct Reads {
    /// `None` where there is nothing any more.
    pub(super) entries: Vec<(Seen, Option<Entry>)>,
    /// Files that were written to while they were read.
    pub(super) torn: HashSet<PathBuf>,
    /// The first reason why a content could not be kept.
    pub(super) trouble: Option<String>,
}

/// What is to be said of a file that is read.
enum Note {
    /// Its content could not be kept.
    Trouble(io::Error),
    /// It was written to meanwhile.
    Torn(PathBuf),
}

/// Reads files, by several threads if they are many.
pub(super) fn read_all(root: &Path, wanted: Vec<Wanted>, store: &Store, budget: &Budget) -> Reads {
    let notes = Mutex::new((None, HashSet::new()));
    let report = |note: Note| {
        let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
        match note {
            Note::Trouble(error) => {
                notes.0.get_or_insert(error.to_string());
            }
            Note::Torn(path) => {
                notes.1.insert(path);
            }
        }
    };
    let read_one = |wanted: &Wanted| read(root, wanted, store, budget, &report);
    let results: Vec<Option<Entry>> = if wanted.len() < MANY {
        wanted.iter().map(read_one).collect()
    } else {
        in_parallel(&wanted, &read_one)
    };
    let seen = wanted.into_iter().map(|wanted| wanted.seen);
    let (trouble, torn) = notes.into_inner().unwrap_or_else(PoisonError::into_inner);
    Reads {
        entries: seen.zip(results).collect(),
        torn,
        trouble,
    }
}

/// Returns what `work` makes of each item, in their order.
fn in_parallel<T: Sync, R: Send>(items: &[T], work: &(impl Fn(&T) -> R + Sync)) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let share = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else {
                return done;
            };
            done.push((at, work(item)));
        }
    };
    let mut all: Vec<(usize, R)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(share)).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        // A panic in a share goes on here, to the guard around all of it.
        let done = joined.map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        done.flatten().collect()
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, result)| result).collect()
}

/// Reads one file; what is wrong with the store is reported, and the file known all the same.
fn read(
    root: &Path,
    wanted: &Wanted,
    store: &Store,
    budget: &Budget,
    report: &impl Fn(Note),
) -> Option<Entry> {
    let now = now();
    let cap = store.limits.file_bytes;
    let path = root.join(&wanted.seen.path);
    let mut stat = wanted.seen.stat;
    let what = if wanted.seen.is_link {
        What::Link(fs::read_link(&path).ok()?)
    } else if stat.bytes > cap {
        What::Large
    } else if wanted.need == Need::Spare && !budget.spend(stat.bytes) {
        What::Later
    } else {
        match bytes_of(&path, cap) {
            Ok((now, bytes, is_torn)) => {
                stat = now;
                if is_torn {
                    report(Note::Torn(wanted.seen.path.clone()));
                }
                kept(&bytes, store, report)
            }
            Err(error) if is_missing(&error) => return None,
            Err(error) => What::Unreadable(match error.kind() {
                io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
                _ => error.to_string(),
            }),
        }
    };
    Some(Entry {
        settled: is_settled(&stat, now),
        stat,
        what,
    })
}

/// Keeps a content that is not too large.
fn kept(bytes: &[u8], store: &Store, report: &impl Fn(Note)) -> What {
    if bytes.len() as u64 > store.limits.file_bytes {
        return What::Large;
    }
    match store.put(bytes) {
        Ok(blob) if is_text(bytes) => What::Text(blob),
        Ok(blob) => What::Bytes(blob),
        Err(error) => {
            report(Note::Trouble(error));
            What::Later
        }
    }
}

/// Returns a regular file's stat and bytes, one more than `cap` of them at most, and whether
/// somebody has written to it meanwhile.
///
/// # Errors
/// As the system has it; what is no regular file any more is missing.
fn bytes_of(path: &Path, cap: u64) -> io::Result<(Stat, Vec<u8>, bool)> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match rustix::fs::open(path, flags | OFlags::NOFOLLOW, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::LOOP) => return Err(io::ErrorKind::NotFound.into()),
        Err(errno) => return Err(errno.into()),
    };
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let mut stat = Stat::of(&meta);
    let mut bytes = Vec::with_capacity(usize::try_from(stat.bytes.min(cap)).unwrap_or(0));
    // It may grow while it is read.
    (&file).take(cap + 1).read_to_end(&mut bytes)?;
    let is_torn = !stat.same_content(&Stat::of(&file.metadata()?));
    stat.bytes = stat.bytes.max(bytes.len() as u64);
    Ok((stat, bytes, is_torn))
}

/// Returns whether bytes are lines for the core: Git, too, takes NUL for the mark of the rest.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    memchr::memchr(0, bytes).is_none()
}

/// Returns whether a change from `now` on must show in the stat.
pub(super) fn is_settled(stat: &Stat, now: i128) -> bool {
    let grain = match stat.changed.1 {
        0 => SECONDS_NS,
        _ => TICK_NS,
    };
    nanoseconds(stat.changed) + grain < now
}

fn nanoseconds((seconds, nanos): (i64, i64)) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(nanos)
}

/// Returns the time in nanoseconds.
pub(super) fn now() -> i128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i128::try_from(since.as_nanos()).unwrap_or(0))
}

/// Returns what an entry is to the core; contents come from the store.
pub(super) fn state(path: &Path, entry: Option<&Entry>, store: &Store) -> FileState {
    let Some(Entry { stat, what, .. }) = entry else {
        return FileState::missing();
    };
    let bytes = stat.bytes;
    let body = match what {
        What::Text(blob) => match store.get(*blob) {
            Ok(bytes) => {
                let (format, text) = Format::decode(&bytes);
                Body::Text(DiskText { text, format })
            }
            Err(loss) => Body::Unreadable(loss.words()),
        },
        What::Bytes(blob) => Body::Bytes {
            bytes,
            blob: Some(*blob),
        },
        What::Large | What::Later => Body::Bytes { bytes, blob: None },
        What::Link(to) => Body::Link(to.clone()),
        What::Unreadable(why) => {
            Body::Unreadable(format!("{} was not read: {why}", path.display()))
        }
    };
    FileState {
        body,
        mode: Some(stat.permissions()),
        stamp: Some(stat.stamp()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Says when a file was changed, and when it was read after that, in milliseconds.
    #[track_caller]
    fn check(changed: (i64, i64), after_ms: i128, settled: bool) {
        let stat = Stat {
            inode: 1,
            bytes: 1,
            mode: 0o100_644,
            // Anybody can set this one to anything.
            modified: (0, 0),
            changed,
            born: None,
        };
        let read = nanoseconds(changed) + after_ms * 1_000_000;
        assert_eq!(
            is_settled(&stat, read),
            settled,
            "{changed:?} + {after_ms} ms"
        );
    }

    #[test]
    fn a_file_read_within_the_tick_of_its_change_is_not_settled() {
        check((1000, 5), 0, false);
        check((1000, 5), 10, false);
        check((1000, 5), 100, true);
        // The clock was set back.
        check((1000, 5), -9000, false);
        // A file system without nanoseconds.
        check((1000, 0), 100, false);
        check((1000, 0), 2500, true);
    }
}
