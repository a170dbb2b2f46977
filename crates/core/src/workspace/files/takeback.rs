//! Reads and writes that are taken back.
//!
//! Invariant: what has begun to change a file goes on and is answered by what came of it; all
//! else is answered with the error for it and changes nothing.

use super::write::Stage;
use super::{FileJob, Read, Write};
use crate::model::{Effects, Model};
use crate::questions::permission::was_cancelled;
use crate::spine::asker::Asker;

impl FileJob {
    fn is_of(&self, asker: &Asker) -> bool {
        match self {
            FileJob::Read(read) => read.asker == *asker,
            FileJob::Write(write) => write.asker == *asker,
        }
    }

    /// Lets the disk's answer change nothing any more; tells whether that was still possible.
    fn take_back(&mut self) -> bool {
        match self {
            FileJob::Read(Read { is_taken_back, .. })
            | FileJob::Write(Write {
                is_taken_back,
                stage: Stage::Reading,
                ..
            }) => !std::mem::replace(is_taken_back, true),
            FileJob::Write(_) => false,
        }
    }
}

impl Model {
    /// A request is taken back; tells whether it was one of these.
    pub(crate) fn file_taken_back(&mut self, asker: &Asker, fx: &mut Effects) -> bool {
        let is_it = |job: &FileJob| job.is_of(asker);
        let mut go_on = None;
        if let Some(at) = self.held.iter().position(is_it) {
            if let FileJob::Write(write) = self.held.remove(at) {
                go_on = Some(write.path);
            }
        } else if !self.writes.take_waiting(is_it) {
            match self.jobs.file_mut(is_it).map(FileJob::take_back) {
                Some(true) => {}
                Some(false) => return true,
                None => return false,
            }
        }
        self.reply_error(asker, was_cancelled(), fx);
        if let Some(path) = go_on {
            self.go_on_after(&path, fx);
        }
        true
    }
}
