//! The review list: files and hunks to review, with proposals that are not written yet, as lines of
//! a window, and a preview of the item under the cursor.
//!
//! Invariants: nothing is rendered while no window shows the list. An item is identified by its
//! change, not by its position: a decision applies to the change the user saw, or to nothing.

pub(crate) mod items;
pub(crate) mod lines;

use std::path::{Path, PathBuf};

pub use self::lines::in_full;
use crate::spine::ids::ItemKey;
use crate::spine::project::Whole;
use crate::spine::view::{ListView, Patch, PreviewView};
use crate::view::View;
use crate::workspace::reviews::FileReview;

/// The core's state of the review list's window.
#[derive(Debug, Default)]
pub(super) struct ReviewList {
    /// The folder to which paths are relative; `None` while no window shows the list.
    cwd: Option<PathBuf>,
    is_dirty: bool,
    /// The item to preview.
    at: Option<ItemKey>,
    preview_is_dirty: bool,
    /// The view sent last, so that an equal one is not sent again.
    sent: Option<ListView>,
    previewed: Option<PreviewView>,
}

impl ReviewList {
    /// Returns whether the next frame must update the list or the preview.
    pub fn is_dirty(&self) -> bool {
        self.cwd.is_some() && (self.is_dirty || self.preview_is_dirty)
    }
}

impl View {
    pub(crate) fn list_opened(&mut self, cwd: PathBuf) {
        self.list = ReviewList {
            cwd: Some(cwd),
            is_dirty: true,
            ..ReviewList::default()
        };
    }

    pub(crate) fn list_closed(&mut self) {
        self.list = ReviewList::default();
    }

    /// Sets the item to preview.
    pub(crate) fn preview_item(&mut self, item: Option<ItemKey>) {
        self.list.at = item;
        self.list.preview_is_dirty = true;
    }

    pub(crate) fn previewed_item(&self) -> Option<ItemKey> {
        self.list.at
    }

    /// Marks the list as changed.
    pub(crate) fn touch_list(&mut self) {
        self.list.is_dirty = true;
        self.list.preview_is_dirty = true;
    }

    /// Returns whether a window shows the list and it has to be composed.
    pub(crate) fn take_list(&mut self) -> bool {
        self.list.cwd.is_some() && std::mem::take(&mut self.list.is_dirty)
    }

    /// Returns whether a window shows the preview and it has to be composed.
    pub(crate) fn take_preview(&mut self) -> bool {
        self.list.cwd.is_some() && std::mem::take(&mut self.list.preview_is_dirty)
    }

    /// Returns the list's patch, unless it is on the screen.
    pub(crate) fn list_patch(&mut self, view: ListView) -> Option<Patch> {
        let is_new = self.list.sent.as_ref() != Some(&view);
        is_new.then(|| Patch::ReviewList(self.list.sent.insert(view).clone()))
    }

    /// Returns the preview's patch, unless it is on the screen.
    pub(crate) fn preview_patch(&mut self, view: PreviewView) -> Option<Patch> {
        let is_new = self.list.previewed.as_ref() != Some(&view);
        is_new.then(|| Patch::ReviewPreview(self.list.previewed.insert(view).clone()))
    }

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
