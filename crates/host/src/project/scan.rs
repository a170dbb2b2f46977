//! Lists files by walking folders: names and stats only.
//!
//! Invariant: a scan never follows a symbolic link and opens no file except `.gitignore`s. Files it
//! could not see are not reported as removed; [`Scan::unseen`] and [`Scan::cut`] record the gaps.

use std::collections::{HashMap, VecDeque};
use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::manifest::Stat;
use super::rules::Rules;

/// The result of a scan, with paths below the root.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) found: Vec<FoundFile>,
    pub(super) folders: Vec<PathBuf>,
    /// Folders that could not be listed.
    pub(super) unseen: Vec<PathBuf>,
    /// Set if the scan stopped early.
    pub(super) cut: Option<Cut>,
}

/// A file or a link.
#[derive(Debug)]
pub(super) struct FoundFile {
    pub(super) path: PathBuf,
    pub(super) stat: Stat,
    pub(super) is_link: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    Files,
    Time,
}

/// The limits of a scan.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScanLimits {
    pub(super) files: usize,
    pub(super) until: Instant,
}

/// What exists at a path.
#[derive(Debug)]
pub(super) enum PathKind {
    Nothing,
    Folder,
    File(FoundFile),
    /// Permissions prevent an answer.
    Hidden,
}

/// Examines a path below the root without following links; special files count as nothing.
pub(super) fn path_kind(root: &Path, path: PathBuf) -> PathKind {
    match fs::symlink_metadata(root.join(&path)) {
        Ok(meta) if meta.is_dir() => PathKind::Folder,
        Ok(meta) => seen(path, &meta).map_or(PathKind::Nothing, PathKind::File),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => PathKind::Hidden,
        Err(_) => PathKind::Nothing,
    }
}

fn seen(path: PathBuf, meta: &Metadata) -> Option<FoundFile> {
    let is_link = meta.is_symlink();
    (is_link || meta.is_file()).then(|| FoundFile {
        path,
        stat: Stat::of(meta),
        is_link,
    })
}

impl Scan {
    /// Walks a folder that is not hidden, nearest files first, so that a scan that stops early has
    /// seen those.
    pub(super) fn walk(
        &mut self,
        root: &Path,
        start: PathBuf,
        rules: &mut Rules,
        limits: ScanLimits,
    ) {
        let mut waiting = VecDeque::from([start]);
        while let Some(folder) = waiting.pop_front() {
            if Instant::now() > limits.until {
                self.cut = Some(Cut::Time);
                return;
            }
            let mut entries: Vec<DirEntry> = match fs::read_dir(root.join(&folder)) {
                Ok(entries) => entries.flatten().collect(),
                Err(error) => {
                    if error.kind() == io::ErrorKind::PermissionDenied {
                        self.unseen.push(folder);
                    }
                    continue;
                }
            };
            entries.sort_by_key(DirEntry::file_name);
            for entry in entries {
                let path = folder.join(entry.file_name());
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if rules.hides_entry(&path, is_folder) {
                    continue;
                }
                if is_folder {
                    waiting.push_back(path);
                    continue;
                }
                if self.found.len() >= limits.files {
                    self.cut = Some(Cut::Files);
                    return;
                }
                match entry.metadata() {
                    Ok(meta) => self.found.extend(seen(path, &meta)),
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                        // The folder can be listed but not entered.
                        if self.unseen.last() != Some(&folder) {
                            self.unseen.push(folder.clone());
                        }
                    }
                    Err(_) => {}
                }
            }
            self.folders.push(folder);
        }
    }
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
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Access::Shut,
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
