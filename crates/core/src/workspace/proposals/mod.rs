//! What agents propose before they write: the diffs of permission requests and of tool calls
//! that wait, located in the files they would change, and the user's choice hunk by hunk.
//!
//! Invariants: no text is changed by a proposal; its hunks lie in the text that is there now, or
//! it is stale and located again before anybody looks. The choices outlive the proposal until
//! the write has come, or the turn is over.

mod decide;
mod follow;
mod landing;
mod locate;
#[cfg(test)]
mod props;
mod putback;
#[cfg(test)]
mod tests;
mod views;

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::spine::event::ReviewAction;
use crate::spine::ids::{QuestionId, SessionKey};
use crate::text::diff::{diff, hunks};
use crate::text::format::LineEnd;
use crate::text::{LineEdit, Text, moved};
use crate::workspace::ledger::Which;
use acp::ToolCallId;
pub use follow::files_of;
use landing::Kept;
pub use locate::Diff;
use locate::{Ground, locate};
pub use putback::PutBack;

/// Whether proposals are previewed in buffers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Preview {
    Off,
    #[default]
    On,
}

/// All that agents propose, the oldest first, and what the user has chosen of what is to come.
#[derive(Debug, Default)]
pub struct Proposals {
    pub preview: Preview,
    all: Vec<Proposal>,
    kept: Vec<Kept>,
    /// Tool calls that were asked about in this turn: they are no longer merely pending.
    asked: HashSet<(SessionKey, ToolCallId)>,
    /// The proposal of an open question has changed.
    is_asked_changed: bool,
}

/// Where a tool call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Its question is open; or it is pending, and no question was asked.
    Open,
    /// It runs or has completed without a question.
    CarriedOut,
    Over,
}

/// What one tool call would change.
#[derive(Debug)]
pub struct Proposal {
    pub session: SessionKey,
    pub tool: ToolCallId,
    /// The question that waits for the user; `None` for a call that is only pending.
    pub permission: Option<QuestionId>,
    pub title: String,
    pub files: Vec<FileProposal>,
}

/// What would be changed in one file.
#[derive(Debug)]
pub struct FileProposal {
    /// As the agent names it, made absolute.
    named: PathBuf,
    /// The buffer's name where there is one.
    pub path: PathBuf,
    /// With symbolic links resolved, as far as is known.
    real: Option<PathBuf>,
    diffs: Vec<(Diff, Option<usize>)>,
    /// What is there; `None` until the disk has answered.
    base: Option<Base>,
    pub hunks: Vec<Proposed>,
    /// What the user shall know of how the diffs fit, a sentence each.
    pub notes: Vec<Note>,
    /// The base is not what it was when the hunks were found.
    stale: bool,
    /// The disk has been asked.
    reading: bool,
}

/// The text that a proposal would change.
#[derive(Debug, Clone)]
struct Base {
    text: Text,
    line_end: LineEnd,
    known: Vec<Text>,
    /// Nothing is at the path.
    is_missing: bool,
}

/// Lines that would go, and those that would come in their place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposed {
    /// Rows of the base.
    pub rows: Range<usize>,
    pub old: Vec<String>,
    pub new: Vec<String>,
    pub choice: Option<ReviewAction>,
    /// The file goes with its lines.
    pub deletes: bool,
}

/// Where a file's proposal is among all, or one of its hunks: until the next event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    proposal: usize,
    file: usize,
    /// `None` for all of the file's.
    pub hunk: Option<usize>,
}

impl Place {
    pub fn of_hunk(self, hunk: usize) -> Self {
        Self {
            hunk: Some(hunk),
            ..self
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// The diff is not previewed.
    Misfit(String),
    /// It is, and this may matter.
    Hint(String),
}

impl Note {
    pub fn text(&self) -> &str {
        match self {
            Note::Misfit(text) | Note::Hint(text) => text,
        }
    }
}

impl Proposals {
    pub fn iter(&self) -> impl Iterator<Item = &Proposal> {
        self.all.iter()
    }

    /// Returns the proposal that a question is about.
    pub fn of_permission(&self, id: QuestionId) -> Option<&Proposal> {
        self.all.iter().find(|one| one.permission == Some(id))
    }

    /// Returns what is proposed for a file, the oldest first.
    pub fn of_file<'a>(
        &'a self,
        path: &'a Path,
    ) -> impl Iterator<Item = (&'a Proposal, &'a FileProposal)> {
        self.all.iter().flat_map(move |proposal| {
            let files = proposal.files.iter().filter(move |file| file.path == path);
            files.map(move |file| (proposal, file))
        })
    }

    /// Returns what is proposed file by file, the oldest first.
    pub fn files(&self) -> impl Iterator<Item = (Place, &Proposal, &FileProposal)> {
        let all = self.all.iter().enumerate();
        all.flat_map(|(at, proposal)| {
            let files = proposal.files.iter().enumerate();
            files.map(move |(file, of_file)| {
                let place = Place {
                    proposal: at,
                    file,
                    hunk: None,
                };
                (place, proposal, of_file)
            })
        })
    }

    /// Tells whether the user has decided about a hunk of what a tool call proposes.
    pub(crate) fn has_choice(&self, session: SessionKey, tool: &ToolCallId) -> bool {
        let mut all = self.all.iter();
        all.any(|one| {
            let is_decided = |hunk: &Proposed| hunk.choice.is_some();
            one.session == session && one.tool == *tool && one.hunks().any(is_decided)
        })
    }

    /// Notes that a tool call has been asked about: nothing of it is merely pending any more.
    pub(crate) fn was_asked(&mut self, session: SessionKey, tool: ToolCallId) {
        self.asked.insert((session, tool));
    }

    /// Returns whether the proposal of an open question has changed since the last call.
    pub(crate) fn take_asked_changed(&mut self) -> bool {
        std::mem::take(&mut self.is_asked_changed)
    }

    fn at(&self, place: Place) -> Option<&FileProposal> {
        self.all.get(place.proposal)?.files.get(place.file)
    }

    fn hunk_mut(&mut self, place: Place) -> Option<&mut Proposed> {
        let file = self.all.get_mut(place.proposal)?.files.get_mut(place.file);
        file?.hunks.get_mut(place.hunk?)
    }

    fn files_mut(&mut self) -> impl Iterator<Item = &mut FileProposal> {
        self.all.iter_mut().flat_map(|one| one.files.iter_mut())
    }

    /// Lets the hunks of a file follow an edit of its buffer; returns whether there are any.
    pub(crate) fn edited(&mut self, path: &Path, edit: &LineEdit) -> bool {
        let mut any = false;
        for file in self.files_mut().filter(|file| file.path == path) {
            file.follow(edit);
            any = true;
        }
        any
    }
}

impl Proposal {
    fn key(&self) -> (SessionKey, ToolCallId) {
        (self.session, self.tool.clone())
    }

    /// Returns the hunks of all files, in order.
    fn hunks(&self) -> impl Iterator<Item = &Proposed> {
        self.files.iter().flat_map(|file| &file.hunks)
    }

    /// Tells whether every diff is located, and so every hunk can be decided about.
    fn is_whole(&self) -> bool {
        self.files.iter().all(|file| {
            let fits = |note: &Note| !matches!(note, Note::Misfit(_));
            file.base.is_some() && file.notes.iter().all(fits)
        })
    }
}

impl FileProposal {
    fn new(path: PathBuf, diffs: Vec<(Diff, Option<usize>)>) -> Self {
        Self {
            named: path.clone(),
            path,
            real: None,
            diffs,
            base: None,
            hunks: Vec::new(),
            notes: Vec::new(),
            stale: true,
            reading: false,
        }
    }

    /// Moves with an edit of the buffer.
    fn follow(&mut self, edit: &LineEdit) {
        let Some(base) = &mut self.base else {
            return;
        };
        base.text.apply(edit);
        let edits = std::slice::from_ref(edit);
        for (_, near) in &mut self.diffs {
            *near = near.map(|row| moved(row, edits));
        }
        for hunk in &mut self.hunks {
            // For the choices alone: the hunks themselves are located again.
            hunk.rows = moved(hunk.rows.start, edits)..moved(hunk.rows.end, edits);
        }
        self.stale = true;
    }

    /// Finds the hunks in what is there; choices stay with the hunks that stay the same.
    fn locate(&mut self) {
        self.stale = false;
        let Some(base) = &self.base else {
            return;
        };
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        let name = name.to_string_lossy();
        let mut after = base.text.clone();
        let mut notes = Vec::new();
        let mut deletes = false;
        for (change, near) in &mut self.diffs {
            // A diff may build on those before it.
            let (forth, back) = match after == base.text {
                true => (Vec::new(), Vec::new()),
                false => (diff(&base.text, &after), diff(&after, &base.text)),
            };
            let ground = Ground {
                text: &after,
                line_end: base.line_end,
                known: &base.known,
                near: near.map(|row| moved(row, &forth)),
            };
            let Some(found) = locate(change, ground) else {
                let why = match base.is_missing {
                    true => format!("{name} does not exist"),
                    false => format!("the text is not in {name}"),
                };
                let text = format!("Does not fit what is there: {why}.");
                notes.push(Note::Misfit(text));
                continue;
            };
            if found.places > 1 {
                notes.push(Note::Hint(format!(
                    "Fits {} places in {name}: the one in line {} is shown.",
                    found.places,
                    moved(found.row, &back) + 1
                )));
            }
            near.get_or_insert(moved(found.row, &back));
            deletes = found.deletes;
            after = found.after;
        }
        let known = std::mem::take(&mut self.hunks);
        let found = hunks(&base.text, &after).into_iter();
        self.hunks = found
            .map(|hunk| Proposed {
                old: base.text.to_lines(hunk.old.clone()),
                new: after.to_lines(hunk.new),
                rows: hunk.old,
                choice: None,
                deletes,
            })
            .collect();
        keep_choices(&known, &mut self.hunks);
        self.notes = notes;
    }

    /// Returns the places of the hunks that are meant, in rows of what is there.
    fn hit(&self, which: &Which) -> Vec<usize> {
        let base = self.base.as_ref();
        let last = base.map_or(0, |base| base.text.len().saturating_sub(1));
        let rows = match which {
            Which::All => return (0..self.hunks.len()).collect(),
            Which::Row(row) => *row.min(&last)..row.min(&last) + 1,
            Which::Rows(rows) => rows.start.min(last)..rows.end.max(rows.start + 1),
        };
        let touches = |hunk: &Proposed| match hunk.rows.is_empty() {
            // It lies between two rows, and is hit by both.
            true => rows.start <= hunk.rows.start && hunk.rows.start <= rows.end,
            false => hunk.rows.start < rows.end && rows.start < hunk.rows.end,
        };
        let hit = self.hunks.iter().enumerate();
        let mut hit: Vec<usize> = hit
            .filter(|hunk| touches(hunk.1))
            .map(|hunk| hunk.0)
            .collect();
        if matches!(which, Which::Row(_)) {
            hit.truncate(1);
        }
        hit
    }
}

/// Gives hunks the choices that were made of the same ones before, the nearest first.
fn keep_choices(before: &[Proposed], now: &mut [Proposed]) {
    let mut taken = vec![false; now.len()];
    for known in before.iter().filter(|known| known.choice.is_some()) {
        let same = now.iter().enumerate().filter(|(at, hunk)| {
            taken.get(*at) == Some(&false) && hunk.old == known.old && hunk.new == known.new
        });
        let nearest = same.min_by_key(|(_, hunk)| hunk.rows.start.abs_diff(known.rows.start));
        let Some(at) = nearest.map(|(at, _)| at) else {
            continue;
        };
        if let (Some(hunk), Some(taken)) = (now.get_mut(at), taken.get_mut(at)) {
            hunk.choice = known.choice;
            *taken = true;
        }
    }
}
