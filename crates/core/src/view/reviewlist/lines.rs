//! The lines of the review list, as they are drawn.

use std::collections::BTreeSet;
use std::path::Path;

use super::items::What;
use crate::model::Model;
use crate::render::diffview;
use crate::render::view::{Group, Line, ListItem, ListView, Span};
use crate::spine::ids::SessionKey;
use crate::spine::project::Whole;
use crate::text::plural;
use crate::workspace::proposals::{FileProposal, Note};
use crate::workspace::reviews::FileReview;

/// Maximum number of lines in the list: further ones appear once some are decided.
const MAX_LINES: usize = 1000;

/// Maximum length of a hunk's text, in characters: enough to tell hunks apart.
const MAX_TEXT: usize = 120;

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
            let text = "⋯ and more: what is decided about here makes room for them.";
            view.push(diffview::whole(text.into(), "AcpDim"), None);
        }
        view.files = paths.len();
        view.title = counts.title();
        view
    }

    fn item_line(&self, path: &Path, what: What<'_>) -> Line {
        match what {
            What::File(file) => file_line(&self.relative(path), file, &self.whole_of(file)),
            What::Hunk(_, hunk) => {
                let is_pending = hunk.state == "pending";
                let place = (hunk.row, (!is_pending).then_some("!"));
                let state = (!is_pending).then_some((hunk.state, "AcpWarning"));
                hunk_line(place, &hunk.old, &hunk.new, state)
            }
            What::Proposal(proposal, file, _) => {
                let mut of_file = self.workspace.proposals.of_file(path);
                let several = of_file.nth(1).is_some();
                let title = several.then_some(proposal.title.as_str());
                proposal_line(&self.relative(path), file, title)
            }
            What::Proposed(_, hunk, _) => {
                let state = Some((hunk.state(), "AcpProposed"));
                hunk_line((hunk.rows.start, None), &hunk.old, &hunk.new, state)
            }
        }
    }

    fn session_line(&self, key: SessionKey) -> Line {
        let mut line = LineOf::default();
        match self.sessions.get(&key) {
            Some(session) => {
                line.put(&session.spec.name, "AcpTitle");
                if let Some(title) = &session.title {
                    line.put(" · ", "AcpDim");
                    line.put(title, "AcpDim");
                }
            }
            None => line.put("closed session", "AcpDim"),
        }
        line.0
    }
}

/// The numbers of changes to decide.
#[derive(Default)]
struct Counts {
    files: usize,
    hunks: usize,
    proposed: usize,
}

impl Counts {
    fn add(&mut self, what: What<'_>) {
        match what {
            What::File(_) => self.files += 1,
            What::Hunk(..) => self.hunks += 1,
            What::Proposal(..) => {}
            What::Proposed(..) => self.proposed += 1,
        }
    }

    fn title(&self) -> Vec<(String, Group)> {
        let mut title = vec![("Review".to_owned(), "AcpTitle")];
        if self.files > 0 {
            title.push((plural(self.files, "file"), "AcpDim"));
            title.push((plural(self.hunks, "hunk"), "AcpSign"));
        }
        if self.proposed > 0 {
            title.push((format!("{} proposed", self.proposed), "AcpProposed"));
        }
        title
    }
}

impl ListView {
    fn push(&mut self, line: Line, item: Option<ListItem>) {
        self.lines.push(line);
        self.items.push(item);
    }
}

fn empty_view() -> ListView {
    let mut view = ListView {
        title: vec![("Review".into(), "AcpTitle")],
        ..ListView::default()
    };
    for text in [
        "No change of the agent's to review.",
        "",
        "What it changes from now on",
        "appears here by itself.",
    ] {
        view.push(diffview::whole(text.into(), "AcpDim"), None);
    }
    view
}

/// A line under construction.
#[derive(Default)]
struct LineOf(Line);

impl LineOf {
    fn put(&mut self, text: &str, group: Group) {
        let at = |line: &Line| u32::try_from(line.text.len()).unwrap_or(u32::MAX);
        let start = at(&self.0);
        self.0.text.push_str(text);
        let end = at(&self.0);
        if start < end {
            self.0.spans.push(Span { start, end, group });
        }
    }

    fn put_counts(&mut self, added: usize, removed: usize) {
        if added > 0 {
            self.put(&format!(" +{added}"), "AcpSign");
        }
        if removed > 0 {
            self.put(&format!(" -{removed}"), "AcpSignDelete");
        }
    }
}

fn is_gone(file: &FileReview) -> bool {
    file.whole().contains(&Whole::Deleted)
}

fn file_line(name: &str, file: &FileReview, whole: &[Whole]) -> Line {
    let mut line = LineOf::default();
    line.put(name, "AcpPath");
    let added: usize = file.info.iter().map(|hunk| hunk.new.len()).sum();
    let removed: usize = file.info.iter().map(|hunk| hunk.old.len()).sum();
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
        line.put(&format!(" ({})", cut(title)), "AcpDim");
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
        line.put("  does not fit what is there", "AcpWarning");
    }
    line.0
}

/// Returns the line of a hunk: its row, its text and its state.
fn hunk_line(
    (row, sign): (usize, Option<&str>),
    old: &[String],
    new: &[String],
    state: Option<(&str, Group)>,
) -> Line {
    let mut line = LineOf::default();
    line.put(&format!("  {:>5} ", row + 1), "AcpDim");
    let (sign, group) = match (sign, old.is_empty(), new.is_empty()) {
        (Some(sign), ..) => (sign, "AcpWarning"),
        (None, true, _) => ("+", "AcpSign"),
        (None, _, true) => ("-", "AcpSignDelete"),
        (None, ..) => ("~", "AcpSign"),
    };
    line.put(sign, group);
    let changed = new.iter().chain(old);
    let first = changed
        .map(|text| text.trim())
        .find(|text| !text.is_empty());
    line.put(" ", "AcpDim");
    let text = cut(first.unwrap_or_default());
    line.0.text.push_str(&text);
    if let Some((state, group)) = state {
        line.put(&format!("  {state}"), group);
    }
    line.0
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Returns a change of a file as a whole, in short form.
fn in_short(whole: &Whole) -> String {
    match whole {
        Whole::Created => "created".into(),
        Whole::Deleted => "deleted".into(),
        Whole::Moved(from) => format!("moved from {}", from.display()),
        Whole::Mode(before, after) => format!("mode {:o} → {:o}", before & 0o7777, after & 0o7777),
        Whole::Format(what) => what.clone(),
        Whole::Binary { .. } => "binary".into(),
        Whole::Link => "symbolic link".into(),
    }
}

/// Returns a change of a file as a whole, as a sentence.
pub(super) fn in_full(whole: &Whole) -> String {
    match whole {
        Whole::Created => "The agent has made this file: rejecting all of it deletes it.".into(),
        Whole::Deleted => "The agent has deleted this file: rejecting that brings it back.".into(),
        Whole::Moved(from) => format!("The agent has moved this file from {}.", from.display()),
        Whole::Mode(..) => format!(
            "The agent has changed its permissions: {}.",
            in_short(whole)
        ),
        Whole::Format(what) => format!("The agent has changed how it is written: {what}."),
        Whole::Binary { kept: true } => {
            "The agent has changed this file, which is no text; rejecting brings the old content \
             back."
                .into()
        }
        Whole::Binary { kept: false } => {
            "The agent has changed this file, which is no text; its old content was not kept."
                .into()
        }
        Whole::Link => "A symbolic link was made, changed or replaced here.".into(),
    }
}
