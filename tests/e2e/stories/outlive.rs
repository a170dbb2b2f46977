//! Reviews outlive the Neovim they began in.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::rc::Rc;

use serde_json::json;

use super::{committed, git, list, wait_review};
use crate::files::{
    Script, check_bytes, open, prompt, start, touch, turn, wait_hunks, wait_lines, wait_pause,
};
use crate::harness::{Nvim, Project, procs};
use crate::review::{wait_file, wait_shown};

const OLD: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";
const NEW: &str = "one\nTWO\nthree\nfour\nFIVE\nsix\n";

/// Has the agent change two lines of the open file, create a file, and delete one.
#[track_caller]
fn changed() -> Nvim {
    let command = "sed -i -e s/two/TWO/ -e s/five/FIVE/ a.txt; echo new > new.txt; rm gone.txt";
    let script = Script::new().step(json!({ "shell": command }));
    let project = Project::new()
        .file("a.txt", OLD)
        .file("gone.txt", "gone\n")
        // Suppress the question about the killed Neovim's swap file.
        .before("set shortmess+=A")
        .agent("agent", &script.done());
    let nvim = start(project, "a.txt");
    turn(&nvim);
    wait_review(&nvim, 3, 4);
    wait_lines(&nvim, &NEW.lines().collect::<Vec<_>>());
    wait_shown(&nvim);
    nvim
}

/// Starts another Neovim in the same project and opens `a.txt`.
#[track_caller]
fn again(project: Rc<Project>, (files, hunks): (usize, usize)) -> Nvim {
    let nvim = Nvim::start(project);
    nvim.cmd("edit a.txt");
    open(&nvim);
    wait_review(&nvim, files, hunks);
    wait_shown(&nvim);
    nvim
}

/// Returns the files of stored reviews, of this Neovim and of earlier ones.
fn kept(nvim: &Nvim) -> Vec<Vec<u8>> {
    fn find(folder: &Path, found: &mut Vec<Vec<u8>>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                find(&path, found);
            } else if path.extension().is_some_and(|end| end == "reviews") {
                found.extend(std::fs::read(&path));
            }
        }
    }
    let mut found = Vec::new();
    find(&nvim.project.root().join("state"), &mut found);
    found
}

/// Returns the number of reviews in a stored file.
fn reviews_in(file: &[u8]) -> usize {
    stored_in(file)[1]
        .as_array()
        .expect("a list of reviews")
        .len()
}

/// Returns the content of a stored file: a magic number, a hash, and packed JSON.
fn stored_in(file: &[u8]) -> serde_json::Value {
    let packed = file.get(8 + 32..).expect("a header");
    let json = lz4_flex::block::decompress_size_prepended(packed).expect("packed bytes");
    serde_json::from_slice(&json).expect("JSON")
}

/// Kills Neovim and its agent, as the system would.
fn kill(mut nvim: Nvim) -> Rc<Project> {
    let agents = nvim.processes();
    nvim.kill();
    for process in agents {
        procs::kill(process.pid);
    }
    Rc::clone(&nvim.project)
}

/// Checks that all three files are under review, and that rejecting all restores them.
#[track_caller]
fn check_all(nvim: Nvim) {
    let expected = [
        "a.txt +2 -2",
        "      2 ~ TWO",
        "      5 ~ FIVE",
        "gone.txt -1  deleted",
        "      1 - gone",
        "new.txt +1  created",
        "      1 + new",
    ];
    assert_eq!(list(&nvim), expected);
    nvim.cmd("Acp reject all");
    wait_review(&nvim, 0, 0);
    wait_file(&nvim, "a.txt", OLD);
    wait_file(&nvim, "gone.txt", "gone\n");
    nvim.wait("the new file to be gone", || {
        !nvim.project.path("new.txt").exists()
    });
    wait_lines(&nvim, &OLD.lines().collect::<Vec<_>>());
    nvim.quit();
}

#[test]
fn a_review_continues_after_quitting() {
    let nvim = changed();
    let project = Rc::clone(&nvim.project);
    nvim.quit();
    check_all(again(project, (3, 4)));
}

#[test]
fn what_an_unsaved_undo_hides_is_under_review_in_the_next_neovim() {
    let nvim = changed();
    let project = Rc::clone(&nvim.project);
    nvim.keys("u");
    wait_lines(&nvim, &OLD.lines().collect::<Vec<_>>());
    wait_review(&nvim, 2, 2);
    nvim.quit();
    check_all(again(project, (3, 4)));
}

#[test]
fn a_users_new_file_and_binary_files_are_as_they_were_after_a_reject_in_the_next_neovim() {
    let command = r"printf '\0new' > old.bin; printf '\0made' > made.bin; chmod 600 modes.bin";
    let script = Script::new()
        .step(json!({ "shell": command }))
        .reads("mine.txt", "mine\n")
        .writes("mine.txt", "mine\nagent\n");
    let project = Project::new()
        .file("old.bin", "\0old")
        .file("modes.bin", "\0modes")
        .agent("agent", &script.done());
    let nvim = start(project, "mine.txt");
    nvim.keys("imine<Esc>");
    turn(&nvim);
    wait_review(&nvim, 4, 1);
    check_bytes(&nvim, "mine.txt", "mine\nagent\n");
    let project = Rc::clone(&nvim.project);
    nvim.quit();
    let nvim = Nvim::start(project);
    open(&nvim);
    wait_review(&nvim, 4, 1);
    let expected = [
        "made.bin  created",
        "mine.txt +1  created",
        "      2 + agent",
        "modes.bin  mode 644 → 600",
        "old.bin  binary",
    ];
    assert_eq!(list(&nvim), expected);
    nvim.cmd("Acp reject all");
    wait_review(&nvim, 0, 0);
    wait_file(&nvim, "mine.txt", "mine\n");
    wait_file(&nvim, "old.bin", "\0old");
    nvim.wait("the new file to be gone", || {
        !nvim.project.path("made.bin").exists()
    });
    let mode = std::fs::metadata(nvim.project.path("modes.bin"));
    let mode = mode.expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
    nvim.quit();
}

#[test]
fn a_file_in_an_allowed_folder_is_under_review_in_the_next_neovim() {
    let project = Project::new();
    let notes = project.root().join("home/notes");
    std::fs::create_dir(&notes).expect("the folder is new");
    let path = notes.join("a.txt").to_string_lossy().into_owned();
    touch(Path::new(&path), OLD);
    let project = project.config("permissions", json!({ "allowed_dirs": ["~/notes"] }));
    let script = Script::new().writes(&path, NEW);
    let nvim = start(project.agent("agent", &script.done()), "");
    turn(&nvim);
    wait_review(&nvim, 1, 2);
    // The folder is no longer that of a session.
    nvim.cmd("Acp close");
    nvim.cmd(&format!("edit {path}"));
    wait_shown(&nvim);
    nvim.cmd("2 | Acp accept hunk");
    let hunk = ["      5 ~ FIVE"];
    nvim.wait("the other hunk", || list(&nvim)[1..] == hunk);
    let project = Rc::clone(&nvim.project);
    nvim.quit();
    let nvim = Nvim::start(project);
    open(&nvim);
    wait_review(&nvim, 1, 1);
    assert_eq!(list(&nvim)[1..], hunk);
    nvim.cmd("Acp reject all");
    wait_review(&nvim, 0, 0);
    wait_file(&nvim, &path, &OLD.replace("two", "TWO"));
    nvim.quit();
}

#[test]
fn a_review_continues_after_a_kill() {
    let nvim = changed();
    nvim.wait("the review to be stored", || {
        // Each review is stored a moment after its change.
        kept(&nvim).iter().any(|file| reviews_in(file) == 3)
    });
    check_all(again(kill(nvim), (3, 4)));
}

/// Ends Neovim within a turn, at which moment the agent changes files, and starts another one.
#[track_caller]
fn cut(end: impl FnOnce(Nvim) -> Rc<Project>) -> Nvim {
    let script = Script::new()
        .step(json!({ "shell": "sed -i s/two/TWO/ a.txt" }))
        .pause("working");
    let project = Project::new()
        .file("a.txt", OLD)
        .file("gone.txt", "gone\n")
        .file("mine.txt", "mine\n")
        .file("notes.txt", "notes\n")
        .before("set shortmess+=A")
        .agent("agent", &script.done());
    let nvim = start(project, "mine.txt");
    prompt(&nvim);
    wait_pause(&nvim, "working");
    nvim.keys("ccmine again<Esc>");
    nvim.cmd("write");
    nvim.wait("the save to be noted", || {
        let has_saves = |file: &Vec<u8>| stored_in(file)[2] != json!([]);
        kept(&nvim).iter().any(has_saves)
    });
    let project = end(nvim);
    again(project, (3, 4))
}

#[test]
fn what_the_agent_does_until_its_end_is_under_review_in_the_next_neovim() {
    let ends: [fn(Nvim) -> Rc<Project>; 2] = [kill, |nvim| {
        let project = Rc::clone(&nvim.project);
        nvim.quit();
        project
    }];
    for end in ends {
        let nvim = cut(|nvim| {
            let project = Rc::clone(&nvim.project);
            // The last moment before the end: no report of it reaches the review.
            touch(&project.path("a.txt"), NEW);
            touch(&project.path("new.txt"), "new\n");
            std::fs::remove_file(project.path("gone.txt")).expect("the file");
            end(nvim)
        });
        check_all(nvim);
    }
}

#[test]
fn earlier_decisions_and_edits_made_in_between_are_respected() {
    let nvim = changed();
    let before = kept(&nvim);
    nvim.keys("2G\\a");
    wait_review(&nvim, 3, 3);
    nvim.wait("the decision to be stored", || {
        let now = kept(&nvim);
        !now.is_empty() && now != before
    });
    let project = Rc::clone(&nvim.project);
    nvim.quit();
    // The user edits the file in another editor.
    let text = format!("{}theirs\n", NEW.replace("three", "THREE"));
    touch(&project.path("a.txt"), &text);
    let nvim = again(project, (3, 3));
    nvim.cmd("Acp reject all");
    wait_review(&nvim, 0, 0);
    wait_file(&nvim, "a.txt", &text.replace("FIVE", "five"));
    nvim.quit();
}

#[test]
fn a_review_continues_more_than_once() {
    let nvim = changed();
    let project = Rc::clone(&nvim.project);
    nvim.quit();
    let nvim = again(project, (3, 4));
    let project = Rc::clone(&nvim.project);
    nvim.quit();
    check_all(again(project, (3, 4)));
}

/// Has the agent change a line of the open file, which is committed.
#[track_caller]
fn changed_since_commit() -> Nvim {
    let script = Script::new().step(json!({ "shell": "sed -i -e s/two/TWO/ a.txt" }));
    let project = Project::new()
        .file("a.txt", OLD)
        .agent("agent", &script.done());
    let nvim = start(committed(project), "a.txt");
    turn(&nvim);
    wait_review(&nvim, 1, 1);
    nvim
}

#[test]
fn a_review_is_over_when_git_has_reset_the_file_in_between() {
    let nvim = changed_since_commit();
    wait_shown(&nvim);
    // The line next to the hunk is the user's.
    nvim.keys("1Gccmine<Esc>:write<CR>");
    wait_file(&nvim, "a.txt", "mine\nTWO\nthree\nfour\nfive\nsix\n");
    let project = Rc::clone(&nvim.project);
    nvim.quit();
    git(&project, &["reset", "--quiet", "--hard"]);
    assert_eq!(project.read("a.txt"), OLD);
    check_over(project);
}

/// Starts another Neovim, and checks that nothing is under review there.
#[track_caller]
fn check_over(project: Rc<Project>) {
    let nvim = Nvim::start(project);
    nvim.cmd("edit a.txt");
    open(&nvim);
    nvim.wait("the stored review to be over", || {
        kept(&nvim).iter().all(|file| reviews_in(file) == 0)
    });
    wait_hunks(&nvim, json!([]));
    assert!(!nvim.screen().has("undecided changes"));
    nvim.quit();
}

#[test]
fn a_review_is_over_when_the_user_has_committed_the_file_in_between() {
    let nvim = changed_since_commit();
    nvim.wait("the review to be stored, with what git has", || {
        let is_known = |file: &Vec<u8>| {
            let reviews = stored_in(file)[1].to_string();
            reviews.contains(r#""is_uncommitted":true"#)
        };
        kept(&nvim).iter().any(is_known)
    });
    let project = Rc::clone(&nvim.project);
    nvim.quit();
    git(
        &project,
        &["commit", "--quiet", "--all", "--message", "two"],
    );
    check_over(project);
}

/// Has the agent replace a file by a folder and a folder by a file, and kills Neovim within a reject of
/// all, after what the agent created is removed and before the rest is restored. The user has the
/// replaced file open, or another one. Starts another Neovim.
#[track_caller]
fn cut_within_a_reject(shown: &str) -> Nvim {
    // On a busy machine, the kill may come too late.
    let mut tries = (0..20).map(|_| cut_after_half_of_a_reject(shown));
    let nvim = Nvim::start(tries.find_map(|cut| cut).expect("a kill in time"));
    nvim.cmd("edit mine.txt");
    open(&nvim);
    wait_review(&nvim, 3, 3);
    nvim
}

/// Returns the project as the killed Neovim has left it; `None` if it had restored a file.
#[track_caller]
fn cut_after_half_of_a_reject(shown: &str) -> Option<Rc<Project>> {
    let command = "rm a.txt; mkdir a.txt; echo new > a.txt/new; rm -r d; echo new > d";
    let script = Script::new().step(json!({ "shell": command }));
    let project = Project::new()
        .file("a.txt", OLD)
        .file("d/x", "x\n")
        .file("d/y/z", "z\n")
        .file("mine.txt", "mine\n")
        .before("set shortmess+=A")
        // Time for a kill between two operations on files.
        .env("ACP_TEST_SLOW", "host")
        .agent("agent", &script.done());
    let nvim = start(project, shown);
    turn(&nvim);
    wait_review(&nvim, 5, 5);
    nvim.wait("the review to be stored", || {
        kept(&nvim).iter().any(|file| reviews_in(file) == 5)
    });
    nvim.cmd("Acp reject all");
    let path = |name| nvim.project.path(name);
    let (made, folder) = (path("a.txt/new"), path("d"));
    nvim.wait("what the agent created to be gone", || {
        !made.exists() && !folder.is_file()
    });
    let gone = [path("a.txt"), path("d/x"), path("d/y/z")];
    let project = kill(nvim);
    let is_in_time = gone.iter().all(|path| !path.is_file());
    is_in_time.then_some(project)
}

#[test]
fn a_reject_of_files_and_folders_that_is_cut_in_half_is_completed_in_the_next_neovim() {
    for shown in ["a.txt", "mine.txt"] {
        let nvim = cut_within_a_reject(shown);
        let expected = [
            "a.txt -6  deleted",
            "      1 - one",
            "d/x -1  deleted",
            "      1 - x",
            "d/y/z -1  deleted",
            "      1 - z",
        ];
        assert_eq!(list(&nvim), expected);
        nvim.cmd("Acp reject all");
        wait_review(&nvim, 0, 0);
        wait_file(&nvim, "a.txt", OLD);
        wait_file(&nvim, "d/x", "x\n");
        wait_file(&nvim, "d/y/z", "z\n");
        nvim.quit();
    }
}

#[test]
fn what_is_recovered_from_a_swap_file_keeps_the_hunks_and_the_users_text() {
    let nvim = changed();
    nvim.keys("G");
    crate::killed::type_and_rest(&nvim, "mine");
    let nvim = again(kill(nvim), (3, 4));
    recover(&nvim);
    wait_lines(
        &nvim,
        &["one", "TWO", "three", "four", "FIVE", "six", "mine"],
    );
    nvim.cmd("Acp reject all");
    wait_review(&nvim, 0, 0);
    wait_lines(
        &nvim,
        &["one", "two", "three", "four", "five", "six", "mine"],
    );
    nvim.quit();
}

/// Reads the current file from its swap file.
#[track_caller]
fn recover(nvim: &Nvim) {
    nvim.cmd("set shortmess-=A");
    nvim.keys(":edit!<CR>");
    nvim.wait_text("(R)ecover");
    nvim.keys("r");
    nvim.wait_text("ENTER");
    nvim.keys("<CR>");
}
