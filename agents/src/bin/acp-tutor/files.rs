//! Lessons about files: reading unsaved lines, reviewing three hunks, following.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::practice::{self, Decision, Edit, HUNKS, Review};
use crate::prompt::Prompt;
use crate::turn::{Choice, Flow, Stop, Turn};

pub const NO_READ: &str =
    "This client does not let agents read files (`fs.readTextFile`), so I cannot show you this.\n";
pub const NO_WRITE: &str = "This client does not let agents write files (`fs.writeTextFile`), so I cannot show you \
     this.\n";
pub const NOTHING_LEFT: &str = "You have rewritten every line I know, so there is nothing left for me to change. Delete the \
     file and its buffer (`:bwipeout!`), and `edit` will make a new one.\n";

pub fn read(turn: &mut Turn<'_>, prompt: &Prompt) -> Flow {
    turn.say("## Reading\n\n")?;
    if !turn.abilities().0 {
        return turn.say(NO_READ);
    }
    let Some(path) = file(turn, prompt)? else {
        return Ok(());
    };
    let name = name_of(&path);
    let title = format!("Read {name}");
    let tool = turn.tool(&title, "read", json!({"locations": [{"path": path}]}));
    turn.tool_update(&tool, json!({"status": "in_progress"}));
    let buffer = turn
        .read(&path)?
        .map_err(|why| Stop::Failed(format!("I could not read `{name}`: {why}.")))?;
    let count = match buffer.lines().count() {
        1 => "1 line".to_owned(),
        count => format!("{count} lines"),
    };
    turn.tool_end(&tool, "completed", &count);
    let disk = std::fs::read(&path)
        .ok()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    turn.say(&match unsaved(&buffer, disk.as_deref().unwrap_or_default()) {
        Unsaved::Line(number, line) => format!(
            "Line {number} of `{name}` says:\n\n````\n{line}\n````\n\nThe file on disk has no \
             such line, because you have not saved it. I can read it anyway: agents see your \
             buffers as **you** see them. Say `next` to go on.\n"
        ),
        Unsaved::Gone(line) => format!(
            "On disk, `{name}` still has this line:\n\n````\n{line}\n````\n\nYou deleted it and \
             have not saved yet, but I can tell: agents read your **buffers**. Say `next` to \
             go on.\n"
        ),
        Unsaved::Nothing => format!(
            "I read all of `{name}`, {count}, and all is saved. Now go there, type something \
             **without saving it**, then come back and say `again`.\n"
        ),
    })
}

/// The first difference between a buffer and its file.
#[derive(Debug, PartialEq, Eq)]
enum Unsaved<'a> {
    /// A line that only the buffer has, with its number from 1.
    Line(usize, &'a str),
    /// A line that only the file still has.
    Gone(&'a str),
    Nothing,
}

fn unsaved<'a>(buffer: &'a str, disk: &'a str) -> Unsaved<'a> {
    let missing = |text: &'a str, other: &'a str| {
        let mut there = std::collections::HashMap::new();
        for line in other.lines() {
            *there.entry(line).or_insert(0_usize) += 1;
        }
        text.lines().enumerate().find(|(_, line)| {
            let left = there.get_mut(line).filter(|left| **left > 0);
            let found = left.map(|left| *left -= 1).is_some();
            !found && !line.trim().is_empty()
        })
    };
    if let Some((row, line)) = missing(buffer, disk) {
        return Unsaved::Line(row + 1, line);
    }
    missing(disk, buffer).map_or(Unsaved::Nothing, |(_, line)| Unsaved::Gone(line))
}

pub fn edit(turn: &mut Turn<'_>, _: &Prompt) -> Flow {
    turn.say("## Three hunks\n\n")?;
    match turn.abilities() {
        (true, true) => {}
        (false, _) => return turn.say(NO_READ),
        (_, false) => return turn.say(NO_WRITE),
    }
    let path = turn.cwd().join(practice::NAME);
    if existing(turn, &path)?.is_none() {
        return create(turn, &path).map(drop);
    }
    turn.say(&format!(
        "I am changing `{}` in three places.\n\n",
        practice::NAME
    ))?;
    let mut edits = Vec::new();
    for hunk in &HUNKS {
        edits.push(edit_one(turn, &path, hunk)?);
        turn.beat(20)?;
    }
    let made = edits.iter().flatten().count();
    turn.session(|session| session.review = Some(Review { path, edits }));
    if made == 0 {
        return turn.say(NOTHING_LEFT);
    }
    turn.say(
        "Done. Now you decide, hunk by hunk.\n\n\
         - `:Acp next` and `:Acp prev` take you from hunk to hunk\n\
         - `:Acp accept` keeps the hunk at the cursor\n\
         - `:Acp reject` brings your lines back, and `u` undoes that\n\
         - `:Acp accept all` and `:Acp reject all` decide all of them\n\n\
         In the file there are keys for this, shown after each hunk. Keep one, reject one, and do \
         what you like with the third. Then come back and say `done`.\n",
    )
}

/// Makes one edit; `None` when the user has rewritten those lines.
fn edit_one(turn: &mut Turn<'_>, path: &Path, hunk: &practice::Hunk) -> Flow<Option<Edit>> {
    let text = existing(turn, path)?.unwrap_or_default();
    let Some(edit) = hunk.edit(&text) else {
        return Ok(None);
    };
    let Some((new, line)) = edit.apply(&text) else {
        return Ok(None);
    };
    let diff = json!([{"type": "diff", "path": path, "oldText": text, "newText": new}]);
    let locations = json!([{"path": path, "line": line}]);
    let fields = json!({"status": "in_progress", "content": diff, "locations": locations});
    let tool = turn.tool(hunk.title, "edit", fields);
    turn.write(path, &new)?;
    turn.tool_update(&tool, json!({"status": "completed"}));
    Ok(Some(edit))
}

/// Tells the user how they decided the three hunks, once; returns whether there was a review.
pub fn report_review(turn: &Turn<'_>) -> Flow<bool> {
    let Some(review) = turn.session(|session| session.review.take()) else {
        return Ok(false);
    };
    // A deleted file has none of the edits, and is reported as such.
    let text = turn.read(&review.path)?.unwrap_or_default();
    let decisions = review.decisions(&text);
    if decisions
        .iter()
        .all(|decision| *decision == Decision::Skipped)
    {
        return Ok(false);
    }
    let mut said = format!("I looked at `{}` again:\n\n", name_of(&review.path));
    for (hunk, decision) in HUNKS.iter().zip(&decisions) {
        let decision = match decision {
            Decision::Kept => "**kept**, or not decided yet",
            Decision::Rejected => "**rejected**, your lines are back",
            Decision::Rewritten => "**rewritten** by you",
            Decision::Skipped => "not changed",
        };
        said.push_str(&format!("- {}: {decision}\n", hunk.title));
    }
    said.push('\n');
    turn.say(&said)?;
    Ok(true)
}

pub fn follow(turn: &mut Turn<'_>, prompt: &Prompt) -> Flow {
    turn.say("## Following\n\n")?;
    if !turn.abilities().0 {
        return turn.say(NO_READ);
    }
    let Some(path) = file(turn, prompt)? else {
        return Ok(());
    };
    let name = name_of(&path);
    let text = turn
        .read(&path)?
        .map_err(|why| Stop::Failed(format!("I could not read `{name}`: {why}.")))?;
    turn.say(&format!(
        "I am walking through `{name}`, and I report each line I look at.\n\n"
    ))?;
    let title = format!("Walk through {name}");
    let tool = turn.tool(&title, "read", json!({"status": "in_progress"}));
    for line in stops(&text) {
        turn.tool_update(&tool, json!({"locations": [{"path": path, "line": line}]}));
        turn.beat(66)?;
    }
    turn.tool_end(&tool, "completed", "Reached the end.");
    turn.say(
        "That was the whole file. A mark in it showed you where I was. After `:Acp follow`, a window \
         follows me while you are in another one, in normal mode. Run it and say `again` to see \
         that, or say `next` to go on.\n",
    )
}

/// Returns the lines to stop at, from 1: at most five, spread over the file, never blank ones.
fn stops(text: &str) -> Vec<usize> {
    let lines: Vec<usize> = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(row, _)| row + 1)
        .collect();
    let step = lines.len().div_ceil(5).max(1);
    lines.into_iter().step_by(step).collect()
}

/// Returns the file attached to the prompt, else the practice file; creates it when it is missing.
fn file(turn: &mut Turn<'_>, prompt: &Prompt) -> Flow<Option<PathBuf>> {
    if let Some(path) = prompt.files.first() {
        return Ok(Some(path.clone()));
    }
    let path = turn.cwd().join(practice::NAME);
    if existing(turn, &path)?.is_some() {
        return Ok(Some(path));
    }
    turn.say("You attached no file, so we need one to practise on.\n\n")?;
    if !turn.abilities().1 {
        return turn.say(NO_WRITE).map(|()| None);
    }
    create(turn, &path)
}

/// Returns the text of the practice file, `None` when it does not exist.
pub fn existing(turn: &Turn<'_>, path: &Path) -> Flow<Option<String>> {
    match turn.read(path)? {
        // Some clients answer "" for a file that does not exist.
        Ok(text) if text.is_empty() && !path.exists() => Ok(None),
        Ok(text) => Ok(Some(text)),
        Err(_) if !path.exists() => Ok(None),
        Err(why) => {
            let name = path.display();
            Err(Stop::Failed(format!("I could not read `{name}`: {why}.")))
        }
    }
}

/// Writes the practice file if the user allows it; it becomes the user's first review.
pub fn create(turn: &mut Turn<'_>, path: &Path) -> Flow<Option<PathBuf>> {
    let name = practice::NAME;
    let title = format!("Write {name}");
    let diff: Value = json!([
        {"type": "diff", "path": path, "oldText": null, "newText": practice::TEXT},
    ]);
    let fields = json!({"content": diff, "locations": [{"path": path}]});
    let tool = turn.tool(&title, "edit", fields);
    let asked = json!({"title": title, "kind": "edit", "content": diff});
    let offered = [
        (Choice::AllowOnce, "Write it"),
        (Choice::RejectOnce, "Do not write it"),
    ];
    match turn.permission(&tool, asked, &offered)? {
        Choice::AllowOnce | Choice::AllowAlways => {}
        Choice::RejectOnce | Choice::RejectAlways => {
            turn.tool_end(&tool, "failed", "Not written.");
            turn.say(
                "All right, nothing was written. To let me read another file, select lines of it and \
                 attach them with `:'<,'>AcpChat`.\n",
            )?;
            return Ok(None);
        }
    }
    turn.tool_update(&tool, json!({"status": "in_progress"}));
    turn.write(path, practice::TEXT)?;
    turn.tool_update(&tool, json!({"status": "completed"}));
    turn.say(&format!(
        "`{name}` is written. All of it is new, so it is one big hunk: `:Acp next` takes you there, \
         and `:Acp accept` keeps it. Then come back and say `again` to start the lesson.\n"
    ))?;
    Ok(None)
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(buffer: &str, disk: &str, expected: Unsaved<'_>) {
        assert_eq!(unsaved(buffer, disk), expected);
    }

    #[test]
    fn an_unsaved_line_is_found() {
        check("a\nb\n", "a\nb\n", Unsaved::Nothing);
        check("a\nx\nb\n", "a\nb\n", Unsaved::Line(2, "x"));
        // A second copy of a line counts, a blank line does not.
        check("a\n\na\n", "a\n", Unsaved::Line(3, "a"));
        check("a\n", "a\nb\n", Unsaved::Gone("b"));
        check("a\r\nb\r\n", "a\nb\n", Unsaved::Nothing);
        check("", "", Unsaved::Nothing);
        check("a", "", Unsaved::Line(1, "a"));
    }

    #[test]
    fn a_walk_has_few_stops() {
        assert_eq!(stops("a\n\nb\n"), [1, 3]);
        assert_eq!(stops(""), Vec::<usize>::new());
        assert_eq!(stops(practice::TEXT).len(), 5);
    }
}
