//! The executor of file operations: every change of a file, and every read for an agent.
//!
//! Each file has a lane of operations, first in, first out. An operation is an [`Intent`]; its
//! `plan` chooses the next step for the file in its present state, and its `landed` records the
//! result. The executor does the rest: it reads the disk, has the editor or the host make the
//! change, plans again if the file has changed since, and reports failures.
//!
//! Invariants: a file has at most one active operation; every operation ends, after [`MAX_TRIES`]
//! retries at most; no text is overwritten that the plan has not seen.

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

/// The maximum number of times an operation is planned again because its file has changed.
pub(crate) const MAX_TRIES: u32 = 100;

/// The author of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    /// The agent of this session.
    Agent(SessionKey),
    /// The user, another program, or a plugin.
    Others,
    /// The user, by a decision about an agent's change.
    Decision,
    /// The agent, whose lines the user takes by accepting a conflict.
    Taken,
}

impl Author {
    /// Returns the author of a change on disk.
    pub fn on_disk(by: Option<SessionKey>) -> Self {
        by.map_or(Author::Others, Author::Agent)
    }
}

/// Returns the report of a failed operation.
pub(crate) fn failure(path: &Path, why: &str) -> String {
    format!("{}: {why}", path.display())
}

/// Returns the report of a buffer that was changed but not saved.
pub(crate) fn not_saved(path: &Path, why: SaveError) -> String {
    let why = match why {
        SaveError::Refused(why) => why,
        SaveError::Stale => {
            "another program has changed it on disk, or deleted it; what it wrote is merged into \
             the buffer, then `:write` saves all"
                .to_owned()
        }
    };
    format!("Not saved: {why}. ({})", path.display())
}
