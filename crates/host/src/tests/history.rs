//! Session records on disk.

use acp_core::event::ConversationEvent;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::SystemTime;

use super::*;
use acp_core::spine::history::{
    Bounds, Header, HistoryNews, HistoryOrder, Kept, KeptEntry, KeptMessage, Meta, On, Past,
    Record, RecordName, VERSION,
};
use acp_core::spine::ids::SessionKey;

const ONE: SessionKey = SessionKey(1);
const TWO: SessionKey = SessionKey(2);
const TOKEN: Token<reply::History> = Token::new(7);

/// A Neovim that stores its sessions in a folder.
struct Keeper {
    run: Run,
    state: PathBuf,
}

impl Keeper {
    fn new() -> Self {
        let run = Run::new();
        let state = run.path("acp.state");
        Self { run, state }
    }

    /// Another Neovim that runs at the same time.
    fn another(&self) -> Self {
        let state = self.state.clone();
        let run = Run::with(|config| config.state_path.clone_from(&state));
        Self { run, state }
    }

    fn does(&self, order: HistoryOrder) {
        self.run.host.run(HostEffect::History(order));
    }

    fn begins(&self, session: SessionKey, id: &str, on: Option<On>) {
        let header = Header {
            version: VERSION,
            agent: "bot".into(),
            cwd: "/p".into(),
            project: "/p".into(),
            id: Some(id.into()),
            created: 0,
        };
        self.does(HistoryOrder::Begin {
            session,
            header,
            on,
        });
    }

    fn says(&self, session: SessionKey, at: u32, text: &str) {
        let entry = KeptEntry::User(KeptMessage {
            id: None,
            text: text.into(),
        });
        let records = vec![Record::Entry {
            at,
            below: None,
            entry,
        }];
        self.does(HistoryOrder::Append { session, records });
    }

    fn is_called(&self, session: SessionKey, id: &str, title: &str) {
        let meta = Meta {
            id: Some(id.into()),
            title: Some(title.into()),
            ..Meta::default()
        };
        let records = vec![Record::Meta(meta)];
        self.does(HistoryOrder::Append { session, records });
    }

    fn news(&self) -> HistoryNews {
        match self.run.next() {
            Event::Conversation(ConversationEvent::History { news, .. }) => news,
            other => panic!("{other:?}"),
        }
    }

    fn list(&self, project: Option<&str>) -> Vec<Kept> {
        let project = project.map(PathBuf::from);
        self.does(HistoryOrder::List {
            token: TOKEN,
            project,
        });
        match self.news() {
            HistoryNews::Listed(kept) => kept,
            other => panic!("{other:?}"),
        }
    }

    fn names(&self) -> Vec<RecordName> {
        self.list(None).into_iter().map(|kept| kept.name).collect()
    }

    fn read(&self, name: &RecordName) -> Result<Past, String> {
        let name = name.clone();
        self.does(HistoryOrder::Read { token: TOKEN, name });
        match self.news() {
            HistoryNews::Read(past) => past,
            other => panic!("{other:?}"),
        }
    }

    fn delete(&self, name: &RecordName) -> Result<(), String> {
        let name = name.clone();
        self.does(HistoryOrder::Delete { token: TOKEN, name });
        match self.news() {
            HistoryNews::Deleted(result) => result,
            other => panic!("{other:?}"),
        }
    }

    fn file(&self, name: &RecordName) -> PathBuf {
        let folder = self.state.join("sessions");
        folder.join(&name.0).with_extension("jsonl")
    }

    fn files(&self) -> usize {
        let files = fs::read_dir(self.state.join("sessions"));
        files.map_or(0, Iterator::count)
    }
}

fn said(past: &Past) -> Vec<(u32, &str)> {
    let entries = past.entries.iter();
    let said = entries.map(|(at, (_, entry))| match entry {
        KeptEntry::User(message) => (*at, message.text.as_str()),
        other => panic!("{other:?}"),
    });
    said.collect()
}

#[test]
fn a_record_is_read_by_the_next_neovim() {
    let one = Keeper::new();
    one.begins(ONE, "s1", None);
    one.says(ONE, 0, "hello");
    one.says(ONE, 1, "worl");
    one.says(ONE, 1, "world");
    one.is_called(ONE, "s1", "A title");
    let kept = one.list(Some("/p"));
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].session, Some(ONE));
    assert!(one.list(Some("/q")).is_empty());
    let two = one.another();
    let kept = two.list(None).remove(0);
    assert_eq!((kept.session, kept.meta.name()), (None, Some("A title")));
    let created = kept.header.created;
    assert!(
        created > 0 && kept.updated.abs_diff(created) < 60,
        "{kept:?}"
    );
    let past = two.read(&kept.name).expect("a record");
    assert_eq!(said(&past), [(0, "hello"), (1, "world")]);
}

#[test]
fn records_are_readable_by_the_user_only() {
    let one = Keeper::new();
    one.begins(ONE, "s1", None);
    let name = one.names().remove(0);
    let mode = |path: &Path| fs::metadata(path).expect("a file").mode() & 0o777;
    assert_eq!(mode(&one.file(&name)), 0o600);
    assert_eq!(mode(&one.state.join("sessions")), 0o700);
}

#[test]
fn a_record_written_by_another_neovim_is_copied() {
    let one = Keeper::new();
    one.begins(ONE, "s1", None);
    one.says(ONE, 0, "first");
    let name = one.names().remove(0);
    let two = one.another();
    assert!(two.delete(&name).is_err());
    two.begins(TWO, "s1", Some(On::GoOn(name.clone())));
    two.says(TWO, 1, "theirs");
    let theirs = two.list(None);
    one.says(ONE, 1, "ours");
    let ours = one.read(&name).expect("a record");
    assert_eq!(said(&ours), [(0, "first"), (1, "ours")]);
    let theirs = theirs.iter().find(|kept| kept.session == Some(TWO));
    let theirs = two.read(&theirs.expect("it is written").name);
    assert_eq!(
        said(&theirs.expect("a record")),
        [(0, "first"), (1, "theirs")]
    );
    assert_eq!(one.files(), 2);
    // Lists contain the last written record of a session.
    assert_eq!(one.names().len(), 1);
}

#[test]
fn a_record_is_continued_after_a_torn_line() {
    let one = Keeper::new();
    one.begins(ONE, "s1", None);
    one.says(ONE, 0, "whole");
    let name = one.names().remove(0);
    one.does(HistoryOrder::End { session: ONE });
    one.list(None);
    let path = one.file(&name);
    let mut text = fs::read_to_string(&path).expect("a record");
    text.push_str("{\"entry\":{\"at\":1,\"entry\":{\"user\":{\"te");
    fs::write(&path, text).expect("a torn record");
    one.begins(TWO, "s1", Some(On::GoOn(name.clone())));
    one.says(TWO, 2, "more");
    assert_eq!(
        said(&one.read(&name).expect("a record")),
        [(0, "whole"), (2, "more")]
    );
    assert_eq!(one.files(), 1);
}

#[test]
fn a_record_is_replaced_by_one_that_contains_it() {
    let one = Keeper::new();
    one.begins(ONE, "s1", None);
    let name = one.names().remove(0);
    one.does(HistoryOrder::End { session: ONE });
    one.begins(TWO, "s1", Some(On::Replace(name.clone())));
    // Until the new one has its content, the old one is all there is.
    one.list(None);
    assert_eq!(one.files(), 2);
    one.says(TWO, 0, "all of it");
    let names = one.names();
    assert_ne!(names, [name]);
    assert_eq!((names.len(), one.files()), (1, 1));
}

#[test]
fn a_session_is_found_by_its_agents_id() {
    let one = Keeper::new();
    for (session, id) in [(ONE, "s1"), (TWO, "s2")] {
        one.begins(session, id, None);
        one.says(session, 0, id);
    }
    let found = |agent: &str, id: &str| {
        one.does(HistoryOrder::Find {
            token: TOKEN,
            agent: agent.into(),
            id: id.into(),
        });
        match one.news() {
            HistoryNews::Found(found) => found.map(|(_, past)| past),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(said(&found("bot", "s1").expect("s1")), [(0, "s1")]);
    assert_eq!(found("bot", "s3"), None);
    assert_eq!(found("other", "s1"), None);
}

#[test]
fn old_records_are_pruned_except_open_ones() {
    let one = Keeper::new();
    for (session, id) in [(ONE, "s1"), (TWO, "s2"), (SessionKey(3), "s3")] {
        one.begins(session, id, None);
    }
    one.does(HistoryOrder::End { session: ONE });
    let names = one.names();
    let [three, two, old] = &names[..] else {
        panic!("{names:?}");
    };
    let year = Duration::from_secs(365 * 24 * 60 * 60);
    for name in [old, two] {
        let file = fs::File::options().append(true).open(one.file(name));
        let then = SystemTime::now() - year;
        file.and_then(|file| file.set_modified(then))
            .expect("an old file");
    }
    one.does(HistoryOrder::Bound(Bounds { days: 400 }));
    assert_eq!(one.names().len(), 3);
    one.does(HistoryOrder::Bound(Bounds { days: 300 }));
    assert_eq!(one.names(), [three.clone(), two.clone()]);
}

#[test]
fn deleting_a_record_spares_one_that_is_being_written() {
    let one = Keeper::new();
    one.begins(ONE, "s1", None);
    let name = one.names().remove(0);
    assert!(one.delete(&name).is_err());
    one.does(HistoryOrder::End { session: ONE });
    assert_eq!(one.delete(&name), Ok(()));
    assert_eq!(one.delete(&name), Ok(()), "it is gone");
    assert!(one.names().is_empty());
    let outside = one.state.join("x.jsonl");
    fs::write(&outside, "").expect("a file");
    one.delete(&RecordName("../x".into()))
        .expect("none of ours");
    assert!(outside.exists());
}

/// A record that cannot grow, in the place of one on a full disk. A record is locked while it is written,
/// and all processes would share the lock of `/dev/full`.
#[cfg(target_os = "linux")]
#[test]
fn a_record_that_cannot_be_written_is_reported_once() {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;

    let one = Keeper::new();
    one.begins(ONE, "s1", None);
    assert_eq!(one.names().len(), 1);
    let name = RecordName("9".into());
    let full = memfd_create("record", MemfdFlags::ALLOW_SEALING).expect("a file");
    fcntl_add_seals(&full, SealFlags::GROW).expect("a seal");
    let place = format!("/proc/self/fd/{}", full.as_raw_fd());
    symlink(place, one.file(&name)).expect("a link");
    one.begins(TWO, "s2", Some(On::GoOn(name)));
    for at in 0..3 {
        one.says(TWO, at, "lost");
    }
    match one.news() {
        HistoryNews::Failed(why) => {
            assert!(
                why.contains("not being saved") && why.contains("sessions"),
                "{why}"
            );
        }
        other => panic!("{other:?}"),
    }
    one.says(ONE, 0, "kept");
    let kept = one.list(None);
    assert_eq!(
        said(&one.read(&kept[0].name).expect("a record")),
        [(0, "kept")]
    );
}

#[test]
fn a_folder_that_cannot_be_created_is_reported() {
    let run = Run::with(|config| config.state_path = "/dev/null".into());
    let one = Keeper {
        run,
        state: "/dev/null".into(),
    };
    one.begins(ONE, "s1", None);
    assert!(matches!(one.news(), HistoryNews::Failed(_)));
    one.says(ONE, 0, "lost");
    assert!(one.list(None).is_empty());
}

#[test]
fn prompts_are_saved_in_the_order_in_which_they_were_sent() {
    let Keeper { run, state } = Keeper::new();
    let sent: Vec<String> = (0..200).map(|nth| nth.to_string()).collect();
    let folder = PathBuf::from("/p");
    for text in sent.clone() {
        let folder = folder.clone();
        run.host.run(HostEffect::KeepPrompt { folder, text });
    }
    // What waits is saved when Neovim quits.
    run.host.shutdown(DEADLINE);
    let next = Run::with(|config| config.state_path = state);
    next.host.run(HostEffect::RecallPrompts { folder });
    match next.next() {
        Event::Conversation(ConversationEvent::PromptsRecalled { texts, .. }) => {
            assert_eq!(texts, sent);
        }
        other => panic!("{other:?}"),
    }
}
