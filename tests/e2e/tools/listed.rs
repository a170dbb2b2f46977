//! Every built-in tool, listed and called through the proxy with valid and with invalid arguments.

use std::collections::BTreeSet;

use super::*;

/// A call with valid arguments, and a part of its answer.
struct Good {
    name: &'static str,
    args: Json,
    holds: &'static str,
}

fn good(name: &'static str, args: Json, holds: &'static str) -> Good {
    Good { name, args, holds }
}

fn good_calls() -> Vec<Good> {
    let alpha = || json!({ "path": "code.txt", "line": 2, "symbol": "alpha" });
    let with = |mut args: Json, key: &str, value: Json| {
        args[key] = value;
        args
    };
    vec![
        good("buffers", json!({}), "code.txt"),
        good("buffers", json!({ "modified_only": true }), "a.txt"),
        good(
            "read_buffer",
            json!({ "path": "a.txt", "line": 1, "limit": 1 }),
            "unsaved",
        ),
        good("diagnostics", json!({}), "alpha is no beta"),
        good("selection", json!({}), "code.txt"),
        good(
            "set_quickfix",
            json!({ "items": [{ "path": "b.txt", "line": 2, "text": "look here" }] }),
            "",
        ),
        good("get_quickfix", json!({}), "look here"),
        good("navigate", json!({ "path": "b.txt", "line": 2 }), ""),
        good("confirm", json!({ "action": "Tidy up" }), "true"),
        good(
            "choose",
            json!({ "question": "Which one?", "options": ["red", "green"] }),
            "red",
        ),
        good("ask", json!({ "question": "What is it called?" }), "typed"),
        good("help", json!({ "query": "quickfix" }), "quickfix"),
        good("definition", alpha(), "code.txt"),
        good("references", alpha(), "code.txt"),
        good("hover", alpha(), "the first letter"),
        good("symbols", json!({ "path": "code.txt" }), "alpha"),
        good("symbols", json!({ "query": "alp" }), "alpha"),
        good(
            "code_actions",
            json!({ "path": "code.txt", "line": 2 }),
            "Shout",
        ),
        good(
            "code_action",
            json!({ "path": "code.txt", "line": 2, "title": "Shout" }),
            "",
        ),
        good("rename", with(alpha(), "new_name", json!("omega")), ""),
        good(
            "edit",
            json!({ "path": "b.txt", "edits": [{ "old_text": "five", "new_text": "FIVE" }] }),
            "",
        ),
    ]
}

/// Returns calls with an invalid argument, and the field that the error must name.
fn bad_calls() -> Vec<(&'static str, Json, &'static str)> {
    let place = || json!({ "path": "code.txt", "line": "two", "symbol": "alpha" });
    vec![
        (
            "buffers",
            json!({ "modified_only": "yes" }),
            "modified_only",
        ),
        ("read_buffer", json!({}), "path"),
        (
            "read_buffer",
            json!({ "path": "a.txt", "line": "first" }),
            "line",
        ),
        ("diagnostics", json!({ "limit": "all" }), "limit"),
        (
            "get_quickfix",
            json!({ "location_list": 1 }),
            "location_list",
        ),
        ("set_quickfix", json!({}), "items"),
        (
            "navigate",
            json!({ "path": "b.txt", "line": "two" }),
            "line",
        ),
        (
            "confirm",
            json!({ "action": "x", "importance": "dire" }),
            "importance",
        ),
        ("choose", json!({ "question": "Which one?" }), "options"),
        ("ask", json!({}), "question"),
        ("help", json!({ "query": 1 }), "query"),
        ("edit", json!({ "edits": [] }), "path"),
        ("edit", json!({ "path": "b.txt", "edits": "all" }), "edits"),
        ("definition", place(), "line"),
        ("references", place(), "line"),
        ("hover", place(), "line"),
        ("symbols", json!({ "path": 1 }), "path"),
        ("code_actions", place(), "line"),
        (
            "code_action",
            json!({ "path": "code.txt", "line": 2 }),
            "title",
        ),
        (
            "rename",
            json!({ "path": "code.txt", "line": 2, "symbol": "alpha" }),
            "new_name",
        ),
    ]
}

/// Answers the open question, if there is one, with a value that fits each field.
#[track_caller]
fn answer_question(nvim: &Nvim) {
    let questions = questions(nvim);
    let Some(open) = questions.first() else {
        return;
    };
    let fields = open["fields"].as_array().cloned().unwrap_or_default();
    let mut content = json!({});
    for field in fields {
        let name = field["name"].as_str().expect("a name");
        content[name] = match field["type"].as_str() {
            Some("boolean") => json!(true),
            Some("one") => field["choices"][0]["value"].clone(),
            Some("many") => json!([field["choices"][0]["value"]]),
            _ => json!("typed"),
        };
    }
    nvim.lua(
        "require('acp').elicitation.answer(...)",
        (&open["id"], "accept", content),
    );
}

#[track_caller]
fn call(nvim: &Nvim, client: &Client, name: &str, args: &Json) -> Json {
    client.send(&format!("call {name} {args}"));
    let mut answer = None;
    nvim.wait(&format!("an answer to {name}"), || {
        answer = client.next(nvim);
        if answer.is_none() {
            answer_question(nvim);
        }
        answer.is_some()
    });
    answer.expect("the wait ended with it")
}

/// Starts Neovim with a file, diagnostics and a language server for the tools, and a client.
#[track_caller]
fn start_with_code() -> (Nvim, Client) {
    let allowed = ["set_quickfix", "navigate", "edit", "rename", "code_action"];
    let allowed: Json = allowed.map(|name| (name, "allow")).into_iter().collect();
    let project = project()
        .file("code.txt", "alpha\nbeta alpha\n")
        .config("tools", json!({ "builtin": "all", "permissions": allowed }));
    let nvim = start(project);
    nvim.lua(
        "vim.api.nvim_buf_set_lines(0, 0, 1, true, { 'unsaved' })",
        (),
    );
    nvim.cmd("set hidden");
    nvim.cmd("edit code.txt");
    nvim.lua(include_str!("../../mcp/lsp.lua"), ());
    nvim.lua(
        "local ns = vim.api.nvim_create_namespace('test')
        vim.diagnostic.set(ns, 0, { { lnum = 1, col = 5, message = 'alpha is no beta' } })",
        (),
    );
    let client = Client::start(&nvim, &server(&nvim));
    (nvim, client)
}

#[test]
fn every_built_in_tool_is_listed_and_called() {
    let (nvim, client) = start_with_code();
    let mut called = BTreeSet::new();
    for Good { name, args, holds } in good_calls() {
        let answer = call(&nvim, &client, name, &args);
        let shown = answer.to_string();
        assert!(
            answer["isError"] != true && answer["failed"].is_null(),
            "{name}: {shown}"
        );
        assert!(shown.contains(holds), "{name}: {shown}");
        if name == "navigate" {
            let shows = nvim.lua("return vim.fn.bufwinid('b.txt') ~= -1", ());
            assert_eq!(shows, true, "{shown}");
        }
        called.insert(name.to_owned());
    }
    let listed: BTreeSet<String> = client.names(&nvim).into_iter().collect();
    assert_eq!(called, listed);
    // The calls had their effects.
    assert_eq!(nvim.project.read("b.txt"), "four\nFIVE\n");
    assert_eq!(nvim.project.read("code.txt"), "omega\nBETA omega\n");
    assert_eq!(
        nvim.lua("return vim.fn.getqflist()[1].text", ()),
        json!("look here")
    );
    nvim.quit();
}

#[test]
fn invalid_arguments_are_reported_by_field_and_no_handler_runs() {
    let (nvim, client) = start_with_code();
    let mut called = BTreeSet::new();
    for (name, args, field) in bad_calls() {
        let answer = call(&nvim, &client, name, &args);
        assert_eq!(answer["isError"], true, "{name} {args}: {answer}");
        let told = text(&answer);
        assert!(told.contains(field), "{name} {args}: {told}");
        called.insert(name.to_owned());
    }
    // A tool without parameters has no invalid arguments.
    let list = client.ask(&nvim, "list");
    let has_fields = |tool: &&Json| {
        let fields = tool["inputSchema"]["properties"].as_object();
        fields.is_some_and(|fields| !fields.is_empty())
    };
    let listed: BTreeSet<String> = list
        .as_array()
        .expect("a list")
        .iter()
        .filter(has_fields)
        .map(|tool| tool["name"].as_str().expect("a name").to_owned())
        .collect();
    assert_eq!(called, listed);
    assert_eq!(nvim.project.read("b.txt"), "four\nfive\n");
    assert_eq!(nvim.project.read("code.txt"), "alpha\nbeta alpha\n");
    nvim.quit();
}

/// Returns the tools that a session's agent is offered with this configuration.
#[track_caller]
fn offered(tools: &Json) -> Vec<Json> {
    let nvim = start(project().config("tools", tools.clone()));
    let client = Client::start(&nvim, &server(&nvim));
    let list = client.ask(&nvim, "list");
    nvim.quit();
    list.as_array().expect("a list").clone()
}

#[test]
fn the_default_tools_weigh_at_most_6_kb_in_each_request() {
    let list = offered(&json!({}));
    let weight: usize = list.iter().map(|tool| tool.to_string().len()).sum();
    assert!(weight <= 6000, "{weight} bytes");
    let names: Vec<&str> = list
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(
        names.join(" "),
        "ask buffers choose confirm definition diagnostics hover references rename selection symbols"
    );
}

#[test]
fn the_configuration_names_the_built_in_tools() {
    let list = offered(&json!({ "builtin": ["edit", "hover"] }));
    let names: Vec<&Json> = list.iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["edit", "hover"]);
}

/// Names of fields that SDKs have in the classes they make of schemas.
const TAKEN: [&str; 12] = [
    "kind",
    "copy",
    "json",
    "dict",
    "schema",
    "construct",
    "validate",
    "fields",
    "config",
    "data",
    "security_risk",
    "summary",
];

#[test]
fn no_parameter_has_a_name_that_sdks_use_themselves() {
    let list = offered(&json!({ "builtin": "all" }));
    assert_eq!(list.len(), 19);
    for tool in list {
        let fields = tool["inputSchema"]["properties"].as_object();
        for (field, _) in fields.into_iter().flatten() {
            let is_taken = TAKEN.contains(&field.as_str()) || field.starts_with("model_");
            assert!(!is_taken, "{}: {field}", tool["name"]);
        }
    }
}

#[test]
fn every_tool_describes_itself_and_its_arguments() {
    let (nvim, client) = start_with_code();
    let list = client.ask(&nvim, "list");
    for tool in list.as_array().expect("a list") {
        let name = &tool["name"];
        let words = tool["description"].as_str().unwrap_or_default();
        assert!(words.split_whitespace().count() >= 6, "{name}: {words}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
        assert!(tool["annotations"]["readOnlyHint"].is_boolean(), "{name}");
        let fields = tool["inputSchema"]["properties"].as_object();
        for (field, schema) in fields.into_iter().flatten() {
            assert!(schema["description"].is_string(), "{name}: {field}");
        }
    }
    nvim.quit();
}
