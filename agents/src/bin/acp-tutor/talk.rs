//! The lessons that need no file: streaming, the plan, the permission, cancelling, the summary.

use serde_json::json;

use crate::prompt::Prompt;
use crate::turn::{Choice, Step, Stop, Tool, Turn};
use crate::wire::Remembered;

/// What stands in a new chat before anything was asked.
pub const GREETING: &str = "# Hello!\n\n\
    I am the tutor: a small agent that lives in this plugin. No network, no account, no model. \
    What I do here, any agent can do.\n\n\
    Write `help` in the window below and send it with `<CR>`: there are twelve short lessons. \
    `next` takes you from one to the next.\n";

/// Lists the lessons to somebody who says hello.
pub fn hello(turn: &Turn<'_>, lessons: &str) -> Step {
    turn.say(&format!(
        "Hello! This is what I can show you:\n\n{lessons}\n\
         Type a number or a name, or `next` for one after the other.\n"
    ))
}

/// Answers a prompt that names no lesson.
pub fn other(turn: &Turn<'_>, text: &str) -> Step {
    turn.think("No lesson has that name.")?;
    turn.say(&format!(
        "You wrote:\n\n{}\n\nA real agent would get to work now. I am only the tutor: I can show you \
         how an agent **reads** your buffers, **asks** you, **edits** files and **stops** when you \
         say so. Type `help` for the lessons, `next` for the next one.\n",
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
    turn.think("This is a thought. Agents think before they speak, and you may look.")?;
    turn.say(
        "## Text comes in a stream\n\n\
         It arrives word by word, and the window follows it **only while its cursor is at the \
         end**. Go up (`<C-w>k`) and read in peace; `G` follows again, `i` takes you back to \
         writing.\n\n\
         - A thought, like the one above, stays folded: `<CR>` on it opens and closes it.\n\
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
        "Each entry went from *pending* over *in progress* to *completed*; a `!` marks what \
         matters most. A plan is the agent's own; it may change its mind, and the list changes \
         with it. Say `next` to go on.\n",
    )?;
    turn.plan(&ENTRIES, ENTRIES.len());
    Ok(())
}

pub fn permission(turn: &mut Turn<'_>, _: &Prompt) -> Step {
    const COMMAND: &str = "echo 'Hello from the tutor'";
    turn.say(
        "## A permission\n\nI would like to run a command, and I do not before you say so: a window \
         asks you. It never takes a key that you meant for your text. So leave insert mode \
         (`<Esc>`), and then press the key beside your answer.\n\n",
    )?;
    let input = json!({"command": COMMAND, "description": "Says hello"});
    let tool = turn.tool(COMMAND, "execute", json!({"rawInput": input}));
    let choice = match turn.session(|session| session.remembered.take()) {
        Some(Remembered::Always) => Choice::AllowAlways,
        Some(Remembered::Never) => Choice::RejectAlways,
        None => {
            let choice = turn.permission(
                &tool,
                json!({"title": COMMAND, "kind": "execute", "rawInput": input}),
                &[
                    (Choice::AllowOnce, "Run it"),
                    (Choice::AllowAlways, "Run it, and do not ask again"),
                    (Choice::RejectOnce, "Do not run it"),
                    (Choice::RejectAlways, "Never run it"),
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
        "{text}\n\nA question waits as long as you like: `q` leaves its window, `:Acp permission` goes \
         back to it. Say `next` to go on.\n"
    ))
}

pub fn cancel(turn: &mut Turn<'_>, _: &Prompt) -> Step {
    turn.say(
        "## Stop me\n\nI count to sixty, slowly. Press `<C-c>` in the chat, or type `:Acp cancel` \
         anywhere, when you have had enough. Then say `next`.\n\n",
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
                turn.tool_stop(&tool, &format!("Stopped before {number}."));
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
         - `:Acp review`: all hunks, in the quickfix list\n\
         - `:Acp permission`: to the open question\n\
         - `:Acp terminal`: to the commands that agents run\n\
         - `:Acp tools`: what of Neovim's own agents may call\n\
         - `:Acp cancel`, or `<C-c>` in the chat: stop\n\
         - `:Acp log`, `:checkhealth acp`: when something is odd\n\n\
         ## A real agent\n\n\
         `:Acp agents` lists those the plugin knows, and how to get each. Once its program is \
         there, for example:\n\n\
         ```vim\n\
         :AcpChat claude\n\
         ```\n\n\
         And to make it the one that `:AcpChat` starts, in your `init.lua`:\n\n\
         ```lua\n\
         vim.g.acp = { default_agent = \"claude\" }\n\
         ```\n\n\
         The rest is in `:help acp`. It was a pleasure.\n",
    )
}
