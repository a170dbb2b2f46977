//! The review list: files and hunks to review, with proposals that are not written yet, as lines of
//! a window, and a preview of the item under the cursor.
//!
//! Invariants: nothing is rendered while no window shows the list. An item is identified by its
//! change, not by its position: a decision applies to the change the user saw, or to nothing.

pub(crate) mod items;
pub(crate) mod lines;

use std::path::{Path, PathBuf};

use crate::spine::ids::ItemKey;
use crate::spine::project::Whole;
use crate::spine::view::{ListView, PreviewView};
use crate::view::View;
use crate::workspace::reviews::FileReview;

/// The core's state of the review list's window.
#[derive(Debug, Default)]
pub struct ReviewList {
    /// The folder to which paths are relative; `None` while no window shows the list.
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) is_dirty: bool,
    /// The item to preview.
    pub(crate) at: Option<ItemKey>,
    pub(crate) preview_is_dirty: bool,
    /// The view sent last, so that an equal one is not sent again.
    pub(crate) sent: Option<ListView>,
    pub(crate) previewed: Option<PreviewView>,
}

impl ReviewList {
    /// Returns whether the next frame must update the list or the preview.
    pub(crate) fn is_dirty(&self) -> bool {
        self.cwd.is_some() && (self.is_dirty || self.preview_is_dirty)
    }

    /// Marks the list as changed.
    pub(crate) fn touch(&mut self) {
        self.is_dirty = true;
        self.preview_is_dirty = true;
    }
}

impl View {
    pub(crate) fn relative(&self, path: &Path) -> String {
        let cwd = self.list.cwd.as_deref();
        let short = cwd.and_then(|cwd| path.strip_prefix(cwd).ok());
        short.unwrap_or(path).display().to_string()
    }

    /// Returns the changes of a file as a whole, with relative names.
    pub(crate) fn whole_of(&self, file: &FileReview) -> Vec<Whole> {
        let shown = file.whole().into_iter().map(|whole| match whole {
            Whole::Moved(from) => Whole::Moved(self.relative(&from).into()),
            other => other,
        });
        shown.collect()
    }
}
