//! The lines of the review list, as they are drawn.

use super::items::What;
use crate::spine::oneline::OneLine;
use crate::spine::project::Whole;
use crate::spine::view::{Group, Line, ListItem, ListView, Span};
use crate::text::plural;

/// The numbers of changes to decide.
#[derive(Default)]
pub(crate) struct Counts {
    files: usize,
    hunks: usize,
    proposed: usize,
}

impl Counts {
    pub(crate) fn add(&mut self, what: What<'_>) {
        match what {
            What::File(_) => self.files += 1,
            What::Hunk(..) => self.hunks += 1,
            What::Proposal(..) => {}
            What::Proposed(..) => self.proposed += 1,
        }
    }

    pub(crate) fn title(&self) -> Vec<(OneLine, Group)> {
        let mut title = vec![("Review".into(), "AcpTitle")];
        if self.files > 0 {
            title.push((plural(self.files, "file").into(), "AcpDim"));
        }
        if self.hunks > 0 {
            title.push((plural(self.hunks, "hunk").into(), "AcpSign"));
        }
        if self.proposed > 0 {
            title.push((format!("{} proposed", self.proposed).into(), "AcpProposed"));
        }
        title
    }
}

impl ListView {
    pub(crate) fn push(&mut self, line: Line, item: Option<ListItem>) {
        self.lines.push(line);
        self.items.push(item);
    }
}

/// A line under construction.
#[derive(Default)]
pub(crate) struct LineOf(pub(crate) Line);

impl LineOf {
    pub(crate) fn put(&mut self, text: &str, group: Group) {
        let end = |line: &Line| u32::try_from(line.text.len()).unwrap_or(u32::MAX);
        let start = end(&self.0);
        self.0.text.push_str(text);
        let end = end(&self.0);
        if start < end {
            self.0.spans.push(Span { start, end, group });
        }
    }

    pub(crate) fn put_counts(&mut self, added: usize, removed: usize) {
        if added > 0 {
            self.put(&format!(" +{added}"), "AcpSign");
        }
        if removed > 0 {
            self.put(&format!(" -{removed}"), "AcpSignDelete");
        }
    }
}

/// Returns a change of a file as a whole, in short form.
pub(crate) fn in_short(whole: &Whole) -> String {
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
pub fn in_full(whole: &Whole) -> String {
    match whole {
        Whole::Created => {
            "The agent created this file; a reject deletes it, unless you edited it.".into()
        }
        Whole::Deleted => "The agent deleted this file; a reject brings it back.".into(),
        Whole::Moved(from) => format!("The agent moved this file from {}.", from.display()),
        Whole::Mode(..) => format!("The agent changed the permissions: {}.", in_short(whole)),
        Whole::Format(what) => format!("The agent changed the format: {what}."),
        Whole::Binary { kept: true } => {
            "The agent changed this binary file; a reject brings the old content back.".into()
        }
        Whole::Binary { kept: false } => {
            "The agent changed this binary file; its old content was not kept.".into()
        }
        Whole::Link => "A symbolic link was made, changed or replaced here.".into(),
    }
}
