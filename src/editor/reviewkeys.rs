//! What the configured keys do in a reviewed buffer.

use nvim_oxi::mlua;

use super::keys::{Temporary, feed, of, selected_rows};
use super::kit::{buffer, user, window};
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

/// Maps the keys of the review in a buffer.
pub fn map(buf: i32) -> mlua::Result<Temporary> {
    let all: [(&str, &[_]); 3] = [("n", &DECIDE), ("x", &DECIDE_LINES), ("n", &WALK)];
    let mut keys = Temporary::default();
    for (mode, all) in all {
        for (name, desc) in all {
            for lhs in of("review", name) {
                keys.map(buf, mode, lhs, desc, move || {
                    let is_any = walk::is_any();
                    match mode {
                        "x" => review_lines(name)?,
                        _ => review_key(name)?,
                    }
                    match is_any {
                        true => Ok(()),
                        // The message says so: the next one is the user's own key.
                        false => review::remove_keys(buf),
                    }
                })?;
            }
        }
    }
    Ok(keys)
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
