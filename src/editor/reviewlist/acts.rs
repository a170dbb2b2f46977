//! The keys of the review list.

use std::ops::Range;

use nvim_oxi::mlua;

use super::preview::{hide_preview, show_preview};
use super::with;
use crate::editor::ask::{self, Choice};
use crate::editor::kit::{user, window};
use crate::editor::notify::notify;
use crate::editor::state::send;
use crate::editor::{keys, walk};
use acp_core::event::{Event, ReviewEvent, ViewEvent};
use acp_core::spine::effect::Level;
use acp_core::spine::event::{ListEvent, ReviewAction, Scope};
use acp_core::spine::ids::ItemKey;
use acp_core::text::plural;

/// The keys: name in the configuration, description.
const KEYS: [(&str, &str); 10] = [
    ("jump", "Goes to the hunk or file"),
    ("jump_split", "Goes to the hunk or file in a split"),
    (
        "accept",
        "Accepts the hunk or file (visual: all in the range)",
    ),
    (
        "reject",
        "Rejects the hunk or file (visual: all in the range)",
    ),
    ("accept_all", "Accepts everything, after asking you"),
    ("reject_all", "Rejects everything, after asking you"),
    ("undo", "Undoes the last decision"),
    ("preview", "Shows or hides the preview"),
    ("close", "Closes the list"),
    ("help", "Shows these keys"),
];

pub(super) fn map_keys(buf: i32) -> mlua::Result<()> {
    for (name, desc) in KEYS {
        let key = ("review_list", name);
        keys::bind(buf, &["n"], key, desc, move |_| press(name))?;
        if matches!(name, "accept" | "reject") {
            keys::bind(buf, &["x"], key, desc, move |_| press_on_range(name))?;
        }
    }
    Ok(())
}

fn press(name: &str) -> mlua::Result<()> {
    match name {
        "jump" => jump(false),
        "jump_split" => jump(true),
        "accept" => decide(ReviewAction::Accept, rows_here()?),
        "reject" => decide(ReviewAction::Reject, rows_here()?),
        "accept_all" => ask_all(ReviewAction::Accept),
        "reject_all" => ask_all(ReviewAction::Reject),
        "undo" => {
            send(Event::View(ViewEvent::List(ListEvent::Undo)));
            Ok(())
        }
        "preview" => toggle_preview(),
        "close" => close(),
        _ => help(),
    }
}

fn press_on_range(name: &str) -> mlua::Result<()> {
    let rows = keys::selected_rows()?;
    keys::feed("<Esc>")?;
    let action = match name {
        "accept" => ReviewAction::Accept,
        _ => ReviewAction::Reject,
    };
    decide(action, rows)
}

/// Returns the row of the cursor, and those below it as far as a count says.
fn rows_here() -> mlua::Result<Range<usize>> {
    let row = window::row(0)?;
    let count = usize::try_from(user::count()?).unwrap_or(1);
    Ok(row..row + count)
}

/// Decides about the items on some rows.
fn decide(action: ReviewAction, rows: Range<usize>) -> mlua::Result<()> {
    let items = with(|list| {
        let items = list.view.items.iter().skip(rows.start).take(rows.len());
        items.flatten().map(|item| item.key).collect::<Vec<_>>()
    });
    if !items.is_empty() {
        send(Event::View(ViewEvent::List(ListEvent::Decide {
            action,
            items,
        })));
    }
    Ok(())
}

fn ask_all(action: ReviewAction) -> mlua::Result<()> {
    let (keys, files, is_cut) = with(|list| {
        let items = list.view.items.iter().flatten();
        let files = items.filter(|item| item.row.is_none());
        let keys: Vec<ItemKey> = files.map(|item| item.key).collect();
        (keys, list.view.files, list.view.is_cut)
    });
    if keys.is_empty() {
        return Ok(());
    }
    let files = plural(files, "file");
    let (title, word) = match action {
        ReviewAction::Accept => (format!("Accept everything in {files}?"), "accept"),
        ReviewAction::Reject => (format!("Reject everything in {files}?"), "reject"),
    };
    let yes = Choice::new('y', word, move || {
        let items = keys.clone();
        send(match is_cut {
            true => Event::Review(ReviewEvent::Decide {
                action,
                scope: Scope::All,
            }),
            false => Event::View(ViewEvent::List(ListEvent::Decide { action, items })),
        });
        Ok(())
    });
    ask::show(&title, &[], vec![yes])
}

fn jump(in_split: bool) -> mlua::Result<()> {
    let row = window::row(0)?;
    let item = with(|list| list.view.items.get(row).cloned().flatten());
    let Some(item) = item else {
        return Ok(());
    };
    if item.is_gone {
        let text = "The file no longer exists; the preview shows its last content.";
        return notify(Level::Info, text);
    }
    walk::visit(&item.path, item.row, in_split)
}

fn toggle_preview() -> mlua::Result<()> {
    let is_off = with(|list| {
        list.preview_is_off = !list.preview_is_off;
        list.preview_is_off
    });
    match is_off {
        true => hide_preview(),
        false => show_preview(),
    }
}

fn close() -> mlua::Result<()> {
    hide_preview()?;
    window::close_here()
}

fn help() -> mlua::Result<()> {
    let mut lines = Vec::new();
    for (name, desc) in KEYS {
        let keys: Vec<String> = keys::of("review_list", name)
            .iter()
            .map(|key| keys::shown(key))
            .collect();
        if !keys.is_empty() {
            lines.push(format!(" {:<8} {desc} ", keys.join(" ")));
        }
    }
    ask::show("Keys of the review list", &lines, Vec::new())
}
