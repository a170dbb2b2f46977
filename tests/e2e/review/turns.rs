//! Whole turns, decided and undone.

use serde_json::json;

use super::{wait_file, wait_files, wait_window_closed};
use crate::files::{Script, start, turn, wait_hunks, wait_lines};
use crate::harness::{Nvim, Project};

const OLD: &str = "one\ntwo\nthree\nfour\n";

/// Runs two turns: the first changes line 1, the second changes line 3 and creates a file.
#[track_caller]
fn two_turns() -> Nvim {
    let script = Script::new()
        .writes("a.txt", "ONE\ntwo\nthree\nfour\n")
        .turn()
        .writes("a.txt", "ONE\ntwo\nTHREE\nfour\n")
        .writes("new.txt", "new\n");
    let project = Project::new()
        .config("log_level", json!("debug"))
        .size(90, 24)
        .before("set nomore laststatus=0")
        .file("a.txt", OLD)
        .agent("agent", &script.done());
    let nvim = start(project, "a.txt");
    turn(&nvim);
    turn(&nvim);
    wait_lines(&nvim, &["ONE", "two", "THREE", "four"]);
    wait_window_closed(&nvim);
    nvim
}

#[test]
fn the_last_turn_is_accepted_or_rejected() {
    let nvim = two_turns();
    nvim.cmd("Acp accept turn");
    wait_hunks(&nvim, json!([[0, ["one"], ["ONE"], "pending"]]));
    wait_files(&nvim, 1);
    nvim.cmd("Acp reject turn");
    wait_hunks(&nvim, json!([]));
    wait_file(&nvim, "a.txt", "one\ntwo\nTHREE\nfour\n");
    nvim.quit();
}

#[test]
fn a_turn_is_undone_after_confirmation_and_restored() {
    let nvim = two_turns();
    // A hunk that is not on the screen yet would be drawn after the wait for its end.
    nvim.wait_text("2/2 \\a accept");
    nvim.cmd("Acp accept all");
    nvim.wait("the hunks to go", || !nvim.screen().has("\\a accept"));
    nvim.cmd("Acp undo-turn");
    nvim.wait_text("Undo the turn");
    nvim.lua(
        "for _, win in ipairs(vim.api.nvim_list_wins()) do
            local kind = vim.bo[vim.api.nvim_win_get_buf(win)].filetype
            if kind == 'acp-chat' or kind == 'acp-input' then
                vim.api.nvim_win_close(win, true)
            end
        end",
        (),
    );
    let screen = nvim.drawn();
    if nvim.is_pictured() {
        insta::assert_snapshot!(screen.dump(0..screen.height - 2));
    }
    nvim.keys("n");
    nvim.wait("the question to go", || !nvim.screen().has("Undo the turn"));
    wait_file(&nvim, "a.txt", "ONE\ntwo\nTHREE\nfour\n");
    nvim.cmd("Acp undo-turn");
    nvim.wait_text("Undo the turn");
    nvim.keys("y");
    wait_file(&nvim, "a.txt", "ONE\ntwo\nthree\nfour\n");
    nvim.wait("the new file to be deleted", || {
        !nvim.project.path("new.txt").exists()
    });
    nvim.cmd("Acp undo-turn!");
    wait_file(&nvim, "a.txt", "ONE\ntwo\nTHREE\nfour\n");
    wait_file(&nvim, "new.txt", "new\n");
    wait_hunks(&nvim, json!([]));
    wait_files(&nvim, 0);
    nvim.quit();
}

#[test]
fn one_undo_restores_an_undone_turn_in_its_buffer() {
    let nvim = two_turns();
    nvim.lua("require('acp').review.undo_turn({ confirm = false })", ());
    wait_lines(&nvim, &["ONE", "two", "three", "four"]);
    wait_hunks(&nvim, json!([[0, ["one"], ["ONE"], "pending"]]));
    nvim.keys("u");
    wait_lines(&nvim, &["ONE", "two", "THREE", "four"]);
    wait_hunks(
        &nvim,
        json!([
            [0, ["one"], ["ONE"], "pending"],
            [2, ["three"], ["THREE"], "pending"]
        ]),
    );
    nvim.quit();
}

#[test]
fn changes_by_a_shell_command_of_the_turn_are_undone() {
    let sh = "mv a.txt moved.txt && rm gone.txt && chmod +x mode.sh && printf 'x\\0y' > bin.dat && echo more >> mode.sh";
    let script = Script::new().step(json!({ "shell": sh }));
    let project = Project::new()
        .config("log_level", json!("debug"))
        .file("a.txt", OLD)
        .file("gone.txt", "gone\n")
        .file("mode.sh", "echo hi\n")
        .file("own.txt", "own\n");
    std::fs::write(project.path("bin.dat"), b"a\0b").expect("the file can be written");
    let nvim = start(project.agent("agent", &script.done()), "own.txt");
    turn(&nvim);
    nvim.wait("the review", || {
        let info = "return require('acp').status().review";
        nvim.lua(info, ())["files"].as_u64() >= Some(4)
    });
    wait_window_closed(&nvim);
    nvim.lua("require('acp').review.undo_turn({ confirm = false })", ());
    wait_file(&nvim, "a.txt", OLD);
    wait_file(&nvim, "gone.txt", "gone\n");
    wait_file(&nvim, "mode.sh", "echo hi\n");
    nvim.wait("the old bytes", || {
        std::fs::read(nvim.project.path("bin.dat")).is_ok_and(|there| there == b"a\0b")
    });
    nvim.wait("the old permissions", || {
        use std::os::unix::fs::PermissionsExt;
        let data = std::fs::metadata(nvim.project.path("mode.sh"));
        data.is_ok_and(|data| data.permissions().mode() & 0o111 == 0)
    });
    assert!(!nvim.project.path("moved.txt").exists());
    nvim.lua("require('acp').review.undo_turn({ back = true })", ());
    wait_file(&nvim, "moved.txt", OLD);
    wait_file(&nvim, "mode.sh", "echo hi\nmore\n");
    nvim.wait("the file to be gone again", || {
        !nvim.project.path("gone.txt").exists()
    });
    nvim.quit();
}

#[test]
fn files_that_cannot_be_restored_are_listed_first_and_left_alone() {
    let sh = "printf small > large.txt; chmod u+w fixed.txt; echo b > fixed.txt; \
              chmod a-w fixed.txt; echo b > a.txt";
    let script = Script::new().step(json!({ "shell": sh }));
    let project = Project::new()
        .config("log_level", json!("debug"))
        .size(100, 24)
        .file("a.txt", "a\n")
        .file("fixed.txt", "a\n")
        .file("large.txt", "x".repeat(6 << 20))
        .file("own.txt", "own\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o444);
    std::fs::set_permissions(project.path("fixed.txt"), mode).expect("the mode can be set");
    let nvim = start(project.agent("agent", &script.done()), "own.txt");
    turn(&nvim);
    nvim.wait("the review", || {
        let info = "return require('acp').status().review";
        nvim.lua(info, ())["files"].as_u64() == Some(3)
    });
    wait_window_closed(&nvim);
    nvim.cmd("Acp undo-turn");
    nvim.wait_text("restore     a.txt");
    nvim.wait_text("leave       fixed.txt  (it is read-only");
    nvim.wait_text("leave       large.txt  (it was larger than 5 MB, so its content was not kept)");
    nvim.keys("y");
    wait_file(&nvim, "a.txt", "a\n");
    nvim.wait("the message about the other files", || {
        nvim.messages().contains("Left as they are: fixed.txt")
    });
    wait_file(&nvim, "fixed.txt", "b\n");
    wait_file(&nvim, "large.txt", "small");
    nvim.quit();
}
