//! Open buffers of files that others have changed.

use serde_json::json;

use super::super::files::{check_bytes, wait_lines};
use super::{Door, check_silent, options, save};
use crate::harness::Project;

#[test]
fn a_clean_buffer_gets_the_text_and_neovim_knows_the_file() {
    for autoread in ["set autoread", "set noautoread"] {
        let after = "one\nTWO\nthree\n";
        let door = Door::new(Project::new(), "one\ntwo\nthree\n", after);
        let nvim = &door.nvim;
        nvim.cmd(autoread);
        door.merge(after);
        wait_lines(nvim, &["one", "TWO", "three"]);
        assert_eq!(options(nvim), json!([false, "unix", true, false, "utf-8"]));
        let ticks = "return { vim.fn.undotree().seq_last, vim.b.changedtick }";
        let before = nvim.lua(ticks, ());
        check_silent(nvim);
        // It was not read again.
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
        let door = Door::new(Project::new(), "one\ntwo\nthree\n", after);
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
fn undo_after_a_merge_tells_that_the_file_is_another() {
    let after = "one\nTWO\n";
    let door = Door::new(Project::new(), "one\ntwo\n", after);
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
fn undo_through_a_merge_never_says_that_the_old_text_is_saved() {
    let after = "one\nTWO\n";
    let door = Door::new(Project::new(), "one\ntwo\n", after);
    let nvim = &door.nvim;
    nvim.keys("ggOmine<Esc>");
    door.merge(after);
    wait_lines(nvim, &["mine", "one", "TWO"]);
    nvim.keys("uu");
    wait_lines(nvim, &["one", "two"]);
    assert_eq!(options(nvim)[0], true);
    door.nvim.quit();
}
