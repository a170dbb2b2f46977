//! A field that is typed into: a window of its own over the field's line.
//!
//! Invariant: whatever ends the typing, the text is in the field then; where the question is over
//! by that time, it is in a register.

use nvim_oxi::mlua::{self, Table, Value};

use super::acts::{Step, go, perform};
use super::{close, cursor, draw, set_cursor, show, valid_window, with, with_form};
use crate::editor::apply::notify;
use crate::editor::guard;
use crate::editor::keys;
use crate::editor::nvim::{self, api};
use acp_core::questions::form::Kind;
use acp_core::questions::formview::{Act, Row};
use acp_core::spine::effect::Level;

/// The window over a field.
#[derive(Debug, Clone, Copy)]
pub(super) struct Editing {
    /// The number of the field.
    number: usize,
    buf: i32,
    win: i32,
}

/// How many rows of a longer text are seen at once.
const ROWS: i64 = 6;

/// Begins to type into a field.
pub(super) fn edit(number: usize) -> mlua::Result<()> {
    let found = with_form(|form, draft| {
        let text = draft.text(form, number)?.to_owned();
        let field = form.fields.get(number)?;
        Some((text, matches!(field.kind, Kind::Text)))
    });
    let (Some((text, has_lines)), Some(form)) = (found.flatten(), valid_window()?) else {
        return Ok(());
    };
    if let Some(row) = row_of(number) {
        set_cursor(form, row)?;
    }
    let buf: i32 = api("nvim_create_buf", (false, true))?;
    nvim::set_buf_option(buf, "bufhidden", "wipe")?;
    let lines: Vec<&str> = text.split('\n').collect();
    let last = (lines.len(), lines.last().map_or(0, |line| line.len()));
    api::<()>("nvim_buf_set_lines", (buf, 0, -1, false, lines))?;
    set_keys(buf, has_lines)?;
    let is_inserting = nvim::vim_fn::<String>("mode", ())?.starts_with('i');
    let config = config(form, number, buf)?;
    // Before the form's window is left: it is not left by the user.
    with(|window| {
        window.editing = Some(Editing {
            number,
            buf,
            win: 0,
        })
    });
    let win: i32 = match api("nvim_open_win", (buf, true, config)) {
        Ok(win) => win,
        Err(error) => {
            with(|window| window.editing = None);
            return Err(error);
        }
    };
    with(|window| window.editing = Some(Editing { number, buf, win }));
    nvim::set_win_option(win, "winhighlight", "NormalFloat:AcpFormField")?;
    nvim::set_win_option(win, "wrap", false)?;
    nvim::set_buf_option(buf, "filetype", "acp-field")?;
    watch(buf)?;
    api::<()>("nvim_win_set_cursor", (win, [last.0, last.1]))?;
    match is_inserting {
        true => Ok(()),
        false => api("nvim_command", "startinsert!"),
    }
}

/// Puts the window where its field is now.
pub(super) fn place(form: i32) -> mlua::Result<()> {
    let Some(editing) = with(|window| window.editing).filter(|editing| editing.win != 0) else {
        return Ok(());
    };
    match api("nvim_win_is_valid", editing.win)? {
        true => {
            let config = config(form, editing.number, editing.buf)?;
            api("nvim_win_set_config", (editing.win, config))
        }
        false => Ok(()),
    }
}

fn row_of(number: usize) -> Option<usize> {
    with(|window| {
        let mut rows = window.rows.iter();
        rows.position(|row| *row == Row::Value(number))
    })
}

fn config(form: i32, number: usize, buf: i32) -> mlua::Result<Table> {
    let width: i64 = api("nvim_win_get_width", form)?;
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
        ("zindex", nvim::value(62)),
    ])
}

fn set_keys(buf: i32, has_lines: bool) -> mlua::Result<()> {
    for mode in ["i", "n"] {
        for (key, step) in [("<CR>", Step::Next), ("<Esc>", Step::Stay)] {
            keys::map(buf, mode, key, "Leaves the field", move || end(key, step))?;
        }
        for (name, step) in [
            ("next", Step::Next),
            ("prev", Step::Prev),
            ("submit", Step::Submit),
            ("cancel", Step::Stay),
        ] {
            for key in keys::of("form", name) {
                let lhs = key.clone();
                keys::map(buf, mode, &key, "Leaves the field", move || end(&lhs, step))?;
            }
        }
    }
    if has_lines {
        for key in keys::of("form", "newline") {
            keys::map_to(buf, "i", &key, "Starts a new line", "<CR>")?;
        }
    }
    Ok(())
}

/// Lets the window grow with its text, and keeps the text whoever leaves it.
fn watch(buf: i32) -> mlua::Result<()> {
    let on_text = guard::callback("TextChangedI", |_: Table| match valid_window()? {
        Some(form) => place(form),
        None => Ok(()),
    })?;
    let opts = nvim::table([
        ("buffer", nvim::value(buf)),
        ("callback", Value::Function(on_text)),
    ])?;
    api::<i32>(
        "nvim_create_autocmd",
        (["TextChangedI", "TextChanged"], opts),
    )?;
    let gone = guard::callback("field left", move |()| {
        let is_open = with(|window| window.editing).is_some_and(|editing| editing.buf == buf);
        let is_here = api::<i32>("nvim_get_current_buf", ())? == buf;
        match is_open && !is_here {
            true => {
                let here: i32 = api("nvim_get_current_win", ())?;
                with(|window| window.left = window.win != Some(here));
                finish()
            }
            false => Ok(()),
        }
    })?;
    let on_leave = guard::callback("WinLeave", move |_: Table| {
        keep();
        // Not before the window is left.
        nvim::vim()?
            .get::<mlua::Function>("schedule")?
            .call::<()>(&gone)
    })?;
    let opts = nvim::table([
        ("buffer", nvim::value(buf)),
        ("callback", Value::Function(on_leave)),
    ])?;
    api::<i32>("nvim_create_autocmd", ("WinLeave", opts))?;
    Ok(())
}

/// Takes the text over into the field.
fn keep() {
    let Some(editing) = with(|window| window.editing) else {
        return;
    };
    let lines: mlua::Result<Vec<String>> = api("nvim_buf_get_lines", (editing.buf, 0, -1, false));
    if let Ok(lines) = lines {
        let text = lines.join("\n");
        with_form(|_, draft| draft.write(editing.number, text));
    }
}

/// A key ends the typing; while a menu of completions is open, it is for that.
fn end(key: &str, step: Step) -> mlua::Result<()> {
    if nvim::vim_fn::<i64>("pumvisible", ())? == 1 {
        return match (key, step) {
            ("<CR>", _) => keys::feed("<C-y>"),
            (_, Step::Prev) => keys::feed("<C-p>"),
            (_, Step::Next) => keys::feed("<C-n>"),
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
    let to = match step {
        Step::Next | Step::Prev => {
            go(step)?;
            let row = cursor(form)?;
            with(|window| window.rows.get(row).copied())
        }
        Step::Stay | Step::Submit => None,
    };
    let is_text = |number| {
        let found = with_form(|form, draft| draft.text(form, number).is_some());
        found.unwrap_or_default()
    };
    match to {
        // Typing goes on in the next field.
        Some(Row::Value(number)) if is_text(number) => {
            let old = with(|window| window.editing.take());
            edit(number)?;
            close_old(old.map(|old| old.win))
        }
        _ => {
            finish()?;
            match step {
                Step::Submit => perform(Act::Submit),
                _ => Ok(()),
            }
        }
    }
}

/// Closes the field's window; what came meanwhile is shown.
fn finish() -> mlua::Result<()> {
    let Some(editing) = with(|window| window.editing.take()) else {
        return Ok(());
    };
    let is_here = api::<i32>("nvim_get_current_win", ())? == editing.win;
    if is_here {
        api::<()>("nvim_command", "stopinsert")?;
        if let Some(form) = valid_window()? {
            api::<()>("nvim_set_current_win", form)?;
        }
    }
    let next = with(|window| window.next.take());
    if next.is_some() {
        save_text(editing)?;
    }
    close_old(Some(editing.win))?;
    match next {
        Some(next) => {
            close()?;
            show(next)
        }
        None => draw(),
    }
}

/// Keeps what was typed for a question that nobody asks any more.
fn save_text(editing: Editing) -> mlua::Result<()> {
    if !api("nvim_buf_is_valid", editing.buf)? {
        return Ok(());
    }
    let lines: Vec<String> = api("nvim_buf_get_lines", (editing.buf, 0, -1, false))?;
    if lines.iter().all(String::is_empty) {
        return Ok(());
    }
    nvim::vim_fn::<()>("setreg", ("\"", lines.join("\n")))?;
    let text = "That is asked no more; what you wrote is in the register \".";
    notify(Level::Info, text)
}

fn close_old(win: Option<i32>) -> mlua::Result<()> {
    match win {
        Some(win) if api("nvim_win_is_valid", win)? => api("nvim_win_close", (win, true)),
        _ => Ok(()),
    }
}
