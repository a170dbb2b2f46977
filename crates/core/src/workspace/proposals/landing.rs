//! Choices that outlive their question: rejected lines are restored after the agent has written
//! them, and accepted lines need no second review.
//!
//! Invariant: a choice is carried out only if the agent wrote exactly the proposed lines; otherwise
//! the written lines are left for review.

use std::path::{Path, PathBuf};

use super::putback::PutBack;
use super::{Proposal, Proposed};
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::Level;
use crate::spine::event::ReviewAction;
use crate::spine::ids::{QuestionId, SessionKey};
use crate::text::diff::{Hunk, hunks};
use crate::text::{LineEdit, Text};
use crate::workspace::Workspace;
use crate::workspace::feedback::Rejected;
use crate::workspace::fileops::{Intent, Kind};
use crate::workspace::ledger::Which;
use crate::workspace::sessions::SessionFiles;

/// The user's choices about a file that the agent is about to write.
#[derive(Debug)]
pub struct Kept {
    session: SessionKey,
    path: PathBuf,
    /// The path with symbolic links resolved.
    real: PathBuf,
    hunks: Vec<Proposed>,
    /// A turn has run since; the choices are cleared when it ends.
    in_turn: bool,
}

impl Workspace {
    /// Ends the proposal of a question that is being answered; keeps its choices if the agent may
    /// proceed. No user has read what a rule answers.
    pub(crate) fn proposal_answered(&mut self, id: QuestionId, is_allowed: bool, by_rule: bool) {
        let all = &mut self.proposals.all;
        let at = all.iter().position(|one| one.permission == Some(id));
        let Some(mut proposal) = at.map(|at| all.remove(at)) else {
            return;
        };
        if self.proposals.accept_allowed && !by_rule {
            let files = proposal.files.iter_mut();
            for hunk in files.flat_map(|file| &mut file.hunks) {
                hunk.choice.get_or_insert(ReviewAction::Accept);
            }
        }
        for file in &proposal.files {
            self.reviews.dirty.insert(file.path.clone());
        }
        if is_allowed {
            self.keep_choices(proposal);
        }
    }

    /// Keeps the choices about a proposal for the agent's write.
    pub(super) fn keep_choices(&mut self, proposal: Proposal) {
        let session = proposal.session;
        for file in proposal.files {
            let mut hunks = file.hunks;
            hunks.retain(|hunk| hunk.choice.is_some());
            if !hunks.is_empty() {
                self.proposals.kept.push(Kept {
                    session,
                    real: file.real.unwrap_or_else(|| file.path.clone()),
                    path: file.path,
                    hunks,
                    in_turn: false,
                });
            }
        }
    }

    /// Clears choices whose writes never came.
    pub(super) fn forget_choices(&mut self) {
        let mut all = std::mem::take(&mut self.proposals.kept);
        all.retain_mut(|kept| {
            let is_running = self.may_write(kept.session);
            let is_over = kept.in_turn && !is_running;
            kept.in_turn |= is_running;
            let is_coming = || {
                let is_meant = |kind| matches!(kind, Kind::Write(_) | Kind::TakeIn(_));
                let mut paths = [&kept.path, &kept.real].into_iter();
                paths.any(|path| self.fileops.has(path, is_meant))
            };
            self.sessions.contains_key(&kept.session) && !is_over || is_coming()
        });
        self.proposals.kept = all;
        let mut asked = std::mem::take(&mut self.proposals.asked);
        asked.retain(|(key, _)| self.may_write(*key));
        self.proposals.asked = asked;
    }

    /// Returns whether a session's turn is running, or some of its changes on disk may be
    /// unreported.
    fn may_write(&self, key: SessionKey) -> bool {
        let session = self.sessions.get(&key);
        session.is_some_and(SessionFiles::is_at_work) || self.windows.is_open(key)
    }

    /// Carries out earlier choices after an agent wrote a file; the ledger already contains the
    /// write.
    pub(crate) fn proposals_landed(
        &mut self,
        path: &Path,
        before: &Text,
        after: &Text,
        fx: &mut Effects,
    ) {
        self.proposals_stale(path);
        let is_meant = |kept: &Kept| kept.path == path || kept.real == path;
        if !self.proposals.kept.iter().any(is_meant) {
            return;
        }
        let mut written = hunks(before, after);
        let (mut rejected, mut told) = (Vec::new(), Vec::new());
        let mut left = 0;
        let mut kept = std::mem::take(&mut self.proposals.kept);
        for kept in kept.iter_mut().filter(|kept| is_meant(kept)) {
            let chosen = std::mem::take(&mut kept.hunks);
            for hunk in chosen {
                if self.decide_offer(path, &hunk, fx) {
                    continue;
                }
                match take_same(&mut written, &hunk, before, after) {
                    Some(came) if hunk.choice == Some(ReviewAction::Reject) => {
                        told.push(Rejected::of(&came, before, after));
                        rejected.push(LineEdit {
                            start: came.new.start,
                            removed: came.new.len(),
                            lines: hunk.old,
                        })
                    }
                    Some(came) => self.accept_written(path, &came, &hunk.old),
                    None => {
                        left += usize::from(hunk.choice == Some(ReviewAction::Reject));
                        kept.hunks.push(hunk);
                    }
                }
            }
        }
        kept.retain(|kept| !kept.hunks.is_empty());
        self.proposals.kept = kept;
        if left > 0 && !written.is_empty() {
            let text = format!(
                "{}: the agent wrote something other than the hunk you rejected; review it.",
                path.display()
            );
            fx.push(notify(Level::Warn, text));
        }
        if let Some(review) = self.reviews.get_mut(path) {
            for hunk in told {
                review.was_rejected(hunk);
            }
        }
        rejected.sort_by_key(|edit| edit.start);
        self.put_rejected_back(path, after, rejected, fx);
    }

    /// Accepts a hunk in the ledger, unless it is part of a larger hunk, which has more than the lines
    /// `old` that the user has seen go.
    fn accept_written(&mut self, path: &Path, came: &Hunk, old: &[String]) {
        let Some(review) = self.reviews.get_mut(path) else {
            return;
        };
        let base = review.ledger.base();
        let is_hunk = |hunk: &Hunk| {
            let is_same = hunk.new == came.new && hunk.conflict.is_none();
            let is_small = match came.new.is_empty() {
                true => base.to_lines(hunk.old.clone()) == old,
                false => hunk.old.len() <= old.len(),
            };
            is_same && is_small
        };
        if review.ledger.hunks().iter().any(is_hunk) {
            let which = match came.new.is_empty() {
                true => Which::Row(came.new.start),
                false => Which::Rows(came.new.clone()),
            };
            // Without a conflict, accepting makes no edits.
            review.accept(&which);
            self.reviews.touch(path);
        }
    }

    /// Decides a conflict that offers the proposed lines; `false` if there is none.
    fn decide_offer(&mut self, path: &Path, hunk: &Proposed, fx: &mut Effects) -> bool {
        let Some(review) = self.reviews.get(path) else {
            return false;
        };
        let is_offer = |one: &&Hunk| {
            let theirs = one
                .conflict
                .as_ref()
                .is_some_and(|theirs| *theirs == hunk.new);
            theirs && review.ledger.current().to_lines(one.new.clone()) == hunk.old
        };
        let row = review.ledger.hunks().iter().find(is_offer);
        match (row.map(|one| one.new.start), hunk.choice) {
            (Some(row), Some(action)) => {
                self.review_next(action, path, Which::Row(row), fx);
                true
            }
            _ => false,
        }
    }

    fn put_rejected_back(
        &mut self,
        path: &Path,
        after: &Text,
        edits: Vec<LineEdit>,
        fx: &mut Effects,
    ) {
        if edits.is_empty() {
            return;
        }
        let mut text = after.clone();
        text.apply_all(&edits);
        let Some(review) = self.reviews.get(path) else {
            return;
        };
        if review.is_created() && text.is_empty() {
            // The file was created for these lines, and is deleted with them.
            return self.review_next(ReviewAction::Reject, path, Which::All, fx);
        }
        let back = PutBack::new(review.session, after.clone(), edits);
        self.follow_up(path.to_owned(), Intent::PutBack(back), fx);
    }
}

/// Removes and returns the written hunk that matches a proposed one; of several, the nearest.
fn take_same(
    written: &mut Vec<Hunk>,
    hunk: &Proposed,
    before: &Text,
    after: &Text,
) -> Option<Hunk> {
    let same = written.iter().enumerate().filter(|(_, came)| {
        came.old.len() == hunk.old.len()
            && came.new.len() == hunk.new.len()
            && before.to_lines(came.old.clone()) == hunk.old
            && after.to_lines(came.new.clone()) == hunk.new
    });
    let nearest = same.min_by_key(|(_, came)| came.old.start.abs_diff(hunk.rows.start));
    let at = nearest.map(|(at, _)| at)?;
    Some(written.remove(at))
}
