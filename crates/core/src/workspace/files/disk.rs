//! Writes to files that no buffer holds: merged with what is there now, replaced atomically.

use super::FileJob;
use super::write::{Stage, Write, conflict_error};
use crate::model::{Effects, Job, Model};
use crate::spine::effect::{Effect, HostEffect};
use crate::spine::event::{DiskFile, DiskText, Stamp, WriteError};
use crate::spine::project::FileState;
use crate::text::format::Format;
use crate::workspace::ledger::merge;
use acp::{RpcError, rpc};

impl Model {
    /// Replaces a file that no buffer holds.
    pub(super) fn write_disk(&mut self, mut write: Write, disk: DiskFile, fx: &mut Effects) {
        let (before, format) = match disk.content {
            Some(content) => (Some(content.text), content.format),
            None => (None, Format::decode(write.content.as_bytes()).0),
        };
        let (theirs, final_newline) = format.from_wire(&write.content);
        let new_format = Format {
            final_newline,
            ..format
        };
        let now = before.clone().unwrap_or_default();
        let seen = self.seen(&write, &disk.real);
        let merged = merge(seen.unwrap_or(&now), &now, &theirs);
        let mut after = now;
        after.apply_all(&merged.edits);
        let path = write.path.clone();
        let over = disk.stamp;
        write.stage = Stage::Saving {
            real: disk.real,
            theirs,
            before,
            after: after.clone(),
            conflicts: merged.conflicts,
            formats: (format, new_format),
        };
        let token = self.token(Job::File(FileJob::Write(write)));
        fx.push(Effect::Host(HostEffect::WriteDisk {
            token,
            path,
            over,
            text: after,
            format: new_format,
        }));
    }

    /// Ends a write when the disk has the file, or has not.
    pub(super) fn write_was_saved(
        &mut self,
        mut write: Write,
        result: Result<Option<Stamp>, WriteError>,
        fx: &mut Effects,
    ) {
        let stage = std::mem::replace(&mut write.stage, Stage::Reading);
        let Stage::Saving {
            real,
            theirs,
            before,
            after,
            conflicts,
            formats,
        } = stage
        else {
            return;
        };
        let stamp = match result {
            Ok(stamp) => stamp,
            Err(WriteError::Stale) => return self.retry_write(write, fx),
            Err(WriteError::Failed(why)) => {
                let error = RpcError::new(rpc::INTERNAL_ERROR, why);
                return self.finish_write(&write, Err(error), fx);
            }
        };
        if let Some((buf, document)) = self.documents.find(&real)
            && document.text != after
        {
            // Its buffer was loaded just before the file was replaced: merged there once more.
            self.documents.set_disk(buf, after.clone(), stamp);
            if self.seen(&write, &real).is_none() {
                self.has_written(&write, &real, before.unwrap_or_default());
            }
            let (text, format) = (after, formats.1);
            let disk = DiskFile {
                real,
                content: Some(DiskText { text, format }),
                stamp,
            };
            return self.write_over(write, Ok(disk), fx);
        }
        self.has_written(&write, &real, theirs);
        let origin = match &before {
            Some(before) => FileState::of_text(before.clone(), formats.0),
            None => FileState::missing(),
        };
        self.follow_write(write.session, &write.path, before.as_ref(), &after);
        let by = self.writer_at(&real);
        let before = before.unwrap_or_default();
        let path = self.reviews.name_of(&write.path, &real);
        if self.reviews.get(&path).is_none() && by.is_some() {
            self.changes.is_unsure(&real, &before);
        }
        let review = self
            .reviews
            .begin(&path, &real, write.session, &before, origin);
        if *review.ledger.current() != before {
            // Somebody has written since, and it has not been told yet.
            match by {
                Some(_) => review.agent_wrote(before.clone()),
                None => review.user_wrote(before.clone()),
            }
        }
        review.agent_wrote(after.clone());
        review.now = FileState {
            stamp,
            mode: review.now.mode,
            ..FileState::of_text(after.clone(), formats.1)
        };
        let told = conflict_error(&write.path, &conflicts);
        for conflict in conflicts {
            review.offer(conflict);
        }
        self.reviews.touch(&path);
        self.proposals_landed(&path, &before, &after, fx);
        self.finish_write(&write, told.map_or(Ok(()), Err), fx);
    }
}
