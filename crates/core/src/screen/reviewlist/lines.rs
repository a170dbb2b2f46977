//! The lines of the review list, as they are drawn.

use std::collections::BTreeSet;
use std::path::Path;

use crate::model::Model;
use crate::render::diffview;
use crate::spine::ids::SessionKey;
use crate::spine::project::Whole;
use crate::spine::view::{Group, Line, ListItem, ListView};
use crate::text::cut::shortened;
use crate::view::reviewlist::items::What;
use crate::view::reviewlist::lines::{Counts, LineOf, in_short};
use crate::workspace::proposals::{FileProposal, Note};
use crate::workspace::reviews::FileReview;

impl Model {
    pub(super) fn list_view(&self) -> ListView {
        let items = self.items();
        let (Some(first), Some(last)) = (items.first(), items.last()) else {
            return empty_view();
        };
        let several = first.session != last.session;
        let mut view = ListView::default();
        let mut session = None;
        let mut counts = Counts::default();
        let mut paths = BTreeSet::new();
        for item in items {
            counts.add(item.what);
            if item.what.row().is_none() {
                paths.insert(item.path);
            }
            if view.lines.len() >= MAX_LINES {
                view.is_cut = true;
                continue;
            }
            if several && session != Some(item.session) {
                session = Some(item.session);
                if !view.lines.is_empty() {
                    view.push(Line::default(), None);
                }
                view.push(self.session_line(item.session), None);
            }
            let is_gone =
                matches!(item.what, What::File(file) | What::Hunk(file, _) if is_gone(file));
            let shown = ListItem {
                key: item.key,
                path: item.path.to_owned(),
                row: item.what.row(),
                is_gone,
            };
            view.push(self.item_line(item.path, item.what), Some(shown));
        }
        if view.is_cut {
            let text = "⋯ more changes are not listed yet: decide some of these to see them.";
            view.push(diffview::whole(text.into(), "AcpDim"), None);
        }
        view.files = paths.len();
        view.title = counts.title();
        view
    }

    fn item_line(&self, path: &Path, what: What<'_>) -> Line {
        match what {
            What::File(file) => {
                file_line(&self.view.relative(path), file, &self.view.whole_of(file))
            }
            What::Hunk(_, hunk) => {
                let is_pending = hunk.state == "pending";
                let place = (hunk.row, (!is_pending).then_some("!"));
                let state = (!is_pending).then_some((hunk.state, "AcpWarning"));
                let lines = hunk.new.iter().chain(hunk.old.iter());
                hunk_line(place, (hunk.old.len(), hunk.new.len()), lines, state)
            }
            What::Proposal(proposal, file, _) => {
                let mut of_file = self.workspace.proposals().of_file(path);
                let several = of_file.nth(1).is_some();
                let title = several.then_some(proposal.title.as_str());
                proposal_line(&self.view.relative(path), file, title)
            }
            What::Proposed(_, hunk, _) => {
                let state = Some((hunk.state(), "AcpProposed"));
                let place = (hunk.rows.start, None);
                let lines = hunk.new.iter().chain(&hunk.old);
                hunk_line(place, (hunk.old.len(), hunk.new.len()), lines, state)
            }
        }
    }

    fn session_line(&self, key: SessionKey) -> Line {
        let mut line = LineOf::default();
        match self.conversation.session(key) {
            Some(session) => {
                line.put(session.name(), "AcpTitle");
                if let Some(title) = session.title() {
                    line.put(" · ", "AcpDim");
                    line.put(title, "AcpDim");
                }
            }
            None => line.put("closed session", "AcpDim"),
        }
        line.0
    }
}

/// Maximum number of lines in the list: further ones appear once some are decided.
const MAX_LINES: usize = 1000;

fn empty_view() -> ListView {
    let mut view = ListView {
        title: vec![("Review".into(), "AcpTitle")],
        ..ListView::default()
    };
    for text in ["Nothing to review.", "", "Changes of agents appear here."] {
        view.push(diffview::whole(text.into(), "AcpDim"), None);
    }
    view
}

fn is_gone(file: &FileReview) -> bool {
    file.whole().contains(&Whole::Deleted)
}

fn file_line(name: &str, file: &FileReview, whole: &[Whole]) -> Line {
    let mut line = LineOf::default();
    line.put(name, "AcpPath");
    let hunks = file.info.iter().flat_map(|info| &info.hunks);
    let added = hunks.clone().map(|hunk| hunk.new.len()).sum();
    let removed = hunks.map(|hunk| hunk.old.len()).sum();
    line.put_counts(added, removed);
    for whole in whole {
        line.put("  ", "AcpDim");
        line.put(&in_short(whole), "AcpNotice");
    }
    line.0
}

/// Returns the line of a file's proposal; `title` distinguishes it from other proposals for the
/// file.
fn proposal_line(name: &str, file: &FileProposal, title: Option<&str>) -> Line {
    let mut line = LineOf::default();
    line.put(name, "AcpPath");
    let added = file.hunks.iter().map(|hunk| hunk.new.len()).sum();
    let removed = file.hunks.iter().map(|hunk| hunk.old.len()).sum();
    line.put_counts(added, removed);
    line.put("  proposed", "AcpProposed");
    if let Some(title) = title {
        line.put(&format!(" ({})", shortened(title, MAX_TEXT)), "AcpDim");
    }
    let what = if file.is_new() {
        "  new file"
    } else if file.hunks.iter().any(|hunk| hunk.deletes) {
        "  deletes the file"
    } else {
        ""
    };
    line.put(what, "AcpNotice");
    if file
        .notes
        .iter()
        .any(|note| matches!(note, Note::Misfit(_)))
    {
        line.put("  does not match the file", "AcpWarning");
    }
    line.0
}

/// Returns a hunk's line: its row, its text and its state; `lines` are the added ones and then the
/// removed ones.
fn hunk_line(
    (row, sign): (usize, Option<&str>),
    (removed, added): (usize, usize),
    mut lines: impl Iterator<Item: AsRef<str>>,
    state: Option<(&str, Group)>,
) -> Line {
    let mut line = LineOf::default();
    line.put(&format!("  {:>5} ", row + 1), "AcpDim");
    let (sign, group) = match (sign, removed, added) {
        (Some(sign), ..) => (sign, "AcpWarning"),
        (None, 0, _) => ("+", "AcpSign"),
        (None, _, 0) => ("-", "AcpSignDelete"),
        (None, ..) => ("~", "AcpSign"),
    };
    line.put(sign, group);
    line.put(" ", "AcpDim");
    if let Some(first) = lines.find(|text| !text.as_ref().trim().is_empty()) {
        let first = shortened(first.as_ref().trim(), MAX_TEXT);
        line.0.text.push_str(&first);
    }
    if let Some((state, group)) = state {
        line.put(&format!("  {state}"), group);
    }
    line.0
}

/// Maximum length of a hunk's text, in characters: enough to tell hunks apart.
const MAX_TEXT: usize = 120;
