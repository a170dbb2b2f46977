//! A question in a float of its own: some lines, and a key for each answer.
//!
//! Invariant: it is asked by a key or command of the user's, so it may take the focus; whatever
//! else happens, leaving it answers nothing.

use nvim_oxi::mlua::{self, Table, Value};

use super::guard;
use super::keys;
use super::nvim::{self, api};
use acp_core::render::view::Line;

/// An answer.
pub struct Choice {
    key: char,
    word: String,
    run: Box<dyn Fn() -> mlua::Result<()>>,
}

impl Choice {
    pub fn new(
        key: char,
        word: impl Into<String>,
        run: impl Fn() -> mlua::Result<()> + 'static,
    ) -> Self {
        Self {
            key,
            word: word.into(),
            run: Box::new(run),
        }
    }
}

/// Asks; without choices it only shows.
///
/// # Errors
/// What Neovim says of it.
pub fn show(title: &str, lines: &[String], choices: Vec<Choice>) -> mlua::Result<()> {
    let lines: Vec<Line> = lines.iter().map(|text| Line::plain(text.clone())).collect();
    show_lines(title, &lines, choices)
}

/// Does as [`show`] with lines that are highlighted.
///
/// # Errors
/// What Neovim says of it.
pub fn show_lines(title: &str, lines: &[Line], choices: Vec<Choice>) -> mlua::Result<()> {
    let buf: i32 = api("nvim_create_buf", (false, true))?;
    nvim::set_buf_option(buf, "bufhidden", "wipe")?;
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    api::<()>("nvim_buf_set_lines", (buf, 0, -1, false, texts))?;
    nvim::set_buf_option(buf, "modifiable", false)?;
    let namespace = nvim::namespace("acp_ask")?;
    for (row, line) in lines.iter().enumerate() {
        for span in &line.spans {
            let opts = nvim::table([
                ("end_row", nvim::value(row)),
                ("end_col", nvim::value(span.end)),
                ("hl_group", nvim::value(span.group)),
            ])?;
            let at = (buf, namespace, row, span.start, opts);
            api::<i32>("nvim_buf_set_extmark", at)?;
        }
    }
    let home: i32 = api("nvim_get_current_win", ())?;
    let win: i32 = api(
        "nvim_open_win",
        (buf, true, config(title, lines, &choices)?),
    )?;
    nvim::set_win_option(win, "wrap", true)?;
    let leave = move || go_back(win, home);
    for key in ["q", "<Esc>", "n"] {
        keys::map(buf, "n", key, "Leaves it as it is", leave)?;
    }
    for choice in choices {
        let (key, run) = (choice.key.to_string(), choice.run);
        keys::map(buf, "n", &key, &choice.word, move || {
            go_back(win, home)?;
            run()
        })?;
    }
    let gone = guard::callback("question", move |()| {
        // Who opens another window may have left this one for a moment only.
        match api::<i32>("nvim_get_current_win", ())? == win {
            true => Ok(()),
            false => close(win),
        }
    })?;
    let on_leave = guard::callback("WinLeave", move |_: Table| {
        // Not before the window is left.
        let schedule: mlua::Function = nvim::vim()?.get("schedule")?;
        schedule.call::<()>(&gone)
    })?;
    let opts = nvim::table([
        ("buffer", nvim::value(buf)),
        ("callback", Value::Function(on_leave)),
    ])?;
    api::<i32>("nvim_create_autocmd", ("WinLeave", opts))?;
    Ok(())
}

fn go_back(win: i32, home: i32) -> mlua::Result<()> {
    if api("nvim_win_is_valid", home)? {
        api::<()>("nvim_set_current_win", home)?;
    }
    close(win)
}

fn close(win: i32) -> mlua::Result<()> {
    match api("nvim_win_is_valid", win)? {
        true => api("nvim_win_close", (win, true)),
        false => Ok(()),
    }
}

fn config(title: &str, lines: &[Line], choices: &[Choice]) -> mlua::Result<Table> {
    let options: Table = nvim::vim()?.get("o")?;
    let (columns, rows): (i64, i64) = (options.get("columns")?, options.get("lines")?);
    let mut footer = String::new();
    for choice in choices {
        footer.push_str(&format!(" {} {} ·", choice.key, choice.word));
    }
    footer.push_str(match choices.is_empty() {
        true => " q closes this ",
        false => " q leaves it as it is ",
    });
    let texts = lines.iter().map(|line| line.text.as_str());
    let longest = texts.chain([title, footer.as_str()]);
    let longest = longest.map(|text| text.chars().count() + 2).max();
    let width = i64::try_from(longest.unwrap_or(0)).unwrap_or(columns);
    let width = width.clamp(30, (columns - 4).max(30)).min(columns.max(1));
    let height = i64::try_from(lines.len()).unwrap_or(rows);
    let height = height.clamp(1, (rows * 7 / 10).max(1));
    nvim::table([
        ("relative", nvim::value("editor")),
        ("width", nvim::value(width)),
        ("height", nvim::value(height)),
        ("row", nvim::value(((rows - height) / 2 - 2).max(0))),
        ("col", nvim::value(((columns - width) / 2 - 1).max(0))),
        ("border", nvim::value("rounded")),
        ("style", nvim::value("minimal")),
        ("zindex", nvim::value(70)),
        ("title", nvim::value(format!(" {title} "))),
        ("footer", nvim::value(footer)),
    ])
}
