//! The lesson about tools that Neovim defines: the agent calls some, and the user has the say.

use serde_json::{Value, json};

use crate::mcp::Client;
use crate::prompt::Prompt;
use crate::turn::{Step, Turn};

/// What Neovim calls its server.
pub const SERVER: &str = "neovim";

const NO_TOOLS: &str = "Your Neovim offers me none (`tools.enabled`, or `tools = false` for this \
    agent), so I cannot show this.\n";

const OWN: &str = "\nA tool of your own is a name, a few words for the agent, and a function:\n\n\
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
    `:help acp-tools` has more of them, `:Acp tools` switches them on and off. Say `next` to go \
    on.\n";

pub fn tools(turn: &mut Turn<'_>, _: &Prompt) -> Step {
    turn.say("## Tools of your editor\n\n")?;
    let Some(server) = turn.session(|session| session.server.clone()) else {
        return turn.say(NO_TOOLS);
    };
    turn.say(
        "Besides files and commands, agents can be given tools. Neovim has some of its own: its \
         buffers, its language servers, its help, and *you*, for a question. ",
    )?;
    let mut client = Client::start(&server, turn)?;
    let names = client.tools(turn)?;
    turn.say(&format!(
        "These are the {} it offers me:\n\n{}.\n\nWhat changes nothing I may call as I like. I look \
         at your buffers:\n\n",
        names.len(),
        in_words(&names)
    ))?;
    let buffers = client.call("buffers", json!({}), turn)?;
    turn.say(&format!(
        "{}\n\nNow I ask you something. The window works as that of a permission.\n\n",
        told(&buffers.structured)
    ))?;
    let question = json!({
        "action": "Look up what Neovim's help says of these tools",
        "details": "A yes lets the tutor call one more tool: `help`.",
        "importance": "low",
    });
    let asked = client.call("confirm", question, turn)?;
    if asked.structured.get("confirmed") == Some(&json!(true)) {
        let found = client.call("help", json!({"query": "acp-tools"}), turn)?;
        turn.say(&format!(
            "You said **yes**. This is how it begins:\n\n```text\n{}\n```\n",
            beginning(&found.text)
        ))?;
    } else {
        turn.say("You did not say yes, so I leave it alone.\n")?;
    }
    turn.say(OWN)
}

fn in_words(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// Returns what there is to say of the buffers.
fn told(structured: &Value) -> String {
    let buffers = structured.get("buffers").and_then(Value::as_array);
    let buffers = buffers.map(Vec::as_slice).unwrap_or_default();
    let is_modified = |buffer: &&Value| buffer.get("modified") == Some(&json!(true));
    match (buffers.len(), buffers.iter().filter(is_modified).count()) {
        (0, _) => "You have no file open.".to_owned(),
        (1, 0) => "You have one file open, and it is saved.".to_owned(),
        (1, _) => "You have one file open, with changes that are not saved.".to_owned(),
        (all, 0) => format!("You have {all} files open, and all are saved."),
        (all, modified) => {
            format!("You have {all} files open; {modified} with changes that are not saved.")
        }
    }
}

/// Returns the first lines of a text.
fn beginning(text: &str) -> String {
    let lines: Vec<&str> = text.lines().take(8).collect();
    lines.join("\n").replace("```", "'''")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_counted() {
        let check = |modified: &[bool], want: &str| {
            let buffers: Vec<Value> = modified.iter().map(|is| json!({"modified": is})).collect();
            assert_eq!(told(&json!({"buffers": buffers})), want);
        };
        check(&[], "You have no file open.");
        check(&[false], "You have one file open, and it is saved.");
        check(
            &[true],
            "You have one file open, with changes that are not saved.",
        );
        check(&[false, false], "You have 2 files open, and all are saved.");
        check(
            &[false, true],
            "You have 2 files open; 1 with changes that are not saved.",
        );
    }
}
