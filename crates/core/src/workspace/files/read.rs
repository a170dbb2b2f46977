//! `fs/read_text_file`: the mirror of an open buffer first, else what is on disk.
//!
//! Invariant: what was answered is remembered as what the session has seen of the file, whole,
//! even if the agent asked for a few lines: its next write is understood from there.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::FileJob;
use super::paths::rows;
use crate::model::{Effects, Job, Model};
use crate::spine::asker::Asker;
use crate::spine::effect::{Effect, HostEffect};
use crate::spine::event::DiskFile;
use crate::spine::ids::{AgentKey, BufId, SessionKey};
use crate::text::Text;
use acp::{RequestId, RpcError, SessionId, client, rpc};

#[derive(Debug)]
pub struct Read {
    pub(super) asker: Asker,
    session: SessionKey,
    pub(super) path: PathBuf,
    line: Option<u32>,
    limit: Option<u32>,
    /// It has been answered: nobody waits for the file.
    pub(super) is_taken_back: bool,
}

impl Model {
    pub(crate) fn fs_read(
        &mut self,
        agent: AgentKey,
        request: RequestId,
        session: &SessionId,
        path: &Path,
        range: (Option<u32>, Option<u32>),
        fx: &mut Effects,
    ) {
        let asker = Asker::Agent(agent, request);
        match self.session_meant(agent, session) {
            Ok(key) => self.read_file(asker, key, path, range, fx),
            Err(error) => self.reply_error(&asker, error, fx),
        }
    }

    /// Reads a file for a session.
    pub(crate) fn read_file(
        &mut self,
        asker: Asker,
        key: SessionKey,
        path: &Path,
        range: (Option<u32>, Option<u32>),
        fx: &mut Effects,
    ) {
        let path = match self.file_of(key, path) {
            Ok(path) => path,
            Err(error) => return self.reply_error(&asker, error, fx),
        };
        self.follow_read(key, &path, range.0);
        let read = Read {
            asker,
            session: key,
            path,
            line: range.0,
            limit: range.1,
            is_taken_back: false,
        };
        match self.writes.wait(read) {
            // Neither is a buffer current before it has what the disk is known to have.
            Some(read) if self.is_change_known(&read.path) => self.held.push(FileJob::Read(read)),
            Some(read) => self.start_read(read, fx),
            None => {}
        }
    }

    pub(super) fn start_read(&mut self, read: Read, fx: &mut Effects) {
        if self.documents.is_loading(&read.path) {
            return self.held.push(FileJob::Read(read));
        }
        if let Some((buf, _)) = self.documents.find(&read.path) {
            self.read_buffer(&read, buf, fx);
            return;
        }
        let path = read.path.clone();
        let token = self.token(Job::File(FileJob::Read(read)));
        fx.push(Effect::Host(HostEffect::ReadDisk { token, path }));
    }

    pub(super) fn read_from_disk(
        &mut self,
        read: Read,
        result: Result<DiskFile, String>,
        fx: &mut Effects,
    ) {
        if read.is_taken_back {
            return;
        }
        let checked = result
            .map_err(|why| RpcError::new(rpc::INTERNAL_ERROR, why))
            .and_then(|disk| self.check_root(read.session, &disk.real).map(|()| disk));
        let disk = match checked {
            Ok(disk) => disk,
            Err(error) => return self.reply_error(&read.asker, error, fx),
        };
        if self.documents.is_loading(&disk.real) {
            return self.held.push(FileJob::Read(read));
        }
        if let Some((buf, _)) = self.documents.find(&disk.real) {
            return self.read_buffer(&read, buf, fx);
        }
        let session = self.sessions.get(&read.session);
        let Some(content) = disk.content else {
            if session.is_some_and(|session| session.spec.missing_is_empty) {
                let answer = Ok(String::new());
                return self.answer_read(&read, disk.real, Text::default(), answer, fx);
            }
            let mut error = RpcError::new(
                rpc::RESOURCE_NOT_FOUND,
                format!("Resource not found: {}", read.path.display()),
            );
            error.data = Some(json!({ "uri": client::file_uri(&read.path) }));
            return self.reply_error(&read.asker, error, fx);
        };
        let rows = rows(content.text.len(), &read.path, read.line, read.limit);
        let answer = rows.map(|rows| content.format.to_wire(&content.text, rows));
        self.answer_read(&read, disk.real, content.text, answer, fx);
    }

    fn read_buffer(&mut self, read: &Read, buf: BufId, fx: &mut Effects) {
        let Some(document) = self.documents.get(buf) else {
            return;
        };
        if let Err(error) = self.check_root(read.session, &document.real) {
            return self.reply_error(&read.asker, error, fx);
        }
        let rows = rows(document.text.len(), &read.path, read.line, read.limit);
        let answer = rows.map(|rows| document.to_wire(rows));
        let (real, text) = (document.real.clone(), document.text.clone());
        self.answer_read(read, real, text, answer, fx);
    }

    fn answer_read(
        &mut self,
        read: &Read,
        real: PathBuf,
        text: Text,
        answer: Result<String, RpcError>,
        fx: &mut Effects,
    ) {
        // The base of a write is what the agent knew when it sent it: a part of a file tells
        // nothing of the rest, and a write that waits was sent before this answer.
        let lines = text.len();
        let is_whole = read.line.is_none_or(|line| line <= 1)
            && read.limit.is_none_or(|limit| limit as usize >= lines);
        let is_busy = [&read.path, &real].map(|path| self.is_writing(read.session, path));
        if answer.is_ok()
            && is_whole
            && is_busy == [false, false]
            && let Some(session) = self.sessions.get_mut(&read.session)
        {
            session.seen.insert(real, text);
        }
        let result = answer.map(client::file_content);
        self.reply(&read.asker, result, fx);
    }
}
