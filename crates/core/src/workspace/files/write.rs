//! `fs/write_text_file`: merges the text into the file's buffer and saves it as `:write` does;
//! without a buffer, merges it with the text on disk, which is replaced atomically.
//!
//! Invariant: the disk is read first, so that other programs' changes are merged, never
//! overwritten.

use std::path::{Path, PathBuf};

use crate::spine::asker::Asker;
use crate::spine::cx::{Effects, log};
use crate::spine::effect::{Level, Save};
use crate::spine::event::{DiskFile, DiskText, EditDone, SaveError, Stamp};
use crate::spine::ids::{BufId, SessionKey};
use crate::spine::project::{Body, FileState};
use crate::text::diff::{Conflict, Merge, diff, merge};
use crate::text::format::Format;
use crate::text::{Text, moved};
use crate::workspace::changes::{DiskMerge, How, known_on_disk};
use crate::workspace::documents::Document;
use crate::workspace::fileops::{
    Author, BufferEdit, Change, FileNow, Intent, Landing, Next, Opens, Outcome, Plan,
};
use crate::workspace::{FileEdit, Signal, Workspace};
use acp::{RpcError, client, rpc};

/// The content an agent wants a file to have.
#[derive(Debug)]
pub struct Write {
    pub(crate) asker: Asker,
    pub(crate) session: SessionKey,
    content: String,
    /// The request is already answered, and must not change the file.
    pub(crate) is_taken_back: bool,
    /// The text that it has replaced on disk and the one it has left there, if a buffer that was
    /// loaded just before gets it now.
    replaced: Option<(Text, Text)>,
}

/// An agent's text that is being merged into a buffer and saved.
#[derive(Debug)]
pub(crate) struct Merged {
    real: PathBuf,
    /// The buffer's text before the merge.
    ours: Text,
    theirs: Text,
    /// The buffer with the agent's text, before any hook runs.
    merged: Text,
    conflicts: Vec<Conflict>,
    /// What the file is with it; the lines are those of its review.
    content: Body,
}

/// A file that is being replaced on disk.
#[derive(Debug)]
pub(crate) struct Saved {
    real: PathBuf,
    theirs: Text,
    before: Option<Text>,
    /// The file that is replaced.
    over: Option<Stamp>,
    after: Text,
    conflicts: Vec<Conflict>,
    /// The formats before and after.
    formats: (Format, Format),
}

impl Merged {
    /// Returns the buffer's text before, if it has this text afterwards.
    pub(crate) fn text_before(&self, text: &Text) -> Option<Text> {
        (self.merged == *text).then(|| self.ours.clone())
    }
}

impl Saved {
    /// Returns the text that is replaced, if the file has this text afterwards.
    pub(crate) fn text_before(&self, text: &Text) -> Option<Text> {
        (self.after == *text).then(|| self.before.clone().unwrap_or_default())
    }
}

impl Write {
    /// Returns the text that it has replaced on disk, if the file has this text since.
    pub(crate) fn text_before(&self, text: &Text) -> Option<Text> {
        let (before, after) = self.replaced.as_ref()?;
        (after == text).then(|| before.clone())
    }

    /// Plans to merge the agent's text into the file's buffer, else into the disk.
    pub(crate) fn plan(&self, mut now: FileNow) -> Plan {
        if self.is_taken_back {
            return Plan::Done(Landing::Plain);
        }
        let Some(disk) = now.disk.take() else {
            return Plan::Again;
        };
        // What has replaced the file already goes to its buffer, also of a closed session.
        if self.replaced.is_none()
            && let Err(error) = now.check_root(self.session, &disk.real)
        {
            return Plan::Done(Landing::Refused(error));
        }
        match now.document {
            Some((buf, document)) => self.plan_buffer(buf, document, disk, &now),
            None => self.plan_disk(disk, &now),
        }
    }

    fn plan_buffer(&self, buf: BufId, document: &Document, disk: DiskFile, now: &FileNow) -> Plan {
        let on_disk = match known_on_disk(document, &disk) {
            Ok(text) => text,
            Err(why) => return Plan::Fail(why.to_owned()),
        };
        if let (Some(saved), Some(text)) = (&document.saved, &on_disk)
            && saved != text
        {
            let texts = (saved.clone(), text.clone());
            return self.plan_foreign(buf, document, disk, texts, now);
        }
        let ours = document.text.clone();
        let (theirs, _) = document.state.format.from_wire(&self.content);
        let base = match (now.seen(self.session, &disk.real), on_disk) {
            (Some(seen), _) => seen.clone(),
            (None, Some(text)) => text,
            // What the user has typed into a file that is not there yet is the user's.
            (None, None) => document.saved.clone().unwrap_or_default(),
        };
        let Merge { edits, conflicts } = merge(&base, &ours, &theirs);
        let mut merged = ours.clone();
        merged.apply_all(&edits);
        let there = FileState::of_text(ours.clone(), document.state.format);
        Plan::Edit {
            edit: BufferEdit::new(buf, document, edits, Save::Over(disk.stamp)),
            author: Author::Agent(self.session),
            opens: Some(Box::new(Opens {
                path: disk.real.clone(),
                session: self.session,
                base: ours.clone(),
                now: None,
                origin: match disk.content {
                    Some(_) => there.clone(),
                    None => FileState::missing(),
                },
            })),
            landing: Landing::Merged(Box::new(Merged {
                real: disk.real,
                ours,
                theirs,
                merged,
                conflicts,
                content: there.body,
            })),
        }
    }

    /// Merges the text on disk first; the agent or another program wrote it.
    fn plan_foreign(
        &self,
        buf: BufId,
        document: &Document,
        disk: DiskFile,
        (saved, on_disk): (Text, Text),
        now: &FileNow,
    ) -> Plan {
        // Reported changes are merged first, one at a time: they may have several authors.
        let told = now.told(document, &saved);
        let is_passing = told.is_some();
        let (disk, by) = told.unwrap_or_else(|| {
            let by = now.writer(&disk);
            (disk, by)
        });
        let theirs = match (&disk.content, is_passing) {
            (Some(content), true) => document.reads(content).text,
            _ => on_disk,
        };
        let origin = FileState::of_text(saved.clone(), document.state.format);
        let (merge, edit) = DiskMerge::plan(buf, document, disk, (saved, theirs), by);
        // The review begins here, so that other authors' lines are not attributed to the agent.
        let opens = (by.is_some() || merge.has_conflicts()).then(|| Opens {
            path: document.path.clone(),
            session: by.unwrap_or(self.session),
            base: document.text.clone(),
            now: Some(origin.body.clone()),
            origin,
        });
        Plan::Edit {
            edit: if is_passing { edit.passing() } else { edit },
            author: Author::on_disk(by),
            opens: opens.map(Box::new),
            landing: Landing::Foreign(Box::new(merge)),
        }
    }

    fn plan_disk(&self, disk: DiskFile, now: &FileNow) -> Plan {
        let DiskFile {
            real,
            content,
            stamp: over,
            ..
        } = disk;
        let (before, format) = match content {
            Some(content) => (Some(content.text), content.format),
            None => (None, Format::decode(self.content.as_bytes()).0),
        };
        let (theirs, final_newline) = format.from_wire(&self.content);
        let new_format = Format {
            final_newline,
            ..format
        };
        let mut after = before.clone().unwrap_or_default();
        // A file that is gone is created anew; but what the user has rejected stays out. A file that
        // has taken the place of a rejected one is not what the agent has seen there.
        // A review that a write has only begun may have what the user has saved since.
        let is_out = now
            .review
            .is_some_and(|file| file.now.is_missing() && file.ledger.current().is_empty());
        let is_gone = before.is_none() && !is_out;
        let is_other = before.is_some() && is_out;
        let seen = now.seen(self.session, &real);
        let seen = seen.filter(|_| !is_gone && !is_other);
        let mut merged = merge(seen.unwrap_or(&after), &after, &theirs);
        after.apply_all(&merged.edits);
        if before.is_none() && after.is_empty() {
            // All of it was rejected: an empty file is neither the agent's nor the user's.
            after.clone_from(&theirs);
            merged.conflicts.clear();
        }
        Plan::Disk(
            Change::Write {
                over,
                text: after.clone(),
                format: new_format,
            },
            Landing::Saved(Box::new(Saved {
                real,
                theirs,
                before,
                over,
                after,
                conflicts: merged.conflicts,
                formats: (format, new_format),
            })),
        )
    }
}

impl Workspace {
    /// Writes to a file for a session.
    pub(crate) fn write_file(
        &mut self,
        asker: Asker,
        key: SessionKey,
        path: &Path,
        content: String,
        fx: &mut Effects,
    ) {
        let path = match self.file_of(key, path) {
            Ok(path) => path,
            Err(error) => return fx.reply_error(&asker, error),
        };
        let write = Write {
            asker,
            session: key,
            content,
            is_taken_back: false,
            replaced: None,
        };
        self.operate(path, Intent::Write(write), fx);
    }

    /// Records the result of a write.
    pub(crate) fn write_landed(
        &mut self,
        path: &Path,
        write: &mut Write,
        landing: Landing,
        outcome: Outcome,
        fx: &mut Effects,
    ) -> Next {
        match (landing, outcome) {
            (Landing::Refused(error), _) => {
                self.answer_write(write, Err(error), fx);
                Next::Done
            }
            (Landing::Foreign(merge), Outcome::Edited(done)) => {
                let landed = merge.lands();
                self.disk_is_merged(*merge, &done, fx);
                self.disk_has_landed(landed, fx);
                // The disk may have changed again.
                Next::Again
            }
            (Landing::Merged(merged), Outcome::Edited(done)) => {
                if done.saved == Some(Err(SaveError::Stale)) {
                    return Next::Again;
                }
                let result = self.write_is_merged(path, write, *merged, done, fx);
                self.answer_write(write, result, fx);
                Next::Done
            }
            (Landing::Saved(saved), Outcome::Written(stamp)) => {
                match self.loaded_meanwhile(write, &saved, stamp) {
                    Some(disk) => Next::Over(disk),
                    None => {
                        let result = self.write_is_saved(path, write, *saved, stamp, fx);
                        self.answer_write(write, result, fx);
                        Next::Done
                    }
                }
            }
            _ => Next::Done,
        }
    }

    fn write_is_merged(
        &mut self,
        path: &Path,
        write: &Write,
        merged: Merged,
        done: EditDone,
        fx: &mut Effects,
    ) -> Result<(), RpcError> {
        let Merged {
            real,
            ours,
            theirs,
            merged,
            conflicts,
            content,
        } = merged;
        if merged != theirs && matches!(done.saved, Some(Ok(()))) {
            self.documents
                .set_beside(&real, write.session, theirs.clone());
        }
        self.has_written(write, &real, theirs);
        let told = conflict_error(path, &conflicts);
        self.signal(Signal::Wrote(FileEdit {
            session: write.session,
            path: path.to_owned(),
            before: Some(ours.clone()),
            after: merged.clone(),
        }));
        if let Some(review) = self.reviews.get_mut(&real) {
            review.now.body = content;
            // Save hooks may have moved the lines.
            let hooks = diff(&merged, review.ledger.current());
            for mut conflict in conflicts {
                conflict.rows =
                    moved(conflict.rows.start, &hooks)..moved(conflict.rows.end, &hooks);
                review.offer(conflict);
            }
        }
        self.reviews.touch(&real);
        let review = self.reviews.get(&real);
        if let Some(after) = review.map(|review| review.ledger.current().clone()) {
            self.proposals_landed(&real, &ours, &after, fx);
        }
        match done.saved {
            Some(Err(SaveError::Refused(why))) => Err(RpcError::new(
                rpc::INTERNAL_ERROR,
                format!(
                    "{} is changed in the editor, but could not be saved: {why}",
                    real.display()
                ),
            )),
            _ => told.map_or(Ok(()), Err),
        }
    }

    /// Returns the replaced file if a buffer was loaded just before the replacement: the buffer
    /// must be merged again.
    fn loaded_meanwhile(
        &mut self,
        write: &mut Write,
        saved: &Saved,
        stamp: Option<Stamp>,
    ) -> Option<DiskFile> {
        let (buf, document) = self.documents.find(&saved.real)?;
        if document.text == saved.after {
            return None;
        }
        self.documents.set_disk(buf, saved.after.clone(), stamp);
        let before = saved.before.clone().unwrap_or_default();
        if let Some(session) = self.sessions.get_mut(&write.session) {
            let seen = session.seen.entry(saved.real.clone());
            seen.or_insert_with(|| before.clone());
        }
        write.replaced = Some((before, saved.after.clone()));
        Some(DiskFile {
            real: saved.real.clone(),
            content: Some(DiskText {
                text: saved.after.clone(),
                format: saved.formats.1,
            }),
            stamp,
            mode: None,
        })
    }

    fn write_is_saved(
        &mut self,
        path: &Path,
        write: &Write,
        saved: Saved,
        stamp: Option<Stamp>,
        fx: &mut Effects,
    ) -> Result<(), RpcError> {
        let Saved {
            real,
            theirs,
            before,
            over,
            after,
            conflicts,
            formats,
        } = saved;
        self.has_written(write, &real, theirs);
        let origin = match &before {
            Some(before) => FileState {
                stamp: over,
                ..FileState::of_text(before.clone(), formats.0)
            },
            None => FileState::missing(),
        };
        self.signal(Signal::Wrote(FileEdit {
            session: write.session,
            path: path.to_owned(),
            before: before.clone(),
            after: after.clone(),
        }));
        let by = self.writer_of(&real, over);
        let before = before.unwrap_or_default();
        if self.reviews.get(&real).is_none() {
            match self.before_told(&real, over) {
                Some((first, by)) => {
                    let base = first.text().unwrap_or_default();
                    self.reviews.begin(&real, by, &base, first);
                }
                None if by.is_some() || self.is_agent_told(&real) => {
                    self.note_read(&real, origin.clone(), How::Read);
                }
                None => {}
            }
        }
        self.take_told(&real, over);
        let review = self.reviews.begin(&real, write.session, &before, origin);
        review.agent_wrote_over(&before, after.clone(), by.is_some());
        let now = FileState {
            stamp,
            ..FileState::of_text(after.clone(), formats.1)
        };
        review.has_version(now.clone());
        let told = conflict_error(path, &conflicts);
        for conflict in conflicts {
            review.offer(conflict);
        }
        self.note_written(&real, now);
        self.reviews.touch(&real);
        self.proposals_landed(&real, &before, &after, fx);
        told.map_or(Ok(()), Err)
    }

    /// Ends a write that cannot be carried out.
    pub(crate) fn write_failed(&mut self, write: &Write, text: String, fx: &mut Effects) {
        if !write.is_taken_back {
            let error = RpcError::new(rpc::INTERNAL_ERROR, text);
            self.answer_write(write, Err(error), fx);
        }
    }

    fn answer_write(&mut self, write: &Write, result: Result<(), RpcError>, fx: &mut Effects) {
        if let Err(error) = &result {
            let line = format!("The agent was told: {}", error.message);
            fx.push(log(Level::Warn, line.clone()));
            fx.notice(write.session, Level::Warn, line);
        }
        let result = result.map(|()| client::file_written());
        fx.reply(&write.asker, result);
    }

    /// Remembers what a session wrote: the base of its next write.
    fn has_written(&mut self, write: &Write, real: &Path, theirs: Text) {
        if let Some(session) = self.sessions.get_mut(&write.session) {
            session.seen.insert(real.to_owned(), theirs);
        }
    }
}

/// Returns the error that tells the agent about conflicts with the user's changes.
pub(super) fn conflict_error(path: &Path, conflicts: &[Conflict]) -> Option<RpcError> {
    let places: Vec<String> = conflicts.iter().map(place).collect();
    if places.is_empty() {
        return None;
    }
    let message = format!(
        "{} was written, except for {}, which the user has changed too: their text was kept there \
         and yours was offered to them. Read the file again before you write to it.",
        path.display(),
        places.join(", ")
    );
    Some(RpcError::new(rpc::INTERNAL_ERROR, message))
}

/// Returns the rows of a conflict as 1-based lines.
fn place(conflict: &Conflict) -> String {
    let rows = &conflict.rows;
    match rows.len() {
        0 => format!("what you have before line {}", rows.start + 1),
        1 => format!("line {}", rows.start + 1),
        _ => format!("lines {}-{}", rows.start + 1, rows.end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_place(rows: std::ops::Range<usize>, want: &str) {
        let conflict = Conflict {
            rows,
            theirs: Vec::new(),
            base: Vec::new(),
        };
        assert_eq!(place(&conflict), want);
    }

    #[test]
    fn conflicts_are_told_by_lines() {
        check_place(1..2, "line 2");
        check_place(1..4, "lines 2-4");
        check_place(4..4, "what you have before line 5");
    }

    #[test]
    fn a_write_without_conflicts_tells_nothing() {
        assert!(conflict_error(Path::new("/a"), &[]).is_none());
    }
}
