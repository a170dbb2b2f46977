//! Where proposals appear: in loaded buffers, on request, or immediately.

use super::*;

/// An agent that asks about a file that is not open, and about one that does not exist.
fn elsewhere() -> Script {
    let diffs = [
        diff("b.txt", Some("b"), "B"),
        diff("new.txt", None, "first\nsecond\n"),
    ];
    Script::new()
        .step(permission("t", &diffs))
        .step(json!({ "await": "t" }))
}

fn project() -> Project {
    Project::new().file("b.txt", "a\nb\nc\n")
}

#[track_caller]
fn wait_file_name(nvim: &Nvim, name: &str) {
    nvim.wait(name, || nvim.lua("return vim.fn.expand('%:t')", ()) == name);
}

#[test]
fn a_key_goes_to_the_first_file_and_then_to_the_next() {
    let nvim = asked_in(project(), elsewhere());
    wait_asked(&nvim);
    nvim.cmd("Acp permission");
    nvim.wait_text("gf shows it in the file");
    nvim.keys("gf");
    wait_file_name(&nvim, "b.txt");
    nvim.wait_text("b proposed 1/1");
    assert_eq!(nvim.lua("return vim.fn.line('.')", ()), 2);
    // The window hears of the second place with a later frame.
    nvim.wait("new.txt", || {
        press(&nvim, "o");
        nvim.lua("return vim.fn.expand('%:t')", ()) == "new.txt"
    });
    nvim.wait_text("proposed 1/1");
    nvim.wait_text("second");
    let rows = nvim.screen().rows();
    let shown: Vec<&str> = rows[..3]
        .iter()
        .map(|row| row.split('│').next().unwrap_or("").trim())
        .collect();
    assert_eq!(
        shown,
        ["┆  proposed 1/1 \\a accept \\r reject", "first", "second"]
    );
    assert_eq!(nvim.buf_lines(0), [""]);
    assert_eq!(nvim.lua("return vim.bo.modified", ()), false);
    // The preview never uses the chat's windows.
    let kinds = windows(&nvim);
    assert!(kinds.contains(&"acp-chat".to_owned()), "{kinds:?}");
    assert!(kinds.contains(&"acp-input".to_owned()), "{kinds:?}");
    nvim.quit();
}

#[test]
fn a_chat_alone_gets_a_window_beside_it() {
    let nvim = asked_in(project(), elsewhere());
    wait_asked(&nvim);
    nvim.lua(
        "for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
          local buf = vim.api.nvim_win_get_buf(win)
          if vim.bo[buf].buftype == '' then vim.api.nvim_win_close(win, true) end
        end",
        (),
    );
    nvim.cmd("Acp permission");
    nvim.wait_text("gf shows it in the file");
    nvim.keys("gf");
    wait_file_name(&nvim, "b.txt");
    nvim.wait_text("b proposed 1/1");
    assert!(windows(&nvim).contains(&"acp-chat".to_owned()));
    nvim.quit();
}

#[test]
fn a_file_is_opened_at_once_if_configured() {
    let project = project().config("review", json!({ "preview": "open" }));
    let nvim = asked_in(project, elsewhere());
    nvim.wait_text("b proposed 1/1");
    wait_asked(&nvim);
    let names = nvim.lua(
        "return vim.tbl_map(function(win)
          return vim.fs.basename(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win)))
        end, vim.api.nvim_tabpage_list_wins(0))",
        (),
    );
    let names: Vec<String> = serde_json::from_value(names).unwrap();
    // The user's file keeps its window.
    assert!(names.contains(&"a.txt".to_owned()), "{names:?}");
    assert!(names.contains(&"b.txt".to_owned()), "{names:?}");
    nvim.quit();
}

#[test]
fn opening_a_file_does_not_disturb_a_typing_user() {
    let script = Script::new()
        .pause("typing")
        .step(permission("t", &[diff("b.txt", Some("b"), "B")]))
        .step(json!({ "await": "t" }));
    let project = project().config("review", json!({ "preview": "open" }));
    let nvim = asked_in(project, script);
    crate::files::wait_pause(&nvim, "typing");
    nvim.cmd("wincmd t");
    nvim.keys("ggOmy ");
    crate::files::go_on(&nvim, "typing");
    nvim.wait_text("b proposed 1/1");
    nvim.keys("line");
    nvim.wait_text("my line");
    assert_eq!(nvim.mode(), "i");
    assert_eq!(nvim.lua("return vim.fn.expand('%:t')", ()), "a.txt");
    nvim.quit();
}

#[test]
fn a_diff_that_does_not_apply_is_reported_and_shown_unchanged() {
    let script = Script::new()
        .step(permission("t", &[diff("a.txt", Some("nowhere"), "here")]))
        .step(answer("t", "allow_once"));
    let nvim = asked(script);
    wait_asked(&nvim);
    nvim.wait_text("Does not match the file: the text");
    nvim.wait_text("- nowhere");
    nvim.wait_text("+ here");
    check_nothing_proposed(&nvim);
    press(&nvim, "1");
    nvim.wait_script("agent");
    nvim.quit();
}

#[test]
fn a_snippet_of_a_file_with_other_line_ends_is_found() {
    let script = Script::new()
        .step(permission(
            "t",
            &[diff("dos.txt", Some("two\nthree"), "2\n3")],
        ))
        .step(answer("t", "allow_once"))
        .writes("dos.txt", "one\r\n2\r\n3\r\n");
    let nvim = asked_in(
        Project::new().file("dos.txt", "one\r\ntwo\r\nthree\r\n"),
        script,
    );
    wait_asked(&nvim);
    nvim.cmd("Acp permission");
    nvim.wait_text("gf shows it in the file");
    nvim.keys("gf");
    wait_file_name(&nvim, "dos.txt");
    nvim.wait_text("two proposed 1/1");
    nvim.keys("\\a");
    nvim.wait_script("agent");
    wait_file(&nvim, "dos.txt", "one\r\n2\r\n3\r\n");
    wait_states(&nvim, json!([]));
    nvim.quit();
}
