//! Content, kind and mode are restored; what cannot be restored is reported.

use std::os::unix::fs::{MetadataExt, symlink};

use super::*;
use acp_core::spine::event::WriteError;
use acp_core::text::Text;

const TOKEN: Token<reply::DiskWritten> = Token::new(12);

impl Work {
    fn restore(&self, name: &str, state: FileState) -> Result<(), String> {
        let path = self.path(name);
        self.run.host.run(HostEffect::Restore {
            over: MayReplace::Anything,
            hard_links: HardLinks::Keep,
            roots: vec!["/".into()],
            token: TOKEN,
            path,
            state,
        });
        self.written()
    }

    fn move_disk(&self, from: &str, to: &str) -> Result<(), String> {
        let (from, to) = (self.path(from), self.path(to));
        self.run.host.run(HostEffect::MoveDisk {
            roots: vec!["/".into()],
            token: TOKEN,
            from,
            to,
        });
        self.written()
    }

    fn written(&self) -> Result<(), String> {
        match self.run.next() {
            Event::DiskWritten {
                token: TOKEN,
                result,
            } => match result {
                Ok(_) => Ok(()),
                Err(WriteError::Failed(why)) => {
                    Err(why.replace(&format!("{}/", self.root.display()), ""))
                }
                Err(WriteError::Stale) => Err("stale".to_owned()),
            },
            other => panic!("{other:?}"),
        }
    }

    /// Returns the `before` of the only change since the last checkpoint.
    #[track_caller]
    fn before(&self) -> FileState {
        let (mut changes, result) = self.checkpoint();
        result.expect("a checkpoint");
        assert_eq!(changes.len(), 1, "{changes:?}");
        changes.remove(0).before
    }
}

/// Changes the file `a` by `deed`, restores it, and compares it with the original.
#[track_caller]
fn check(make: impl Fn(&Path), deed: impl Fn(&Path)) {
    let work = Work::new(&[("other", "o")]);
    let path = work.path("a");
    make(&path);
    work.opened();
    let was = print(&path);
    deed(&path);
    assert_ne!(print(&path), was, "the deed has done nothing");
    let before = work.before();
    assert_eq!(work.restore("a", before), Ok(()));
    assert_eq!(print(&path), was);
    let names: Vec<_> = fs::read_dir(&work.root).expect("a folder").collect();
    assert_eq!(names.len(), usize::from(was != "-") + 1, "{names:?}");
}

/// Returns everything a restore must bring back.
fn print(path: &Path) -> String {
    let Ok(meta) = fs::symlink_metadata(path) else {
        return "-".to_owned();
    };
    if meta.is_symlink() {
        return format!("link {:?}", fs::read_link(path).expect("a link"));
    }
    if meta.is_dir() {
        return "folder".to_owned();
    }
    if !meta.is_file() {
        return "special".to_owned();
    }
    format!("{:o} {:?}", meta.mode(), fs::read(path).expect("a file"))
}

fn write(content: &'static [u8], mode: u32) -> impl Fn(&Path) {
    move |path| {
        fs::write(path, content).expect("a file");
        set_mode(path, mode);
    }
}

fn link(to: &'static str) -> impl Fn(&Path) {
    move |path| {
        let _ = fs::remove_file(path);
        symlink(to, path).expect("a link");
    }
}

fn remove(path: &Path) {
    fs::remove_file(path).expect("a file");
}

#[test]
fn content_is_restored_byte_for_byte() {
    check(write(b"1\n", 0o644), write(b"2\n", 0o644));
    check(write(b"\xef\xbb\xbfa\r\nb", 0o644), write(b"x", 0o644));
    check(write(b"caf\xe9\n", 0o644), write(b"", 0o644));
    check(write(b"a\r\nb\nc", 0o644), write(b"", 0o644));
    check(write(b"", 0o644), write(b"x", 0o644));
    check(write(b"\0\x01\0", 0o644), write(b"text", 0o644));
    check(write(b"text", 0o644), write(b"\0", 0o644));
}

#[test]
fn mode_and_kind_are_restored() {
    check(write(b"1", 0o644), write(b"1", 0o755));
    check(write(b"1", 0o755), write(b"2", 0o600));
    check(write(b"1", 0o644), write(b"2", 0o444));
    check(write(b"1", 0o600), remove);
    check(write(b"1", 0o755), remove);
    check(write(b"1", 0o444), remove);
    check(|_| (), write(b"1", 0o644));
    check(|_| (), link("other"));
    check(link("other"), link("nowhere"));
    check(link("other"), remove);
    check(write(b"1", 0o644), link("other"));
    check(link("other"), |path| {
        remove(path);
        write(b"1", 0o644)(path);
    });
    check(write(b"1", 0o640), |path| {
        remove(path);
        fs::create_dir_all(path.join("of/folders")).expect("a folder");
    });
    check(write(b"1", 0o640), |path| {
        remove(path);
        let status = std::process::Command::new("mkfifo").arg(path).status();
        assert!(status.expect("mkfifo").success());
    });
}

#[test]
fn a_folder_with_files_is_not_replaced_and_one_without_is() {
    let work = Work::open(&[("a", "1"), ("c", "3")]);
    remove(&work.path("a"));
    work.file("a/b/hidden", "2");
    let full = "a was not restored: a folder with files is in its place; reject or move those \
                files first.";
    let state = |text: &str| FileState::of_text(Text::from_text(text), Format::default());
    assert_eq!(work.restore("a", state("1")).expect_err("full"), full);
    assert_eq!(work.move_disk("c", "a").expect_err("full"), full);
    let above = "c/d was not restored: a file is where its folder was; reject or move that file \
                 first.";
    assert_eq!(work.restore("c/d", state("4")).expect_err("a file"), above);
    assert_eq!(read(&work.path("a/b/hidden")), "2");
    remove(&work.path("a/b/hidden"));
    assert_eq!(work.move_disk("c", "a"), Ok(()));
    assert_eq!(read(&work.path("a")), "3");
}

#[test]
fn a_links_target_is_left_alone() {
    let work = Work::open(&[("a", "1"), ("other", "o")]);
    link("other")(&work.path("a"));
    let before = work.before();
    assert_eq!(work.restore("a", before), Ok(()));
    assert_eq!(read(&work.path("other")), "o");
}

#[test]
fn a_file_that_cannot_be_restored_is_reported_and_stays() {
    let work = Work::with(&[], |config| config.limits.project.file_bytes = 10);
    work.file("a", "more than ten bytes");
    work.opened();
    work.file("a", "2");
    let large = work.before();
    assert_eq!(
        work.restore("a", large).expect_err("no content"),
        "a was not restored: its content was too large to store; restore it from version \
         control or a backup."
    );
    work.file("b/c", "1");
    let text = FileState {
        mode: Some(0o644),
        ..work.text("x")
    };
    assert_eq!(
        work.restore("b", text.clone()).expect_err("a folder"),
        "b was not restored: a folder with files is in its place; reject or move those files first."
    );
    assert_eq!(
        work.restore("b", FileState::missing())
            .expect_err("a folder"),
        "b was not deleted: it is a folder; choose a file in it."
    );
    set_mode(&work.path("b/c"), 0o444);
    let read_only = FileState {
        mode: Some(0o444),
        ..text
    };
    assert_eq!(
        work.restore("b/c", read_only).expect_err("read-only"),
        "b/c was not restored: it is read-only; run `chmod u+w` on it to allow changes."
    );
    assert_eq!(read(&work.path("b/c")), "1");
}

#[test]
fn a_damaged_content_is_reported() {
    let work = Work::open(&[("a", "\0one")]);
    work.file("a", "\0two");
    let before = work.before();
    for file in work.blobs() {
        fs::write(file, b"\x04\0\0\0junk").expect("a blob");
    }
    assert_eq!(
        work.restore("a", before.clone()).expect_err("damaged"),
        "a was not restored: its stored content is damaged; restore it from version \
         control or a backup."
    );
    assert_eq!(
        work.restore("a", before).expect_err("gone"),
        "a was not restored: its content is no longer stored; restore it from version control or \
         a backup."
    );
    assert_eq!(read(&work.path("a")), "\0two");
}

#[test]
fn the_mode_of_a_large_file_is_restored() {
    let work = Work::with(&[], |config| config.limits.project.file_bytes = 2);
    work.file("a", "large");
    work.opened();
    set_mode(&work.path("a"), 0o755);
    let before = work.before();
    assert_eq!(work.restore("a", before), Ok(()));
    assert_eq!(print(&work.path("a")), format!("100644 {:?}", b"large"));
}

#[test]
fn a_move_never_overwrites() {
    let work = Work::open(&[("a", "1"), ("b", "2"), ("d/x", "3")]);
    assert_eq!(work.move_disk("a", "new/folder/a"), Ok(()));
    assert_eq!(read(&work.path("new/folder/a")), "1");
    assert_eq!(
        work.move_disk("new/folder/a", "b").expect_err("there"),
        "new/folder/a was not moved: b already exists; move that file away first."
    );
    assert_eq!(read(&work.path("b")), "2");
    assert_eq!(
        work.move_disk("d", "e").expect_err("a folder"),
        "d was not moved: it is a folder; choose a file in it."
    );
    let missing = work.move_disk("none", "f/g").expect_err("nothing");
    assert!(missing.starts_with("none was not moved: "), "{missing}");
    assert!(!work.path("f").exists(), "no folder is left behind");
}
