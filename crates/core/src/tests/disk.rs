//! A fake disk: bytes by path, links, and operations that run when the world says so.
//!
//! Invariant: operations on one path run in the order in which they were issued, as in the host;
//! those on different paths run in any order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::event::Event;
use crate::spine::effect::{HostEffect, MayReplace};
use crate::spine::event::{DiskFile, DiskText, ReadError, Stamp, WriteError};
use crate::spine::project::{Blob, Body, FileState, KeptReview};
use crate::text::Text;
use crate::text::format::Format;

#[derive(Debug, Default)]
pub struct Disk {
    pub files: BTreeMap<PathBuf, Vec<u8>>,
    /// Symbolic links and their targets.
    pub links: BTreeMap<PathBuf, PathBuf>,
    /// Files that can be neither read nor written.
    pub broken: BTreeSet<PathBuf>,
    /// Files whose content the shadow may not read.
    pub closed: BTreeSet<PathBuf>,
    /// The times at which files were written and links were made.
    written: BTreeMap<PathBuf, u64>,
    /// The time: the number of writes so far.
    time: u64,
    /// Permission bits, where they differ from the default.
    pub modes: BTreeMap<PathBuf, u32>,
    /// Moved files, from and to, since the shadow last looked.
    pub moved: Vec<(PathBuf, PathBuf)>,
    /// The host keeps copies of texts only.
    pub keeps_nothing: bool,
    /// The host keeps no copy of texts either, so it reports them as bytes.
    pub keeps_no_text: bool,
    /// Copies of earlier contents, by name.
    blobs: BTreeMap<Blob, Vec<u8>>,
    waiting: BTreeMap<PathBuf, VecDeque<HostEffect>>,
}

impl Disk {
    /// Returns the disk as another Neovim finds it.
    pub fn left(&self) -> Self {
        Self {
            files: self.files.clone(),
            links: self.links.clone(),
            closed: self.closed.clone(),
            written: self.written.clone(),
            time: self.time,
            modes: self.modes.clone(),
            keeps_nothing: self.keeps_nothing,
            keeps_no_text: self.keeps_no_text,
            blobs: self.blobs.clone(),
            ..Self::default()
        }
    }

    pub fn put(&mut self, path: &str, text: &str) {
        self.set(path.into(), text.into());
    }

    /// Resolves a path; links of the folders above it are followed once.
    pub fn leads_to(&self, path: &Path) -> PathBuf {
        let mut above = path.ancestors();
        let link = above.find_map(|path| Some((path, self.links.get(path)?)));
        match link {
            Some((link, to)) => match path.strip_prefix(link) {
                Ok(rest) if !rest.as_os_str().is_empty() => to.join(rest),
                _ => to.clone(),
            },
            None => path.to_owned(),
        }
    }

    /// Replaces a file's bytes, and with them its stamp.
    pub fn set(&mut self, path: PathBuf, bytes: Vec<u8>) {
        self.dates(&path);
        self.files.insert(path, bytes);
    }

    /// Makes a symbolic link, or changes one.
    pub fn link(&mut self, path: impl AsRef<Path>, to: impl AsRef<Path>) {
        self.dates(path.as_ref());
        self.links
            .insert(path.as_ref().to_owned(), to.as_ref().to_owned());
    }

    fn dates(&mut self, path: &Path) {
        self.time += 1;
        self.written.insert(path.to_owned(), self.time);
    }

    /// Another program deletes a file.
    pub fn removes(&mut self, path: &str) {
        self.files.remove(Path::new(path));
        self.modes.remove(Path::new(path));
    }

    /// Another program sets a file's permission bits.
    pub fn chmods(&mut self, path: &str, mode: u32) {
        self.modes.insert(path.into(), mode);
    }

    /// Another program moves a file.
    pub fn moves(&mut self, from: &str, to: &str) {
        let (from, to) = (PathBuf::from(from), PathBuf::from(to));
        if let Some(bytes) = self.files.remove(&from) {
            self.carry(&from, &to, bytes);
            self.moved.push((from, to));
        }
    }

    fn carry(&mut self, from: &Path, to: &Path, bytes: Vec<u8>) {
        if let Some(mode) = self.modes.remove(from) {
            self.modes.insert(to.to_owned(), mode);
        }
        let written = self.written.get(from).copied().unwrap_or(0);
        self.written.insert(to.to_owned(), written);
        self.files.insert(to.to_owned(), bytes);
    }

    /// Returns the state of every path, as the shadow sees it.
    pub fn states(&mut self) -> BTreeMap<PathBuf, FileState> {
        let mut states = BTreeMap::new();
        for (path, bytes) in &self.files {
            let body = match bytes.contains(&0) || self.keeps_no_text {
                _ if self.closed.contains(path) => Body::Unreadable("not readable".into()),
                true => {
                    let blob = (!self.keeps_nothing).then(|| blob(bytes));
                    let kept = blob.map(|blob| (blob, bytes.clone()));
                    self.blobs.extend(kept);
                    Body::Bytes {
                        bytes: bytes.len() as u64,
                        blob,
                    }
                }
                false => {
                    let (format, text) = Format::decode(bytes);
                    Body::Text(DiskText { text, format })
                }
            };
            let state = FileState {
                body,
                mode: Some(self.modes.get(path).copied().unwrap_or(0o644)),
                stamp: self.stamp(path),
            };
            states.insert(path.clone(), state);
        }
        for (path, to) in &self.links {
            let state = FileState {
                body: Body::Link(to.clone()),
                mode: None,
                stamp: self.stamp_of_link(path),
            };
            states.insert(path.clone(), state);
        }
        states
    }

    /// Returns a file's bytes as text, or `None` if it does not exist.
    pub fn get(&self, path: &str) -> Option<String> {
        let bytes = self.files.get(&self.real(Path::new(path)))?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    pub fn real(&self, path: &Path) -> PathBuf {
        self.leads_to(path)
    }

    pub fn queue(&mut self, path: PathBuf, operation: HostEffect) {
        self.waiting.entry(path).or_default().push_back(operation);
    }

    /// Returns the paths with pending operations.
    pub fn busy(&self) -> Vec<PathBuf> {
        self.waiting.keys().cloned().collect()
    }

    /// Returns the next operation on a path.
    pub fn next(&self, path: &Path) -> Option<&HostEffect> {
        self.waiting.get(path)?.front()
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
                over,
                text,
                format,
                ..
            } => Event::DiskWritten {
                token,
                result: self.write_over(&path, over, &text, format),
            },
            HostEffect::DeleteDisk {
                token, path, over, ..
            } => Event::DiskWritten {
                token,
                result: match self.is_other(&path, over) {
                    true => Err(WriteError::Stale),
                    false => self.delete(&path).map(|()| None).map_err(WriteError::from),
                },
            },
            HostEffect::Restore {
                token,
                path,
                state,
                over,
                ..
            } => Event::DiskWritten {
                token,
                result: match self.is_other(&path, over) {
                    true => Err(WriteError::Stale),
                    false => self.restore(&path, &state).map_err(WriteError::from),
                },
            },
            HostEffect::MoveDisk {
                token, from, to, ..
            } => Event::DiskWritten {
                token,
                result: self.move_back(&from, &to).map_err(WriteError::from),
            },
            other => panic!("no operation of a disk: {other:?}"),
        })
    }

    /// Gives the stored reviews of binary files that have the same bytes their stamps, as the host does.
    pub fn recognise(&self, files: &mut [KeptReview]) {
        for KeptReview { path, now, .. } in files {
            if let Body::Bytes { blob, .. } = now.body
                && blob.is_some()
                && blob == self.files.get(path).map(|bytes| self::blob(bytes))
            {
                now.stamp = self.stamp(path);
            }
        }
    }

    /// Returns whether there is another file than a restore or a deletion may replace.
    fn is_other(&self, path: &Path, over: MayReplace) -> bool {
        match over {
            MayReplace::Anything => false,
            MayReplace::Only(stamp) => self.stamp(path).is_some_and(|there| Some(there) != stamp),
        }
    }

    pub fn read(&self, path: &Path) -> Result<DiskFile, ReadError> {
        self.check(path, "read").map_err(ReadError::Failed)?;
        if self.is_folder(&self.real(path)) {
            let why = format!("{} is a folder", path.display());
            return Err(ReadError::Folder(why));
        }
        let real = self.real(path);
        let content = self.files.get(&real).map(|bytes| {
            let (format, text) = Format::decode(bytes);
            DiskText { text, format }
        });
        let mode = self.modes.get(&real).copied().unwrap_or(0o644);
        Ok(DiskFile {
            mode: content.is_some().then_some(mode),
            real,
            content,
            stamp: self.stamp(path),
        })
    }

    /// Returns the stamp of a file; it changes with every write.
    pub fn stamp(&self, path: &Path) -> Option<Stamp> {
        let real = self.real(path);
        let bytes = self.files.get(&real)?;
        Some(self.dated(&real, bytes))
    }

    fn stamp_of_link(&self, path: &Path) -> Option<Stamp> {
        let to = self.links.get(path)?;
        Some(self.dated(path, to.as_os_str().as_bytes()))
    }

    fn dated(&self, path: &Path, bytes: &[u8]) -> Stamp {
        let mut hasher = std::hash::DefaultHasher::new();
        bytes.hash(&mut hasher);
        let written = self.written.get(path).copied().unwrap_or(0);
        Stamp {
            inode: hasher.finish(),
            bytes: bytes.len() as u64,
            modified: (written as i64, 0),
        }
    }

    pub fn write(&mut self, path: &Path, text: &Text, format: Format) -> Result<(), String> {
        self.check(path, "written")?;
        let bytes = format
            .encode(text)
            .map_err(|c| format!("{}: no byte for {c}", path.display()))?;
        self.set(self.real(path), bytes);
        Ok(())
    }

    fn write_over(
        &mut self,
        path: &Path,
        over: Option<Stamp>,
        text: &Text,
        format: Format,
    ) -> Result<Option<Stamp>, WriteError> {
        if self.stamp(path) != over {
            return Err(WriteError::Stale);
        }
        let mode = self.modes.get(&self.real(path));
        if mode.is_some_and(|mode| mode & 0o222 == 0) {
            let why = format!("{} was not written: it is read-only.", path.display());
            return Err(WriteError::Failed(why));
        }
        self.write(path, text, format)?;
        Ok(self.stamp(path))
    }

    fn restore(&mut self, path: &Path, state: &FileState) -> Result<Option<Stamp>, String> {
        self.check(path, "restored")?;
        self.check_place(path)?;
        let bytes = match &state.body {
            Body::Text(content) => content.format.encode(&content.text).expect("it was read"),
            Body::Bytes {
                blob: Some(blob), ..
            } => self.blobs[blob].clone(),
            Body::Link(to) => {
                self.files.remove(path);
                self.link(path, to);
                return Ok(self.stamp(path));
            }
            Body::Bytes { blob: None, .. } => self.files[path].clone(),
            other => panic!("{other:?} cannot be restored"),
        };
        self.links.remove(path);
        self.set(path.to_owned(), bytes);
        if let Some(mode) = state.mode {
            self.modes.insert(path.to_owned(), mode);
        }
        Ok(self.stamp(path))
    }

    fn move_back(&mut self, from: &Path, to: &Path) -> Result<Option<Stamp>, String> {
        self.check(from, "moved")?;
        self.check_place(to)?;
        if self.files.contains_key(to) {
            return Err(format!("{} is there already", to.display()));
        }
        let bytes = self.files.remove(from);
        let bytes = bytes.ok_or_else(|| format!("{} is not there", from.display()))?;
        self.carry(from, to, bytes);
        self.moved.push((from.to_owned(), to.to_owned()));
        Ok(self.stamp(to))
    }

    fn delete(&mut self, path: &Path) -> Result<(), String> {
        self.check(path, "deleted")?;
        // Deleting a link leaves its target.
        if self.links.remove(path).is_none() {
            self.modes.remove(path);
            self.files.remove(path);
        }
        Ok(())
    }

    /// Returns whether there are files below a path.
    fn is_folder(&self, path: &Path) -> bool {
        let mut all = self.files.keys().chain(self.links.keys());
        all.any(|file| file != path && file.starts_with(path))
    }

    /// Fails if a folder or a file above is in the way of a new file.
    fn check_place(&self, path: &Path) -> Result<(), String> {
        let is_file = |at: &Path| self.files.contains_key(at) || self.links.contains_key(at);
        if self.is_folder(path) || path.ancestors().skip(1).any(is_file) {
            return Err(format!("{}: something is in its place", path.display()));
        }
        Ok(())
    }

    fn check(&self, path: &Path, done: &str) -> Result<(), String> {
        match self.broken.contains(path) {
            true => Err(format!("{} could not be {done}", path.display())),
            false => Ok(()),
        }
    }
}

fn blob(bytes: &[u8]) -> Blob {
    let mut hasher = std::hash::DefaultHasher::new();
    bytes.hash(&mut hasher);
    let mut name = [0; 32];
    name[..8].copy_from_slice(&hasher.finish().to_le_bytes());
    Blob(name)
}
