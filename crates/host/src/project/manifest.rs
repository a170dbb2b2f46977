//! The known state of each file of a project, and its encoding.
//!
//! Invariant: [`decode`] returns exactly what [`encode`] was given, except that contents in git are
//! not stored yet; or nothing if the manifest is incomplete or damaged.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use super::codec::{Reader, put_bytes, put_number, put_path, put_time, seal, unseal};
use super::git_index::Object;
use acp_core::spine::event::Stamp;
use acp_core::spine::project::Blob;

/// The known state of a project, by path below its root.
pub(super) type Entries = BTreeMap<PathBuf, Entry>;

/// The known state of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) stat: Stat,
    pub(super) what: What,
    /// Whether a later change must change the stat. If not (the file was read within the clock tick
    /// of its last change), the file is read again.
    pub(super) settled: bool,
}

/// A file's content or kind when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    Text(Blob),
    Bytes(Blob),
    /// Too large to be stored.
    Large,
    /// Not stored yet, or not for lack of space.
    Later,
    /// Git's object database has it.
    Git(Object),
    Link(PathBuf),
    /// The reason is a sentence fragment.
    Unreadable(String),
}

/// Metadata that distinguishes a file from its predecessor without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) inode: u64,
    pub(super) bytes: u64,
    /// File type and permission bits.
    pub(super) mode: u32,
    /// Times of the last change of the content and of the metadata: seconds and nanoseconds.
    pub(super) modified: (i64, i64),
    pub(super) changed: (i64, i64),
    /// Creation time, if the file system records it.
    pub(super) born: Option<(i64, i64)>,
}

impl Entry {
    pub(super) fn blob(&self) -> Option<Blob> {
        match self.what {
            What::Text(blob) | What::Bytes(blob) => Some(blob),
            _ => None,
        }
    }
}

impl Stat {
    pub(super) fn of(meta: &Metadata) -> Self {
        let born = meta.created().ok();
        let born = born.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Self {
            inode: meta.ino(),
            bytes: meta.len(),
            mode: meta.mode(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
            // The seconds of a duration fit.
            born: born.map(|born| (born.as_secs().cast_signed(), born.subsec_nanos().into())),
        }
    }

    /// Returns the permission bits.
    pub(super) fn permissions(&self) -> u32 {
        self.mode & 0o7777
    }

    pub(super) fn stamp(&self) -> Stamp {
        Stamp {
            inode: self.inode,
            bytes: self.bytes,
            modified: self.modified,
        }
    }

    /// Returns whether the content must be the same, as far as the stats tell.
    pub(super) fn same_content(&self, other: &Self) -> bool {
        self.stamp() == other.stamp()
    }

    /// Returns whether both are the same file under two consecutive names.
    ///
    /// The inode alone is not enough: a new file may get the inode of a deleted one.
    pub(super) fn same_file(&self, other: &Self) -> bool {
        self.inode == other.inode
            && match (self.born, other.born) {
                (Some(born), Some(other)) => born == other,
                _ => self.same_content(other),
            }
    }
}

/// The first bytes of a manifest; another format gets another number.
const MAGIC: &[u8; 8] = b"acpmanf1";

/// Encodes a manifest.
pub(super) fn encode(entries: &Entries) -> Vec<u8> {
    let mut out = Vec::with_capacity(entries.len() * 160);
    put_number(&mut out, entries.len() as u64);
    for (path, entry) in entries {
        put_path(&mut out, path);
        put_stat(&mut out, &entry.stat);
        out.push(u8::from(entry.settled));
        let (tag, bytes): (u8, &[u8]) = match &entry.what {
            What::Text(blob) => (0, &blob.0),
            What::Bytes(blob) => (1, &blob.0),
            What::Large => (2, &[]),
            // Git may have dropped it by the next start.
            What::Later | What::Git(_) => (3, &[]),
            What::Link(to) => (4, to.as_os_str().as_bytes()),
            What::Unreadable(why) => (5, why.as_bytes()),
        };
        out.push(tag);
        put_bytes(&mut out, bytes);
    }
    seal(MAGIC, &out)
}

/// Decodes a manifest; `None` if it is damaged.
pub(super) fn decode(bytes: &[u8]) -> Option<Entries> {
    let bytes = unseal(MAGIC, bytes)?;
    let mut from = Reader(&bytes);
    let count = from.number()?;
    let mut entries = Vec::new();
    for _ in 0..count {
        let path = from.path()?;
        let stat = take_stat(&mut from)?;
        let settled = from.byte()? != 0;
        let what = match from.byte()? {
            0 => What::Text(from.blob()?),
            1 => What::Bytes(from.blob()?),
            2 => from.bytes().map(|_| What::Large)?,
            3 => from.bytes().map(|_| What::Later)?,
            4 => What::Link(from.path()?),
            5 => What::Unreadable(String::from_utf8_lossy(from.bytes()?).into_owned()),
            _ => return None,
        };
        let entry = Entry {
            stat,
            what,
            settled,
        };
        entries.push((path, entry));
    }
    // Built at once, the map takes half the memory.
    from.is_empty().then(|| entries.into_iter().collect())
}

fn put_stat(out: &mut Vec<u8>, stat: &Stat) {
    let born = stat.born.unwrap_or((i64::MIN, 0));
    for number in [stat.inode, stat.bytes, stat.mode.into()] {
        put_number(out, number);
    }
    for time in [stat.modified, stat.changed, born] {
        put_time(out, time);
    }
}

fn take_stat(from: &mut Reader) -> Option<Stat> {
    Some(Stat {
        inode: from.number()?,
        bytes: from.number()?,
        mode: u32::try_from(from.number()?).ok()?,
        modified: from.time()?,
        changed: from.time()?,
        born: from
            .time()
            .map(|born| (born.0 != i64::MIN).then_some(born))?,
    })
}
