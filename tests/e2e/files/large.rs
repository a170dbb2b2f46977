//! Files of 100,000 lines.

use serde_json::json;

use super::{Script, check_bytes, last_turn, start, wait_hunks};
use crate::harness::Project;

fn text(changed: &str) -> String {
    let line = |n: usize| match n {
        70_000 => format!("{changed}\n"),
        n => format!("line {n} of a file that is larger than any screen\n"),
    };
    (0..100_000).map(line).collect()
}

#[test]
fn one_changed_line_of_100_000_is_one_hunk() {
    let (old, new) = (text("old"), text("new"));
    for file in ["", "a.txt"] {
        let script = Script::new()
            .reads_some("a.txt", json!({ "line": 70_001, "limit": 1 }), "old\n")
            .writes("a.txt", &new)
            .done();
        let project = Project::new().file("a.txt", &old).agent("agent", &script);
        let nvim = start(project, file);
        last_turn(&nvim);
        wait_hunks(&nvim, json!([[70_000, ["old"], ["new"], "pending"]]));
        check_bytes(&nvim, "a.txt", &new);
        nvim.cmd("edit a.txt");
        nvim.cmd("Acp next");
        nvim.wait_text("1/1");
        nvim.keys("\\r");
        wait_hunks(&nvim, json!([]));
        nvim.wait("the old file", || nvim.project.read("a.txt") == old);
        nvim.quit();
    }
}

#[test]
fn text_typed_while_a_large_file_loads_is_read() {
    let typed = ["first\n", "second\n", "last\n"];
    let old = text("old");
    let lines: Vec<&str> = old.split_inclusive('\n').collect();
    let (above, below) = lines.split_at(60_000);
    let now = [
        typed[0],
        &above.concat(),
        typed[1],
        &below.concat(),
        typed[2],
    ]
    .concat();
    let script = Script::new()
        .reads("a.txt", &now)
        .writes("a.txt", &now)
        .done();
    let project = Project::new().file("a.txt", &old).agent("agent", &script);
    let nvim = start(project, "");
    nvim.keys(":edit a.txt<CR>ggOfirst<Esc>60001Gosecond<Esc>Golast<Esc>");
    last_turn(&nvim);
    nvim.quit();
}

#[test]
fn a_thousand_hunks_are_all_shown_and_follow_the_text() {
    let line = |n: usize| format!("line {n}\n");
    let old: String = (0..5000).map(line).collect();
    let new: String = (0..5000)
        .map(|n| {
            if n % 5 == 0 {
                format!("LINE {n}\n")
            } else {
                line(n)
            }
        })
        .collect();
    let script = Script::new().writes("a.txt", &new).done();
    let project = Project::new().file("a.txt", &old).agent("agent", &script);
    let nvim = start(project, "a.txt");
    last_turn(&nvim);
    nvim.wait_text("1/1000");
    nvim.keys("G");
    nvim.wait_text("1000/1000");
    nvim.keys("ggOtop<Esc>2G\\a");
    nvim.wait_text("1/999");
    nvim.keys("G");
    nvim.wait_text("999/999");
    nvim.keys("\\R");
    nvim.wait("the old text", || nvim.buf_lines(0)[4996] == "line 4995");
    wait_hunks(&nvim, json!([]));
    nvim.quit();
}

#[test]
fn ten_thousand_hunks_are_all_drawn() {
    const COUNT: usize = 10_000;
    let text =
        |changed: &str| -> String { (0..COUNT).map(|n| format!("{n}\n{changed}\n")).collect() };
    let script = Script::new().writes("a.txt", &text("new")).done();
    let project = Project::new()
        .file("a.txt", text("old"))
        .agent("agent", &script);
    let nvim = start(project, "a.txt");
    last_turn(&nvim);
    // Each has a label. They are counted once the last one appears: that takes Neovim some time.
    nvim.wait("all hunks", || {
        let drawn = nvim.lua(
            "local space = vim.api.nvim_get_namespaces().acp_review
            local function labels(from, to)
              return #vim.api.nvim_buf_get_extmarks(0, space, from, to, { type = 'virt_text' })
            end
            local last = { vim.api.nvim_buf_line_count(0) - 1, 0 }
            return labels(last, -1) > 0 and labels(0, -1)",
            (),
        );
        drawn == COUNT
    });
    nvim.quit();
}
