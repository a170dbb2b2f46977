//! A permission in the window of questions: its options as keys, and the files it would change.

use std::time::{Duration, Instant};

use nvim_oxi::mlua::{self, Table};

use super::draw::{scroll_back, skipped_rows};
use super::{answer, cancel, leave, map, redraw, shown, valid_window, with};
use crate::editor::kit::window;
use crate::editor::nvim::{self, api};
use crate::editor::{config, documents, keys, notify, walk};
use acp_core::questions::Answer;
use acp_core::questions::permission::also_later;
use acp_core::render::toolview::whole_line;
use acp_core::spine::effect::Level;
use acp_core::spine::view::{Line, OptionView, PermissionView, QuestionView};

/// The time in which a key does not allow what the user has only just seen to its end.
const REST: Duration = Duration::from_millis(300);

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

/// Returns whether the window shows little: the user has left it to see the files that the question
/// is about.
fn is_aside(view: &PermissionView) -> bool {
    !view.places.is_empty() && with(|window| window.is_left)
}

/// Returns the windows of the tab page with the files that the user has left the question to see, if
/// the user is in one of them.
pub(super) fn files_aside(view: &PermissionView) -> mlua::Result<Vec<i32>> {
    let mut wins = Vec::new();
    if !is_aside(view) {
        return Ok(wins);
    }
    for win in window::all_in(window::tab()?)? {
        let path = documents::path(window::buf_of(win)?)?;
        let mut places = view.places.iter();
        if places.any(|place| place.path == path) {
            wins.push(win);
        }
    }
    // In the chat, the agent's words are what the user sees.
    if !wins.contains(&window::here()?) {
        wins.clear();
    }
    Ok(wins)
}

/// Returns the lines of what the permission would allow.
fn above(view: &PermissionView) -> &[Line] {
    let least = if is_aside(view) { 1 } else { view.lines.len() };
    view.lines.get(..least).unwrap_or(&view.lines)
}

/// Returns the question's lines and, below them, a line for each option.
pub(super) fn lines(view: &PermissionView) -> Vec<Line> {
    let mut lines = above(view).to_vec();
    lines.extend(below(view, false));
    lines
}

/// Returns the lines with the options, or with the one to confirm. If the window is cut, the first
/// says that more is below.
pub(super) fn below(view: &PermissionView, is_cut: bool) -> Vec<Line> {
    let is_unseen = is_cut && !is_aside(view) && with(|window| !window.is_seen);
    let mut lines = vec![match is_unseen {
        true => whole_line(" ⋯ more below".to_owned(), "AcpDim"),
        false => Line::default(),
    }];
    let confirming = with(|window| window.confirming);
    if let Some(option) = confirming.and_then(|index| view.options.get(index)) {
        let text = format!(" {}", also_later(&option.name));
        lines.push(whole_line(text, "AcpWarning"));
        lines.push(whole_line(" y    Yes, always".to_owned(), option.group));
        lines.push(whole_line(
            " n    Back to the options".to_owned(),
            "AcpOption",
        ));
        return lines;
    }
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

/// Returns a hint for the frame: the key that shows the files.
pub(super) fn hint(view: &PermissionView) -> String {
    match keys::of("permission", "show").first() {
        Some(key) if !view.places.is_empty() => format!(" {key} shows it in the file "),
        _ => String::new(),
    }
}

pub(super) fn set_keys(buf: i32, view: &PermissionView) -> mlua::Result<()> {
    for (index, option) in view.options.iter().enumerate() {
        for key in keys_of(index, option) {
            let desc = format!("Answers {}", option.name);
            let pressed = key.clone();
            map(buf, &key, &desc, move || press(&pressed, Some(index)))?;
        }
    }
    for key in ["y", "n"] {
        let is_option = |option: &OptionView| option.key.is_some_and(|own| key == own.to_string());
        if !view.options.iter().any(is_option) {
            // While an option is confirmed.
            map(buf, key, "Confirms an option, or not", move || {
                press(key, None)
            })?;
        }
    }
    map(buf, "<CR>", "Answers the option under the cursor", || {
        let row = window::row(0)?;
        let first = permission().map_or(0, |view| lines(&view).len() - view.options.len());
        match with(|window| window.confirming) {
            Some(_) => press("", None),
            None => row.checked_sub(first).map_or(Ok(()), choose),
        }
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

/// Applies a key that stands for an option. While an option is to be confirmed, only `y` confirms
/// it, and any other key leads back to the options.
fn press(key: &str, index: Option<usize>) -> mlua::Result<()> {
    match with(|window| window.confirming.take()) {
        Some(index) if key == "y" => give(index),
        Some(_) => redraw(),
        None => index.map_or(Ok(()), choose),
    }
}

/// Answers with an option, by its number; one that allows more than this call has to be confirmed.
/// Until everything it allows was on the screen, it shows the next part instead.
fn choose(index: usize) -> mlua::Result<()> {
    let view = permission();
    let Some(option) = view.as_ref().and_then(|view| view.options.get(index)) else {
        return Ok(());
    };
    note_seen()?;
    if option.group != "AcpReject" {
        if !with(|window| window.is_seen) {
            return show_more();
        }
        let revealed = with(|window| window.revealed);
        if revealed.is_some_and(|since| since.elapsed() < REST) {
            return Ok(());
        }
    }
    if option.is_lasting && option.group == "AcpAllow" {
        with(|window| window.confirming = Some(index));
        return redraw();
    }
    give(index)
}

fn give(index: usize) -> mlua::Result<()> {
    let view = permission();
    match view
        .as_ref()
        .and_then(|view| Some((view.id, view.options.get(index)?)))
    {
        Some((id, option)) => answer(id, Answer::Option(option.option.clone())),
        None => Ok(()),
    }
}

/// Scrolls the window by its height.
fn show_more() -> mlua::Result<()> {
    let Some(win) = valid_window()? else {
        return Ok(());
    };
    let rows = (visible(win)? - 1).max(1);
    let scroll = format!("normal! {rows}\u{5}");
    window::call(win, move || api::<()>("nvim_command", scroll))?;
    scroll_back()?;
    match note_seen()? {
        true => redraw(),
        false => Ok(()),
    }
}

/// Returns the number of rows above the options.
fn visible(win: i32) -> mlua::Result<i64> {
    Ok(window::height(win)? - with(|window| window.options.rows))
}

/// Notes whether the end of what the permission would allow is on the screen; returns whether that
/// is so for the first time. In a window that the user is in, a key pressed before the end can be
/// read is not an answer.
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
        return reveal(win);
    }
    let rows = nvim::table([
        ("start_row", nvim::value(top)),
        ("end_row", nvim::value(last)),
    ])?;
    let needed: Table = api("nvim_win_text_height", (win, rows))?;
    match needed.get::<i64>("all")? - skipped_rows(win)? <= visible(win)? {
        true => reveal(win),
        false => Ok(false),
    }
}

fn reveal(win: i32) -> mlua::Result<bool> {
    let is_here = win == window::here()?;
    with(|window| {
        window.is_seen = true;
        window.revealed = is_here.then(Instant::now);
    });
    Ok(true)
}

/// Returns whether a permission that is drawn again has the same text as before.
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
