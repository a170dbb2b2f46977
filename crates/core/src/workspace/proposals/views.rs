//! Proposals as shown in a buffer, in the public API and in the question.

use std::path::{Path, PathBuf};

use super::{FileProposal, Note, Proposals, Proposed};
use crate::render::toolview::whole_line;
use crate::spine::event::ReviewAction;
use crate::spine::ids::QuestionId;
use crate::spine::view::{HunkView, Line, PlaceView, ProposedView};
use crate::text::cut::shortened;
use crate::text::diff::Hunk;
use crate::text::{LineEdit, Lines, Text};
use crate::workspace::hunkview;
use crate::workspace::info::{HunkInfo, ProposalInfo};

/// Titles in labels are truncated to this length, because a label follows a line of code.
const MAX_TITLE: usize = 30;

impl Proposals {
    /// Returns the hunks proposed for a file as its buffer shows them, top down.
    pub(crate) fn views(&self, path: &Path) -> Vec<HunkView> {
        let several = self
            .of_file(path)
            .filter(|(_, file)| !file.hunks.is_empty())
            .count()
            > 1;
        let mut views = Vec::new();
        for (proposal, file) in self.of_file(path) {
            let is_empty = file.base.as_ref().is_some_and(|base| base.text.is_empty());
            for (at, hunk) in file.hunks.iter().enumerate() {
                let mut label = label(hunk, at, file.hunks.len());
                if several {
                    label.push_str(&format!(" ({})", shortened(&proposal.title, MAX_TITLE)));
                }
                let mut view = hunkview::proposed(hunk.rows.start, &hunk.old, &hunk.new);
                if is_empty {
                    // An empty buffer shows one empty line; the proposed lines are drawn below it.
                    view.row = 1;
                }
                view.proposed = Some(ProposedView {
                    label: label.into(),
                    choice: hunk.choice,
                    is_second: views.iter().any(|other: &HunkView| other.row == view.row),
                });
                views.push(view);
            }
        }
        views.sort_by_key(|view| view.row);
        views
    }

    /// Returns the proposals by file, in the form of the public API.
    pub(crate) fn infos(&self) -> Vec<ProposalInfo> {
        let mut infos: Vec<ProposalInfo> = Vec::new();
        for file in self.all.iter().flat_map(|proposal| &proposal.files) {
            let hunks = file.hunks.iter().map(|hunk| info(&file.path, hunk));
            match infos.iter_mut().find(|info| info.path == file.path) {
                Some(known) => known.hunks.extend(hunks),
                None => infos.push(ProposalInfo {
                    path: file.path.clone(),
                    hunks: hunks.collect(),
                }),
            }
        }
        for info in &mut infos {
            info.hunks.sort_by_key(|hunk| hunk.row);
        }
        infos.retain(|info| !info.hunks.is_empty());
        infos.sort_by(|a, b| a.path.cmp(&b.path));
        infos
    }

    /// Returns the first row of a question's changes in each file, in the agent's order: up to the
    /// first file that has not been read yet.
    pub(crate) fn places(&self, id: QuestionId) -> Vec<PlaceView> {
        let files = self
            .of_permission(id)
            .into_iter()
            .flat_map(|one| &one.files);
        let is_read = |file: &&FileProposal| file.base.is_some() || !(file.reading || file.stale);
        files
            .take_while(is_read)
            .filter_map(|file| {
                let first = file.hunks.first()?;
                Some(PlaceView {
                    path: PathBuf::clone(&file.path),
                    row: first.rows.start,
                })
            })
            .collect()
    }

    /// Returns the notes on a question's diffs.
    pub(crate) fn notes(&self, id: QuestionId) -> Vec<Line> {
        let files = self
            .of_permission(id)
            .into_iter()
            .flat_map(|one| &one.files);
        let notes = files.flat_map(|file| &file.notes);
        notes.map(Note::line).collect()
    }
}

impl Note {
    /// Returns the note as a line of a view.
    pub(crate) fn line(&self) -> Line {
        match self {
            Note::Misfit(text) => whole_line(text.clone(), "AcpWarning"),
            Note::Hint(text) => whole_line(text.clone(), "AcpDim"),
        }
    }
}

impl Proposed {
    /// Returns the state's name, as the user sees it.
    pub(crate) fn state(&self) -> &'static str {
        match self.choice {
            None => "proposed",
            Some(ReviewAction::Accept) => "accepted",
            Some(ReviewAction::Reject) => "rejected",
        }
    }
}

impl FileProposal {
    /// Returns whether the file does not exist yet.
    pub(crate) fn is_new(&self) -> bool {
        self.base.as_ref().is_some_and(|base| base.is_missing)
    }

    /// Returns the present text, the proposed text, and the hunks between them; `None` while the
    /// present text is unknown.
    pub(crate) fn diff(&self) -> Option<(&Text, Text, Vec<Hunk>)> {
        let before = &self.base.as_ref()?.text;
        let edits = self.hunks.iter().map(|hunk| LineEdit {
            start: hunk.rows.start,
            removed: hunk.rows.len(),
            lines: hunk.new.clone(),
        });
        let edits: Vec<LineEdit> = edits.collect();
        let mut after = before.clone();
        after.apply_all(&edits);
        // The numbers of lines added and removed above the hunk.
        let (mut more, mut fewer) = (0, 0);
        let hunks = self.hunks.iter().map(|hunk| {
            let start = hunk.rows.start + more - fewer;
            more += hunk.new.len();
            fewer += hunk.rows.len();
            Hunk {
                old: hunk.rows.clone(),
                new: start..start + hunk.new.len(),
                conflict: None,
            }
        });
        let hunks = hunks.collect();
        Some((before, after, hunks))
    }
}

fn label(hunk: &Proposed, at: usize, count: usize) -> String {
    let what = if hunk.deletes {
        " deletes the file"
    } else {
        ""
    };
    format!("{} {}/{count}{what}", hunk.state(), at + 1)
}

fn info(path: &Path, hunk: &Proposed) -> HunkInfo {
    HunkInfo {
        path: path.to_owned(),
        row: hunk.rows.start,
        count: hunk.rows.len(),
        old: Lines::all(Text::from_lines(&hunk.old)),
        new: Lines::all(Text::from_lines(&hunk.new)),
        state: hunk.state(),
    }
}
