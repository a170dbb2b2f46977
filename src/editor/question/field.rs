//! The window in which the user types into a field, over the field's line.
//!
//! Invariant: however it closes, the text is in the field afterwards; if the agent has withdrawn
//! the question, the text is in a register, unless it is a secret.

use nvim_oxi::mlua::{self, Table, Value};

use super::form::{self, Move, find_row, go, perform, with_form};
use super::{close, draw, is_meant, show, valid_window, with};
use crate::editor::keys;
use crate::editor::kit::autocmd::{self, Scope};
use crate::editor::kit::{buffer, defer, user, window};
use crate::editor::notify::notify;
use crate::editor::nvim::{self, api};
use acp_core::form::Kind;
use acp_core::questions::formview::{Act, Row};
use acp_core::spine::effect::Level;

/// The window over a field.
#[derive(Debug, Clone, Copy)]
pub(super) struct Editing {
    /// The number of the field.
    number: usize,
    is_secret: bool,
    buf: i32,
    win: i32,
}

/// Maximum number of visible rows of a longer text.
const ROWS: i64 = 6;

fn editing() -> Option<Editing> {
    with(|window| window.filling.editing)
}

pub(super) fn is_open() -> bool {
    editing().is_some()
}

/// Opens the window over a field.
pub(super) fn edit(number: usize) -> mlua::Result<()> {
    let found = with_form(|form, draft| {
        let text = draft.text(form, number)?.to_owned();
        let field = form.fields.get(number)?;
        Some((text, matches!(field.kind, Kind::Text), field.is_secret))
    });
    let (Some((text, has_lines, is_secret)), Some(form)) = (found.flatten(), valid_window()?)
    else {
        return Ok(());
    };
    if let Some(row) = row_of(number) {
        window::set_row(form, row)?;
    }
    let buf = buffer::scratch("", "")?;
    nvim::set_buf_option(buf, "bufhidden", "wipe")?;
    let lines: Vec<&str> = text.split('\n').collect();
    let last = (lines.len(), lines.last().map_or(0, |line| line.len()));
    api::<()>("nvim_buf_set_lines", (buf, 0, -1, false, lines))?;
    set_keys(buf, has_lines)?;
    let is_inserting = user::is_inserting()?;
    let config = config(form, number, buf)?;
    let set = |editing| with(|window| window.filling.editing = editing);
    let editing = Editing {
        number,
        is_secret,
        buf,
        win: 0,
    };
    // Before the cursor leaves the form's window, so that this does not count as leaving it.
    set(Some(editing));
    let win: i32 = match api("nvim_open_win", (buf, true, config)) {
        Ok(win) => win,
        Err(error) => {
            set(None);
            return Err(error);
        }
    };
    set(Some(Editing { win, ..editing }));
    nvim::set_win_option(win, "winhighlight", "NormalFloat:AcpFormField")?;
    window::switch(win, &["wrap"], false)?;
    window::switch(win, &window::UNTIED, false)?;
    if is_secret {
        hide(win)?;
    }
    nvim::set_buf_option(buf, "filetype", "acp-field")?;
    watch(buf)?;
    api::<()>("nvim_win_set_cursor", (win, [last.0, last.1]))?;
    match is_inserting {
        true => Ok(()),
        false => api("nvim_command", "startinsert!"),
    }
}

/// Shows a dot in the place of each character of a window.
fn hide(win: i32) -> mlua::Result<()> {
    nvim::set_win_option(win, "conceallevel", 1)?;
    nvim::set_win_option(win, "concealcursor", "nvic")?;
    let opts = nvim::table([("window", nvim::value(win)), ("conceal", nvim::value("•"))])?;
    nvim::vim_fn("matchadd", ("Conceal", ".", 10, -1, opts))
}

/// Moves the window to its field.
pub(super) fn place(form: i32) -> mlua::Result<()> {
    let Some(editing) = editing().filter(|editing| editing.win != 0) else {
        return Ok(());
    };
    match window::is_valid(editing.win)? {
        true => {
            let config = config(form, editing.number, editing.buf)?;
            api("nvim_win_set_config", (editing.win, config))
        }
        false => Ok(()),
    }
}

fn row_of(number: usize) -> Option<usize> {
    find_row(|row| *row == Row::Value(number))
}

fn config(form: i32, number: usize, buf: i32) -> mlua::Result<Table> {
    let width = window::width(form)?;
    let height: i64 = api("nvim_buf_line_count", buf)?;
    let row = row_of(number).unwrap_or(0);
    let at = nvim::lua().create_sequence_from([row, 0])?;
    nvim::table([
        ("relative", nvim::value("win")),
        ("win", nvim::value(form)),
        ("bufpos", Value::Table(at)),
        ("row", nvim::value(0)),
        ("col", nvim::value(2)),
        ("width", nvim::value((width - 3).max(1))),
        ("height", nvim::value(height.clamp(1, ROWS))),
        ("style", nvim::value("minimal")),
        ("border", nvim::value("none")),
        ("zindex", nvim::value(62)),
    ])
}

fn set_keys(buf: i32, has_lines: bool) -> mlua::Result<()> {
    let desc = "Leaves the field";
    for mode in ["i", "n"] {
        for (key, to) in [("<CR>", Move::Next), ("<Esc>", Move::Stay)] {
            keys::map(buf, mode, key, desc, move || end(key, to))?;
        }
    }
    for (name, to) in [
        ("next", Move::Next),
        ("prev", Move::Prev),
        ("submit", Move::Submit),
        ("cancel", Move::Stay),
    ] {
        keys::bind(buf, &["i", "n"], ("form", name), desc, move |lhs| {
            end(lhs, to)
        })?;
    }
    if has_lines {
        for key in keys::of("form", "newline") {
            keys::map_to(buf, "i", &key, "Starts a new line", "<CR>")?;
        }
    }
    Ok(())
}

/// Lets the window grow with its text, and keeps the text when the user leaves it.
fn watch(buf: i32) -> mlua::Result<()> {
    let events = ["TextChangedI", "TextChanged"];
    autocmd::on("field text", &events, Scope::Buffer(buf), |_| {
        valid_window()?.map_or(Ok(()), place)
    })?;
    let on_leave = move |_| {
        keep();
        // Neovim has not left it yet.
        defer::soon("field left", move || {
            let is_open = editing().is_some_and(|editing| editing.buf == buf);
            if !is_open || buffer::here()? == buf {
                return Ok(());
            }
            let here = window::here()?;
            with(|window| window.is_left = window.win != Some(here));
            finish()
        })
    };
    autocmd::on("field left", &["WinLeave"], Scope::Buffer(buf), on_leave).map(drop)
}

/// Copies the text into the field.
fn keep() {
    let Some(editing) = editing() else {
        return;
    };
    if let Ok(lines) = buffer::lines(editing.buf) {
        let text = lines.join("\n");
        with_form(|_, draft| draft.write(editing.number, text));
    }
}

/// Leaves the field; while a menu of completions is open, the key is for the menu.
fn end(key: &str, to: Move) -> mlua::Result<()> {
    if user::is_in_menu()? {
        return match (key, to) {
            ("<CR>", _) => keys::feed("<C-y>"),
            (_, Move::Prev) => keys::feed("<C-p>"),
            (_, Move::Next) => keys::feed("<C-n>"),
            _ => keys::feed("<C-e>"),
        };
    }
    keep();
    if with(|window| window.next.is_some()) {
        return finish();
    }
    let Some(form) = valid_window()? else {
        return finish();
    };
    draw()?;
    let next = match to {
        Move::Next | Move::Prev => {
            go(to)?;
            form::row_at(window::row(form)?)
        }
        Move::Stay | Move::Submit => None,
    };
    let is_text = |number| {
        let found = with_form(|form, draft| draft.text(form, number).is_some());
        found.unwrap_or_default()
    };
    match next {
        // The user goes on typing in the next field.
        Some(Row::Value(number)) if is_text(number) => {
            let old = with(|window| window.filling.editing.take());
            edit(number)?;
            old.map_or(Ok(()), |old| window::close(old.win))
        }
        _ => {
            finish()?;
            match to == Move::Submit && is_meant()? {
                true => perform(Act::Submit),
                false => Ok(()),
            }
        }
    }
}

/// Closes the field's window and shows the question that was put off.
fn finish() -> mlua::Result<()> {
    let Some(editing) = with(|window| window.filling.editing.take()) else {
        return Ok(());
    };
    if window::here()? == editing.win {
        api::<()>("nvim_command", "stopinsert")?;
        if let Some(form) = valid_window()? {
            window::go_to(form)?;
        }
    }
    let next = with(|window| window.next.take());
    if next.is_some() {
        save_text(editing)?;
    }
    window::close(editing.win)?;
    match next {
        Some(next) => {
            close()?;
            show(next)
        }
        None => draw(),
    }
}

/// Saves the text for a question that the agent has withdrawn.
fn save_text(editing: Editing) -> mlua::Result<()> {
    if !buffer::is_valid(editing.buf)? {
        return Ok(());
    }
    let lines = buffer::lines(editing.buf)?;
    if lines.iter().all(String::is_empty) {
        return Ok(());
    }
    if editing.is_secret {
        return notify(Level::Info, "This question is over.");
    }
    nvim::vim_fn::<()>("setreg", ("\"", lines.join("\n")))?;
    let text = "This question is over; your text is in the register \".";
    notify(Level::Info, text)
}
