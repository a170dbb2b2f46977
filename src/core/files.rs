//! What agents ask of files: reads answered from buffers first, writes merged into buffers or
//! carried out on disk.
//!
//! Invariants: a request gets exactly one response; writes to one path are carried out one after
//! another; what the user has typed is never replaced, only merged with.

use std::collections::{HashMap, VecDeque};
use std::path::{Component, Path, PathBuf};

use serde_json::json;

use super::effect::{EditorEffect, Effect, HostEffect, Level, Save};
use super::event::{DiskFile, EditDone, EditError};
use super::format::Format;
use super::ids::{AgentKey, BufId, SessionKey, Token};
use super::ledger::{Conflict, merge};
use super::model::{Effects, Job, Model, log};
use super::permission::unknown_session;
use super::text::{LineEdit, Text};
use crate::acp::{RequestId, RpcError, SessionId, client};

const INVALID_PARAMS: i64 = -32602;
const INTERNAL_ERROR: i64 = -32603;
const NOT_FOUND: i64 = -32002;

/// How often a write is computed again because the user typed meanwhile.
const MAX_TRIES: u32 = 100;

/// A request of an agent that waits for an effect.
#[derive(Debug)]
pub enum FileJob {
    Read(Read),
    Write(Write),
}

#[derive(Debug)]
pub struct Read {
    agent: AgentKey,
    request: RequestId,
    session: SessionKey,
    path: PathBuf,
    line: Option<u32>,
    limit: Option<u32>,
}

#[derive(Debug)]
pub struct Write {
    agent: AgentKey,
    request: RequestId,
    session: SessionKey,
    path: PathBuf,
    content: String,
    tries: u32,
    stage: Stage,
}

/// What a write waits for.
#[derive(Debug)]
enum Stage {
    /// The file as it is on disk.
    Reading,
    /// What others wrote to disk is being merged into the buffer, ahead of the agent's text.
    Foreign { buf: BufId, disk: DiskFile },
    /// The agent's text is being merged into the buffer and saved.
    Merging {
        theirs: Text,
        conflicts: Vec<Conflict>,
    },
    /// The file is being replaced on disk.
    Saving {
        theirs: Text,
        before: Text,
        after: Text,
        conflicts: Vec<Conflict>,
        format: Format,
        created: bool,
    },
}

/// Writes under way and those behind them, by path.
#[derive(Debug, Default)]
pub struct WriteQueue {
    busy: HashMap<PathBuf, VecDeque<Write>>,
}

/// Whose text an edit of the client's brings into a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hand {
    Agent,
    Others,
}

impl FileJob {
    /// Tells whose text the job's edit brings.
    pub fn hand(&self) -> Hand {
        match self {
            FileJob::Write(Write {
                stage: Stage::Foreign { .. },
                ..
            }) => Hand::Others,
            _ => Hand::Agent,
        }
    }
}

impl Model {
    pub(super) fn fs_read(
        &mut self,
        agent: AgentKey,
        request: RequestId,
        session: &SessionId,
        path: &Path,
        range: (Option<u32>, Option<u32>),
        fx: &mut Effects,
    ) {
        let (key, path) = match self.file_of(agent, session, path) {
            Ok(found) => found,
            Err(error) => return self.refuse(agent, &request, error, fx),
        };
        let read = Read {
            agent,
            request,
            session: key,
            path,
            line: range.0,
            limit: range.1,
        };
        if let Some((buf, _)) = self.documents.find(&read.path) {
            self.read_buffer(&read, buf, fx);
            return;
        }
        let path = read.path.clone();
        let token = self.token(Job::File(FileJob::Read(read)));
        fx.push(Effect::Host(HostEffect::ReadDisk { token, path }));
    }

    pub(super) fn fs_write(
        &mut self,
        agent: AgentKey,
        request: RequestId,
        session: &SessionId,
        path: &Path,
        content: String,
        fx: &mut Effects,
    ) {
        let (key, path) = match self.file_of(agent, session, path) {
            Ok(found) => found,
            Err(error) => return self.refuse(agent, &request, error, fx),
        };
        let write = Write {
            agent,
            request,
            session: key,
            path: path.clone(),
            content,
            tries: 0,
            stage: Stage::Reading,
        };
        match self.writes.busy.get_mut(&path) {
            Some(waiting) => waiting.push_back(write),
            None => {
                self.writes.busy.insert(path, VecDeque::new());
                self.start_write(write, fx);
            }
        }
    }

    /// Goes on with a read or a write when the disk has answered.
    pub(super) fn file_was_read(
        &mut self,
        job: FileJob,
        result: Result<DiskFile, String>,
        fx: &mut Effects,
    ) {
        let (agent, session) = match &job {
            FileJob::Read(read) => (read.agent, read.session),
            FileJob::Write(write) => (write.agent, write.session),
        };
        let checked = result
            .map_err(|why| rpc_error(INTERNAL_ERROR, why))
            .and_then(|disk| {
                self.check_root(session, &disk.real)?;
                Ok(disk)
            });
        match (job, checked) {
            (FileJob::Read(read), Ok(disk)) => self.answer_from_disk(&read, disk, fx),
            (FileJob::Write(write), Ok(disk)) => self.write_over(write, disk, fx),
            (FileJob::Read(read), Err(error)) => {
                self.refuse(agent, &read.request, error, fx);
            }
            (FileJob::Write(write), Err(error)) => self.finish_write(&write, Err(error), fx),
        }
    }

    /// Goes on with a write when Neovim has carried out its edit.
    pub(super) fn file_was_edited(
        &mut self,
        job: FileJob,
        result: Result<EditDone, EditError>,
        fx: &mut Effects,
    ) {
        let FileJob::Write(mut write) = job else {
            return;
        };
        match result {
            Ok(done) => match std::mem::replace(&mut write.stage, Stage::Reading) {
                Stage::Foreign { buf, disk } => {
                    if let Some(now) = &disk.content {
                        self.documents.set_disk(buf, buffer_text(&now.text));
                    }
                    self.write_over(write, disk, fx);
                }
                Stage::Merging { theirs, conflicts } => {
                    self.finish_merge(write, theirs, conflicts, done, fx)
                }
                Stage::Reading | Stage::Saving { .. } => {}
            },
            Err(EditError::Refused(why)) => {
                let error = rpc_error(INTERNAL_ERROR, format!("{}: {why}", write.path.display()));
                self.finish_write(&write, Err(error), fx);
            }
            Err(EditError::Stale { .. } | EditError::Gone) if write.tries < MAX_TRIES => {
                write.tries += 1;
                self.start_write(write, fx);
            }
            Err(EditError::Stale { .. } | EditError::Gone) => {
                let why = "the buffer changes too fast to write to; try again";
                let error = rpc_error(INTERNAL_ERROR, format!("{}: {why}", write.path.display()));
                self.finish_write(&write, Err(error), fx);
            }
        }
    }

    /// Ends a write when the disk has the file.
    pub(super) fn file_was_written(
        &mut self,
        job: FileJob,
        result: Result<(), String>,
        fx: &mut Effects,
    ) {
        let FileJob::Write(mut write) = job else {
            return;
        };
        let Stage::Saving {
            theirs,
            before,
            after,
            conflicts,
            format,
            created,
        } = std::mem::replace(&mut write.stage, Stage::Reading)
        else {
            return;
        };
        if let Err(why) = result {
            let error = rpc_error(INTERNAL_ERROR, why);
            return self.finish_write(&write, Err(error), fx);
        }
        if let Some(session) = self.sessions.get_mut(&write.session) {
            session.seen.insert(write.path.clone(), theirs);
        }
        let review = self.reviews.ensure(&write.path, write.session, &before);
        review.format = format;
        review.created |= created;
        review.ledger.agent_wrote(after);
        let told = conflict_error(&write.path, &conflicts);
        for conflict in conflicts {
            review.ledger.offer(conflict);
        }
        self.reviews.touch(&write.path);
        self.finish_write(&write, told.map_or(Ok(()), Err), fx);
    }

    fn start_write(&mut self, write: Write, fx: &mut Effects) {
        let path = write.path.clone();
        let write = Write {
            stage: Stage::Reading,
            ..write
        };
        let token = self.token(Job::File(FileJob::Write(write)));
        fx.push(Effect::Host(HostEffect::ReadDisk { token, path }));
    }

    fn finish_write(&mut self, write: &Write, result: Result<(), RpcError>, fx: &mut Effects) {
        if let Err(error) = &result {
            let line = format!("write of {}: {}", write.path.display(), error.message);
            fx.push(log(Level::Warn, line.clone()));
            self.notice(write.session, Level::Warn, line);
        }
        let result = result.map(|()| client::file_written());
        self.respond(write.agent, &write.request, result, fx);
        let next = match self.writes.busy.get_mut(&write.path) {
            Some(waiting) => waiting.pop_front(),
            None => None,
        };
        match next {
            Some(next) => self.start_write(next, fx),
            None => {
                self.writes.busy.remove(&write.path);
            }
        }
    }

    fn write_over(&mut self, write: Write, disk: DiskFile, fx: &mut Effects) {
        let found = self.documents.find(&write.path);
        match found.or_else(|| self.documents.find(&disk.real)) {
            Some((buf, _)) => self.write_buffer(write, buf, disk, fx),
            None => self.write_disk(write, disk, fx),
        }
    }

    /// Merges the agent's text into a buffer and has it saved.
    fn write_buffer(&mut self, mut write: Write, buf: BufId, disk: DiskFile, fx: &mut Effects) {
        let Some(document) = self.documents.get(buf) else {
            return self.start_write(write, fx);
        };
        if document.state.readonly {
            let why = format!(
                "{} is read-only in the editor; nothing was written",
                write.path.display()
            );
            return self.finish_write(&write, Err(rpc_error(INTERNAL_ERROR, why)), fx);
        }
        let ours = document.text.clone();
        let tick = document.state.tick;
        let on_disk = disk
            .content
            .as_ref()
            .map(|content| buffer_text(&content.text));
        if let (Some(saved), Some(now)) = (&document.saved, &on_disk)
            && saved != now
        {
            let foreign = merge(saved, &ours, now).edits;
            write.stage = Stage::Foreign { buf, disk };
            let token = self.token(Job::File(FileJob::Write(write)));
            fx.push(edit(token, buf, tick, foreign, Save::No));
            return;
        }
        let (theirs, _) = document.state.format.from_wire(&write.content);
        let theirs = buffer_text(&theirs);
        let path = document.path.clone();
        let seen = self
            .sessions
            .get(&write.session)
            .and_then(|session| session.seen.get(&write.path));
        let base = match (seen, on_disk) {
            (Some(seen), _) => buffer_text(seen),
            (None, Some(now)) => now,
            (None, None) => ours.clone(),
        };
        let merged = merge(&base, &ours, &theirs);
        let created = disk.content.is_none();
        let review = self.reviews.ensure(&path, write.session, &ours);
        review.created |= created;
        write.stage = Stage::Merging {
            theirs,
            conflicts: merged.conflicts,
        };
        let token = self.token(Job::File(FileJob::Write(write)));
        fx.push(edit(token, buf, tick, merged.edits, Save::Yes));
    }

    fn finish_merge(
        &mut self,
        write: Write,
        theirs: Text,
        conflicts: Vec<Conflict>,
        done: EditDone,
        fx: &mut Effects,
    ) {
        if let Some(session) = self.sessions.get_mut(&write.session) {
            session.seen.insert(write.path.clone(), theirs);
        }
        let told = conflict_error(&write.path, &conflicts);
        let path = match self.documents.find(&write.path) {
            Some((_, document)) => document.path.clone(),
            None => write.path.clone(),
        };
        if let Some(review) = self.reviews.get_mut(&path) {
            for conflict in conflicts {
                review.ledger.offer(conflict);
            }
        }
        self.reviews.touch(&path);
        let result = match (done.saved, told) {
            (Some(Err(why)), _) => Err(rpc_error(
                INTERNAL_ERROR,
                format!(
                    "{} is changed in the editor, but could not be saved: {why}",
                    path.display()
                ),
            )),
            (_, Some(told)) => Err(told),
            (_, None) => Ok(()),
        };
        self.finish_write(&write, result, fx);
    }

    /// Replaces a file that no buffer holds.
    fn write_disk(&mut self, mut write: Write, disk: DiskFile, fx: &mut Effects) {
        let created = disk.content.is_none();
        let (before, mut format) = match disk.content {
            Some(content) => (content.text, content.format),
            None => (Text::default(), Format::decode(write.content.as_bytes()).0),
        };
        let (theirs, final_newline) = format.from_wire(&write.content);
        format.final_newline = final_newline;
        let seen = self
            .sessions
            .get(&write.session)
            .and_then(|session| session.seen.get(&write.path));
        let merged = merge(seen.unwrap_or(&before), &before, &theirs);
        let mut after = before.clone();
        for edit in merged.edits.iter().rev() {
            after.apply(edit);
        }
        let path = write.path.clone();
        write.stage = Stage::Saving {
            theirs,
            before,
            after: after.clone(),
            conflicts: merged.conflicts,
            format,
            created,
        };
        let token = self.token(Job::File(FileJob::Write(write)));
        fx.push(Effect::Host(HostEffect::WriteDisk {
            token,
            path,
            text: after,
            format,
        }));
    }

    fn answer_from_disk(&mut self, read: &Read, disk: DiskFile, fx: &mut Effects) {
        if let Some((buf, _)) = self.documents.find(&disk.real) {
            return self.read_buffer(read, buf, fx);
        }
        let Some(content) = disk.content else {
            let mut error = rpc_error(
                NOT_FOUND,
                format!("Resource not found: {}", read.path.display()),
            );
            error.data = Some(json!({ "uri": crate::acp::client::file_uri(&read.path) }));
            return self.refuse(read.agent, &read.request, error, fx);
        };
        let rows = rows(content.text.len(), read);
        let answer = rows.map(|rows| content.format.to_wire(&content.text, rows));
        self.answer_read(read, content.text, answer, fx);
    }

    fn read_buffer(&mut self, read: &Read, buf: BufId, fx: &mut Effects) {
        let Some(document) = self.documents.get(buf) else {
            return;
        };
        if let Err(error) = self.check_root(read.session, &document.real) {
            return self.refuse(read.agent, &read.request, error, fx);
        }
        let rows = rows(document.line_count(), read);
        let answer = rows.map(|rows| document.to_wire(rows));
        let text = document.text.clone();
        self.answer_read(read, text, answer, fx);
    }

    fn answer_read(
        &mut self,
        read: &Read,
        text: Text,
        answer: Result<String, RpcError>,
        fx: &mut Effects,
    ) {
        if answer.is_ok()
            && let Some(session) = self.sessions.get_mut(&read.session)
        {
            session.seen.insert(read.path.clone(), text);
        }
        let result = answer.map(client::file_content);
        self.respond(read.agent, &read.request, result, fx);
    }

    /// Finds the session and the file an agent means, or says what is wrong with them.
    fn file_of(
        &self,
        agent: AgentKey,
        session: &SessionId,
        path: &Path,
    ) -> Result<(SessionKey, PathBuf), RpcError> {
        let Some(key) = self.session_of(agent, session) else {
            return Err(unknown_session(session));
        };
        if !path.is_absolute() {
            let why = format!(
                "params.path: \"{}\" is not an absolute path",
                path.display()
            );
            return Err(rpc_error(INVALID_PARAMS, why));
        }
        let path = normalized(path);
        self.check_root(key, &path)?;
        Ok((key, path))
    }

    fn check_root(&self, key: SessionKey, path: &Path) -> Result<(), RpcError> {
        let roots = self.sessions.get(&key).map(|session| &session.roots);
        if roots.is_some_and(|roots| roots.iter().any(|root| path.starts_with(root))) {
            return Ok(());
        }
        let why = format!(
            "params.path: {} is outside the session's folders; the user can allow it with the \
             config key permissions.allowed_dirs",
            path.display()
        );
        Err(rpc_error(INVALID_PARAMS, why))
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

/// Returns a text as a buffer holds it: a buffer always has a line.
fn buffer_text(text: &Text) -> Text {
    if text.is_empty() {
        Text::from_lines([""])
    } else {
        text.clone()
    }
}

/// Turns the wire's 1-based `line` and `limit` into rows of a file with `total` lines.
fn rows(total: usize, read: &Read) -> Result<std::ops::Range<usize>, RpcError> {
    let start = read.line.map_or(0, |line| line.saturating_sub(1) as usize);
    if start > 0 && start >= total {
        let why = format!(
            "params.line: {} is past the end of {}, which has {total} lines",
            start + 1,
            read.path.display()
        );
        return Err(rpc_error(INVALID_PARAMS, why));
    }
    let end = match read.limit {
        Some(limit) => start.saturating_add(limit as usize).min(total),
        None => total,
    };
    Ok(start..end)
}

/// Resolves `.` and `..` by the names alone.
fn normalized(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

fn rpc_error(code: i64, message: impl Into<String>) -> RpcError {
    RpcError {
        code,
        message: message.into(),
        data: None,
    }
}

/// Returns what the agent is told of lines that the user had changed too.
fn conflict_error(path: &Path, conflicts: &[Conflict]) -> Option<RpcError> {
    let places: Vec<String> = conflicts
        .iter()
        .map(|conflict| format!("{}-{}", conflict.rows.start + 1, conflict.rows.end))
        .collect();
    if places.is_empty() {
        return None;
    }
    let message = format!(
        "{} was written, except for lines {}, which the user has changed too: their text was \
         kept there and yours was offered to them. Read the file again before you write to it.",
        path.display(),
        places.join(", ")
    );
    Some(rpc_error(INTERNAL_ERROR, message))
}
