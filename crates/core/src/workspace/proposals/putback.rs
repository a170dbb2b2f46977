//! Restores lines that an agent replaced although the user had rejected the change.
//!
//! Invariant: only lines that are still as the agent wrote them are replaced.

use std::path::Path;

use crate::spine::cx::{Effects, notify};
use crate::spine::effect::{Level, Save};
use crate::spine::event::DiskFile;
use crate::spine::ids::SessionKey;
use crate::text::diff::diff;
use crate::text::{LineEdit, Text, moved};
use crate::workspace::Workspace;
use crate::workspace::fileops::{
    Author, BufferEdit, Change, Landing, Next, Outcome, Plan, not_saved,
};
use crate::workspace::reviews::NO_TEXT;

/// Lines to restore.
#[derive(Debug)]
pub struct PutBack {
    /// The session whose agent wrote the file.
    session: SessionKey,
    /// The text that the edits apply to: the agent's version.
    written: Text,
    edits: Vec<LineEdit>,
}

impl PutBack {
    pub(super) fn new(session: SessionKey, written: Text, edits: Vec<LineEdit>) -> Self {
        Self {
            session,
            written,
            edits,
        }
    }

    /// Returns the edits in rows of `now`, and the number of edits whose lines have changed.
    fn edits_in(&self, now: &Text) -> (Vec<LineEdit>, usize) {
        if *now == self.written {
            return (self.edits.clone(), 0);
        }
        let since = diff(&self.written, now);
        let mut edits = Vec::new();
        for edit in &self.edits {
            let end = edit.start + edit.removed;
            let is_touched = since.iter().any(|other| {
                let other_end = other.start + other.removed;
                other.start < end && edit.start < other_end
                    || other.removed == 0 && edit.start < other.start && other.start < end
            });
            let start = moved(edit.start, &since);
            let rows = start..start + edit.removed;
            let same = now.to_lines(rows) == self.written.to_lines(edit.start..end);
            if same && !is_touched {
                edits.push(LineEdit {
                    start,
                    ..edit.clone()
                });
            }
        }
        let lost = self.edits.len() - edits.len();
        (edits, lost)
    }
}

impl Workspace {
    /// Plans to restore lines, in the file's buffer, else on disk.
    pub(crate) fn plan_put_back(
        &mut self,
        path: &Path,
        back: &PutBack,
        disk: Option<DiskFile>,
        fx: &mut Effects,
    ) -> Plan {
        let over = disk.as_ref().and_then(|disk| disk.stamp);
        if let Some(disk) = disk
            && !self.review_from_disk(path, disk)
        {
            return Plan::Fail(NO_TEXT.to_owned());
        }
        let found = self.documents.find(path);
        let review = self.reviews.get(path);
        let now = match (found, review) {
            (Some((_, document)), _) => &document.text,
            (None, Some(review)) => review.ledger.current(),
            (None, None) => return Plan::Done,
        };
        let (edits, lost) = back.edits_in(now);
        tell_lost(path, lost, fx);
        if edits.is_empty() {
            return Plan::Done;
        }
        match found {
            Some((buf, document)) => Plan::Edit {
                edit: BufferEdit::new(buf, document, edits, Save::OverIfClean(document.stamp)),
                author: Author::Agent(back.session),
                opens: None,
                landing: Landing::PutBack(None),
            },
            None => {
                let mut text = now.clone();
                text.apply_all(&edits);
                let format = review.and_then(|review| review.now.format());
                let change = Change::Write {
                    over,
                    text: text.clone(),
                    format: format.unwrap_or_default(),
                };
                Plan::Disk(change, Landing::PutBack(Some(text)))
            }
        }
    }

    /// Records that lines are restored; `text` is the resulting text on disk.
    pub(crate) fn put_back_landed(
        &mut self,
        path: &Path,
        text: Option<Text>,
        outcome: Outcome,
        fx: &mut Effects,
    ) -> Next {
        let is_open = self.documents.find(path).is_some();
        match outcome {
            Outcome::Edited(done) => {
                if let Some(Err(why)) = done.saved {
                    fx.push(notify(Level::Error, not_saved(path, why)));
                }
            }
            Outcome::Written(stamp) => {
                if let (Some(review), Some(text), false) =
                    (self.reviews.get_mut(path), text, is_open)
                {
                    review.now.stamp = stamp;
                    review.agent_wrote(text);
                }
            }
        }
        self.reviews.touch(path);
        Next::Done
    }
}

fn tell_lost(path: &Path, lost: usize, fx: &mut Effects) {
    if lost > 0 {
        let text = format!(
            "{}: lines that you rejected are others by now, and were left to be reviewed.",
            path.display()
        );
        fx.push(notify(Level::Warn, text));
    }
}
