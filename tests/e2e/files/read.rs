//! `fs/read_text_file`: unsaved text, lines and limits, formats, and refusals.

use serde_json::json;

use super::{Script, last_turn, open, start, touch};
use crate::harness::Project;

/// Runs one turn on a project whose current buffer is `file`.
#[track_caller]
fn check(project: Project, file: &str, script: Script) {
    let nvim = start(project.agent("agent", &script.done()), file);
    last_turn(&nvim);
    nvim.quit();
}

/// Checks what the agent reads from an `a.txt` with these bytes, from disk and from its buffer.
#[track_caller]
fn check_content(bytes: impl AsRef<[u8]>, from_disk: &str, from_buffer: &str) {
    let script = Script::new()
        .reads("a.txt", from_disk)
        .turn()
        .reads("a.txt", from_buffer);
    let project = Project::new().file("a.txt", bytes);
    let nvim = start(project.agent("agent", &script.done()), "");
    super::turn(&nvim);
    nvim.cmd("edit a.txt");
    last_turn(&nvim);
    nvim.quit();
}

#[test]
fn the_agent_reads_an_unsaved_line() {
    let script = Script::new().reads("a.txt", "one\nunsaved\ntwo\n").done();
    let project = Project::new().file("a.txt", "one\ntwo\n");
    let nvim = start(project.agent("agent", &script), "a.txt");
    nvim.keys("ounsaved<Esc>");
    last_turn(&nvim);
    assert_eq!(nvim.project.read("a.txt"), "one\ntwo\n");
    nvim.quit();
}

#[test]
fn line_and_limit_count_from_one() {
    let script = |path: &str| {
        let some = |script: Script, range, content| script.reads_some(path, range, content);
        let mut script = Script::new().reads(path, "1\n2\n3\n");
        script = some(script, json!({ "line": 2 }), "2\n3\n");
        script = some(script, json!({ "line": 1 }), "1\n2\n3\n");
        script = some(script, json!({ "line": 0 }), "1\n2\n3\n");
        script = some(script, json!({ "limit": 2 }), "1\n2\n");
        script = some(script, json!({ "limit": 0 }), "");
        script = some(script, json!({ "line": 2, "limit": 1 }), "2\n");
        script = some(script, json!({ "line": 3, "limit": 100 }), "3\n");
        script.reads_in_vain(path, json!({ "line": 4 }), -32602, "past the end")
    };
    let project = || Project::new().file("a.txt", "1\n2\n3\n").file("b.txt", "");
    check(project(), "a.txt", script("a.txt"));
    check(project(), "b.txt", script("a.txt"));
}

#[test]
fn an_empty_file_gives_an_empty_text() {
    let empty = || {
        Script::new()
            .reads("a.txt", "")
            .reads_some("a.txt", json!({ "line": 1, "limit": 10 }), "")
            .reads_in_vain("a.txt", json!({ "line": 2 }), -32602, "past the end")
    };
    check(Project::new().file("a.txt", ""), "a.txt", empty());
    check(Project::new().file("a.txt", ""), "", empty());
}

#[test]
fn a_missing_file_is_not_found() {
    let script = Script::new()
        .reads_in_vain("none.txt", json!({}), -32002, "none.txt")
        .reads_in_vain("no/folder/none.txt", json!({}), -32002, "none.txt");
    check(Project::new(), "", script);
}

#[test]
fn a_folder_is_not_a_file() {
    let script = Script::new().reads_in_vain("src", json!({}), -32603, "folder");
    check(Project::new().file("src/a.txt", ""), "", script);
}

#[test]
fn files_outside_the_folders_are_refused() {
    let project = Project::new().file("a.txt", "a\n");
    touch(&project.root().join("home/secret.txt"), "secret\n");
    std::os::unix::fs::symlink(project.root().join("home"), project.path("way-out"))
        .expect("the link can be made");
    std::os::unix::fs::symlink("../home/secret.txt", project.path("link.txt"))
        .expect("the link can be made");
    std::os::unix::fs::symlink(
        project.root().join("home/created.txt"),
        project.path("dangling"),
    )
    .expect("the link can be made");
    let outside = project.root().join("home/secret.txt");
    let outside = outside.to_string_lossy();
    let refused = "allowed_dirs";
    let script = Script::new()
        .reads_in_vain("./a.txt", json!({}), -32602, "absolute")
        .reads_in_vain(&outside, json!({}), -32602, refused)
        .reads_in_vain("../home/secret.txt", json!({}), -32602, refused)
        .reads_in_vain("way-out/secret.txt", json!({}), -32602, refused)
        .reads_in_vain("way-out/none.txt", json!({}), -32602, refused)
        .reads_in_vain("link.txt", json!({}), -32602, refused)
        .writes_in_vain("way-out/new/none.txt", "", -32602, refused)
        .writes_in_vain("link.txt", "", -32602, refused)
        .writes_in_vain("dangling", "", -32602, refused)
        .writes_in_vain(&outside, "", -32602, refused)
        .reads("none/../a.txt", "a\n");
    let nvim = start(project.agent("agent", &script.done()), "");
    last_turn(&nvim);
    let secret = nvim.project.root().join("home/secret.txt");
    assert_eq!(
        std::fs::read_to_string(secret).expect("it is there"),
        "secret\n"
    );
    for created in ["home/new", "home/created.txt"] {
        assert!(!nvim.project.root().join(created).exists(), "{created}");
    }
    nvim.quit();
}

#[test]
fn files_outside_are_refused_even_in_a_buffer() {
    let project = Project::new();
    touch(&project.root().join("home/secret.txt"), "secret\n");
    std::os::unix::fs::symlink("../home/secret.txt", project.path("link.txt"))
        .expect("the link can be made");
    let script = Script::new()
        .reads_in_vain("link.txt", json!({}), -32602, "allowed_dirs")
        .writes_in_vain("link.txt", "x\n", -32602, "allowed_dirs");
    check(project, "link.txt", script);
}

#[test]
fn the_config_allows_more_folders() {
    let project = Project::new();
    let folder = project.root().join("home/notes");
    std::fs::create_dir(&folder).expect("the folder is new");
    touch(&folder.join("a.txt"), "a\n");
    std::os::unix::fs::symlink("../home/notes/a.txt", project.path("link.txt"))
        .expect("the link can be made");
    let inside = folder.join("a.txt").to_string_lossy().into_owned();
    let new = folder.join("new.txt").to_string_lossy().into_owned();
    let beside = project.root().join("home/notes-2.txt");
    let script = Script::new()
        .reads(&inside, "a\n")
        .reads("link.txt", "a\n")
        .writes(&new, "new\n")
        .writes_in_vain(&beside.to_string_lossy(), "", -32602, "allowed_dirs");
    let project = project.config("permissions", json!({ "allowed_dirs": ["~/notes"] }));
    // It is for completion and for listing files.
    let project = project.before("set wildignore=*/notes");
    let nvim = start(project.agent("agent", &script.done()), "");
    last_turn(&nvim);
    assert_eq!(
        std::fs::read_to_string(new).expect("it was written"),
        "new\n"
    );
    nvim.quit();
}

#[test]
fn a_read_is_answered_while_neovim_waits_at_a_prompt() {
    let script = Script::new()
        .pause("p")
        .reads("a.txt", "one\nunsaved\n")
        .done();
    let project = Project::new().file("a.txt", "one\n");
    let nvim = start(project.agent("agent", &script), "a.txt");
    nvim.keys("ounsaved<Esc>");
    super::prompt(&nvim);
    super::wait_pause(&nvim, "p");
    nvim.keys(":echo \"one\\ntwo\\nthree\"<CR>");
    nvim.wait("the prompt", || nvim.blocked());
    super::go_on(&nvim, "p");
    nvim.wait_script("agent");
    assert!(nvim.blocked(), "Neovim still waits for a key");
    nvim.keys("<CR>");
    nvim.quit();
}

#[test]
fn crlf_is_read_as_it_is_on_disk() {
    check_content("a\r\nb\r\n", "a\r\nb\r\n", "a\r\nb\r\n");
}

#[test]
fn latin_1_is_read_as_text() {
    check_content(b"caf\xe9\n", "caf\u{e9}\n", "caf\u{e9}\n");
}

#[test]
fn a_byte_order_mark_is_not_part_of_the_text() {
    check_content(b"\xef\xbb\xbfa\n", "a\n", "a\n");
}

#[test]
fn a_missing_final_newline_is_read_as_it_will_be_written() {
    // With 'fixendofline', saving the buffer would add the newline.
    check_content("a\nb", "a\nb", "a\nb\n");
    let script = Script::new().reads("a.txt", "a\nb");
    let project = Project::new().file("a.txt", "a\nb");
    check(project.before("set nofixendofline"), "a.txt", script);
}

#[test]
fn lines_that_end_with_cr_are_lines() {
    let script =
        Script::new()
            .reads("a.txt", "a\rb\r")
            .reads_some("a.txt", json!({ "line": 2 }), "b\r");
    let project = Project::new().file("a.txt", "a\rb\r");
    check(
        project.before("set fileformats=unix,dos,mac"),
        "a.txt",
        script,
    );
}

#[test]
fn a_nul_is_a_character_like_any_other() {
    check_content(b"a\0b\nc\n", "a\0b\nc\n", "a\0b\nc\n");
}

#[test]
fn the_agent_reads_a_changed_format() {
    let script = Script::new().reads("a.txt", "a\r\n").done();
    let project = Project::new().file("a.txt", "a\n");
    let nvim = start(project.agent("agent", &script), "a.txt");
    nvim.cmd("set fileformat=dos");
    last_turn(&nvim);
    nvim.quit();
}

#[test]
fn a_format_set_by_a_modeline_is_respected() {
    let script = Script::new().reads("a.txt", "a\r\n# vim: set ff=dos :\r\n");
    let project = Project::new().file("a.txt", "a\n# vim: set ff=dos :\n");
    let project = project
        .before("set modeline")
        .agent("agent", &script.done());
    let nvim = project.start();
    open(&nvim);
    nvim.lua("vim.cmd.edit('a.txt')", ());
    assert_eq!(nvim.lua("return vim.bo.fileformat", ()), "dos");
    last_turn(&nvim);
    nvim.quit();
}

#[test]
fn buffers_opened_after_the_plugin_started_are_read() {
    let script = Script::new()
        .reads("new.txt", "typed\n")
        .reads("renamed.txt", "in a buffer\n");
    let nvim = start(Project::new().agent("agent", &script.done()), "");
    nvim.keys("iin a buffer<Esc>");
    nvim.cmd("file renamed.txt");
    nvim.cmd("hide edit new.txt");
    nvim.keys("ityped<Esc>");
    last_turn(&nvim);
    nvim.quit();
}
