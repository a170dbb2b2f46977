//! Several agents and sessions at once, in several tab pages.

use std::fs;

use serde_json::{Value as Json, json};

use super::harness::{Nvim, Project};
use super::talk::ended;

/// Returns the lines of a session's transcript.
#[track_caller]
fn transcript(nvim: &Nvim, agent: &str, session: u64) -> String {
    let lines = nvim.lua(
        "local buf = vim.fn.bufnr('^' .. ... .. '$')
        return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '\\n')",
        (format!("acp://{agent}/{session}"),),
    );
    lines.as_str().unwrap_or_default().to_owned()
}

/// Returns the sessions shown in each tab page.
#[track_caller]
fn shown(nvim: &Nvim) -> Json {
    nvim.lua(
        "return vim.tbl_map(function(tab)
          local names = {}
          for _, win in ipairs(vim.api.nvim_tabpage_list_wins(tab)) do
            local buf = vim.api.nvim_win_get_buf(win)
            if vim.bo[buf].filetype == 'acp-chat' then
              table.insert(names, vim.api.nvim_buf_get_name(buf))
            end
          end
          return table.concat(names, ' ')
        end, vim.api.nvim_list_tabpages())",
        (),
    )
}

/// Returns the steps of an agent that asks a question in each of its sessions, and reports in each
/// session which answer it received: the first of `answers` is the one to the question of
/// `${sid1}`, and so on.
fn asks(answers: &[&str]) -> String {
    // Wait until all sessions are open.
    let mut steps = vec![json!({ "wait_file": "${script_dir}/go" })];
    let all = || (1..).zip(answers);
    for (n, _) in all() {
        let params = json!({ "sessionId": format!("${{sid{n}}}") });
        let expect = "session/prompt";
        steps.push(
            json!({ "expect": expect, "params": params, "as": format!("p{n}"), "any_order": true }),
        );
    }
    for (n, _) in all() {
        let options = ["allow_once", "reject_once", "allow_always"]
            .map(|kind| json!({ "optionId": kind, "name": kind, "kind": kind }));
        let params = json!({
            "sessionId": format!("${{sid{n}}}"),
            "toolCall": { "toolCallId": "t", "title": format!("Question {n}") },
            "options": options,
        });
        steps.push(
            json!({ "request": "session/request_permission", "params": params, "as": format!("q{n}") }),
        );
    }
    for (n, answer) in all() {
        steps.push(json!({ "await": format!("q{n}"), "choice": answer }));
        let content = json!({ "type": "text", "text": format!("It is {answer}.") });
        let update = json!({ "sessionUpdate": "agent_message_chunk", "content": content });
        steps.push(json!({ "update": update, "session": format!("${{sid{n}}}") }));
        steps.push(json!({ "end": format!("p{n}") }));
    }
    let lines: Vec<String> = steps.iter().map(Json::to_string).collect();
    lines.join("\n")
}

#[test]
fn answers_and_text_of_several_sessions_reach_the_right_one() {
    let nvim = Project::new()
        .agent("first", &asks(&["allow_once", "reject_once"]))
        .agent("second", &asks(&["allow_always"]))
        .size(120, 30)
        .start();
    nvim.cmd("AcpChat first");
    nvim.cmd("tabnew");
    // Another tab page can show another session of the same agent.
    nvim.cmd("AcpChat! first");
    assert_eq!(shown(&nvim), json!(["acp://first/1", "acp://first/2"]));
    nvim.cmd("AcpChat second");
    assert_eq!(shown(&nvim), json!(["acp://first/1", "acp://second/3"]));
    for session in 1..=3 {
        let ready = "return require('acp').status({ session = ... }).phase";
        nvim.wait("the session", || nvim.lua(ready, (session,)) == "idle");
    }
    fs::write(nvim.project.root().join("agents/go"), "").expect("the file can be written");
    for session in 1..=3 {
        nvim.lua("require('acp').prompt('go', { session = ... })", (session,));
    }
    nvim.wait("the questions", || {
        nvim.lua("return #require('acp').permission.list()", ()) == 3
    });
    assert_eq!(nvim.children().len(), 2, "a process for each agent");
    // Answer them in a different order than they arrived, each differently.
    nvim.lua(
        "local acp = require('acp')
        local answers = { 'allow_once', 'reject_once', 'allow_always' }
        for _, open in ipairs(vim.fn.reverse(acp.permission.list())) do
          assert(acp.status({ session = open.session }).permissions == 1)
          acp.permission.answer(open.id, answers[open.session])
        end",
        (),
    );
    nvim.wait("all turns to end", || ended(&nvim).len() == 3);
    for (agent, session, answer) in [
        ("first", 1, "allow_once"),
        ("first", 2, "reject_once"),
        ("second", 3, "allow_always"),
    ] {
        let said = format!("It is {answer}.");
        nvim.wait(&said, || transcript(&nvim, agent, session).contains(&said));
        let all = transcript(&nvim, agent, session);
        assert_eq!(all.matches("It is").count(), 1, "{all}");
    }
    nvim.wait_script("first");
    nvim.wait_script("second");
    // A session can be used from any tab page.
    nvim.cmd("tabfirst");
    nvim.cmd("AcpChat second");
    assert_eq!(shown(&nvim), json!(["acp://second/3", "acp://second/3"]));
    nvim.quit();
}
