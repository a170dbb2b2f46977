//! Reads files, stores their contents, and returns stored contents in the core's form.
//!
//! Invariant: a stat is taken before the content is read, from the same open file. A concurrent
//! write therefore makes the file look changed the next time; if the clock is too coarse for that,
//! the entry is not settled.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{Mode, OFlags};

use super::effort::{cpu_time_of, helped};
use super::manifest::{Entry, Stat, What};
use super::scan::FoundFile;
use super::store::{Loss, Store, name};
use acp_core::spine::event::{DiskText, Stamp};
use acp_core::spine::project::{Blob, Body, FileState};
use acp_core::text::format::Format;
use acp_edge::panics::lock;
use acp_edge::paths::{is_exhausted, is_missing};

/// Clock granularity of a file system with nanoseconds: the kernel's tick.
const TICK_NS: i128 = 50_000_000;
/// Clock granularity of a file system without nanoseconds.
const SECONDS_NS: i128 = 2_000_000_000;

/// Number of files from which reading uses several threads.
const MANY: usize = 64;
const THREADS: usize = 4;

/// A file to read.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) seen: FoundFile,
    pub(super) need: Need,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Its content.
    Content,
    /// Its stat; its content is copied later, unless a change until then may not show in the stat.
    Stat,
}

/// The result of reading files.
#[derive(Debug, Default)]
pub(super) struct Reads {
    /// `None` where the file no longer exists.
    pub(super) entries: Vec<(FoundFile, Option<Entry>)>,
    /// Files that were written to since they were seen, to be looked at again.
    pub(super) torn: HashSet<PathBuf>,
    /// Files that the system could not read now, or that something else is taking the place of. What
    /// they are is unknown, so that they are looked at again.
    pub(super) unknown: HashSet<PathBuf>,
    /// The first reason why a content could not be stored.
    pub(super) trouble: Option<String>,
}

/// A problem while reading a file.
enum Problem {
    /// Its content could not be stored.
    Trouble(io::Error),
    /// It was written to since it was seen.
    Torn(PathBuf),
    /// The system could not read it now.
    Unknown(PathBuf),
}

/// Reads files, in several threads if there are many.
pub(super) fn read_all(root: &Path, wanted: Vec<Wanted>, store: &Store) -> Reads {
    let notes = Mutex::new((None, HashSet::new(), HashSet::new()));
    let report = |problem: Problem| {
        let mut notes = lock(&notes);
        match problem {
            Problem::Trouble(error) => {
                notes.0.get_or_insert(error.to_string());
            }
            Problem::Torn(path) => {
                notes.1.insert(path);
            }
            Problem::Unknown(path) => {
                notes.2.insert(path);
            }
        }
    };
    let read_one = |wanted: &Wanted| read(root, wanted, store, &report);
    let results: Vec<Option<Entry>> = if wanted.len() < MANY {
        wanted.iter().map(read_one).collect()
    } else {
        in_parallel(&wanted, &read_one)
    };
    let seen = wanted.into_iter().map(|wanted| wanted.seen);
    let notes = notes.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (trouble, torn, unknown) = notes;
    Reads {
        entries: seen.zip(results).collect(),
        torn,
        unknown,
        trouble,
    }
}

/// Applies `work` to each item in parallel; results are in the order of the items.
pub(super) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    work: &(impl Fn(&T) -> R + Sync),
) -> Vec<R> {
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
    let share = || cpu_time_of(share);
    let mut all: Vec<(usize, R)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(share)).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        // A panic continues here, inside the guard of the caller.
        let done = joined.map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        let done = done.inspect(|(_, cpu)| helped(*cpu));
        done.flat_map(|(done, _)| done).collect()
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, result)| result).collect()
}

/// Reads one file; a failure of the store is reported, and the file is still recorded.
fn read(root: &Path, wanted: &Wanted, store: &Store, report: &impl Fn(Problem)) -> Option<Entry> {
    let now = now();
    let cap = store.limits.file_bytes;
    let path = root.join(&wanted.seen.path);
    let mut stat = wanted.seen.stat;
    let mut is_unknown = false;
    let mut unknown = |error: io::Error| {
        is_unknown = true;
        report(Problem::Unknown(wanted.seen.path.clone()));
        What::Unreadable(error.to_string())
    };
    let what = if wanted.seen.is_link {
        match fs::read_link(&path) {
            Ok(to) => What::Link(to),
            Err(error) if is_missing(&error) => return None,
            // It is no longer a link.
            Err(error) => unknown(error),
        }
    } else if stat.bytes > cap {
        What::Large
    } else if wanted.need == Need::Stat && is_settled(&stat, now) {
        What::Later
    } else {
        match bytes_of(&path, cap) {
            Ok((now, bytes, is_torn)) => {
                // The earlier content may have been whole, and this one half of the next.
                let is_torn = is_torn || !now.same_content(&stat);
                stat = now;
                if is_torn {
                    report(Problem::Torn(wanted.seen.path.clone()));
                }
                kept(&bytes, store, report)
            }
            Err(error) if is_missing(&error) => return None,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                What::Unreadable("permission denied".to_owned())
            }
            // Descriptors or memory may have run out, or something else has taken its place.
            Err(error) => unknown(error),
        }
    };
    Some(Entry {
        settled: is_settled(&stat, now) && !is_unknown,
        stat,
        what,
    })
}

/// Stores a content that is not too large.
fn kept(bytes: &[u8], store: &Store, report: &impl Fn(Problem)) -> What {
    if bytes.len() as u64 > store.limits.file_bytes {
        return What::Large;
    }
    match store.hold(bytes) {
        Ok(blob) if is_text(bytes) => What::Text(blob),
        Ok(blob) => What::Bytes(blob),
        Err(error) => {
            report(Problem::Trouble(error));
            What::Later
        }
    }
}

/// Returns a regular file's stat, at most `cap` + 1 of its bytes, and whether it was written to
/// during the read.
///
/// # Errors
/// The system's error, or that something else has taken the place of a regular file.
fn bytes_of(path: &Path, cap: u64) -> io::Result<(Stat, Vec<u8>, bool)> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match rustix::fs::open(path, flags | OFlags::NOFOLLOW, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(errno) => return Err(errno.into()),
    };
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("it is no longer a regular file"));
    }
    let mut stat = Stat::of(&meta);
    let mut bytes = Vec::with_capacity(usize::try_from(stat.bytes.min(cap)).unwrap_or(0));
    // The file may grow during the read.
    (&file).take(cap + 1).read_to_end(&mut bytes)?;
    let is_torn = !stat.same_content(&Stat::of(&file.metadata()?));
    stat.bytes = stat.bytes.max(bytes.len() as u64);
    Ok((stat, bytes, is_torn))
}

impl Store {
    /// Returns the stamp of a file if it has this content: another program may have written the same.
    ///
    /// # Errors
    /// The system is exhausted.
    pub(super) fn stamp_of(&self, path: &Path, content: Blob) -> Result<Option<Stamp>, Exhausted> {
        let read = Exhausted::check(bytes_of(path, self.limits.file_bytes))?;
        let read = read.filter(|(_, bytes, _)| name(bytes) == content);
        Ok(read.map(|(stat, ..)| stat.stamp()))
    }
}

/// Returns whether bytes are text for the core; like Git, it takes a NUL byte as the sign of binary
/// data.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    memchr::memchr(0, bytes).is_none()
}

/// Returns whether any change after `now` must show in the stat.
pub(super) fn is_settled(stat: &Stat, now: i128) -> bool {
    is_older(stat.changed, now)
}

/// Returns whether a time is so long ago that the clock of a file system tells it from `now`.
pub(super) fn is_older(time: (i64, i64), now: i128) -> bool {
    let grain = match time.1 {
        0 => SECONDS_NS,
        _ => TICK_NS,
    };
    nanoseconds(time) + grain < now
}

pub(super) fn nanoseconds((seconds, nanos): (i64, i64)) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(nanos)
}

/// Returns the current time in nanoseconds.
pub(super) fn now() -> i128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i128::try_from(since.as_nanos()).unwrap_or(0))
}

/// Converts an entry to the core's form, with contents from the store.
///
/// # Errors
/// The system cannot read the content now, and it is not the last attempt.
pub(super) fn state(
    path: &Path,
    entry: Option<&Entry>,
    store: &Store,
    attempt: Attempt,
) -> Result<FileState, Exhausted> {
    let Some(Entry { stat, what, .. }) = entry else {
        return Ok(FileState::missing());
    };
    let bytes = stat.bytes;
    let body = match what {
        What::Text(blob) => match store.get(*blob) {
            Ok(bytes) => {
                let (format, text) = Format::decode(&bytes);
                Body::Text(DiskText { text, format })
            }
            Err(Loss::Io(error)) if attempt == Attempt::One && is_exhausted(&error) => {
                return Err(Exhausted);
            }
            Err(loss) => Body::Unreadable(loss.words()),
        },
        What::Bytes(blob) => Body::Bytes {
            bytes,
            blob: Some(*blob),
        },
        What::Large | What::Later | What::Git(_) => Body::Bytes { bytes, blob: None },
        What::Link(to) => Body::Link(to.clone()),
        What::Unreadable(why) => {
            Body::Unreadable(format!("{} was not read: {why}", path.display()))
        }
    };
    // A link has no mode, and reading through it reads another file.
    let has_mode = !matches!(body, Body::Link(_));
    Ok(FileState {
        body,
        mode: has_mode.then(|| stat.permissions()),
        stamp: Some(stat.stamp()),
    })
}

/// The system has too few descriptors or processes, or too little memory now.
#[derive(Debug)]
pub(super) struct Exhausted;

impl Exhausted {
    /// Returns the value of a result, or nothing if there is none, unless that is unknown now.
    ///
    /// # Errors
    /// The system is exhausted.
    pub(super) fn check<T>(result: io::Result<T>) -> Result<Option<T>, Self> {
        match result {
            Err(error) if is_exhausted(&error) => Err(Self),
            result => Ok(result.ok()),
        }
    }
}

/// Whether an exhausted system is asked again later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    One,
    Last,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::Limits;

    /// Checks a file that was changed at `changed` and read `after_ms` milliseconds later.
    #[track_caller]
    fn check(changed: (i64, i64), after_ms: i128, settled: bool) {
        let stat = Stat {
            inode: 1,
            bytes: 1,
            mode: 0o100_644,
            // Programs can set this time to any value.
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
    fn a_file_that_was_truncated_after_it_was_seen_is_torn() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        fs::write(&path, "whole\n").expect("a file");
        let stat = Stat::of(&fs::metadata(&path).expect("it is there"));
        let wanted = || Wanted {
            seen: FoundFile {
                path: "a".into(),
                stat,
                is_link: false,
                is_shared: false,
            },
            need: Need::Content,
        };
        let store = Store::new(&folder.path().join("store"), Limits::default());
        let torn = || read_all(folder.path(), vec![wanted()], &store).torn;
        assert_eq!(torn(), HashSet::new());
        fs::write(&path, "").expect("it can be truncated");
        assert_eq!(torn(), HashSet::from(["a".into()]));
    }

    /// Reading `/proc/self/mem` fails, although the permissions allow it.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_the_system_cannot_read_now_is_looked_at_again() {
        let root = Path::new("/proc/self");
        let wanted = Wanted {
            seen: FoundFile {
                path: "mem".into(),
                stat: Stat::of(&fs::metadata(root.join("mem")).expect("it is there")),
                is_link: false,
                is_shared: false,
            },
            need: Need::Content,
        };
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::new(folder.path(), Limits::default());
        let reads = read_all(root, vec![wanted], &store);
        assert_eq!(reads.unknown, HashSet::from(["mem".into()]));
    }

    #[test]
    fn a_file_that_is_replaced_by_a_link_or_back_after_it_was_seen_is_not_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "a\n").expect("a file");
        std::os::unix::fs::symlink(&link, &link).expect("a link");
        let store = Store::new(&folder.path().join("store"), Limits::default());
        for (name, is_link) in [("file", true), ("link", false)] {
            let meta = fs::symlink_metadata(folder.path().join(name)).expect("it is there");
            let wanted = Wanted {
                seen: FoundFile {
                    path: name.into(),
                    stat: Stat::of(&meta),
                    is_link,
                    is_shared: false,
                },
                need: Need::Content,
            };
            let reads = read_all(folder.path(), vec![wanted], &store);
            assert_eq!(reads.unknown, HashSet::from([name.into()]));
            let entry = reads.entries.first().and_then(|(_, entry)| entry.as_ref());
            assert!(entry.is_some_and(|entry| !entry.settled), "{entry:?}");
        }
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
