//! The bar above a chat: the state of the session, as much of it as fits.
//!
//! Invariant: a bar is fitted again whenever its text or the width of its window changes.

use nvim_oxi::mlua;

use super::chats;
use super::kit::window;
use super::nvim;
use acp_core::render::title::fitted;
use acp_core::spine::ids::SessionKey;
use acp_core::spine::oneline::OneLine;
use acp_core::spine::view::Group;

/// Shows the state of a session above its transcript's windows.
pub fn set(key: SessionKey, title: Vec<(OneLine, Group)>) -> mlua::Result<()> {
    let Some(chat) = chats::get(key) else {
        return Ok(());
    };
    chats::change(key, |chat| chat.title.clone_from(&title));
    for win in nvim::windows_of(chat.transcript)? {
        show(win, &title)?;
    }
    Ok(())
}

/// Fits the bars of all chats to their windows.
pub fn fit_all() -> mlua::Result<()> {
    for chat in chats::all().values() {
        for win in nvim::windows_of(chat.transcript)? {
            show(win, &chat.title)?;
        }
    }
    Ok(())
}

fn show(win: i32, title: &[(OneLine, Group)]) -> mlua::Result<()> {
    let columns = usize::try_from(window::width(win)?).unwrap_or(0);
    let width = |text: &str| nvim::vim_fn::<usize>("strdisplaywidth", text).unwrap_or(0);
    let bar = fitted(title, columns, width);
    if nvim::win_option::<String>(win, "winbar")? == bar {
        return Ok(());
    }
    nvim::set_win_option(win, "winbar", bar.as_str())
}
