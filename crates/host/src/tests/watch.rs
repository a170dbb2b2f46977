//! Changes on disk are reported soon, from any source, and nothing else wakes the host.

use acp_core::event::ProjectEvent;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::Write as _;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::*;
use acp_core::spine::effect::Turns;
use acp_core::spine::project::{Body, Checkpoint};

/// An open project, and the state of its files according to the reports.
struct Project {
    run: Run,
    root: PathBuf,
    known: RefCell<BTreeMap<PathBuf, String>>,
    /// The files that were reported as new or removed, not as moved.
    halves: RefCell<Vec<PathBuf>>,
    limited: RefCell<Vec<String>>,
    token: Cell<u64>,
}

impl Project {
    /// Opens a project with these files, and waits until it is watched.
    fn new(files: &[(&str, &str)]) -> Self {
        Self::with(files, |_| ())
    }

    fn with(files: &[(&str, &str)], change: impl FnOnce(&mut HostConfig)) -> Self {
        let run = Run::with(change);
        let root = run.path("work");
        fs::create_dir_all(&root).expect("a folder");
        let project = Self {
            run,
            root,
            known: RefCell::default(),
            halves: RefCell::default(),
            limited: RefCell::default(),
            token: Cell::new(0),
        };
        for (name, text) in files {
            project.write(name, text);
        }
        let root = project.root.clone();
        project.run.host.run(HostEffect::OpenProject { root });
        project.checkpoint(Turns::Over);
        project
    }

    /// Writes a file, and creates its parent folders.
    fn write(&self, name: &str, text: &str) {
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    /// Replaces a file in one step, by one from a folder that is not watched: the system
    /// reports it once, so that there is one look, however slow the machine is.
    fn replace(&self, name: &str, text: &str) {
        let folder = tempfile::tempdir().expect("a folder");
        let new = folder.path().join("new");
        fs::write(&new, text).expect("a file");
        fs::rename(new, self.root.join(name)).expect("the same file system");
    }

    fn track(&self, path: &Path) {
        self.run.host.run(HostEffect::Track {
            root: self.root.clone(),
            paths: vec![path.to_owned()],
        });
        self.checkpoint(Turns::Over);
    }

    /// Takes a checkpoint; applies the changes reported before its answer.
    fn checkpoint(&self, turns: Turns) -> Checkpoint {
        let number = self.token.get();
        let token = Token::new(number);
        self.token.set(number + 1);
        let root = self.root.clone();
        self.run
            .host
            .run(HostEffect::Checkpoint { token, root, turns });
        loop {
            if let Event::Project(ProjectEvent::CheckpointTaken {
                token: taken,
                result,
            }) = self.take()
            {
                assert_eq!(taken, token);
                return result.expect("a checkpoint");
            }
        }
    }

    /// Handles the next event.
    fn take(&self) -> Event {
        let event = self.run.next();
        match &event {
            Event::Project(ProjectEvent::Changed { changes, .. }) => {
                let mut known = self.known.borrow_mut();
                for change in changes {
                    if change.before.is_missing() || change.after.is_missing() {
                        self.halves.borrow_mut().push(change.path.clone());
                    }
                    if let Some(from) = &change.from {
                        known.remove(from);
                    }
                    match &change.after.body {
                        Body::Text(text) => {
                            known.insert(change.path.clone(), text.text.to_string());
                        }
                        Body::Missing => {
                            known.remove(&change.path);
                        }
                        other => panic!("{other:?}"),
                    }
                }
            }
            Event::Project(ProjectEvent::WatchLimited { why, .. }) => {
                self.limited.borrow_mut().push(why.clone())
            }
            Event::Project(ProjectEvent::CheckpointTaken { .. }) => {}
            other => panic!("{other:?}"),
        }
        event
    }

    /// Waits until a file is known to have this text, or to be gone.
    #[track_caller]
    fn check(&self, name: &str, text: Option<&str>) {
        let path = self.root.join(name);
        while self.known.borrow().get(&path).map(String::as_str) != text {
            self.take();
        }
    }

    /// Returns the number of looks at the project so far.
    fn looks(&self) -> usize {
        self.looks_at("")
    }

    /// Returns the number of looks at `what`.
    fn looks_at(&self, what: &str) -> usize {
        self.run.host.kit.log.flush(DEADLINE);
        let (log, part) = (read(&self.run.path("acp.log")), format!("looked at {what}"));
        log.lines().filter(|line| line.contains(&part)).count()
    }

    /// Checks that all looks since the first `before` are a single one, at a single path. A burst of
    /// changes causes one look, which counts the paths that asked for it.
    #[track_caller]
    fn check_one_look(&self, before: usize) {
        assert_eq!(self.looks() - before, 1);
        let log = read(&self.run.path("acp.log"));
        let last = log.lines().rfind(|line| line.contains("looked at "));
        assert!(
            last.is_some_and(|line| line.contains(" 1 paths ")),
            "{last:?}"
        );
    }

    /// Truncates a file and writes the first half of its new content; the host has noticed.
    fn half(&self, name: &str) -> fs::File {
        let path = self.root.join(name);
        let mut file = fs::File::create(&path).expect("a file");
        file.write_all(b"half").expect("written");
        let writers = &self.run.host.kit.writers;
        wait_for("the writer to be known", || writers.is_open(&path, 4));
        file
    }
}

#[test]
fn a_change_is_reported_immediately() {
    let project = Project::new(&[("a", "one\n"), ("src/b", "one\n")]);
    project.write("a", "two\n");
    project.check("a", Some("two\n"));
    project.write("src/b", "two\n");
    project.check("src/b", Some("two\n"));
    fs::remove_file(project.root.join("src/b")).expect("removed");
    project.check("src/b", None);
}

#[test]
fn a_storm_of_changes_causes_few_looks_and_a_correct_state() {
    let project = Project::new(&[("a", "one\n")]);
    let (before, start) = (project.looks(), Instant::now());
    let folder = project.root.join("storm");
    fs::create_dir(&folder).expect("a folder");
    let create = |n| fs::File::create(folder.join(format!("{n}"))).expect("a file");
    let files: Vec<fs::File> = (0..100).map(create).collect();
    for n in 0..10_000 {
        let text = format!("{n:05}\n");
        files[n % 100]
            .write_all_at(text.as_bytes(), 0)
            .expect("written");
    }
    for n in 0..100 {
        project.check(&format!("storm/{n}"), Some(&format!("{:05}\n", 9_900 + n)));
    }
    let (looks, took) = (project.looks() - before, start.elapsed());
    // On a busy machine it lasts long.
    assert!(
        looks as f64 <= 10.0 + 40.0 * took.as_secs_f64(),
        "{looks} looks in {took:?}"
    );
}

#[test]
fn new_folders_are_watched_at_any_depth() {
    let project = Project::new(&[]);
    project.write("a/b/c/d/e/f", "one\n");
    project.check("a/b/c/d/e/f", Some("one\n"));
    project.write("a/b/c/d/e/f", "two\n");
    project.check("a/b/c/d/e/f", Some("two\n"));
    project.write("a/b/x/y", "one\n");
    project.check("a/b/x/y", Some("one\n"));
}

#[test]
fn a_folder_that_was_moved_is_watched_where_it_is() {
    let project = Project::new(&[("a/b/c", "one\n")]);
    fs::rename(project.root.join("a"), project.root.join("z")).expect("moved");
    project.write("z/b/c", "two\n");
    project.check("z/b/c", Some("two\n"));
    project.check("a/b/c", None);
    project.write("a/b/c", "three\n");
    project.check("a/b/c", Some("three\n"));
    project.write("a/b/c", "four\n");
    project.check("a/b/c", Some("four\n"));
    // A file removed and created again within one look.
    fs::remove_dir_all(project.root.join("z")).expect("removed");
    project.write("z/b/c", "five\n");
    project.check("z/b/c", Some("five\n"));
    project.write("z/b/c", "six\n");
    project.check("z/b/c", Some("six\n"));
}

#[test]
fn no_look_takes_a_move_for_a_new_and_a_removed_file() {
    const FILES: usize = 40;
    // Many in a row may take longer than anything is postponed.
    const AT_ONCE: usize = 5;
    let name = |n: usize| n.to_string();
    let text = |n: usize, last: &str| format!("{n} one\n{n} two\n{n} three\n{last}\n");
    let texts: Vec<_> = (0..FILES).map(|n| (name(n), text(n, "old"))).collect();
    let texts = texts.iter().map(|(name, text)| (&name[..], &text[..]));
    let project = Project::new(&texts.collect::<Vec<_>>());
    project.write("to/keep", "");
    project.checkpoint(Turns::Running);
    project.halves.take();
    for first in (0..FILES).step_by(AT_ONCE) {
        let (root, new) = (project.root.clone(), project.run.path("new"));
        let mover = thread::spawn(move || {
            for n in first..first + AT_ONCE {
                let from = root.join(name(n));
                fs::write(&new, text(n, "new")).expect("a file");
                fs::rename(&new, &from).expect("replaced");
                // At any moment of the looks, which are made without a pause.
                let wait = RandomState::new().hash_one(n) % 40;
                thread::sleep(Duration::from_millis(wait));
                fs::rename(from, root.join("to").join(name(n))).expect("moved");
            }
        });
        while !mover.is_finished() {
            project.checkpoint(Turns::Running);
        }
        mover.join().expect("no panic");
        project.checkpoint(Turns::Running);
        assert_eq!(project.halves.take(), [] as [PathBuf; 0]);
    }
}

#[test]
fn irrelevant_changes_cause_no_look() {
    let files = [
        ("a", "one\n"),
        (".gitignore", "/out\n"),
        ("out/a", "one\n"),
        (".git/a", ""),
    ];
    let project = Project::new(&files);
    let before = project.looks();
    read(&project.root.join("a"));
    project.write(".acp-abcDEF012345.tmp", "ours\n");
    project.write("out/a", "two\n");
    project.write(".git/a", "two\n");
    assert_eq!(fs::read_dir(&project.root).expect("a folder").count(), 5);
    project.replace("a", "two\n");
    project.check("a", Some("two\n"));
    project.check_one_look(before);
}

#[test]
fn a_changed_gitignore_changes_what_is_watched() {
    let project = Project::new(&[("out/a", "one\n"), ("b", "one\n")]);
    project.replace(".gitignore", "out\n");
    project.check(".gitignore", Some("out\n"));
    project.checkpoint(Turns::Over);
    let before = project.looks();
    project.write("out/a", "two\n");
    project.replace("b", "two\n");
    project.check("b", Some("two\n"));
    project.check_one_look(before);
    project.write(".gitignore", "\n");
    project.check(".gitignore", Some("\n"));
    project.write("out/a", "three\n");
    project.check("out/a", Some("three\n"));
}

#[test]
fn tracked_files_are_watched_in_any_folder() {
    let project = Project::new(&[(".gitignore", "out\n"), ("out/deep/a", "one\n")]);
    project.track(&project.root.join("out/deep/a"));
    project.replace("out/deep/a", "two\n");
    project.check("out/deep/a", Some("two\n"));
    project.checkpoint(Turns::Over);
    let before = project.looks();
    project.write("out/deep/other", "two\n");
    project.replace("out/deep/a", "three\n");
    project.check("out/deep/a", Some("three\n"));
    project.check_one_look(before);
    assert_eq!(project.known.borrow().len(), 1, "others stay hidden");
    // Its folder is removed and created again.
    fs::remove_dir_all(project.root.join("out")).expect("removed");
    project.check("out/deep/a", None);
    project.write("out/deep/a", "four\n");
    project.check("out/deep/a", Some("four\n"));
    project.write("out/deep/a", "five\n");
    project.check("out/deep/a", Some("five\n"));
}

#[test]
fn tracked_files_outside_the_project_are_watched() {
    let project = Project::new(&[]);
    let outside = project.run.path("outside");
    project.track(&outside.join("a"));
    fs::create_dir(&outside).expect("a folder");
    fs::write(outside.join("a"), "one\n").expect("a file");
    let name = outside.join("a");
    project.check(name.to_str().expect("a path"), Some("one\n"));
    fs::write(outside.join("a"), "two\n").expect("a file");
    project.check(name.to_str().expect("a path"), Some("two\n"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_turn_begins_with_a_look_at_what_was_reported_only() {
    let project = Project::new(&[("a", "0\n"), ("d/b", "0\n")]);
    for n in 1..20 {
        let before = project.looks_at("everything");
        let text = format!("{n}\n");
        project.write("a", &text);
        project.write("d/b", &text);
        project.write(&format!("new{n}/e/c"), &text);
        project.checkpoint(Turns::Running);
        let names = ["a".to_owned(), "d/b".to_owned(), format!("new{n}/e/c")];
        for name in names {
            let known = project.known.borrow();
            let known = known.get(&project.root.join(&name)).map(String::as_str);
            assert_eq!(known, Some(text.as_str()), "{name}");
        }
        assert_eq!(project.looks_at("everything"), before);
        project.checkpoint(Turns::Over);
        assert_eq!(project.looks_at("everything"), before + 1, "the turn's end");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_made_unseen_before_a_turn_that_looks_at_little_is_not_new() {
    let project = Project::new(&[(".gitignore", "out\n"), ("b", "2\n")]);
    let hidden = project.root.join("out/a");
    project.write("out/a", "the user's\n");
    let meta = || fs::metadata(&hidden).expect("a file");
    if meta().created().is_err() {
        return;
    }
    wait_for("a time to be past", || {
        let age = meta().modified().expect("a time").elapsed();
        age.is_ok_and(|age| age > Duration::from_millis(60))
    });
    let before = project.looks_at("everything");
    project.checkpoint(Turns::Running);
    assert_eq!(project.looks_at("everything"), before);
    project.write("out/a", "the agent's\n");
    project.write(".gitignore", "");
    loop {
        let Event::Project(ProjectEvent::Changed { changes, .. }) = project.take() else {
            continue;
        };
        if let Some(change) = changes.iter().find(|change| change.path == hidden) {
            let state = &change.before.body;
            assert!(matches!(state, Body::Unreadable(_)), "{state:?}");
            return;
        }
    }
}

#[test]
fn a_file_written_by_another_name_is_reported_before_a_turn_begins() {
    let project = Project::new(&[("d/a", "one\n")]);
    let other = project.run.path("other");
    fs::hard_link(project.root.join("d/a"), &other).expect("a link");
    for text in ["two\n", "three\n"] {
        project.checkpoint(Turns::Running);
        project.checkpoint(Turns::Over);
        fs::write(&other, text).expect("a file");
        project.checkpoint(Turns::Running);
        let known = project.known.borrow();
        let known = known.get(&project.root.join("d/a")).map(String::as_str);
        assert_eq!(known, Some(text));
        project.checkpoint(Turns::Over);
    }
}

#[test]
fn a_file_that_becomes_visible_is_reported_before_a_turn_begins() {
    let project = Project::new(&[(".git/info/exclude", "out\n"), ("out/a", "one\n")]);
    project.checkpoint(Turns::Running);
    project.checkpoint(Turns::Over);
    // One that has not changed since the last look is not reported.
    project.write("out/a", "two\n");
    project.write(".git/info/exclude", "");
    project.checkpoint(Turns::Running);
    let known = project.known.borrow();
    let known = known.get(&project.root.join("out/a")).map(String::as_str);
    assert_eq!(known, Some("two\n"));
}

#[test]
fn a_checkpoint_while_another_turn_runs_looks_at_everything() {
    let project = Project::new(&[("a", "one\n")]);
    project.checkpoint(Turns::Running);
    let before = project.looks_at("everything");
    project.checkpoint(Turns::Running);
    assert_eq!(project.looks_at("everything"), before + 1);
}

#[test]
fn without_enough_watches_a_turn_begins_with_a_look_at_everything() {
    let files = [("a/a", "one\n"), ("b/a", "one\n")];
    let project = Project::with(&files, |config| {
        config.limits.project.watches = 1;
        config.limits.project.compare_every = DEADLINE;
    });
    for text in ["two\n", "three\n"] {
        project.write("b/a", text);
        project.checkpoint(Turns::Running);
        let known = project.known.borrow();
        let known = known.get(&project.root.join("b/a")).map(String::as_str);
        assert_eq!(known, Some(text));
        project.checkpoint(Turns::Over);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn where_files_were_left_out_a_turn_begins_with_a_look_at_everything() {
    let project = Project::with(&[("a", "1\n"), ("b/c", "1\n")], |config| {
        config.limits.project.files = 1;
    });
    let before = project.looks_at("everything");
    project.checkpoint(Turns::Running);
    assert_eq!(project.looks_at("everything"), before + 1);
}

#[test]
fn without_enough_watches_files_are_compared_while_a_turn_runs() {
    let files = [("a/a", "one\n"), ("b/a", "one\n"), ("c/a", "one\n")];
    let project = Project::with(&files, |config| {
        config.limits.project.watches = 2;
        config.limits.project.compare_every = Duration::from_millis(5);
    });
    let limited = project.limited.borrow().clone();
    let [why] = limited.as_slice() else {
        panic!("{limited:?}");
    };
    assert!(why.contains("fs.inotify.max_user_watches"), "{why}");
    project.checkpoint(Turns::Running);
    for name in ["a/a", "b/a", "c/a", "new/a"] {
        project.write(name, "two\n");
        project.check(name, Some("two\n"));
    }
    project.checkpoint(Turns::Over);
    assert_eq!(project.limited.borrow().len(), 1, "it is said once");
    let before = project.looks_at("everything");
    project.write("a/a", "three\n");
    project.checkpoint(Turns::Over);
    project.check("a/a", Some("three\n"));
    let looks = project.looks_at("everything") - before;
    assert_eq!(looks, 1, "only the checkpoint has looked");
}

#[test]
fn a_busy_watched_file_does_not_hide_other_changes() {
    let files = [("a/a", "one\n"), ("b/a", "one\n"), ("c/a", "one\n")];
    let project = Project::with(&files, |config| {
        config.limits.project.watches = 1;
        config.limits.project.compare_every = Duration::from_millis(20);
    });
    project.track(&project.root.join("a/a"));
    project.checkpoint(Turns::Running);
    project.write("b/a", "two\n");
    let told = project.root.join("b/a");
    let mut writes = 0;
    while !project.known.borrow().contains_key(&told) {
        writes += 1;
        assert!(writes < 1000, "the other file was never looked at");
        let text = format!("{writes}\n");
        project.write("a/a", &text);
        project.check("a/a", Some(&text));
    }
}

#[test]
fn the_log_wakes_nobody() {
    let project = Project::new(&[("a", "one\n")]);
    let root = project.root.clone();
    let own = project.run.folder.path().to_owned();
    project
        .run
        .host
        .run(HostEffect::OpenProject { root: own.clone() });
    project.run.host.run(HostEffect::CloseProject { root });
    let (token, turns) = (Token::new(77), Turns::Over);
    project.run.host.run(HostEffect::Checkpoint {
        token,
        root: own,
        turns,
    });
    while !matches!(
        project.take(),
        Event::Project(ProjectEvent::CheckpointTaken { .. })
    ) {}
    let before = project.looks();
    for n in 0..100 {
        let line = format!("line {n}");
        project.run.host.run(HostEffect::Log {
            level: Level::Info,
            line,
        });
    }
    assert!(read(&project.run.path("acp.log")).contains("looked"));
    project.looks();
    project.replace("a", "two\n");
    project.check("a", Some("two\n"));
    project.check_one_look(before);
}

#[test]
fn an_environment_variable_can_disable_watches() {
    let project = Project::with(&[("a", "one\n")], |config| {
        let mut variables: Vec<_> = std::env::vars_os().collect();
        variables.push(("ACP_TEST_WATCHES".into(), "0".into()));
        config.environment = Environment::from_variables(variables);
    });
    assert_eq!(project.limited.borrow().len(), 1);
    // Tracked files need watches as well; they are compared at checkpoints.
    project.track(&project.root.join("a"));
    project.write("a", "two\n");
    project.checkpoint(Turns::Over);
    assert_eq!(project.limited.borrow().len(), 1);
    project.check("a", Some("two\n"));
}

#[test]
fn ignored_files_tracked_by_git_are_known() {
    let project = Project::with(
        &[
            (".gitignore", "*.log\n"),
            ("a.log", "one\n"),
            ("b.log", "one\n"),
        ],
        |config| {
            let root = config.log_path.parent().expect("a folder").join("work");
            fs::create_dir(&root).expect("a folder");
            fs::write(root.join("a.log"), "one\n").expect("a file");
            super::git::git(&root, &["init", "--quiet"]);
            super::git::git(&root, &["add", "-f", "a.log"]);
        },
    );
    project.write("b.log", "two\n");
    project.write("a.log", "two\n");
    project.check("a.log", Some("two\n"));
    assert_eq!(project.known.borrow().len(), 1);
}

/// Waits for a writer longer than a test takes.
fn wait_for_writers(config: &mut HostConfig) {
    config.limits.quiescence.patience = DEADLINE;
}

#[cfg(target_os = "linux")]
#[test]
fn a_shortened_file_is_reported_when_its_writer_closes_it() {
    let project = Project::with(&[("a", "much longer\n"), ("b", "one\n")], |config| {
        config.limits.quiescence.patience = Duration::ZERO;
    });
    let mut file = project.half("a");
    project.write("b", "two\n");
    project.check("b", Some("two\n"));
    // A checkpoint does not wait for it.
    project.checkpoint(Turns::Over);
    assert_eq!(project.known.borrow().len(), 1);
    file.write_all(b" whole\n").expect("written");
    drop(file);
    project.check("a", Some("half whole\n"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_shortened_by_its_path_is_reported_with_the_checkpoint() {
    let project = Project::with(&[("a", "one\ntwo\n")], |config| {
        config.limits.quiescence.patience = Duration::ZERO;
    });
    project.checkpoint(Turns::Running);
    let path = project.root.join("a");
    // A reader is reported like a writer that opens the file.
    assert_eq!(read(&path), "one\ntwo\n");
    let mut perl = std::process::Command::new("perl");
    // Perl calls truncate(2), which opens nothing.
    let perl = perl.args(["-e", "truncate $ARGV[0], 4 or die"]).arg(&path);
    assert!(perl.status().expect("perl").success());
    project.checkpoint(Turns::Over);
    let known = project.known.borrow();
    assert_eq!(known.get(&path).map(String::as_str), Some("one\n"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_change_is_reported_after_its_writer_has_finished() {
    let project = Project::with(&[("a", "one\n"), ("b", "one\n")], wait_for_writers);
    for name in ["a", "new"] {
        let before = project.looks();
        let mut file = project.half(name);
        // Others are not delayed.
        let other = format!("{name}\n");
        project.write("b", &other);
        project.check("b", Some(&other));
        wait_for("a look at half a file", || project.looks() > before);
        file.write_all(b" whole\n").expect("written");
        drop(file);
        let half = |project: &Project| {
            let known = project.known.borrow();
            let text = known.get(&project.root.join(name)).cloned();
            text.filter(|text| text != "half whole\n")
        };
        while !project
            .known
            .borrow()
            .contains_key(&project.root.join(name))
        {
            project.take();
            assert_eq!(half(&project), None);
        }
        assert_eq!(half(&project), None);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_checkpoint_waits_for_writers() {
    let project = Project::with(&[("a", "one\n")], wait_for_writers);
    let mut file = project.half("a");
    let before = project.looks_at("everything");
    let (token, turns) = (Token::new(99), Turns::Over);
    let root = project.root.clone();
    let checkpoint = HostEffect::Checkpoint { token, root, turns };
    project.run.host.run(checkpoint);
    wait_for("the checkpoint to look", || {
        project.looks_at("everything") > before
    });
    file.write_all(b" whole\n").expect("written");
    drop(file);
    while !matches!(
        project.take(),
        Event::Project(ProjectEvent::CheckpointTaken { .. })
    ) {}
    let known = project.known.borrow();
    let text = known.get(&project.root.join("a")).map(String::as_str);
    assert_eq!(text, Some("half whole\n"));
}

#[test]
fn a_file_written_without_end_is_still_reported() {
    let project = Project::new(&[("a", "one\n")]);
    let (path, stop) = (project.root.join("a"), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                fs::write(&path, "two\n").expect("a file");
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        // A panic here would leave the writer running.
        let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            project.take();
            project.checkpoint(Turns::Over);
        }));
        stop.store(true, Ordering::Relaxed);
        told.expect("it is told");
    });
    project.check("a", Some("two\n"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_is_read_after_its_writer_has_finished() {
    let project = Project::with(&[("a", "one\n")], wait_for_writers);
    let mut file = project.half("a");
    let (token, path) = (Token::new(99), project.root.join("a"));
    project.run.host.run(HostEffect::ReadDisk { token, path });
    file.write_all(b" whole\n").expect("written");
    drop(file);
    loop {
        if let Event::DiskRead { result, .. } = project.run.next() {
            let content = result.expect("readable").content.expect("there");
            assert_eq!(content.text.to_string(), "half whole\n");
            return;
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_is_read_after_a_writer_that_was_not_reported_has_finished() {
    use crate::cookie::Cookie;

    let run = Run::with(wait_for_writers);
    let (writers, cookie) = (&run.host.kit.writers, Arc::new(Cookie::silent()));
    cookie.lose();
    writers.add_watcher(&cookie);
    let path = run.path("a");
    let mut file = fs::File::create(&path).expect("a file");
    file.write_all(b"half").expect("written");
    run.host.run(HostEffect::ReadDisk {
        token: Token::new(99),
        path: path.clone(),
    });
    wait_for("the writer to be known", || writers.is_open(&path, 4));
    file.write_all(b" whole\n").expect("written");
    drop((file, cookie));
    wait_for("the file to be read", || {
        writers.note_closed(&path);
        !run.outlet.is_empty()
    });
    match run.next() {
        Event::DiskRead { result, .. } => {
            let content = result.expect("readable").content.expect("there");
            assert_eq!(content.text.to_string(), "half whole\n");
        }
        other => panic!("{other:?}"),
    }
}
