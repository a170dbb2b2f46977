//! Prunes old checkpoints, then contents that nothing refers to.
//!
//! Invariant: data that a remaining checkpoint, a stored review or a running Neovim may need is
//! never removed; in doubt, as when something cannot be read, it stays.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::FlockOperation;

use super::checkpoints::{self, projects};
use super::lease::{built_upon, unless_closed};
use super::manifest::decode;
use super::reviews;
use super::store::{Store, Sync, TEMP, YOUNG, blob_at, make_private, write_private};
use crate::locked::Locked;
use acp_core::spine::project::Blob;

/// A lock, shared by Neovims that start to build on a checkpoint, exclusive for the one that
/// prunes.
#[derive(Debug)]
pub(super) struct PruneLock {
    _lock: Locked,
}

/// The time to wait for a Neovim that prunes: it may be suspended.
const PRUNING: Duration = Duration::from_secs(2);

/// Keeps other Neovims from pruning; waits for one that does.
///
/// # Errors
/// The system's error, or it takes too long.
pub(super) fn share_lock(store: &Store) -> io::Result<PruneLock> {
    let until = Instant::now() + PRUNING;
    loop {
        match lock(store, FlockOperation::NonBlockingLockShared) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(10));
            }
            done => return done,
        }
    }
}

/// Prunes, unless another Neovim is pruning or has done so recently.
///
/// # Errors
/// An error of the shared folders; single files that cannot be removed stay.
pub(super) fn prune(store: &Store) -> io::Result<()> {
    let done = store.folder().join("pruned");
    let last = fs::metadata(&done).and_then(|meta| meta.modified());
    if last.is_ok_and(|last| age(last) < store.limits.prune_every) {
        return Ok(());
    }
    let Ok(_alone) = lock(store, FlockOperation::NonBlockingLockExclusive) else {
        return Ok(());
    };
    let mut pruning = Pruning::look(store)?;
    pruning.drop_checkpoints()?;
    pruning.drop_contents();
    write_private(&done, b"", Sync::Later)
}

fn lock(store: &Store, operation: FlockOperation) -> io::Result<PruneLock> {
    make_private(store.folder())?;
    let path = store.folder().join("lock");
    let file = File::options()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .open(path)?;
    let lock = Locked::new(file, operation)?;
    Ok(PruneLock { _lock: lock })
}

#[derive(Debug)]
struct Pruning<'a> {
    store: &'a Store,
    contents: HashMap<Blob, Content>,
    checkpoints: Vec<Checkpoint>,
    needed: HashSet<Blob>,
    /// Younger contents may be needed by a Neovim that has not named them yet.
    horizon: SystemTime,
}

#[derive(Debug)]
struct Content {
    path: PathBuf,
    bytes: u64,
}

#[derive(Debug)]
struct Checkpoint {
    path: PathBuf,
    taken: SystemTime,
    /// A Neovim builds on it.
    in_use: bool,
    /// Number of newer checkpoints of its project.
    newer: usize,
}

impl<'a> Pruning<'a> {
    fn look(store: &'a Store) -> io::Result<Self> {
        let mut pruning = Self {
            store,
            contents: HashMap::new(),
            checkpoints: Vec::new(),
            needed: HashSet::new(),
            horizon: SystemTime::now(),
        };
        for folder in folders(&projects(store))? {
            pruning.look_at_project(&folder)?;
        }
        for shard in folders(&store.blobs())? {
            pruning.look_at_contents(&shard)?;
        }
        // For a while, storing an existing content again does not reset its age.
        pruning.horizon -= YOUNG;
        Ok(pruning)
    }

    fn look_at_project(&mut self, folder: &Path) -> io::Result<()> {
        let used = built_upon(folder)?;
        let all = checkpoints::all(folder)?;
        let count = all.len();
        for (index, path) in all.into_iter().enumerate() {
            let Some(meta) = unless_closed(fs::metadata(&path))? else {
                continue;
            };
            let taken = meta.modified()?;
            let since = used.get(&path).copied();
            let in_use = since.is_some();
            if let Some(begun) = since {
                // The modification time is too late: another Neovim that opens the project resets it.
                let written = || checkpoints::written(&path).unwrap_or(taken);
                self.horizon = self.horizon.min(begun.unwrap_or_else(written));
            }
            self.checkpoints.push(Checkpoint {
                path,
                taken,
                in_use,
                newer: count - 1 - index,
            });
        }
        for (path, meta) in list(folder)? {
            if path.extension().is_some_and(|end| end == "reviews") {
                // An unknown format may belong to a newer version; nothing is pruned in that case.
                self.needed.extend(reviews::needs(&path)?);
            }
            drop_leftover(&path, &meta);
        }
        Ok(())
    }

    fn look_at_contents(&mut self, shard: &Path) -> io::Result<()> {
        let name = shard.file_name().unwrap_or_default().to_string_lossy();
        for (path, meta) in list(shard)? {
            let rest = path.file_name().unwrap_or_default().to_string_lossy();
            match blob_at(&name, &rest) {
                Some(blob) => {
                    let bytes = meta.len();
                    self.contents.insert(blob, Content { path, bytes });
                }
                None => drop_leftover(&path, &meta),
            }
        }
        Ok(())
    }

    /// Removes checkpoints beyond the limits of number, age and total size, oldest first; records
    /// what the others need.
    ///
    /// # Errors
    /// What one needs is unknown.
    fn drop_checkpoints(&mut self) -> io::Result<()> {
        let limits = &self.store.limits;
        // Those in use come first and stay, then the newest.
        self.checkpoints
            .sort_by_key(|one| (!one.in_use, std::cmp::Reverse(one.taken)));
        let mut bytes: u64 = self.bytes(&self.needed);
        let mut is_full = false;
        for one in std::mem::take(&mut self.checkpoints) {
            let is_past = one.newer >= limits.checkpoints || age(one.taken) > limits.age;
            let bytes_of_it = unless_closed(fs::read(&one.path))?;
            let blobs = bytes_of_it.and_then(|it| decode(&it)).unwrap_or_default();
            let blobs = blobs.values().filter_map(|entry| entry.blob());
            let new: HashSet<Blob> = blobs.filter(|blob| !self.needed.contains(blob)).collect();
            let more = self.bytes(&new);
            is_full |= bytes + more > limits.store_bytes;
            if !one.in_use && (is_past || is_full) {
                let _ = fs::remove_file(&one.path);
                if let Some(folder) = one.path.parent() {
                    // Succeeds only if the folder is empty.
                    let _ = fs::remove_dir(folder);
                }
                continue;
            }
            bytes += more;
            self.needed.extend(new);
        }
        Ok(())
    }

    fn drop_contents(&self) {
        for (blob, content) in &self.contents {
            if !self.needed.contains(blob) {
                let _ = drop_content(&content.path, self.horizon);
            }
        }
    }

    fn bytes(&self, blobs: &HashSet<Blob>) -> u64 {
        let contents = blobs.iter().filter_map(|blob| self.contents.get(blob));
        contents.map(|content| content.bytes).sum()
    }
}

/// Removes a content unless it is younger than `horizon`.
///
/// It is renamed first: a Neovim that stores the same content at this moment resets its age and
/// then checks that it still exists, so one of the two notices the other.
fn drop_content(path: &Path, horizon: SystemTime) -> io::Result<()> {
    let is_young = |path: &Path| Ok::<_, io::Error>(fs::metadata(path)?.modified()? >= horizon);
    if is_young(path)? {
        return Ok(());
    }
    let mut name = std::ffi::OsString::from(TEMP);
    name.push(path.file_name().unwrap_or_default());
    let aside = path.with_file_name(name);
    fs::rename(path, &aside)?;
    match is_young(&aside)? {
        true => fs::rename(&aside, path),
        false => fs::remove_file(&aside),
    }
}

/// Removes an unfinished file of a Neovim that was killed.
fn drop_leftover(path: &Path, meta: &Metadata) {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let is_old = meta.modified().is_ok_and(|then| age(then) > YOUNG);
    if name.starts_with(TEMP.as_bytes()) && is_old {
        let _ = fs::remove_file(path);
    }
}

/// Returns the folders in a folder; a file manager may leave files of its own there.
fn folders(folder: &Path) -> io::Result<impl Iterator<Item = PathBuf>> {
    let all = list(folder)?.into_iter();
    Ok(all.filter_map(|(path, meta)| meta.is_dir().then_some(path)))
}

/// Returns the entries of a folder; none if it does not exist.
fn list(folder: &Path) -> io::Result<Vec<(PathBuf, Metadata)>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut known = Vec::new();
    for entry in entries {
        let entry = entry?;
        let meta = unless_closed(entry.metadata())?;
        known.extend(meta.map(|meta| (entry.path(), meta)));
    }
    Ok(known)
}

fn age(time: SystemTime) -> std::time::Duration {
    time.elapsed().unwrap_or_default()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::project::lease::Lease;
    use crate::project::limits::Limits;
    use crate::project::manifest::{Entries, Entry, Stat, What};
    use crate::tests::exhausted::{is_alone, with_descriptors};

    const ROOT: &str = "/p";

    /// Returns a store that may be pruned at any time.
    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().expect("a folder");
        let limits = Limits {
            prune_every: Duration::ZERO,
            ..Limits::default()
        };
        let store = Store::new(folder.path(), limits);
        (folder, store)
    }

    /// Keeps a checkpoint of the project with one file, and returns its path.
    fn keep(store: &Store, text: &str) -> PathBuf {
        let entry = Entry {
            stat: Stat::of(&fs::metadata("/").expect("a folder")),
            what: What::Text(store.put(text.as_bytes()).expect("stored")),
            settled: true,
        };
        let entries = Entries::from([("a".into(), entry)]);
        checkpoints::keep(store, Path::new(ROOT), &entries).expect("kept")
    }

    fn age(path: &Path) {
        let then = SystemTime::now() - Duration::from_secs(60 * 24 * 60 * 60);
        let file = File::open(path).expect("a file");
        file.set_modified(then).expect("a time");
    }

    fn age_contents(store: &Store) {
        for shard in folders(&store.blobs()).expect("shards") {
            for (blob, _) in list(&shard).expect("blobs") {
                age(&blob);
            }
        }
    }

    #[test]
    fn what_an_exhausted_system_cannot_read_stays() {
        if !is_alone("project::prune::tests::what_an_exhausted_system_cannot_read_stays") {
            return;
        }
        let (_folder, store) = store();
        // One is old and in use, the other young.
        let (used, last) = (keep(&store, "used"), keep(&store, "last"));
        age(&used);
        let lease = Lease::begin(&checkpoints::folder(&store, Path::new(ROOT))).expect("a lease");
        lease.build_upon(&used).expect("it is named");
        age_contents(&store);
        // As a file manager does.
        for folder in [projects(&store), store.blobs()] {
            fs::write(folder.join(".DS_Store"), "").expect("a file");
        }
        for count in 0..8 {
            // Ends with an error, or not.
            let _ = with_descriptors(count, || prune(&store));
            for text in ["used", "last"] {
                let kept = store.get(super::super::store::name(text.as_bytes()));
                assert!(kept.is_ok(), "{text} with {count} descriptors");
            }
            assert!(used.exists() && last.exists(), "with {count} descriptors");
        }
        prune(&store).expect("it is pruned");
        drop(lease);
        prune(&store).expect("it is pruned");
        assert!(!used.exists() && last.exists());
    }

    #[test]
    fn contents_of_a_running_neovim_stay_when_another_one_opens_its_checkpoint() {
        let (_folder, store) = store();
        let root = Path::new(ROOT);
        let kept = keep(&store, "at the beginning");
        let ninety_days = 90 * 24 * 60 * 60 * 1_000_000_000;
        let then = crate::project::reading::now() - ninety_days;
        let checkpoint = kept.with_file_name(format!("{then:020}-1-0.manifest"));
        fs::rename(kept, &checkpoint).expect("renamed");
        let lease = Lease::begin(&checkpoints::folder(&store, root)).expect("a lease");
        lease.build_upon(&checkpoint).expect("it is named");
        let old = format!("{then:020}-1.life");
        fs::rename(
            lease.reviews().with_extension("life"),
            checkpoint.with_file_name(old),
        )
        .expect("renamed");
        let since = store.put(b"since then").expect("stored");
        age_contents(&store);
        let (opened, _) = checkpoints::last(&store, root).expect("a checkpoint");
        assert_eq!(opened, checkpoint);
        prune(&store).expect("it is pruned");
        assert!(store.get(since).is_ok());
        drop(lease);
        prune(&store).expect("it is pruned");
        assert!(store.get(since).is_err());
    }
}
