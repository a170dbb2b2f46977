//! API functions for attachments of prompts.

use std::path::PathBuf;

use nvim_oxi::mlua::{self, Table, Value};

use super::provide;
use super::sessions::{meant, read_context};
use crate::editor::mentions::is_image;
use crate::editor::state::{self, send};
use crate::editor::{complete, nvim};
use acp_core::event::{Event, SessionEvent};
use acp_core::spine::attachment::Attachment;
use acp_core::spine::ids::SessionKey;

pub(super) fn add(module: &Table) -> mlua::Result<()> {
    let attach = |(session, what): (Option<u32>, Value)| attach(meant(session)?, &what);
    provide(module, "attach", attach)?;
    let detach = |(session, number): (Option<u32>, Option<usize>)| {
        send(Event::Session(SessionEvent::Detach {
            session: meant(session)?,
            which: number.map(|number| number.saturating_sub(1)),
        }));
        Ok(())
    };
    provide(module, "detach", detach)?;
    let takes_images = |session: Option<u32>| {
        let takes = state::session(meant(session)?, |info| info.takes_images);
        Ok(takes.unwrap_or(true))
    };
    provide(module, "takes_images", takes_images)?;
    let complete = |(buf, row, before): (i32, usize, String)| candidates(buf, row, &before);
    provide(module, "complete", complete)
}

/// Returns completions for an input's line before the cursor, and the column where they start.
fn candidates(buf: i32, row: usize, before: &str) -> mlua::Result<Option<Table>> {
    let Some(session) = complete::session_of(buf) else {
        return Ok(None);
    };
    let Some((start, found)) = complete::at(session, row, before)? else {
        return Ok(None);
    };
    let items = nvim::empty()?;
    for candidate in &found {
        items.push(complete::item(candidate)?)?;
    }
    let found = [
        ("start", nvim::value(start)),
        ("items", Value::Table(items)),
    ];
    nvim::table(found).map(Some)
}

/// Attaches a file by its absolute path, lines, or the image in the clipboard.
fn attach(session: SessionKey, what: &Value) -> mlua::Result<()> {
    let event = match what {
        Value::String(path) => attach_path(session, PathBuf::from(path.to_string_lossy()))?,
        Value::Table(lines) => Event::Session(SessionEvent::Attach {
            session,
            items: vec![Attachment::Lines(read_context(lines)?)],
        }),
        _ => Event::Session(SessionEvent::AttachImage {
            session,
            path: None,
        }),
    };
    send(event);
    Ok(())
}

fn attach_path(session: SessionKey, path: PathBuf) -> mlua::Result<Event> {
    if !path.exists() {
        let text = format!("there is no file {}: nothing was attached", path.display());
        return Err(mlua::Error::runtime(text));
    }
    Ok(match is_image(&path) {
        true => Event::Session(SessionEvent::AttachImage {
            session,
            path: Some(path),
        }),
        false => Event::Session(SessionEvent::Attach {
            session,
            items: vec![Attachment::file(path)],
        }),
    })
}
