//! Gaps in a project's coverage are reported, and the covered part still works.

use super::*;

/// Opens a project of these files with other limits, and compares the warning, in which the root is
/// `ROOT`.
#[track_caller]
fn check(
    files: &[(&str, &str)],
    change: impl FnOnce(&mut ProjectLimits),
    said: Option<&str>,
) -> Work {
    let work = Work::with(files, |config| change(&mut config.limits.project));
    if let Some((last, _)) = files.last() {
        work.settle(last);
    }
    work.opened();
    check_said(&work, said);
    work
}

#[track_caller]
fn check_said(work: &Work, said: Option<&str>) {
    let (changes, result) = work.checkpoint();
    assert!(changes.is_empty(), "{changes:?}");
    let root = work.root.display().to_string();
    let limited = result.expect("a checkpoint").limited;
    let limited = limited.map(|limited| limited.replace(&root, "ROOT"));
    assert_eq!(limited.as_deref(), said);
}

#[test]
fn a_project_within_its_limits_is_covered_completely() {
    let work = check(&[("a", "1"), ("d/b", "2")], |_| (), None);
    let (_, result) = work.checkpoint();
    assert_eq!(result.map(|checkpoint| checkpoint.files), Ok(2));
    check(&[], |_| (), None);
}

#[test]
fn too_many_files_are_reported_and_the_nearest_are_known() {
    let said = "Not every change can be reviewed: only 2 files of ROOT are watched; start the \
                session in a smaller folder, or exclude files with .gitignore.";
    let files = [("a/1", "1"), ("b/1", "1"), ("c", "1")];
    let work = check(&files, |limits| limits.files = 2, Some(said));
    work.file("c", "2");
    work.file("a/1", "2");
    assert_eq!(work.changes(), ["a/1: \"1\" > \"2\"", "c: \"1\" > \"2\""]);
    // A file that existed before is not new; one just created is.
    fs::remove_file(work.path("c")).expect("a file");
    assert_eq!(work.changes(), ["c: \"2\" > -"]);
    work.file("b/1", "2");
    assert_eq!(work.changes(), ["b/1: \"1\" > \"2\""]);
}

#[test]
fn too_much_content_is_reported_and_changes_still_are() {
    let said = "Not every change can be reviewed: the content of 1 file of ROOT is not stored, \
                because the total would be too large; exclude files with .gitignore.";
    let files = [("a", "1234"), ("b", "1234")];
    let work = check(&files, |limits| limits.bytes = 5, Some(said));
    work.file("a", "2");
    work.file("b", "3");
    assert_eq!(
        work.changes(),
        ["a: \"1234\" > \"2\"", "b: 4 bytes, not kept > \"3\""]
    );
    check_said(&work, None);
}

#[test]
fn the_first_checkpoint_does_not_wait_until_all_is_copied() {
    const COUNT: usize = 2000;
    let work = Work::with(&[], |config| config.limits.project.copying = Duration::ZERO);
    for n in 0..COUNT {
        work.file(&format!("d/{n:04}"), n.to_string());
    }
    work.settle("d/1999");
    let root = work.root.clone();
    work.run.host.run(HostEffect::OpenProject { root });
    let limited = || work.checkpoint().1.expect("a checkpoint").limited;
    let said = limited().expect("not all is copied");
    let rest = format!(
        " of {} is still being copied; a file that is changed before is shown without its \
         earlier content.",
        work.root.display()
    );
    assert!(said.ends_with(&rest), "{said}");
    // A checkpoint goes before the next slice: asked for again and again, they take most of the time.
    wait_for("all to be copied", || work.blobs().len() == COUNT);
    assert_eq!(limited(), None);
    work.file("d/1999", "2");
    assert_eq!(work.changes(), [r#"d/1999: "1999" > "2""#]);
}

#[test]
fn large_files_are_reported_by_size() {
    let work = Work::new(&[]);
    work.file("a", vec![b'a'; 6 << 20]);
    work.file("b", vec![b'a'; 5 << 20]);
    work.opened();
    work.file("a", vec![b'b'; (6 << 20) + 1]);
    work.file("b", "b");
    let (changes, _) = work.checkpoint();
    let [a, b] = &changes[..] else {
        panic!("{}", changes.len());
    };
    assert_eq!(
        work.line(a),
        "a: 6291456 bytes, not kept > 6291457 bytes, not kept"
    );
    assert!(matches!(b.before.body, Body::Text(_)), "5 MB are kept");
    assert_eq!(work.changes(), [""; 0]);
}

#[test]
fn unreadable_folders_are_reported_and_the_rest_continues() {
    let work = Work::new(&[("a", "1"), ("b", "1"), ("d/e", "1")]);
    if rustix::process::geteuid().is_root() {
        return;
    }
    work.settle("d/e");
    set_mode(&work.path("a"), 0);
    set_mode(&work.path("d"), 0);
    work.opened();
    let said = "Not every change can be reviewed: 1 folder cannot be read, for example d; check \
                the permissions.";
    check_said(&work, Some(said));
    work.file("b", "2");
    assert_eq!(work.changes(), ["b: \"1\" > \"2\""]);
    set_mode(&work.path("a"), 0o644);
    set_mode(&work.path("d"), 0o755);
    assert_eq!(
        work.changes(),
        ["a: unreadable 0 > \"1\" 644"],
        "d/e was there"
    );
    check_said(&work, None);
    set_mode(&work.path("d"), 0);
    check_said(&work, Some(said));
    set_mode(&work.path("d"), 0o755);
    check_said(&work, None);
}

#[test]
fn a_checkpoint_of_a_project_that_is_not_open_is_refused() {
    let work = Work::open(&[]);
    work.run.host.run(HostEffect::CloseProject {
        root: work.root.clone(),
    });
    let why = work.checkpoint().1.expect_err("not open");
    let root = work.root.display();
    assert_eq!(
        why,
        format!("No checkpoint was taken of {root}: it is not open; start a session there.")
    );
}

#[test]
fn with_an_unwritable_store_changes_are_reported_in_full() {
    let work = Work::with(&[("a", "1"), ("b", "\0old")], |config| {
        fs::write(&config.state_path, "in the way").expect("a file");
    });
    work.opened();
    work.file("a", "2");
    work.file("b", "\0new");
    let (changes, result) = work.checkpoint();
    let lines: Vec<String> = changes.iter().map(|change| work.line(change)).collect();
    assert_eq!(lines, [r#"a: "1" > "2""#, "b: 4 bytes > 4 bytes"]);
    let limited = result.expect("a checkpoint").limited.expect("a warning");
    let root = work.root.display();
    let start = format!("What agents change in {root} can be reviewed until Neovim ends, and is");
    assert!(limited.starts_with(&start), "{limited}");
    let change = changes.into_iter().last().expect("two changes");
    work.run.host.run(HostEffect::Restore {
        over: MayReplace::Anything,
        hard_links: HardLinks::Keep,
        roots: vec!["/".into()],
        token: Token::new(1),
        path: change.path,
        state: change.before,
    });
    assert!(matches!(
        work.run.next(),
        Event::DiskWritten { result: Ok(_), .. }
    ));
    assert_eq!(read(&work.path("b")), "\0old");
}

#[test]
fn beyond_what_memory_holds_an_unwritable_store_is_reported() {
    let work = Work::with(&[("a", "1")], |config| {
        fs::write(&config.state_path, "in the way").expect("a file");
        config.limits.project.held_bytes = 0;
    });
    work.opened();
    let limited = work.checkpoint().1.expect("a checkpoint").limited;
    let limited = limited.expect("a warning");
    assert!(
        limited.contains("contents could not be stored: "),
        "{limited}"
    );
}
