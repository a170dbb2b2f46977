//! The review of one file: its ledger, and what there is to know of the file beside its lines.
//!
//! Invariant: the ledger hears of nothing but through the methods here.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::turns::TurnReview;
use crate::render::view::HunkView;
use crate::spine::event::Stamp;
use crate::spine::ids::{SessionKey, TurnKey};
use crate::spine::project::{Committed, FileChange, FileState};
use crate::text::{LineEdit, Text};
use crate::view::snapshot::HunkInfo;
use crate::workspace::changes::advance;
use crate::workspace::feedback::{MAX_HUNKS, Rejected, RejectedWhole};
use crate::workspace::hunkview::Words;
use crate::workspace::ledger::{Conflict, Hunk, Review, Which, agents_text};

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
    /// The file as this client has set its mode, until that is told.
    pub(super) restored: Option<Stamp>,
    /// Where it was before the agent moved it.
    pub from: Option<PathBuf>,
    /// What the user's repository has of it, once that is known.
    pub(super) repository: Option<Committed>,
    /// The text as the agent alone would have it: what differs is the user's.
    pub(super) written: Text,
    /// The text as the agent's edits that are being made have found it.
    found: Option<Text>,
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
    /// What of it is in the counts of which session: files and hunks.
    pub(super) counted: (SessionKey, (usize, usize)),
    words: Words,
    /// The hunks as the public API shows them, made anew when they change.
    pub(crate) info: Arc<Vec<HunkInfo>>,
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
            restored: None,
            from: None,
            repository: None,
            written: base.clone(),
            found: None,
            rejected: Vec::new(),
            rejected_whole: Vec::new(),
            turns: Vec::new(),
            turn: None,
            announced: (0, false),
            counted: (session, (0, 0)),
            words: Words::default(),
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
        self.written = self.ledger.current().clone();
    }

    /// Takes in the whole text as the agent wrote it (see [`Review::agent_wrote`]).
    pub fn agent_wrote(&mut self, text: Text) {
        self.turns_wrote(&text, true);
        self.written = agents_text(&self.written, self.ledger.current(), &text);
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
        if self.origin.text().as_ref() == Some(taken) {
            self.origin = origin.clone();
        }
        self.turn_was_agents(taken, origin);
    }

    /// Returns the mode that this client has set, if what is told now was there before that.
    pub fn restored_mode(&mut self, told: &FileState) -> Option<u32> {
        let stamp = self.restored?;
        if told.stamp == Some(stamp) || told.mode == self.now.mode {
            self.restored = None;
            return None;
        }
        self.now.mode
    }

    /// Takes note of a change that ends with what is known: told late, it may be one from before
    /// what is there now.
    pub fn found_again(&mut self, change: &FileChange, by: Option<SessionKey>) {
        let stamp = self.now.stamp;
        let is_newer = stamp.is_none() || stamp == change.before.stamp;
        if self.origin.mode.is_none() && self.now.mode.is_none() {
            let before = by.map_or(change.after.mode, |_| change.before.mode);
            self.origin.mode = before;
        }
        self.now = FileState {
            stamp: if is_newer { change.after.stamp } else { stamp },
            ..change.after.clone()
        };
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
        self.found.get_or_insert_with(|| current.clone());
        self.turns_agent_edited(edit);
        self.ledger.agent_edited(edit);
    }

    /// Takes in an edit of the user's.
    pub fn user_edited(&mut self, edit: &LineEdit) {
        self.turns_user_edited(edit);
        self.ledger.user_edited(edit);
    }

    /// Says that the agent's edits are complete (see [`Review::agent_done`]).
    pub fn agent_done(&mut self) {
        self.ledger.agent_done();
        if let Some(found) = self.found.take() {
            self.written = agents_text(&self.written, &found, self.ledger.current());
            self.turns_agent_done(&found);
        }
    }

    /// Takes in an edit that carries a decision of the user's out.
    pub fn decision_edited(&mut self, edit: &LineEdit) {
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

    /// Returns the hunks as a buffer shows them.
    pub fn views(&mut self) -> Vec<HunkView> {
        self.words.views(&self.ledger)
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
