//! Contents that git holds are not copied, and changes of their files are reported like others.

use std::process::Command;

use super::untouched::print;
use super::*;

/// Number of files that is too large to copy all of them at once.
const MANY: usize = 600;

/// A repository with many committed files, after this shell script; it is not open yet.
fn committed(script: &str) -> Work {
    let work = Work::with(&[], |config| {
        let path = std::env::var_os("PATH").expect("a path");
        config.environment = Environment::from_variables([("PATH".into(), path)]);
    });
    for n in 0..MANY {
        work.file(&format!("d/{n}"), format!("{n}\nof many\n"));
    }
    sh(&work, script);
    sh(&work, "git init -q -b main .; touch last");
    // Git trusts no file that is as young as its index.
    work.settle("last");
    sh(
        &work,
        "git add .; git -c user.name=u -c user.email=u@example.org commit -qm first",
    );
    work
}

/// The copied files of a repository itself: its config and its excludes.
const OF_GIT: usize = 2;

fn sh(work: &Work, script: &str) {
    let mut shell = Command::new("sh");
    shell.args(["-ec", script]).current_dir(&work.root);
    shell.env("GIT_CONFIG_GLOBAL", "/dev/null");
    shell.env("GIT_CONFIG_SYSTEM", "/dev/null");
    assert!(shell.status().expect("a shell").success(), "{script}");
}

#[test]
fn what_git_holds_is_not_copied_and_its_changes_are_reported() {
    let work = committed("");
    let git = work.path(".git");
    let before = print(&git);
    work.opened();
    assert_eq!(work.blobs().len(), OF_GIT);
    sh(&work, "printf 2 >d/1; rm d/2; mv d/3 e; chmod 755 d/4");
    assert_eq!(
        work.changes(),
        [
            r#"d/1: "1\nof many\n" > "2""#,
            r#"d/2: "2\nof many\n" > -"#,
            r#"d/4: "4\nof many\n" 644 > "4\nof many\n" 755"#,
            r#"d/3 => e: "3\nof many\n" > "3\nof many\n""#,
        ]
    );
    assert!(print(&git) == before, "the repository has changed");
}

#[test]
fn what_git_holds_differently_is_copied() {
    let work = committed(
        "git init -q -b main .
        git config filter.rot.clean 'tr a-z n-za-m'; git config filter.rot.smudge 'tr a-z n-za-m'
        printf '*.rot filter=rot\\n*.crlf text eol=crlf\\n' >.gitattributes
        printf 'secret' >a.rot; printf 'a\\r\\n' >a.crlf; printf 1 >changed; printf 1 >assumed",
    );
    sh(
        &work,
        "printf 2 >changed; git update-index --assume-unchanged assumed; printf 2 >assumed
        printf 1 >untracked",
    );
    work.opened();
    assert_eq!(work.blobs().len(), 4 + OF_GIT);
    let names = ["a.crlf", "a.rot", "assumed", "changed", "untracked"];
    for name in names {
        work.file(name, "new");
    }
    assert_eq!(
        work.changes(),
        [
            r#"a.crlf: "a\r\n" > "new""#,
            r#"a.rot: "secret" > "new""#,
            r#"assumed: "2" > "new""#,
            r#"changed: "2" > "new""#,
            r#"untracked: "1" > "new""#,
        ]
    );
}

#[test]
fn a_repository_below_is_copied_because_it_may_be_removed_as_a_whole() {
    let work = committed(
        "git init -q -b main below; cd below; printf 1 >a; git add a
        git -c user.name=u -c user.email=u@example.org commit -qm first",
    );
    work.opened();
    fs::remove_dir_all(work.path("below")).expect("removed");
    assert_eq!(work.changes(), [r#"below/a: "1" > -"#]);
}

#[test]
fn what_git_held_at_the_last_start_is_known_at_the_next() {
    let mut work = committed("");
    work.opened();
    // Another host with the same data.
    let state = work.state.clone();
    let next = Run::with(|config| {
        config.state_path = state;
        let path = std::env::var_os("PATH").expect("a path");
        config.environment = Environment::from_variables([("PATH".into(), path)]);
        config.limits.project.watches = 0;
        config.limits.quiescence.after = Duration::ZERO;
    });
    // The first one has the folder.
    let _first = std::mem::replace(&mut work.run, next);
    work.opened();
    assert_eq!(work.blobs().len(), OF_GIT);
    work.file("d/1", "2");
    assert_eq!(work.changes(), [r#"d/1: "1\nof many\n" > "2""#]);
}

#[test]
fn a_change_whose_repository_is_gone_is_still_reported() {
    let work = committed("");
    work.opened();
    sh(&work, "rm -rf .git; printf 2 >d/1");
    let mut changes = work.changes();
    changes.retain(|line| !line.starts_with(".git/"));
    assert_eq!(changes, [r#"d/1: unreadable > "2""#]);
}
