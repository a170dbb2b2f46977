//! What is known of each file of a project, and how that is written down.
//!
//! Invariant: a manifest that was not written to its end, or has come to harm, is none:
//! [`decode`] returns exactly what [`encode`] was given, or nothing.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use crate::core::event::Stamp;
use crate::core::project::Blob;

/// Everything that is known of a project, by paths below its root.
pub(super) type Entries = BTreeMap<PathBuf, Entry>;

/// What is known of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) stat: Stat,
    pub(super) what: What,
    /// The stat tells this content from any later one. If not (it was read within the tick of the
    /// clock in which it was written), the file is read again.
    pub(super) settled: bool,
}

/// What a file was when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    Text(Blob),
    Bytes(Blob),
    /// Its content is not kept: it is too large.
    Large,
    /// Its content is not kept so far: there was no time, or no room.
    Later,
    Link(PathBuf),
    /// The words say why.
    Unreadable(String),
}

/// Tells a file from the one that was there before, without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stat {
    pub(super) inode: u64,
    pub(super) bytes: u64,
    /// The kind of file and its permission bits.
    pub(super) mode: u32,
    /// When its content, and when anything about it was changed: seconds and nanoseconds.
    pub(super) modified: (i64, i64),
    pub(super) changed: (i64, i64),
    /// When it was made, where the file system knows.
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
            // A duration's seconds fit.
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

    /// Returns whether the content must be another: all that can be said without reading it.
    pub(super) fn same_content(&self, other: &Self) -> bool {
        self.stamp() == other.stamp()
    }

    /// Returns whether both are one file under two names, one after the other.
    ///
    /// The number alone says little: that of a deleted file is given to the next new one.
    pub(super) fn same_file(&self, other: &Self) -> bool {
        self.inode == other.inode
            && match (self.born, other.born) {
                (Some(born), Some(other)) => born == other,
                _ => self.same_content(other),
            }
    }
}

/// How a manifest begins; another number for another shape.
const MAGIC: &[u8; 8] = b"acpmanf1";
const HASH: usize = 32;

/// Returns a manifest's bytes.
pub(super) fn encode(entries: &Entries) -> Vec<u8> {
    let mut out = Vec::with_capacity(entries.len() * 160);
    out.extend_from_slice(&(entries.len() as u64).to_le_bytes());
    for (path, entry) in entries {
        put_bytes(&mut out, path.as_os_str().as_bytes());
        put_stat(&mut out, &entry.stat);
        out.push(u8::from(entry.settled));
        let (tag, bytes): (u8, &[u8]) = match &entry.what {
            What::Text(blob) => (0, &blob.0),
            What::Bytes(blob) => (1, &blob.0),
            What::Large => (2, &[]),
            What::Later => (3, &[]),
            What::Link(to) => (4, to.as_os_str().as_bytes()),
            What::Unreadable(why) => (5, why.as_bytes()),
        };
        out.push(tag);
        put_bytes(&mut out, bytes);
    }
    let packed = lz4_flex::block::compress_prepend_size(&out);
    let mut all = Vec::with_capacity(MAGIC.len() + HASH + packed.len());
    all.extend_from_slice(MAGIC);
    all.extend_from_slice(blake3::hash(&packed).as_bytes());
    all.extend_from_slice(&packed);
    all
}

/// Returns what a manifest says; `None` when it is damaged.
pub(super) fn decode(bytes: &[u8]) -> Option<Entries> {
    let (hash, packed) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<HASH>()?;
    if blake3::hash(packed) != *hash {
        return None;
    }
    let bytes = lz4_flex::block::decompress_size_prepended(packed).ok()?;
    let mut from = Reader(&bytes);
    let count = from.number()?;
    let mut entries = Entries::new();
    for _ in 0..count {
        let path = PathBuf::from(OsString::from_vec(from.bytes()?.to_vec()));
        let stat = from.stat()?;
        let settled = from.byte()? != 0;
        let what = match from.byte()? {
            0 => What::Text(from.blob()?),
            1 => What::Bytes(from.blob()?),
            2 => from.bytes().map(|_| What::Large)?,
            3 => from.bytes().map(|_| What::Later)?,
            4 => What::Link(OsString::from_vec(from.bytes()?.to_vec()).into()),
            5 => What::Unreadable(String::from_utf8_lossy(from.bytes()?).into_owned()),
            _ => return None,
        };
        let entry = Entry {
            stat,
            what,
            settled,
        };
        entries.insert(path, entry);
    }
    from.0.is_empty().then_some(entries)
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

fn put_stat(out: &mut Vec<u8>, stat: &Stat) {
    let born = stat.born.unwrap_or((i64::MIN, 0));
    out.extend_from_slice(&stat.inode.to_le_bytes());
    out.extend_from_slice(&stat.bytes.to_le_bytes());
    out.extend_from_slice(&u64::from(stat.mode).to_le_bytes());
    for (seconds, nanos) in [stat.modified, stat.changed, born] {
        out.extend_from_slice(&seconds.to_le_bytes());
        out.extend_from_slice(&nanos.to_le_bytes());
    }
}

/// Takes a manifest's parts off its front.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn time(&mut self) -> Option<(i64, i64)> {
        Some((self.number()?.cast_signed(), self.number()?.cast_signed()))
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.number()?).ok()?;
        self.take(len)
    }

    fn blob(&mut self) -> Option<Blob> {
        Some(Blob(self.bytes()?.try_into().ok()?))
    }

    fn stat(&mut self) -> Option<Stat> {
        Some(Stat {
            inode: self.number()?,
            bytes: self.number()?,
            mode: u32::try_from(self.number()?).ok()?,
            modified: self.time()?,
            changed: self.time()?,
            born: self
                .time()
                .map(|born| (born.0 != i64::MIN).then_some(born))?,
        })
    }
}
