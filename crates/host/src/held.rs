//! A file's folder, held open: what a name leads to cannot be swapped between its check and its use.
//!
//! An agent can replace a folder by a link at any moment. So the links above a file are resolved
//! once, the result is checked, and the folder is opened part by part without following a link. What
//! a descriptor leads to stays the same. Operations reach the folder by the descriptor's name in
//! `/proc/self/fd`; a system without it uses the resolved path, right after the check.
//!
//! Invariant: the folder lies within the roots, or its path was given without any link.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::refusal::Refusal;
use acp_edge::paths::resolved;

/// The maximum number of times a path is resolved again after a folder on it was replaced.
const TRIES: usize = 8;

/// Opens a folder for operations below it; search permission is enough where the system allows that.
#[cfg(target_os = "linux")]
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// The folder of a file, held open.
#[derive(Debug)]
pub(super) struct Held {
    folder: OwnedFd,
    name: OsString,
    /// The folder with its links resolved.
    real: PathBuf,
    /// The path by which operations reach the folder.
    at: PathBuf,
    /// Folders created on the way, with their parents, the innermost last.
    made: Vec<(OwnedFd, OsString)>,
}

impl Held {
    /// Opens the folder of the file at `path`.
    ///
    /// # Errors
    /// It does not exist, or leads out of `roots`.
    pub(super) fn find(path: &Path, roots: &[PathBuf]) -> Result<Self, Refusal> {
        again(|| {
            let (folder, name) = parts(path)?;
            let real = folder.canonicalize()?;
            if folder != real && !is_within(&real.join(name), roots) {
                return Err(Refusal::Outside);
            }
            Ok(Self::new(open(&real)?, name, real, Vec::new()))
        })
    }

    /// Opens the folder of the file at `path`, and creates missing folders above it.
    ///
    /// # Errors
    /// It cannot be created, or leads out of `roots`.
    pub(super) fn make(path: &Path, roots: &[PathBuf]) -> Result<Self, Refusal> {
        Self::make_where(path, |file, has_link| !has_link || is_within(file, roots))
    }

    /// Does the same for a path that a link leads to, which nobody has checked.
    ///
    /// # Errors
    /// It cannot be created, or is outside of `roots`.
    pub(super) fn make_within(path: &Path, roots: &[PathBuf]) -> Result<Self, Refusal> {
        Self::make_where(path, |file, _| is_within(file, roots))
    }

    /// Opens the folder of the file at `path` if `may` allows the resolved path, which it gets with
    /// whether a link led there.
    fn make_where(path: &Path, may: impl Fn(&Path, bool) -> bool) -> Result<Self, Refusal> {
        again(|| {
            let (folder, name) = parts(path)?;
            let real = resolved(folder);
            if !may(&real.join(name), folder != real) {
                return Err(Refusal::Outside);
            }
            let above = real.ancestors().find(|above| above.is_dir());
            let above = above.unwrap_or(Path::new("/"));
            let mut made = Self::new(open(above)?, name, real.clone(), Vec::new());
            let missing = real.strip_prefix(above).unwrap_or(Path::new(""));
            for part in missing {
                if let Err(error) = made.enter(part) {
                    made.undo();
                    return Err(error.into());
                }
            }
            Ok(Self::new(made.folder, name, real, made.made))
        })
    }

    fn new(folder: OwnedFd, name: &OsStr, real: PathBuf, made: Vec<(OwnedFd, OsString)>) -> Self {
        let at = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        Self {
            at: if at.is_dir() { at } else { real.clone() },
            folder,
            name: name.to_owned(),
            real,
            made,
        }
    }

    /// Creates a folder inside the innermost one, unless it exists, and enters it.
    fn enter(&mut self, name: &OsStr) -> io::Result<()> {
        let is_new = match rustix::fs::mkdirat(&self.folder, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(errno) => return Err(errno.into()),
        };
        let inner =
            rustix::fs::openat(&self.folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?;
        let outer = std::mem::replace(&mut self.folder, inner);
        if is_new {
            self.made.push((outer, name.to_owned()));
        }
        Ok(())
    }

    /// Returns the path by which operations reach the file.
    pub(super) fn file(&self) -> PathBuf {
        self.at.join(&self.name)
    }

    /// Removes the created folders again, unless another program has put files there.
    pub(super) fn undo(self) {
        for (parent, name) in self.made.iter().rev() {
            let _ = rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR);
        }
    }

    /// Returns a sentence with the paths that a user knows.
    pub(super) fn named(&self, sentence: &str) -> String {
        let slash = |path: &Path| format!("{}/", path.display());
        sentence.replace(&slash(&self.at), &slash(&self.real))
    }
}

/// Opens the file at `path` for reading; returns it and where it is, with all links resolved.
///
/// # Errors
/// It does not exist, is no regular file, or is replaced all the time.
pub(super) fn open_file(path: &Path) -> Result<(File, PathBuf), Refusal> {
    again(|| {
        // Checked before opening, because opening a device can have side effects; opened without
        // blocking and checked again, because the path may have become a pipe in between.
        Refusal::check(&fs::metadata(path)?)?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from)?;
        let file = File::from(file);
        let meta = file.metadata()?;
        Refusal::check(&meta)?;
        let real = path.canonicalize()?;
        let held = Held::find(&real, &[])?;
        let there = fs::symlink_metadata(held.file())?;
        match (there.dev(), there.ino()) == (meta.dev(), meta.ino()) {
            true => Ok((file, real)),
            false => Err(Refusal::Swapped),
        }
    })
}

/// Repeats an operation that failed because a folder or file was replaced.
fn again<T>(work: impl Fn() -> Result<T, Refusal>) -> Result<T, Refusal> {
    let mut tries = std::iter::repeat_with(work).take(TRIES);
    let done = tries.find(|done| !matches!(done, Err(Refusal::Swapped)));
    done.unwrap_or(Err(Refusal::Swapped))
}

fn parts(path: &Path) -> Result<(&Path, &OsStr), Refusal> {
    let parts = path.parent().zip(path.file_name());
    parts.ok_or(Refusal::Folder)
}

fn is_within(file: &Path, roots: &[PathBuf]) -> bool {
    let mut roots = roots.iter();
    roots.any(|root| file.starts_with(resolved(root)))
}

/// Opens a folder whose path has no links.
fn open(real: &Path) -> Result<OwnedFd, Refusal> {
    let flags = FOLDER | OFlags::NOFOLLOW;
    let mut folder = rustix::fs::open("/", FOLDER, Mode::empty()).map_err(io::Error::from)?;
    for part in real.components() {
        let Component::Normal(name) = part else {
            continue;
        };
        folder = match rustix::fs::openat(&folder, name, flags, Mode::empty()) {
            Ok(inner) => inner,
            // It was a folder when the path was resolved.
            Err(Errno::NOTDIR | Errno::LOOP | Errno::NOENT) => return Err(Refusal::Swapped),
            Err(errno) => return Err(io::Error::from(errno).into()),
        };
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// A folder that an agent may use, with a file, and a secret outside of it.
    struct Place {
        folder: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Self {
            let place = Self {
                folder: tempfile::tempdir().expect("a folder"),
            };
            for name in ["in/real", "out"] {
                fs::create_dir_all(place.path(name)).expect("a folder");
            }
            fs::write(place.path("in/real/f"), "inside").expect("a file");
            fs::write(place.path("out/f"), "secret").expect("a file");
            place
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn roots(&self) -> [PathBuf; 1] {
            [self.path("in")]
        }

        /// Runs `work` while `in/swap` is replaced again and again: a link into the folder, then one
        /// out of it.
        fn swapping(&self, work: impl Fn(&Path)) {
            let stop = AtomicBool::new(false);
            symlink(self.path("in/real"), self.path("in/swap")).expect("a link");
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let (link, new) = (self.path("in/swap"), self.path("in/new"));
                    while !stop.load(Ordering::Relaxed) {
                        for to in ["in/real", "out"] {
                            symlink(self.path(to), &new).expect("a link");
                            fs::rename(&new, &link).expect("a link");
                        }
                    }
                });
                for _ in 0..2000 {
                    work(&self.path("in/swap/f"));
                }
                stop.store(true, Ordering::Relaxed);
            });
        }
    }

    #[test]
    fn what_is_read_is_where_it_is_said_to_be() {
        let place = Place::new();
        place.swapping(|path| {
            if let Ok((file, real)) = open_file(path) {
                let text = io::read_to_string(file).expect("text");
                let inside = place.path("in/real/f").canonicalize().expect("it is there");
                assert_eq!(
                    real == inside,
                    text == "inside",
                    "{text} of {}",
                    real.display()
                );
            }
        });
    }

    #[test]
    fn nothing_is_written_outside_of_the_roots() {
        let place = Place::new();
        place.swapping(|path| {
            if let Ok(held) = Held::make(path, &place.roots()) {
                fs::write(held.file(), "written").expect("a file");
            }
            if let Ok(held) = Held::make(&path.with_file_name("fresh/f"), &place.roots()) {
                fs::write(held.file(), "written").expect("a file");
                fs::remove_file(held.file()).expect("a file");
                held.undo();
            }
        });
        let left = fs::read_dir(place.path("out")).expect("a folder").count();
        let secret = fs::read_to_string(place.path("out/f")).expect("a file");
        assert_eq!((left, &*secret), (1, "secret"));
    }

    #[test]
    fn a_link_that_stays_within_the_roots_is_followed_and_others_are_refused() {
        let place = Place::new();
        symlink(place.path("in/real"), place.path("in/link")).expect("a link");
        symlink(place.path("out"), place.path("in/away")).expect("a link");
        assert!(Held::find(&place.path("in/link/f"), &place.roots()).is_ok());
        for path in ["in/away/f", "in/away/new/f"] {
            let made = Held::make(&place.path(path), &place.roots());
            assert!(matches!(made, Err(Refusal::Outside)), "{path}: {made:?}");
        }
    }
}
