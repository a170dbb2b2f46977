//! The lesson about commands: the tutor runs one in a terminal of the client.
//!
//! Invariant: every terminal is released, unless the turn is cancelled: then the client ends its
//! command.

use serde_json::{Value, json};

use crate::prompt::Prompt;
use crate::turn::{Flow, Stop, Turn};

const NO_TERMINALS: &str =
    "This client does not run commands for agents (`terminal`), so I cannot show you this.\n";

pub fn terminal(turn: &mut Turn<'_>, _: &Prompt) -> Flow {
    turn.say("## A terminal\n\n")?;
    if !turn.runs_commands() {
        return turn.say(NO_TERMINALS);
    }
    turn.say(
        "Tests, builds, servers: agents run commands, and can run them in one of your terminals. \
         It is a real terminal, so programs show their colours and progress. The last lines \
         appear here; `:Acp terminal` shows the whole terminal, and the command receives what you \
         type there.\n\n",
    )?;
    let script = script(turn.time(20).as_secs_f64());
    let cwd = turn.cwd();
    let create = json!({"command": "sh", "args": ["-c", script], "cwd": cwd});
    let id = turn.request("terminal/create", create)?;
    let id = id.get("terminalId").cloned().unwrap_or_default();
    let terminal = json!({"terminalId": id});
    let content = json!([{"type": "terminal", "terminalId": id}]);
    let fields = json!({"status": "in_progress", "content": content});
    let tool = turn.tool("Count to eight, in colour", "execute", fields);
    let exit = turn.request("terminal/wait_for_exit", terminal.clone())?;
    let output = turn.request("terminal/output", terminal.clone())?;
    turn.request("terminal/release", terminal)?;
    let status = if exit.get("exitCode") == Some(&json!(0)) {
        "completed"
    } else {
        "failed"
    };
    turn.tool_update(&tool, json!({"status": status}));
    let output = output.get("output").and_then(Value::as_str);
    let output = output.ok_or_else(|| Stop::Failed("I got no output.".to_owned()))?;
    turn.say(&summary(&exit, output))
}

/// Returns a script that prints eight lines in different colours, one every `pause` seconds.
fn script(pause: f64) -> String {
    format!(
        "for n in 1 2 3 4 5 6 7 8; do printf '\\033[1;3%dmline %d\\033[0m of 8\\n' \
         $((n % 6 + 1)) $n; sleep {pause:.2}; done"
    )
}

/// Describes how the command ended.
fn summary(exit: &Value, output: &str) -> String {
    let end = match (exit.get("exitCode"), exit.get("signal")) {
        (Some(Value::Number(code)), _) => format!("The command ended with exit code {code}"),
        (_, Some(Value::String(signal))) => format!("The command was ended by {signal}"),
        _ => "The command ended".to_owned(),
    };
    let last = output.lines().rfind(|line| !line.is_empty());
    let seen = match last {
        Some(last) => {
            format!("the last line I see is `{last}`: agents get the text without the colours")
        }
        None => "I see no output".to_owned(),
    };
    format!(
        "{end}, and {seen}. I have released the terminal, but its output stays in the chat.\n\n\
         When you cancel a turn, its commands are ended too, with everything they started. To end \
         one yourself, press `<C-c>` in its window. Say `next` to go on.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_says_how_the_command_ended() {
        let check = |exit: Value, output: &str, expected: &str| {
            let summary = summary(&exit, output);
            assert!(summary.starts_with(expected), "{summary}");
        };
        check(
            json!({"exitCode": 0, "signal": null}),
            "one\ntwo\n\n",
            "The command ended with exit code 0, and the last line I see is `two`:",
        );
        check(
            json!({"exitCode": null, "signal": "SIGHUP"}),
            "",
            "The command was ended by SIGHUP, and I see no output.",
        );
        check(json!({}), "", "The command ended, and I see no output.");
    }
}
