//! The review of one file: its ledger, and what there is to know of the file beside its lines.
//!
//! Invariant: the ledger hears of nothing but through the methods here.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::turns::TurnReview;
use crate::core::changes::advance;
use crate::core::feedback::{MAX_HUNKS, Rejected, RejectedWhole};
use crate::core::ids::{SessionKey, TurnKey};
use crate::core::ledger::{Conflict, Hunk, Review, Which, diff};
use crate::core::project::{Committed, FileChange, FileState};
use crate::core::snapshot::HunkInfo;
use crate::core::text::{LineEdit, Text};

#[derive(Debug)]
pub struct FileReview {
    /// Looked at by everyone, changed by the methods here alone.
    pub ledger: Review,
    pub session: SessionKey,
    /// The file's path with symbolic links resolved.
    pub real: PathBuf,
    /// The file as the user has accepted it: what a reject of the whole comes back to. The text
    /// of it is the ledger's base.
    pub origin: FileState,
    /// The file as it is now; the text of it is the ledger's.
    pub now: FileState,
    /// Where it was before the agent moved it.
    pub from: Option<PathBuf>,
    /// What the user's repository has of it, once that is known.
    pub(super) repository: Option<Committed>,
    /// The text as the agent last left it: what differs since is the user's.
    pub written: Text,
    /// The text before the edits of the agent's that are coming in.
    before_edits: Option<Text>,
    /// What the user has rejected since the last prompt.
    pub(super) rejected: Vec<Rejected>,
    /// What of that was about the file as a whole.
    pub(super) rejected_whole: Vec<RejectedWhole>,
    /// What each turn has done, the oldest first.
    pub(super) turns: Vec<TurnReview>,
    /// The turn that the agent's changes belong to.
    pub(super) turn: Option<TurnKey>,
    /// The hunks, and whether there is anything to decide, as they were announced last.
    pub(super) announced: (usize, bool),
    /// The hunks as the public API shows them, made anew when they change.
    pub(in crate::core) info: Arc<Vec<HunkInfo>>,
}

impl FileReview {
    /// Begins a review with everything accepted.
    pub(super) fn new(base: &Text, real: &Path, session: SessionKey, origin: FileState) -> Self {
        Self {
            ledger: Review::new(base.clone()),
            session,
            real: real.to_owned(),
            now: origin.clone(),
            origin,
            from: None,
            repository: None,
            written: base.clone(),
            before_edits: None,
            rejected: Vec::new(),
            rejected_whole: Vec::new(),
            turns: Vec::new(),
            turn: None,
            announced: (0, false),
            info: Arc::default(),
        }
    }

    /// Begins anew: nothing is to be decided, and an agent of `session` changes what is there.
    pub(super) fn begin(&mut self, session: SessionKey, origin: FileState) {
        self.session = session;
        let mode = origin.mode.or(self.now.mode);
        self.origin = FileState { mode, ..origin };
        self.now = self.origin.clone();
        self.from = None;
        self.written.clone_from(self.ledger.current());
    }

    /// Takes in the whole text as the agent wrote it (see [`Review::agent_wrote`]).
    pub fn agent_wrote(&mut self, text: Text) {
        self.turns_wrote(&text, true);
        advance(&mut self.written, self.ledger.current(), &text);
        self.ledger.agent_wrote(text);
    }

    /// Takes in a whole text that the user, or somebody else, wrote.
    pub fn user_wrote(&mut self, text: Text) {
        self.turns_wrote(&text, false);
        self.ledger.user_wrote(text);
    }

    /// Sets what the user has accepted.
    pub(super) fn rebase(&mut self, base: Text) {
        self.ledger.rebase(base);
    }

    /// Learns that `taken`, which it was begun with, was the agent's work on what is `origin`.
    pub fn was_agents(&mut self, taken: &Text, origin: &FileState) {
        let Some(before) = origin.text() else {
            return;
        };
        let mut base = self.ledger.base().clone();
        advance(&mut base, taken, &before);
        self.ledger.rebase(base);
        self.origin = origin.clone();
        self.turn_was_agents(taken, origin);
    }

    /// Takes in what the agent has left on disk, where `before` had been: all of it is the agent's
    /// but for the lines of the user's that it has let stand.
    pub fn agent_left(&mut self, before: &Text, after: &Text) {
        let mut edits = diff(before, after).into_iter().peekable();
        let (mut added, mut removed) = (0, 0);
        let mut written = after.clone();
        let mut users = Vec::new();
        for row in rows_added(&diff(&self.written, before)) {
            while let Some(edit) = edits.next_if(|edit| edit.start + edit.removed <= row) {
                added += edit.lines.len();
                removed += edit.removed;
            }
            if edits.peek().is_none_or(|edit| row < edit.start) {
                users.push(row + added - removed);
            }
        }
        for row in users.into_iter().rev() {
            written.apply(&LineEdit {
                start: row,
                removed: 1,
                lines: Vec::new(),
            });
        }
        self.written = written;
    }

    /// Takes in what happened to the file as a whole.
    pub fn take_note(&mut self, change: &FileChange, by: Option<SessionKey>) {
        let (before, after) = (&change.before, change.after.clone());
        match by {
            Some(_) => self.now = after,
            None => self.others_left(before, after),
        }
    }

    /// Takes in an edit that was made for the agent, or by the client itself.
    pub fn agent_edited(&mut self, edit: &LineEdit) {
        let current = self.ledger.current();
        self.before_edits.get_or_insert_with(|| current.clone());
        self.turns_agent_edited(edit);
        self.ledger.agent_edited(edit);
    }

    /// Takes in an edit of the user's.
    pub fn user_edited(&mut self, edit: &LineEdit) {
        self.agent_has_edited();
        self.turns_user_edited(edit);
        self.ledger.user_edited(edit);
    }

    /// Says that the agent's edits are complete (see [`Review::agent_done`]).
    pub fn agent_done(&mut self) {
        self.ledger.agent_done();
        self.turns_agent_done();
        self.agent_has_edited();
    }

    /// Tells the edits of the agent's that came in from what others have done before: their lines
    /// among them are no lines of the agent's.
    fn agent_has_edited(&mut self) {
        if let Some(before) = self.before_edits.take() {
            let now = self.ledger.current().clone();
            advance(&mut self.written, &before, &now);
            self.turn_has_written(&before, &now);
        }
    }

    /// Takes in an edit that carries a decision of the user's out.
    pub fn decision_edited(&mut self, edit: &LineEdit) {
        self.agent_has_edited();
        self.turns_user_edited(edit);
        self.ledger.agent_edited(edit);
    }

    /// Takes in the whole text as a decision of the user's has left it.
    pub fn decision_wrote(&mut self, text: Text) {
        self.turns_wrote(&text, false);
        self.ledger.agent_wrote(text);
    }

    /// Says that the edits of a decision are complete.
    pub fn decision_done(&mut self) {
        self.ledger.agent_done();
    }

    /// Takes in lines of the agent's that the user's text won over.
    pub fn offer(&mut self, conflict: Conflict) {
        self.ledger.offer(conflict);
    }

    /// Accepts hunks, and returns what has to be done to the text (see [`Review::accept`]).
    pub fn accept(&mut self, which: &Which) -> Vec<LineEdit> {
        for hunk in self.ledger.meant(which) {
            self.is_back(&hunk);
        }
        let edits = self.ledger.accept(which);
        if *which == Which::All {
            self.whole_is_back();
            self.accept_whole();
        } else if self.ledger.hunks().is_empty() {
            self.accept_content();
        }
        edits
    }

    /// Returns what has to be done to the text for hunks to be gone (see [`Review::reject`]).
    pub fn reject(&mut self, which: &Which) -> Vec<LineEdit> {
        for hunk in self.ledger.meant(which) {
            self.note_rejected(&hunk);
        }
        self.ledger.reject(which)
    }

    /// Notes that the user does not want a change of the agent's.
    pub(super) fn note_rejected(&mut self, hunk: &Hunk) {
        self.was_rejected(Rejected::of(
            hunk,
            self.ledger.base(),
            self.ledger.current(),
        ));
    }

    /// Notes a hunk that is rejected, for the agent to be told.
    pub fn was_rejected(&mut self, rejected: Rejected) {
        let has_room = self.rejected.len() < MAX_HUNKS;
        if has_room && self.rejected.iter().all(|other| !other.is_same(&rejected)) {
            self.rejected.push(rejected);
        }
    }

    /// Forgets what was rejected: it was told, or is wanted back.
    pub(super) fn forget_rejected(&mut self) {
        self.rejected.clear();
        self.rejected_whole.clear();
    }

    /// Forgets that a change was rejected: it is there again, and wanted.
    fn is_back(&mut self, hunk: &Hunk) {
        let (base, current) = (self.ledger.base(), self.ledger.current());
        self.rejected
            .retain(|rejected| !rejected.is_in(hunk, base, current));
    }

    /// Returns what was rejected and is not there again.
    pub fn told_rejected(&self) -> Vec<&Rejected> {
        if self.rejected.is_empty() {
            return Vec::new();
        }
        let (base, current) = (self.ledger.base(), self.ledger.current());
        // By each of their lines: of thousands of hunks few have the one that is looked for.
        let mut by_line: HashMap<Cow<'_, str>, Vec<&Hunk>> = HashMap::new();
        for hunk in self.ledger.hunks() {
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

/// Returns the rows of what edits from the top down have led to that they have added.
fn rows_added(edits: &[LineEdit]) -> impl Iterator<Item = usize> {
    let (mut added, mut removed) = (0, 0);
    edits.iter().flat_map(move |edit| {
        let start = edit.start + added - removed;
        added += edit.lines.len();
        removed += edit.removed;
        start..start + edit.lines.len()
    })
}
