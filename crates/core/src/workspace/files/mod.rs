//! What agents ask of files: reads answered from buffers first, writes merged into buffers or
//! carried out on disk.
//!
//! Invariants: a request gets exactly one response; writes to one path are carried out one after
//! another; what the user has typed is never replaced, only merged with.

mod buffer;
mod disk;
mod paths;
mod read;
mod takeback;
mod write;

pub use read::Read;
pub use write::{Write, WriteQueue};

use crate::model::{Effects, Model};
use crate::spine::event::{DiskFile, EditDone, EditError, Stamp, WriteError};

/// A request of an agent that waits for an effect.
#[derive(Debug)]
pub enum FileJob {
    Read(Read),
    Write(Write),
}

/// Whose text an edit of the client's brings into a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hand {
    Agent,
    Others,
    /// The user's, who has decided about what an agent wrote.
    Decision,
}

impl FileJob {
    /// Tells whose text the job's edit brings.
    pub fn hand(&self) -> Hand {
        match self {
            FileJob::Write(write) => write.hand(),
            FileJob::Read(_) => Hand::Agent,
        }
    }
}

impl Model {
    /// Goes on with what waited for a buffer to come in.
    pub(crate) fn resume_held(&mut self, fx: &mut Effects) {
        for job in std::mem::take(&mut self.held) {
            match job {
                FileJob::Read(read) => self.start_read(read, fx),
                FileJob::Write(write) => self.start_write(write, fx),
            }
        }
    }

    /// Goes on with a read or a write when the disk has answered.
    pub(crate) fn file_was_read(
        &mut self,
        job: FileJob,
        result: Result<DiskFile, String>,
        fx: &mut Effects,
    ) {
        match job {
            FileJob::Read(read) => self.read_from_disk(read, result, fx),
            FileJob::Write(write) => self.write_over(write, result, fx),
        }
    }

    /// Goes on with a write when Neovim has carried out its edit.
    pub(crate) fn file_was_edited(
        &mut self,
        job: FileJob,
        result: Result<EditDone, EditError>,
        fx: &mut Effects,
    ) {
        if let FileJob::Write(write) = job {
            self.write_was_merged(write, result, fx);
        }
    }

    /// Ends a write when the disk has the file.
    pub(crate) fn file_was_written(
        &mut self,
        job: FileJob,
        result: Result<Option<Stamp>, WriteError>,
        fx: &mut Effects,
    ) {
        if let FileJob::Write(write) = job {
            self.write_was_saved(write, result, fx);
        }
    }
}
