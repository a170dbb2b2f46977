//! API functions for terminals: listing and showing.

use nvim_oxi::mlua::{self, Table};
use serde_json::json;

use super::provide;
use crate::editor::kit::window;
use crate::editor::{chats, nvim, terminal};
use acp_core::spine::ids::TerminalKey;
use acp_core::terminals::info::TerminalInfo;

pub(super) fn add(module: &Table) -> mlua::Result<()> {
    let list = |()| {
        let columns = usize::try_from(window::screen()?.0).unwrap_or(0);
        let all = terminal::all().into_iter().rev();
        nvim::list(all.map(|info| json!({ "id": info.key.0, "label": label(&info, columns) })))
    };
    provide(module, "terminals", list)?;
    let open = |id: u32| terminal::open(TerminalKey(id));
    provide(module, "terminal_open", open)
}

/// Returns a terminal as one line: its state, its command, its owner.
fn label(info: &TerminalInfo, columns: usize) -> String {
    let state = match info.state.end() {
        Some(end) => terminal::shortened(&end, 20),
        None => info.state.word().to_owned(),
    };
    let agent = chats::get(info.session).map_or_else(String::new, |chat| chat.agent);
    let whose = format!("({agent} {})", info.session.0);
    let head = format!("#{} {state:<12} ", info.key.0);
    // Leaves room for the line numbers of a selection list.
    let taken = head.chars().count() + whose.chars().count() + 8;
    let width = columns.saturating_sub(taken).max(20);
    format!("{head}{} {whose}", terminal::shortened(&info.title, width))
}
