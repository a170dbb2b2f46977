//! Lists the lessons, and finds the one a prompt asks for.
//!
//! Invariant: every prompt gets an answer in words, unless the user cancels it.

use serde_json::{Value, json};

use crate::prompt::Prompt;
use crate::turn::{Flow, Stop, Turn};
use crate::{changes, commands, files, talk, tools};

/// One lesson: its name is also its command (`/name`).
struct Lesson {
    name: &'static str,
    about: &'static str,
    give: fn(&mut Turn<'_>, &Prompt) -> Flow,
}

const LESSONS: [Lesson; 12] = [
    Lesson {
        name: "stream",
        about: "watch a thought and an answer arrive, word by word",
        give: talk::stream,
    },
    Lesson {
        name: "plan",
        about: "watch a plan being made and carried out",
        give: talk::plan,
    },
    Lesson {
        name: "read",
        about: "I read your buffer, unsaved lines included",
        give: files::read,
    },
    Lesson {
        name: "permission",
        about: "I ask before I act, and you decide",
        give: talk::permission,
    },
    Lesson {
        name: "edit",
        about: "I change a file in three places, and you keep what you like",
        give: files::edit,
    },
    Lesson {
        name: "propose",
        about: "I ask before I change a file, and you see the change in place",
        give: changes::propose,
    },
    Lesson {
        name: "disk",
        about: "I change a file behind the editor's back, and you can still review it",
        give: changes::disk,
    },
    Lesson {
        name: "terminal",
        about: "I run a command in one of your terminals, and you watch",
        give: commands::terminal,
    },
    Lesson {
        name: "follow",
        about: "I show you each line I look at",
        give: files::follow,
    },
    Lesson {
        name: "tools",
        about: "I call your editor's tools, and one of them asks you a question",
        give: tools::tools,
    },
    Lesson {
        name: "cancel",
        about: "stop me halfway through",
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
enum Request {
    Lesson(usize),
    Help,
    Hello,
    /// The user says that a task is done: the review of the last lesson is the answer.
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
            let said = turn.say(&format!("\n\n{why} See `:Acp log` for details.\n"));
            said.map_or("cancelled", |()| "end_turn")
        }
    }
}

/// Returns the first updates of a session: the lessons as commands, a title, a greeting.
pub fn welcome() -> [Value; 3] {
    let text = json!({"type": "text", "text": talk::GREETING});
    [
        commands(),
        json!({"sessionUpdate": "session_info_update", "title": "First steps"}),
        json!({"sessionUpdate": "agent_message_chunk", "content": text}),
    ]
}

fn commands() -> Value {
    let help = json!({"name": "help", "description": "list the lessons"});
    let lessons = LESSONS
        .iter()
        .map(|lesson| json!({"name": lesson.name, "description": lesson.about}));
    let all: Vec<Value> = std::iter::once(help).chain(lessons).collect();
    json!({"sessionUpdate": "available_commands_update", "availableCommands": all})
}

fn answer(turn: &mut Turn<'_>, prompt: &Prompt) -> Flow {
    let reviewed = files::report_review(turn)?;
    let last = turn.session(|session| session.lesson);
    match request(&prompt.name(), last) {
        Request::Lesson(index) => {
            let Some(lesson) = LESSONS.get(index) else {
                return Ok(());
            };
            let is_same = prompt.name() == "again" && prompt.files.is_empty();
            let files = turn.session(|session| {
                session.lesson = index + 1;
                if !is_same {
                    session.files.clone_from(&prompt.files);
                }
                session.files.clone()
            });
            turn.title(&format!("Lesson {}: {}", index + 1, lesson.name));
            let text = prompt.text.clone();
            (lesson.give)(turn, &Prompt { text, files })
        }
        Request::Done if reviewed => turn.say("\nSay `next` to go on.\n"),
        Request::Done => turn.say(
            "There is no new review to look at. Say `edit` for three hunks, or `next` to go on.\n",
        ),
        Request::Help => turn.say(&format!(
            "Pick a lesson, by number or by name.\n\n{}",
            list()
        )),
        Request::Hello => talk::hello(turn, &list()),
        Request::Other => talk::other(turn, &prompt.text),
    }
}

/// Returns what the prompt `name` asks for when lesson `last` (from 1) was the last one given.
fn request(name: &str, last: usize) -> Request {
    let by_name = LESSONS
        .iter()
        .position(|lesson| name == lesson.name || name.strip_suffix('s') == Some(lesson.name));
    let by_number = name
        .parse::<usize>()
        .ok()
        .and_then(|number| number.checked_sub(1))
        .filter(|index| *index < LESSONS.len());
    match name {
        "next" | "go on" => Request::Lesson(last.min(LESSONS.len() - 1)),
        "again" => Request::Lesson(last.saturating_sub(1)),
        "help" | "lessons" | "list" | "h" => Request::Help,
        "" | "hello" | "hi" | "hey" | "good morning" => Request::Hello,
        "done" | "check" | "ok" | "ready" => Request::Done,
        _ => by_name
            .or(by_number)
            .map_or(Request::Other, Request::Lesson),
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

    fn check(name: &str, last: usize, expected: Request) {
        assert_eq!(request(name, last), expected, "{name}");
    }

    #[test]
    fn a_lesson_is_found_by_its_number_or_name() {
        check("1", 0, Request::Lesson(0));
        check("12", 0, Request::Lesson(11));
        check("13", 0, Request::Other);
        check("0", 0, Request::Other);
        check("plan", 0, Request::Lesson(1));
        check("streams", 0, Request::Lesson(0));
        check("next", 0, Request::Lesson(0));
        check("next", 3, Request::Lesson(3));
        check("next", 12, Request::Lesson(11));
        check("again", 3, Request::Lesson(2));
        check("help", 0, Request::Help);
        check("", 0, Request::Hello);
        check("write me an editor", 0, Request::Other);
    }
}
