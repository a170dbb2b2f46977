//! Reapplies changes that a save replaced before they were merged.
//!
//! Invariant: the disk gets the text it would have if the change's author had made it right after
//! the save; where that is impossible, the change is offered as a conflict.

use std::path::Path;

use super::TakeIn;
use crate::spine::cx::{Effects, notify};
use crate::spine::effect::{HardLinks, HostEffect, Level};
use crate::spine::event::{DiskFile, Overwritten, Stamp};
use crate::spine::ids::{BufId, SessionKey};
use crate::spine::project::{FileChange, FileState};
use crate::text::diff::{Conflict, Merge, diff, merge};
use crate::text::format::Format;
use crate::text::{Text, moved};
use crate::workspace::Workspace;
use crate::workspace::fileops::{Change, FileNow, Intent, Landing, Next, Outcome, Plan};

/// A change that a save has replaced.
#[derive(Debug)]
pub struct Reapply {
    /// The text on disk under the buffer before the save, if known.
    base: Option<Text>,
    theirs: Text,
    /// The session whose agent made the change.
    pub by: Option<SessionKey>,
    /// The saved file.
    under: Under,
}

/// A text file on disk.
#[derive(Debug, Clone)]
struct Under {
    text: Text,
    format: Format,
    stamp: Option<Stamp>,
}

/// A change that is being written back.
#[derive(Debug)]
pub(crate) struct Reapplied {
    text: Text,
    conflicts: Vec<Conflict>,
}

impl Reapply {
    /// Plans to write the change back over the save, or over a newer file.
    pub(crate) fn plan(&self, now: FileNow) -> Plan {
        if now.disk.is_some_and(|disk| disk.content.is_none()) {
            // The file was deleted after the save.
            return Plan::Done(Landing::Plain);
        }
        let (reapplied, is_change) = self.merge();
        let text = reapplied.text.clone();
        let landing = Landing::Reapplied(Box::new(reapplied));
        if !is_change {
            return Plan::Done(landing);
        }
        let change = Change::Write {
            over: self.under.stamp,
            text,
            format: self.under.format,
        };
        Plan::Disk(change, landing)
    }

    /// Merges the change into the text on disk; returns whether that changes the text.
    fn merge(&self) -> (Reapplied, bool) {
        let ours = &self.under.text;
        let Some(base) = &self.base else {
            let (text, conflicts) = (ours.clone(), self.differences());
            return (Reapplied { text, conflicts }, false);
        };
        let Merge { edits, conflicts } = merge(base, ours, &self.theirs);
        let mut text = ours.clone();
        text.apply_all(&edits);
        (Reapplied { text, conflicts }, !edits.is_empty())
    }

    /// Returns the differences between the change and the text on disk, as conflicts.
    fn differences(&self) -> Vec<Conflict> {
        let ours = &self.under.text;
        let edits = diff(ours, &self.theirs).into_iter();
        let conflicts = edits.map(|edit| {
            let rows = edit.start..edit.start + edit.removed;
            Conflict {
                base: ours.to_lines(rows.clone()),
                theirs: edit.lines,
                rows,
            }
        });
        conflicts.collect()
    }
}

impl Under {
    fn state(&self) -> FileState {
        FileState {
            stamp: self.stamp,
            ..FileState::of_text(self.text.clone(), self.format)
        }
    }
}

impl Workspace {
    /// Queues the reapplication of a change that a save replaced; `base` is the text on disk under
    /// the buffer before the save.
    pub(super) fn change_was_overwritten(
        &mut self,
        buf: BufId,
        base: Option<Text>,
        over: Overwritten,
        fx: &mut Effects,
    ) {
        let Some(document) = self.documents.get(buf) else {
            return;
        };
        let path = document.path.clone();
        let reapply = Reapply {
            base,
            theirs: document.reads(&document.decode(&over.bytes)).text,
            by: self.writer_of(&path, Some(over.stamp)),
            under: Under {
                text: document.text.clone(),
                format: document.state.format,
                stamp: document.stamp,
            },
        };
        self.operate(path, Intent::Reapply(reapply), fx);
    }

    /// Puts a newer file on disk in the place of the save.
    pub(crate) fn prepare_reapply(
        &mut self,
        path: &Path,
        reapply: &mut Reapply,
        disk: Option<&DiskFile>,
    ) {
        let Some((disk, content)) = disk.and_then(|disk| Some((disk, disk.content.as_ref()?)))
        else {
            return;
        };
        let document = self.documents.find(path).map(|(_, document)| document);
        let content = document.map_or(content.clone(), |document| document.reads(content));
        reapply.under = Under {
            text: content.text,
            format: content.format,
            stamp: disk.stamp,
        };
    }

    /// Records a change that was written back.
    pub(crate) fn reapply_landed(
        &mut self,
        path: &Path,
        reapply: &Reapply,
        reapplied: Reapplied,
        outcome: Outcome,
        fx: &mut Effects,
    ) -> Next {
        let text = reapplied.text.clone();
        self.offer_reapplied(path, reapply, reapplied, fx);
        let Outcome::Written(stamp) = outcome else {
            return Next::Done;
        };
        let change = FileChange {
            path: path.to_owned(),
            from: None,
            before: reapply.under.state(),
            after: FileState {
                stamp,
                ..FileState::of_text(text, reapply.under.format)
            },
        };
        // Changes that wait were made before it.
        let take_in = Intent::TakeIn(Box::new(TakeIn::new(change, reapply.by)));
        self.operate(path.to_owned(), take_in, fx);
        Next::Done
    }

    /// Offers a change that cannot be written back.
    pub(crate) fn reapply_failed(
        &mut self,
        path: &Path,
        reapply: &Reapply,
        why: String,
        fx: &mut Effects,
    ) {
        fx.push(notify(Level::Error, why));
        let reapplied = Reapplied {
            text: reapply.under.text.clone(),
            conflicts: reapply.differences(),
        };
        self.offer_reapplied(path, reapply, reapplied, fx);
    }

    fn offer_reapplied(
        &mut self,
        path: &Path,
        reapply: &Reapply,
        reapplied: Reapplied,
        fx: &mut Effects,
    ) {
        let Reapplied {
            text,
            mut conflicts,
        } = reapplied;
        if conflicts.is_empty() {
            return;
        }
        let Some(session) = reapply.by.or_else(|| self.session_at(path)) else {
            let text = format!(
                "{} was changed on disk in lines that you have changed: your save replaced that \
                 change, and no session is open to offer it.",
                path.display()
            );
            return fx.push(notify(Level::Warn, text));
        };
        let open = self
            .documents
            .find(path)
            .map(|(_, document)| &document.text);
        let current = open.unwrap_or(&reapply.under.text).clone();
        let origin = reapply.under.state();
        let review = self.reviews.begin(path, session, &current, origin);
        let since = diff(&text, review.ledger.current());
        for Conflict { rows, .. } in &mut conflicts {
            *rows = moved(rows.start, &since)..moved(rows.end, &since);
        }
        self.offer_disk(path, conflicts, false, fx);
    }

    /// Writes all queued changes back at once, because Neovim quits.
    pub(crate) fn reapply_all(&mut self, fx: &mut Effects) {
        for (lane, op) in self.fileops.take_reapplies() {
            let Intent::Reapply(reapply) = op.intent else {
                continue;
            };
            let (Reapplied { text, .. }, true) = reapply.merge() else {
                continue;
            };
            let token = self.jobs.writes.add(lane);
            fx.push(HostEffect::WriteDisk {
                token,
                path: op.path,
                roots: self.all_roots(),
                over: reapply.under.stamp,
                hard_links: HardLinks::Keep,
                text,
                format: reapply.under.format,
            });
        }
    }
}
