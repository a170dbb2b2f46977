//! The host's reports of a project's files: their states, changes, and checkpoints.
//!
//! Invariant: a [`FileChange`] continues the last one of its path: its `before` is the state last
//! reported to the core, or the checkpoint's.

use std::ffi::OsString;
use std::ops::Range;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_with::{As, FromInto};

use crate::spine::event::{DiskText, Stamp};
use crate::text::Text;

/// The largest file whose content is stored, in bytes.
pub const MAX_KEPT: u64 = 5 << 20;

/// Serializes a path that may not be UTF-8, which `PathBuf` cannot.
type RawPath = As<FromInto<OsString>>;

/// The state of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState {
    pub body: Body,
    /// The permission bits; `None` of a link, and if the path does not exist.
    pub mode: Option<u32>,
    /// Taken before the content was read.
    pub stamp: Option<Stamp>,
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Body {
    Missing,
    Text(DiskText),
    /// Binary: it contains NUL bytes, or is larger than [`MAX_KEPT`] (then without `blob`).
    Bytes {
        bytes: u64,
        /// Its name in the store, if its content is stored.
        blob: Option<Blob>,
    },
    /// A symbolic link and its target.
    Link(#[serde(with = "RawPath")] PathBuf),
    /// It could not be read, for this reason.
    Unreadable(String),
}

/// The name of a content in the store: its hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Blob(pub [u8; 32]);

/// A change of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Absolute, below the project's root as spelt there.
    pub path: PathBuf,
    /// The old path of a moved file; `before` is the state there. The old path does not exist now,
    /// and has no separate change.
    pub from: Option<PathBuf>,
    pub before: FileState,
    pub after: FileState,
}

/// The result of taking a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The number of files in it.
    pub files: usize,
    /// A sentence for the user that names the uncovered part; `None` if it covers everything.
    pub limited: Option<String>,
}

/// The versions of a file under review in the user's repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    pub path: PathBuf,
    /// The versions in the index and in HEAD; `None` if it does not exist there.
    pub index: Option<DiskText>,
    pub head: Option<DiskText>,
    /// Whether the index has it as executable; `None` if unknown.
    pub is_executable: Option<bool>,
    /// They are the first since the review has begun.
    pub is_first: bool,
}

/// The review of a file, as stored for a later Neovim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptReview {
    #[serde(with = "RawPath")]
    pub path: PathBuf,
    /// The path before the agent moved the file.
    #[serde(with = "As::<Option<FromInto<OsString>>>")]
    pub from: Option<PathBuf>,
    /// The state the user has accepted so far.
    pub base: FileState,
    /// The accepted lines, if `base` is no text. Not serialized, like [`DiskText::text`].
    #[serde(skip)]
    pub accepted: Option<Text>,
    /// The text under review, including unsaved lines of its buffer unless the file has changed
    /// under them: later differences from it are not the agent's. `None` if unknown. Not
    /// serialized, like [`DiskText::text`].
    #[serde(skip)]
    pub current: Option<Text>,
    /// That text as the agent alone would have it, if others have changed its lines. Not serialized,
    /// like [`DiskText::text`].
    #[serde(skip)]
    pub alone: Option<Text>,
    /// The file as it was last known on disk: a later stamp is a change that is not in `current`,
    /// which is its text.
    pub now: FileState,
    /// The agent's lines that are offered in place of the user's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<KeptOffer>,
    /// The user's repository had another version then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_uncommitted: bool,
}

/// The agent's lines that are offered in place of some rows of the text under review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptOffer {
    pub rows: Range<usize>,
    pub lines: Vec<String>,
}

/// A change of a file as a whole, in addition to its hunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whole {
    Created,
    Deleted,
    /// The file was at this path before.
    Moved(PathBuf),
    /// The old and new permission bits.
    Mode(u32, u32),
    /// Its line ends, byte order mark, final newline or encoding changed, as described.
    Format(String),
    /// Its content is binary; `kept` if the old one can be restored.
    Binary {
        kept: bool,
    },
    /// It is, or was, a symbolic link.
    Link,
}

impl FileState {
    /// Returns the state of a path that does not exist.
    pub fn missing() -> Self {
        Self {
            body: Body::Missing,
            mode: None,
            stamp: None,
        }
    }

    /// Returns the state with this text, if it is that of a text file.
    pub fn with_text(&self, text: &Text) -> Self {
        let mut state = self.clone();
        if let Body::Text(content) = &mut state.body {
            content.text = text.clone();
        }
        state
    }
}
