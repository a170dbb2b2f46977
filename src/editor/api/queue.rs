//! API functions for queued prompts.

use nvim_oxi::mlua::{self, Table};
use serde_json::json;

use super::provide;
use super::sessions::meant;
use crate::editor::nvim;
use crate::editor::queue;
use acp_core::conversation::queue::QueueAction;
use acp_core::spine::ids::QueueId;

pub(super) fn add(module: &Table) -> mlua::Result<()> {
    let list = |session: Option<u32>| {
        let waiting = queue::waiting(meant(session)?).into_iter();
        nvim::list(waiting.map(|info| json!({ "id": info.id.0, "text": info.text })))
    };
    provide(module, "queue_list", list)?;
    let act = |(session, id, action, by): (Option<u32>, u64, String, Option<i32>)| {
        let action = match action.as_str() {
            "edit" => QueueAction::Edit,
            "remove" => QueueAction::Remove,
            "send" => QueueAction::SendNow,
            _ => QueueAction::Move(by.unwrap_or(1)),
        };
        queue::act(meant(session)?, QueueId(id), action);
        Ok(())
    };
    provide(module, "queue_act", act)?;
    let focus = |session: Option<u32>| queue::focus(meant(session)?);
    provide(module, "queue_focus", focus)
}
