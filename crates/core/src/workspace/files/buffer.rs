//! Writes to open buffers: merged with what the user has there, then saved as `:write` does.
//!
//! Invariant: the buffer is saved only over what has been merged into it.

use std::path::PathBuf;

use super::FileJob;
use super::write::{Stage, Write, conflict_error};
use crate::model::{Effects, Job, Model};
use crate::spine::effect::{EditorEffect, Effect, Save};
use crate::spine::event::{DiskFile, EditDone, EditError, SaveError};
use crate::spine::ids::{BufId, Token};
use crate::spine::project::FileState;
use crate::text::{LineEdit, Text, moved};
use crate::workspace::changes::{DiskMerge, known_on_disk};
use crate::workspace::ledger::{Conflict, Merge, diff, merge};
use acp::{RpcError, rpc};

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
            let (saved, now) = (saved.clone(), now.clone());
            return self.merge_foreign(write, buf, disk, (saved, now), fx);
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
        let there = FileState::of_text(ours.clone(), document.state.format);
        let origin = match disk.content {
            Some(_) => there.clone(),
            None => FileState::missing(),
        };
        let review = self
            .reviews
            .begin(&path, &disk.real, write.session, &ours, origin);
        review.now.body = there.body;
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

    /// Merges what the disk has into the buffer first: the agent's own change, or another's.
    fn merge_foreign(
        &mut self,
        mut write: Write,
        buf: BufId,
        disk: DiskFile,
        (saved, now): (Text, Text),
        fx: &mut Effects,
    ) {
        // What was told comes first, one change after the other: not all may be the same hand's.
        let told = self.told_of(&disk.real, &saved);
        let is_passing = told.is_some();
        let (disk, by) = told.unwrap_or_else(|| {
            let by = self.writer_at(&disk.real);
            (disk, by)
        });
        let Some(document) = self.documents.get(buf) else {
            return self.retry_write(write, fx);
        };
        let (path, ours) = (document.path.clone(), document.text.clone());
        let origin = FileState::of_text(saved.clone(), document.state.format);
        let theirs = match (&disk.content, is_passing) {
            (Some(content), true) => document.reads(content).text,
            _ => now,
        };
        let (merge, edit) = DiskMerge::plan(buf, document, disk, (saved, theirs), by);
        let edit = match is_passing {
            true => DiskMerge::passing(edit),
            false => edit,
        };
        if by.is_some() || merge.has_conflicts() {
            // Begun here, so that what others wrote is no change of the agent's.
            let (real, session) = (&merge.disk.real, by.unwrap_or(write.session));
            let review = self
                .reviews
                .begin(&path, real, session, &ours, origin.clone());
            review.now.body = origin.body;
        }
        write.stage = Stage::Foreign(Box::new(merge));
        let token = self.token(Job::File(FileJob::Write(write)));
        fx.push(edit.into_effect(token));
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
            Stage::Foreign(merge) => {
                let landed = merge.lands();
                self.disk_is_merged(*merge, &done, fx);
                self.disk_has_landed(landed, fx);
                // The disk may have more by now.
                self.retry_write(write, fx);
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
                // The agent may have named a link.
                let path = match self.documents.find(&real) {
                    Some((_, document)) => document.path.clone(),
                    None => write.path.clone(),
                };
                self.finish_merge(&write, path, (&ours, &merged), conflicts, done, fx);
            }
            Stage::Reading | Stage::Saving { .. } => {}
        }
    }

    fn finish_merge(
        &mut self,
        write: &Write,
        path: PathBuf,
        (ours, merged): (&Text, &Text),
        conflicts: Vec<Conflict>,
        done: EditDone,
        fx: &mut Effects,
    ) {
        let told = conflict_error(&write.path, &conflicts);
        self.follow_write(write.session, &write.path, Some(ours), merged);
        if let Some(review) = self.reviews.get_mut(&path) {
            // What save hooks changed has moved the lines since.
            let hooks = diff(merged, review.ledger.current());
            for mut conflict in conflicts {
                conflict.rows =
                    moved(conflict.rows.start, &hooks)..moved(conflict.rows.end, &hooks);
                review.offer(conflict);
            }
        }
        self.reviews.touch(&path);
        let review = self.reviews.get(&path);
        let after = review.map(|review| review.ledger.current().clone());
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

fn edit(token: Token, buf: BufId, tick: u64, edits: Vec<LineEdit>, save: Save) -> Effect {
    Effect::Editor(EditorEffect::Edit {
        token,
        buf,
        tick,
        edits,
        save,
    })
}
