//! The lesson about commands: one runs in a terminal of the editor's.
//!
//! Invariant: a terminal that was made is released, unless the turn is cancelled: then the client
//! ends what runs in it.

use serde_json::{Value, json};

use crate::prompt::Prompt;
use crate::turn::{Step, Stop, Turn};

const NO_TERMINALS: &str =
    "This client runs no commands for agents (`terminal`), so I cannot show this.\n";

pub fn terminal(turn: &mut Turn<'_>, _: &Prompt) -> Step {
    turn.say("## A terminal\n\n")?;
    if !turn.runs_commands() {
        return turn.say(NO_TERMINALS);
    }
    turn.say(
        "Tests, builds, servers: agents run commands, and may run them in a terminal of yours. It \
         is a real one, so programs show their colours and their progress. The last lines stand \
         here; `:Acp terminal` shows it whole, and what you type in there reaches the command.\n\n",
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
    turn.say(&told(&exit, output))
}

/// Returns a script that prints eight lines, each in another colour, every `pause` seconds.
fn script(pause: f64) -> String {
    format!(
        "for n in 1 2 3 4 5 6 7 8; do printf '\\033[1;3%dmline %d\\033[0m of 8\\n' \
         $((n % 6 + 1)) $n; sleep {pause:.2}; done"
    )
}

/// Returns what there is to say of a command that has ended.
fn told(exit: &Value, output: &str) -> String {
    let end = match (exit.get("exitCode"), exit.get("signal")) {
        (Some(Value::Number(code)), _) => format!("It has ended with exit code {code}"),
        (_, Some(Value::String(signal))) => format!("It was ended by {signal}"),
        _ => "It has ended".to_owned(),
    };
    let last = output.lines().rfind(|line| !line.is_empty());
    let seen = match last {
        Some(last) => {
            format!("the last line I see is `{last}`: agents get the text without the colours")
        }
        None => "I see no output".to_owned(),
    };
    format!(
        "{end}, and {seen}. I have released the terminal now: what it printed stays.\n\n\
         A command that still runs when you cancel a turn is ended, with all it has started. In \
         its window `<C-c>` ends one by hand. Say `next` to go on.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_command_is_told() {
        let check = |exit: Value, output: &str, expected: &str| {
            let told = told(&exit, output);
            assert!(told.starts_with(expected), "{told}");
        };
        check(
            json!({"exitCode": 0, "signal": null}),
            "one\ntwo\n\n",
            "It has ended with exit code 0, and the last line I see is `two`:",
        );
        check(
            json!({"exitCode": null, "signal": "SIGHUP"}),
            "",
            "It was ended by SIGHUP, and I see no output.",
        );
        check(json!({}), "", "It has ended, and I see no output.");
    }
}
