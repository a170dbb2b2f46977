//! Contents, checkpoints and reviews that outlive a Neovim, and their pruning.

use acp_core::event::ProjectEvent;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::time::SystemTime;

use super::*;
use crate::locked::Locked;
use acp_core::spine::project::{Blob, KeptOffer, KeptReview};
use acp_core::text::Text;
use acp_core::text::format::{Encoding, LineEnd};

impl Work {
    /// Starts another Neovim on the same project, now or after this one.
    fn another(&self) -> Work {
        self.another_with(Quiescence::default())
    }

    fn another_with(&self, quiescence: Quiescence) -> Work {
        let run = Run::with(|config| {
            config.environment = Environment::from_variables([]);
            config.limits.project.watches = 0;
            config.limits.quiescence = quiescence;
            config.state_path = self.state.clone();
        });
        Work {
            run,
            root: self.root.clone(),
            state: self.state.clone(),
        }
    }

    /// Opens the project; returns the reported reviews.
    fn reviews(&self) -> Vec<KeptReview> {
        let root = self.root.clone();
        self.run.host.run(HostEffect::OpenProject { root });
        self.run.host.run(HostEffect::Checkpoint {
            token: CHECKPOINT,
            root: self.root.clone(),
            turns: Turns::Over,
        });
        let mut kept = Vec::new();
        loop {
            match self.run.next() {
                Event::Project(ProjectEvent::ReviewsKept { root, files }) => {
                    assert_eq!(root, self.root);
                    kept.extend(files);
                }
                Event::Project(ProjectEvent::CheckpointTaken { .. }) => return kept,
                Event::Project(ProjectEvent::WatchLimited { .. }) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    fn keep(&self, files: &[KeptReview]) {
        self.keep_but(files, &[]);
    }

    fn keep_but(&self, files: &[KeptReview], over: &[&str]) {
        self.run.host.run(HostEffect::KeepReviews {
            root: self.root.clone(),
            files: files.to_vec(),
            over: over.iter().map(|name| self.path(name)).collect(),
            saved: None,
        });
    }

    fn review(&self, name: &str, body: Body) -> KeptReview {
        KeptReview {
            path: self.path(name),
            from: None,
            accepted: None,
            base: FileState {
                body,
                mode: Some(0o644),
                stamp: None,
            },
            current: None,
            alone: None,
            now: FileState {
                mode: Some(0o644),
                ..FileState::of_text(Text::default(), Format::default())
            },
            offers: Vec::new(),
            is_uncommitted: false,
        }
    }

    /// Returns the state of a text file as a review stores it.
    fn state_now(&self, name: &str) -> FileState {
        FileState {
            stamp: acp_edge::paths::stamp(&self.path(name)),
            ..FileState::of_text(Text::default(), Format::default())
        }
    }

    /// Ends this Neovim after its pending work. Its folder is removed with the returned value.
    fn end(self) -> TempDir {
        let lives = || {
            let lives = kept_files(&self.state, ".life");
            lives.iter().filter(|life| is_locked(life)).count()
        };
        let before = lives();
        let Run { host, folder, .. } = self.run;
        host.shutdown(DEADLINE);
        wait_for("its locks to be free", || lives() < before);
        folder
    }

    /// Returns the projects' stored files whose names have this ending.
    fn kept_files(&self, end: &str) -> Vec<PathBuf> {
        kept_files(&self.state, end)
    }
}

fn kept_files(state: &Path, end: &str) -> Vec<PathBuf> {
    let below = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = below(state.join("projects")).map(|entry| entry.path());
    let files = folders.flat_map(below).map(|entry| entry.path());
    let mut files: Vec<PathBuf> = files
        .filter(|path| path.to_string_lossy().ends_with(end))
        .collect();
    files.sort();
    files
}

/// Returns whether a running Neovim holds this lease.
fn is_locked(life: &Path) -> bool {
    let shared = rustix::fs::FlockOperation::NonBlockingLockShared;
    fs::File::open(life).is_ok_and(|file| Locked::new(file, shared).is_err())
}

/// Makes a file older; one that has just been pruned is left out.
fn age(path: &Path, days: u64) {
    let then = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
    match fs::File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        file => file.expect("a file").set_modified(then).expect("a time"),
    }
}

#[test]
fn stored_files_are_readable_by_the_user_only() {
    let work = Work::open(&[("a", "1")]);
    work.keep(&[work.review("a", Body::Missing)]);
    wait_for("a review", || !work.kept_files(".reviews").is_empty());
    let mut folders = vec![work.state.clone()];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        let mode = fs::metadata(&folder).expect("a folder").mode();
        assert_eq!(mode & 0o777, 0o700, "{}", folder.display());
        for entry in fs::read_dir(&folder).expect("a folder") {
            let entry = entry.expect("an entry");
            let Ok(meta) = entry.metadata() else {
                // A temporary file that has its name by now.
                continue;
            };
            if meta.is_dir() {
                folders.push(entry.path());
            } else {
                assert_eq!(meta.mode() & 0o777, 0o600, "{}", entry.path().display());
                files += 1;
            }
        }
    }
    assert!(
        files >= 4,
        "a content, a checkpoint, a life, a review: {files}"
    );
}

#[test]
fn the_next_neovim_starts_from_the_last_checkpoint() {
    let work = Work::open(&[("a", "1"), ("b", "2")]);
    let next = work.another();
    // With the content gone, only a Neovim that does not read the file again fails to notice.
    for blob in work.blobs() {
        age(&blob, 0);
        fs::remove_file(blob).expect("a blob");
    }
    work.settle("b");
    // Reads them again, now that their times are settled; the contents are the same.
    assert_eq!(work.changes(), [""; 0]);
    for blob in work.blobs() {
        fs::remove_file(blob).expect("a blob");
    }
    next.file("a", "3");
    next.opened();
    assert_eq!(next.changes(), [""; 0], "what happened before is no news");
    next.file("b", "4");
    assert_eq!(next.changes(), ["b: unreadable > \"4\""]);
}

#[test]
fn two_neovims_may_work_on_one_project() {
    let one = Work::open(&[("a", "1")]);
    let two = one.another();
    two.opened();
    one.file("a", "2");
    assert_eq!(one.changes(), ["a: \"1\" > \"2\""]);
    assert_eq!(two.changes(), ["a: \"1\" > \"2\""]);
}

#[test]
fn reviews_are_taken_over_once_after_their_neovim_has_ended() {
    let one = Work::open(&[("a", "1")]);
    let format = Format {
        line_end: LineEnd::CrLf,
        final_newline: false,
        bom: true,
        encoding: Encoding::Utf8,
    };
    let mut text = one.review("a", one.text("one\ntwo").body);
    if let Body::Text(text) = &mut text.base.body {
        text.format = format;
    }
    text.from = Some(one.path("from"));
    text.now = FileState::missing();
    let link = Body::Link("to".into());
    let large = Body::Bytes {
        bytes: 9,
        blob: None,
    };
    let mut reviews = vec![
        text,
        one.review("b", Body::Missing),
        one.review("c", link),
        one.review("d", large),
        one.review("e", Body::Unreadable("why".into())),
    ];
    reviews[1].base.mode = None;
    reviews[1].accepted = Some(Text::from_text("the user's\n"));
    reviews[1].current = Some(Text::from_text("with\na line\n"));
    reviews[3].now.body = Body::Bytes {
        bytes: 5,
        blob: None,
    };
    one.keep(&[one.review("z", Body::Missing)]);
    one.keep_but(&reviews, &["z", "never"]);
    let two = one.another();
    assert_eq!(two.reviews(), [], "its Neovim runs");
    let _folder = one.end();
    let three = two.another();
    assert_eq!(three.reviews(), reviews);
    let other = three.another();
    assert_eq!(other.reviews(), [], "they are the third one's now");
    let _its_folder = other.end();
    // It ends without a report, so the reviews are still its own.
    let four = three.another();
    let _its_folder = three.end();
    assert_eq!(four.reviews(), reviews);
    // A change of one file leaves the others, including those taken over.
    four.keep_but(&[four.review("f", Body::Missing)], &["a", "b", "c"]);
    let five = four.another();
    let _its_folder = four.end();
    reviews.drain(..3);
    reviews.push(five.review("f", Body::Missing));
    assert_eq!(five.reviews(), reviews);
    five.keep_but(&[], &["d", "e", "f"]);
    let six = five.another();
    let _its_folder = five.end();
    assert_eq!(six.reviews(), []);
}

impl Work {
    /// Begins a turn.
    fn turn(&self) {
        self.run.host.run(HostEffect::Checkpoint {
            token: CHECKPOINT,
            root: self.root.clone(),
            turns: Turns::Running,
        });
        match self.run.next() {
            Event::Project(ProjectEvent::CheckpointTaken { result, .. }) => {
                result.expect("a checkpoint");
            }
            other => panic!("{other:?}"),
        }
    }

    /// Returns what the next Neovim reports: the accepted text of each file, and the one now.
    fn lines(&self) -> Vec<String> {
        let line = |kept: &KeptReview| {
            let now = kept.current.as_ref().map(Text::to_string);
            format!(
                "{}: {} > {:?}{}",
                kept.path.strip_prefix(&self.root).expect("below").display(),
                state(&kept.base, false),
                now.unwrap_or_default(),
                match kept.now.is_missing() {
                    true => " deleted",
                    false => "",
                }
            )
        };
        self.reviews().iter().map(line).collect()
    }
}

#[test]
fn what_a_cut_turn_changed_is_under_review_in_the_next_neovim() {
    let one = Work::open(&[("a", "1\n"), ("b", "2\n"), ("c", "3\n"), ("d", "4\n")]);
    one.settle("d");
    one.turn();
    let two = one.another();
    one.file("a", "");
    one.file("b", "the user's\n");
    one.file("new", "5\n");
    fs::remove_file(one.path("c")).expect("a file");
    one.run.host.run(HostEffect::KeepReviews {
        root: one.root.clone(),
        files: vec![],
        over: vec![],
        saved: acp_edge::paths::stamp(&one.path("b")),
    });
    let _folder = one.end();
    // A file's time may be some milliseconds behind the clock.
    std::thread::sleep(Duration::from_millis(60));
    two.file("d", "of another program\n");
    let lines = [
        r#"a: "1\n" > """#,
        r#"c: "3\n" > "" deleted"#,
        r#"new: - > "5\n""#,
    ];
    assert_eq!(two.lines(), lines);
    let three = two.another();
    let _its_folder = two.end();
    assert_eq!(three.lines(), lines, "the reviews are kept as any others");
}

#[test]
fn bytes_that_another_program_has_written_again_are_those_of_the_review() {
    let one = Work::open(&[("a", "\0new"), ("b", "\0new")]);
    let files = ["a", "b"].map(|name| KeptReview {
        now: FileState {
            body: Body::Bytes {
                bytes: 4,
                blob: Some(Blob(*blake3::hash(b"\0new").as_bytes())),
            },
            ..one.state_now(name)
        },
        ..one.review(name, Body::Missing)
    });
    one.keep(&files);
    let two = one.another();
    let _folder = one.end();
    for (name, bytes) in [("a", "\0new"), ("b", "\0out")] {
        two.file(name, bytes);
    }
    let stamps = two.reviews().into_iter().map(|review| review.now.stamp);
    let is_same = stamps.eq([acp_edge::paths::stamp(&two.path("a")), files[1].now.stamp]);
    assert!(is_same);
}

fn offer(rows: std::ops::Range<usize>) -> KeptOffer {
    let lines = vec!["offered".to_owned()];
    KeptOffer { rows, lines }
}

#[test]
fn what_a_cut_turn_changed_after_the_last_report_is_part_of_its_review() {
    let one = Work::open(&[("a", "1\n2\n3\n")]);
    one.turn();
    let two = one.another();
    one.file("a", "one\n2\n3\n");
    one.keep(&[KeptReview {
        current: Some(Text::from_text("one\n2\n3\n")),
        alone: Some(Text::from_text("1\n3\n")),
        now: one.state_now("a"),
        offers: vec![offer(1..2), offer(3..3)],
        ..one.review("a", one.text("1\n2\n3\n").body)
    }]);
    one.file("a", "zero\none\n2\nthree\nfour\n");
    let _folder = one.end();
    let kept = two.reviews();
    let now = kept[0].current.as_ref().map(Text::to_string);
    assert_eq!(now.as_deref(), Some("zero\none\n2\nthree\nfour\n"));
    let alone = kept[0].alone.as_ref().map(Text::to_string);
    assert_eq!(alone.as_deref(), Some("zero\n1\nthree\nfour\n"));
    assert_eq!(kept[0].offers, [offer(2..3), offer(5..5)]);
}

#[test]
fn a_move_under_review_is_no_deletion_of_a_cut_turn() {
    let one = Work::open(&[("a", "1\n2\n")]);
    one.turn();
    let two = one.another();
    one.file("b", "1\ntwo\n");
    fs::remove_file(one.path("a")).expect("a file");
    one.keep(&[KeptReview {
        from: Some(one.path("a")),
        current: Some(Text::from_text("1\ntwo\n")),
        now: one.state_now("b"),
        ..one.review("b", one.text("1\n2\n").body)
    }]);
    let _folder = one.end();
    assert_eq!(two.lines(), [r#"b: "1\n2\n" > "1\ntwo\n""#]);
}

#[test]
fn what_changes_after_a_turn_is_not_under_review() {
    let one = Work::open(&[("a", "1\n")]);
    one.turn();
    one.changes();
    let root = one.root.clone();
    one.run.host.run(HostEffect::TurnsAreOver { root });
    assert_eq!(one.changes(), [""; 0], "it has been carried out");
    one.file("a", "2\n");
    let two = one.another();
    let _folder = one.end();
    assert_eq!(two.lines(), [""; 0]);
}

#[test]
fn hunks_of_two_neovims_in_one_file_are_one_review() {
    let one = Work::open(&[("a", "1\ntwo\n3\nfour\n")]);
    let two = one.another();
    two.opened();
    let now = Some(Text::from_text("1\ntwo\n3\nfour\n"));
    let review = |work: &Work, base: &str| KeptReview {
        current: now.clone(),
        ..work.review("a", work.text(base).body)
    };
    one.keep(&[review(&one, "1\n2\n3\nfour\n")]);
    two.keep(&[review(&two, "1\ntwo\n3\n4\n")]);
    let three = one.another();
    let _folders = [one.end(), two.end()];
    assert_eq!(
        three.lines(),
        [r#"a: "1\n2\n3\n4\n" > "1\ntwo\n3\nfour\n""#]
    );
}

#[test]
fn reviews_not_taken_up_are_reported_again() {
    let one = Work::open(&[("a", "1")]);
    let left = [one.review("a", one.text("old").body)];
    one.keep(&left);
    let two = one.another();
    let _folder = one.end();
    assert_eq!(two.reviews(), left);
    let root = two.root.clone();
    two.run.host.run(HostEffect::CloseProject { root });
    assert_eq!(two.reviews(), left);
    let three = two.another();
    let _its_folder = two.end();
    assert_eq!(three.reviews(), left);
}

#[test]
fn reviews_in_an_unknown_format_are_left_alone() {
    let one = Work::open(&[("a", "1")]);
    one.keep(&[one.review("a", Body::Missing)]);
    let two = one.another();
    let _folder = one.end();
    let [file] = &two.kept_files(".reviews")[..] else {
        panic!("one file");
    };
    fs::write(file, "of a version to come").expect("a file");
    assert_eq!(two.reviews(), []);
    assert_eq!(read(file), "of a version to come");
}

#[test]
fn reviews_of_an_older_version_are_dropped_and_do_not_block_pruning() {
    let one = Work::with(&[("a", "1")], |config| {
        config.limits.project.prune_every = Duration::ZERO;
    });
    one.opened();
    let old = one.another();
    old.opened();
    old.keep(&[old.review("a", Body::Missing)]);
    let _folder = old.end();
    let [file] = &one.kept_files(".reviews")[..] else {
        panic!("one file");
    };
    fs::write(file, "acprevw3 and what that version wrote").expect("a file");
    let pruned = one.state.join("pruned");
    wait_for("pruning", || pruned.exists());
    fs::remove_file(&pruned).expect("a file");
    wait_for_pruning(&one, || pruned.exists());
    assert_eq!(one.another().reviews(), []);
    assert!(!file.exists());
}

#[test]
fn a_review_of_a_file_whose_name_is_not_utf_8_is_kept() {
    let one = Work::open(&[("a", "1")]);
    let name = OsStr::from_bytes(b"\xff\n");
    let mut review = one.review("a", Body::Link(name.into()));
    review.path = one.root.join(name);
    review.from = Some(one.root.join("b").join(name));
    one.keep(&[review.clone()]);
    let two = one.another();
    let _folder = one.end();
    assert_eq!(two.reviews(), [review]);
}

#[test]
fn review_paths_are_spelled_like_the_root() {
    let one = Work::open(&[("a", "1")]);
    one.keep(&[one.review("a", Body::Missing)]);
    let mut two = one.another();
    let link = two.run.path("link");
    symlink(&one.root, &link).expect("a link");
    two.root = link.clone();
    let _folder = one.end();
    let kept = two.reviews();
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].path, link.join("a"));
}

/// Takes checkpoints, each of which prunes unless an earlier pruning still runs, until `is_done`.
fn wait_for_pruning(work: &Work, is_done: impl Fn() -> bool) {
    wait_for("pruning", || {
        work.changes();
        is_done()
    });
}

#[test]
fn surplus_checkpoints_are_pruned_with_their_contents() {
    let work = Work::with(&[("a", "0")], |config| {
        config.limits.project.checkpoints = 2;
        config.limits.project.prune_every = Duration::ZERO;
    });
    work.opened();
    for text in ["1", "2", "3", "4"] {
        work.file("a", text);
        work.changes();
    }
    let blobs = work.blobs();
    assert_eq!(blobs.len(), 5);
    for blob in &blobs {
        age(blob, 1);
    }
    work.file("a", "5");
    // Both may have the same text: a young file is in two checkpoints.
    wait_for_pruning(&work, || {
        work.kept_files(".manifest").len() == 2 && work.blobs().len() <= 2
    });
    work.file("a", "6");
    assert_eq!(work.changes(), ["a: \"5\" > \"6\""]);
}

#[test]
fn old_projects_are_pruned_but_needed_contents_stay() {
    let one = Work::with(&[("a", "1")], |config| {
        config.limits.project.prune_every = Duration::ZERO;
    });
    one.opened();
    // Later pruning would find some of the files aged.
    wait_for("pruning", || one.state.join("pruned").exists());
    let mut old = one.another();
    old.root = old.run.path("old");
    fs::create_dir(&old.root).expect("a folder");
    old.file("x", "of an old project");
    old.file("y", "\0 of a review");
    old.opened();
    old.file("y", "\0 of an agent");
    let (changes, _) = old.checkpoint();
    old.keep(&[KeptReview {
        path: old.path("y"),
        from: None,
        accepted: None,
        base: changes[0].before.clone(),
        current: Some(Text::from_text("of the same review")),
        alone: None,
        now: changes[0].after.clone(),
        offers: Vec::new(),
        is_uncommitted: false,
    }]);
    let again = old.another();
    let _folder = old.end();
    for file in one.kept_files(".manifest").iter().chain(&one.blobs()) {
        age(file, 40);
    }
    assert_eq!(one.blobs().len(), 5);
    // Of the old project only the review's contents are left, of this one all.
    wait_for_pruning(&one, || one.blobs().len() == 4);
    assert_eq!(one.kept_files(".manifest").len(), 1);
    one.file("a", "2");
    assert_eq!(one.changes(), ["a: \"1\" > \"2\""]);
    assert_eq!(again.reviews().len(), 1);
}

#[test]
fn the_oldest_contents_are_pruned_first() {
    let work = Work::with(&[("a", "0")], |config| {
        config.limits.project.prune_every = Duration::ZERO;
        config.limits.project.store_bytes = 5000;
    });
    work.opened();
    // Content that does not compress.
    let noise = |seed: u8| {
        let hash = |n: u8| *blake3::hash(&[seed, n]).as_bytes();
        (0..64).flat_map(hash).collect::<Vec<u8>>()
    };
    for seed in 0..4 {
        work.file("a", noise(seed));
        work.changes();
    }
    for (index, file) in work.kept_files(".manifest").iter().enumerate() {
        age(file, 9 - index as u64);
    }
    for blob in work.blobs() {
        age(&blob, 9);
    }
    // The last two have 2 KiB each; a young file is in two checkpoints.
    wait_for_pruning(&work, || {
        let left = work.kept_files(".manifest");
        (2..=3).contains(&left.len()) && work.blobs().len() == 2
    });
}

#[test]
fn a_damaged_checkpoint_is_ignored() {
    let work = Work::open(&[("a", "1")]);
    let next = work.another();
    for manifest in work.kept_files(".manifest") {
        let mut bytes = fs::read(&manifest).expect("a checkpoint");
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        fs::write(manifest, bytes).expect("a checkpoint");
    }
    next.opened();
    next.file("a", "2");
    assert_eq!(next.changes(), ["a: \"1\" > \"2\""]);
}

#[test]
fn the_checkpoint_of_a_running_neovim_stays_at_any_age() {
    let mut one = Work::with(
        &[("idle/a", "1"), ("p/a", "2"), ("gone/x", "3")],
        |config| {
            config.limits.project.prune_every = Duration::ZERO;
        },
    );
    let (mut idle, mut gone) = (one.another(), one.another());
    for (work, name) in [(&mut idle, "idle"), (&mut gone, "gone"), (&mut one, "p")] {
        work.root.push(name);
        work.opened();
    }
    let _folder = gone.end();
    let pruned = one.state.join("pruned");
    wait_for("pruning", || pruned.exists());
    for (files, days) in [(one.kept_files(".manifest"), 40), (one.blobs(), 41)] {
        files.iter().for_each(|file| age(file, days));
    }
    fs::remove_file(&pruned).expect("a file");
    wait_for_pruning(&one, || one.blobs().len() <= 2 && pruned.exists());
    idle.file("a", "4");
    assert_eq!(idle.changes(), ["a: \"1\" > \"4\""]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_neovim_that_had_no_lease_when_it_opened_a_project_has_one_once_a_turn_begins() {
    use crate::tests::exhausted::{is_alone, with_descriptors};

    let name = "a_neovim_that_had_no_lease_when_it_opened_a_project_has_one_once_a_turn_begins";
    if !is_alone(&format!("tests::project::kept::{name}")) {
        return;
    }
    let work = Work::new(&[("a", "1")]);
    work.settle("a");
    with_descriptors(0, || work.opened());
    work.turn();
    // The turn is named after the checkpoint is taken.
    let states = |what: &str| {
        let lives = work.kept_files(".life");
        let mut terms = lives.iter().map(fs::read_to_string);
        terms.any(|terms| terms.is_ok_and(|terms| terms.contains(what)))
    };
    wait_for("a lease", || states("\"turn\":\""));
    assert!(states("\"checkpoint\":\""));
}

#[cfg(target_os = "linux")]
#[test]
fn reviews_that_cannot_be_read_come_back_with_the_next_session() {
    use crate::tests::exhausted::{is_alone, with_descriptors};

    let name = "reviews_that_cannot_be_read_come_back_with_the_next_session";
    if !is_alone(&format!("tests::project::kept::{name}")) {
        return;
    }
    let one = Work::open(&[("a", "1\n")]);
    one.settle("a");
    one.turn();
    let impatient = Quiescence {
        after: Duration::ZERO,
        patience: Duration::ZERO,
    };
    let two = one.another_with(impatient);
    one.file("a", "2\n");
    let _folder = one.end();
    two.settle("a");
    assert_eq!(with_descriptors(0, || two.lines()), [""; 0]);
    let root = two.root.clone();
    two.run.host.run(HostEffect::CloseProject { root });
    assert_eq!(two.lines(), [r#"a: "1\n" > "2\n""#]);
}
