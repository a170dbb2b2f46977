//! Files that agents' commands delete, move, format or make executable.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use super::super::files::{
    Script, check_bytes, go_on, hunks, prompt, start, touch, turn, wait_hunks, wait_lines,
    wait_pause,
};
use super::{Door, check_silent, options, save};
use crate::harness::{Nvim, Project};
use crate::review::{wait_file, wait_files, wait_window_closed};

/// Returns the names of all file buffers, listed or not, and the alternate buffer's.
fn buffers(nvim: &Nvim) -> serde_json::Value {
    nvim.lua(
        "local names = {}
        for _, buf in ipairs(vim.api.nvim_list_bufs()) do
            if vim.bo[buf].buftype == '' then
                table.insert(names, vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ':t'))
            end
        end
        return { names, vim.fn.bufname('#') }",
        (),
    )
}

/// Waits until the current buffer's file has this name.
#[track_caller]
fn wait_name(nvim: &Nvim, name: &str) {
    nvim.wait(&format!("the name {name}"), || {
        nvim.lua("return vim.fn.expand('%:t')", ()) == name
    });
}

#[test]
fn a_deleted_file_causes_no_error_and_write_restores_it() {
    let door = Door::of(Project::new(), "one\ntwo\n", "rm a.txt");
    let nvim = &door.nvim;
    turn(nvim);
    wait_lines(nvim, &[""]);
    check_silent(nvim);
    nvim.keys("u");
    wait_lines(nvim, &["one", "two"]);
    // The text exists only in the buffer now.
    assert_eq!(options(nvim)[0], true);
    check_silent(nvim);
    save(nvim, "write");
    check_bytes(nvim, "a.txt", "one\ntwo\n");
    check_silent(nvim);
    door.nvim.quit();
}

#[test]
fn a_file_that_a_pipe_has_replaced_is_deleted_and_comes_back() {
    let door = Door::of(Project::new(), "one\ntwo\n", "rm a.txt; mkfifo a.txt");
    let nvim = &door.nvim;
    turn(nvim);
    wait_hunks(nvim, json!([[0, ["one", "two"], [], "pending"]]));
    nvim.cmd("Acp reject all");
    wait_lines(nvim, &["one", "two"]);
    wait_hunks(nvim, json!([]));
    check_bytes(nvim, "a.txt", "one\ntwo\n");
    check_silent(nvim);
    door.nvim.quit();
}

#[test]
fn a_deleted_file_leaves_the_users_lines_in_the_buffer() {
    let door = Door::of(Project::new(), "one\ntwo\n", "rm a.txt");
    let nvim = &door.nvim;
    nvim.keys("omine<Esc>");
    turn(nvim);
    nvim.wait("the merge to keep the user's line", || {
        nvim.buf_lines(0).contains(&"mine".to_owned()) && hunks(nvim) != json!([])
    });
    nvim.wait("the message", || {
        nvim.messages().contains("was deleted on disk")
    });
    assert_eq!(options(nvim)[0], true);
    check_silent(nvim);
    save(nvim, "write");
    assert!(nvim.project.read("a.txt").contains("mine\n"));
    door.nvim.quit();
}

#[test]
fn a_file_that_is_deleted_and_recreated_is_followed() {
    let command = "rm a.txt; sleep 0.2; printf 'one\\nTWO\\n' > a.txt";
    let door = Door::of(Project::new(), "one\ntwo\n", command);
    let nvim = &door.nvim;
    turn(nvim);
    wait_lines(nvim, &["one", "TWO"]);
    check_silent(nvim);
    nvim.keys("GAx<Esc>");
    save(nvim, "write");
    check_bytes(nvim, "a.txt", "one\nTWOx\n");
    door.nvim.quit();
}

/// Has the agent move the open file, which is long enough to be recognised as moved.
#[track_caller]
fn check_moved(command: &str, keys: &str, first: &str) {
    let text: String = (1..=30)
        .map(|n| format!("local line_{n} = {n}\n"))
        .collect();
    let door = Door::of(Project::new().file("other.txt", "other\n"), &text, command);
    let nvim = &door.nvim;
    nvim.cmd("edit other.txt | edit a.txt | set hidden");
    nvim.keys(keys);
    let before = nvim.lua("return { vim.fn.bufnr(), vim.fn.undotree().seq_last }", ());
    turn(nvim);
    wait_name(nvim, "b.lua");
    assert_eq!(nvim.buf_lines(0)[0], first);
    assert_eq!(options(nvim)[0], !keys.is_empty());
    assert_eq!(
        nvim.lua("return { vim.fn.bufnr(), vim.fn.undotree().seq_last }", ()),
        before
    );
    assert_eq!(buffers(nvim), json!([["b.lua", "other.txt"], "other.txt"]));
    assert_eq!(nvim.lua("return vim.bo.filetype", ()), "text");
    check_silent(nvim);
    nvim.keys("GAx<Esc>");
    save(nvim, "write");
    assert!(!nvim.project.path("a.txt").exists());
    let written = nvim.project.read("b.lua");
    assert!(written.starts_with(first) && written.ends_with("30x\n"));
    let swap = nvim.lua("return vim.fn.fnamemodify(vim.fn.swapname(''), ':t')", ());
    assert!(
        swap.as_str().is_some_and(|swap| swap.contains("b.lua")),
        "{swap}"
    );
    door.nvim.quit();
}

#[test]
fn what_a_call_changes_after_the_turn_is_reviewed() {
    let call =
        |status: &str| json!({ "id": "t", "title": "make", "kind": "execute", "status": status });
    let script = Script::new()
        .ends()
        .step(json!({ "tool": call("in_progress") }))
        .pause("p")
        .step(json!({ "shell": "sed -i s/one/ONE/ a.txt" }))
        .step(json!({ "tool_update": call("completed") }));
    let project = Project::new().file("a.txt", "one\n");
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    prompt(&nvim);
    nvim.wait("the agent to work", || {
        nvim.screen().text().contains("works on its own")
    });
    wait_pause(&nvim, "p");
    go_on(&nvim, "p");
    wait_hunks(&nvim, json!([[0, ["one"], ["ONE"], "pending"]]));
    nvim.wait("the agent to rest", || {
        !nvim.screen().text().contains("works on its own")
    });
    nvim.cmd("Acp reject all");
    wait_file(&nvim, "a.txt", "one\n");
    nvim.quit();
}

#[test]
fn a_moved_file_keeps_its_buffer() {
    check_moved("mv a.txt b.lua", "", "local line_1 = 1");
    check_moved("mv a.txt b.lua", "ggOmine<Esc>", "mine");
}

#[test]
fn a_file_moved_by_git_keeps_its_buffer() {
    let git = "git init -q . && git add a.txt && git mv a.txt b.lua";
    check_moved(git, "", "local line_1 = 1");
}

#[test]
fn a_file_moved_into_a_folder_named_like_a_home_is_not_taken_for_one_there() {
    let text: String = (1..=30)
        .map(|n| format!("local line_{n} = {n}\n"))
        .collect();
    let door = Door::of(Project::new(), &text, "mkdir ./~ && mv a.txt ./~/b.txt");
    let nvim = &door.nvim;
    turn(nvim);
    wait_name(nvim, "b.txt");
    let name = nvim.lua("return vim.api.nvim_buf_get_name(0)", ());
    let real = |path: &Path| path.canonicalize().expect("it is there");
    let name = Path::new(name.as_str().expect("a name"));
    assert_eq!(real(name), real(&nvim.project.path("~/b.txt")));
    check_silent(nvim);
    nvim.keys("GAx<Esc>");
    save(nvim, "write");
    assert!(nvim.project.read("~/b.txt").ends_with("30x\n"));
    door.nvim.quit();
}

#[test]
fn a_change_from_before_a_move_can_be_rejected_with_it() {
    let script = Script::new()
        .writes("a.txt", "one\nTWO\nthree\n")
        .turn()
        .step(json!({ "shell": "mv a.txt b.txt" }));
    let project = Project::new().file("a.txt", "one\ntwo\nthree\n");
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    turn(&nvim);
    turn(&nvim);
    wait_name(&nvim, "b.txt");
    // The new buffer name is as short as the old one.
    assert_eq!(nvim.lua("return vim.fn.bufname()", ()), "b.txt");
    nvim.cmd("messages clear");
    nvim.cmd("Acp reject file");
    wait_name(&nvim, "a.txt");
    nvim.wait("the old text", || {
        let is_saved = nvim.lua("return not vim.bo.modified", ()) == true;
        is_saved && nvim.project.read("a.txt") == "one\ntwo\nthree\n"
    });
    assert!(!nvim.project.path("b.txt").exists());
    assert!(
        !nvim.messages().contains("Not saved"),
        "{}",
        nvim.messages()
    );
    check_silent(&nvim);
    nvim.quit();
}

#[test]
fn a_file_moved_over_another_open_one_loses_neither_text() {
    let text: String = (1..=30)
        .map(|n| format!("local line_{n} = {n}\n"))
        .collect();
    let project = Project::new().file("b.txt", "b\n");
    let door = Door::of(project, &text, "mv a.txt b.txt");
    let nvim = &door.nvim;
    nvim.cmd("set hidden | edit b.txt");
    nvim.keys("omine<Esc>");
    nvim.cmd("buffer a.txt");
    nvim.keys("ggOtyped<Esc>");
    turn(nvim);
    wait_files(nvim, 2);
    // The user's line stays; the others are gone with the file, and can be rejected.
    wait_lines(nvim, &["typed"]);
    check_silent(nvim);
    nvim.cmd("buffer b.txt");
    let both: Vec<&str> = text.lines().chain(["mine"]).collect();
    wait_lines(nvim, &both);
    door.nvim.quit();
}

#[test]
fn a_write_that_a_command_takes_back_at_once_is_not_listed() {
    for shown in ["a.txt", ""] {
        let script = Script::new()
            .writes("a.txt", "two\n")
            .step(json!({ "shell": "echo one > b.txt; mv b.txt a.txt" }))
            .done();
        let project = Project::new().file("a.txt", "one\n");
        let nvim = start(project.agent("agent", &script), shown);
        turn(&nvim);
        wait_files(&nvim, 0);
        if !shown.is_empty() {
            wait_lines(&nvim, &["one"]);
        }
        nvim.quit();
    }
}

/// Has the agent put a link in the place of a file and write through it; the user rejects all.
#[track_caller]
fn check_replaced_by_link(shown: &str) {
    let script = Script::new()
        .step(json!({ "shell": "mv a.txt real.txt; ln -s real.txt a.txt" }))
        .step(json!({ "signal_file": "${script_dir}/linked" }))
        .step(json!({ "wait_file": "${script_dir}/go" }))
        .writes("a.txt", "one\nTWO\nthree\n")
        .done();
    let project = Project::new()
        .file("a.txt", "one\ntwo\nthree\n")
        .config("log_level", json!("debug"))
        .agent("agent", &script);
    let nvim = start(project, shown);
    let folder = nvim.project.root().join("agents");
    prompt(&nvim);
    nvim.wait("the link", || folder.join("linked").exists());
    wait_files(&nvim, 2);
    touch(&folder.join("go"), "");
    nvim.wait_script("agent");
    wait_window_closed(&nvim);
    nvim.cmd("Acp reject all");
    let place = |name| nvim.project.path(name);
    nvim.wait("the file as it was", || {
        let is_link = place("a.txt").is_symlink();
        !is_link && std::fs::read_to_string(place("a.txt")).is_ok_and(|now| now.contains("two"))
    });
    nvim.wait("the target to be gone", || !place("real.txt").exists());
    wait_files(&nvim, 0);
    check_bytes(&nvim, "a.txt", "one\ntwo\nthree\n");
    nvim.quit();
}

#[test]
fn a_file_replaced_by_a_link_is_restored_with_its_buffer() {
    check_replaced_by_link("a.txt");
}

#[test]
fn a_file_replaced_by_a_link_is_restored_without_a_buffer() {
    check_replaced_by_link("");
}

#[test]
fn a_file_made_executable_is_not_reloaded() {
    for autoread in ["set autoread", "set noautoread"] {
        let door = Door::of(Project::new(), "one\n", "chmod +x a.txt");
        let nvim = &door.nvim;
        nvim.cmd(autoread);
        let reads = "return { vim.b.changedtick, vim.fn.undotree().seq_last }";
        let before = nvim.lua(reads, ());
        turn(nvim);
        wait_files(nvim, 1);
        check_silent(nvim);
        assert_eq!(nvim.lua(reads, ()), before);
        nvim.keys("Atwo<Esc>");
        save(nvim, "write");
        let mode = nvim.project.path("a.txt").metadata().expect("it is there");
        assert_eq!(mode.permissions().mode() & 0o111, 0o111);
        door.nvim.quit();
    }
}

/// Has `sed -i` change one line of a file, in a buffer or not, and checks that the review and the
/// disk have exactly one changed line.
#[track_caller]
fn check_one_line(before: &[u8], after: &[u8], hunk: serde_json::Value) {
    for keys in [":enew<CR>", "", ":set hidden<CR>:enew<CR>"] {
        let door = Door::of(Project::new(), before, "sed -i 's/two/2/' a.txt");
        let nvim = &door.nvim;
        if keys.is_empty() {
            nvim.cmd("mark a");
        }
        nvim.keys(keys);
        turn(nvim);
        wait_hunks(nvim, json!([hunk]));
        check_bytes(nvim, "a.txt", after);
        check_silent(nvim);
        nvim.lua("require('acp').review.reject('all')", ());
        nvim.wait("the old bytes", || {
            std::fs::read(nvim.project.path("a.txt")).is_ok_and(|bytes| bytes == before)
        });
        check_silent(nvim);
        door.nvim.quit();
    }
}

#[test]
fn one_line_changed_by_sed_is_one_changed_line_in_review_and_file() {
    let hunk = json!([1, ["two"], ["2"], "pending"]);
    check_one_line(b"one\ntwo\nthree\n", b"one\n2\nthree\n", hunk.clone());
    check_one_line(b"one\ntwo\nthree", b"one\n2\nthree", hunk.clone());
    check_one_line(
        b"one\r\ntwo\r\nthree\r\n",
        b"one\r\n2\r\nthree\r\n",
        hunk.clone(),
    );
    check_one_line(
        b"\xef\xbb\xbfone\ntwo\n",
        b"\xef\xbb\xbfone\n2\n",
        hunk.clone(),
    );
    check_one_line(b"caf\xe9\ntwo\n", b"caf\xe9\n2\n", hunk);
}

#[test]
fn an_empty_file_is_filled_and_a_full_one_emptied() {
    let door = Door::of(Project::new(), "", "printf 'one\\n' > a.txt");
    turn(&door.nvim);
    wait_lines(&door.nvim, &["one"]);
    wait_hunks(&door.nvim, json!([[0, [], ["one"], "pending"]]));
    check_silent(&door.nvim);
    door.nvim.quit();
    let door = Door::of(Project::new(), "one\n", ": > a.txt");
    turn(&door.nvim);
    wait_lines(&door.nvim, &[""]);
    wait_hunks(&door.nvim, json!([[0, ["one"], [], "pending"]]));
    check_silent(&door.nvim);
    check_bytes(&door.nvim, "a.txt", "");
    door.nvim.quit();
}

#[test]
fn a_buffer_in_a_missing_folder_follows_the_file_once_created() {
    let command = "mkdir -p new/folder && printf 'one\\n' > new/folder/b.txt";
    let door = Door::of(Project::new(), "", command);
    let nvim = &door.nvim;
    nvim.cmd("edit new/folder/b.txt");
    turn(nvim);
    wait_lines(nvim, &["one"]);
    assert_eq!(options(nvim)[0], false);
    check_silent(nvim);
    nvim.keys("Ax<Esc>");
    save(nvim, "write");
    check_bytes(nvim, "new/folder/b.txt", "onex\n");
    door.nvim.quit();
}

#[test]
fn a_read_only_file_that_changes_is_followed() {
    let door = Door::of(
        Project::new(),
        "one\ntwo\n",
        "chmod 444 a.txt; sed -i s/two/2/ a.txt",
    );
    let nvim = &door.nvim;
    turn(nvim);
    wait_lines(nvim, &["one", "2"]);
    check_silent(nvim);
    door.nvim.quit();
}

#[test]
fn changing_one_line_of_100_000_keeps_the_marks() {
    let line = |n: usize| format!("line {n} of a file that is larger than any screen\n");
    let before: String = (1..=100_000).map(line).collect();
    let command = "sed -i '70000s/.*/changed/' a.txt";
    let door = Door::of(Project::new(), &before, command);
    let nvim = &door.nvim;
    nvim.keys("80000Gma90000G");
    turn(nvim);
    nvim.wait("the changed line", || {
        nvim.lua("return vim.fn.getline(70000)", ()) == "changed"
    });
    assert_eq!(
        nvim.lua("return { vim.fn.line(\"'a\"), vim.fn.line('.') }", ()),
        json!([80000, 90000])
    );
    let old = "line 70000 of a file that is larger than any screen";
    wait_hunks(nvim, json!([[69_999, [old], ["changed"], "pending"]]));
    check_silent(nvim);
    door.nvim.quit();
}

#[test]
fn typing_while_the_agent_keeps_changing_the_file_loses_nothing() {
    let command = "for i in $(seq 1 30); do sed -i \"1s/.*/agent $i/\" a.txt; sleep 0.02; done";
    let door = Door::of(Project::new(), "agent 0\nb\nc\nd\n", command);
    let nvim = &door.nvim;
    nvim.keys("G");
    nvim.lua("require('acp').prompt('go')", ());
    for n in 0..30 {
        nvim.keys(&format!("otyped {n}<Esc>"));
        nvim.lua("return 0", ());
    }
    nvim.wait_script("agent");
    nvim.wait("the last change", || nvim.buf_lines(0)[0] == "agent 30");
    let typed = (0..30).map(|n| format!("typed {n}"));
    let all: Vec<String> = ["agent 30", "b", "c", "d"]
        .map(str::to_owned)
        .into_iter()
        .chain(typed)
        .collect();
    assert_eq!(nvim.buf_lines(0), all);
    check_silent(nvim);
    save(nvim, "write");
    check_bytes(nvim, "a.txt", all.join("\n") + "\n");
    door.nvim.quit();
}

#[test]
fn files_and_folders_that_replaced_each_other_are_restored_and_brought_back() {
    let deed = "rm -r d; mv a.txt d; mkdir -p a.txt/b; echo three > a.txt/b/x";
    let deleted = |line: &str| json!([0, [line], [], "pending"]);
    let made = |line: &str| json!([0, [], [line], "pending"]);
    // A move of the file was seen unless a folder had replaced it before the look.
    let moved = json!([made("three"), deleted("two")]);
    let created = json!([deleted("one"), made("three"), made("one"), deleted("two")]);
    for open in ["a.txt", "d/x"] {
        let script = Script::new().step(json!({ "shell": deed })).done();
        let project = Project::new().file("a.txt", "one\n").file("d/x", "two\n");
        let nvim = start(project.agent("agent", &script), open);
        let read = |name: &str| std::fs::read_to_string(nvim.project.path(name)).ok();
        let wait = |what: &str, want: [(&str, &str); 2]| {
            nvim.wait(what, || {
                let is_there = |(name, text)| read(name).as_deref() == Some(text);
                want.into_iter().all(is_there) && options(&nvim)[0] == false
            });
        };
        turn(&nvim);
        for _ in 0..2 {
            nvim.wait("the review", || {
                let hunks = hunks(&nvim);
                hunks == created || hunks == moved
            });
            nvim.cmd("Acp reject all");
            wait("the state before", [("a.txt", "one\n"), ("d/x", "two\n")]);
            wait_hunks(&nvim, json!([]));
            nvim.cmd("Acp undo");
            wait(
                "the agent's state",
                [("d", "one\n"), ("a.txt/b/x", "three\n")],
            );
        }
        nvim.quit();
    }
}
