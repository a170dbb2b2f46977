//! The items of the review list: files and hunks, written and proposed.
//!
//! Invariant: an item's key is a hash of its change; items of a file with equal changes are
//! numbered from the top.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use crate::model::Model;
use crate::spine::ids::{ItemKey, SessionKey};
use crate::view::snapshot::HunkInfo;
use crate::workspace::proposals::{FileProposal, Place, Proposal, Proposed};
use crate::workspace::reviews::FileReview;

/// An item of the list, on one line.
pub(super) struct Item<'a> {
    pub key: ItemKey,
    pub session: SessionKey,
    pub path: &'a Path,
    pub what: What<'a>,
}

/// A file or a hunk, with its context.
#[derive(Clone, Copy)]
pub(super) enum What<'a> {
    File(&'a FileReview),
    Hunk(&'a FileReview, &'a HunkInfo),
    /// The proposed changes of a file.
    Proposal(&'a Proposal, &'a FileProposal, Place),
    Proposed(&'a FileProposal, &'a Proposed, Place),
}

impl What<'_> {
    /// Returns the place of a proposed change.
    pub fn proposed(self) -> Option<Place> {
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

impl Model {
    /// Returns the items in the order of the list: by session, with proposals first.
    pub(super) fn items(&self) -> Vec<Item<'_>> {
        let mut sessions: BTreeMap<SessionKey, Vec<Item<'_>>> = BTreeMap::new();
        for (place, proposal, file) in self.workspace.proposals.files() {
            let is_told = proposal.permission.is_some() && !file.notes.is_empty();
            if is_told || !file.hunks.is_empty() {
                let items = sessions.entry(proposal.session).or_default();
                push_proposal(items, place, proposal, file);
            }
        }
        for (path, file) in self.workspace.reviews.iter() {
            if !file.info.is_empty() || !file.whole().is_empty() {
                push_review(sessions.entry(file.session).or_default(), path, file);
            }
        }
        sessions.into_values().flatten().collect()
    }
}

fn push_proposal<'a>(
    items: &mut Vec<Item<'a>>,
    place: Place,
    proposal: &'a Proposal,
    file: &'a FileProposal,
) {
    let (session, path) = (proposal.session, file.path.as_path());
    let seed = hash((session, &proposal.tool.0, proposal.permission, path));
    items.push(Item {
        key: ItemKey(seed),
        session,
        path,
        what: What::Proposal(proposal, file, place),
    });
    let mut keys = Keys::new(seed);
    for (at, hunk) in file.hunks.iter().enumerate() {
        let place = place.of_hunk(at);
        items.push(Item {
            key: keys.next((&hunk.old, &hunk.new)),
            session,
            path,
            what: What::Proposed(file, hunk, place),
        });
    }
}

fn push_review<'a>(items: &mut Vec<Item<'a>>, path: &'a Path, file: &'a FileReview) {
    let session = file.session;
    let seed = hash(path);
    items.push(Item {
        key: ItemKey(seed),
        session,
        path,
        what: What::File(file),
    });
    let mut keys = Keys::new(seed);
    for hunk in file.info.iter() {
        items.push(Item {
            key: keys.next((&hunk.old, &hunk.new, hunk.state)),
            session,
            path,
            what: What::Hunk(file, hunk),
        });
    }
}

/// Generates keys that do not change when other items are added or removed.
struct Keys {
    seed: u64,
    /// The number of items so far with the same change.
    alike: HashMap<u64, usize>,
}

impl Keys {
    fn new(seed: u64) -> Self {
        Self {
            seed,
            alike: HashMap::new(),
        }
    }

    fn next(&mut self, change: impl Hash) -> ItemKey {
        let change = hash((self.seed, change));
        let nth = self.alike.entry(change).or_default();
        *nth += 1;
        ItemKey(hash((change, *nth)))
    }
}

fn hash(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}
