//! The permission window: what it shows, when it takes the keyboard, how it is answered.

use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::harness::{Nvim, Project};
use super::talk::{self, ended, here, open, status, wait_phase, wait_said, windows};

/// How long the window takes no key after it has appeared.
const REST: Duration = Duration::from_millis(300);

/// Returns a Neovim whose agent asks `ask` (a step of a script, its answer awaited as `q`) as
/// soon as the file `ask` is there.
#[track_caller]
fn start(ask: &str) -> Nvim {
    let script = format!(
        "{{\"expect\":\"session/prompt\",\"as\":\"p\"}}\n{{\"wait_file\":\"${{cwd}}/ask\"}}\n{ask}\n\
         {{\"say\":\"answered\"}}\n{{\"end\":\"p\"}}"
    );
    let nvim = Project::new()
        .file("a.txt", "one two\nthree\n")
        .agent("scripted", &script)
        .start();
    nvim.cmd("edit a.txt");
    open(&nvim);
    talk::prompt(&nvim, "hi");
    wait_phase(&nvim, "running");
    nvim
}

const RUN: &str = r#"{"permission":{"toolCallId":"t","title":"Run the tests","kind":"execute","rawInput":{"command":"cargo test --all"}},"as":"q"}
{"await":"q","choice":"allow_once"}"#;

/// Lets the agent ask and waits until the window is there.
#[track_caller]
fn ask(nvim: &Nvim) {
    std::fs::write(nvim.project.path("ask"), "").unwrap();
    nvim.wait("the window", || is_open(nvim));
}

fn is_open(nvim: &Nvim) -> bool {
    windows(nvim).contains(&"acp-permission".to_owned())
}

#[track_caller]
fn wait_closed(nvim: &Nvim) {
    nvim.wait("the window to close", || !is_open(nvim));
}

#[track_caller]
fn wait_focus(nvim: &Nvim) {
    nvim.wait("the window to have the focus", || {
        here(nvim) == "acp-permission"
    });
}

/// Returns the lines of the permission window.
#[track_caller]
fn asked(nvim: &Nvim) -> Vec<String> {
    let lines = nvim.lua(
        "for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
          local buf = vim.api.nvim_win_get_buf(win)
          if vim.bo[buf].filetype == 'acp-permission' then
            return vim.api.nvim_buf_get_lines(buf, 0, -1, true)
          end
        end
        return {}",
        (),
    );
    serde_json::from_value(lines).expect("lines are strings")
}

/// Watches for a while, in which the window must not get the focus.
#[track_caller]
fn check_no_focus(nvim: &Nvim) {
    let start = Instant::now();
    nvim.wait("twice the time of rest", || {
        assert_ne!(here(nvim), "acp-permission", "{}", nvim.screen().text());
        start.elapsed() > REST * 2
    });
}

/// Presses a key once the window takes it.
#[track_caller]
fn press(nvim: &Nvim, key: &str) {
    wait_focus(nvim);
    let since = Instant::now();
    nvim.wait("the rest to be over", || since.elapsed() > REST);
    nvim.keys(key);
}

#[test]
fn a_command_is_shown_in_full_with_its_options() {
    let nvim = start(RUN);
    ask(&nvim);
    assert_eq!(
        asked(&nvim),
        [
            "execute  Run the tests",
            "$ cargo test --all",
            "",
            " 1 y  Allow once",
            " 2 a  Always allow",
            " 3 n  Reject",
            " 4 s  Always reject",
        ]
    );
    wait_focus(&nvim);
    nvim.wait_text("scripted asks for permission");
    insta::assert_snapshot!(nvim.screen().dump(8..19));
    press(&nvim, "y");
    wait_closed(&nvim);
    wait_said(&nvim, "answered");
    assert_eq!(here(&nvim), "acp-input");
    nvim.wait_script("scripted");
    nvim.quit();
}

/// Checks that `keys` chooses `option`.
#[track_caller]
fn check_answer(keys: &str, option: &str) {
    let nvim = start(&RUN.replace(
        "\"choice\":\"allow_once\"",
        &format!("\"choice\":\"{option}\""),
    ));
    ask(&nvim);
    press(&nvim, keys);
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn options_are_chosen_by_number_letter_and_cursor() {
    check_answer("1", "allow_once");
    check_answer("4", "reject_always");
    check_answer("a", "allow_always");
    check_answer("n", "reject_once");
    check_answer("Gk<CR>", "reject_once");
}

#[test]
fn the_focus_comes_after_rest_in_normal_mode_and_goes_back_after_the_answer() {
    let nvim = start(RUN);
    nvim.cmd("wincmd t");
    ask(&nvim);
    press(&nvim, "1");
    wait_closed(&nvim);
    assert_eq!(nvim.lua("return vim.fn.expand('%')", ()), json!("a.txt"));
    nvim.wait_script("scripted");
    nvim.quit();
}

/// Checks that `before` leaves the user in a mode in which the window stays out of the way, that
/// what is typed goes to the text, and that `after` brings the focus.
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
    std::fs::write(nvim.project.path("ask"), "").unwrap();
    // A request would end the mapping's wait: Neovim is left alone here, too.
    nvim.wait("the question", || {
        !nvim.project.report("scripted").is_empty()
    });
    let start = Instant::now();
    nvim.wait("twice the time of rest", || start.elapsed() > REST * 2);
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
    nvim.wait_script("scripted");
    nvim.keys("q");
    nvim.wait("the end of the recording", || {
        nvim.lua("return vim.fn.reg_recording()", ()) == ""
    });
    assert_eq!(nvim.lua("return vim.fn.getreg('q')", ()), json!("x1"));
    nvim.quit();
}

#[test]
fn keys_that_are_typed_as_it_appears_go_to_the_text() {
    let nvim = start(RUN);
    nvim.cmd("wincmd t");
    std::fs::write(nvim.project.path("ask"), "").unwrap();
    // Someone types on in normal mode: `x` deletes, `1` and `y` would be answers.
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
fn a_key_right_after_the_focus_came_is_no_answer() {
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
fn who_leaves_is_not_brought_back_but_may_come_back() {
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
fn no_question_is_said() {
    let nvim = talk::start(&[]);
    nvim.cmd("Acp permission");
    nvim.wait("the message", || {
        nvim.messages() == "acp.nvim: No permission is asked for."
    });
    nvim.quit();
}

/// Answers through the API.
#[track_caller]
fn answer(nvim: &Nvim, id: u64, option: &str) {
    nvim.lua("require('acp').permission.answer(...)", (id, option));
}

#[track_caller]
fn list(nvim: &Nvim) -> Json {
    nvim.lua("return require('acp').permission.list()", ())
}

const THREE: &str = r#"{"permission":{"toolCallId":"a","title":"First"},"as":"q1"}
{"permission":{"toolCallId":"b","title":"Second"},"as":"q2"}
{"permission":{"toolCallId":"c","title":"Third"},"as":"q3"}
{"await":"q3","choice":"reject_once"}
{"await":"q1","choice":"allow_always"}
{"await":"q2","choice":"allow_once"}"#;

#[test]
fn several_wait_in_a_queue_and_are_answered_in_any_order() {
    let nvim = start(THREE);
    ask(&nvim);
    nvim.wait("three questions", || {
        list(&nvim).as_array().is_some_and(|list| list.len() == 3)
    });
    nvim.wait_text("+2 more");
    let open = list(&nvim);
    let titles: Vec<&Json> = open
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["title"])
        .collect();
    assert_eq!(titles, ["First", "Second", "Third"]);
    assert_eq!(
        open[0]["options"][0],
        json!({ "optionId": "allow_once", "name": "Allow once", "kind": "allow_once" })
    );
    assert_eq!(open[0]["tool_call"]["toolCallId"], "a");
    assert_eq!(open[0]["session"], 1);
    answer(&nvim, 3, "reject_once");
    nvim.wait_text("+1 more");
    answer(&nvim, 1, "allow_always");
    nvim.wait("the second", || asked(&nvim)[0].contains("Second"));
    answer(&nvim, 2, "allow_once");
    wait_closed(&nvim);
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_key_meant_for_one_question_does_not_answer_the_next() {
    let nvim = start(THREE);
    ask(&nvim);
    nvim.wait_text("+2 more");
    press(&nvim, "2");
    nvim.wait("the second", || asked(&nvim)[0].contains("Second"));
    // Pressed by mistake a second time.
    nvim.keys("2");
    assert_eq!(list(&nvim).as_array().unwrap().len(), 2);
    assert_eq!(here(&nvim), "acp-permission");
    press(&nvim, "1");
    nvim.wait("the third", || asked(&nvim)[0].contains("Third"));
    press(&nvim, "3");
    wait_closed(&nvim);
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn an_agent_can_take_a_question_back() {
    let nvim = start(
        r#"{"permission":{"toolCallId":"a","title":"First"},"id":"x-1","as":"q1"}
{"permission":{"toolCallId":"b","title":"Second"},"as":"q2"}
{"wait_file":"${cwd}/back"}
{"notify":"$/cancel_request","params":{"requestId":"x-1"}}
{"await":"q1","error":{"code":-32800}}
{"await":"q2","choice":"allow_once"}"#,
    );
    ask(&nvim);
    nvim.wait_text("+1 more");
    std::fs::write(nvim.project.path("back"), "").unwrap();
    nvim.wait("the second", || asked(&nvim)[0].contains("Second"));
    press(&nvim, "1");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn the_window_goes_along_into_another_tab_page() {
    let nvim = start(RUN);
    ask(&nvim);
    wait_focus(&nvim);
    nvim.keys("q");
    nvim.cmd("tabnew");
    nvim.wait("the window", || is_open(&nvim));
    nvim.cmd("tabprevious");
    nvim.wait("the window", || is_open(&nvim));
    nvim.cmd("tabonly | Acp permission");
    press(&nvim, "1");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_window_the_user_closes_comes_back_when_asked_for() {
    let nvim = start(RUN);
    ask(&nvim);
    wait_focus(&nvim);
    nvim.keys(":q<CR>");
    wait_closed(&nvim);
    assert_eq!(status(&nvim)["phase"], "waiting");
    nvim.cmd("Acp permission");
    press(&nvim, "1");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn each_of_several_diffs_is_shown() {
    let nvim = start(
        r#"{"permission":{"toolCallId":"t","title":"Edit both","kind":"edit","content":[{"type":"diff","path":"${cwd}/a.txt","oldText":"one two\nthree\n","newText":"one 2\nthree\n"},{"type":"diff","path":"${cwd}/b.txt","oldText":null,"newText":"new\n"}]},"as":"q"}
{"await":"q","choice":"allow_once"}"#,
    );
    ask(&nvim);
    let lines = asked(&nvim);
    let lines: Vec<String> = lines
        .iter()
        .map(|line| line.rsplit('/').next().unwrap_or(line).to_owned())
        .collect();
    assert_eq!(
        lines[..9],
        [
            "edit  Edit both",
            "a.txt",
            "- one two",
            "+ one 2",
            "  three",
            "b.txt",
            "+ new",
            "",
            " 1 y  Allow once",
        ]
    );
    nvim.wait_text("+ one 2");
    assert_eq!(nvim.screen().groups_of("+ new"), ["NormalFloat+DiffAdd"]);
    press(&nvim, "1");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_diff_of_five_thousand_lines_can_be_read_and_answered() {
    let old: String = (0..5000).map(|n| format!("line {n}\n")).collect();
    let new: String = (0..5000)
        .map(|n| {
            if n % 100 == 0 {
                format!("changed {n}\n")
            } else {
                format!("line {n}\n")
            }
        })
        .collect();
    let step = json!({ "permission": {
        "toolCallId": "t", "title": "Big", "kind": "edit",
        "content": [{ "type": "diff", "path": "/p/a", "oldText": old, "newText": new }],
    }, "as": "q" });
    let nvim = start(&format!(
        "{step}\n{{\"await\":\"q\",\"choice\":\"allow_once\"}}"
    ));
    ask(&nvim);
    nvim.wait_text("+ changed 0");
    // The options are beyond the end of the window: its border has them.
    nvim.wait_text("1/y Allow once");
    wait_focus(&nvim);
    nvim.keys("G");
    nvim.wait_text(" 4 s  Always reject");
    nvim.keys("gg");
    press(&nvim, "y");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn an_input_that_comes_later_is_shown() {
    let nvim = start(
        r#"{"permission":{"toolCallId":"t","title":"bash","kind":"execute","rawInput":{}},"as":"q"}
{"wait_file":"${cwd}/more"}
{"tool_update":{"id":"t","title":"Remove it all","rawInput":{"command":"rm -r build"}}}
{"await":"q","choice":"allow_once"}"#,
    );
    ask(&nvim);
    assert_eq!(asked(&nvim)[0], "execute  bash");
    std::fs::write(nvim.project.path("more"), "").unwrap();
    nvim.wait_text("$ rm -r build");
    nvim.wait_text("Remove it all");
    press(&nvim, "1");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn options_of_any_kind_and_number_can_be_chosen() {
    let nvim = start(
        r#"{"permission":{"toolCallId":"t","title":"Choose"},"options":[{"optionId":"x","name":"Explode","kind":"explode"},{"optionId":"a","name":"Yes","kind":"allow_once"},{"optionId":"b","name":"Yes, here","kind":"allow_once"},{"optionId":"c","name":"??","kind":"reject_always"}],"as":"q"}
{"await":"q","choice":"x"}"#,
    );
    ask(&nvim);
    assert_eq!(
        asked(&nvim)[2..],
        [" 1 e  Explode", " 2 y  Yes", " 3 s  Yes, here", " 4    ??"]
    );
    press(&nvim, "e");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn an_answer_nobody_can_give_is_refused_with_the_choices() {
    let nvim = start(RUN);
    ask(&nvim);
    answer(&nvim, 1, "maybe");
    nvim.wait("the message", || {
        nvim.messages()
            == "acp.nvim: This request has no option \"maybe\": it has allow_once, allow_always…"
    });
    assert_eq!(status(&nvim)["phase"], "waiting");
    nvim.cmd("messages clear");
    answer(&nvim, 7, "allow_once");
    nvim.wait("the message", || {
        nvim.messages() == "acp.nvim: That permission request is no longer open."
    });
    answer(&nvim, 1, "allow_once");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn questions_between_turns_are_asked_too() {
    let script = r#"{"expect":"session/prompt","as":"p"}
{"end":"p"}
{"permission":{"toolCallId":"t","title":"Late"},"as":"q"}
{"await":"q","choice":"allow_once"}"#;
    let nvim = Project::new().agent("scripted", script).start();
    open(&nvim);
    talk::talk(&nvim, "hi");
    nvim.wait("the window", || is_open(&nvim));
    press(&nvim, "1");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn ctrl_c_in_the_window_cancels_the_turn() {
    let nvim = start(
        r#"{"permission":{"toolCallId":"t","title":"Run"},"as":"q"}
{"expect":"session/cancel","any_order":true}
{"await":"q","choice":"cancelled"}"#,
    );
    ask(&nvim);
    wait_focus(&nvim);
    nvim.keys("<C-c>");
    wait_closed(&nvim);
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_narrow_screen_has_room_for_the_question() {
    let nvim = start(RUN);
    nvim.resize(40, 14);
    ask(&nvim);
    nvim.wait_text("$ cargo test --all");
    nvim.wait_text(" 4 s  Always reject");
    nvim.resize(100, 30);
    press(&nvim, "1");
    nvim.wait_script("scripted");
    nvim.quit();
}
