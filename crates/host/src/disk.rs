//! Reads, replaces, moves and deletes files that no buffer holds, off every other thread.
//!
//! Invariants: operations on one path run one at a time, in the order they were issued; different
//! paths do not wait for each other. Each operation is answered by exactly one event, even if it
//! panics. Paths are compared as spelled: operations on two names of one file (a link) are not
//! ordered, but [`super::write`] never mixes the content of two writes.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::{Semaphore, watch};

use super::Kit;
use super::guard::guarded;
use super::held::{Held, open_file};
use super::open_files::OpenFiles;
use super::project::{self, Store};
use super::quiescence::Quiescence;
use super::refusal::Refusal;
use super::write::write;
use acp_core::event::Event;
use acp_core::spine::effect::{HardLinks, MayReplace};
use acp_core::spine::event::{DiskFile, DiskText, ReadError, Stamp, WriteError};
use acp_core::spine::pending::{Token, reply};
use acp_core::spine::project::FileState;
use acp_core::text::Text;
use acp_core::text::format::Format;
use acp_edge::panics::lock;
use acp_edge::paths::{is_missing, resolved};

/// An operation on a file.
#[derive(Debug)]
pub(super) enum Operation {
    Read {
        token: Token<reply::DiskRead>,
    },
    Write {
        token: Token<reply::DiskWritten>,
        roots: Vec<PathBuf>,
        over: Option<Stamp>,
        hard_links: HardLinks,
        text: Text,
        format: Format,
    },
    Delete {
        token: Token<reply::DiskWritten>,
        roots: Vec<PathBuf>,
        over: MayReplace,
    },
    Restore {
        token: Token<reply::DiskWritten>,
        roots: Vec<PathBuf>,
        state: FileState,
        over: MayReplace,
        hard_links: HardLinks,
    },
    Move {
        token: Token<reply::DiskWritten>,
        roots: Vec<PathBuf>,
        to: PathBuf,
    },
}

/// Maximum number of operations on the disk at once; each opens a few files.
const OPEN: usize = 4;

/// The operations that are queued or running.
#[derive(Debug, Clone)]
pub(super) struct Disk {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// A path has an entry while its worker runs.
    queues: Mutex<HashMap<PathBuf, VecDeque<Operation>>>,
    /// Number of running workers.
    busy: watch::Sender<usize>,
    /// Makes the next read panic (see [`super::HostConfig`]).
    panic: AtomicBool,
    file_cap: u64,
    /// The contents that file states refer to.
    store: Arc<Store>,
    /// Each operation on the disk holds one permit, so that many of them do not use up the
    /// descriptors.
    open: Semaphore,
}

impl Disk {
    pub(super) fn new(file_cap: u64, store: Arc<Store>, panic: bool) -> Self {
        Self {
            shared: Arc::new(Shared {
                queues: Mutex::default(),
                busy: watch::Sender::new(0),
                panic: AtomicBool::new(panic),
                file_cap,
                store,
                open: Semaphore::new(OPEN),
            }),
        }
    }

    /// Queues an operation; returns at once.
    pub(super) fn run(&self, path: PathBuf, operation: Operation, kit: &Kit) {
        match lock(&self.shared.queues).entry(path.clone()) {
            Entry::Occupied(mut queue) => {
                queue.get_mut().push_back(operation);
                return;
            }
            Entry::Vacant(place) => {
                place.insert(VecDeque::from([operation]));
            }
        }
        self.shared.busy.send_modify(|busy| *busy += 1);
        let (shared, kit_here) = (Arc::clone(&self.shared), kit.clone());
        kit.runtime.spawn(async move {
            while let Some(operation) = shared.next(&path) {
                let work = carry_out(operation, &path, &shared, &kit_here);
                guarded("a task of a file", &kit_here.inbox, work).await;
            }
            shared.busy.send_modify(|busy| *busy -= 1);
        });
    }

    /// Waits until no operation is queued or running.
    pub(super) async fn idle(&self) {
        // The sender is a field of `self.shared`, so it cannot be gone.
        let _ = self
            .shared
            .busy
            .subscribe()
            .wait_for(|&busy| busy == 0)
            .await;
    }
}

impl Shared {
    /// Takes the next operation on a path, or removes the path's queue if it is empty.
    fn next(&self, path: &Path) -> Option<Operation> {
        let mut queues = lock(&self.queues);
        let operation = queues.get_mut(path).and_then(VecDeque::pop_front);
        if operation.is_none() {
            queues.remove(path);
        }
        operation
    }

    /// Runs blocking work on the disk; `None` if it panicked.
    async fn blocking<T: Send + 'static>(
        &self,
        kit: &Kit,
        place: &'static str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        // The semaphore is never closed.
        let _permit = self.open.acquire().await;
        kit.blocking(place, work).await
    }
}

async fn carry_out(operation: Operation, path: &Path, shared: &Arc<Shared>, kit: &Kit) {
    let (file, here) = (path.to_owned(), Arc::clone(shared));
    let panicked = |done: &str| Refusal::Panic.words(path, done);
    let event = match operation {
        Operation::Read { token } => {
            let result = read_still(&file, shared, kit).await;
            Event::DiskRead {
                token,
                result: result.unwrap_or_else(|| Err(ReadError::Failed(panicked("read")))),
            }
        }
        Operation::Write {
            token,
            roots,
            over,
            hard_links,
            text,
            format,
        } => {
            let work = move || write(&file, &roots, over, hard_links, &text, format);
            let result = shared.blocking(kit, "writing a file", work).await;
            if let Some(Ok(Some(stamp))) = result {
                kit.writers.note_own_write(stamp);
            }
            Event::DiskWritten {
                token,
                result: result.unwrap_or_else(|| Err(panicked("written").into())),
            }
        }
        Operation::Delete { token, roots, over } => {
            let work = move || -> Result<_, WriteError> {
                let held = Held::find(&file, &roots);
                on_held(held, &file, "deleted", |file| {
                    match project::is_over(file, over).map_err(|it| it.words(file, "deleted"))? {
                        true => Ok(delete(file)?),
                        false => Err(WriteError::Stale),
                    }
                })?;
                Ok(None)
            };
            let result = shared.blocking(kit, "deleting a file", work).await;
            Event::DiskWritten {
                token,
                result: result.unwrap_or_else(|| Err(panicked("deleted").into())),
            }
        }
        Operation::Restore {
            token,
            roots,
            state,
            over,
            hard_links,
        } => {
            let work = move || -> Result<_, WriteError> {
                let held = match state.is_missing() {
                    true => Held::find(&file, &roots),
                    false => Held::make(&file, &roots),
                };
                let restore =
                    |file: &Path| project::restore(file, &state, over, hard_links, &here.store);
                on_held(held, &file, "restored", restore)?;
                Ok(acp_edge::paths::stamp(&file))
            };
            let result = shared.blocking(kit, "restoring a file", work).await;
            Event::DiskWritten {
                token,
                result: result.unwrap_or_else(|| Err(panicked("restored").into())),
            }
        }
        Operation::Move { token, roots, to } => {
            let work = move || -> Result<_, WriteError> {
                let held = Held::find(&file, &roots);
                on_held(held, &file, "moved", |from| {
                    let held = Held::make(&to, &roots);
                    on_held(held, &to, "restored", |to| Ok(project::move_to(from, to)?))
                })?;
                Ok(acp_edge::paths::stamp(&to))
            };
            let result = shared.blocking(kit, "moving a file", work).await;
            Event::DiskWritten {
                token,
                result: result.unwrap_or_else(|| Err(panicked("moved").into())),
            }
        }
    };
    kit.inbox.send(event);
}

/// Reads a file once it is quiescent, or once the time limit for that has passed; `None` if the
/// read panicked.
async fn read_still(
    path: &Path,
    shared: &Arc<Shared>,
    kit: &Kit,
) -> Option<Result<DiskFile, ReadError>> {
    let begun = Instant::now();
    let Quiescence { after, patience } = kit.writers.quiescence();
    loop {
        let (file, here) = (path.to_owned(), Arc::clone(shared));
        let writers = Arc::clone(&kit.writers);
        let is_urgent = begun.elapsed() >= patience;
        let work = move || {
            assert!(
                !here.panic.swap(false, Ordering::Relaxed),
                "asked to by ACP_TEST_PANIC"
            );
            let real = resolved(&file);
            let is_urgent = is_urgent || writers.has_timed_out(&real);
            // Taken before the read, so that a write during the read shows as a changed stamp.
            let stamp = acp_edge::paths::stamp(&file);
            // A pipe has no writer to wait for.
            if let Some(stamp) = stamp.filter(|_| !is_urgent && file.is_file()) {
                if writers.is_recent(&stamp) && !writers.catch_up() {
                    writers.note_shown(&real, &OpenFiles::list());
                }
                if let Some(wait) = writers.wait_full(&real, &stamp) {
                    return Err(wait);
                }
            }
            let content = read(&file, here.file_cap);
            if !is_urgent && stamp != acp_edge::paths::stamp(&file) {
                return Err(after);
            }
            Ok(content.map(|content| {
                // Not where the name led before: if a link was replaced, the file that was read is elsewhere.
                let mut found = content.unwrap_or_else(|| DiskFile::missing(&real));
                found.stamp = stamp;
                found
            }))
        };
        match shared.blocking(kit, "reading a file", work).await? {
            Ok(result) => return Some(result),
            Err(wait) => tokio::time::sleep(wait).await,
        }
    }
}

/// Carries out an operation in a file's folder, which is held open; a missing folder has no file.
fn on_held(
    held: Result<Held, Refusal>,
    path: &Path,
    done: &str,
    work: impl FnOnce(&Path) -> Result<(), WriteError>,
) -> Result<(), WriteError> {
    let held = match held {
        Err(Refusal::Io(error)) if is_missing(&error) && done == "deleted" => return Ok(()),
        Err(refusal) => return Err(refusal.words(path, done).into()),
        Ok(held) => held,
    };
    let result = work(&held.file());
    result.map_err(|error| {
        let error = match error {
            WriteError::Failed(sentence) => WriteError::Failed(held.named(&sentence)),
            WriteError::Stale => WriteError::Stale,
        };
        held.undo();
        error
    })
}

/// Reads a file; `None` if it does not exist (a broken link counts as missing). It has no stamp yet.
///
/// # Errors
/// A sentence with the path and the next step.
pub(super) fn read(path: &Path, cap: u64) -> Result<Option<DiskFile>, ReadError> {
    let (bytes, real, mode) = match read_bytes(path, cap) {
        Ok(read) => read,
        Err(Refusal::Io(error)) if is_missing(&error) => return Ok(None),
        Err(refusal @ (Refusal::Folder | Refusal::Special)) => {
            return Err(ReadError::Folder(refusal.words(path, "read")));
        }
        Err(refusal) => return Err(ReadError::Failed(refusal.words(path, "read"))),
    };
    let (format, text) = Format::decode(&bytes);
    Ok(Some(DiskFile {
        real,
        content: Some(DiskText { text, format }),
        stamp: None,
        mode: Some(mode),
    }))
}

/// Returns a file's bytes, its path with links resolved, and its permission bits.
fn read_bytes(path: &Path, cap: u64) -> Result<(Vec<u8>, PathBuf, u32), Refusal> {
    let (file, real) = open_file(path)?;
    let meta = file.metadata()?;
    let mode = meta.permissions().mode() & 0o7777;
    let bytes = usize::try_from(meta.len().min(cap));
    let mut bytes = Vec::with_capacity(bytes.unwrap_or(0));
    // The file may grow during the read.
    file.take(cap + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > cap {
        return Err(Refusal::TooLarge(cap));
    }
    Ok((bytes, real, mode))
}

/// Deletes the file at `path`. For a link, deletes the link and never its target, which may belong
/// to someone else. A missing file counts as deleted.
///
/// # Errors
/// A sentence with the path and the next step; nothing has changed in that case.
pub(super) fn delete(path: &Path) -> Result<(), String> {
    let deleted = fs::symlink_metadata(path)
        .map_err(Refusal::from)
        .and_then(|meta| match meta.is_dir() {
            true => Err(Refusal::Folder),
            false => Ok(fs::remove_file(path)?),
        });
    match deleted {
        Err(Refusal::Io(error)) if is_missing(&error) => Ok(()),
        Err(refusal) => Err(refusal.words(path, "deleted")),
        Ok(()) => Ok(()),
    }
}
