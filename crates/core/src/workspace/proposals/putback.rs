//! Puts back the lines that an agent has replaced though the user had rejected that.
//!
//! Invariant: only lines that still are as the agent wrote them give way.

use std::path::{Path, PathBuf};

use super::follow::ProposalJob;
use crate::model::{Effects, Job, Model, notify};
use crate::spine::effect::{EditorEffect, Effect, HostEffect, Level, Save};
use crate::spine::event::{DiskFile, EditDone, EditError, SaveError, Stamp, WriteError};
use crate::spine::ids::BufId;
use crate::text::{LineEdit, Text, moved};
use crate::workspace::ledger::diff;
use crate::workspace::reviews::no_text;

/// Lines to be put back.
#[derive(Debug)]
pub struct PutBack {
    path: PathBuf,
    /// The text that the edits are for: as the agent left it.
    written: Text,
    edits: Vec<LineEdit>,
    /// What the disk will have, while it is being written.
    writing: Option<Text>,
}

impl PutBack {
    pub(super) fn new(path: PathBuf, written: Text, edits: Vec<LineEdit>) -> Self {
        Self {
            path,
            written,
            edits,
            writing: None,
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the edits in rows of what is there now, and how many have lost their lines.
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

impl Model {
    /// Puts lines back in the buffer where there is one, else on disk.
    pub(super) fn put_back(&mut self, back: PutBack, fx: &mut Effects) {
        let Some((buf, document)) = self.documents.find(&back.path) else {
            let path = back.path.clone();
            let token = self.token(Job::Proposal(ProposalJob::PutBack(back)));
            fx.push(Effect::Host(HostEffect::ReadDisk { token, path }));
            return;
        };
        let (edits, lost) = back.edits_in(&document.text);
        tell_lost(&back.path, lost, fx);
        if edits.is_empty() {
            return;
        }
        let (tick, save) = (document.state.tick, Save::OverIfClean(document.stamp));
        let edits = document.to_buffer(edits);
        let token = self.token(Job::Proposal(ProposalJob::PutBack(back)));
        fx.push(edit(token, buf, tick, edits, save));
    }

    /// Goes on when the editor has put lines back, or has not.
    pub(crate) fn put_back_edited(
        &mut self,
        back: PutBack,
        result: Result<EditDone, EditError>,
        fx: &mut Effects,
    ) {
        let why = match result {
            Ok(EditDone {
                saved: Some(Err(SaveError::Refused(why))),
                ..
            }) => format!("Put back, but not saved: {why}."),
            Ok(EditDone {
                saved: Some(Err(SaveError::Stale)),
                ..
            }) => "Put back, but not saved: somebody else has changed the file.".to_owned(),
            Ok(_) => return self.reviews.touch(&back.path),
            Err(EditError::Stale { .. } | EditError::Gone) => return self.put_back(back, fx),
            Err(EditError::Refused(why)) => {
                format!("What you rejected could not be put back: {why}.")
            }
        };
        let text = format!("{why} ({})", back.path.display());
        fx.push(notify(Level::Error, text));
    }

    /// Goes on when the disk was read: its text is what lines are put back in.
    pub(crate) fn put_back_read(
        &mut self,
        mut back: PutBack,
        result: Result<DiskFile, String>,
        fx: &mut Effects,
    ) {
        let disk = match result {
            Ok(disk) => disk,
            Err(why) => return fx.push(notify(Level::Error, why)),
        };
        let path = back.path.clone();
        let over = disk.stamp;
        if !self.review_from_disk(&path, disk) {
            return fx.push(no_text(&path));
        }
        let is_open = self.documents.find(&path).is_some();
        let Some(review) = self.reviews.get(&path).filter(|_| !is_open) else {
            return self.put_back(back, fx);
        };
        let (edits, lost) = back.edits_in(review.ledger.current());
        tell_lost(&path, lost, fx);
        if edits.is_empty() {
            return;
        }
        let mut text = review.ledger.current().clone();
        text.apply_all(&edits);
        let format = review.now.format().unwrap_or_default();
        back.writing = Some(text.clone());
        let token = self.token(Job::Proposal(ProposalJob::PutBack(back)));
        fx.push(Effect::Host(HostEffect::WriteDisk {
            token,
            path,
            over,
            text,
            format,
        }));
    }

    /// Ends it when the disk has the file, or has not.
    pub(crate) fn put_back_written(
        &mut self,
        back: PutBack,
        result: Result<Option<Stamp>, WriteError>,
        fx: &mut Effects,
    ) {
        let stamp = match result {
            Ok(stamp) => stamp,
            Err(WriteError::Stale) => return self.put_back(back, fx),
            Err(WriteError::Failed(why)) => return fx.push(notify(Level::Error, why)),
        };
        let is_open = self.documents.find(&back.path).is_some();
        if let (Some(review), Some(text), false) =
            (self.reviews.get_mut(&back.path), back.writing, is_open)
        {
            review.now.stamp = stamp;
            review.agent_wrote(text);
            self.reviews.touch(&back.path);
        }
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

fn edit(
    token: crate::spine::ids::Token,
    buf: BufId,
    tick: u64,
    edits: Vec<LineEdit>,
    save: Save,
) -> Effect {
    Effect::Editor(EditorEffect::Edit {
        token,
        buf,
        tick,
        edits,
        save,
    })
}
