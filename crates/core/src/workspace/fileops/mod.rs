//! The one door to a file's text: whatever changes a file, or reads it for an agent, goes through
//! here.
//!
//! Each file has a lane of operations, carried out one after another. An operation is an
//! [`Intent`]; its `plan` says what to do with the file as it is now, and its `landed` what to
//! record when that is done. The executor does the rest: it reads the disk, has the editor or the
//! host make the change, lets an operation plan again when the file has changed meanwhile, and
//! reports failures.
//!
//! Invariants: of two operations on one file at most one is being carried out; every operation
//! ends, after [`MAX_TRIES`] attempts at most; nothing is overwritten that the plan did not know.

mod intent;
mod lane;
mod plan;
mod run;

pub(crate) use intent::{Intent, Kind, Operation};
pub(crate) use lane::{FileOps, LaneId};
pub(crate) use plan::{BufferEdit, Change, FileNow, Landing, Next, Opens, Outcome, Plan};

use std::path::Path;

use crate::spine::event::SaveError;
use crate::spine::ids::SessionKey;

/// How often an operation is planned again because its file changed meanwhile.
pub(crate) const MAX_TRIES: u32 = 100;

/// Who is the author of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    /// The agent of this session.
    Agent(SessionKey),
    /// The user, another program, or a plugin.
    Others,
    /// The user, by a decision about what an agent wrote.
    Decision,
}

impl Author {
    /// Returns the author of a change on disk.
    pub fn on_disk(by: Option<SessionKey>) -> Self {
        by.map_or(Author::Others, Author::Agent)
    }
}

/// Returns the sentence about an operation that has failed: on which file, and why.
pub(crate) fn failure(path: &Path, why: &str) -> String {
    format!("{}: {why}", path.display())
}

/// Returns the sentence about a buffer that was changed, and not saved.
pub(crate) fn not_saved(path: &Path, why: SaveError) -> String {
    let why = match why {
        SaveError::Refused(why) => why,
        SaveError::Stale => {
            "somebody else has changed it on disk; `:checktime` loads that".to_owned()
        }
    };
    format!("Not saved: {why}. ({})", path.display())
}
