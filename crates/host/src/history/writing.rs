//! The records that are being written.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};

use super::shelf::Shelf;
use acp_core::conversation::history::{Header, On, Record, RecordName, lines};
use acp_core::spine::ids::SessionKey;

/// The records that this Neovim writes, by their sessions.
#[derive(Debug, Default)]
pub(super) struct Writings {
    open: HashMap<SessionKey, Writing>,
}

/// A record that is being written.
#[derive(Debug)]
pub(super) struct Writing {
    pub name: RecordName,
    /// Locked.
    pub file: File,
    /// The last line may be half a line.
    pub is_torn: bool,
    has_failed: bool,
}

impl Writing {
    pub(super) fn new(name: RecordName, file: File) -> Self {
        Self {
            name,
            file,
            is_torn: false,
            has_failed: false,
        }
    }

    /// Writes lines, all of them or, at worst, some and a piece.
    pub(super) fn write(&mut self, text: &str) -> io::Result<()> {
        let end = if self.is_torn { "\n" } else { "" };
        // Until all of it is there.
        self.is_torn = true;
        self.file.write_all(end.as_bytes())?;
        self.file.write_all(text.as_bytes())?;
        self.is_torn = false;
        Ok(())
    }
}

impl Writings {
    /// Begins a session's record, or goes on with one; returns why not, if so.
    pub(super) fn begin(
        &mut self,
        session: SessionKey,
        mut header: Header,
        on: Option<On>,
        shelf: &Shelf,
    ) -> Option<String> {
        header.created = shelf.now();
        let (on, instead) = match on {
            Some(On::GoOn(name)) => (Some(name), None),
            Some(On::Replace(name)) => (None, Some(name)),
            None => (None, None),
        };
        let begun = match on {
            Some(name) => shelf.go_on(&name, &header),
            None => shelf.begin(&header),
        };
        match begun {
            Ok(writing) => {
                self.open.insert(session, writing);
                // The other one is a copy of what comes; should it stay, lists show the new one.
                let _ = instead.map(|name| shelf.delete(&name));
                None
            }
            Err(error) => Some(shelf.words(&error)),
        }
    }

    /// Writes more of a session; returns why not, the first time.
    pub(super) fn append(
        &mut self,
        session: SessionKey,
        records: &[Record],
        shelf: &Shelf,
    ) -> Option<String> {
        // Where nothing could be begun, that was said.
        let writing = self.open.get_mut(&session)?;
        let text: String = records.iter().map(lines::line).collect();
        let error = writing.write(&text).err()?;
        let is_known = std::mem::replace(&mut writing.has_failed, true);
        (!is_known).then(|| shelf.words(&error))
    }

    pub(super) fn end(&mut self, session: SessionKey) {
        self.open.remove(&session);
    }

    /// Returns the session a record is being written for.
    pub(super) fn session_of(&self, name: &RecordName) -> Option<SessionKey> {
        let mut open = self.open.iter();
        open.find(|(_, writing)| writing.name == *name)
            .map(|(session, _)| *session)
    }
}
