//! Changes of files are reported once, as the right kind of change.

use std::os::unix::fs::symlink;
use std::process::Command;

use super::*;

/// Opens a project with these files, changes something, and compares the reports of a checkpoint
/// and of a look at these names alone.
#[track_caller]
fn check(files: &[(&str, &str)], deed: impl Fn(&Work), names: &[&str], told: &[&str]) {
    let work = Work::open(files);
    deed(&work);
    assert_eq!(work.changes(), told, "by a checkpoint");
    assert_eq!(work.changes(), [""; 0], "told twice");
    if !told.is_empty() {
        let work = Work::open(files);
        deed(&work);
        assert_eq!(work.look(names), told, "by a look");
        assert_eq!(work.changes(), [""; 0], "told twice");
    }
}

/// Runs a shell command in the project.
fn sh(command: &str) -> impl Fn(&Work) {
    move |work| {
        let mut shell = Command::new("sh");
        shell.args(["-ec", command]).current_dir(&work.root);
        assert!(shell.status().expect("a shell").success(), "{command}");
    }
}

#[test]
fn created_changed_and_deleted_files_are_reported() {
    check(&[], sh("printf 1 >a"), &["a"], &["a: - > \"1\""]);
    check(
        &[("a", "1")],
        sh("printf 2 >a"),
        &["a"],
        &["a: \"1\" > \"2\""],
    );
    check(&[("a", "1")], sh("rm a"), &["a"], &["a: \"1\" > -"]);
    check(&[("a", "1")], sh("true"), &[], &[]);
    check(&[("a", "1")], sh("rm a; printf 1 >a"), &[], &[]);
    check(&[("a", "1")], sh("touch -d @0 a"), &[], &[]);
    check(&[], sh("mkdir -p a/b"), &[], &[]);
}

#[test]
fn a_folder_includes_everything_below_it() {
    let files = [("d/a", "1"), ("d/e/b", "2"), ("d.c", "3")];
    let gone = ["d/a: \"1\" > -", "d/e/b: \"2\" > -"];
    check(&files, sh("rm -r d"), &["d"], &gone);
    check(&files, sh("rm -r d"), &["d/e/b", "d/a"], &gone);
    check(
        &[],
        sh("mkdir -p d/e; printf 1 >d/e/a"),
        &["d"],
        &["d/e/a: - > \"1\""],
    );
}

#[test]
fn a_folder_may_become_a_file_and_a_file_a_folder() {
    let files = [("d/a", "1")];
    let told = ["d: - > \"2\"", "d/a: \"1\" > -"];
    check(&files, sh("rm -r d; printf 2 >d"), &["d"], &told);
    check(&files, sh("rm -r d; printf 2 >d"), &["d/a"], &told);
    let files = [("d", "1")];
    let told = ["d: \"1\" > -", "d/a: - > \"2\""];
    check(&files, sh("rm d; mkdir d; printf 2 >d/a"), &["d"], &told);
    let work = Work::open(&[("d/a", "1")]);
    sh("mv d e; printf 2 >d")(&work);
    assert_eq!(
        work.changes(),
        ["d: - > \"2\"", "d/a => e/a: \"1\" > \"1\""]
    );
    sh("rm d; mv e d")(&work);
    assert_eq!(
        work.changes(),
        ["d: \"2\" > -", "e/a => d/a: \"1\" > \"1\""]
    );
}

#[test]
fn a_move_is_one_change() {
    let files = [("a", "1"), ("b", "2")];
    check(
        &files,
        sh("mv a c"),
        &["a", "c"],
        &["a => c: \"1\" > \"1\""],
    );
    check(
        &files,
        sh("mv a b"),
        &["a", "b"],
        &["a: \"1\" > -", "b: \"2\" > \"1\""],
    );
    // Another file with the same content.
    check(
        &files,
        sh("cp a c; rm a"),
        &["a", "c"],
        &["a => c: \"1\" > \"1\""],
    );
    // The same file with another content.
    check(
        &files,
        sh("mv a c; printf more >>c"),
        &["a", "c"],
        &["a => c: \"1\" > \"1more\""],
    );
    check(
        &[("d/a", "1"), ("d/b", "2")],
        sh("mv d e"),
        &["d", "e"],
        &["d/a => e/a: \"1\" > \"1\"", "d/b => e/b: \"2\" > \"2\""],
    );
}

#[test]
fn a_file_in_the_place_of_a_folder_is_not_moved() {
    check(
        &[("d/a", "1"), ("d/b", "2")],
        sh("mv d/a t; rm -r d; mv t d"),
        &["d"],
        &["d: - > \"1\"", "d/a: \"1\" > -", "d/b: \"2\" > -"],
    );
    check(
        &[("a", "1")],
        sh("mv a t; mkdir a; mv t a/b"),
        &["a"],
        &["a: \"1\" > -", "a/b: - > \"1\""],
    );
}

#[test]
fn a_file_moved_and_changed_together_is_one_change() {
    let old = "first line\\nsecond line\\nthird line\\n";
    let text = old.replace("\\n", "\n");
    let changed = old.replace("second", "another");
    check(
        &[("a", &text)],
        sh("sed -i s/second/another/ a; mv a d"),
        &["a", "d"],
        &[&format!("a => d: \"{old}\" > \"{changed}\"")],
    );
    // Less than half of it is left.
    check(
        &[("a", &text)],
        sh("rm a; printf 'first line\\nother words\\nand more of them\\n' >d"),
        &["a", "d"],
        &[
            &format!("a: \"{old}\" > -"),
            "d: - > \"first line\\nother words\\nand more of them\\n\"",
        ],
    );
    // The move is ambiguous.
    check(
        &[("a", &text)],
        sh("cp a b; cp a c; rm a"),
        &["a", "b", "c"],
        &[
            &format!("a: \"{old}\" > -"),
            &format!("b: - > \"{old}\""),
            &format!("c: - > \"{old}\""),
        ],
    );
}

#[test]
fn an_ambiguous_move_is_not_a_move() {
    check(
        &[("a", "1")],
        sh("cp a b; cp a c; rm a"),
        &["a", "b", "c"],
        &["a: \"1\" > -", "b: - > \"1\"", "c: - > \"1\""],
    );
    check(
        &[("a", "")],
        sh(": >keep; rm a; : >b; rm keep"),
        &["a", "b"],
        &["a: \"\" > -", "b: - > \"\""],
    );
    // A new file gets the free inode, which does not make it a move.
    check(
        &[("a", "1")],
        sh("rm a; printf 2 >b"),
        &["a", "b"],
        &["a: \"1\" > -", "b: - > \"2\""],
    );
}

#[test]
fn a_rewritten_file_is_changed_not_moved() {
    let told = ["a: \"1\" > \"2\""];
    check(&[("a", "1")], sh("printf 2 >t; mv t a"), &["a", "t"], &told);
    check(
        &[("a", "1")],
        sh("mv a a~; printf 2 >a; rm a~"),
        &["a", "a~"],
        &told,
    );
    check(
        &[("a", "1")],
        sh("mv a a~; printf 2 >a"),
        &["a", "a~"],
        &["a: \"1\" > \"2\"", "a~: - > \"1\""],
    );
    check(
        &[],
        sh("printf 2 >.acp-x1.tmp"),
        &[".acp-x1.tmp"],
        &[".acp-x1.tmp: - > \"2\""],
    );
}

#[test]
fn modes_links_and_binary_files_are_reported() {
    let files = [("a", "1")];
    let mode = ["a: \"1\" 644 > \"1\" 755"];
    check(&files, sh("chmod 755 a"), &["a"], &mode);
    let link = |to: &'static str| {
        move |work: &Work| {
            let _ = fs::remove_file(work.path("l"));
            symlink(to, work.path("l")).expect("a link");
        }
    };
    check(&files, link("a"), &["l"], &["l: - > link a"]);
    let work = Work::new(&files);
    link("a")(&work);
    work.opened();
    link("nowhere")(&work);
    assert_eq!(work.changes(), ["l: link a > link nowhere"]);
    // A link has no mode.
    work.file("m", "3");
    assert_eq!(work.changes(), ["m: - > \"3\""]);
    fs::remove_file(work.path("m")).expect("a file");
    symlink("a", work.path("m")).expect("a link");
    assert_eq!(work.changes(), ["m: \"3\" > link a"]);
    fs::remove_file(work.path("m")).expect("a file");
    assert_eq!(work.changes(), ["m: link a > -"]);
    sh("rm l; mkdir t; printf 2 >t/x; ln -s t l")(&work);
    assert_eq!(
        work.changes(),
        ["l: link nowhere > link t", "t/x: - > \"2\""]
    );
    // The target of a link is not below the root.
    assert_eq!(
        sh_look(&work, "printf 3 >l/x", &["t/x", "l/x"]),
        ["t/x: \"2\" > \"3\""]
    );
    check(
        &files,
        |work| work.file("a", b"\0\0"),
        &["a"],
        &["a: \"1\" > 2 bytes"],
    );
    check(&[], sh("mkfifo p"), &[], &[]);
    check(&files, sh("rm a; mkfifo a"), &["a"], &["a: \"1\" > -"]);
    let pipes = sh("mkdir t; mkfifo t/.git t/.gitignore; printf 1 >t/a");
    check(&[], pipes, &["t/a"], &["t/a: - > \"1\""]);
}

fn sh_look(work: &Work, command: &str, names: &[&str]) -> Vec<String> {
    sh(command)(work);
    work.look(names)
}
