//! The user's choice among what is proposed, and the answer that it comes to.
//!
//! Invariant: a choice answers a question by the one option that allows, or rejects, this once;
//! where there is none, or more than one, the user is asked.

use std::path::{Path, PathBuf};

use super::{FileProposal, Proposal};
use crate::acp::{OptionKind, PermissionOption};
use crate::core::effect::{EditorEffect, Effect, Level};
use crate::core::event::ReviewAction;
use crate::core::ids::PermissionId;
use crate::core::ledger::Which;
use crate::core::model::{Effects, Model, notify};

impl Model {
    /// Returns the files that something is proposed for.
    pub(in crate::core) fn proposed_files(&self) -> Vec<PathBuf> {
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

    /// Decides about what is proposed for a file; `false` when nothing of it is meant.
    ///
    /// Of several proposals at one row the oldest is meant that is not decided about.
    pub(in crate::core) fn decide_proposals(
        &mut self,
        action: ReviewAction,
        path: &Path,
        which: &Which,
    ) -> bool {
        let path = match self.documents.find(path) {
            Some((_, document)) => document.path.clone(),
            None => path.to_owned(),
        };
        let mut files: Vec<&mut FileProposal> = self
            .proposals
            .files_mut()
            .filter(|file| file.path == path)
            .collect();
        let mut meant: Vec<(usize, usize)> = Vec::new();
        for (at, file) in files.iter().enumerate() {
            meant.extend(file.hit(which).into_iter().map(|hunk| (at, hunk)));
        }
        let is_open = |place: &(usize, usize)| {
            let hunk = files.get(place.0).and_then(|file| file.hunks.get(place.1));
            hunk.is_some_and(|hunk| hunk.choice.is_none())
        };
        // What is decided about is decided anew only if nothing else is meant.
        let open: Vec<(usize, usize)> = meant.iter().copied().filter(is_open).collect();
        if !open.is_empty() {
            meant = open;
        }
        if matches!(which, Which::Row(_)) {
            meant.truncate(1);
        }
        let hit = !meant.is_empty();
        for (at, hunk) in meant {
            let hunk = files.get_mut(at).and_then(|file| file.hunks.get_mut(hunk));
            if let Some(hunk) = hunk {
                hunk.choice = Some(action);
            }
        }
        if hit {
            self.reviews.dirty.insert(path);
        }
        hit
    }

    /// Answers the questions whose hunks are all decided about.
    pub(in crate::core) fn answer_decided(&mut self, fx: &mut Effects) {
        let all = self.proposals.all.iter();
        let decided = all.filter_map(|proposal| {
            let choice = proposal.choice()?;
            Some((proposal.permission?, choice, proposal.is_whole()))
        });
        let decided: Vec<_> = decided.collect();
        for (id, choice, is_whole) in decided {
            match self.once_option(id, choice).filter(|_| is_whole) {
                Some(option) => self.permission_answered(id, &option, fx),
                None => self.ask_for_option(id, is_whole, fx),
            }
        }
    }

    /// Returns the option that does this once, if there is exactly one.
    fn once_option(&self, id: PermissionId, choice: ReviewAction) -> Option<String> {
        let open = self.permissions.iter().find(|open| open.id == id)?;
        let kind = match choice {
            ReviewAction::Accept => OptionKind::AllowOnce,
            ReviewAction::Reject => OptionKind::RejectOnce,
        };
        let mut fitting = open.options.iter().filter(|option| option.kind == kind);
        match (fitting.next(), fitting.next()) {
            (Some(PermissionOption { id, .. }), None) => Some(id.clone()),
            _ => None,
        }
    }

    fn ask_for_option(&mut self, id: PermissionId, is_whole: bool, fx: &mut Effects) {
        let why = match is_whole {
            true => "none of the options, or more than one, says just that",
            false => "not all that the agent asks for can be shown in the files",
        };
        let text = format!("Please choose an option: {why}. What you chose by hunks is kept.");
        fx.push(notify(Level::Info, text));
        self.permissions.bring_forward(id);
        self.frame.permission_dirty = true;
        fx.push(Effect::Editor(EditorEffect::AskPermission { id }));
    }
}

impl Proposal {
    /// Returns what the choices come to: to allow, unless all is rejected; `None` while a hunk is
    /// not decided about.
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
