//! Merging changes from disk keeps marks, folds and views, and adopts the file's format.

use serde_json::json;

use super::super::files::{check_bytes, turn, wait_lines};
use super::{Door, check_silent, options, save};
use crate::harness::Project;

/// Has the agent change a file from `before` to `after`, in another format: the buffer's options
/// must be `expected`, and saving one more line must write `saved`.
#[track_caller]
fn check_format(before: &[u8], after: &[u8], expected: [&str; 5], saved: &[u8]) {
    let door = Door::new(Project::new(), before);
    let nvim = &door.nvim;
    door.merge(after);
    let [format, end, bomb, encoding, first] = expected;
    let written = json!([false, format, end == "eol", bomb == "bomb", encoding]);
    nvim.wait(&format!("{first} and {written}"), || {
        options(nvim) == written && nvim.buf_lines(0)[0] == first
    });
    check_silent(nvim);
    nvim.keys("ggOtop<Esc>");
    save(nvim, "write");
    check_bytes(nvim, "a.txt", saved);
    door.nvim.quit();
}

#[test]
fn the_buffer_adopts_the_line_ends_of_the_file() {
    check_format(
        b"a\nb\n",
        b"a\r\nB\r\n",
        ["dos", "eol", "", "utf-8", "a"],
        b"top\r\na\r\nB\r\n",
    );
    check_format(
        b"a\r\nb\r\n",
        b"a\nB\n",
        ["unix", "eol", "", "utf-8", "a"],
        b"top\na\nB\n",
    );
}

#[test]
fn a_byte_order_mark_is_added_and_removed() {
    check_format(
        b"a\n",
        b"\xef\xbb\xbfA\n",
        ["unix", "eol", "bomb", "utf-8", "A"],
        b"\xef\xbb\xbftop\nA\n",
    );
    check_format(
        b"\xef\xbb\xbfa\n",
        b"A\n",
        ["unix", "eol", "", "utf-8", "A"],
        b"top\nA\n",
    );
}

#[test]
fn a_missing_final_newline_is_detected() {
    check_format(
        b"a\n",
        b"A",
        ["unix", "noeol", "", "utf-8", "A"],
        b"top\nA\n",
    );
}

#[test]
fn latin_1_stays_until_the_file_becomes_utf_8() {
    check_format(
        b"caf\xe9\n",
        b"th\xe9\n",
        ["unix", "eol", "", "latin1", "th\u{e9}"],
        b"top\nth\xe9\n",
    );
    check_format(
        b"caf\xe9\n",
        "th\u{e9}\n".as_bytes(),
        ["unix", "eol", "", "utf-8", "th\u{e9}"],
        "top\nth\u{e9}\n".as_bytes(),
    );
}

#[test]
fn marks_folds_extmarks_and_the_cursor_stay_with_their_lines() {
    let line = |n: usize| format!("line {n}\n");
    let before: String = (1..=60).map(line).collect();
    let after = before
        .replace("line 1\n", "line one\nline one and a half\n")
        .replace("line 58\n", "");
    let door = Door::new(Project::new(), &before);
    let nvim = &door.nvim;
    nvim.cmd("set foldmethod=manual | 30,34fold | 40mark a");
    nvim.lua(
        "mark = vim.api.nvim_buf_set_extmark(0, vim.api.nvim_create_namespace('t'), 44, 2, {})
        vim.api.nvim_win_set_cursor(0, { 50, 3 })",
        (),
    );
    door.merge(&after);
    nvim.wait("the line", || nvim.buf_lines(0)[1] == "line one and a half");
    let state = nvim.lua(
        "return { vim.fn.foldclosed(31), vim.fn.foldclosedend(31), vim.fn.line(\"'a\"),
            vim.api.nvim_buf_get_extmark_by_id(0, vim.api.nvim_create_namespace('t'), mark, {}),
            vim.api.nvim_win_get_cursor(0), vim.fn.getline('.') }",
        (),
    );
    assert_eq!(state, json!([31, 35, 41, [45, 2], [51, 3], "line 50"]));
    assert_eq!(nvim.lua("return vim.fn.undotree().seq_last", ()), 1);
    door.nvim.quit();
}

#[test]
fn a_hidden_buffer_is_merged_without_being_shown() {
    for keys in ["", "GAmine<Esc>"] {
        let after = "one\nTWO\nthree\n";
        let door = Door::new(Project::new(), "one\ntwo\nthree\n");
        let nvim = &door.nvim;
        nvim.keys(keys);
        nvim.cmd("set hidden | edit b.txt");
        door.merge(after);
        check_silent(nvim);
        nvim.input(":buffer a.txt<CR>");
        let last = if keys.is_empty() {
            "three"
        } else {
            "threemine"
        };
        wait_lines(nvim, &["one", "TWO", last]);
        assert!(!nvim.blocked());
        assert_eq!(options(nvim)[0], !keys.is_empty());
        door.nvim.quit();
    }
}

#[test]
fn a_protected_buffer_follows_its_file_and_stays_protected() {
    for option in ["readonly", "nomodifiable"] {
        let after = "one\nTWO\n";
        let door = Door::new(Project::new(), "one\ntwo\n");
        let nvim = &door.nvim;
        nvim.cmd(&format!("setlocal {option}"));
        door.merge(after);
        wait_lines(nvim, &["one", "TWO"]);
        assert_eq!(options(nvim)[0], false);
        assert_eq!(
            nvim.lua("return vim.bo.readonly ~= vim.bo.modifiable", ()),
            false
        );
        check_silent(nvim);
        door.nvim.quit();
    }
}

#[test]
fn a_merge_does_not_write_a_buffer_that_another_plugin_writes() {
    let after = "one\nTWO\n";
    let door = Door::new(Project::new(), "one\ntwo\n");
    let nvim = &door.nvim;
    nvim.cmd("let g:written = 0 | autocmd BufWriteCmd *.txt let g:written += 1");
    door.merge(after);
    wait_lines(nvim, &["one", "TWO"]);
    assert_eq!(options(nvim)[0], false);
    // The plugin does not write the buffer itself.
    assert_eq!(nvim.lua("return vim.g.written", ()), 0);
    check_silent(nvim);
    door.nvim.quit();
}

#[test]
fn a_merge_runs_while_a_users_autocommand_waits() {
    let after = "one\nTWO\n";
    let door = Door::new(Project::new(), "one\ntwo\n");
    let nvim = &door.nvim;
    nvim.lua(
        "vim.api.nvim_create_autocmd('User', { pattern = 'Slow', callback = function()
            slow = vim.wait(10000, function() return vim.fn.getline(2) == 'TWO' end, 5)
        end })
        vim.schedule(function() vim.cmd('doautocmd User Slow') end)",
        (),
    );
    door.merge(after);
    nvim.wait("the autocommand", || nvim.lua("return slow", ()) == true);
    assert_eq!(options(nvim)[0], false);
    check_silent(nvim);
    nvim.keys("ggOtop<Esc>");
    save(nvim, "write");
    door.nvim.quit();
}

#[test]
fn neovim_still_asks_about_files_outside_any_session() {
    let door = Door::new(Project::new(), "one\n");
    let nvim = &door.nvim;
    let outside = nvim.project.root().join("other.txt");
    std::fs::write(&outside, "one\n").expect("it can be written");
    nvim.cmd(&format!("edit {} | set noautoread", outside.display()));
    std::fs::write(&outside, "one\ntwo\n").expect("it can be written");
    nvim.input(":checktime<CR>");
    nvim.wait_text("W11");
    nvim.keys("<CR>");
    door.nvim.quit();
}

#[test]
fn a_file_that_is_shown_with_its_line_ends_keeps_them() {
    let before = "one\r\ntwo\r\n";
    let door = Door::of(Project::new(), before, "sed -i 's/two/TWO/' a.txt");
    let nvim = &door.nvim;
    nvim.cmd("edit ++ff=unix a.txt");
    turn(nvim);
    nvim.wait_script("agent");
    wait_lines(nvim, &["one\r", "TWO\r"]);
    nvim.cmd("Acp reject all");
    wait_lines(nvim, &["one\r", "two\r"]);
    nvim.wait("the old bytes", || nvim.project.read("a.txt") == before);
    door.nvim.quit();
}
