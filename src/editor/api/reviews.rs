//! What the module offers for reviews.

use std::path::PathBuf;

use nvim_oxi::mlua::{self, Table, Value};

use crate::editor::apply::notify;
use crate::editor::guard::function;
use crate::editor::kit::{buffer, window};
use crate::editor::nvim::{self, api};
use crate::editor::state::{send, snapshot};
use crate::editor::{chat, reviewlist, walk};
use acp_core::spine::effect::Level;
use acp_core::spine::event::{Event, ReviewAction, Scope, UndoStep};
use acp_core::spine::ids::BufId;
use acp_core::view::snapshot::HunkInfo;

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
        module.set(name, function(name, body)?)?;
    }
    for (name, way) in [("next", walk::Way::Next), ("prev", walk::Way::Prev)] {
        let body = move |()| {
            if !walk::go(way)? {
                notify(Level::Info, "No change of the agent's to review.")?;
            }
            Ok(())
        };
        module.set(name, function(name, body)?)?;
    }
    let drop_feedback = function("drop_feedback", |()| {
        let session = chat::current();
        send(Event::DropFeedback { session });
        Ok(())
    })?;
    module.set("drop_feedback", drop_feedback)?;
    let undo = function("undo_turn", |step: String| {
        let session = chat::current();
        let step = match step.as_str() {
            "ask" => UndoStep::Ask,
            "back" => UndoStep::Back,
            _ => UndoStep::Undo(None),
        };
        send(Event::UndoTurn { session, step });
        Ok(())
    })?;
    module.set("undo_turn", undo)?;
    let open = function("review_list", |()| reviewlist::open())?;
    module.set("review_list", open)?;
    let list = |buf: Option<i32>| {
        let path: Option<String> = match buf {
            Some(buf) => Some(api("nvim_buf_get_name", buf)?),
            None => None,
        };
        let list = nvim::empty()?;
        let snapshot = snapshot();
        let written = snapshot
            .reviews
            .iter()
            .map(|file| (&file.path, &file.hunks[..]));
        let proposed = snapshot
            .proposals
            .iter()
            .map(|file| (&file.path, &file.hunks[..]));
        for (place, hunks) in written.chain(proposed) {
            if path
                .as_ref()
                .is_none_or(|path| *path == place.to_string_lossy())
            {
                for hunk in hunks {
                    list.push(hunk_table(hunk)?)?;
                }
            }
        }
        Ok(list)
    };
    module.set("hunks", function("hunks", list)?)
}

fn hunk_table(hunk: &HunkInfo) -> mlua::Result<Table> {
    nvim::table([
        (
            "path",
            nvim::value(hunk.path.to_string_lossy().into_owned()),
        ),
        ("row", nvim::value(hunk.row)),
        ("count", nvim::value(hunk.count)),
        ("old", nvim::value(hunk.old.clone())),
        ("new", nvim::value(hunk.new.clone())),
        ("state", nvim::value(hunk.state)),
    ])
}

/// Accepts or rejects the hunk at the cursor, those of the current file, or all.
///
/// # Errors
/// The scope has another name, or what Neovim says of it.
pub fn review(action: ReviewAction, scope: &str) -> mlua::Result<()> {
    let scope = match scope {
        "hunk" => Scope::Hunk {
            buf: BufId(buffer::here()?),
            row: window::row(0)?,
        },
        "file" => Scope::File {
            path: PathBuf::from(api::<String>("nvim_buf_get_name", 0)?),
        },
        "turn" => Scope::Turn {
            session: chat::current(),
        },
        "all" => Scope::All,
        other => {
            let message = format!("\"{other}\" is no scope: use hunk, file, turn or all");
            return Err(mlua::Error::runtime(message));
        }
    };
    send(Event::Review { action, scope });
    Ok(())
}

/// Accepts or rejects what of the hunks lies in rows of the current buffer.
///
/// # Errors
/// What Neovim says of it.
pub fn review_rows(action: ReviewAction, rows: std::ops::Range<usize>) -> mlua::Result<()> {
    let buf = BufId(buffer::here()?);
    let scope = Scope::Rows { buf, rows };
    send(Event::Review { action, scope });
    Ok(())
}
