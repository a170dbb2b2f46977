//! Hidden files are not reported; all others are, wherever they are.

use std::process::Command;

use super::*;

/// Creates files after the project was opened, each with its name as its text, and returns those
/// the project sees.
#[track_caller]
fn check(rules: &[(&str, &str)], names: &[&str], seen: &[&str]) {
    let work = Work::open(rules);
    check_seen(&work, names, seen);
}

#[track_caller]
fn check_seen(work: &Work, names: &[&str], seen: &[&str]) {
    for name in names {
        work.file(name, name);
    }
    let told: Vec<String> = seen
        .iter()
        .map(|name| format!("{name}: - > {name:?}"))
        .collect();
    assert_eq!(work.changes(), told, "by a checkpoint");
    for name in names {
        fs::write(work.path(name), "2").expect("a file");
    }
    let told: Vec<String> = seen
        .iter()
        .map(|name| format!("{name}: {name:?} > \"2\""))
        .collect();
    if !told.is_empty() {
        assert_eq!(work.look(names), told, "by a look");
    }
}

impl Work {
    fn git(&self, folder: &str, args: &[&str]) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=u", "-c", "user.email=u@example.org"]);
        git.args([
            "-c",
            "init.defaultBranch=main",
            "-c",
            "protocol.file.allow=always",
        ]);
        git.args(args).current_dir(self.path(folder));
        git.env("HOME", &self.root).env_remove("XDG_CONFIG_HOME");
        let output = git.output().expect("git");
        assert!(output.status.success(), "{args:?}: {output:?}");
    }
}

#[test]
fn ignored_files_are_hidden_in_a_plain_folder_too() {
    let rules = [(".gitignore", "*.o\n/out\nlogs/\n!keep.o\n")];
    let names = ["a.o", "b", "d/out", "d/x.o", "keep.o", "logs/a", "out/a"];
    check(&rules, &names, &["b", "d/out", "keep.o"]);
}

#[test]
fn a_rule_nearer_to_the_file_wins() {
    let rules = [
        (".gitignore", "*.o\ngone/\n"),
        ("d/.gitignore", "!a.o\nb\n"),
        ("gone/.gitignore", "!*\n"),
    ];
    let names = ["b", "d/a.o", "d/b", "d/c.o", "gone/a"];
    check(&rules, &names, &["b", "d/a.o"]);
}

#[test]
fn files_whose_names_begin_with_a_dot_are_seen() {
    check(
        &[],
        &[".a", ".d/b", ".github/x"],
        &[".a", ".d/b", ".github/x"],
    );
    check(&[], &[".git/x", "d/.git/x", ".acp-1.tmp"], &[".acp-1.tmp"]);
}

#[test]
fn a_repository_has_its_own_excludes_and_the_users() {
    let work = Work::with(&[("home/.config/git/ignore", "*.user\n")], |config| {
        let home = config.log_path.with_file_name("p").join("home");
        let home = [("HOME".into(), home.into_os_string())];
        config.environment = Environment::from_variables(home);
    });
    work.git("", &["init", "-q"]);
    fs::write(work.path(".git/info/exclude"), "*.own\n").expect("a file");
    work.opened();
    check_seen(&work, &["a", "a.own", "a.user", "d/b.user"], &["a"]);
}

#[test]
fn a_folder_in_a_repository_has_the_rules_above_it() {
    let mut work = Work::new(&[(".gitignore", "*.o\n"), ("d/x", "")]);
    work.git("", &["init", "-q"]);
    work.root.push("d");
    work.opened();
    check_seen(&work, &["a.o", "b"], &["b"]);
}

#[test]
fn outer_rules_do_not_apply_in_a_nested_repository() {
    let work = Work::new(&[(".gitignore", "*.o\n"), ("inner/.gitignore", "*.x\n")]);
    work.git("", &["init", "-q"]);
    work.git("inner", &["init", "-q"]);
    work.opened();
    check_seen(&work, &["a.o", "inner/a.o", "inner/a.x"], &["inner/a.o"]);
}

#[test]
fn a_linked_worktree_and_a_submodule_are_walked_like_folders() {
    let mut work = Work::new(&[("main/a", "a"), ("lib/b", "b")]);
    for folder in ["lib", "main"] {
        work.git(folder, &["init", "-q"]);
        work.git(folder, &["add", "."]);
        work.git(folder, &["commit", "-qm", "first"]);
    }
    fs::write(work.path("main/.git/info/exclude"), "*.own\n").expect("a file");
    work.git("main", &["submodule", "add", "-q", "../lib", "sub"]);
    work.git("main", &["commit", "-qm", "second"]);
    work.git("main", &["worktree", "add", "-q", "../tree"]);
    let outside = work.root.clone();
    for (root, names, seen) in [
        ("main", ["c", "sub/d", "x.own"], &["c", "sub/d"][..]),
        ("tree", ["c", "e", "x.own"], &["c", "e"][..]),
    ] {
        work.root = outside.join(root);
        work.opened();
        check_seen(&work, &names, seen);
    }
}

#[test]
fn a_bare_repository_shows_its_worktrees_and_not_itself() {
    let work = Work::new(&[]);
    work.git("", &["init", "-q", "--bare"]);
    work.opened();
    check_seen(
        &work,
        &["tree/a", "objects/x", "refs/heads/y", "b", "hooks/x"],
        &["b", "hooks/x", "tree/a"],
    );
}

#[test]
fn a_folder_that_becomes_a_bare_repository_shows_what_git_obeys() {
    let work = Work::open(&[("a", "1")]);
    for folder in ["objects", "refs"] {
        fs::create_dir(work.path(folder)).expect("a folder");
    }
    check_seen(
        &work,
        &["HEAD", "config", "hooks/x", "objects/x"],
        &["HEAD", "config", "hooks/x"],
    );
}

#[test]
fn a_file_that_changes_as_it_becomes_visible_is_not_new() {
    let work = Work::new(&[(".gitignore", "out\n"), ("out/a", "1"), ("b", "2")]);
    if fs::metadata(work.path("b")).is_ok_and(|meta| meta.created().is_err()) {
        // This file system does not tell an old file from a new one.
        return;
    }
    work.settle("b");
    work.opened();
    work.file("out/a", "one");
    work.file("out/new", "n");
    work.file(".gitignore", "");
    let told = [
        ".gitignore: \"out\\n\" > \"\"",
        "out/a: unreadable > \"one\"",
        "out/new: - > \"n\"",
    ];
    assert_eq!(work.changes(), told);
}

/// Hides the file `d/a` by a rule of some kind, has it changed and the rule removed, in either order,
/// and checks that only the file made then is new.
#[track_caller]
fn check_made_visible(hide: impl Fn(&Work), show: impl Fn(&Work)) {
    for is_late in [false, true] {
        let home = |config: &mut HostConfig| {
            let home = config.log_path.with_file_name("p").join("home");
            let home = [("HOME".into(), home.into_os_string())];
            config.environment = Environment::from_variables(home);
        };
        let work = Work::with(&[("d/a", "1"), ("b", "2")], home);
        if fs::metadata(work.path("b")).is_ok_and(|meta| meta.created().is_err()) {
            return;
        }
        work.git("", &["init", "-q"]);
        hide(&work);
        work.settle("b");
        work.opened();
        if is_late {
            show(&work);
            work.changes();
        }
        work.file("d/a", "one");
        work.file("d/new", "n");
        if !is_late {
            show(&work);
        }
        let told = work.changes();
        let told: Vec<&String> = told
            .iter()
            .filter(|line| line.starts_with("d/a: "))
            .collect();
        let before = if is_late { "\"1\"" } else { "unreadable" };
        assert_eq!(told, [&format!("d/a: {before} > \"one\"")]);
    }
}

#[test]
fn a_file_is_not_new_whatever_rule_hid_it() {
    let write = |name: &'static str, text: &'static str| {
        move |work: &Work| {
            let path = work.path(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
    };
    let remove =
        |name: &'static str| move |work: &Work| fs::remove_file(work.path(name)).expect("a file");
    let exclude = ".git/info/exclude";
    check_made_visible(write(exclude, "a\n"), write(exclude, ""));
    check_made_visible(write(exclude, "a\n"), remove(exclude));
    let global = "home/.config/git/ignore";
    check_made_visible(write(global, "a\n"), write(global, ""));
    check_made_visible(write(global, "a\n"), remove(global));
    let nested = "d/.gitignore";
    check_made_visible(write(nested, "a\n"), write(nested, ""));
    check_made_visible(write(nested, "a\n"), remove(nested));
    check_made_visible(write(nested, "a\n"), |work| {
        fs::rename(work.path(nested), work.path("d/renamed")).expect("a file");
    });
    // A rule file that is hidden itself.
    check_made_visible(write(nested, "a\n.gitignore\n"), write(nested, ""));
    let inner = "d/.git/info/exclude";
    let init = |work: &Work| work.git("d", &["init", "-q"]);
    let hide = |work: &Work| {
        init(work);
        write(inner, "a\n")(work);
    };
    check_made_visible(hide, write(inner, ""));
    // A repository below has separate rules.
    check_made_visible(write(".gitignore", "a\n"), init);
}

#[test]
fn files_that_become_visible_are_not_new() {
    let work = Work::new(&[(".gitignore", "out\n"), ("out/a", "1"), ("b", "2")]);
    work.settle("b");
    work.opened();
    work.file(".gitignore", "b\n");
    let told = [".gitignore: \"out\\n\" > \"b\\n\""];
    assert_eq!(work.look(&[".gitignore"]), told);
    // It was known before and stays known although it is hidden now.
    work.file("out/a", "3");
    work.file("b", "4");
    assert_eq!(work.changes(), ["b: \"2\" > \"4\"", "out/a: \"1\" > \"3\""]);
    work.file(".gitignore", "");
    work.file("out/new", "5");
    assert_eq!(
        work.changes(),
        [".gitignore: \"b\\n\" > \"\"", "out/new: - > \"5\""]
    );
}

#[test]
fn tracked_files_are_known_even_if_hidden() {
    let work = Work::open(&[(".gitignore", "out\n"), ("out/a", "1"), ("out/b", "1")]);
    work.run.host.run(HostEffect::Track {
        root: work.root.clone(),
        paths: vec![work.path("out/a"), work.path("out/none"), work.path("../x")],
    });
    assert_eq!(work.changes(), [""; 0]);
    for name in ["out/a", "out/b", "out/none"] {
        work.file(name, "2");
    }
    assert_eq!(
        work.changes(),
        ["out/a: \"1\" > \"2\"", "out/none: - > \"2\""]
    );
    fs::remove_dir_all(work.path("out")).expect("a folder");
    assert_eq!(
        work.look(&["out"]),
        ["out/a: \"2\" > -", "out/none: \"2\" > -"]
    );
}

#[cfg(target_os = "linux")]
#[test]
fn tracked_files_are_known_once_git_can_be_started() {
    use crate::tests::exhausted::{is_alone, with_descriptors};

    if !is_alone("tests::project::hidden::tracked_files_are_known_once_git_can_be_started") {
        return;
    }
    let work = Work::with(&[(".gitignore", "a\n"), ("a", "1")], |config| {
        let path = std::env::var_os("PATH").expect("a path");
        config.environment = Environment::from_variables([("PATH".into(), path)]);
    });
    work.git("", &["init", "-q"]);
    work.git("", &["add", "-f", "a"]);
    work.settle(".git/config");
    with_descriptors(0, || work.opened());
    assert_eq!(work.changes(), [""; 0]);
    work.file("a", "one");
    assert_eq!(work.changes(), [r#"a: "1" > "one""#]);
}

#[test]
fn a_visible_file_tracked_before_its_first_look_is_reported() {
    let work = Work::open(&[("a", "1")]);
    work.file("new", "2");
    work.run.host.run(HostEffect::Track {
        root: work.root.clone(),
        paths: vec![work.path("new")],
    });
    assert_eq!(work.changes(), ["new: - > \"2\""]);
}

#[test]
fn what_git_obeys_is_seen_and_the_rest_of_its_folder_is_not() {
    let work = Work::new(&[]);
    work.git("", &["init", "-q"]);
    work.opened();
    work.git("", &["config", "core.pager", "x"]);
    let names = [
        ".git/config.worktree",
        ".git/hooks/new.sample",
        ".git/hooks/pre-commit",
        ".git/index",
        ".git/info/attributes",
        ".git/info/exclude",
        ".git/info/refs",
        ".git/modules/a/config",
        ".git/objects/config",
        ".git/worktrees/t/commondir",
    ];
    for name in names {
        work.file(name, "1");
    }
    // The same folder.
    work.file(".git/commondir", ".");
    assert_eq!(
        changed(&work),
        [
            ".git/commondir",
            ".git/config",
            ".git/config.worktree",
            ".git/hooks/pre-commit",
            ".git/info/attributes",
            ".git/info/exclude",
        ]
    );
}

/// Returns the paths of the changes by a checkpoint.
#[track_caller]
fn changed(work: &Work) -> Vec<String> {
    let told = work.changes().into_iter();
    told.filter_map(|line| line.split(": ").next().map(str::to_owned))
        .collect()
}

#[test]
fn the_file_that_names_the_repository_of_a_linked_worktree_is_seen() {
    let mut work = Work::new(&[("main/a", "a")]);
    work.git("main", &["init", "-q"]);
    work.git("main", &["add", "."]);
    work.git("main", &["commit", "-qm", "first"]);
    work.git("main", &["worktree", "add", "-q", "../tree"]);
    work.root.push("tree");
    work.opened();
    work.file(".git", "gitdir: ../main/.git\n");
    assert_eq!(changed(&work), [".git"]);
}

#[test]
fn a_repository_made_since_is_not_seen() {
    let work = Work::open(&[("a", "1")]);
    work.git("", &["init", "-q"]);
    assert_eq!(work.changes(), [""; 0]);
}

#[test]
fn a_temporary_file_left_by_a_kill_is_removed_after_an_hour() {
    let work = Work::new(&[
        (".acp-aaaaaaaaaaaa.tmp", "1"),
        (".acp-bbbbbbbbbbbb.tmp", "2"),
        (".acp-notes.tmp", "3"),
    ]);
    let then = std::time::SystemTime::now() - Duration::from_secs(2 * 60 * 60);
    for name in [".acp-aaaaaaaaaaaa.tmp", ".acp-notes.tmp"] {
        let file = fs::File::options().write(true).open(work.path(name));
        file.expect("a file").set_modified(then).expect("a time");
    }
    work.opened();
    let left = [
        ".acp-aaaaaaaaaaaa.tmp",
        ".acp-bbbbbbbbbbbb.tmp",
        ".acp-notes.tmp",
    ];
    assert_eq!(
        left.map(|name| work.path(name).exists()),
        [false, true, true]
    );
}
