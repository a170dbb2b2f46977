//! A permission in the window of questions: its options as keys, and the files it would change.

use std::time::Instant;

use nvim_oxi::mlua::{self, Table};

use super::{answer, cancel, leave, map, redraw, shown, valid_window, with};
use crate::editor::kit::window;
use crate::editor::nvim::{self, api};
use crate::editor::{config, keys, notify, walk};
use acp_core::questions::Answer;
use acp_core::render::toolview::whole_line;
use acp_core::spine::effect::Level;
use acp_core::spine::view::{Line, OptionView, PermissionView, QuestionView};

/// Opens the first file of a new question beside what the user is doing, if that is configured.
pub(super) fn came(view: &PermissionView) -> mlua::Result<()> {
    let is_wanted = config::with(|config| config.opens_previews);
    let Some(place) = view.places.first().filter(|_| is_wanted) else {
        return Ok(());
    };
    match with(|window| std::mem::replace(&mut window.is_opened, true)) {
        true => Ok(()),
        false => walk::show_aside(&place.path, place.row),
    }
}

/// Returns whether the window is small and in the corner: the user has left it to see the files
/// that the question is about.
pub(super) fn is_aside(view: &PermissionView) -> bool {
    !view.places.is_empty() && with(|window| window.is_left)
}

/// Returns the question's lines and, below them, a line for each option.
pub(super) fn lines(view: &PermissionView) -> Vec<Line> {
    let mut lines = match is_aside(view) {
        true => view.lines.iter().take(1).cloned().collect(),
        false => view.lines.clone(),
    };
    lines.push(Line::default());
    for (index, option) in view.options.iter().enumerate() {
        let keys = keys_of(index, option).join(" ");
        let text = format!(" {keys:<4} {}", option.name);
        lines.push(whole_line(text, option.group));
    }
    lines
}

/// Returns the keys that choose an option: its number, and its letter.
fn keys_of(index: usize, option: &OptionView) -> Vec<String> {
    let number = (index < 9).then(|| (index + 1).to_string());
    let letter = option.key.map(String::from);
    number.into_iter().chain(letter).collect()
}

/// Returns a hint for the frame: that more is below, the options that do not fit, and the key that
/// shows the files.
pub(super) fn hint(view: &PermissionView, is_cut: bool) -> String {
    let is_seen = is_aside(view) || with(|window| window.is_seen);
    hint_for(view, is_cut, is_seen)
}

/// Returns the width of the longest hint for a window that cuts what it shows.
pub(super) fn hint_width(view: &PermissionView) -> i64 {
    let hint = hint_for(view, true, is_aside(view));
    i64::try_from(hint.chars().count()).unwrap_or(i64::MAX)
}

fn hint_for(view: &PermissionView, is_cut: bool, is_seen: bool) -> String {
    let mut hint = String::new();
    if !is_seen {
        hint.push_str(" ⋯ more below ");
    }
    if is_cut {
        // The options are below the window's end.
        for (index, option) in view.options.iter().enumerate() {
            let keys = keys_of(index, option).join("/");
            hint.push_str(&format!(" {keys} {} ", option.name));
        }
    }
    if let (false, Some(key)) = (
        view.places.is_empty() || is_aside(view),
        keys::of("permission", "show").first(),
    ) {
        hint.push_str(&format!(" {key} shows it in the file "));
    }
    hint
}

pub(super) fn set_keys(buf: i32, view: &PermissionView) -> mlua::Result<()> {
    for (index, option) in view.options.iter().enumerate() {
        for key in keys_of(index, option) {
            let desc = format!("Answers {}", option.name);
            map(buf, &key, &desc, move || choose(index))?;
        }
    }
    map(buf, "<CR>", "Answers the option under the cursor", || {
        let row = window::row(0)?;
        let first = permission().map_or(0, |view| lines(&view).len() - view.options.len());
        row.checked_sub(first).map_or(Ok(()), choose)
    })?;
    let session = view.session;
    for (name, desc, run) in [
        (
            "insert",
            "Leaves the question open, to write",
            write as fn() -> _,
        ),
        ("show", "Shows it in the file it would change", visit),
    ] {
        keys::bind(buf, &["n"], ("permission", name), desc, move |_| run())?;
    }
    keys::bind(
        buf,
        &["n"],
        ("permission", "cancel"),
        "Cancels the turn",
        move |_| cancel(session),
    )
}

fn permission() -> Option<PermissionView> {
    match shown()? {
        QuestionView::Permission(view) => Some(view),
        QuestionView::Form(_) => None,
    }
}

/// Answers with an option, by its number. While a part of what it allows was not on the screen, it
/// shows the next part instead.
fn choose(index: usize) -> mlua::Result<()> {
    let Some(view) = permission() else {
        return Ok(());
    };
    let Some(option) = view.options.get(index) else {
        return Ok(());
    };
    note_seen()?;
    if option.group != "AcpReject" && !with(|window| window.is_seen) {
        return show_more();
    }
    answer(view.id, Answer::Option(option.option.clone()));
    Ok(())
}

/// Scrolls the window by what it shows.
fn show_more() -> mlua::Result<()> {
    let Some(win) = valid_window()? else {
        return Ok(());
    };
    let rows = (window::height(win)? - 1).max(1);
    let scroll = format!("normal! {rows}\u{5}");
    window::call(win, move || api::<()>("nvim_command", scroll))?;
    match note_seen()? {
        true => {
            // A key pressed once more before the end can be read is not an answer.
            with(|window| window.since = Some(Instant::now()));
            redraw()
        }
        false => Ok(()),
    }
}

/// Notes whether the end of what the permission would allow is on the screen; returns whether that
/// is so for the first time.
pub(super) fn note_seen() -> mlua::Result<bool> {
    let (Some(view), Some(win)) = (permission(), valid_window()?) else {
        return Ok(false);
    };
    if is_aside(&view) || with(|window| window.is_seen) {
        return Ok(false);
    }
    // Below it are an empty line and the options.
    let last = view.lines.len().saturating_sub(1);
    let info: Vec<Table> = nvim::vim_fn("getwininfo", win)?;
    let Some(info) = info.first() else {
        return Ok(false);
    };
    let top = info.get::<usize>("topline")?.saturating_sub(1);
    if top > last {
        // It has been scrolled over.
        return Ok(with(|window| !std::mem::replace(&mut window.is_seen, true)));
    }
    let rows = nvim::table([
        ("start_row", nvim::value(top)),
        ("end_row", nvim::value(last)),
    ])?;
    let needed: Table = api("nvim_win_text_height", (win, rows))?;
    let view: Table = window::call(win, || nvim::vim_fn("winsaveview", ()))?;
    let (width, skipped) = (window::width(win)?.max(1), view.get::<i64>("skipcol")?);
    let is_seen = needed.get::<i64>("all")? - skipped / width <= window::height(win)?;
    with(|window| window.is_seen = is_seen);
    Ok(is_seen)
}

/// Returns whether a permission that is shown anew says what it said before.
pub(super) fn shows_the_same(before: Option<&QuestionView>, now: &QuestionView) -> bool {
    match (before, now) {
        (Some(QuestionView::Permission(before)), QuestionView::Permission(now)) => {
            before.id == now.id && before.lines == now.lines
        }
        _ => false,
    }
}

/// Goes to where the permission would change a file: the first place, then the next.
fn visit() -> mlua::Result<()> {
    let places = permission().map(|view| view.places).unwrap_or_default();
    let visited = with(|window| {
        window.visited += 1;
        window.visited - 1
    });
    let Some(place) = places.get(visited % places.len().max(1)) else {
        let text = "Nothing of this question can be shown in a file.";
        return notify::notify(Level::Info, text);
    };
    leave()?;
    walk::go_to(&place.path, place.row)
}

/// Goes back and starts Insert mode there: the next keys are meant for a text.
fn write() -> mlua::Result<()> {
    leave()?;
    api("nvim_feedkeys", ("i", "im", false))
}
