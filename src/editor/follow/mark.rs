//! The mark of an agent: a sign, a highlighted line, and a label with what the agent does there.
//!
//! Invariant: a mark moves with the text; it is set again only when the agent has moved.

use nvim_oxi::mlua::{self, Table, Value};

use crate::editor::kit::buffer;
use crate::editor::nvim::{self, api};
use acp_core::spine::view::AgentMark;

const SIGN: &str = "▶";

/// Above the signs of reviews and diagnostics: the mark soon moves on.
const SIGN_PRIORITY: i64 = 300;

/// Below what reviews show.
const PRIORITY: i64 = 80;

/// A mark that is shown.
#[derive(Debug)]
pub struct Mark {
    shown: AgentMark,
    namespace: i32,
    /// The extmarks: the sign, then the line.
    ids: [i64; 2],
}

/// Shows a mark in place of the old one.
pub fn show(old: Option<Mark>, new: Option<AgentMark>) -> mlua::Result<Option<Mark>> {
    let Some(mut new) = new else {
        old.map_or(Ok(()), Mark::erase)?;
        return Ok(None);
    };
    if let Some(old) = old {
        let is_same = (old.shown.number, old.shown.buf) == (new.number, new.buf);
        match old.row()?.filter(|_| is_same) {
            Some(_) if old.shown.label == new.label => return Ok(Some(old)),
            Some(row) => new.row = row,
            None => {}
        }
        old.erase()?;
    }
    let buf = new.buf.0;
    if !buffer::is_loaded(buf)? {
        return Ok(None);
    }
    let namespace = nvim::namespace("acp_follow")?;
    let lines: usize = api("nvim_buf_line_count", buf)?;
    let row = new.row.min(lines.saturating_sub(1));
    let label = [format!(" {}", new.label), "AcpAgentMark".to_owned()];
    let chunk = nvim::lua().create_sequence_from(label)?;
    let sign = nvim::table([
        ("sign_text", nvim::value(SIGN)),
        ("sign_hl_group", nvim::value("AcpAgentMark")),
        ("priority", Value::Integer(SIGN_PRIORITY)),
        ("undo_restore", Value::Boolean(false)),
    ])?;
    let line = nvim::table([
        ("line_hl_group", nvim::value("AcpAgentLine")),
        ("virt_text", nvim::value(vec![chunk])),
        ("virt_text_pos", nvim::value("eol")),
        ("hl_mode", nvim::value("combine")),
        ("priority", Value::Integer(PRIORITY)),
        ("undo_restore", Value::Boolean(false)),
    ])?;
    let set = |opts: Table| api("nvim_buf_set_extmark", (buf, namespace, row, 0, opts));
    Ok(Some(Mark {
        shown: new,
        namespace,
        ids: [set(sign)?, set(line)?],
    }))
}

impl Mark {
    /// Returns its present row; `None` if its text was deleted.
    fn row(&self) -> mlua::Result<Option<usize>> {
        if !buffer::is_loaded(self.shown.buf.0)? {
            return Ok(None);
        }
        let [id, _] = self.ids;
        let at = (self.shown.buf.0, self.namespace, id, nvim::empty()?);
        let place: Vec<usize> = api("nvim_buf_get_extmark_by_id", at)?;
        Ok(place.first().copied())
    }

    fn erase(self) -> mlua::Result<()> {
        let buf = self.shown.buf.0;
        if !buffer::is_valid(buf)? {
            return Ok(());
        }
        let mut ids = self.ids.into_iter();
        ids.try_for_each(|id| {
            api::<Value>("nvim_buf_del_extmark", (buf, self.namespace, id)).map(drop)
        })
    }
}
