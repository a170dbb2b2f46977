//! The terminal around Neovim: its bell, desktop messages through it, its title.
//!
//! Invariants: without a terminal (a GUI, a client over RPC) nothing is written; the user's
//! `'titlestring'` comes back when no agent works or waits.

use std::cell::RefCell;

use nvim_oxi::mlua::{self, Function, Table};

use super::config::{self, Desktop};
use super::kit::autocmd::silenced;
use super::nvim::{self, api};
use super::state;
use acp_core::conversation::notices::overall;
use acp_core::render::osc::{Osc, through_tmux};

/// The title that Neovim composes while `'titlestring'` is empty, as one.
const USUAL_TITLE: &str = r#"%t%( %M%)%( (%{expand("%:~:h")})%)%a - Nvim"#;

/// The terminal's title as set here.
struct Title {
    ours: String,
    /// The user's `'titlestring'`.
    users: String,
}

thread_local! {
    static TITLE: RefCell<Option<Title>> = const { RefCell::new(None) };
}

/// Rings the bell and shows a desktop message, as configured.
pub fn signal(text: &str) -> mlua::Result<()> {
    let (rings, desktop) = config::with(|it| (it.notify_bell, it.notify_desktop));
    let mut codes = String::new();
    if let Some(desktop) = desktop {
        let var = |name: &str| std::env::var(name).ok();
        let osc = match desktop {
            Desktop::Known => Osc::of(var),
            Desktop::Chosen(osc) => osc,
        };
        let code = osc.message(text);
        let is_in_tmux = var("TMUX").is_some_and(|value| !value.is_empty());
        codes.push_str(&if is_in_tmux {
            through_tmux(&code)
        } else {
            code
        });
    }
    if rings {
        codes.push('\x07');
    }
    write(&codes)
}

/// Writes to the terminal, if there is one.
fn write(codes: &str) -> mlua::Result<()> {
    let uis: Vec<Table> = api("nvim_list_uis", ())?;
    let is_terminal = |ui: &Table| ui.get::<Option<bool>>("stdout_tty").ok().flatten();
    if codes.is_empty() || !uis.iter().any(|ui| is_terminal(ui) == Some(true)) {
        return Ok(());
    }
    let vim = nvim::vim()?;
    // Neovim 0.12 has a function for it; before, stderr was the terminal.
    if let Some(send) = vim
        .get::<Table>("api")?
        .get::<Option<Function>>("nvim_ui_send")?
    {
        return send.call(codes);
    }
    let stderr: i64 = vim.get::<Table>("v")?.get("stderr")?;
    api("nvim_chan_send", (stderr, codes))
}

/// Shows in the title which agent works or waits, if that is configured.
pub fn show_title() -> mlua::Result<()> {
    let is_wanted = config::with(|config| config.notify_title);
    let text = is_wanted.then(|| overall(&state::snapshot().sessions));
    let text = text.flatten();
    let shown = TITLE.take();
    if text.is_none() && shown.is_none() {
        return Ok(());
    }
    let options: Table = nvim::vim()?.get("o")?;
    let current: String = options.get("titlestring")?;
    let users = match shown {
        Some(shown) if shown.ours == current => shown.users,
        // The user has changed it since.
        _ => current.clone(),
    };
    let Some(text) = text else {
        return silenced(|| options.set("titlestring", users));
    };
    let rest = if users.is_empty() {
        USUAL_TITLE
    } else {
        &users
    };
    let ours = format!("{} - {rest}", text.replace('%', "%%"));
    if ours != current {
        silenced(|| {
            options.set("titlestring", ours.as_str())?;
            options.set("title", true)
        })?;
    }
    TITLE.set(Some(Title { ours, users }));
    Ok(())
}
