//! Guarantees that hold for every way a change arrives: asked for first, through the client, on
//! disk.

use serde_json::{Value as Json, json};

use crate::files::{Script, check_bytes, prompt, start, turn, wait_hunks, wait_lines};
use crate::harness::{Nvim, Project};
use crate::review::{wait_file, wait_files, wait_shown};

const DOORS: [Door; 3] = [Door::Asked, Door::Client, Door::Disk];

const OLD: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";
const NEW: &str = "one\nTWO\nthree\nfour\nFIVE\nsix\n";

/// The ways a change arrives.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Door {
    /// The agent asks, the user allows it, and the agent writes to disk.
    Asked,
    /// `fs/write_text_file`.
    Client,
    /// The agent writes to disk without asking.
    Disk,
}

impl Door {
    /// Adds a write of a file.
    fn write(self, script: Script, path: &str, old: Option<&str>, new: &str) -> Script {
        let place = format!("${{cwd}}/{path}");
        let touch = json!({ "touch": { "path": place, "content": new } });
        match self {
            Door::Client => script.writes(path, new),
            Door::Disk => script.step(touch),
            Door::Asked => {
                let diff = json!({ "type": "diff", "path": place, "oldText": old, "newText": new });
                let ask = json!({
                    "toolCallId": "t", "title": "Edit", "kind": "edit", "content": [diff],
                });
                script
                    .step(json!({ "permission": ask, "as": "q" }))
                    .step(json!({ "await": "q", "choice": "allow_once" }))
                    .step(touch)
            }
        }
    }

    /// Opens `a.txt`, which the agent changes from `old` to `new` in its first turn.
    #[track_caller]
    fn start(self, old: &str, new: &str) -> Nvim {
        let script = self.write(Script::new(), "a.txt", Some(old), new);
        let project = Project::new().file("a.txt", old);
        start(project.agent("agent", &script.done()), "a.txt")
    }

    /// Runs a turn in which the user allows every request.
    #[track_caller]
    fn turn(self, nvim: &Nvim) {
        if self == Door::Asked {
            nvim.lua(
                "vim.api.nvim_create_autocmd('User', { pattern = 'AcpPermissionRequested',
                    callback = function()
                        local acp = require('acp')
                        for _, asked in ipairs(acp.permission.list()) do
                            acp.permission.answer(asked.id, 'allow_once')
                        end
                    end })",
                (),
            );
        }
        turn(nvim);
    }

    /// Opens `a.txt` and waits until the agent's change of it is shown as hunks.
    #[track_caller]
    fn changed(self, old: &str, new: &str) -> Nvim {
        let nvim = self.start(old, new);
        self.turn(&nvim);
        wait_lines(&nvim, &lines(new));
        wait_shown(&nvim);
        nvim
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

fn two_hunks() -> Json {
    json!([
        [1, ["two"], ["TWO"], "pending"],
        [4, ["five"], ["FIVE"], "pending"]
    ])
}

#[test]
fn an_unsaved_line_and_the_agents_change_both_survive() {
    for door in DOORS {
        let nvim = door.start(OLD, NEW);
        nvim.keys("3Gomine<Esc>");
        door.turn(&nvim);
        let both = NEW.replace("three\n", "three\nmine\n");
        wait_lines(&nvim, &lines(&both));
        nvim.keys(":write<CR>");
        wait_file(&nvim, "a.txt", &both);
        nvim.quit();
    }
}

#[test]
fn two_writes_without_a_read_duplicate_nothing() {
    for door in DOORS {
        let last = NEW.replace("six\n", "SIX\nseven\n");
        let script = door.write(Script::new(), "a.txt", Some(OLD), NEW);
        let script = door.write(script, "a.txt", Some(NEW), &last);
        let project = Project::new().file("a.txt", OLD);
        let nvim = start(project.agent("agent", &script.done()), "a.txt");
        nvim.keys("3Gomine<Esc>");
        door.turn(&nvim);
        let both = last.replace("three\n", "three\nmine\n");
        wait_lines(&nvim, &lines(&both));
        nvim.keys(":write<CR>");
        wait_file(&nvim, "a.txt", &both);
        nvim.quit();
    }
}

#[test]
fn the_agents_next_read_includes_its_change() {
    for door in DOORS {
        for open in ["a.txt", ""] {
            let mine = if open.is_empty() { "" } else { "mine\n" };
            let script = door.write(Script::new(), "a.txt", Some(OLD), NEW);
            let script = script.turn().reads("a.txt", &format!("{NEW}{mine}"));
            let project = Project::new().file("a.txt", OLD);
            let nvim = start(project.agent("agent", &script.done()), open);
            if !open.is_empty() {
                nvim.keys("Gomine<Esc>");
            }
            door.turn(&nvim);
            prompt(&nvim);
            nvim.wait_script("agent");
            nvim.quit();
        }
    }
}

#[test]
fn one_of_two_hunks_is_accepted_and_the_other_rejected() {
    for door in DOORS {
        let nvim = door.changed(OLD, NEW);
        wait_hunks(&nvim, two_hunks());
        nvim.keys("2G\\a");
        wait_hunks(&nvim, json!([[4, ["five"], ["FIVE"], "pending"]]));
        nvim.keys("5G\\r");
        let left = NEW.replace("FIVE", "five");
        wait_lines(&nvim, &lines(&left));
        wait_file(&nvim, "a.txt", &left);
        wait_hunks(&nvim, json!([]));
        nvim.quit();
    }
}

#[test]
fn edits_beside_a_hunk_are_the_users_and_edits_inside_join_it() {
    for door in DOORS {
        let nvim = door.changed(OLD, NEW);
        nvim.keys("3GAbeside<Esc>5GAinside<Esc>");
        wait_hunks(
            &nvim,
            json!([
                [1, ["two"], ["TWO"], "pending"],
                [4, ["five"], ["FIVEinside"], "pending"]
            ]),
        );
        nvim.cmd("Acp reject all");
        wait_lines(&nvim, &lines(&OLD.replace("three", "threebeside")));
        nvim.quit();
    }
}

#[test]
fn undo_of_a_deletion_by_the_agent_drops_only_that_hunk() {
    for door in DOORS {
        let old = format!("{OLD}seven\neight\nnine\n");
        let nvim = door.changed(&old, &format!("{NEW}seven\nnine\n"));
        nvim.cmd("7put ='eight'");
        wait_hunks(&nvim, two_hunks());
        nvim.quit();
    }
}

#[test]
fn undo_of_a_reject_restores_text_and_hunk() {
    for door in DOORS {
        let nvim = door.changed(OLD, NEW);
        nvim.keys("2G\\r");
        wait_hunks(&nvim, json!([[4, ["five"], ["FIVE"], "pending"]]));
        nvim.keys("u");
        wait_lines(&nvim, &lines(NEW));
        wait_hunks(&nvim, two_hunks());
        nvim.keys("<C-r>");
        wait_lines(&nvim, &lines(&NEW.replace("TWO", "two")));
        wait_hunks(&nvim, json!([[4, ["five"], ["FIVE"], "pending"]]));
        nvim.quit();
    }
}

#[test]
fn a_created_file_that_is_rejected_is_deleted_unless_the_user_has_edited_it() {
    for door in DOORS {
        for edit in [false, true] {
            let script = door.write(Script::new(), "new/b.txt", None, "a\nb\n");
            let nvim = start(Project::new().agent("agent", &script.done()), "");
            door.turn(&nvim);
            wait_hunks(&nvim, json!([[0, [], ["a", "b"], "pending"]]));
            nvim.cmd("edit new/b.txt");
            wait_shown(&nvim);
            if edit {
                nvim.keys("ouser<Esc>:write<CR>");
                wait_file(&nvim, "new/b.txt", "a\nuser\nb\n");
            }
            nvim.cmd("Acp reject all");
            wait_hunks(&nvim, json!([]));
            if edit {
                wait_file(&nvim, "new/b.txt", "user\n");
            } else {
                let path = nvim.project.path("new/b.txt");
                nvim.wait("the file to be gone", || !path.exists());
            }
            nvim.quit();
        }
    }
}

#[test]
fn a_reject_restores_the_last_accepted_version() {
    for door in DOORS {
        for open in ["", "b.txt"] {
            let script = door.write(Script::new(), "b.txt", None, "v1\n").turn();
            let script = door.write(script, "b.txt", Some("v1\n"), "v2\n");
            let nvim = start(Project::new().agent("agent", &script.done()), open);
            door.turn(&nvim);
            wait_hunks(&nvim, json!([[0, [], ["v1"], "pending"]]));
            nvim.cmd("Acp accept all");
            wait_hunks(&nvim, json!([]));
            turn(&nvim);
            wait_hunks(&nvim, json!([[0, ["v1"], ["v2"], "pending"]]));
            nvim.cmd("Acp reject all");
            wait_file(&nvim, "b.txt", "v1\n");
            nvim.quit();
        }
    }
}

#[test]
fn an_overwritten_and_a_deleted_file_are_restored() {
    for open in ["", "a.txt"] {
        for door in DOORS {
            let script = door.write(Script::new(), "a.txt", Some(OLD), "all\nnew\n");
            let project = Project::new().file("a.txt", OLD);
            let nvim = start(project.agent("agent", &script.done()), open);
            door.turn(&nvim);
            wait_file(&nvim, "a.txt", "all\nnew\n");
            let hunks = "return #require('acp').review.hunks() > 0";
            nvim.wait("hunks", || nvim.lua(hunks, ()) == true);
            nvim.cmd("Acp reject all");
            wait_file(&nvim, "a.txt", OLD);
            nvim.quit();
        }
        let script = Script::new().step(json!({ "shell": "rm a.txt" }));
        let project = Project::new().file("a.txt", OLD);
        let nvim = start(project.agent("agent", &script.done()), open);
        turn(&nvim);
        wait_files(&nvim, 1);
        nvim.cmd("Acp reject all");
        wait_file(&nvim, "a.txt", OLD);
        nvim.quit();
    }
}

/// Changes one line through a door; the review must show one changed line, the disk must have
/// exactly `new`, and after a reject exactly `old`.
#[track_caller]
fn check_format(old: &[u8], new: &[u8]) {
    let text = |bytes: &[u8]| -> String {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => bytes.iter().map(|&byte| char::from(byte)).collect(),
        }
    };
    for door in [Door::Client, Door::Asked] {
        let script = match door {
            // The agent changes the file's bytes directly.
            Door::Asked | Door::Disk => {
                let diff = json!({
                    "type": "diff", "path": "${cwd}/a.txt", "oldText": "two", "newText": "2",
                });
                let ask = json!({
                    "toolCallId": "t", "title": "Edit", "kind": "edit", "content": [diff],
                });
                Script::new()
                    .step(json!({ "permission": ask, "as": "q" }))
                    .step(json!({ "await": "q", "choice": "allow_once" }))
                    .step(json!({ "shell": "LC_ALL=C sed -i 's/two/2/' a.txt" }))
            }
            Door::Client => Script::new().writes("a.txt", &text(new)),
        };
        let project = Project::new().file("a.txt", old);
        let nvim = start(project.agent("agent", &script.done()), "");
        door.turn(&nvim);
        wait_hunks(&nvim, json!([[1, ["two"], ["2"], "pending"]]));
        check_bytes(&nvim, "a.txt", new);
        nvim.cmd("edit a.txt");
        wait_shown(&nvim);
        nvim.cmd("Acp reject all");
        nvim.wait("the old bytes", || {
            std::fs::read(nvim.project.path("a.txt")).is_ok_and(|there| there == old)
        });
        nvim.quit();
    }
}

#[test]
fn one_changed_line_is_one_changed_line_in_every_format() {
    check_format(b"one\r\ntwo\r\nthree\r\n", b"one\r\n2\r\nthree\r\n");
    check_format(b"one\ntwo\nthree", b"one\n2\nthree");
    check_format(b"\xef\xbb\xbfone\ntwo\n", b"\xef\xbb\xbfone\n2\n");
    check_format(b"caf\xe9\ntwo\n", b"caf\xe9\n2\n");
}
