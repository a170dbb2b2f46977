//! Reviews follow their buffers: loaded, wiped out, reloaded, renamed.

use serde_json::json;

use super::{NEW, OLD, reviewed, reviewed_in, wait_file, wait_shown, wait_window_closed};
use crate::files::{Script, hunks, last_turn, start, touch, turn, wait_hunks, wait_lines};
use crate::harness::{Nvim, Project};

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

/// Waits until the current buffer shows the four hunks from `OLD` to `NEW`, and checks that one can
/// be rejected there.
#[track_caller]
fn check_review(nvim: &Nvim) {
    wait_shown(nvim);
    nvim.wait_text("4/4");
    nvim.wait("four hunks", || {
        hunks(nvim).as_array().map(Vec::len) == Some(4)
    });
    nvim.keys("4G\\r");
    nvim.wait("the line to be back", || nvim.buf_lines(0)[3] == "four");
    nvim.wait_text("3/3");
}

#[test]
fn a_file_without_a_buffer_shows_its_hunks_when_it_is_opened() {
    let script = Script::new().writes("a.txt", NEW).done();
    let project = Project::new().file("a.txt", OLD).agent("agent", &script);
    let nvim = start(project, "");
    last_turn(&nvim);
    nvim.cmd("edit a.txt");
    check_review(&nvim);
    nvim.quit();
}

#[test]
fn a_buffer_that_is_wiped_out_and_opened_again_keeps_its_review() {
    for gone in ["bwipeout! a.txt", "bdelete! a.txt", "bunload! a.txt"] {
        let nvim = reviewed(OLD, NEW);
        nvim.keys("Gounsaved<Esc>");
        nvim.cmd("enew");
        nvim.cmd(gone);
        nvim.cmd("edit a.txt");
        wait_lines(&nvim, &lines(NEW));
        check_review(&nvim);
        nvim.quit();
    }
}

#[test]
fn a_buffer_that_is_reloaded_keeps_its_review() {
    let nvim = reviewed(OLD, NEW);
    nvim.wait_text("4/4");
    nvim.keys("Gounsaved<Esc>");
    nvim.cmd("edit!");
    wait_lines(&nvim, &lines(NEW));
    check_review(&nvim);
    nvim.cmd("edit");
    nvim.wait_text("3/3");
    nvim.quit();
}

#[test]
fn a_buffer_that_is_reloaded_without_autocommands_is_still_merged() {
    let script = Script::new()
        .writes("a.txt", NEW)
        .turn()
        .reads("a.txt", &format!("{NEW}unsaved\n"))
        .writes("a.txt", &format!("{NEW}unsaved\nnine\n"));
    let project = Project::new()
        .file("a.txt", OLD)
        .agent("agent", &script.done());
    let nvim = start(project, "a.txt");
    turn(&nvim);
    nvim.cmd("noautocmd edit!");
    nvim.cmd("enew | buffer a.txt");
    nvim.keys("Gounsaved<Esc>");
    last_turn(&nvim);
    wait_file(&nvim, "a.txt", &format!("{NEW}unsaved\nnine\n"));
    nvim.quit();
}

#[test]
fn text_typed_after_a_reload_without_autocommands_is_merged() {
    let script = Script::new()
        .writes("a.txt", NEW)
        .turn()
        .reads("a.txt", &format!("{NEW}unsaved\n"))
        .writes("a.txt", &format!("{NEW}unsaved\nnine\n"));
    let project = Project::new()
        .file("a.txt", OLD)
        .agent("agent", &script.done());
    let nvim = start(project, "a.txt");
    turn(&nvim);
    nvim.cmd("set eventignore=all | edit!");
    nvim.keys("Gounsaved<Esc>");
    last_turn(&nvim);
    nvim.wait_text("nine");
    nvim.cmd("set eventignore=");
    nvim.quit();
}

#[test]
fn a_clean_buffer_that_is_reloaded_by_autoread_keeps_its_review() {
    let project = Project::new().config("log_level", json!("debug"));
    let nvim = reviewed_in(project, OLD, NEW);
    nvim.wait_text("4/4");
    wait_window_closed(&nvim);
    let path = nvim.project.path("a.txt");
    touch(&path, format!("others\n{NEW}"));
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(10);
    let file = std::fs::File::options()
        .write(true)
        .open(&path)
        .expect("it is there");
    file.set_modified(later).expect("the time can be set");
    nvim.cmd("checktime");
    wait_lines(&nvim, &[&["others"], &lines(NEW)[..]].concat());
    nvim.wait("the hunks one row below", || hunks(&nvim)[0][0] == 2);
    nvim.wait_text("4/4");
    nvim.quit();
}

#[test]
fn a_renamed_buffer_leaves_the_review_with_the_file() {
    let nvim = reviewed(OLD, NEW);
    nvim.wait_text("4/4");
    nvim.cmd("file other.txt");
    nvim.wait("no hunk to be shown", || !nvim.screen().has("4/4"));
    nvim.wait("four hunks of the file", || {
        hunks(&nvim).as_array().map(Vec::len) == Some(4)
    });
    // Changes to the buffer no longer affect the file.
    nvim.keys("ggdG");
    nvim.cmd("Acp reject all");
    wait_file(&nvim, "a.txt", OLD);
    wait_lines(&nvim, &[""]);
    nvim.quit();
}

#[test]
fn a_file_renamed_with_its_buffer_takes_its_review_along() {
    // File explorers and language servers rename the file first; some write or read it then.
    for then in ["", "silent! write!", "silent! write! | edit"] {
        let project = Project::new().config("log_level", json!("debug"));
        let nvim = reviewed_in(project, OLD, NEW);
        wait_window_closed(&nvim);
        nvim.lua(
            "local from = vim.api.nvim_buf_get_name(0)
            local to = vim.fs.dirname(from) .. '/b.txt'
            assert(vim.uv.fs_rename(from, to))
            vim.api.nvim_buf_set_name(0, to)
            vim.cmd(...)",
            (then,),
        );
        let paths = "return vim.tbl_map(function(hunk) return vim.fs.basename(hunk.path) end,
            require('acp').review.hunks())";
        nvim.wait("four hunks of the new name", || {
            nvim.lua(paths, ()) == json!(vec!["b.txt"; 4])
        });
        check_review(&nvim);
        nvim.cmd("Acp reject all");
        wait_file(&nvim, "b.txt", OLD);
        assert!(!nvim.project.path("a.txt").exists(), "{then}");
        nvim.quit();
    }
}

#[test]
fn a_buffer_saved_as_another_file_leaves_the_review_with_the_first() {
    let nvim = reviewed(OLD, NEW);
    nvim.wait_text("4/4");
    nvim.cmd("silent saveas other.txt");
    nvim.wait("no hunk to be shown", || !nvim.screen().has("4/4"));
    nvim.cmd("Acp reject all");
    wait_file(&nvim, "a.txt", OLD);
    assert_eq!(nvim.project.read("other.txt"), NEW);
    nvim.quit();
}

#[test]
fn another_format_changes_no_hunk() {
    let nvim = reviewed(OLD, NEW);
    nvim.cmd("set fileformat=dos | write");
    check_review(&nvim);
    wait_file(
        &nvim,
        "a.txt",
        &NEW.replace("FOUR", "four").replace('\n', "\r\n"),
    );
    nvim.quit();
}

#[test]
fn a_changedtick_without_a_change_prevents_no_write() {
    let script = Script::new()
        .writes("a.txt", NEW)
        .turn()
        .writes("a.txt", OLD);
    let project = Project::new()
        .file("a.txt", OLD)
        .agent("agent", &script.done());
    let nvim = start(project, "a.txt");
    let bump = || nvim.lua("for _ = 1, 5 do vim.cmd('noautocmd silent write') end", ());
    bump();
    turn(&nvim);
    bump();
    check_review(&nvim);
    bump();
    last_turn(&nvim);
    wait_lines(&nvim, &lines(OLD));
    nvim.quit();
}

#[test]
fn two_windows_on_a_buffer_show_the_same_review() {
    let nvim = reviewed(OLD, NEW);
    nvim.cmd("split");
    nvim.wait("both windows to show the review", || {
        nvim.screen().text().matches("1/4").count() == 2
    });
    nvim.quit();
}

#[test]
fn a_write_that_changes_every_other_line_of_a_large_file_is_shown_and_rejected() {
    let old: String = (0..4000).map(|n| format!("line {n}\n")).collect();
    let new: String = (0..4000)
        .map(|n| format!("{} {n}\n", if n % 2 == 0 { "line" } else { "changed" }))
        .collect();
    let script = Script::new().writes("a.txt", &new);
    let project = Project::new()
        .file("a.txt", &old)
        .agent("agent", &script.done());
    let nvim = start(project, "a.txt");
    last_turn(&nvim);
    let hunks = || nvim.lua("return require('acp').status().review.hunks", ());
    nvim.wait("the hunks", || hunks() == 2000);
    nvim.cmd("Acp reject all");
    nvim.wait("the old text", || hunks() == 0);
    wait_file(&nvim, "a.txt", &old);
    nvim.quit();
}

#[test]
fn a_reviews_keys_are_removed_with_it_even_after_a_change_of_configuration() {
    let nvim = reviewed(OLD, NEW);
    nvim.wait_text("4/4");
    // Neovim has global keymaps for the same keys.
    let local = "return vim.fn.maparg(..., 'n', false, true).buffer == 1";
    let mapped = |key: &str| nvim.lua(local, (key,)) == true;
    nvim.wait("the keys", || mapped("]a"));
    nvim.lua(
        "require('acp').setup({ keymaps = { review = { next_hunk = ']n' } } })",
        (),
    );
    nvim.cmd("Acp accept all");
    nvim.wait("no hunk to be shown", || !nvim.screen().has("4/4"));
    nvim.cmd("enew");
    nvim.cmd("buffer a.txt");
    nvim.wait("the key to be gone", || !mapped("]a"));
    assert!(!mapped("]n"));
    nvim.quit();
}

#[test]
fn the_users_own_mapping_is_restored_after_the_review() {
    let nvim = reviewed(OLD, NEW);
    nvim.wait_text("4/4");
    nvim.keys("\\A");
    wait_hunks(&nvim, json!([]));
    nvim.quit();
    let script = Script::new().writes("a.txt", NEW).done();
    let project = Project::new().file("a.txt", OLD).agent("agent", &script);
    let nvim = start(project, "a.txt");
    nvim.cmd("nnoremap <buffer> ]a ihello<lt>Esc>");
    last_turn(&nvim);
    nvim.wait_text("4/4");
    nvim.keys("\\A");
    wait_hunks(&nvim, json!([]));
    nvim.keys("]a");
    nvim.wait("the mapping", || {
        nvim.lua("return vim.fn.maparg(']a', 'n')", ()) == "ihello<Esc>"
    });
    nvim.quit();
}

#[test]
fn a_mapping_made_during_the_review_stays_and_longer_ones_work() {
    let nvim = reviewed(OLD, NEW);
    nvim.wait_text("4/4");
    nvim.cmd("nnoremap <buffer> ]a ihello<lt>Esc>");
    // With the same keys as leaders, the user's begin with the review's.
    nvim.cmd("nnoremap \\aa <Cmd>let g:own = 1<CR>");
    nvim.keys("\\aa");
    nvim.wait("the longer mapping", || {
        nvim.lua("return vim.g.own", ()) == 1
    });
    nvim.wait_text("4/4");
    nvim.keys("\\A");
    wait_hunks(&nvim, json!([]));
    nvim.keys("\\R");
    nvim.wait("the keys to be gone", || {
        nvim.lua("return vim.fn.maparg('\\\\a', 'n')", ()) == ""
    });
    assert_eq!(
        nvim.lua("return vim.fn.maparg(']a', 'n')", ()),
        "ihello<Esc>"
    );
    nvim.quit();
}

/// The core's mirror of a buffer equals the buffer after every kind of change.
#[test]
fn the_mirror_follows_every_kind_of_change() {
    let changes = [
        "normal! ggdG",
        "undo",
        "redo",
        "undo",
        "%s/e/E/",
        "global/T/delete",
        "undo",
        "2move $",
        "1copy 3",
        "normal! ggyGP",
        "%sort",
        "%!cat -n",
        "2,4join",
        "normal! ggVGJ",
        "earlier 3",
        "later 2",
        "silent read a.txt",
        "1,3delete",
        "normal! ggqqA!\u{1b}jq3@q",
        "put =range(3)",
        "normal! Go\u{1b}5ohello\u{1b}",
        "%delete",
        "put ='x'",
        "1delete",
        "1delete",
        "undo",
        "edit!",
        "normal! ggOtop",
        "g/^/move 0",
        "normal! gg\u{16}G$Ax",
    ];
    let mut script = Script::new().writes("a.txt", NEW);
    for at in 0..changes.len() {
        let name = format!("read-{at}");
        script = script
            .turn()
            .step(json!({ "read": "${cwd}/a.txt", "as": name }))
            .step(json!({ "await": name, "save": { "text": "/result/content" } }))
            .step(
                json!({ "touch": { "path": format!("${{cwd}}/../{name}"), "content": "${text}" } }),
            );
    }
    let project = Project::new()
        .file("a.txt", OLD)
        .agent("agent", &script.done());
    let nvim = start(project, "a.txt");
    turn(&nvim);
    for (at, change) in changes.iter().enumerate() {
        nvim.lua("vim.cmd('silent! ' .. ...)", (change,));
        turn(&nvim);
        let read = nvim.project.root().join(format!("read-{at}"));
        let read = std::fs::read_to_string(read).expect("the agent wrote it");
        let mut text = nvim.buf_lines(0).join("\n") + "\n";
        if text == "\n" {
            text.clear();
        }
        assert_eq!(read, text, "after {change:?}");
    }
    nvim.quit();
}

#[test]
fn a_file_of_many_thousand_lines_is_read_merged_shown_and_rejected() {
    let old: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
    let script = Script::new()
        .reads("a.txt", &format!("{old}unsaved\n"))
        .writes("a.txt", "all new\n");
    let project = Project::new()
        .file("a.txt", &old)
        .agent("agent", &script.done());
    let nvim = start(project, "a.txt");
    nvim.keys("Gounsaved<Esc>");
    last_turn(&nvim);
    nvim.wait_text("all new");
    nvim.wait_text("1/1");
    nvim.cmd("Acp reject file");
    nvim.wait("the old text", || nvim.buf_lines(0).len() == 20_001);
    assert!(!nvim.messages().contains("internal error"));
    nvim.quit();
}
