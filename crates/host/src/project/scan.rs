//! Which files there are: folders walked, names and stats only.
//!
//! Invariant: a scan never follows a symbolic link, never opens a file but the `.gitignore`s, and
//! what it could not see is not said to be gone: [`Scan::unseen`] and [`Scan::cut`] tell of it.

use std::collections::{HashMap, VecDeque};
use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::manifest::Stat;
use super::rules::Rules;

/// What a scan has found, by paths below the root.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) found: Vec<Seen>,
    pub(super) folders: Vec<PathBuf>,
    /// Folders that could not be listed.
    pub(super) unseen: Vec<PathBuf>,
    /// The scan ended before everything was seen.
    pub(super) cut: Option<Cut>,
}

/// A file or a link.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) path: PathBuf,
    pub(super) stat: Stat,
    pub(super) is_link: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    Files,
    Time,
}

/// How far a scan may go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach {
    pub(super) files: usize,
    pub(super) until: Instant,
}

/// What is at a path.
#[derive(Debug)]
pub(super) enum Spot {
    Nothing,
    Folder,
    File(Seen),
    /// The system does not let us see.
    Hidden,
}

/// Looks at a path below the root, links not followed; special files are nothing.
pub(super) fn spot(root: &Path, path: PathBuf) -> Spot {
    match fs::symlink_metadata(root.join(&path)) {
        Ok(meta) if meta.is_dir() => Spot::Folder,
        Ok(meta) => seen(path, &meta).map_or(Spot::Nothing, Spot::File),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Spot::Hidden,
        Err(_) => Spot::Nothing,
    }
}

fn seen(path: PathBuf, meta: &Metadata) -> Option<Seen> {
    let is_link = meta.is_symlink();
    (is_link || meta.is_file()).then(|| Seen {
        path,
        stat: Stat::of(meta),
        is_link,
    })
}

impl Scan {
    /// Walks a folder that is not hidden, nearest files first, so that a scan that is cut has
    /// seen those.
    pub(super) fn walk(&mut self, root: &Path, start: PathBuf, rules: &mut Rules, reach: Reach) {
        let mut waiting = VecDeque::from([start]);
        while let Some(folder) = waiting.pop_front() {
            if Instant::now() > reach.until {
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
                if self.found.len() >= reach.files {
                    self.cut = Some(Cut::Files);
                    return;
                }
                match entry.metadata() {
                    Ok(meta) => self.found.extend(seen(path, &meta)),
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                        // Listed, but no more: a folder without the right to enter it.
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

/// Which paths are folders, and no links to folders: each is asked for once.
#[derive(Debug, Default)]
pub(super) struct RealFolders {
    known: HashMap<PathBuf, Way>,
}

/// Whether a path can be reached by folders alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Open,
    /// Something on the way is no folder, or is not there.
    None,
    /// Something on the way may not be entered.
    Shut,
}

impl RealFolders {
    /// Returns whether a folder below the root is one, and all above it are; elsewhere links may
    /// lead to it.
    pub(super) fn way(&mut self, root: &Path, folder: &Path) -> Way {
        let Some(parent) = folder.parent() else {
            // The root itself may be a link.
            return Way::Open;
        };
        if folder.is_absolute() {
            return match fs::metadata(folder) {
                Ok(meta) if meta.is_dir() => Way::Open,
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Way::Shut,
                _ => Way::None,
            };
        }
        if let Some(way) = self.known.get(folder) {
            return *way;
        }
        let way = match self.way(root, parent) {
            Way::Open => match spot(root, folder.to_owned()) {
                Spot::Folder => Way::Open,
                Spot::Hidden => Way::Shut,
                Spot::Nothing | Spot::File(_) => Way::None,
            },
            other => other,
        };
        self.known.insert(folder.to_owned(), way);
        way
    }
}
