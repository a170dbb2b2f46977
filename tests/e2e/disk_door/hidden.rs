//! Files ignored by `.gitignore`.

use serde_json::json;

use super::super::files::{check_bytes, hunks, turn, wait_hunks, wait_lines};
use super::{Door, check_silent};
use crate::harness::Project;

#[test]
fn ignored_files_are_reviewed_only_while_they_are_open() {
    let project = Project::new()
        .file(".gitignore", "a.txt\nb.txt\n")
        .file("b.txt", "b\n");
    let door = Door::of(project, "one\n", "echo two >> a.txt; echo b >> b.txt");
    let nvim = &door.nvim;
    turn(nvim);
    wait_lines(nvim, &["one", "two"]);
    wait_hunks(nvim, json!([[1, [], ["two"], "pending"]]));
    check_silent(nvim);
    nvim.cmd("Acp reject all");
    wait_lines(nvim, &["one"]);
    nvim.wait("no hunk to be left", || hunks(nvim) == json!([]));
    nvim.wait("the old file", || nvim.project.read("a.txt") == "one\n");
    check_bytes(nvim, "b.txt", "b\nb\n");
    door.nvim.quit();
}
