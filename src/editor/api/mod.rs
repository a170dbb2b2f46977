//! The native module: the functions that the Lua side calls, described by the public API.
//!
//! Invariant: every function returns at once, from the main thread's state or the snapshot; longer
//! work is sent to the core as an event.

mod agents;
mod composer;
mod elicitations;
mod options;
mod past;
mod queue;
mod reach;
mod reviews;
mod sessions;
mod terminals;
mod tools;

use nvim_oxi::mlua::{self, FromLuaMulti, IntoLuaMulti, Table};
use serde_json::{Value as Json, json};

use super::guard::function;
use super::state::{send, snapshot};
use super::{decor, nvim, question};
use acp::PermissionOption;
use acp_core::event::Event;
use acp_core::questions::Answer;
use acp_core::spine::ids::{QuestionId, SessionKey};
use acp_core::view::snapshot::{QuestionContent, QuestionInfo, option_kind};
pub use reviews::{review, review_rows};

/// Returns the table of functions.
///
/// # Errors
/// Only when out of memory.
pub fn module() -> mlua::Result<Table> {
    let module = nvim::empty()?;
    module.set("version", env!("CARGO_PKG_VERSION"))?;
    provide(&module, "setup", |config: Table| super::setup(&config))?;
    sessions::add(&module)?;
    composer::add(&module)?;
    agents::add(&module)?;
    options::add(&module)?;
    past::add(&module)?;
    reviews::add(&module)?;
    queue::add(&module)?;
    terminals::add(&module)?;
    elicitations::add(&module)?;
    permissions(&module)?;
    tools::add(&module)?;
    provide(&module, "log_path", |()| Ok(super::log_path()))?;
    provide(&module, "highlights", |()| {
        nvim::list(decor::groups().map(|(name, link)| json!({ "name": name, "link": link })))
    })?;
    let of_row = |(buf, row): (i32, usize)| {
        let marks = decor::highlights_of(buf, row).into_iter();
        nvim::list(marks.map(|mark| json!([mark.start, mark.end, mark.group])))
    };
    provide(&module, "chat_highlights", of_row)?;
    Ok(module)
}

/// Adds a function to the module.
fn provide<A, R>(
    module: &Table,
    name: &'static str,
    body: impl Fn(A) -> mlua::Result<R> + 'static,
) -> mlua::Result<()>
where
    A: FromLuaMulti,
    R: IntoLuaMulti,
{
    module.set(name, function(name, body)?)
}

fn permissions(module: &Table) -> mlua::Result<()> {
    let list = |()| nvim::list(snapshot().questions.iter().filter_map(permission_data));
    provide(module, "permission_list", list)?;
    let answer = |(id, option): (u64, String)| {
        let id = QuestionId(id);
        let answer = Answer::Option(option);
        send(Event::Answer { id, answer });
        Ok(())
    };
    provide(module, "permission_answer", answer)?;
    let focus = |session: Option<u32>| {
        let is_open = match session {
            Some(session) => question::focus_in(SessionKey(session))?,
            None => question::focus()?,
        };
        if !is_open {
            let text = "No question is open.";
            super::notify::notify(acp_core::spine::effect::Level::Info, text)?;
        }
        Ok(())
    };
    provide(module, "permission_focus", focus)
}

fn permission_data(open: &QuestionInfo) -> Option<Json> {
    let QuestionContent::Permission {
        title,
        tool_call,
        options,
    } = &open.content
    else {
        return None;
    };
    let option = |option: &PermissionOption| {
        json!({
            "optionId": option.id,
            "name": option.name,
            "kind": option_kind(&option.kind),
        })
    };
    Some(json!({
        "id": open.id,
        "session": open.session.0,
        "title": title,
        "tool_call": tool_call,
        "options": options.iter().map(option).collect::<Vec<_>>(),
    }))
}
