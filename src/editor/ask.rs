//! A confirmation in a float: some lines, and a key for each answer.
//!
//! Invariant: it opens only by a key or command of the user, so it may take the focus; leaving it
//! answers nothing.

use nvim_oxi::mlua::{self, Table};

use super::keys;
use super::kit::autocmd::{self, Scope};
use super::kit::float::{self, Frame, Rect};
use super::kit::{buffer, defer, window};
use super::nvim::{self, api};
use acp_core::spine::view::Line;

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

/// Asks the user to choose; without choices it only shows the lines.
pub fn show(title: &str, lines: &[String], choices: Vec<Choice>) -> mlua::Result<()> {
    let lines: Vec<Line> = lines.iter().map(|text| Line::plain(text.clone())).collect();
    show_lines(title, &lines, choices)
}

/// Does as [`show`] with lines that are highlighted.
pub fn show_lines(title: &str, lines: &[Line], choices: Vec<Choice>) -> mlua::Result<()> {
    // The tab line names the buffer that has the focus.
    let buf = buffer::read_only(&buffer::free_name("acp://ask")?, "")?;
    nvim::set_buf_option(buf, "bufhidden", "wipe")?;
    buffer::write(buf, &[], lines)?;
    let home = window::here()?;
    let config = config(title, lines, &choices)?;
    let win: i32 = api("nvim_open_win", (buf, true, config))?;
    nvim::set_win_option(win, "wrap", true)?;
    window::switch(win, &window::UNTIED, false)?;
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
    let on_leave = move |_| {
        // Neovim has not left it yet, and may leave it only for a moment to open another window.
        defer::soon("confirmation left", move || match window::here()? == win {
            true => Ok(()),
            false => window::close(win),
        })
    };
    autocmd::on(
        "confirmation left",
        &["WinLeave"],
        Scope::Buffer(buf),
        on_leave,
    )
    .map(drop)
}

fn go_back(win: i32, home: i32) -> mlua::Result<()> {
    if window::is_valid(home)? {
        window::go_to(home)?;
    }
    window::close(win)
}

fn config(title: &str, lines: &[Line], choices: &[Choice]) -> mlua::Result<Table> {
    let (columns, rows) = window::screen()?;
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
    let height = i64::try_from(lines.len()).unwrap_or(rows);
    let rect = Rect::middle(
        width.clamp(30, (columns - 4).max(30)).min(columns.max(1)),
        height.clamp(1, (rows * 7 / 10).max(1)),
    )?;
    let frame = Frame {
        title: format!(" {title} "),
        footer,
        zindex: 70,
    };
    float::config(rect, &frame)
}
