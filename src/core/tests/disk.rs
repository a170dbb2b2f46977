//! A fake disk: bytes by path, links, and operations that are carried out when the world says so.
//!
//! Invariant: operations on one path are carried out in the order in which they were issued, as
//! the host does; those on different paths in any.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::core::effect::HostEffect;
use crate::core::event::{DiskFile, DiskText, Event, Stamp};
use crate::core::format::Format;
use crate::core::ids::Token;
use crate::core::text::Text;

#[derive(Debug, Default)]
pub struct Disk {
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    /// Symbolic links and what they point to.
    pub links: BTreeMap<PathBuf, PathBuf>,
    /// Files that can be neither read nor written.
    pub broken: BTreeSet<PathBuf>,
    waiting: BTreeMap<PathBuf, VecDeque<HostEffect>>,
}

impl Disk {
    pub fn put(&mut self, path: &str, text: &str) {
        self.files.insert(path.into(), text.into());
    }

    /// Returns a file's bytes as text, or `None` when there is none.
    pub fn get(&self, path: &str) -> Option<String> {
        let bytes = self.files.get(&self.real(Path::new(path)))?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    pub fn real(&self, path: &Path) -> PathBuf {
        self.links.get(path).cloned().unwrap_or(path.to_owned())
    }

    pub fn queue(&mut self, path: PathBuf, operation: HostEffect) {
        self.waiting.entry(path).or_default().push_back(operation);
    }

    /// Returns the paths something is to be done at.
    pub fn busy(&self) -> Vec<PathBuf> {
        self.waiting.keys().cloned().collect()
    }

    /// Returns the token of the next operation on a path.
    pub fn next(&self, path: &Path) -> Option<Token> {
        match self.waiting.get(path)?.front()? {
            HostEffect::ReadDisk { token, .. }
            | HostEffect::WriteDisk { token, .. }
            | HostEffect::DeleteDisk { token, .. } => Some(*token),
            _ => None,
        }
    }

    /// Carries out the next operation on a path.
    pub fn work(&mut self, path: &Path) -> Option<Event> {
        let queue = self.waiting.get_mut(path)?;
        let operation = queue.pop_front();
        if queue.is_empty() {
            self.waiting.remove(path);
        }
        Some(match operation? {
            HostEffect::ReadDisk { token, path } => Event::DiskRead {
                token,
                result: self.read(&path),
            },
            HostEffect::WriteDisk {
                token,
                path,
                text,
                format,
            } => Event::DiskWritten {
                token,
                result: self.write(&path, &text, format),
            },
            HostEffect::DeleteDisk { token, path } => Event::DiskWritten {
                token,
                result: self.delete(&path),
            },
            other => panic!("no operation of a disk: {other:?}"),
        })
    }

    pub fn read(&self, path: &Path) -> Result<DiskFile, String> {
        self.check(path, "read")?;
        let real = self.real(path);
        let content = self.files.get(&real).map(|bytes| {
            let (format, text) = Format::decode(bytes);
            DiskText { text, format }
        });
        Ok(DiskFile {
            real,
            content,
            stamp: self.stamp(path),
        })
    }

    /// Returns the stamp of a file; it changes with the content.
    pub fn stamp(&self, path: &Path) -> Option<Stamp> {
        let bytes = self.files.get(&self.real(path))?;
        let mut hasher = std::hash::DefaultHasher::new();
        bytes.hash(&mut hasher);
        Some(Stamp {
            inode: 0,
            bytes: bytes.len() as u64,
            modified: (0, (hasher.finish() >> 1) as i64),
        })
    }

    pub fn write(&mut self, path: &Path, text: &Text, format: Format) -> Result<(), String> {
        self.check(path, "written")?;
        let bytes = format
            .encode(text)
            .map_err(|c| format!("{}: no byte for {c}", path.display()))?;
        self.files.insert(self.real(path), bytes);
        Ok(())
    }

    fn delete(&mut self, path: &Path) -> Result<(), String> {
        self.check(path, "deleted")?;
        self.files.remove(&self.real(path));
        Ok(())
    }

    fn check(&self, path: &Path, done: &str) -> Result<(), String> {
        match self.broken.contains(path) {
            true => Err(format!("{} could not be {done}", path.display())),
            false => Ok(()),
        }
    }
}
