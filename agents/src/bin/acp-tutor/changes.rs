//! The lessons about the other two ways into a file: proposed before it is written, and written
//! straight to disk.

use serde_json::{Value, json};

use crate::files::{NO_READ, NO_WRITE, create, existing};
use crate::practice::{self, Edit, HUNKS, Review};
use crate::prompt::Prompt;
use crate::turn::{Choice, Step, Stop, Turn};

const NOTHING_LEFT: &str = "You have rewritten every line I know, so there is nothing left for me to change. Delete the \
     file, and `edit` makes a new one.\n";

/// Asks before it writes, with the whole change in the question.
pub fn propose(turn: &mut Turn<'_>, _: &Prompt) -> Step {
    turn.say("## A proposal\n\n")?;
    match turn.abilities() {
        (true, true) => {}
        (false, _) => return turn.say(NO_READ),
        (_, false) => return turn.say(NO_WRITE),
    }
    let path = turn.cwd().join(practice::NAME);
    let Some(text) = existing(turn, &path)? else {
        return create(turn, &path).map(drop);
    };
    let (new, edits, line) = edited(&text);
    if new == text {
        return turn.say(NOTHING_LEFT);
    }
    turn.say(&format!(
        "I would like to change `{}` in three places, and ask first. Look into the file while the \
         question is open: what I want stands there as a proposal, and not a letter of yours has \
         changed. Answer for all of it in the window, or go to the file (`:Acp next`) and \
         `:Acp accept` or `:Acp reject` each place.\n\n",
        practice::NAME
    ))?;
    let title = format!("Edit {}", practice::NAME);
    let diff: Value = json!([{"type": "diff", "path": path, "oldText": text, "newText": new}]);
    let fields = json!({"content": diff, "locations": [{"path": path, "line": line}]});
    let tool = turn.tool(&title, "edit", fields);
    let asked = json!({"title": title, "kind": "edit", "content": diff});
    let offered = [
        (Choice::AllowOnce, "Change it"),
        (Choice::RejectOnce, "Do not change it"),
    ];
    match turn.permission(&tool, asked, &offered)? {
        Choice::AllowOnce | Choice::AllowAlways => {}
        Choice::RejectOnce | Choice::RejectAlways => {
            turn.tool_end(&tool, "failed", "Not changed.");
            return turn.say("Then it stays as it was. Say `next` to go on.\n");
        }
    }
    turn.tool_update(&tool, json!({"status": "in_progress"}));
    turn.write(&path, &new)?;
    turn.tool_update(&tool, json!({"status": "completed"}));
    turn.session(|session| session.review = Some(Review { path, edits }));
    turn.say(
        "It is written, less what you rejected. What you have not decided on yet waits in the file. \
         Then come back and say `done`.\n",
    )
}

/// Writes to the disk without a word to the client, as a shell command would.
pub fn disk(turn: &mut Turn<'_>, _: &Prompt) -> Step {
    turn.say("## Behind your back\n\n")?;
    let path = turn.cwd().join(practice::NAME);
    if !path.exists() {
        if !turn.abilities().1 {
            return turn.say(NO_WRITE);
        }
        return create(turn, &path).map(drop);
    }
    let failed = |why: std::io::Error| Stop::Failed(format!("`{}`: {why}.", path.display()));
    let text = std::fs::read_to_string(&path).map_err(failed)?;
    let (new, edits, line) = edited(&text);
    if new == text {
        return turn.say(NOTHING_LEFT);
    }
    turn.say(
        "Many agents do not ask the editor: they write to the disk themselves, or run a command \
         that does. I do that now.\n\n",
    )?;
    let title = format!("Rewrite {} on disk", practice::NAME);
    let fields = json!({"status": "in_progress", "locations": [{"path": path, "line": line}]});
    let tool = turn.tool(&title, "execute", fields);
    std::fs::write(&path, &new).map_err(failed)?;
    turn.beat(20)?;
    turn.tool_update(&tool, json!({"status": "completed"}));
    turn.session(|session| session.review = Some(Review { path, edits }));
    turn.say(
        "Done. If the file is open, its buffer has it already, without a question and without \
         losing what you had not saved, and the hunks are there as before.\n\n\
         - `:Acp review` lists all files and hunks, and shows each\n\
         - `:Acp undo-turn` takes back all that I did in this turn, and `:Acp undo-turn!` brings it \
         again\n\n\
         Then come back and say `done`.\n",
    )
}

/// Returns a text with the three edits made, the edits, and the line of the first one.
fn edited(text: &str) -> (String, Vec<Option<Edit>>, usize) {
    let mut new = text.to_owned();
    let mut first = None;
    let mut edits = Vec::new();
    for hunk in &HUNKS {
        let edit = hunk.edit(&new);
        if let Some((after, line)) = edit.and_then(|edit| edit.apply(&new)) {
            first.get_or_insert(line);
            new = after;
        }
        edits.push(edit);
    }
    (new, edits, first.unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_places_are_changed_at_once() {
        let (new, edits, line) = edited(practice::TEXT);
        assert_eq!(edits.iter().flatten().count(), 3);
        assert_eq!(line, 6);
        let review = Review {
            path: std::path::PathBuf::new(),
            edits,
        };
        assert_eq!(review.fates(&new), [practice::Fate::Kept; 3]);
        assert_eq!(
            edited("nothing that is known\n").0,
            "nothing that is known\n"
        );
    }
}
