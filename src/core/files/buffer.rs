//! Writes to open buffers: merged with what the user has there, then saved as `:write` does.
//!
//! Invariant: the buffer is saved only over what has been merged into it.

use super::FileJob;
use super::write::{Stage, Write, conflict_error};
use crate::acp::{RpcError, rpc};
use crate::core::documents::Document;
use crate::core::effect::{EditorEffect, Effect, Level, Save};
use crate::core::event::{DiskFile, EditDone, EditError, SaveError};
use crate::core::ids::{BufId, Token};
use crate::core::ledger::{Conflict, Merge, diff, merge};
use crate::core::model::{Effects, Job, Model, notify};
use crate::core::text::{LineEdit, Text, moved};

impl Model {
    /// Merges the agent's text into a buffer and has it saved.
    pub(super) fn write_buffer(
        &mut self,
        mut write: Write,
        buf: BufId,
        disk: DiskFile,
        fx: &mut Effects,
    ) {
        let Some(document) = self.documents.get(buf) else {
            return self.retry_write(write, fx);
        };
        let ours = document.text.clone();
        let tick = document.state.tick;
        let on_disk = match known_on_disk(document, &disk) {
            Ok(text) => text,
            Err(why) => return self.fail_write(write, why, fx),
        };
        if let (Some(saved), Some(now)) = (&document.saved, &on_disk)
            && saved != now
        {
            let foreign = merge(saved, &ours, now);
            if !foreign.conflicts.is_empty() {
                // Begun here, so that what others wrote is no change of the agent's.
                let path = document.path.clone();
                self.reviews.ensure(&path, &disk.real, write.session, &ours);
            }
            let (edits, conflicts) = (document.to_buffer(foreign.edits), foreign.conflicts);
            write.stage = Stage::Foreign {
                buf,
                disk,
                conflicts,
            };
            let token = self.token(Job::File(FileJob::Write(write)));
            fx.push(edit(token, buf, tick, edits, Save::No));
            return;
        }
        let (theirs, _) = document.state.format.from_wire(&write.content);
        let path = document.path.clone();
        let base = match (self.seen(&write, &disk.real), on_disk) {
            (Some(seen), _) => seen.clone(),
            (None, Some(now)) => now,
            (None, None) => ours.clone(),
        };
        let Merge { edits, conflicts } = merge(&base, &ours, &theirs);
        let mut merged = ours.clone();
        merged.apply_all(&edits);
        let edits = document.to_buffer(edits);
        let review = self.reviews.ensure(&path, &disk.real, write.session, &ours);
        review.created |= disk.content.is_none();
        write.stage = Stage::Merging {
            real: disk.real,
            ours,
            theirs,
            merged,
            conflicts,
        };
        let token = self.token(Job::File(FileJob::Write(write)));
        let save = Save::Over(disk.stamp);
        fx.push(edit(token, buf, tick, edits, save));
    }

    /// Goes on when the editor has merged and saved, or has not.
    pub(super) fn write_was_merged(
        &mut self,
        mut write: Write,
        result: Result<EditDone, EditError>,
        fx: &mut Effects,
    ) {
        let done = match result {
            Ok(done) => done,
            Err(EditError::Refused(why)) => {
                return self.fail_write(write, &format!("nothing was written: {why}"), fx);
            }
            Err(EditError::Stale { .. } | EditError::Gone) => return self.retry_write(write, fx),
        };
        match std::mem::replace(&mut write.stage, Stage::Reading) {
            Stage::Foreign {
                buf,
                disk,
                conflicts,
            } => {
                self.offer_foreign(buf, conflicts, fx);
                if let Some(now) = &disk.content {
                    self.documents.set_disk(buf, now.text.clone(), disk.stamp);
                }
                self.write_over(write, Ok(disk), fx);
            }
            Stage::Merging { .. } if done.saved == Some(Err(SaveError::Stale)) => {
                self.retry_write(write, fx);
            }
            Stage::Merging {
                real,
                ours,
                theirs,
                merged,
                conflicts,
            } => {
                self.has_written(&write, &real, theirs);
                self.finish_merge(&write, (&ours, &merged), conflicts, done, fx);
            }
            Stage::Reading | Stage::Saving { .. } => {}
        }
    }

    /// Offers the user what others wrote to disk over lines that the user had changed too.
    fn offer_foreign(&mut self, buf: BufId, conflicts: Vec<Conflict>, fx: &mut Effects) {
        let document = self.documents.get(buf);
        let Some(path) = document.map(|document| document.path.clone()) else {
            return;
        };
        let Some(review) = self.reviews.get_mut(&path) else {
            return;
        };
        if conflicts.is_empty() {
            return;
        }
        for conflict in conflicts {
            review.ledger.offer(conflict);
        }
        self.reviews.touch(&path);
        let text = format!(
            "{} was changed on disk where you have changed it too: your text stays, and the other \
             is offered for review.",
            path.display()
        );
        fx.push(notify(Level::Warn, text));
    }

    fn finish_merge(
        &mut self,
        write: &Write,
        (ours, merged): (&Text, &Text),
        conflicts: Vec<Conflict>,
        done: EditDone,
        fx: &mut Effects,
    ) {
        let told = conflict_error(&write.path, &conflicts);
        let path = match self.documents.find(&write.path) {
            Some((_, document)) => document.path.clone(),
            None => write.path.clone(),
        };
        if let Some(review) = self.reviews.get_mut(&path) {
            // What save hooks changed has moved the lines since.
            let hooks = diff(merged, review.ledger.current());
            for mut conflict in conflicts {
                conflict.rows =
                    moved(conflict.rows.start, &hooks)..moved(conflict.rows.end, &hooks);
                review.ledger.offer(conflict);
            }
            review.written = review.ledger.current().clone();
        }
        self.reviews.touch(&path);
        let after = self.reviews.get(&path).map(|review| review.written.clone());
        if let Some(after) = after {
            self.proposals_landed(&path, ours, &after, fx);
        }
        let result = match (done.saved, told) {
            (Some(Err(SaveError::Refused(why))), _) => Err(RpcError::new(
                rpc::INTERNAL_ERROR,
                format!(
                    "{} is changed in the editor, but could not be saved: {why}",
                    path.display()
                ),
            )),
            (_, Some(told)) => Err(told),
            (_, None) => Ok(()),
        };
        self.finish_write(write, result, fx);
    }
}

/// Returns the text that is on disk under a buffer, as the buffer would have it; `None` when there
/// is no file.
///
/// # Errors
/// Somebody has changed it, and only Neovim can read it.
fn known_on_disk(document: &Document, disk: &DiskFile) -> Result<Option<Text>, &'static str> {
    let Some(content) = &disk.content else {
        return Ok(None);
    };
    if document.stamp.is_some() && document.stamp == disk.stamp {
        // Nobody has written since; bytes that are no text look different in a buffer.
        return Ok(document.saved.clone());
    }
    let encoding = document.state.format.encoding;
    if content.format.encoding == encoding || content.text.is_ascii() {
        return Ok(Some(content.text.clone()));
    }
    match document.stamp {
        Some(_) => Err(
            "somebody else has changed it on disk, in an encoding that only the editor \
             reads; ask the user to load it again",
        ),
        None => Ok(document.saved.clone()),
    }
}

fn edit(token: Token, buf: BufId, tick: u64, edits: Vec<LineEdit>, save: Save) -> Effect {
    Effect::Editor(EditorEffect::Edit {
        token,
        buf,
        tick,
        edits,
        save,
    })
}
