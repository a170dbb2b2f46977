//! Hunks in the buffers they are in: what is shown, and what has to be drawn again.
//!
//! Invariants: a hunk is shown by extmarks alone; no text of a buffer is ever used to show a
//! diff. A hunk that stands where it should is not drawn again.

use std::collections::{BTreeMap, HashMap};

use nvim_oxi::mlua::{self, Table, Value};

use super::guard;
use super::hunk::{Drawn, Style};
use super::keys::ReviewKeys;
use super::nvim::{self, api};
use super::state;
use crate::core::ids::BufId;
use crate::core::view::HunkView;

/// What is shown, by buffer.
#[derive(Debug, Default)]
pub struct Marks {
    by_buf: BTreeMap<i32, Shown>,
    /// Buffers that have the keys of a review, and the user's own mappings of these keys.
    keyed: BTreeMap<i32, ReviewKeys>,
}

#[derive(Debug)]
struct Shown {
    hunks: Vec<Drawn>,
    style: Style,
}

/// Watches the windows that reviews are shown in.
///
/// # Errors
/// What Neovim says of it.
pub fn start() -> mlua::Result<()> {
    let group: i32 = api(
        "nvim_create_augroup",
        (
            "acp_review",
            nvim::table([("clear", Value::Boolean(true))])?,
        ),
    )?;
    let on_window = guard::callback("review window", |args: Table| {
        let buf = match args.get("buf")? {
            // `OptionSet` gives buffer 0 for the current one.
            0 => api("nvim_get_current_buf", ())?,
            buf => buf,
        };
        restyle(buf)?;
        uncover(buf)
    })?;
    let opts = nvim::table([
        ("group", nvim::value(group)),
        ("callback", Value::Function(on_window)),
    ])?;
    let events = vec!["BufWinEnter", "WinEnter", "WinResized", "OptionSet"];
    api::<i32>("nvim_create_autocmd", (events, opts))?;
    let on_scroll = guard::callback("review scroll", |_: Table| scrolled())?;
    let opts = nvim::table([
        ("group", nvim::value(group)),
        ("callback", Value::Function(on_scroll)),
    ])?;
    api::<i32>("nvim_create_autocmd", ("WinScrolled", opts))?;
    Ok(())
}

/// Shows all hunks of a buffer in place of those shown before.
///
/// # Errors
/// What Neovim says of it.
pub fn show(buf: BufId, tick: u64, hunks: Vec<HunkView>) -> mlua::Result<()> {
    let buf = buf.0;
    if !api::<bool>("nvim_buf_is_loaded", buf)? || tick < super::documents::tick(buf) {
        // The core hears of what has changed since, and sends the hunks again.
        return Ok(());
    }
    set_keys(buf, !hunks.is_empty())?;
    draw(buf, hunks)?;
    uncover(buf)
}

/// Takes everything out of a buffer: its text was unloaded, or is read again.
pub fn forget(buf: i32) {
    // A buffer that is being wiped out has neither any more.
    let _ = draw(buf, Vec::new());
    let _ = set_keys(buf, false);
}

/// Returns the rows of the hunks that are drawn in a buffer; `None` if none are.
pub fn rows(buf: i32) -> Option<Vec<usize>> {
    with(|marks| {
        let shown = marks.by_buf.get(&buf)?;
        Some(shown.hunks.iter().map(|drawn| drawn.hunk.row).collect())
    })
}

fn with<R: Default>(body: impl FnOnce(&mut Marks) -> R) -> R {
    state::with(|editor| body(&mut editor.marks.borrow_mut())).unwrap_or_default()
}

fn set_keys(buf: i32, has_hunks: bool) -> mlua::Result<()> {
    let has_keys = with(|marks| marks.keyed.contains_key(&buf));
    if has_hunks && !has_keys {
        let keys = super::keys::map_review(buf)?;
        with(|marks| marks.keyed.insert(buf, keys));
    } else if !has_hunks && let Some(keys) = with(|marks| marks.keyed.remove(&buf)) {
        super::keys::unmap_review(buf, keys)?;
    }
    Ok(())
}

fn draw(buf: i32, hunks: Vec<HunkView>) -> mlua::Result<()> {
    let namespace = nvim::namespace("acp_review")?;
    let old = with(|marks| marks.by_buf.remove(&buf));
    if hunks.is_empty() {
        return api("nvim_buf_clear_namespace", (buf, namespace, 0, -1));
    }
    let style = Style::of(buf)?;
    let mut old = match old {
        Some(old) if old.style == style => old.hunks,
        _ => {
            api::<()>("nvim_buf_clear_namespace", (buf, namespace, 0, -1))?;
            Vec::new()
        }
    };
    let places = match old.is_empty() {
        true => HashMap::new(),
        false => places(buf, namespace)?,
    };
    let lines: usize = api("nvim_buf_line_count", buf)?;
    let same = |(old, new): &(&Drawn, &HunkView)| old.stands_as(new, &places, lines);
    let above = old.iter().zip(&hunks).take_while(same).count();
    let most = old.len().min(hunks.len()) - above;
    let below = old.iter().rev().zip(hunks.iter().rev());
    let below = below.take(most).take_while(same).count();
    let last = old.split_off(old.len() - below);
    for drawn in old.split_off(above) {
        drawn.erase(buf, namespace)?;
    }
    let mut kept = old.into_iter();
    let mut kept_below = last.into_iter();
    let total = hunks.len();
    let mut shown = Vec::with_capacity(total);
    for (index, hunk) in hunks.into_iter().enumerate() {
        let place = format!("{}/{total}", index + 1);
        let known = match index {
            _ if index < above => kept.next(),
            _ if index >= total - below => kept_below.next(),
            _ => None,
        };
        shown.push(match known {
            Some(known) => known.become_hunk(buf, namespace, hunk, place, &style)?,
            None => Drawn::draw(buf, namespace, hunk, place, &style)?,
        });
    }
    let shown = Shown {
        hunks: shown,
        style,
    };
    with(|marks| marks.by_buf.insert(buf, shown));
    Ok(())
}

/// Returns where the extmarks of a buffer's hunks are by now: row and column.
fn places(buf: i32, namespace: i32) -> mlua::Result<HashMap<i64, (usize, usize)>> {
    let opts = nvim::empty()?;
    let marks: Table = api("nvim_buf_get_extmarks", (buf, namespace, 0, -1, opts))?;
    // One after another: Lua has room for some 8000 of its tables to be held at once.
    marks
        .sequence_values::<Table>()
        .map(|mark| {
            let mark = mark?;
            Ok((mark.get(1)?, (mark.get(2)?, mark.get(3)?)))
        })
        .collect()
}

/// Draws the hunks of a buffer again if its window shows lines in another way by now.
fn restyle(buf: i32) -> mlua::Result<()> {
    let Some(style) = with(|marks| Some(marks.by_buf.get(&buf)?.style.clone())) else {
        return Ok(());
    };
    if style == Style::of(buf)? {
        return Ok(());
    }
    let hunks = with(|marks| {
        let hunks = marks.by_buf.get(&buf)?.hunks.iter();
        Some(hunks.map(|drawn| drawn.hunk.clone()).collect())
    });
    draw(buf, hunks.unwrap_or_default())
}

/// Returns how many virtual lines stand above the first line of a buffer.
fn above_first(buf: i32) -> usize {
    with(|marks| {
        let shown = marks.by_buf.get(&buf);
        let first = shown.and_then(|shown| shown.hunks.first());
        first.map_or(0, Drawn::rows_above_first)
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
    let run = guard::callback("topfill", move |()| {
        let view: Table = nvim::vim_fn("winsaveview", ())?;
        let (top, fill): (usize, usize) = (view.get("topline")?, view.get("topfill")?);
        if top == 1 && fill < count {
            let view = nvim::table([("topfill", nvim::value(count))])?;
            nvim::vim_fn::<Value>("winrestview", view)?;
        }
        Ok(())
    })?;
    api("nvim_win_call", (win, run))
}

/// Uncovers virtual lines above the first line where a window has come up to that line.
fn scrolled() -> mlua::Result<()> {
    if with(|marks| marks.by_buf.is_empty()) {
        return Ok(());
    }
    let event: Table = nvim::vim()?.get::<Table>("v")?.get("event")?;
    for pair in event.pairs::<String, Table>() {
        let (win, by) = pair?;
        let Ok(win) = win.parse::<i32>() else {
            continue;
        };
        // Down is where the user wants to go who scrolls away from them.
        if by.get::<i64>("topline")? < 0 {
            let buf: i32 = api("nvim_win_get_buf", win)?;
            let count = above_first(buf);
            if count > 0 {
                uncover_in(win, count)?;
            }
        }
    }
    Ok(())
}
