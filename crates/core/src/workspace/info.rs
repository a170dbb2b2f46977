//! What lists and the public API show of hunks and proposals.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::spine::ids::SessionKey;
use crate::spine::project::Whole;
use crate::text::Lines;
use crate::workspace::ledger::Review;
use acp::path_as_text;

/// A file's changes that the user has not decided about yet.
#[derive(Debug, Clone)]
pub struct ReviewInfo {
    pub path: PathBuf,
    pub session: SessionKey,
    pub hunks: Vec<HunkInfo>,
    /// Changes of the file as a whole, besides its hunks.
    pub whole: Vec<Whole>,
}

/// A file's changes that agents propose and have not written yet.
#[derive(Debug, Clone)]
pub struct ProposalInfo {
    pub path: PathBuf,
    /// `row` and `count` are those of the lines that would be removed.
    pub hunks: Vec<HunkInfo>,
}

/// A hunk: rows are 0-based, `old` and `new` are its lines.
#[derive(Debug, Clone, Serialize)]
pub struct HunkInfo {
    #[serde(serialize_with = "path_as_text")]
    pub path: PathBuf,
    pub row: usize,
    pub count: usize,
    pub old: Lines,
    pub new: Lines,
    pub state: &'static str,
}

impl HunkInfo {
    /// Returns the hunks of one file.
    pub fn of(path: &Path, review: &Review) -> Vec<HunkInfo> {
        let hunks = review.hunks().iter();
        hunks
            .map(|hunk| HunkInfo {
                path: path.to_owned(),
                row: hunk.new.start,
                count: hunk.new.len(),
                old: Lines::of(review.base(), hunk.old.clone()),
                new: Lines::of(review.current(), hunk.new.clone()),
                state: if hunk.conflict.is_some() {
                    "conflict"
                } else {
                    "pending"
                },
            })
            .collect()
    }
}
