//! The mark of an agent: a sign, its line highlighted, and behind it what the agent does there.
//!
//! Invariant: a mark moves with the text; it is set anew only where the agent has gone elsewhere.

use nvim_oxi::mlua::{self, Value};

use crate::core::view::AgentMark;
use crate::editor::nvim::{self, api};

const SIGN: &str = "▶";

/// Above the signs of reviews and diagnostics: it is there for a moment only.
const PRIORITY: i64 = 300;

/// A mark that is shown.
#[derive(Debug)]
pub struct Mark {
    shown: AgentMark,
    namespace: i32,
    id: i64,
}

/// Shows a mark in place of an old one.
///
/// # Errors
/// What Neovim says of it.
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
    if !api::<bool>("nvim_buf_is_loaded", buf)? {
        return Ok(None);
    }
    let namespace = nvim::namespace("acp_follow")?;
    let lines: usize = api("nvim_buf_line_count", buf)?;
    let row = new.row.min(lines.saturating_sub(1));
    let label = [format!(" {}", new.label), "AcpAgentMark".to_owned()];
    let chunk = nvim::lua().create_sequence_from(label)?;
    let opts = nvim::table([
        ("sign_text", nvim::value(SIGN)),
        ("sign_hl_group", nvim::value("AcpAgentMark")),
        ("line_hl_group", nvim::value("AcpAgentLine")),
        ("virt_text", nvim::value(vec![chunk])),
        ("virt_text_pos", nvim::value("eol")),
        ("hl_mode", nvim::value("combine")),
        ("priority", Value::Integer(PRIORITY)),
        ("undo_restore", Value::Boolean(false)),
    ])?;
    let id = api("nvim_buf_set_extmark", (buf, namespace, row, 0, opts))?;
    Ok(Some(Mark {
        shown: new,
        namespace,
        id,
    }))
}

impl Mark {
    /// Returns the row at which it is by now; `None` when it is gone with its text.
    fn row(&self) -> mlua::Result<Option<usize>> {
        if !api::<bool>("nvim_buf_is_loaded", self.shown.buf.0)? {
            return Ok(None);
        }
        let at = (self.shown.buf.0, self.namespace, self.id, nvim::empty()?);
        let place: Vec<usize> = api("nvim_buf_get_extmark_by_id", at)?;
        Ok(place.first().copied())
    }

    fn erase(self) -> mlua::Result<()> {
        let buf = self.shown.buf.0;
        if !api::<bool>("nvim_buf_is_valid", buf)? {
            return Ok(());
        }
        api::<bool>("nvim_buf_del_extmark", (buf, self.namespace, self.id)).map(drop)
    }
}
