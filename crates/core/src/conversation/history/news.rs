//! The entries of a transcript that must be written to the record.
//!
//! Invariant: each entry that has changed since it was written is listed here, unless it was passed
//! over, and becomes ready when it is complete for now, so a streamed entry is written once.

use std::collections::BTreeSet;

#[derive(Debug, Default)]
pub struct Unwritten {
    changed: BTreeSet<usize>,
    ready: BTreeSet<usize>,
    /// Entries that are not written, however they change.
    passed: BTreeSet<usize>,
}

impl Unwritten {
    /// Marks an entry as new or changed.
    pub fn touch(&mut self, index: usize) {
        if !self.passed.contains(&index) && !self.ready.contains(&index) {
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

    /// Skips entries, even if they change.
    pub fn pass_over(&mut self, entries: impl Iterator<Item = usize>) {
        self.settle_all();
        self.passed = entries.collect();
        let passed = &self.passed;
        self.ready.retain(|index| !passed.contains(index));
    }

    pub fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    pub fn take(&mut self) -> BTreeSet<usize> {
        std::mem::take(&mut self.ready)
    }
}
