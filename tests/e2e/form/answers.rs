//! The ends of a question: answered, declined, dismissed, cancelled, withdrawn; and the
//! step to it.

use super::*;

fn simple(answer: &Json) -> String {
    let properties = json!({ "name": { "type": "string", "title": "Name" } });
    form(&properties, &["name"], answer)
}

/// Checks that `keys` send the agent this answer.
#[track_caller]
fn check_answer(keys: &str, answer: &Json) {
    let nvim = start(&simple(answer));
    ask(&nvim);
    go(&nvim);
    nvim.keys(keys);
    wait_answered(&nvim);
    nvim.quit();
}

#[test]
fn a_question_is_declined_or_dismissed() {
    check_answer("D", &json!({ "action": "decline" }));
    check_answer("X", &json!({ "action": "cancel" }));
    check_answer("Gk<CR>", &json!({ "action": "decline" }));
}

#[test]
fn filled_in_values_are_dropped_only_by_a_second_press() {
    let nvim = start(&simple(&json!({ "action": "decline" })));
    ask(&nvim);
    go(&nvim);
    nvim.keys("iAda<Esc>");
    wait_focus(&nvim);
    let asked = "acp.nvim: Press D again to decline: your entries are discarded.";
    // With the cursor elsewhere, the next press is a first press again.
    let told = || nvim.messages().matches(asked).count();
    nvim.keys("D");
    nvim.wait("the question", || told() == 1);
    nvim.keys("ggD");
    nvim.wait("the question again", || told() == 2);
    assert!(lines(&nvim).contains(&"  Ada".to_owned()));
    nvim.keys("D");
    wait_answered(&nvim);
    nvim.quit();
}

#[test]
fn editing_keys_do_nothing_in_the_window() {
    let nvim = start(&simple(&json!({ "action": "cancel" })));
    ask(&nvim);
    go(&nvim);
    let before = lines(&nvim);
    nvim.keys("ddccxoOsCJuciwp");
    assert_eq!(nvim.mode(), "n");
    assert_eq!((lines(&nvim), nvim.messages()), (before, String::new()));
    nvim.keys("X");
    wait_answered(&nvim);
    nvim.quit();
}

#[test]
fn ctrl_c_cancels_the_turn() {
    let steps = simple(&json!({ "action": "cancel" })).replace(
        "{\"await\"",
        "{\"expect\":\"session/cancel\",\"any_order\":true}\n{\"await\"",
    );
    let nvim = start(&steps);
    ask(&nvim);
    go(&nvim);
    nvim.ctrl_c();
    wait_closed(&nvim);
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_script_can_answer_and_gets_its_mistakes_reported() {
    let answer = json!({ "action": "accept", "content": {
        "name": "a", "licence": "mit", "extras": ["docs"], "count": 2,
    }});
    let nvim = start(&form(&some_fields(), &["name"], &answer));
    ask(&nvim);
    let open = nvim.lua("return require('acp').elicitation.list()", ());
    assert_eq!(open[0]["mode"], "form");
    assert_eq!(open[0]["message"], "How shall the project be set up?");
    assert_eq!(
        open[0]["fields"][3],
        json!({ "name": "licence", "title": "Licence", "type": "one", "required": false,
            "choices": [{ "value": "mit", "title": "MIT" },
                { "value": "apache", "title": "Apache 2.0" }] })
    );
    assert_eq!(status(&nvim)["elicitations"], 1);
    let answer = |content: Json| {
        let id = &open[0]["id"];
        nvim.lua(
            "require('acp').elicitation.answer(...)",
            (id.clone(), "accept", content),
        );
    };
    answer(json!({ "name": "A", "count": 9 }));
    nvim.wait("the message", || {
        nvim.messages()
            .contains("This does not answer the question")
    });
    nvim.cmd("messages clear");
    answer(json!({ "name": "a", "count": 2, "licence": "mit", "extras": ["docs"] }));
    wait_closed(&nvim);
    nvim.wait_script("scripted");
    let events = nvim.user_events().into_iter();
    let events: Vec<Json> = events
        .filter(|event| event.name.starts_with("AcpElicitation"))
        .map(|event| json!([event.name, event.data]))
        .collect();
    assert_eq!(
        events,
        [
            json!(["AcpElicitationRequested", { "session": 1, "id": 1 }]),
            json!(["AcpElicitationAnswered", { "session": 1, "id": 1, "action": "accept" }]),
        ]
    );
    nvim.quit();
}

#[test]
fn a_question_withdrawn_while_the_user_types_swallows_no_key() {
    let properties = json!({ "name": { "type": "string", "title": "Name" } });
    let steps = form(&properties, &["name"], &json!({}))
        .replace("\"as\":\"q\"", "\"id\":\"x-1\",\"as\":\"q\"");
    let (asked, _) = steps.split_once('\n').unwrap();
    let nvim = start(&format!(
        "{asked}\n{{\"wait_file\":\"${{cwd}}/../back\"}}\n\
         {{\"notify\":\"$/cancel_request\",\"params\":{{\"requestId\":\"x-1\"}}}}\n\
         {{\"await\":\"q\",\"error\":{{\"code\":-32800}}}}"
    ));
    ask(&nvim);
    go(&nvim);
    nvim.keys("iddx");
    std::fs::write(nvim.project.root().join("back"), "").unwrap();
    nvim.wait_text("This question is over");
    nvim.keys("dw<Esc>");
    wait_closed(&nvim);
    assert_eq!(nvim.mode(), "n");
    assert_eq!(nvim.buf_lines(0), ["one two", "three"]);
    assert_eq!(nvim.lua("return vim.fn.getreg('\"')", ()), json!("ddxdw"));
    nvim.wait_script("scripted");
    nvim.quit();
}

#[test]
fn a_form_takes_no_key_before_the_user_goes_there() {
    let nvim = start(&simple(
        &json!({ "action": "accept", "content": { "name": "D" } }),
    ));
    nvim.keys("A");
    ask(&nvim);
    nvim.keys("DX<Esc>yyp");
    assert_eq!(here(&nvim), "text");
    assert_eq!(status(&nvim)["phase"], "waiting");
    assert_eq!(nvim.buf_lines(0), ["one twoDX", "one twoDX", "three"]);
    go(&nvim);
    nvim.keys("iD<C-s>");
    wait_answered(&nvim);
    nvim.quit();
}

#[test]
fn a_form_waits_behind_an_older_permission() {
    let steps = simple(&json!({ "action": "decline" }));
    let (asked, awaited) = steps.split_once('\n').unwrap();
    let steps = format!(
        "{{\"permission\":{{\"toolCallId\":\"t\",\"title\":\"Run\"}},\"as\":\"q1\"}}\n{asked}\n\
         {{\"await\":\"q1\",\"choice\":\"allow_once\"}}\n{awaited}"
    );
    // The agent asks both questions before it awaits an answer.
    let nvim = start(&steps);
    std::fs::write(nvim.project.root().join("ask"), "").unwrap();
    nvim.wait_text("+1 more");
    assert!(!is_open(&nvim));
    super::super::permission::press(&nvim, "1");
    nvim.wait("the form", || is_open(&nvim));
    go(&nvim);
    nvim.keys("D");
    wait_answered(&nvim);
    nvim.quit();
}

#[test]
fn the_window_follows_the_user_into_another_tab_page() {
    let nvim = start(&simple(
        &json!({ "action": "accept", "content": { "name": "Ada" } }),
    ));
    ask(&nvim);
    go(&nvim);
    nvim.keys("iAda<Esc>q");
    nvim.cmd("tabnew");
    nvim.wait("the window", || is_open(&nvim));
    assert!(lines(&nvim).contains(&"  Ada".to_owned()));
    nvim.cmd("tabclose | Acp permission");
    go(&nvim);
    nvim.keys("<C-s>");
    wait_answered(&nvim);
    nvim.quit();
}

#[test]
fn a_window_that_grows_again_shows_all_of_its_lines() {
    let nvim = start(&simple(&json!({ "action": "decline" })));
    ask(&nvim);
    go(&nvim);
    let shown = || {
        let shown = "local win = vim.fn.bufwinid(vim.fn.bufnr(vim.g.form_buf))
            local info = vim.fn.getwininfo(win)[1]
            return { info.topline, info.height }";
        nvim.lua(shown, ())
    };
    nvim.cmd("let g:form_buf = bufnr()");
    let whole = shown();
    assert_eq!(whole[0], 1);
    nvim.keys("Gq");
    nvim.wait("the file", || here(&nvim) == "text");
    let rows = nvim.lua("return vim.o.lines", ());
    nvim.cmd("set lines=8");
    nvim.wait("the window to shrink", || shown()[0] != 1);
    nvim.cmd(&format!("set lines={rows}"));
    nvim.wait("the whole window", || shown() == whole);
    go(&nvim);
    nvim.keys("D");
    wait_answered(&nvim);
    nvim.quit();
}
