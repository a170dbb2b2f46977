//! The chat's windows and buffers: the transcript above, the input below.
//!
//! Invariant: the transcript's buffer holds just the lines the core has sent, and a window on it
//! is scrolled only while its cursor is at the end.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use nvim_oxi::mlua::{self, Table, Value};

use super::guard;
use super::nvim::{self, api};
use super::state::{self, send};
use crate::core::event::Event;
use crate::core::ids::SessionKey;
use crate::core::view::{ChatOp, Group, Line, Span};

/// Highlights of a transcript, a list of spans for each row.
pub type Spans = Rc<RefCell<Vec<Vec<Span>>>>;

/// All chats, and which session a tab page shows.
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
    /// Rows the core has sent; 0 while the buffer holds nothing but its one empty line.
    pub rows: usize,
    pub spans: Spans,
    pub title: Vec<(String, Group)>,
}

/// What of a chat is in a tab page.
struct Windows {
    transcript: Option<i32>,
    input: Option<i32>,
}

/// Makes a session's buffers; its windows come with [`show`].
///
/// # Errors
/// What Neovim says of it.
pub fn create(agent: &str) -> mlua::Result<SessionKey> {
    let key = state::with(|editor| {
        let mut chats = editor.chats.borrow_mut();
        chats.next += 1;
        SessionKey(chats.next)
    })
    .unwrap_or(SessionKey(0));
    let transcript = scratch(&format!("acp://{agent}/{}", key.0), "acp-chat")?;
    nvim::set_buf_option(transcript, "modifiable", false)?;
    let input = scratch(&format!("acp://{agent}/{}/input", key.0), "acp-input")?;
    let chat = Chat {
        agent: agent.to_owned(),
        transcript,
        input,
        rows: 0,
        spans: Spans::default(),
        title: vec![
            (agent.to_owned(), "AcpTitle"),
            ("starting".into(), "AcpDim"),
        ],
    };
    state::with(|editor| editor.chats.borrow_mut().by_session.insert(key, chat));
    super::keys::chat(transcript, key)?;
    super::keys::input(input, key)?;
    placeholder(input)?;
    Ok(key)
}

fn scratch(name: &str, filetype: &str) -> mlua::Result<i32> {
    let buf: i32 = api("nvim_create_buf", (false, true))?;
    api::<()>("nvim_buf_set_name", (buf, name))?;
    nvim::set_buf_option(buf, "bufhidden", "hide")?;
    nvim::set_buf_option(buf, "swapfile", false)?;
    nvim::set_buf_option(
        buf,
        "undolevels",
        if filetype == "acp-chat" { -1 } else { 1000 },
    )?;
    nvim::set_buf_option(buf, "filetype", filetype)?;
    Ok(buf)
}

/// Shows a session in the current tab page and goes to its input.
///
/// # Errors
/// What Neovim says of it.
pub fn show(key: SessionKey) -> mlua::Result<()> {
    let Some(chat) = get(key) else {
        return Ok(());
    };
    let tab: i32 = api("nvim_get_current_tabpage", ())?;
    close_others(tab, key)?;
    let windows = windows(&chat, tab)?;
    let transcript = match windows.transcript {
        Some(win) => win,
        None => open_transcript(&chat)?,
    };
    let tab: i32 = api("nvim_win_get_tabpage", transcript)?;
    let input = match windows.input {
        Some(win) => win,
        None => open_input(&chat, transcript)?,
    };
    state::with(|editor| {
        let mut chats = editor.chats.borrow_mut();
        chats.by_tab.insert(tab, key);
        chats.last = Some(key);
    });
    set_title(key, chat.title)?;
    api::<()>("nvim_set_current_win", input)
}

/// Closes the windows of another session's chat that the tab page shows.
fn close_others(tab: i32, key: SessionKey) -> mlua::Result<()> {
    let shown = state::with(|editor| editor.chats.borrow().by_tab.get(&tab).copied()).flatten();
    match shown.filter(|shown| *shown != key) {
        Some(other) => hide(other),
        None => Ok(()),
    }
}

/// Closes a session's windows in the current tab page.
///
/// # Errors
/// What Neovim says of it.
pub fn hide(key: SessionKey) -> mlua::Result<()> {
    let Some(chat) = get(key) else {
        return Ok(());
    };
    let tab: i32 = api("nvim_get_current_tabpage", ())?;
    let windows = windows(&chat, tab)?;
    for win in [windows.input, windows.transcript].into_iter().flatten() {
        let all: Vec<i32> = api("nvim_tabpage_list_wins", tab)?;
        if all.len() > 1 {
            api::<()>("nvim_win_close", (win, true))?;
        } else {
            // The last window stays, with an empty buffer.
            api::<()>("nvim_command", "enew")?;
        }
    }
    Ok(())
}

/// Forgets a session and its buffers.
///
/// # Errors
/// What Neovim says of it.
pub fn forget(key: SessionKey) -> mlua::Result<()> {
    hide(key)?;
    let chat = state::with(|editor| {
        let mut chats = editor.chats.borrow_mut();
        chats.by_tab.retain(|_, shown| *shown != key);
        if chats.last == Some(key) {
            chats.last = chats.by_session.keys().copied().find(|other| *other != key);
        }
        chats.by_session.remove(&key)
    });
    if let Some(chat) = chat.flatten() {
        for buf in [chat.input, chat.transcript] {
            let opts = nvim::table([("force", Value::Boolean(true))])?;
            api::<()>("nvim_buf_delete", (buf, opts))?;
        }
    }
    Ok(())
}

/// Returns a session's chat.
pub fn get(key: SessionKey) -> Option<Chat> {
    state::with(|editor| editor.chats.borrow().by_session.get(&key).cloned()).flatten()
}

/// Returns the session meant without being named: the current tab's, else the one used last.
pub fn current() -> Option<SessionKey> {
    let tab = api::<i32>("nvim_get_current_tabpage", ()).ok()?;
    state::with(|editor| {
        let chats = editor.chats.borrow();
        chats.by_tab.get(&tab).copied().or(chats.last)
    })
    .flatten()
}

fn windows(chat: &Chat, tab: i32) -> mlua::Result<Windows> {
    let all: Vec<i32> = api("nvim_tabpage_list_wins", tab)?;
    let mut found = Windows {
        transcript: None,
        input: None,
    };
    for win in all {
        let buf: i32 = api("nvim_win_get_buf", win)?;
        if buf == chat.transcript {
            found.transcript = found.transcript.or(Some(win));
        } else if buf == chat.input {
            found.input = found.input.or(Some(win));
        }
    }
    Ok(found)
}

fn open_transcript(chat: &Chat) -> mlua::Result<i32> {
    let (layout, width) = state::with(|editor| {
        let config = editor.config.borrow();
        (config.layout.clone(), config.width)
    })
    .unwrap_or_default();
    let win: i32 = if layout == "tab" {
        api::<()>("nvim_command", "tab split")?;
        let win = api("nvim_get_current_win", ())?;
        api::<()>("nvim_win_set_buf", (win, chat.transcript))?;
        win
    } else {
        let is_bottom = layout == "bottom";
        let total: i64 =
            nvim::vim()?
                .get::<Table>("o")?
                .get(if is_bottom { "lines" } else { "columns" })?;
        let size = size(width, total);
        let config = nvim::table([
            ("win", Value::Integer(-1)),
            (
                "split",
                nvim::value(if is_bottom { "below" } else { layout.as_str() }),
            ),
            (
                if is_bottom { "height" } else { "width" },
                Value::Integer(size),
            ),
        ])?;
        api("nvim_open_win", (chat.transcript, false, config))?
    };
    dress(
        win,
        &[(
            "winfixwidth",
            Value::Boolean(layout != "tab" && layout != "bottom"),
        )],
    )?;
    for (name, to) in [
        ("foldmethod", "manual"),
        ("foldtext", ""),
        ("fillchars", "fold: ,eob: "),
    ] {
        nvim::set_win_option(win, name, to)?;
    }
    nvim::set_win_option(win, "foldenable", true)?;
    nvim::set_win_option(win, "foldlevel", 0)?;
    let last: i64 = api("nvim_buf_line_count", chat.transcript)?;
    api::<()>("nvim_win_set_cursor", (win, vec![last, 0]))?;
    let key = state::with(|editor| {
        let chats = editor.chats.borrow();
        let mut all = chats.by_session.iter();
        all.find(|(_, known)| known.transcript == chat.transcript)
            .map(|(key, _)| *key)
    });
    if let Some(Some(session)) = key {
        send(Event::FoldsWanted { session });
    }
    Ok(win)
}

fn open_input(chat: &Chat, transcript: i32) -> mlua::Result<i32> {
    let height = state::with(|editor| editor.config.borrow().input_height).unwrap_or(6.0);
    let total: i64 = api("nvim_win_get_height", transcript)?;
    let config = nvim::table([
        ("win", nvim::value(transcript)),
        ("split", nvim::value("below")),
        (
            "height",
            Value::Integer(size(height, total).min((total / 2).max(1))),
        ),
    ])?;
    let win: i32 = api("nvim_open_win", (chat.input, false, config))?;
    dress(win, &[("winfixheight", Value::Boolean(true))])?;
    nvim::set_win_option(win, "fillchars", "eob: ")?;
    Ok(win)
}

/// Returns a size in cells: below 1 it is a share of the whole.
fn size(wanted: f64, total: i64) -> i64 {
    let cells = if wanted < 1.0 {
        wanted * total as f64
    } else {
        wanted
    };
    (cells as i64).clamp(1, total.max(1))
}

fn dress(win: i32, more: &[(&str, Value)]) -> mlua::Result<()> {
    for name in ["number", "relativenumber", "cursorline", "list", "spell"] {
        nvim::set_win_option(win, name, false)?;
    }
    for name in ["wrap", "linebreak"] {
        nvim::set_win_option(win, name, true)?;
    }
    for (name, to) in [
        ("signcolumn", "no"),
        ("foldcolumn", "0"),
        ("colorcolumn", ""),
    ] {
        nvim::set_win_option(win, name, to)?;
    }
    for (name, to) in more {
        nvim::set_win_option(win, name, to.clone())?;
    }
    Ok(())
}

/// Applies changes of a transcript and lets the windows follow whose cursor is at the end.
///
/// # Errors
/// What Neovim says of it.
pub fn apply(key: SessionKey, ops: Vec<ChatOp>) -> mlua::Result<()> {
    let Some(chat) = get(key) else {
        return Ok(());
    };
    let buf = chat.transcript;
    let windows = nvim::windows_of(buf)?;
    let last: i64 = api("nvim_buf_line_count", buf)?;
    let mut following = Vec::new();
    for &win in &windows {
        let cursor: (i64, i64) = cursor(win)?;
        if cursor.0 >= last {
            following.push(win);
        }
    }
    nvim::set_buf_option(buf, "modifiable", true)?;
    let mut rows = chat.rows;
    let mut folds = Vec::new();
    let mut result = Ok(());
    for op in ops {
        match op {
            ChatOp::Splice {
                start,
                removed,
                lines,
            } => {
                result = result.and(splice(buf, &chat.spans, &mut rows, start, removed, lines));
            }
            ChatOp::Fold { start, end } => folds.push((start + 1, end)),
        }
    }
    nvim::set_buf_option(buf, "modifiable", false)?;
    state::with(|editor| {
        if let Some(chat) = editor.chats.borrow_mut().by_session.get_mut(&key) {
            chat.rows = rows;
        }
    });
    result?;
    for &win in &windows {
        fold(win, &folds)?;
    }
    let last: i64 = api("nvim_buf_line_count", buf)?;
    for win in following {
        api::<()>("nvim_win_set_cursor", (win, vec![last, 0]))?;
    }
    Ok(())
}

fn cursor(win: i32) -> mlua::Result<(i64, i64)> {
    let cursor: Vec<i64> = api("nvim_win_get_cursor", win)?;
    Ok((
        cursor.first().copied().unwrap_or(1),
        cursor.get(1).copied().unwrap_or(0),
    ))
}

fn splice(
    buf: i32,
    spans: &Spans,
    rows: &mut usize,
    start: usize,
    removed: usize,
    lines: Vec<Line>,
) -> mlua::Result<()> {
    let mut texts: Vec<String> = Vec::with_capacity(lines.len());
    let mut marks = Vec::with_capacity(lines.len());
    for line in lines {
        texts.push(line.text);
        marks.push(line.spans);
    }
    let added = texts.len();
    let end = if *rows == 0 {
        -1
    } else {
        i64::try_from(start + removed).unwrap_or(i64::MAX)
    };
    {
        let mut spans = spans.borrow_mut();
        let from = start.min(spans.len());
        let to = (start + removed).clamp(from, spans.len());
        spans.splice(from..to, marks);
    }
    *rows = (*rows + added).saturating_sub(removed);
    if end < 0 {
        return api("nvim_buf_set_lines", (buf, start, end, false, texts));
    }
    super::lines::replace(buf, start, removed, &texts)
}

/// Makes closed folds, in lines that count from 1, in a window that shows the transcript.
fn fold(win: i32, folds: &[(usize, usize)]) -> mlua::Result<()> {
    if folds.is_empty() {
        return Ok(());
    }
    let commands: Vec<String> = folds
        .iter()
        .map(|(first, last)| format!("silent! {first},{last}fold"))
        .collect();
    let run = guard::callback("fold", move |()| {
        for command in &commands {
            api::<()>("nvim_command", command.as_str())?;
        }
        Ok(())
    })?;
    api("nvim_win_call", (win, run))
}

/// Shows in the transcript's window bar how the session stands.
///
/// # Errors
/// What Neovim says of it.
pub fn set_title(key: SessionKey, title: Vec<(String, Group)>) -> mlua::Result<()> {
    let Some(chat) = get(key) else {
        return Ok(());
    };
    let mut bar = String::new();
    for (index, (text, group)) in title.iter().enumerate() {
        let text = text.replace('%', "%%").replace('\n', " ");
        let dot = if index == 0 { " " } else { " · " };
        bar.push_str(&format!("%#AcpDim#{dot}%#{group}#{text}"));
    }
    bar.push_str("%*");
    for win in nvim::windows_of(chat.transcript)? {
        nvim::set_win_option(win, "winbar", bar.as_str())?;
    }
    state::with(|editor| {
        if let Some(chat) = editor.chats.borrow_mut().by_session.get_mut(&key) {
            chat.title = title;
        }
    });
    Ok(())
}

/// Sends what stands in the input window and empties it.
///
/// # Errors
/// What Neovim says of it.
pub fn submit(key: SessionKey) -> mlua::Result<()> {
    let Some(chat) = get(key) else {
        return Ok(());
    };
    let lines: Vec<String> = api("nvim_buf_get_lines", (chat.input, 0, -1, false))?;
    let text = lines.join("\n").trim().to_owned();
    if text.is_empty() {
        return Ok(());
    }
    api::<()>("nvim_buf_set_lines", (chat.input, 0, -1, false, vec![""]))?;
    state::with(|editor| editor.chats.borrow_mut().last = Some(key));
    follow_again(&chat)?;
    state::refresh_environment();
    send(super::api::prompt_event(key, text));
    Ok(())
}

/// Who sends a prompt wants to see the answer.
fn follow_again(chat: &Chat) -> mlua::Result<()> {
    let last: i64 = api("nvim_buf_line_count", chat.transcript)?;
    for win in nvim::windows_of(chat.transcript)? {
        api::<()>("nvim_win_set_cursor", (win, vec![last, 0]))?;
    }
    Ok(())
}

/// Shows in an empty input window what it is for.
fn placeholder(buf: i32) -> mlua::Result<()> {
    let namespace = nvim::namespace("acp_chat")?;
    let draw = move |buf: i32| -> mlua::Result<()> {
        api::<()>("nvim_buf_clear_namespace", (buf, namespace, 0, -1))?;
        let lines: Vec<String> = api("nvim_buf_get_lines", (buf, 0, 2, false))?;
        if lines.len() > 1 || lines.first().is_some_and(|line| !line.is_empty()) {
            return Ok(());
        }
        let chunk = (super::keys::placeholder(), "AcpPlaceholder");
        let chunk = nvim::lua().create_sequence_from([chunk.0, chunk.1.to_owned()])?;
        let opts = nvim::table([
            ("virt_text", nvim::value(vec![chunk])),
            ("virt_text_pos", nvim::value("overlay")),
        ])?;
        api::<i32>("nvim_buf_set_extmark", (buf, namespace, 0, 0, opts))?;
        Ok(())
    };
    let on_change = guard::callback("input", move |args: Table| draw(args.get("buf")?))?;
    let opts = nvim::table([
        ("buffer", nvim::value(buf)),
        ("callback", Value::Function(on_change)),
    ])?;
    let events = vec!["TextChanged", "TextChangedI"];
    api::<i32>("nvim_create_autocmd", (events, opts))?;
    draw(buf)
}
