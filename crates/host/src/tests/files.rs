//! Files: reads are exact, writes are complete, failures change nothing.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;
use acp_core::spine::effect::{HardLinks, MayReplace};
use acp_core::spine::event::{DiskText, WriteError};
use acp_core::spine::project::FileState;
use acp_core::text::Text;
use acp_core::text::format::{Encoding, Format, LineEnd};

const READ: Token<reply::DiskRead> = Token::new(7);
const WRITTEN: Token<reply::DiskWritten> = Token::new(7);

impl Run {
    fn read(&self, name: &str) -> Result<Option<DiskText>, String> {
        let path = self.path(name);
        self.host.run(HostEffect::ReadDisk { token: READ, path });
        match self.next() {
            Event::DiskRead {
                token: READ,
                result,
            } => result
                .map(|file| file.content)
                .map_err(|why| self.without_folder(&why.into_words())),
            other => panic!("{other:?}"),
        }
    }

    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        self.write_as(name, text, Format::default())
    }

    fn write_as(&self, name: &str, text: &str, format: Format) -> Result<(), String> {
        self.host.run(HostEffect::WriteDisk {
            roots: vec!["/".into()],
            token: WRITTEN,
            path: self.path(name),
            over: acp_edge::paths::stamp(&self.path(name)),
            hard_links: HardLinks::Keep,
            text: Text::from_text(text),
            format,
        });
        self.written()
    }

    fn delete(&self, name: &str) -> Result<(), String> {
        let path = self.path(name);
        self.host.run(HostEffect::DeleteDisk {
            over: MayReplace::Anything,
            roots: vec!["/".into()],
            token: WRITTEN,
            path,
        });
        self.written()
    }

    fn written(&self) -> Result<(), String> {
        match self.next() {
            Event::DiskWritten {
                token: WRITTEN,
                result,
            } => match result {
                Ok(_) => Ok(()),
                Err(WriteError::Failed(why)) => Err(self.without_folder(&why)),
                Err(WriteError::Stale) => Err("stale".to_owned()),
            },
            other => panic!("{other:?}"),
        }
    }

    fn without_folder(&self, why: &str) -> String {
        why.replace(&format!("{}/", self.folder.path().display()), "")
    }

    fn file(&self, name: &str, content: &[u8], mode: u32) {
        fs::write(self.path(name), content).expect("a file");
        set_mode(&self.path(name), mode);
    }

    fn mode(&self, name: &str) -> u32 {
        fs::metadata(self.path(name)).expect("a file").mode() & 0o7777
    }

    /// Returns the names in the folder, sorted, without the log.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).expect("the folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = names
            .map(|name| name.into_string().expect("a name"))
            .filter(|name| name != "acp.log")
            .collect();
        names.sort();
        names
    }
}

/// Reads bytes, writes them back, and compares them.
fn check_bytes(bytes: &[u8], format: Format) {
    let run = Run::new();
    run.file("a", bytes, 0o644);
    let disk = run.read("a").expect("readable").expect("there");
    assert_eq!(disk.format, format);
    run.write_as("b", &disk.text.to_string(), disk.format)
        .expect("writable");
    assert_eq!(fs::read(run.path("b")).expect("a file"), bytes);
}

#[test]
fn stored_bytes_are_returned_unchanged() {
    let format = Format::default();
    check_bytes(b"a\nb\n", format);
    check_bytes(
        b"a\r\nb\r\n",
        Format {
            line_end: LineEnd::CrLf,
            ..format
        },
    );
    check_bytes(
        b"caf\xe9\n",
        Format {
            encoding: Encoding::Latin1,
            ..format
        },
    );
    check_bytes(
        b"\xef\xbb\xbfno end",
        Format {
            bom: true,
            final_newline: false,
            ..format
        },
    );
    check_bytes(b"", format);
}

#[test]
fn unreadable_files_are_reported_and_missing_ones_are_none() {
    let run = Run::with(|config| config.limits.file_bytes = 1 << 20);
    assert_eq!(run.read("none"), Ok(None));
    run.file("file", b"", 0o644);
    assert_eq!(run.read("file/below"), Ok(None));
    symlink("nowhere", run.path("link")).expect("a link");
    assert_eq!(run.read("link"), Ok(None));

    fs::create_dir(run.path("folder")).expect("a folder");
    let refused = run.read("folder").expect_err("a folder");
    assert_eq!(
        refused,
        "folder was not read: it is a folder; choose a file in it."
    );
    run.file("large", &[b'x'; (1 << 20) + 1], 0o644);
    assert_eq!(
        run.read("large").expect_err("too large"),
        "large was not read: it is larger than 1 MiB; read a part of it with a command."
    );
    run.file("full", &[b'x'; 1 << 20], 0o644);
    assert!(run.read("full").is_ok());
    symlink("circle", run.path("circle")).expect("a link");
    assert!(run.read("circle").is_err());
}

#[test]
fn a_pipe_is_refused_without_a_wait_for_its_writer() {
    let run = Run::with(|config| config.limits.quiescence.patience = 2 * DEADLINE);
    let status = std::process::Command::new("mkfifo")
        .arg(run.path("pipe"))
        .status();
    assert!(status.expect("mkfifo").success());
    assert_eq!(
        run.read("pipe").expect_err("a pipe"),
        "pipe was not read: it is not a regular file; choose one that is."
    );
}

#[test]
fn where_a_path_leads_is_unknown_if_the_system_does_not_answer_in_time() {
    let lead = |run: &Run| {
        let (token, paths) = (Token::new(7), vec![run.path("file")]);
        run.host.run(HostEffect::Resolve { token, paths });
        match run.next() {
            Event::Resolved { paths, .. } => paths,
            other => panic!("{other:?}"),
        }
    };
    let run = Run::with(|config| config.limits.resolve = DEADLINE);
    assert_eq!(lead(&run), [acp_edge::paths::resolved(&run.path("file"))]);
    let run = Run::with(|config| config.limits.resolve = Duration::from_millis(50));
    // All threads that may ask the system are kept busy.
    let (busy, runtime) = (Arc::new(Mutex::new(())), &run.host.kit.runtime);
    let held = busy.lock();
    for _ in 0..100 {
        let busy = Arc::clone(&busy);
        runtime.spawn_blocking(move || drop(busy.lock()));
    }
    assert_eq!(lead(&run), [PathBuf::new()]);
    drop(held);
}

#[test]
fn a_write_keeps_the_mode_and_follows_links() {
    let run = Run::new();
    run.file("file", b"old\n", 0o751);
    let inode = fs::metadata(run.path("file")).expect("a file").ino();
    run.write("file", "new").expect("written");
    assert_eq!(read(&run.path("file")), "new\n");
    assert_eq!(run.mode("file"), 0o751);
    // The file was replaced by a rename: a reader of the old one still sees all of it.
    assert_ne!(fs::metadata(run.path("file")).expect("a file").ino(), inode);

    fs::create_dir(run.path("sub")).expect("a folder");
    symlink("../file", run.path("sub/link")).expect("a link");
    symlink("sub/link", run.path("link")).expect("a link");
    run.write("link", "through").expect("written");
    assert_eq!(read(&run.path("file")), "through\n");
    symlink("sub/new", run.path("dangling")).expect("a link");
    run.write("dangling", "created").expect("written");
    assert_eq!(read(&run.path("sub/new")), "created\n");
    for link in ["link", "dangling", "sub/link"] {
        let meta = fs::symlink_metadata(run.path(link)).expect("a link");
        assert!(meta.is_symlink(), "{link}");
    }
    assert_eq!(run.names(), ["dangling", "file", "link", "sub"]);
}

#[test]
fn a_deletion_and_a_restore_leave_another_file_than_they_may_replace() {
    let run = Run::new();
    let path = run.path("a");
    let deletes = |over: MayReplace| {
        run.host.run(HostEffect::DeleteDisk {
            token: WRITTEN,
            path: path.clone(),
            roots: vec!["/".into()],
            over,
        });
        run.written()
    };
    let restores = |over: MayReplace| {
        run.host.run(HostEffect::Restore {
            token: WRITTEN,
            path: path.clone(),
            roots: vec!["/".into()],
            state: FileState::of_text(Text::from_text("old\n"), Format::default()),
            over,
            hard_links: HardLinks::Keep,
        });
        run.written()
    };
    run.file("a", b"seen\n", 0o644);
    let seen = MayReplace::Only(acp_edge::paths::stamp(&path));
    run.file("a", b"another's\n", 0o644);
    for over in [seen, MayReplace::Only(None)] {
        assert_eq!(deletes(over), Err("stale".to_owned()));
        assert_eq!(restores(over), Err("stale".to_owned()));
        assert_eq!(read(&path), "another's\n");
    }
    let there = MayReplace::Only(acp_edge::paths::stamp(&path));
    assert_eq!(restores(there), Ok(()));
    assert_eq!(read(&path), "old\n");
    let there = MayReplace::Only(acp_edge::paths::stamp(&path));
    assert_eq!(deletes(there), Ok(()));
    assert!(!path.exists());
    // Nothing is lost where nothing is.
    assert_eq!(deletes(seen), Ok(()));
    assert_eq!(restores(seen), Ok(()));
    assert_eq!(read(&path), "old\n");
}

#[test]
fn a_link_to_a_file_to_come_must_stay_within_the_folders() {
    let run = Run::new();
    let outside = tempfile::tempdir().expect("a folder");
    let outside = outside.path().canonicalize().expect("it is there");
    symlink(outside.join("new/file"), run.path("dangling")).expect("a link");
    let roots = run.path("dangling").parent().map(Path::to_owned);
    run.host.run(HostEffect::WriteDisk {
        roots: roots.into_iter().collect(),
        token: WRITTEN,
        path: run.path("dangling"),
        over: None,
        hard_links: HardLinks::Keep,
        text: Text::from_text("created"),
        format: Format::default(),
    });
    run.written().expect_err("it is refused");
    assert_eq!(fs::read_dir(&outside).expect("a folder").count(), 0);
}

#[test]
fn a_write_keeps_extended_attributes() {
    let run = Run::new();
    run.file("file", b"old\n", 0o644);
    let path = run.path("file");
    let flags = rustix::fs::XattrFlags::empty();
    if rustix::fs::setxattr(&path, "user.acp", b"kept", flags).is_err() {
        // A file system without attributes has none to lose.
        return;
    }
    run.write("file", "new").expect("written");
    assert_eq!(read(&path), "new\n");
    let mut value = [0; 16];
    let size = rustix::fs::getxattr(&path, "user.acp", &mut value[..]).expect("the attribute");
    assert_eq!(&value[..size], b"kept");
}

#[test]
fn a_new_file_gets_its_folders_and_the_usual_mode() {
    let run = Run::new();
    run.write("one/two/file", "x").expect("written");
    assert_eq!(read(&run.path("one/two/file")), "x\n");
    // Compares with a new file of the shell, since the umask varies.
    assert_eq!(run.whole_life("echo > usual").status, "exit code 0");
    assert_eq!(run.mode("one/two/file"), run.mode("usual"));
}

#[test]
fn all_names_of_a_file_keep_the_same_content() {
    let run = Run::new();
    run.file("file", b"a long old content\n", 0o640);
    fs::hard_link(run.path("file"), run.path("other")).expect("a link");
    run.write("file", "new").expect("written");
    assert_eq!(read(&run.path("other")), "new\n");
    assert_eq!(run.mode("file"), 0o640);
    assert_eq!(run.names(), ["file", "other"]);
}

#[test]
fn the_other_names_of_a_replaced_file_keep_it() {
    let run = Run::new();
    let names = ["a", "b", "c"];
    run.file("a", b"another\n", 0o640);
    for name in &names[1..] {
        fs::hard_link(run.path("a"), run.path(name)).expect("a link");
    }
    run.host.run(HostEffect::WriteDisk {
        token: WRITTEN,
        path: run.path("b"),
        roots: vec!["/".into()],
        over: acp_edge::paths::stamp(&run.path("b")),
        hard_links: HardLinks::Break,
        text: Text::from_text("old\n"),
        format: Format::default(),
    });
    assert_eq!(run.written(), Ok(()));
    // The same content, in another mode.
    run.host.run(HostEffect::Restore {
        token: WRITTEN,
        path: run.path("c"),
        roots: vec!["/".into()],
        state: FileState {
            mode: Some(0o600),
            ..FileState::of_text(Text::from_text("another\n"), Format::default())
        },
        over: MayReplace::Anything,
        hard_links: HardLinks::Break,
    });
    assert_eq!(run.written(), Ok(()));
    let there = names.map(|name| (read(&run.path(name)), run.mode(name)));
    let want = [("another\n", 0o640), ("old\n", 0o640), ("another\n", 0o600)];
    assert_eq!(there, want.map(|(text, mode)| (text.to_owned(), mode)));
    assert_eq!(run.names(), names);
}

#[test]
fn a_refused_operation_changes_nothing() {
    let run = Run::new();
    run.file("readonly", b"old\n", 0o444);
    run.file("file", b"old\n", 0o644);
    fs::create_dir(run.path("folder")).expect("a folder");
    let before = run.names();
    let latin = Format {
        encoding: Encoding::Latin1,
        ..Format::default()
    };
    let foreign = Format {
        encoding: Encoding::Other,
        ..Format::default()
    };
    let results = [
        run.write("readonly", "new"),
        run.write("folder", "new"),
        run.write("file/below/that", "new"),
        run.write_as("file", "na\u{ef}ve €", latin),
        run.write_as("file", "x", foreign),
        run.delete("folder"),
    ];
    let whys = results.map(|result| result.expect_err("refused"));
    assert_eq!(
        whys,
        [
            "readonly was not written: it is read-only; run `chmod u+w` on it to allow changes.",
            "folder was not written: it is a folder; choose a file in it.",
            "file/below/that was not written: a part of its path is a file, not a folder; choose \
             another path.",
            "file was not written: latin-1, the file's encoding, cannot represent '€' (U+20AC); \
             leave it out, or convert the file to UTF-8 first.",
            "file was not written: only Neovim can write its encoding; open it in a buffer first.",
            "folder was not deleted: it is a folder; choose a file in it.",
        ]
    );
    assert_eq!(run.names(), before);
    assert_eq!(read(&run.path("file")), "old\n");
    assert_eq!(read(&run.path("readonly")), "old\n");
    assert_eq!(run.mode("readonly"), 0o444);
}

#[test]
fn folders_created_for_a_failed_write_are_removed() {
    let run = Run::new();
    let long = "x".repeat(300);
    assert!(run.write(&format!("one/two/{long}"), "x").is_err());
    assert_eq!(run.names(), Vec::<String>::new());
}

#[test]
fn a_deletion_removes_only_the_name() {
    let run = Run::new();
    run.file("file", b"kept\n", 0o444);
    symlink("file", run.path("link")).expect("a link");
    run.delete("link").expect("deleted");
    assert_eq!(run.names(), ["file"]);
    run.delete("file").expect("deleted");
    run.delete("file").expect("as good as deleted");
    assert_eq!(run.names(), Vec::<String>::new());
}

#[test]
fn operations_on_a_path_keep_their_order() {
    let run = Run::new();
    for n in 0..40 {
        let path = run.path("file");
        run.host.run(HostEffect::WriteDisk {
            roots: vec!["/".into()],
            token: Token::new(n),
            path: path.clone(),
            over: None,
            hard_links: HardLinks::Keep,
            text: Text::from_lines([n.to_string()]),
            format: Format::default(),
        });
        run.host.run(HostEffect::ReadDisk {
            token: Token::new(n),
            path: path.clone(),
        });
        run.host.run(HostEffect::DeleteDisk {
            over: MayReplace::Anything,
            roots: vec!["/".into()],
            token: Token::new(n),
            path,
        });
    }
    let written = |n, is_there| match run.next() {
        Event::DiskWritten { token, result } => {
            let stamp = result.expect("written");
            assert_eq!((token, stamp.is_some()), (Token::new(n), is_there));
        }
        other => panic!("{other:?}"),
    };
    for n in 0..40 {
        written(n, true);
        match run.next() {
            Event::DiskRead { token, result } => {
                let text = result.expect("readable").content.expect("there").text;
                assert_eq!((token, text.to_string()), (Token::new(n), format!("{n}\n")));
            }
            other => panic!("{other:?}"),
        }
        written(n, false);
    }
    assert_eq!(run.names(), [""; 0]);
}

#[test]
fn readers_never_see_a_half_written_file() {
    let run = Run::new();
    let lines = |c: char| Text::from_lines(vec![c.to_string().repeat(99); 2000]);
    run.file("file", lines('a').to_string().as_bytes(), 0o644);
    let path = run.path("file");
    let reader = std::thread::spawn(move || {
        loop {
            let seen = read(&path);
            let first = seen.chars().next().expect("never empty");
            assert!(seen == lines(first).to_string(), "a mixture");
            if first == 'z' {
                break;
            }
        }
    });
    for c in 'b'..='z' {
        run.write("file", &lines(c).to_string()).expect("written");
    }
    reader.join().expect("no mixture was seen");
}

#[test]
fn a_file_changed_by_another_program_is_not_overwritten() {
    let run = Run::new();
    run.file("file", b"theirs\n", 0o644);
    let over = |over| {
        run.host.run(HostEffect::WriteDisk {
            roots: vec!["/".into()],
            token: WRITTEN,
            path: run.path("file"),
            over,
            hard_links: HardLinks::Keep,
            text: Text::from_text("ours\n"),
            format: Format::default(),
        });
        run.written()
    };
    assert_eq!(over(None), Err("stale".to_owned()));
    assert_eq!(read(&run.path("file")), "theirs\n");
    let was = acp_edge::paths::stamp(&run.path("file"));
    run.file("file", b"theirs again\n", 0o644);
    assert_eq!(over(was), Err("stale".to_owned()));
    assert_eq!(read(&run.path("file")), "theirs again\n");
    fs::remove_file(run.path("file")).expect("it is there");
    assert_eq!(over(was), Err("stale".to_owned()));
    assert_eq!(run.names(), [""; 0]);
    assert_eq!(over(None), Ok(()));
}

#[test]
fn pending_writes_are_finished_at_shutdown() {
    let run = Run::new();
    for n in 0..20 {
        let path = run.path("file");
        run.host.run(HostEffect::WriteDisk {
            roots: vec!["/".into()],
            token: WRITTEN,
            path: path.clone(),
            over: None,
            hard_links: HardLinks::Keep,
            text: Text::from_lines([n.to_string()]),
            format: Format::default(),
        });
        if n < 19 {
            run.host.run(HostEffect::DeleteDisk {
                over: MayReplace::Anything,
                roots: vec!["/".into()],
                token: WRITTEN,
                path,
            });
        }
    }
    run.host.shutdown(DEADLINE);
    assert_eq!(read(&run.folder.path().join("file")), "19\n");
}

#[test]
fn a_panic_is_reported_and_ends_one_operation_only() {
    let run = Run::with(|config| {
        let variable = ("ACP_TEST_PANIC".into(), "host".into());
        config.environment = Environment::from_variables([variable]);
    });
    run.file("file", b"x\n", 0o644);
    let path = run.path("file");
    run.host.run(HostEffect::ReadDisk { token: READ, path });
    match run.next() {
        Event::Panicked { place, message } => {
            assert_eq!(place, "reading a file");
            assert_eq!(message, "asked to by ACP_TEST_PANIC");
        }
        other => panic!("{other:?}"),
    }
    match run.next() {
        Event::DiskRead { result, .. } => assert!(result.is_err()),
        other => panic!("{other:?}"),
    }
    assert!(run.read("file").expect("readable").is_some());
}

#[test]
fn permissions_of_a_folder_are_respected() {
    let run = Run::new();
    fs::create_dir(run.path("folder")).expect("a folder");
    run.file("folder/file", b"old\n", 0o644);
    fs::set_permissions(run.path("folder"), fs::Permissions::from_mode(0o555)).expect("a mode");
    if rustix::process::geteuid().is_root() {
        // Root may write anywhere; the file must then be written completely.
        run.write("folder/file", "new").expect("written");
        assert_eq!(read(&run.path("folder/file")), "new\n");
    } else {
        let why = run.write("folder/file", "new").expect_err("refused");
        assert_eq!(
            why,
            "folder/file was not written: permission denied; check the permissions of the file \
             and of its folder."
        );
        assert_eq!(read(&run.path("folder/file")), "old\n");
    }
    let names = fs::read_dir(run.path("folder"))
        .expect("the folder")
        .count();
    assert_eq!(names, 1);
}

/// Set in the process that has few descriptors.
const FEW: &str = "ACP_TEST_FEW_DESCRIPTORS";

#[test]
fn many_files_are_written_with_few_descriptors() {
    if std::env::var_os(FEW).is_none() {
        let own = std::env::current_exe().expect("a program");
        let mut shell = std::process::Command::new("sh");
        let script = "ulimit -n 40; exec \"$0\" --exact --test-threads 1 \"$1\"";
        let name = "tests::files::many_files_are_written_with_few_descriptors";
        shell.args(["-c", script]).arg(own).arg(name).env(FEW, "1");
        let done = shell.output().expect("a shell");
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success(), "{said}");
        assert!(said.contains("1 passed"), "{said}");
        return;
    }
    let run = Run::new();
    const COUNT: usize = 300;
    for n in 0..COUNT {
        run.host.run(HostEffect::WriteDisk {
            token: WRITTEN,
            path: run.path(&format!("{n}/f")),
            roots: vec!["/".into()],
            over: None,
            hard_links: HardLinks::Keep,
            text: Text::from_text("text\n"),
            format: Format::default(),
        });
    }
    for _ in 0..COUNT {
        match run.next() {
            Event::DiskWritten { result, .. } => drop(result.expect("it is written")),
            other => panic!("{other:?}"),
        }
    }
}
