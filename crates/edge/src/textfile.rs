//! A text file that is read on the main thread, beside a save: the one that a `:write` replaces, whose
//! content is in no buffer, or the one that it has written.
//!
//! Invariant: reading takes no longer than Neovim takes to write such a file, whose size is limited;
//! nothing waits.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use crate::paths;
use acp_core::spine::event::{Overwritten, Stamp};

/// The size of the largest file that is read; before a larger one is replaced, Neovim asks.
const MAX_BYTES: u64 = 16 << 20;

/// A text file, open, and its content.
#[derive(Debug)]
pub struct TextFile {
    file: File,
    content: Overwritten,
}

impl TextFile {
    /// Reads a text file; `None` when there is none, when it cannot be read, when it is too large, or
    /// when it is empty: its writer may have emptied it just now.
    pub fn read(path: &Path) -> Option<Self> {
        // A pipe that has taken the file's place would block `open`.
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(flags.bits().cast_signed());
        let mut file = options.open(path).ok()?;
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        let content = read(&mut file, MAX_BYTES + 1).ok()?;
        let is_whole = content.bytes.len() as u64 <= MAX_BYTES;
        let is_text = !content.bytes.is_empty() && !content.bytes.contains(&0);
        (is_whole && is_text).then_some(Self { file, content })
    }

    /// Returns the stamp of the file when it was read.
    pub fn stamp(&self) -> Stamp {
        self.content.stamp
    }

    /// Returns the content that was read.
    pub fn bytes(&self) -> &[u8] {
        &self.content.bytes
    }

    /// Returns what the file had; `now` is the file in its place after the save.
    ///
    /// A writer that still had it open may have completed it since. If the save has put another
    /// file there, the old one can still be read.
    pub fn overwritten(mut self, now: Option<Stamp>) -> Overwritten {
        let before = self.content.stamp;
        let is_another = now.is_none_or(|now| now.inode != before.inode);
        let there = self.file.metadata().ok().as_ref().map(paths::stamp_of);
        match is_another && there != Some(before) {
            true => read(&mut self.file, u64::MAX).unwrap_or(self.content),
            false => self.content,
        }
    }
}

/// Reads at most `limit` bytes of a file, from its start.
fn read(file: &mut File, limit: u64) -> io::Result<Overwritten> {
    file.rewind()?;
    let stamp = paths::stamp_of(&file.metadata()?);
    let capacity = stamp.bytes.min(limit);
    let mut bytes = Vec::with_capacity(usize::try_from(capacity).unwrap_or(0));
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(Overwritten { stamp, bytes })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Reads a file, of which a writer has written `half` and goes on after the save, which puts
    /// another file in its place or not.
    #[track_caller]
    fn check(is_replaced: bool, want: &str) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        let mut writer = File::create(&path).expect("a file");
        writer.write_all(b"half").expect("it can be written");
        let file = TextFile::read(&path).expect("a text");
        if is_replaced {
            std::fs::remove_file(&path).expect("it is there");
            std::fs::write(&path, "saved").expect("it can be written");
        }
        writer.write_all(b" and half").expect("it can be written");
        let there = file.overwritten(paths::stamp(&path));
        assert_eq!(String::from_utf8_lossy(&there.bytes), want);
        assert_eq!(there.stamp.bytes, want.len() as u64);
    }

    #[test]
    fn a_file_that_was_replaced_is_read_to_the_end_its_writer_has_given_it() {
        check(true, "half and half");
    }

    #[test]
    fn a_file_that_was_written_in_place_is_what_it_was_before() {
        check(false, "half");
    }

    #[test]
    fn a_file_over_the_limit_is_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        for (bytes, is_read) in [(MAX_BYTES, true), (MAX_BYTES + 1, false)] {
            let text = vec![b'a'; usize::try_from(bytes).expect("it fits")];
            std::fs::write(&path, text).expect("it can be written");
            assert_eq!(TextFile::read(&path).is_some(), is_read);
        }
    }

    #[test]
    fn what_is_no_text_is_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        for content in ["", "a\0b"] {
            let path = folder.path().join("a");
            std::fs::write(&path, content).expect("it can be written");
            assert!(TextFile::read(&path).is_none());
        }
        assert!(TextFile::read(folder.path()).is_none());
        assert!(TextFile::read(&folder.path().join("none")).is_none());
    }
}
