//! API functions for past sessions, and for the windows of chats and of the list of sessions.

use std::path::PathBuf;

use nvim_oxi::mlua::{self, Table};

use super::provide;
use super::sessions::meant;
use crate::editor::kit::window;
use crate::editor::past::wish;
use crate::editor::state::send;
use crate::editor::{chats, guard, layout};
use acp::SessionId;
use acp_core::conversation::history::state::{Query, Source, Wish};
use acp_core::event::{Event, ViewEvent};
use acp_core::spine::history::RecordName;
use acp_core::spine::ids::SessionKey;

pub(super) fn add(module: &Table) -> mlua::Result<()> {
    let list = |(number, query): (u32, Table)| {
        let cwd = PathBuf::from(query.get::<String>("cwd")?);
        let is_all = query.get::<Option<bool>>("all")?.unwrap_or(false);
        let query = Query {
            project: (!is_all).then(|| acp_edge::paths::resolved(&cwd)),
            cwd,
            agent: query.get("agent")?,
        };
        wish(number, Wish::List(query));
        Ok(())
    };
    provide(module, "past_list", list)?;
    let delete = |(number, past): (u32, Table)| {
        let id: Option<String> = past.get("id")?;
        let name: Option<String> = past.get("record")?;
        let delete = Wish::Delete {
            agent: past.get("agent")?,
            id: id.map(|id| SessionId(id.into())),
            name: name.map(RecordName),
        };
        wish(number, delete);
        Ok(())
    };
    provide(module, "past_delete", delete)?;
    let export = |(number, what): (u32, Table)| {
        let source = match what.get::<Option<String>>("record")? {
            Some(name) => Source::Kept(RecordName(name)),
            None => Source::Session(meant(what.get("session")?)?),
        };
        wish(number, Wish::Export(source));
        Ok(())
    };
    provide(module, "past_export", export)?;
    let show = |session: u32| match chats::get(SessionKey(session)) {
        Some(_) => {
            let session = SessionKey(session);
            send(Event::View(ViewEvent::QuestionWanted { session }));
            layout::show(session)
        }
        None => Err(mlua::Error::runtime("this session is closed")),
    };
    provide(module, "session_show", show)?;
    let hide = |session: Option<u32>| layout::hide(meant(session)?);
    provide(module, "session_hide", hide)?;
    let below = |buf: i32| {
        let (_, sizes) = window::open_below(buf)?;
        guard::callback("window sizes", move |()| sizes.restore())
    };
    provide(module, "open_below", below)
}
