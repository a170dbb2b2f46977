//! The hunks that are shown in buffers, and which of them must be drawn again.
//!
//! Invariants: a hunk is shown by extmarks alone, and no text of a buffer is used to show a diff; a
//! hunk at its position is not drawn again.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use nvim_oxi::mlua::{self, Table};

use super::guard;
use super::hunk::{Drawn, Stock};
use super::keys::Temporary;
use super::kit::autocmd::{self, Fired, Scope};
use super::kit::{buffer, defer, window};
use super::nvim::{self, api};
use super::pen::{Canvas, Style};
use super::{reviewkeys, walk};
use acp_core::spine::ids::BufId;
use acp_core::spine::view::HunkView;

/// The hunks that are shown, by buffer.
#[derive(Debug, Default)]
pub struct Reviews {
    by_buf: BTreeMap<i32, Shown>,
    /// The buffers with the keys of the review: those that have hunks or had some, as long as any file
    /// has, and the current one until the user leaves it or presses one of them. A key pressed once
    /// too often is then not one of Neovim's.
    keys: BTreeMap<i32, Temporary>,
    passes: u64,
}

/// The activity that messages about a failed hunk name.
const HUNK: &str = "drawing a hunk";

/// The longest that drawing may hold the main thread at a time.
const BUDGET: Duration = Duration::from_millis(4);

#[derive(Debug)]
struct Shown {
    /// Distinguishes a drawing from later ones of the same buffer.
    id: u64,
    all: Rc<Vec<HunkView>>,
    /// The rows of hunks that a key has decided since.
    decided: Vec<usize>,
    /// The drawn hunks, in no order.
    hunks: Vec<Drawn>,
    /// The hunks to draw next, by index with their labels, the last one first.
    rest: Vec<(usize, String)>,
    /// The text that they belong to.
    tick: u64,
    style: Style,
}

/// The options that affect how removed lines look.
const OPTIONS: [&str; 10] = [
    "diff",
    "foldcolumn",
    "number",
    "numberwidth",
    "relativenumber",
    "signcolumn",
    "statuscolumn",
    "tabstop",
    "termguicolors",
    "wrap",
];

/// Watches the windows that show reviews.
pub fn start() -> mlua::Result<()> {
    let on_window = |fired: Fired| look_again(fired.buf()?);
    let windows = ["BufWinEnter", "WinEnter"];
    autocmd::on("review window", &windows, Scope::All, on_window)?;
    autocmd::on("review window", &["WinResized"], Scope::All, |_| {
        // The event's own buffer is only that of the first window.
        let windows: Option<Vec<i32>> = autocmd::v_event()?.get("windows")?;
        for win in windows.unwrap_or_default() {
            if window::is_valid(win)? {
                look_again(window::buf_of(win)?)?;
            }
        }
        Ok(())
    })?;
    autocmd::on("review keys", &["BufEnter"], Scope::All, |_| drop_keys())?;
    let options = Scope::Patterns(&OPTIONS);
    autocmd::on("review window", &["OptionSet"], options, on_window)?;
    autocmd::on("review colours", &["ColorScheme"], Scope::All, |_| {
        let all = with(|reviews| reviews.by_buf.keys().copied().collect::<Vec<_>>());
        all.into_iter().try_for_each(restyle)
    })?;
    autocmd::on("review scroll", &["WinScrolled"], Scope::All, |_| {
        scrolled()
    })?;
    Ok(())
}

/// Shows the hunks of a buffer in place of the previous ones.
pub fn show(buf: BufId, tick: u64, hunks: Rc<Vec<HunkView>>) -> mlua::Result<()> {
    let buf = buf.0;
    if !buffer::is_loaded(buf)? || tick < super::documents::tick(buf) {
        // The text has changed since; the core gets the change and sends the hunks again.
        return Ok(());
    }
    let has_hunks = !hunks.is_empty();
    if has_hunks {
        add_keys(buf)?;
    }
    draw(buf, hunks)?;
    if !has_hunks {
        drop_keys()?;
    }
    uncover(buf)?;
    cover(buf)?;
    match has_hunks {
        true => walk::drawn(buf),
        false => Ok(()),
    }
}

/// Erases the hunks of a buffer: its text was unloaded, or is read again.
pub fn forget(buf: i32) {
    // Both fail for a buffer that is being wiped out.
    let _ = draw(buf, Rc::default());
    let _ = remove_keys(buf);
}

/// Returns the rows of the pending hunks that are shown in a buffer; `None` if none are shown.
pub fn rows(buf: i32) -> Option<Vec<usize>> {
    with(|reviews| {
        let shown = reviews.by_buf.get(&buf)?;
        let is_open = |hunk: &&HunkView| {
            let proposed = hunk.proposed.as_ref();
            proposed.is_none_or(|proposed| proposed.choice.is_none())
        };
        Some(
            shown
                .all
                .iter()
                .filter(is_open)
                .map(|hunk| hunk.row)
                .collect(),
        )
    })
}

/// Notes that a key decides about the hunk at a row of a buffer. Returns that hunk's row, and those of
/// the hunks that are left.
pub fn note_decided(buf: i32, row: usize) -> Option<(usize, Vec<usize>)> {
    let decided = with(|reviews| {
        let shown = reviews.by_buf.get_mut(&buf)?;
        let is_open = |hunk: &&HunkView| {
            let proposed = hunk.proposed.as_ref();
            proposed.is_none_or(|it| it.choice.is_none()) && is_at(hunk, row)
        };
        let decided = shown.all.iter().find(is_open)?.row;
        shown.decided.push(decided);
        Some((decided, shown.decided.clone()))
    });
    let (decided, all) = decided?;
    let mut left = rows(buf)?;
    left.retain(|row| !all.contains(row));
    Some((decided, left))
}

/// Returns whether a row belongs to a hunk.
fn is_at(hunk: &HunkView, row: usize) -> bool {
    // A deletion is between two rows, and both select it.
    let first = hunk.row.saturating_sub(usize::from(hunk.count == 0));
    (first..=hunk.row + hunk.count.saturating_sub(1)).contains(&row)
}

/// Returns the first and the last row of the hunk at a row of a buffer, if one is shown there.
pub fn hunk_at(buf: i32, row: usize) -> Option<(usize, usize)> {
    with(|reviews| {
        let shown = reviews.by_buf.get(&buf)?;
        let hunk = shown.all.iter().find(|hunk| is_at(hunk, row))?;
        Some((hunk.row, hunk.row + hunk.count.saturating_sub(1)))
    })
}

thread_local! {
    static REVIEWS: RefCell<Reviews> = RefCell::default();
}

fn with<R>(body: impl FnOnce(&mut Reviews) -> R) -> R {
    REVIEWS.with_borrow_mut(body)
}

/// Maps the keys of the review in a buffer, whose hunks may not be shown yet.
pub fn add_keys(buf: i32) -> mlua::Result<()> {
    if with(|reviews| !reviews.keys.contains_key(&buf)) {
        let keys = reviewkeys::map(buf)?;
        with(|reviews| reviews.keys.insert(buf, keys));
    }
    Ok(())
}

/// Removes the keys from the buffers that have no hunks any longer, if no file has any; the current
/// one keeps them until it is left.
pub fn drop_keys() -> mlua::Result<()> {
    let here = buffer::here()?;
    let left = |reviews: &mut Reviews| {
        let keys = reviews.keys.keys().copied();
        let left = keys.filter(|buf| *buf != here && !reviews.by_buf.contains_key(buf));
        left.collect::<Vec<_>>()
    };
    let left = with(left);
    match left.is_empty() || walk::is_any() {
        true => Ok(()),
        false => left.into_iter().try_for_each(remove_keys),
    }
}

/// Removes the keys of the review from a buffer.
pub fn remove_keys(buf: i32) -> mlua::Result<()> {
    match with(|reviews| reviews.keys.remove(&buf)) {
        Some(keys) => keys.remove(buf),
        None => Ok(()),
    }
}

/// Draws the hunks that are not at their position, for at most [`BUDGET`]; defers the rest.
fn draw(buf: i32, all: Rc<Vec<HunkView>>) -> mlua::Result<()> {
    let start = Instant::now();
    let namespace = nvim::namespace("acp_review")?;
    let old = with(|reviews| reviews.by_buf.remove(&buf));
    if all.is_empty() {
        return api("nvim_buf_clear_namespace", (buf, namespace, 0, -1));
    }
    let style = Style::of(buf)?;
    let canvas = Canvas::of(buf, namespace)?;
    let mut stock = match old {
        Some(old) if old.style == style => Stock::of(old.hunks, &canvas)?,
        _ => {
            api::<()>("nvim_buf_clear_namespace", (buf, namespace, 0, -1))?;
            Stock::default()
        }
    };
    let kept: Vec<Option<Drawn>> = all.iter().map(|hunk| stock.take(hunk, &canvas)).collect();
    stock.erase(&canvas)?;
    let mut hunks = Vec::with_capacity(all.len());
    let mut rest = Vec::new();
    let places = places(&all);
    for (index, known) in in_sight_first(buf, &all, kept)? {
        // Each index has both.
        let (Some(hunk), Some(place)) = (all.get(index), places.get(index)) else {
            continue;
        };
        let place = place.clone();
        match known {
            Some(known) => hunks.push(known.become_hunk(&canvas, hunk, place, &style)?),
            None => rest.push((index, place)),
        }
    }
    rest.reverse();
    let id = with(|reviews| {
        reviews.passes += 1;
        reviews.passes
    });
    let shown = Shown {
        id,
        all,
        decided: Vec::new(),
        hunks,
        rest,
        tick: api("nvim_buf_get_changedtick", buf)?,
        style,
    };
    draw_rest(buf, &canvas, shown, start)
}

/// Continues a drawing that began at `start`: draws at least one hunk, and for at most
/// [`BUDGET`]. A hunk that cannot be drawn hides no other one.
fn draw_rest(buf: i32, canvas: &Canvas, mut shown: Shown, start: Instant) -> mlua::Result<()> {
    let mut failed = None;
    while let Some((index, place)) = shown.rest.pop() {
        if let Some(hunk) = shown.all.get(index) {
            let drawn = guard::caught(HUNK, || Drawn::draw(canvas, hunk, place, &shown.style));
            match drawn {
                Some(Ok(drawn)) => shown.hunks.push(drawn),
                // A panic is reported.
                None => {}
                Some(Err(error)) => failed = failed.or(Some(error)),
            }
        }
        if start.elapsed() > BUDGET {
            break;
        }
    }
    let (id, is_whole) = (shown.id, shown.rest.is_empty());
    with(|reviews| reviews.by_buf.insert(buf, shown));
    if let Some(error) = failed {
        guard::run(HUNK, || Err::<(), _>(error));
    }
    match is_whole {
        true => Ok(()),
        false => draw_rest_later(buf, id),
    }
}

/// Returns the label of each hunk: its number among those of its kind.
fn places(all: &[HunkView]) -> Vec<String> {
    let written = all.iter().filter(|hunk| hunk.proposed.is_none()).count();
    let mut at = 0;
    let places = all.iter().map(|hunk| match &hunk.proposed {
        Some(proposed) => proposed.label.to_string(),
        None => {
            at += 1;
            format!("{at}/{written}")
        }
    });
    places.collect()
}

fn draw_rest_later(buf: i32, id: u64) -> mlua::Result<()> {
    defer::after("review rest", Duration::from_millis(1), move || {
        // A later drawing defers its own rest, and another text gets one.
        let is_it = |shown: &Shown| shown.id == id;
        let tick = with(|reviews| {
            reviews
                .by_buf
                .get(&buf)
                .filter(|it| is_it(it))
                .map(|it| it.tick)
        });
        if tick.is_none() || tick != Some(api("nvim_buf_get_changedtick", buf)?) {
            return Ok(());
        }
        let canvas = Canvas::of(buf, nvim::namespace("acp_review")?)?;
        let shown = with(|reviews| reviews.by_buf.remove(&buf));
        shown.map_or(Ok(()), |shown| {
            draw_rest(buf, &canvas, shown, Instant::now())
        })
    })
}

/// Returns each hunk's index and drawing: first those in the window or below, then those above.
fn in_sight_first(
    buf: i32,
    all: &[HunkView],
    kept: Vec<Option<Drawn>>,
) -> mlua::Result<impl Iterator<Item = (usize, Option<Drawn>)>> {
    let top = match nvim::windows_of(buf)?.first() {
        Some(win) => nvim::vim_fn::<usize>("line", ("w0", *win))?,
        None => 0,
    };
    let first = all.partition_point(|hunk| hunk.row + hunk.count < top);
    let mut order: Vec<(usize, Option<Drawn>)> = kept.into_iter().enumerate().collect();
    order.rotate_left(first.min(all.len()));
    Ok(order.into_iter())
}

/// Draws the hunks of a buffer as its window now shows lines, and keeps those at the top in view.
fn look_again(buf: i32) -> mlua::Result<()> {
    restyle(buf)?;
    uncover(buf)
}

/// Draws the hunks of a buffer again if its window now shows lines differently.
fn restyle(buf: i32) -> mlua::Result<()> {
    let Some(style) = with(|reviews| Some(reviews.by_buf.get(&buf)?.style.clone())) else {
        return Ok(());
    };
    if style == Style::of(buf)? {
        return Ok(());
    }
    let all = with(|reviews| Some(Rc::clone(&reviews.by_buf.get(&buf)?.all)));
    draw(buf, all.unwrap_or_default())
}

/// Returns the number of virtual lines above the first line of a buffer.
fn above_first(buf: i32) -> usize {
    with(|reviews| {
        let shown = reviews.by_buf.get(&buf);
        let mut hunks = shown.into_iter().flat_map(|shown| &shown.hunks);
        hunks.find_map(Drawn::rows_above_first).unwrap_or(0)
    })
}

/// Scrolls virtual lines above the first line into view, in windows that show that line.
fn uncover(buf: i32) -> mlua::Result<()> {
    let count = above_first(buf);
    if count == 0 {
        return Ok(());
    }
    for win in nvim::windows_of(buf)? {
        uncover_in(win, count)?;
    }
    Ok(())
}

fn uncover_in(win: i32, count: usize) -> mlua::Result<()> {
    let (top, fill) = top_of(win)?;
    match top == 1 && fill < count {
        true => window::set_view(win, nvim::table([("topfill", nvim::value(count))])?),
        false => Ok(()),
    }
}

/// Removes the rows of virtual lines that are gone. Neovim keeps them empty at the top of a window
/// that is not current, until that scrolls.
fn cover(buf: i32) -> mlua::Result<()> {
    for win in nvim::windows_of(buf)? {
        let (top, fill) = top_of(win)?;
        if fill == 0 {
            continue;
        }
        let row = nvim::value(top.saturating_sub(1));
        let rows = nvim::table([("start_row", row.clone()), ("end_row", row)])?;
        let there: Table = api("nvim_win_text_height", (win, rows))?;
        let there: usize = there.get("fill")?;
        if fill > there {
            window::set_view(win, nvim::table([("topfill", nvim::value(there))])?)?;
        }
    }
    Ok(())
}

/// Returns the first line that a window shows, 1-based, and the number of virtual rows above it.
fn top_of(win: i32) -> mlua::Result<(usize, usize)> {
    let view: Table = window::call(win, || nvim::vim_fn("winsaveview", ()))?;
    Ok((view.get("topline")?, view.get("topfill")?))
}

/// Scrolls virtual lines above the first line into view in windows that were scrolled up to it.
fn scrolled() -> mlua::Result<()> {
    if with(|reviews| reviews.by_buf.is_empty()) {
        return Ok(());
    }
    for pair in autocmd::v_event()?.pairs::<String, Table>() {
        let (win, by) = pair?;
        let Ok(win) = win.parse::<i32>() else {
            continue;
        };
        // A user who scrolls down wants to leave them.
        if by.get::<i64>("topline")? < 0 {
            let count = above_first(window::buf_of(win)?);
            if count > 0 {
                uncover_in(win, count)?;
            }
        }
    }
    Ok(())
}
