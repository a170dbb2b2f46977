//! What the configured keys do in a reviewed buffer.

use nvim_oxi::mlua::{self, Table};

use super::keys::{feed, map, of, selected_rows};
use super::kit::{buffer, user, window};
use super::nvim::{self, api};
use super::{api as public, config, review, walk};
use acp_core::spine::event::ReviewAction;

/// The mappings that decide: name in the configuration, description.
const DECIDE: [(&str, &str); 4] = [
    ("accept_hunk", "Accepts the agent's hunk"),
    ("reject_hunk", "Rejects the agent's hunk"),
    ("accept_file", "Accepts the agent's changes of this file"),
    ("reject_file", "Rejects the agent's changes of this file"),
];

/// The mappings that go from hunk to hunk, also to those of other files.
const WALK: [(&str, &str); 2] = [
    ("next_hunk", "Goes to the next hunk"),
    ("prev_hunk", "Goes to the previous hunk"),
];

/// Mappings that also exist in visual mode, for the selected lines.
const DECIDE_LINES: [(&str, &str); 2] = [
    ("accept_hunk", "Accepts the agent's changes of these lines"),
    ("reject_hunk", "Rejects the agent's changes of these lines"),
];

/// The review keys that were mapped in a buffer: the configuration may have changed when they are
/// removed.
#[derive(Debug, Default)]
pub struct ReviewKeys {
    /// The mode and the key.
    mapped: Vec<(&'static str, String)>,
    /// The user's mappings that they replaced, by mode, as |maparg()| returns them.
    replaced: Vec<(&'static str, Table)>,
}

/// Maps the keys that decide about the hunks of a buffer.
pub fn map_decide(buf: i32) -> mlua::Result<ReviewKeys> {
    map_all(buf, &[("n", &DECIDE), ("x", &DECIDE_LINES)])
}

/// Maps the keys that go from hunk to hunk.
pub fn map_walk(buf: i32) -> mlua::Result<ReviewKeys> {
    map_all(buf, &[("n", &WALK)])
}

/// Keys in one mode: name in the configuration, description.
type InMode = (&'static str, &'static [(&'static str, &'static str)]);

fn map_all(buf: i32, all: &[InMode]) -> mlua::Result<ReviewKeys> {
    let mut keys = ReviewKeys::default();
    for &(mode, all) in all {
        for (name, desc) in all {
            for lhs in of("review", name) {
                let replaced = mapped(buf, mode, &lhs)?;
                keys.replaced.extend(replaced.map(|map| (mode, map)));
                map(buf, mode, &lhs, desc, move || match mode {
                    "x" => review_lines(name),
                    _ => review_key(name),
                })?;
                keys.mapped.push((mode, lhs));
            }
        }
    }
    Ok(keys)
}

/// Removes keys from a buffer and restores the user's own mappings.
pub fn unmap(buf: i32, keys: ReviewKeys) -> mlua::Result<()> {
    for (mode, lhs) in keys.mapped {
        // The user may have removed it.
        let _: mlua::Result<()> = api("nvim_buf_del_keymap", (buf, mode, lhs));
    }
    for (mode, mapping) in keys.replaced {
        buffer::call(buf, move || {
            nvim::vim_fn::<()>("mapset", (mode, false, mapping))
        })?;
    }
    Ok(())
}

/// Returns the mapping of a key that belongs to this buffer alone.
fn mapped(buf: i32, mode: &'static str, lhs: &str) -> mlua::Result<Option<Table>> {
    let lhs = lhs.to_owned();
    let found: Table = buffer::call(buf, move || {
        nvim::vim_fn("maparg", (lhs.as_str(), mode, false, true))
    })?;
    let is_local = found.get::<Option<i64>>("buffer")? == Some(1);
    Ok(is_local.then_some(found))
}

/// Decides about the selected lines and leaves visual mode.
fn review_lines(name: &str) -> mlua::Result<()> {
    let rows = selected_rows()?;
    feed("<Esc>")?;
    let action = match name {
        "accept_hunk" => ReviewAction::Accept,
        _ => ReviewAction::Reject,
    };
    public::review_rows(action, rows)
}

fn review_key(name: &str) -> mlua::Result<()> {
    match name {
        "accept_hunk" => decide(ReviewAction::Accept),
        "reject_hunk" => decide(ReviewAction::Reject),
        "accept_file" => public::review(ReviewAction::Accept, "file"),
        "reject_file" => public::review(ReviewAction::Reject, "file"),
        "next_hunk" => go(walk::Way::Next),
        _ => go(walk::Way::Prev),
    }
}

/// Goes as many hunks as the key's count says, at most once around all.
fn go(way: walk::Way) -> mlua::Result<()> {
    review::drop_keys()?;
    let count = usize::try_from(user::count()?).unwrap_or(1);
    for _ in 0..count.min(walk::hunks().max(1)) {
        walk::go(way)?;
    }
    Ok(())
}

/// Decides about the hunk at the cursor, and goes on to the next one if that is configured.
fn decide(action: ReviewAction) -> mlua::Result<()> {
    let noted = review::note_decided(buffer::here()?, window::row(0)?);
    public::review(action, "hunk")?;
    match noted.filter(|_| config::with(|config| config.advance)) {
        Some((decided, left)) => walk::go_on(decided, &left),
        None => Ok(()),
    }
}
