//! The user's tools: defined and removed while a session runs, and who may call them.

use super::*;

const ECHO: &str = "name = 'echo', description = 'Says it again.', read_only = true,
    parameters = { type = 'object', properties = { text = { type = 'string' } },
      required = { 'text' } },
    handler = function(args) return args.text end";

/// A tool that counts its calls in `vim.g.calls`.
const COUNT: &str = "name = 'count', title = 'Count one up', description = 'Counts its calls.',
    handler = function()
      vim.g.calls = (vim.g.calls or 0) + 1
      return { calls = vim.g.calls }
    end";

#[track_caller]
fn calls(nvim: &Nvim) -> Json {
    nvim.lua("return vim.g.calls or 0", ())
}

#[test]
fn a_tool_is_added_and_removed_during_a_session_and_the_client_is_notified() {
    let nvim = start(project());
    let client = Client::start(&nvim, &server(&nvim));
    let before = client.names(&nvim);
    assert!(!before.contains(&"echo".to_owned()));
    define(&nvim, ECHO);
    nvim.wait("the notification", || client.changes(&nvim) == 1);
    let echo = client.ask(&nvim, "tool echo");
    assert_eq!(echo["description"], "Says it again.");
    assert_eq!(echo["inputSchema"]["required"], json!(["text"]));
    assert_eq!(echo["annotations"]["readOnlyHint"], true);
    let answer = client.call(&nvim, "echo", &json!({ "text": "hello" }));
    assert_eq!(text(&answer), "hello");
    let wrong = client.call(&nvim, "echo", &json!({ "text": 5 }));
    assert_eq!(wrong["isError"], true, "{wrong}");
    assert!(text(&wrong).contains("text"), "{wrong}");
    nvim.lua("require('acp').tools.remove('echo')", ());
    nvim.wait("the notification", || client.changes(&nvim) == 2);
    assert_eq!(client.names(&nvim), before);
    let gone = client.call(&nvim, "echo", &json!({ "text": "hello" }));
    assert!(
        gone["isError"] == true || gone["failed"].is_string(),
        "{gone}"
    );
    nvim.quit();
}

#[test]
fn an_object_stays_one_if_all_its_fields_are_null() {
    let nvim = start(project());
    define(
        &nvim,
        "name = 'same', description = 'Returns its arguments.', read_only = true,
        handler = function(args) return args end",
    );
    let client = Client::start(&nvim, &server(&nvim));
    let given = json!({ "all": { "a": null, "b": null }, "some": { "a": null, "b": [null] } });
    let answer = client.call(&nvim, "same", &given);
    assert_eq!(
        answer["structuredContent"],
        json!({ "all": {}, "some": { "b": [null] } })
    );
    nvim.quit();
}

#[test]
fn a_result_has_as_many_fields_as_its_tool_likes() {
    let nvim = start(project());
    define(
        &nvim,
        "name = 'many', description = 'Returns many fields.', read_only = true,
        handler = function()
          local fields = {}
          for number = 1, 20000 do fields['field ' .. number] = 'value ' .. number end
          return fields
        end",
    );
    let client = Client::start(&nvim, &server(&nvim));
    let fields = &client.call(&nvim, "many", &json!({}))["structuredContent"];
    assert_eq!(fields["field 20000"], "value 20000");
    assert_eq!(fields.as_object().map(serde_json::Map::len), Some(20000));
    nvim.quit();
}

#[test]
fn a_result_with_an_odd_number_as_a_key_is_answered() {
    let nvim = start(project());
    define(
        &nvim,
        "name = 'odd', description = 'Returns an odd key.', read_only = true,
        handler = function() return { [1e-20] = 1, [-0.5] = 2, [2^60] = 3, b = 4 } end",
    );
    let client = Client::start(&nvim, &server(&nvim));
    let fields = &client.call(&nvim, "odd", &json!({}))["structuredContent"];
    assert_eq!(fields["b"], 4);
    assert_eq!(fields["-0.5"], 2);
    nvim.quit();
}

#[test]
fn a_tool_with_effects_is_allowed_once_or_always() {
    let nvim = start(project());
    define(&nvim, COUNT);
    let client = Client::start(&nvim, &server(&nvim));
    client.send("call count {}");
    nvim.wait("the question", || permissions(&nvim).len() == 1);
    let asked = &permissions(&nvim)[0];
    assert_eq!(asked["title"], "Count one up");
    assert_eq!(calls(&nvim), 0);
    decide(&nvim, "allow_once");
    assert_eq!(
        client.answer(&nvim)["structuredContent"],
        json!({ "calls": 1 })
    );
    client.send("call count {}");
    decide(&nvim, "reject_once");
    let refused = client.answer(&nvim);
    assert_eq!(refused["isError"], true, "{refused}");
    assert_eq!(calls(&nvim), 1);
    client.send("call count {}");
    decide(&nvim, "allow_always");
    client.answer(&nvim);
    let answer = client.call(&nvim, "count", &json!({}));
    assert_eq!(answer["structuredContent"], json!({ "calls": 3 }));
    assert_eq!(permissions(&nvim).len(), 0);
    nvim.quit();
}

#[test]
fn tools_the_config_rejects_or_allows_are_not_asked_about() {
    let project = project().config(
        "tools",
        json!({ "permissions": { "count": "reject", "other": "allow" } }),
    );
    let nvim = start(project);
    define(&nvim, COUNT);
    define(&nvim, &COUNT.replace("'count'", "'other'"));
    let client = Client::start(&nvim, &server(&nvim));
    let refused = client.call(&nvim, "count", &json!({}));
    assert!(
        refused["isError"] == true || refused["failed"].is_string(),
        "{refused}"
    );
    assert_eq!(calls(&nvim), 0);
    client.call(&nvim, "other", &json!({}));
    assert_eq!(calls(&nvim), 1);
    assert_eq!(permissions(&nvim).len(), 0);
    nvim.quit();
}

#[test]
fn a_disabled_tool_is_removed_from_the_list_and_refused() {
    let nvim = start(project());
    define(&nvim, ECHO);
    let client = Client::start(&nvim, &server(&nvim));
    assert!(client.names(&nvim).contains(&"echo".to_owned()));
    nvim.cmd("Acp tools disable echo");
    nvim.wait("the notification", || client.changes(&nvim) == 1);
    assert!(!client.names(&nvim).contains(&"echo".to_owned()));
    let refused = client.call(&nvim, "echo", &json!({ "text": "hello" }));
    assert!(
        refused["isError"] == true || refused["failed"].is_string(),
        "{refused}"
    );
    nvim.cmd("Acp tools enable echo");
    nvim.wait("the notification", || client.changes(&nvim) == 2);
    let answer = client.call(&nvim, "echo", &json!({ "text": "hello" }));
    assert_eq!(text(&answer), "hello");
    nvim.quit();
}

#[test]
fn errors_and_results_other_than_text_reach_the_client() {
    let nvim = start(project());
    define(
        &nvim,
        "name = 'fails', description = 'x', read_only = true,
        handler = function() error('the engine is cold', 0) end",
    );
    define(
        &nvim,
        "name = 'blocks', description = 'x', read_only = true,
        handler = function() return { content = { { type = 'text', text = 'a' },
          { type = 'text', text = 'b' } } } end",
    );
    define(
        &nvim,
        "name = 'later', description = 'x', read_only = true,
        handler = function(_, _, done) vim.defer_fn(function() done('in time') end, 20) end",
    );
    define(
        &nvim,
        "name = 'silent', description = 'x', read_only = true, handler = function() end",
    );
    let client = Client::start(&nvim, &server(&nvim));
    let failed = client.call(&nvim, "fails", &json!({}));
    assert_eq!(failed["isError"], true, "{failed}");
    assert!(text(&failed).contains("the engine is cold"), "{failed}");
    assert_eq!(text(&client.call(&nvim, "blocks", &json!({}))), "a\nb");
    assert_eq!(text(&client.call(&nvim, "later", &json!({}))), "in time");
    let silent = client.call(&nvim, "silent", &json!({}));
    assert_ne!(silent["isError"], true, "{silent}");
    assert_ne!(text(&silent), "");
    nvim.quit();
}
