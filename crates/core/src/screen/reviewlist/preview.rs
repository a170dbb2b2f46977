//! The preview beside the review list: the change of the item under the cursor, as a diff.

use crate::model::Model;
use crate::render::diffview;
use crate::spine::view::{Line, PreviewView};
use crate::text::diff::Hunk;
use crate::view::reviewlist::items::{Item, What};
use crate::view::reviewlist::lines::in_full;
use crate::workspace::proposals::{FileProposal, Proposal};
use crate::workspace::reviews::FileReview;

impl Model {
    pub(super) fn preview(&self) -> PreviewView {
        let Some(at) = self.view.previewed_item() else {
            return PreviewView::default();
        };
        let items = self.items();
        let Some(item) = items.iter().find(|item| item.key == at) else {
            return PreviewView::default();
        };
        let Item { path, what, .. } = *item;
        let (row, lines) = match what {
            What::File(file) => {
                let whole = self.view.whole_of(file);
                let whole = whole
                    .iter()
                    .map(|whole| diffview::whole(in_full(whole), "AcpNotice"));
                let mut lines: Vec<Line> = whole.collect();
                lines.extend(written(file, file.ledger.hunks()));
                (None, lines)
            }
            What::Hunk(file, hunk) => {
                let hunks = file.ledger.hunks().iter();
                let same: Vec<Hunk> = hunks
                    .filter(|one| one.new.start == hunk.row && one.new.len() == hunk.count)
                    .cloned()
                    .collect();
                (Some(hunk.row), written(file, &same))
            }
            What::Proposal(proposal, file, _) => {
                let mut lines = notes(proposal, file);
                lines.extend(proposed(file, None));
                (None, lines)
            }
            What::Proposed(file, hunk, place) => {
                (Some(hunk.rows.start), proposed(file, place.hunk))
            }
        };
        let mut title = self.view.relative(path);
        if let Some(row) = row {
            title.push_str(&format!(":{}", row + 1));
        }
        PreviewView {
            title: title.into(),
            lines,
        }
    }
}

/// Returns the diff of a proposal, or of one of its hunks.
fn proposed(file: &FileProposal, only: Option<usize>) -> Vec<Line> {
    let Some((before, after, hunks)) = file.diff() else {
        return Vec::new();
    };
    let hunks = match only {
        Some(at) => hunks.get(at..=at).unwrap_or_default(),
        None => &hunks,
    };
    diffview::hunks_lines(before, &after, hunks, MAX_LINES)
}

fn notes(proposal: &Proposal, file: &FileProposal) -> Vec<Line> {
    let mut lines = vec![
        diffview::whole(proposal.title.clone(), "AcpTitle"),
        diffview::whole("Proposed: not written yet.".into(), "AcpProposed"),
    ];
    lines.extend(file.notes.iter().map(|note| note.line()));
    lines
}

fn written(file: &FileReview, hunks: &[Hunk]) -> Vec<Line> {
    let ledger = &file.ledger;
    diffview::hunks_lines(ledger.base(), ledger.current(), hunks, MAX_LINES)
}

/// Maximum number of lines of a preview: a longer diff needs its own buffer.
const MAX_LINES: usize = 1000;
