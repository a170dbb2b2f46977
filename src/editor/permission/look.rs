//! How the permission window looks: its lines, its frame, where it stands.

use nvim_oxi::mlua::{self, Table};

use super::with;
use crate::editor::nvim::{self, api};
use acp_core::render::toolview::whole_line;
use acp_core::render::view::{Line, OptionView, PermissionView};

/// Returns whether the window makes room for the files that the question is about: the user has
/// left it for them.
pub(super) fn is_aside(view: &PermissionView) -> bool {
    !view.places.is_empty() && with(|float| float.left)
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
        lines.push(whole_line(
            format!(" {keys:<4} {}", option.name),
            option.group,
        ));
    }
    lines
}

/// Returns the keys that choose an option: its number, and its letter.
pub(super) fn keys_of(index: usize, option: &OptionView) -> Vec<String> {
    let number = (index < 9).then(|| (index + 1).to_string());
    let letter = option.key.map(String::from);
    number.into_iter().chain(letter).collect()
}

/// Returns how to get to a question's window, for somebody who is not in it.
pub(in crate::editor) fn way_in(is_here: bool, has_left: bool) -> mlua::Result<String> {
    let mode: Table = api("nvim_get_mode", ())?;
    Ok(if is_here {
        String::new()
    } else if has_left {
        " :Acp permission goes here ".to_owned()
    } else if mode.get::<String>("mode")?.starts_with('i') {
        " <Esc> goes here ".to_owned()
    } else {
        String::new()
    })
}

pub(super) fn window_config(
    view: &PermissionView,
    lines: &[Line],
    way_in: &str,
) -> mlua::Result<Table> {
    let options: Table = nvim::vim()?.get("o")?;
    let (columns, rows): (i64, i64) = (options.get("columns")?, options.get("lines")?);
    let longest = lines.iter().map(|line| line.text.chars().count());
    let longest = i64::try_from(longest.max().unwrap_or(0)).unwrap_or(columns);
    let width = longest.clamp(40, 100).min(columns - 4).max(1);
    let per_line = |line: &Line| 1 + (line.text.chars().count() as i64 - 1).max(0) / width;
    let whole: i64 = lines.iter().map(per_line).sum();
    let height = whole.min(rows * 7 / 10).max(1);
    let mut footer = way_in.to_owned();
    if whole > height {
        // The options are below the window's end.
        for (index, option) in view.options.iter().enumerate() {
            let keys = keys_of(index, option).join("/");
            footer.push_str(&format!(" {keys} {} ", option.name));
        }
    }
    if let (false, Some(key)) = (
        view.places.is_empty() || is_aside(view),
        super::keys::of("permission", "show").first(),
    ) {
        footer.push_str(&format!(" {key} shows it in the file "));
    }
    if view.waiting > 0 {
        footer.push_str(&format!(" +{} more ", view.waiting));
    }
    let (row, column) = match is_aside(view) {
        // Above the command line and the status line.
        true => (rows - height - 4, columns - width - 2),
        false => ((rows - height) / 2 - 2, (columns - width) / 2 - 1),
    };
    let config = nvim::table([
        ("relative", nvim::value("editor")),
        ("width", nvim::value(width)),
        ("height", nvim::value(height)),
        ("row", nvim::value(row.max(0))),
        ("col", nvim::value(column.max(0))),
        ("border", nvim::value("rounded")),
        ("style", nvim::value("minimal")),
        ("zindex", nvim::value(60)),
    ])?;
    config.set("title", format!(" {} ", clipped(&view.title, width - 4)))?;
    config.set("footer", clipped(&footer, width))?;
    config.set("footer_pos", "left")?;
    Ok(config)
}

/// Returns a text cut to so many characters.
pub(in crate::editor) fn clipped(text: &str, width: i64) -> String {
    let width = usize::try_from(width).unwrap_or(0).max(1);
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let head: String = text.chars().take(width - 1).collect();
    format!("{head}…")
}

/// Highlights the lines of a buffer.
pub(in crate::editor) fn highlight(buf: i32, namespace: &str, lines: &[Line]) -> mlua::Result<()> {
    let namespace = nvim::namespace(namespace)?;
    api::<()>("nvim_buf_clear_namespace", (buf, namespace, 0, -1))?;
    for (row, line) in lines.iter().enumerate() {
        for span in &line.spans {
            let opts = nvim::table([
                ("end_row", nvim::value(row)),
                ("end_col", nvim::value(span.end)),
                ("hl_group", nvim::value(span.group)),
            ])?;
            api::<i32>(
                "nvim_buf_set_extmark",
                (buf, namespace, row, span.start, opts),
            )?;
        }
    }
    Ok(())
}
