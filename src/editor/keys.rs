//! The configured keys: mapping them, typing them, and naming them in hints.

use std::ops::Range;

use nvim_oxi::mlua::{self, Function, Table, Value};

use super::kit::{buffer, user};
use super::notify::notify;
use super::nvim::{self, api};
use super::{config, guard};
use acp_core::spine::effect::Level;

/// Returns the configured keys of a mapping.
pub fn of(group: &str, name: &str) -> Vec<String> {
    config::with(|config| config.keys(group, name))
}

/// Maps a key in a buffer.
pub fn map(
    buf: i32,
    mode: &str,
    key: &str,
    desc: &str,
    body: impl Fn() -> mlua::Result<()> + 'static,
) -> mlua::Result<()> {
    let run = function(body)?;
    set(buf, &[mode], (key, true), desc, Value::Function(run))
}

/// Returns the function of a key; its error is shown as that of a command is.
fn function(body: impl Fn() -> mlua::Result<()> + 'static) -> mlua::Result<Function> {
    guard::callback("key", move |()| {
        body().or_else(|error| notify(Level::Error, &nvim::message(&error)))
    })
}

/// Maps a key in a buffer to other keys, which are not mapped again.
pub fn map_to(buf: i32, mode: &str, key: &str, desc: &str, to: &str) -> mlua::Result<()> {
    set(buf, &[mode], (key, true), desc, nvim::value(to))
}

/// Maps a key to a function or to other keys; with `nowait`, before longer mappings.
fn set(
    buf: i32,
    modes: &[&str],
    (key, nowait): (&str, bool),
    desc: &str,
    to: Value,
) -> mlua::Result<()> {
    let opts = nvim::table([
        ("buffer", nvim::value(buf)),
        ("nowait", Value::Boolean(nowait)),
        ("silent", Value::Boolean(true)),
        ("desc", nvim::value(desc)),
    ])?;
    let set: Function = nvim::vim()?.get::<Table>("keymap")?.get("set")?;
    set.call((modes, key, to, opts))
}

/// Maps the configured keys of a name; `body` receives the key.
pub fn bind(
    buf: i32,
    modes: &[&str],
    (group, name): (&str, &str),
    desc: &str,
    body: impl Fn(&str) -> mlua::Result<()> + Clone + 'static,
) -> mlua::Result<()> {
    for lhs in of(group, name) {
        let (key, body) = (lhs.clone(), body.clone());
        let run = function(move || match ends_recording(&key)? {
            true => end_recording(&key),
            false => body(&key),
        })?;
        set(buf, modes, (&lhs, true), desc, Value::Function(run))?;
    }
    Ok(())
}

/// Keys that are mapped in a buffer for a while, over the user's own mappings.
#[derive(Debug, Default)]
pub struct Temporary {
    keys: Vec<Key>,
}

#[derive(Debug)]
struct Key {
    mode: &'static str,
    lhs: String,
    desc: &'static str,
    /// The user's mapping that it replaced, as |maparg()| returns it.
    replaced: Option<Table>,
}

impl Temporary {
    /// Maps a key in the buffer of a file: the user's longer mappings that begin with it still work.
    pub fn map(
        &mut self,
        buf: i32,
        mode: &'static str,
        lhs: String,
        desc: &'static str,
        body: impl Fn() -> mlua::Result<()> + 'static,
    ) -> mlua::Result<()> {
        self.add(buf, mode, lhs.clone(), desc)?;
        let run = function(body)?;
        set(buf, &[mode], (&lhs, false), desc, Value::Function(run))
    }

    /// Adds a key that is about to be mapped.
    pub fn add(
        &mut self,
        buf: i32,
        mode: &'static str,
        lhs: String,
        desc: &'static str,
    ) -> mlua::Result<()> {
        let replaced = mapped(buf, mode, &lhs)?;
        self.keys.push(Key {
            mode,
            lhs,
            desc,
            replaced,
        });
        Ok(())
    }

    /// Removes the keys and restores the user's own mappings.
    pub fn remove(self, buf: i32) -> mlua::Result<()> {
        for Key {
            mode,
            lhs,
            desc,
            replaced,
        } in self.keys
        {
            if let Some(now) = mapped(buf, mode, &lhs)? {
                if now.get::<Option<String>>("desc")?.as_deref() != Some(desc) {
                    // Another plugin has mapped it since.
                    continue;
                }
                api::<()>("nvim_buf_del_keymap", (buf, mode, lhs))?;
            }
            if let Some(mapping) = replaced {
                buffer::call(buf, move || {
                    nvim::vim_fn::<()>("mapset", (mode, false, mapping))
                })?;
            }
        }
        Ok(())
    }
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

/// Returns whether the user means a key that ends the recording of a macro.
fn ends_recording(key: &str) -> mlua::Result<bool> {
    Ok(key == "q" && user::is_recording()?)
}

/// Ends the recording of a macro; Neovim has recorded the key, because it is mapped.
fn end_recording(key: &str) -> mlua::Result<()> {
    let register: String = nvim::vim_fn("reg_recording", ())?;
    api::<()>("nvim_command", "normal! q")?;
    // An upper-case name would append.
    let register = register.to_lowercase();
    let keys: mlua::String = nvim::vim_fn("getreg", register.as_str())?;
    match keys.as_bytes().strip_suffix(key.as_bytes()) {
        Some(rest) => {
            let rest = nvim::lua().create_string(rest)?;
            nvim::vim_fn("setreg", (register, rest, "c"))
        }
        None => Ok(()),
    }
}

/// Types a key of insert mode as it works without this plugin: by the user's mapping for all buffers,
/// if there is one.
pub fn pass(key: &str) -> mlua::Result<()> {
    const USUAL: &str = "<Plug>(acp-usual)";
    let raw = |key: &str| -> mlua::Result<mlua::String> {
        api("nvim_replace_termcodes", (key, true, true, true))
    };
    let (wanted, usual) = (raw(key)?, raw(USUAL)?);
    for map in api::<Vec<Table>>("nvim_get_keymap", "i")? {
        let is_it = |name| -> mlua::Result<bool> {
            let lhs: Option<mlua::String> = map.get(name)?;
            Ok(lhs.is_some_and(|lhs| lhs == wanted))
        };
        if is_it("lhsraw")? || is_it("lhsrawalt")? {
            map.set("lhs", USUAL)?;
            map.set("lhsraw", usual)?;
            map.set("lhsrawalt", Value::Nil)?;
            nvim::vim_fn::<()>("mapset", ("i", false, map))?;
            return again(USUAL);
        }
    }
    feed(key)
}

/// Types a key past all mappings, with the count before it.
pub fn feed_counted(key: &str) -> mlua::Result<()> {
    // In insert mode, `v:count` is that of an earlier command.
    let count = match user::is_inserting()? {
        true => 0,
        false => nvim::vim()?.get::<Table>("v")?.get::<i64>("count")?,
    };
    match count {
        0 => feed(key),
        count => feed(&format!("{count}{key}")),
    }
}

/// Types a key past all mappings, before the keys that were typed since.
pub fn feed(key: &str) -> mlua::Result<()> {
    let keys: mlua::String = api("nvim_replace_termcodes", (key, true, false, true))?;
    api("nvim_feedkeys", (keys, "in", false))
}

/// Types a key as the user does, mappings included.
pub fn again(key: &str) -> mlua::Result<()> {
    let keys: mlua::String = api("nvim_replace_termcodes", (key, true, false, true))?;
    api("nvim_feedkeys", (keys, "im", false))
}

/// Returns the rows of the current window that visual mode has selected.
pub fn selected_rows() -> mlua::Result<Range<usize>> {
    let here: usize = nvim::vim_fn("line", ".")?;
    let there: usize = nvim::vim_fn("line", "v")?;
    Ok(here.min(there).saturating_sub(1)..here.max(there))
}

/// Returns a key as the user types it, with `<LocalLeader>` and `<Leader>` replaced by their keys.
pub fn shown(key: &str) -> String {
    let globals = nvim::vim().and_then(|vim| vim.get::<Table>("g"));
    let leader = |name: &str| -> String {
        let set = globals
            .as_ref()
            .ok()
            .and_then(|g| g.get::<String>(name).ok());
        match set.as_deref() {
            None | Some("") => "\\".to_owned(),
            Some(" ") => "<Space>".to_owned(),
            Some(other) => other.to_owned(),
        }
    };
    let lower = key.to_lowercase();
    for (name, variable) in [
        ("<localleader>", "maplocalleader"),
        ("<leader>", "mapleader"),
    ] {
        if let (true, Some(rest)) = (lower.starts_with(name), key.get(name.len()..)) {
            return format!("{}{rest}", leader(variable));
        }
    }
    key.to_owned()
}

/// Returns the keys that decide about a hunk, each as it stands in a label.
pub fn review_hints() -> Vec<String> {
    let mut hints = Vec::new();
    for (name, word) in [("accept_hunk", "accept"), ("reject_hunk", "reject")] {
        if let Some(key) = of("review", name).first().map(|key| shown(key)) {
            // Short: the label follows a line of code.
            hints.push(format!(" {key} {word}"));
        }
    }
    hints
}

/// Removes the last parts of a hint until it fits into this many cells.
pub fn fitted(mut hint: String, room: i64) -> String {
    let room = usize::try_from(room).unwrap_or(0);
    while hint.chars().count() > room
        && let Some((head, _)) = hint.rsplit_once(" · ")
    {
        hint.truncate(head.len());
    }
    hint
}

/// Returns the hint of an empty input window in normal mode.
pub fn resting_hint() -> String {
    "Press i to write a prompt".to_owned()
}

/// Returns the hint of an empty input window in insert mode, for an agent that can be steered or not.
pub fn writing_hint(can_steer: bool) -> String {
    let mut hints = Vec::new();
    let sends: &[_] = match can_steer {
        true => &[("send_insert", "sends, even mid-turn"), ("queue", "queues")],
        false => &[("send_insert", "sends or queues")],
    };
    for &(name, word) in sends.iter().chain(&[("newline", "new line")]) {
        if let Some(key) = of("input", name).first() {
            hints.push(format!("{key} {word}"));
        }
    }
    hints.join(" · ")
}
