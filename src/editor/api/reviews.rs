//! API functions for reviews.

use std::path::Path;

use nvim_oxi::mlua::{self, Table, Value};

use super::provide;
use crate::editor::kit::{buffer, window};
use crate::editor::nvim;
use crate::editor::state::{send, snapshot};
use crate::editor::{chats, documents, reviewlist, walk};
use acp_core::event::{Event, ReviewEvent, ViewEvent};
use acp_core::spine::event::{ListEvent, ReviewAction, Scope, UndoStep};
use acp_core::spine::ids::BufId;

pub(super) fn add(module: &Table) -> mlua::Result<()> {
    for (name, action) in [
        ("accept", ReviewAction::Accept),
        ("reject", ReviewAction::Reject),
    ] {
        let body = move |scope: Value| match scope {
            Value::Table(rows) => review_rows(action, rows.get("first")?..rows.get("last")?),
            Value::String(scope) => review(action, &scope.to_string_lossy()),
            _ => review(action, "hunk"),
        };
        provide(module, name, body)?;
    }
    for (name, way) in [("next", walk::Way::Next), ("prev", walk::Way::Prev)] {
        provide(module, name, move |()| walk::go(way))?;
    }
    provide(module, "drop_feedback", |()| {
        let session = chats::current();
        send(Event::Review(ReviewEvent::DropFeedback { session }));
        Ok(())
    })?;
    provide(module, "undo_decision", |()| {
        send(Event::View(ViewEvent::List(ListEvent::Undo)));
        Ok(())
    })?;
    provide(module, "undo_turn", |step: String| {
        let session = chats::current();
        let step = match step.as_str() {
            "ask" => UndoStep::Ask,
            "back" => UndoStep::Back,
            _ => UndoStep::Undo(None),
        };
        send(Event::Review(ReviewEvent::UndoTurn { session, step }));
        Ok(())
    })?;
    provide(module, "review_list", |()| reviewlist::open())?;
    provide(module, "review_files", |()| Ok(snapshot().reviews.len()))?;
    let list = |buf: Option<i32>| {
        let path = buf.map(documents::path).transpose()?;
        let is_meant = |place: &Path| path.as_ref().is_none_or(|path| path == place);
        let snapshot = snapshot();
        let written = snapshot
            .reviews
            .iter()
            .map(|file| (&file.path, &file.hunks[..]));
        let proposed = snapshot
            .proposals
            .iter()
            .map(|file| (&file.path, &file.hunks[..]));
        let files = written.chain(proposed);
        let files = files.filter(|(place, _)| is_meant(place));
        nvim::list(files.flat_map(|(_, hunks)| hunks))
    };
    provide(module, "hunks", list)
}

/// Accepts or rejects the hunk at the cursor, those of the current file, or all.
///
/// # Errors
/// The scope is unknown, or Neovim's error.
pub fn review(action: ReviewAction, scope: &str) -> mlua::Result<()> {
    let scope = match scope {
        "hunk" => Scope::Hunk {
            buf: BufId(buffer::here()?),
            row: window::row(0)?,
        },
        "file" => Scope::File {
            path: documents::path(buffer::here()?)?,
        },
        "turn" => Scope::Turn {
            session: chats::current(),
        },
        "all" => Scope::All,
        other => {
            let message = format!("\"{other}\" is not a scope: use hunk, file, turn or all");
            return Err(mlua::Error::runtime(message));
        }
    };
    send(Event::Review(ReviewEvent::Decide { action, scope }));
    Ok(())
}

/// Accepts or rejects the parts of hunks in these rows of the current buffer.
///
/// # Errors
/// Neovim's error.
pub fn review_rows(action: ReviewAction, rows: std::ops::Range<usize>) -> mlua::Result<()> {
    let buf = BufId(buffer::here()?);
    let scope = Scope::Rows { buf, rows };
    send(Event::Review(ReviewEvent::Decide { action, scope }));
    Ok(())
}
