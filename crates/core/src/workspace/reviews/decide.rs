//! Accepts and rejects hunks, in the file's buffer, else on disk.
//!
//! Invariant: a file on disk is read before a decision changes it, so that other programs' changes
//! stay.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::FileReview;
use super::later::Later;
use super::moving::{Moved, order_of_undo};
use super::seen::Seen;
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::{Level, Save};
use crate::spine::event::{ReviewAction, Scope, Stamp};
use crate::spine::project::FileState;
use crate::text::diff::diff;
use crate::text::format::Format;
use crate::text::{LineEdit, Text, moved};
use crate::workspace::Workspace;
use crate::workspace::fileops::{
    Author, BufferEdit, Change, FileNow, Intent, Landing, Next, Outcome, Plan, not_saved,
};
use crate::workspace::ledger::Which;

/// Hunks that the user accepts or rejects.
#[derive(Debug, Clone)]
pub struct Decide {
    choice: Choice,
    /// The edits that carry it out, once the review has recorded it.
    decided: Option<Decided>,
    /// The write permission, which the agent has taken, was asked for.
    is_unlocked: bool,
}

#[derive(Debug, Clone)]
enum Choice {
    /// What the user saw is accepted. The text stays.
    Accept(Box<Seen>),
    /// A conflict is accepted: the text gets the agent's lines.
    Take(Selected),
    Reject(Selected),
}

/// Hunks in rows of a text.
#[derive(Debug, Clone)]
struct Selected {
    which: Which,
    text: Text,
}

/// The fate of a file whose hunks are rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It stays, with other text.
    Stays,
    /// It is deleted.
    Deleted,
    /// The agent created it, but the user's lines stay; the file becomes the user's.
    Users,
}

/// The result of a decision: edits.
#[derive(Debug, Clone)]
pub(super) struct Decided {
    pub(super) edits: Vec<LineEdit>,
    pub(super) after: Text,
    pub(super) end: End,
}

impl Selected {
    /// Maps the chosen rows to the present text.
    fn follow(&mut self, now: &Text) {
        if self.text != *now {
            let which = std::mem::replace(&mut self.which, Which::All);
            self.which = which.moved(&self.text, now);
            self.text.clone_from(now);
        }
    }
}

impl Choice {
    /// Follows a review; returns whether any of the chosen changes is pending in it.
    fn follow(&mut self, review: &FileReview) -> bool {
        match self {
            Choice::Accept(seen) => review.has_seen(seen),
            Choice::Take(selected) | Choice::Reject(selected) => {
                selected.follow(review.ledger.current());
                review.is_meant(&selected.which)
            }
        }
    }
}

impl Decide {
    fn new(choice: Choice) -> Self {
        Self {
            choice,
            decided: None,
            is_unlocked: false,
        }
    }

    /// Accepts what the user saw.
    pub(super) fn accept(seen: Seen) -> Self {
        Self::new(Choice::Accept(Box::new(seen)))
    }

    /// Plans to make the edits in the file's buffer, else on disk.
    pub(crate) fn plan(&self, now: FileNow) -> Plan {
        let decided = self.decided.as_ref();
        let Some(decided) = decided.filter(|decided| !decided.edits.is_empty()) else {
            return Plan::Done(Landing::Plain);
        };
        match (now.document, now.review) {
            (Some((buf, document)), review) => {
                let save = match (decided.end, review) {
                    (End::Deleted, _) => Save::Deleted,
                    (End::Stays, Some(review)) => {
                        Save::back(document.stamp, decided.format(review))
                    }
                    (End::Stays | End::Users, _) => Save::OverIfClean(document.stamp),
                };
                let author = match self.choice {
                    Choice::Take(_) => Author::Taken,
                    Choice::Accept(_) | Choice::Reject(_) => Author::Decision,
                };
                Plan::Edit {
                    edit: BufferEdit::new(buf, document, decided.edits.clone(), save),
                    author,
                    opens: None,
                    landing: Landing::Decided(decided.end),
                }
            }
            (None, Some(review)) => decided.plan_on_disk(review, now.stamp()),
            (None, None) => Plan::Done(Landing::Plain),
        }
    }

    fn rejects_all(&self) -> bool {
        matches!(&self.choice, Choice::Reject(selected) if selected.which == Which::All)
    }
}

impl Decided {
    /// Returns the format of the file with the decision.
    fn format(&self, review: &FileReview) -> Format {
        let is_base = self.after == *review.ledger.base();
        let origin = review.origin.format().filter(|_| is_base);
        origin.or_else(|| review.format()).unwrap_or_default()
    }

    fn plan_on_disk(&self, review: &FileReview, over: Option<Stamp>) -> Plan {
        let (text, format) = (self.after.clone(), self.format(review));
        let (change, state) = match self.end {
            End::Deleted => (Change::Restore(FileState::missing()), FileState::missing()),
            End::Stays | End::Users => {
                let state = FileState::of_text(text.clone(), format);
                (Change::Write { over, text, format }, state)
            }
        };
        Plan::Disk(change, Landing::DecidedOnDisk(state, self.end))
    }
}

impl Which {
    /// Returns the hunks of `now` that match the hunks chosen in `then`.
    fn moved(self, then: &Text, now: &Text) -> Which {
        let since = diff(then, now);
        match self {
            Which::Row(row) => Which::Row(moved(row, &since)),
            Which::Rows(rows) => Which::Rows(moved(rows.start, &since)..moved(rows.end, &since)),
            Which::All => Which::All,
        }
    }
}

impl FileReview {
    /// Decides hunks, and returns the edits to make.
    fn decide(&mut self, choice: &Choice) -> Decided {
        let edits = match choice {
            Choice::Accept(seen) => {
                self.accept_seen(seen);
                Vec::new()
            }
            Choice::Take(selected) => self.accept(&selected.which),
            Choice::Reject(selected) => self.reject(&selected.which),
        };
        let mut after = self.ledger.current().clone();
        after.apply_all(&edits);
        let is_gone = self.is_created() && matches!(choice, Choice::Reject(_)) && after.is_empty();
        let plan = Decided {
            edits,
            after,
            end: if is_gone { End::Deleted } else { End::Stays },
        };
        if !is_gone {
            return plan;
        }
        self.note_rejected_whole(self.whole());
        self.without_agent().unwrap_or(plan)
    }

    /// Returns whether accepting these hunks takes the agent's lines of a conflict.
    fn takes_offers(&self, which: &Which) -> bool {
        let hit = self.ledger.hit(which).iter();
        let conflicts = hit.filter(|hunk| hunk.conflict.is_some()).count();
        conflicts > self.ledger.skipped(which)
    }

    /// Returns the edits that remove the agent's text but keep the user's later changes; `None` if
    /// the file has none.
    pub(super) fn without_agent(&self) -> Option<Decided> {
        let current = self.ledger.current();
        let mut edits = Vec::new();
        let mut row = 0;
        let gone = |rows: Range<usize>| LineEdit {
            start: rows.start,
            removed: rows.len(),
            lines: Vec::new(),
        };
        // The agent wrote everything between the user's changes.
        for change in diff(current, self.ledger.alone()) {
            edits.extend((row < change.start).then(|| gone(row..change.start)));
            row = change.start + change.removed;
        }
        edits.extend((row < current.len()).then(|| gone(row..current.len())));
        let mut after = current.clone();
        after.apply_all(&edits);
        (!after.is_empty()).then_some(Decided {
            edits,
            after,
            end: End::Users,
        })
    }
}

/// The reasons for leaving a file without a decision.
pub(crate) const NO_TEXT: &str = "it is no longer text; nothing was changed. Look at it again.";
pub(crate) const GONE: &str = "it no longer exists; nothing was changed. Look at it again.";
pub(crate) const ELSEWHERE: &str = "a symbolic link in its path leads to another file; nothing was \
                                    changed. Reject the link first.";
pub(crate) const CHANGED: &str =
    "another program has changed it; what is there stays. Look at it again.";

impl Workspace {
    /// Accepts or rejects what a scope selects: proposals at once, then changes that are written.
    pub(crate) fn review(&mut self, action: ReviewAction, scope: Scope, fx: &mut Effects) {
        let mut targets = self.targets(&scope);
        let mut is_proposed = false;
        targets.retain(|(path, which)| {
            let is_hit = self.decide_proposals(action, path, which);
            is_proposed |= is_hit;
            // A proposal for a row takes precedence over lines already written there.
            !is_hit || !matches!(which, Which::Row(_))
        });
        if action == ReviewAction::Reject && self.may_bring_more(&scope) {
            return self.when_decided(Later::Reject { scope, is_proposed }, fx);
        }
        let is_hit = match scope {
            Scope::Turn { session } => {
                let accepts = self.accepts_of_turn(session);
                let files = accepts.iter().map(|(path, _)| (path.clone(), Which::All));
                self.tell_skipped(&files.collect::<Vec<_>>(), fx);
                self.decide(accepts, fx)
            }
            _ => self.review_files(action, targets, fx),
        };
        if !is_hit && !is_proposed {
            self.tell_nothing(&scope, fx);
        }
    }

    /// Rejects all that a scope selects, once no decision is under way.
    pub(super) fn reject_now(&mut self, scope: Scope, is_proposed: bool, fx: &mut Effects) {
        let is_hit = match scope {
            Scope::Turn { session } => {
                self.reviews.begin_decision();
                self.reject_turn(session, fx)
            }
            _ => {
                let decisions = self.decisions(ReviewAction::Reject, self.targets(&scope));
                let is_hit = !decisions.is_empty();
                self.decide_now(decisions, fx);
                is_hit
            }
        };
        if !is_hit && !is_proposed {
            self.tell_nothing(&scope, fx);
        }
    }

    /// Returns whether a decision under way may bring changes back that a scope selects.
    fn may_bring_more(&self, scope: &Scope) -> bool {
        match scope {
            Scope::All | Scope::Turn { .. } => true,
            Scope::File { path } => self.is_deciding_on(path),
            _ => false,
        }
    }

    fn tell_nothing(&self, scope: &Scope, fx: &mut Effects) {
        let of_file = |(path, _): &(PathBuf, Which)| {
            let review = self.reviews.get(path);
            review.is_some_and(|review| {
                review.ledger.hunks().is_empty() && !review.whole().is_empty()
            })
        };
        let mut all = self.reviews.iter();
        let text = if self.targets(scope).iter().any(of_file) {
            "No hunk here; `:Acp accept file` and `:Acp reject file` decide about the file."
        } else if all.any(|(_, review)| !review.ledger.hunks().is_empty()) {
            "No change to review here; `:Acp next` goes to one."
        } else {
            "Nothing to review here."
        };
        fx.push(notify(Level::Info, text));
    }

    /// Returns the files of a scope, and its selection in each.
    fn targets(&self, scope: &Scope) -> Vec<(PathBuf, Which)> {
        let (path, which) = match scope {
            Scope::Turn { .. } => return Vec::new(),
            Scope::Hunk { buf, row } => (self.path_of(*buf), Which::Row(*row)),
            Scope::Rows { buf, rows } => (self.path_of(*buf), Which::Rows(rows.clone())),
            Scope::At { path, row } => (Some(path.clone()), Which::Row(*row)),
            Scope::Span { path, rows } => (Some(path.clone()), Which::Rows(rows.clone())),
            Scope::File { path } => {
                // The file and, if its buffer has a link as its name, the link.
                let open = self.documents.find(path);
                let link = open.map(|(_, document)| document.name.clone());
                let link = link.filter(|name| name != path);
                let all = [path.clone()].into_iter().chain(link);
                return all.map(|path| (path, Which::All)).collect();
            }
            Scope::All => {
                let all = self.reviews.iter().map(|(path, _)| path.clone());
                let mut all: Vec<PathBuf> = all.chain(self.proposed_files()).collect();
                all.sort();
                all.dedup();
                return all.into_iter().map(|path| (path, Which::All)).collect();
            }
        };
        path.map(|path| (path, which)).into_iter().collect()
    }

    /// Reports the conflicts that accepting these selections leaves undecided.
    fn tell_skipped(&self, targets: &[(PathBuf, Which)], fx: &mut Effects) {
        let skipped = targets.iter().map(|(path, which)| {
            let review = self.reviews.get(path);
            review.map_or(0, |review| review.ledger.skipped(which))
        });
        let text = match skipped.sum::<usize>() {
            0 => return,
            1 => "1 conflict was skipped: it".to_owned(),
            many => format!("{many} conflicts were skipped: each"),
        };
        fx.push(notify(
            Level::Warn,
            format!("{text} would replace your lines. Decide it alone; `:Acp next` goes there."),
        ));
    }

    /// Accepts or rejects hunks of files; `false` if they have no such hunk.
    pub(crate) fn review_files(
        &mut self,
        action: ReviewAction,
        targets: Vec<(PathBuf, Which)>,
        fx: &mut Effects,
    ) -> bool {
        if action == ReviewAction::Accept {
            self.tell_skipped(&targets, fx);
        }
        let decisions = self.decisions(action, targets);
        self.decide(decisions, fx)
    }

    /// Carries out decisions after all that wait; `false` if there are none.
    fn decide(&mut self, decisions: Vec<(PathBuf, Decide)>, fx: &mut Effects) -> bool {
        let is_hit = !decisions.is_empty();
        match self.reviews.has_later() {
            true => self.when_decided(Later::Decide(decisions), fx),
            false => self.decide_now(decisions, fx),
        }
        is_hit
    }

    fn decisions(
        &self,
        action: ReviewAction,
        mut targets: Vec<(PathBuf, Which)>,
    ) -> Vec<(PathBuf, Decide)> {
        targets.sort_by_key(|(path, _)| {
            let review = self.reviews.get(path);
            review.map(|review| order_of_undo(&review.origin, review.from.as_deref()))
        });
        let targets = targets.into_iter();
        let decisions = targets.filter_map(|(path, which)| self.decision(action, &path, which));
        decisions.collect()
    }

    /// Carries out decisions, each after the operations queued for its file. They are undone as one.
    pub(super) fn decide_now(&mut self, decisions: Vec<(PathBuf, Decide)>, fx: &mut Effects) {
        self.reviews.begin_decision();
        for (path, decide) in decisions {
            match self.accepts_at_once(&path, &decide) {
                true => {
                    self.decided(&path, &decide);
                }
                false => self.operate(path, Intent::Decide(decide), fx),
            }
        }
    }

    /// Accepts or rejects hunks of a file that has just changed, before the operations queued for
    /// it.
    pub(crate) fn review_next(
        &mut self,
        action: ReviewAction,
        path: &Path,
        which: Which,
        fx: &mut Effects,
    ) {
        if let Some((path, intent)) = self.decision(action, path, which) {
            self.follow_up(path, Intent::Decide(intent), fx);
        }
    }

    /// Returns a decision about hunks of a file, and the name of its review.
    fn decision(
        &self,
        action: ReviewAction,
        path: &Path,
        which: Which,
    ) -> Option<(PathBuf, Decide)> {
        let review = self
            .reviews
            .get(path)
            .filter(|review| review.is_meant(&which))?;
        let text = review.ledger.current().clone();
        let choice = match action {
            ReviewAction::Reject => Choice::Reject(Selected { which, text }),
            ReviewAction::Accept if review.takes_offers(&which) => {
                Choice::Take(Selected { which, text })
            }
            ReviewAction::Accept => Choice::Accept(Box::new(review.see(&which))),
        };
        Some((path.to_owned(), Decide::new(choice)))
    }

    /// Returns whether a decision leaves the text unchanged and so can skip the queue.
    fn accepts_at_once(&self, path: &Path, decide: &Decide) -> bool {
        let is_open = self.documents.find(path).is_some();
        is_open && matches!(decide.choice, Choice::Accept(_)) && !self.is_deciding_on(path)
    }

    /// Records a decision in the review. Changes of the file as a whole come first.
    pub(crate) fn prepare_decision(&mut self, path: &Path, decide: &mut Decide, fx: &mut Effects) {
        decide.decided = None;
        let Some(review) = self.reviews.get_mut(path) else {
            return;
        };
        if !decide.choice.follow(review) {
            return;
        }
        if let Choice::Reject(Selected { which, .. }) = &decide.choice
            && review.is_whole(which)
        {
            let is_hit = !review.ledger.hit(which).is_empty();
            review.note_rejected_whole(review.whole());
            if review.is_locked() && !std::mem::replace(&mut decide.is_unlocked, true) {
                self.follow_up(path.to_owned(), Intent::Rest, fx);
                self.follow_up(path.to_owned(), Intent::Decide(decide.clone()), fx);
                return;
            }
            if self.reject_first(path, fx) || !is_hit && self.reject_last(path, fx) {
                return;
            }
        }
        decide.decided = self.decided(path, decide);
        let decided = decide.decided.as_ref();
        // There were conflicts only.
        let is_kept = decided
            .is_some_and(|decided| decided.edits.is_empty() && decided.end == End::Stays)
            && matches!(decide.choice, Choice::Reject(_));
        if is_kept {
            self.unsaved.insert(path.to_owned());
        }
        if is_kept && decide.rejects_all() {
            self.reject_last(path, fx);
        }
    }

    /// Applies a decision to the ledger and records it for undo; returns its effect on the text.
    fn decided(&mut self, path: &Path, decide: &Decide) -> Option<Decided> {
        let review = self.reviews.get_mut(path)?;
        let mut noted = Moved::before(path, review);
        noted.offers = review.ledger.offered();
        let decided = review.decide(&decide.choice);
        let left = review.ledger.offered();
        noted.offers.retain(|offer| !left.contains(offer));
        let noted = noted.after(review, &decided.after, decided.end == End::Deleted);
        self.reviews.note_decided(noted);
        self.reviews.touch(path);
        if decided.edits.is_empty() && decided.end == End::Users {
            self.all_is_users(path);
        }
        Some(decided)
    }

    /// Attributes the rest of a file created by the agent, and the file itself, to the user.
    fn all_is_users(&mut self, path: &Path) {
        if let Some(review) = self.reviews.get_mut(path) {
            review.accept(&Which::All);
            self.reviews.touch(path);
        }
    }

    /// Records a decision's effect on the text, and continues with the file as a whole.
    pub(crate) fn decision_landed(
        &mut self,
        path: &Path,
        decide: &Decide,
        landing: Landing,
        outcome: Outcome,
        fx: &mut Effects,
    ) -> Next {
        let end = match (landing, outcome) {
            (Landing::Decided(end), Outcome::Edited(done)) => {
                match done.saved {
                    Some(Err(why)) => fx.push(notify(Level::Error, not_saved(path, why))),
                    Some(Ok(())) => {}
                    None if end == End::Stays && matches!(decide.choice, Choice::Reject(_)) => {
                        self.unsaved.insert(path.to_owned());
                    }
                    None => {}
                }
                end
            }
            (Landing::DecidedOnDisk(state, end), Outcome::Written(stamp)) => {
                if end == End::Deleted {
                    return self.restored(path, state, true, stamp, fx);
                }
                let is_open = self.documents.find(path).is_some();
                let state = FileState { stamp, ..state };
                if let Some(review) = self.reviews.get_mut(path) {
                    if !is_open {
                        review.decision_wrote(state.text().unwrap_or_default());
                    }
                    review.has_version(state.clone());
                }
                self.note_written(path, state);
                self.reviews.touch(path);
                // A buffer was loaded just before the file was replaced. What is left of the file is
                // rejected once the buffer has the text.
                if is_open {
                    let goes_on = end == End::Stays && decide.rejects_all();
                    self.reread(path, goes_on, fx);
                    if goes_on {
                        return Next::Done;
                    }
                }
                end
            }
            _ => return Next::Done,
        };
        match end {
            End::Stays if decide.rejects_all() => {
                self.reject_last(path, fx);
            }
            End::Stays => {}
            End::Users => self.all_is_users(path),
            End::Deleted => {
                let intent = self.restore(path, FileState::missing(), true);
                self.follow_up(path.to_owned(), intent, fx);
            }
        }
        Next::Done
    }
}
