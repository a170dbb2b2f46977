//! Accepting and rejecting: by hunk, file and all, in buffers and on disk.

use std::io::Write as _;

use serde_json::{Value as Json, json};

use super::{NEW, OLD, reviewed, reviewed_in, wait_file, wait_shown, wait_window_closed};
use crate::files::{Script, hunks, last_turn, open, start, touch, turn, wait_hunks, wait_lines};
use crate::harness::{Nvim, Project};

/// The hunks from `OLD` to `NEW`.
fn all() -> Vec<Json> {
    vec![
        json!([1, ["two"], ["TWO"], "pending"]),
        json!([3, ["four"], ["FOUR"], "pending"]),
        json!([5, ["six"], [], "pending"]),
        json!([6, [], ["eight"], "pending"]),
    ]
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

#[test]
fn accepting_one_hunk_leaves_the_others() {
    let nvim = reviewed(OLD, NEW);
    wait_hunks(&nvim, json!(all()));
    nvim.keys("2G\\a");
    wait_hunks(&nvim, json!(all()[1..]));
    wait_lines(&nvim, &lines(NEW));
    assert_eq!(nvim.lua("return vim.bo.modified", ()), false);
    nvim.quit();
}

#[test]
fn rejecting_one_hunk_leaves_the_others() {
    let nvim = reviewed(OLD, NEW);
    nvim.keys("4G\\r");
    let left = "one\nTWO\nthree\nfour\nfive\nseven\neight\n";
    wait_lines(&nvim, &lines(left));
    wait_file(&nvim, "a.txt", left);
    let all = all();
    wait_hunks(&nvim, json!([all[0], all[2], all[3]]));
    nvim.quit();
}

#[test]
fn a_deletion_is_decided_from_the_line_below_it() {
    let nvim = reviewed(OLD, NEW);
    nvim.keys("6G\\r");
    let left = "one\nTWO\nthree\nFOUR\nfive\nsix\nseven\neight\n";
    wait_lines(&nvim, &lines(left));
    wait_file(&nvim, "a.txt", left);
    nvim.quit();
}

/// Checks one way to decide a whole file.
#[track_caller]
fn check_whole(decide: impl FnOnce(&Nvim), after: &str) {
    let nvim = reviewed(OLD, NEW);
    wait_hunks(&nvim, json!(all()));
    decide(&nvim);
    wait_hunks(&nvim, json!([]));
    wait_lines(&nvim, &lines(after));
    wait_file(&nvim, "a.txt", after);
    nvim.quit();
}

#[test]
fn a_file_is_decided_by_key_command_and_function() {
    check_whole(|nvim| nvim.keys("\\A"), NEW);
    check_whole(|nvim| nvim.keys("\\R"), OLD);
    check_whole(|nvim| nvim.cmd("Acp accept file"), NEW);
    check_whole(|nvim| nvim.cmd("Acp reject file"), OLD);
    check_whole(|nvim| nvim.cmd("Acp accept all"), NEW);
    check_whole(|nvim| nvim.cmd("Acp reject all"), OLD);
    for (scope, action, after) in [
        ("file", "accept", NEW),
        ("file", "reject", OLD),
        ("all", "accept", NEW),
        ("all", "reject", OLD),
    ] {
        let code = format!("require('acp').review.{action}('{scope}')");
        check_whole(|nvim| drop(nvim.lua(&code, ())), after);
    }
}

#[test]
fn hunks_are_decided_by_command_and_function() {
    let nvim = reviewed(OLD, NEW);
    let all = all();
    nvim.keys("2G");
    nvim.cmd("Acp accept");
    wait_hunks(&nvim, json!(all[1..]));
    nvim.keys("4G");
    nvim.cmd("Acp accept hunk");
    wait_hunks(&nvim, json!(all[2..]));
    nvim.keys("6G");
    nvim.lua("require('acp').review.accept()", ());
    wait_hunks(&nvim, json!(all[3..]));
    nvim.keys("7G");
    nvim.lua("require('acp').review.reject('hunk')", ());
    wait_hunks(&nvim, json!([]));
    wait_file(&nvim, "a.txt", "one\nTWO\nthree\nFOUR\nfive\nseven\n");
    nvim.quit();
}

#[test]
fn plug_mappings_work_while_the_default_keys_are_switched_off() {
    let project = Project::new().config("keymaps", json!({ "review": false }));
    let project =
        project.before("nmap ga <Plug>(acp-accept-hunk)| nmap gr <Plug>(acp-reject-hunk)");
    let nvim = reviewed_in(project, OLD, NEW);
    wait_hunks(&nvim, json!(all()));
    nvim.keys("2Gga");
    wait_hunks(&nvim, json!(all()[1..]));
    nvim.keys("4Ggr");
    wait_hunks(&nvim, json!(all()[2..]));
    assert_eq!(nvim.lua("return vim.fn.maparg('\\\\a', 'n')", ()), "");
    nvim.quit();
}

#[test]
fn a_decision_where_no_hunk_is_shows_a_message() {
    let nvim = reviewed(OLD, NEW);
    nvim.keys("1G");
    nvim.cmd("Acp accept hunk");
    nvim.wait_text("No change to review here; `:Acp next` goes to one.");
    wait_hunks(&nvim, json!(all()));
    nvim.quit();
}

#[test]
fn a_moved_file_has_no_hunk_and_is_decided_as_a_whole() {
    let script = Script::new().step(json!({ "shell": "mv a.txt b.txt" }));
    let project = Project::new().file("a.txt", OLD);
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    turn(&nvim);
    nvim.wait_text("b.txt");
    nvim.cmd("set nomore");
    nvim.cmd("Acp reject");
    nvim.wait_text("`:Acp reject file` decide about the file.");
    nvim.cmd("Acp reject file");
    nvim.wait("the file to be back", || {
        nvim.project.path("a.txt").exists() && !nvim.project.path("b.txt").exists()
    });
    nvim.quit();
}

#[test]
fn edits_beside_a_hunk_are_the_users_and_edits_inside_join_it() {
    let nvim = reviewed(OLD, NEW);
    nvim.keys("1GAx<Esc>5GAy<Esc>Oz<Esc>");
    wait_lines(
        &nvim,
        &[
            "onex", "TWO", "three", "FOUR", "z", "fivey", "seven", "eight",
        ],
    );
    wait_hunks(
        &nvim,
        json!([
            [1, ["two"], ["TWO"], "pending"],
            [3, ["four"], ["FOUR"], "pending"],
            [6, ["six"], [], "pending"],
            [7, [], ["eight"], "pending"]
        ]),
    );
    nvim.keys("2GA!<Esc>");
    nvim.wait("the hunk to hold the edit", || {
        hunks(&nvim)[0] == json!([1, ["two"], ["TWO!"], "pending"])
    });
    nvim.cmd("Acp reject all");
    wait_lines(
        &nvim,
        &["onex", "two", "three", "four", "z", "fivey", "six", "seven"],
    );
    nvim.quit();
}

#[test]
fn rejecting_in_a_modified_buffer_leaves_saving_to_the_user() {
    let nvim = reviewed(OLD, NEW);
    nvim.keys("Gounsaved<Esc>");
    nvim.cmd("Acp reject all");
    wait_lines(&nvim, &[&lines(OLD)[..], &["unsaved"]].concat());
    wait_hunks(&nvim, json!([]));
    assert_eq!(nvim.lua("return vim.bo.modified", ()), true);
    assert_eq!(nvim.project.read("a.txt"), NEW);
    nvim.quit();
}

#[test]
fn a_created_file_that_is_rejected_is_deleted() {
    let script = Script::new().writes("new/b.txt", "a\nb\n").done();
    let nvim = start(Project::new().agent("agent", &script), "");
    last_turn(&nvim);
    wait_hunks(&nvim, json!([[0, [], ["a", "b"], "pending"]]));
    nvim.cmd("Acp reject all");
    let path = nvim.project.path("new/b.txt");
    nvim.wait("the file to be gone", || !path.exists());
    wait_hunks(&nvim, json!([]));
    assert!(nvim.project.path("new").is_dir());
    nvim.quit();
}

#[test]
fn a_created_file_that_is_rejected_in_its_buffer_is_deleted() {
    let script = Script::new().writes("b.txt", "a\nb\n").done();
    let nvim = start(Project::new().agent("agent", &script), "");
    last_turn(&nvim);
    nvim.cmd("edit b.txt");
    nvim.wait_text("1/1");
    // Records that Neovim noticed, and shows the default prompt.
    nvim.cmd("autocmd FileChangedShell * let g:reason = v:fcs_reason | let v:fcs_choice = 'ask'");
    nvim.keys("\\r");
    let path = nvim.project.path("b.txt");
    nvim.wait("the file to be gone", || !path.exists());
    wait_lines(&nvim, &[""]);
    wait_hunks(&nvim, json!([]));
    // Neovim can quit, and shows no error.
    assert_eq!(nvim.lua("return vim.bo.modified", ()), false);
    nvim.wait("Neovim to notice that the file is gone", || {
        nvim.lua("return vim.g.reason", ()) == "deleted"
    });
    nvim.cmd("checktime");
    assert_eq!(nvim.messages(), "");
    // Undo restores the text, under review as the agent's.
    nvim.keys("u");
    wait_lines(&nvim, &["a", "b"]);
    wait_hunks(&nvim, json!([[0, [], ["a", "b"], "pending"]]));
    nvim.keys(":write<CR>");
    wait_file(&nvim, "b.txt", "a\nb\n");
    nvim.quit();
}

#[test]
fn a_created_file_with_the_users_edits_stays() {
    for save in ["", ":write<CR>"] {
        let script = Script::new().writes("b.txt", "a\nb\nc\n").done();
        let nvim = start(Project::new().agent("agent", &script), "");
        last_turn(&nvim);
        nvim.cmd("edit b.txt");
        nvim.keys("ouser<Esc>");
        nvim.keys(save);
        wait_lines(&nvim, &["a", "user", "b", "c"]);
        nvim.cmd("Acp reject all");
        wait_lines(&nvim, &["user"]);
        wait_hunks(&nvim, json!([]));
        assert!(nvim.project.path("b.txt").exists());
        nvim.keys("u");
        wait_lines(&nvim, &["a", "user", "b", "c"]);
        wait_hunks(&nvim, json!([[0, [], ["a", "user", "b", "c"], "pending"]]));
        nvim.quit();
    }
}

#[test]
fn a_created_file_that_the_user_edited_elsewhere_stays() {
    let script = Script::new().writes("b.txt", "a\nb\nc\n").done();
    let project = Project::new().config("log_level", json!("debug"));
    let nvim = start(project.agent("agent", &script), "");
    turn(&nvim);
    wait_window_closed(&nvim);
    touch(&nvim.project.path("b.txt"), "a\nb\nuser\nc\n");
    nvim.cmd("Acp reject all");
    wait_file(&nvim, "b.txt", "user\n");
    wait_hunks(&nvim, json!([]));
    nvim.quit();
}

#[test]
fn rejecting_an_overwrite_restores_the_old_content() {
    for (before, file) in [(&b"old\r\nlast"[..], ""), (b"old\r\nlast\r\n", "a.txt")] {
        let script = Script::new().writes("a.txt", "all\nnew\n").done();
        let project = Project::new().file("a.txt", before).agent("agent", &script);
        let nvim = start(project, file);
        last_turn(&nvim);
        assert_eq!(nvim.project.read("a.txt"), "all\r\nnew\r\n");
        nvim.cmd("Acp reject all");
        wait_file(
            &nvim,
            "a.txt",
            std::str::from_utf8(before).expect("it is text"),
        );
        wait_hunks(&nvim, json!([]));
        nvim.quit();
    }
}

#[test]
fn rejecting_restores_an_emptied_file_and_empties_a_filled_one() {
    for file in ["", "a.txt"] {
        for (before, after) in [("a\nb\n", ""), ("", "a\nb\n")] {
            let script = Script::new().writes("a.txt", after).done();
            let project = Project::new().file("a.txt", before).agent("agent", &script);
            let nvim = start(project, file);
            last_turn(&nvim);
            wait_file(&nvim, "a.txt", after);
            nvim.cmd("Acp reject all");
            wait_file(&nvim, "a.txt", before);
            wait_hunks(&nvim, json!([]));
            nvim.quit();
        }
    }
}

#[test]
fn a_reject_restores_the_last_accepted_version() {
    for file in ["", "b.txt"] {
        let script = Script::new()
            .writes("b.txt", "v1\n")
            .turn()
            .writes("b.txt", "v2\n");
        let nvim = start(Project::new().agent("agent", &script.done()), file);
        turn(&nvim);
        nvim.cmd("Acp accept all");
        wait_hunks(&nvim, json!([]));
        last_turn(&nvim);
        wait_hunks(&nvim, json!([[0, ["v1"], ["v2"], "pending"]]));
        nvim.cmd("Acp reject all");
        wait_file(&nvim, "b.txt", "v1\n");
        nvim.quit();
    }
}

#[test]
fn changes_by_others_on_disk_survive_a_reject() {
    let script = Script::new().writes("a.txt", NEW).done();
    let project = Project::new().file("a.txt", OLD).agent("agent", &script);
    let nvim = start(project.config("log_level", json!("debug")), "");
    turn(&nvim);
    wait_window_closed(&nvim);
    touch(&nvim.project.path("a.txt"), format!("others\n{NEW}"));
    nvim.cmd("Acp reject all");
    wait_file(&nvim, "a.txt", &format!("others\n{OLD}"));
    nvim.quit();
}

#[test]
fn a_reject_does_not_overwrite_changes_by_others_under_the_buffer() {
    let nvim = reviewed(OLD, NEW);
    // While the file is held open for writing, it is not merged.
    let path = nvim.project.path("a.txt");
    let mut file = std::fs::File::create(&path).expect("it can be written");
    file.write_all(b"others\n").expect("it can be written");
    nvim.cmd("Acp reject all");
    wait_lines(&nvim, &lines(OLD));
    nvim.wait_text("Not saved: another program has changed it on disk");
    file.write_all(OLD.as_bytes()).expect("it can be written");
    drop(file);
    // The buffer gets what the message announces.
    let both = format!("others\n{OLD}");
    wait_lines(&nvim, &lines(&both));
    nvim.keys(":write<CR>");
    nvim.wait("both to be saved", || {
        nvim.lua("return vim.bo.modified", ()) == false
    });
    assert_eq!(nvim.project.read("a.txt"), both);
    nvim.quit();
}

#[test]
fn a_reject_is_saved_over_a_file_that_was_written_again_with_the_same_content() {
    let nvim = reviewed(OLD, NEW);
    let path = nvim.project.path("a.txt");
    touch(&path, NEW);
    nvim.cmd("Acp reject all");
    wait_file(&nvim, "a.txt", OLD);
    nvim.wait("the save", || {
        nvim.lua("return vim.bo.modified", ()) == false
    });
    assert!(
        !nvim.messages().contains("Not saved"),
        "{}",
        nvim.messages()
    );
    nvim.quit();
}

#[test]
fn a_reject_is_not_saved_over_other_line_ends() {
    let nvim = reviewed(OLD, NEW);
    let theirs = NEW.replace('\n', "\r\n");
    let path = nvim.project.path("a.txt");
    // While the file is held open for writing, it is not merged.
    let mut file = std::fs::File::create(&path).expect("it can be written");
    file.write_all(theirs.as_bytes())
        .expect("it can be written");
    nvim.cmd("Acp reject all");
    wait_lines(&nvim, &lines(OLD));
    nvim.wait_text("Not saved: another program has changed it on disk");
    assert_eq!(nvim.project.read("a.txt"), theirs);
    nvim.quit();
}

#[test]
fn all_means_every_file() {
    let script = Script::new()
        .writes("a.txt", NEW)
        .writes("b.txt", "B\n")
        .writes("c.txt", "C\n");
    let project = Project::new().file("a.txt", OLD).file("b.txt", "b\n");
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    last_turn(&nvim);
    let status = "return require('acp').status().review";
    nvim.wait("the status", || {
        nvim.lua(status, ()) == json!({ "files": 3, "hunks": 6 })
    });
    nvim.cmd("Acp reject all");
    wait_file(&nvim, "a.txt", OLD);
    wait_file(&nvim, "b.txt", "b\n");
    nvim.wait("the status", || {
        nvim.lua(status, ()) == json!({ "files": 0, "hunks": 0 })
    });
    assert!(!nvim.project.path("c.txt").exists());
    nvim.quit();
}

#[test]
fn the_api_is_current_when_a_change_is_announced() {
    let script = Script::new()
        .writes("a.txt", NEW)
        .writes("b.txt", "B\n")
        .done();
    let project = Project::new().file("a.txt", OLD).file("b.txt", "b\n");
    let nvim = project.agent("agent", &script).start();
    nvim.cmd("edit a.txt");
    nvim.lua(
        "vim.g.seen = {}
        vim.api.nvim_create_autocmd('User', { pattern = 'AcpReviewChanged', callback = function(event)
            local acp = require('acp')
            local of_file = vim.tbl_filter(function(hunk)
                return hunk.path == event.data.path
            end, acp.review.hunks())
            local seen = vim.g.seen
            table.insert(seen, {
                vim.fs.basename(event.data.path), event.data.hunks, #of_file,
                #acp.review.hunks(), acp.status().review.hunks,
            })
            vim.g.seen = seen
        end })",
        (),
    );
    open(&nvim);
    last_turn(&nvim);
    let seen = || nvim.lua("return vim.g.seen", ());
    // Edits of one write are announced in parts if the next frame comes between them.
    let whole = |path: &str, hunks: u64| {
        let seen = seen();
        let mut all = seen.as_array().into_iter().flatten();
        all.rfind(|event| event[0] == path && event[1] == hunks)
            .cloned()
    };
    nvim.wait("both files", || whole("b.txt", 1).is_some());
    // The API may be newer than the event, so the second write may already be included.
    let first = whole("a.txt", 4).expect("it was written first");
    let alone = json!(["a.txt", 4, 4, 4, 4]);
    assert!(
        first == alone || first == json!(["a.txt", 4, 4, 5, 5]),
        "{first}"
    );
    assert_eq!(whole("b.txt", 1), Some(json!(["b.txt", 1, 1, 5, 5])));
    wait_shown(&nvim);
    nvim.keys("2G\\a");
    nvim.wait("the event of one hunk", || {
        whole("a.txt", 3) == Some(json!(["a.txt", 3, 3, 4, 4]))
    });
    nvim.cmd("Acp accept all");
    nvim.wait("the remaining events", || {
        whole("a.txt", 0).is_some() && whole("b.txt", 0).is_some()
    });
    let of_buf = "return #require('acp').review.hunks({ buf = 0 })";
    assert_eq!(nvim.lua(of_buf, ()), 0);
    nvim.quit();
}

#[test]
fn the_hunks_of_one_buffer_can_be_listed() {
    let script = Script::new()
        .writes("a.txt", NEW)
        .writes("b.txt", "B\n")
        .done();
    let project = Project::new().file("a.txt", OLD).file("b.txt", "b\n");
    let nvim = start(project.agent("agent", &script), "a.txt");
    last_turn(&nvim);
    nvim.wait("all hunks", || {
        hunks(&nvim).as_array().map(Vec::len) == Some(5)
    });
    let first = "local hunks = require('acp').review.hunks({ buf = ... })
        return { #hunks, hunks[1] }";
    let path = nvim.project.path("a.txt").to_string_lossy().into_owned();
    let expected = json!([4, {
        "path": path, "row": 1, "count": 1, "old": ["two"], "new": ["TWO"], "state": "pending",
    }]);
    assert_eq!(nvim.lua(first, (0,)), expected);
    nvim.cmd("edit b.txt");
    nvim.wait("the hunk of the other file", || {
        nvim.lua(first, (0,))[0] == 1
    });
    nvim.quit();
}

/// A hunk of three lines.
const BLOCK: &str = "one\nA\nB\nC\nfive\nsix\nseven\n";

#[test]
fn single_lines_of_a_hunk_can_be_accepted() {
    let nvim = reviewed(OLD, BLOCK);
    nvim.keys("3GV\\a");
    wait_hunks(
        &nvim,
        json!([
            [1, ["two"], ["A"], "pending"],
            [3, ["four"], ["C"], "pending"]
        ]),
    );
    wait_lines(&nvim, &lines(BLOCK));
    assert_eq!(nvim.mode(), "n");
    nvim.cmd("2,2Acp accept");
    wait_hunks(&nvim, json!([[3, ["four"], ["C"], "pending"]]));
    nvim.cmd("%Acp accept");
    wait_hunks(&nvim, json!([]));
    nvim.quit();
}

#[test]
fn single_lines_of_a_hunk_can_be_rejected_and_one_undo_restores_them() {
    let nvim = reviewed(OLD, BLOCK);
    // Select upwards, with the ends in different columns.
    nvim.keys("4Gvk\\r");
    let left = "one\nA\nthree\nfour\nfive\nsix\nseven\n";
    wait_lines(&nvim, &lines(left));
    wait_file(&nvim, "a.txt", left);
    wait_hunks(&nvim, json!([[1, ["two"], ["A"], "pending"]]));
    nvim.keys("u");
    wait_lines(&nvim, &lines(BLOCK));
    let whole = json!([[1, ["two", "three", "four"], ["A", "B", "C"], "pending"]]);
    wait_hunks(&nvim, whole);
    nvim.quit();
}

#[test]
fn a_range_is_decided_by_command_function_and_plug_mapping() {
    let project = Project::new().config("keymaps", json!({ "review": false }));
    let project =
        project.before("xmap ga <Plug>(acp-accept-hunk)| xmap gr <Plug>(acp-reject-hunk)");
    let nvim = reviewed_in(project, OLD, NEW);
    let all = all();
    nvim.keys("2GVga");
    wait_hunks(&nvim, json!(all[1..]));
    nvim.keys("4GVgr");
    wait_hunks(&nvim, json!(all[2..]));
    nvim.lua("require('acp').review.reject({ first = 6, last = 7 })", ());
    wait_hunks(&nvim, json!([all[2]]));
    nvim.lua("require('acp').review.accept({ first = 0, last = 9 })", ());
    wait_hunks(&nvim, json!([]));
    wait_file(&nvim, "a.txt", "one\nTWO\nthree\nfour\nfive\nseven\n");
    nvim.quit();
}

#[test]
fn what_a_reject_leaves_on_disk_for_the_user_to_write_is_said_with_the_last_hunk() {
    let nvim = reviewed(OLD, NEW);
    nvim.keys("ggOmine<Esc>");
    nvim.keys("3G\\r");
    let all = all().len();
    nvim.wait("a reject", || {
        hunks(&nvim)
            .as_array()
            .is_some_and(|left| left.len() == all - 1)
    });
    let unsaved = "a.txt is not saved, because it has other unsaved changes; `:write` saves all.";
    assert!(!nvim.messages().contains(unsaved));
    nvim.cmd("Acp reject file");
    nvim.wait("the message", || nvim.messages().contains(unsaved));
    wait_file(&nvim, "a.txt", NEW);
    nvim.cmd("write");
    wait_file(&nvim, "a.txt", &format!("mine\n{OLD}"));
    nvim.quit();
}

#[test]
fn a_rejected_conflict_whose_lines_stay_on_disk_is_said() {
    let script = Script::new().step(json!({ "shell": "sed -i s/two/TWO/ a.txt" }));
    let project = Project::new().file("a.txt", OLD);
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    nvim.keys("2Gccmine<Esc>");
    turn(&nvim);
    wait_shown(&nvim);
    nvim.keys("2G\\r");
    let unsaved = "a.txt is not saved, because it has other unsaved changes; `:write` saves all.";
    nvim.wait("the message", || nvim.messages().contains(unsaved));
    nvim.quit();
}
