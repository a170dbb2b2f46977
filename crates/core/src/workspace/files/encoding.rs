//! The encodings of files whose bytes alone do not tell them.
//!
//! Invariant: the text of such a file is the one in its buffer, also when it comes from the disk.

use std::path::Path;

use crate::spine::event::DiskText;
use crate::text::format::Encoding;
use crate::workspace::Workspace;

impl Workspace {
    /// Decodes a file that was taken for latin-1 as Neovim does, or did when it was open.
    pub(crate) fn decode_again(&self, path: &Path, content: &mut DiskText) {
        if content.format.encoding != Encoding::Latin1 {
            return;
        }
        let format = match self.documents.find(path) {
            Some((_, document)) => Some(document.state.format),
            None => {
                let review = self.reviews.get(&self.reviews.name_of(path, path));
                review.and_then(|review| review.now.format())
            }
        };
        if let Some(format) = format {
            content.decode_again(format.encoding);
        }
    }
}
