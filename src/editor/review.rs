//! Hunks in the buffers they are in: removed lines as virtual lines, added lines highlighted.
//!
//! Invariant: a hunk is shown by extmarks alone; no text of a buffer is ever used to show a diff.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use nvim_oxi::mlua::{self, Table, Value};

use super::nvim::{self, api};
use super::state;
use crate::core::ids::BufId;
use crate::core::view::{HunkView, Line};

/// Lines of one hunk that get a sign of their own; more say nothing new.
const MAX_SIGNS: usize = 500;

/// What is shown, by buffer.
#[derive(Debug, Default)]
pub struct Marks {
    by_buf: BTreeMap<i32, Vec<HunkView>>,
    /// Buffers that have the keys of a review.
    keyed: BTreeSet<i32>,
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
    let old = with(|marks| marks.by_buf.insert(buf, hunks.clone())).unwrap_or_default();
    if old == hunks && !hunks.is_empty() {
        return Ok(());
    }
    let namespace = nvim::namespace("acp_review")?;
    api::<()>("nvim_buf_clear_namespace", (buf, namespace, 0, -1))?;
    let has_keys = with(|marks| match hunks.is_empty() {
        true => marks.keyed.remove(&buf),
        false => !marks.keyed.insert(buf),
    });
    if has_keys == hunks.is_empty() {
        super::keys::review(buf, !has_keys)?;
    }
    if hunks.is_empty() {
        with(|marks| marks.by_buf.remove(&buf));
        return Ok(());
    }
    let style = Style::of(buf)?;
    let total = hunks.len();
    for (index, hunk) in hunks.iter().enumerate() {
        let place = format!("{}/{total}{}", index + 1, style.hint);
        draw(buf, namespace, hunk, &style, place)?;
    }
    match hunks.first() {
        Some(first) if first.row == 0 && !first.removed.is_empty() => {
            uncover(buf, first.removed.len())
        }
        _ => Ok(()),
    }
}

/// Forgets what is shown in a buffer: its text was unloaded or read again, extmarks and all.
pub fn forget(buf: i32) {
    with(|marks| marks.by_buf.remove(&buf));
}

fn with<R: Default>(body: impl FnOnce(&mut Marks) -> R) -> R {
    state::with(|editor| body(&mut editor.marks.borrow_mut())).unwrap_or_default()
}

/// How hunks look in one buffer.
struct Style {
    signs: bool,
    virtual_lines: bool,
    word_diff: bool,
    tab: usize,
    width: usize,
    lines: usize,
    hint: String,
}

impl Style {
    fn of(buf: i32) -> mlua::Result<Self> {
        let columns: usize = nvim::vim()?.get::<Table>("o")?.get("columns")?;
        let flags = state::with(|editor| {
            let config = editor.config.borrow();
            (config.signs, config.virtual_lines, config.word_diff)
        });
        let (signs, virtual_lines, word_diff) = flags.unwrap_or((true, true, true));
        Ok(Self {
            signs,
            virtual_lines,
            word_diff,
            tab: nvim::buf_option::<usize>(buf, "tabstop")?.max(1),
            width: columns,
            lines: api("nvim_buf_line_count", buf)?,
            hint: super::keys::review_hint(),
        })
    }
}

fn draw(
    buf: i32,
    namespace: i32,
    hunk: &HunkView,
    style: &Style,
    place: String,
) -> mlua::Result<()> {
    let last = style.lines.saturating_sub(1);
    let row = hunk.row.min(last);
    let mark = |row: usize, column: u32, opts: Table| -> mlua::Result<()> {
        api::<i32>("nvim_buf_set_extmark", (buf, namespace, row, column, opts))?;
        Ok(())
    };
    if style.virtual_lines && !hunk.removed.is_empty() {
        let lines = hunk.removed.iter().map(|line| virtual_line(line, style));
        let lines = lines.collect::<mlua::Result<Vec<Table>>>()?;
        let above = hunk.row <= last;
        let opts = nvim::table([
            ("virt_lines", nvim::value(lines)),
            ("virt_lines_above", Value::Boolean(above)),
        ])?;
        mark(row, 0, opts)?;
    }
    let group = if hunk.conflict {
        "AcpConflict"
    } else {
        "AcpAdd"
    };
    if hunk.count > 0 {
        let opts = nvim::table([
            ("end_row", nvim::value((row + hunk.count).min(style.lines))),
            ("end_col", nvim::value(0)),
            ("hl_group", nvim::value(group)),
            ("hl_eol", Value::Boolean(true)),
            ("priority", nvim::value(90)),
            ("strict", Value::Boolean(false)),
        ])?;
        mark(row, 0, opts)?;
    }
    if style.signs {
        let (text, group) = if hunk.count > 0 {
            ("┃", "AcpSign")
        } else {
            ("▁", "AcpSignDelete")
        };
        for row in row..row + hunk.count.clamp(1, MAX_SIGNS) {
            let opts = nvim::table([
                ("sign_text", nvim::value(text)),
                ("sign_hl_group", nvim::value(group)),
                ("priority", nvim::value(90)),
            ])?;
            mark(row, 0, opts)?;
        }
    }
    if style.word_diff {
        for (row, columns) in &hunk.words {
            let opts = nvim::table([
                ("end_row", nvim::value(*row)),
                ("end_col", nvim::value(columns.end)),
                ("hl_group", nvim::value("AcpAddWord")),
                ("priority", nvim::value(95)),
                ("strict", Value::Boolean(false)),
            ])?;
            mark(*row, columns.start, opts)?;
        }
    }
    let chunk = nvim::lua().create_sequence_from([place, "AcpHint".to_owned()])?;
    let opts = nvim::table([
        ("virt_text", nvim::value(vec![chunk])),
        ("virt_text_pos", nvim::value("eol")),
        ("hl_mode", nvim::value("combine")),
    ])?;
    mark(row, 0, opts)
}

/// Returns a removed line as chunks, its tabs as spaces, its background to the window's edge.
fn virtual_line(line: &Line, style: &Style) -> mlua::Result<Table> {
    let mut edges: Vec<usize> = vec![0, line.text.len()];
    for span in &line.spans {
        edges.extend([span.start as usize, span.end as usize]);
    }
    edges.sort_unstable();
    edges.dedup();
    let chunks = nvim::empty()?;
    let mut width = 0;
    for pair in edges.windows(2) {
        let &[start, end] = pair else { continue };
        let Some(text) = line.text.get(start..end) else {
            continue;
        };
        let covers = |span: &&crate::core::view::Span| {
            span.start as usize <= start && end <= span.end as usize
        };
        let group = line
            .spans
            .iter()
            .rfind(covers)
            .map_or("AcpDelete", |span| span.group);
        let mut shown = String::new();
        for c in text.chars() {
            if c == '\t' {
                let spaces = style.tab - width % style.tab;
                shown.push_str(&" ".repeat(spaces));
                width += spaces;
            } else {
                shown.push(c);
                width += 1;
            }
        }
        chunks.push(nvim::lua().create_sequence_from([shown.as_str(), group])?)?;
    }
    let rest = " ".repeat(style.width.saturating_sub(width).max(1));
    chunks.push(nvim::lua().create_sequence_from([rest.as_str(), "AcpDelete"])?)?;
    Ok(chunks)
}

/// Scrolls virtual lines above the first line into view, where the window shows that line.
fn uncover(buf: i32, count: usize) -> mlua::Result<()> {
    for win in nvim::windows_of(buf)? {
        let info: Vec<Table> = nvim::vim_fn("getwininfo", win)?;
        let top: i64 = info.first().map_or(Ok(0), |info| info.get("topline"))?;
        if top == 1 {
            let run = super::guard::callback("topfill", move |()| {
                let view = nvim::table([("topfill", nvim::value(count))])?;
                nvim::vim_fn::<Value>("winrestview", view)?;
                Ok(())
            })?;
            api::<()>("nvim_win_call", (win, run))?;
        }
    }
    Ok(())
}

/// Which way to go through the hunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Next,
    Prev,
}

/// Goes to the next or previous hunk, into the next file when this one has no more.
///
/// # Errors
/// What Neovim says of it.
pub fn go(way: Way) -> mlua::Result<bool> {
    leave_chat()?;
    let buf: i32 = api("nvim_get_current_buf", ())?;
    let cursor: Vec<usize> = api("nvim_win_get_cursor", 0)?;
    let row = cursor.first().map_or(0, |line| line - 1);
    let rows = rows_of(buf)?;
    let lines: usize = api("nvim_buf_line_count", buf)?;
    let mut rows: Vec<usize> = rows.into_iter().map(|row| row.min(lines - 1)).collect();
    rows.dedup();
    let found = match way {
        Way::Next => rows.iter().find(|at| **at > row),
        Way::Prev => rows.iter().rfind(|at| **at < row),
    };
    if let Some(found) = found {
        api::<()>("nvim_command", "normal! m'")?;
        jump(*found)?;
        return Ok(true);
    }
    go_to_file(way)
}

/// Returns the rows of a buffer's hunks: as they are drawn, or as the core has told of them.
fn rows_of(buf: i32) -> mlua::Result<Vec<usize>> {
    let drawn = with(|marks| {
        let hunks = marks.by_buf.get(&buf)?;
        Some(hunks.iter().map(|hunk| hunk.row).collect())
    });
    if let Some(rows) = drawn {
        return Ok(rows);
    }
    let name: String = api("nvim_buf_get_name", buf)?;
    let snapshot = state::snapshot();
    let mut files = snapshot.reviews.iter();
    let file = files.find(|file| file.path.to_string_lossy() == name);
    let rows = file.map(|file| file.hunks.iter().map(|hunk| hunk.row).collect());
    Ok(rows.unwrap_or_default())
}

fn go_to_file(way: Way) -> mlua::Result<bool> {
    let snapshot = state::snapshot();
    let name: String = api("nvim_buf_get_name", 0)?;
    let files = &snapshot.reviews;
    let here = files
        .iter()
        .position(|file| file.path.to_string_lossy() == name);
    let count = files.len();
    let target = match (here, way) {
        _ if count == 0 => return Ok(false),
        (Some(here), Way::Next) => (here + 1) % count,
        (Some(here), Way::Prev) => (here + count - 1) % count,
        (None, Way::Next) => 0,
        (None, Way::Prev) => count - 1,
    };
    let Some(file) = files.get(target) else {
        return Ok(false);
    };
    let hunk = match way {
        Way::Next => file.hunks.first(),
        Way::Prev => file.hunks.last(),
    };
    api::<()>("nvim_command", "normal! m'")?;
    if here != Some(target) {
        show_file(&file.path)?;
    }
    jump(hunk.map_or(0, |hunk| hunk.row))?;
    Ok(true)
}

/// Goes to a window of the tab page that shows a file, or shows it in the current one.
fn show_file(path: &Path) -> mlua::Result<()> {
    let name = path.to_string_lossy().into_owned();
    let pattern: String = nvim::vim_fn("fnameescape", name)?;
    let buf: i32 = nvim::vim_fn("bufnr", format!("^{pattern}$"))?;
    let win: i32 = nvim::vim_fn("bufwinid", buf)?;
    if win > 0 {
        return api("nvim_set_current_win", win);
    }
    // The buffer that was there stays loaded, whatever 'hidden' says: it may be modified.
    api("nvim_command", format!("hide edit {pattern}"))
}

fn jump(row: usize) -> mlua::Result<()> {
    let lines: usize = api("nvim_buf_line_count", 0)?;
    let line = (row + 1).min(lines);
    api::<()>("nvim_win_set_cursor", (0, vec![line, 0]))?;
    api("nvim_command", "normal! zv")
}

/// Goes from a chat's window to one that shows a file, made if there is none.
fn leave_chat() -> mlua::Result<()> {
    let is_file = |win: i32| -> mlua::Result<bool> {
        let buf: i32 = api("nvim_win_get_buf", win)?;
        let kind: String = nvim::buf_option(buf, "buftype")?;
        let float: String = api::<Table>("nvim_win_get_config", win)?.get("relative")?;
        Ok(kind.is_empty() && float.is_empty())
    };
    if is_file(api("nvim_get_current_win", ())?)? {
        return Ok(());
    }
    let tab: i32 = api("nvim_get_current_tabpage", ())?;
    for win in api::<Vec<i32>>("nvim_tabpage_list_wins", tab)? {
        if is_file(win)? {
            return api("nvim_set_current_win", win);
        }
    }
    api("nvim_command", "topleft vnew")
}
