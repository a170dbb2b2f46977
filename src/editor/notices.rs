//! Messages about sessions that the user does not see: a turn has ended, a question is pending.
//!
//! Invariant: each is reported at most once, and only while its session is not on the screen. While
//! the user is in another program, no session is on the screen.

use std::cell::Cell;

use nvim_oxi::mlua;

use super::kit::autocmd::{self, Scope};
use super::kit::window;
use super::{chats, config, notify, state, tui};
use acp_core::conversation::notices::{turn_ended, waits};
use acp_core::conversation::session::Phase;
use acp_core::spine::effect::Level;
use acp_core::spine::ids::SessionKey;

thread_local! {
    /// The user is in another program.
    static IS_AWAY: Cell<bool> = const { Cell::new(false) };
}

/// Watches whether the user is in Neovim, for as long as the plugin is in use.
pub fn start() -> mlua::Result<()> {
    for (event, is_away) in [("FocusLost", true), ("FocusGained", false)] {
        autocmd::on("focus of Neovim", &[event], Scope::All, move |_| {
            IS_AWAY.set(is_away);
            Ok(())
        })?;
    }
    Ok(())
}

/// Reports the end of a turn that the user does not see, unless the next turn follows at once.
pub fn turn_is_over(session: SessionKey, stop_reason: &str) -> mlua::Result<()> {
    if !config::with(|config| config.notify_turn_end) {
        return Ok(());
    }
    let text = state::session(session, |info| match info.phase {
        Phase::Running => None,
        _ => turn_ended(info, stop_reason),
    });
    match text.flatten() {
        Some((level, text)) => tell(is_seen(session)?, level, &text),
        None => Ok(()),
    }
}

/// Reports that a session waits for an answer, if the user does not see it.
///
/// `is_shown` is set if the question is on the screen.
pub fn question_waits(session: SessionKey, is_shown: bool) -> mlua::Result<()> {
    if !config::with(|config| config.notify_question) {
        return Ok(());
    }
    let is_seen = is_shown && !IS_AWAY.get() || is_seen(session)?;
    match state::session(session, waits) {
        Some(text) => tell(is_seen, Level::Info, &text),
        None => Ok(()),
    }
}

/// Shows a message unless its event is seen; the terminal gives a signal to a user who is away.
fn tell(is_seen: bool, level: Level, text: &str) -> mlua::Result<()> {
    if !is_seen {
        notify::notify(level, text)?;
    }
    if IS_AWAY.get() || config::with(|config| config.notify_focused) {
        tui::signal(text)?;
    }
    Ok(())
}

/// Returns whether the user looks at Neovim and the tab page shows the session's chat.
fn is_seen(session: SessionKey) -> mlua::Result<bool> {
    if IS_AWAY.get() {
        return Ok(false);
    }
    let Some(chat) = chats::get(session) else {
        return Ok(true);
    };
    let tab = window::tab()?;
    Ok(window::showing(chat.transcript, tab)?.is_some()
        || window::showing(chat.input, tab)?.is_some())
}
