//! The chat's windows and its input: opening, focusing, closing, drafting, sending.

use serde_json::{Value as Json, json};

use super::harness::Nvim;
use super::talk::{self, here, open, said, transcript, wait_phase, wait_said, windows};

const BOTH: [&str; 2] = ["acp-chat", "acp-input"];

/// Checks the tab page's windows and their order.
#[track_caller]
fn check_windows(nvim: &Nvim, want: &[&str]) {
    assert_eq!(windows(nvim), want, "\n{}", nvim.screen().text());
}

/// Returns the number of running agents.
fn agents(nvim: &Nvim) -> usize {
    nvim.children().len()
}

#[test]
fn acp_chat_opens_and_then_focuses() {
    let nvim = talk::start(&[]);
    check_windows(&nvim, &["", "acp-chat", "acp-input"]);
    assert_eq!(here(&nvim), "acp-input");
    nvim.cmd("wincmd t");
    nvim.cmd("AcpChat");
    check_windows(&nvim, &["", "acp-chat", "acp-input"]);
    assert_eq!(here(&nvim), "acp-input");
    nvim.cmd("AcpChat");
    check_windows(&nvim, &["", "acp-chat", "acp-input"]);
    assert_eq!(agents(&nvim), 1);
    nvim.quit();
}

#[test]
fn a_filetype_autocommand_finds_the_windows_of_the_chat() {
    let number = "autocmd FileType acp-chat,acp-input setlocal number";
    let nvim = talk::project(&[]).before(number).start();
    nvim.cmd("AcpChat");
    let is_numbered = "local shown = {}
        for _, win in ipairs(vim.api.nvim_list_wins()) do
          shown[vim.bo[vim.api.nvim_win_get_buf(win)].filetype] = vim.wo[win].number
        end
        return shown";
    let numbered = || nvim.lua(is_numbered, ());
    nvim.wait("the autocommand", || {
        numbered() == json!({ "": false, "acp-chat": true, "acp-input": true })
    });
    wait_phase(&nvim, "idle");
    assert_eq!(here(&nvim), "acp-input");
    nvim.quit();
}

#[test]
fn no_option_of_the_users_breaks_the_lines_of_a_prompt() {
    for option in ["textwidth=20", "wrapmargin=20"] {
        let project = talk::project(&[]).before(&format!("set {option}"));
        let nvim = project.start();
        open(&nvim);
        let prompt = "one two three four five six seven eight nine ten eleven twelve";
        nvim.keys(&format!("i{prompt}"));
        nvim.wait("the prompt", || {
            nvim.buf_lines(0).join(" ").ends_with("twelve")
        });
        assert_eq!(nvim.buf_lines(0), [prompt], "{option}");
        nvim.quit();
    }
}

#[test]
fn the_chats_windows_are_not_bound_to_those_beside_it() {
    let project = talk::project(&[]).before("set scrollbind cursorbind");
    let nvim = project.start();
    open(&nvim);
    let bound = "return vim.tbl_map(function(win)
          return { vim.wo[win].scrollbind, vim.wo[win].cursorbind }
        end, vim.api.nvim_tabpage_list_wins(0))";
    check_windows(&nvim, &["", "acp-chat", "acp-input"]);
    assert_eq!(
        nvim.lua(bound, ()),
        json!([[true, true], [false, false], [false, false]])
    );
    nvim.quit();
}

#[test]
fn another_tab_shows_the_same_session() {
    let nvim = talk::start(&[r#"{"say":"hello"}"#]);
    talk::talk(&nvim, "hi");
    nvim.cmd("tabnew");
    check_windows(&nvim, &[""]);
    nvim.cmd("AcpChat");
    check_windows(&nvim, &["", "acp-chat", "acp-input"]);
    nvim.wait_text("hello");
    assert_eq!(talk::status(&nvim)["session"], 1);
    nvim.cmd("tabclose");
    check_windows(&nvim, &["", "acp-chat", "acp-input"]);
    nvim.wait_text("hello");
    nvim.quit();
}

#[test]
fn a_tab_with_a_folder_of_its_own_has_its_own_session() {
    let nvim = talk::start(&[r#"{"say":"hello"}"#]);
    talk::talk(&nvim, "hi");
    let other = nvim.project.root().join("other");
    std::fs::create_dir(&other).expect("a folder");
    let open = format!("tabnew | tcd {} | AcpChat", other.display());
    nvim.cmd(&open);
    nvim.wait("the second session", || talk::status(&nvim)["session"] == 2);
    wait_phase(&nvim, "idle");
    let there = talk::status(&nvim)["cwd"]
        .as_str()
        .map(std::path::PathBuf::from);
    assert_eq!(there, Some(other));
    nvim.cmd(&open);
    assert_eq!(talk::status(&nvim)["session"], 2);
    nvim.quit();
}

#[test]
fn a_bang_opens_a_new_session() {
    let nvim = talk::start(&[r#"{"say":"hello"}"#]);
    talk::talk(&nvim, "hi");
    nvim.cmd("AcpChat!");
    check_windows(&nvim, &["", "acp-chat", "acp-input"]);
    nvim.wait("the second session", || talk::status(&nvim)["session"] == 2);
    wait_phase(&nvim, "idle");
    assert_eq!(transcript(&nvim), [""]);
    assert_eq!(agents(&nvim), 1, "one process serves both");
    nvim.quit();
}

#[test]
fn the_lines_of_a_range_are_attached() {
    let nvim = talk::project(&[])
        .file("a.txt", "one\ntwo\nthree\n")
        .agent(
            "scripted",
            r#"{"expect":"session/prompt","params":{"prompt":{"$has":{"type":"resource","resource":{"text":{"$contains":"two\nthree"}}}}},"as":"p"}
{"say":"seen"}
{"end":"p"}"#,
        )
        .start();
    nvim.cmd("edit a.txt");
    nvim.cmd("2,3AcpChat");
    wait_phase(&nvim, "idle");
    nvim.wait_text("1 a.txt:2-3");
    nvim.keys("iwhat is it?<CR>");
    wait_said(&nvim, "seen");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn enter_sends_in_insert_and_in_normal_mode() {
    let nvim = talk::start(&[r#"{"say":"first"}"#, r#"{"say":"second"}"#]);
    nvim.keys("ione<CR>");
    wait_said(&nvim, "first");
    assert_eq!(nvim.mode(), "i");
    assert_eq!(nvim.buf_lines(0), [""]);
    nvim.keys("two<Esc><CR>");
    wait_said(&nvim, "second");
    assert!(said(&nvim, "❯ one") && said(&nvim, "❯ two"));
    nvim.quit();
}

#[test]
fn shift_enter_and_ctrl_j_start_a_new_line() {
    let nvim = talk::start(&[""]);
    nvim.keys("ione<S-CR>two<C-j>three");
    nvim.wait("three lines", || {
        nvim.buf_lines(0) == ["one", "two", "three"]
    });
    nvim.keys("<C-s>");
    wait_said(&nvim, "  three");
    nvim.quit();
}

#[test]
fn pasted_lines_are_not_sent() {
    let nvim = talk::start(&[]);
    nvim.keys("i");
    nvim.lua("vim.paste({ 'one', 'two', '' }, -1)", ());
    assert_eq!(nvim.buf_lines(0), ["one", "two", ""]);
    assert_eq!(transcript(&nvim), [""]);
    nvim.quit();
}

#[test]
fn a_blank_prompt_is_not_sent() {
    let nvim = talk::start(&[""]);
    nvim.keys("i  <CR>");
    // Prompts are sent in their order, so it would be shown before this one.
    talk::talk(&nvim, "hi");
    wait_said(&nvim, "❯ hi");
    let shown = transcript(&nvim);
    assert_eq!(shown[0], "❯ hi", "{shown:?}");
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn a_draft_outlives_its_window() {
    let nvim = talk::start(&[]);
    nvim.keys("ia draft<Esc>q");
    check_windows(&nvim, &[""]);
    nvim.cmd("AcpChat");
    assert_eq!(nvim.buf_lines(0), ["a draft"]);
    nvim.keys("q");
    check_windows(&nvim, &[""]);
    nvim.quit();
}

#[test]
fn undo_restores_a_sent_prompt() {
    let nvim = talk::start(&[""]);
    nvim.keys("isome words<CR><Esc>");
    nvim.wait("an empty input", || nvim.buf_lines(0) == [""]);
    nvim.keys("u");
    nvim.wait("the words", || nvim.buf_lines(0) == ["some words"]);
    nvim.quit();
}

#[test]
fn the_chat_opens_in_a_restored_session_in_place_of_its_old_windows() {
    let nvim = talk::project(&[r#"{"say":"hello"}"#]).start();
    // These are the commands `:mksession` writes for the chat's windows.
    nvim.cmd("vsplit acp://scripted/1 | split acp://scripted/1/input | wincmd t");
    open(&nvim);
    check_windows(&nvim, &["", "acp-chat", "acp-input"]);
    talk::talk(&nvim, "hi");
    nvim.wait_text("hello");
    nvim.quit();
}

#[test]
fn text_typed_into_the_old_window_of_a_restored_session_stays() {
    let nvim = talk::project(&[r#"{"say":"hello"}"#]).start();
    nvim.cmd("split acp://scripted/1/input");
    nvim.keys("ia draft<Esc>");
    open(&nvim);
    check_windows(&nvim, &["", "", "acp-chat", "acp-input"]);
    talk::talk(&nvim, "hi");
    nvim.wait_text("hello");
    nvim.wait_text("a draft");
    nvim.quit();
}

/// Checks that after `close` the chat can be opened again with its full content.
#[track_caller]
fn check_reopens(close: &str) {
    let nvim = talk::start(&[r#"{"say":"hello"}"#]);
    talk::talk(&nvim, "hi");
    nvim.keys("ia draft<Esc>");
    nvim.keys(close);
    nvim.cmd("AcpChat");
    let shown: Vec<String> = windows(&nvim)
        .into_iter()
        .filter(|filetype| !filetype.is_empty())
        .collect();
    assert_eq!(shown, BOTH, "after {close}\n{}", nvim.screen().text());
    assert_eq!(here(&nvim), "acp-input");
    assert_eq!(nvim.buf_lines(0), ["a draft"]);
    wait_said(&nvim, "hello");
    nvim.wait_text("hello");
    let screen = nvim.screen();
    assert!(
        screen.find("hello") < screen.find("a draft"),
        "{}",
        screen.text()
    );
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn the_chat_reopens_after_the_input_was_closed() {
    check_reopens(":q<CR>");
}

#[test]
fn the_chat_reopens_after_the_transcript_was_closed() {
    check_reopens("<C-w>k:q<CR>");
}

#[test]
fn the_chat_reopens_after_only_in_the_file() {
    check_reopens("<C-w>t:only<CR>");
}

#[test]
fn the_chat_reopens_after_only_in_the_input() {
    check_reopens(":only<CR>");
}

#[test]
fn the_chat_reopens_after_only_in_the_transcript() {
    check_reopens("<C-w>k:only<CR>");
}

#[test]
fn the_chat_reopens_after_its_tab_was_closed() {
    check_reopens(":tab split<CR>:tabfirst<CR>:tabclose<CR>");
}

#[test]
fn the_chat_reopens_after_bdelete() {
    check_reopens("<C-w>k:bdelete<CR>");
}

#[test]
fn the_draft_outlives_its_buffer() {
    for command in ["bdelete", "bwipeout", "edit"] {
        let nvim = talk::start(&[]);
        nvim.keys("ia draft<Esc>oof two lines<Esc>");
        nvim.cmd(command);
        open(&nvim);
        nvim.wait("the draft", || {
            talk::here(&nvim) == "acp-input" && nvim.buf_lines(0) == ["a draft", "of two lines"]
        });
        nvim.quit();
    }
}

#[test]
fn the_chat_reopens_after_its_windows_were_the_last() {
    check_reopens("<C-w>t:q<CR>q");
}

#[test]
fn a_transcript_that_edit_has_emptied_is_drawn_again() {
    let steps = r#"{"say":"one"}
{"wait_file":"${cwd}/../on"}
{"say":" two"}"#;
    let nvim = talk::start(&[steps, r#"{"say":"three"}"#]);
    talk::prompt(&nvim, "go");
    wait_said(&nvim, "one");
    let before = transcript(&nvim);
    talk::go(&nvim, "acp-chat");
    for _ in 0..2 {
        nvim.cmd("edit");
        nvim.wait("the conversation", || transcript(&nvim) == before);
    }
    std::fs::write(nvim.project.root().join("on"), "").unwrap();
    wait_said(&nvim, "one two");
    wait_phase(&nvim, "idle");
    let before = transcript(&nvim);
    nvim.cmd("edit");
    nvim.wait("the conversation", || transcript(&nvim) == before);
    talk::talk(&nvim, "more");
    wait_said(&nvim, "three");
    assert!(transcript(&nvim).starts_with(&before));
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn closing_the_last_windows_leaves_an_empty_buffer() {
    let nvim = talk::start(&[]);
    nvim.keys("<C-w>t:q<CR>");
    check_windows(&nvim, &BOTH);
    nvim.keys("q");
    check_windows(&nvim, &[""]);
    let fixed = "return { vim.wo.winfixwidth, vim.wo.winfixheight }";
    assert_eq!(nvim.lua(fixed, ()), json!([false, false]));
    nvim.cmd("AcpChat");
    assert_eq!(here(&nvim), "acp-input");
    nvim.quit();
}

#[test]
fn a_file_in_the_inputs_window_has_no_fixed_height() {
    let nvim = talk::project(&[]).file("file.txt", "one\n").start();
    open(&nvim);
    let is_fixed = || nvim.lua("return vim.wo.winfixheight", ());
    assert_eq!(is_fixed(), true);
    nvim.cmd("badd file.txt");
    nvim.cmd("buffer file.txt");
    assert_eq!(nvim.buf_lines(0), ["one"]);
    assert_eq!(is_fixed(), false);
    nvim.cmd("AcpChat");
    assert_eq!(here(&nvim), "acp-input");
    assert_eq!(is_fixed(), true);
    nvim.quit();
}

#[test]
fn closing_a_session_closes_its_windows_and_ends_its_agent() {
    let nvim = talk::start(&[r#"{"expect_eof":true}"#]);
    nvim.lua("require('acp').close()", ());
    check_windows(&nvim, &[""]);
    nvim.wait("the agent to end", || agents(&nvim) == 0);
    assert_eq!(talk::status(&nvim), json!({ "phase": "none" }));
    assert_eq!(
        nvim.lua("return require('acp').statusline()", ()),
        json!("")
    );
    open(&nvim);
    check_windows(&nvim, &["", "acp-chat", "acp-input"]);
    assert_eq!(talk::status(&nvim)["session"], 2);
    nvim.quit();
}

/// Checks the chat's layout: the position and size of both windows.
#[track_caller]
fn check_layout(layout: &str, size: (usize, usize), want: Json) {
    let nvim = talk::project(&[])
        .config("chat", json!({ "layout": layout }))
        .size(size.0, size.1)
        .start();
    open(&nvim);
    let places = nvim.lua(
        "local places = {}
        for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
          local info = vim.fn.getwininfo(win)[1]
          local filetype = vim.bo[info.bufnr].filetype
          places[filetype == '' and 'file' or filetype] = { info.winrow, info.wincol, info.width, info.height }
        end
        return places",
        (),
    );
    assert_eq!(places, want, "{layout}\n{}", nvim.screen().text());
    nvim.quit();
}

#[test]
fn the_chat_opens_where_the_layout_says() {
    let want = json!({ "file": [1, 1, 59, 28], "acp-chat": [1, 61, 40, 20], "acp-input": [23, 61, 40, 6] });
    check_layout("right", (100, 30), want);
    let want =
        json!({ "file": [1, 42, 59, 28], "acp-chat": [1, 1, 40, 20], "acp-input": [23, 1, 40, 6] });
    check_layout("left", (100, 30), want);
    let want = json!({ "file": [1, 1, 100, 15], "acp-chat": [17, 1, 100, 6], "acp-input": [25, 1, 100, 4] });
    check_layout("bottom", (100, 30), want);
    let want = json!({ "acp-chat": [2, 1, 100, 19], "acp-input": [23, 1, 100, 6] });
    check_layout("tab", (100, 30), want);
}

#[test]
fn the_chat_takes_half_of_a_small_screen_and_opens_below() {
    let want =
        json!({ "file": [1, 1, 80, 9], "acp-chat": [11, 1, 80, 6], "acp-input": [19, 1, 80, 4] });
    check_layout("right", (80, 24), want);
    let want =
        json!({ "file": [1, 1, 40, 7], "acp-chat": [9, 1, 40, 5], "acp-input": [16, 1, 40, 3] });
    check_layout("right", (40, 20), want);
}

#[test]
fn a_chat_in_its_own_tab_page_is_found_again() {
    let nvim = talk::project(&[])
        .config("chat", json!({ "layout": "tab" }))
        .start();
    open(&nvim);
    nvim.cmd("tabfirst");
    check_windows(&nvim, &[""]);
    nvim.cmd("AcpChat");
    check_windows(&nvim, &BOTH);
    assert_eq!(nvim.lua("return vim.fn.tabpagenr('$')", ()), json!(2));
    nvim.keys("q");
    check_windows(&nvim, &[""]);
    assert_eq!(nvim.lua("return vim.fn.tabpagenr('$')", ()), json!(1));
    nvim.quit();
}

#[test]
fn a_second_chat_opens_where_the_first_is_alone_in_its_tab_page() {
    let nvim = talk::project(&[])
        .config("chat", json!({ "layout": "tab" }))
        .start();
    open(&nvim);
    nvim.cmd("AcpChat!");
    check_windows(&nvim, &BOTH);
    assert_eq!(talk::status(&nvim)["session"], 2);
    assert_eq!(nvim.lua("return vim.fn.tabpagenr('$')", ()), json!(3));
    nvim.quit();

    let nvim = talk::project(&[]).start();
    nvim.cmd("tabnew");
    open(&nvim);
    nvim.cmd("wincmd t | quit");
    check_windows(&nvim, &BOTH);
    nvim.cmd("AcpChat!");
    check_windows(&nvim, &["", "acp-chat", "acp-input"]);
    assert_eq!(talk::status(&nvim)["session"], 2);
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn the_chat_has_no_columns_of_the_users() {
    let column = "set number statuscolumn=%{v:lnum}>";
    let nvim = talk::project(&[]).before(column).start();
    open(&nvim);
    nvim.keys("idraft");
    nvim.wait_text("draft");
    assert!(!nvim.screen().has(">draft"), "{}", nvim.screen().text());
    nvim.quit();
}

#[test]
fn sizes_of_another_screen_are_not_restored() {
    let nvim = talk::project(&[]).size(200, 30).start();
    open(&nvim);
    let width = "return vim.fn.winwidth(0)";
    assert_eq!(nvim.lua(width, ()), 80);
    nvim.cmd("Acp review");
    nvim.wait("the list", || here(&nvim) == "acp-review");
    nvim.resize(120, 30);
    nvim.wait("the new size", || nvim.screen().width == 120);
    nvim.keys("q");
    nvim.cmd("AcpChat");
    assert_eq!(nvim.lua(width, ()), 48);
    nvim.quit();
}

#[test]
fn the_chat_resizes_with_the_screen() {
    let nvim = talk::start(&[r#"{"say":"hello"}"#]);
    talk::talk(&nvim, "hi");
    nvim.resize(160, 40);
    nvim.wait("the new size", || nvim.screen().width == 160);
    nvim.resize(70, 20);
    nvim.wait("the new size", || nvim.screen().width == 70);
    nvim.wait_text("hello");
    let width = || nvim.lua("return vim.fn.winwidth(0)", ());
    nvim.wait("the new size", || width() == 35);
    nvim.resize(40, 20);
    nvim.wait("the new size", || width() == 20);
    nvim.resize(100, 20);
    nvim.wait("the new size", || width() == 40);
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn the_end_of_the_transcript_stays_in_sight_when_the_screen_gets_narrower() {
    let text = "- some words of an answer that is wrapped on a narrow screen\n".repeat(15);
    let nvim = talk::start(&[&json!({ "say": text }).to_string()]);
    nvim.resize(160, 30);
    nvim.wait("the new size", || nvim.screen().width == 160);
    talk::talk(&nvim, "hi");
    let is_at_end = "for _, win in ipairs(vim.api.nvim_list_wins()) do
          if vim.bo[vim.api.nvim_win_get_buf(win)].filetype == 'acp-chat' then
            return vim.fn.line('w$', win) == vim.fn.line('$', win)
          end
        end";
    nvim.wait("the end", || nvim.lua(is_at_end, ()) == true);
    nvim.resize(70, 30);
    let width = || nvim.lua("return vim.fn.winwidth(0)", ());
    nvim.wait("the new size", || width() == 35);
    nvim.wait("the end again", || nvim.lua(is_at_end, ()) == true);
    nvim.quit();
}

#[test]
fn a_width_set_by_the_user_stays_unless_the_screen_is_too_small() {
    let nvim = talk::start(&[r#"{"say":"hello"}"#]);
    nvim.resize(160, 40);
    nvim.wait("the new size", || nvim.screen().width == 160);
    let width = || nvim.lua("return vim.fn.winwidth(0)", ());
    nvim.wait("the width", || width() == 64);
    nvim.keys("30<C-w>|");
    nvim.wait("the width", || width() == 30);
    nvim.resize(150, 40);
    nvim.wait("the new size", || nvim.screen().width == 150);
    assert_eq!(width(), 30);
    nvim.resize(40, 20);
    nvim.wait("the new size", || width() == 20);
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn a_prompt_from_elsewhere_opens_the_chat_without_focusing_it() {
    let nvim = talk::project(&[r#"{"say":"hello"}"#]).start();
    let here = "return vim.api.nvim_get_current_win()";
    let win = nvim.lua(here, ());
    nvim.cmd("Acp prompt hi");
    assert_eq!(nvim.lua(here, ()), win);
    nvim.wait_text("hello");
    assert_eq!(nvim.lua(here, ()), win);
    nvim.quit();
}

#[test]
fn an_empty_input_shows_the_next_keys() {
    let nvim = talk::start(&[""]);
    nvim.wait_text("Press i to write a prompt");
    nvim.keys("i");
    nvim.wait_text("<CR> sends or queues · <S-CR> new line");
    nvim.keys("x");
    nvim.wait("the hint to go", || !nvim.screen().has("sends"));
    nvim.keys("<CR>");
    nvim.wait_text("<CR> sends or queues · <S-CR> new line");
    // A key that does not fit is left out as a whole, also once the window gets narrower.
    nvim.resize(60, 30);
    nvim.wait("the shorter hint", || {
        nvim.screen().has("<CR> sends or queues") && !nvim.screen().has("queues ·")
    });
    nvim.keys("<Esc>");
    nvim.wait_text("Press i to write a prompt");
    nvim.quit();
}

#[test]
fn no_chat_opens_in_the_command_line_window() {
    let nvim = talk::start(&[r#"{"say":"hello"}"#]);
    nvim.cmd("Acp stop");
    nvim.keys("<Esc>:<C-f>");
    let kind = || nvim.lua("return vim.fn.win_gettype()", ());
    nvim.wait("the command-line window", || kind() == "command");
    let windows = || nvim.lua("return vim.fn.winnr('$')", ());
    let before = windows();
    nvim.keys("iAcpChat!<Esc>");
    let told = nvim.try_lua("require('acp').open({ new = true })", ());
    let why = told.expect_err("it is refused");
    assert!(why.contains("command-line window: close it"), "{why}");
    assert_eq!(windows(), before);
    nvim.keys("<C-w>c");
    nvim.quit();
}

#[test]
fn a_low_screen_with_other_windows_of_a_fixed_height_is_survived() {
    let nvim = talk::start(&[r#"{"say":"hello"}"#]);
    talk::talk(&nvim, "hi");
    nvim.resize(150, 45);
    nvim.wait("the new size", || nvim.screen().height == 45);
    let is_fixed = || {
        nvim.lua(
            "for _, win in ipairs(vim.api.nvim_list_wins()) do
              if vim.bo[vim.api.nvim_win_get_buf(win)].filetype == 'acp-input' then
                return vim.wo[win].winfixheight
              end
            end",
            (),
        )
    };
    assert_eq!(is_fixed(), true);
    nvim.cmd("botright copen 14");
    // Two windows of a fixed height would make Neovim end on the resize below.
    nvim.wait("the input to give way", || is_fixed() == false);
    nvim.resize(150, 20);
    nvim.wait("the new size", || nvim.screen().height == 20);
    nvim.resize(150, 45);
    nvim.wait("the new size", || nvim.screen().height == 45);
    nvim.cmd("cclose");
    nvim.wait("the input to keep its height again", || is_fixed() == true);
    nvim.quit();
}

#[test]
fn the_input_has_its_height_again_when_other_windows_have_come_and_gone() {
    let nvim = talk::start(&[r#"{"say":"hello"}"#]);
    let height = || nvim.lua("return vim.fn.winheight(_G.input)", ());
    nvim.lua("_G.input = vim.api.nvim_get_current_win()", ());
    let before = height();
    nvim.cmd("botright copen 14");
    nvim.cmd("wincmd p");
    nvim.cmd("topleft new");
    nvim.cmd("close");
    nvim.cmd("cclose");
    nvim.wait("the height that it had", || height() == before);
    nvim.lua("vim.api.nvim_win_set_height(_G.input, 7)", ());
    nvim.wait("the user's height", || height() == 7);
    nvim.cmd("botright 15new");
    nvim.wait("a lower input", || {
        height().as_i64().is_some_and(|rows| rows < 7)
    });
    nvim.cmd("close");
    nvim.wait("the user's height", || height() == 7);
    nvim.quit();
}

#[test]
fn the_transcript_is_scrolled_from_the_input() {
    let lines: Vec<String> = (1..=60).map(|row| format!("line {row}")).collect();
    let long = json!({ "say": lines.join("\n\n") }).to_string();
    let nvim = talk::start(&[&long, r#"{"say":"more"}"#]);
    talk::talk(&nvim, "hi");
    nvim.wait_text("line 60");
    for (start, down) in [("idraft", "<PageDown><PageDown>"), ("", "2<PageDown>")] {
        nvim.keys(&format!("{start}<PageUp><PageUp>"));
        nvim.wait("the end to be off the screen", || {
            !nvim.screen().has("line 60")
        });
        nvim.keys(down);
        nvim.wait_text("line 60");
        nvim.keys("<Esc>");
    }
    assert_eq!(here(&nvim), "acp-input");
    assert_eq!(nvim.buf_lines(0), ["draft"]);
    // At its end, it shows what comes.
    talk::talk(&nvim, "again");
    nvim.wait_text("more");
    nvim.quit();
}
