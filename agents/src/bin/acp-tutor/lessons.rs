//! The list of lessons, and which of them a prompt asks for.
//!
//! Invariant: every prompt gets an answer in words, unless it was cancelled.

use serde_json::{Value, json};

use crate::prompt::Prompt;
use crate::turn::{Step, Stop, Turn};
use crate::{changes, commands, files, talk, tools};

/// One lesson: its name is also its command (`/name`).
struct Lesson {
    name: &'static str,
    about: &'static str,
    give: fn(&mut Turn<'_>, &Prompt) -> Step,
}

const LESSONS: [Lesson; 12] = [
    Lesson {
        name: "stream",
        about: "watch a thought and an answer arrive, word by word",
        give: talk::stream,
    },
    Lesson {
        name: "plan",
        about: "see a plan, and see it being worked off",
        give: talk::plan,
    },
    Lesson {
        name: "read",
        about: "I read your buffer, the unsaved lines too",
        give: files::read,
    },
    Lesson {
        name: "permission",
        about: "I ask before I act, and you decide",
        give: talk::permission,
    },
    Lesson {
        name: "edit",
        about: "I change a file in three places, you keep what you like",
        give: files::edit,
    },
    Lesson {
        name: "propose",
        about: "I ask before I change a file, and you see the change where it would be",
        give: changes::propose,
    },
    Lesson {
        name: "disk",
        about: "I change a file behind the editor's back, and you review it all the same",
        give: changes::disk,
    },
    Lesson {
        name: "terminal",
        about: "I run a command in a terminal of yours, and you watch it",
        give: commands::terminal,
    },
    Lesson {
        name: "follow",
        about: "I name each line I look at",
        give: files::follow,
    },
    Lesson {
        name: "tools",
        about: "I call tools of your editor's, and one of them asks you",
        give: tools::tools,
    },
    Lesson {
        name: "cancel",
        about: "stop me in the middle of something",
        give: talk::cancel,
    },
    Lesson {
        name: "finish",
        about: "the commands on one page, and how to get a real agent",
        give: talk::finish,
    },
];

/// What a prompt asks for.
#[derive(Debug, PartialEq, Eq)]
enum Wish {
    Lesson(usize),
    Help,
    Hello,
    /// A word of agreement: the check of the last lesson is the answer.
    Done,
    Other,
}

/// Runs one turn and returns its stop reason.
pub fn run(mut turn: Turn<'_>, prompt: &Prompt) -> &'static str {
    match answer(&mut turn, prompt) {
        Ok(()) => "end_turn",
        Err(stop) => {
            turn.leave(&stop);
            let Stop::Failed(why) = stop else {
                return "cancelled";
            };
            let told = turn.say(&format!("\n\n{why} The log has more: `:Acp log`.\n"));
            told.map_or("cancelled", |()| "end_turn")
        }
    }
}

/// Returns what a new session begins with: the lessons as commands, a title, a greeting.
pub fn welcome() -> [Value; 3] {
    let text = json!({"type": "text", "text": talk::GREETING});
    [
        commands(),
        json!({"sessionUpdate": "session_info_update", "title": "First steps"}),
        json!({"sessionUpdate": "agent_message_chunk", "content": text}),
    ]
}

fn commands() -> Value {
    let help = json!({"name": "help", "description": "lists the lessons"});
    let lessons = LESSONS
        .iter()
        .map(|lesson| json!({"name": lesson.name, "description": lesson.about}));
    let all: Vec<Value> = std::iter::once(help).chain(lessons).collect();
    json!({"sessionUpdate": "available_commands_update", "availableCommands": all})
}

fn answer(turn: &mut Turn<'_>, prompt: &Prompt) -> Step {
    let checked = files::check(turn)?;
    let last = turn.session(|session| session.lesson);
    match wish(&prompt.name(), last) {
        Wish::Lesson(index) => {
            let Some(lesson) = LESSONS.get(index) else {
                return Ok(());
            };
            turn.session(|session| session.lesson = index + 1);
            turn.title(&format!("Lesson {}: {}", index + 1, lesson.name));
            (lesson.give)(turn, prompt)
        }
        Wish::Done if checked => turn.say("\nSay `next` to go on.\n"),
        Wish::Help => turn.say(&format!(
            "Pick a lesson, by number or by name.\n\n{}",
            list()
        )),
        Wish::Hello => talk::hello(turn, &list()),
        Wish::Done | Wish::Other => talk::other(turn, &prompt.text),
    }
}

fn wish(name: &str, last: usize) -> Wish {
    let by_name = LESSONS
        .iter()
        .position(|lesson| name == lesson.name || name.strip_suffix('s') == Some(lesson.name));
    let by_number = name
        .parse::<usize>()
        .ok()
        .and_then(|number| number.checked_sub(1))
        .filter(|index| *index < LESSONS.len());
    match name {
        "next" | "go on" => Wish::Lesson(last.min(LESSONS.len() - 1)),
        "again" => Wish::Lesson(last.saturating_sub(1)),
        "help" | "lessons" | "list" | "h" => Wish::Help,
        "" | "hello" | "hi" | "hey" | "good morning" => Wish::Hello,
        "done" | "check" | "ok" | "ready" => Wish::Done,
        _ => by_name.or(by_number).map_or(Wish::Other, Wish::Lesson),
    }
}

fn list() -> String {
    let line = |(i, lesson): (usize, &Lesson)| {
        format!("{}. **{}**: {}\n", i + 1, lesson.name, lesson.about)
    };
    LESSONS.iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, last: usize, expected: Wish) {
        assert_eq!(wish(name, last), expected, "{name}");
    }

    #[test]
    fn a_wish_is_a_number_or_a_name() {
        check("1", 0, Wish::Lesson(0));
        check("12", 0, Wish::Lesson(11));
        check("13", 0, Wish::Other);
        check("0", 0, Wish::Other);
        check("plan", 0, Wish::Lesson(1));
        check("streams", 0, Wish::Lesson(0));
        check("next", 0, Wish::Lesson(0));
        check("next", 3, Wish::Lesson(3));
        check("next", 12, Wish::Lesson(11));
        check("again", 3, Wish::Lesson(2));
        check("help", 0, Wish::Help);
        check("", 0, Wish::Hello);
        check("write me an editor", 0, Wish::Other);
    }
}
