//! Restores lines that an agent replaced although the user had rejected the change.
//!
//! Invariant: only lines that are still as the agent wrote them are replaced.

use std::path::Path;

use crate::spine::cx::{Effects, notify};
use crate::spine::effect::{Level, Save};
use crate::spine::ids::SessionKey;
use crate::text::diff::diff;
use crate::text::{LineEdit, Text, moved};
use crate::workspace::Workspace;
use crate::workspace::fileops::{
    Author, BufferEdit, Change, FileNow, Landing, Next, Outcome, Plan, not_saved,
};
use crate::workspace::reviews::FileReview;

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

    /// Plans to restore lines, in the file's buffer, else on disk.
    pub(crate) fn plan(&self, now: FileNow) -> Plan {
        let text = match (now.document, now.review) {
            (Some((_, document)), _) => &document.text,
            (None, Some(review)) => review.ledger.current(),
            (None, None) => return Plan::Done(Landing::Plain),
        };
        let (edits, lost) = self.edits_in(text);
        if edits.is_empty() {
            return Plan::Done(Landing::PutBack(None, lost));
        }
        let format = now.review.and_then(FileReview::format).unwrap_or_default();
        match now.document {
            Some((buf, document)) => Plan::Edit {
                edit: BufferEdit::new(buf, document, edits, Save::back(document.stamp, format)),
                author: Author::Agent(self.session),
                opens: None,
                landing: Landing::PutBack(None, lost),
            },
            None => {
                let mut text = text.clone();
                text.apply_all(&edits);
                let change = Change::Write {
                    over: now.stamp(),
                    text: text.clone(),
                    format,
                };
                Plan::Disk(change, Landing::PutBack(Some(text), lost))
            }
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
    /// Records that lines are restored: the resulting text on disk, and the number of edits left
    /// out.
    pub(crate) fn put_back_landed(
        &mut self,
        path: &Path,
        (text, lost): (Option<Text>, usize),
        outcome: Outcome,
        fx: &mut Effects,
    ) -> Next {
        tell_lost(path, lost, fx);
        let is_open = self.documents.find(path).is_some();
        match outcome {
            Outcome::Unchanged => return Next::Done,
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
            "{}: lines that you rejected have changed since; they are still to be reviewed.",
            path.display()
        );
        fx.push(notify(Level::Warn, text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks in which rows "two" and "four" are put back if the agent's version has become this
    /// text, and how many are left out.
    #[track_caller]
    fn check(now: &str, rows: &[usize], lost: usize) {
        let written = Text::from_text("one\nTWO\nthree\nFOUR\nfive\n");
        let edits = [(1, "two"), (3, "four")].map(|(start, line)| LineEdit {
            start,
            removed: 1,
            lines: vec![line.to_owned()],
        });
        let back = PutBack::new(SessionKey(1), written, edits.into());
        let (found, left_out) = back.edits_in(&Text::from_text(now));
        let found: Vec<usize> = found.iter().map(|edit| edit.start).collect();
        assert_eq!((&found[..], left_out), (rows, lost), "{now}");
    }

    #[test]
    fn lines_are_put_back_where_they_are_now_unless_they_have_changed() {
        check("one\nTWO\nthree\nFOUR\nfive\n", &[1, 3], 0);
        check("zero\none\nTWO\nthree\nFOUR\nfive\n", &[2, 4], 0);
        check("one\nTWO!\nthree\nFOUR\nfive\n", &[3], 1);
        check("three\nFOUR\nfive\n", &[1], 1);
    }
}
