//! The review of one file: its ledger, and the state of the file apart from its lines.
//!
//! Invariant: the ledger changes only through the methods here.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::turns::TurnReview;
use super::whole::Away;
use crate::spine::event::{DiskFile, DiskText, Stamp, is_later};
use crate::spine::ids::{SessionKey, TurnKey};
use crate::spine::project::{Committed, FileChange, FileState};
use crate::spine::view::HunkView;
use crate::text::diff::{Conflict, Hunk, diff, merge};
use crate::text::{LineEdit, Text, moved};
use crate::workspace::feedback::{MAX_HUNKS, Rejected, RejectedWhole};
use crate::workspace::hunkview::Words;
use crate::workspace::info::ReviewInfo;
use crate::workspace::ledger::{Review, Which};

#[derive(Debug)]
pub struct FileReview {
    /// Readable everywhere; only the methods here change it.
    pub ledger: Review,
    pub session: SessionKey,
    /// The file's path, or the link's.
    pub path: PathBuf,
    /// The accepted state of the file, restored when all of it is rejected. Its text is the
    /// ledger's base.
    pub origin: FileState,
    /// The file as it is now; the text of it is the ledger's.
    pub now: FileState,
    /// The file after this client set its mode, until that change is reported.
    pub(super) restored: Option<Stamp>,
    /// The file as this client has moved it back here; it may have been written since.
    pub(crate) moved_back: Option<Stamp>,
    /// The path before the agent moved the file.
    pub from: Option<PathBuf>,
    /// The repository's version, once it has been read.
    pub(super) repository: Option<Committed>,
    /// The file may have been committed, or left by git, since an earlier Neovim left this review.
    pub(super) may_be_committed: bool,
    /// The agent's changes, apart from lines, that another program has reverted.
    pub(super) away: Option<Away>,
    /// A message has named a change on disk whose lines were only offered; there is no other message
    /// until all of them are decided.
    is_offer_told: bool,
    /// Hunks rejected since the last prompt.
    pub(super) rejected: Vec<Rejected>,
    /// Rejected changes of the file as a whole, since the last prompt.
    pub(super) rejected_whole: Vec<RejectedWhole>,
    /// The changes of each turn, the oldest first.
    pub(super) turns: Vec<TurnReview>,
    /// The accepted text before the agent's lines of a conflict that are being put into the text.
    taking: Option<Text>,
    /// The turn that the agent's changes belong to.
    pub(super) turn: Option<TurnKey>,
    /// The number of hunks, and whether any decision is pending, as announced last.
    pub(super) announced: (usize, bool),
    /// The session that counts this file, and its share: files and hunks.
    pub(super) counted: (SessionKey, (usize, usize)),
    words: Words,
    /// The pending changes as the public API shows them, made anew when they change.
    pub(crate) info: Option<Arc<ReviewInfo>>,
}

impl FileReview {
    /// Notes that a message names offered lines of the disk; `false` if an earlier one did.
    pub fn tell_of_offers(&mut self) -> bool {
        let has_offers = self
            .ledger
            .hunks()
            .iter()
            .any(|hunk| hunk.conflict.is_some());
        !(std::mem::replace(&mut self.is_offer_told, true) && has_offers)
    }

    /// Begins a review with everything accepted.
    pub(super) fn new(base: &Text, path: &Path, session: SessionKey, origin: FileState) -> Self {
        Self {
            ledger: Review::new(base.clone()),
            session,
            path: path.to_owned(),
            now: origin.clone(),
            origin,
            restored: None,
            moved_back: None,
            from: None,
            repository: None,
            may_be_committed: false,
            away: None,
            is_offer_told: false,
            rejected: Vec::new(),
            rejected_whole: Vec::new(),
            turns: Vec::new(),
            taking: None,
            turn: None,
            announced: (0, false),
            counted: (session, (0, 0)),
            words: Words::default(),
            info: None,
        }
    }

    /// Restarts a review that has nothing pending, for a change by the agent of `session`.
    pub(super) fn begin(&mut self, session: SessionKey, origin: FileState) {
        self.session = session;
        let mode = origin.mode.or(self.now.mode);
        self.origin = FileState { mode, ..origin };
        self.now = self.origin.clone();
        self.from = None;
        self.away = None;
        // A commit from now on may be the agent's own.
        self.may_be_committed = false;
        self.ledger.begin();
    }

    /// Returns whether the file is another one than the accepted one was, not only another content.
    pub fn is_replaced(&self) -> bool {
        let inode = |state: &FileState| state.stamp.map(|stamp| stamp.inode);
        match inode(&self.origin).zip(inode(&self.now)) {
            Some((before, now)) => before != now,
            None => self.origin.is_missing(),
        }
    }

    /// Replaces the whole text with the agent's version (see [`Review::agent_wrote`]).
    pub fn agent_wrote(&mut self, text: Text) {
        self.turns_wrote(&text, true);
        self.ledger.agent_wrote(text);
    }

    /// Replaces the whole text with the agent's version of `before`. What led there, and is not
    /// reported yet, is the agent's or another program's.
    pub fn agent_wrote_over(&mut self, before: &Text, text: Text, is_agents: bool) {
        let current = self.ledger.current();
        if current != before {
            match is_agents {
                true => self.agent_wrote(before.clone()),
                false => self.user_wrote(before.clone()),
            }
        }
        self.agent_wrote(text);
    }

    /// Replaces the whole text with a version by the user.
    pub fn user_wrote(&mut self, text: Text) {
        self.turns_wrote(&text, false);
        self.ledger.user_wrote(text);
    }

    /// Replaces the whole text with what another program left (see [`Review::others_wrote`]).
    pub fn others_wrote(&mut self, text: Text) {
        self.turns_others_left(&text);
        self.ledger.others_wrote(text);
    }

    /// Sets the accepted text.
    pub(super) fn rebase(&mut self, base: Text) {
        self.ledger.rebase(base);
    }

    /// Changes the accepted text as from the first text to the second, and so that of the file under
    /// unsaved lines.
    pub(super) fn shift_base(&mut self, base: &(Text, Text), of_file: &(Text, Text)) {
        let before = self.ledger.base().clone();
        self.ledger.shift_base(base, of_file);
        self.turns_accept(&before);
    }

    /// Attributes the difference between `origin` and `taken`, the review's first text, to the
    /// agent.
    pub fn was_agents(&mut self, taken: &Text, origin: &FileState) {
        let Some(before) = origin.text() else {
            return;
        };
        self.ledger.was_agents(&before, taken);
        let is_all = origin.is_missing() && self.ledger.base().is_empty();
        if is_all || self.origin.text().as_ref() == Some(taken) {
            self.origin = origin.clone();
        }
        self.turn_was_agents(taken, origin);
    }

    /// Returns the file as it was last on disk, if that is text: the ledger's.
    pub fn on_disk(&self) -> Option<DiskFile> {
        let (text, format) = (self.ledger.current().clone(), self.now.format()?);
        Some(DiskFile {
            real: self.path.clone(),
            content: Some(DiskText { text, format }),
            stamp: self.now.stamp,
            mode: self.now.mode,
        })
    }

    /// Returns the mode this client has set, if the reported state is older.
    pub fn restored_mode(&mut self, told: &FileState) -> Option<u32> {
        let restored = Some(self.restored?);
        let is_older = told.stamp != restored && !is_later(told.stamp, restored);
        if is_older && told.mode != self.now.mode {
            return self.now.mode;
        }
        self.restored = None;
        None
    }

    /// Records a change whose result is already recorded. Its report may be late, and older than
    /// the present state.
    pub fn found_again(&mut self, change: &FileChange, by: Option<SessionKey>) {
        let stamp = self.now.stamp;
        let is_newer = stamp.is_none() || stamp == change.before.stamp;
        if self.origin.mode.is_none() && self.now.mode.is_none() {
            let before = by.map_or(change.after.mode, |_| change.before.mode);
            self.origin.mode = before;
        }
        self.now = FileState {
            mode: change.after.mode.or(self.now.mode),
            stamp: if is_newer { change.after.stamp } else { stamp },
            ..change.after.clone()
        };
    }

    /// Records a change of the file as a whole.
    pub fn take_note(&mut self, change: &FileChange, by: Option<SessionKey>) {
        let (before, after) = (&change.before, change.after.clone());
        match by {
            Some(_) => {
                self.learn_mode(before);
                self.has_state(after);
            }
            None => self.others_left(before, after),
        }
    }

    /// Records a state of the file. What this client has read or written tells no mode.
    pub(super) fn has_state(&mut self, now: FileState) {
        let is_file = !now.is_missing() && now.link().is_none();
        let mode = now.mode.or(self.now.mode.filter(|_| is_file));
        self.now = FileState { mode, ..now };
    }

    /// Records a version of the file that was read or saved, which tells no mode.
    pub fn has_version(&mut self, now: FileState) {
        let mode = self.now.mode;
        self.now = FileState { mode, ..now };
    }

    /// Takes the mode from before the agent's first reported change, if the review began with a
    /// write that does not tell it.
    pub fn learn_mode(&mut self, before: &FileState) {
        if self.origin.mode.is_none() && self.now.mode.is_none() {
            self.origin.mode = before.mode;
        }
    }

    /// Records that the file is gone, and with it a mode to decide about.
    pub fn has_no_mode(&mut self) {
        self.now.mode = self.origin.mode;
    }

    /// Applies an edit made for the agent, or by the client.
    pub fn agent_edited(&mut self, edit: &LineEdit) {
        self.turns_agent_edited(edit);
        self.ledger.agent_edited(edit);
    }

    /// Applies an edit by the user.
    pub fn user_edited(&mut self, edit: &LineEdit) {
        self.turns_user_edited(edit);
        self.ledger.user_edited(edit);
    }

    /// Applies an edit that brings what another program has left.
    pub fn others_edited(&mut self, edit: &LineEdit) {
        self.turns_others_edited(edit);
        self.ledger.others_edited(edit);
    }

    /// Marks another program's edits as complete.
    pub fn others_done(&mut self) {
        for turn in &mut self.turns {
            turn.ledger.others_done();
        }
        self.ledger.others_done();
    }

    /// Replaces the whole text with what stands in a buffer, or in the file of one that has closed.
    pub fn text_left(&mut self, text: &Text) {
        let began = self.ledger.found_by_agent(text).cloned();
        self.turns_others_left(began.as_ref().unwrap_or(text));
        if began.is_some() {
            self.turns_wrote(text, true);
        }
        self.ledger.others_left(text);
    }

    /// Notes a change of the file that was merged into its buffer (see [`Review::file_changed`]).
    pub fn file_changed(&mut self, saved: &Text, now: &Text, is_agents: bool) {
        self.ledger.file_changed(saved, now, is_agents);
    }

    /// Notes that the file has the lines of its buffer.
    pub fn note_saved(&mut self) {
        self.ledger.note_saved();
    }

    /// Marks the agent's edits as complete (see [`Review::agent_done`]).
    pub fn agent_done(&mut self) {
        self.ledger.agent_done();
        self.turns_agent_done();
    }

    /// Applies an edit that carries out a decision.
    pub fn decision_edited(&mut self, edit: &LineEdit) {
        self.turns_user_edited(edit);
        self.ledger.decision_edited(edit);
    }

    /// Replaces the whole text with the result of a decision.
    pub fn decision_wrote(&mut self, text: Text) {
        self.turns_wrote(&text, false);
        self.ledger.decision_wrote(text);
    }

    /// Marks the edits of a decision as complete.
    pub fn decision_done(&mut self) {
        self.ledger.decision_done();
    }

    /// Applies an edit that gives the text the agent's lines of a conflict.
    pub fn taken(&mut self, edit: &LineEdit) {
        self.turns_agent_edited(edit);
        self.ledger.decision_edited(edit);
    }

    /// Marks the edits reported by [`FileReview::taken`] as complete.
    pub fn taken_done(&mut self) {
        self.turns_agent_done();
        self.ledger.decision_done();
        if let Some(before) = self.taking.take() {
            self.turns_accept(&before);
        }
    }

    /// Records that lines of the agent are back in the text, which was the first and is the second.
    pub(super) fn agent_is_back(&mut self, before: &Text, after: &Text) {
        self.ledger.agent_is_back(before, after);
    }

    /// Adds a conflict: the user's text stays, and the agent's lines are offered.
    pub fn offer(&mut self, conflict: Conflict) {
        self.ledger.offer(conflict);
    }

    /// Adds a conflict: the user's text stays, and the lines from before a turn that is undone are
    /// offered.
    pub(super) fn offer_earlier(&mut self, conflict: Conflict) {
        self.ledger.offer_earlier(conflict);
    }

    /// Adds a conflict with the deletion of the file, which is offered.
    pub fn offer_deletion(&mut self, conflict: Conflict) {
        self.ledger.offer_deletion(conflict);
    }

    /// Takes out conflicts with changes that the agent has reverted in the file, which has this text
    /// now, and withdraws the offers there.
    pub fn withdraw_reverted(&mut self, conflicts: &mut Vec<Conflict>, file: &Text) {
        if conflicts.is_empty() {
            return;
        }
        let (base, current) = (self.ledger.of_file().base(), self.ledger.current());
        let merged = merge(base, current, file);
        let mut after = current.clone();
        after.apply_all(&merged.edits);
        let back = diff(&after, current);
        let left = merged.conflicts.into_iter().map(|left| left.rows);
        let left = left.map(|rows| moved(rows.start, &back)..moved(rows.end, &back));
        // Where the user has taken back the lines, the agent's change is an edit.
        let edits = merged.edits.iter();
        let edits = edits.map(|edit| edit.start..edit.start + edit.removed);
        let left: Vec<Range<usize>> = left.chain(edits).collect();
        conflicts.retain(|conflict| {
            let rows = &conflict.rows;
            let mut left = left.iter();
            let is_left = left.any(|left| left.start <= rows.end && rows.start <= left.end);
            if !is_left {
                self.ledger.withdraw(rows);
            }
            is_left
        });
    }

    /// Withdraws the offers made while the file was gone, if it is back.
    pub(super) fn withdraw_stale(&mut self) {
        if !self.now.is_missing() {
            self.ledger.withdraw_deletion();
        }
    }

    /// Accepts hunks, and returns the edits to make (see [`Review::accept`]).
    pub fn accept(&mut self, which: &Which) -> Vec<LineEdit> {
        let hunks = self.ledger.meant(which);
        for hunk in &hunks {
            self.is_back(hunk);
        }
        let before = self.ledger.base().clone();
        let is_every = self.ledger.hit(which).len() == self.ledger.hunks().len();
        // A conflict that is taken is a hunk until the text has the agent's lines.
        let is_deletion = is_every && self.ledger.skipped(which) == 0 && self.now.is_missing();
        let edits = self.ledger.accept(which);
        match edits.is_empty() {
            true => self.turns_accept(&before),
            // The agent's lines of a conflict are the turn's work once they are in the text.
            false => self.taking = Some(before),
        }
        if *which == Which::All {
            self.whole_is_back();
            self.accept_whole();
        } else if self.ledger.hunks().is_empty() || is_deletion {
            self.accept_content();
        }
        edits
    }

    /// Returns the edits that reject hunks (see [`Review::reject`]).
    pub fn reject(&mut self, which: &Which) -> Vec<LineEdit> {
        for hunk in self.ledger.meant(which) {
            self.note_rejected(&hunk);
        }
        let current = self.ledger.current();
        let conflicts = self.ledger.hit(which).iter().filter_map(|hunk| {
            let theirs = hunk.conflict.as_ref()?;
            Some(Rejected::of_conflict(hunk, theirs, current))
        });
        let conflicts: Vec<Rejected> = conflicts.collect();
        for rejected in conflicts {
            self.was_rejected(rejected);
        }
        self.ledger.reject(which)
    }

    /// Records that the user rejects a hunk.
    pub(super) fn note_rejected(&mut self, hunk: &Hunk) {
        self.was_rejected(Rejected::of(
            hunk,
            self.ledger.base(),
            self.ledger.current(),
        ));
    }

    /// Queues a rejected hunk for the report to the agent.
    pub fn was_rejected(&mut self, rejected: Rejected) {
        let has_room = self.rejected.len() < MAX_HUNKS;
        if has_room && self.rejected.iter().all(|other| !other.is_same(&rejected)) {
            self.rejected.push(rejected);
        }
    }

    /// Applies the changes of a later review of the same file, which began under another path.
    pub fn go_on_as(&mut self, later: Self) {
        self.agent_wrote(later.ledger.alone().clone());
        self.user_wrote(later.ledger.current().clone());
        for conflict in later.ledger.offered() {
            self.offer(conflict);
        }
        self.has_version(later.now.clone());
        self.takes_rejects(later);
    }

    /// Takes over the rejects of another file that this one replaces.
    pub(super) fn takes_rejects(&mut self, other: Self) {
        self.rejected.extend(other.rejected);
        self.rejected_whole.extend(other.rejected_whole);
    }

    /// Clears the rejects: they were reported, or undone.
    pub(super) fn forget_rejected(&mut self) {
        self.rejected.clear();
        self.rejected_whole.clear();
    }

    /// Clears the reject of a hunk that is back and accepted.
    pub(super) fn is_back(&mut self, hunk: &Hunk) {
        let (base, current) = (self.ledger.base(), self.ledger.current());
        self.rejected
            .retain(|rejected| !rejected.is_in(hunk, base, current));
    }

    /// Returns the hunks as a buffer shows them.
    pub fn views(&mut self) -> Vec<HunkView> {
        self.words.views(&self.ledger)
    }

    /// Returns whether any of the file's changes was rejected since the last report.
    pub fn has_rejected(&self) -> bool {
        !self.rejected.is_empty() || !self.rejected_whole.is_empty()
    }

    /// Returns the rejected hunks that are not back.
    pub fn told_rejected(&self) -> Vec<&Rejected> {
        if self.rejected.is_empty() {
            return Vec::new();
        }
        let (base, current) = (self.ledger.base(), self.ledger.current());
        // Indexed by line: of thousands of hunks, few contain a given line.
        let mut by_line: HashMap<Cow<'_, str>, Vec<&Hunk>> = HashMap::new();
        for hunk in self.ledger.hunks() {
            if let Some(theirs) = &hunk.conflict {
                for line in theirs {
                    by_line.entry(line.into()).or_default().push(hunk);
                }
                continue;
            }
            let lines = match hunk.new.is_empty() {
                true => base.lines(hunk.old.clone()),
                false => current.lines(hunk.new.clone()),
            };
            for line in lines {
                by_line.entry(line).or_default().push(hunk);
            }
        }
        let is_there = |rejected: &&Rejected| {
            let first = rejected.first_line();
            let hunks = first.and_then(|line| by_line.get(line));
            let mut hunks = hunks.into_iter().flatten();
            hunks.any(|hunk| rejected.is_in(hunk, base, current))
        };
        let rejected = self.rejected.iter();
        rejected.filter(|rejected| !is_there(rejected)).collect()
    }
}
