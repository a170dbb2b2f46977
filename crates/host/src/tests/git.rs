//! Git's versions of the files under review are reported once, and again when they change.

use acp_core::event::{ConversationEvent, ProjectEvent};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use super::*;
use acp_core::spine::effect::Turns;
use acp_core::spine::event::DiskText;
use acp_core::spine::project::Committed;

/// A repository in a host's folder, with one commit of the file `a`.
struct Repo {
    run: Run,
    root: PathBuf,
}

/// The reported texts of a file in the index and in HEAD.
type Told = (Option<&'static str>, Option<&'static str>);

impl Repo {
    fn new() -> Self {
        Self::in_run(Run::new())
    }

    fn in_run(run: Run) -> Self {
        let root = run.path("work");
        std::fs::create_dir(&root).expect("a folder");
        let repo = Self { run, root };
        repo.git(&["init", "--quiet", "--initial-branch=main"]);
        repo.write("a", "one\n");
        repo.git(&["add", "a"]);
        repo.git(&["commit", "--quiet", "-m", "first"]);
        repo
    }

    fn git(&self, args: &[&str]) {
        git(&self.root, args);
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.root.join(name), text).expect("a file");
    }

    fn review(&self, names: &[&str]) {
        self.open_and_review(&self.root, names);
    }

    fn open_and_review(&self, root: &Path, names: &[&str]) {
        let root = root.to_owned();
        let begun = names.iter().map(|name| root.join(name)).collect();
        let ended = Vec::new();
        let open = HostEffect::OpenProject { root: root.clone() };
        self.run.host.run(open);
        self.run
            .host
            .run(HostEffect::Reviewed { root, begun, ended });
    }

    fn ends_review(&self, names: &[&str]) {
        let root = self.root.clone();
        let ended = names.iter().map(|name| root.join(name)).collect();
        let begun = Vec::new();
        self.run
            .host
            .run(HostEffect::Reviewed { root, begun, ended });
    }

    fn checkpoint(&self, turns: Turns) {
        self.run.host.run(HostEffect::Checkpoint {
            token: Token::new(1),
            root: self.root.clone(),
            turns,
        });
    }

    /// Waits for a checkpoint; returns whether turns ran at the reports before it.
    fn taken(&self) -> Vec<Turns> {
        let mut told = Vec::new();
        loop {
            match self.run.next() {
                Event::Project(ProjectEvent::Committed { turns, .. }) => told.push(turns),
                Event::Project(ProjectEvent::CheckpointTaken { .. }) => return told,
                _ => {}
            }
        }
    }

    /// Returns the next report.
    fn told(&self) -> Vec<Committed> {
        loop {
            if let Event::Project(ProjectEvent::Committed { files, .. }) = self.run.next() {
                return files;
            }
        }
    }

    /// Waits until this is reported for the file `a`, preceded only by `between`.
    #[track_caller]
    fn check(&self, told: Told, between: &[Told]) {
        loop {
            let files = self.told();
            let [file] = files.as_slice() else {
                panic!("{files:?}");
            };
            assert!(file.path.ends_with("a"), "{file:?}");
            let found = (text(&file.index), text(&file.head));
            let is = |told: &Told| found == (told.0.map(str::to_owned), told.1.map(str::to_owned));
            if is(&told) {
                return;
            }
            assert!(
                between.iter().any(is),
                "{found:?} is neither here nor there"
            );
        }
    }

    /// Waits until git was queried about a number of files once more, and checks that nothing had
    /// changed.
    #[track_caller]
    fn check_silence(&self, files: usize, ask: impl FnOnce()) {
        let line = format!("asked git about {files} files: 0 news");
        let times = || {
            self.run.host.kit.log.flush(DEADLINE);
            // There is no log before its first line.
            let log = std::fs::read_to_string(self.run.path("acp.log"));
            log.unwrap_or_default().matches(&line).count()
        };
        let before = times();
        ask();
        wait_for(&line, || times() > before);
        while let Some(event) = self.run.outlet.try_recv() {
            assert!(
                !matches!(event, Event::Project(ProjectEvent::Committed { .. })),
                "{event:?}"
            );
        }
    }
}

/// Returns a host whose checkpoints wait for git as long as it takes.
fn patient() -> Run {
    Run::with(|config| config.limits.quiescence.patience = DEADLINE)
}

fn text(file: &Option<DiskText>) -> Option<String> {
    file.as_ref().map(|file| file.text.to_string())
}

/// Runs git as a user without configuration.
pub(crate) fn git(folder: &Path, args: &[&str]) {
    let output = Command::new("git")
        .current_dir(folder)
        .args(["-c", "protocol.file.allow=always"])
        .args(args)
        .env("HOME", folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_NAME", "a")
        .env("GIT_AUTHOR_EMAIL", "a@example.org")
        .env("GIT_COMMITTER_NAME", "a")
        .env("GIT_COMMITTER_EMAIL", "a@example.org")
        .output()
        .expect("git");
    assert!(output.status.success(), "{args:?}: {output:?}");
}

/// Returns the content and time of everything below a folder.
fn everything(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, i64, i64)> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let meta = path.symlink_metadata().expect("a file");
        if meta.is_dir() {
            all.extend(everything(&path));
        }
        let content = std::fs::read(&path).unwrap_or_default();
        all.insert(path, (content, meta.mtime(), meta.mtime_nsec()));
    }
    all
}

#[test]
fn a_commit_is_reported_before_the_checkpoint_that_follows_it() {
    let repo = Repo::in_run(patient());
    repo.review(&["a"]);
    let one = (Some("one\n"), Some("one\n"));
    let staged = (Some("two\n"), Some("one\n"));
    repo.check(one, &[]);
    repo.write("a", "two\n");
    repo.git(&["add", "a"]);
    repo.check(staged, &[]);
    repo.git(&["commit", "--quiet", "-m", "second"]);
    repo.check((Some("two\n"), Some("two\n")), &[]);
    repo.git(&["reset", "--quiet", "--soft", "HEAD~1"]);
    repo.check(staged, &[]);
    repo.git(&["reset", "--quiet", "--soft", "ORIG_HEAD"]);
    repo.checkpoint(Turns::Over);
    let mut head = None;
    loop {
        match repo.run.next() {
            Event::Project(ProjectEvent::Committed { files, .. }) => {
                head = files.first().and_then(|file| text(&file.head));
            }
            Event::Project(ProjectEvent::CheckpointTaken { .. }) => break,
            _ => {}
        }
    }
    assert_eq!(head.as_deref(), Some("two\n"));
}

#[test]
fn an_answer_says_whether_it_may_hold_what_a_turn_did() {
    let repo = Repo::in_run(patient());
    repo.review(&["a"]);
    repo.check((Some("one\n"), Some("one\n")), &[]);
    repo.checkpoint(Turns::Running);
    repo.taken();
    repo.write("a", "two\n");
    repo.git(&["commit", "--quiet", "-am", "the agent's"]);
    repo.checkpoint(Turns::Over);
    let told = repo.taken();
    assert!(!told.is_empty());
    assert!(told.iter().all(|&turns| turns == Turns::Running));
    repo.write("a", "three\n");
    repo.git(&["commit", "--quiet", "-am", "the user's"]);
    loop {
        if let Event::Project(ProjectEvent::Committed { turns, .. }) = repo.run.next() {
            return assert_eq!(turns, Turns::Over);
        }
    }
}

#[test]
fn a_review_starts_from_the_committed_version() {
    let repo = Repo::new();
    repo.write("a", "two\n");
    repo.write("new", "new\n");
    repo.review(&["a", "new", "sub/none"]);
    let told: Vec<_> = repo
        .told()
        .into_iter()
        .map(|file| (file.path.clone(), text(&file.index), text(&file.head)))
        .collect();
    let one = Some("one\n".to_owned());
    let expected = [
        (repo.root.join("a"), one.clone(), one),
        (repo.root.join("new"), None, None),
        (repo.root.join("sub/none"), None, None),
    ];
    assert_eq!(told, expected);
}

#[test]
fn changes_of_the_index_and_head_are_reported() {
    let repo = Repo::new();
    repo.review(&["a"]);
    repo.check((Some("one\n"), Some("one\n")), &[]);
    repo.git(&["branch", "side/of/it"]);
    repo.write("a", "two\n");
    repo.git(&["add", "a"]);
    repo.check((Some("two\n"), Some("one\n")), &[]);
    repo.git(&["commit", "--quiet", "-m", "second"]);
    repo.check((Some("two\n"), Some("two\n")), &[]);
    repo.write("a", "three\n");
    repo.git(&["commit", "--quiet", "--amend", "-a", "-m", "third"]);
    // Git updates the index and HEAD one after the other, in either order.
    let between = [
        (Some("three\n"), Some("two\n")),
        (Some("two\n"), Some("three\n")),
    ];
    repo.check((Some("three\n"), Some("three\n")), &between);
    repo.git(&["checkout", "--quiet", "side/of/it"]);
    let between = [
        (Some("one\n"), Some("three\n")),
        (Some("three\n"), Some("one\n")),
    ];
    repo.check((Some("one\n"), Some("one\n")), &between);
    // The branch's file is in another folder than that of `main`.
    repo.write("a", "four\n");
    repo.git(&["commit", "--quiet", "-a", "-m", "fourth"]);
    let between = [
        (Some("four\n"), Some("one\n")),
        (Some("one\n"), Some("four\n")),
    ];
    repo.check((Some("four\n"), Some("four\n")), &between);
    repo.git(&["pack-refs", "--all"]);
    repo.git(&["rm", "--quiet", "--cached", "a"]);
    repo.check((None, Some("four\n")), &[]);
    repo.git(&["reset", "--quiet", "--soft", "main"]);
    repo.check((None, Some("three\n")), &[]);
}

#[test]
fn an_unchanged_version_is_reported_once() {
    let repo = Repo::new();
    repo.review(&["a"]);
    repo.check((Some("one\n"), Some("one\n")), &[]);
    repo.check_silence(1, || repo.review(&["a"]));
}

#[test]
fn the_end_of_a_review_asks_git_nothing_and_its_next_beginning_does() {
    let repo = Repo::new();
    repo.review(&["a"]);
    repo.check((Some("one\n"), Some("one\n")), &[]);
    repo.ends_review(&["a"]);
    repo.review(&["a"]);
    repo.check((Some("one\n"), Some("one\n")), &[]);
    repo.ends_review(&["a"]);
    repo.review(&["none"]);
    assert_eq!(repo.told().len(), 1);
    repo.check_silence(1, || repo.review(&["none"]));
    let log = std::fs::read_to_string(repo.run.path("acp.log")).expect("a log");
    assert!(!log.contains("asked git about 0 files"), "{log}");
}

#[test]
fn a_linked_worktree_has_its_own_index() {
    let repo = Repo::new();
    let tree = repo.run.path("linked");
    let name = tree.to_str().expect("a path");
    repo.git(&["worktree", "add", "--quiet", "-b", "side", name]);
    repo.open_and_review(&tree, &["a"]);
    repo.check((Some("one\n"), Some("one\n")), &[]);
    std::fs::write(tree.join("a"), "two\n").expect("a file");
    git(&tree, &["add", "a"]);
    repo.check((Some("two\n"), Some("one\n")), &[]);
    git(&tree, &["commit", "--quiet", "-m", "second"]);
    repo.check((Some("two\n"), Some("two\n")), &[]);
}

#[test]
fn a_file_in_a_submodule_belongs_to_the_submodule() {
    let repo = Repo::new();
    let other = Repo::new();
    let source = other.root.to_str().expect("a path");
    repo.git(&["submodule", "--quiet", "add", source, "sub"]);
    repo.review(&["sub/a"]);
    repo.check((Some("one\n"), Some("one\n")), &[]);
    let sub = repo.root.join("sub");
    std::fs::write(sub.join("a"), "two\n").expect("a file");
    git(&sub, &["add", "a"]);
    repo.check((Some("two\n"), Some("one\n")), &[]);
}

#[test]
fn a_link_to_the_project_leads_to_its_repository() {
    let repo = Repo::new();
    let link = repo.run.path("link");
    std::os::unix::fs::symlink(&repo.root, &link).expect("a link");
    repo.open_and_review(&link, &["a"]);
    let told = repo.told();
    assert_eq!(told[0].path, link.join("a"));
    assert_eq!(text(&told[0].head).as_deref(), Some("one\n"));
}

#[test]
fn line_ends_of_the_working_tree_do_not_count() {
    let repo = Repo::new();
    repo.git(&["config", "core.autocrlf", "true"]);
    repo.write("a", "one\r\ntwo\r\n");
    repo.git(&["add", "a"]);
    repo.review(&["a"]);
    let told = repo.told();
    let (_, here) = acp_core::text::format::Format::decode(b"one\r\ntwo\r\n");
    assert_eq!(told[0].index.as_ref().map(|file| &file.text), Some(&here));
}

#[test]
fn nothing_in_the_repository_changes_and_nothing_runs() {
    let repo = Repo::new();
    let ran = repo.run.path("ran");
    let program = repo.run.path("program");
    let script = format!("#!/bin/sh\ntouch {}\ncat\n", ran.display());
    write_program(&program, &script);
    let program = program.to_str().expect("a path");
    repo.write(".gitattributes", "a filter=x diff=x\n");
    // The index has another time for the file, which git would like to update.
    repo.write("a", "one\n");
    let settings = [
        ("core.fsmonitor", program),
        ("core.pager", program),
        ("filter.x.clean", program),
        ("filter.x.smudge", program),
        ("filter.x.process", program),
        ("diff.x.textconv", program),
        ("diff.external", program),
        ("core.untrackedCache", "true"),
    ];
    for (name, value) in settings {
        repo.git(&["config", name, value]);
    }
    for hook in [
        "post-index-change",
        "fsmonitor-watchman",
        "reference-transaction",
    ] {
        let hook = repo.root.join(".git/hooks").join(hook);
        std::fs::create_dir_all(hook.parent().expect("a folder")).expect("a folder");
        std::fs::copy(program, hook).expect("a hook");
    }
    let before = everything(&repo.root.join(".git"));
    repo.review(&["a", ".gitattributes", "none"]);
    assert_eq!(repo.told().len(), 3);
    repo.check_silence(3, || repo.review(&["a", ".gitattributes", "none"]));
    let folder = repo.root.clone();
    repo.run.host.run(HostEffect::Diff {
        token: Token::new(9),
        folder,
    });
    let diff = loop {
        if let Event::Conversation(ConversationEvent::DiffRead { result, .. }) = repo.run.next() {
            break result;
        }
    };
    assert_eq!(diff.as_deref(), Ok(""));
    let after = everything(&repo.root.join(".git"));
    let differ = |path: &&PathBuf| before.get(*path) != after.get(*path);
    let changed: Vec<_> = before.keys().chain(after.keys()).filter(differ).collect();
    assert!(changed.is_empty(), "changed: {changed:?}");
    assert!(!ran.exists(), "a program was run");
}

#[test]
fn without_git_or_a_repository_nothing_is_reported() {
    let repo = Repo::in_run(Run::with(|config| {
        let path = ("PATH".into(), "/nowhere".into());
        config.environment = Environment::from_variables([path]);
    }));
    repo.check_silence(1, || repo.review(&["a"]));

    let run = Run::new();
    let root = run.path("plain");
    std::fs::create_dir(&root).expect("a folder");
    std::fs::write(root.join("a"), "one\n").expect("a file");
    let plain = Repo { run, root };
    plain.check_silence(1, || plain.review(&["a"]));
}

#[test]
fn before_the_first_commit_only_the_index_has_a_version() {
    let run = Run::new();
    let root = run.path("work");
    std::fs::create_dir(&root).expect("a folder");
    let repo = Repo { run, root };
    repo.git(&["init", "--quiet", "--initial-branch=main"]);
    repo.write("a", "one\n");
    repo.git(&["add", "a"]);
    repo.review(&["a"]);
    repo.check((Some("one\n"), None), &[]);
    repo.git(&["commit", "--quiet", "-m", "first"]);
    repo.check((Some("one\n"), Some("one\n")), &[]);
}
