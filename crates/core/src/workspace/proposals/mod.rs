//! What agents propose before they write: the diffs of permission requests and of pending tool
//! calls, located in the files they would change, and the user's choice for each hunk.
//!
//! Invariants: a proposal never changes text. Its hunks lie in the present text, or it is stale and
//! is located again before it is shown. Choices outlive the proposal until the agent writes the
//! file or the turn ends.

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
use crate::text::{LineEdit, Text, moved, plural};
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

/// The proposals of all agents, oldest first, and the user's choices about expected writes.
#[derive(Debug, Default)]
pub struct Proposals {
    pub preview: Preview,
    /// What the user allows counts as accepted, hunk by hunk.
    pub accept_allowed: bool,
    all: Vec<Proposal>,
    kept: Vec<Kept>,
    /// Tool calls that raised a question in this turn; they no longer count as pending.
    asked: HashSet<(SessionKey, ToolCallId)>,
    /// Whether the proposal of an open question has changed.
    is_asked_changed: bool,
}

/// The state of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Its question is open, or it is pending without a question.
    Open,
    /// It runs or has completed without a question.
    CarriedOut,
    Over,
}

/// The changes that one tool call would make.
#[derive(Debug)]
pub struct Proposal {
    pub session: SessionKey,
    pub tool: ToolCallId,
    /// The open question; `None` for a call that is only pending.
    pub permission: Option<QuestionId>,
    pub title: String,
    pub files: Vec<FileProposal>,
}

/// The changes proposed for one file.
#[derive(Debug)]
pub struct FileProposal {
    /// The agent's path, made absolute.
    named: PathBuf,
    /// The file's path if it has a buffer, else `named`.
    pub path: PathBuf,
    /// The path with symbolic links resolved, once known.
    real: Option<PathBuf>,
    diffs: Vec<(Diff, Option<usize>)>,
    /// The present text; `None` until the disk has been read.
    base: Option<Base>,
    pub hunks: Vec<Proposed>,
    /// Notes to the user on how the diffs fit, one sentence each.
    pub notes: Vec<Note>,
    /// Whether the base may have changed since the hunks were located.
    stale: bool,
    /// A read from disk is pending.
    reading: bool,
}

/// The text that a proposal would change.
#[derive(Debug, Clone)]
struct Base {
    text: Text,
    line_end: LineEnd,
    known: Vec<Text>,
    /// The file does not exist.
    is_missing: bool,
}

/// Lines that would be removed, and the lines that would replace them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposed {
    /// Rows of the base.
    pub rows: Range<usize>,
    pub old: Vec<String>,
    pub new: Vec<String>,
    pub choice: Option<ReviewAction>,
    /// The file is deleted along with its lines.
    pub deletes: bool,
}

/// The position of a file's proposal, or of one of its hunks; valid until the next event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProposalIndex {
    proposal: usize,
    file: usize,
    /// `None` for all hunks of the file.
    pub hunk: Option<usize>,
}

impl ProposalIndex {
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
    /// The diff is previewed, with a caveat.
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

    /// Returns the proposals for a file, oldest first.
    pub fn of_file<'a>(
        &'a self,
        path: &'a Path,
    ) -> impl Iterator<Item = (&'a Proposal, &'a FileProposal)> {
        self.all.iter().flat_map(move |proposal| {
            let files = proposal.files.iter().filter(move |file| file.path == path);
            files.map(move |file| (proposal, file))
        })
    }

    /// Returns every file's proposals, oldest first.
    pub fn files(&self) -> impl Iterator<Item = (ProposalIndex, &Proposal, &FileProposal)> {
        let all = self.all.iter().enumerate();
        all.flat_map(|(at, proposal)| {
            let files = proposal.files.iter().enumerate();
            files.map(move |(file, of_file)| {
                let place = ProposalIndex {
                    proposal: at,
                    file,
                    hunk: None,
                };
                (place, proposal, of_file)
            })
        })
    }

    /// Returns whether the user has decided any hunk that a tool call proposes.
    pub(crate) fn has_choice(&self, session: SessionKey, tool: &ToolCallId) -> bool {
        let mut all = self.all.iter();
        all.any(|one| {
            let is_decided = |hunk: &Proposed| hunk.choice.is_some();
            one.session == session && one.tool == *tool && one.hunks().any(is_decided)
        })
    }

    fn at(&self, place: ProposalIndex) -> Option<&FileProposal> {
        self.all.get(place.proposal)?.files.get(place.file)
    }

    fn hunk_mut(&mut self, place: ProposalIndex) -> Option<&mut Proposed> {
        let file = self.all.get_mut(place.proposal)?.files.get_mut(place.file);
        file?.hunks.get_mut(place.hunk?)
    }

    fn files_mut(&mut self) -> impl Iterator<Item = &mut FileProposal> {
        self.all.iter_mut().flat_map(|one| one.files.iter_mut())
    }

    /// Moves a file's hunks with an edit of its buffer; returns whether the file has proposals.
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

    /// Returns whether every diff is located, so that every hunk can be decided.
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

    /// Moves the hunks with an edit of the buffer.
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
            // Only the choices need these rows; the hunks are located again.
            hunk.rows = moved(hunk.rows.start, edits)..moved(hunk.rows.end, edits);
        }
        self.stale = true;
    }

    /// Locates the hunks in the base; unchanged hunks keep their choices.
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
            // A diff may build on the previous ones.
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
                let text = format!("Does not match the file: {why}.");
                notes.push(Note::Misfit(text));
                continue;
            };
            if found.places > 1 {
                notes.push(Note::Hint(format!(
                    "Fits {} places in {name}: the one on line {} is shown.",
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
        let has_no_old = |change: &Diff| change.old.as_deref().unwrap_or_default().is_empty();
        if self.diffs.iter().any(|(change, _)| has_no_old(change)) && !base.text.is_empty() {
            let gone: usize = self.hunks.iter().map(|hunk| hunk.old.len()).sum();
            notes.push(Note::Hint(format!(
                "Replaces all of {name}: {gone} of its {} are removed; only the file shows which.",
                plural(base.text.len(), "line")
            )));
        }
        self.notes = notes;
    }

    /// Returns the indices of the hunks that `which` selects, in rows of the base.
    fn hit(&self, which: &Which) -> Vec<usize> {
        let base = self.base.as_ref();
        let last = base.map_or(0, |base| base.text.len().saturating_sub(1));
        let rows = match which {
            Which::All => return (0..self.hunks.len()).collect(),
            Which::Row(row) => *row.min(&last)..row.min(&last) + 1,
            Which::Rows(rows) => rows.start.min(last)..rows.end.max(rows.start + 1),
        };
        let touches = |hunk: &Proposed| match hunk.rows.is_empty() {
            // It lies between two rows, and both select it.
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

/// Copies choices to equal hunks located again, each to the nearest one.
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
