//! Shared by tests of the chat: opening it, sending prompts, reading the transcript.

use serde_json::{Value as Json, json};

use super::harness::{Nvim, Project};

/// Returns a project whose one agent answers each prompt with the next of `turns`: steps of a
/// script, one per line, between the prompt (`p1`, `p2`, …) and its end.
pub fn project(turns: &[&str]) -> Project {
    let script: Vec<String> = (1..).zip(turns).map(|(n, steps)| turn(n, steps)).collect();
    Project::new().agent("scripted", &script.join("\n"))
}

fn turn(number: usize, steps: &str) -> String {
    let expect = json!({ "expect": "session/prompt", "as": format!("p{number}") });
    let end = json!({ "end": format!("p{number}") });
    format!("{expect}\n{steps}\n{end}")
}

/// Starts Neovim with [`project`] and opens the chat.
#[track_caller]
pub fn start(turns: &[&str]) -> Nvim {
    let nvim = project(turns).start();
    open(&nvim);
    nvim
}

/// Opens the chat and waits until its agent is ready.
#[track_caller]
pub fn open(nvim: &Nvim) {
    nvim.cmd("AcpChat");
    wait_phase(nvim, "idle");
}

/// Makes the file in the folder of the scripts for which an agent or a command waits.
pub fn go_on(nvim: &Nvim, name: &str) {
    let file = nvim.project.root().join("agents").join(name);
    std::fs::write(file, "").expect("the file can be written");
}

/// Sends a prompt through the public API.
#[track_caller]
pub fn prompt(nvim: &Nvim, text: &str) {
    nvim.lua("require('acp').prompt(...)", (text,));
}

/// Sends a prompt and waits for the end of its turn.
#[track_caller]
pub fn talk(nvim: &Nvim, text: &str) {
    let before = ended(nvim).len();
    prompt(nvim, text);
    nvim.wait("the end of the turn", || ended(nvim).len() > before);
}

/// Returns the stop reasons of the turns that have ended.
pub fn ended(nvim: &Nvim) -> Vec<String> {
    let events = nvim.user_events().into_iter();
    events
        .filter(|event| event.name == "AcpTurnEnded")
        .map(|event| event.data["stop_reason"].as_str().unwrap_or("").to_owned())
        .collect()
}

/// Returns the number of events with this name so far.
pub fn count(nvim: &Nvim, event: &str) -> usize {
    let events = nvim.user_events();
    events.iter().filter(|known| known.name == event).count()
}

#[track_caller]
pub fn status(nvim: &Nvim) -> Json {
    nvim.lua("return require('acp').status()", ())
}

#[track_caller]
pub fn wait_phase(nvim: &Nvim, phase: &str) {
    nvim.wait(&format!("the phase {phase}"), || {
        status(nvim)["phase"] == phase
    });
}

/// Returns the lines of the visible transcript, or of the only one.
#[track_caller]
pub fn transcript(nvim: &Nvim) -> Vec<String> {
    let lines = nvim.lua(
        "local found
        for _, buf in ipairs(vim.api.nvim_list_bufs()) do
          if vim.bo[buf].filetype == 'acp-chat' then
            if vim.fn.win_findbuf(buf)[1] or not found then found = buf end
          end
        end
        return found and vim.api.nvim_buf_get_lines(found, 0, -1, true) or {}",
        (),
    );
    serde_json::from_value(lines).expect("lines are strings")
}

/// Waits until a line of the transcript contains `text`.
#[track_caller]
pub fn wait_said(nvim: &Nvim, text: &str) {
    nvim.wait(&format!("{text:?} in the transcript"), || said(nvim, text));
}

/// Returns whether a line of the transcript contains `text`.
#[track_caller]
pub fn said(nvim: &Nvim, text: &str) -> bool {
    transcript(nvim).iter().any(|line| line.contains(text))
}

/// Returns the filetypes of the tab page's windows, `""` for a file's window.
#[track_caller]
pub fn windows(nvim: &Nvim) -> Vec<String> {
    let windows = nvim.lua(
        "return vim.tbl_map(function(win)
          return vim.bo[vim.api.nvim_win_get_buf(win)].filetype
        end, vim.api.nvim_tabpage_list_wins(0))",
        (),
    );
    serde_json::from_value(windows).expect("filetypes are strings")
}

/// Returns the lines of the tab page's window with this filetype.
#[track_caller]
pub fn lines_in(nvim: &Nvim, filetype: &str) -> Vec<String> {
    let lines = nvim.lua(
        "for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
          local buf = vim.api.nvim_win_get_buf(win)
          if vim.bo[buf].filetype == ... then
            return vim.api.nvim_buf_get_lines(buf, 0, -1, true)
          end
        end
        return {}",
        (filetype,),
    );
    serde_json::from_value(lines).expect("lines are strings")
}

/// Goes to the window with this filetype.
#[track_caller]
pub fn go(nvim: &Nvim, filetype: &str) {
    nvim.lua(
        "for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
          if vim.bo[vim.api.nvim_win_get_buf(win)].filetype == ... then
            return vim.api.nvim_set_current_win(win)
          end
        end
        error('no window with this filetype')",
        (filetype,),
    );
}

/// Returns the filetype of the current window's buffer.
#[track_caller]
pub fn here(nvim: &Nvim) -> String {
    let filetype = nvim.lua("return vim.bo.filetype", ());
    filetype.as_str().unwrap_or_default().to_owned()
}

/// Waits until no window shows the queue. The first prompt is in it until its session is open.
#[track_caller]
pub fn wait_queue_closed(nvim: &Nvim) {
    let shown = "return vim.iter(vim.api.nvim_list_wins()):any(function(win)
        return vim.endswith(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)), '/queue')
    end)";
    nvim.wait("the queue's window to close", || {
        nvim.lua(shown, ()) == false
    });
}
