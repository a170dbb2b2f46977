//! Files: mirrors of buffers, what agents read and write, changes on disk, and their review.
//!
//! Owns each session's access to files ([`Folders`]) and the text it has seen. Every change of a file
//! is an operation of `fileops`. Reports to the rooms above by [`Signal`]s.

pub(crate) mod changes;
pub mod documents;
pub mod event;
pub mod feedback;
pub(crate) mod fileops;
pub mod files;
pub mod hunkview;
pub mod info;
pub(crate) mod jobs;
pub mod ledger;
pub mod proposals;
pub mod reviews;
mod sessions;
mod signal;
pub mod tracked;
pub(crate) mod window;

use std::collections::BTreeMap;

use self::changes::Changes;
use self::documents::Documents;
use self::fileops::FileOps;
use self::jobs::Jobs;
use self::proposals::Proposals;
use self::reviews::Reviews;
pub use self::sessions::Folders;
use self::sessions::SessionFiles;
pub use self::signal::{FileEdit, Signal};
use self::tracked::Tracked;
use self::window::Windows;
use crate::spine::ids::SessionKey;

/// The state of this room.
#[derive(Debug, Default)]
pub struct Workspace {
    pub documents: Documents,
    pub reviews: Reviews,
    pub proposals: Proposals,
    pub(crate) fileops: FileOps,
    pub(crate) changes: Changes,
    pub(crate) windows: Windows,
    pub(crate) tracked: Tracked,
    pub(crate) jobs: Jobs,
    /// Rejections are reported to the agent.
    pub feedback: bool,
    sessions: BTreeMap<SessionKey, SessionFiles>,
    signals: Vec<Signal>,
}
