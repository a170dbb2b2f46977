//! `fs/read_text_file`: answers from the mirror of an open buffer, else from the disk.
//!
//! Invariant: the session's seen text of a file is the whole answered text, even if the agent asked
//! for a few lines: it is the base of the next write.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::paths::rows;
use crate::spine::asker::Asker;
use crate::spine::cx::Effects;
use crate::spine::ids::SessionKey;
use crate::text::Text;
use crate::workspace::fileops::{FileNow, Intent, Kind, Landing, Next, Plan};
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

/// The answer to a read, and the whole text of the file.
#[derive(Debug)]
pub(crate) struct Answer {
    real: PathBuf,
    text: Text,
    part: Result<String, RpcError>,
}

impl Read {
    /// Plans to answer from the file's buffer, else from the disk.
    pub(crate) fn plan(&self, now: FileNow) -> Plan {
        if self.is_taken_back {
            return Plan::Done(Landing::Plain);
        }
        let real = now.disk.as_ref().map_or(now.path, |disk| &disk.real);
        let real = now.document.map_or(real, |(_, document)| &document.path);
        let real = real.to_owned();
        if let Err(error) = now.check_root(self.session, &real) {
            return Plan::Done(Landing::Refused(error));
        }
        let rows = |text: &Text| rows(text.len(), now.path, self.line, self.limit);
        let (text, part) = match (now.document, &now.disk) {
            (Some((_, document)), _) => {
                let part = rows(&document.text).map(|rows| document.to_wire(rows));
                (document.text.clone(), part)
            }
            (None, None) => return Plan::Again,
            (None, Some(disk)) => match &disk.content {
                Some(content) => {
                    let part = rows(&content.text);
                    let part = part.map(|rows| content.format.to_wire(&content.text, rows));
                    (content.text.clone(), part)
                }
                None => (Text::default(), self.read_nothing(&now)),
            },
        };
        Plan::Done(Landing::Answer(Box::new(Answer { real, text, part })))
    }

    /// Returns the answer to a read of a file that does not exist.
    fn read_nothing(&self, now: &FileNow) -> Result<String, RpcError> {
        if now.missing_is_empty(self.session) {
            return Ok(String::new());
        }
        let mut error = RpcError::new(
            rpc::RESOURCE_NOT_FOUND,
            format!("Resource not found: {}", now.path.display()),
        );
        error.data = Some(json!({ "uri": client::file_uri(now.path) }));
        Err(error)
    }
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

    /// Answers a read of a file that the host could not read.
    pub(crate) fn read_failed(&mut self, read: &Read, text: String, fx: &mut Effects) {
        if !read.is_taken_back {
            let error = RpcError::new(rpc::INTERNAL_ERROR, text);
            fx.reply_error(&read.asker, error);
        }
    }

    /// Answers a read.
    pub(crate) fn answer_read(
        &mut self,
        path: &Path,
        read: &Read,
        answer: Answer,
        fx: &mut Effects,
    ) -> Next {
        // The base of a write is the text the agent knew when it sent the write. A partial read
        // does not show the rest, and a queued write was sent before this answer.
        let Answer { real, text, part } = answer;
        let lines = text.len();
        let is_whole = read.line.is_none_or(|line| line <= 1)
            && read.limit.is_none_or(|limit| limit as usize >= lines);
        let is_write = |kind| kind == Kind::Write(read.session);
        if part.is_ok()
            && is_whole
            && !self.fileops.has(path, is_write)
            && !self.fileops.may_have(&real, is_write)
            && let Some(session) = self.sessions.get_mut(&read.session)
        {
            session.seen.insert(real, text);
        }
        fx.reply(&read.asker, part.map(client::file_content));
        Next::Done
    }
}
