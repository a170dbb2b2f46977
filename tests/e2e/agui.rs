//! Agents that speak AG-UI, by the bridge: one of pydantic-ai, live, and one that is gone.
//!
//! Each run that the bridge sends is checked by the schemas of the official SDK.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value as Json, json};

use super::harness::{Nvim, Project, checkout, installed};
use super::talk::{self, ended, open, transcript, wait_said};

/// A tool that asks the user, as the documents of AG-UI have it.
const CONFIRM: &str = "require('acp').tool({
    name = 'confirmAction',
    description = 'Ask the user to confirm a specific action before proceeding',
    read_only = true,
    parameters = {
      type = 'object',
      properties = {
        action = { type = 'string' },
        importance = { type = 'string', enum = { 'low', 'medium', 'high', 'critical' } },
      },
      required = { 'action' },
    },
    handler = function(args, ctx)
      local answer = ctx.ask({ message = args.action, importance = args.importance })
      return ({ accept = 'approved', decline = 'rejected', cancel = 'dismissed' })[answer]
    end,
  })";

/// A Neovim with a chat with the agent of `tests/agui`.
struct Chat {
    nvim: Nvim,
    // It ends with its stdin.
    agent: Child,
}

impl Chat {
    #[track_caller]
    fn start() -> Self {
        let project = Project::new()
            .file("a.txt", "one\ntwo\n")
            .config("tools", json!({ "builtin": "all" }));
        let mut agent = Command::new(installed("agui-agent.sh"))
            .arg(checkout().join("tests/agui/agent.py"))
            .env("AGENT_LOG", project.root().join("agents/agui.log"))
            .env("AGENT_TOKEN", "blue")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python runs");
        let mut url = String::new();
        let output = agent.stdout.take().expect("it is piped");
        let read = BufReader::new(output).read_line(&mut url);
        read.expect("the agent prints its URL");
        let spec = json!({ "url": url.trim(), "headers": { "Authorization": "Bearer blue" } });
        let nvim = project.agent_command("mine", spec).size(100, 40).start();
        nvim.lua(CONFIRM, ());
        open(&nvim);
        Self { nvim, agent }
    }

    /// Waits for the end of the turn; `turns` have ended before it.
    #[track_caller]
    fn wait_ended(&self, turns: usize) {
        let nvim = &self.nvim;
        nvim.wait("the end of the turn", || ended(nvim).len() > turns);
    }

    /// Answers the open question of a tool.
    #[track_caller]
    fn answer(&self, action: &str) -> Json {
        let list = || {
            self.nvim
                .lua("return require('acp').elicitation.list()", ())
        };
        self.nvim.wait("a question", || list()[0].is_object());
        let open = list()[0].clone();
        let answer = "require('acp').elicitation.answer(...)";
        self.nvim.lua(answer, (&open["id"], action));
        let is_gone = || list()[0]["id"] != open["id"];
        self.nvim.wait("the question to go", is_gone);
        open
    }

    /// Answers the open request for permission with its option of this kind.
    #[track_caller]
    fn decide(&self, kind: &str) -> Json {
        let list = || self.nvim.lua("return require('acp').permission.list()", ());
        self.nvim.wait("a permission", || list()[0].is_object());
        let open = list()[0].clone();
        let options = open["options"].as_array().cloned().unwrap_or_default();
        let option = options.into_iter().find(|option| option["kind"] == kind);
        let Some(option) = option else {
            self.nvim.fail(&format!("no option {kind:?} in {open}"));
        };
        let answer = "require('acp').permission.answer(...)";
        self.nvim.lua(answer, (&open["id"], &option["optionId"]));
        let is_gone = || list()[0]["id"] != open["id"];
        self.nvim.wait("the question to go", is_gone);
        open
    }

    /// Checks each run that was sent, and ends.
    #[track_caller]
    fn end(mut self) {
        let log = self.nvim.project.root().join("agents/agui.log");
        let checked = Command::new("node")
            .arg(checkout().join("tests/agui/check.mjs"))
            .arg(installed("agui-sdk.sh"))
            .arg(&log)
            .output()
            .expect("node runs");
        let error = String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success(), "{error}");
        drop(self.agent.stdin.take());
        self.nvim.quit();
        self.agent.wait().expect("the agent ends");
    }
}

#[test]
fn an_agent_behind_a_url_thinks_says_and_fails() {
    let chat = Chat::start();
    talk::talk(&chat.nvim, "hello");
    wait_said(&chat.nvim, "You said **hello**.");
    talk::talk(&chat.nvim, "think");
    wait_said(&chat.nvim, "Done.");
    talk::prompt(&chat.nvim, "fail");
    wait_said(&chat.nvim, "the model is out of words");
    talk::talk(&chat.nvim, "history");
    wait_said(&chat.nvim, "4 prompts: hello | think | fail | history");
    talk::talk(&chat.nvim, "count");
    wait_said(&chat.nvim, "count: success: 1");
    talk::talk(&chat.nvim, "/state");
    wait_said(&chat.nvim, "\"seen\": true");
    chat.end();
}

#[test]
fn a_conversation_goes_on_after_the_bridge_was_restarted() {
    let chat = Chat::start();
    talk::talk(&chat.nvim, "hello");
    chat.nvim.cmd("Acp restart");
    talk::talk(&chat.nvim, "history");
    wait_said(&chat.nvim, "2 prompts: hello | history");
    chat.end();
}

#[test]
fn a_tool_of_the_agents_own_waits_for_approval() {
    let chat = Chat::start();
    talk::prompt(&chat.nvim, "delete");
    let asked = chat.decide("allow_once");
    assert_eq!(asked["title"], "delete_file");
    chat.wait_ended(0);
    wait_said(&chat.nvim, "delete_file: success: x.txt is deleted");
    talk::prompt(&chat.nvim, "delete");
    chat.decide("reject_once");
    chat.wait_ended(1);
    wait_said(&chat.nvim, "delete_file: denied");
    // A question that the user cancels is closed with the next prompt.
    talk::prompt(&chat.nvim, "delete");
    let list = || chat.nvim.lua("return require('acp').permission.list()", ());
    chat.nvim.wait("a permission", || list()[0].is_object());
    chat.nvim.cmd("Acp cancel");
    chat.wait_ended(2);
    talk::talk(&chat.nvim, "hello again");
    assert_eq!(ended(&chat.nvim)[2..], ["cancelled", "end_turn"]);
    chat.end();
}

#[test]
fn a_tool_of_the_editor_is_answered_yes_no_and_not_at_all() {
    let chat = Chat::start();
    for (turn, (action, result)) in [
        ("accept", "approved"),
        ("decline", "rejected"),
        ("cancel", "dismissed"),
    ]
    .into_iter()
    .enumerate()
    {
        talk::prompt(&chat.nvim, "confirm");
        let asked = chat.answer(action);
        assert_eq!(asked["message"], "Deploy to production", "{asked}");
        chat.wait_ended(turn);
        wait_said(&chat.nvim, &format!("confirmAction: success: {result}"));
    }
    // Each call is one entry, though it is announced and arrives as well.
    let text = transcript(&chat.nvim).join("\n");
    assert_eq!(text.matches("confirmAction: Deploy").count(), 3, "{text}");
    chat.end();
}

#[test]
fn several_calls_of_one_run_are_answered_in_order_and_invalid_ones_say_why() {
    let chat = Chat::start();
    talk::prompt(&chat.nvim, "twice");
    assert_eq!(chat.answer("accept")["message"], "one");
    assert_eq!(chat.answer("decline")["message"], "two");
    chat.wait_ended(0);
    wait_said(&chat.nvim, "confirmAction: success: approved");
    wait_said(&chat.nvim, "confirmAction: success: rejected");
    talk::talk(&chat.nvim, "invalid");
    wait_said(&chat.nvim, "confirmAction: failed:");
    wait_said(&chat.nvim, "action");
    chat.end();
}

#[test]
fn a_cancelled_call_is_withdrawn_and_the_agent_learns_of_it() {
    let chat = Chat::start();
    talk::prompt(&chat.nvim, "confirm");
    let list = || {
        chat.nvim
            .lua("return require('acp').elicitation.list()", ())
    };
    chat.nvim.wait("a question", || list()[0].is_object());
    chat.nvim.cmd("Acp cancel");
    chat.wait_ended(0);
    chat.nvim.wait("the question to go", || list()[0].is_null());
    talk::talk(&chat.nvim, "hello");
    wait_said(&chat.nvim, "You said **hello**.");
    let log = chat.nvim.project.root().join("agents/agui.log");
    let log = std::fs::read_to_string(log).expect("the agent keeps a log");
    let last: Json = serde_json::from_str(log.lines().last().unwrap_or_default()).expect("a run");
    let messages = last["messages"].as_array().cloned().unwrap_or_default();
    let result = messages.iter().find(|message| message["role"] == "tool");
    let result = result.expect("the call has a result");
    assert!(
        result["error"]
            .as_str()
            .is_some_and(|why| why.contains("cancelled")),
        "{result}"
    );
    chat.end();
}

#[test]
fn a_file_is_edited_by_a_tool_of_neovim() {
    let chat = Chat::start();
    let edit = json!({ "path": "a.txt", "edits": [{ "old_text": "two", "new_text": "2" }] });
    talk::prompt(&chat.nvim, &format!("edit {edit}"));
    chat.decide("allow_once");
    chat.wait_ended(0);
    assert_eq!(chat.nvim.project.read("a.txt"), "one\n2\n");
    // The user's no reaches the agent.
    let edit = json!({ "path": "a.txt", "edits": [{ "old_text": "one", "new_text": "1" }] });
    talk::prompt(&chat.nvim, &format!("edit {edit}"));
    chat.decide("reject_once");
    chat.wait_ended(1);
    wait_said(&chat.nvim, "edit: failed:");
    assert_eq!(chat.nvim.project.read("a.txt"), "one\n2\n");
    chat.end();
}

#[test]
fn an_agent_that_is_gone_is_an_error_that_says_what_to_do() {
    // Another test may get a port that was free a moment ago; nobody gets this one.
    let address = "127.0.0.1:9";
    let spec = json!({ "url": format!("http://{address}/agui") });
    let nvim = Project::new().agent_command("mine", spec).start();
    open(&nvim);
    talk::prompt(&nvim, "hello");
    wait_said(&nvim, "does not answer");
    nvim.lua(
        "vim.cmd('checkhealth acp')
        local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), ' ')
        assert(text:find('mine: http://' .. ... .. '/agui does not answer', 1, true), text)
        vim.cmd.bdelete()",
        (address,),
    );
    nvim.quit();
}
