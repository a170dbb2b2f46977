//! The window with an agent's question: a permission, a form or a page.
//!
//! Invariants: the window takes no key that is meant for a text: it gets the focus only in normal
//! mode and after [`REST`] without a key, and for as long after it appeared or got the focus its
//! keys answer nothing. No key allows what was not on the screen to its end. A user who leaves it is
//! not brought back. The user's entries stay until the question is answered.

mod field;
mod focus;
mod form;
mod list;
mod permission;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use nvim_oxi::mlua::{self, Table};

use super::kit::autocmd::{self, Scope};
use super::kit::float::{self, Frame, Size, Spot, clipped};
use super::kit::{buffer, defer, user, window};
use super::nvim::api;
use super::state::send;
use super::{keys, nvim};
use acp_core::event::{Event, SessionEvent};
use acp_core::questions::Answer;
use acp_core::spine::ids::{QuestionId, SessionKey};
use acp_core::spine::view::QuestionView;
use focus::wait_for_rest;
use form::Filling;

/// The time without a key after which the window may take the focus.
const REST: Duration = Duration::from_millis(300);

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
    win: Option<i32>,
    /// The user's place before the window got the focus.
    home: Option<i32>,
    /// When the question appeared, or the window got the focus.
    since: Option<Instant>,
    is_answered: bool,
    /// It cannot be drawn: it is asked in a list.
    is_not_drawn: bool,
    /// The end of what a permission would allow has been on the screen.
    is_seen: bool,
    /// The user has left the window: it takes the focus only on request.
    is_left: bool,
    /// The permission that the user has to answer before anything else.
    asked: Option<QuestionId>,
    /// Its files have been opened, as the configuration has it.
    is_opened: bool,
    /// Number of the question's places that the user has visited.
    visited: usize,
    filling: Filling,
    last_key: Option<Instant>,
    is_waiting_for_rest: bool,
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

/// Watches the mode and the screen, for as long as the plugin is in use.
pub fn start() -> mlua::Result<()> {
    let normal = Scope::Patterns(&["*:n", "*:nt"]);
    autocmd::on("question mode", &["ModeChanged"], normal, |_| {
        wait_for_rest()
    })?;
    autocmd::on("question tab", &["TabEnter"], Scope::All, |_| reopen())?;
    autocmd::on(
        "question scroll",
        &["WinScrolled"],
        Scope::All,
        |_| match permission::note_seen()? {
            true => redraw(),
            false => Ok(()),
        },
    )?;
    let resized = |_| redraw();
    autocmd::on("question screen", &["VimResized"], Scope::All, resized)?;
    Ok(())
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
        focus::watch_keys()?;
        return close();
    };
    if shown().is_some_and(|shown| Kind::of(&shown) != Kind::of(&question)) {
        close()?;
    }
    let is_seen = permission::shows_the_same(shown().as_ref(), &question);
    with(|window| {
        window.question = Some(question.clone());
        window.is_seen &= is_seen;
        if is_other {
            window.since = Some(Instant::now());
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
    draw()?;
    if is_other {
        form::go_to_first()?;
    }
    if with(|window| window.asked) == id {
        focus()?;
    }
    if is_other {
        focus::watch_keys()?;
        wait_for_rest()?;
    }
    Ok(())
}

/// Has a question asked in a list, because its window cannot be drawn. The keys of a window that
/// shows something else would answer it, so the window closes.
pub fn is_not_drawn(question: Option<QuestionView>) -> mlua::Result<()> {
    with(|window| {
        window.question = question;
        window.is_not_drawn = window.question.is_some();
    });
    close()?;
    focus::watch_keys()?;
    wait_for_rest()
}

/// Goes to the window, opening it in this tab page if need be; `false` when there is no question.
pub fn focus() -> mlua::Result<bool> {
    if shown().is_none() {
        return Ok(false);
    }
    with(|window| {
        window.is_left = false;
        window.asked = None;
    });
    reopen()?;
    take_focus()?;
    Ok(true)
}

/// Goes to the window to have an option chosen, as soon as it shows this permission.
pub fn ask(id: QuestionId) -> mlua::Result<()> {
    with(|window| window.asked = Some(id));
    match shown() {
        Some(QuestionView::Permission(view)) if view.id == id => focus().map(drop),
        _ => Ok(()),
    }
}

/// Takes the focus: the keyboard rests, or the user has asked for the window.
fn take_focus() -> mlua::Result<()> {
    if with(|window| window.is_not_drawn) {
        return list::ask();
    }
    let Some(win) = valid_window()? else {
        return Ok(());
    };
    let current = window::here()?;
    if current != win {
        with(|window| {
            window.home = Some(current);
            window.since = Some(Instant::now());
            window.is_left = false;
        });
        window::go_to(win)?;
    }
    draw()
}

/// Returns whether a key pressed now is meant for this question.
fn is_meant() -> bool {
    with(|window| {
        let has_rested = window.since.is_some_and(|since| since.elapsed() >= REST);
        has_rested && !window.is_answered
    })
}

/// Sends the user's answer; no key answers this question again.
fn answer(id: QuestionId, answer: Answer) {
    with(|window| window.is_answered = true);
    send(Event::Answer { id, answer });
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
        window::close(win)?;
    }
    draw()
}

/// Draws the window, if it is open.
fn redraw() -> mlua::Result<()> {
    match valid_window()? {
        Some(_) => draw(),
        None => Ok(()),
    }
}

/// Draws the question, opening the window if need be.
fn draw() -> mlua::Result<()> {
    let question = shown().filter(|_| with(|window| !window.is_not_drawn));
    let Some(question) = question else {
        return Ok(());
    };
    let buf = buffer(Kind::of(&question))?;
    let known = valid_window()?;
    let (lines, row, least, tenths) = match &question {
        QuestionView::Permission(view) => (permission::lines(view), None, 40, 7),
        QuestionView::Form(view) => {
            let before = known.map_or(Ok(0), window::row)?;
            let (lines, row) = form::lines(view, before);
            (lines, row, 60, 8)
        }
    };
    buffer::write(buf, &[], &lines)?;
    let mut size = Size::of(&lines, least, tenths)?;
    if let (QuestionView::Permission(view), true) = (&question, size.is_cut) {
        // The options are in the frame.
        size = Size::of(&lines, least.max(permission::hint_width(view)), tenths)?;
    }
    let config = float::config(size, frame(&question, size)?)?;
    let win = match known {
        Some(win) => {
            api::<()>("nvim_win_set_config", (win, config))?;
            win
        }
        None => open(buf, config, Kind::of(&question))?,
    };
    if permission::note_seen()? {
        let config = float::config(size, frame(&question, size)?)?;
        api::<()>("nvim_win_set_config", (win, config))?;
    }
    if let Some(row) = row {
        window::set_row(win, row)?;
    }
    let keyed = Some((buf, question.id()));
    if with(|window| std::mem::replace(&mut window.keyed, keyed)) != keyed {
        set_keys(buf, &question)?;
    }
    match question {
        QuestionView::Permission(_) => Ok(()),
        QuestionView::Form(_) => {
            form::show_all(win)?;
            field::place(win)
        }
    }
}

fn open(buf: i32, config: Table, kind: Kind) -> mlua::Result<i32> {
    let win: i32 = api("nvim_open_win", (buf, false, config))?;
    // A command may be a line longer than the window: every row of it must be visible.
    window::switch(win, &["wrap", "linebreak", "smoothscroll"], true)?;
    nvim::set_win_option(win, "cursorline", kind == Kind::Form)?;
    with(|window| {
        window.win = Some(win);
        window.home = None;
    });
    form::go_to_first()?;
    Ok(win)
}

/// Returns the frame of the window; its footer shows the keys to reach the window and to answer.
fn frame(question: &QuestionView, size: Size) -> mlua::Result<Frame> {
    let is_here = valid_window()? == Some(window::here()?);
    let (is_left, is_over) = with(|window| (window.is_left, window.next.is_some()));
    let mut footer = if is_over {
        " This is asked no more: <Esc> closes it ".to_owned()
    } else if is_here {
        String::new()
    } else if is_left {
        " :Acp permission goes here ".to_owned()
    } else if user::is_inserting()? {
        " <Esc> goes here ".to_owned()
    } else {
        String::new()
    };
    let (title, waiting, spot) = match question {
        QuestionView::Permission(view) => {
            footer.push_str(&permission::hint(view, size.is_cut));
            let spot = match permission::is_aside(view) {
                true => Spot::Corner,
                false => Spot::Middle,
            };
            (&view.title, view.waiting, spot)
        }
        QuestionView::Form(view) => {
            if is_here {
                footer.push_str(&form::hint(&view.ask));
            }
            (&view.title, view.waiting, Spot::Middle)
        }
    };
    if waiting > 0 {
        footer.push_str(&format!(" +{waiting} more "));
    }
    Ok(Frame {
        title: format!(" {} ", clipped(title, size.width - 4)),
        footer: clipped(&footer, size.width),
        spot,
        zindex: 60,
    })
}

fn buffer(kind: Kind) -> mlua::Result<i32> {
    if let Some(buf) = with(|window| window.bufs.get(&kind).copied())
        && buffer::is_valid(buf)?
    {
        return Ok(buf);
    }
    let buf = buffer::read_only("", kind.filetype())?;
    with(|window| window.bufs.insert(kind, buf));
    autocmd::on("question left", &["WinLeave"], Scope::Buffer(buf), |_| {
        // A field has a window over this one.
        if field::is_open() {
            return Ok(());
        }
        with(|window| {
            window.is_left = true;
            window.filling.warned = None;
        });
        // Neovim has not left it yet.
        defer::soon("question left", redraw)
    })?;
    Ok(buf)
}

fn set_keys(buf: i32, question: &QuestionView) -> mlua::Result<()> {
    let old: Vec<Table> = api("nvim_buf_get_keymap", (buf, "n"))?;
    for map in old {
        let lhs: String = map.get("lhs")?;
        api::<()>("nvim_buf_del_keymap", (buf, "n", lhs))?;
    }
    for (key, to) in [("j", "gj"), ("k", "gk"), ("<Down>", "gj"), ("<Up>", "gk")] {
        keys::map_to(buf, "n", key, "Goes to the next row on the screen", to)?;
    }
    let group = Kind::of(question).keymaps();
    let desc = "Leaves the question open";
    keys::bind(buf, &["n"], (group, "leave"), desc, |_| leave())?;
    match question {
        QuestionView::Permission(view) => permission::set_keys(buf, view),
        QuestionView::Form(view) => form::set_keys(buf, view),
    }
}

/// Maps a key that answers or changes something. A key pressed too soon after the question appeared
/// was meant for other text, and is ignored.
fn map(
    buf: i32,
    key: &str,
    desc: &str,
    body: impl Fn() -> mlua::Result<()> + 'static,
) -> mlua::Result<()> {
    keys::map(buf, "n", key, desc, move || match is_meant() {
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
    keys::bind(buf, &["n"], name, desc, move |_| match is_meant() {
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
    let Some(win) = valid_window()? else {
        return Ok(());
    };
    if win == window::here()? {
        leave()?;
    }
    with(|window| window.win = None);
    window::close(win)
}
