//! What the editor has shown of each session's state: its status line, and when its phase began (the
//! core has no clock).
//!
//! Invariant: after each frame and before each `User` event, Neovim draws its status lines again if
//! any part of one has changed. The chat's title is no measure of that: Neovim may draw a status line
//! between two frames, and show a state that neither of them contains.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use nvim_oxi::mlua;

use super::nvim::api;
use super::{guard, state};
use acp_core::conversation::session::Phase;
use acp_core::spine::ids::SessionKey;
use acp_core::spine::oneline::OneLine;
use acp_core::spine::view::Group;
use acp_core::view::statusline::{Part, statusline};

struct Seen {
    phase: Phase,
    /// When it began, in seconds since 1970.
    since: u64,
    line: Vec<(OneLine, Group)>,
}

thread_local! {
    static SEEN: RefCell<HashMap<SessionKey, Seen>> = RefCell::default();
}

/// Notes a change, and has Neovim draw its status lines if they show it.
pub fn note() {
    let snapshot = state::snapshot();
    let is_changed = SEEN.with_borrow_mut(|seen| {
        let mut before = std::mem::take(seen);
        let mut is_changed = before.len() != snapshot.sessions.len();
        for info in &snapshot.sessions {
            let known = before.remove(&info.session);
            let line = statusline(&snapshot, info, &Part::ALL);
            is_changed |= known.as_ref().is_none_or(|known| known.line != line);
            let known = known.filter(|known| known.phase == info.phase);
            let new = Seen {
                phase: info.phase,
                since: known.map_or_else(now, |known| known.since),
                line,
            };
            seen.insert(info.session, new);
        }
        is_changed
    });
    if is_changed {
        guard::run("drawing status lines", redraw);
    }
}

/// Has Neovim draw its status lines, and the one of all windows (`'laststatus'` 3), when it draws
/// next: `:redrawstatus` would draw at once, over messages that wait for a key.
fn redraw() -> mlua::Result<()> {
    api(
        "nvim_command",
        "noautocmd let &g:statusline = &g:statusline",
    )
}

/// Returns when a session's current phase began, in seconds since 1970.
pub fn since(key: SessionKey, phase: Phase) -> u64 {
    SEEN.with_borrow(|seen| match seen.get(&key) {
        Some(seen) if seen.phase == phase => seen.since,
        // Its first frame comes.
        _ => now(),
    })
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |since| since.as_secs())
}
