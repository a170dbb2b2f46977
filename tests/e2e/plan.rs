//! The agent's plan: a panel between the transcript and the input while the agent works on it.

use serde_json::{Value as Json, json};

use super::harness::{Nvim, Project};
use super::talk::{self, go, here, said, transcript, wait_said, windows};

const ALL: [&str; 4] = ["", "acp-chat", "acp-plan", "acp-input"];
const WITHOUT: [&str; 3] = ["", "acp-chat", "acp-input"];

/// Returns the step that shows a plan: `x` done, `>` in progress, `-` pending; then `!` high or
/// `v` low; then the text.
fn plan(entries: &[&str]) -> Json {
    let entry = |entry: &&str| {
        let status = match &entry[0..1] {
            "x" => "completed",
            ">" => "in_progress",
            _ => "pending",
        };
        let priority = match &entry[1..2] {
            "!" => "high",
            "v" => "low",
            _ => "medium",
        };
        json!({ "content": entry[2..], "status": status, "priority": priority })
    };
    let entries: Vec<Json> = entries.iter().map(entry).collect();
    json!({ "update": { "sessionUpdate": "plan", "entries": entries } })
}

/// Returns a turn of these steps; each after the first waits for the test to call [`go_on`] for it.
fn gated(steps: &[Json]) -> String {
    let mut lines = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        if at > 0 {
            lines.push(json!({ "wait_file": format!("${{script_dir}}/go{at}") }).to_string());
        }
        lines.push(step.to_string());
    }
    lines.join("\n")
}

fn go_on(nvim: &Nvim, step: usize) {
    talk::go_on(nvim, &format!("go{step}"));
}

/// Opens a chat and starts a turn whose steps wait for [`go_on`].
#[track_caller]
fn begin(project: impl FnOnce(Project) -> Project, steps: &[Json]) -> Nvim {
    let nvim = project(talk::project(&[&gated(steps)])).start();
    talk::open(&nvim);
    talk::prompt(&nvim, "go");
    nvim
}

#[track_caller]
fn check_windows(nvim: &Nvim, want: &[&str]) {
    nvim.wait(&format!("the windows {want:?}"), || windows(nvim) == want);
}

/// Returns the height of the window with this filetype.
#[track_caller]
fn height(nvim: &Nvim, filetype: &str) -> u64 {
    let height = nvim.lua(
        "for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
          if vim.bo[vim.api.nvim_win_get_buf(win)].filetype == ... then
            return vim.api.nvim_win_get_height(win)
          end
        end
        return 0",
        (filetype,),
    );
    height.as_u64().unwrap_or(0)
}

/// Compares the screen with the test's snapshot.
macro_rules! check {
    ($nvim:expr) => {
        let screen = $nvim.drawn();
        if $nvim.is_pictured() {
            insta::assert_snapshot!(screen.dump(1..screen.height - 1));
        }
    };
}

#[test]
fn a_plan_in_progress_is_shown_between_transcript_and_input() {
    let nvim = begin(
        |project| project.size(100, 20),
        &[
            plan(&[">!Read the parser", "- Change it", "-vTell of it"]),
            plan(&["x!Read the parser", "> Change it", "-vTell of it"]),
            plan(&["x!Read the parser", "x Change it", "xvTell of it"]),
            json!({ "say": "That is all." }),
        ],
    );
    nvim.wait_text("◐ ! Read the parser");
    check_windows(&nvim, &ALL);
    assert!(!said(&nvim, "Read the parser"));
    go_on(&nvim, 1);
    nvim.wait_text("◐   Change it");
    check!(nvim);
    assert_eq!(
        talk::status(&nvim)["plan"],
        json!({ "done": 1, "total": 3 })
    );
    let line = nvim.lua("return require('acp').statusline()", ());
    assert_eq!(line, "scripted running 1/3");
    go_on(&nvim, 2);
    check_windows(&nvim, &WITHOUT);
    wait_said(&nvim, "Plan 3/3");
    go_on(&nvim, 3);
    wait_said(&nvim, "That is all.");
    let lines = transcript(&nvim);
    assert_eq!(
        lines[2..6],
        [
            "Plan 3/3",
            "  ✓ ! Read the parser",
            "  ✓   Change it",
            "  ✓ ↓ Tell of it"
        ]
    );
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn an_unfinished_plan_stays_in_the_transcript_when_its_turn_ends() {
    let nvim = begin(
        |project| project,
        &[plan(&["x One", "> Two"]), json!({ "say": "I stop." })],
    );
    check_windows(&nvim, &ALL);
    go_on(&nvim, 1);
    check_windows(&nvim, &WITHOUT);
    wait_said(&nvim, "Plan 1/2");
    let lines = transcript(&nvim);
    assert_eq!(
        lines[2..],
        ["I stop.", "", "Plan 1/2", "  ✓ One", "  ◐ Two"]
    );
    assert_eq!(
        talk::status(&nvim)["plan"],
        json!({ "done": 1, "total": 2 })
    );
    nvim.quit();
}

#[test]
fn a_withdrawn_plan_leaves_nothing() {
    let nvim = begin(
        |project| project,
        &[plan(&["> One"]), plan(&[]), plan(&["> Two"])],
    );
    check_windows(&nvim, &ALL);
    go_on(&nvim, 1);
    check_windows(&nvim, &WITHOUT);
    go_on(&nvim, 2);
    wait_said(&nvim, "◐ Two");
    assert!(!said(&nvim, "One"));
    nvim.quit();
}

#[test]
fn the_panel_never_has_the_focus() {
    let steps = [
        plan(&["> One", "- Two"]),
        plan(&["x One", "> Two"]),
        json!({ "say": "." }),
    ];
    let nvim = begin(|project| project, &steps);
    check_windows(&nvim, &ALL);
    assert_eq!(here(&nvim), "acp-input");
    let is_at = |filetype: &str| {
        nvim.wait(&format!("the focus in {filetype}"), || {
            here(&nvim) == filetype
        });
    };
    nvim.keys("<C-w>k");
    is_at("acp-chat");
    nvim.keys("<C-w>j");
    is_at("acp-input");
    nvim.keys("<C-w>W");
    is_at("acp-chat");
    nvim.keys("<C-w>w");
    is_at("acp-input");
    // No key is lost, however fast they are typed.
    nvim.keys("<C-w>k");
    is_at("acp-chat");
    nvim.keys("<C-w>jihello");
    nvim.wait("the text in the input", || {
        here(&nvim) == "acp-input" && nvim.buf_lines(0) == ["hello"]
    });
    assert_eq!(nvim.mode(), "i");
    go_on(&nvim, 1);
    nvim.wait_text("✓ One");
    assert_eq!(
        (nvim.mode().as_str(), here(&nvim).as_str()),
        ("i", "acp-input")
    );
    nvim.keys(" you<Esc>");
    assert_eq!(nvim.buf_lines(0), ["hello you"]);
    nvim.cmd("windo let w:seen = 1");
    let seen = "return #vim.tbl_filter(function(win) return vim.w[win].seen end, vim.api.nvim_list_wins())";
    assert_eq!(nvim.lua(seen, ()), 4);
    nvim.wait("the focus elsewhere", || here(&nvim) != "acp-plan");
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn a_long_plan_takes_a_third_and_shows_the_entry_in_progress() {
    let mut entries: Vec<String> = (1..=200).map(|n| format!("- Step {n}")).collect();
    entries[119] =
        "> Step 120 is one of which more can be said than a window like this one holds".into();
    let entries: Vec<&str> = entries.iter().map(String::as_str).collect();
    let nvim = begin(
        |project| project.size(100, 24),
        &[plan(&entries), json!({ "say": "." })],
    );
    nvim.wait_text("◐ Step 120");
    check_windows(&nvim, &ALL);
    check!(nvim);
    assert!(height(&nvim, "acp-plan") <= 5);
    nvim.quit();
}

/// Checks the heights of the panel and of the transcript in a chat with this layout and screen
/// size.
#[track_caller]
fn check_heights(layout: &str, size: (usize, usize), panel: u64, transcript: u64) {
    let entries = ["x One", "> Two", "- Three", "- Four", "- Five"];
    let nvim = begin(
        |project| {
            project
                .size(size.0, size.1)
                .config("chat", json!({ "layout": layout }))
        },
        &[plan(&entries), plan(&["x One"])],
    );
    nvim.wait_text("◐ Two");
    let found = (height(&nvim, "acp-plan"), height(&nvim, "acp-chat"));
    assert_eq!(
        found,
        (panel, transcript),
        "{layout}\n{}",
        nvim.screen().text()
    );
    go_on(&nvim, 1);
    wait_said(&nvim, "Plan 1/1");
    nvim.wait("the panel to go", || height(&nvim, "acp-plan") == 0);
    assert_eq!(
        height(&nvim, "acp-chat"),
        panel + transcript + 1,
        "{layout}"
    );
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn the_panel_fits_every_layout() {
    check_heights("right", (100, 30), 5, 15);
    check_heights("bottom", (100, 30), 2, 4);
    check_heights("tab", (100, 30), 5, 14);
    check_heights("right", (100, 14), 2, 4);
}

#[test]
fn a_chat_without_room_shows_the_plan_only_in_its_title() {
    let steps = [plan(&["> One"]), json!({ "say": "." })];
    let nvim = begin(
        |project| {
            project
                .size(100, 9)
                .config("chat", json!({ "input_height": 4 }))
        },
        &steps,
    );
    nvim.wait_text("plan 0/1");
    nvim.wait("the window to be too low", || height(&nvim, "acp-chat") < 6);
    go_on(&nvim, 1);
    wait_said(&nvim, "Plan 0/1");
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn the_transcript_keeps_its_end_visible_as_the_panel_opens_and_closes() {
    let long: String = (1..60).map(|n| format!("line {n}\n\n")).collect();
    let steps = [
        json!({ "say": long }),
        plan(&["> One", "- Two"]),
        plan(&[]),
        json!({ "say": "The end." }),
    ];
    let nvim = begin(|project| project, &steps);
    nvim.wait_text("line 59");
    go_on(&nvim, 1);
    nvim.wait("the panel and the end above it", || {
        let screen = nvim.screen();
        screen.has("◐ One") && screen.has("line 59")
    });
    go_on(&nvim, 2);
    check_windows(&nvim, &WITHOUT);
    go_on(&nvim, 3);
    nvim.wait_text("The end.");
    nvim.quit();
}

#[test]
fn closing_the_chat_closes_the_panel_and_reopening_it_restores_it() {
    let nvim = begin(
        |project| project,
        &[
            plan(&["> One"]),
            plan(&["> One", "- Two"]),
            json!({ "say": "." }),
        ],
    );
    check_windows(&nvim, &ALL);
    for close in ["q", ":only<CR>", "<C-w>t:only<CR>", "<C-w>k:q<CR>"] {
        go(&nvim, "acp-input");
        nvim.keys(close);
        nvim.wait("the panel to go", || {
            !windows(&nvim).contains(&"acp-plan".to_owned())
        });
        nvim.cmd("AcpChat");
        nvim.wait("the panel", || {
            windows(&nvim).contains(&"acp-plan".to_owned())
        });
        nvim.wait_text("◐ One");
    }
    // A panel closed by the user stays closed until the chat is opened again.
    nvim.lua(
        "for _, win in ipairs(vim.api.nvim_list_wins()) do
          if vim.bo[vim.api.nvim_win_get_buf(win)].filetype == 'acp-plan' then
            vim.api.nvim_win_close(win, true)
          end
        end",
        (),
    );
    go_on(&nvim, 1);
    nvim.wait("the other plan", || {
        talk::status(&nvim)["plan"]["total"] == 2
    });
    nvim.wait_text("plan 0/2");
    assert_eq!(height(&nvim, "acp-plan"), 0);
    nvim.cmd("AcpChat");
    nvim.wait_text("○ Two");
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn the_last_window_besides_the_panel_quits_neovim() {
    let nvim = begin(
        |project| project,
        &[plan(&["> One"]), json!({ "say": "." })],
    );
    check_windows(&nvim, &ALL);
    nvim.keys("<C-w>t:q<CR>");
    check_windows(&nvim, &ALL[1..]);
    go(&nvim, "acp-input");
    nvim.keys(":q<CR>");
    check_windows(&nvim, &ALL[1..3]);
    go(&nvim, "acp-chat");
    nvim.input(":q<CR>");
    nvim.wait_gone();
}

#[test]
fn other_windows_keep_their_sizes() {
    let nvim = talk::project(&[&gated(&[plan(&["> One", "- Two"]), plan(&["x One"])])])
        .size(120, 30)
        .start();
    nvim.cmd("split | resize 5 | vsplit | vertical resize 12 | wincmd b");
    talk::open(&nvim);
    let sizes = || nvim.lua("return vim.fn.winrestcmd()", ());
    let before = sizes();
    talk::prompt(&nvim, "go");
    nvim.wait_text("◐ One");
    go_on(&nvim, 1);
    wait_said(&nvim, "Plan 1/1");
    nvim.wait("the old sizes", || sizes() == before);
    nvim.quit();
}

#[test]
fn the_command_line_window_is_left_alone() {
    let nvim = begin(
        |project| project,
        &[
            json!({ "say": "Soon." }),
            plan(&["> One"]),
            json!({ "say": "." }),
        ],
    );
    wait_said(&nvim, "Soon.");
    nvim.keys("<Esc>:<C-f>");
    let kind = || nvim.lua("return vim.fn.win_gettype()", ());
    nvim.wait("the command-line window", || kind() == "command");
    go_on(&nvim, 1);
    nvim.wait("the plan", || talk::status(&nvim)["plan"]["total"] == 1);
    nvim.keys(":q<CR>");
    nvim.wait_text("◐ One");
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn a_plan_that_ends_behind_the_command_line_window_goes_after_it() {
    let nvim = begin(
        |project| project,
        &[plan(&["> One"]), plan(&["x One"]), json!({ "say": "." })],
    );
    check_windows(&nvim, &ALL);
    nvim.keys("<Esc>:<C-f>");
    let kind = || nvim.lua("return vim.fn.win_gettype()", ());
    nvim.wait("the command-line window", || kind() == "command");
    go_on(&nvim, 1);
    wait_said(&nvim, "Plan 1/1");
    nvim.keys(":q<CR>");
    check_windows(&nvim, &WITHOUT);
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn without_a_panel_the_plan_is_in_the_transcript() {
    let nvim = begin(
        |project| project.config("chat", json!({ "plan": "transcript" })),
        &[
            plan(&["> One"]),
            plan(&["x One", "> Two"]),
            json!({ "say": "." }),
        ],
    );
    wait_said(&nvim, "◐ One");
    check_windows(&nvim, &WITHOUT);
    go_on(&nvim, 1);
    wait_said(&nvim, "◐ Two");
    assert_eq!(transcript(&nvim)[2..], ["Plan 1/2", "  ✓ One", "  ◐ Two"]);
    check_windows(&nvim, &WITHOUT);
    nvim.quit();
}

#[test]
fn a_plan_after_its_turn_is_in_the_transcript() {
    let nvim = talk::project(&[])
        .agent("late", "{\"expect\":\"session/prompt\",\"as\":\"p\"}\n{\"say\":\"Done.\"}\n{\"end\":\"p\"}\n{\"update\":{\"sessionUpdate\":\"plan\",\"entries\":[{\"content\":\"Later\",\"priority\":\"medium\",\"status\":\"pending\"}]}}")
        .config("default_agent", json!("late"))
        .start();
    talk::open(&nvim);
    talk::prompt(&nvim, "go");
    wait_said(&nvim, "○ Later");
    check_windows(&nvim, &WITHOUT);
    nvim.quit();
}
