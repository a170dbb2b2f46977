//! The pending calls and who waits for each.
//!
//! Invariants: a call leaves the list once, when it is answered or abandoned. The core learns that
//! a call was abandoned only if the call was reported to it and is not answered.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use super::admission::{Admission, AdmissionPermit};
use acp_core::event::{Event, ToolEvent};
use acp_core::spine::ids::ToolUseId;
use acp_core::spine::tool::{Progress, ToolResult};
use acp_edge::inbox::Inbox;
use acp_edge::panics::lock;

#[derive(Debug)]
pub(super) struct Calls {
    inbox: Inbox,
    last: AtomicU64,
    open: Mutex<HashMap<ToolUseId, Arc<Slot>>>,
}

/// The core's report about a call that its waiter has not read yet.
#[derive(Debug, Default)]
struct Slot {
    said: Mutex<Said>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Said {
    /// The latest; a slow waiter misses earlier ones.
    progress: Option<Progress>,
    answer: Option<ToolResult>,
}

/// What a waiter receives.
#[derive(Debug)]
pub(super) enum CallUpdate {
    Progress(Progress),
    Answer(ToolResult),
}

/// A pending call, held by its waiter; dropping it without an answer abandons the call.
#[derive(Debug)]
pub(super) struct Call {
    pub id: ToolUseId,
    /// The tool's name.
    pub name: String,
    /// Set once the call was reported to the core.
    is_known: bool,
    slot: Arc<Slot>,
    calls: Arc<Calls>,
    _share: AdmissionPermit,
}

impl Calls {
    pub fn new(inbox: Inbox) -> Self {
        Self {
            inbox,
            last: AtomicU64::new(0),
            open: Mutex::default(),
        }
    }

    /// Opens a call; `None` if the session has no call permit left.
    pub fn open(self: &Arc<Self>, admission: &Arc<Admission>, name: String) -> Option<Call> {
        let share = admission.call()?;
        let id = ToolUseId(self.last.fetch_add(1, Ordering::Relaxed) + 1);
        let slot = Arc::new(Slot::default());
        lock(&self.open).insert(id, Arc::clone(&slot));
        Some(Call {
            id,
            name,
            is_known: false,
            slot,
            calls: Arc::clone(self),
            _share: share,
        })
    }

    /// Answers a call if it is still pending.
    pub fn answer(&self, id: ToolUseId, result: ToolResult) {
        let slot = lock(&self.open).remove(&id);
        if let Some(slot) = slot {
            lock(&slot.said).answer = Some(result);
            slot.changed.notify_one();
        }
    }

    /// Reports the progress of a call.
    pub fn report(&self, id: ToolUseId, progress: Progress) {
        let slot = lock(&self.open).get(&id).cloned();
        if let Some(slot) = slot {
            lock(&slot.said).progress = Some(progress);
            slot.changed.notify_one();
        }
    }

    #[cfg(test)]
    pub fn count(&self) -> usize {
        lock(&self.open).len()
    }
}

impl Call {
    /// Reports the call to the core once the inbox has capacity, unless it is already answered.
    ///
    /// Returns `None` if the core is gone.
    pub async fn tell(&mut self, bytes: usize, event: Event) -> Option<()> {
        let permit = self.calls.inbox.permit(bytes).await?;
        if self.is_open() {
            self.is_known = true;
            self.calls.inbox.send_agent([event], permit);
        }
        Some(())
    }

    /// Reports to the core a call that has ended already; no answer is awaited.
    pub async fn settle(self, bytes: usize, event: Event) -> Option<()> {
        let permit = self.calls.inbox.permit(bytes).await?;
        if lock(&self.calls.open).remove(&self.id).is_some() {
            self.calls.inbox.send_agent([event], permit);
        }
        Some(())
    }

    /// Waits for the next progress or the answer.
    pub async fn next_update(&self) -> CallUpdate {
        loop {
            {
                let mut said = lock(&self.slot.said);
                if let Some(progress) = said.progress.take() {
                    return CallUpdate::Progress(progress);
                }
                if let Some(answer) = said.answer.take() {
                    return CallUpdate::Answer(answer);
                }
            }
            self.slot.changed.notified().await;
        }
    }

    fn is_open(&self) -> bool {
        lock(&self.calls.open).contains_key(&self.id)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let was_open = lock(&self.calls.open).remove(&self.id).is_some();
        if was_open && self.is_known {
            // Sent after the event that announced the call.
            let given_up = Event::Tool(ToolEvent::GivenUp { id: self.id });
            self.calls.inbox.send_behind_agents(given_up);
        }
    }
}
