//! The parts of a project that are not covered, and folders where files may have existed unseen.

use std::path::{Path, PathBuf};

use super::manifest::Stat;
use super::reading::{is_older, is_settled};
use acp_core::text::plural;

/// The parts that the last full comparison did not cover.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    /// The project has more files than the limit.
    pub(super) is_cut: bool,
    /// Number of files whose content is not stored yet.
    pub(super) uncopied: usize,
    /// Number of files whose content is not stored for lack of space.
    pub(super) too_large: usize,
    /// Folders that cannot be listed.
    pub(super) unseen: Vec<PathBuf>,
    /// Why contents could not be stored.
    pub(super) trouble: Option<String>,
    /// The reason why the next Neovim will lack the reviews.
    pub(super) unsaved: Option<String>,
}

impl Gaps {
    /// Returns the sentence for the user; `None` if everything is covered.
    pub(super) fn words(&self, root: &Path, files: usize) -> Option<String> {
        let root = root.display();
        let mut parts = Vec::new();
        if self.is_cut {
            parts.push(format!(
                "only {} of {root} are watched; start the session in a smaller folder, or \
                 exclude files with .gitignore",
                plural(files, "file")
            ));
        }
        if self.uncopied > 0 {
            parts.push(format!(
                "the content of {} of {root} is still being copied; a file that is changed before is \
                 shown without its earlier content",
                plural(self.uncopied, "file")
            ));
        }
        if self.too_large > 0 {
            parts.push(format!(
                "the content of {} of {root} is not stored, because the total would be too large; \
                 exclude files with .gitignore",
                plural(self.too_large, "file")
            ));
        }
        if let Some(first) = self.unseen.first() {
            parts.push(format!(
                "{} cannot be read, for example {}; check the permissions",
                plural(self.unseen.len(), "folder"),
                match first.as_os_str().is_empty() {
                    true => root.to_string(),
                    false => first.display().to_string(),
                }
            ));
        }
        if let Some(trouble) = &self.trouble {
            parts.push(format!(
                "contents could not be stored: {trouble}; free some space in Neovim's state folder"
            ));
        }
        let limited = (!parts.is_empty())
            .then(|| format!("Not every change can be reviewed: {}.", parts.join("; ")));
        let unsaved = self.unsaved.as_ref().map(|why| {
            format!(
                "What agents change in {root} can be reviewed until Neovim ends, and is not kept for \
                 the next one: {why}; free some space in Neovim's state folder, or make it writable."
            )
        });
        let all: Vec<String> = limited.into_iter().chain(unsaved).collect();
        (!all.is_empty()).then(|| all.join(" "))
    }
}

/// Folders in which files may have existed unseen.
#[derive(Debug)]
pub(super) struct UnseenBefore {
    pub(super) folders: Vec<PathBuf>,
    pub(super) last_look: i128,
}

impl UnseenBefore {
    /// Returns whether a newly found file existed before the last full look.
    pub(super) fn holds(&self, path: &Path, stat: &Stat) -> bool {
        is_settled(stat, self.last_look) && self.is_below(path)
    }

    /// Returns whether a newly found file existed before the last full look, with another content.
    pub(super) fn held_earlier(&self, path: &Path, stat: &Stat) -> bool {
        let is_earlier = stat.born.is_some_and(|born| is_older(born, self.last_look));
        is_earlier && !is_settled(stat, self.last_look) && self.is_below(path)
    }

    fn is_below(&self, path: &Path) -> bool {
        self.folders.iter().any(|folder| path.starts_with(folder))
    }
}
