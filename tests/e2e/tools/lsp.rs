//! Edits of language servers: reviewed like all the agent's changes, and applied on top of the
//! user's unsaved text.

use super::super::files::{wait_hunks, wait_lines};
use super::*;

/// A server for the current buffer that renames the last word of the first line of `a.txt`, after
/// an emoji of two UTF-16 units, and the first word of `b.txt`.
const SERVER: &str = r#"
local root = vim.fn.getcwd()
local function edit(from, to, text)
  local range = { start = { line = 0, character = from }, ["end"] = { line = 0, character = to } }
  return { range = range, newText = text }
end
local answers = {
  initialize = function()
    return { capabilities = {
      positionEncoding = "utf-16",
      textDocumentSync = { openClose = true, change = 1 },
      renameProvider = true,
    } }
  end,
  ["textDocument/rename"] = function(params)
    vim.g.asked_at = params.position.character
    return { changes = {
      [vim.uri_from_fname(root .. "/a.txt")] = { edit(3, 6, params.newName) },
      [vim.uri_from_fname(root .. "/b.txt")] = { edit(0, 4, params.newName) },
    } }
  end,
}
vim.lsp.start({
  name = "words",
  root_dir = root,
  cmd = function()
    local is_closing, id = false, 0
    return {
      request = function(method, params, callback)
        id = id + 1
        vim.schedule(function()
          callback(nil, answers[method] and answers[method](params) or vim.NIL)
        end)
        return true, id
      end,
      notify = function() return true end,
      is_closing = function() return is_closing end,
      terminate = function() is_closing = true end,
    }
  end,
})
"#;

#[test]
fn a_rename_is_reviewed_in_every_file_and_rejected_in_every_file() {
    let nvim = start(project());
    nvim.lua(SERVER, ());
    nvim.lua(
        "vim.api.nvim_buf_set_lines(0, 0, 1, true, { '🎉 one' })",
        (),
    );
    let call = r#"call rename {"path":"a.txt","line":1,"symbol":"one","new_name":"uno"}"#;
    talk::prompt(&nvim, call);
    decide(&nvim, "allow_once");
    nvim.wait("the end of the turn", || ended(&nvim) == ["end_turn"]);
    let answer = result(&nvim, "call rename");
    assert_eq!(answer["structuredContent"]["edits"], 2, "{answer}");
    assert_eq!(nvim.lua("return vim.g.asked_at", ()), 3);
    wait_lines(&nvim, &["🎉 uno", "two", "three"]);
    assert_eq!(nvim.project.read("b.txt"), "uno\nfive\n");
    let old_and_new = |hunks: &Json| -> Vec<(Json, Json)> {
        let hunks = hunks.as_array().cloned().unwrap_or_default();
        hunks
            .iter()
            .map(|hunk| (hunk["old"].clone(), hunk["new"].clone()))
            .collect()
    };
    let want = [
        (json!(["🎉 one"]), json!(["🎉 uno"])),
        (json!(["four"]), json!(["uno"])),
    ];
    nvim.wait(&format!("the hunks {want:?}"), || {
        old_and_new(&nvim.lua("return require('acp').review.hunks()", ())) == want
    });
    nvim.lua("require('acp').review.reject('all')", ());
    wait_lines(&nvim, &["🎉 one", "two", "three"]);
    nvim.wait("the other file", || {
        nvim.project.read("b.txt") == "four\nfive\n"
    });
    wait_hunks(&nvim, json!([]));
    nvim.quit();
}

#[test]
fn a_rename_that_is_not_allowed_changes_nothing() {
    let nvim = start(project());
    nvim.lua(SERVER, ());
    nvim.lua(
        "vim.api.nvim_buf_set_lines(0, 0, 1, true, { '🎉 one' })",
        (),
    );
    let call = r#"call rename {"path":"a.txt","line":1,"symbol":"one","new_name":"uno"}"#;
    talk::prompt(&nvim, call);
    decide(&nvim, "reject_once");
    nvim.wait("the end of the turn", || ended(&nvim) == ["end_turn"]);
    assert_eq!(result(&nvim, "call rename")["isError"], true);
    assert_eq!(nvim.lua("return vim.g.asked_at", ()), Json::Null);
    wait_lines(&nvim, &["🎉 one", "two", "three"]);
    assert_eq!(nvim.project.read("b.txt"), "four\nfive\n");
    nvim.quit();
}
