//! The panel with the queued prompts, and what the user does with them there.
//!
//! Invariant: a key acts on a prompt only after it was under the cursor long enough to be read; one
//! that has just moved there, because another was sent, is left alone.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use nvim_oxi::mlua::{self, Table, Value};

use super::kit::autocmd::{self, Fired, Scope};
use super::kit::{buffer, user, window};
use super::notify::notify;
use super::nvim::{self, api};
use super::panel::{self, Contents, Kind};
use super::state::{self, send};
use super::{chats, input, keys, layout};
use acp_core::conversation::queue::{QueueAction, QueuedInfo};
use acp_core::event::{Event, SessionEvent};
use acp_core::spine::attachment::Attachment;
use acp_core::spine::effect::Level;
use acp_core::spine::event::Prompt;
use acp_core::spine::ids::{QueueId, SessionKey};
use acp_core::spine::view::QueueView;

/// The time that a prompt must have been under the cursor.
const READ: Duration = Duration::from_millis(300);

/// The columns between a prompt and its hint.
const GAP: i64 = 2;

/// The keys: name in the configuration, description.
const KEYS: [(&str, &str); 6] = [
    ("edit", "Takes the prompt back into the input"),
    ("remove", "Takes the prompt out"),
    (
        "send",
        "Sends the prompt now and cancels what the agent does",
    ),
    ("down", "Moves the prompt down"),
    ("up", "Moves the prompt up"),
    ("close", "Goes back to the input"),
];

/// The contents of a panel.
#[derive(Debug, Default)]
struct Shown {
    ids: Vec<QueueId>,
    held: Option<usize>,
    /// When another prompt moved under the cursor.
    moved: Option<Instant>,
    /// The prompts that the user acted on last: they leave the queue as the user expects.
    own: Vec<QueueId>,
}

thread_local! {
    static SHOWN: RefCell<BTreeMap<SessionKey, Shown>> = const { RefCell::new(BTreeMap::new()) };
}

/// Shows the queued prompts in every tab page that shows the session's transcript.
pub fn show(key: SessionKey, view: &QueueView) -> mlua::Result<()> {
    let windows = match panel::buffer(key, Kind::Queue) {
        Some(buf) => nvim::windows_of(buf)?,
        None => Vec::new(),
    };
    if view.ids.is_empty() {
        let shown = SHOWN.with_borrow_mut(|all| all.remove(&key));
        if windows.contains(&window::here()?)
            && let Some(chat) = chats::get(key)
        {
            let is_users = |shown: Shown| shown.ids.iter().all(|id| shown.own.contains(id));
            let is_empty = input::text(chat.input).is_ok_and(|text| text.is_empty());
            // Else the next key was meant for a prompt here: it must not change the draft.
            match is_empty && shown.is_some_and(is_users) {
                true => window::go_to_first(&[chat.input, chat.transcript])?,
                false => window::go_to_first(&[chat.transcript, chat.input])?,
            }
        }
        return panel::show(key, Kind::Queue, None);
    }
    let mut before = Vec::new();
    for &win in &windows {
        before.push((win, at(key, win)?));
    }
    let contents = Contents {
        lines: view.lines.clone(),
        current: None,
    };
    panel::show(key, Kind::Queue, Some(contents))?;
    let own = SHOWN.with_borrow(|all| all.get(&key).map(|shown| shown.own.clone()));
    let own = own.unwrap_or_default();
    let mut has_moved = false;
    for (win, id) in before {
        // The cursor stays with its prompt.
        match view.ids.iter().position(|other| Some(*other) == id) {
            Some(row) => window::set_row(win, row)?,
            None => has_moved |= id.is_some_and(|id| !own.contains(&id)),
        }
    }
    SHOWN.with_borrow_mut(|all| {
        let shown = all.entry(key).or_default();
        shown.ids.clone_from(&view.ids);
        shown.held = view.held;
        if has_moved {
            shown.moved = Some(Instant::now());
        }
    });
    match panel::buffer(key, Kind::Queue) {
        Some(buf) => draw_hint(buf, key, window::buf_of(window::here()?)? == buf),
        None => Ok(()),
    }
}

/// Returns the prompt at a window's cursor.
fn at(key: SessionKey, win: i32) -> mlua::Result<Option<QueueId>> {
    let row = window::row(win)?;
    Ok(SHOWN.with_borrow(|all| all.get(&key)?.ids.get(row).copied()))
}

/// Reports that a prompt was queued, if no window shows it.
pub fn tell(key: SessionKey) -> mlua::Result<()> {
    let tab = window::tab()?;
    let transcript = chats::get(key).map(|chat| chat.transcript);
    match transcript.map_or(Ok(None), |buf| window::showing(buf, tab))? {
        Some(_) => Ok(()),
        None => notify(
            Level::Info,
            "Queued: the prompt goes out when the agent is done.",
        ),
    }
}

/// Puts a prompt back into the input, before the draft there.
pub fn put_back(key: SessionKey, prompt: Prompt) -> mlua::Result<()> {
    layout::show(key)?;
    let Some(chat) = chats::get(key) else {
        return Ok(());
    };
    let draft = buffer::lines(chat.input)?;
    let mut lines: Vec<String> = prompt.text.split('\n').map(str::to_owned).collect();
    let last = vec![lines.len(), lines.last().map_or(0, String::len)];
    if draft.iter().any(|line| !line.trim().is_empty()) {
        lines.push(String::new());
        lines.extend(draft);
    }
    api::<()>("nvim_buf_set_lines", (chat.input, 0, -1, false, lines))?;
    if let Some(win) = window::showing(chat.input, window::tab()?)? {
        api::<()>("nvim_win_set_cursor", (win, last))?;
    }
    let blocks = prompt.blocks.into_iter().map(Attachment::Block);
    let items: Vec<Attachment> = prompt.attached.into_iter().chain(blocks).collect();
    if !items.is_empty() {
        send(Event::Session(SessionEvent::Attach {
            session: key,
            items,
        }));
    }
    Ok(())
}

/// Goes to the panel of a session, opening it if need be; reports an empty queue.
pub fn focus(key: SessionKey) -> mlua::Result<()> {
    if waiting(key).is_empty() {
        return notify(Level::Info, "No prompts are queued.");
    }
    layout::show(key)?;
    let tab = window::tab()?;
    let buf = panel::buffer(key, Kind::Queue);
    match buf.map_or(Ok(None), |buf| window::showing(buf, tab))? {
        Some(win) => window::go_to(win),
        None => notify(Level::Warn, "The queue does not fit: make the chat higher."),
    }
}

/// Maps the panel's keys, and shows a hint of them while the user is in the panel.
pub fn adorn(buf: i32, key: SessionKey) -> mlua::Result<()> {
    for (name, desc) in KEYS {
        keys::bind(buf, &["n"], ("queue", name), desc, move |_| {
            press(key, name)
        })?;
    }
    let events = ["WinEnter", "WinLeave", "CursorMoved"];
    let hint = move |fired: Fired| {
        let is_here = fired.event()? != "WinLeave" && buffer::here()? == buf;
        draw_hint(buf, key, is_here)
    };
    autocmd::on("queue", &events, Scope::Buffer(buf), hint).map(drop)
}

/// Shows the keys that act on a prompt, or how a held prompt is sent.
fn draw_hint(buf: i32, key: SessionKey, is_here: bool) -> mlua::Result<()> {
    let namespace = nvim::namespace("acp_queue")?;
    api::<()>("nvim_buf_clear_namespace", (buf, namespace, 0, -1))?;
    let held = SHOWN.with_borrow(|all| all.get(&key)?.held);
    let row = if is_here { Some(window::row(0)?) } else { held };
    let Some(row) = row else {
        return Ok(());
    };
    let hint = match is_here {
        true => hint(buf, row)?,
        // It covers the end of a long prompt.
        false => Some(held_hint()),
    };
    hint.map_or(Ok(()), |hint| {
        let hint = format!("  {hint}");
        buffer::set_hint(buf, "acp_queue", (row, 0), "right_align", hint)
    })
}

/// Returns the hint at the first held prompt: the key in the empty input.
fn held_hint() -> String {
    match keys::of("input", "interrupt").first() {
        Some(key) => format!("held: {} sends it", keys::shown(key)),
        None => "held: :Acp queue".to_owned(),
    }
}

/// Returns the hint in the current window: as many of the keys that act on the prompt in this row as
/// fit beside it.
fn hint(buf: i32, row: usize) -> mlua::Result<Option<String>> {
    let mut hints = Vec::new();
    for (name, word) in [
        ("edit", "edits"),
        ("remove", "removes"),
        ("send", "sends now"),
    ] {
        if let Some(key) = keys::of("queue", name).first() {
            hints.push(format!("{} {word}", keys::shown(key)));
        }
    }
    let prompt: Vec<String> = api("nvim_buf_get_lines", (buf, row, row + 1, false))?;
    let width: i64 = nvim::vim_fn("strdisplaywidth", prompt.concat())?;
    let room = window::width(window::here()?)? - width - GAP;
    let hint = keys::fitted(hints.join(" · "), room);
    let fits = i64::try_from(hint.chars().count()).is_ok_and(|count| count <= room);
    Ok(fits.then_some(hint))
}

fn press(key: SessionKey, name: &str) -> mlua::Result<()> {
    let action = match name {
        "edit" => QueueAction::Edit,
        "remove" => QueueAction::Remove,
        "send" => QueueAction::SendNow,
        "down" => QueueAction::Move(user::count()?),
        "up" => QueueAction::Move(-user::count()?),
        _ => return leave(key),
    };
    let is_new = SHOWN.with_borrow(|all| {
        let moved = all.get(&key).and_then(|shown| shown.moved);
        moved.is_some_and(|moved| moved.elapsed() < READ)
    });
    if is_new {
        let text = "Another prompt is here now: press the key again to act on it.";
        return notify(Level::Info, text);
    }
    let Some(id) = at(key, window::here()?)? else {
        return Ok(());
    };
    if action == QueueAction::Remove {
        return remove(key, id, user::count()?);
    }
    SHOWN.with_borrow_mut(|all| all.entry(key).or_default().own = vec![id]);
    act(key, id, action);
    Ok(())
}

/// Takes `count` prompts out of the queue, from one on.
fn remove(key: SessionKey, first: QueueId, count: i32) -> mlua::Result<()> {
    let after = waiting(key).into_iter().skip_while(|info| info.id != first);
    let removed: Vec<QueuedInfo> = after.take(usize::try_from(count).unwrap_or(1)).collect();
    // As with any deleted text, `p` brings it back; with 'clipboard' it reads another register.
    let register: String = nvim::vim()?.get::<Table>("v")?.get("register")?;
    let texts: Vec<&str> = removed.iter().map(|info| info.text.as_str()).collect();
    nvim::vim_fn::<Value>("setreg", (register, texts.join("\n"), "l"))?;
    let ids: Vec<QueueId> = removed.iter().map(|info| info.id).collect();
    SHOWN.with_borrow_mut(|all| all.entry(key).or_default().own.clone_from(&ids));
    for id in ids {
        act(key, id, QueueAction::Remove);
    }
    Ok(())
}

/// Returns the queued prompts of a session, as of the last snapshot.
pub fn waiting(key: SessionKey) -> Vec<QueuedInfo> {
    state::session(key, |info| info.queue.clone()).unwrap_or_default()
}

/// Sends the oldest queued prompt at once, if there is one.
pub fn send_first(key: SessionKey) -> mlua::Result<()> {
    if let Some(first) = waiting(key).first() {
        act(key, first.id, QueueAction::SendNow);
    }
    Ok(())
}

/// Acts on a queued prompt.
pub fn act(key: SessionKey, id: QueueId, action: QueueAction) {
    if action == QueueAction::SendNow {
        state::refresh_environment();
    }
    send(Event::Session(SessionEvent::Queued {
        session: key,
        id,
        action,
    }));
}

/// Goes to the input, or to the transcript if there is no input.
fn leave(key: SessionKey) -> mlua::Result<()> {
    chats::get(key).map_or(Ok(()), |chat| {
        window::go_to_first(&[chat.input, chat.transcript])
    })
}
