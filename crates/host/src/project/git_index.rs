//! What git's index says of the files below a folder: their stats, and the objects with their
//! contents.
//!
//! A file whose stat is the one in the index holds what its object holds, unless git converts
//! contents. Line ends and `ident` change a content's size, so those of another size than their
//! object are left out; filters and encodings need not, so files with these attributes are left out
//! too. `git ls-files` is asked, not a reader of the index: it knows each format of the index (split,
//! sparse, of either hash), and this client starts git anyway.
//!
//! Invariant: in doubt a file is left out, and its content is copied.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::git::{CatFile, Git};
use super::manifest::Stat;
use super::reading::{is_older, nanoseconds};
use super::store::Loss;

/// One line per entry of the index, before its stat.
const FORMAT: &str = "--format=%(objectmode) %(objectname) %(objectsize) %(stage) %(path)";

/// Bits of an entry's flags: assumed unchanged, skipped in the working tree, to be added later.
const UNSURE: u32 = 0x8000 | 1 << 30 | 1 << 29;

/// The name of a content in git's object database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Object {
    bytes: [u8; 32],
    len: u8,
}

/// A file in the index whose content is its object's, as long as its stat is this one.
#[derive(Debug)]
pub(super) struct Indexed {
    /// Below the folder that was asked about.
    pub(super) path: PathBuf,
    pub(super) object: Object,
    pub(super) stat: IndexStat,
}

/// A file's stat as the index has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IndexStat {
    /// The low 32 bits, like the size.
    inode: u32,
    bytes: u32,
    mode: u32,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Object {
    fn from_hex(hex: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        let len = hex.len() / 2;
        for (at, byte) in bytes.get_mut(..len)?.iter_mut().enumerate() {
            *byte = u8::from_str_radix(hex.get(2 * at..2 * at + 2)?, 16).ok()?;
        }
        let len = u8::try_from(len).ok()?;
        Some(Self { bytes, len })
    }

    fn hex(&self) -> String {
        let bytes = self.bytes.iter().take(usize::from(self.len));
        bytes.map(|byte| format!("{byte:02x}")).collect()
    }
}

impl IndexStat {
    /// Returns whether a file still has this stat.
    pub(super) fn is_of(&self, stat: &Stat) -> bool {
        // Git keeps only whether a file is executable by its owner.
        let is_executable = |mode: u32| mode & 0o100 != 0;
        let low = |number: u64| u32::try_from(number & u64::from(u32::MAX)).ok();
        low(stat.inode) == Some(self.inode)
            && low(stat.bytes) == Some(self.bytes)
            && is_executable(stat.mode) == is_executable(self.mode)
            && stat.modified == self.modified
            && stat.changed == self.changed
    }
}

impl Git {
    /// Returns the files of the index below `folder` whose objects hold their contents; none if git
    /// is missing, too old, or lacks an object.
    pub(super) fn indexed(&self, folder: &Path) -> Vec<Indexed> {
        self.read_index(folder).unwrap_or_default()
    }

    fn read_index(&self, folder: &Path) -> io::Result<Vec<Indexed>> {
        let place = self.ask(folder, &["rev-parse", "--git-path", "index"])?;
        let place = folder.join(OsStr::from_bytes(place.trim_ascii_end()));
        // Before the index is read: a younger one would hide that a file is as young as its entry.
        let written = fs::metadata(place)?;
        let written = nanoseconds((written.mtime(), written.mtime_nsec()));
        let listing = ["ls-files", "-z", "--cached", "--debug", FORMAT];
        let mut files = Vec::new();
        self.stream(folder, &listing, None, |from| {
            while let Some(entry) = next_entry(from)? {
                // A file changed in the tick in which git saw it may have changed afterwards.
                let is_older = |time| is_older(time, written);
                files
                    .extend(entry.filter(|file| {
                        is_older(file.stat.modified) && is_older(file.stat.changed)
                    }));
            }
            Ok(())
        })?;
        let converted = self.converted(folder, &files)?;
        files.retain(|file| !converted.contains(&file.path));
        Ok(files)
    }

    /// Returns the files whose contents a filter or an encoding converts.
    fn converted(&self, folder: &Path, files: &[Indexed]) -> io::Result<HashSet<PathBuf>> {
        let mut paths = Vec::new();
        for file in files {
            paths.extend_from_slice(file.path.as_os_str().as_bytes());
            paths.push(0);
        }
        let mut converted = HashSet::new();
        let question = [
            "check-attr",
            "-z",
            "--stdin",
            "filter",
            "working-tree-encoding",
        ];
        let mut answers = 0;
        self.stream(folder, &question, Some(paths), |from| {
            while let Some(path) = field(from)? {
                let (_, value) = (field(from)?, field(from)?);
                let value = value.ok_or(io::ErrorKind::UnexpectedEof)?;
                answers += 1;
                if value != b"unspecified" && value != b"unset" {
                    converted.insert(PathBuf::from(OsStr::from_bytes(&path)));
                }
            }
            Ok(())
        })?;
        match answers == 2 * files.len() {
            true => Ok(converted),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Returns contents of the repository above `folder`, in this order.
    pub(super) fn each_content(
        &self,
        folder: &Path,
        objects: &[Object],
    ) -> impl Iterator<Item = Result<Vec<u8>, Loss>> {
        let questions = objects.iter().map(|object| object.hex().into_bytes());
        let mut cat_file = self.cat_file_in(folder, "--batch", questions.collect());
        (0..objects.len()).map(move |_| {
            let content = match &mut cat_file {
                Ok(cat_file) => self.content(cat_file),
                Err(error) => Err(again(error)),
            };
            content
                .map_err(Loss::Io)
                .and_then(|it| it.ok_or(Loss::Gone))
        })
    }

    fn content(&self, cat_file: &mut CatFile) -> io::Result<Option<Vec<u8>>> {
        match cat_file.answer()? {
            Some(blob) => cat_file.content(blob.bytes, self.cap),
            None => Ok(None),
        }
    }
}

/// Returns the same error.
fn again(error: &io::Error) -> io::Error {
    let raw = error.raw_os_error().map(io::Error::from_raw_os_error);
    raw.unwrap_or_else(|| error.kind().into())
}

/// Reads the next entry of `git ls-files`; the inner `None` is one to leave out.
///
/// # Errors
/// The output ends early or has another form.
fn next_entry(from: &mut impl BufRead) -> io::Result<Option<Option<Indexed>>> {
    let Some(name) = field(from)? else {
        return Ok(None);
    };
    let mut stat = String::new();
    for _ in 0..5 {
        from.read_line(&mut stat)?;
    }
    let entry = entry(&name, &stat);
    entry.map(Some).ok_or(io::ErrorKind::InvalidData.into())
}

/// Reads an entry of these words and this stat, of which each line has fields like `size: 12`.
fn entry(name: &[u8], stat: &str) -> Option<Option<Indexed>> {
    let mut parts = name.splitn(5, |&byte| byte == b' ');
    let mut word = || std::str::from_utf8(parts.next()?).ok();
    let (mode, object, size, stage) = (word()?, word()?, word()?, word()?);
    let path = PathBuf::from(OsStr::from_bytes(parts.next()?));
    let value = |key: &str| {
        let mut fields = stat.split(['\n', '\t']);
        fields.find_map(|field| field.trim_start().strip_prefix(key)?.strip_prefix(": "))
    };
    let number = |key: &str| value(key)?.parse().ok();
    let time = |key: &str| {
        let (seconds, nanos) = value(key)?.split_once(':')?;
        Some((seconds.parse().ok()?, nanos.parse().ok()?))
    };
    let flags = u32::from_str_radix(value("flags")?, 16).ok()?;
    let stat = IndexStat {
        inode: number("ino")?,
        bytes: number("size")?,
        mode: u32::from_str_radix(mode, 8).ok()?,
        modified: time("mtime")?,
        changed: time("ctime")?,
    };
    let is_file = matches!(stat.mode, 0o100_644 | 0o100_755);
    let is_whole = size.parse() == Ok(stat.bytes);
    let is_sure = is_file && is_whole && stage == "0" && flags & UNSURE == 0;
    let object = Object::from_hex(object)?;
    Some(is_sure.then_some(Indexed { path, object, stat }))
}

/// Reads up to the next NUL byte; `None` at the end.
fn field(from: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    if from.read_until(0, &mut bytes)? == 0 {
        return Ok(None);
    }
    match bytes.pop() {
        Some(0) => Ok(Some(bytes)),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "  ctime: 20:2\n  mtime: 10:1\n  dev: 1\tino: 7\n  uid: 0\tgid: 0\n";

    /// Reads one entry; returns its path if its content is its object's.
    #[track_caller]
    fn check(name: &str, last: &str, path: Option<&str>) {
        let text = format!("{name}\0{STAT}{last}");
        let entry = next_entry(&mut text.as_bytes()).expect("readable");
        let found = entry.expect("an entry").map(|found| found.path);
        assert_eq!(found.as_deref(), path.map(Path::new), "{name} {last}");
    }

    #[test]
    fn an_entry_in_doubt_is_left_out() {
        let name = |mode: &str, size: &str, stage: &str| {
            format!("{mode} 9c525250d47185aab220416ead9833b99714a5db {size} {stage} a b")
        };
        let plain = name("100644", "5", "0");
        check(&plain, "  size: 5\tflags: 0\n", Some("a b"));
        check(&plain, "  size: 5\tflags: 40000\n", Some("a b"));
        check(
            &name("100755", "5", "0"),
            "  size: 5\tflags: 0\n",
            Some("a b"),
        );
        // Its line ends are converted, or git has marked it as changed.
        check(&plain, "  size: 6\tflags: 0\n", None);
        check(&plain, "  size: 0\tflags: 0\n", None);
        for flags in ["8000", "40000000", "20000000"] {
            check(&plain, &format!("  size: 5\tflags: {flags}\n"), None);
        }
        check(&name("100644", "5", "2"), "  size: 5\tflags: 0\n", None);
        check(&name("120000", "5", "0"), "  size: 5\tflags: 0\n", None);
        check(&name("160000", "-", "0"), "  size: 0\tflags: 0\n", None);
    }

    #[test]
    fn output_of_another_form_is_an_error() {
        for text in [
            "100644 00 5 0 a",
            "100644 00 5 0 a\0",
            "100644 00 5 0 a\0x\n",
        ] {
            assert!(next_entry(&mut text.as_bytes()).is_err(), "{text:?}");
        }
        assert!(next_entry(&mut &b""[..]).is_ok_and(|entry| entry.is_none()));
    }
}
