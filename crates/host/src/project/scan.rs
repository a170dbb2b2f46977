//! Lists files by walking folders: names and stats only.
//!
//! Invariant: a scan never follows a symbolic link and opens no file except `.gitignore`s. Files it
//! could not see are not reported as removed; [`Scan::unseen`] and [`Scan::is_cut`] record the gaps.

use std::collections::HashMap;
use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::manifest::Stat;
use super::reading::in_parallel;
use super::rules::{Level, Rules, Sources};
use acp_edge::paths::{is_exhausted, is_missing};

/// The result of a scan, with paths below the root.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) found: Vec<FoundFile>,
    pub(super) folders: Vec<PathBuf>,
    /// Folders with rules, and where those are from.
    pub(super) rules: Vec<(PathBuf, Sources)>,
    /// Folders that could not be listed.
    pub(super) unseen: Vec<PathBuf>,
    /// One of them could not be listed now, as the system was exhausted.
    pub(super) is_exhausted: bool,
    /// Set if the scan stopped early, because there are too many files.
    pub(super) is_cut: bool,
}

/// A file or a link.
#[derive(Debug)]
pub(super) struct FoundFile {
    pub(super) path: PathBuf,
    pub(super) stat: Stat,
    pub(super) is_link: bool,
    /// It has another name, perhaps in a folder that is not watched.
    pub(super) is_shared: bool,
}

/// What exists at a path.
#[derive(Debug)]
pub(super) enum PathKind {
    Nothing,
    Folder,
    File(FoundFile),
    /// Permissions, or the state of the system, prevent an answer.
    Hidden,
}

/// Examines a path below the root without following links; special files count as nothing.
pub(super) fn path_kind(root: &Path, path: PathBuf) -> PathKind {
    match fs::symlink_metadata(root.join(&path)) {
        Ok(meta) if meta.is_dir() => PathKind::Folder,
        Ok(meta) => seen(path, &meta).map_or(PathKind::Nothing, PathKind::File),
        Err(error) if is_missing(&error) => PathKind::Nothing,
        Err(_) => PathKind::Hidden,
    }
}

fn seen(path: PathBuf, meta: &Metadata) -> Option<FoundFile> {
    let is_link = meta.is_symlink();
    (is_link || meta.is_file()).then(|| FoundFile {
        path,
        stat: Stat::of(meta),
        is_link,
        is_shared: !is_link && meta.nlink() > 1,
    })
}

impl Scan {
    /// Walks a folder that is not hidden, in several threads, until `limit` files are found.
    ///
    /// It goes level by level, so that a scan that stops early has seen the nearest files.
    pub(super) fn walk(&mut self, root: &Path, start: PathBuf, rules: &mut Rules, limit: usize) {
        let above = rules.level_above(&start);
        let mut level = vec![(start, above)];
        while !level.is_empty() {
            let rules = &*rules;
            let listed = in_parallel(&level, &|(folder, above)| list(root, folder, above, rules));
            let mut below = Vec::new();
            for ((folder, _), listed) in level.into_iter().zip(listed) {
                if listed.is_shut {
                    self.unseen.push(folder.clone());
                }
                self.is_exhausted |= listed.is_exhausted;
                let room = limit.saturating_sub(self.found.len());
                self.is_cut |= listed.files.len() > room;
                self.found.extend(listed.files.into_iter().take(room));
                if let Some(rules) = listed.rules {
                    let folders = listed.folders.into_iter();
                    below.extend(folders.map(|folder| (folder, Some(Arc::clone(&rules)))));
                    if !rules.sources.is_empty() {
                        self.rules.push((folder.clone(), rules.sources.clone()));
                    }
                    self.folders.push(folder);
                }
                if self.is_cut {
                    return;
                }
            }
            level = below;
        }
    }
}

/// The visible entries of a folder.
#[derive(Debug, Default)]
struct Listed {
    files: Vec<FoundFile>,
    folders: Vec<PathBuf>,
    /// The rules in it; `None` if it could not be listed.
    rules: Option<Arc<Level>>,
    /// Permissions, or the state of the system, prevent listing or entering it.
    is_shut: bool,
    is_exhausted: bool,
}

impl Listed {
    fn note(&mut self, error: &io::Error) {
        self.is_shut |= !is_missing(error);
        self.is_exhausted |= is_exhausted(error);
    }
}

fn list(root: &Path, folder: &Path, above: &Option<Arc<Level>>, rules: &Rules) -> Listed {
    let mut listed = Listed::default();
    let read = match fs::read_dir(root.join(folder)) {
        Ok(read) => read,
        Err(error) => {
            listed.note(&error);
            return listed;
        }
    };
    let mut entries: Vec<DirEntry> = Vec::new();
    for entry in read {
        match entry {
            Ok(entry) => entries.push(entry),
            Err(error) => listed.note(&error),
        }
    }
    entries.sort_by_key(DirEntry::file_name);
    let level = rules.enter(folder, above.clone());
    for entry in entries {
        let path = folder.join(entry.file_name());
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if rules.hides_in(&level, &path, is_folder) {
            continue;
        }
        if is_folder {
            listed.folders.push(path);
            continue;
        }
        match entry.metadata() {
            Ok(meta) => listed.files.extend(seen(path, &meta)),
            // The folder can be listed but not entered.
            Err(error) => listed.note(&error),
        }
    }
    listed.rules = Some(level);
    listed
}

/// Caches which paths are real folders rather than links to folders.
#[derive(Debug, Default)]
pub(super) struct RealFolders {
    known: HashMap<PathBuf, Access>,
}

/// Whether a path can be reached through real folders only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Open,
    /// A part of the path is missing or not a folder.
    None,
    /// A part of the path cannot be entered.
    Shut,
}

impl RealFolders {
    /// Returns whether a folder below the root and all its parents are real folders; outside the
    /// root, links are allowed.
    pub(super) fn access(&mut self, root: &Path, folder: &Path) -> Access {
        let Some(parent) = folder.parent() else {
            // The root itself may be a link.
            return Access::Open;
        };
        if folder.is_absolute() {
            return match fs::metadata(folder) {
                Ok(meta) if meta.is_dir() => Access::Open,
                Err(error) if !is_missing(&error) => Access::Shut,
                _ => Access::None,
            };
        }
        if let Some(access) = self.known.get(folder) {
            return *access;
        }
        let access = match self.access(root, parent) {
            Access::Open => match path_kind(root, folder.to_owned()) {
                PathKind::Folder => Access::Open,
                PathKind::Hidden => Access::Shut,
                PathKind::Nothing | PathKind::File(_) => Access::None,
            },
            other => other,
        };
        self.known.insert(folder.to_owned(), access);
        access
    }
}
