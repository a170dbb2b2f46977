//! Messages about sessions that nobody looks at: a turn is over, a question waits.
//!
//! Invariant: of what is on the screen nothing is said, and of each thing at most once. While the
//! user is in another program, nothing is on the screen.

use nvim_oxi::mlua;

use super::kit::autocmd::{self, Scope};
use super::kit::window;
use super::state;
use super::{apply, chat};
use acp_core::conversation::notices::{turn_ended, waits};
use acp_core::model::Phase;
use acp_core::spine::effect::Level;
use acp_core::spine::ids::SessionKey;

/// Watches whether the user is in Neovim, for as long as the plugin is in use.
///
/// # Errors
/// What Neovim says of it.
pub fn start() -> mlua::Result<()> {
    for (event, is_away) in [("FocusLost", true), ("FocusGained", false)] {
        autocmd::on("focus of Neovim", &[event], Scope::All, move |_| {
            state::with(|editor| editor.is_away.set(is_away));
            Ok(())
        })?;
    }
    Ok(())
}

/// Tells that a turn is over, if nobody can see it and no other follows at once.
///
/// # Errors
/// What Neovim says of it.
pub fn turn_is_over(session: SessionKey, stop_reason: &str) -> mlua::Result<()> {
    let is_wanted = state::with(|editor| editor.config.borrow().notify_turn_end);
    if is_wanted != Some(true) || is_seen(session)? {
        return Ok(());
    }
    let text = state::session(session, |info| match info.phase {
        Phase::Running => None,
        _ => turn_ended(info, stop_reason),
    });
    match text.flatten() {
        Some((level, text)) => apply::notify(level, &text),
        None => Ok(()),
    }
}

/// Tells that a session waits for an answer, if nobody can see that it does.
///
/// `is_shown` says whether the question is the one on the screen.
///
/// # Errors
/// What Neovim says of it.
pub fn question_waits(session: SessionKey, is_shown: bool) -> mlua::Result<()> {
    let config =
        state::with(|editor| (editor.config.borrow().notify_question, editor.is_away.get()));
    let (is_wanted, is_away) = config.unwrap_or_default();
    if !is_wanted || is_shown && !is_away || is_seen(session)? {
        return Ok(());
    }
    match state::session(session, waits) {
        Some(text) => apply::notify(Level::Info, &text),
        None => Ok(()),
    }
}

/// Tells whether the user looks at Neovim, and the tab page shows the session's chat.
fn is_seen(session: SessionKey) -> mlua::Result<bool> {
    if state::with(|editor| editor.is_away.get()) == Some(true) {
        return Ok(false);
    }
    let Some(chat) = chat::get(session) else {
        return Ok(true);
    };
    let tab = window::tab()?;
    Ok(window::showing(chat.transcript, tab)?.is_some()
        || window::showing(chat.input, tab)?.is_some())
}
