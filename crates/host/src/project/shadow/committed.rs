//! Contents that git holds: they are not copied, and are read from git when the file changes.
//!
//! Only the repository of the root counts: one below may be removed together with its objects.
//!
//! Invariant: an entry says that git holds its content only if the index said so of a file with the
//! entry's stat; before a change is compared or reported, the content is in the store.

use std::collections::HashSet;
use std::path::PathBuf;
use std::thread::JoinHandle;

use super::Shadow;
use crate::project::git::Repository;
use crate::project::git_index::{Indexed, Object};
use crate::project::manifest::What;
use crate::project::reading::is_text;
use crate::project::store::Loss;
use acp_edge::paths::is_missing;

/// The thread that asks git.
pub(super) type Asked = Option<JoinHandle<Vec<Indexed>>>;

impl Shadow {
    /// Starts to ask git which contents it holds.
    pub(super) fn ask_git(&self) -> Asked {
        Repository::above(self.root.real())?;
        let (git, root) = (self.git.clone(), self.root.path().to_owned());
        let ask = move || git.indexed(&root);
        std::thread::Builder::new().spawn(ask).ok()
    }

    /// Records which of the uncopied contents git holds, by its answer.
    pub(super) fn find_in_git(&mut self, asked: Asked) {
        // Without an answer, all contents are copied.
        let indexed = asked.and_then(|asked| asked.join().ok());
        for Indexed { path, object, stat } in indexed.unwrap_or_default() {
            if let Some(known) = self.entries.get_mut(&path)
                && known.what == What::Later
                && stat.is_of(&known.stat)
            {
                known.what = What::Git(object);
            }
        }
    }

    /// Stores the contents of these files as far as git holds them; returns those that it cannot be
    /// asked for now, which are postponed.
    pub(super) fn take_from_git<'a>(
        &mut self,
        paths: impl Iterator<Item = &'a PathBuf>,
    ) -> HashSet<PathBuf> {
        let mut unknown = HashSet::new();
        let object = |path: &'a PathBuf| match self.entries.get(path)?.what {
            What::Git(object) => Some((path, object)),
            _ => None,
        };
        let (paths, objects): (Vec<&PathBuf>, Vec<Object>) = paths.filter_map(object).unzip();
        if paths.is_empty() {
            return unknown;
        }
        let mut contents = self.git.each_content(self.root.path(), &objects);
        for path in paths {
            let content = contents.next().unwrap_or(Err(Loss::Gone));
            let is_unknown = matches!(&content, Err(Loss::Io(error)) if !is_missing(error));
            if is_unknown && self.hold.hold_unknown(path) {
                unknown.insert(path.clone());
                continue;
            }
            let what = content.map_err(|loss| loss.words()).and_then(|bytes| {
                match self.store.hold(&bytes) {
                    Ok(blob) if is_text(&bytes) => Ok(What::Text(blob)),
                    Ok(blob) => Ok(What::Bytes(blob)),
                    Err(error) => Err(error.to_string()),
                }
            });
            if let Some(known) = self.entries.get_mut(path) {
                known.what = what.unwrap_or_else(What::Unreadable);
                self.kept = None;
            }
        }
        unknown
    }
}
