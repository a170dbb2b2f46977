//! Draws the highlights of the transcript while Neovim redraws: only visible lines cost time.
//!
//! Invariant: the callbacks change nothing; each mark lives for one redraw.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use nvim_oxi::mlua::{self, Table, Value};

use super::kit::autocmd::{self, Scope};
use super::nvim::{self, api};
use super::spans::{self, Highlight, Spans};
use super::{chats, guard};
use acp_core::render::groups::GROUPS;
use acp_core::render::markdown;

/// A priority above those of tree-sitter and of language servers.
pub const OVER_CODE: i64 = 200;

/// A priority above that of the transcript's other highlights, which is the default.
const OVER_OTHERS: i64 = 4097;

/// The groups of changes that may have the colours of code in them.
const CHANGES: [&str; 4] = ["AcpAdd", "AcpDelete", "AcpAddWord", "AcpDeleteWord"];

thread_local! {
    /// Neovim's ids of the groups that are drawn over others in this redraw.
    static OVER: RefCell<Vec<u16>> = const { RefCell::new(Vec::new()) };

    /// The transcript whose window is being drawn.
    static DRAWN: RefCell<Option<Rc<RefCell<Spans>>>> = const { RefCell::new(None) };
}

/// Registers the decoration provider and the highlight groups.
pub fn start() -> mlua::Result<()> {
    define_groups()?;
    autocmd::on("colour scheme", &["ColorScheme"], Scope::All, |_| {
        define_groups()
    })?;
    let namespace = nvim::namespace("acp_chat")?;
    let on_win = guard::callback("on_win", |args: (Value, i32, i32, i64, i64)| {
        let row = |row: i64| usize::try_from(row).unwrap_or_default();
        let is_chat = enter(args.2, &(row(args.3)..row(args.4) + 1));
        if is_chat {
            OVER.set(over()?);
        }
        Ok(is_chat)
    })?;
    let opts = nvim::table([("ephemeral", Value::Boolean(true))])?;
    let on_line = guard::callback("on_line", move |args: (Value, i32, i32, usize)| {
        line(namespace, args.2, args.3, &opts)
    })?;
    let provider = nvim::table([
        ("on_win", Value::Function(on_win)),
        ("on_line", Value::Function(on_line)),
    ])?;
    api("nvim_set_decoration_provider", (namespace, provider))
}

/// Defines each group as a default link, so that colour schemes and users take precedence.
fn define_groups() -> mlua::Result<()> {
    for (name, link) in groups() {
        let opts = nvim::table([
            ("link", nvim::value(link)),
            ("default", Value::Boolean(true)),
        ])?;
        api::<()>("nvim_set_hl", (0, name, opts))?;
    }
    Ok(())
}

/// Returns every highlight group and its default link.
pub fn groups() -> impl Iterator<Item = (&'static str, &'static str)> {
    GROUPS.iter().chain(markdown::GROUPS).copied()
}

/// Returns whether the colours of a change go before those of code in it: a terminal has few, and the
/// background of the one may be the other. Where a colour scheme reverses the colours of a change,
/// those of code would be backgrounds.
pub fn is_over_code() -> mlua::Result<bool> {
    let is_rgb: bool = api("nvim_get_option_value", ("termguicolors", nvim::empty()?))?;
    if !is_rgb {
        return Ok(true);
    }
    for name in ["AcpAdd", "AcpDelete"] {
        let group = definition(name)?;
        if group.get::<Option<bool>>("reverse")?.unwrap_or_default() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether the colours of lines that a proposal removes go before those of code in them:
/// without a background, they would not be seen.
pub fn is_removal_over_code() -> mlua::Result<bool> {
    let background: Option<i64> = definition("AcpProposedDelete")?.get("bg")?;
    Ok(background.is_none() || is_over_code()?)
}

/// Returns the definition of a highlight group, or of the one it links to.
fn definition(name: &str) -> mlua::Result<Table> {
    let opts = nvim::table([("name", nvim::value(name)), ("link", nvim::value(false))])?;
    api("nvim_get_hl", (0, opts))
}

/// Returns whether a window shows a transcript: this provider draws no other windows. Reports the
/// rows that it shows.
fn enter(buf: i32, rows: &Range<usize>) -> bool {
    let spans = chats::with(|chats| {
        let mut chats = chats.by_session.iter_mut();
        let (key, chat) = chats.find(|(_, chat)| chat.transcript == buf)?;
        chat.show_rows(*key, rows);
        Some(chat.spans.clone())
    });
    let is_chat = spans.is_some();
    DRAWN.set(spans);
    is_chat
}

/// Returns the highlights of a row of a transcript.
pub fn highlights_of(buf: i32, row: usize) -> Vec<Highlight> {
    chats::with(|chats| {
        let chat = chats.by_session.values().find(|it| it.transcript == buf);
        chat.map_or(Vec::new(), |chat| chat.spans.borrow().of(row).to_vec())
    })
}

/// Returns the groups to draw over others.
fn over() -> mlua::Result<Vec<u16>> {
    match is_over_code()? {
        true => CHANGES.into_iter().map(spans::number).collect(),
        false => Ok(Vec::new()),
    }
}

fn line(namespace: i32, buf: i32, row: usize, opts: &Table) -> mlua::Result<()> {
    let mut nth = 0;
    while let Some(mark) = drawn(row, nth) {
        if nth == 0 {
            opts.raw_set("end_row", row)?;
        }
        opts.raw_set("end_col", mark.end)?;
        opts.raw_set("hl_group", mark.group)?;
        let is_over = OVER.with_borrow(|over| over.contains(&mark.group));
        opts.raw_set("priority", is_over.then_some(OVER_OTHERS))?;
        api::<i32>(
            "nvim_buf_set_extmark",
            (buf, namespace, row, mark.start, opts),
        )?;
        nth += 1;
    }
    Ok(())
}

/// Returns the `nth` highlight of a row of the transcript that is being drawn.
fn drawn(row: usize, nth: usize) -> Option<Highlight> {
    DRAWN.with_borrow(|drawn| drawn.as_ref()?.borrow().of(row).get(nth).copied())
}
