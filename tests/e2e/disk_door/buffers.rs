//! Open buffers whose files change on disk.

use std::rc::Rc;

use serde_json::json;

use super::super::files::{
    Script, check_bytes, go_on, hunks, open, prompt, start, touch, turn, wait_hunks, wait_lines,
    wait_pause,
};
use super::{Door, check_silent, options, save};
use crate::harness::{Nvim, Project};
use crate::review::{wait_file, wait_files};

#[test]
fn a_clean_buffer_gets_the_text_and_is_not_reloaded() {
    for autoread in ["set autoread", "set noautoread"] {
        let after = "one\nTWO\nthree\n";
        let door = Door::new(Project::new(), "one\ntwo\nthree\n");
        let nvim = &door.nvim;
        nvim.cmd(autoread);
        door.merge(after);
        wait_lines(nvim, &["one", "TWO", "three"]);
        assert_eq!(options(nvim), json!([false, "unix", true, false, "utf-8"]));
        let ticks = "return { vim.fn.undotree().seq_last, vim.b.changedtick }";
        let before = nvim.lua(ticks, ());
        check_silent(nvim);
        // Neovim has not reloaded the file.
        assert_eq!(nvim.lua(ticks, ()), before);
        nvim.keys("GAx<Esc>");
        save(nvim, "write");
        check_bytes(nvim, "a.txt", "one\nTWO\nthreex\n");
        door.nvim.quit();
    }
}

#[test]
fn a_modified_buffer_keeps_its_changes_and_is_saved_without_a_question() {
    for command in ["write", "wall", "update"] {
        let after = "one\nTWO\nthree\nfour\n";
        let door = Door::new(Project::new(), "one\ntwo\nthree\n");
        let nvim = &door.nvim;
        nvim.keys("ggOmine<Esc>");
        door.merge(after);
        wait_lines(nvim, &["mine", "one", "TWO", "three", "four"]);
        assert_eq!(options(nvim)[0], true);
        check_silent(nvim);
        save(nvim, command);
        check_bytes(nvim, "a.txt", "mine\none\nTWO\nthree\nfour\n");
        door.nvim.quit();
    }
}

#[test]
fn undo_after_a_merge_marks_the_buffer_as_modified() {
    let after = "one\nTWO\n";
    let door = Door::new(Project::new(), "one\ntwo\n");
    let nvim = &door.nvim;
    door.merge(after);
    wait_lines(nvim, &["one", "TWO"]);
    nvim.keys("u");
    wait_lines(nvim, &["one", "two"]);
    assert_eq!(options(nvim)[0], true);
    check_silent(nvim);
    nvim.keys("<C-r>");
    wait_lines(nvim, &["one", "TWO"]);
    assert_eq!(options(nvim)[0], false);
    nvim.keys("u");
    save(nvim, "write");
    check_bytes(nvim, "a.txt", "one\ntwo\n");
    door.nvim.quit();
}

#[test]
fn undo_past_a_merge_never_marks_the_old_text_as_saved() {
    let after = "one\nTWO\n";
    let door = Door::new(Project::new(), "one\ntwo\n");
    let nvim = &door.nvim;
    nvim.keys("ggOmine<Esc>");
    door.merge(after);
    wait_lines(nvim, &["mine", "one", "TWO"]);
    nvim.keys("uu");
    wait_lines(nvim, &["one", "two"]);
    assert_eq!(options(nvim)[0], true);
    door.nvim.quit();
}

#[test]
fn a_file_that_others_write_to_after_the_session_is_asked_about() {
    let door = Door::new(Project::new(), "one\n");
    let nvim = &door.nvim;
    door.merge("two\n");
    wait_lines(nvim, &["two"]);
    nvim.lua("require('acp').close()", ());
    nvim.wait("no session", || {
        nvim.lua("return require('acp').status().phase", ()) == "none"
    });
    // Until then, changes are merged.
    let log = nvim.project.root().join("state/nvim/acp.log");
    nvim.wait("the project to be closed", || {
        let log = std::fs::read_to_string(&log).unwrap_or_default();
        log.lines().any(|line| line.ends_with(": closed"))
    });
    nvim.keys("GAx<Esc>");
    touch(&nvim.project.path("a.txt"), "three\n");
    nvim.input(":checktime<CR>");
    nvim.wait_text("W12");
    nvim.keys("<CR>");
    nvim.input(":write<CR>");
    nvim.wait_text("WARNING");
    nvim.keys("n");
    check_bytes(nvim, "a.txt", "three\n");
    door.nvim.quit();
}

#[test]
fn a_change_that_neovim_reloads_is_still_attributed_to_the_agent() {
    let door = Door::new(Project::new(), "one\ntwo\n");
    let nvim = &door.nvim;
    touch(&nvim.project.root().join("after"), "one\nTWO\n");
    // Neovim checks the file at the moment the agent has written it.
    nvim.lua(
        "timer = vim.uv.new_timer()
        timer:start(0, 1, vim.schedule_wrap(function() vim.cmd.checktime() end))",
        (),
    );
    turn(nvim);
    wait_lines(nvim, &["one", "TWO"]);
    nvim.lua("timer:stop()", ());
    wait_hunks(nvim, json!([[1, ["two"], ["TWO"], "pending"]]));
    assert_eq!(options(nvim)[0], false);
    check_silent(nvim);
    nvim.lua("require('acp').review.reject('all')", ());
    wait_lines(nvim, &["one", "two"]);
    nvim.wait("the old file", || {
        nvim.project.read("a.txt") == "one\ntwo\n"
    });
    door.nvim.quit();
}

#[test]
fn what_is_written_while_neovim_reads_the_file_is_the_agents() {
    let script = Script::new().pause("half").done();
    let project = Project::new().file("a.txt", "one\ntwo\n");
    let nvim = start(project.agent("agent", &script), "a.txt");
    touch(&nvim.project.root().join("after"), "one\nTWO\n");
    prompt(&nvim);
    wait_pause(&nvim, "half");
    // The rest comes after Neovim has read the empty file, before it says that it has. All in one step,
    // so that the empty file is not merged before.
    nvim.lua(
        "vim.api.nvim_create_autocmd('BufReadPost', {
            once = true,
            callback = function() vim.uv.fs_copyfile('../after', 'a.txt') end,
        })
        io.open('a.txt', 'w'):close()
        vim.cmd.checktime()",
        (),
    );
    nvim.wait("the change", || hunks(&nvim) != json!([]));
    go_on(&nvim, "half");
    nvim.wait_script("agent");
    nvim.wait("the end of the turn", || {
        nvim.user_events()
            .iter()
            .any(|event| event.name == "AcpTurnEnded")
    });
    nvim.cmd("checktime");
    wait_lines(&nvim, &["one", "TWO"]);
    wait_hunks(&nvim, json!([[1, ["two"], ["TWO"], "pending"]]));
    nvim.quit();
}

#[test]
fn a_change_of_the_same_size_while_neovim_reads_the_file_is_the_agents() {
    let script = Script::new().pause("p").done();
    let hook = "autocmd BufReadPost a.txt if exists('g:swap') | unlet g:swap \
                | call rename('../after', 'a.txt') | endif";
    let project = Project::new().before(hook).file("a.txt", "one\ntwo\n");
    let nvim = start(project.agent("agent", &script), "a.txt");
    touch(&nvim.project.root().join("after"), "one\nTWO\n");
    prompt(&nvim);
    wait_pause(&nvim, "p");
    nvim.cmd("let g:swap = 1 | edit");
    wait_hunks(&nvim, json!([[1, ["two"], ["TWO"], "pending"]]));
    wait_lines(&nvim, &["one", "TWO"]);
    go_on(&nvim, "p");
    nvim.wait_script("agent");
    nvim.quit();
}

#[test]
fn a_file_created_while_neovim_opens_its_name_is_the_agents() {
    let script = Script::new().pause("p").done();
    let project = Project::new()
        .before("autocmd BufNewFile new.txt call writefile(['theirs'], 'new.txt')")
        .file("a.txt", "one\n");
    let nvim = start(project.agent("agent", &script), "a.txt");
    prompt(&nvim);
    wait_pause(&nvim, "p");
    nvim.cmd("edit new.txt");
    wait_hunks(&nvim, json!([[0, [], ["theirs"], "pending"]]));
    wait_lines(&nvim, &["theirs"]);
    go_on(&nvim, "p");
    nvim.wait_script("agent");
    nvim.cmd("Acp reject all");
    nvim.wait("the file to go", || !nvim.project.path("new.txt").exists());
    nvim.quit();
}

#[test]
fn the_agents_lines_are_under_review_where_the_user_drops_unsaved_ones_for_them() {
    let undo_turn = "lua require('acp').review.undo_turn({ confirm = false })";
    for (drop, back) in [
        ("edit!", "Acp reject all"),
        ("edit!", undo_turn),
        ("bdelete! | edit a.txt", "Acp reject all"),
        ("bdelete! | new", "Acp reject all"),
    ] {
        let door = Door::of(
            Project::new(),
            "one\ntwo\nthree\nfour\n",
            "sed -i -e s/two/TWO/ -e s/four/FOUR/ a.txt",
        );
        let nvim = &door.nvim;
        nvim.keys("jccuser<Esc>");
        turn(nvim);
        wait_lines(nvim, &["one", "user", "three", "FOUR"]);
        nvim.cmd(drop);
        wait_hunks(
            nvim,
            json!([
                [1, ["two"], ["TWO"], "pending"],
                [3, ["four"], ["FOUR"], "pending"]
            ]),
        );
        nvim.cmd(back);
        wait_file(nvim, "a.txt", "one\ntwo\nthree\nfour\n");
        door.nvim.quit();
    }
}

#[test]
fn a_reject_brings_back_bytes_that_need_another_encoding() {
    for (before, command) in [
        // latin-1, which the result is read as, lacks the old characters.
        (
            "中文\ntwo\n".as_bytes(),
            r"printf '\326\320\316\304\ntwo\n' > a.txt",
        ),
        // Only Neovim knows the encoding.
        (b"\xc4\xe3\xba\xc3\ntwo\n", "rm a.txt"),
        (b"caf\xe9\ntwo\n", "echo one > a.txt"),
    ] {
        let door = Door::of(Project::new(), before, command);
        let nvim = &door.nvim;
        nvim.cmd("set fileencodings=utf-8,gbk,latin1 | edit");
        let path = nvim.project.path("a.txt");
        turn(nvim);
        nvim.wait("the change", || hunks(nvim) != json!([]));
        nvim.cmd("Acp reject all");
        nvim.wait("the old bytes", || {
            std::fs::read(&path).is_ok_and(|bytes| bytes == before)
        });
        assert_eq!(options(nvim)[0], false);
        check_silent(nvim);
        check_bytes(nvim, "a.txt", before);
        door.nvim.quit();
    }
}

#[test]
fn a_hunk_that_the_encoding_lacks_is_rejected_in_the_buffer_alone() {
    let converted = b"\xd6\xd0\ntwo\n";
    let command = r"printf '\326\320\ntwo\n' > a.txt";
    let door = Door::of(Project::new(), "中\ntwo\n", command);
    let nvim = &door.nvim;
    turn(nvim);
    wait_lines(nvim, &["ÖÐ", "two"]);
    nvim.cmd("1 | Acp reject hunk");
    nvim.wait_text("Not saved: latin1 has no '中'");
    wait_lines(nvim, &["中", "two"]);
    assert_eq!(options(nvim)[0], true);
    check_bytes(nvim, "a.txt", converted);
    nvim.cmd("set fileencoding=utf-8");
    save(nvim, "write");
    check_bytes(nvim, "a.txt", "中\ntwo\n");
    door.nvim.quit();
}

#[test]
fn a_turn_is_undone_whose_only_change_the_user_took_for_unsaved_lines() {
    let door = Door::of(Project::new(), "one\ntwo\n", "sed -i s/two/TWO/ a.txt");
    let nvim = &door.nvim;
    nvim.keys("jccuser<Esc>");
    turn(nvim);
    nvim.wait_text("conflict");
    nvim.cmd("edit!");
    wait_hunks(nvim, json!([[1, ["two"], ["TWO"], "pending"]]));
    nvim.lua("require('acp').review.undo_turn({ confirm = false })", ());
    wait_file(nvim, "a.txt", "one\ntwo\n");
    door.nvim.quit();
}

#[test]
fn a_deleted_file_in_an_encoding_of_neovims_is_restored_without_its_buffer() {
    // In the second one, latin-1 has every character of the text.
    for before in [b"\xc4\xe3\xba\xc3\ntwo\n", b"\xa8\xa6\xa8\xa2\ntwo\n"] {
        for (is_next, is_early) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut project = Project::new();
            if is_early {
                // It is opened before the chat.
                project = project.before("set fileencodings=utf-8,gbk,latin1");
            }
            let door = Door::of(project, before, "rm a.txt");
            let mut nvim = door.nvim;
            if !is_early {
                nvim.cmd("set fileencodings=utf-8,gbk,latin1 | edit");
            }
            let path = nvim.project.path("a.txt");
            turn(&nvim);
            wait_files(&nvim, 1);
            if is_next {
                let project = Rc::clone(&nvim.project);
                nvim.quit();
                nvim = Nvim::start(project);
                open(&nvim);
                wait_files(&nvim, 1);
            } else {
                nvim.cmd("bwipeout! a.txt");
            }
            nvim.cmd("Acp reject all");
            nvim.wait("the old bytes", || {
                std::fs::read(&path).is_ok_and(|bytes| bytes == before)
            });
            wait_files(&nvim, 0);
            check_bytes(&nvim, "a.txt", before);
            nvim.quit();
        }
    }
}
