//! Lists the files that programs have open, as `/proc` shows them.
//!
//! Notifications do not tell which of them are open for writing: `truncate` on a path writes to a
//! file without opening it, and a program that opens a file to read it is reported like a writer,
//! but not when it closes the file.
//!
//! Invariant: what an exhausted system does not say is unknown. Other users' programs, and those in
//! other containers, are not seen: their files count as closed.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use acp_edge::paths::is_exhausted;

/// The files that processes of this user have open. Those of other users are not seen.
#[derive(Debug)]
pub(super) struct OpenFiles {
    /// By the name of the file, without its folder; `None` if they are unknown, as on a system without
    /// `/proc`.
    descriptors: Option<HashMap<OsString, Vec<Descriptor>>>,
}

/// A file descriptor of a process.
#[derive(Debug)]
struct Descriptor {
    /// The folder of the process in `/proc`.
    process: PathBuf,
    number: OsString,
}

impl OpenFiles {
    /// Asks the system. Blocks.
    pub(super) fn list() -> Self {
        // Elsewhere, there may be a `/proc` of another form.
        let listed = cfg!(target_os = "linux").then(descriptors);
        Self {
            descriptors: listed.and_then(Result::ok),
        }
    }

    /// Returns whether a file is open for writing; `None` if that is unknown.
    pub(super) fn contain_for_writing(&self, path: &Path) -> Option<bool> {
        let descriptors = self.descriptors.as_ref()?;
        let file = id(path);
        // Few have the name of the file, so the others are not examined.
        let named = descriptors.get(path.file_name().unwrap_or_default());
        let mut named = named.into_iter().flatten().filter(|_| file.is_some());
        Some(named.any(|it| id(&it.link()) == file && it.is_for_writing()))
    }
}

impl Descriptor {
    fn link(&self) -> PathBuf {
        self.process.join("fd").join(&self.number)
    }

    /// Returns whether it is open for writing, or that is unknown.
    fn is_for_writing(&self) -> bool {
        match fs::read_to_string(self.process.join("fdinfo").join(&self.number)) {
            Ok(info) => shows_writing(&info),
            Err(error) => is_exhausted(&error),
        }
    }
}

/// Lists the open files of all processes; pipes and sockets have no path.
///
/// # Errors
/// `/proc` does not show this process, or the system is exhausted.
fn descriptors() -> io::Result<HashMap<OsString, Vec<Descriptor>>> {
    let mut all: HashMap<OsString, Vec<Descriptor>> = HashMap::new();
    // It may be an empty folder, or show other processes than ours.
    let _ = fs::metadata("/proc/self/fd")?;
    for process in fs::read_dir("/proc")? {
        let process = process?;
        let name = process.file_name();
        if !name.as_encoded_bytes().iter().all(u8::is_ascii_digit) {
            continue;
        }
        let process = process.path();
        let links = known(fs::read_dir(process.join("fd")))?;
        for link in links.into_iter().flatten() {
            let Some(link) = known(link)? else {
                continue;
            };
            let file = known(fs::read_link(link.path()))?;
            let file = file.filter(|file| file.is_absolute());
            if let Some(name) = file.as_deref().and_then(Path::file_name) {
                let descriptor = Descriptor {
                    process: process.clone(),
                    number: link.file_name(),
                };
                all.entry(name.to_owned()).or_default().push(descriptor);
            }
        }
    }
    Ok(all)
}

/// Returns nothing about a process that has ended, or that belongs to another user.
///
/// # Errors
/// The system is exhausted.
fn known<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if is_exhausted(&error) => Err(error),
        result => Ok(result.ok()),
    }
}

/// Parses lines like `flags: 0100002`, in octal digits.
fn shows_writing(info: &str) -> bool {
    const ACCESS: u32 = 0o3;
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & ACCESS != 0)
}

fn id(path: &Path) -> Option<(u64, u64)> {
    let meta = fs::metadata(path).ok()?;
    Some((meta.dev(), meta.ino()))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::tests::exhausted::{is_alone, with_descriptors};

    #[test]
    fn only_files_open_for_writing_are_found() {
        // A child of another test has our descriptors until it runs its program.
        if !is_alone("open_files::tests::only_files_open_for_writing_are_found") {
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let (path, link) = (folder.path().join("a"), folder.path().join("link/a"));
        let writer = fs::File::create(&path).expect("a file");
        fs::create_dir(folder.path().join("link")).expect("a folder");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        // Another file with the same name.
        let other = folder.path().join("b/a");
        fs::create_dir(folder.path().join("b")).expect("a folder");
        fs::write(&other, "").expect("a file");
        let open = OpenFiles::list();
        for path in [&path, &link] {
            assert_eq!(open.contain_for_writing(path), Some(true));
        }
        assert_eq!(open.contain_for_writing(&other), Some(false));
        drop(writer);
        let reader = fs::File::open(&path).expect("a file");
        let is_found = || OpenFiles::list().contain_for_writing(&path);
        assert_eq!(is_found(), Some(false));
        // The file that has its name now is another one.
        let writer = fs::File::options().write(true).open(&path);
        let writer = writer.expect("a file");
        fs::remove_file(&path).expect("a file");
        fs::write(&path, "").expect("a file");
        assert_eq!(is_found(), Some(false));
        drop((reader, writer));
    }

    #[test]
    fn an_exhausted_system_does_not_say_that_a_file_is_closed() {
        let name = "open_files::tests::an_exhausted_system_does_not_say_that_a_file_is_closed";
        if !is_alone(name) {
            return;
        }
        let file = tempfile::NamedTempFile::new().expect("a file");
        for count in 0..4 {
            let is_open = || OpenFiles::list().contain_for_writing(file.path());
            let is_open = with_descriptors(count, is_open);
            assert_ne!(is_open, Some(false), "{count} descriptors");
        }
    }
}
