//! Lessons without a file: streaming, plans, permissions, cancelling, the summary.

use serde_json::json;

use crate::prompt::Prompt;
use crate::turn::{Choice, Flow, Stop, Tool, Turn};
use crate::wire::Remembered;

/// The first message of a new chat.
pub const GREETING: &str = "# Hello!\n\n\
    I am the tutor, a small agent that comes with this plugin: no network, no account, no model. \
    Whatever I do here, any agent can do.\n\n\
    Write `help` in the window below and send it with `<CR>` to see the twelve short lessons. \
    `next` takes you through them one by one.\n";

/// Returns the user's greeting, with the list of lessons.
pub fn hello(turn: &Turn<'_>, lessons: &str) -> Flow {
    turn.say(&format!(
        "Hello! Here is what I can show you:\n\n{lessons}\n\
         Type a number or a name, or `next` to go through them in order.\n"
    ))
}

/// Answers a prompt that names no lesson.
pub fn other(turn: &Turn<'_>, text: &str) -> Flow {
    turn.think("No lesson has that name.")?;
    turn.say(&format!(
        "You wrote:\n\n{}\n\nA real agent would get to work now. I am only the tutor: I can show you \
         how an agent **reads** your buffers, **asks** you, **edits** files and **stops** when you \
         tell it to. Type `help` for the lessons, or `next` for the next one.\n",
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

pub fn stream(turn: &mut Turn<'_>, _: &Prompt) -> Flow {
    turn.think("This is a thought. Agents think before they speak, and you can read along.")?;
    turn.say(
        "## Text is streamed\n\n\
         It arrives word by word, and the window follows it **only while its cursor is at the \
         end**. Go up (`<C-w>k`) and read in peace; `G` follows again, and `i` takes you back to \
         your prompt.\n\n\
         - A thought, like the one above, is folded: press `<CR>` on it to open or close it.\n\
         - Markdown is drawn as it arrives: **bold**, `code`, lists.\n\
         - So is code, with syntax highlighting:\n\n\
         ```rust\n\
         fn main() {\n    \
             let words = [\"one\", \"at\", \"a\", \"time\"];\n    \
             println!(\"{}\", words.join(\" \"));\n\
         }\n\
         ```\n\n\
         ```lua\n\
         -- Neovim's own language\n\
         vim.notify((\"Hello from %s\"):format(\"Lua\"))\n\
         ```\n\n\
         The chat is an ordinary buffer: search it, yank from it. Say `next` to go on.\n",
    )
}

pub fn plan(turn: &mut Turn<'_>, _: &Prompt) -> Flow {
    const ENTRIES: [(&str, &str); 4] = [
        ("Look at the task", "high"),
        ("Make a plan", "high"),
        ("Carry it out", "medium"),
        ("Report back", "low"),
    ];
    turn.say(
        "## A plan\n\nAn agent with a long task makes a plan first. Watch the marks change.\n\n",
    )?;
    for done in 0..ENTRIES.len() {
        turn.plan(&ENTRIES, done);
        turn.beat(40)?;
    }
    turn.say(
        "Each entry went from *pending* to *in progress* to *completed*; a `!` marks the most \
         important ones. The agent may change its plan at any time. Say `next` to go on.\n",
    )?;
    turn.plan(&ENTRIES, ENTRIES.len());
    Ok(())
}

pub fn permission(turn: &mut Turn<'_>, _: &Prompt) -> Flow {
    const COMMAND: &str = "echo 'Hello from the tutor'";
    turn.say(
        "## A permission\n\nI would like to run a command, and a window asks for your permission. It \
         never takes a key that you meant for something else. To answer, press `<Esc>` in normal \
         mode here in the chat, or run `:Acp permission` in any window; then press the key beside \
         your answer. *Always* asks once more: `y` confirms.\n\n",
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
            "*always*, so I just ran it",
        ),
        _ => ("failed", "Not run.", "*never*, so I did not even ask"),
    };
    turn.tool_end(&tool, end.0, end.1);
    turn.say(&format!(
        "Last time you said {}. I have now forgotten that: say `permission` once more, and I will \
         ask again.\n",
        end.2
    ))
}

fn react(turn: &mut Turn<'_>, tool: &Tool, choice: Choice) -> Flow {
    let text = match choice {
        Choice::AllowOnce => "You said **once**: I ran it, and next time I will ask again.",
        Choice::AllowAlways => {
            "You said **always**: I ran it. Say `permission` again to see what I do next time."
        }
        Choice::RejectOnce => "You said **no**: nothing was run. No hard feelings.",
        Choice::RejectAlways => {
            "You said **never**: nothing was run. Say `permission` again to see what I do next time."
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
        "{text}\n\nA question waits as long as you like: `q` leaves it open, and `:Acp permission` \
         goes back to it. Say `next` to go on.\n"
    ))
}

pub fn cancel(turn: &mut Turn<'_>, _: &Prompt) -> Flow {
    turn.say(
        "## Stop me\n\nI am counting to sixty, slowly. To stop me, press `<C-c>` in the chat or run \
         `:Acp cancel` in any window. Then say `next`.\n\n",
    )?;
    let tool = turn.tool(
        "Counting to sixty",
        "other",
        json!({"status": "in_progress"}),
    );
    for number in 1..=60 {
        if let Err(stop) = count(turn, number) {
            if stop == Stop::Cancelled {
                // Real agents also send updates after the cancel, and clients accept them.
                turn.tool_stop(&tool, &format!("Stopped before {number}."));
            }
            return Err(stop);
        }
    }
    turn.tool_end(&tool, "completed", "Sixty.");
    turn.say("\n\nSixty. You are very patient! Say `cancel` again to try stopping me.\n")
}

fn count(turn: &Turn<'_>, number: u32) -> Flow {
    turn.beat(66)?;
    turn.say(&format!("{number} "))
}

pub fn finish(turn: &mut Turn<'_>, _: &Prompt) -> Flow {
    turn.say(
        "## All on one page\n\n\
         - `:AcpChat` opens the chat; with a range, it attaches those lines\n\
         - `:Acp next`, `:Acp prev`: go to the next or previous hunk\n\
         - `:Acp accept`, `:Acp reject`: decide the hunk at the cursor; add `file` or `all` for more\n\
         - `:Acp review`: list all files and hunks\n\
         - `:Acp undo`: take back your last decision about hunks\n\
         - `:Acp undo-turn`: take back everything the last turn changed\n\
         - `:Acp permission`, or `<Esc>` in the chat: go to the open question\n\
         - `:Acp terminal`: show the commands that agents run\n\
         - `:Acp tools`: choose which of Neovim's tools agents may call\n\
         - `:Acp cancel`, or `<C-c>` in the chat: stop the agent\n\
         - `:Acp log`, `:checkhealth acp`: find out what went wrong\n\n\
         ## A real agent\n\n\
         `:Acp agents` lists the agents that the plugin knows, and how to install each. Once one \
         is installed, start it by name:\n\n\
         ```vim\n\
         :AcpChat claude\n\
         ```\n\n\
         To make it the default for `:AcpChat`, add this to your `init.lua`:\n\n\
         ```lua\n\
         vim.g.acp = { default_agent = \"claude\" }\n\
         ```\n\n\
         The rest is in `:help acp`. Have fun!\n",
    )
}
