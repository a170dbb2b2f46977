//! Writes to files without a buffer, and the bytes on disk afterwards.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use serde_json::json;

use super::{Script, check_bytes, last_turn, start, turn, wait_hunks, wait_lines};
use crate::harness::{Nvim, Project};

/// Has the agent write `content` over `before`, on disk and through a buffer, and checks the bytes.
#[track_caller]
fn check_content(before: &[u8], content: &str, on_disk: &[u8], through_buffer: &[u8]) {
    for (file, after) in [("", on_disk), ("a.txt", through_buffer)] {
        let script = Script::new().writes("a.txt", content);
        let project = Project::new().file("a.txt", before);
        let nvim = start(project.agent("agent", &script.done()), file);
        last_turn(&nvim);
        check_bytes(&nvim, "a.txt", after);
        nvim.quit();
    }
}

/// Has the agent write `path` while no file is open.
#[track_caller]
fn written(project: Project, path: &str, content: &str) -> Nvim {
    let script = Script::new().writes(path, content).done();
    let nvim = start(project.agent("agent", &script), "");
    last_turn(&nvim);
    nvim
}

#[test]
fn a_new_file_is_created_with_its_folders() {
    let nvim = written(Project::new(), "some/new/folder/a.txt", "a\n");
    check_bytes(&nvim, "some/new/folder/a.txt", "a\n");
    nvim.quit();
}

#[test]
fn a_buffer_for_a_new_file_is_saved_with_its_folders() {
    let script = Script::new()
        .writes("some/new/a.txt", "user\nagent\n")
        .done();
    let nvim = start(Project::new().agent("agent", &script), "some/new/a.txt");
    nvim.keys("iuser<Esc>");
    last_turn(&nvim);
    check_bytes(&nvim, "some/new/a.txt", "user\nagent\n");
    nvim.quit();
}

#[test]
fn line_ends_stay_even_if_the_agent_sends_others() {
    check_content(b"a\r\nb\r\n", "a\nB\n", b"a\r\nB\r\n", b"a\r\nB\r\n");
    check_content(b"a\r\nb\r\n", "a\r\nB\r\n", b"a\r\nB\r\n", b"a\r\nB\r\n");
}

#[test]
fn a_byte_order_mark_stays() {
    check_content(
        b"\xef\xbb\xbfa\n",
        "A\n",
        b"\xef\xbb\xbfA\n",
        b"\xef\xbb\xbfA\n",
    );
}

#[test]
fn latin_1_stays_latin_1() {
    check_content(b"caf\xe9\n", "th\u{e9}\n", b"th\xe9\n", b"th\xe9\n");
}

#[test]
fn latin_1_comes_back_after_a_text_that_does_not_show_it() {
    let script = Script::new()
        .writes("a.txt", "one\n")
        .turn()
        .writes_in_vain("a.txt", "\u{2192}\n", -32603, "latin1");
    let project = Project::new().file("a.txt", b"caf\xe9\n");
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    turn(&nvim);
    last_turn(&nvim);
    check_bytes(&nvim, "a.txt", b"one\n");
    nvim.cmd("Acp reject all");
    // Not that the file's encoding was rejected, too.
    nvim.wait_text("The next prompt reports 1 rejected hunk");
    check_bytes(&nvim, "a.txt", b"caf\xe9\n");
    wait_lines(&nvim, &["caf\u{e9}"]);
    nvim.quit();
}

#[test]
fn characters_outside_latin_1_are_refused_and_nothing_is_written() {
    for (open, why) in [("", "latin-1"), ("a.txt", "latin1 has no '\u{2192}'")] {
        let script = Script::new().writes_in_vain("a.txt", "\u{2192}\n", -32603, why);
        let project = Project::new().file("a.txt", b"caf\xe9\n");
        let nvim = start(project.agent("agent", &script.done()), open);
        last_turn(&nvim);
        check_bytes(&nvim, "a.txt", b"caf\xe9\n");
        wait_hunks(&nvim, json!([]));
        nvim.quit();
    }
}

#[test]
fn the_final_newline_is_the_agents_on_disk_and_the_users_in_a_buffer() {
    check_content(b"a\nb", "A\nb", b"A\nb", b"A\nb\n");
    check_content(b"a\nb\n", "A\nb", b"A\nb", b"A\nb\n");
    check_content(b"a\nb", "A\nb\n", b"A\nb\n", b"A\nb\n");
}

#[test]
fn an_empty_file_stays_empty_or_is_filled() {
    check_content(b"", "", b"", b"");
    check_content(b"", "a\n", b"a\n", b"a\n");
    check_content(b"a\n", "", b"", b"");
}

#[test]
fn a_nul_is_written_unchanged() {
    check_content(b"a\0b\nc\n", "a\0b\nC\0\n", b"a\0b\nC\0\n", b"a\0b\nC\0\n");
}

#[test]
fn invalid_bytes_stay_in_the_lines_the_agent_leaves_alone() {
    let project = Project::new()
        .file("a.txt", b"\xff\xfe\x80\ntwo\n")
        .before("set fileencodings=utf-8");
    let script = Script::new().writes("a.txt", "\u{fffd}\u{fffd}\u{fffd}\nTWO\n");
    let nvim = start(project.agent("agent", &script.done()), "");
    nvim.cmd("edit ++bad=keep a.txt | setlocal noreadonly");
    last_turn(&nvim);
    check_bytes(&nvim, "a.txt", b"\xff\xfe\x80\nTWO\n");
    nvim.quit();
}

#[test]
fn lines_that_end_with_cr_stay() {
    let project = Project::new().file("a.txt", "a\rb\r");
    let project = project.before("set fileformats=unix,dos,mac");
    let script = Script::new().writes("a.txt", "a\rB\r");
    let nvim = start(project.agent("agent", &script.done()), "a.txt");
    last_turn(&nvim);
    check_bytes(&nvim, "a.txt", "a\rB\r");
    wait_lines(&nvim, &["a", "B"]);
    nvim.quit();
}

#[test]
fn a_symbolic_link_stays_a_link() {
    for file in ["", "link.txt", "real.txt"] {
        let project = Project::new().file("real.txt", "a\n");
        symlink("real.txt", project.path("link.txt")).expect("the link can be made");
        let script = Script::new()
            .writes("link.txt", "A\n")
            .reads("real.txt", "A\n");
        let nvim = start(project.agent("agent", &script.done()), file);
        last_turn(&nvim);
        let link = nvim.project.path("link.txt");
        assert!(link.is_symlink(), "{file}");
        check_bytes(&nvim, "real.txt", "A\n");
        nvim.cmd("edit real.txt");
        nvim.wait_text("1/1");
        nvim.quit();
    }
}

#[test]
fn modes_and_hard_links_stay() {
    let project = Project::new().file("a.sh", "a\n").file("b.txt", "b\n");
    let mode = std::fs::Permissions::from_mode(0o750);
    std::fs::set_permissions(project.path("a.sh"), mode).expect("the mode can be set");
    std::fs::hard_link(project.path("b.txt"), project.path("c.txt")).expect("it can be made");
    let script = Script::new().writes("a.sh", "A\n").writes("b.txt", "B\n");
    let nvim = start(project.agent("agent", &script.done()), "");
    last_turn(&nvim);
    let meta = nvim.project.path("a.sh").metadata().expect("it is there");
    assert_eq!(meta.mode() & 0o777, 0o750);
    check_bytes(&nvim, "c.txt", "B\n");
    nvim.quit();
}

#[test]
fn a_failed_write_is_reported() {
    let project = Project::new().file("a.txt", "a\n").file("src/b.txt", "b\n");
    let mode = std::fs::Permissions::from_mode(0o444);
    std::fs::set_permissions(project.path("a.txt"), mode).expect("the mode can be set");
    let script = Script::new()
        .writes_in_vain("a.txt", "A\n", -32603, "read-only")
        .writes_in_vain("src", "", -32603, "folder")
        .writes_in_vain("a.txt/b.txt", "", -32603, "a part of its path is a file");
    let nvim = start(project.agent("agent", &script.done()), "");
    last_turn(&nvim);
    check_bytes(&nvim, "a.txt", "a\n");
    nvim.quit();
}

#[test]
fn nuls_reach_a_buffer_through_every_kind_of_edit() {
    let before = "a\nb\nc\nd\n".to_owned();
    let many = "x\0y\n".repeat(400);
    for after in [
        "a\0\nb\nc\nd\n",
        "a\nnew\0\nb\nc\nd\n",
        "a\nd\0\n",
        &many,
        "\0\n",
    ] {
        check_content(before.as_bytes(), after, after.as_bytes(), after.as_bytes());
    }
}

/// Checks that a write to an open file stays in review over a checkpoint, and that rejecting it
/// gives the old bytes.
#[track_caller]
fn check_reviewed(before: &[u8], content: &str) {
    let script = Script::new().writes("a.txt", content).turn().turn().done();
    let project = Project::new().file("a.txt", before).agent("agent", &script);
    let nvim = start(project, "a.txt");
    turn(&nvim);
    turn(&nvim);
    let count = "return #require('acp').review.hunks()";
    nvim.wait("the hunk", || nvim.lua(count, ()) == 1);
    nvim.cmd("Acp reject all");
    nvim.wait("no hunk", || nvim.lua(count, ()) == 0);
    nvim.wait("the old bytes", || {
        std::fs::read(nvim.project.path("a.txt")).is_ok_and(|bytes| bytes == before)
    });
    turn(&nvim);
    let files = "return (require('acp').status().review or {}).files or 0";
    assert_eq!(nvim.lua(files, ()), 0);
    nvim.quit();
}

#[test]
fn a_write_to_an_open_file_of_any_encoding_and_size_is_reviewed() {
    let utf16: Vec<u8> = "\u{feff}one\ntwo\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    check_reviewed(&utf16, "one\n2\n");
    check_reviewed(b"one\ntwo\n", "one\n2\0\n");
    let large = "a line of a large file\n".repeat(250_000);
    check_reviewed(b"one\ntwo\n", &format!("one\n{large}two\n"));
}
