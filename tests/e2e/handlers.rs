//! Handlers of tools: their arguments, results, questions to the user, and mistakes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::{Value as Json, json};

use super::harness::{Nvim, Project, agent};
use super::talk;

/// Starts Neovim with an agent that is offered the tools and never uses them; the messages it
/// receives are recorded.
#[track_caller]
fn start() -> Nvim {
    let project = Project::new().file("a.txt", "one\ntwo\nthree\n");
    let sent = project.root().join("agents/sent");
    let script = project.root().join("agents/script.jsonl");
    std::fs::write(
        &script,
        r#"{"expect":"session/new","as":"n"}
{"reply":"n"}
{"expect":"session/prompt","as":"p"}
{"end":"p"}"#,
    )
    .expect("it can be written");
    let line = format!(
        "tee {} | exec {} {}",
        sent.display(),
        agent("acp-scripted").display(),
        script.display()
    );
    let nvim = project
        .agent_command("scripted", json!({ "command": "sh", "args": ["-c", line] }))
        .start();
    nvim.cmd("edit a.txt");
    talk::open(&nvim);
    nvim.cmd("wincmd t");
    nvim
}

/// Defines a read-only tool called `mine` with this handler.
#[track_caller]
fn handler(nvim: &Nvim, code: &str) {
    let spec = format!(
        "require('acp').tool({{ name = 'mine', description = 'Does it.', read_only = true,
          handler = {code} }})"
    );
    nvim.lua(&spec, ());
}

/// Returns the server of the tools, as the agent was sent it.
fn offered(nvim: &Nvim) -> Option<Json> {
    let sent = std::fs::read_to_string(nvim.project.root().join("agents/sent")).ok()?;
    let messages = sent
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let mut new = messages.filter(|message: &Json| message["method"] == "session/new");
    new.find_map(|message| {
        let servers = message["params"]["mcpServers"].as_array()?;
        let ours = servers.iter().find(|server| server["name"] == "neovim");
        ours.cloned()
    })
}

/// A client of the server offered to the agent.
struct Caller {
    proxy: Child,
    input: ChildStdin,
    lines: Receiver<Json>,
    last: u64,
    is_offered: bool,
}

impl Caller {
    #[track_caller]
    fn start(nvim: &Nvim) -> Self {
        let mut server = None;
        // The agent may read a line before `tee` has written it to the file.
        nvim.wait("the offer of the tools", || {
            server = offered(nvim);
            server.is_some()
        });
        let server = server.expect("it was waited for");
        let env = server["env"].as_array().expect("a list").iter();
        let env = env.map(|it| (it["name"].as_str().unwrap(), it["value"].as_str().unwrap()));
        let mut proxy = Command::new(server["command"].as_str().expect("a command"))
            .envs(env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the proxy runs");
        let output = proxy.stdout.take().expect("it is piped");
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line).expect("a line of JSON");
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        let mut caller = Self {
            input: proxy.stdin.take().expect("it is piped"),
            proxy,
            lines,
            last: 0,
            is_offered: false,
        };
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let id = caller.request("initialize", hello);
        caller.answer(nvim, id);
        caller.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        caller
    }

    fn send(&mut self, message: &Json) {
        writeln!(self.input, "{message}").expect("the proxy reads");
    }

    fn request(&mut self, method: &str, params: Json) -> u64 {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Begins a call of a tool; returns the id that its answer will have.
    fn begin(&mut self, name: &str, args: &Json) -> u64 {
        self.request("tools/call", json!({ "name": name, "arguments": args }))
    }

    #[track_caller]
    fn answer(&self, nvim: &Nvim, id: u64) -> Json {
        let mut answer = None;
        nvim.wait("an answer to the client", || {
            answer = self.lines.try_iter().find(|message| message["id"] == id);
            answer.is_some()
        });
        let mut answer = answer.unwrap_or_default();
        if answer["error"] != Json::Null {
            nvim.fail(&format!("the client is refused: {answer}"));
        }
        answer["result"].take()
    }

    /// Waits until the tool `mine` is offered: a definition takes effect a moment later.
    #[track_caller]
    fn wait_offered(&mut self, nvim: &Nvim) {
        while !self.is_offered {
            let id = self.request("tools/list", json!({}));
            let list = self.answer(nvim, id);
            let mut tools = list["tools"].as_array().into_iter().flatten();
            self.is_offered = tools.any(|tool| tool["name"] == "mine");
        }
    }

    /// Calls the tool `mine`, once it is offered.
    #[track_caller]
    fn call(&mut self, nvim: &Nvim, args: &Json) -> Json {
        self.wait_offered(nvim);
        let id = self.begin("mine", args);
        self.answer(nvim, id)
    }

    /// Defines the tool `mine` with a handler, calls it, and checks whether the result is an error
    /// and its text.
    #[track_caller]
    fn check(&mut self, nvim: &Nvim, code: &str, is_error: bool, text: &str) -> Json {
        handler(nvim, code);
        let result = self.call(nvim, &json!({}));
        assert_eq!(result["isError"] == true, is_error, "{code}: {result}");
        let said = result["content"][0]["text"].as_str().unwrap_or_default();
        assert!(said.contains(text), "{code}: {result}");
        result
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        let _ = self.proxy.kill();
        let _ = self.proxy.wait();
    }
}

#[test]
fn arguments_and_results_are_the_same_on_both_sides() {
    let nvim = start();
    let mut caller = Caller::start(&nvim);
    handler(
        &nvim,
        "function(args)
          assert(args.nothing == nil and args.items[2] == vim.NIL, 'null')
          assert(getmetatable(args.object) and vim.islist(args.list), 'empty')
          args.count = #args.items
          return args
        end",
    );
    let args = json!({
        "nothing": null, "items": [1, null, -2.5], "object": {}, "list": [],
        "text": "ä\u{1F600}\0", "deep": { "yes": true, "large": 9007199254740991i64 },
    });
    let result = caller.call(&nvim, &args);
    let expected = json!({
        "items": [1, null, -2.5], "object": {}, "list": [], "count": 3,
        "text": "ä\u{1F600}\0", "deep": { "yes": true, "large": 9007199254740991i64 },
    });
    assert_eq!(result["structuredContent"], expected, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Json>(text).unwrap(), expected);
    let list = caller.check(&nvim, "function() return { 'a', 'b' } end", false, "\"b\"");
    assert_eq!(list["structuredContent"], json!({ "result": ["a", "b"] }));
    caller.check(&nvim, "function() return 'as it is' end", false, "as it is");
    caller.check(&nvim, "function() end", false, "Done.");
    caller.check(&nvim, "function() return 1.5 end", false, "1.5");
    let blocks = "{ content = { { type = 'text', text = 'a' }, { type = 'text', text = 'b' } } }";
    let blocks = caller.check(
        &nvim,
        &format!("function() return {blocks} end"),
        false,
        "a",
    );
    assert_eq!(blocks["content"][1]["text"], "b");
    caller.check(
        &nvim,
        "function() return { content = 'a' } end",
        false,
        "\"content\"",
    );
    nvim.quit();
}

#[test]
fn a_failing_handler_is_reported_to_the_agent_and_neovim_survives() {
    let nvim = start();
    let mut caller = Caller::start(&nvim);
    caller.check(
        &nvim,
        "function() error('it is broken') end",
        true,
        "it is broken",
    );
    caller.check(
        &nvim,
        "function() error({ code = 7 }) end",
        true,
        "code = 7",
    );
    caller.check(
        &nvim,
        "function() return nil, 'no such thing' end",
        true,
        "no such thing",
    );
    caller.check(
        &nvim,
        "function() return { a = { print } } end",
        true,
        "a function is not plain data (at `a.1`)",
    );
    caller.check(
        &nvim,
        "function() return print end",
        true,
        "a function is not plain data",
    );
    caller.check(
        &nvim,
        "function() local a = {} a.a = a return a end",
        true,
        "may contain itself",
    );
    caller.check(
        &nvim,
        "function() return { 0 / 0 } end",
        true,
        "not a number",
    );
    caller.check(
        &nvim,
        "function() return { [print] = 1 } end",
        true,
        "cannot name a field",
    );
    caller.check(
        &nvim,
        "function() return ('x'):rep(17 * 1024 * 1024) end",
        true,
        "larger than 16 MiB",
    );
    caller.check(
        &nvim,
        "function() return 'a\\255b' end",
        false,
        "a\u{FFFD}b",
    );
    caller.check(
        &nvim,
        "function() error('a\\255b', 0) end",
        true,
        "a\u{FFFD}b",
    );
    caller.check(
        &nvim,
        "function(_, _, done) done('one') done('two') error('three') end",
        false,
        "one",
    );
    caller.check(
        &nvim,
        "function(_, ctx) return ctx.write('b', 'a\\255') end",
        true,
        "not UTF-8",
    );
    caller.check(
        &nvim,
        "function() vim.wait(300) return 'blocked' end",
        false,
        "blocked",
    );
    let log = nvim.lua("return vim.fn.stdpath('log') .. '/acp.log'", ());
    nvim.wait("the log", || {
        let log = std::fs::read_to_string(log.as_str().unwrap()).unwrap_or_default();
        log.contains("it is broken") && log.contains("stack traceback")
    });
    assert_eq!(nvim.lua("return require('acp.tools.run').count()", ()), 0);
    nvim.quit();
}

#[test]
fn a_handler_reads_writes_and_asks_as_an_agent_does() {
    let nvim = start();
    let mut caller = Caller::start(&nvim);
    nvim.lua(
        "vim.api.nvim_buf_set_lines(0, 1, 2, false, { 'unsaved' })",
        (),
    );
    caller.check(
        &nvim,
        "function(_, ctx) return ctx.read('a.txt', { line = 2, limit = 1 }) end",
        false,
        "unsaved",
    );
    caller.check(
        &nvim,
        "function(_, ctx)
          local text = ctx.read('a.txt')
          assert(ctx.write('a.txt', text .. 'four\\n'))
          return ctx.read('a.txt')
        end",
        false,
        "one\nunsaved\nthree\nfour\n",
    );
    let hunks = || nvim.lua("return #require('acp').review.hunks()", ());
    nvim.wait("the review", || hunks() == 1);
    caller.check(
        &nvim,
        "function(_, ctx) return ctx.read('../../../nowhere') end",
        true,
        "",
    );
    handler(
        &nvim,
        "function(_, ctx)
          local action, content = ctx.ask({ message = 'Which?', schema = {
            type = 'object',
            properties = { branch = { type = 'string', enum = { 'main', 'other' } } },
            required = { 'branch' },
          } })
          return { action, content, (ctx.ask({ message = 'Sure?' })) }
        end",
    );
    caller.wait_offered(&nvim);
    let id = caller.begin("mine", &json!({}));
    for answer in ["'accept', { branch = 'other' }", "'decline'"] {
        let open = || nvim.lua("return require('acp').elicitation.list()", ());
        nvim.wait("the question", || {
            open().as_array().is_some_and(|open| open.len() == 1)
        });
        let number = open()[0]["id"].clone();
        nvim.lua(
            &format!("require('acp').elicitation.answer({number}, {answer})"),
            (),
        );
        nvim.wait("another question, or none", || open()[0]["id"] != number);
    }
    let result = caller.answer(&nvim, id);
    let expected = json!({ "result": ["accept", { "branch": "other" }, "decline"] });
    assert_eq!(result["structuredContent"], expected, "{result}");
    nvim.quit();
}

#[test]
fn a_cancelled_call_ends_its_handler_and_its_question() {
    let nvim = start();
    let mut caller = Caller::start(&nvim);
    handler(
        &nvim,
        "function(_, ctx)
          ctx.on_cancel(function() vim.g.heard = true end)
          local action, why = ctx.ask({ message = 'Which?' })
          vim.g.answered = vim.g.heard and why
        end",
    );
    caller.wait_offered(&nvim);
    let id = caller.begin("mine", &json!({}));
    let open = || nvim.lua("return #require('acp').elicitation.list()", ());
    nvim.wait("the question", || open() == 1);
    caller.send(&json!({
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": { "requestId": id },
    }));
    nvim.wait("the end of the handler", || {
        nvim.lua("return vim.g.answered", ()) == "cancelled"
    });
    nvim.wait("the end of the question", || open() == 0);
    caller.check(&nvim, "function() return 'next' end", false, "next");
    nvim.quit();
}

#[test]
fn an_invalid_schema_is_reported_with_the_tools_name() {
    let nvim = start();
    let wrong = "require('acp').tool({ name = 'wrong', description = 'x', handler = print,
      parameters = { type = 'object', properties = { a = { type = 'strin' } } } })";
    let error = nvim.try_lua(wrong, ()).expect_err("it is no schema");
    assert!(error.contains("acp.tool: spec.parameters: "), "{error}");
    assert!(error.contains("strin"), "{error}");
    let known = "return vim.tbl_contains(vim.tbl_map(function(tool) return tool.name end,
      require('acp').tools.list()), 'wrong')";
    assert_eq!(nvim.lua(known, ()), false);
    nvim.quit();
    // Before the library is loaded, the schema cannot be checked.
    let project = talk::project(&[]).before(&format!("lua {}", wrong.replace('\n', " ")));
    let nvim = project.start();
    // The message is too long for the screen, so Neovim waits for a key.
    nvim.input(":AcpChat<CR>");
    nvim.wait_text("the tool `wrong` is not offered");
    nvim.input("<CR>");
    nvim.wait("the message", || {
        nvim.messages().contains("the tool `wrong` is not offered")
    });
    nvim.quit();
}
