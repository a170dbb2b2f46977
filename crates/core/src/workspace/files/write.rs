//! `fs/write_text_file`: the queue of a path, and the way a write takes.
//!
//! Invariant: the disk is read first, so that what others have written there is merged, never
//! overwritten; a write that finds things changed on its way starts again from there.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

use super::read::Read;
use super::{FileJob, Hand};
use crate::model::{Effects, Job, Model, log};
use crate::spine::asker::Asker;
use crate::spine::effect::{Effect, HostEffect, Level};
use crate::spine::event::DiskFile;
use crate::spine::ids::{AgentKey, SessionKey};
use crate::text::Text;
use crate::text::format::Format;
use crate::workspace::changes::DiskMerge;
use crate::workspace::ledger::Conflict;
use acp::{RequestId, RpcError, SessionId, client, rpc};

/// How often a write is computed again because things changed meanwhile.
pub(super) const MAX_TRIES: u32 = 100;

#[derive(Debug)]
pub struct Write {
    pub(super) asker: Asker,
    pub(super) session: SessionKey,
    pub(super) path: PathBuf,
    pub(super) content: String,
    tries: u32,
    pub(super) stage: Stage,
    /// It has been answered, and shall change nothing.
    pub(super) is_taken_back: bool,
}

/// What a write waits for.
#[derive(Debug)]
pub(super) enum Stage {
    /// The file as it is on disk.
    Reading,
    /// What the disk has is being merged into the buffer, ahead of the agent's text.
    Foreign(Box<DiskMerge>),
    /// The agent's text is being merged into the buffer and saved.
    Merging {
        real: PathBuf,
        /// The buffer as the user had it.
        ours: Text,
        theirs: Text,
        /// The buffer with the agent's text, before any hook runs.
        merged: Text,
        conflicts: Vec<Conflict>,
    },
    /// The file is being replaced on disk.
    Saving {
        real: PathBuf,
        theirs: Text,
        before: Option<Text>,
        after: Text,
        conflicts: Vec<Conflict>,
        /// As it was, and as it will be.
        formats: (Format, Format),
    },
}

/// Writes under way and what waits behind them, by path: as many as an agent sends without
/// waiting for the answers. Reads wait too, since an agent reads what it wrote.
#[derive(Debug, Default)]
pub struct WriteQueue {
    busy: HashMap<PathBuf, VecDeque<FileJob>>,
}

impl WriteQueue {
    /// Lets a read wait for the writes that came before it; gives it back if there are none.
    pub(super) fn wait(&mut self, read: Read) -> Option<Read> {
        match self.busy.get_mut(&read.path) {
            Some(waiting) => {
                waiting.push_back(FileJob::Read(read));
                None
            }
            None => Some(read),
        }
    }

    /// Takes out what has not begun, if it is what is meant; tells whether it was there.
    pub(super) fn take_waiting(&mut self, is_meant: impl Fn(&FileJob) -> bool) -> bool {
        for waiting in self.busy.values_mut() {
            if let Some(at) = waiting.iter().position(&is_meant) {
                waiting.remove(at);
                return true;
            }
        }
        false
    }
}

impl Write {
    pub(super) fn hand(&self) -> Hand {
        match &self.stage {
            Stage::Foreign(merge) if merge.by.is_none() => Hand::Others,
            _ => Hand::Agent,
        }
    }
}

impl Model {
    pub(crate) fn fs_write(
        &mut self,
        agent: AgentKey,
        request: RequestId,
        session: &SessionId,
        path: &Path,
        content: String,
        fx: &mut Effects,
    ) {
        let asker = Asker::Agent(agent, request);
        match self.session_meant(agent, session) {
            Ok(key) => self.write_file(asker, key, path, content, fx),
            Err(error) => self.reply_error(&asker, error, fx),
        }
    }

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
            Err(error) => return self.reply_error(&asker, error, fx),
        };
        let write = Write {
            asker,
            session: key,
            path: path.clone(),
            content,
            tries: 0,
            stage: Stage::Reading,
            is_taken_back: false,
        };
        match self.writes.busy.get_mut(&path) {
            Some(waiting) => waiting.push_back(FileJob::Write(write)),
            None => {
                self.writes.busy.insert(path, VecDeque::new());
                self.start_write(write, fx);
            }
        }
    }

    pub(super) fn start_write(&mut self, write: Write, fx: &mut Effects) {
        let path = write.path.clone();
        let write = Write {
            stage: Stage::Reading,
            ..write
        };
        let token = self.token(Job::File(FileJob::Write(write)));
        fx.push(Effect::Host(HostEffect::ReadDisk { token, path }));
    }

    /// Starts a write again that found things changed on its way.
    pub(super) fn retry_write(&mut self, mut write: Write, fx: &mut Effects) {
        if write.tries < MAX_TRIES {
            write.tries += 1;
            return self.start_write(write, fx);
        }
        self.fail_write(write, "it changes too fast to be written to; try again", fx);
    }

    /// Takes the file as it is on disk, and goes on in its buffer or on disk.
    pub(super) fn write_over(
        &mut self,
        write: Write,
        result: Result<DiskFile, String>,
        fx: &mut Effects,
    ) {
        if write.is_taken_back {
            return self.go_on_after(&write.path, fx);
        }
        let checked = result
            .map_err(|why| RpcError::new(rpc::INTERNAL_ERROR, why))
            .and_then(|disk| self.check_root(write.session, &disk.real).map(|()| disk));
        let disk = match checked {
            Ok(disk) => disk,
            Err(error) => return self.finish_write(&write, Err(error), fx),
        };
        let names = [&write.path, &disk.real];
        if names
            .iter()
            .any(|name| self.documents.is_loading(name) || self.is_change_active(name))
        {
            return self.held.push(FileJob::Write(write));
        }
        let found = self.documents.find(&write.path);
        match found.or_else(|| self.documents.find(&disk.real)) {
            Some((buf, _)) => self.write_buffer(write, buf, disk, fx),
            None => self.write_disk(write, disk, fx),
        }
    }

    /// Ends a write with an error about its file.
    pub(super) fn fail_write(&mut self, write: Write, why: &str, fx: &mut Effects) {
        let text = format!("{}: {why}", write.path.display());
        self.finish_write(&write, Err(RpcError::new(rpc::INTERNAL_ERROR, text)), fx);
    }

    /// Answers a write, and lets the next one to its path begin.
    pub(super) fn finish_write(
        &mut self,
        write: &Write,
        result: Result<(), RpcError>,
        fx: &mut Effects,
    ) {
        if let Err(error) = &result {
            let line = format!("write of {}: {}", write.path.display(), error.message);
            fx.push(log(Level::Warn, line.clone()));
            self.notice(write.session, Level::Warn, line);
        }
        let result = result.map(|()| client::file_written());
        self.reply(&write.asker, result, fx);
        self.go_on_after(&write.path, fx);
    }

    /// Begins what waits for a path: reads up to the next write.
    pub(super) fn go_on_after(&mut self, path: &Path, fx: &mut Effects) {
        while let Some(waiting) = self.writes.busy.get_mut(path) {
            match waiting.pop_front() {
                Some(FileJob::Read(read)) => self.start_read(read, fx),
                Some(FileJob::Write(next)) => return self.start_write(next, fx),
                None => {
                    self.writes.busy.remove(path);
                }
            }
        }
    }

    /// Remembers what a session wrote: the base of its next write.
    pub(super) fn has_written(&mut self, write: &Write, real: &Path, theirs: Text) {
        if let Some(session) = self.sessions.get_mut(&write.session) {
            session.seen.insert(real.to_owned(), theirs);
        }
    }

    /// Tells whether a write of this session's to this path is under way.
    pub(super) fn is_writing(&self, session: SessionKey, path: &Path) -> bool {
        let is_meant = |write: &Write| write.session == session && write.path == path;
        let waiting = self.writes.busy.get(path);
        self.jobs.writes().any(is_meant)
            || waiting.is_some_and(|waiting| {
                let mut writes = waiting.iter().filter_map(|waiting| match waiting {
                    FileJob::Write(write) => Some(write),
                    FileJob::Read(_) => None,
                });
                writes.any(is_meant)
            })
    }

    /// Tells whether a file is being written to for an agent, by any of these names.
    pub(crate) fn is_written_to(&self, names: &[PathBuf]) -> bool {
        let is_meant = |write: &Write| {
            let real = match &write.stage {
                Stage::Merging { real, .. } | Stage::Saving { real, .. } => Some(real),
                Stage::Reading | Stage::Foreign(_) => None,
            };
            names.contains(&write.path) || real.is_some_and(|real| names.contains(real))
        };
        names.iter().any(|name| self.writes.busy.contains_key(name))
            || self.jobs.writes().any(is_meant)
    }

    /// Returns the text the session last read or wrote.
    pub(super) fn seen(&self, write: &Write, real: &Path) -> Option<&Text> {
        let session = self.sessions.get(&write.session)?;
        session.seen.get(real)
    }
}

/// Returns what the agent is told of lines that the user had changed too.
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

/// Returns the lines of a conflict as people count them.
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
