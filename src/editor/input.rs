//! The buffer of the input window: the draft, its attachments, and sending it.
//!
//! Invariant: no text of the user is lost: a replaced draft enters the history of prompts, and undo
//! restores a sent one.

use std::cell::RefCell;
use std::collections::BTreeMap;

use nvim_oxi::mlua;

use super::kit::autocmd::{self, Fired, Scope};
use super::kit::{buffer, user, window};
use super::nvim::{self, api};
use super::state::{self, send};
use super::{chat, chats, complete, follow, inputmarks, keymaps, keys, mentions, recall};
use acp_core::conversation::queue::When;
use acp_core::event::{Event, SessionEvent};
use acp_core::spine::event::Prompt;
use acp_core::spine::ids::SessionKey;
use acp_core::spine::oneline::OneLine;

/// The undo levels of an input; Neovim's own default.
const UNDO: i64 = 1000;

/// Creates a session's input buffer.
pub fn create(agent: &str, key: SessionKey) -> mlua::Result<i32> {
    let name = buffer::free_name(&format!("acp://{agent}/{}/input", key.0))?;
    let buf = buffer::scratch(&name, "acp-input")?;
    nvim::set_buf_option(buf, "undolevels", UNDO)?;
    for breaks in ["textwidth", "wrapmargin"] {
        // The user's own value would break the lines of a prompt.
        nvim::set_buf_option(buf, breaks, 0)?;
    }
    keymaps::of_input(buf, key)?;
    placeholder(buf, key)?;
    complete::set_up(buf, key)?;
    inputmarks::set_up(buf, key)?;
    autocmd::on("draft", &["BufUnload"], Scope::Buffer(buf), move |_| {
        let text = text(buf)?;
        LEFT.with_borrow_mut(|left| left.insert(key, text.clone()));
        send(Event::Session(SessionEvent::Remember {
            session: key,
            text,
        }));
        Ok(())
    })?;
    let leaves = move |_| unfix(buf);
    autocmd::on("input left", &["BufWinLeave"], Scope::Buffer(buf), leaves)?;
    // `:edit` has emptied it.
    autocmd::on(
        "draft read",
        &["BufReadCmd"],
        Scope::Buffer(buf),
        move |_| put_back(buf, key),
    )?;
    put_back(buf, key)?;
    Ok(buf)
}

/// Puts the draft back that was in the input when its buffer was unloaded.
fn put_back(buf: i32, key: SessionKey) -> mlua::Result<()> {
    match LEFT.with_borrow_mut(|left| left.remove(&key)) {
        Some(draft) => set_text(buf, &draft),
        None => Ok(()),
    }
}

/// Unfixes the height of an input's window, which another buffer may take: unlike others, this option
/// is the window's, whatever buffer it shows.
fn unfix(buf: i32) -> mlua::Result<()> {
    let here = window::here()?;
    match window::buf_of(here)? == buf {
        true => window::switch(here, &["winfixheight"], false),
        false => Ok(()),
    }
}

thread_local! {
    /// The drafts of inputs whose buffers were unloaded.
    static LEFT: RefCell<BTreeMap<SessionKey, String>> = const { RefCell::new(BTreeMap::new()) };
}

/// Returns the text of an input.
pub(super) fn text(buf: i32) -> mlua::Result<String> {
    Ok(buffer::lines(buf)?.join("\n"))
}

/// Puts the drafts of all inputs into the history of prompts: Neovim quits.
pub(super) fn keep_drafts() {
    for (session, chat) in chats::all() {
        if let Ok(text) = text(chat.input) {
            send(Event::Session(SessionEvent::Remember { session, text }));
        }
    }
}

/// Replaces the text of an input; undo brings it back.
pub(super) fn set_text(buf: i32, text: &str) -> mlua::Result<()> {
    // Ends the undo step of the typed text.
    nvim::set_buf_option(buf, "undolevels", UNDO)?;
    let lines: Vec<&str> = text.split('\n').collect();
    api("nvim_buf_set_lines", (buf, 0, -1, false, lines))
}

/// Sends the text of the input and empties it. If it is empty, and the prompt is to interrupt the
/// turn, the oldest queued prompt is sent.
pub fn submit(key: SessionKey, when: When) -> mlua::Result<()> {
    let Some(chat) = chats::get(key) else {
        return Ok(());
    };
    let text = text(chat.input)?.trim().to_owned();
    let has_attached = state::session(key, |info| !info.attached.is_empty());
    if text.is_empty() && has_attached != Some(true) {
        return match when {
            When::InTurn | When::Steer => Ok(()),
            When::AtOnce => super::queue::send_first(key),
        };
    }
    let mentioned = mentions::resolve(key, &text)?;
    set_text(chat.input, "")?;
    for win in nvim::windows_of(chat.input)? {
        // With 'virtualedit', the cursor would stay where the text ended.
        window::set_row(win, 0)?;
    }
    recall::forget(key);
    send(Event::Session(SessionEvent::Remember {
        session: key,
        text: text.clone(),
    }));
    chats::with(|chats| chats.last = Some(key));
    chat::follow_again(&chat)?;
    state::refresh_environment();
    let prompt = Prompt {
        text,
        mentioned,
        ..Prompt::default()
    };
    // An agent that cannot be steered gets the prompt in the queue, as it always did.
    let when = match when {
        When::Steer if !can_steer(key) => When::InTurn,
        when => when,
    };
    send(sent(key, prompt, when));
    Ok(())
}

/// Returns the event of a prompt that is sent.
pub fn sent(session: SessionKey, prompt: Prompt, when: When) -> Event {
    Event::Session(match when {
        When::InTurn => SessionEvent::Prompt { session, prompt },
        When::AtOnce => SessionEvent::Interrupt { session, prompt },
        When::Steer => SessionEvent::Steer { session, prompt },
    })
}

fn can_steer(key: SessionKey) -> bool {
    state::session(key, |info| info.steering) == Some(true)
}

/// Updates the menu and the marks: the core has new candidates or commands.
pub fn candidates_came(key: SessionKey) -> mlua::Result<()> {
    if let Some(chat) = chats::get(key)
        && buffer::is_loaded(chat.input)?
    {
        inputmarks::draw(chat.input, key)?;
    }
    complete::came(key)
}

/// Detaches the last attachment, if there is one.
pub fn detach_last(key: SessionKey) -> mlua::Result<()> {
    let count = chats::get(key).map_or(0, |chat| chat.attached.len());
    if let Some(last) = count.checked_sub(1) {
        send(Event::Session(SessionEvent::Detach {
            session: key,
            which: Some(last),
        }));
    }
    Ok(())
}

/// Shows the attachments of the next prompt above the input.
pub fn set_attached(key: SessionKey, labels: Vec<OneLine>) -> mlua::Result<()> {
    let Some(chat) = chats::get(key) else {
        return Ok(());
    };
    for win in nvim::windows_of(chat.input)? {
        let columns = usize::try_from(window::width(win)?).unwrap_or(0);
        let bar = attached_bar(&labels, columns);
        // A window of one line has no room for the bar.
        let _: mlua::Result<()> = nvim::set_win_option(win, "winbar", bar.as_str());
    }
    chats::change(key, |chat| chat.attached = labels);
    Ok(())
}

/// Fits the hints and the attachments of all chats to their windows.
pub fn fit_all() -> mlua::Result<()> {
    for (key, chat) in chats::all() {
        update_hint(key)?;
        if !chat.attached.is_empty() {
            set_attached(key, chat.attached)?;
        }
    }
    Ok(())
}

/// Returns the bar: each attachment with its number. Where there is no room, the ends of the names
/// are shown, which tell files apart.
fn attached_bar(labels: &[OneLine], columns: usize) -> String {
    let width = |label: &OneLine| label.chars().count() + NUMBER;
    let all: usize = labels.iter().map(width).sum();
    let each = match all <= columns {
        true => usize::MAX,
        false => (columns / labels.len().max(1))
            .saturating_sub(NUMBER)
            .max(SHORT),
    };
    let mut bar = String::new();
    for (number, label) in (1..).zip(labels) {
        let count = label.chars().count();
        let label: String = match count <= each {
            true => label.to_string(),
            false => std::iter::once('…')
                .chain(label.chars().skip(count + 1 - each))
                .collect(),
        };
        let label = label.replace('%', "%%");
        bar.push_str(&format!(" %#AcpKey#{number} %#AcpPath#{label}%*"));
    }
    if !bar.is_empty() {
        // What still has no room is cut at the end.
        bar.push_str("%<");
    }
    bar
}

/// The columns of an attachment's number.
const NUMBER: usize = 3;

/// The least number of columns for an attachment's name.
const SHORT: usize = 8;

/// Shows a hint in an empty input window.
fn placeholder(buf: i32, key: SessionKey) -> mlua::Result<()> {
    let on_change = move |fired: Fired| {
        let is_writing = matches!(fired.event()?.as_str(), "InsertEnter" | "TextChangedI");
        draw_hint(buf, key, is_writing)
    };
    let events = ["TextChanged", "TextChangedI", "InsertEnter", "InsertLeave"];
    autocmd::on("input", &events, Scope::Buffer(buf), on_change)?;
    draw_hint(buf, key, false)
}

/// Updates the hint: its window has another width, or a window follows the session's agent now, or no
/// longer.
pub fn update_hint(key: SessionKey) -> mlua::Result<()> {
    match chats::get(key) {
        Some(chat) if buffer::is_loaded(chat.input)? => {
            let is_writing = buffer::here()? == chat.input && user::is_inserting()?;
            draw_hint(chat.input, key, is_writing)
        }
        _ => Ok(()),
    }
}

fn draw_hint(buf: i32, key: SessionKey, is_writing: bool) -> mlua::Result<()> {
    let hint = match is_writing {
        // No window follows the agent while the user writes.
        true if follow::is_followed(key) => format!(
            "<Esc> lets the window follow · {}",
            keys::writing_hint(can_steer(key))
        ),
        true => keys::writing_hint(can_steer(key)),
        false => keys::resting_hint(),
    };
    let namespace = nvim::namespace("acp_chat")?;
    api::<()>("nvim_buf_clear_namespace", (buf, namespace, 0, -1))?;
    let lines: Vec<String> = api("nvim_buf_get_lines", (buf, 0, 2, false))?;
    if lines.len() > 1 || lines.first().is_some_and(|line| !line.is_empty()) {
        return Ok(());
    }
    let room = match buffer::here()? == buf {
        true => window::width(window::here()?)?,
        false => i64::MAX,
    };
    buffer::set_hint(buf, "acp_chat", (0, 0), "overlay", keys::fitted(hint, room))
}
