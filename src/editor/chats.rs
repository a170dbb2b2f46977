//! The chats of this Neovim: their buffers, and the session that each tab page shows.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use super::kit::window;
use super::spans::Spans;
use super::state;
use acp_core::event::{Event, ViewEvent};
use acp_core::render::links::Links;
use acp_core::spine::ids::SessionKey;
use acp_core::spine::oneline::OneLine;
use acp_core::spine::view::Group;

/// The rows that windows show are reported as multiples of this number.
const ROWS: usize = 16;

/// All chats, and the session that each tab page shows.
#[derive(Debug, Default)]
pub struct Chats {
    pub by_session: BTreeMap<SessionKey, Chat>,
    pub by_tab: BTreeMap<i32, SessionKey>,
    /// The session used last.
    pub last: Option<SessionKey>,
    pub next: u32,
}

#[derive(Debug, Clone)]
pub struct Chat {
    pub agent: String,
    pub transcript: i32,
    pub input: i32,
    /// How often the transcript's buffer was emptied.
    pub life: u32,
    /// Rows that the core has sent; 0 while the buffer has only its first, empty line.
    pub rows: usize,
    pub spans: Rc<RefCell<Spans>>,
    pub links: Rc<RefCell<Links>>,
    /// New windows, which have no folds yet.
    pub unfolded: Vec<i32>,
    /// The rows that a window shows, as the core knows them.
    pub seen: Range<usize>,
    pub title: Vec<(OneLine, Group)>,
    /// The names of the next prompt's attachments.
    pub attached: Vec<OneLine>,
    /// A change of the transcript failed: it has no highlights.
    pub is_plain: bool,
    /// The agent's id for the session, if the user opened it by that.
    pub past: Option<String>,
}

impl Chat {
    /// Reports the rows that a window shows, for their highlights. They are rounded, so that a
    /// transcript that scrolls line by line reports few.
    pub fn show_rows(&mut self, key: SessionKey, rows: &Range<usize>) {
        let rows = rows.start - rows.start % ROWS..rows.end.next_multiple_of(ROWS);
        if self.seen != rows {
            self.seen = rows.clone();
            let session = key;
            state::send(Event::View(ViewEvent::ChatSeen { session, rows }));
        }
    }
}

thread_local! {
    static CHATS: RefCell<Chats> = RefCell::default();
}

/// Runs `body` with the chats.
pub fn with<R>(body: impl FnOnce(&mut Chats) -> R) -> R {
    CHATS.with_borrow_mut(body)
}

/// Returns the chat of the session that an agent knows by this id.
pub fn of_past(agent: &str, id: &str) -> Option<SessionKey> {
    let snapshot = state::snapshot();
    let is_it = |(key, chat): &(&SessionKey, &Chat)| {
        let known = snapshot.sessions.iter().find(|it| it.session == **key);
        let known = known.and_then(|it| it.id.as_ref()).map(|id| id.0.as_ref());
        // The core may not know the session yet.
        chat.agent == agent && known.or(chat.past.as_deref()) == Some(id)
    };
    with(|chats| chats.by_session.iter().find(is_it).map(|(key, _)| *key))
}

/// Returns a session's chat.
pub fn get(key: SessionKey) -> Option<Chat> {
    with(|chats| chats.by_session.get(&key).cloned())
}

/// Returns the chats of all sessions.
pub fn all() -> BTreeMap<SessionKey, Chat> {
    with(|chats| chats.by_session.clone())
}

/// Changes a session's chat, if there is one.
pub fn change(key: SessionKey, body: impl FnOnce(&mut Chat)) {
    with(|chats| {
        if let Some(chat) = chats.by_session.get_mut(&key) {
            body(chat);
        }
    });
}

/// Returns the default session: the current tab page's, else the one used last.
pub fn current() -> Option<SessionKey> {
    let tab = window::tab().ok()?;
    with(|chats| chats.by_tab.get(&tab).copied().or(chats.last))
}
