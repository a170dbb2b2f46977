//! The built-in tools, in a Neovim that a user is working in.

use super::super::review;
use super::*;

/// Starts Neovim as [`start`] does, and a client in addition to the session's agent.
#[track_caller]
fn begin(project: Project) -> (Nvim, Client) {
    let nvim = start(project);
    let client = Client::start(&nvim, &server(&nvim));
    (nvim, client)
}

/// Returns a project in which these tools need no permission.
fn allowing(tools: &[&str]) -> Project {
    let permissions: serde_json::Map<String, Json> = tools
        .iter()
        .map(|name| ((*name).to_owned(), json!("allow")))
        .collect();
    project().config(
        "tools",
        json!({ "builtin": "all", "permissions": permissions }),
    )
}

/// Returns the data of a successful answer.
#[track_caller]
fn data(answer: &Json) -> &Json {
    assert_ne!(answer["isError"], true, "{answer}");
    &answer["structuredContent"]
}

/// Returns the text of an error.
#[track_caller]
fn error(answer: &Json) -> String {
    assert_eq!(answer["isError"], true, "{answer}");
    text(answer)
}

/// Returns the lines of the file in the current window's buffer.
#[track_caller]
fn lines(nvim: &Nvim) -> Vec<String> {
    nvim.buf_lines(0)
}

/// Returns the files in the windows, each with its cursor's line.
#[track_caller]
fn files_shown(nvim: &Nvim) -> Vec<String> {
    let code = "local out = {}
        for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
          local buf = vim.api.nvim_win_get_buf(win)
          if vim.bo[buf].buftype == '' then
            local line = vim.api.nvim_win_get_cursor(win)[1]
            table.insert(out, vim.fs.basename(vim.api.nvim_buf_get_name(buf)) .. ':' .. line)
          end
        end
        return out";
    serde_json::from_value(nvim.lua(code, ())).expect("names")
}

/// Goes to the form and answers it with keys.
#[track_caller]
fn answer_form(nvim: &Nvim, keys: &str) {
    nvim.wait("the form", || {
        windows(nvim).contains(&"acp-form".to_owned())
    });
    nvim.cmd("Acp permission");
    nvim.keys(keys);
}

#[test]
fn an_edit_is_merged_into_unsaved_text_and_rejecting_it_restores_the_text() {
    let (nvim, client) = begin(project());
    nvim.keys("GAhalf<Esc>");
    client.send(r#"call edit {"path":"a.txt","edits":[{"old_text":"one\n","new_text":"1\n"}]}"#);
    decide(&nvim, "allow_once");
    let answer = client.answer(&nvim);
    assert_eq!(data(&answer)["changed"], true, "{answer}");
    assert_eq!(
        data(&answer)["lines"],
        json!([{ "line": 1, "end_line": 1, "removed": 1, "added": 1 }])
    );
    assert_eq!(lines(&nvim), ["1", "two", "threehalf"]);
    review::wait_shown(&nvim);
    nvim.keys("gg");
    nvim.cmd("Acp reject");
    nvim.wait("the old text", || {
        lines(&nvim) == ["one", "two", "threehalf"]
    });
    nvim.quit();
}

#[test]
fn an_edit_that_does_not_fit_or_is_rejected_changes_nothing() {
    let (nvim, client) = begin(project());
    client.send(r#"call edit {"path":"a.txt","edits":[{"old_text":"o","new_text":"0"}]}"#);
    decide(&nvim, "allow_once");
    let told = error(&client.answer(&nvim));
    assert!(
        told.contains("old_text is 2 times in a.txt, at lines 1 and 2"),
        "{told}"
    );
    client.send(r#"call edit {"path":"a.txt","content":"all new\n"}"#);
    decide(&nvim, "reject_once");
    error(&client.answer(&nvim));
    assert_eq!(lines(&nvim), ["one", "two", "three"]);
    let path = nvim.project.path("a.txt");
    assert_eq!(fs::read_to_string(path).unwrap(), "one\ntwo\nthree\n");
    nvim.quit();
}

#[test]
fn an_edit_creates_a_file_and_keeps_the_line_ends_of_an_existing_one() {
    let project = allowing(&["edit"]).file("dos.txt", "a\r\nb\r\n");
    let (nvim, client) = begin(project);
    let answer = client.call(
        &nvim,
        "edit",
        &json!({ "path": "new/c.txt", "content": "c\n" }),
    );
    assert_eq!(data(&answer)["created"], true, "{answer}");
    let read = |name: &str| fs::read_to_string(nvim.project.path(name)).unwrap();
    assert_eq!(read("new/c.txt"), "c\n");
    let edits = json!([{ "old_text": "a\nb", "new_text": "A\nB" }]);
    let answer = client.call(&nvim, "edit", &json!({ "path": "dos.txt", "edits": edits }));
    data(&answer);
    assert_eq!(read("dos.txt"), "A\r\nB\r\n");
    nvim.quit();
}

#[test]
fn unsaved_text_is_listed_and_read() {
    let (nvim, client) = begin(project());
    nvim.keys("ccunsaved<Esc>");
    let answer = client.call(&nvim, "buffers", &json!({ "modified_only": true }));
    let listed = &data(&answer)["buffers"];
    assert_eq!(listed[0]["name"], "a.txt", "{answer}");
    assert_eq!(listed[0]["current"], true, "{answer}");
    let answer = client.call(&nvim, "read_buffer", &json!({ "path": "a.txt" }));
    assert_eq!(
        text(&answer),
        "a.txt: lines 1 to 3 of 3 (from the buffer, with unsaved changes).\nunsaved\ntwo\nthree\n"
    );
    let answer = client.call(&nvim, "read_buffer", &json!({ "path": "/etc/passwd" }));
    let told = error(&answer);
    assert!(told.contains("outside the session's folders"), "{told}");
    nvim.quit();
}

#[test]
fn a_selection_is_returned_while_active_and_afterwards() {
    let (nvim, client) = begin(project());
    nvim.keys("jvj");
    let answer = client.call(&nvim, "selection", &json!({}));
    let selection = &data(&answer)["selection"];
    assert_eq!(selection["text"], "two\nt", "{answer}");
    assert_eq!(
        (&selection["active"], nvim.mode().as_str()),
        (&json!(true), "v")
    );
    nvim.keys("<Esc>");
    talk::go(&nvim, "acp-input");
    let answer = client.call(&nvim, "selection", &json!({}));
    let selection = &data(&answer)["selection"];
    assert_eq!(data(&answer)["name"], "a.txt", "{answer}");
    assert_eq!(selection["text"], "two\nt", "{answer}");
    assert_eq!(selection["active"], false, "{answer}");
    nvim.quit();
}

#[test]
fn a_place_is_shown_beside_the_chat_and_the_focus_stays() {
    let (nvim, client) = begin(project());
    talk::go(&nvim, "acp-input");
    client.send(r#"call navigate {"path":"b.txt","line":2}"#);
    decide(&nvim, "allow_once");
    let answer = client.answer(&nvim);
    assert_eq!(data(&answer)["shown"], true, "{answer}");
    assert_eq!(files_shown(&nvim), ["b.txt:2"]);
    nvim.wait("the focus in the input", || {
        talk::here(&nvim) == "acp-input"
    });
    nvim.cmd("wincmd t");
    nvim.keys("<C-o>");
    assert_eq!(files_shown(&nvim), ["a.txt:1"]);
    nvim.quit();
}

#[test]
fn nothing_moves_while_the_user_types() {
    let (nvim, client) = begin(allowing(&["navigate", "set_quickfix"]));
    talk::go(&nvim, "acp-input");
    nvim.keys("ihal");
    let answer = client.call(&nvim, "navigate", &json!({ "path": "b.txt", "line": 2 }));
    assert_eq!(data(&answer)["shown"], false, "{answer}");
    let note = data(&answer)["note"].as_str().unwrap_or_default();
    assert!(note.contains("the user is typing"), "{note}");
    let list = json!({ "items": [{ "path": "b.txt", "line": 2 }], "open": true });
    let answer = client.call(&nvim, "set_quickfix", &list);
    assert_eq!(data(&answer)["open"], false, "{answer}");
    nvim.keys("f");
    assert_eq!(
        (files_shown(&nvim), nvim.mode()),
        (vec!["a.txt:1".to_owned()], "i".to_owned())
    );
    assert_eq!(lines(&nvim), ["half"]);
    // The pending call continues.
    client.send(r#"call navigate {"path":"b.txt","line":2}"#);
    nvim.keys("<Esc>");
    assert_eq!(data(&client.answer(&nvim))["shown"], true);
    assert_eq!(files_shown(&nvim), ["b.txt:2"]);
    nvim.quit();
}

#[test]
fn a_list_is_set_and_the_focus_stays() {
    let (nvim, client) = begin(allowing(&["set_quickfix"]));
    let list = json!({
        "title": "Findings", "open": true,
        "items": [{ "path": "b.txt", "line": 2, "text": "look here", "type": "warning" }],
    });
    let answer = client.call(&nvim, "set_quickfix", &list);
    assert_eq!(data(&answer)["open"], true, "{answer}");
    nvim.wait_text("look here");
    assert_eq!(lines(&nvim), ["one", "two", "three"]);
    let answer = client.call(&nvim, "get_quickfix", &json!({}));
    assert_eq!(data(&answer)["title"], "Findings", "{answer}");
    assert_eq!(data(&answer)["items"][0]["path"], "b.txt", "{answer}");
    let answer = client.call(
        &nvim,
        "set_quickfix",
        &json!({ "items": [{ "path": "no" }] }),
    );
    let told = error(&answer);
    assert!(told.contains("items[0]: there is no file no"), "{told}");
    nvim.quit();
}

#[test]
fn the_importance_of_an_action_is_shown_and_the_answer_decides() {
    let (nvim, client) = begin(project());
    for (rows, keys, answer) in [(7, "<C-s>", "yes"), (8, "D", "no"), (9, "X", "dismissed")] {
        // The screen may still show the question before.
        let details = format!("It has {rows} rows.");
        let question = json!({
            "action": "Drop the table",
            "importance": "critical",
            "details": details,
        });
        client.send(&format!("call confirm {question}"));
        nvim.wait_text(&details);
        nvim.wait_text("asks you (critical importance)");
        nvim.wait_text("Drop the table");
        answer_form(&nvim, keys);
        let got = client.answer(&nvim);
        assert_eq!(
            data(&got),
            &json!({ "confirmed": answer == "yes", "answer": answer })
        );
    }
    nvim.quit();
}

#[test]
fn the_user_chooses_and_writes() {
    let (nvim, client) = begin(project());
    client.send(
        r#"call choose {"question":"Which one?","options":["red",{"value":"g","label":"Green","description":"like grass"}]}"#,
    );
    nvim.wait_text("like grass");
    answer_form(&nvim, "/Green<CR><CR><C-s>");
    let got = client.answer(&nvim);
    assert_eq!(
        data(&got),
        &json!({ "answer": "chosen", "value": "g", "label": "Green" })
    );
    client.send(r#"call choose {"question":"Which?","options":["red","green"],"multiple":true}"#);
    nvim.wait_text("[ ] green");
    answer_form(&nvim, "<C-s>");
    let got = client.answer(&nvim);
    assert_eq!(data(&got)["values"], json!([]), "{got}");
    client.send(r#"call ask {"question":"What name?","default":"Ad"}"#);
    nvim.wait_text("What name?");
    answer_form(&nvim, "i");
    nvim.wait("the field", || nvim.mode() == "i");
    nvim.keys("a<C-s>");
    let got = client.answer(&nvim);
    assert_eq!(data(&got), &json!({ "answer": "given", "text": "Ada" }));
    nvim.quit();
}

#[test]
fn help_and_diagnostics_are_returned() {
    let (nvim, client) = begin(project());
    let answer = client.call(&nvim, "help", &json!({ "query": "nvim_buf_set_lines" }));
    let told = text(&answer);
    assert!(
        told.contains("*nvim_buf_set_lines()* (api.txt, line "),
        "{told}"
    );
    nvim.lua(
        "vim.diagnostic.set(vim.api.nvim_create_namespace('x'), 0, {
           { lnum = 1, col = 0, message = 'not so', severity = vim.diagnostic.severity.ERROR } })",
        (),
    );
    let answer = client.call(&nvim, "diagnostics", &json!({ "path": "a.txt" }));
    assert_eq!(
        data(&answer)["diagnostics"],
        json!([{ "path": "a.txt", "line": 2, "column": 1, "end_line": 2, "end_column": 1,
            "severity": "error", "message": "not so" }])
    );
    let wrong = client.call(&nvim, "diagnostics", &json!({ "severity": "fatal" }));
    assert!(error(&wrong).contains("severity"), "{wrong}");
    nvim.quit();
}
