//! The window takes the focus only while the user's keys are not meant for something else.

use super::*;

#[test]
fn the_window_takes_the_focus_after_a_rest_and_returns_it_after_the_answer() {
    let nvim = start(RUN);
    nvim.cmd("wincmd t");
    ask(&nvim);
    press(&nvim, "1");
    wait_closed(&nvim);
    assert_eq!(nvim.lua("return vim.fn.expand('%')", ()), json!("a.txt"));
    nvim.wait_script("scripted");
    nvim.quit();
}

/// Checks that the window does not take the focus in the mode that `before` starts, that `typed`
/// goes to the text, and that the window takes the focus after `after`.
#[track_caller]
fn check_mode(before: &str, typed: &str, after: &str, text: &[&str]) {
    let nvim = start(RUN);
    nvim.cmd("wincmd t");
    nvim.keys(before);
    ask(&nvim);
    nvim.keys(typed);
    check_no_focus(&nvim);
    nvim.keys(after);
    wait_focus(&nvim);
    nvim.keys("q");
    nvim.wait("the file", || here(&nvim) == "text");
    assert_eq!(nvim.buf_lines(0), text, "{before}");
    nvim.quit();
}

#[test]
fn insert_mode_is_left_alone() {
    check_mode("i", "1yan", "<Esc>", &["1yanone two", "three"]);
}

#[test]
fn replace_mode_is_left_alone() {
    check_mode("R", "1ya", "<Esc>", &["1ya two", "three"]);
}

#[test]
fn visual_mode_is_left_alone() {
    check_mode("v", "e", "d", &[" two", "three"]);
}

#[test]
fn a_pending_operator_is_left_alone() {
    check_mode("d", "", "w", &["two", "three"]);
    check_mode("\"a", "", "dw", &["two", "three"]);
}

#[test]
fn the_command_line_is_left_alone() {
    check_mode(":s/one/", "1y/", "<CR>", &["1y two", "three"]);
    check_mode("/thr", "ee", "<CR>", &["one two", "three"]);
}

#[test]
fn the_command_line_window_is_left_alone() {
    check_mode("q:", "i1y<Esc>", ":q<CR>", &["one two", "three"]);
}

#[test]
fn a_mapping_that_waits_for_its_next_key_is_left_alone() {
    let nvim = start(&RUN.replacen('\n', "\n{\"mark\":\"asked\"}\n", 1));
    nvim.cmd("wincmd t");
    nvim.cmd("set timeoutlen=10000");
    nvim.cmd("nnoremap gz1 <Cmd>call setline(1, 'mapped')<CR>");
    nvim.keys("gz");
    std::fs::write(nvim.project.root().join("ask"), "").unwrap();
    // A request would end the mapping's wait, so the test sends none.
    nvim.wait("the question", || {
        !nvim.project.report("scripted").is_empty()
    });
    let start = Instant::now();
    nvim.wait("twice the rest time", || start.elapsed() > REST * 2);
    nvim.keys("1");
    nvim.wait_text("mapped");
    press(&nvim, "1");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_macro_records_what_the_user_types_and_nothing_else() {
    let nvim = start(RUN);
    nvim.cmd("wincmd t");
    nvim.keys("qqx");
    ask(&nvim);
    press(&nvim, "1");
    wait_closed(&nvim);
    nvim.wait_script("scripted");
    nvim.keys("q");
    nvim.wait("the end of the recording", || {
        nvim.lua("return vim.fn.reg_recording()", ()) == ""
    });
    assert_eq!(nvim.lua("return vim.fn.getreg('q')", ()), json!("x1"));
    nvim.quit();
}

#[test]
fn keys_typed_as_the_window_appears_go_to_the_text() {
    let nvim = start(RUN);
    nvim.cmd("wincmd t");
    std::fs::write(nvim.project.root().join("ask"), "").unwrap();
    // The user goes on typing: in the window, `1` would be an answer.
    let start = Instant::now();
    let mut typed = 0;
    nvim.wait("a second of typing", || {
        nvim.keys("A1<Esc>");
        typed += 1;
        assert_ne!(here(&nvim), "acp-permission");
        is_open(&nvim) && start.elapsed() > Duration::from_secs(1)
    });
    assert_eq!(
        nvim.buf_lines(0)[0],
        format!("one two{}", "1".repeat(typed))
    );
    wait_focus(&nvim);
    assert_eq!(ended(&nvim).len(), 0);
    nvim.quit();
}

#[test]
fn a_key_right_after_the_change_of_focus_is_not_an_answer() {
    let nvim = start(RUN);
    ask(&nvim);
    wait_focus(&nvim);
    nvim.keys("1y");
    assert_eq!(here(&nvim), "acp-permission");
    assert_eq!(status(&nvim)["phase"], "waiting");
    press(&nvim, "y");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn typing_in_the_window_inserts_where_the_user_was_before() {
    let nvim = start(RUN);
    nvim.cmd("wincmd t");
    ask(&nvim);
    wait_focus(&nvim);
    nvim.keys("inya1 <Esc>");
    assert_eq!(nvim.buf_lines(0), ["nya1 one two", "three"]);
    check_no_focus(&nvim);
    assert!(is_open(&nvim));
    nvim.quit();
}

#[test]
fn a_user_who_leaves_the_window_is_not_brought_back_but_can_return() {
    let nvim = start(RUN);
    nvim.cmd("wincmd t");
    ask(&nvim);
    wait_focus(&nvim);
    nvim.keys("<Esc>");
    nvim.wait("the file", || here(&nvim) == "text");
    nvim.keys("ix<Esc>");
    check_no_focus(&nvim);
    nvim.cmd("Acp permission");
    wait_focus(&nvim);
    nvim.keys("q");
    nvim.wait("the file", || here(&nvim) == "text");
    nvim.cmd("nmap gp <Plug>(acp-permission)");
    nvim.cmd("imap <C-x>p <Plug>(acp-permission)");
    nvim.keys("gp");
    wait_focus(&nvim);
    nvim.keys("qi<C-x>p");
    wait_focus(&nvim);
    assert_eq!(nvim.mode(), "n");
    press(&nvim, "1");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn without_a_question_a_message_says_so() {
    let nvim = talk::start(&[]);
    nvim.cmd("Acp permission");
    nvim.wait("the message", || {
        nvim.messages() == "acp.nvim: No permission is asked for."
    });
    nvim.quit();
}
