//! The lessons that need no file: streaming, the plan, the permission, cancelling, the summary.

use serde_json::json;

use crate::prompt::Prompt;
use crate::turn::{Choice, Step, Stop, Tool, Turn};
use crate::wire::Remembered;

/// Greets, and lists the lessons.
pub fn hello(turn: &Turn<'_>, lessons: &str) -> Step {
    turn.think("A new reader. Short words, then.")?;
    turn.say(&format!(
        "# Hello!\n\n\
         I am the tutor: a small agent that lives in this plugin. No network, no account, no \
         model. What I do, any agent can do here.\n\n\
         {lessons}\n\
         Type a number or a name. `next` goes on, `help` brings this list back.\n"
    ))
}

/// Repeats what was asked, below the greeting.
pub fn echo(turn: &Turn<'_>, text: &str) -> Step {
    turn.say(&format!(
        "\nYou wrote:\n\n{}\n\nA real agent would get to work now. I can only teach: try `1`.\n",
        quoted(text)
    ))
}

/// Answers a prompt that names no lesson.
pub fn other(turn: &Turn<'_>, text: &str) -> Step {
    turn.think("No lesson has that name.")?;
    turn.say(&format!(
        "You wrote:\n\n{}\n\nI am only the tutor, so I cannot do that. I can show you how an agent \
         **reads** your buffers, **asks** you, **edits** files and **stops** when you say so. Type \
         `help` for the lessons, `next` for the next one.\n",
        quoted(text)
    ))
}

fn quoted(text: &str) -> String {
    let lines: Vec<&str> = text.lines().take(5).collect();
    let more = if text.lines().count() > 5 {
        "\n> …"
    } else {
        ""
    };
    format!("> {}{more}", lines.join("\n> "))
}

pub fn stream(turn: &mut Turn<'_>, _: &Prompt) -> Step {
    turn.think(
        "This is a thought. Agents think before they speak, and you may look. It stays folded: \
         `za` opens and closes it.",
    )?;
    turn.say(
        "## Text comes in a stream\n\n\
         It arrives word by word, and the window follows it **only while your cursor is at the \
         end**. Go up and read in peace; `G` takes you back.\n\n\
         - Markdown is drawn as it comes: **bold**, `code`, lists.\n\
         - So is code, in its own colours:\n\n\
         ```rust\n\
         fn main() {\n    \
             let words = [\"one\", \"at\", \"a\", \"time\"];\n    \
             println!(\"{}\", words.join(\" \"));\n\
         }\n\
         ```\n\n\
         ```lua\n\
         -- Neovim's own tongue\n\
         vim.notify((\"Hello from %s\"):format(\"Lua\"))\n\
         ```\n\n\
         It is a plain buffer: search it, yank from it. Say `next` to go on.\n",
    )
}

pub fn plan(turn: &mut Turn<'_>, _: &Prompt) -> Step {
    const ENTRIES: [(&str, &str); 4] = [
        ("Look at the task", "high"),
        ("Make a plan", "high"),
        ("Work it off", "medium"),
        ("Tell you about it", "low"),
    ];
    turn.say("## A plan\n\nAgents with much to do say so first. Watch the marks change.\n\n")?;
    for done in 0..ENTRIES.len() {
        turn.plan(&ENTRIES, done);
        turn.beat(40)?;
    }
    turn.say(
        "Each entry went from *pending* over *in progress* to *completed*. A plan is the agent's \
         own; it may change its mind, and the list changes with it. Say `next` to go on.\n",
    )?;
    turn.plan(&ENTRIES, ENTRIES.len());
    Ok(())
}

pub fn permission(turn: &mut Turn<'_>, _: &Prompt) -> Step {
    const COMMAND: &str = "echo 'Hello from the tutor'";
    turn.say("## A permission\n\nI would like to run a command. I do not, before you say so.\n\n")?;
    let input = json!({"command": COMMAND, "description": "Says hello"});
    let tool = turn.tool(COMMAND, "execute", json!({"rawInput": input}));
    let choice = match turn.session(|session| session.remembered.take()) {
        Some(Remembered::Always) => Choice::AllowAlways,
        Some(Remembered::Never) => Choice::RejectAlways,
        None => {
            let choice = turn.permission(
                &tool,
                json!({"title": COMMAND, "kind": "execute", "rawInput": input}),
                [
                    "Run it",
                    "Run it, and do not ask again",
                    "Do not run it",
                    "Never run it",
                ],
            )?;
            turn.session(|session| {
                session.remembered = match choice {
                    Choice::AllowAlways => Some(Remembered::Always),
                    Choice::RejectAlways => Some(Remembered::Never),
                    Choice::AllowOnce | Choice::RejectOnce => None,
                }
            });
            return react(turn, &tool, choice);
        }
    };
    let end = match choice {
        Choice::AllowAlways => (
            "completed",
            "Hello from the tutor",
            "*always*, so I just did it",
        ),
        _ => ("failed", "Not run.", "*never*, so I did not even ask"),
    };
    turn.tool_end(&tool, end.0, end.1);
    turn.say(&format!(
        "Last time you said {}. Now I have forgotten it: ask for `permission` again, and I ask \
         you again.\n",
        end.2
    ))
}

fn react(turn: &mut Turn<'_>, tool: &Tool, choice: Choice) -> Step {
    let text = match choice {
        Choice::AllowOnce => "You said **once**: I did it, and the next time I ask again.",
        Choice::AllowAlways => {
            "You said **always**: I did it. Ask for `permission` again, and see what I do."
        }
        Choice::RejectOnce => "You said **no**: nothing was run. That is that, no hard feelings.",
        Choice::RejectAlways => {
            "You said **never**: nothing was run. Ask for `permission` again, and see what I do."
        }
    };
    match choice {
        Choice::AllowOnce | Choice::AllowAlways => {
            turn.tool_update(tool, json!({"status": "in_progress"}));
            turn.beat(20)?;
            turn.tool_end(tool, "completed", "Hello from the tutor");
        }
        Choice::RejectOnce | Choice::RejectAlways => turn.tool_end(tool, "failed", "Not run."),
    }
    turn.say(&format!(
        "{text}\n\nThe question waits as long as you like, and never takes a key you meant for \
         your text. `:Acp permission` goes to it. Say `next` to go on.\n"
    ))
}

pub fn cancel(turn: &mut Turn<'_>, _: &Prompt) -> Step {
    turn.say(
        "## Stop me\n\nI count to sixty, slowly. Press `<C-c>` here, or type `:Acp cancel`, \
         whenever you have had enough.\n\n",
    )?;
    let tool = turn.tool(
        "Counting to sixty",
        "other",
        json!({"status": "in_progress"}),
    );
    for number in 1..=60 {
        if let Err(stop) = count(turn, number) {
            if stop == Stop::Cancelled {
                // It comes after the cancel, and counts all the same: so do real agents.
                turn.tool_end(&tool, "failed", &format!("Stopped before {number}."));
            }
            return Err(stop);
        }
    }
    turn.tool_end(&tool, "completed", "Sixty.");
    turn.say("\n\nSixty. You are patient. Ask for `cancel` again when you are not.\n")
}

fn count(turn: &Turn<'_>, number: u32) -> Step {
    turn.beat(66)?;
    turn.say(&format!("{number} "))
}

pub fn finish(turn: &mut Turn<'_>, _: &Prompt) -> Step {
    turn.say(
        "## On one page\n\n\
         - `:AcpChat` opens the chat; with a range, the lines go along\n\
         - `:Acp next`, `:Acp prev`: from hunk to hunk\n\
         - `:Acp accept`, `:Acp reject`: the hunk at the cursor; `file` and `all` take more\n\
         - `:Acp permission`: to the open question\n\
         - `:Acp cancel`, or `<C-c>` in the chat: stop\n\
         - `:Acp follow on`: go where the agent goes\n\
         - `:Acp log`, `:checkhealth acp`: when something is odd\n\n\
         ## A real agent\n\n\
         Name its command, and make it the default if you like:\n\n\
         ```lua\n\
         require(\"acp\").setup({\n  \
           agents = {\n    \
             opencode = { command = \"opencode\", args = { \"acp\" } },\n  \
           },\n  \
           default_agent = \"opencode\",\n\
         })\n\
         ```\n\n\
         Then `:AcpChat opencode`. All of it is in `:help acp`. It was a pleasure.\n",
    )
}
