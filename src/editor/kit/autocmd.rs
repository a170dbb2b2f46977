//! Autocommands, all in one group: `:autocmd acp.nvim` lists them.

use nvim_oxi::mlua::{self, Function, Table, Value};

use crate::editor::guard;
use crate::editor::nvim::{self, api};

/// The group of every autocommand of this plugin.
pub const GROUP: &str = "acp.nvim";

/// For which buffers or matches an autocommand runs.
#[derive(Debug, Clone, Copy)]
pub enum Scope<'a> {
    All,
    Buffer(i32),
    Patterns(&'a [&'a str]),
}

/// The arguments that Neovim passes to an autocommand.
pub struct Fired(Table);

impl Fired {
    pub fn event(&self) -> mlua::Result<String> {
        self.0.get("event")
    }

    /// Returns the buffer; `OptionSet` passes 0 for the current one.
    pub fn buf(&self) -> mlua::Result<i32> {
        match self.0.get("buf")? {
            0 => api("nvim_get_current_buf", ()),
            buf => Ok(buf),
        }
    }

    /// Returns what has matched the pattern; bytes of a path that are not UTF-8 are replaced.
    pub fn matched(&self) -> mlua::Result<String> {
        let matched: mlua::String = self.0.get("match")?;
        Ok(matched.to_string_lossy())
    }
}

/// Returns `v:event` of the autocommand that is running.
pub fn v_event() -> mlua::Result<Table> {
    nvim::vim()?.get::<Table>("v")?.get("event")
}

/// Creates an autocommand and returns its id; `place` names it in the log.
pub fn on(
    place: &'static str,
    events: &[&str],
    scope: Scope<'_>,
    body: impl Fn(Fired) -> mlua::Result<()> + 'static,
) -> mlua::Result<i32> {
    let callback = guard::callback(place, move |args| body(Fired(args)))?;
    create(events, scope, false, callback)
}

/// Creates an autocommand as [`on`] does, whose error is raised: it stops a command that Neovim runs
/// for an API call, or in another |:try|.
pub fn veto(
    place: &'static str,
    events: &[&str],
    scope: Scope<'_>,
    body: impl Fn() -> mlua::Result<()> + 'static,
) -> mlua::Result<i32> {
    let callback = guard::function(place, move |_: Table| body())?;
    create(events, scope, false, callback)
}

/// Creates an autocommand that runs a Vim command. Only there, |interrupt()| stops the command that
/// has triggered it.
pub fn command(events: &[&str], command: &'static str) -> mlua::Result<i32> {
    create(events, Scope::All, false, Action::Command(command))
}

/// Removes the autocommand with this id.
pub fn remove(id: i32) -> mlua::Result<()> {
    api("nvim_del_autocmd", id)
}

/// Runs `body` so that it triggers autocommands, even inside [`silenced`] or an autocommand that is
/// not |autocmd-nested|.
pub fn nested(body: impl FnOnce() -> mlua::Result<()> + 'static) -> mlua::Result<()> {
    guard::inside("nested", body, |run| {
        let scope = Scope::Patterns(&[GROUP]);
        let id = create(&["User"], scope, true, run)?;
        let opts = nvim::table([
            ("group", nvim::value(GROUP)),
            ("pattern", nvim::value(GROUP)),
            ("modeline", Value::Boolean(false)),
        ])?;
        let ran = with_ignored("", || api("nvim_exec_autocmds", ("User", opts)));
        remove(id)?;
        ran
    })
}

/// Runs `body` without triggering any autocommand: for options that are set for a moment.
pub fn silenced<R>(body: impl FnOnce() -> mlua::Result<R>) -> mlua::Result<R> {
    with_ignored("all", body)
}

fn with_ignored<R>(events: &str, body: impl FnOnce() -> mlua::Result<R>) -> mlua::Result<R> {
    let options: Table = nvim::vim()?.get("o")?;
    let before: String = options.get("eventignore")?;
    options.set("eventignore", events)?;
    let result = body();
    options.set("eventignore", before)?;
    result
}

/// What an autocommand does.
enum Action {
    Callback(Function),
    Command(&'static str),
}

impl From<Function> for Action {
    fn from(callback: Function) -> Self {
        Self::Callback(callback)
    }
}

fn create(
    events: &[&str],
    scope: Scope<'_>,
    is_nested: bool,
    action: impl Into<Action>,
) -> mlua::Result<i32> {
    let keep = nvim::table([("clear", Value::Boolean(false))])?;
    api::<i32>("nvim_create_augroup", (GROUP, keep))?;
    let opts = nvim::table([
        ("group", nvim::value(GROUP)),
        ("nested", Value::Boolean(is_nested)),
    ])?;
    match action.into() {
        Action::Callback(callback) => opts.set("callback", callback)?,
        Action::Command(command) => opts.set("command", command)?,
    }
    match scope {
        Scope::All => {}
        Scope::Buffer(buf) => opts.set("buffer", buf)?,
        Scope::Patterns(patterns) => opts.set("pattern", patterns)?,
    }
    api("nvim_create_autocmd", (events, opts))
}
