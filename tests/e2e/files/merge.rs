//! `fs/write_text_file` into buffers the user is editing: neither side's changes are lost.

use serde_json::json;

use super::{
    Script, check_bytes, go_on, hunks, last_turn, start, touch, turn, wait_hunks, wait_lines,
    wait_pause,
};
use crate::harness::{Nvim, Project};

#[test]
fn a_write_keeps_unsaved_lines() {
    let script = Script::new()
        .reads("a.txt", "one\ntwo\nthree\n")
        .pause("p")
        .writes("a.txt", "one\ntwo\nTHREE\n");
    let project = Project::new().file("a.txt", "one\ntwo\nthree\n");
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    super::prompt(&nvim);
    wait_pause(&nvim, "p");
    nvim.keys("oof the user<Esc>");
    nvim.mode();
    go_on(&nvim, "p");
    nvim.wait_script("agent");
    wait_lines(&nvim, &["one", "of the user", "two", "THREE"]);
    check_bytes(&nvim, "a.txt", "one\nof the user\ntwo\nTHREE\n");
    assert_eq!(nvim.lua("return vim.bo.modified", ()), false);
    wait_hunks(&nvim, json!([[3, ["three"], ["THREE"], "pending"]]));
    nvim.quit();
}

#[test]
fn a_write_without_a_read_keeps_unsaved_lines_too() {
    let script = Script::new().writes("a.txt", "one\ntwo\nTHREE\n");
    let project = Project::new().file("a.txt", "one\ntwo\nthree\n");
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    nvim.keys("oof the user<Esc>");
    last_turn(&nvim);
    wait_lines(&nvim, &["one", "of the user", "two", "THREE"]);
    check_bytes(&nvim, "a.txt", "one\nof the user\ntwo\nTHREE\n");
    wait_hunks(&nvim, json!([[3, ["three"], ["THREE"], "pending"]]));
    nvim.quit();
}

#[test]
fn two_writes_in_a_row_duplicate_nothing() {
    let script = Script::new()
        .reads("a.txt", "one\ntwo\n")
        .pause("p")
        .writes("a.txt", "one\nadded\ntwo\n")
        .writes("a.txt", "one\nadded\ntwo\nmore\n")
        .writes("a.txt", "one\nadded\ntwo\nmore\n");
    let project = Project::new().file("a.txt", "one\ntwo\n");
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    super::prompt(&nvim);
    wait_pause(&nvim, "p");
    nvim.keys("oof the user<Esc>");
    nvim.mode();
    go_on(&nvim, "p");
    nvim.wait_script("agent");
    let lines = ["one", "of the user", "added", "two", "more"];
    wait_lines(&nvim, &lines);
    check_bytes(&nvim, "a.txt", lines.join("\n") + "\n");
    nvim.quit();
}

#[test]
fn overlapping_writes_run_in_order() {
    let write = |name: &str, content: &str| json!({ "write": "${cwd}/a.txt", "content": content, "as": name });
    let done = |name: &str| json!({ "await": name, "result": { "$any": true } });
    let script = Script::new()
        .reads("a.txt", "one\n")
        .step(write("w1", "one\ntwo\n"))
        .step(write("w2", "one\ntwo\nthree\n"))
        .step(write("w3", "zero\none\ntwo\nthree\n"))
        .step(done("w1"))
        .step(done("w2"))
        .step(done("w3"));
    let project = Project::new().file("a.txt", "one\n");
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    last_turn(&nvim);
    check_bytes(&nvim, "a.txt", "zero\none\ntwo\nthree\n");
    wait_lines(&nvim, &["zero", "one", "two", "three"]);
    nvim.quit();
}

#[test]
fn no_key_is_lost_while_the_agent_writes() {
    let mut script = Script::new().reads("a.txt", "top\n\nbottom\n").pause("p");
    for n in 0..30 {
        script = script.writes("a.txt", &format!("top {n}\n\nbottom {n}\n"));
    }
    let project = Project::new().file("a.txt", "top\n\nbottom\n");
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    nvim.keys("ji");
    super::prompt(&nvim);
    wait_pause(&nvim, "p");
    go_on(&nvim, "p");
    let mut typed = String::new();
    for n in 0..30 {
        nvim.wait("the agent's next write", || {
            if typed.len() < 5000 {
                let word = format!("w{} ", typed.len());
                nvim.keys(&word);
                typed.push_str(&word);
            }
            // Others may have followed it.
            let first = &nvim.buf_lines(0)[0];
            let last = first.strip_prefix("top ").map(str::parse);
            last.is_some_and(|last| last.is_ok_and(|last: u32| last >= n))
        });
    }
    nvim.wait_script("agent");
    assert_eq!(nvim.mode(), "i");
    let lines = nvim.buf_lines(0);
    assert_eq!(lines, ["top 29", &*typed, "bottom 29"]);
    let cursor = nvim.lua("return vim.api.nvim_win_get_cursor(0)", ());
    assert_eq!(cursor, json!([2, typed.len()]));
    nvim.keys("end<Esc>:write<CR>");
    let saved = format!("top 29\n{typed}end\nbottom 29\n");
    nvim.wait("the last word on disk", || {
        nvim.project.read("a.txt") == saved
    });
    wait_hunks(
        &nvim,
        json!([
            [0, ["top"], ["top 29"], "pending"],
            [2, ["bottom"], ["bottom 29"], "pending"]
        ]),
    );
    nvim.quit();
}

/// Runs a turn that ends in a conflict in the second of the file's lines.
#[track_caller]
fn conflict() -> Nvim {
    let script = Script::new()
        .reads("a.txt", "one\ntwo\n\nthree\n")
        .pause("p")
        .writes_in_vain("a.txt", "one\nagent\n\nTHREE\n", -32603, "line 2");
    let project = Project::new().file("a.txt", "one\ntwo\n\nthree\n");
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    super::prompt(&nvim);
    wait_pause(&nvim, "p");
    nvim.keys("jccuser<Esc>");
    wait_lines(&nvim, &["one", "user", "", "three"]);
    go_on(&nvim, "p");
    nvim.wait_script("agent");
    wait_lines(&nvim, &["one", "user", "", "THREE"]);
    check_bytes(&nvim, "a.txt", "one\nuser\n\nTHREE\n");
    wait_hunks(
        &nvim,
        json!([
            [1, ["user"], ["user"], "conflict"],
            [3, ["three"], ["THREE"], "pending"]
        ]),
    );
    nvim
}

#[test]
fn a_conflict_keeps_the_users_text_and_tells_the_agent() {
    conflict().quit();
}

#[test]
fn accepting_a_conflict_takes_the_agents_text() {
    let nvim = conflict();
    nvim.cmd("Acp accept all");
    nvim.wait_text("1 conflict was skipped");
    assert_eq!(hunks(&nvim)[0][3], "conflict");
    nvim.cmd("Acp accept hunk");
    wait_lines(&nvim, &["one", "agent", "", "THREE"]);
    wait_hunks(&nvim, json!([]));
    nvim.keys("u");
    wait_lines(&nvim, &["one", "user", "", "THREE"]);
    nvim.quit();
}

#[test]
fn rejecting_a_conflict_keeps_the_users_text() {
    let nvim = conflict();
    nvim.cmd("Acp reject hunk");
    wait_hunks(&nvim, json!([[3, ["three"], ["THREE"], "pending"]]));
    wait_lines(&nvim, &["one", "user", "", "THREE"]);
    nvim.quit();
}

/// Changes the file on disk while the agent's write is pending; the buffer has an unsaved line if
/// `is_modified`.
#[track_caller]
fn check_foreign_change(commands: &str, is_modified: bool) {
    let user = if is_modified { "user\n" } else { "" };
    let script = Script::new()
        .reads("a.txt", &format!("{user}one\ntwo\nthree\n"))
        .pause("p")
        .writes("a.txt", &format!("{user}one\ntwo\nTHREE\n"));
    let project = Project::new()
        .file("a.txt", "one\ntwo\nthree\n")
        .before(commands);
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    if is_modified {
        nvim.keys("Ouser<Esc>");
    }
    super::prompt(&nvim);
    wait_pause(&nvim, "p");
    // A modification time that differs from the one Neovim recorded.
    let path = nvim.project.path("a.txt");
    touch(&path, "ONE\ntwo\nthree\n");
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(10);
    let file = std::fs::File::options()
        .write(true)
        .open(&path)
        .expect("it is there");
    file.set_modified(later).expect("the time can be set");
    go_on(&nvim, "p");
    nvim.wait_script("agent");
    let lines: &[&str] = if is_modified {
        &["user", "ONE", "two", "THREE"]
    } else {
        &["ONE", "two", "THREE"]
    };
    wait_lines(&nvim, lines);
    assert_eq!(
        nvim.project.read("a.txt"),
        format!("{}\n", lines.join("\n"))
    );
    assert!(!nvim.blocked());
    nvim.cmd("checktime");
    nvim.keys("ix<Esc>:write<CR>");
    nvim.wait("the file to be saved", || {
        nvim.lua("return vim.bo.modified", ()) == false
    });
    assert_eq!(
        nvim.messages().matches("W1").count(),
        0,
        "{}",
        nvim.messages()
    );
    nvim.quit();
}

#[test]
fn a_file_changed_by_others_is_merged_without_a_question() {
    check_foreign_change("set autoread", false);
}

#[test]
fn a_file_changed_by_others_is_merged_without_autoread() {
    check_foreign_change("set noautoread", false);
}

#[test]
fn a_modified_buffer_is_merged_with_changes_by_others() {
    check_foreign_change("set noautoread", true);
}

#[test]
fn the_agents_write_is_one_undo_step() {
    let script = Script::new().reads("a.txt", "1\n2\n3\n4\n5\nuser\n");
    let script = script.writes("a.txt", "ONE\n2\nTHREE\n4\n5\nuser\nsix\n");
    let project = Project::new().file("a.txt", "1\n2\n3\n4\n5\n");
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    nvim.keys("Gouser<Esc>");
    last_turn(&nvim);
    let written = ["ONE", "2", "THREE", "4", "5", "user", "six"];
    wait_lines(&nvim, &written);
    nvim.keys("u");
    wait_lines(&nvim, &["1", "2", "3", "4", "5", "user"]);
    wait_hunks(&nvim, json!([]));
    nvim.keys("u");
    wait_lines(&nvim, &["1", "2", "3", "4", "5"]);
    wait_hunks(&nvim, json!([]));
    nvim.keys("<C-r><C-r>");
    wait_lines(&nvim, &written);
    wait_hunks(
        &nvim,
        json!([
            [0, ["1"], ["ONE"], "pending"],
            [2, ["3"], ["THREE"], "pending"],
            [6, [], ["six"], "pending"]
        ]),
    );
    nvim.quit();
}

#[test]
fn marks_folds_cursor_and_view_of_untouched_lines_stay() {
    let lines: Vec<String> = (1..=100).map(|n| format!("line {n}")).collect();
    let mut changed = lines.clone();
    changed[2] = "LINE 3".into();
    changed.insert(10, "new".into());
    changed.remove(90);
    let (before, after) = (lines.join("\n") + "\n", changed.join("\n") + "\n");
    let script = Script::new()
        .reads("a.txt", &before)
        .writes("a.txt", &after);
    let project = Project::new().file("a.txt", &before);
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    nvim.keys("3Gma50Gmb95Gmc:1,8fold<CR>:40,45fold<CR>:80,85fold<CR>60Gzt5l");
    let view = "local view = vim.fn.winsaveview()
        return { view.lnum - view.topline, view.col, vim.fn.getline('.') }";
    let seen = nvim.lua(view, ());
    last_turn(&nvim);
    wait_lines(
        &nvim,
        &changed.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    assert_eq!(nvim.lua(view, ()), seen);
    let marks = nvim.lua(
        "return { vim.fn.line(\"'a\"), vim.fn.line(\"'b\"), vim.fn.line(\"'c\") }",
        (),
    );
    assert_eq!(marks, json!([3, 51, 95]));
    // The change is inside the first fold.
    for (line, from, to) in [(3, 1, 8), (42, 41, 46), (83, 81, 86)] {
        let fold = nvim.lua(
            "return { vim.fn.foldclosed(...), vim.fn.foldclosedend(...) }",
            (line,),
        );
        assert_eq!(fold, json!([from, to]), "the fold over line {line}");
    }
    nvim.quit();
}

#[test]
fn a_hidden_buffer_is_merged_into_and_saved() {
    let script = Script::new().writes("a.txt", "one\nTWO\n");
    let project = Project::new()
        .file("a.txt", "one\ntwo\n")
        .file("b.txt", "b\n");
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    nvim.keys("Ouser<Esc>");
    nvim.cmd("hide edit b.txt");
    last_turn(&nvim);
    check_bytes(&nvim, "a.txt", "user\none\nTWO\n");
    assert_eq!(nvim.buf_lines(0), ["b"]);
    nvim.cmd("buffer a.txt");
    wait_lines(&nvim, &["user", "one", "TWO"]);
    assert_eq!(nvim.lua("return vim.bo.modified", ()), false);
    nvim.wait_text("1/1");
    nvim.quit();
}

#[test]
fn an_unloaded_buffer_shows_the_hunks_when_it_is_loaded_again() {
    let script = Script::new().writes("a.txt", "one\nTWO\n");
    let project = Project::new()
        .file("a.txt", "one\ntwo\n")
        .file("b.txt", "b\n");
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    nvim.cmd("edit b.txt | bunload a.txt");
    last_turn(&nvim);
    check_bytes(&nvim, "a.txt", "one\nTWO\n");
    nvim.cmd("buffer a.txt");
    nvim.wait_text("1/1");
    wait_hunks(&nvim, json!([[1, ["two"], ["TWO"], "pending"]]));
    nvim.quit();
}

#[test]
fn a_buffer_with_a_swap_file_is_written_like_any_other() {
    let script = Script::new().writes("a.txt", "one\nTWO\n");
    let project = Project::new().file("a.txt", "one\ntwo\n");
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    nvim.keys("Ouser<Esc>:preserve<CR>");
    assert_ne!(nvim.lua("return vim.fn.swapname(0)", ()), "");
    last_turn(&nvim);
    check_bytes(&nvim, "a.txt", "user\none\nTWO\n");
    nvim.quit();
}

#[test]
fn a_file_that_another_neovim_has_open_is_written() {
    let script = Script::new().writes("a.txt", "one\nTWO\n").turn();
    let project = Project::new().file("a.txt", "one\ntwo\n");
    let nvim = start(project.agent("agent", &script.done()), "");
    let other = Nvim::start(std::rc::Rc::clone(&nvim.project));
    other.cmd("edit a.txt");
    turn(&nvim);
    check_bytes(&nvim, "a.txt", "one\nTWO\n");
    // The other Neovim's swap file causes no prompt and no error.
    nvim.cmd("Acp next");
    nvim.wait("the file to be shown", || {
        nvim.buf_lines(0) == ["one", "TWO"]
    });
    assert!(!nvim.blocked());
    other.quit();
    last_turn(&nvim);
    nvim.quit();
}

#[test]
fn two_sessions_merge_from_what_each_has_seen() {
    let first = Script::new().reads("a.txt", "one\ntwo\nthree\n").turn();
    let first = first.writes("a.txt", "ONE\ntwo\nthree\n");
    let second = Script::new().reads("a.txt", "one\ntwo\nthree\n").turn();
    let second = second.writes("a.txt", "one\ntwo\nTHREE\n");
    let project = Project::new()
        .file("a.txt", "one\ntwo\nthree\n")
        .agent("agent", &first.done())
        .agent("second", &second.done());
    let nvim = start(project, "a.txt");
    let other = nvim.lua(
        "return require('acp').open({ agent = 'second', new = true })",
        (),
    );
    nvim.cmd("wincmd t");
    let prompt = |session: &serde_json::Value| {
        nvim.lua(
            "require('acp').prompt('go', { session = ... })",
            (session.clone(),),
        );
    };
    let sessions = [json!(1), other.clone(), json!(1), other.clone()];
    for (turns, session) in (1..).zip(&sessions) {
        prompt(session);
        // The phase is idle before the turn as well, so wait for the event.
        nvim.wait("the turn's end", || {
            let events = nvim.user_events();
            let ended = events.iter().filter(|event| event.name == "AcpTurnEnded");
            ended.count() == turns
        });
    }
    nvim.wait_script("agent");
    nvim.wait_script("second");
    check_bytes(&nvim, "a.txt", "ONE\ntwo\nTHREE\n");
    nvim.quit();
}

#[test]
fn undo_covers_what_both_wrote_in_insert_mode() {
    let mut script = Script::new().reads("a.txt", "top\n\nbottom\n");
    for n in 1..4 {
        let content = format!("top\n{}\nbottom\n", "agent\n".repeat(n));
        script = script.pause(&format!("p{n}")).writes("a.txt", &content);
    }
    let project = Project::new().file("a.txt", "top\n\nbottom\n");
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    super::prompt(&nvim);
    nvim.keys("GA");
    for n in 1..4 {
        wait_pause(&nvim, &format!("p{n}"));
        nvim.keys(&format!(" word{n}"));
        nvim.mode();
        go_on(&nvim, &format!("p{n}"));
        nvim.wait("the agent's line", || nvim.buf_lines(0).len() == n + 3);
    }
    nvim.wait_script("agent");
    nvim.keys(" end<Esc>");
    let written = nvim.buf_lines(0);
    assert_eq!(
        written.last().map(String::as_str),
        Some("bottom word1 word2 word3 end")
    );
    nvim.cmd("earlier 99");
    wait_lines(&nvim, &["top", "", "bottom"]);
    wait_hunks(&nvim, json!([]));
    nvim.cmd("later 99");
    let written: Vec<&str> = written.iter().map(String::as_str).collect();
    wait_lines(&nvim, &written);
    nvim.wait("the agent's hunk", || hunks(&nvim)[0][3] == "pending");
    nvim.quit();
}

#[test]
fn undo_reverts_later_typing_first_and_then_the_agents_write() {
    let script = Script::new()
        .reads("a.txt", "top\nbottom\n")
        .pause("p")
        .writes("a.txt", "TOP\nbottom\n");
    let project = Project::new().file("a.txt", "top\nbottom\n");
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    super::prompt(&nvim);
    wait_pause(&nvim, "p");
    nvim.keys("GA one");
    nvim.mode();
    go_on(&nvim, "p");
    nvim.wait_script("agent");
    nvim.keys(" two<Esc>");
    wait_lines(&nvim, &["TOP", "bottom one two"]);
    nvim.keys("u");
    wait_lines(&nvim, &["TOP", "bottom one"]);
    nvim.keys("u");
    wait_lines(&nvim, &["top", "bottom one"]);
    nvim.keys("u");
    wait_lines(&nvim, &["top", "bottom"]);
    nvim.quit();
}
