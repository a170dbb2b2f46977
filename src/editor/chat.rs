//! The chat's buffers: the transcript, which the core fills, and the input, where the user writes.
//!
//! Invariant: the transcript's buffer holds exactly the lines that the core has sent, and a window
//! scrolls with it only while its cursor is at the end.

use std::rc::Rc;

use nvim_oxi::mlua::{self, Table, Value};

use super::chats::{Chat, all, change, get, with};
use super::kit::autocmd::{self, Scope};
use super::kit::window::{self, rows_of};
use super::kit::{buffer, user};
use super::nvim::{self, api};
use super::spans::LineHighlights;
use super::state::send;
use super::{folds, input, layout, lines};
use acp_core::event::{Event, ViewEvent};
use acp_core::spine::ids::SessionKey;
use acp_core::spine::view::{ChatOp, Line, Span};
use acp_core::view::dock::first_of_end;
use acp_edge::panics;

/// The marker of a list item: wrapped lines start behind it.
const LIST_ITEM: &str = r"^\s*\([-*+]\|\d\+[.)]\)\s\+";

/// Creates a session's buffers; [`super::layout::show`] opens its windows.
pub fn create(agent: &str, past: Option<&str>) -> mlua::Result<SessionKey> {
    let key = with(|chats| {
        chats.next += 1;
        SessionKey(chats.next)
    });
    let transcript = transcript_buffer(agent, key)?;
    let input = input::create(agent, key)?;
    let chat = Chat {
        agent: agent.to_owned(),
        transcript,
        input,
        life: 0,
        rows: 0,
        spans: Rc::default(),
        links: Rc::default(),
        unfolded: Vec::new(),
        seen: 0..0,
        title: vec![(agent.into(), "AcpTitle"), ("starting".into(), "AcpDim")],
        attached: Vec::new(),
        is_plain: false,
        past: past.map(str::to_owned),
    };
    with(|chats| chats.by_session.insert(key, chat));
    Ok(key)
}

fn transcript_buffer(agent: &str, key: SessionKey) -> mlua::Result<i32> {
    let name = buffer::free_name(&format!("acp://{agent}/{}", key.0))?;
    let buf = buffer::read_only(&name, "acp-chat")?;
    nvim::set_buf_option(buf, "formatlistpat", LIST_ITEM)?;
    super::keymaps::of_chat(buf, key)?;
    // `:edit` has emptied it.
    autocmd::on(
        "chat read",
        &["BufReadCmd"],
        Scope::Buffer(buf),
        move |_| {
            change(key, |chat| begin_anew(chat, key));
            Ok(())
        },
    )?;
    Ok(buf)
}

/// Has the core send all of a transcript whose buffer is empty.
fn begin_anew(chat: &mut Chat, key: SessionKey) {
    (chat.life, chat.rows) = (chat.life + 1, 0);
    chat.spans.borrow_mut().clear();
    chat.links.borrow_mut().clear();
    chat.seen = 0..0;
    send(Event::View(ViewEvent::ChatEmpty { session: key }));
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
        begin_anew(&mut chat, key);
    }
    if !has_input {
        buffer::delete(chat.input)?;
        chat.input = input::create(&chat.agent, key)?;
    }
    if !has_transcript || !has_input {
        with(|chats| chats.by_session.insert(key, chat));
    }
    Ok(())
}

/// The activity that messages about a failed transcript name.
pub const DRAWING: &str = "drawing the chat";

/// Empties a transcript whose change failed and has it drawn anew, without highlights, by the next
/// frames. If those fail too, it stays as it is.
pub fn draw_anew(key: SessionKey) -> mlua::Result<()> {
    let Some(chat) = get(key).filter(|chat| !chat.is_plain) else {
        return Ok(());
    };
    change(key, |chat| {
        chat.is_plain = true;
        chat.unfolded.clear();
        begin_anew(chat, key);
    });
    buffer::unlocked(chat.transcript, || {
        let nothing: Vec<String> = Vec::new();
        api(
            "nvim_buf_set_lines",
            (chat.transcript, 0, -1, false, nothing),
        )
    })
}

/// Removes a session's chat and its buffers.
pub fn forget(key: SessionKey) -> mlua::Result<()> {
    super::terminal::forget(key)?;
    super::panel::forget(key)?;
    layout::hide(key)?;
    let chat = with(|chats| {
        chats.by_tab.retain(|_, shown| *shown != key);
        if chats.last == Some(key) {
            chats.last = chats.by_session.keys().copied().find(|other| *other != key);
        }
        chats.by_session.remove(&key)
    });
    if let Some(chat) = chat {
        buffer::delete(chat.input)?;
        buffer::delete(chat.transcript)?;
    }
    Ok(())
}

/// Applies changes to a transcript and scrolls the windows whose cursor is at the end. Changes from
/// before it was emptied last, as `life` says, are void.
pub fn apply(key: SessionKey, life: u32, ops: Vec<ChatOp>) -> mlua::Result<()> {
    let Some(chat) = get(key).filter(|chat| chat.life == life) else {
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
    let (mut folds, mut all_folds) = (Vec::new(), None);
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
                ChatOp::Colours { .. } if chat.is_plain => {}
                ChatOp::Colours { start, lines } => {
                    result = result.and(colour(&chat, start, &lines));
                }
                ChatOp::AllFolds(all) => all_folds = Some(folds::created(all)),
                fold => folds.push(fold),
            }
        }
        result
    });
    let unfolded = with(|chats| {
        let chat = chats.by_session.get_mut(&key)?;
        chat.rows = rows;
        Some(match all_folds {
            Some(_) => std::mem::take(&mut chat.unfolded),
            None => chat.unfolded.clone(),
        })
    });
    let unfolded = unfolded.unwrap_or_default();
    result?;
    panics::inject(DRAWING);
    let all_folds = all_folds.unwrap_or_default();
    for &win in &windows {
        let folds = match unfolded.contains(&win) {
            true => &all_folds,
            false => &folds,
        };
        folds::apply(win, folds, following.contains(&win))?;
    }
    for win in following {
        go_to_end(win, buf)?;
        if !folds.is_empty() || !all_folds.is_empty() {
            // A closed fold leaves the window half empty.
            fill(win, buf)?;
        }
    }
    super::question::follow()
}

/// Scrolls a window so that its last line shows the end of the transcript.
fn fill(win: i32, buf: i32) -> mlua::Result<()> {
    let first: i64 = nvim::vim_fn("line", ("w0", win))?;
    match first > 1 {
        true => show_end(win, buf, window::text_height(win)?),
        false => Ok(()),
    }
}

/// Scrolls a window so that the last lines of its buffer take at most this many of its upper rows.
/// A scroll command would change the mode for a moment, and end the insertion of a block.
pub(super) fn show_end(win: i32, buf: i32, room: i64) -> mlua::Result<()> {
    let last: usize = api("nvim_buf_line_count", buf)?;
    let fits = |top| rows_of(win, top - 1, last).map(|rows| rows <= room);
    let mut top = first_of_end(last, fits)?;
    // Of a line that is too high, the last rows.
    let left = room - rows_of(win, top - 1, last)?;
    let mut skipped = 0;
    if top > 1 && left > 0 && nvim::win_option(win, "smoothscroll")? {
        top -= 1;
        let above = rows_of(win, top - 1, top)?;
        skipped = (above - left).max(0) * window::width(win)?;
    }
    let view: Table = window::call(win, || nvim::vim_fn("winsaveview", ()))?;
    let shown = (view.get::<usize>("topline")?, view.get::<i64>("skipcol")?);
    let wanted = [
        ("topline", nvim::value(top)),
        ("skipcol", nvim::value(skipped)),
    ];
    match shown == (top, skipped) {
        true => Ok(()),
        false => window::set_view(win, nvim::table(wanted)?),
    }
}

/// Returns the windows that scroll with a transcript: those whose cursor is at the end.
pub fn following(buf: i32) -> mlua::Result<Vec<i32>> {
    if !buffer::is_valid(buf)? {
        // The user has wiped it out.
        return Ok(Vec::new());
    }
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
    // edge. Of a line higher than the window, this shows the start.
    show_end(win, buf, window::text_height(win)?)?;
    api("nvim_win_set_cursor", (win, end))
}

/// Shows the end again in the windows that follow it. Of a window that gets narrower or higher and is
/// not current, Neovim may keep the first line.
pub fn keep_ends() -> mlua::Result<()> {
    let here = window::here()?;
    for (_, chat) in all() {
        let buf = chat.transcript;
        for win in following(buf)?.into_iter().filter(|win| *win != here) {
            go_to_end(win, buf)?;
            fill(win, buf)?;
        }
    }
    Ok(())
}

/// Replaces the highlights of lines, which Neovim draws again if they are visible.
fn colour(chat: &Chat, start: usize, lines: &[Vec<Span>]) -> mlua::Result<()> {
    let marks = LineHighlights::of(lines.iter())?;
    chat.spans.borrow_mut().splice(start, lines.len(), marks);
    let range = nvim::lua().create_sequence_from([start, start + lines.len()])?;
    let opts = nvim::table([
        ("buf", nvim::value(chat.transcript)),
        ("range", Value::Table(range)),
    ])?;
    api("nvim__redraw", opts)
}

fn splice(
    chat: &Chat,
    rows: &mut usize,
    start: usize,
    removed: usize,
    new: &[Line],
) -> mlua::Result<()> {
    let marks = match chat.is_plain {
        true => LineHighlights::none(new.len()),
        false => LineHighlights::of(new.iter().map(|line| &line.spans))?,
    };
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

/// Scrolls a session's transcript by the keys of a normal-mode command, so many times. At its end it
/// follows again.
pub fn scroll(key: SessionKey, keys: &str, count: i32) -> mlua::Result<()> {
    let Some(chat) = get(key) else {
        return Ok(());
    };
    match window::showing(chat.transcript, window::tab()?)? {
        Some(win) => {
            let most: usize = api("nvim_buf_line_count", chat.transcript)?;
            let count = usize::try_from(count).unwrap_or(1).min(most);
            let command = format!("normal! {}", keys.repeat(count));
            window::call(win, move || api("nvim_command", command))
        }
        None => Ok(()),
    }
}
