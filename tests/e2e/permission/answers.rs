//! Permission requests and their answers: one by one, all at once, withdrawn, cancelled.

use super::*;

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
    wait_asked(&nvim, "Second");
    answer(&nvim, 2, "allow_once");
    wait_closed(&nvim);
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn the_users_own_keys_outlive_a_question() {
    let nvim = start(THREE);
    nvim.cmd("autocmd FileType acp-permission nnoremap <buffer> gx <Cmd>let g:own = 1<CR>");
    nvim.cmd("nnoremap <buffer> <Esc> <Cmd>let g:escaped = 1<CR>");
    ask(&nvim);
    nvim.wait_text("+2 more");
    answer(&nvim, 1, "allow_always");
    wait_asked(&nvim, "Second");
    press(&nvim, "gx1");
    wait_asked(&nvim, "Third");
    assert_eq!(nvim.lua("return vim.g.own", ()), 1);
    press(&nvim, "3");
    wait_closed(&nvim);
    nvim.keys("<Esc>");
    assert_eq!(nvim.lua("return vim.g.escaped", ()), 1);
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_key_meant_for_one_question_does_not_answer_the_next() {
    let nvim = start(THREE);
    ask(&nvim);
    nvim.wait_text("+2 more");
    press(&nvim, "ay");
    wait_asked(&nvim, "Second");
    // The same key pressed again by mistake.
    nvim.keys("2<Esc>");
    assert_eq!(list(&nvim).as_array().unwrap().len(), 2);
    assert_eq!(here(&nvim), "acp-input");
    press(&nvim, "1");
    wait_asked(&nvim, "Third");
    press(&nvim, "3");
    wait_closed(&nvim);
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_key_pressed_as_another_question_takes_the_place_answers_nothing() {
    let nvim = start(
        r#"{"permission":{"toolCallId":"a","title":"First"},"id":"x-1","as":"q1"}
{"permission":{"toolCallId":"b","title":"Second"},"as":"q2"}
{"wait_file":"${cwd}/../back"}
{"notify":"$/cancel_request","params":{"requestId":"x-1"}}
{"await":"q2","choice":"allow_once"}"#,
    );
    ask(&nvim);
    nvim.wait_text("+1 more");
    go(&nvim);
    std::fs::write(nvim.project.root().join("back"), "").unwrap();
    wait_asked(&nvim, "Second");
    assert_eq!(here(&nvim), "acp-permission");
    nvim.keys("y");
    assert_eq!(list(&nvim).as_array().unwrap().len(), 1);
    assert!(nvim.messages().contains("This is another question now."));
    nvim.wait("the answer", || {
        nvim.keys("y");
        !is_open(&nvim)
    });
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn an_option_that_lasts_is_confirmed() {
    let nvim = start(&RUN.replace("allow_once", "allow_always"));
    ask(&nvim);
    press(&nvim, "a");
    nvim.wait_text("\"Always allow\" also answers later");
    // Any other key than `y` leads back to the options.
    nvim.keys("a");
    nvim.wait_text("1 y  Allow once");
    nvim.keys("2");
    nvim.wait_text("\"Always allow\" also answers later");
    nvim.keys("n");
    nvim.wait_text("1 y  Allow once");
    assert_eq!(list(&nvim).as_array().unwrap().len(), 1);
    nvim.keys("2y");
    nvim.wait_script("scripted");
    wait_closed(&nvim);
    assert_eq!(nvim.messages(), "");
    nvim.quit();
}

#[test]
fn an_agent_can_withdraw_a_question() {
    let nvim = start(
        r#"{"permission":{"toolCallId":"a","title":"First"},"id":"x-1","as":"q1"}
{"permission":{"toolCallId":"b","title":"Second"},"as":"q2"}
{"wait_file":"${cwd}/../back"}
{"notify":"$/cancel_request","params":{"requestId":"x-1"}}
{"await":"q1","error":{"code":-32800}}
{"await":"q2","choice":"allow_once"}"#,
    );
    ask(&nvim);
    nvim.wait_text("+1 more");
    std::fs::write(nvim.project.root().join("back"), "").unwrap();
    wait_asked(&nvim, "Second");
    press(&nvim, "1");
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn an_unknown_answer_is_refused_with_the_choices() {
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
        nvim.messages() == "acp.nvim: That question is no longer open."
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
    go(&nvim);
    nvim.ctrl_c();
    wait_closed(&nvim);
    nvim.wait_script("scripted");
    nvim.quit();
}
