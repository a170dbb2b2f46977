//! The log file: one thread appends entries from a queue that never blocks its senders.
//!
//! Invariant: logging never blocks and never fails. When the queue is full, entries are dropped and
//! counted; an unwritable file drops them all. Several Neovims may share the file: each entry is
//! one appending write, and a file that another process has rotated is reopened.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, SystemTime};

use acp_core::spine::effect::Level;
use acp_core::text::cut::head;

/// Capacity of the queue; further entries are dropped and counted.
const QUEUE: usize = 1024;

/// Maximum length of an entry.
const ENTRY_BYTES: usize = 16 << 10;

/// A sender to the log thread; cheap to clone. The thread ends with the last clone.
#[derive(Debug, Clone)]
pub(super) struct Log {
    queue: Option<SyncSender<Entry>>,
    dropped: Arc<AtomicU64>,
    /// The lowest level that is written, as a number; shared by all clones.
    level: Arc<AtomicU8>,
    path: Arc<Path>,
}

impl Log {
    /// Starts the log thread; if the system has no thread left, logging is disabled.
    ///
    /// A file of `cap` bytes or more is renamed to `<path>.1` before the next entry.
    pub(super) fn start(path: PathBuf, level: Level, cap: u64) -> Self {
        let (sender, receiver) = sync_channel(QUEUE);
        let dropped = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&dropped);
        let place = Arc::from(path.as_path());
        let thread = std::thread::Builder::new()
            .name("acp-log".to_owned())
            .spawn(move || Writer::new(path, cap, counter).run(&receiver));
        Self {
            queue: thread.is_ok().then_some(sender),
            dropped,
            level: Arc::new(AtomicU8::new(level as u8)),
            path: place,
        }
    }

    /// Returns the path of the log file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether entries of this level are written.
    pub(super) fn takes(&self, level: Level) -> bool {
        level as u8 >= self.level.load(Ordering::Relaxed)
    }

    /// Sets the lowest level that is written from now on.
    pub(super) fn set_level(&self, level: Level) {
        self.level.store(level as u8, Ordering::Relaxed);
    }

    /// Logs one line; `from` names the source ("core", an agent's name).
    pub(super) fn line(&self, level: Level, from: &str, line: &str) {
        if !self.takes(level) {
            return;
        }
        let entry = Entry::Line(format_entry(SystemTime::now(), level, from, line));
        if let Some(queue) = &self.queue
            && queue.try_send(entry).is_err()
        {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until all earlier entries are written, but at most `limit`.
    pub(super) fn flush(&self, limit: Duration) {
        let (done, written) = sync_channel(1);
        if let Some(queue) = &self.queue
            && queue.try_send(Entry::Flush(done)).is_ok()
        {
            // An error means that the thread is gone or the disk hangs; there is nothing to wait
            // for.
            let _ = written.recv_timeout(limit);
        }
    }
}

#[derive(Debug)]
enum Entry {
    Line(String),
    Flush(SyncSender<()>),
}

struct Writer {
    path: PathBuf,
    cap: u64,
    dropped: Arc<AtomicU64>,
    file: Option<File>,
}

impl Writer {
    fn new(path: PathBuf, cap: u64, dropped: Arc<AtomicU64>) -> Self {
        Self {
            path,
            cap,
            dropped,
            file: None,
        }
    }

    /// Writes entries until every sender is gone.
    fn run(mut self, queue: &Receiver<Entry>) {
        while let Ok(entry) = queue.recv() {
            match entry {
                Entry::Line(line) => self.write(&line),
                Entry::Flush(done) => {
                    // A full or closed channel means that the receiver gave up.
                    let _ = done.try_send(());
                }
            }
            let dropped = self.dropped.swap(0, Ordering::Relaxed);
            if dropped > 0 {
                let line = format!("the log could not keep up; lines dropped: {dropped}");
                self.write(&format_entry(SystemTime::now(), Level::Warn, "log", &line));
            }
        }
    }

    /// Writes one entry; after an error the file is reopened at the next entry.
    fn write(&mut self, entry: &str) {
        if !self.is_current() {
            self.file = open(&self.path);
        }
        let full = |file: &File| file.metadata().is_ok_and(|meta| meta.len() >= self.cap);
        if self.file.as_ref().is_some_and(full) {
            let mut old = self.path.clone().into_os_string();
            old.push(".1");
            // If the rename fails, the old file keeps growing.
            let _ = fs::rename(&self.path, old);
            self.file = open(&self.path);
        }
        if let Some(file) = &mut self.file
            && file.write_all(entry.as_bytes()).is_err()
        {
            self.file = None;
        }
    }

    /// Returns whether the open file is still the one at the path.
    fn is_current(&self) -> bool {
        let Some(Ok(open)) = self.file.as_ref().map(File::metadata) else {
            return false;
        };
        fs::metadata(&self.path)
            .is_ok_and(|there| (there.dev(), there.ino()) == (open.dev(), open.ino()))
    }
}

fn open(path: &Path) -> Option<File> {
    if let Some(folder) = path.parent() {
        // If this fails, opening fails with the same error.
        let _ = fs::create_dir_all(folder);
    }
    // Readable by the user only: the log may contain prompts and file contents.
    let options = &mut File::options();
    options
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
        .ok()
}

/// Formats an entry as one line: UTC time, level, source, text.
fn format_entry(time: SystemTime, level: Level, from: &str, line: &str) -> String {
    let level = match level {
        Level::Debug => "DEBUG",
        Level::Info => "INFO",
        Level::Warn => "WARN",
        Level::Error => "ERROR",
    };
    let mut entry = timestamp(time);
    // Writing to a String cannot fail.
    let _ = write!(entry, " {level:<5} {from}: ");
    let kept = head(line, ENTRY_BYTES);
    let rest = line.len() - kept.len();
    for c in kept.trim_end_matches('\n').chars() {
        match c {
            '\t' => entry.push(c),
            c if c.is_control() => entry.extend(c.escape_default()),
            c => entry.push(c),
        }
    }
    if rest > 0 {
        let _ = write!(entry, "… ({rest} bytes more)");
    }
    entry.push('\n');
    entry
}

/// Formats the time as `2026-11-20T10:39:12.345Z`.
fn timestamp(time: SystemTime) -> String {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let (days, seconds) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = civil(days);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        since.subsec_millis()
    )
}

/// Returns the Gregorian date `days` days after 1970-01-01.
///
/// Years are counted from March, which makes the leap day the last day of a year.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468; // from 0000-03-01
    let era = days / 146_097; // 400 years
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_time(seconds: u64, expected: &str) {
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(seconds * 1000 + 7);
        assert_eq!(timestamp(time), expected);
    }

    #[test]
    fn times_are_utc_dates() {
        check_time(0, "1970-01-01T00:00:00.007Z");
        check_time(951_782_400, "2000-02-29T00:00:00.007Z");
        check_time(1_709_251_199, "2024-02-29T23:59:59.007Z");
        check_time(1_735_689_599, "2024-12-31T23:59:59.007Z");
        check_time(4_107_542_400, "2100-03-01T00:00:00.007Z");
    }

    #[test]
    fn an_entry_is_one_line_of_bounded_length() {
        let entry = format_entry(
            SystemTime::UNIX_EPOCH,
            Level::Warn,
            "x",
            "a\tb\nc\u{1b}[m\n",
        );
        assert_eq!(
            entry,
            "1970-01-01T00:00:00.000Z WARN  x: a\tb\\nc\\u{1b}[m\n"
        );
        let long = format_entry(
            SystemTime::UNIX_EPOCH,
            Level::Warn,
            "x",
            &"ä".repeat(ENTRY_BYTES),
        );
        assert!(long.ends_with("… (16384 bytes more)\n"), "{}", long.len());
    }

    #[test]
    fn the_file_is_rotated_and_levels_are_kept() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("state/acp.log");
        let log = Log::start(path.clone(), Level::Info, 100);
        log.line(Level::Info, "one", &"x".repeat(100));
        log.line(Level::Debug, "two", "not wanted");
        log.line(Level::Error, "three", "wanted");
        log.flush(Duration::from_secs(10));
        let new = fs::read_to_string(&path).expect("the log");
        assert!(new.ends_with(" ERROR three: wanted\n"), "{new}");
        assert_eq!(new.lines().count(), 1);
        let old = fs::read_to_string(folder.path().join("state/acp.log.1")).expect("the old log");
        assert!(
            old.contains(" INFO  one: xxx") && old.lines().count() == 1,
            "{old}"
        );
    }

    #[test]
    fn the_level_can_be_set_later() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("acp.log");
        let log = Log::start(path.clone(), Level::Info, 1 << 20);
        let clone = log.clone();
        log.line(Level::Debug, "x", "before");
        clone.set_level(Level::Debug);
        log.line(Level::Debug, "x", "after");
        log.flush(Duration::from_secs(10));
        let text = fs::read_to_string(&path).expect("the log");
        assert!(text.contains("after") && !text.contains("before"), "{text}");
    }

    #[test]
    fn a_log_rotated_by_another_process_is_reopened() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("acp.log");
        let log = Log::start(path.clone(), Level::Info, 1 << 20);
        log.line(Level::Info, "x", "one");
        log.flush(Duration::from_secs(10));
        fs::rename(&path, folder.path().join("elsewhere")).expect("a rename");
        log.line(Level::Info, "x", "two");
        log.flush(Duration::from_secs(10));
        let new = fs::read_to_string(&path).expect("the new log");
        assert!(new.ends_with("x: two\n") && !new.contains("one"), "{new}");
    }

    #[test]
    fn an_unwritable_log_does_no_harm() {
        let log = Log::start(PathBuf::from("/dev/null/acp.log"), Level::Info, 100);
        log.line(Level::Error, "x", "lost");
        log.flush(Duration::from_secs(10));
    }
}
