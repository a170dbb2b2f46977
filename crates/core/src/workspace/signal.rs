//! The events of this room that the rooms above react to.

use std::path::PathBuf;

use crate::spine::ids::SessionKey;
use crate::text::Text;

#[derive(Debug)]
pub enum Signal {
    /// A session's checkpoint is taken, so its prompt may be sent.
    CheckpointTaken(SessionKey),
    /// An agent reads a file, from a line on.
    Read {
        session: SessionKey,
        path: PathBuf,
        line: Option<u32>,
    },
    /// An agent wrote a file through the client.
    Wrote(FileEdit),
    /// An agent changed a file on disk.
    Changed(FileEdit),
}

/// A file's text before and after an agent's change.
#[derive(Debug)]
pub struct FileEdit {
    pub session: SessionKey,
    pub path: PathBuf,
    /// `None` if the file is new.
    pub before: Option<Text>,
    pub after: Text,
}
