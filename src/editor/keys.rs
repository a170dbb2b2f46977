//! The configured keys of the plugin's own windows and of reviewed buffers.

use std::ops::Range;

use nvim_oxi::mlua::{self, Function, Table, Value};

use super::kit::{buffer, user};
use super::nvim::{self, api};
use super::recall::{self, Way};
use super::state::{self, send};
use super::{api as public, complete, guard, input, layout, links, walk};
use acp_core::conversation::options::Setting;
use acp_core::conversation::queue::When;
use acp_core::event::Event;
use acp_core::spine::event::ReviewAction;
use acp_core::spine::ids::SessionKey;

/// The mappings of a reviewed buffer: name in the configuration, description.
const REVIEW: [(&str, &str); 6] = [
    ("accept_hunk", "Accepts the agent's hunk"),
    ("reject_hunk", "Rejects the agent's hunk"),
    ("accept_file", "Accepts the agent's changes of this file"),
    ("reject_file", "Rejects the agent's changes of this file"),
    ("next_hunk", "Goes to the next hunk"),
    ("prev_hunk", "Goes to the previous hunk"),
];

/// Mappings that also exist in visual mode, for the selected lines.
const REVIEW_LINES: [(&str, &str); 2] = [
    ("accept_hunk", "Accepts the agent's changes of these lines"),
    ("reject_hunk", "Rejects the agent's changes of these lines"),
];

/// Returns the configured keys of a mapping.
pub fn of(group: &str, name: &str) -> Vec<String> {
    state::with(|editor| editor.config.borrow().keys(group, name)).unwrap_or_default()
}

/// Maps a key in a buffer.
pub fn map(
    buf: i32,
    mode: &str,
    key: &str,
    desc: &str,
    body: impl Fn() -> mlua::Result<()> + 'static,
) -> mlua::Result<()> {
    let run = guard::callback("key", move |()| body())?;
    set(buf, &[mode], key, desc, Value::Function(run))
}

/// Maps a key in a buffer to other keys, which are not mapped again.
pub fn map_to(buf: i32, mode: &str, key: &str, desc: &str, to: &str) -> mlua::Result<()> {
    set(buf, &[mode], key, desc, nvim::value(to))
}

/// Maps a key to a function or to other keys.
fn set(buf: i32, modes: &[&str], key: &str, desc: &str, to: Value) -> mlua::Result<()> {
    let opts = nvim::table([
        ("buffer", nvim::value(buf)),
        ("nowait", Value::Boolean(true)),
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
        let run = guard::callback("key", move |()| body(&key))?;
        set(buf, modes, &lhs, desc, Value::Function(run))?;
    }
    Ok(())
}

/// Maps the keys of a transcript.
pub fn chat(buf: i32, key: SessionKey) -> mlua::Result<()> {
    let bind = |name, desc, run: fn(SessionKey) -> mlua::Result<()>| {
        bind(buf, &["n"], ("chat", name), desc, move |_| run(key))
    };
    bind("input", "Goes to the input", |key| {
        layout::show(key)?;
        api("nvim_command", "startinsert!")
    })?;
    let open = "Goes where the line leads, or opens or closes the fold";
    bind("open", open, links::open)?;
    bind("file", "Goes to the file", links::file)?;
    bind("raw", "Shows the whole tool call", links::raw)?;
    bind("toggle", "Opens or closes the fold", |_| links::toggle())?;
    common(buf, "chat", &["n"], key)
}

/// Maps the keys of an input window.
pub fn of_input(buf: i32, key: SessionKey) -> mlua::Result<()> {
    let (normal, insert, both): (&[_], &[_], &[_]) = (&["n"], &["i"], &["n", "i"]);
    let send = "Sends the prompt";
    bind(buf, normal, ("input", "send"), send, move |_| {
        input::submit(key, When::InTurn)
    })?;
    bind(buf, insert, ("input", "send_insert"), send, move |lhs| {
        match complete::choosing()? {
            Some(true) => feed("<C-y>"),
            // The menu closes, and the key is typed again.
            Some(false) => {
                again(lhs)?;
                feed("<C-e>")
            }
            None => input::submit(key, When::InTurn),
        }
    })?;
    let desc = "Takes the selected completion, or the first";
    bind(
        buf,
        insert,
        ("input", "complete"),
        desc,
        move |lhs| match complete::take(key)? {
            true => Ok(()),
            false => feed(lhs),
        },
    )?;
    let desc = "Sends the prompt at once and cancels what the agent does";
    bind(buf, both, ("input", "interrupt"), desc, move |_| {
        input::submit(key, When::AtOnce)
    })?;
    for lhs in of("input", "newline") {
        map_to(buf, "i", &lhs, "Starts a new line", "<CR>")?;
    }
    let desc = "Goes to the previous prompt";
    bind(buf, both, ("input", "older"), desc, move |lhs| {
        recall::go(key, Way::Older, lhs)
    })?;
    let desc = "Goes to the next prompt, or back to the draft";
    bind(buf, both, ("input", "newer"), desc, move |lhs| {
        recall::go(key, Way::Newer, lhs)
    })?;
    let desc = "Detaches the last attachment";
    bind(buf, normal, ("input", "detach"), desc, move |_| {
        input::detach_last(key)
    })?;
    common(buf, "input", both, key)
}

/// Types a key past all mappings, before the keys that were typed since.
pub fn feed(key: &str) -> mlua::Result<()> {
    let keys: mlua::String = api("nvim_replace_termcodes", (key, true, false, true))?;
    api("nvim_feedkeys", (keys, "in", false))
}

/// Types a key as the user does, mappings included.
fn again(key: &str) -> mlua::Result<()> {
    let keys: mlua::String = api("nvim_replace_termcodes", (key, true, false, true))?;
    api("nvim_feedkeys", (keys, "im", false))
}

fn common(buf: i32, group: &str, modes: &[&str], key: SessionKey) -> mlua::Result<()> {
    let mode = "Goes to the agent's next mode";
    bind(buf, modes, (group, "mode"), mode, move |_| {
        if user::is_in_menu()? {
            return feed("<C-p>");
        }
        let wish = Setting::NextMode;
        send(Event::SetOption { session: key, wish });
        Ok(())
    })?;
    bind(
        buf,
        modes,
        (group, "cancel"),
        "Cancels the turn",
        move |_| {
            send(Event::Cancel { session: key });
            Ok(())
        },
    )?;
    let close = "Closes the chat's windows";
    bind(buf, &["n"], (group, "close"), close, move |_| {
        layout::hide(key)
    })
}

/// The review keys that were mapped in a buffer: the configuration may have changed when they are
/// removed.
#[derive(Debug, Default)]
pub struct ReviewKeys {
    /// The mode and the key.
    mapped: Vec<(&'static str, String)>,
    /// The user's mappings that they replaced, by mode, as |maparg()| returns them.
    replaced: Vec<(&'static str, Table)>,
}

/// Maps the review keys in a buffer.
pub fn map_review(buf: i32) -> mlua::Result<ReviewKeys> {
    let mut keys = ReviewKeys::default();
    for (mode, all) in [("n", REVIEW.as_slice()), ("x", REVIEW_LINES.as_slice())] {
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

/// Removes the review keys from a buffer and restores the user's own mappings.
pub fn unmap_review(buf: i32, keys: ReviewKeys) -> mlua::Result<()> {
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

/// Returns the rows of the current window that visual mode has selected.
pub fn selected_rows() -> mlua::Result<Range<usize>> {
    let here: usize = nvim::vim_fn("line", ".")?;
    let there: usize = nvim::vim_fn("line", "v")?;
    Ok(here.min(there).saturating_sub(1)..here.max(there))
}

fn review_key(name: &str) -> mlua::Result<()> {
    match name {
        "accept_hunk" => public::review(ReviewAction::Accept, "hunk"),
        "reject_hunk" => public::review(ReviewAction::Reject, "hunk"),
        "accept_file" => public::review(ReviewAction::Accept, "file"),
        "reject_file" => public::review(ReviewAction::Reject, "file"),
        "next_hunk" => walk::go(walk::Way::Next).map(drop),
        _ => walk::go(walk::Way::Prev).map(drop),
    }
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

/// Returns the keys that decide about a hunk, for its label.
pub fn review_hint() -> String {
    let mut hint = String::new();
    for (name, word) in [("accept_hunk", "accept"), ("reject_hunk", "reject")] {
        if let Some(key) = of("review", name).first().map(|key| shown(key)) {
            // Short: the label follows a line of code.
            hint.push_str(&format!(" {key} {word}"));
        }
    }
    hint
}

/// Returns the hint of an empty input window in normal mode.
pub fn resting_hint() -> String {
    "Press i to write a prompt".to_owned()
}

/// Returns the hint of an empty input window in insert mode.
pub fn writing_hint() -> String {
    let mut hints = Vec::new();
    for (name, word) in [("send_insert", "sends"), ("newline", "starts a new line")] {
        if let Some(key) = of("input", name).first() {
            hints.push(format!("{key} {word}"));
        }
    }
    hints.join(" · ")
}
