//! What of a project is not covered, and what was there before anybody could see it.

use std::path::{Path, PathBuf};

use super::manifest::Stat;
use super::reading::is_settled;
use super::scan::Cut;

/// What the last look at everything did not cover.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    pub(super) cut: Option<Cut>,
    /// Files whose content is not kept for want of time or room.
    pub(super) later: usize,
    /// Folders that may not be listed.
    pub(super) unseen: Vec<PathBuf>,
    /// Why contents could not be kept.
    pub(super) trouble: Option<String>,
}

impl Gaps {
    /// Returns the sentence for the user; `None` when there is nothing to say.
    pub(super) fn words(&self, root: &Path, files: usize) -> Option<String> {
        let root = root.display();
        let mut parts = Vec::new();
        match self.cut {
            Some(Cut::Files) => parts.push(format!(
                "only {files} files of {root} are watched, there are more; start the session in a \
                 smaller folder, or hide what does not matter by .gitignore"
            )),
            Some(Cut::Time) => parts.push(format!(
                "there was no time to look at more than {files} files of {root}; start the session \
                 in a smaller folder, or hide what does not matter by .gitignore"
            )),
            None => {}
        }
        if self.later > 0 {
            parts.push(format!(
                "the content of {} files of {root} is not kept, because they are too much; hide \
                 what does not matter by .gitignore",
                self.later
            ));
        }
        if let Some(first) = self.unseen.first() {
            parts.push(format!(
                "{} folders may not be looked into, the first one is {}; check their permissions",
                self.unseen.len(),
                first.display()
            ));
        }
        if let Some(trouble) = &self.trouble {
            parts.push(format!(
                "contents could not be kept: {trouble}; make room where Neovim keeps its state"
            ));
        }
        (!parts.is_empty())
            .then(|| format!("Not every change can be reviewed: {}.", parts.join("; ")))
    }
}

/// Where files may have been before anybody saw them.
#[derive(Debug)]
pub(super) struct OutOfSight {
    pub(super) folders: Vec<PathBuf>,
    pub(super) last_look: i128,
}

impl OutOfSight {
    /// Returns whether a new file was there when everything was looked at last.
    pub(super) fn holds(&self, path: &Path, stat: &Stat) -> bool {
        is_settled(stat, self.last_look)
            && self.folders.iter().any(|folder| path.starts_with(folder))
    }
}
