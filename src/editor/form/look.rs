//! The frame of a form's window: where it stands, what its border says.

use nvim_oxi::mlua::{self, Table};

use super::clipped;
use crate::editor::keys;
use crate::editor::nvim::{self, api};
use acp_core::questions::elicitation::Ask;
use acp_core::render::view::{ElicitationView, Line};

pub(super) fn window_config(
    view: &ElicitationView,
    lines: &[Line],
    footer: &str,
) -> mlua::Result<Table> {
    let options: Table = nvim::vim()?.get("o")?;
    let (columns, rows): (i64, i64) = (options.get("columns")?, options.get("lines")?);
    let longest = lines.iter().map(|line| line.text.chars().count());
    let longest = i64::try_from(longest.max().unwrap_or(0)).unwrap_or(columns);
    let width = longest.clamp(60, 100).min(columns - 4).max(1);
    let per_line = |line: &Line| 1 + (line.text.chars().count() as i64 - 1).max(0) / width;
    let whole: i64 = lines.iter().map(per_line).sum();
    let height = whole.min(rows * 8 / 10).max(1);
    let config = nvim::table([
        ("relative", nvim::value("editor")),
        ("width", nvim::value(width)),
        ("height", nvim::value(height)),
        ("row", nvim::value(((rows - height) / 2 - 2).max(0))),
        ("col", nvim::value(((columns - width) / 2 - 1).max(0))),
        ("border", nvim::value("rounded")),
        ("style", nvim::value("minimal")),
        ("zindex", nvim::value(60)),
    ])?;
    config.set("title", format!(" {} ", clipped(&view.title, width - 4)))?;
    config.set("footer", clipped(footer, width))?;
    config.set("footer_pos", "left")?;
    Ok(config)
}

/// Returns the keys that somebody in the window needs first.
pub(super) fn hint(ask: &Ask) -> String {
    let mut hints = Vec::new();
    if matches!(ask, Ask::Form(form) if !form.fields.is_empty()) {
        hints.push("<CR> fills in".to_owned());
        hints.extend(key("next", "goes on"));
    }
    hints.extend(key("leave", "leaves it open"));
    format!(" {} ", hints.join(" · "))
}

fn key(name: &str, words: &str) -> Option<String> {
    let key = keys::of("form", name).into_iter().next()?;
    Some(format!("{} {words}", keys::shown(&key)))
}

/// Scrolls up as far as the cursor allows.
pub(super) fn show_from_top(win: i32) -> mlua::Result<()> {
    let body = nvim::lua().create_function(|_, ()| {
        let last = nvim::vim_fn::<i64>("line", ".")?;
        let height: i64 = api("nvim_win_get_height", 0)?;
        if last <= height {
            let view = nvim::table([("topline", nvim::value(1))])?;
            nvim::vim_fn::<()>("winrestview", view)?;
        }
        Ok(())
    })?;
    api("nvim_win_call", (win, body))
}

/// Scrolls up where all lines have room: a window that was smaller stays scrolled as it was.
pub(super) fn show_whole(win: i32) -> mlua::Result<()> {
    let size: Table = api("nvim_win_text_height", (win, nvim::empty()?))?;
    let height: i64 = api("nvim_win_get_height", win)?;
    match size.get::<i64>("all")? <= height {
        true => show_from_top(win),
        false => Ok(()),
    }
}
