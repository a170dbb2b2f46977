//! The entries of a transcript that must be written to the record.
//!
//! Invariant: each entry that has changed since it was written is listed here, and becomes ready
//! when it is complete for now, so a streamed entry is written once.

use std::collections::BTreeSet;

#[derive(Debug, Default)]
pub struct Unwritten {
    changed: BTreeSet<usize>,
    ready: BTreeSet<usize>,
    /// The record has the entries before this one, in its own words.
    told: usize,
}

impl Unwritten {
    /// Marks an entry as new or changed.
    pub fn touch(&mut self, index: usize) {
        if index >= self.told && !self.ready.contains(&index) {
            self.changed.insert(index);
        }
    }

    /// Marks an entry as complete for now.
    pub fn settle(&mut self, index: usize) {
        if self.changed.remove(&index) {
            self.ready.insert(index);
        }
    }

    /// Marks all entries as complete.
    pub fn settle_all(&mut self) {
        self.ready.append(&mut self.changed);
    }

    /// Leaves out all entries before this one, also when they change.
    pub fn pass_over(&mut self, until: usize) {
        self.settle_all();
        self.ready = self.ready.split_off(&until);
        self.told = until;
    }

    pub fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    pub fn take(&mut self) -> BTreeSet<usize> {
        std::mem::take(&mut self.ready)
    }
}
