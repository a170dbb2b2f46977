//! Lessons about two more ways to change a file: a proposal first, or a write straight to disk.

use serde_json::{Value, json};

use crate::files::{NO_READ, NO_WRITE, NOTHING_LEFT, create, existing};
use crate::practice::{self, Edit, HUNKS, Review};
use crate::prompt::Prompt;
use crate::turn::{Choice, Flow, Stop, Turn};

/// Shows the whole change in a permission request before writing it.
pub fn propose(turn: &mut Turn<'_>, _: &Prompt) -> Flow {
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
        "I would like to change `{}` in three places, and I am asking first. Look at the file \
         while the question is open: it shows my proposal, but your text has not changed. Answer \
         for all three (`<Esc>` in the chat goes to the question), or go to the file (`:Acp next`) \
         and decide each one with `:Acp accept` or `:Acp reject`.\n\n",
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
            return turn.say("Then the file stays as it was. Say `next` to go on.\n");
        }
    }
    turn.tool_update(&tool, json!({"status": "in_progress"}));
    turn.write(&path, &new)?;
    turn.tool_update(&tool, json!({"status": "completed"}));
    turn.session(|session| session.review = Some(Review { path, edits }));
    turn.say(
        "The change is written, without what you rejected. What you have not decided yet is in the \
         file, as hunks. When you have decided, come back and say `done`.\n",
    )
}

/// Writes to disk without telling the client, as a shell command would.
pub fn disk(turn: &mut Turn<'_>, _: &Prompt) -> Flow {
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
        "Many agents bypass the editor: they write to disk themselves, or run a command that does. \
         I am doing that now.\n\n",
    )?;
    let title = format!("Rewrite {} on disk", practice::NAME);
    let fields = json!({"status": "in_progress", "locations": [{"path": path, "line": line}]});
    let tool = turn.tool(&title, "execute", fields);
    std::fs::write(&path, &new).map_err(failed)?;
    turn.beat(20)?;
    turn.tool_update(&tool, json!({"status": "completed"}));
    turn.session(|session| session.review = Some(Review { path, edits }));
    turn.say(
        "Done. If the file is open, its buffer already shows the change: Neovim did not ask, your \
         unsaved edits are kept, and the hunks are marked as usual.\n\n\
         - `:Acp review` lists all files and hunks, with a preview\n\
         - `:Acp undo-turn` takes back everything I did in this turn, and `:Acp undo-turn!` brings \
         it back\n\n\
         When you are finished, come back and say `done`.\n",
    )
}

/// Makes the three edits; returns the new text, the edits, and the line of the first one.
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
        assert_eq!(review.decisions(&new), [practice::Decision::Kept; 3]);
        assert_eq!(edited("no known line\n").0, "no known line\n");
    }
}
