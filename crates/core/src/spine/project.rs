//! What the host tells of a project's files: what is at a path, how that has changed, checkpoints.
//!
//! Invariant: a [`FileChange`] begins where the last one of its path has ended: `before` is what
//! the core was told last, or what the checkpoint has.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_with::{As, FromInto};

use crate::spine::event::{DiskText, Stamp};
use crate::text::Text;

/// The largest file whose content is kept, in bytes.
pub const MAX_KEPT: u64 = 5 << 20;

/// Serializes a path that need not be UTF-8, which `PathBuf` does not.
type RawPath = As<FromInto<OsString>>;

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState {
    pub body: Body,
    /// The permission bits; `None` where there is nothing.
    pub mode: Option<u32>,
    /// Taken before the content was read.
    pub stamp: Option<Stamp>,
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Body {
    Missing,
    Text(DiskText),
    /// No text: it has NUL bytes in it, or it is larger than what is kept (then without `blob`).
    Bytes {
        bytes: u64,
        /// Its name in the store, where its content is kept.
        blob: Option<Blob>,
    },
    /// A symbolic link, and where it leads.
    Link(#[serde(with = "RawPath")] PathBuf),
    /// It could not be read; the words say why.
    Unreadable(String),
}

/// The name of a content in the store: its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Blob(pub [u8; 32]);

/// A file that is another than before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Absolute, spelt below the project's root.
    pub path: PathBuf,
    /// Where it was before, when it was moved; `before` is what was there, and nothing is there
    /// now (no change of its own tells that).
    pub from: Option<PathBuf>,
    pub before: FileState,
    pub after: FileState,
}

/// A checkpoint that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The files it holds.
    pub files: usize,
    /// What it does not cover, in a sentence for the user; `None` when it covers everything.
    pub limited: Option<String>,
}

/// What the user's repository has of a file under review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    pub path: PathBuf,
    /// In the index, then in HEAD; `None` where it has no such file.
    pub index: Option<DiskText>,
    pub head: Option<DiskText>,
}

/// The review of a file, as it outlives this Neovim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptReview {
    #[serde(with = "RawPath")]
    pub path: PathBuf,
    /// Where the file was before the agent moved it.
    #[serde(with = "As::<Option<FromInto<OsString>>>")]
    pub from: Option<PathBuf>,
    /// What the user has accepted so far.
    pub base: FileState,
    /// The text that was under review, unsaved lines of its buffer included: what is another one
    /// later is not the agent's. `None` when it is not known.
    /// Not serialized, as [`DiskText::text`].
    #[serde(skip)]
    pub current: Option<Text>,
    /// The agent has deleted it: else, if it is gone by now, somebody else has.
    pub is_deleted: bool,
}

/// What happened to a file as a whole, next to its hunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whole {
    Created,
    Deleted,
    /// It was there before.
    Moved(PathBuf),
    /// Its permission bits were these, and are these.
    Mode(u32, u32),
    /// Its line ends, byte order mark, final newline or encoding are others, in words.
    Format(String),
    /// Its content is no text; whether the old one can be brought back.
    Binary {
        kept: bool,
    },
    /// It is, or was, a symbolic link.
    Link,
}

impl FileState {
    /// Nothing is there.
    pub fn missing() -> Self {
        Self {
            body: Body::Missing,
            mode: None,
            stamp: None,
        }
    }
}
