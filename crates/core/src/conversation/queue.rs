//! Queued prompts, which wait until the session is ready or the turn has ended.
//!
//! Invariant: a prompt leaves the queue only when its turn begins, when the running turn has taken it,
//! or when the user removes it or closes the session: it stays if the agent ends, requires a log-in,
//! or the turn is cancelled. What waits when the user cancels a turn is held until the user sends one
//! of it.

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
    shown: Vec<(QueueId, bool)>,
    /// The prompts that were announced last.
    told: Vec<QueueId>,
}

#[derive(Debug)]
struct Waiting {
    id: QueueId,
    prompt: Prompt,
    is_held: bool,
    /// The request that sends it into the running turn, while the agent has not answered.
    sent: Option<u64>,
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
    /// Into the running turn, if the agent can take it there; otherwise after all others.
    Steer,
}

/// A queued prompt in the public API.
#[derive(Debug, Clone)]
pub struct QueuedInfo {
    pub id: QueueId,
    pub text: String,
}

impl Queue {
    /// Adds a prompt after all that were sent earlier, except held ones.
    pub fn push_back(&mut self, prompt: Prompt) {
        let waiting = self.number(prompt);
        let held = self.waiting.iter().position(|waiting| waiting.is_held);
        self.waiting.insert(held.unwrap_or(self.len()), waiting);
    }

    pub fn push_front(&mut self, prompt: Prompt) {
        let waiting = self.number(prompt);
        self.waiting.push_front(waiting);
    }

    pub fn push(&mut self, prompt: Prompt, when: When) {
        match when {
            When::InTurn | When::Steer => self.push_back(prompt),
            When::AtOnce => self.push_front(prompt),
        }
    }

    /// Removes and returns the first prompt that is not held, unless the running turn may have taken
    /// one.
    pub fn pop_front(&mut self) -> Option<Prompt> {
        if self.waiting.iter().any(|waiting| waiting.sent.is_some()) {
            return None;
        }
        let at = self.waiting.iter().position(|waiting| !waiting.is_held)?;
        self.waiting.remove(at).map(|waiting| waiting.prompt)
    }

    /// Holds all queued prompts, or lets them be sent.
    pub(crate) fn hold(&mut self, is_held: bool) {
        for waiting in &mut self.waiting {
            waiting.is_held = is_held;
        }
    }

    /// Adds a prompt that this request sends into the running turn, before those that wait for the
    /// turn's end.
    pub fn push_sent(&mut self, prompt: Prompt, request: u64) {
        let is_sent = |waiting: &&Waiting| waiting.sent.is_some();
        let at = self.waiting.iter().take_while(is_sent).count();
        let mut waiting = self.number(prompt);
        waiting.sent = Some(request);
        self.waiting.insert(at, waiting);
    }

    /// Takes the prompt that this request has sent into the running turn.
    pub fn take_sent(&mut self, request: u64) -> Option<Prompt> {
        let mut all = self.waiting.iter();
        let at = all.position(|waiting| waiting.sent == Some(request))?;
        self.waiting.remove(at).map(|waiting| waiting.prompt)
    }

    /// Leaves a prompt in the queue that the running turn has not taken: the one of this request, or
    /// all of them.
    pub fn keep_sent(&mut self, request: Option<u64>) {
        for waiting in &mut self.waiting {
            let is_it = request.is_none_or(|request| waiting.sent == Some(request));
            if is_it {
                waiting.sent = None;
            }
        }
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
        !self.states().eq(self.shown.iter().copied())
    }

    /// Returns the queued prompts, and whether each is held.
    fn states(&self) -> impl Iterator<Item = (QueueId, bool)> {
        let all = self.waiting.iter();
        all.map(|waiting| (waiting.id, waiting.is_held))
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
            is_held: false,
            sent: None,
        }
    }

    /// Takes a prompt that the running turn cannot have taken.
    pub(crate) fn take(&mut self, id: QueueId) -> Option<Prompt> {
        let at = self.position(id)?;
        if self.waiting.get(at)?.sent.is_some() {
            return None;
        }
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
        self.shown = self.states().collect();
        Some(QueueView {
            ids: self.ids().collect(),
            held: self.shown.iter().position(|(_, is_held)| *is_held),
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
            "{what}: {it} will be sent when the agent runs again; your next prompt or `:Acp \
             restart` starts the agent."
        );
        session.transcript.notice(Level::Warn, text);
    }
}

/// Reports the prompts that are lost because their session is closed.
pub(crate) fn tell_unsent(queue: &Queue, fx: &mut Effects) {
    let titles: Vec<String> = queue.titles().collect();
    if !titles.is_empty() {
        let text = format!(
            "Unsent prompts of the closed session (`<Up>` in a chat shows them): {}",
            titles.join("; ")
        );
        fx.push(notify(Level::Warn, text));
    }
}
