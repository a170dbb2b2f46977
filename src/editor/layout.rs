//! The windows of a chat: the transcript above, the input below, in one or more tab pages.
//!
//! Invariant: a tab page has at most one chat, and a window of it that the user has closed comes
//! back in its place.

use nvim_oxi::mlua::{self, Value};

use super::chats::{self, Chat};
use super::kit::autocmd::{self, Scope};
use super::kit::window;
use super::nvim::{self, api};
use super::state::send;
use super::{chat, config, folds, winbar};
use acp_core::event::{Event, ViewEvent};
use acp_core::spine::ids::SessionKey;

/// The least width that a share of the screen gives, where half the screen has as many columns.
const MIN_WIDTH: i64 = 40;
/// On a screen narrower than this, a chat opens below the text instead of beside it.
const MIN_SCREEN: i64 = 100;

/// The window variable with the width that a chat was given, until the user changes the width.
const GIVEN: &str = "acp_width";
/// The window variable of an input: the height that it should have and the height that it was given;
/// at that time, the height of the input and its transcript together, the number of windows in the tab
/// page, and the lines for windows.
const HEIGHTS: &str = "acp_height";

/// The windows of a chat in a tab page.
struct Shown {
    transcript: Option<i32>,
    input: Option<i32>,
}

/// Where the transcript opens, and its width or height.
#[derive(Debug, PartialEq)]
enum Position {
    Tab,
    Side { split: &'static str, width: i64 },
    Below { height: i64 },
}

/// Shows a session in the current tab page, or in its own tab page, and goes to its input.
pub fn show(key: SessionKey) -> mlua::Result<()> {
    chat::revive(key)?;
    let Some(chat) = chats::get(key) else {
        return Ok(());
    };
    if position()? == Position::Tab
        && let Some(win) = nvim::windows_of(chat.transcript)?.first()
    {
        api::<()>("nvim_set_current_tabpage", window::tab_of(*win)?)?;
    }
    // A chat in its own tab page replaces no other one.
    if position()? != Position::Tab {
        close_others(window::tab()?, key)?;
    }
    // The other chat's windows may have been all of the tab page.
    let tab = window::tab()?;
    let shown = Shown::of(&chat, tab)?;
    let transcript = match shown.transcript {
        Some(win) => win,
        None => open_transcript(key, &chat, shown.input)?,
    };
    let tab = window::tab_of(transcript)?;
    let input = match shown.input {
        Some(win) => win,
        None => open_input(&chat, transcript)?,
    };
    chats::with(|chats| {
        chats.by_tab.insert(tab, key);
        chats.last = Some(key);
    });
    winbar::set(key, chat.title)?;
    super::panel::reopen(key)?;
    super::input::set_attached(key, chat.attached)?;
    window::go_to(input)?;
    super::question::chat_shown()
}

/// Closes the windows of another session's chat that the tab page shows.
fn close_others(tab: i32, key: SessionKey) -> mlua::Result<()> {
    let shown = chats::with(|chats| chats.by_tab.get(&tab).copied());
    match shown.filter(|shown| *shown != key) {
        Some(other) => hide(other),
        None => Ok(()),
    }
}

/// Closes a session's windows in the current tab page.
pub fn hide(key: SessionKey) -> mlua::Result<()> {
    let Some(chat) = chats::get(key) else {
        return Ok(());
    };
    let tab = window::tab()?;
    super::panel::close_all_in(key, tab)?;
    let shown = Shown::of(&chat, tab)?;
    let both = [shown.input, shown.transcript].into_iter().flatten();
    both.into_iter().try_for_each(window::close)
}

impl Shown {
    fn of(chat: &Chat, tab: i32) -> mlua::Result<Self> {
        Ok(Self {
            transcript: window::showing(chat.transcript, tab)?,
            input: window::showing(chat.input, tab)?,
        })
    }
}

/// Returns where a chat opens, by the configuration and the size of the screen.
fn position() -> mlua::Result<Position> {
    let (columns, lines) = window::screen()?;
    let (layout, width) = config::with(|config| (config.layout.clone(), config.width));
    let split = match layout.as_str() {
        "tab" => return Ok(Position::Tab),
        "left" => "left",
        "right" => "right",
        _ => {
            return Ok(Position::Below {
                height: size(width, lines),
            });
        }
    };
    if columns < MIN_SCREEN {
        return Ok(Position::Below { height: lines / 2 });
    }
    let least = if width < 1.0 {
        MIN_WIDTH.min(columns / 2)
    } else {
        1
    };
    let width = size(width, columns).max(least);
    Ok(Position::Side { split, width })
}

/// Watches the sizes of the screen and the windows, for as long as the plugin is in use.
pub fn start() -> mlua::Result<()> {
    autocmd::on("screen size", &["VimResized"], Scope::All, |_| {
        screen_resized()?;
        super::panel::fit_all()
    })?;
    autocmd::on("window sizes", &["WinResized"], Scope::All, |_| {
        winbar::fit_all()?;
        super::input::fit_all()?;
        windows_resized()?;
        chat::keep_ends()
    })?;
    Ok(())
}

/// Gives the chats beside the text the width they would open with now. A chat whose width the user
/// has set is only narrowed, if the screen has become too small.
fn screen_resized() -> mlua::Result<()> {
    let (columns, _) = window::screen()?;
    let widest = match position()? {
        Position::Side { width, .. } => width,
        _ => columns / 2,
    };
    for win in beside()? {
        let width = window::width(win)?;
        let is_ours = given(win)?.is_some();
        if width > widest || is_ours && width != widest {
            api::<()>("nvim_win_set_width", (win, widest))?;
        }
        if is_ours {
            note_given(win)?;
        }
    }
    Ok(())
}

/// Records which chats the user has resized.
fn windows_resized() -> mlua::Result<()> {
    ease_heights()?;
    keep_heights()?;
    let (columns, _) = window::screen()?;
    for win in beside()? {
        let width = window::width(win)?;
        // After the screen has changed it was Neovim that resized the window.
        if given(win)?.is_some_and(|given| given.1 == columns && given.0 != width) {
            api::<()>("nvim_win_del_var", (win, GIVEN))?;
        }
    }
    Ok(())
}

/// Unfixes the height of inputs while a window outside the chat has a fixed height as well.
///
/// Neovim up to 0.12 fails an assertion when the screen gets too low for two such windows of which
/// one has a column to itself.
fn ease_heights() -> mlua::Result<()> {
    for chat in chats::all().values() {
        for win in nvim::windows_of(chat.input)? {
            let mut is_free = true;
            for other in window::all_in(window::tab_of(win)?)? {
                let filetype: String = nvim::buf_option(window::buf_of(other)?, "filetype")?;
                let is_chats = matches!(
                    filetype.as_str(),
                    "acp-chat" | "acp-input" | "acp-plan" | "acp-queue"
                );
                is_free &= is_chats || !nvim::win_option::<bool>(other, "winfixheight")?;
            }
            nvim::set_win_option(win, "winfixheight", is_free)?;
        }
    }
    Ok(())
}

/// Gives an input its height again after a window above or below the chat has opened or closed.
/// Otherwise it was the user who has changed the height.
fn keep_heights() -> mlua::Result<()> {
    for chat in chats::all().values() {
        for input in nvim::windows_of(chat.input)? {
            let tab = window::tab_of(input)?;
            let Some(transcript) = window::showing(chat.transcript, tab)? else {
                continue;
            };
            let count = i64::try_from(window::count_splits(tab)?).unwrap_or(0);
            let lines = window::screen()?.1 - window::command_lines()?;
            let height = window::height(input)?;
            let total = height + window::height(transcript)?;
            let (wanted, given) = match numbers(input, HEIGHTS)?[..] {
                [wanted, _, of, n, on] if of != total && (n, on) != (count, lines) => {
                    let share = wanted * total / of.max(1);
                    let least = share.max(total / 3);
                    (wanted, wanted.min(height.max(least)))
                }
                [wanted, given, ..] if given == height => (wanted, given),
                _ => (height, height),
            };
            if given != height {
                api::<()>("nvim_win_set_height", (input, given))?;
            }
            let now = [wanted, given, total, count, lines];
            api::<()>("nvim_win_set_var", (input, HEIGHTS, now))?;
        }
    }
    Ok(())
}

/// Returns the windows of transcripts beside the text.
fn beside() -> mlua::Result<Vec<i32>> {
    let mut found = Vec::new();
    for chat in chats::all().values() {
        for win in nvim::windows_of(chat.transcript)? {
            if nvim::win_option(win, "winfixwidth")? {
                found.push(win);
            }
        }
    }
    Ok(found)
}

/// Returns the width that a window was given, and the columns of the screen at that time.
fn given(win: i32) -> mlua::Result<Option<(i64, i64)>> {
    Ok(match numbers(win, GIVEN)?[..] {
        [width, columns] => Some((width, columns)),
        _ => None,
    })
}

/// Returns the numbers in a window variable.
fn numbers(win: i32, name: &str) -> mlua::Result<Vec<i64>> {
    // A missing variable is an empty text.
    Ok(match nvim::vim_fn("getwinvar", (win, name))? {
        Value::Table(numbers) => numbers.sequence_values().collect::<mlua::Result<_>>()?,
        _ => Vec::new(),
    })
}

fn note_given(win: i32) -> mlua::Result<()> {
    let (columns, _) = window::screen()?;
    api(
        "nvim_win_set_var",
        (win, GIVEN, [window::width(win)?, columns]),
    )
}

fn open_transcript(key: SessionKey, chat: &Chat, input: Option<i32>) -> mlua::Result<i32> {
    let position = position()?;
    let split = |side, beside| window::split(chat.transcript, false, (side, beside), None);
    let win = match (&position, input) {
        // The input already has the chat's position.
        (_, Some(input)) => split("above", input)?,
        (Position::Side { split: side, .. }, None) => split(side, -1)?,
        (Position::Below { .. }, None) => split("below", -1)?,
        (Position::Tab, None) => {
            api::<()>("nvim_command", "tab split")?;
            let win = window::here()?;
            api::<()>("nvim_win_set_buf", (win, chat.transcript))?;
            win
        }
    };
    match (&position, input) {
        (_, Some(input)) => api("nvim_win_set_height", (input, input_height(win)?))?,
        (Position::Side { width, .. }, None) => api("nvim_win_set_width", (win, *width))?,
        (Position::Below { height }, None) => api("nvim_win_set_height", (win, *height))?,
        (Position::Tab, None) => {}
    }
    strip(win)?;
    let is_beside = matches!(position, Position::Side { .. });
    nvim::set_win_option(win, "winfixwidth", is_beside)?;
    if is_beside {
        note_given(win)?;
    }
    window::set(
        win,
        [
            ("foldmethod", nvim::value("manual")),
            ("foldtext", nvim::value("v:lua.require'acp.fold'.text()")),
            ("foldlevel", nvim::value(0)),
            // A folded line has its own highlights, and looks as it does when it is open.
            ("winhighlight", nvim::value("Folded:Normal")),
            ("breakindentopt", nvim::value("list:-1")),
            ("fillchars", nvim::value("fold: ,eob: ")),
        ],
    )?;
    window::switch(win, &["foldenable", "smoothscroll", "breakindent"], true)?;
    if api::<i64>("nvim_buf_line_count", chat.transcript)? > 1 {
        folds::forget(win)?;
    }
    chat::go_to_end(win, chat.transcript)?;
    chats::change(key, |chat| chat.unfolded.push(win));
    send(Event::View(ViewEvent::FoldsWanted { session: key }));
    Ok(win)
}

fn open_input(chat: &Chat, transcript: i32) -> mlua::Result<i32> {
    let height = Some(("height", input_height(transcript)?));
    let win = window::split(chat.input, false, ("below", transcript), height)?;
    strip(win)?;
    nvim::set_win_option(win, "winfixheight", true)?;
    nvim::set_win_option(win, "fillchars", "eob: ")?;
    Ok(win)
}

/// Returns the height of the input below a transcript: at most a third of its window.
fn input_height(transcript: i32) -> mlua::Result<i64> {
    let height = config::with(|config| config.input_height);
    let total = window::height(transcript)?;
    Ok(size(height, total).min((total / 3).max(1)))
}

/// Returns a size in cells; below 1 it is a share of the total.
fn size(wanted: f64, total: i64) -> i64 {
    let cells = if wanted < 1.0 {
        wanted * total as f64
    } else {
        wanted
    };
    (cells as i64).clamp(1, total.max(1))
}

/// Sets the options of a chat's window: only text, and all of it.
fn strip(win: i32) -> mlua::Result<()> {
    window::strip(win)?;
    window::switch(win, &["wrap", "linebreak"], true)
}
