//! The order of entries on the screen: as they began, except that the children of a tool call are
//! placed between the call's own lines and its final blank line.
//!
//! Invariant: each entry has a head, and a tail after all its descendants; the order depends only
//! on the entries and their parents.

use std::ops::Range;

use crate::conversation::family::Family;

/// A place in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// An entry's own lines.
    Head(usize),
    /// The end of an entry and all its descendants.
    Tail(usize),
}

/// The order of all entries.
#[derive(Debug, Default)]
pub(super) struct Order {
    slots: Vec<Slot>,
    /// The positions of each entry's head and tail.
    places: Vec<(usize, usize)>,
}

impl Order {
    /// Returns the number of entries.
    pub fn entries(&self) -> usize {
        self.places.len()
    }

    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Returns the position of an entry's head.
    pub fn head(&self, entry: usize) -> usize {
        self.places.get(entry).map_or(self.slots.len(), |at| at.0)
    }

    /// Returns the slots of all descendants of an entry.
    pub fn below(&self, entry: usize) -> Range<usize> {
        let end = self.slots.len();
        self.places
            .get(entry)
            .map_or(end..end, |&(head, tail)| head + 1..tail)
    }

    /// Adds the next entry; returns `false` if its parent was not added yet: then `arrange` is
    /// needed.
    pub fn add(&mut self, family: &Family) -> bool {
        let entry = self.places.len();
        let parent = family.parent(entry);
        let above = parent.and_then(|above| self.places.get(above));
        let is_placed = parent.is_some() == above.is_some();
        let at = above.map_or(self.slots.len(), |&(_, tail)| tail);
        self.slots
            .splice(at..at, [Slot::Head(entry), Slot::Tail(entry)]);
        self.places.push((at, at + 1));
        self.number(at);
        is_placed
    }

    /// Rebuilds the order from the current parents.
    pub fn arrange(&mut self, family: &Family) {
        self.slots.clear();
        let mut left: Vec<Slot> = (0..self.places.len())
            .filter(|&entry| family.parent(entry).is_none())
            .map(Slot::Head)
            .rev()
            .collect();
        while let Some(slot) = left.pop() {
            if let Slot::Head(entry) = slot {
                left.push(Slot::Tail(entry));
                let children = family.children(entry).iter();
                let children = children.filter(|&&child| child < self.places.len());
                left.extend(children.rev().map(|&child| Slot::Head(child)));
            }
            self.slots.push(slot);
        }
        self.number(0);
    }

    fn number(&mut self, from: usize) {
        for (at, slot) in self.slots.iter().enumerate().skip(from) {
            let (Slot::Head(entry) | Slot::Tail(entry)) = slot;
            if let Some(place) = self.places.get_mut(*entry) {
                match slot {
                    Slot::Head(_) => place.0 = at,
                    Slot::Tail(_) => place.1 = at,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn adding_one_by_one_gives_what_arranging_does(parents in prop::collection::vec(any::<u8>(), 1..30)) {
            let mut family = Family::default();
            for (entry, parent) in parents.iter().enumerate() {
                let parent = usize::from(*parent) % 40;
                if parent < entry {
                    family.belong(entry, parent);
                }
            }
            let mut order = Order::default();
            for _ in &parents {
                prop_assert!(order.add(&family));
            }
            let (slots, places) = (order.slots.clone(), order.places.clone());
            order.arrange(&family);
            prop_assert_eq!(&order.slots, &slots);
            prop_assert_eq!(&order.places, &places);
            for (entry, &(head, tail)) in places.iter().enumerate() {
                prop_assert_eq!(slots[head], Slot::Head(entry));
                prop_assert_eq!(slots[tail], Slot::Tail(entry));
                if let Some(above) = family.parent(entry) {
                    prop_assert!(order.below(above).contains(&head) && order.below(above).contains(&tail));
                }
            }
        }
    }
}
