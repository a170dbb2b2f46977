//! Reviews that outlive a Neovim: written down for the one that comes after it.
//!
//! Invariant: a review is taken over once. Whoever takes it over has it on disk as its own before
//! what the other has left is removed, so that a crash in between loses nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::checkpoints;
use super::codec::{Reader, put_bytes, put_number, put_path, put_time, seal, unseal};
use super::life::{Life, past};
use super::store::{Store, Sync, write_private};
use crate::core::event::{DiskText, Stamp};
use crate::core::format::{Encoding, Format, LineEnd};
use crate::core::project::{Blob, Body, FileState, KeptReview};
use crate::core::text::Text;

const MAGIC: &[u8; 8] = b"acprevw2";

/// Keeps the reviews of one project of this Neovim.
#[derive(Debug)]
pub(super) struct Keeper {
    root: PathBuf,
    store: Arc<Store>,
    /// There from the first use on; locked by whoever writes.
    life: Mutex<Option<Arc<Life>>>,
    /// What is to be written down next.
    waiting: Mutex<Option<Vec<KeptReview>>>,
}

impl Keeper {
    /// Returns the keeper of a root, which does nothing yet.
    pub(super) fn new(root: &Path, store: Arc<Store>) -> Self {
        Self {
            root: root.to_owned(),
            store,
            life: Mutex::default(),
            waiting: Mutex::default(),
        }
    }

    /// Notes what is to be kept, in place of everything before; returns whether that has to be
    /// seen to: else somebody does already.
    pub(super) fn note(&self, files: Vec<KeptReview>) -> bool {
        lock(&self.waiting).replace(files).is_none()
    }

    /// Writes down what was noted.
    ///
    /// # Errors
    /// A sentence; then what was written down before still is.
    pub(super) fn flush(&self) -> Result<(), String> {
        let mut life = lock(&self.life);
        // Taken only now: whoever writes last has what was noted last.
        let Some(files) = lock(&self.waiting).take() else {
            return Ok(());
        };
        let life = self.begun(&mut life)?;
        self.write(&life, &files)
            .map_err(|error| self.words(&error))
    }

    /// Takes over the reviews that lives which are over have left; they are this life's then.
    ///
    /// Of several reviews of one file the oldest counts: it has what was there before all of them.
    ///
    /// # Errors
    /// A sentence; then they stay where they are.
    pub(super) fn take_over(&self) -> Result<Vec<KeptReview>, String> {
        let mut life = lock(&self.life);
        let life = self.begun(&mut life)?;
        let mut past = past(&self.folder());
        let mut taken: Vec<KeptReview> = Vec::new();
        // What is not understood may be of a version to come: it is left to that.
        past.retain(|past| {
            let Some(reviews) = self.read(&past.reviews()) else {
                return false;
            };
            for review in reviews {
                if taken.iter().all(|file| file.path != review.path) {
                    taken.push(review);
                }
            }
            true
        });
        if !taken.is_empty() {
            let own = self.read(&life.reviews()).unwrap_or_default().into_iter();
            let mut all = taken.clone();
            all.extend(own.filter(|own| taken.iter().all(|file| file.path != own.path)));
            self.write(&life, &all)
                .map_err(|error| self.words(&error))?;
        }
        for past in past {
            past.forget();
        }
        Ok(taken)
    }

    /// Returns this Neovim's life in the project.
    ///
    /// # Errors
    /// A sentence.
    pub(super) fn life(&self) -> Result<Arc<Life>, String> {
        self.begun(&mut lock(&self.life))
    }

    fn begun(&self, life: &mut Option<Arc<Life>>) -> Result<Arc<Life>, String> {
        if let Some(life) = life {
            return Ok(Arc::clone(life));
        }
        let begun = Life::begin(&self.folder()).map_err(|error| self.words(&error))?;
        Ok(Arc::clone(life.insert(Arc::new(begun))))
    }

    /// Writes reviews down, in place of those before; none at all leaves no file.
    fn write(&self, life: &Life, files: &[KeptReview]) -> io::Result<()> {
        let path = life.reviews();
        if files.is_empty() {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        write_private(&path, &encode(&self.root, files, &self.store)?, Sync::Now)
    }

    /// Returns the reviews in a file, spelt below this root; `None` when they cannot be read or
    /// understood.
    fn read(&self, path: &Path) -> Option<Vec<KeptReview>> {
        let bytes = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(Vec::new()),
            bytes => bytes.ok()?,
        };
        let (root, records) = decode(&bytes)?;
        let here = |path: &Path| match path.strip_prefix(&root) {
            Ok(below) => self.root.join(below),
            Err(_) => path.to_owned(),
        };
        let review = |record: Record| {
            let review = record.review(&self.store);
            KeptReview {
                path: here(&review.path),
                from: review.from.as_deref().map(here),
                base: review.base,
                current: review.current,
            }
        };
        Some(records.into_iter().map(review).collect())
    }

    fn folder(&self) -> PathBuf {
        checkpoints::folder(&self.store, &crate::paths::resolved(&self.root))
    }

    fn words(&self, error: &io::Error) -> String {
        format!(
            "What is under review in {} is not kept for the next Neovim: {error}; check {}.",
            self.root.display(),
            self.store.folder().display()
        )
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the contents that kept reviews need.
///
/// # Errors
/// The file cannot be read or understood: what it needs is not known.
pub(super) fn needs(path: &Path) -> io::Result<Vec<Blob>> {
    let bytes = fs::read(path)?;
    let (_, records) = decode(&bytes).ok_or(io::ErrorKind::InvalidData)?;
    let blobs = |record: Record| [record.blob, record.current].into_iter().flatten();
    let blobs = records.into_iter().flat_map(blobs);
    Ok(blobs.collect())
}

/// A review as it is written down: its texts are in the store, by these names.
#[derive(Debug)]
struct Record {
    review: KeptReview,
    blob: Option<Blob>,
    current: Option<Blob>,
}

impl Record {
    fn review(mut self, store: &Store) -> KeptReview {
        if let (Body::Text(text), Some(blob)) = (&mut self.review.base.body, self.blob) {
            match store.get(blob) {
                Ok(bytes) => text.text = text_of(&bytes),
                Err(loss) => self.review.base.body = Body::Unreadable(loss.words()),
            }
        }
        // Without it the review begins anew from what is there.
        let current = self.current.and_then(|blob| store.get(blob).ok());
        self.review.current = current.map(|bytes| text_of(&bytes));
        self.review
    }
}

fn text_of(bytes: &[u8]) -> Text {
    Text::from_text(&String::from_utf8_lossy(bytes))
}

fn encode(root: &Path, files: &[KeptReview], store: &Store) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    put_path(&mut out, root);
    put_number(&mut out, files.len() as u64);
    for file in files {
        put_path(&mut out, &file.path);
        put_option(&mut out, file.from.as_ref(), |out, from| {
            put_path(out, from)
        });
        let base = &file.base;
        put_option(&mut out, base.mode.as_ref(), |out, mode| {
            put_number(out, u64::from(*mode))
        });
        put_option(&mut out, base.stamp.as_ref(), |out, stamp| {
            put_number(out, stamp.inode);
            put_number(out, stamp.bytes);
            put_time(out, stamp.modified);
        });
        match &base.body {
            Body::Missing => out.push(0),
            Body::Text(text) => {
                out.push(1);
                out.extend_from_slice(&format_bytes(text.format));
                // The lines themselves: so the format need not be found again.
                put_bytes(&mut out, &store.put(text.text.to_string().as_bytes())?.0);
            }
            Body::Bytes { bytes, blob } => {
                out.push(2);
                put_number(&mut out, *bytes);
                put_option(&mut out, blob.as_ref(), |out, blob| put_bytes(out, &blob.0));
            }
            Body::Link(to) => {
                out.push(3);
                put_path(&mut out, to);
            }
            Body::Unreadable(why) => {
                out.push(4);
                put_bytes(&mut out, why.as_bytes());
            }
        }
        let current = file.current.as_ref();
        let current = current.map(|text| store.put(text.to_string().as_bytes()));
        put_option(&mut out, current.transpose()?.as_ref(), |out, blob| {
            put_bytes(out, &blob.0);
        });
    }
    Ok(seal(MAGIC, &out))
}

/// Returns the root the paths are below of, and the reviews.
fn decode(bytes: &[u8]) -> Option<(PathBuf, Vec<Record>)> {
    let bytes = unseal(MAGIC, bytes)?;
    let mut from = Reader(&bytes);
    let root = from.path()?;
    let count = from.number()?;
    let records: Option<Vec<Record>> = (0..count).map(|_| record(&mut from)).collect();
    records
        .filter(|_| from.is_empty())
        .map(|records| (root, records))
}

fn record(from: &mut Reader) -> Option<Record> {
    let path = from.path()?;
    let moved = option(from, Reader::path)?;
    let mode = option(from, |from| u32::try_from(from.number()?).ok())?;
    let stamp = option(from, |from| {
        Some(Stamp {
            inode: from.number()?,
            bytes: from.number()?,
            modified: from.time()?,
        })
    })?;
    let (body, blob) = match from.byte()? {
        0 => (Body::Missing, None),
        1 => {
            let format = format([from.byte()?, from.byte()?, from.byte()?, from.byte()?])?;
            let text = Text::default();
            (Body::Text(DiskText { text, format }), Some(from.blob()?))
        }
        2 => {
            let bytes = from.number()?;
            let blob = option(from, Reader::blob)?;
            (Body::Bytes { bytes, blob }, blob)
        }
        3 => (Body::Link(from.path()?), None),
        4 => {
            let why = String::from_utf8_lossy(from.bytes()?).into_owned();
            (Body::Unreadable(why), None)
        }
        _ => return None,
    };
    let current = option(from, Reader::blob)?;
    let base = FileState { body, mode, stamp };
    let review = KeptReview {
        path,
        from: moved,
        base,
        current: None,
    };
    Some(Record {
        review,
        blob,
        current,
    })
}

fn put_option<T>(out: &mut Vec<u8>, value: Option<&T>, put: impl FnOnce(&mut Vec<u8>, &T)) {
    out.push(u8::from(value.is_some()));
    if let Some(value) = value {
        put(out, value);
    }
}

/// Returns what may be there; the outer `None` is damage.
fn option<'a, T>(
    from: &mut Reader<'a>,
    take: impl FnOnce(&mut Reader<'a>) -> Option<T>,
) -> Option<Option<T>> {
    match from.byte()? {
        0 => Some(None),
        1 => take(from).map(Some),
        _ => None,
    }
}

fn format_bytes(format: Format) -> [u8; 4] {
    let line_end = match format.line_end {
        LineEnd::Lf => 0,
        LineEnd::CrLf => 1,
        LineEnd::Cr => 2,
    };
    let encoding = match format.encoding {
        Encoding::Utf8 => 0,
        Encoding::Latin1 => 1,
        Encoding::Other => 2,
    };
    let bits = [format.final_newline, format.bom].map(u8::from);
    [line_end, bits[0], bits[1], encoding]
}

fn format([line_end, final_newline, bom, encoding]: [u8; 4]) -> Option<Format> {
    Some(Format {
        line_end: match line_end {
            0 => LineEnd::Lf,
            1 => LineEnd::CrLf,
            2 => LineEnd::Cr,
            _ => return None,
        },
        final_newline: final_newline != 0,
        bom: bom != 0,
        encoding: match encoding {
            0 => Encoding::Utf8,
            1 => Encoding::Latin1,
            2 => Encoding::Other,
            _ => return None,
        },
    })
}
