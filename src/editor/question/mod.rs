//! The window with an agent's question: a permission, a form or a page.
//!
//! Invariants: the window takes no key that is meant for something else: it gets the focus only by
//! a step of the user ([`step`]), one for each question. No key allows what was not on the screen
//! to its end. The user's entries stay until the question is answered.

mod dock;
mod draw;
mod field;
mod form;
mod lift;
mod list;
mod options;
mod permission;
mod step;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Instant;

use nvim_oxi::mlua::{self, Table};

use super::keys;
use super::kit::autocmd::{self, Scope};
use super::kit::float::{Frame, Rect};
use super::kit::{buffer, defer, user, window};
use super::notify::notify;
use super::nvim::api;
use super::state::{send, snapshot};
use acp_core::event::{Event, SessionEvent, ViewEvent};
use acp_core::questions::Answer;
use acp_core::spine::effect::Level;
use acp_core::spine::ids::{QuestionId, SessionKey};
use acp_core::spine::view::{Line, QuestionView};
use draw::{draw, redraw};
use form::Filling;
pub(crate) use lift::follow;
pub(crate) use step::give_way;

/// The kinds of windows. Each has its buffer, whose filetype users may know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Permission,
    Form,
}

impl Kind {
    fn of(question: &QuestionView) -> Self {
        match question {
            QuestionView::Permission(_) => Kind::Permission,
            QuestionView::Form(_) => Kind::Form,
        }
    }

    fn filetype(self) -> &'static str {
        match self {
            Kind::Permission => "acp-permission",
            Kind::Form => "acp-form",
        }
    }

    /// Returns the group of its keys in the configuration.
    fn keymaps(self) -> &'static str {
        match self {
            Kind::Permission => "permission",
            Kind::Form => "form",
        }
    }
}

/// The window and the question in it.
#[derive(Debug, Default)]
pub struct Window {
    question: Option<QuestionView>,
    /// The question to show once the user has left the field they type into.
    next: Option<Option<QuestionView>>,
    bufs: BTreeMap<Kind, i32>,
    /// The buffer and the question that the keys were mapped for.
    keyed: Option<(i32, QuestionId)>,
    /// By buffer: the keys that were mapped, besides the user's own.
    mapped: BTreeMap<i32, Vec<String>>,
    /// The buffer last written to, and its lines.
    written: Option<(i32, Vec<Line>)>,
    win: Option<i32>,
    /// Where the window is, and its frame.
    placed: Option<(Rect, Frame)>,
    /// Where the transcript ended then.
    words: Option<dock::Words>,
    /// The options in front of a window that is too low for all lines.
    options: options::Front,
    /// The place and the lines that the options were shown for.
    options_shown: Option<(Rect, Vec<Line>)>,
    /// The transcript that has scrolled for the window: its window and buffer.
    lifted: Option<(i32, i32)>,
    /// The question that the user goes to once it is shown, and the window they come from.
    going: Option<(QuestionId, i32)>,
    /// The user's place before the window got the focus.
    home: Option<i32>,
    /// The question that the user has gone to: keys answer no other one.
    stepped: Option<QuestionId>,
    is_answered: bool,
    /// It cannot be drawn: it is asked in a list.
    is_not_drawn: bool,
    /// The end of what a permission would allow has been on the screen.
    is_seen: bool,
    /// When a user in the window first saw that end.
    revealed: Option<Instant>,
    /// The option that allows more than this call, until the user confirms it.
    confirming: Option<usize>,
    /// The user has been in the window, and has left it.
    is_left: bool,
    /// Its files have been opened, as the configuration has it.
    is_opened: bool,
    /// Number of the question's places that the user has visited.
    visited: usize,
    filling: Filling,
    watching: step::Watching,
}

thread_local! {
    static WINDOW: RefCell<Window> = RefCell::default();
}

fn with<R>(body: impl FnOnce(&mut Window) -> R) -> R {
    WINDOW.with_borrow_mut(body)
}

fn shown() -> Option<QuestionView> {
    with(|window| window.question.clone())
}

/// Shows a question, or closes the window.
pub fn show(question: Option<QuestionView>) -> mlua::Result<()> {
    let id = question.as_ref().map(QuestionView::id);
    let is_other = with(|window| window.question.as_ref().map(QuestionView::id) != id);
    if is_other && field::is_open() {
        // What the user is typing must not land in the window below.
        with(|window| window.next = Some(question));
        return draw();
    }
    // The question that was to replace this one has been put off again.
    with(|window| window.next = None);
    let Some(question) = question else {
        with(|window| window.question = None);
        form::forget_drafts();
        step::unwatch()?;
        return close();
    };
    if shown().is_some_and(|shown| Kind::of(&shown) != Kind::of(&question)) {
        close()?;
    }
    let is_seen = permission::shows_the_same(shown().as_ref(), &question);
    with(|window| {
        window.question = Some(question.clone());
        window.is_seen &= is_seen;
        if !is_seen {
            window.confirming = None;
        }
        if is_other {
            window.revealed = None;
            window.is_answered = false;
            window.is_not_drawn = false;
            window.is_left = false;
            window.is_opened = false;
            window.visited = 0;
        }
    });
    match &question {
        QuestionView::Permission(view) => permission::came(view)?,
        QuestionView::Form(view) => form::came(view, is_other),
    }
    step::watch()?;
    draw()?;
    if is_other {
        form::go_to_first()?;
    }
    let going = with(|window| window.going.take_if(|(id, _)| *id == question.id()));
    match going {
        Some((_, from)) if from == window::here()? => {
            defer::soon("question wanted", || focus().map(drop))
        }
        _ => Ok(()),
    }
}

/// Notes that the window cannot be drawn, so that the question is asked in a list. The keys of a
/// window that shows something else would answer it, so the window closes.
pub fn is_not_drawn(question: Option<QuestionView>) -> mlua::Result<()> {
    with(|window| {
        window.question = question;
        window.is_not_drawn = window.question.is_some();
    });
    close()?;
    if shown().is_none() {
        return step::unwatch();
    }
    step::watch()?;
    let text = "The question cannot be drawn: `:Acp permission` asks it in a list.";
    notify(Level::Warn, text)
}

/// Goes to the window, opening it in this tab page if need be; `false` when there is no question.
pub fn focus() -> mlua::Result<bool> {
    if shown().is_none() {
        return Ok(false);
    }
    if user::is_in_macro()? {
        notify(Level::Info, "A running macro cannot answer a question.")?;
        return Ok(true);
    }
    if with(|window| window.is_not_drawn) {
        return list::ask().map(|()| true);
    }
    reopen()?;
    let Some(win) = valid_window()? else {
        return Ok(true);
    };
    if !matches!(user::mode()?.as_str(), "n" | "nt") {
        api::<()>("nvim_command", "stopinsert")?;
    }
    let current = window::here()?;
    if current != win {
        with(|window| window.home = Some(current));
        window::go_to(win)?;
    }
    entered()?;
    Ok(true)
}

/// Goes to the question of a session, or to the one on the screen if the session asks nothing;
/// `false` when there is no question.
pub fn focus_in(session: SessionKey) -> mlua::Result<bool> {
    let is_shown = shown().is_some_and(|question| question.session() == session);
    let open = snapshot();
    let mut waiting = open.questions.iter();
    match waiting.find(|question| question.session == session) {
        Some(first) if !is_shown => {
            let going = (QuestionId(first.id), window::here()?);
            with(|window| window.going = Some(going));
            send(Event::View(ViewEvent::QuestionWanted { session }));
            Ok(true)
        }
        _ => focus(),
    }
}

/// Shows the question again, wherever the user has closed it: a chat is shown.
pub fn chat_shown() -> mlua::Result<()> {
    if shown().is_none() {
        return Ok(());
    }
    // The chat may have other buffers.
    step::map_key()?;
    reopen()
}

/// Accepts keys for the question on the screen: the user has gone to its window.
fn entered() -> mlua::Result<()> {
    with(|window| {
        window.stepped = window.question.as_ref().map(QuestionView::id);
        window.is_left = false;
    });
    draw()
}

/// Returns whether a key pressed now is meant for this question.
fn is_meant() -> mlua::Result<bool> {
    let id = shown().map(|question| question.id());
    let stepped = with(|window| std::mem::replace(&mut window.stepped, id));
    if with(|window| window.is_answered) || user::is_in_macro()? {
        return Ok(false);
    }
    if stepped != id {
        let text = "This is another question now. Press the key again to answer it.";
        notify(Level::Info, text)?;
    }
    Ok(stepped == id)
}

/// Sends the user's answer and goes back to where the user was: the next key is not meant for the
/// next question.
fn answer(id: QuestionId, answer: Answer) -> mlua::Result<()> {
    with(|window| window.is_answered = true);
    send(Event::Answer { id, answer });
    match valid_window()? == Some(window::here()?) {
        true => leave(),
        false => Ok(()),
    }
}

fn valid_window() -> mlua::Result<Option<i32>> {
    match with(|window| window.win) {
        Some(win) if window::is_valid(win)? => Ok(Some(win)),
        _ => Ok(None),
    }
}

/// Opens the window in the tab page the user is in now.
fn reopen() -> mlua::Result<()> {
    if let Some(win) = valid_window()? {
        if window::tab_of(win)? == window::tab()? {
            return Ok(());
        }
        options::hide()?;
        window::close(win)?;
    }
    draw()
}

fn buffer(kind: Kind) -> mlua::Result<i32> {
    if let Some(buf) = with(|window| window.bufs.get(&kind).copied())
        && buffer::is_valid(buf)?
    {
        return Ok(buf);
    }
    // 'laststatus' 3 shows it.
    let name = buffer::free_name(&format!("acp://{}", kind.keymaps()))?;
    let buf = buffer::read_only(&name, kind.filetype())?;
    with(|window| window.bufs.insert(kind, buf));
    autocmd::on(
        "question entered",
        &["WinEnter"],
        Scope::Buffer(buf),
        |_| {
            // By the mouse, or as the previous window. A field returns the focus to its form.
            if user::is_inserting()? && !field::is_open() {
                api::<()>("nvim_command", "stopinsert")?;
            }
            defer::soon("question entered", || {
                match valid_window()? == Some(window::here()?) {
                    true => entered(),
                    false => Ok(()),
                }
            })
        },
    )?;
    // `:edit` has emptied it.
    autocmd::on("question read", &["BufReadCmd"], Scope::Buffer(buf), |_| {
        defer::soon("question read", redraw)
    })?;
    autocmd::on("question left", &["WinLeave"], Scope::Buffer(buf), |_| {
        // A field has a window over this one.
        if field::is_open() {
            return Ok(());
        }
        with(|window| {
            window.is_left = true;
            window.confirming = None;
            window.filling.warned = None;
        });
        // Neovim has not left it yet.
        defer::soon("question left", redraw)
    })?;
    Ok(buf)
}

fn set_keys(buf: i32, question: &QuestionView) -> mlua::Result<()> {
    for lhs in with(|window| window.mapped.remove(&buf)).unwrap_or_default() {
        // The user may have removed it.
        let _: mlua::Result<()> = api("nvim_buf_del_keymap", (buf, "n", lhs));
    }
    let users = mapped_in(buf)?;
    for (key, to) in [("j", "gj"), ("k", "gk"), ("<Down>", "gj"), ("<Up>", "gk")] {
        keys::map_to(buf, "n", key, "Goes to the next row on the screen", to)?;
    }
    let group = Kind::of(question).keymaps();
    let desc = "Leaves the question open";
    keys::bind(buf, &["n"], (group, "leave"), desc, |_| leave())?;
    match question {
        QuestionView::Permission(view) => permission::set_keys(buf, view)?,
        QuestionView::Form(view) => form::set_keys(buf, view)?,
    }
    let mut mapped = mapped_in(buf)?;
    mapped.retain(|lhs| !users.contains(lhs));
    with(|window| window.mapped.insert(buf, mapped));
    Ok(())
}

/// Returns the keys of normal mode that are mapped in a buffer.
fn mapped_in(buf: i32) -> mlua::Result<Vec<String>> {
    let maps: Vec<Table> = api("nvim_buf_get_keymap", (buf, "n"))?;
    maps.iter().map(|map| map.get("lhs")).collect()
}

/// Maps a key that answers or changes something. A key pressed as another question replaced the one
/// that the user had gone to is ignored.
fn map(
    buf: i32,
    key: &str,
    desc: &str,
    body: impl Fn() -> mlua::Result<()> + 'static,
) -> mlua::Result<()> {
    keys::map(buf, "n", key, desc, move || match is_meant()? {
        true => body(),
        false => Ok(()),
    })
}

/// Maps the configured keys of a name as [`map`] does.
fn bind(
    buf: i32,
    name: (&str, &str),
    desc: &str,
    body: impl Fn() -> mlua::Result<()> + Clone + 'static,
) -> mlua::Result<()> {
    keys::bind(buf, &["n"], name, desc, move |_| match is_meant()? {
        true => body(),
        false => Ok(()),
    })
}

fn cancel(session: SessionKey) -> mlua::Result<()> {
    send(Event::Session(SessionEvent::Cancel { session }));
    Ok(())
}

/// Goes back to where the user was.
fn leave() -> mlua::Result<()> {
    match with(|window| window.home) {
        Some(home) if window::is_valid(home)? => window::go_to(home),
        _ => api("nvim_command", "wincmd p"),
    }
}

fn close() -> mlua::Result<()> {
    options::hide()?;
    let Some(win) = valid_window()? else {
        return Ok(());
    };
    if win == window::here()? {
        leave()?;
    }
    with(|window| window.win = None);
    window::close(win)?;
    lift::lower()
}
