//! `fs/read_text_file`: answers from the mirror of an open buffer, else from the disk.
//!
//! Invariant: the session's seen text of a file is the whole answered text, even if the agent asked
//! for a few lines: it is the base of the next write.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::paths::rows;
use crate::spine::asker::Asker;
use crate::spine::cx::Effects;
use crate::spine::event::DiskFile;
use crate::spine::ids::SessionKey;
use crate::text::Text;
use crate::workspace::fileops::{Intent, Kind, Plan};
use crate::workspace::{Signal, Workspace};
use acp::{RpcError, client, rpc};

#[derive(Debug)]
pub struct Read {
    pub(crate) asker: Asker,
    session: SessionKey,
    line: Option<u32>,
    limit: Option<u32>,
    /// The request is already answered; nothing is pending.
    pub(crate) is_taken_back: bool,
}

impl Workspace {
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
            Err(error) => return fx.reply_error(&asker, error),
        };
        self.signal(Signal::Read {
            session: key,
            path: path.clone(),
            line: range.0,
        });
        let read = Read {
            asker,
            session: key,
            line: range.0,
            limit: range.1,
            is_taken_back: false,
        };
        self.operate(path, Intent::Read(read), fx);
    }

    /// Answers a read from the file's buffer, else from the disk.
    pub(crate) fn plan_read(
        &mut self,
        path: &Path,
        read: &Read,
        disk: Option<DiskFile>,
        fx: &mut Effects,
    ) -> Plan {
        if read.is_taken_back {
            return Plan::Done;
        }
        let real = disk.as_ref().map_or(path, |disk| &disk.real);
        let found = self.documents.find(path);
        let document = found.or_else(|| self.documents.find(real));
        let real = document
            .map_or(real, |(_, document)| &document.real)
            .to_owned();
        if let Err(error) = self.check_root(read.session, &real) {
            fx.reply_error(&read.asker, error);
            return Plan::Done;
        }
        let (text, answer) = match (document, disk) {
            (Some((_, document)), _) => {
                let rows = rows(document.text.len(), path, read.line, read.limit);
                let answer = rows.map(|rows| document.to_wire(rows));
                (document.text.clone(), answer)
            }
            (None, None) => return Plan::Again,
            (None, Some(disk)) => match disk.content {
                Some(content) => {
                    let rows = rows(content.text.len(), path, read.line, read.limit);
                    let answer = rows.map(|rows| content.format.to_wire(&content.text, rows));
                    (content.text, answer)
                }
                None => (Text::default(), self.read_nothing(read, path)),
            },
        };
        self.answer_read(read, path, real, text, answer, fx);
        Plan::Done
    }

    /// Returns the answer to a read of a file that does not exist.
    fn read_nothing(&self, read: &Read, path: &Path) -> Result<String, RpcError> {
        let session = self.sessions.get(&read.session);
        if session.is_some_and(|session| session.folders.missing_is_empty) {
            return Ok(String::new());
        }
        let mut error = RpcError::new(
            rpc::RESOURCE_NOT_FOUND,
            format!("Resource not found: {}", path.display()),
        );
        error.data = Some(json!({ "uri": client::file_uri(path) }));
        Err(error)
    }

    /// Answers a read of a file that the host could not read.
    pub(crate) fn read_failed(&mut self, read: &Read, text: String, fx: &mut Effects) {
        if !read.is_taken_back {
            let error = RpcError::new(rpc::INTERNAL_ERROR, text);
            fx.reply_error(&read.asker, error);
        }
    }

    fn answer_read(
        &mut self,
        read: &Read,
        path: &Path,
        real: PathBuf,
        text: Text,
        answer: Result<String, RpcError>,
        fx: &mut Effects,
    ) {
        // The base of a write is the text the agent knew when it sent the write. A partial read
        // does not show the rest, and a queued write was sent before this answer.
        let lines = text.len();
        let is_whole = read.line.is_none_or(|line| line <= 1)
            && read.limit.is_none_or(|limit| limit as usize >= lines);
        let names = [path.to_owned(), real.clone()];
        let is_write = |kind| kind == Kind::Write(read.session);
        if answer.is_ok()
            && is_whole
            && !self.fileops.may_have(&names, is_write)
            && let Some(session) = self.sessions.get_mut(&read.session)
        {
            session.seen.insert(real, text);
        }
        let result = answer.map(client::file_content);
        fx.reply(&read.asker, result);
    }
}
