//! The calls that are open: who waits for what.
//!
//! Invariants: a call leaves the list once, by its answer or by being given up; the core is told
//! of a call's end only if it was told of its beginning, and only if it has not answered it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::admission::{Admission, Share};
use acp_core::spine::event::Event;
use acp_core::spine::ids::ToolUseId;
use acp_core::tools::{Progress, ToolResult};
use acp_edge::inbox::Inbox;

#[derive(Debug)]
pub(super) struct Calls {
    inbox: Inbox,
    last: AtomicU64,
    open: Mutex<HashMap<ToolUseId, Arc<Slot>>>,
}

/// What the core says of a call, until its waiter takes it.
#[derive(Debug, Default)]
struct Slot {
    said: Mutex<Said>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Said {
    /// The newest; whoever is slow misses those before.
    progress: Option<Progress>,
    answer: Option<ToolResult>,
}

/// What a waiter is told.
#[derive(Debug)]
pub(super) enum News {
    Progress(Progress),
    Answer(ToolResult),
}

/// A call, held by whoever waits for its answer; dropped without one, it is given up.
#[derive(Debug)]
pub(super) struct Call {
    pub id: ToolUseId,
    /// The tool's name.
    pub name: String,
    /// The core has been told of it.
    is_known: bool,
    slot: Arc<Slot>,
    calls: Arc<Calls>,
    _share: Share,
}

impl Calls {
    pub fn new(inbox: Inbox) -> Self {
        Self {
            inbox,
            last: AtomicU64::new(0),
            open: Mutex::default(),
        }
    }

    /// Opens a call; `None` when the session has as many as it may.
    pub fn open(self: &Arc<Self>, admission: &Arc<Admission>, name: String) -> Option<Call> {
        let share = admission.call()?;
        let id = ToolUseId(self.last.fetch_add(1, Ordering::Relaxed) + 1);
        let slot = Arc::new(Slot::default());
        self.lock().insert(id, Arc::clone(&slot));
        Some(Call {
            id,
            name,
            is_known: false,
            slot,
            calls: Arc::clone(self),
            _share: share,
        })
    }

    /// Answers a call, if anybody still waits for it.
    pub fn answer(&self, id: ToolUseId, result: ToolResult) {
        let slot = self.lock().remove(&id);
        if let Some(slot) = slot {
            slot.lock().answer = Some(result);
            slot.changed.notify_one();
        }
    }

    /// Says how far a call is.
    pub fn report(&self, id: ToolUseId, progress: Progress) {
        let slot = self.lock().get(&id).cloned();
        if let Some(slot) = slot {
            slot.lock().progress = Some(progress);
            slot.changed.notify_one();
        }
    }

    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    /// Nothing panics while it holds the lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, HashMap<ToolUseId, Arc<Slot>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Call {
    /// Tells the core of the call, waiting until there is room; not of one it has answered.
    ///
    /// `None`: the core is gone.
    pub async fn tell(&mut self, bytes: usize, event: Event) -> Option<()> {
        let room = self.calls.inbox.room(bytes).await?;
        if self.is_open() {
            self.is_known = true;
            self.calls.inbox.send_agent([event], room);
        }
        Some(())
    }

    /// Tells the core of the call and that it is over: nobody waits for its answer.
    pub async fn settle(self, bytes: usize, event: Event) -> Option<()> {
        let room = self.calls.inbox.room(bytes).await?;
        if self.calls.lock().remove(&self.id).is_some() {
            self.calls.inbox.send_agent([event], room);
        }
        Some(())
    }

    /// Waits for the next news.
    pub async fn news(&self) -> News {
        loop {
            {
                let mut said = self.slot.lock();
                if let Some(progress) = said.progress.take() {
                    return News::Progress(progress);
                }
                if let Some(answer) = said.answer.take() {
                    return News::Answer(answer);
                }
            }
            self.slot.changed.notified().await;
        }
    }

    fn is_open(&self) -> bool {
        self.calls.lock().contains_key(&self.id)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let was_open = self.calls.lock().remove(&self.id).is_some();
        if was_open && self.is_known {
            // Behind the event that told of it.
            let given_up = Event::ToolGivenUp { id: self.id };
            self.calls.inbox.send_behind_agents(given_up);
        }
    }
}
