//! Nesting of entries: a sub-agent's entries are shown below the call that started it, wherever in
//! the stream they arrive.
//!
//! Invariants: an entry has at most one parent, and no entry is its own ancestor; the children of a
//! call are in the order of their entries.

use std::collections::{BTreeMap, HashMap};

use acp::ToolCallId;

/// The parents and children of a transcript's entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Family {
    parents: HashMap<usize, usize>,
    children: HashMap<usize, Vec<usize>>,
    /// Entries whose parent has not arrived yet.
    waiting: BTreeMap<ToolCallId, Vec<usize>>,
}

impl Family {
    /// Returns the tool call that is an entry's parent.
    pub fn parent(&self, entry: usize) -> Option<usize> {
        self.parents.get(&entry).copied()
    }

    /// Returns the direct children of a tool call.
    pub fn children(&self, entry: usize) -> &[usize] {
        self.children.get(&entry).map_or(&[], Vec::as_slice)
    }

    /// Returns the ancestors of an entry, nearest first.
    pub fn above(&self, entry: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.parent(entry), |&above| self.parent(above))
    }

    /// Sets the parent of an entry; returns whether it changed. A call cannot become a child of one
    /// of its descendants.
    pub fn belong(&mut self, entry: usize, parent: usize) -> bool {
        if self.parent(entry) == Some(parent)
            || entry == parent
            || self.above(parent).any(|above| above == entry)
        {
            return false;
        }
        if let Some(before) = self.parents.insert(entry, parent)
            && let Some(siblings) = self.children.get_mut(&before)
        {
            siblings.retain(|sibling| *sibling != entry);
        }
        let siblings = self.children.entry(parent).or_default();
        let at = siblings.partition_point(|sibling| *sibling < entry);
        siblings.insert(at, entry);
        true
    }

    /// Gives up the parents that have not arrived.
    pub fn forget_waiting(&mut self) {
        self.waiting.clear();
    }

    /// Records the parent of an entry before that call has arrived.
    pub fn wait(&mut self, entry: usize, parent: ToolCallId) {
        let waiting = self.waiting.entry(parent).or_default();
        if !waiting.contains(&entry) {
            waiting.push(entry);
        }
    }

    /// Removes and returns the entries that waited for a call.
    pub fn take_waiting(&mut self, id: &ToolCallId) -> Vec<usize> {
        self.waiting.remove(id).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_call_never_belongs_to_what_belongs_to_it() {
        let mut family = Family::default();
        assert!(family.belong(1, 0));
        assert!(family.belong(2, 1));
        assert!(!family.belong(0, 2));
        assert!(!family.belong(1, 1));
        assert!(!family.belong(2, 1), "it is no news");
        assert!(family.belong(2, 0));
        assert_eq!(family.children(0), [1, 2]);
        assert!(family.children(1).is_empty());
    }

    proptest! {
        #[test]
        fn everything_is_below_one_top(links in prop::collection::vec((0..8_usize, 0..8_usize), 0..40)) {
            let mut family = Family::default();
            for (entry, parent) in links {
                family.belong(entry, parent);
            }
            for entry in 0..8 {
                prop_assert!(family.above(entry).count() < 8);
                prop_assert!(family.children(entry).is_sorted());
                for child in family.children(entry) {
                    prop_assert_eq!(family.parent(*child), Some(entry));
                }
            }
        }
    }
}
