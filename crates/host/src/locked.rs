//! File locks that end when they are dropped.
//!
//! Invariant: nothing holds a lock after its drop. A process that is being started has copies of all
//! open files until it runs its program, so closing a file would leave its lock to that copy.

use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut};

use rustix::fs::{FlockOperation, flock};

#[derive(Debug)]
pub(crate) struct Locked(File);

impl Locked {
    /// Locks a file.
    ///
    /// # Errors
    /// The system's error; `WouldBlock` if another process holds the lock and `operation` does not
    /// wait.
    pub(crate) fn new(file: File, operation: FlockOperation) -> io::Result<Self> {
        flock(&file, operation)?;
        Ok(Self(file))
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // Closing the file releases the lock otherwise, at the latest when the copies are closed.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

impl Deref for Locked {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut File {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_the_file_does_not_keep_the_lock() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lock");
        let exclusive = FlockOperation::NonBlockingLockExclusive;
        let open = || File::options().create(true).append(true).open(&path);
        let locked = Locked::new(open().expect("a file"), exclusive).expect("a lock");
        let copy = locked.try_clone().expect("a copy");
        let error = Locked::new(open().expect("a file"), exclusive).expect_err("it is locked");
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        drop(locked);
        Locked::new(open().expect("a file"), exclusive).expect("it is free");
        drop(copy);
    }
}
