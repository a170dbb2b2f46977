//! The lesson about Neovim's tools: the tutor calls some, and the user decides about one.

use serde_json::{Value, json};

use crate::mcp::Client;
use crate::prompt::Prompt;
use crate::turn::{Flow, Turn};

/// The name of Neovim's MCP server.
pub const SERVER: &str = "neovim";

const NO_TOOLS: &str = "Your Neovim offers me no tools (`tools.enabled` is off, or this agent has \
    `tools = false`), so I cannot show you this.\n";

const OWN: &str = "\nTo write a tool of your own, you need a name, a description for the agent, and a function:\n\n\
    ```lua\n\
    require(\"acp\").tool({\n  \
      name = \"branch\",\n  \
      description = \"Returns the git branch the user is on.\",\n  \
      read_only = true,\n  \
      handler = function()\n    \
        return vim.trim(vim.fn.system(\"git branch --show-current\"))\n  \
      end,\n\
    })\n\
    ```\n\n\
    `:help acp-tools` has more examples. `:Acp tools` turns tools on and off; some are off by \
    default. Say `next` to go on.\n";

pub fn tools(turn: &mut Turn<'_>, _: &Prompt) -> Flow {
    turn.say("## Your editor's tools\n\n")?;
    let Some(server) = turn.session(|session| session.server.clone()) else {
        return turn.say(NO_TOOLS);
    };
    turn.say(
        "Agents can also use tools. Neovim offers some: for its buffers, its language servers, your \
         selection, and for asking *you* a question. ",
    )?;
    let mut client = Client::start(&server, turn)?;
    let names = client.tools(turn)?;
    turn.say(&format!(
        "It offers me these {}:\n\n{}.\n\nI may call those that change nothing without asking. \
         So I am looking at your buffers:\n\n",
        names.len(),
        in_words(&names)
    ))?;
    let buffers = client.call("buffers", json!({}), turn)?;
    turn.say(&format!(
        "{}\n\nNow a question for you. `<Esc>` in the chat goes there, as to a \
         permission.\n\n",
        count(&buffers.structured)
    ))?;
    let question = json!({
        "action": "Look where your cursor is",
        "details": "If you say yes, the tutor calls one more tool: `selection`.",
        "importance": "low",
    });
    let asked = client.call("confirm", question, turn)?;
    if asked.structured.get("confirmed") == Some(&json!(true)) {
        let found = client.call("selection", json!({}), turn)?;
        turn.say(&format!("You said **yes**. {}\n", place(&found.structured)))?;
    } else {
        turn.say("You did not say yes, so I did not look.\n")?;
    }
    turn.say(OWN)
}

fn in_words(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// Says how many files are open, and how many of them have unsaved changes. An empty buffer without
/// a name is none.
fn count(structured: &Value) -> String {
    let buffers = structured.get("buffers").and_then(Value::as_array);
    let buffers = buffers.map(Vec::as_slice).unwrap_or_default();
    let is_modified = |buffer: &&Value| buffer.get("modified") == Some(&json!(true));
    let is_file = |buffer: &&Value| buffer.get("path").is_some() || is_modified(buffer);
    let files = buffers.iter().filter(is_file).count();
    match (files, buffers.iter().filter(is_modified).count()) {
        (0, _) => "You have no file open.".to_owned(),
        (1, 0) => "You have one file open, and it is saved.".to_owned(),
        (1, _) => "You have one file open, with unsaved changes.".to_owned(),
        (all, 0) => format!("You have {all} files open, all saved."),
        (all, modified) => {
            format!("You have {all} files open, {modified} of them with unsaved changes.")
        }
    }
}

/// Says where the user's cursor is.
fn place(structured: &Value) -> String {
    let name = structured.get("name").and_then(Value::as_str);
    let line = structured.pointer("/cursor/line").and_then(Value::as_u64);
    match (name, line) {
        (Some(name), Some(line)) => format!("Your cursor is in `{name}`, on line {line}."),
        _ => "No window shows a file, so there is no cursor to speak of.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_the_cursor_is_said() {
        assert_eq!(
            place(&json!({"name": "a.txt", "cursor": {"line": 3, "column": 1}})),
            "Your cursor is in `a.txt`, on line 3."
        );
        assert!(place(&json!({"note": "none"})).starts_with("No window shows a file"));
    }

    #[test]
    fn buffers_are_counted() {
        let check = |modified: &[bool], want: &str| {
            let buffer = |is: &bool| json!({"path": "/p/a.txt", "modified": is});
            let buffers: Vec<Value> = modified.iter().map(buffer).collect();
            assert_eq!(count(&json!({"buffers": buffers})), want);
        };
        check(&[], "You have no file open.");
        check(&[false], "You have one file open, and it is saved.");
        check(&[true], "You have one file open, with unsaved changes.");
        check(&[false, false], "You have 2 files open, all saved.");
        check(
            &[false, true],
            "You have 2 files open, 1 of them with unsaved changes.",
        );
        let unnamed = json!({"name": "[No Name]", "modified": false});
        let structured = json!({"buffers": [unnamed]});
        assert_eq!(count(&structured), "You have no file open.");
    }
}
