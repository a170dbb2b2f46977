//! Stores the reviews of a Neovim for the next one.
//!
//! Invariant: a review is taken over once. The new owner writes it to disk before it removes the
//! old file, so a crash in between loses nothing.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::checkpoints;
use super::codec::{seal, unseal};
use super::lease::{Lease, ended};
use super::store::{Store, Sync, write_private};
use acp_core::spine::project::{Blob, Body, KeptReview};
use acp_core::text::Text;

/// The first bytes of a file of reviews; the last one is the version.
const MAGIC: &[u8; 8] = b"acprevw3";

/// Stores this Neovim's reviews of one project.
#[derive(Debug)]
pub(super) struct Keeper {
    root: PathBuf,
    store: Arc<Store>,
    /// Held during a write.
    own: Mutex<Own>,
    /// Changes to write next: reviews by path, `None` for one that has ended.
    waiting: Mutex<BTreeMap<PathBuf, Option<KeptReview>>>,
}

/// This Neovim's stored reviews.
#[derive(Debug, Default)]
struct Own {
    /// Set on first use.
    lease: Option<Arc<Lease>>,
    /// All reviews to store, by path, including those taken over.
    reviews: BTreeMap<PathBuf, Record>,
}

impl Keeper {
    /// Returns the keeper of a root; it does nothing yet.
    pub(super) fn new(root: &Path, store: Arc<Store>) -> Self {
        Self {
            root: root.to_owned(),
            store,
            own: Mutex::default(),
            waiting: Mutex::default(),
        }
    }

    /// Queues reviews to store, each replacing the earlier one of its file, and reviews that have
    /// ended. Returns whether the caller must schedule a write; otherwise one is scheduled already.
    pub(super) fn note(&self, files: Vec<KeptReview>, over: Vec<PathBuf>) -> bool {
        let mut waiting = lock(&self.waiting);
        let is_first = waiting.is_empty();
        waiting.extend(over.into_iter().map(|path| (path, None)));
        let files = files.into_iter();
        waiting.extend(files.map(|file| (file.path.clone(), Some(file))));
        is_first && !waiting.is_empty()
    }

    /// Writes the queued changes.
    ///
    /// # Errors
    /// A sentence; the earlier file is unchanged in that case.
    pub(super) fn flush(&self) -> Result<(), String> {
        let mut own = lock(&self.own);
        match self.take_noted(&mut own) {
            true => self.write(&mut own),
            false => Ok(()),
        }
    }

    /// Applies the queued changes; returns whether there were any.
    fn take_noted(&self, own: &mut Own) -> bool {
        // Taken under the lock, so that the last writer writes the latest changes.
        let noted = std::mem::take(&mut *lock(&self.waiting));
        let any = !noted.is_empty();
        for (path, review) in noted {
            match review {
                Some(review) => drop(own.reviews.insert(path, Record::new(review))),
                None => drop(own.reviews.remove(&path)),
            }
        }
        any
    }

    /// Takes over the reviews of Neovims that have ended, and returns all stored reviews.
    ///
    /// Of several reviews of one file the oldest wins, because its base precedes all of them.
    ///
    /// # Errors
    /// A sentence; the reviews stay where they are in that case.
    pub(super) fn take_over(&self) -> Result<Vec<KeptReview>, String> {
        let mut own = lock(&self.own);
        self.take_noted(&mut own);
        self.begun(&mut own)?;
        let mut ended = ended(&self.folder());
        let mut taken: BTreeMap<PathBuf, Record> = BTreeMap::new();
        // An unknown format may belong to a newer version, so it is left alone.
        ended.retain(|ended| {
            let Some(records) = self.read(&ended.reviews()) else {
                return false;
            };
            for record in records {
                let path = record.review.path.clone();
                taken.entry(path).or_insert(record);
            }
            true
        });
        if !taken.is_empty() {
            own.reviews.extend(taken);
            self.write(&mut own)?;
        }
        for ended in ended {
            ended.forget();
        }
        let all = own.reviews.values();
        Ok(all.map(|record| record.review(&self.store)).collect())
    }

    /// Returns this Neovim's lease on the project.
    ///
    /// # Errors
    /// A sentence.
    pub(super) fn lease(&self) -> Result<Arc<Lease>, String> {
        self.begun(&mut lock(&self.own))
    }

    fn begun(&self, own: &mut Own) -> Result<Arc<Lease>, String> {
        if let Some(lease) = &own.lease {
            return Ok(Arc::clone(lease));
        }
        let begun = Lease::begin(&self.folder()).map_err(|error| self.words(&error))?;
        Ok(Arc::clone(own.lease.insert(Arc::new(begun))))
    }

    /// Writes this Neovim's reviews, replacing the earlier file; removes the file if there are
    /// none.
    fn write(&self, own: &mut Own) -> Result<(), String> {
        let path = self.begun(own)?.reviews();
        let written = match own.reviews.is_empty() {
            true => match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
            false => {
                let reviews = own.reviews.values_mut();
                let mut kept = reviews.map(|record| record.put(&self.store));
                let kept = kept.try_for_each(|kept| kept);
                let encoded = kept.and_then(|()| encode(&self.root, own.reviews.values()));
                encoded.and_then(|bytes| write_private(&path, &bytes, Sync::Now))
            }
        };
        written.map_err(|error| self.words(&error))
    }

    /// Returns the reviews in a file, with paths below this root; `None` if it cannot be read or
    /// decoded.
    fn read(&self, path: &Path) -> Option<Vec<Record>> {
        let bytes = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(Vec::new()),
            bytes => bytes.ok()?,
        };
        let (root, mut records) = decode(&bytes)?;
        let here = |path: &Path| match path.strip_prefix(&root) {
            Ok(below) => self.root.join(below),
            Err(_) => path.to_owned(),
        };
        for record in &mut records {
            let review = &mut record.review;
            review.path = here(&review.path);
            review.from = review.from.as_deref().map(here);
        }
        Some(records)
    }

    fn folder(&self) -> PathBuf {
        checkpoints::folder(&self.store, &acp_edge::paths::resolved(&self.root))
    }

    fn words(&self, error: &io::Error) -> String {
        format!(
            "The reviews in {} are not saved for the next Neovim: {error}; check {}.",
            self.root.display(),
            self.store.folder().display()
        )
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the contents that stored reviews refer to.
///
/// # Errors
/// The file cannot be read or decoded, so its contents are unknown.
pub(super) fn needs(path: &Path) -> io::Result<Vec<Blob>> {
    let bytes = fs::read(path)?;
    let (_, records) = decode(&bytes).ok_or(io::ErrorKind::InvalidData)?;
    let blobs = |record: Record| [record.blob, record.current].into_iter().flatten();
    let blobs = records.into_iter().flat_map(blobs);
    Ok(blobs.collect())
}

/// A review as stored: its texts are in the store, named by `blob` and `current`.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    review: KeptReview,
    blob: Option<Blob>,
    current: Option<Blob>,
}

impl Record {
    fn new(review: KeptReview) -> Self {
        let blob = match &review.base.body {
            Body::Bytes { blob, .. } => *blob,
            _ => None,
        };
        Self {
            review,
            blob,
            current: None,
        }
    }

    /// Stores the texts, unless that has been done.
    fn put(&mut self, store: &Store) -> io::Result<()> {
        // Stored as plain lines, so the format need not be detected again.
        let put = |text: &Text| store.put(text.to_string().as_bytes());
        if let (Body::Text(text), None) = (&mut self.review.base.body, self.blob) {
            self.blob = Some(put(&text.text)?);
            text.text = Text::default();
        }
        if let Some(text) = &self.review.current {
            self.current = Some(put(text)?);
            self.review.current = None;
        }
        Ok(())
    }

    fn review(&self, store: &Store) -> KeptReview {
        let mut review = self.review.clone();
        if let (Body::Text(text), Some(blob)) = (&mut review.base.body, self.blob) {
            match store.get(blob) {
                Ok(bytes) => text.text = text_of(&bytes),
                Err(loss) => review.base.body = Body::Unreadable(loss.words()),
            }
        }
        // Without it, the review restarts from the current content.
        let current = self.current.and_then(|blob| store.get(blob).ok());
        review.current = current.map(|bytes| text_of(&bytes)).or(review.current);
        review
    }
}

fn text_of(bytes: &[u8]) -> Text {
    Text::from_text(&String::from_utf8_lossy(bytes))
}

/// Encodes reviews whose texts are in the store.
fn encode<'a>(root: &Path, records: impl Iterator<Item = &'a Record>) -> io::Result<Vec<u8>> {
    let records: Vec<&Record> = records.collect();
    let json = serde_json::to_vec(&(root.as_os_str(), records))?;
    Ok(seal(MAGIC, &json))
}

/// Returns the root of the paths, and the reviews; no reviews for a file of an older version.
fn decode(bytes: &[u8]) -> Option<(PathBuf, Vec<Record>)> {
    if is_older(bytes) {
        return Some((PathBuf::new(), Vec::new()));
    }
    let json = unseal(MAGIC, bytes)?;
    let (root, records): (OsString, _) = serde_json::from_slice(&json).ok()?;
    Some((root.into(), records))
}

fn is_older(bytes: &[u8]) -> bool {
    let [name @ .., version] = MAGIC;
    let found = bytes.strip_prefix(name).and_then(<[u8]>::first);
    found.is_some_and(|found| found < version)
}
