//! The records that this Neovim is writing.

use std::collections::HashMap;
use std::io::{self, Write};

use super::folder::RecordFolder;
use crate::locked::Locked;
use acp_core::conversation::history::lines;
use acp_core::spine::history::{Header, On, Record, RecordName};
use acp_core::spine::ids::SessionKey;

/// The open records by session.
#[derive(Debug, Default)]
pub(super) struct RecordWriters {
    open: HashMap<SessionKey, RecordWriter>,
}

/// A record that is being written.
#[derive(Debug)]
pub(super) struct RecordWriter {
    pub name: RecordName,
    pub file: Locked,
    /// The last line may be incomplete.
    pub is_torn: bool,
    has_failed: bool,
    /// The record that this one replaces, until it has its content.
    replaces: Option<RecordName>,
}

impl RecordWriter {
    pub(super) fn new(name: RecordName, file: Locked) -> Self {
        Self {
            name,
            file,
            is_torn: false,
            has_failed: false,
            replaces: None,
        }
    }

    /// Appends lines; after an error, some lines or part of one may have been written.
    pub(super) fn write(&mut self, text: &str) -> io::Result<()> {
        let end = if self.is_torn { "\n" } else { "" };
        // Until everything is written.
        self.is_torn = true;
        self.file.write_all(end.as_bytes())?;
        self.file.write_all(text.as_bytes())?;
        self.is_torn = false;
        Ok(())
    }
}

impl RecordWriters {
    /// Creates or continues the record of a session; returns the reason if that fails.
    pub(super) fn begin(
        &mut self,
        session: SessionKey,
        mut header: Header,
        on: Option<On>,
        folder: &RecordFolder,
    ) -> Option<String> {
        header.created = folder.now();
        let (on, instead) = match on {
            Some(On::GoOn(name)) => (Some(name), None),
            Some(On::Replace(name)) => (None, Some(name)),
            None => (None, None),
        };
        let begun = match on {
            Some(name) => folder.go_on(&name, &header),
            None => folder.begin(&header),
        };
        match begun {
            Ok(mut writing) => {
                writing.replaces = instead;
                self.open.insert(session, writing);
                None
            }
            Err(error) => Some(folder.words(&error)),
        }
    }

    /// Appends to the record of a session; returns the reason the first time that fails.
    pub(super) fn append(
        &mut self,
        session: SessionKey,
        records: &[Record],
        folder: &RecordFolder,
    ) -> Option<String> {
        // The failure to open the record was reported.
        let writing = self.open.get_mut(&session)?;
        let text: String = records.iter().map(lines::line).collect();
        let Err(error) = writing.write(&text) else {
            // The old record duplicates the new one; if it cannot be deleted, lists show the newer.
            let _ = writing.replaces.take().map(|name| folder.delete(&name));
            return None;
        };
        let is_known = std::mem::replace(&mut writing.has_failed, true);
        (!is_known).then(|| folder.words(&error))
    }

    pub(super) fn end(&mut self, session: SessionKey) {
        self.open.remove(&session);
    }

    /// Returns the session for which a record is being written.
    pub(super) fn session_of(&self, name: &RecordName) -> Option<SessionKey> {
        let mut open = self.open.iter();
        open.find(|(_, writing)| writing.name == *name)
            .map(|(session, _)| *session)
    }
}
