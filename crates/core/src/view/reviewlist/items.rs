//! The items of the review list: files and hunks, written and proposed.
//!
//! Invariant: an item's key is a hash of its change; items of a file with equal changes are
//! numbered from the top.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use crate::spine::ids::{ItemKey, SessionKey};
use crate::workspace::info::HunkInfo;
use crate::workspace::proposals::{FileProposal, Proposal, ProposalIndex, Proposed};
use crate::workspace::reviews::FileReview;

/// An item of the list, on one line.
pub(crate) struct Item<'a> {
    pub key: ItemKey,
    pub session: SessionKey,
    pub path: &'a Path,
    pub what: What<'a>,
}

/// A file or a hunk, with its context.
#[derive(Clone, Copy)]
pub(crate) enum What<'a> {
    File(&'a FileReview),
    Hunk(&'a FileReview, &'a HunkInfo),
    /// The proposed changes of a file.
    Proposal(&'a Proposal, &'a FileProposal, ProposalIndex),
    Proposed(&'a FileProposal, &'a Proposed, ProposalIndex),
}

impl What<'_> {
    /// Returns the place of a proposed change.
    pub fn proposed(self) -> Option<ProposalIndex> {
        match self {
            What::Proposal(.., place) | What::Proposed(.., place) => Some(place),
            What::File(_) | What::Hunk(..) => None,
        }
    }

    /// Returns the first row of a hunk; `None` for a file.
    pub fn row(self) -> Option<usize> {
        match self {
            What::File(_) | What::Proposal(..) => None,
            What::Hunk(_, hunk) => Some(hunk.row),
            What::Proposed(_, hunk, _) => Some(hunk.rows.start),
        }
    }
}

/// Generates keys that do not change when other items are added or removed.
pub(crate) struct Keys {
    seed: u64,
    /// The number of items so far with the same change.
    alike: HashMap<u64, usize>,
}

impl Keys {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            alike: HashMap::new(),
        }
    }

    pub(crate) fn next(&mut self, change: impl Hash) -> ItemKey {
        let change = hash((self.seed, change));
        let nth = self.alike.entry(change).or_default();
        *nth += 1;
        ItemKey(hash((change, *nth)))
    }
}

pub(crate) fn hash(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}
