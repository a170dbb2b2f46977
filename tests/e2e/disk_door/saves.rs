//! The user saves over a file that others have changed this very moment.

use std::io::Write;

use serde_json::json;

use super::super::files::{
    Script, check_bytes, go_on, prompt, start, touch, turn, wait_hunks, wait_lines, wait_pause,
};
use super::{Door, options, save};
use crate::harness::{Nvim, Project};
use crate::review::wait_file;

/// Puts a file in the place of `a.txt` at once, as a program that renames does.
fn replace(nvim: &Nvim, content: impl AsRef<[u8]>) {
    let beside = nvim.project.root().join("beside");
    touch(&beside, content);
    std::fs::rename(&beside, nvim.project.path("a.txt")).expect("it can be moved");
}

/// Starts on a file in a project that is watched by now.
#[track_caller]
fn watched(project: Project, before: &str) -> Door {
    let door = Door::of(project, before, "true");
    turn(&door.nvim);
    door
}

#[test]
fn what_others_have_just_written_outlives_the_users_save() {
    for command in [
        "write",
        "wall",
        "write!",
        "update",
        "set backupcopy=yes | write",
        "set nowritebackup | write",
    ] {
        let door = watched(Project::new(), "one\ntwo\nthree\n");
        let nvim = &door.nvim;
        nvim.keys("G5|ax<Esc>");
        for _ in 0..5 {
            let there = nvim.project.read("a.txt").replacen("one", "one 1", 1);
            replace(nvim, &there);
            save(nvim, command);
            let saved = there.replacen("three", "threex", 1);
            wait_file(nvim, "a.txt", &saved);
            wait_lines(nvim, &saved.lines().collect::<Vec<_>>());
            nvim.wait("an unmodified buffer", || options(nvim)[0] == false);
            nvim.keys("G5|ax<Esc>");
        }
        door.nvim.quit();
    }
}

#[test]
fn a_save_is_done_when_it_returns_and_the_change_comes_back_afterwards() {
    let door = watched(Project::new(), "one\ntwo\nthree\n");
    let nvim = &door.nvim;
    nvim.keys("GAx<Esc>");
    touch(&nvim.project.root().join("beside"), "ONE\ntwo\nthree\n");
    // Nothing but the main thread runs in between that could have a merge ready.
    let saved = nvim.lua(
        "assert(vim.uv.fs_rename('../beside', 'a.txt'))
        vim.cmd.write()
        return { vim.fn.readfile('a.txt'), vim.bo.modified }",
        (),
    );
    // The change may have come back by now.
    assert_eq!((&saved[0][2], &saved[1]), (&json!("threex"), &json!(false)));
    wait_file(nvim, "a.txt", "ONE\ntwo\nthreex\n");
    wait_lines(nvim, &["ONE", "two", "threex"]);
    door.nvim.quit();
}

#[test]
fn what_an_agent_has_just_written_is_a_hunk_after_the_users_save() {
    let script = Script::new()
        .step(json!({ "touch": { "path": "${cwd}/../beside", "content": "ONE\ntwo\nthree\n" } }))
        .pause("p");
    let project = Project::new().file("a.txt", "one\ntwo\nthree\n");
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    nvim.keys("GAx<Esc>");
    prompt(&nvim);
    wait_pause(&nvim, "p");
    nvim.lua(
        "assert(vim.uv.fs_rename('../beside', 'a.txt'))
        vim.cmd.write()",
        (),
    );
    wait_file(&nvim, "a.txt", "ONE\ntwo\nthreex\n");
    wait_hunks(&nvim, json!([[0, ["one"], ["ONE"], "pending"]]));
    go_on(&nvim, "p");
    nvim.wait_script("agent");
    nvim.cmd("Acp reject all");
    wait_file(&nvim, "a.txt", "one\ntwo\nthreex\n");
    nvim.quit();
}

#[test]
fn what_others_have_just_written_outlives_neovim() {
    for command in ["wq", "xit", "wqall"] {
        let nvim = watched(Project::new(), "one\ntwo\nthree\n").nvim;
        nvim.keys("GAx<Esc>");
        nvim.cmd("only");
        replace(&nvim, "ONE\ntwo\nthree\n");
        nvim.input(&format!(":{command}<CR>"));
        wait_file(&nvim, "a.txt", "ONE\ntwo\nthreex\n");
        nvim.wait_gone();
    }
}

#[test]
fn a_hook_that_formats_is_run_once_and_the_change_comes_behind_it() {
    let format = "autocmd BufWritePre *.txt %s/;$//e | let g:runs = get(g:, 'runs', 0) + 1";
    let door = watched(Project::new().before(format), "one\ntwo\nthree\n");
    let nvim = &door.nvim;
    nvim.keys("GAx;<Esc>");
    touch(&nvim.project.root().join("beside"), "ONE;\ntwo\nthree\n");
    nvim.lua(
        "assert(vim.uv.fs_rename('../beside', 'a.txt'))
        vim.cmd.write()",
        (),
    );
    wait_file(nvim, "a.txt", "ONE;\ntwo\nthreex\n");
    wait_lines(nvim, &["ONE;", "two", "threex"]);
    assert_eq!(nvim.lua("return vim.g.runs", ()), 1);
    door.nvim.quit();
}

#[test]
fn a_file_that_is_being_written_is_asked_about_and_merged_when_its_writer_is_done() {
    let project = Project::new().file("b.txt", "b\n");
    let door = watched(project, "one\ntwo\nthree\n");
    let nvim = &door.nvim;
    nvim.lua("vim.fn.bufload(vim.fn.bufadd('b.txt'))", ());
    nvim.keys("GAx<Esc>");
    let mut file = std::fs::File::create(nvim.project.path("a.txt")).expect("it is there");
    file.write_all(b"ONE\n").expect("it can be written");
    // Changes are observed in their order: with this one, the writer of the other file is known.
    touch(&nvim.project.path("b.txt"), "B\n");
    nvim.wait("the other file", || {
        nvim.lua("return vim.fn.getbufline('b.txt', 1)[1]", ()) == "B"
    });
    nvim.input(":write<CR>");
    nvim.wait("the question", || nvim.mode() == "r?");
    nvim.wait_text("WARNING");
    file.write_all(b"two\nthree\n").expect("it can be written");
    drop(file);
    // Neovim drops the keys that come together with the answer.
    nvim.input("n");
    nvim.wait("the prompts to end", || {
        if nvim.mode() == "r" {
            nvim.input("<CR>");
        }
        !nvim.blocked()
    });
    wait_lines(nvim, &["ONE", "two", "threex"]);
    check_bytes(nvim, "a.txt", "ONE\ntwo\nthree\n");
    save(nvim, "write");
    wait_file(nvim, "a.txt", "ONE\ntwo\nthreex\n");
    door.nvim.quit();
}

#[test]
fn a_new_file_that_the_user_writes_during_a_turn_is_the_users() {
    let script = Script::new()
        .pause("p")
        .step(json!({ "shell": "sed -i s/one/ONE/ a.txt" }));
    let project = Project::new().file("a.txt", "one\n");
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    nvim.cmd("set hidden");
    prompt(&nvim);
    wait_pause(&nvim, "p");
    nvim.cmd("enew");
    nvim.keys("imine<Esc>");
    nvim.cmd("write notes.md");
    go_on(&nvim, "p");
    nvim.wait_script("agent");
    wait_hunks(&nvim, json!([[0, ["one"], ["ONE"], "pending"]]));
    nvim.cmd("Acp reject all");
    wait_file(&nvim, "a.txt", "one\n");
    assert_eq!(nvim.buf_lines(0), ["mine"]);
    check_bytes(&nvim, "notes.md", "mine\n");
    nvim.quit();
}

#[test]
fn what_the_user_writes_to_another_file_during_a_turn_is_the_users() {
    let script = Script::new()
        .pause("p")
        .step(json!({ "shell": "sed -i s/two/TWO/ a.txt" }))
        .pause("q");
    let project = Project::new()
        .file("a.txt", "one\ntwo\nthree\n")
        .file("notes.txt", "note\n");
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    nvim.cmd("set nomore");
    prompt(&nvim);
    wait_pause(&nvim, "p");
    for command in [
        "write copy.txt",
        "2write part.txt",
        "write >> notes.txt",
        "1write >> notes.txt",
    ] {
        nvim.cmd(command);
    }
    go_on(&nvim, "p");
    wait_pause(&nvim, "q");
    // It does not make the buffer the present file's.
    nvim.cmd("write! copy.txt");
    let copy = nvim.project.read("copy.txt");
    go_on(&nvim, "q");
    nvim.wait_script("agent");
    wait_hunks(&nvim, json!([[1, ["two"], ["TWO"], "pending"]]));
    nvim.cmd("Acp reject all");
    wait_hunks(&nvim, json!([]));
    wait_file(&nvim, "a.txt", "one\ntwo\nthree\n");
    check_bytes(&nvim, "copy.txt", copy);
    check_bytes(&nvim, "part.txt", "two\n");
    check_bytes(&nvim, "notes.txt", "note\none\ntwo\nthree\none\n");
    nvim.quit();
}

#[test]
fn the_swap_and_undo_files_that_neovim_keeps_beside_a_file_are_not_the_agents() {
    let script = Script::new()
        .pause("p")
        .step(json!({ "shell": "sed -i s/two/TWO/ a.txt; echo hi > .c.txt.swp" }))
        .pause("q");
    let project = Project::new()
        .before("set directory=. swapfile updatecount=1 undodir=. undofile")
        .file("a.txt", "one\ntwo\nthree\n")
        .file("b.txt", "b\n");
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    nvim.cmd("set nomore");
    prompt(&nvim);
    wait_pause(&nvim, "p");
    nvim.keys(":split b.txt<CR>onew<Esc>");
    nvim.cmd("write");
    nvim.cmd("close");
    go_on(&nvim, "p");
    wait_pause(&nvim, "q");
    nvim.cmd("bwipeout b.txt");
    go_on(&nvim, "q");
    nvim.wait_script("agent");
    // A text is none of them, under any name.
    let hunks = json!([[0, [], ["hi"], "pending"], [1, ["two"], ["TWO"], "pending"]]);
    wait_hunks(&nvim, hunks);
    nvim.cmd("Acp reject all");
    wait_hunks(&nvim, json!([]));
    wait_file(&nvim, "a.txt", "one\ntwo\nthree\n");
    check_bytes(&nvim, "b.txt", "b\nnew\n");
    let is_there = |path: &str| nvim.project.path(path).exists();
    assert!(is_there(".b.txt.un~"), "the undo file is there");
    assert!(is_there(".a.txt.swp"), "the swap file is there");
    nvim.wait("the agent's text to go", || !is_there(".c.txt.swp"));
    assert!(!is_there(".b.txt.swp"), "a closed file has no swap file");
    nvim.quit();
}

/// A line of the user's that a save hook formats on disk stays the user's.
#[track_caller]
fn formatted_by(after_write: &str) {
    let script = Script::new()
        .pause("p")
        .step(json!({ "shell": "sed -i s/two/TWO/ a.txt" }))
        .pause("q");
    let project = Project::new()
        .before(&format!("autocmd BufWritePost a.txt {after_write}"))
        .file("a.txt", "one\ntwo\nthree\nfour\nfive\n");
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    nvim.cmd("set nomore");
    prompt(&nvim);
    wait_pause(&nvim, "p");
    nvim.keys("Gox=1<Esc>");
    nvim.input(":write<CR>");
    wait_lines(&nvim, &["one", "two", "three", "four", "five", "x = 1"]);
    go_on(&nvim, "p");
    wait_pause(&nvim, "q");
    wait_lines(&nvim, &["one", "TWO", "three", "four", "five", "x = 1"]);
    go_on(&nvim, "q");
    nvim.wait_script("agent");
    wait_hunks(&nvim, json!([[1, ["two"], ["TWO"], "pending"]]));
    nvim.cmd("Acp reject all");
    wait_hunks(&nvim, json!([]));
    wait_file(&nvim, "a.txt", "one\ntwo\nthree\nfour\nfive\nx = 1\n");
    nvim.quit();
}

#[test]
fn a_saved_line_that_a_hook_formats_stays_the_users_when_the_file_is_read_again() {
    formatted_by("silent !sed -i 's/x=1/x = 1/' % | edit");
}

#[test]
fn a_saved_line_that_a_hook_formats_stays_the_users_when_its_change_is_noticed() {
    formatted_by("silent !sed -i 's/x=1/x = 1/' %");
}

#[test]
fn a_saved_line_that_a_hook_formats_stays_the_users_when_it_is_looked_for() {
    formatted_by("call system('sed -i \"s/x=1/x = 1/\" a.txt') | checktime");
}

#[test]
fn a_partial_write_to_the_buffers_own_file_leaves_the_buffer_as_it_is() {
    for command in ["2write!", "1write >> %"] {
        let script = Script::new()
            .pause("p")
            .step(json!({ "shell": "sed -i s/two/TWO/ a.txt" }));
        let project = Project::new().file("a.txt", "one\ntwo\nthree\n");
        let nvim = start(project.agent("agent", &script.done()), "a.txt");
        prompt(&nvim);
        wait_pause(&nvim, "p");
        nvim.cmd(command);
        go_on(&nvim, "p");
        nvim.wait_script("agent");
        wait_lines(&nvim, &["one", "TWO", "three"]);
        wait_hunks(&nvim, json!([[1, ["two"], ["TWO"], "pending"]]));
        save(&nvim, "write");
        check_bytes(&nvim, "a.txt", "one\nTWO\nthree\n");
        nvim.quit();
    }
}

#[test]
fn a_save_that_fails_after_its_hooks_leaves_the_lines_unsaved() {
    let project = Project::new().before("set backupskip= backupdir=/dev/null/x nomore");
    let door = Door::of(project, "one\ntwo\nthree\n", "sed -i s/one/ONE/ a.txt");
    let nvim = &door.nvim;
    nvim.cmd("autocmd BufWritePre a.txt call append('$', 'hook')");
    nvim.keys("GAx<Esc>");
    nvim.input(":write<CR>");
    nvim.wait("the failure", || {
        if nvim.blocked() {
            nvim.input("<CR>");
        }
        let why = nvim.lua("return vim.v.errmsg", ());
        why.as_str().is_some_and(|why| why.contains("E510"))
    });
    turn(nvim);
    wait_lines(nvim, &["ONE", "two", "threex", "hook"]);
    assert_eq!(options(nvim)[0], true);
    check_bytes(nvim, "a.txt", "ONE\ntwo\nthree\n");
    door.nvim.quit();
}
