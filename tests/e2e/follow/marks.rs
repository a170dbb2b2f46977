//! The mark at the agent's position, whether followed or not.

use super::*;

#[test]
fn the_mark_is_shown_without_following_and_removed_with_the_turn() {
    let script = Script::new()
        .step(at("t", "read", "a.txt", 4))
        .pause("read")
        .step(at("u", "edit", "a.txt", 9))
        .pause("edit")
        .step(at("v", "read", "b.txt", 9))
        .pause("elsewhere")
        .step(at("w", "read", "a.txt", 2))
        .turn();
    let nvim = start(project(script));
    files::prompt(&nvim);
    wait_marks(&nvim, "a.txt", json!([[3, " agent reads"]]));
    nvim.wait_text("agent reads");
    pass(&nvim, "read");
    wait_marks(&nvim, "a.txt", json!([[8, " agent edits"]]));
    pass(&nvim, "edit");
    wait_marks(&nvim, "a.txt", json!([]));
    pass(&nvim, "elsewhere");
    talk::wait_phase(&nvim, "idle");
    wait_marks(&nvim, "a.txt", json!([]));
    assert_eq!(shown(&nvim), ["a.txt:1"]);
    nvim.quit();
}

#[test]
fn the_mark_moves_with_the_text_and_stays_there() {
    let script = Script::new()
        .step(at("t", "edit", "a.txt", 4))
        .pause("here")
        .step(json!({ "tool_update": { "id": "t", "title": "Edit", "locations": [place("a.txt", 4)] } }))
        .step(json!({ "tool_update": { "id": "t", "kind": "execute", "rawInput": { "command": "ls" } } }))
        .pause("still");
    let nvim = start(project(script));
    files::prompt(&nvim);
    wait_marks(&nvim, "a.txt", json!([[3, " agent edits"]]));
    nvim.cmd("wincmd t");
    nvim.keys("ggOnew<Esc>");
    wait_marks(&nvim, "a.txt", json!([[4, " agent edits"]]));
    pass(&nvim, "here");
    wait_marks(&nvim, "a.txt", json!([[4, " agent runs: ls"]]));
    nvim.quit();
}

#[test]
fn a_file_opened_later_shows_the_mark() {
    let script = Script::new().step(at("t", "read", "b.txt", 4)).pause("p");
    let nvim = start(project(script));
    files::prompt(&nvim);
    wait_pause(&nvim, "p");
    nvim.cmd("wincmd t");
    nvim.cmd("edit b.txt");
    wait_marks(&nvim, "b.txt", json!([[3, " agent reads"]]));
    nvim.cmd("edit!");
    wait_marks(&nvim, "b.txt", json!([[3, " agent reads"]]));
    nvim.lua("require('acp').close()", ());
    wait_marks(&nvim, "b.txt", json!([]));
    nvim.quit();
}
