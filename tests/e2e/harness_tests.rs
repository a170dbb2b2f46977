//! Tests of the harness.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use serde_json::json;

use super::harness::{Nvim, Project, UserEvent, procs};

/// Checks that `act` fails, and that the failure's text contains each of `parts`.
#[track_caller]
fn check_failure(act: impl FnOnce(), parts: &[&str]) {
    let panic = catch_unwind(AssertUnwindSafe(act)).expect_err("it should have failed");
    let text = panic.downcast_ref::<String>().expect("a panic with a text");
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing in:\n{text}");
    }
}

/// Checks the topmost rows of the screen.
#[track_caller]
fn check_rows(nvim: &Nvim, rows: &[&str]) {
    nvim.wait(&format!("the rows {rows:#?}"), || {
        nvim.screen().rows().iter().zip(rows).all(|(a, b)| a == b)
    });
}

#[test]
fn typed_text_is_on_the_screen() {
    let nvim = Project::new().start();
    nvim.keys("ihello<CR>");
    nvim.type_text("a <b>\nc");
    check_rows(&nvim, &["hello", "a <b>", "c", "~"]);
    assert_eq!(nvim.mode(), "i");
    assert_eq!(nvim.buf_lines(0), ["hello", "a <b>", "c"]);
    let screen = nvim.screen();
    assert_eq!(screen.find("<b>"), Some((1, 2)));
    assert_eq!(screen.cursor, (2, 1));
    assert_eq!(screen.mode, "insert");
    assert!(!screen.has("a\n"));
    nvim.quit();
}

#[test]
fn a_flush_shows_when_a_key_was_drawn() {
    let nvim = Project::new().start();
    nvim.keys("iab");
    nvim.wait("the cursor", || nvim.screen().cursor == (0, 2));
    let (seen, pressed) = (nvim.flushes(0).len(), Instant::now());
    nvim.input("c");
    nvim.wait("the flush", || {
        let flushes = nvim.flushes(seen);
        flushes
            .iter()
            .any(|flush| flush.cursor == (0, 3) && flush.at > pressed)
    });
    assert!(nvim.screen().has("abc"));
}

#[test]
fn keys_are_processed_before_the_next_request() {
    let nvim = Project::new().start();
    nvim.keys(&format!("i{}<Esc>", "x".repeat(5_000)));
    assert_eq!(nvim.buf_lines(0), ["x".repeat(5_000)]);
}

#[test]
fn the_screen_scrolls_both_ways_and_keeps_its_rows_apart() {
    let nvim = Project::new().size(20, 8).start();
    let lines: Vec<_> = (0..50).map(|n| format!("line {n}")).collect();
    nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, ...)", (lines,));
    check_rows(&nvim, &["line 0", "line 1", "line 2"]);
    nvim.keys("3<C-e>");
    check_rows(&nvim, &["line 3", "line 4", "line 5", "line 6", "line 7"]);
    nvim.keys("2<C-y>");
    check_rows(&nvim, &["line 1", "line 2", "line 3", "line 4", "line 5"]);
    nvim.resize(30, 5);
    nvim.wait("the new size", || nvim.screen().width == 30);
    nvim.keys("gg");
    check_rows(&nvim, &["line 0", "line 1", "line 2"]);
    assert_eq!(nvim.screen().rows().len(), 5);
}

#[test]
fn wide_characters_fill_two_cells() {
    let nvim = Project::new().size(40, 5).start();
    nvim.type_text("ia漢b");
    check_rows(&nvim, &["a漢b"]);
    assert_eq!(nvim.screen().find("b"), Some((0, 3)));
}

#[test]
fn highlights_are_identified_by_their_groups() {
    let nvim = Project::new().size(40, 5).start();
    nvim.type_text("iplain added word end");
    nvim.lua(
        "local ns = vim.api.nvim_create_namespace('t')
        vim.api.nvim_set_hl(0, 'AcpAdded', { default = true, link = 'DiffAdd' })
        vim.api.nvim_buf_set_extmark(0, ns, 0, 6, { end_col = 16, hl_group = 'AcpAdded' })
        vim.api.nvim_buf_set_extmark(0, ns, 0, 12, { end_col = 16, hl_group = 'Search' })",
        (),
    );
    nvim.wait("the highlights", || {
        nvim.screen().groups_of("added word end") == ["DiffAdd", "DiffAdd+Search", ""]
    });
    assert_eq!(nvim.screen().groups_of("plain"), [""]);
    let (row, column) = nvim.screen().find("word").unwrap();
    assert!(nvim.screen().style(row, column).bg.is_some());
    insta::assert_snapshot!(nvim.screen().dump(0..3));
}

#[test]
fn a_prompt_blocks_and_the_harness_detects_it() {
    let nvim = Project::new().start();
    assert!(!nvim.blocked());
    nvim.keys(":echomsg 'one' | echomsg 'two'<CR>");
    nvim.wait_text("Press ENTER");
    assert!(nvim.blocked());
    nvim.keys("<CR>");
    nvim.wait("the prompt to end", || !nvim.blocked());
    assert_eq!(nvim.messages(), "one\ntwo");
}

#[test]
fn a_neovim_at_a_prompt_can_be_quit() {
    let nvim = Project::new().start();
    nvim.keys(":echo \"one\\ntwo\"<CR>");
    nvim.wait("the prompt", || nvim.blocked());
    nvim.quit();
}

#[test]
fn a_wait_that_times_out_fails_with_a_dump() {
    let nvim = Project::new().start();
    nvim.keys("ion the screen<Esc>:echomsg 'said before'<CR>");
    nvim.lua(
        "vim.api.nvim_exec_autocmds('User', { pattern = 'AcpTest' })",
        (),
    );
    std::fs::write(nvim.project.root().join("state/acp.log"), "logged").unwrap();
    let patience = Duration::from_millis(50);
    check_failure(
        || nvim.wait_within(patience, "a false condition", || false),
        &[
            "timed out after 50ms waiting for a false condition",
            "on the screen",
            "said before",
            "AcpTest",
            "logged",
            "cursor at 0:12",
        ],
    );
}

#[test]
fn a_neovim_that_hangs_fails_the_test() {
    let mut nvim = Project::new().start();
    let start = Instant::now();
    check_failure(
        || {
            nvim.wait_within(Duration::from_millis(50), "the end of time", || {
                nvim.lua("while true do end", ());
                true
            });
        },
        &["no answer", "Timeout"],
    );
    assert!(start.elapsed() < Duration::from_secs(10));
    nvim.kill();
}

#[test]
fn a_neovim_that_is_gone_fails_the_test() {
    let mut nvim = Project::new().start();
    nvim.kill();
    check_failure(|| nvim.cmd("echo 1"), &["Neovim has exited"]);
}

#[test]
fn errors_of_lua_and_commands_fail_the_test() {
    let nvim = Project::new().start();
    check_failure(|| drop(nvim.lua("error('no luck')", ())), &["no luck"]);
    check_failure(|| nvim.cmd("nosuchcommand"), &["E492"]);
    assert!(nvim.try_lua("error('no luck')", ()).is_err());
    assert_eq!(
        nvim.lua("return { ... }", (1, "a", [2.5])),
        json!([1, "a", [2.5]])
    );
}

#[test]
fn user_autocommands_are_recorded_with_their_data() {
    let nvim = Project::new().start();
    nvim.lua(
        "vim.api.nvim_exec_autocmds('User', { pattern = 'AcpTest', data = { session = 7 } })
        vim.api.nvim_exec_autocmds('User', { pattern = 'Other' })",
        (),
    );
    let expected = UserEvent {
        name: "AcpTest".to_owned(),
        data: json!({ "session": 7 }),
    };
    assert_eq!(nvim.user_events(), [expected]);
}

#[test]
fn nothing_of_the_users_leaks_in() {
    let nvim = Project::new().start();
    let root = nvim.project.root().canonicalize().unwrap();
    for what in ["config", "data", "state", "cache", "log", "run"] {
        let path = nvim.lua(
            "return vim.uv.fs_realpath(vim.fn.stdpath(...)) or vim.fn.stdpath(...)",
            (what,),
        );
        let path = std::path::PathBuf::from(path.as_str().unwrap());
        assert!(
            path.starts_with(&root) || path.starts_with(nvim.project.root()),
            "{what}: {path:?}"
        );
    }
    let home = nvim.lua("return vim.uv.os_homedir()", ());
    assert_eq!(home, json!(nvim.project.root().join("home")));
    assert_eq!(
        nvim.lua("return vim.uv.os_getenv('CARGO_MANIFEST_DIR')", ()),
        json!(null)
    );
}

#[test]
fn the_project_is_set_up_before_neovim_starts() {
    let nvim = Project::new()
        .file("src/a.txt", "a\n")
        .agent("first", "{}")
        .agent_command("second", json!({ "command": "sh" }))
        .config("log_level", json!("debug"))
        .env("ACP_TEST_VARIABLE", "a b")
        .before("let g:before = exists('g:acp')")
        .start();
    nvim.cmd("edit src/a.txt");
    assert_eq!(nvim.buf_lines(0), ["a"]);
    nvim.keys("xib<Esc>:write<CR>");
    nvim.wait("the file", || nvim.project.read("src/a.txt") == "b\n");
    assert_eq!(nvim.lua("return vim.g.before", ()), json!(1));
    assert_eq!(
        nvim.lua("return vim.env.ACP_TEST_VARIABLE", ()),
        json!("a b")
    );
    let config = nvim.lua("return vim.g.acp", ());
    assert_eq!(config["default_agent"], "first");
    assert_eq!(config["agents"]["second"]["command"], "sh");
    assert_eq!(config["log_level"], "debug");
    assert!(std::path::Path::new(config["library"].as_str().unwrap()).exists());
    let runtime = nvim.lua("return vim.o.runtimepath", ());
    assert!(
        runtime
            .as_str()
            .unwrap()
            .contains(env!("CARGO_MANIFEST_DIR"))
    );
}

#[test]
fn a_script_that_fails_fails_the_test() {
    let nvim = Project::new()
        .agent("good", "")
        .agent("bad", "")
        .agent("slow", "")
        .start();
    nvim.lua(
        "local agents = vim.g.acp.agents
        vim.fn.writefile({ '{\"mark\":1}', 'ok' }, agents.good.env.ACP_SCRIPT_REPORT)
        vim.fn.writefile({ 'ok', 'mismatch: line 2' }, agents.bad.env.ACP_SCRIPT_REPORT)
        vim.fn.writefile({ '{\"mark\":1}' }, agents.slow.env.ACP_SCRIPT_REPORT)",
        (),
    );
    nvim.wait_script("good");
    check_failure(|| nvim.wait_script("bad"), &["bad: mismatch: line 2"]);
    assert_eq!(nvim.project.verdict("slow"), None);
    assert_eq!(nvim.project.report("slow"), ["{\"mark\":1}"]);
}

#[test]
fn a_message_after_the_end_of_a_script_fails_the_test() {
    let nvim = Project::new().agent("late", "").start();
    let report = "local report = vim.g.acp.agents.late.env.ACP_SCRIPT_REPORT
        vim.fn.writefile({ ... }, report, 'a')";
    nvim.lua(report, ["ok"]);
    nvim.wait_script("late");
    let late = "mismatch: after the last step: unexpected {}";
    nvim.lua(report, [late]);
    check_failure(|| nvim.quit(), &[&format!("late: {late}")]);
}

#[test]
fn children_and_their_orphans_are_found() {
    let mut nvim = Project::new().start();
    nvim.lua(
        "vim.fn.jobstart({ 'sh', '-c', 'sleep 60 & wait' }, { detach = true })",
        (),
    );
    nvim.wait("the job", || nvim.processes().len() == 3);
    let children = nvim.children();
    assert_eq!(children.len(), 1, "{children:?}");
    let child = children[0].pid;
    assert!(procs::alive(child));
    let everything = nvim.processes();

    nvim.kill();
    assert!(!procs::alive(nvim.pid()));
    assert_eq!(nvim.processes().len(), 2, "the detached job lives on");
    drop(nvim);
    for process in everything {
        check_gone(process.pid);
    }
}

/// Checks that a process that was asked to end does so.
#[track_caller]
fn check_gone(pid: u32) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while procs::alive(pid) {
        assert!(Instant::now() < deadline, "process {pid} is still there");
        std::thread::yield_now();
    }
}

#[test]
fn random_names_are_masked_without_moving_anything() {
    let nvim = Project::new().start();
    let path = nvim.project.path("a.txt").display().to_string();
    let masked = nvim.mask(&path);
    assert_eq!(masked.len(), path.len());
    assert!(masked.ends_with("/acp-XXXXXX/project/a.txt"), "{masked}");
    nvim.type_text(&format!("i{path}"));
    nvim.wait("the path", || nvim.snapshot().contains(&masked));
}

#[test]
fn two_neovims_share_a_project() {
    let first = Project::new().file("a.txt", "a\n").start();
    let second = Nvim::start(std::rc::Rc::clone(&first.project));
    assert_eq!(first.version(), second.version());
    assert!(first.version() >= (0, 10));
    first.quit();
    second.cmd("edit a.txt");
    assert_eq!(second.buf_lines(0), ["a"]);
}

#[test]
fn the_picture_matches_the_screen() {
    let nvim = Project::new().size(30, 4).start();
    nvim.type_text("iif a < b │漢字│ end");
    nvim.cmd("highlight Error guifg=#ff0000 guibg=#00ff00 gui=bold,italic");
    nvim.cmd("match Error /end/");
    nvim.wait("the highlight", || {
        nvim.screen().groups_of("end") == ["Error"]
    });
    let svg = nvim.screen().to_svg("a & b");
    let (start, _) = svg
        .split_once("if a &lt; b</text>")
        .expect("the text is there");
    assert!(start.contains("<title>a &amp; b</title>"));
    assert!(svg.contains("fill=\"#00ff00\""), "{svg}");
    assert!(svg.contains("fill=\"#ff0000\" font-weight=\"bold\" font-style=\"italic\">end<"));
    // The second bar is drawn five cells after the first: between them are two wide characters.
    assert!(svg.contains("<path d=\"M79.8 0.0V18.0\""), "{svg}");
    assert!(svg.contains("<path d=\"M121.8 0.0V18.0\""), "{svg}");
}
