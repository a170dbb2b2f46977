//! Reads, replaces, moves and deletes files that no buffer holds, off every other thread.
//!
//! Invariants: operations on one path run one at a time, in the order they were issued; different
//! paths do not wait for each other. Each operation is answered by exactly one event, even if it
//! panics. Paths are compared as spelled: operations on two names of one file (a link) are not
//! ordered, but [`super::write`] never mixes the content of two writes.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rustix::fs::{Mode, OFlags};
use tokio::sync::watch;

use super::Kit;
use super::guard::guarded;
use super::project::{self, Store};
use super::quiescence::Quiescence;
use super::write::write;
use acp_core::event::Event;
use acp_core::spine::event::{DiskFile, DiskText, Stamp, WriteError};
use acp_core::spine::pending::{Token, reply};
use acp_core::spine::project::FileState;
use acp_core::text::Text;
use acp_core::text::format::Format;
use acp_edge::paths::is_missing;

/// An operation on a file.
#[derive(Debug)]
pub(super) enum Operation {
    Read {
        token: Token<reply::DiskRead>,
    },
    Write {
        token: Token<reply::DiskWritten>,
        over: Option<Stamp>,
        text: Text,
        format: Format,
    },
    Delete {
        token: Token<reply::DiskWritten>,
    },
    Restore {
        token: Token<reply::DiskWritten>,
        state: FileState,
    },
    Move {
        token: Token<reply::DiskWritten>,
        to: PathBuf,
    },
}

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
            }),
        }
    }

    /// Queues an operation; returns at once.
    pub(super) fn run(&self, path: PathBuf, operation: Operation, kit: &Kit) {
        match self.shared.lock().entry(path.clone()) {
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
        let mut queues = self.lock();
        let operation = queues.get_mut(path).and_then(VecDeque::pop_front);
        if operation.is_none() {
            queues.remove(path);
        }
        operation
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, VecDeque<Operation>>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
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
                result: result.unwrap_or_else(|| Err(panicked("read"))),
            }
        }
        Operation::Write {
            token,
            over,
            text,
            format,
        } => {
            let work = move || write(&file, over, &text, format);
            let result = kit.blocking("writing a file", work).await;
            if let Some(Ok(Some(stamp))) = result {
                kit.writers.note_own_write(stamp);
            }
            Event::DiskWritten {
                token,
                result: result.unwrap_or_else(|| Err(panicked("written").into())),
            }
        }
        Operation::Delete { token } => {
            let work = move || -> Result<_, WriteError> {
                delete(&file)?;
                Ok(None)
            };
            let result = kit.blocking("deleting a file", work).await;
            Event::DiskWritten {
                token,
                result: result.unwrap_or_else(|| Err(panicked("deleted").into())),
            }
        }
        Operation::Restore { token, state } => {
            let work = move || -> Result<_, WriteError> {
                project::restore(&file, &state, &here.store)?;
                Ok(acp_edge::paths::stamp(&file))
            };
            let result = kit.blocking("restoring a file", work).await;
            Event::DiskWritten {
                token,
                result: result.unwrap_or_else(|| Err(panicked("restored").into())),
            }
        }
        Operation::Move { token, to } => {
            let work = move || -> Result<_, WriteError> {
                project::move_to(&file, &to)?;
                Ok(acp_edge::paths::stamp(&to))
            };
            let result = kit.blocking("moving a file", work).await;
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
) -> Option<Result<DiskFile, String>> {
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
            let real = acp_edge::paths::resolved(&file);
            let is_urgent = is_urgent || writers.has_timed_out(&real);
            // Taken before the read, so that a write during the read shows as a changed stamp.
            let stamp = acp_edge::paths::stamp(&file);
            if let Some(stamp) = stamp.filter(|_| !is_urgent) {
                if writers.is_recent(&stamp) {
                    writers.catch_up();
                }
                if let Some(wait) = writers.wait_full(&real, &stamp) {
                    return Err(wait);
                }
            }
            let content = read(&file, here.file_cap);
            if !is_urgent && stamp != acp_edge::paths::stamp(&file) {
                return Err(after);
            }
            Ok(content.map(|content| DiskFile {
                real,
                content,
                stamp,
            }))
        };
        match kit.blocking("reading a file", work).await? {
            Ok(result) => return Some(result),
            Err(wait) => tokio::time::sleep(wait).await,
        }
    }
}

/// Reads a file; `None` if it does not exist (a broken link counts as missing).
///
/// # Errors
/// A sentence with the path and the next step.
pub(super) fn read(path: &Path, cap: u64) -> Result<Option<DiskText>, String> {
    let bytes = match read_bytes(path, cap) {
        Ok(bytes) => bytes,
        Err(Refusal::Io(error)) if is_missing(&error) => return Ok(None),
        Err(refusal) => return Err(refusal.words(path, "read")),
    };
    let (format, text) = Format::decode(&bytes);
    Ok(Some(DiskText { text, format }))
}

fn read_bytes(path: &Path, cap: u64) -> Result<Vec<u8>, Refusal> {
    // Checked before opening, because opening a device can have side effects; opened without
    // blocking and checked again, because the path may have become a pipe in between.
    Refusal::check(&fs::metadata(path)?)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from)?);
    let meta = file.metadata()?;
    Refusal::check(&meta)?;
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len().min(cap)).unwrap_or(0));
    // The file may grow during the read.
    file.take(cap + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > cap {
        return Err(Refusal::TooLarge(cap));
    }
    Ok(bytes)
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

/// Why an operation was refused or failed.
#[derive(Debug)]
pub(super) enum Refusal {
    Io(io::Error),
    Folder,
    /// A pipe, a socket or a device.
    Special,
    TooLarge(u64),
    /// The file's mode has no write permission.
    ReadOnly,
    /// The encoding cannot represent this character.
    Unencodable(char, &'static str),
    /// Only Neovim can convert this encoding.
    ForeignEncoding,
    /// This client panicked.
    Panic,
}

impl Refusal {
    /// Refuses everything that is not a regular file.
    pub(super) fn check(meta: &fs::Metadata) -> Result<(), Self> {
        match meta.file_type() {
            kind if kind.is_file() => Ok(()),
            kind if kind.is_dir() => Err(Refusal::Folder),
            _ => Err(Refusal::Special),
        }
    }

    /// Returns the sentence for the user and the agent; `done` is a participle such as "read" or
    /// "written".
    pub(super) fn words(&self, path: &Path, done: &str) -> String {
        let why = match self {
            Refusal::Io(error) => match error.kind() {
                io::ErrorKind::PermissionDenied => {
                    "permission denied; check the permissions of the file and its folder".into()
                }
                io::ErrorKind::ReadOnlyFilesystem => {
                    "its file system is read-only; choose a file elsewhere".into()
                }
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    format!("{error}; free some space and try again")
                }
                io::ErrorKind::NotADirectory => {
                    "a part of its path is a file, not a folder; choose another path".into()
                }
                _ => format!("{error}; check the path and try again"),
            },
            Refusal::Folder => "it is a folder; choose a file in it".into(),
            Refusal::Special => "it is not a regular file; choose one that is".into(),
            Refusal::TooLarge(cap) => {
                format!(
                    "it is larger than {} MiB; read a part of it with a command",
                    cap >> 20
                )
            }
            Refusal::ReadOnly => "it is read-only; run `chmod u+w` on it to allow changes".into(),
            Refusal::Unencodable(c, encoding) => format!(
                "{encoding}, the file's encoding, cannot represent {c:?} (U+{:04X}); \
                 leave it out, or convert the file to UTF-8 first",
                u32::from(*c)
            ),
            Refusal::ForeignEncoding => {
                "only Neovim can write its encoding; open it in a buffer first".into()
            }
            Refusal::Panic => "an internal error in acp.nvim; see the log (:Acp log)".into(),
        };
        format!("{} was not {done}: {why}.", path.display())
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Refusal::Io(error)
    }
}
