//! Sends the text of buffers to the core, a large one in slices.
//!
//! Invariant: the core has the first lines of a buffer that is being sent, as they are now: changes
//! of these lines are reported, and the lines below are sent later with all their changes.

use std::path::PathBuf;
use std::time::Duration;

use nvim_oxi::mlua;

use super::documents::{buf_state, next_tick, with_buffer};
use super::kit::defer;
use super::nvim::api;
use super::state::send;
use acp_core::event::{BufferEvent, Event};
use acp_core::spine::event::Stamp;
use acp_core::spine::ids::BufId;

/// The largest number of lines that are sent at once.
const SLICE: usize = 2500;

/// A buffer of which some lines have been sent.
#[derive(Debug)]
pub struct Loading {
    path: PathBuf,
    real: PathBuf,
    stamp: Option<Stamp>,
    /// Tells this load from later ones of the same buffer.
    id: u64,
    /// The number of lines that have been sent, with changes since.
    rows: usize,
}

/// The origin of a buffer's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// It was read or written just now.
    Disk,
    /// It was in the buffer before; the file may have changed since.
    Before,
}

/// Sends the whole text of a buffer.
pub fn send_whole(buf: i32, name: String, source: Source) -> mlua::Result<()> {
    let path = PathBuf::from(name);
    let loading = Loading {
        real: acp_edge::paths::resolved(&path),
        stamp: match source {
            Source::Disk => super::documents::stamp_read(buf, &path)?,
            Source::Before => None,
        },
        path,
        id: next_tick(buf),
        rows: 0,
    };
    super::documents::set_known(buf, loading.stamp.or(acp_edge::paths::stamp(&loading.path)));
    super::review::forget(buf);
    send_slice(buf, loading)
}

/// Sends the next lines of a buffer and defers the rest, so that keys are handled in between.
fn send_slice(buf: i32, mut loading: Loading) -> mlua::Result<()> {
    let total: usize = api("nvim_buf_line_count", buf)?;
    let row = loading.rows;
    let end = total.min(row + SLICE);
    let text = super::lines::text(buf, row, end)?;
    let (path, real) = (loading.path.clone(), loading.real.clone());
    if end < total {
        loading.rows = end;
        let id = loading.id;
        set_loading(buf, Some(loading));
        send(Event::Buffer(BufferEvent::Slice {
            buf: BufId(buf),
            path,
            real,
            row,
            text,
        }));
        return send_slice_later(buf, id);
    }
    set_loading(buf, None);
    send(Event::Buffer(BufferEvent::Attached {
        buf: BufId(buf),
        path,
        real,
        row,
        text,
        state: buf_state(buf)?,
        stamp: loading.stamp,
    }));
    Ok(())
}

fn send_slice_later(buf: i32, id: u64) -> mlua::Result<()> {
    defer::after("slice of a buffer", Duration::from_millis(1), move || {
        // A load that started later continues by itself.
        let taken = with_buffer(buf, |buffer| {
            buffer.loading.take_if(|loading| loading.id == id)
        });
        taken.map_or(Ok(()), |loading| send_slice(buf, loading))
    })
}

fn set_loading(buf: i32, loading: Option<Loading>) {
    with_buffer(buf, |buffer| {
        buffer.loading = loading;
        Some(())
    });
}

/// Returns whether a buffer's text is being sent.
pub fn is_loading(buf: i32) -> bool {
    with_buffer(buf, |buffer| buffer.loading.as_ref().map(drop)).is_some()
}

/// Returns the end of a change, limited to the lines that have been sent; `None` if the change lies
/// below them.
pub fn seen(buf: i32, first: usize, last: usize, new_last: usize) -> Option<usize> {
    if !is_loading(buf) {
        return Some(last);
    }
    with_buffer(buf, |buffer| {
        let loading = buffer.loading.as_mut()?;
        if first >= loading.rows {
            return None;
        }
        let last = last.min(loading.rows);
        loading.rows = loading.rows - last + new_last;
        Some(last)
    })
}
