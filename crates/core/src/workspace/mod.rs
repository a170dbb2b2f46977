//! Files: mirrors of buffers, what agents read and write, changes on disk, and their review.

pub(crate) mod changes;
pub mod documents;
pub mod feedback;
pub(crate) mod fileops;
pub mod files;
pub mod hunkview;
pub mod ledger;
pub mod proposals;
pub mod reviews;
pub mod tracked;
pub(crate) mod window;
