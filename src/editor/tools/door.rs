//! The endpoint of Neovim's tools: the socket's path, the proxy, and the secret for tokens.
//!
//! Invariant: the path is short enough for a socket, and cannot be guessed.

use std::path::{Path, PathBuf};

use nvim_oxi::mlua;

use crate::editor::{nvim, state};
use acp_core::event::{Event, ToolEvent};
use acp_core::spine::tool::Door;

/// The longest path that every system accepts for a socket, with a margin.
const PATH_BYTES: usize = 100;

/// Returns the path for the socket, in a folder that does not exist yet.
pub fn tools_socket_path() -> PathBuf {
    let run: String = nvim::vim_fn("stdpath", "run").unwrap_or_default();
    let random = random::<8>().unwrap_or_default();
    let random: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let name = format!("acp.nvim.{}.{random}/mcp.sock", std::process::id());
    let fits = |folder: &Path| {
        let path = folder.join(&name);
        (folder.is_absolute() && path.as_os_str().len() <= PATH_BYTES).then_some(path)
    };
    fits(Path::new(&run))
        .or_else(|| fits(&std::env::temp_dir()))
        .unwrap_or_else(|| Path::new("/tmp").join(&name))
}

/// Reports the endpoint to the core.
pub fn open(socket: PathBuf) {
    match random() {
        Some(secret) => state::send(Event::Tool(ToolEvent::Door(Door {
            socket,
            proxy: proxy().ok().flatten(),
            secret,
        }))),
        None => state::send(Event::Tool(ToolEvent::ServerFailed {
            why: "Agents cannot reach Neovim's tools: the system gives no random numbers. Restart \
                  Neovim once it does."
                .to_owned(),
        })),
    }
}

/// Returns the path of the proxy, if it is installed.
fn proxy() -> mlua::Result<Option<PathBuf>> {
    let require: mlua::Function = nvim::lua().globals().get("require")?;
    let native: mlua::Table = require.call("acp.native")?;
    let (_, library): (mlua::Value, String) = native.get::<mlua::Function>("library")?.call(())?;
    let door: mlua::Table = require.call("acp.tools.door")?;
    let path: Option<String> = door.get::<mlua::Function>("proxy")?.call(library)?;
    // Agents start it from other folders.
    Ok(path.and_then(|path| std::path::absolute(path).ok()))
}

/// Returns random bytes; `None` if the system has none.
fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes)
}
