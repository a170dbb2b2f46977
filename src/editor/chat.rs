//! The chat's buffers: the transcript, which the core fills, and the input, where the user writes.
//!
//! Invariant: the transcript's buffer holds exactly the lines that the core has sent, and a window
//! scrolls with it only while its cursor is at the end.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use nvim_oxi::mlua;

use super::kit::{buffer, user, window};
use super::nvim::{self, api};
use super::spans::{LineHighlights, Spans};
use super::state::{self, send};
use super::{folds, input, layout, lines};
use acp_core::event::Event;
use acp_core::render::links::Links;
use acp_core::spine::ids::SessionKey;
use acp_core::spine::view::{ChatOp, Group, Line};

/// The marker of a list item: wrapped lines start behind it.
const LIST_ITEM: &str = r"^\s*\([-*+]\|\d\+[.)]\)\s\+";

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
    /// Rows that the core has sent; 0 while the buffer has only its first, empty line.
    pub rows: usize,
    pub spans: Rc<RefCell<Spans>>,
    pub links: Rc<RefCell<Links>>,
    pub title: Vec<(String, Group)>,
    /// The names of the next prompt's attachments.
    pub attached: Vec<String>,
    /// The agent's id for the session, if the user opened it by that.
    past: Option<String>,
}

/// Creates a session's buffers; [`super::layout::show`] opens its windows.
pub fn create(agent: &str, past: Option<&str>) -> mlua::Result<SessionKey> {
    let key = state::with(|editor| {
        let mut chats = editor.chats.borrow_mut();
        chats.next += 1;
        SessionKey(chats.next)
    })
    .unwrap_or(SessionKey(0));
    let transcript = transcript_buffer(agent, key)?;
    let input = input::create(agent, key)?;
    let chat = Chat {
        agent: agent.to_owned(),
        transcript,
        input,
        rows: 0,
        spans: Rc::default(),
        links: Rc::default(),
        title: vec![
            (agent.to_owned(), "AcpTitle"),
            ("starting".into(), "AcpDim"),
        ],
        attached: Vec::new(),
        past: past.map(str::to_owned),
    };
    state::with(|editor| editor.chats.borrow_mut().by_session.insert(key, chat));
    Ok(key)
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
    state::with(|editor| {
        let chats = editor.chats.borrow();
        chats.by_session.iter().find(is_it).map(|(key, _)| *key)
    })
    .flatten()
}

fn transcript_buffer(agent: &str, key: SessionKey) -> mlua::Result<i32> {
    let name = buffer::free_name(&format!("acp://{agent}/{}", key.0))?;
    let buf = buffer::read_only(&name, "acp-chat")?;
    nvim::set_buf_option(buf, "formatlistpat", LIST_ITEM)?;
    super::keys::chat(buf, key)?;
    Ok(buf)
}

/// Creates the buffers of a session again that the user has deleted; the transcript's text comes
/// with the next frame.
pub fn revive(key: SessionKey) -> mlua::Result<()> {
    let Some(mut chat) = get(key) else {
        return Ok(());
    };
    let has_transcript = buffer::is_loaded(chat.transcript)?;
    let has_input = buffer::is_loaded(chat.input)?;
    if !has_transcript {
        buffer::delete(chat.transcript)?;
        chat.transcript = transcript_buffer(&chat.agent, key)?;
        chat.rows = 0;
        chat.spans.borrow_mut().clear();
        chat.links.borrow_mut().clear();
        send(Event::ChatEmpty { session: key });
    }
    if !has_input {
        buffer::delete(chat.input)?;
        chat.input = input::create(&chat.agent, key)?;
    }
    if !has_transcript || !has_input {
        state::with(|editor| editor.chats.borrow_mut().by_session.insert(key, chat));
    }
    Ok(())
}

/// Removes a session's chat and its buffers.
pub fn forget(key: SessionKey) -> mlua::Result<()> {
    super::terminal::forget(key)?;
    super::panel::forget(key)?;
    layout::hide(key)?;
    let chat = state::with(|editor| {
        let mut chats = editor.chats.borrow_mut();
        chats.by_tab.retain(|_, shown| *shown != key);
        if chats.last == Some(key) {
            chats.last = chats.by_session.keys().copied().find(|other| *other != key);
        }
        chats.by_session.remove(&key)
    });
    if let Some(chat) = chat.flatten() {
        buffer::delete(chat.input)?;
        buffer::delete(chat.transcript)?;
    }
    Ok(())
}

/// Returns a session's chat.
pub fn get(key: SessionKey) -> Option<Chat> {
    state::with(|editor| editor.chats.borrow().by_session.get(&key).cloned()).flatten()
}

/// Returns the default session: the current tab page's, else the one used last.
pub fn current() -> Option<SessionKey> {
    let tab = window::tab().ok()?;
    state::with(|editor| {
        let chats = editor.chats.borrow();
        chats.by_tab.get(&tab).copied().or(chats.last)
    })
    .flatten()
}

/// Applies changes to a transcript and scrolls the windows whose cursor is at the end.
pub fn apply(key: SessionKey, ops: Vec<ChatOp>) -> mlua::Result<()> {
    let Some(chat) = get(key) else {
        return Ok(());
    };
    let buf = chat.transcript;
    if !buffer::is_loaded(buf)? {
        // The user has deleted it; the core sends all of it when it is shown again.
        return Ok(());
    }
    let windows = nvim::windows_of(buf)?;
    let following = following(buf)?;
    let mut rows = chat.rows;
    let mut folds = Vec::new();
    let result = buffer::unlocked(buf, || {
        let mut result = Ok(());
        for op in ops {
            match op {
                ChatOp::Splice {
                    start,
                    removed,
                    lines,
                } => {
                    result = result.and(splice(&chat, &mut rows, start, removed, &lines));
                }
                fold => folds.push(fold),
            }
        }
        result
    });
    state::with(|editor| {
        if let Some(chat) = editor.chats.borrow_mut().by_session.get_mut(&key) {
            chat.rows = rows;
        }
    });
    result?;
    for &win in &windows {
        folds::apply(win, &folds, following.contains(&win))?;
    }
    for win in following {
        go_to_end(win, buf)?;
        if !folds.is_empty() {
            // A closed fold leaves the window half empty.
            fill(win)?;
        }
    }
    Ok(())
}

/// Scrolls a window so that its last line shows the end of the transcript.
fn fill(win: i32) -> mlua::Result<()> {
    let first: i64 = nvim::vim_fn("line", ("w0", win))?;
    match first > 1 {
        true => window::call(win, || api("nvim_command", "normal! zb")),
        false => Ok(()),
    }
}

/// Returns the windows that scroll with a transcript: those whose cursor is at the end.
pub(super) fn following(buf: i32) -> mlua::Result<Vec<i32>> {
    let lines: usize = api("nvim_buf_line_count", buf)?;
    let mut following = Vec::new();
    for win in nvim::windows_of(buf)? {
        if window::row(win)? + 1 >= lines && !user::is_selecting(win)? {
            following.push(win);
        }
    }
    Ok(following)
}

/// Puts a window's cursor behind the last character, so that the end of a line shows that is higher
/// than the window.
pub(super) fn go_to_end(win: i32, buf: i32) -> mlua::Result<()> {
    let last: i64 = api("nvim_buf_line_count", buf)?;
    let end = vec![last, i64::from(i32::MAX)];
    api::<()>("nvim_win_set_cursor", (win, end.clone()))?;
    let seen: i64 = nvim::vim_fn("line", ("w$", win))?;
    if seen >= last {
        return Ok(());
    }
    // In a window that is not current, Neovim leaves the last rows of a growing line below the
    // edge. Of a line higher than the window, `zb` shows the start.
    window::call(win, || api::<()>("nvim_command", "normal! zb"))?;
    api("nvim_win_set_cursor", (win, end))
}

fn splice(
    chat: &Chat,
    rows: &mut usize,
    start: usize,
    removed: usize,
    new: &[Line],
) -> mlua::Result<()> {
    let marks = LineHighlights::of(new)?;
    let buf = chat.transcript;
    chat.spans.borrow_mut().splice(start, removed, marks);
    chat.links.borrow_mut().splice(start, removed, new);
    let before = *rows;
    *rows = (before + new.len()).saturating_sub(removed);
    let texts: Vec<&str> = new.iter().map(|line| line.text.as_str()).collect();
    match before {
        // The first, empty line is not part of the transcript.
        0 => api("nvim_buf_set_lines", (buf, 0, -1, false, texts)),
        _ if start == before => api("nvim_buf_set_lines", (buf, -1, -1, false, texts)),
        _ if removed == 1 && start + 1 == before && !texts.is_empty() => {
            lines::replace_last(buf, start, &texts)
        }
        _ => lines::replace(buf, start, removed, &texts),
    }
}

/// Scrolls to the end: a user who sends a prompt wants to see the answer.
pub(super) fn follow_again(chat: &Chat) -> mlua::Result<()> {
    for win in nvim::windows_of(chat.transcript)? {
        go_to_end(win, chat.transcript)?;
    }
    Ok(())
}
