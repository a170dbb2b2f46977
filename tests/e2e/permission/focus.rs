//! The window takes the focus only by a step of the user; until then every key goes where it would
//! have gone without it.

use super::*;

/// Checks that a question that arrives after `before` takes none of the keys in `typed`, which lead
/// to `text`, and that a command goes to the question then.
#[track_caller]
fn check_mode(before: &str, typed: &str, text: &[&str]) {
    let nvim = start(RUN);
    nvim.cmd("wincmd t");
    nvim.keys(before);
    ask(&nvim);
    nvim.keys(typed);
    assert_eq!(here(&nvim), "text", "{before}{typed}");
    assert_eq!(nvim.buf_lines(0), text, "{before}{typed}");
    assert_eq!(status(&nvim)["phase"], "waiting");
    press(&nvim, "y");
    nvim.wait_script("scripted");
    assert_eq!(here(&nvim), "text", "{before}{typed}");
    nvim.quit();
}

#[test]
fn normal_mode_is_left_alone() {
    check_mode("", "a1y<Esc>yyp", &["o1yne two", "o1yne two", "three"]);
    check_mode("qa", "A # y<Esc>q", &["one two # y", "three"]);
    check_mode("", "<Esc>yyp", &["one two", "one two", "three"]);
}

#[test]
fn insert_mode_is_left_alone() {
    check_mode("i", "1yan<Esc>", &["1yanone two", "three"]);
}

#[test]
fn replace_mode_is_left_alone() {
    check_mode("R", "1ya<Esc>", &["1ya two", "three"]);
}

#[test]
fn visual_mode_is_left_alone() {
    check_mode("v", "ed", &[" two", "three"]);
}

#[test]
fn a_pending_operator_is_left_alone() {
    check_mode("d", "w", &["two", "three"]);
    check_mode("\"a", "dw", &["two", "three"]);
}

#[test]
fn the_command_line_is_left_alone() {
    check_mode(":s/one/", "1y/<CR>", &["1y two", "three"]);
    check_mode("/thr", "ee<CR>", &["one two", "three"]);
}

#[test]
fn the_command_line_window_is_left_alone() {
    check_mode("q:", "i1y<Esc>:q<CR>", &["one two", "three"]);
}

#[test]
fn completion_goes_on() {
    check_mode("ot<C-n>", "<C-n><C-y>n<Esc>", &["one two", "twon", "three"]);
    check_mode("ot<C-n>", "<C-e>n<Esc>", &["one two", "tn", "three"]);
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
    nvim.keys("1");
    nvim.wait_text("mapped");
    press(&nvim, "1");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_macro_that_runs_answers_nothing() {
    let nvim = start(RUN);
    nvim.cmd("wincmd t");
    nvim.cmd("let @q = \":Acp permission\\<CR>yAx\\<Esc>\"");
    ask(&nvim);
    nvim.keys("@q");
    assert_eq!(here(&nvim), "text");
    assert_eq!(status(&nvim)["phase"], "waiting");
    nvim.wait_text("A running macro cannot answer a question.");
    nvim.keys("<Esc>");
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
    // While a macro is recorded, the key in the chat leads nowhere.
    nvim.keys("<C-w>b<Esc>");
    assert_eq!(here(&nvim), "acp-input");
    nvim.wait_text(":Acp permission to answer");
    nvim.keys("<C-w>tq");
    assert_eq!(nvim.lua("return vim.fn.reg_recording()", ()), "");
    assert_eq!(
        nvim.lua("return vim.fn.getreg('q')", ()),
        "x\u{17}b\u{1b}\u{17}t"
    );
    nvim.keys("<C-w>b");
    nvim.wait_text("press <Esc> and a key to answer");
    nvim.keys("<Esc>1");
    wait_closed(&nvim);
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn the_key_in_the_footer_and_the_next_one_answer_at_any_speed() {
    // A terminal sends two keys typed at once as a chord.
    for keys in ["<Esc>y", "<Esc>1", "<M-y>", "<M-1>"] {
        let nvim = start(RUN);
        ask(&nvim);
        nvim.wait_text("press <Esc> and a key to answer");
        nvim.keys(keys);
        nvim.wait_script("scripted");
        assert_eq!(here(&nvim), "acp-input");
        nvim.quit();
    }
    // The first `<Esc>` ends insert mode.
    let nvim = start(RUN);
    nvim.keys("ihalf a prompt");
    ask(&nvim);
    nvim.wait_text("press <Esc><Esc> and a key to answer");
    nvim.keys("<Esc><Esc>y");
    nvim.wait_script("scripted");
    assert_eq!(nvim.buf_lines(0), ["half a prompt"]);
    nvim.quit();
    // From the transcript, too.
    let nvim = start(RUN);
    nvim.keys("<C-w>k");
    ask(&nvim);
    nvim.wait_text("press <Esc> and a key to answer");
    nvim.keys("<Esc>1");
    nvim.wait_script("scripted");
    assert_eq!(here(&nvim), "acp-chat");
    nvim.quit();
}

#[test]
fn escape_keeps_its_meaning_in_the_chat() {
    let nvim = start(RUN);
    nvim.keys("ione two<Esc>");
    ask(&nvim);
    nvim.keys("d<Esc>3<Esc>\"a<Esc>v<Esc>yyp");
    assert_eq!(here(&nvim), "acp-input");
    assert_eq!(nvim.buf_lines(0), ["one two", "one two"]);
    nvim.keys("<Esc>y");
    nvim.wait_script("scripted");
    wait_closed(&nvim);
    // Without a question the key is the user's.
    nvim.cmd("nnoremap <Esc> <Cmd>let g:mine = 1<CR>");
    nvim.keys("<Esc>");
    assert_eq!(nvim.lua("return vim.g.mine", ()), 1);
    nvim.quit();
}

#[test]
fn windows_are_passed_over_by_window_commands() {
    let nvim = start(RUN);
    nvim.cmd("wincmd t");
    ask(&nvim);
    for _ in 0..6 {
        nvim.keys("<C-w>w");
        assert_ne!(here(&nvim), "acp-permission");
    }
    nvim.quit();
}

#[test]
fn a_click_goes_to_the_window() {
    let nvim = start(RUN);
    nvim.cmd("wincmd t");
    nvim.keys("i");
    ask(&nvim);
    nvim.wait_text("Allow once");
    let rows = nvim.screen().rows();
    let row = rows.iter().position(|row| row.contains("Allow once"));
    let row = row.expect("the options are visible");
    let column = rows[row].chars().position(|c| c == 'A').expect("a column");
    nvim.lua(
        "vim.api.nvim_input_mouse('left', 'press', '', 0, ...)",
        (row, column),
    );
    nvim.wait("the window", || here(&nvim) == "acp-permission");
    nvim.wait("normal mode", || nvim.mode() == "n");
    nvim.keys("y");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn typing_in_the_window_inserts_where_the_user_was_before() {
    let nvim = start(RUN);
    nvim.cmd("wincmd t");
    ask(&nvim);
    press(&nvim, "inya1 <Esc>");
    assert_eq!(nvim.buf_lines(0), ["nya1 one two", "three"]);
    assert_eq!(here(&nvim), "text");
    assert!(is_open(&nvim));
    nvim.quit();
}

#[test]
fn a_user_who_leaves_the_window_can_return_from_any_mode() {
    let nvim = start(RUN);
    nvim.cmd("wincmd t");
    ask(&nvim);
    press(&nvim, "<Esc>");
    assert_eq!(here(&nvim), "text");
    nvim.keys("ix<Esc>");
    nvim.wait_text(":Acp permission to answer");
    press(&nvim, "q");
    assert_eq!(here(&nvim), "text");
    nvim.cmd("nmap gp <Plug>(acp-permission)");
    nvim.cmd("imap <C-x>p <Plug>(acp-permission)");
    nvim.keys("gp");
    assert_eq!(here(&nvim), "acp-permission");
    nvim.keys("qi<C-x>p");
    assert_eq!(here(&nvim), "acp-permission");
    assert_eq!(nvim.mode(), "n");
    nvim.keys("1");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn without_a_question_a_message_says_so() {
    let nvim = talk::start(&[]);
    nvim.cmd("Acp permission");
    nvim.wait("the message", || {
        nvim.messages() == "acp.nvim: No question is open."
    });
    nvim.quit();
}

#[test]
fn the_status_line_of_the_whole_screen_names_the_window() {
    let nvim = start(r#"{"permission":{"toolCallId":"a","title":"First"},"as":"q1"}"#);
    nvim.cmd("set laststatus=3");
    ask(&nvim);
    wait_asked(&nvim, "First");
    nvim.cmd("Acp permission");
    nvim.wait_text("acp://permission");
    nvim.quit();
}
