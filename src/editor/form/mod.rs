//! The window of a question by a form or a page: its fields, and what can be done about it.
//!
//! Invariants: no key meant for a text is taken: the window gets the focus only in normal mode
//! and when no key came for [`REST`], and for as long after that its keys do nothing. What the
//! user has entered stays until the question is answered, whoever leaves the window; no page is
//! opened but by the user's key.

mod acts;
mod field;
mod look;

use std::collections::BTreeMap;
use std::time::Instant;

use nvim_oxi::mlua::{self, Table, Value};

use super::nvim::{self, api};
use super::permission::look::{clipped, highlight, way_in};
use super::rest::{REST, wait_for_rest, watch_keys};
use super::{guard, state};
use acp_core::questions::elicitation::Ask;
use acp_core::questions::formview::{self, Act, Draft, Row};
use acp_core::render::view::ElicitationView;
use acp_core::spine::ids::ElicitationId;
use field::Editing;

/// What is on the screen of it.
#[derive(Debug, Default)]
pub struct Window {
    view: Option<ElicitationView>,
    /// What was entered, also in questions that another one has the place of for a while.
    drafts: BTreeMap<ElicitationId, Draft>,
    /// What each line stands for.
    rows: Vec<Row>,
    buf: Option<i32>,
    win: Option<i32>,
    /// Where the user was before the window got the focus.
    home: Option<i32>,
    /// Since when the question stands there, focused or not.
    since: Option<Instant>,
    answered: bool,
    /// What the user was warned of: it would drop this draft, asked for on this row.
    warned: Option<(Act, Draft, usize)>,
    /// The user has left the window: it takes the focus only when asked to.
    left: bool,
    /// The field that is being typed into.
    editing: Option<Editing>,
    /// What came while the user was typing, to be shown after that.
    next: Option<Option<ElicitationView>>,
}

/// Watches the screen, for as long as the plugin is in use.
///
/// # Errors
/// What Neovim says of it.
pub fn start() -> mlua::Result<()> {
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
pub fn show(view: Option<ElicitationView>) -> mlua::Result<()> {
    let shown = with(|window| window.view.as_ref().map(|view| view.id));
    let is_other = shown != view.as_ref().map(|view| view.id);
    if is_other && with(|window| window.editing.is_some()) {
        // What is typed just now must not land in the window behind.
        with(|window| window.next = Some(view));
        return draw();
    }
    // What was to come in its place has been put off again.
    with(|window| window.next = None);
    let Some(view) = view else {
        with(|window| {
            window.view = None;
            forget_drafts(window);
        });
        watch_keys()?;
        return close();
    };
    with(|window| {
        window
            .drafts
            .entry(view.id)
            .or_insert_with(|| Draft::of(&view.ask));
        if is_other {
            window.since = Some(Instant::now());
            window.answered = false;
            window.warned = None;
            window.left = false;
        }
        window.view = Some(view);
        forget_drafts(window);
    });
    draw()?;
    if is_other {
        set_keys()?;
        go_to_first()?;
        watch_keys()?;
        wait_for_rest()?;
    }
    Ok(())
}

/// Forgets what was entered in questions that are over.
fn forget_drafts(window: &mut Window) {
    let snapshot = state::snapshot();
    let shown = window.view.as_ref().map(|view| view.id);
    window.drafts.retain(|id, _| {
        let mut open = snapshot.elicitations.iter();
        Some(*id) == shown || open.any(|open| open.id == id.0)
    });
}

/// Tells whether a question is on the screen.
pub fn is_open() -> bool {
    with(|window| window.view.is_some())
}

/// Tells whether the window would have the focus: there is a question, and nobody has left it.
pub fn wants_focus() -> bool {
    with(|window| window.view.is_some() && !window.left && window.editing.is_none())
}

/// Goes to the window, opening it in this tab page if need be.
///
/// # Errors
/// What Neovim says of it.
pub fn focus() -> mlua::Result<bool> {
    if !is_open() {
        return Ok(false);
    }
    with(|window| window.left = false);
    reopen()?;
    take_focus()?;
    Ok(true)
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
        with(|window| {
            window.home = Some(current);
            window.since = Some(Instant::now());
            window.left = false;
        });
        api::<()>("nvim_set_current_win", win)?;
    }
    draw()
}

fn with<R: Default>(body: impl FnOnce(&mut Window) -> R) -> R {
    state::with(|editor| body(&mut editor.form.borrow_mut())).unwrap_or_default()
}

/// Tells whether a key pressed now is meant for this question.
fn is_meant() -> bool {
    with(|window| {
        let rested = window.since.is_some_and(|since| since.elapsed() >= REST);
        rested && !window.answered
    })
}

/// Runs `body` with the form and what is entered in it.
fn with_form<R>(body: impl FnOnce(&acp_core::questions::form::Form, &mut Draft) -> R) -> Option<R> {
    with(|window| {
        let view = window.view.as_ref()?;
        let Ask::Form(form) = &view.ask else {
            return None;
        };
        Some(body(form, window.drafts.get_mut(&view.id)?))
    })
}

fn valid_window() -> mlua::Result<Option<i32>> {
    match with(|window| window.win) {
        Some(win) if api("nvim_win_is_valid", win)? => Ok(Some(win)),
        _ => Ok(None),
    }
}

/// Opens the window in the tab page the user is in now.
fn reopen() -> mlua::Result<()> {
    if !is_open() {
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

/// Draws all lines; the cursor stays with what it is on.
fn draw() -> mlua::Result<()> {
    let drawn = with(|window| {
        let view = window.view.clone()?;
        let draft = window.drafts.get(&view.id)?.clone();
        Some((view, draft))
    });
    let Some((view, draft)) = drawn else {
        return Ok(());
    };
    let buf = buffer()?;
    let (lines, rows) = formview::render(&view, &draft, acts::key_of);
    let known = valid_window()?;
    let row_before = match known {
        Some(win) => cursor(win)?,
        None => 0,
    };
    let at = with(|window| window.rows.get(row_before).copied());
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    nvim::set_buf_option(buf, "modifiable", true)?;
    api::<()>("nvim_buf_set_lines", (buf, 0, -1, false, texts))?;
    nvim::set_buf_option(buf, "modifiable", false)?;
    highlight(buf, "acp_form", &lines)?;
    let row = rows
        .iter()
        .position(|row| Some(*row) == at && *row != Row::Text);
    with(|window| window.rows = rows);
    let config = look::window_config(&view, &lines, &footer(&view)?)?;
    let win = match known {
        Some(win) => {
            api::<()>("nvim_win_set_config", (win, config))?;
            win
        }
        None => open(buf, config)?,
    };
    if let Some(row) = row {
        set_cursor(win, row)?;
    }
    look::show_whole(win)?;
    field::place(win)
}

fn set_keys() -> mlua::Result<()> {
    let buf = buffer()?;
    match with(|window| window.view.clone()) {
        Some(view) => acts::set_keys(buf, &view),
        None => Ok(()),
    }
}

fn open(buf: i32, config: Table) -> mlua::Result<i32> {
    let win: i32 = api("nvim_open_win", (buf, false, config))?;
    for name in ["wrap", "linebreak", "smoothscroll", "cursorline"] {
        nvim::set_win_option(win, name, true)?;
    }
    with(|window| {
        window.win = Some(win);
        window.home = None;
    });
    go_to_first()?;
    Ok(win)
}

fn footer(view: &ElicitationView) -> mlua::Result<String> {
    let is_here = valid_window()? == Some(api("nvim_get_current_win", ())?);
    let is_over = with(|window| window.next.is_some());
    let mut footer = match is_over {
        true => " This is asked no more: <Esc> closes it ".to_owned(),
        false => way_in(is_here, with(|window| window.left))?,
    };
    if is_here {
        footer.push_str(&look::hint(&view.ask));
    }
    if view.waiting > 0 {
        footer.push_str(&format!(" +{} more ", view.waiting));
    }
    Ok(footer)
}

fn buffer() -> mlua::Result<i32> {
    if let Some(buf) = with(|window| window.buf)
        && api("nvim_buf_is_valid", buf)?
    {
        return Ok(buf);
    }
    let buf: i32 = api("nvim_create_buf", (false, true))?;
    nvim::set_buf_option(buf, "bufhidden", "hide")?;
    nvim::set_buf_option(buf, "filetype", "acp-form")?;
    with(|window| window.buf = Some(buf));
    let on_leave = guard::callback("WinLeave", |_: Table| {
        // A field is in a window of its own.
        if with(|window| window.editing.is_some()) {
            return Ok(());
        }
        with(|window| {
            window.left = true;
            window.warned = None;
        });
        draw_later()
    })?;
    let opts = nvim::table([
        ("buffer", nvim::value(buf)),
        ("callback", Value::Function(on_leave)),
    ])?;
    api::<i32>("nvim_create_autocmd", ("WinLeave", opts))?;
    Ok(buf)
}

/// Draws the window once Neovim has left it: what its frame says depends on where the user is.
fn draw_later() -> mlua::Result<()> {
    let body = guard::callback("form left", |()| match valid_window()? {
        Some(_) => draw(),
        None => Ok(()),
    })?;
    nvim::vim()?.get::<mlua::Function>("schedule")?.call(body)
}

/// Returns the row of a window's cursor.
fn cursor(win: i32) -> mlua::Result<usize> {
    let cursor: Vec<usize> = api("nvim_win_get_cursor", win)?;
    Ok(cursor.first().map_or(0, |line| line.saturating_sub(1)))
}

fn set_cursor(win: i32, row: usize) -> mlua::Result<()> {
    api("nvim_win_set_cursor", (win, [row + 1, 0]))
}

/// Goes to the first field, or to what can be done.
fn go_to_first() -> mlua::Result<()> {
    let first = stops().first().copied();
    match (valid_window()?, first) {
        (Some(win), Some(row)) => {
            set_cursor(win, row)?;
            // The words above it come into view.
            look::show_from_top(win)
        }
        _ => Ok(()),
    }
}

fn stops() -> Vec<usize> {
    with(|window| {
        let draft = window.view.as_ref();
        let draft = draft.and_then(|view| window.drafts.get(&view.id));
        draft.map_or_else(Vec::new, |draft| formview::stops(&window.rows, draft))
    })
}

/// Goes back to where the user was.
fn leave() -> mlua::Result<()> {
    match with(|window| window.home) {
        Some(home) if api("nvim_win_is_valid", home)? => api("nvim_set_current_win", home),
        _ => api("nvim_command", "wincmd p"),
    }
}

fn close() -> mlua::Result<()> {
    let Some(win) = valid_window()? else {
        return Ok(());
    };
    if win == api::<i32>("nvim_get_current_win", ())? {
        leave()?;
    }
    with(|window| window.win = None);
    api("nvim_win_close", (win, true))
}
