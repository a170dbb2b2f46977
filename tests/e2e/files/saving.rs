//! The agent's writes respect save hooks, protected buffers and errors while saving.

use serde_json::json;

use super::held::is_held;
use super::{
    Script, check_bytes, go_on, last_turn, prompt, start, touch, turn, wait_hunks, wait_lines,
    wait_pause,
};
use crate::harness::{Nvim, Project};
use crate::review::wait_file;

/// Starts a session whose agent changes the second line of `a.txt`, after the Ex command `init`.
#[track_caller]
fn start_with(init: &str, script: Script) -> Nvim {
    let project = Project::new()
        .file("a.txt", "one\ntwo\nthree\n")
        .before(init)
        .agent("agent", &script.done());
    start(project, "a.txt")
}

fn write() -> Script {
    Script::new().writes("a.txt", "one\nTWO\nthree\n")
}

fn write_in_vain(part: &str) -> Script {
    Script::new().writes_in_vain("a.txt", "one\nTWO\nthree\n", -32603, part)
}

#[test]
fn a_formatters_changes_are_attributed_to_the_agent() {
    let format = "autocmd BufWritePre *.txt call setline(3, 'formatted') | call append(0, 'head')";
    let nvim = start_with(format, write());
    last_turn(&nvim);
    wait_lines(&nvim, &["head", "one", "TWO", "formatted"]);
    check_bytes(&nvim, "a.txt", "head\none\nTWO\nformatted\n");
    wait_hunks(
        &nvim,
        json!([
            [0, [], ["head"], "pending"],
            [2, ["two", "three"], ["TWO", "formatted"], "pending"]
        ]),
    );
    nvim.cmd("autocmd! BufWritePre | Acp reject all");
    wait_lines(&nvim, &["one", "two", "three"]);
    nvim.wait("the old file", || {
        nvim.project.read("a.txt") == "one\ntwo\nthree\n"
    });
    nvim.quit();
}

#[test]
fn what_a_save_hook_changes_after_a_reject_is_the_users() {
    let script = Script::new().step(json!({ "shell": "sed -i s/two/TWO/ a.txt" }));
    let nvim = start_with("autocmd BufWritePre *.txt %s/e$/E/e", script);
    turn(&nvim);
    wait_lines(&nvim, &["one", "TWO", "three"]);
    nvim.cmd("Acp reject all");
    wait_lines(&nvim, &["onE", "two", "threE"]);
    wait_hunks(&nvim, json!([]));
    check_bytes(&nvim, "a.txt", "onE\ntwo\nthreE\n");
    nvim.quit();
}

#[test]
fn a_reject_adds_no_final_newline_and_its_save_hooks_see_the_users_option() {
    let script = Script::new().step(json!({ "shell": "printf 'ONE\\ntwo' > a.txt" }));
    let project = Project::new()
        .file("a.txt", "one\ntwo")
        .before("autocmd BufWritePre a.txt let g:fixed = &fixendofline")
        .agent("agent", &script.done());
    let nvim = start(project, "a.txt");
    turn(&nvim);
    wait_lines(&nvim, &["ONE", "two"]);
    nvim.cmd("Acp reject all");
    wait_file(&nvim, "a.txt", "one\ntwo");
    let option = nvim.lua("return { vim.g.fixed, vim.bo.fixendofline }", ());
    assert_eq!(option, json!([1, true]));
    nvim.quit();
}

#[test]
fn a_save_that_a_hook_has_refused_hides_no_removal() {
    let nvim = start_with("", Script::new().step(json!({ "shell": "rm a.txt" })));
    // It runs after this client's.
    nvim.cmd("autocmd BufWritePre a.txt throw 'refused'");
    assert_eq!(nvim.lua("return pcall(vim.cmd.write)", ()), false);
    turn(&nvim);
    wait_lines(&nvim, &[""]);
    nvim.quit();
}

#[test]
fn what_the_agent_writes_while_the_hooks_of_a_reject_wait_is_the_agents() {
    let hook = "autocmd BufWritePre a.txt lua vim.wait(10000, function()
        return vim.api.nvim_buf_get_lines(vim.fn.bufnr('b.txt'), 0, 1, false)[1] == 'B'
    end, 5)";
    let script = Script::new()
        .step(json!({ "shell": "sed -i s/two/TWO/ a.txt" }))
        .pause("p")
        .writes("b.txt", "B\n");
    let project = Project::new()
        .file("a.txt", "one\ntwo\nthree\n")
        .file("b.txt", "b\n")
        .before(&hook.replace('\n', " "))
        .agent("agent", &script.done());
    let nvim = start(project, "a.txt");
    nvim.cmd("badd b.txt | call bufload('b.txt')");
    prompt(&nvim);
    wait_pause(&nvim, "p");
    wait_lines(&nvim, &["one", "TWO", "three"]);
    nvim.cmd("Acp reject all");
    go_on(&nvim, "p");
    wait_lines(&nvim, &["one", "two", "three"]);
    nvim.wait_script("agent");
    nvim.wait("the old file", || {
        nvim.project.read("a.txt") == "one\ntwo\nthree\n"
    });
    nvim.wait("the agent's hunk", || {
        nvim.lua("return #require('acp').review.hunks()", ()) == 1
    });
    nvim.cmd("buffer b.txt | Acp reject all");
    nvim.wait("the other old file", || nvim.project.read("b.txt") == "b\n");
    nvim.quit();
}

#[test]
fn a_save_hook_that_touches_a_new_file_does_not_keep_it_from_being_saved() {
    let script = Script::new().writes("new.txt", "one\n");
    let project = Project::new()
        .before("autocmd BufWritePre new.txt silent !touch %")
        .agent("agent", &script.done());
    let nvim = start(project, "new.txt");
    last_turn(&nvim);
    check_bytes(&nvim, "new.txt", "one\n");
    nvim.quit();
}

#[test]
fn an_event_of_a_save_without_one_does_not_make_the_buffers_lines_the_files() {
    let script = Script::new().step(json!({ "shell": "sed -i s/two/TWO/ a.txt" }));
    let nvim = start_with("", script);
    nvim.cmd("call append(0, 'mine')");
    nvim.cmd("doautocmd BufWritePost");
    turn(&nvim);
    wait_lines(&nvim, &["mine", "one", "TWO", "three"]);
    check_bytes(&nvim, "a.txt", "one\nTWO\nthree\n");
    nvim.cmd("set nomodified");
    nvim.quit();
}

#[test]
fn a_second_write_does_not_revert_the_formatter() {
    let format = "autocmd BufWritePre *.txt %s/;$//e";
    let script = Script::new()
        .reads("a.txt", "one\ntwo\nthree\n")
        .writes("a.txt", "one\nTWO;\nthree\n")
        .writes("a.txt", "one\nTWO;\nthree\nfour;\n");
    let nvim = start_with(format, script);
    last_turn(&nvim);
    check_bytes(&nvim, "a.txt", "one\nTWO\nthree\nfour\n");
    nvim.quit();
}

#[test]
fn a_conflict_is_offered_at_the_line_the_formatter_moved_it_to() {
    let format = "autocmd BufWritePre *.txt call append(0, ['head', 'head'])";
    let script = Script::new()
        .reads("a.txt", "one\ntwo\nthree\n")
        .pause("p")
        .writes_in_vain("a.txt", "one\nagent\nthree\n", -32603, "line 2");
    let nvim = start_with(format, script);
    super::prompt(&nvim);
    wait_pause(&nvim, "p");
    nvim.keys("jccuser<Esc>");
    wait_lines(&nvim, &["one", "user", "three"]);
    go_on(&nvim, "p");
    nvim.wait_script("agent");
    wait_lines(&nvim, &["head", "head", "one", "user", "three"]);
    nvim.cmd("autocmd! BufWritePre | 4 | Acp accept hunk");
    wait_lines(&nvim, &["head", "head", "one", "agent", "three"]);
    nvim.quit();
}

#[test]
fn a_failing_save_hook_is_reported_to_the_agent_and_nothing_is_lost() {
    let nvim = start_with(
        "autocmd BufWritePre *.txt throw 'no formatter'",
        write_in_vain("no formatter")
            .turn()
            .writes("a.txt", "one\nTWO\nthree\n"),
    );
    nvim.keys("Ouser<Esc>");
    turn(&nvim);
    wait_lines(&nvim, &["user", "one", "TWO", "three"]);
    check_bytes(&nvim, "a.txt", "one\ntwo\nthree\n");
    assert_eq!(nvim.lua("return vim.bo.modified", ()), true);
    wait_hunks(&nvim, json!([[2, ["two"], ["TWO"], "pending"]]));
    // The agent's next write succeeds once the hook is gone.
    nvim.cmd("autocmd! BufWritePre");
    last_turn(&nvim);
    check_bytes(&nvim, "a.txt", "user\none\nTWO\nthree\n");
    wait_lines(&nvim, &["user", "one", "TWO", "three"]);
    nvim.quit();
}

#[test]
fn a_hook_that_writes_the_file_itself_and_fails_does_not_make_it_a_saved_one() {
    let hook = "autocmd BufWritePre a.txt call writefile(['hook'], 'a.txt') | throw 'no formatter'";
    // The buffer has this text, and its file is gone: there is nothing to edit.
    let script = Script::new().writes_in_vain("a.txt", "one\ntwo\nthree\n", -32603, "no formatter");
    let nvim = start_with(hook, script);
    nvim.cmd("call delete('a.txt')");
    last_turn(&nvim);
    check_bytes(&nvim, "a.txt", "hook\n");
    nvim.quit();
}

#[test]
fn a_hook_that_fails_after_the_save_does_not_make_it_a_failed_one() {
    let nvim = start_with("autocmd BufWritePost *.txt throw 'no linter'", write());
    turn(&nvim);
    nvim.wait_text("a.txt is saved; a save hook failed: BufWritePost");
    check_bytes(&nvim, "a.txt", "one\nTWO\nthree\n");
    wait_hunks(&nvim, json!([[1, ["two"], ["TWO"], "pending"]]));
    nvim.cmd("Acp reject all");
    wait_hunks(&nvim, json!([]));
    nvim.wait("the old text", || {
        let text = std::fs::read(nvim.project.path("a.txt"));
        text.is_ok_and(|text| text == b"one\ntwo\nthree\n")
    });
    assert_eq!(nvim.lua("return vim.bo.modified", ()), false);
    nvim.quit();
}

#[test]
fn a_buffer_that_a_save_hook_wipes_out_is_saved_without_an_error() {
    let project = Project::new()
        .file("a.txt", "one\ntwo\nthree\n")
        .before("autocmd BufWritePre a.txt if get(g:, 'early') | enew | bwipeout! # | endif")
        .before("autocmd BufWritePost a.txt enew | bwipeout #")
        .agent("agent", &write().done());
    let nvim = start(project, "a.txt");
    nvim.cmd("let g:early = 1");
    assert_eq!(nvim.lua("return pcall(vim.cmd.write)", ()), false);
    nvim.cmd("unlet g:early | edit a.txt | write");
    nvim.cmd("edit a.txt");
    last_turn(&nvim);
    check_bytes(&nvim, "a.txt", "one\nTWO\nthree\n");
    assert_eq!(nvim.lua("return vim.fn.bufexists('a.txt')", ()), 0);
    assert!(!nvim.messages().contains("internal error"));
    nvim.quit();
}

#[test]
fn a_readonly_buffer_is_not_written_to() {
    let nvim = start_with("set nomore", write_in_vain("read-only"));
    nvim.cmd("setlocal readonly");
    last_turn(&nvim);
    wait_lines(&nvim, &["one", "two", "three"]);
    check_bytes(&nvim, "a.txt", "one\ntwo\nthree\n");
    wait_hunks(&nvim, json!([]));
    nvim.quit();
}

#[test]
fn a_buffer_that_cannot_be_modified_is_not_written_to() {
    let nvim = start_with("set nomore", write_in_vain("modifiable"));
    nvim.cmd("noautocmd setlocal nomodifiable");
    last_turn(&nvim);
    wait_lines(&nvim, &["one", "two", "three"]);
    check_bytes(&nvim, "a.txt", "one\ntwo\nthree\n");
    nvim.quit();
}

#[test]
fn a_file_that_became_read_only_is_not_overwritten() {
    use std::os::unix::fs::PermissionsExt;
    let nvim = start_with("set nomore", write_in_vain("read-only"));
    let path = nvim.project.path("a.txt");
    let mode = std::fs::Permissions::from_mode(0o444);
    std::fs::set_permissions(path, mode).expect("the mode can be set");
    last_turn(&nvim);
    wait_lines(&nvim, &["one", "TWO", "three"]);
    check_bytes(&nvim, "a.txt", "one\ntwo\nthree\n");
    assert_eq!(nvim.lua("return vim.bo.modified", ()), true);
    nvim.quit();
}

/// Has the agent write to a buffer that is renamed to an existing file, after the Ex command `init`.
#[track_caller]
fn check_renamed(init: &str) -> Nvim {
    let script = Script::new().writes_in_vain("b.txt", "TWO\n", -32603, "E13");
    let project = Project::new().file("a.txt", "two\n").file("b.txt", "b\n");
    let project = project.before(init).agent("agent", &script.done());
    let nvim = start(project, "a.txt");
    // The second time, its name and file are the same before and after.
    nvim.cmd("file b.txt | file b.txt");
    last_turn(&nvim);
    check_bytes(&nvim, "b.txt", "b\n");
    check_bytes(&nvim, "a.txt", "two\n");
    nvim
}

#[test]
fn a_buffer_renamed_to_another_file_does_not_overwrite_it() {
    check_renamed("set noconfirm").quit();
}

#[test]
fn a_write_to_a_renamed_buffer_asks_nothing_with_the_option_confirm() {
    let nvim = check_renamed("set confirm");
    assert_eq!(nvim.lua("return vim.o.confirm", ()), true);
    nvim.quit();
}

#[test]
fn changes_on_disk_while_neovim_waits_at_a_prompt_are_merged() {
    let script = Script::new()
        .reads("a.txt", "one\ntwo\nthree\n")
        .pause("p")
        .step(json!({ "write": "${cwd}/a.txt", "content": "one\ntwo\nTHREE\n", "as": "w" }))
        .step(json!({ "signal_file": "${cwd}/../asked" }))
        .step(json!({ "await": "w", "result": { "$any": true } }));
    let nvim = start_with("set nomore", script);
    super::prompt(&nvim);
    wait_pause(&nvim, "p");
    nvim.keys(":echo \"one\\ntwo\\nthree\"<CR>");
    nvim.wait("the prompt", || nvim.blocked());
    go_on(&nvim, "p");
    wait_pause(&nvim, "asked");
    // The client has read the disk; its edit now waits for the key.
    touch(&nvim.project.path("a.txt"), "ONE\ntwo\nthree\n");
    nvim.keys("<CR>");
    nvim.wait_script("agent");
    wait_lines(&nvim, &["ONE", "two", "THREE"]);
    check_bytes(&nvim, "a.txt", "ONE\ntwo\nTHREE\n");
    // During a turn, another program's changes look like the agent's.
    let hunks = json!([
        [0, ["one"], ["ONE"], "pending"],
        [2, ["three"], ["THREE"], "pending"],
    ]);
    wait_hunks(&nvim, hunks);
    nvim.quit();
}

#[test]
fn a_write_waits_while_the_text_is_locked() {
    let script = Script::new()
        .pause("p")
        .writes("a.txt", "one\nTWO\nthree\n");
    let nvim = start_with("inoremap <expr> <C-x>k getcharstr()", script);
    super::prompt(&nvim);
    wait_pause(&nvim, "p");
    nvim.keys("A<C-x>k");
    nvim.lua(
        "local set = vim.fn.setbufline
        vim.fn.setbufline = function(...)
            vim.g.tried = true
            return set(...)
        end",
        (),
    );
    go_on(&nvim, "p");
    nvim.wait("the client's first attempt", || {
        nvim.lua("return vim.g.tried", ()) == true
    });
    assert_eq!(nvim.buf_lines(0), ["one", "two", "three"]);
    nvim.keys("x");
    nvim.wait_script("agent");
    wait_lines(&nvim, &["onex", "TWO", "three"]);
    assert_eq!(nvim.mode(), "i");
    nvim.quit();
}

#[test]
fn the_chat_waits_while_the_text_is_locked() {
    let message = json!({ "sessionUpdate": "agent_message_chunk",
        "content": { "type": "text", "text": "hello" } });
    let script = Script::new()
        .pause("p")
        .step(json!({ "update": message }))
        .pause("q");
    let nvim = start_with("inoremap <expr> <C-x>k getcharstr()", script);
    super::prompt(&nvim);
    wait_pause(&nvim, "p");
    nvim.keys("A<C-x>k");
    go_on(&nvim, "p");
    wait_pause(&nvim, "q");
    nvim.keys("x");
    nvim.wait_text("hello");
    assert_eq!(nvim.messages(), "");
    go_on(&nvim, "q");
    nvim.wait_script("agent");
    nvim.quit();
}

/// Has the agent write while the user is in the mode that `keys` start, and checks that the mode
/// stays; then types `rest` and checks the lines.
#[track_caller]
fn check_mode(keys: &str, mode: &str, rest: &str, lines: &[&str]) {
    let script = Script::new()
        .pause("p")
        .writes("a.txt", "one\nTWO\nthree\n");
    let nvim = start_with("set nomore", script);
    super::prompt(&nvim);
    wait_pause(&nvim, "p");
    nvim.keys(keys);
    nvim.wait("the mode", || nvim.mode() == mode);
    go_on(&nvim, "p");
    nvim.wait("the edit to be made or held", || {
        nvim.project.verdict("agent").is_some() || is_held(&nvim)
    });
    assert_eq!(nvim.mode(), mode, "{keys}");
    nvim.keys(rest);
    nvim.wait_script("agent");
    wait_lines(&nvim, lines);
    nvim.quit();
}

#[test]
fn the_users_mode_stays_when_the_agent_writes() {
    check_mode("Gv", "v", "d", &["one", "TWO", "hree"]);
    check_mode("Gd", "no", "d", &["one", "TWO"]);
    check_mode("GRab", "R", "c<Esc>", &["one", "TWO", "abcee"]);
    check_mode(":s/one/x", "c", "<CR>", &["x", "TWO", "three"]);
}

#[test]
fn a_write_succeeds_while_the_command_line_window_is_open() {
    let script = Script::new()
        .pause("p")
        .writes("a.txt", "one\nTWO\nthree\n");
    let nvim = start_with("set nomore", script);
    super::prompt(&nvim);
    wait_pause(&nvim, "p");
    nvim.keys("q:");
    nvim.wait("the window", || {
        nvim.lua("return vim.fn.getcmdwintype()", ()) == ":"
    });
    go_on(&nvim, "p");
    nvim.wait_script("agent");
    nvim.keys("<C-c><C-c>");
    check_bytes(&nvim, "a.txt", "one\nTWO\nthree\n");
    nvim.quit();
}

#[test]
fn a_buffer_whose_folder_is_gone_keeps_the_text_and_says_so() {
    let script = Script::new().writes_in_vain("src/a.txt", "two\n", -32603, "could not be saved");
    let project = Project::new().file("src/a.txt", "one\n");
    let nvim = start(project.agent("agent", &script.done()), "src/a.txt");
    std::fs::remove_dir_all(nvim.project.path("src")).expect("it is there");
    touch(&nvim.project.path("src"), "a file");
    last_turn(&nvim);
    wait_lines(&nvim, &["two"]);
    assert_eq!(nvim.lua("return vim.bo.modified", ()), true);
    wait_hunks(&nvim, json!([[0, ["one"], ["two"], "pending"]]));
    nvim.quit();
}

#[test]
fn what_is_written_while_the_save_hooks_run_is_not_overwritten() {
    let hook = "autocmd BufWritePre a.txt ++once call writefile(g:theirs, 'a.txt')";
    let project = Project::new()
        .file("a.txt", "one\ntwo\nthree\nfour\nfive\n")
        .before("let theirs = ['ONE', 'two', 'three', 'four', 'five']")
        .before(hook);
    let script = Script::new()
        .reads("a.txt", "one\ntwo\nthree\nfour\nfive\n")
        .writes("a.txt", "one\ntwo\nthree\nFOUR\nfive\n");
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    last_turn(&nvim);
    wait_lines(&nvim, &["ONE", "two", "three", "FOUR", "five"]);
    check_bytes(&nvim, "a.txt", "ONE\ntwo\nthree\nFOUR\nfive\n");
    nvim.quit();
}

#[test]
fn a_save_hook_that_touches_the_file_does_not_keep_it_from_being_saved() {
    let nvim = start_with("autocmd BufWritePre a.txt silent !touch %", write());
    last_turn(&nvim);
    check_bytes(&nvim, "a.txt", "one\nTWO\nthree\n");
    nvim.quit();
}

#[test]
fn a_deleted_file_comes_back_through_its_link_when_its_turn_is_undone() {
    let script = Script::new().step(json!({ "shell": "rm real.txt" }));
    let project = Project::new().file("real.txt", "one\n");
    std::os::unix::fs::symlink("real.txt", project.path("link.txt")).expect("a link");
    let nvim = start(project.agent("agent", &script.done()), "link.txt");
    turn(&nvim);
    wait_lines(&nvim, &[""]);
    nvim.lua("require('acp').review.undo_turn({ confirm = false })", ());
    wait_lines(&nvim, &["one"]);
    let link = nvim.project.path("link.txt");
    nvim.wait("the file", || {
        std::fs::read_to_string(&link).is_ok_and(|text| text == "one\n")
    });
    assert!(nvim.project.path("link.txt").is_symlink());
    nvim.quit();
}

#[test]
fn the_missing_target_of_a_link_is_created_inside_the_folders_only() {
    for (target, is_inside) in [("new.txt", true), ("../home/new.txt", false)] {
        let script = match is_inside {
            true => Script::new().writes("link.txt", "one\n"),
            false => Script::new().writes_in_vain("link.txt", "one\n", -32602, "allowed_dirs"),
        };
        let project = Project::new();
        std::os::unix::fs::symlink(target, project.path("link.txt")).expect("a link");
        let nvim = start(project.agent("agent", &script.done()), "link.txt");
        last_turn(&nvim);
        wait_lines(&nvim, &[if is_inside { "one" } else { "" }]);
        assert_eq!(nvim.project.path(target).exists(), is_inside, "{target}");
        assert!(nvim.project.path("link.txt").is_symlink(), "{target}");
        nvim.quit();
    }
}

#[test]
fn nothing_is_saved_through_a_folder_that_a_link_out_has_replaced() {
    let script = Script::new()
        .step(json!({ "write": "${cwd}/sub/a.txt", "content": "two\n", "as": "w" }))
        .step(json!({ "await": "w", "error": { "$any": true } }));
    let project = Project::new().file("sub/a.txt", "one\n");
    let nvim = start(project.agent("agent", &script.done()), "sub/a.txt");
    // After all other checks of the path.
    nvim.lua(
        "local swap = 'mv sub ../home/out && ln -s ../home/out sub'
        local hook = function() vim.fn.system(swap) end
        vim.api.nvim_create_autocmd('BufWritePre', { once = true, callback = hook })",
        (),
    );
    last_turn(&nvim);
    let there = nvim.project.root().join("home/out/a.txt");
    assert_eq!(
        std::fs::read_to_string(there).expect("it is there"),
        "one\n"
    );
    nvim.quit();
}
