//! The folder of records: creating, listing, reading, pruning.
//!
//! Invariant: a record that is being written is never removed.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::FlockOperation;

use super::writers::RecordWriter;
use crate::locked::Locked;
use acp_core::conversation::history::lines;
use acp_core::spine::history::{Bounds, Header, Kept, Meta, Past, Record, RecordName};

/// File extension of records.
const ENDING: &str = "jsonl";

/// Only the end of a longer record is read.
const MAX_READ: u64 = 16 << 20;

/// Maximum size and number of all records; beyond either, the oldest are removed.
const MAX_BYTES: u64 = 512 << 20;
const MAX_RECORDS: usize = 2_000;

/// Bytes read from the beginning and the end of a record to list it.
const HEAD: usize = 64 << 10;
const TAIL: u64 = 32 << 10;

/// The folder of records.
#[derive(Debug)]
pub(super) struct RecordFolder {
    folder: PathBuf,
}

impl RecordFolder {
    /// Returns the records in a folder; the folder is created when first needed.
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Returns the current time in seconds since 1970.
    pub(super) fn now(&self) -> u64 {
        since(SystemTime::now()).as_secs()
    }

    /// Creates a record.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn begin(&self, header: &Header) -> io::Result<RecordWriter> {
        let mut writing = self.begin_empty()?;
        writing.write(&lines::first_line(header))?;
        Ok(writing)
    }

    fn begin_empty(&self) -> io::Result<RecordWriter> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)?;
        let mut number = since(SystemTime::now()).as_nanos();
        loop {
            let name = RecordName(format!("{number:020}-{}", std::process::id()));
            let mut options = File::options();
            let file = options.append(true).create_new(true).mode(0o600);
            match file.open(self.path(&name)) {
                Ok(file) => {
                    return Ok(RecordWriter::new(name, lock(file)?));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Continues a record. If another process is writing it, copies it; if it no longer exists,
    /// creates a new one.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn go_on(&self, name: &RecordName, header: &Header) -> io::Result<RecordWriter> {
        let path = self.path(name);
        let file = File::options().read(true).append(true).open(&path);
        let file = match file {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return self.begin(header),
            file => file?,
        };
        match lock(file) {
            Ok(file) if is_at(&file, &path) => {
                let mut writing = RecordWriter::new(name.clone(), file);
                writing.is_torn = !ends_a_line(&mut writing.file)?;
                Ok(writing)
            }
            // Removed after it was opened.
            Ok(_) => self.begin(header),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let mut writing = self.begin_empty()?;
                io::copy(&mut File::open(&path)?, &mut *writing.file)?;
                writing.is_torn = true;
                Ok(writing)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the records of one project or all, newest first; of several records of a session,
    /// only the newest.
    pub(super) fn list(&self, project: Option<&Path>) -> Vec<Kept> {
        let project = project.map(|path| path.to_string_lossy().into_owned());
        let is_wanted = |header: &Header| project.as_ref().is_none_or(|p| *p == header.project);
        let mut all: Vec<(SystemTime, Kept)> = Vec::new();
        for (name, meta) in self.files() {
            let time = modified(&meta);
            if let Some((header, meta_line)) = self.look(&name, is_wanted) {
                let kept = Kept {
                    name,
                    header,
                    meta: meta_line,
                    updated: since(time).as_secs(),
                    session: None,
                };
                all.push((time, kept));
            }
        }
        all.sort_by(|(a, one), (b, two)| (b, &two.name).cmp(&(a, &one.name)));
        let mut known = HashSet::new();
        let mut kept: Vec<Kept> = all.into_iter().map(|(_, kept)| kept).collect();
        kept.retain(|kept| {
            // A copy shares the header of its original; the creation time is compared because
            // agents may reuse an id.
            let (header, id) = (kept.header.clone(), kept.meta.id.clone());
            id.is_none_or(|id| known.insert((header.agent, id, header.created)))
        });
        kept
    }

    /// Returns the newest record of a session.
    pub(super) fn find(&self, agent: &str, id: &str) -> Option<(RecordName, Past)> {
        let all = self.list(None);
        let is_it =
            |kept: &&Kept| kept.header.agent == agent && kept.meta.id.as_deref() == Some(id);
        // One that was begun, and never filled, does not hide an older one.
        all.iter().filter(is_it).find_map(|kept| {
            let past = self.read(&kept.name).ok()?;
            (!past.entries.is_empty()).then(|| (kept.name.clone(), past))
        })
    }

    /// Reads a record, or the end of a long one.
    ///
    /// # Errors
    /// A sentence.
    pub(super) fn read(&self, name: &RecordName) -> Result<Past, String> {
        let path = self.path(name);
        let words = |error: io::Error| format!("{} could not be read: {error}", path.display());
        let mut file = File::open(&path).map_err(words)?;
        let bytes = file.metadata().map_err(words)?.len();
        let mut text = Vec::new();
        if bytes <= MAX_READ {
            file.read_to_end(&mut text).map_err(words)?;
            return Past::of(&String::from_utf8_lossy(&text))
                .ok_or_else(|| format!("{} is not a session record", path.display()));
        }
        let header = self.look(name, |_| true).map(|(header, _)| header);
        let header = header.ok_or_else(|| format!("{} is not a session record", path.display()))?;
        file.seek(SeekFrom::Start(bytes - MAX_READ))
            .map_err(words)?;
        file.read_to_end(&mut text).map_err(words)?;
        let mut past = Past::new(header);
        past.is_cut = true;
        // The first line is incomplete.
        let text = String::from_utf8_lossy(&text);
        text.lines().skip(1).for_each(|line| past.take(line));
        Ok(past)
    }

    /// Removes a record.
    ///
    /// # Errors
    /// A sentence; the record still exists in that case.
    pub(super) fn delete(&self, name: &RecordName) -> Result<(), String> {
        let path = self.path(name);
        let words = |error: io::Error| format!("{} could not be removed: {error}", path.display());
        // NFS locks a file alone only for one who may write it.
        let file = match File::options().read(true).write(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            file => file.map_err(words)?,
        };
        let Ok(_lock) = lock(file) else {
            return Err("another Neovim has it open".to_owned());
        };
        fs::remove_file(&path).map_err(words)
    }

    /// Removes the oldest records until the rest is within the limits.
    pub(super) fn prune(&self, bounds: Bounds) {
        let mut files: Vec<(RecordName, Metadata)> = self.files().collect();
        files.sort_by_key(|(_, meta)| Reverse(modified(meta)));
        let age = Duration::from_secs(u64::from(bounds.days) * 24 * 60 * 60);
        let mut bytes = 0;
        for (at, (name, meta)) in files.iter().enumerate() {
            bytes += meta.len();
            let is_old = modified(meta).elapsed().is_ok_and(|old| old > age);
            if is_old || at >= MAX_RECORDS || bytes > MAX_BYTES {
                // A record in use stays.
                let _ = self.delete(name);
            }
        }
    }

    /// Returns a sentence that says why the session is not recorded.
    pub(super) fn words(&self, error: &io::Error) -> String {
        format!(
            "This session is not being saved: {error}; check {}.",
            self.folder.display()
        )
    }

    fn files(&self) -> impl Iterator<Item = (RecordName, Metadata)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| {
            let path = entry.path();
            let is_record = path.extension().is_some_and(|end| end == ENDING);
            let name = path.file_stem()?.to_str()?.to_owned();
            let meta = entry.metadata().ok()?;
            is_record.then_some((RecordName(name), meta))
        })
    }

    /// Reads what lists show from the beginning and the end of a record.
    fn look(
        &self,
        name: &RecordName,
        is_wanted: impl Fn(&Header) -> bool,
    ) -> Option<(Header, Meta)> {
        let mut file = File::open(self.path(name)).ok()?;
        let mut head = Vec::new();
        (&mut file).take(HEAD as u64).read_to_end(&mut head).ok()?;
        let head = String::from_utf8_lossy(&head);
        let mut lines = head.lines();
        let header = lines::header(lines.next()?).filter(is_wanted)?;
        let bytes = file.metadata().ok()?.len();
        let mut tail = Vec::new();
        let from = bytes.saturating_sub(TAIL);
        file.seek(SeekFrom::Start(from)).ok()?;
        file.take(TAIL).read_to_end(&mut tail).ok()?;
        let tail = String::from_utf8_lossy(&tail);
        let meta = tail.lines().rev().chain(lines.rev()).find_map(meta);
        let meta = meta.unwrap_or_else(|| Past::new(header.clone()).meta);
        Some((header, meta))
    }

    /// Returns the path of a record. Other characters are dropped, so a name cannot lead elsewhere.
    fn path(&self, name: &RecordName) -> PathBuf {
        let is_ours = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let name: String = name.0.chars().filter(|c| is_ours(*c)).collect();
        self.folder.join(name).with_extension(ENDING)
    }
}

fn meta(line: &str) -> Option<Meta> {
    match lines::record(line).filter(|_| line.starts_with("{\"meta\"")) {
        Some(Record::Meta(meta)) => Some(meta),
        _ => None,
    }
}

fn since(time: SystemTime) -> Duration {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default()
}

fn modified(meta: &Metadata) -> SystemTime {
    meta.modified().unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Returns whether an open file is still the one at `path`.
fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(open), Ok(there)) = (file.metadata(), fs::metadata(path)) else {
        return false;
    };
    (open.dev(), open.ino()) == (there.dev(), there.ino())
}

fn ends_a_line(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// Locks a file for writing.
fn lock(file: File) -> io::Result<Locked> {
    Locked::new(file, FlockOperation::NonBlockingLockExclusive)
}
