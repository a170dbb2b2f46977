//! Decodes files in the encodings of their buffers.
//!
//! Invariant: the host decodes a file that is not UTF-8 as latin-1; if its buffer or its review has
//! another encoding, this room decodes it in that one.

use std::path::Path;

use crate::spine::event::DiskText;
use crate::spine::project::{Body, FileChange, FileState};
use crate::text::Text;
use crate::text::format::{Encoding, Format, LineEnd};
use crate::workspace::Workspace;

impl DiskText {
    /// Takes the text in an encoding, if it was read as latin-1 and is in that one.
    pub fn read_in(&mut self, encoding: Encoding) {
        if let Some((format, text)) = self.format.reread(&self.text, encoding) {
            *self = DiskText { text, format };
        }
    }

    /// Takes the line ends of a text as the file has them: lines of a buffer may end with CR, or
    /// contain line feeds.
    pub fn read_line_ends(&mut self) {
        if self.format.shows_line_ends(&self.text) {
            let lines = self.text.to_lines(0..self.text.len());
            let bare = |line: &String| line.strip_suffix('\r').unwrap_or(line).to_owned();
            self.text = Text::from_lines(lines.iter().map(bare));
            self.format.line_end = LineEnd::CrLf;
        } else if self.format.line_end == LineEnd::Cr
            && let Ok(bytes) = self.format.encode(&self.text)
        {
            let encoding = self.format.encoding;
            let (format, text) = Format::decode(&bytes);
            *self = DiskText { text, format };
            self.read_in(encoding);
        }
    }
}

impl FileState {
    /// Returns the encoding of a text, if only a buffer has told it.
    pub fn told_encoding(&self) -> Option<Encoding> {
        let encoding = self.format()?.encoding;
        matches!(encoding, Encoding::Named(_)).then_some(encoding)
    }

    /// Takes a text as [`DiskText::read_in`] does.
    pub fn read_in(&mut self, encoding: Encoding) {
        if let Body::Text(content) = &mut self.body {
            content.read_in(encoding);
        }
    }
}

impl Workspace {
    /// Takes the text of a file in the encoding of its buffer or of its review.
    pub(super) fn read_as_known(&self, path: &Path, content: &mut DiskText) {
        if content.format.encoding != Encoding::Latin1 {
            return;
        }
        if let Some((_, document)) = self.documents.find(path) {
            content.read_in(document.encoding());
        }
        let review = self.reviews.get(path);
        let states = review
            .into_iter()
            .flat_map(|file| [&file.now, &file.origin]);
        for format in states.filter_map(FileState::format) {
            content.read_in(format.encoding);
        }
    }

    /// Takes the texts of a change on disk as [`Workspace::read_as_known`] does.
    pub(super) fn change_as_known(&self, change: &mut FileChange) {
        let FileChange {
            path,
            from,
            before,
            after,
        } = change;
        for state in [before, after] {
            if let Body::Text(content) = &mut state.body {
                for path in std::iter::once(&*path).chain(&*from) {
                    self.read_as_known(path, content);
                }
            }
        }
    }
}
