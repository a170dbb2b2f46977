//! The permission window: the oldest open question, its options as keys.
//!
//! Invariant: no key meant for the text is taken. The window gets the focus only in normal mode
//! and when no key came for [`REST`]; for as long after it appeared or changed, its keys do
//! nothing. Who leaves it is not brought back.

pub(super) mod look;

use std::time::Instant;

use nvim_oxi::mlua::{self, Table, Value};

use look::{highlight, is_aside, keys_of, lines, way_in, window_config};

use super::nvim::{self, api};
use super::rest::{REST, wait_for_rest, watch_keys};
use super::state::{self, send};
use super::{guard, keys};
use acp_core::render::view::PermissionView;
use acp_core::spine::event::Event;
use acp_core::spine::ids::PermissionId;

/// What is on the screen of it.
#[derive(Debug, Default)]
pub struct Float {
    view: Option<PermissionView>,
    buf: Option<i32>,
    win: Option<i32>,
    /// Where the user was before the window got the focus.
    home: Option<i32>,
    /// Since when the question stands there, focused or not.
    since: Option<Instant>,
    answered: bool,
    /// The user has left the window: it takes the focus only when asked to.
    left: bool,
    /// The question that the user has to answer before anything else.
    asked: Option<PermissionId>,
    /// How many of the question's places the user has been taken to.
    visited: usize,
    /// Its files have been opened, as the configuration has it.
    opened: bool,
}

/// Watches the keyboard and the mode, for as long as the plugin is in use.
///
/// # Errors
/// What Neovim says of it.
pub fn start() -> mlua::Result<()> {
    let on_mode = guard::callback("ModeChanged", |_: Table| wait_for_rest())?;
    let opts = nvim::table([
        ("pattern", nvim::value("*:n")),
        ("callback", Value::Function(on_mode)),
    ])?;
    api::<i32>("nvim_create_autocmd", ("ModeChanged", opts))?;
    let on_tab = guard::callback("TabEnter", |_: Table| reopen())?;
    let opts = nvim::table([("callback", Value::Function(on_tab))])?;
    api::<i32>("nvim_create_autocmd", ("TabEnter", opts))?;
    let on_resize = guard::callback("VimResized", |_: Table| match valid_window()? {
        Some(_) => draw(),
        None => Ok(()),
    })?;
    let opts = nvim::table([("callback", Value::Function(on_resize))])?;
    api::<i32>("nvim_create_autocmd", ("VimResized", opts))?;
    Ok(())
}

/// Shows a question, the next one, or none.
///
/// # Errors
/// What Neovim says of it.
pub fn show(view: Option<PermissionView>) -> mlua::Result<()> {
    let Some(view) = view else {
        with(|float| float.view = None);
        watch_keys()?;
        return close();
    };
    let is_new = with(|float| {
        let is_new = float.view.as_ref().map(|old| old.id) != Some(view.id);
        if is_new {
            float.since = Some(Instant::now());
            float.answered = false;
            float.left = false;
            float.visited = 0;
            float.opened = false;
        }
        float.view = Some(view);
        is_new
    });
    open_places()?;
    draw()?;
    if let Some(asked) = with(|float| float.asked)
        && with(|float| float.view.as_ref().map(|view| view.id)) == Some(asked)
    {
        focus()?;
    }
    if is_new {
        watch_keys()?;
        wait_for_rest()?;
    }
    Ok(())
}

/// Goes to the window, opening it in this tab page if need be.
///
/// # Errors
/// What Neovim says of it.
pub fn focus() -> mlua::Result<bool> {
    if with(|float| float.view.is_none()) {
        return Ok(false);
    }
    with(|float| {
        float.left = false;
        float.asked = None;
    });
    reopen()?;
    take_focus()?;
    Ok(true)
}

/// Tells whether a question is on the screen.
pub fn is_open() -> bool {
    with(|float| float.view.is_some())
}

/// Tells whether the window would have the focus: there is a question, and nobody has left it.
pub fn wants_focus() -> bool {
    with(|float| float.view.is_some() && !float.left)
}

/// Goes to the window to have an option chosen, as soon as it shows this question.
///
/// # Errors
/// What Neovim says of it.
pub fn ask(id: PermissionId) -> mlua::Result<()> {
    with(|float| float.asked = Some(id));
    match with(|float| float.view.as_ref().map(|view| view.id)) == Some(id) {
        true => focus().map(drop),
        false => Ok(()),
    }
}

/// Opens the files of a new question beside whatever the user is doing, if that is wanted.
fn open_places() -> mlua::Result<()> {
    let is_wanted = state::with(|editor| editor.config.borrow().opens_previews) == Some(true);
    let place = with(|float| {
        let place = float.view.as_ref()?.places.first().cloned()?;
        let is_due = is_wanted && !std::mem::replace(&mut float.opened, true);
        is_due.then_some(place)
    });
    match place {
        Some(place) => super::walk::show_aside(&place.path, place.row),
        None => Ok(()),
    }
}

/// Goes to where the question would change a file: the first place, then the next.
fn visit() -> mlua::Result<()> {
    let place = with(|float| {
        let places = &float.view.as_ref()?.places;
        let place = places.get(float.visited % places.len().max(1)).cloned();
        float.visited += 1;
        place
    });
    let Some(place) = place else {
        let text = "Nothing of this question can be shown in a file.";
        return super::apply::notify(acp_core::spine::effect::Level::Info, text);
    };
    leave()?;
    super::walk::go_to(&place.path, place.row)
}

fn with<R: Default>(body: impl FnOnce(&mut Float) -> R) -> R {
    state::with(|editor| body(&mut editor.float.borrow_mut())).unwrap_or_default()
}

fn valid_window() -> mlua::Result<Option<i32>> {
    match with(|float| float.win) {
        Some(win) if api("nvim_win_is_valid", win)? => Ok(Some(win)),
        _ => Ok(None),
    }
}

/// Opens the window in the tab page the user is in now.
fn reopen() -> mlua::Result<()> {
    if with(|float| float.view.is_none()) {
        return Ok(());
    }
    if let Some(win) = valid_window()? {
        let tab: i32 = api("nvim_win_get_tabpage", win)?;
        if tab == api::<i32>("nvim_get_current_tabpage", ())? {
            return Ok(());
        }
        api::<()>("nvim_win_close", (win, true))?;
    }
    draw()
}

fn draw() -> mlua::Result<()> {
    let Some(view) = with(|float| float.view.clone()) else {
        return Ok(());
    };
    let buf = buffer()?;
    let lines = lines(&view);
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    nvim::set_buf_option(buf, "modifiable", true)?;
    api::<()>("nvim_buf_set_lines", (buf, 0, -1, false, texts))?;
    nvim::set_buf_option(buf, "modifiable", false)?;
    highlight(buf, "acp_permission", &lines)?;
    let known = valid_window()?;
    let here = known == Some(api("nvim_get_current_win", ())?);
    let config = window_config(&view, &lines, &way_in(here, with(|float| float.left))?)?;
    match known {
        Some(win) => api::<()>("nvim_win_set_config", (win, config))?,
        None => {
            let win: i32 = api("nvim_open_win", (buf, false, config))?;
            // A command may be a line longer than the window: every row of it shall be seen.
            for name in ["wrap", "linebreak", "smoothscroll"] {
                nvim::set_win_option(win, name, true)?;
            }
            with(|float| {
                float.win = Some(win);
                float.home = None;
            });
        }
    }
    set_keys(buf, &view)
}

fn buffer() -> mlua::Result<i32> {
    if let Some(buf) = with(|float| float.buf)
        && api("nvim_buf_is_valid", buf)?
    {
        return Ok(buf);
    }
    let buf: i32 = api("nvim_create_buf", (false, true))?;
    nvim::set_buf_option(buf, "bufhidden", "hide")?;
    nvim::set_buf_option(buf, "filetype", "acp-permission")?;
    with(|float| float.buf = Some(buf));
    let on_leave = guard::callback("WinLeave", |_: Table| {
        with(|float| float.left = true);
        match with(|float| float.view.clone()) {
            Some(view) if is_aside(&view) => draw_later(),
            _ => dress(false),
        }
    })?;
    let opts = nvim::table([
        ("buffer", nvim::value(buf)),
        ("callback", Value::Function(on_leave)),
    ])?;
    api::<i32>("nvim_create_autocmd", ("WinLeave", opts))?;
    Ok(buf)
}

/// Draws the window once Neovim has left it: its text may not be changed before.
fn draw_later() -> mlua::Result<()> {
    let body = guard::callback("permission aside", |()| match valid_window()? {
        Some(_) => draw(),
        None => Ok(()),
    })?;
    nvim::vim()?.get::<mlua::Function>("schedule")?.call(body)
}

/// Draws the window's frame anew: what it says depends on where the user is.
fn dress(is_here: bool) -> mlua::Result<()> {
    match (valid_window()?, with(|float| float.view.clone())) {
        (Some(win), Some(view)) => {
            let config = window_config(
                &view,
                &lines(&view),
                &way_in(is_here, with(|float| float.left))?,
            )?;
            api("nvim_win_set_config", (win, config))
        }
        _ => Ok(()),
    }
}

fn set_keys(buf: i32, view: &PermissionView) -> mlua::Result<()> {
    let old: Vec<Table> = api("nvim_buf_get_keymap", (buf, "n"))?;
    for map in old {
        let lhs: String = map.get("lhs")?;
        api::<()>("nvim_buf_del_keymap", (buf, "n", lhs))?;
    }
    for (index, option) in view.options.iter().enumerate() {
        for key in keys_of(index, option) {
            let (id, option) = (view.id, option.option.clone());
            let desc = format!("Answers {}", option);
            keys::map(buf, "n", &key, &desc, move || answer(id, &option))?;
        }
    }
    let (id, options) = (view.id, view.options.clone());
    let first = lines(view).len() - view.options.len();
    keys::map(
        buf,
        "n",
        "<CR>",
        "Answers the option under the cursor",
        move || {
            let cursor: Vec<usize> = api("nvim_win_get_cursor", 0)?;
            let row = cursor.first().map_or(0, |line| line.saturating_sub(1));
            match row.checked_sub(first).and_then(|index| options.get(index)) {
                Some(option) => answer(id, &option.option),
                None => Ok(()),
            }
        },
    )?;
    for (key, to) in [("j", "gj"), ("k", "gk"), ("<Down>", "gj"), ("<Up>", "gk")] {
        keys::map_to(buf, "n", key, "Goes to the next row on the screen", to)?;
    }
    for key in keys::of("permission", "leave") {
        keys::map(buf, "n", &key, "Leaves the question open", leave)?;
    }
    for key in keys::of("permission", "insert") {
        keys::map(buf, "n", &key, "Leaves the question open, to write", write)?;
    }
    for key in keys::of("permission", "show") {
        keys::map(
            buf,
            "n",
            &key,
            "Shows it in the file it would change",
            visit,
        )?;
    }
    let session = view.session;
    for key in keys::of("permission", "cancel") {
        keys::map(buf, "n", &key, "Cancels the turn", move || {
            send(Event::Cancel { session });
            Ok(())
        })?;
    }
    Ok(())
}

/// A key was pressed for an option; too soon after the question appeared it is not meant for it.
fn answer(id: PermissionId, option: &str) -> mlua::Result<()> {
    let is_meant = with(|float| {
        let rested = float.since.is_some_and(|since| since.elapsed() >= REST);
        let is_meant = rested && !float.answered;
        float.answered |= is_meant;
        is_meant
    });
    if is_meant {
        let option = option.to_owned();
        send(Event::PermissionAnswer { id, option });
    }
    Ok(())
}

fn leave() -> mlua::Result<()> {
    match with(|float| float.home) {
        Some(home) if api("nvim_win_is_valid", home)? => api("nvim_set_current_win", home),
        _ => api("nvim_command", "wincmd p"),
    }
}

/// Goes back, and does there what `i` does: what is typed next was meant for a text.
fn write() -> mlua::Result<()> {
    leave()?;
    api("nvim_feedkeys", ("i", "im", false))
}

fn close() -> mlua::Result<()> {
    let Some(win) = valid_window()? else {
        return Ok(());
    };
    if win == api::<i32>("nvim_get_current_win", ())? {
        leave()?;
    }
    with(|float| float.win = None);
    api("nvim_win_close", (win, true))
}

/// Takes the focus, with the keyboard at rest or because the user has asked for it.
///
/// # Errors
/// What Neovim says of it.
pub fn take_focus() -> mlua::Result<()> {
    let Some(win) = valid_window()? else {
        return Ok(());
    };
    let current: i32 = api("nvim_get_current_win", ())?;
    if current != win {
        with(|float| {
            float.home = Some(current);
            float.since = Some(Instant::now());
            float.left = false;
        });
        api::<()>("nvim_set_current_win", win)?;
        // It may have stood aside.
        return draw();
    }
    dress(true)
}
