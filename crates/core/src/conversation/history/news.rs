//! Which entries of a transcript are to be written down.
//!
//! Invariant: each entry that has changed since it was written down is in here, and becomes ready
//! when nothing more is to come of it for now: so what streams is written once.

use std::collections::BTreeSet;

#[derive(Debug, Default)]
pub struct News {
    changed: BTreeSet<usize>,
    ready: BTreeSet<usize>,
}

impl News {
    /// An entry is new, or another one than it was.
    pub fn touch(&mut self, index: usize) {
        if !self.ready.contains(&index) {
            self.changed.insert(index);
        }
    }

    /// An entry is done, for now.
    pub fn settle(&mut self, index: usize) {
        if self.changed.remove(&index) {
            self.ready.insert(index);
        }
    }

    /// Nothing is under way.
    pub fn settle_all(&mut self) {
        self.ready.append(&mut self.changed);
    }

    pub fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    pub fn take(&mut self) -> BTreeSet<usize> {
        std::mem::take(&mut self.ready)
    }
}
