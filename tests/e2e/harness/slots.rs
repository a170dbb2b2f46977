//! Limits how many tests run a Neovim at the same time.
//!
//! Beyond a few, they slow each other down until deadlines are missed. A test that starts a second
//! Neovim keeps its one slot, so that no two tests can deadlock.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::{Condvar, Mutex, PoisonError};

const SLOTS: usize = 2;

static TAKEN: Mutex<usize> = Mutex::new(0);
static FREED: Condvar = Condvar::new();

thread_local! {
    static MINE: RefCell<Weak<Slot>> = const { RefCell::new(Weak::new()) };
}

/// A permit to run Neovims on this thread; dropping it frees the slot.
pub struct Slot(());

/// Returns this thread's slot, first waiting for a free one if it has none.
pub fn take() -> Rc<Slot> {
    MINE.with_borrow_mut(|mine| {
        mine.upgrade().unwrap_or_else(|| {
            let slot = Rc::new(Slot::wait());
            *mine = Rc::downgrade(&slot);
            slot
        })
    })
}

impl Slot {
    fn wait() -> Self {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        while *taken >= SLOTS {
            taken = FREED.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        *taken += 1;
        Self(())
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        FREED.notify_one();
    }
}
