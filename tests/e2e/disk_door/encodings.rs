//! Files that are in neither UTF-8 nor latin-1: only their buffers tell their encoding.

use std::rc::Rc;

use serde_json::{Value as Json, json};

use super::super::files::{Script, go_on, open, prompt, start, wait_hunks, wait_lines, wait_pause};
use super::save;
use crate::harness::{Nvim, Project};

/// A file in GBK, with these lines in the middle.
fn in_gbk(middle: &[u8]) -> Vec<u8> {
    let (one, last) = (b"one \xd6\xd0\xce\xc4\n", b"\xce\xc4 last\n");
    [one, middle, last].concat()
}

/// A project with such a file, and the agent's command that changes characters of its second line.
fn gbk() -> (Project, Json) {
    let project = Project::new()
        .before("set fileencodings=ucs-bom,utf-8,gbk,latin1 shortmess+=A")
        .file("b.txt", "b\n")
        .file("a.txt", in_gbk(b"two \xd6\xd0\n"));
    let (old, new) = (r"two $(printf '\326\320')", r"TWO $(printf '\316\304')");
    let command = format!("LC_ALL=C sed -i \"s/{old}/{new}/\" a.txt");
    (project, json!({ "shell": command }))
}

#[track_caller]
fn wait_bytes(nvim: &Nvim, expected: &[u8]) {
    nvim.wait("the bytes", || {
        std::fs::read(nvim.project.path("a.txt")).is_ok_and(|bytes| bytes == expected)
    });
}

const GBK_LINES: [&str; 3] = ["one 中文", "two 中", "文 last"];

#[test]
fn a_change_of_an_open_file_in_another_encoding_is_under_review() {
    let (project, change) = gbk();
    let script = Script::new()
        .pause("p")
        .step(change)
        .pause("q")
        .reads("a.txt", "one 中文\nTWO 文\nmine 文\n文 last\n");
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    prompt(&nvim);
    wait_pause(&nvim, "p");
    go_on(&nvim, "p");
    wait_lines(&nvim, &["one 中文", "TWO 文", "文 last"]);
    wait_pause(&nvim, "q");
    nvim.keys("2Gomine 文<Esc>");
    save(&nvim, "write");
    go_on(&nvim, "q");
    nvim.wait_script("agent");
    wait_hunks(&nvim, json!([[1, ["two 中"], ["TWO 文"], "pending"]]));
    wait_bytes(&nvim, &in_gbk(b"TWO \xce\xc4\nmine \xce\xc4\n"));
    // It is rejected without a buffer.
    nvim.cmd("enew | bwipeout a.txt");
    nvim.cmd("Acp reject all");
    wait_bytes(&nvim, &in_gbk(b"two \xd6\xd0\nmine \xce\xc4\n"));
    nvim.quit();
}

#[test]
fn a_review_of_a_file_in_another_encoding_has_its_characters_once_it_is_open() {
    let (project, change) = gbk();
    let script = Script::new().step(change);
    let nvim = start(project.agent("agent", &script.done()), "b.txt");
    prompt(&nvim);
    nvim.wait_script("agent");
    wait_hunks(
        &nvim,
        json!([[1, ["two \u{d6}\u{d0}"], ["TWO \u{ce}\u{c4}"], "pending"]]),
    );
    nvim.cmd("edit a.txt");
    let hunks = json!([[1, ["two 中"], ["TWO 文"], "pending"]]);
    wait_hunks(&nvim, hunks.clone());
    nvim.cmd("Acp undo-turn");
    nvim.wait_text("undo it");
    nvim.keys("y");
    wait_lines(&nvim, &GBK_LINES);
    wait_bytes(&nvim, &in_gbk(b"two \xd6\xd0\n"));
    nvim.cmd("Acp undo-turn!");
    wait_lines(&nvim, &["one 中文", "TWO 文", "文 last"]);
    wait_hunks(&nvim, hunks.clone());
    // The next Neovim has it before it opens the file, and after that.
    let project = Rc::clone(&nvim.project);
    nvim.quit();
    for opens_first in [false, true] {
        let nvim = Nvim::start(Rc::clone(&project));
        if opens_first {
            nvim.cmd("edit a.txt");
        }
        open(&nvim);
        wait_hunks(&nvim, hunks.clone());
        nvim.cmd("edit a.txt");
        wait_hunks(&nvim, hunks.clone());
        if opens_first {
            nvim.cmd("Acp reject all");
            wait_lines(&nvim, &GBK_LINES);
            wait_bytes(&nvim, &in_gbk(b"two \xd6\xd0\n"));
        }
        nvim.quit();
    }
}

#[test]
fn a_save_over_a_change_keeps_the_characters_of_both() {
    let (project, _) = gbk();
    let script = Script::new().pause("p").pause("q");
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    prompt(&nvim);
    wait_pause(&nvim, "p");
    nvim.keys("ggOmine 文<Esc>");
    // Neovim learns of the change with the save.
    nvim.lua(
        "local old = assert(io.open('a.txt', 'rb'))
        local text = old:read('*a'):gsub('last', '\\206\\196\\214\\208')
        old:close()
        local new = assert(io.open('../beside', 'wb'))
        new:write(text)
        new:close()
        assert(os.rename('../beside', 'a.txt'))
        vim.cmd.write()",
        (),
    );
    wait_lines(&nvim, &["mine 文", "one 中文", "two 中", "文 文中"]);
    go_on(&nvim, "p");
    wait_pause(&nvim, "q");
    go_on(&nvim, "q");
    nvim.wait_script("agent");
    wait_hunks(&nvim, json!([[3, ["文 last"], ["文 文中"], "pending"]]));
    nvim.quit();
}
