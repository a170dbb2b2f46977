//! Queued prompts, which wait until the session is ready or the turn has ended.
//!
//! Invariant: a prompt leaves the queue only when its turn begins, or when the user removes it or
//! closes the session: it stays if the agent ends, requires a log-in, or the turn is cancelled.

use std::collections::VecDeque;

use crate::conversation::Conversation;
use crate::spine::cx::{Effects, emit, notify};
use crate::spine::effect::{Announcement, Level};
use crate::spine::event::Prompt;
use crate::spine::ids::{QueueId, SessionKey};
use crate::spine::view::{Frame, Line, Patch, QueueView};

/// A session's queued prompts, the next one first; the number is not limited.
#[derive(Debug, Default)]
pub struct Queue {
    waiting: VecDeque<Waiting>,
    next: u64,
    /// The prompts the panel shows.
    shown: Vec<QueueId>,
    /// The prompts that were announced last.
    told: Vec<QueueId>,
}

#[derive(Debug)]
struct Waiting {
    id: QueueId,
    prompt: Prompt,
}

/// The user's action on a queued prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueAction {
    /// Puts it back into the input.
    Edit,
    Remove,
    /// Moves it back by this many places; forward if negative.
    Move(i32),
    /// Sends it at once; the running turn is cancelled.
    SendNow,
}

/// When a prompt is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// After all prompts that were sent earlier.
    InTurn,
    /// Next, and at once: the running turn is cancelled.
    AtOnce,
}

/// A queued prompt in the public API.
#[derive(Debug, Clone)]
pub struct QueuedInfo {
    pub id: QueueId,
    pub text: String,
}

impl Queue {
    pub fn push_back(&mut self, prompt: Prompt) {
        let waiting = self.number(prompt);
        self.waiting.push_back(waiting);
    }

    pub fn push_front(&mut self, prompt: Prompt) {
        let waiting = self.number(prompt);
        self.waiting.push_front(waiting);
    }

    pub fn push(&mut self, prompt: Prompt, when: When) {
        match when {
            When::InTurn => self.push_back(prompt),
            When::AtOnce => self.push_front(prompt),
        }
    }

    pub fn pop_front(&mut self) -> Option<Prompt> {
        self.waiting.pop_front().map(|waiting| waiting.prompt)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Prompt> {
        self.waiting.iter_mut().map(|waiting| &mut waiting.prompt)
    }

    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub fn infos(&self) -> Vec<QueuedInfo> {
        let all = self.waiting.iter();
        all.map(|waiting| QueuedInfo {
            id: waiting.id,
            text: waiting.prompt.text.clone(),
        })
        .collect()
    }

    /// Returns a title for each queued prompt.
    pub fn titles(&self) -> impl Iterator<Item = String> {
        self.waiting.iter().map(|waiting| title(&waiting.prompt))
    }

    /// Returns whether the panel must be updated.
    pub(crate) fn is_dirty(&self) -> bool {
        !self.is_known(&self.shown)
    }

    /// Returns whether exactly these prompts are queued, in this order.
    fn is_known(&self, ids: &[QueueId]) -> bool {
        self.ids().eq(ids.iter().copied())
    }

    fn ids(&self) -> impl Iterator<Item = QueueId> {
        self.waiting.iter().map(|waiting| waiting.id)
    }

    fn number(&mut self, prompt: Prompt) -> Waiting {
        self.next += 1;
        Waiting {
            id: QueueId(self.next),
            prompt,
        }
    }

    pub(crate) fn take(&mut self, id: QueueId) -> Option<Prompt> {
        let at = self.position(id)?;
        self.waiting.remove(at).map(|waiting| waiting.prompt)
    }

    fn position(&self, id: QueueId) -> Option<usize> {
        self.waiting.iter().position(|waiting| waiting.id == id)
    }

    /// Moves a prompt, at most to the end or the beginning of the queue.
    pub(crate) fn shift(&mut self, id: QueueId, by: i32) {
        let Some(at) = self.position(id) else {
            return;
        };
        let step = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX);
        let to = match by < 0 {
            true => at.saturating_sub(step),
            false => at.saturating_add(step).min(self.waiting.len() - 1),
        };
        if to != at
            && let Some(waiting) = self.waiting.remove(at)
        {
            self.waiting.insert(to, waiting);
        }
    }

    fn take_view(&mut self) -> Option<QueueView> {
        if !self.is_dirty() {
            return None;
        }
        self.shown = self.ids().collect();
        Some(QueueView {
            ids: self.shown.clone(),
            lines: (1..).zip(self.titles()).map(line).collect(),
        })
    }
}

/// Returns a prompt's first line, with the number of the others.
fn title(prompt: &Prompt) -> String {
    let text = prompt.text.trim();
    let mut lines = text.lines();
    let mut title = lines.next().unwrap_or_default().trim_end().to_owned();
    if title.is_empty() {
        // The prompt has only attachments.
        title = "(without words)".to_owned();
    }
    match lines.count() {
        0 => {}
        1 => title.push_str(" … +1 line"),
        more => title.push_str(&format!(" … +{more} lines")),
    }
    title
}

fn line((number, title): (usize, String)) -> Line {
    let mut line = Line::default();
    line.push(&format!(" {number} "), "AcpQueued");
    line.text.push_str(&title);
    line
}

impl Conversation {
    /// Adds patches for the queue panels that have changed.
    pub(crate) fn queue_patches(&mut self, frame: &mut Frame) {
        for (key, session) in &mut self.sessions {
            if let Some(view) = session.queue.take_view() {
                frame.patches.push(Patch::Queue {
                    session: *key,
                    view,
                });
            }
        }
    }

    /// Announces the queues that have changed.
    pub(crate) fn tell_queues(&mut self, fx: &mut Effects) {
        for (key, session) in &mut self.sessions {
            let queue = &mut session.queue;
            if !queue.is_known(&queue.told) {
                queue.told = queue.ids().collect();
                fx.push(emit(Announcement::QueueChanged {
                    session: *key,
                    queued: session.queue.len(),
                }));
            }
        }
    }

    /// Reports in the transcript that prompts are queued for an agent that has ended.
    pub(crate) fn tell_waiting(&mut self, key: SessionKey) {
        let Some(session) = self.sessions.get_mut(&key) else {
            return;
        };
        let (what, it) = match session.queue.len() {
            0 => return,
            1 => ("A prompt waits".to_owned(), "it"),
            many => (format!("{many} prompts wait"), "they"),
        };
        let text = format!(
            "{what}: {it} will be sent when the agent runs again; a prompt or `:Acp restart` \
             starts it."
        );
        session.transcript.notice(Level::Warn, text);
    }
}

/// Reports the prompts that are lost because their session is closed.
pub(crate) fn tell_unsent(queue: &Queue, fx: &mut Effects) {
    let titles: Vec<String> = queue.titles().collect();
    if !titles.is_empty() {
        let text = format!(
            "Closed with the session, and not sent: {}",
            titles.join("; ")
        );
        fx.push(notify(Level::Warn, text));
    }
}
