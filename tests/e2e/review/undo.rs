//! Undo and redo restore the review that belongs to the restored text.

use serde_json::json;

use super::{NEW, OLD, reviewed};
use crate::files::{hunks, wait_hunks, wait_lines};
use crate::harness::Nvim;

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

/// Waits until there are `count` hunks.
#[track_caller]
fn wait_count(nvim: &Nvim, count: usize) {
    nvim.wait(&format!("{count} hunks"), || {
        hunks(nvim).as_array().map_or(0, Vec::len) == count
    });
}

#[test]
fn undoing_a_reject_restores_text_and_hunk() {
    let nvim = reviewed(OLD, NEW);
    nvim.keys("4G\\r");
    nvim.wait("the old line", || nvim.buf_lines(0)[3] == "four");
    wait_count(&nvim, 3);
    nvim.keys("u");
    wait_lines(&nvim, &lines(NEW));
    wait_count(&nvim, 4);
    nvim.keys("<C-r>");
    wait_count(&nvim, 3);
    assert_eq!(nvim.buf_lines(0)[3], "four");
    nvim.quit();
}

#[test]
fn a_reject_of_all_is_one_undo_step() {
    let nvim = reviewed(OLD, NEW);
    nvim.keys("\\R");
    wait_lines(&nvim, &lines(OLD));
    wait_count(&nvim, 0);
    nvim.keys("u");
    wait_lines(&nvim, &lines(NEW));
    wait_count(&nvim, 4);
    nvim.quit();
}

#[test]
fn undoing_the_agents_write_drops_its_hunks_and_redo_restores_them() {
    let nvim = reviewed(OLD, NEW);
    wait_count(&nvim, 4);
    nvim.keys("u");
    wait_lines(&nvim, &lines(OLD));
    wait_count(&nvim, 0);
    nvim.keys("<C-r>");
    wait_lines(&nvim, &lines(NEW));
    wait_count(&nvim, 4);
    nvim.wait_text("4/4");
    nvim.quit();
}

#[test]
fn redoing_the_users_typing_creates_no_hunk() {
    let nvim = reviewed(OLD, NEW);
    nvim.keys("1GAx<Esc>u<C-r>uu<C-r><C-r>");
    wait_lines(
        &nvim,
        &["onex", "TWO", "three", "FOUR", "five", "seven", "eight"],
    );
    wait_count(&nvim, 4);
    nvim.quit();
}

#[test]
fn restoring_lines_the_agent_deleted_by_hand_drops_only_that_hunk() {
    let nvim = reviewed(OLD, NEW);
    nvim.cmd("5put ='six'");
    wait_hunks(
        &nvim,
        json!([
            [1, ["two"], ["TWO"], "pending"],
            [3, ["four"], ["FOUR"], "pending"],
            [7, [], ["eight"], "pending"]
        ]),
    );
    nvim.quit();
}

#[test]
fn an_acceptance_survives_an_unrelated_undo() {
    let nvim = reviewed(OLD, NEW);
    nvim.keys("1GAx<Esc>2G\\a");
    wait_count(&nvim, 3);
    nvim.keys("u");
    wait_lines(&nvim, &lines(NEW));
    wait_count(&nvim, 3);
    nvim.quit();
}

#[test]
fn going_back_in_time_past_everything_is_fine() {
    let nvim = reviewed(OLD, NEW);
    nvim.keys("\\R");
    wait_lines(&nvim, &lines(OLD));
    wait_count(&nvim, 0);
    nvim.keys("Gouser<Esc>");
    nvim.cmd("earlier 99");
    wait_lines(&nvim, &lines(OLD));
    wait_count(&nvim, 0);
    nvim.cmd("later 1");
    wait_lines(&nvim, &lines(NEW));
    wait_count(&nvim, 4);
    nvim.cmd("later 99");
    wait_lines(&nvim, &[&lines(OLD)[..], &["user"]].concat());
    wait_count(&nvim, 0);
    nvim.quit();
}
