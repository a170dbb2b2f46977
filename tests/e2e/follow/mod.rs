//! Following the agent: a window shows the agent's position, and never disturbs the user.

mod marks;
mod places;
mod user;
mod windows;

use serde_json::{Value as Json, json};

use crate::files::{self, Script, go_on, wait_pause};
use crate::harness::{Nvim, Project};
use crate::talk::{self, status};

/// Returns a file of a hundred lines.
fn hundred(name: &str) -> String {
    (1..=100).map(|line| format!("{name} {line}\n")).collect()
}

/// Returns a project with three files of a hundred lines.
fn project(script: Script) -> Project {
    Project::new()
        .file("a.txt", hundred("a"))
        .file("b.txt", hundred("b"))
        .file("c.txt", hundred("c"))
        .agent("agent", &script.done())
}

/// Returns the step in which the agent names a line of a file.
fn at(id: &str, kind: &str, file: &str, line: u32) -> Json {
    json!({ "tool_update": { "id": id, "kind": kind, "locations": [place(file, line)] } })
}

fn place(file: &str, line: u32) -> Json {
    json!({ "path": format!("${{cwd}}/{file}"), "line": line })
}

/// Starts Neovim on `a.txt` with the chat beside it; the cursor is in the chat's input in normal
/// mode.
#[track_caller]
fn start(project: Project) -> Nvim {
    let nvim = files::start(project, "a.txt");
    talk::go(&nvim, "acp-input");
    nvim
}

/// Like [`start`], with the agent followed and the first prompt sent.
#[track_caller]
fn followed(script: Script) -> Nvim {
    let nvim = start(project(script));
    follow(&nvim, "on");
    files::prompt(&nvim);
    nvim
}

#[track_caller]
fn follow(nvim: &Nvim, mode: &str) {
    nvim.cmd(&format!("Acp follow {mode}"));
    let want = match mode {
        "on" => json!(true),
        "off" => json!(false),
        mode => json!(mode),
    };
    nvim.wait("the new mode", || status(nvim)["follow"] == want);
}

/// Waits until the agent pauses at `name`, and lets it continue.
#[track_caller]
fn pass(nvim: &Nvim, name: &str) {
    wait_pause(nvim, name);
    go_on(nvim, name);
}

/// Returns the files in the tab page's windows, each with its cursor's line.
#[track_caller]
fn shown(nvim: &Nvim) -> Vec<String> {
    let shown = nvim.lua(
        "local shown = {}
        for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
          local buf = vim.api.nvim_win_get_buf(win)
          if vim.bo[buf].buftype == '' then
            local name = vim.fs.basename(vim.api.nvim_buf_get_name(buf))
            table.insert(shown, name .. ':' .. vim.api.nvim_win_get_cursor(win)[1])
          end
        end
        table.sort(shown)
        return #shown > 0 and shown or vim.empty_dict()",
        (),
    );
    serde_json::from_value(shown).unwrap_or_default()
}

#[track_caller]
fn wait_shown(nvim: &Nvim, want: &[&str]) {
    let mut last = Vec::new();
    nvim.wait(&format!("the windows {want:?}"), || {
        last = shown(nvim);
        last == want
    });
}

/// Returns the agents' marks in a file: row and virtual text.
#[track_caller]
fn marks(nvim: &Nvim, file: &str) -> Json {
    nvim.lua(
        "local buf = vim.fn.bufnr(...)
        local ns = vim.api.nvim_create_namespace('acp_follow')
        if buf < 0 then return vim.empty_dict() end
        local marks = vim.api.nvim_buf_get_extmarks(buf, ns, 0, -1, { details = true })
        marks = vim.tbl_filter(function(mark) return mark[4].virt_text end, marks)
        return vim.tbl_map(function(mark)
          return { mark[2], mark[4].virt_text[1][1] }
        end, marks)",
        (file,),
    )
}

#[track_caller]
fn wait_marks(nvim: &Nvim, file: &str, want: Json) {
    let mut last = Json::Null;
    nvim.wait(&format!("the marks {want} in {file}"), || {
        last = marks(nvim, file);
        // An empty Lua table may arrive as a list or an object.
        last == want || want == json!([]) && last == json!({})
    });
}
