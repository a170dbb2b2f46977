//! The items of the review list: files and hunks, written and proposed.
//!
//! Invariant: an item's key is a hash of its change; items of a file with equal changes are
//! numbered from the top.

use std::collections::BTreeMap;
use std::path::Path;

use crate::model::Model;
use crate::spine::ids::{ItemKey, SessionKey};
use crate::view::reviewlist::items::{Item, Keys, What, hash};
use crate::workspace::info::HunkInfo;
use crate::workspace::proposals::{FileProposal, Proposal, ProposalIndex};
use crate::workspace::reviews::FileReview;

impl Model {
    /// Returns the items in the order of the list: by session, with proposals first.
    pub(super) fn items(&self) -> Vec<Item<'_>> {
        let mut sessions: BTreeMap<SessionKey, Vec<Item<'_>>> = BTreeMap::new();
        for (place, proposal, file) in self.workspace.proposals().files() {
            let is_told = proposal.permission.is_some() && !file.notes.is_empty();
            if is_told || !file.hunks.is_empty() {
                let items = sessions.entry(proposal.session).or_default();
                push_proposal(items, place, proposal, file);
            }
        }
        for (path, file) in self.workspace.reviews().iter() {
            if let Some(info) = &file.info {
                let items = sessions.entry(file.session).or_default();
                push_review(items, path, file, &info.hunks);
            }
        }
        sessions.into_values().flatten().collect()
    }
}

fn push_proposal<'a>(
    items: &mut Vec<Item<'a>>,
    place: ProposalIndex,
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

fn push_review<'a>(
    items: &mut Vec<Item<'a>>,
    path: &'a Path,
    file: &'a FileReview,
    hunks: &'a [HunkInfo],
) {
    let session = file.session;
    let seed = hash(path);
    items.push(Item {
        key: ItemKey(seed),
        session,
        path,
        what: What::File(file),
    });
    let mut keys = Keys::new(seed);
    for hunk in hunks {
        items.push(Item {
            key: keys.next((&hunk.old, &hunk.new, hunk.state)),
            session,
            path,
            what: What::Hunk(file, hunk),
        });
    }
}
