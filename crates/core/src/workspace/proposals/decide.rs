//! The user's choices about proposed hunks, and the answers that follow from them.
//!
//! Invariant: a choice answers a question with the only option that allows, or rejects, once. If
//! there is none, or more than one, the user is asked.

use std::path::{Path, PathBuf};

use super::{Proposal, ProposalIndex, Proposals};
use crate::spine::event::ReviewAction;
use crate::spine::ids::QuestionId;
use crate::workspace::Workspace;
use crate::workspace::ledger::Which;

impl Workspace {
    /// Returns the files with proposed hunks.
    pub(crate) fn proposed_files(&self) -> Vec<PathBuf> {
        let all = self.proposals.all.iter();
        let mut paths: Vec<PathBuf> = all
            .flat_map(|proposal| &proposal.files)
            .filter(|file| !file.hunks.is_empty())
            .map(|file| file.path.clone())
            .collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// Decides hunks proposed for a file; `false` if `which` selects none.
    ///
    /// If several proposals have a hunk at one row, the oldest undecided one is decided.
    pub(crate) fn decide_proposals(
        &mut self,
        action: ReviewAction,
        path: &Path,
        which: &Which,
    ) -> bool {
        let files = self.proposals.files();
        let mut meant: Vec<ProposalIndex> = Vec::new();
        for (place, _, file) in files.filter(|(.., file)| file.path == path) {
            let hit = file.hit(which).into_iter();
            meant.extend(hit.map(|hunk| place.of_hunk(hunk)));
        }
        let mut meant = self.proposals.open_of(meant);
        if matches!(which, Which::Row(_)) {
            meant.truncate(1);
        }
        self.decide_places(action, &meant);
        !meant.is_empty()
    }

    /// Decides proposed hunks.
    pub(crate) fn decide_places(&mut self, action: ReviewAction, places: &[ProposalIndex]) {
        for place in places {
            if let Some(hunk) = self.proposals.hunk_mut(*place) {
                hunk.choice = Some(action);
            }
            if let Some(file) = self.proposals.at(*place) {
                self.reviews.dirty.insert(file.path.clone());
            }
        }
    }
}

impl Proposals {
    /// Returns the questions about files whose changes cannot be decided hunk by hunk.
    pub(crate) fn undecidable(&self, files: &[ProposalIndex]) -> Vec<QuestionId> {
        let unlocated = files.iter().filter_map(|place| {
            let proposal = self.all.get(place.proposal)?;
            let file = proposal.files.get(place.file)?;
            let waits = place.hunk.is_none() && file.hunks.is_empty();
            // `decided` returns the proposals whose choice is complete.
            proposal
                .permission
                .filter(|_| waits && proposal.choice().is_none())
        });
        let mut unlocated: Vec<QuestionId> = unlocated.collect();
        unlocated.dedup();
        unlocated
    }

    /// Returns the questions whose hunks are all decided, with the answer that follows, and whether
    /// every diff was located.
    pub(crate) fn decided(&self) -> Vec<(QuestionId, ReviewAction, bool)> {
        let decided = self.all.iter().filter_map(|proposal| {
            let choice = proposal.choice()?;
            Some((proposal.permission?, choice, proposal.is_whole()))
        });
        decided.collect()
    }

    /// Returns the undecided hunks; if there are none, all of `meant`, to be decided anew.
    fn open_of(&self, meant: Vec<ProposalIndex>) -> Vec<ProposalIndex> {
        let is_open = |place: &ProposalIndex| {
            let hunks = self.at(*place).map(|file| &file.hunks);
            let hunk = hunks.zip(place.hunk).and_then(|(hunks, at)| hunks.get(at));
            hunk.is_some_and(|hunk| hunk.choice.is_none())
        };
        let open: Vec<ProposalIndex> = meant.iter().copied().filter(is_open).collect();
        if open.is_empty() { meant } else { open }
    }

    /// Returns the hunks at `places`; for a whole file, those that `open_of` returns.
    pub(crate) fn meant(&self, places: &[ProposalIndex]) -> Vec<ProposalIndex> {
        let mut meant = Vec::new();
        for place in places {
            if place.hunk.is_some() {
                meant.push(*place);
            } else if let Some(file) = self.at(*place) {
                let all = (0..file.hunks.len()).map(|hunk| place.of_hunk(hunk));
                meant.extend(self.open_of(all.collect()));
            }
        }
        meant
    }
}

impl Proposal {
    /// Returns the answer that follows from the choices: accept unless every hunk is rejected;
    /// `None` while a hunk is undecided or a file has not been read.
    fn choice(&self) -> Option<ReviewAction> {
        let mut choice = None;
        for hunk in self.hunks() {
            match hunk.choice? {
                ReviewAction::Accept => choice = Some(ReviewAction::Accept),
                ReviewAction::Reject => {
                    choice.get_or_insert(ReviewAction::Reject);
                }
            }
        }
        choice.filter(|_| {
            self.files
                .iter()
                .all(|file| file.base.is_some() || !file.notes.is_empty())
        })
    }
}
