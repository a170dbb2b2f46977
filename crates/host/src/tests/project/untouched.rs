//! Looking at a project changes nothing, not even the bytes and times of the user's repository.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::process::Command;

use super::*;

/// Inode, mode, times, content.
pub(super) type Print = (u64, u32, [i64; 4], Vec<u8>);

/// Returns the state of everything below a folder.
pub(super) fn print(folder: &Path) -> BTreeMap<PathBuf, Print> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let meta = fs::symlink_metadata(&path).expect("there");
            let content = match meta.file_type() {
                kind if kind.is_dir() => {
                    folders.push(path.clone());
                    Vec::new()
                }
                kind if kind.is_file() => fs::read(&path).expect("a file"),
                _ => Vec::new(),
            };
            let times = [
                meta.mtime(),
                meta.mtime_nsec(),
                meta.ctime(),
                meta.ctime_nsec(),
            ];
            all.insert(path, (meta.ino(), meta.mode(), times, content));
        }
    }
    all
}

#[test]
fn a_repository_keeps_every_byte_and_timestamp() {
    let work = Work::new(&[]);
    let script = "
        export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
        git init -q -b main .
        git config user.name u; git config user.email u@example.org
        git config core.autocrlf true
        printf 'a\\r\\n' >a; printf b >b; printf '* text=auto\\n' >.gitattributes
        git add .; git commit -qm first
        printf stashed >a; git stash -q
        git worktree add -q ../tree
        printf staged >b; git add b; printf changed >b
        printf '#!/bin/sh\\necho no >hook\\nexit 1\\n' >.git/hooks/pre-commit
        chmod +x .git/hooks/pre-commit
    ";
    let mut shell = Command::new("sh");
    shell.args(["-ec", script]).current_dir(&work.root);
    assert!(shell.status().expect("a shell").success());
    let git = work.path(".git");
    let tree = work.run.path("tree");
    let before = (print(&git), print(&tree));
    work.opened();
    work.file("a", "2");
    let (changes, _) = work.checkpoint();
    assert_eq!(changes.len(), 1);
    work.run.host.run(HostEffect::Restore {
        over: MayReplace::Anything,
        hard_links: HardLinks::Keep,
        roots: vec!["/".into()],
        token: Token::new(12),
        path: work.path("a"),
        state: changes[0].before.clone(),
    });
    assert!(matches!(work.run.next(), Event::DiskWritten { .. }));
    assert_eq!(fs::read(work.path("a")).expect("a file"), b"a\r\n");
    assert_eq!(work.changes(), ["a: \"2\" > \"a\\r\\n\""]);
    assert!(
        (print(&git), print(&tree)) == before,
        "something has changed"
    );
}

#[test]
fn looking_writes_nothing_below_the_root() {
    let work = Work::new(&[("a", "1"), ("d/b", "2"), (".gitignore", "x\n")]);
    let before = print(&work.root);
    work.opened();
    work.checkpoint().1.expect("a checkpoint");
    assert!(print(&work.root) == before, "something has changed");
}

#[test]
fn a_project_that_contains_the_store_ignores_it() {
    let mut work = Work::new(&[("a", "1")]);
    work.root = work.run.folder.path().to_owned();
    work.opened();
    work.file("p/a", "2");
    let (changes, _) = work.checkpoint();
    let lines: Vec<String> = changes.iter().map(|change| work.line(change)).collect();
    let lines: Vec<&String> = lines
        .iter()
        .filter(|line| !line.starts_with("acp.log"))
        .collect();
    assert_eq!(lines, ["p/a: \"1\" > \"2\""]);
}

#[test]
fn paths_are_spelled_like_the_root() {
    let mut work = Work::new(&[("a", "1")]);
    let link = work.run.path("link");
    symlink(&work.root, &link).expect("a link");
    work.root = link.clone();
    work.opened();
    work.file("a", "2");
    let (changes, _) = work.checkpoint();
    assert_eq!(changes[0].path, link.join("a"));
    // A notification may spell the folder by its real path.
    work.file("a", "3");
    let real = work.run.path("p/a");
    let project = work.run.host.projects.project(&work.root);
    project.expect("open").look(vec![real]);
    assert_eq!(work.changes(), ["a: \"2\" > \"3\""]);
}

#[test]
fn file_names_that_are_not_utf8_are_preserved() {
    let work = Work::new(&[]);
    let name = OsStr::from_bytes(b"caf\xe9");
    if fs::write(work.root.join(name), "1").is_err() {
        // A file system that requires names to be text.
        return;
    }
    work.opened();
    fs::write(work.root.join(name), "2").expect("a file");
    fs::rename(
        work.root.join(name),
        work.root.join(OsStr::from_bytes(b"\xff")),
    )
    .expect("moved");
    let (changes, _) = work.checkpoint();
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(changes[0].from, Some(work.root.join(name)));
    assert_eq!(changes[0].path, work.root.join(OsStr::from_bytes(b"\xff")));
}

#[test]
fn a_root_that_goes_and_comes_back() {
    let work = Work::open(&[("a", "1")]);
    fs::remove_dir_all(&work.root).expect("a folder");
    assert_eq!(work.changes(), ["a: \"1\" > -"]);
    work.file("a", "1");
    assert_eq!(work.changes(), ["a: - > \"1\""]);
}
