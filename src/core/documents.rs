//! Mirrors of the file buffers Neovim has loaded: what an agent reads without the main thread.
//!
//! Invariant: a document's text is the buffer's text at `state.tick`, kept so by `on_lines`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::event::{BufState, Stamp};
use super::ids::BufId;
use super::text::{LineEdit, Text};

/// A loaded file buffer.
#[derive(Debug, Clone)]
pub struct Document {
    pub path: PathBuf,
    /// `path` with symbolic links resolved.
    pub real: PathBuf,
    pub text: Text,
    /// The text as Neovim last read or wrote it; `None` when it was modified before it was seen,
    /// or got another name since.
    pub saved: Option<Text>,
    /// The file on disk that `saved` is the text of, where that is known for sure.
    pub stamp: Option<Stamp>,
    pub state: BufState,
}

impl Document {
    /// Returns `rows` of the text as it would be written.
    ///
    /// A buffer always has a line; one empty line alone is an empty file.
    pub fn to_wire(&self, rows: Range<usize>) -> String {
        if self.line_count() == 0 {
            return String::new();
        }
        self.state.format.to_wire(&self.text, rows)
    }

    /// Returns the number of lines the file would have.
    pub fn line_count(&self) -> usize {
        if self.text.len() == 1 && self.text.len_bytes() == 1 {
            0
        } else {
            self.text.len()
        }
    }
}

/// All documents, by buffer.
#[derive(Debug, Default)]
pub struct Documents {
    by_buf: BTreeMap<BufId, Document>,
}

impl Documents {
    pub fn attach(
        &mut self,
        buf: BufId,
        path: PathBuf,
        real: PathBuf,
        text: Text,
        state: BufState,
        stamp: Option<Stamp>,
    ) {
        let known = self.by_buf.get(&buf);
        let saved = match known {
            // It was never read or written by this name.
            Some(known) if known.path != path => None,
            Some(known) if state.modified => known.saved.clone(),
            None if state.modified => None,
            _ => Some(text.clone()),
        };
        let document = Document {
            path,
            real,
            text,
            saved,
            stamp,
            state,
        };
        self.by_buf.insert(buf, document);
    }

    pub fn detach(&mut self, buf: BufId) -> Option<Document> {
        self.by_buf.remove(&buf)
    }

    /// Makes an edit as Neovim reports it, and returns it as it was made.
    ///
    /// A buffer always has a line: when all are deleted an empty one stays, of which Neovim
    /// says nothing.
    pub fn edit(&mut self, buf: BufId, tick: u64, mut edit: LineEdit) -> LineEdit {
        if let Some(document) = self.by_buf.get_mut(&buf) {
            if edit.lines.is_empty() && edit.start == 0 && edit.removed >= document.text.len() {
                edit.lines.push(String::new());
            }
            document.text.apply(&edit);
            document.state.tick = tick;
            document.state.modified = true;
        }
        edit
    }

    pub fn set_state(&mut self, buf: BufId, state: BufState) {
        if let Some(document) = self.by_buf.get_mut(&buf) {
            document.state = state;
        }
    }

    pub fn set_saved(&mut self, buf: BufId, stamp: Option<Stamp>) {
        if let Some(document) = self.by_buf.get_mut(&buf) {
            document.saved = Some(document.text.clone());
            document.stamp = stamp;
            document.state.modified = false;
        }
    }

    /// Notes the last tick of the buffer, all changes up to which have been reported.
    pub fn catch_up(&mut self, buf: BufId, tick: u64) {
        if let Some(document) = self.by_buf.get_mut(&buf) {
            document.state.tick = tick;
        }
    }

    /// Notes what others have written to the file.
    pub fn set_disk(&mut self, buf: BufId, text: Text, stamp: Option<Stamp>) {
        if let Some(document) = self.by_buf.get_mut(&buf) {
            document.saved = Some(text);
            document.stamp = stamp;
        }
    }

    pub fn get(&self, buf: BufId) -> Option<&Document> {
        self.by_buf.get(&buf)
    }

    /// Returns the document of a file, whichever of its names is given.
    pub fn find(&self, path: &Path) -> Option<(BufId, &Document)> {
        self.by_buf
            .iter()
            .find(|(_, document)| document.path == path || document.real == path)
            .map(|(buf, document)| (*buf, document))
    }
}
