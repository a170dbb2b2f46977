//! Draws the question: its lines, the place of its window, and the frame with the keys that lead
//! there.

use nvim_oxi::mlua::{self, Table};

use super::dock::{Dock, Needs};
use super::lift::lift;
use super::{
    Kind, buffer, field, form, options, permission, set_keys, shown, step, valid_window, with,
};
use crate::editor::kit::float::{self, Frame, Rect, clipped};
use crate::editor::kit::window::rows_of;
use crate::editor::kit::{self, window};
use crate::editor::nvim::{self, api};
use acp_core::spine::view::{Line, QuestionView};

/// Draws the window, if it is open.
pub(super) fn redraw() -> mlua::Result<()> {
    match valid_window()? {
        Some(_) => draw(),
        None => Ok(()),
    }
}

/// Draws the question, opening the window if need be.
pub(super) fn draw() -> mlua::Result<()> {
    let question = shown().filter(|_| with(|window| !window.is_not_drawn));
    let Some(question) = question else {
        return Ok(());
    };
    let buf = buffer(Kind::of(&question))?;
    let known = valid_window()?;
    let (lines, row) = match &question {
        QuestionView::Permission(view) => (permission::lines(view), None),
        QuestionView::Form(view) => {
            let before = known.map_or(Ok(0), window::row)?;
            form::lines(view, before)
        }
    };
    write(buf, &lines)?;
    if known.is_none() {
        open(buf, Kind::of(&question))?;
    }
    place(&question, &lines)?;
    if let (Some(win), Some(row)) = (valid_window()?, row) {
        window::set_row(win, row)?;
    }
    let keyed = Some((buf, question.id()));
    if with(|window| std::mem::replace(&mut window.keyed, keyed)) != keyed {
        set_keys(buf, &question)?;
    }
    match (question, valid_window()?) {
        (QuestionView::Form(_), Some(win)) => {
            form::show_all(win)?;
            field::place(win)
        }
        _ => Ok(()),
    }
}

/// Writes the lines that differ from those in the buffer.
fn write(buf: i32, lines: &[Line]) -> mlua::Result<()> {
    let before = with(|window| window.written.take());
    let before = before.filter(|(of, _)| *of == buf).map(|(_, lines)| lines);
    kit::buffer::write(buf, &before.unwrap_or_default(), lines)?;
    with(|window| window.written = Some((buf, lines.to_vec())));
    Ok(())
}

/// Places the window anew, if it is open.
pub(super) fn arrange() -> mlua::Result<()> {
    let (Some(question), Some(win)) = (shown(), valid_window()?) else {
        return Ok(());
    };
    let drawn: usize = api("nvim_buf_line_count", window::buf_of(win)?)?;
    match &question {
        QuestionView::Permission(view) => match permission::lines(view) {
            lines if lines.len() == drawn => place(&question, &lines),
            // It is about to be drawn with other options.
            _ => redraw(),
        },
        QuestionView::Form(_) => redraw(),
    }
}

fn open(buf: i32, kind: Kind) -> mlua::Result<i32> {
    let (width, height) = (40, 1);
    let frame = Frame {
        title: String::new(),
        footer: String::new(),
        zindex: 60,
    };
    let config = float::config(
        Rect {
            row: 0,
            column: 0,
            width,
            height,
        },
        &frame,
    )?;
    // Only a step of the user leads there: `CTRL-W w` passes it over, a click does not.
    config.set("focusable", false)?;
    if takes_clicks()? {
        config.set("mouse", true)?;
    }
    let win: i32 = api("nvim_open_win", (buf, false, config))?;
    // A command may be a line longer than the window: every row of it must be visible.
    window::switch(win, &["wrap", "linebreak", "smoothscroll"], true)?;
    window::switch(win, &window::UNTIED, false)?;
    nvim::set_win_option(win, "cursorline", kind == Kind::Form)?;
    // Else it is scrolled as its buffer was last.
    window::set_row(win, 0)?;
    with(|window| {
        window.win = Some(win);
        window.home = None;
        window.placed = None;
    });
    form::go_to_first()?;
    Ok(win)
}

/// Returns whether a window that window commands pass over can get clicks; since Neovim 0.11.
pub(super) fn takes_clicks() -> mlua::Result<bool> {
    Ok(nvim::vim_fn::<i64>("has", "nvim-0.11")? == 1)
}

/// Places the window for these lines, with all options visible.
fn place(question: &QuestionView, lines: &[Line]) -> mlua::Result<()> {
    let Some(win) = valid_window()? else {
        return Ok(());
    };
    let is_here = win == window::here()? || field::is_open();
    let cells = |line: &Line| i64::try_from(line.text.chars().count()).unwrap_or(i64::MAX);
    let longest = lines.iter().map(cells).max().unwrap_or(0).min(1000);
    // The lines that have to be visible: the options of a permission.
    let below = match question {
        QuestionView::Permission(view) => permission::below(view, false).len(),
        QuestionView::Form(_) => 0,
    };
    let needs = Needs {
        longest,
        is_here,
        tenths: if is_here { 8 } else { 7 },
    };
    let files = match question {
        QuestionView::Permission(view) => permission::files_aside(view)?,
        QuestionView::Form(_) => Vec::new(),
    };
    let dock = Dock::now(needs)?.beside(&files)?;
    with(|window| window.words.clone_from(&dock.words));
    let measured = |width: i64| -> mlua::Result<(i64, i64)> {
        api::<()>("nvim_win_set_width", (win, width))?;
        let above = lines.len() - below;
        let least = if below > 0 {
            rows_of(win, above, lines.len())?
        } else {
            3
        };
        // Many lines do not fit, however wide they are.
        let all = match lines.len() > 300 {
            true => i64::try_from(lines.len()).unwrap_or(i64::MAX),
            false => rows_of(win, 0, lines.len())?,
        };
        Ok((all, least))
    };
    let (mut all, mut least) = measured(dock.width())?;
    let mut rect = dock.place(all, (least + 1).min(all));
    let is_form = matches!(question, QuestionView::Form(_));
    if is_here && (is_form || all > rect.height) {
        let least_width = if is_form { 58 } else { 0 };
        let dock = dock.for_reading(longest.max(least_width))?;
        (all, least) = measured(dock.width())?;
        rect = dock.place(all, (least + 1).min(all));
    }
    let is_cut = below > 0 && all > rect.height;
    with(|window| window.options.rows = if is_cut { least.min(rect.height) } else { 0 });
    set(win, rect, frame(question, rect, is_here)?)?;
    permission::note_seen()?;
    let QuestionView::Permission(view) = question else {
        return Ok(());
    };
    match is_cut {
        true => options::show(win, rect, &permission::below(view, true), least),
        false => {
            options::hide()?;
            nvim::set_win_option(win, "scrolloff", 0)
        }
    }
}

/// Scrolls a permission back that has been scrolled beyond its end, as by `CTRL-F`: its last row is
/// the window's, so that the options in front of a low window cover those in its buffer.
pub(super) fn scroll_back() -> mlua::Result<()> {
    let (Some(QuestionView::Permission(_)), Some(win)) = (shown(), valid_window()?) else {
        return Ok(());
    };
    let top: usize = nvim::vim_fn("line", ("w0", win))?;
    let skipped = skipped_rows(win)?;
    if top <= 1 && skipped == 0 {
        return Ok(());
    }
    let lines: usize = api("nvim_buf_line_count", window::buf_of(win)?)?;
    let below = rows_of(win, top.saturating_sub(1), lines)? - skipped;
    match window::height(win)? - below {
        empty @ 1.. => {
            let scroll = format!("normal! {empty}\u{19}");
            window::call(win, move || api("nvim_command", scroll))
        }
        _ => Ok(()),
    }
}

/// Returns the rows of a window's first line that are above the window.
pub(super) fn skipped_rows(win: i32) -> mlua::Result<i64> {
    let view: Table = window::call(win, || nvim::vim_fn("winsaveview", ()))?;
    Ok(view.get::<i64>("skipcol")? / window::width(win)?.max(1))
}

/// Changes the place and the frame of the window, if they differ.
fn set(win: i32, rect: Rect, frame: Frame) -> mlua::Result<()> {
    let config = float::config(rect, &frame)?;
    let placed = Some((rect, frame));
    let before = with(|window| std::mem::replace(&mut window.placed, placed.clone()));
    // Measuring has set the width.
    let is_same = before == placed && window::width(win)? == rect.width;
    if !is_same || window::height(win)? != rect.height {
        api::<()>("nvim_win_set_config", (win, config))?;
    }
    lift()
}

/// Returns the frame of the window; its footer shows how to get there, and what its keys do.
fn frame(question: &QuestionView, rect: Rect, is_here: bool) -> mlua::Result<Frame> {
    let is_over = with(|window| window.next.is_some());
    let (title, waiting, hint) = match question {
        QuestionView::Permission(view) => (&view.title, view.waiting, permission::hint(view)),
        QuestionView::Form(view) => (&view.title, view.waiting, form::hint(&view.ask)),
    };
    let footer = if is_over {
        " This question is over: <Esc> closes it ".to_owned()
    } else if is_here {
        hint
    } else {
        format!(" {} ", step::hint()?)
    };
    let more = match waiting {
        0 => String::new(),
        waiting => format!(" (+{waiting} more)"),
    };
    let room = rect.width - 2 - i64::try_from(more.chars().count()).unwrap_or(0);
    Ok(Frame {
        title: format!(" {}{more} ", clipped(title, room)),
        footer: clipped(&footer, rect.width),
        zindex: 60,
    })
}
