//! Copies the contents of files that have not changed since they were found, a slice at a time.
//!
//! Invariant: a content is stored for a file only if the file is still the one that was found; a
//! file that has changed since is left to the next look.

use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::Shadow;
use crate::project::manifest::{Entry, What};
use crate::project::reading::{Need, Wanted, read_all};
use crate::project::scan::FoundFile;

/// Maximum number of files per slice.
const FILES: usize = 128;

/// Size of contents from which a slice is full.
const BYTES: u64 = 2 << 20;

/// Number of files, and size of contents, beyond which git is asked first, and up to which the
/// first prompt waits however long copying takes.
const MANY_FILES: usize = 512;
const MANY_BYTES: u64 = 8 << 20;

impl Shadow {
    /// Begins to copy all contents that are not stored and for which there is space.
    pub(super) fn copy_all(&mut self) {
        let mut space = self.space();
        let mut entries = self.entries.iter();
        let first = entries.find_map(|(path, entry)| wants_copy(path, entry, &mut space));
        self.uncopied = first.map(|wanted| wanted.seen.path);
    }

    /// Returns whether asking git takes less time than copying.
    pub(super) fn has_many_to_copy(&self) -> bool {
        let (mut files, mut bytes) = (0, 0);
        self.entries.values().any(|entry| {
            if entry.what == What::Later {
                files += 1;
                bytes += entry.stat.bytes;
            }
            is_many(files, bytes)
        })
    }

    /// Copies for as long as a prompt may wait, and at least a small amount: a slow machine must
    /// not leave a small project without its earlier contents.
    pub(super) fn copy_for_now(&mut self) {
        let until = Instant::now() + self.store.limits.copying;
        let (mut files, mut bytes) = (0, 0);
        while self.is_copying() && (!is_many(files, bytes) || Instant::now() < until) {
            let wanted = self.next_slice();
            files += wanted.len();
            bytes += wanted.iter().map(|it| it.seen.stat.bytes).sum::<u64>();
            self.copy_these(wanted);
        }
    }

    /// Copies some of the contents; returns whether more are left.
    pub(in crate::project) fn copy(&mut self) -> bool {
        let wanted = self.next_slice();
        self.copy_these(wanted);
        self.is_copying()
    }

    /// Returns whether contents are left to copy.
    pub(in crate::project) fn is_copying(&self) -> bool {
        self.uncopied.is_some()
    }

    /// Counts the files whose contents are not stored.
    pub(super) fn count_uncopied(&mut self) {
        let mut space = self.space();
        let uncopied = self.entries.values();
        let uncopied = uncopied.filter(|entry| entry.what == What::Later);
        let (fits, too_large): (Vec<&Entry>, Vec<&Entry>) =
            uncopied.partition(|entry| fits(entry, &mut space));
        let is_copying = self.is_copying() && self.gaps.trouble.is_none();
        self.gaps.uncopied = if is_copying { fits.len() } else { 0 };
        self.gaps.too_large = too_large.len();
    }

    /// Copies these files first: an agent may be about to change them.
    pub(super) fn copy_first(&mut self, paths: &[PathBuf]) {
        let mut space = self.space();
        let wanted = paths
            .iter()
            .filter_map(|path| wants_copy(path, self.entries.get(path)?, &mut space));
        let wanted = wanted.collect();
        self.copy_these(wanted);
    }

    fn copy_these(&mut self, wanted: Vec<Wanted>) {
        if wanted.is_empty() {
            return;
        }
        let reads = read_all(self.root.path(), wanted, &self.store);
        for (seen, entry) in reads.entries {
            if let (Some(entry), Some(known)) = (entry, self.entries.get_mut(&seen.path))
                && entry.stat == known.stat
                && entry.what != What::Later
                && !reads.torn.contains(&seen.path)
                && !reads.unknown.contains(&seen.path)
            {
                *known = entry;
                self.kept = None;
            }
        }
        if reads.trouble.is_some() {
            // The next full look tries again.
            self.uncopied = None;
        }
        self.gaps.trouble = reads.trouble;
    }

    fn next_slice(&mut self) -> Vec<Wanted> {
        let mut wanted = Vec::new();
        let Some(from) = self.uncopied.take() else {
            return wanted;
        };
        let (mut bytes, mut space) = (0, self.space());
        let rest = (Bound::Included(from), Bound::Unbounded);
        for (path, entry) in self.entries.range::<PathBuf, _>(rest) {
            if let Some(wants) = wants_copy(path, entry, &mut space) {
                if wanted.len() == FILES || bytes >= BYTES {
                    self.uncopied = Some(wants.seen.path);
                    break;
                }
                bytes += wants.seen.stat.bytes;
                wanted.push(wants);
            }
        }
        wanted
    }

    /// Returns the space that is left for copies, in bytes.
    fn space(&self) -> u64 {
        let kept = self.entries.values().filter(|entry| entry.blob().is_some());
        let kept: u64 = kept.map(|entry| entry.stat.bytes).sum();
        self.store.limits.bytes.saturating_sub(kept)
    }
}

/// Returns the file to copy if its content is not stored yet and there is space for it.
fn wants_copy(path: &Path, entry: &Entry, space: &mut u64) -> Option<Wanted> {
    let seen = || FoundFile {
        path: path.to_owned(),
        stat: entry.stat,
        is_link: false,
        is_shared: false,
    };
    let need = Need::Content;
    let is_wanted = entry.what == What::Later && fits(entry, space);
    is_wanted.then(|| Wanted { seen: seen(), need })
}

fn is_many(files: usize, bytes: u64) -> bool {
    files > MANY_FILES || bytes > MANY_BYTES
}

/// Returns whether there is space for a file's content; takes it.
fn fits(entry: &Entry, space: &mut u64) -> bool {
    let left = space.checked_sub(entry.stat.bytes);
    *space = left.unwrap_or(*space);
    left.is_some()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::project::git::no_git;
    use crate::project::limits::Limits;
    use crate::project::reading::Attempt;
    use crate::project::store::Store;
    use crate::quiescence::{Quiescence, Writers};
    use acp_core::spine::project::Body;

    /// The number of files that are copied without regard to the time: the last slice goes beyond
    /// [`MANY_FILES`].
    const AT_ONCE: usize = MANY_FILES + FILES;

    /// The number of files; the last ones are uncopied.
    const COUNT: usize = AT_ONCE + 10;

    struct Folder {
        shadow: Shadow,
        root: PathBuf,
        _folder: tempfile::TempDir,
    }

    /// Opens a folder of files that are too many to copy at once.
    fn open() -> Folder {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("p");
        fs::create_dir(&root).expect("a folder");
        for n in 0..COUNT {
            fs::write(root.join(format!("{n:03}")), n.to_string()).expect("a file");
        }
        let last = fs::metadata(root.join(format!("{:03}", COUNT - 1))).expect("a file");
        let is_settled = || {
            let age = last.modified().expect("a time").elapsed();
            age.is_ok_and(|age| age > Duration::from_millis(60))
        };
        while !is_settled() {
            std::thread::yield_now();
        }
        let limits = Limits {
            copying: Duration::ZERO,
            ..Limits::default()
        };
        let store = Arc::new(Store::new(&folder.path().join("s"), limits));
        let writers = Arc::new(Writers::new(Quiescence {
            after: Duration::ZERO,
            ..Quiescence::default()
        }));
        let mut shadow = Shadow::new(root.clone(), store, None, writers, no_git());
        shadow.open(None, None, true);
        Folder {
            shadow,
            root,
            _folder: folder,
        }
    }

    impl Folder {
        fn path(&self, number: usize) -> PathBuf {
            self.root.join(format!("{number:03}"))
        }

        /// Compares the texts before all changes, sorted by path; `None` for an unknown one.
        #[track_caller]
        fn check(&mut self, before: &[Option<&str>]) {
            let mut looked = self.shadow.look_all();
            let mut changes = looked.changes;
            while looked.held.is_some() {
                looked = self.shadow.look_all();
                changes.append(&mut looked.changes);
            }
            let changes = changes.iter();
            let changes = changes.map(|change| self.shadow.file_change(change, Attempt::Last));
            let text = |body| match body {
                Body::Text(text) => Some(text.text.to_string().trim_end().to_owned()),
                Body::Bytes { blob: None, .. } => None,
                other => panic!("{other:?}"),
            };
            let found: Vec<Option<String>> =
                changes.flatten().map(|it| text(it.before.body)).collect();
            let found: Vec<Option<&str>> = found.iter().map(Option::as_deref).collect();
            assert_eq!(found, before);
        }
    }

    #[test]
    fn files_are_copied_slice_by_slice_and_a_tracked_one_at_once() {
        let mut folder = open();
        let last = folder.path(COUNT - 1);
        let included = folder.shadow.include(&[last], Attempt::One);
        assert!(included.is_ok());
        for number in [0, COUNT - 2, COUNT - 1] {
            fs::write(folder.path(number), "new").expect("a file");
        }
        let (tracked, copied) = ((COUNT - 1).to_string(), "0");
        folder.check(&[Some(copied), None, Some(&tracked)]);
        assert!(!folder.shadow.copy(), "all is copied");
        fs::write(folder.path(COUNT - 3), "new").expect("a file");
        let earlier = (COUNT - 3).to_string();
        folder.check(&[Some(&earlier)]);
    }

    #[test]
    fn what_is_not_much_is_copied_at_once_however_long_it_takes() {
        let mut folder = open();
        for number in [AT_ONCE - 1, AT_ONCE] {
            fs::write(folder.path(number), "new").expect("a file");
        }
        let copied = (AT_ONCE - 1).to_string();
        folder.check(&[Some(&copied), None]);
    }

    #[test]
    fn what_was_changed_before_it_was_copied_is_not_taken_for_its_earlier_content() {
        let mut folder = open();
        fs::write(folder.path(COUNT - 1), "new").expect("a file");
        assert!(!folder.shadow.copy(), "all is copied");
        folder.check(&[None]);
    }

    #[test]
    fn an_uncopied_file_that_was_moved_or_got_another_mode_keeps_its_content() {
        let mut folder = open();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(folder.path(COUNT - 2), mode).expect("a mode");
        fs::rename(folder.path(COUNT - 1), folder.root.join("z")).expect("moved");
        let earlier = [COUNT - 2, COUNT - 1].map(|number| number.to_string());
        folder.check(&[Some(&earlier[0]), Some(&earlier[1])]);
    }

    #[test]
    fn contents_beyond_the_limit_are_left_out() {
        let mut folder = open();
        let (path, entry) = folder.shadow.entries.last_key_value().expect("a file");
        let bytes = entry.stat.bytes;
        assert!(wants_copy(path, entry, &mut { bytes }).is_some());
        assert!(wants_copy(path, entry, &mut { bytes - 1 }).is_none());
        folder.shadow.copy();
        assert!(!folder.shadow.is_copying());
    }
}
