//! Messages to the user.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use nvim_oxi::mlua;

use super::kit::user;
use super::nvim::{self, Callable, api};
use acp_core::render::title;
use acp_core::spine::effect::Level;
use acp_core::spine::oneline::OneLine;
use acp_edge::paths;

/// An equal error within this time is not shown again.
const AGAIN: Duration = Duration::from_secs(1);

/// Shows the user a message through `vim.notify`.
///
/// Neovim's own `vim.notify` waits for a key, and blocks everything else, if a text is longer than
/// the command line; for it the text is cut, and the log has the full text. While Neovim waits at a
/// prompt, an error message would be raised as an error and end the prompt; then it is shown as
/// text.
///
/// If the user's own `vim.notify` fails, the text is shown without it, followed by its error. That
/// error is not reported as another message, which would fail again.
///
/// # Errors
/// Neovim's error.
pub fn notify(level: Level, text: &str) -> mlua::Result<()> {
    if level == Level::Error && is_told(text) {
        return Ok(());
    }
    // vim.log.levels
    let level = match level {
        Level::Debug => 1,
        Level::Info => 2,
        Level::Warn => 3,
        Level::Error => 4,
    };
    let notify: Callable = nvim::vim()?.get("notify")?;
    let here: String = nvim::vim_fn("getcwd", ())?;
    let text = paths::seen_from(&here, text);
    let lines = text.split('\n').map(|line| OneLine::new(line).into());
    let lines: Vec<String> = lines.collect();
    let mut text = format!("acp.nvim: {}", lines.join("\n"));
    if is_neovims(&notify) {
        text = fitting(&text)?;
        if level == 4 && user::is_at_prompt()? {
            let chunks = nvim::lua().create_sequence_from([[text.as_str(), "ErrorMsg"]])?;
            return api("nvim_echo", (chunks, true, nvim::empty()?));
        }
    }
    let opts = nvim::table([("title", nvim::value("acp.nvim"))])?;
    if let Err(error) = notify.call::<()>((text.as_str(), level, opts)) {
        let why = format!("(vim.notify: {})", nvim::message(&error));
        let chunks = nvim::lua().create_sequence_from([[text], [why]])?;
        api::<()>("nvim_echo", (chunks, true, nvim::empty()?))?;
    }
    Ok(())
}

fn is_neovims(notify: &Callable) -> bool {
    let Callable::Function(notify) = notify else {
        return false;
    };
    // Neovim 0.12 omits the paths of its source files.
    let source = notify.info().source.unwrap_or_default();
    if source != "?" && !source.ends_with("editor.lua") {
        return false;
    }
    // What `vim.schedule_wrap` returns is from there too, and has no parameters of its own.
    let count = "return debug.getinfo(..., 'u').nparams";
    let count = nvim::lua().load(count).call::<i64>(notify);
    count.is_ok_and(|count| count > 0)
}

thread_local! {
    /// The last error shown, and when.
    static TOLD: RefCell<Option<(String, Instant)>> = const { RefCell::new(None) };
}

/// Returns whether the same error was just shown: a second one would fill a second line, and Neovim
/// would wait for a key.
fn is_told(text: &str) -> bool {
    let now = Instant::now();
    let last = TOLD.replace(Some((text.to_owned(), now)));
    last.is_some_and(|(last, at)| last == text && now.duration_since(at) < AGAIN)
}

/// Returns a text cut to the width of the command line.
fn fitting(text: &str) -> mlua::Result<String> {
    let vim: mlua::Table = nvim::vim()?.get("v")?;
    let space: usize = vim.get("echospace")?;
    let line = text.lines().next().unwrap_or_default();
    let width = |text: &str| nvim::vim_fn("strdisplaywidth", text).unwrap_or(usize::MAX);
    let start = title::narrower(line, space + 1, width);
    if start == text {
        return Ok(text.to_owned());
    }
    let start = title::narrower(start, space, width);
    Ok(format!("{}…", start.trim_end()))
}
