//! Reviews that end by a commit, or outlive this Neovim.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::editor::Travel;
use super::ondisk::{
    Place, accept_at, check_hunks, check_whole, decide, decide_at, disk, running, saves, shell,
    travels, types, writes,
};
use super::world::{Part, S1, World};
use crate::event::{Event, ProjectEvent, ViewEvent};
use crate::spine::effect::Turns;
use crate::spine::event::{DiskText, ListEvent, ReviewAction, Scope};
use crate::spine::project::{Body, Committed, FileState, KeptReview, Whole};
use crate::text::format::{Format, LineEnd};
use crate::text::{LineEdit, Text};

const F: &str = "/p/f";
const OLD: &str = "a\nb\nc\nd\ne\n";
const NEW: &str = "A\nb\nc\nd\nE\n";

/// A world in which the agent replaced `OLD` by `NEW`, and the repository has `OLD`.
fn reviewed(is_open: bool) -> World {
    let mut w = World::ready();
    w.disk.put(F, OLD);
    if is_open {
        w.opens_file(F);
    }
    let params = json!({ "sessionId": "s1", "path": F, "content": NEW });
    w.asks("0", "fs/write_text_file", &params);
    commits(&mut w, OLD, OLD);
    assert_eq!(hunks(&w), 2);
    w
}

/// Returns the state of a text file as a review stores it.
fn a_text() -> FileState {
    FileState::of_text(Text::default(), Format::default())
}

fn version(text: &str) -> Option<DiskText> {
    let (format, text) = Format::decode(text.as_bytes());
    Some(DiskText { text, format })
}

/// Reports these versions of the file in the index and in HEAD.
fn commits(w: &mut World, index: &str, head: &str) {
    has_version(w, index, head, false);
}

fn has_version(w: &mut World, index: &str, head: &str, is_first: bool) {
    answers(w, index, head, is_first, Turns::Over);
}

/// Reports what git answers to a question that was asked while turns ran, or not.
fn answers(w: &mut World, index: &str, head: &str, is_first: bool, turns: Turns) {
    let files = vec![Committed {
        path: F.into(),
        index: version(index),
        head: version(head),
        is_executable: None,
        is_first,
    }];
    w.happens(Event::Project(ProjectEvent::Committed { files, turns }));
}

fn hunks(w: &World) -> usize {
    let file = w.model.workspace.reviews().get(Path::new(F));
    file.map_or(0, |file| file.ledger.hunks().len())
}

/// Returns the reviews the host was last asked to keep: paths and base texts.
fn kept(w: &World) -> Vec<(PathBuf, Option<String>)> {
    let files = w.kept.iter();
    let text = |state: &FileState| state.is_text().then(|| state.text().unwrap().to_string());
    files.map(|f| (f.path.clone(), text(&f.base))).collect()
}

#[test]
fn only_staged_or_committed_lines_are_accepted() {
    for is_open in [false, true] {
        let mut w = reviewed(is_open);
        commits(&mut w, "A\nb\nc\nd\ne\n", OLD);
        assert_eq!(hunks(&w), 1);
        commits(&mut w, NEW, "A\nb\nc\nd\ne\n");
        assert_eq!(hunks(&w), 0);
        assert_eq!(w.disk.get(F).as_deref(), Some(NEW));
        assert_eq!(w.model.workspace.reviews().counts(S1), (0, 0));
    }
}

#[test]
fn a_commit_in_a_turn_accepts_nothing() {
    let mut w = reviewed(false);
    w.prompts("commit it");
    w.goes_on();
    commits(&mut w, NEW, NEW);
    w.ends_turn("end_turn");
    w.goes_on();
    assert_eq!(hunks(&w), 2);
    // Lines that were committed during the turn are not accepted by a later commit.
    let more = format!("{NEW}f\n");
    commits(&mut w, &more, &more);
    assert_eq!(hunks(&w), 2);
}

#[test]
fn a_commit_in_a_turn_that_git_reports_late_accepts_nothing() {
    let mut w = reviewed(false);
    w.prompts("commit it");
    w.goes_on();
    w.ends_turn("end_turn");
    w.goes_on();
    answers(&mut w, NEW, NEW, false, Turns::Running);
    assert_eq!(hunks(&w), 2);
    // From then on, the user's commits count.
    commits(&mut w, OLD, OLD);
    commits(&mut w, NEW, NEW);
    assert_eq!(hunks(&w), 0);
}

#[test]
fn what_was_committed_before_a_review_began_again_is_not_accepted() {
    let mut w = reviewed(false);
    has_version(&mut w, NEW, NEW, true);
    assert_eq!(hunks(&w), 2);
    // From then on, the user's commits count.
    commits(&mut w, OLD, OLD);
    commits(&mut w, NEW, NEW);
    assert_eq!(hunks(&w), 0);
}

#[test]
fn a_review_is_kept_until_it_is_decided() {
    let mut w = reviewed(true);
    assert_eq!(kept(&w), [(F.into(), Some(OLD.into()))]);
    let (action, path) = (ReviewAction::Accept, F.into());
    w.decides(action, Scope::At { path, row: 0 });
    assert_eq!(kept(&w), [(F.into(), Some("A\nb\nc\nd\ne\n".into()))]);
    w.decides(action, Scope::All);
    assert_eq!(kept(&w), []);
}

#[test]
fn what_unsaved_changes_hide_of_the_agents_lines_is_kept() {
    // The agent's write is undone, or rejected beside an unsaved line.
    for is_undone in [true, false] {
        let mut w = reviewed(true);
        match is_undone {
            true => travels(&mut w, Travel::Undo),
            false => {
                types(&mut w, 2, 0, &["mine"]);
                decide(&mut w, ReviewAction::Reject);
            }
        }
        assert_eq!((hunks(&w), w.disk.get(F).as_deref()), (0, Some(NEW)));
        assert_eq!(kept(&w), [(F.into(), Some(OLD.into()))]);
        // A commit until then accepts it.
        assert!(w.kept[0].is_uncommitted);
        saves(&mut w);
        assert_eq!(kept(&w), []);
    }
}

#[test]
fn unsaved_lines_over_a_change_without_lines_are_no_difference_to_the_repository() {
    let mut w = running(Place::Buffer, Some(OLD));
    shell(&mut w, |disk| {
        disk.modes.insert(F.into(), 0o755);
    });
    commits(&mut w, OLD, OLD);
    types(&mut w, 2, 0, &["mine"]);
    check_whole(&w, F, &[Whole::Mode(0o644, 0o755)]);
    assert!(!w.kept[0].is_uncommitted);
}

#[test]
fn a_kept_review_continues() {
    for is_open in [false, true] {
        let mut w = World::ready();
        w.disk.put(F, NEW);
        w.disk.put("/p/made", "made\n");
        if is_open {
            w.opens_file(F);
        }
        let base = FileState::of_text(Text::from_text(OLD), Format::default());
        let left = |path: &str, base| KeptReview {
            path: path.into(),
            from: None,
            accepted: None,
            base,
            current: None,
            alone: None,
            now: match path {
                "/p/gone" => FileState::missing(),
                "/p/made" => FileState {
                    body: Body::Unreadable("it was busy".into()),
                    ..a_text()
                },
                _ => a_text(),
            },
            offers: Vec::new(),
            is_uncommitted: false,
        };
        let files = vec![
            left(F, base.clone()),
            left("/p/made", FileState::missing()),
            left("/p/gone", base.clone()),
            left("/p/gone since", base),
        ];
        let root = PathBuf::from("/p");
        w.happens(Event::Project(ProjectEvent::ReviewsKept { root, files }));
        w.goes_on();
        assert_eq!(w.model.workspace.reviews().counts(S1), (3, 4));
        assert!(w.chat().contains("3 files with undecided changes"));
        w.decides(ReviewAction::Reject, Scope::All);
        w.goes_on();
        assert_eq!(w.disk.get(F).as_deref(), Some(OLD));
        assert_eq!(w.disk.get("/p/made"), None);
        assert_eq!(w.disk.get("/p/gone").as_deref(), Some(OLD));
        assert_eq!(w.disk.get("/p/gone since"), None);
    }
}

#[test]
fn a_review_from_a_buffer_that_showed_the_line_ends_is_of_the_same_lines() {
    // The host reports the file's own line end for some of them.
    for line_end in [LineEnd::Lf, LineEnd::CrLf] {
        for (ends, final_newline) in [("\r\n", true), ("", false)] {
            for is_open in [false, true] {
                let mut w = World::ready();
                let text = |first: &str| format!("{first}\r\nb\r\nc{ends}");
                w.disk.put(F, &text("A"));
                if is_open {
                    w.opens_file(F);
                }
                let format = Format {
                    line_end,
                    final_newline,
                    ..Format::default()
                };
                let state = |first: &str| FileState::of_text(Text::from_text(&text(first)), format);
                let files = vec![KeptReview {
                    base: state("a"),
                    current: state("A").text(),
                    now: state("A").with_text(&Text::default()),
                    ..left("", "")
                }];
                let root = PathBuf::from("/p");
                w.happens(Event::Project(ProjectEvent::ReviewsKept { root, files }));
                check_hunks(&w, &[(0, "a", "A")]);
                check_whole(&w, F, &[]);
                w.decides(ReviewAction::Reject, Scope::All);
                let bytes = w.disk.files.get(Path::new(F)).unwrap();
                assert_eq!(String::from_utf8_lossy(bytes), text("a"));
                assert_eq!(hunks(&w), 0);
            }
        }
    }
}

#[test]
fn a_binary_file_whose_bytes_did_not_change_has_no_hunks_in_the_next_neovim() {
    for is_open in [false, true] {
        let mut w = World::ready();
        // It was there before this Neovim.
        w.holds(Part::Watcher);
        let bytes = b"\0a\nb\n";
        w.disk.set(F.into(), bytes.to_vec());
        if is_open {
            w.opens_file(F);
        }
        let state = FileState {
            body: Body::Bytes {
                bytes: bytes.len() as u64,
                blob: None,
            },
            mode: Some(0o644),
            stamp: w.disk.stamp(Path::new(F)),
        };
        // A buffer of the earlier Neovim has shown the bytes.
        let files = vec![KeptReview {
            from: Some("/p/before".into()),
            base: state.clone(),
            now: state,
            ..left("", "\0a\nb\n")
        }];
        let root = PathBuf::from("/p");
        w.happens(Event::Project(ProjectEvent::ReviewsKept { root, files }));
        check_whole(&w, F, &[Whole::Moved("/p/before".into())]);
        assert_eq!(hunks(&w), 0);
        w.decides(ReviewAction::Reject, Scope::All);
        assert_eq!(w.disk.files.get(Path::new("/p/before")).unwrap(), bytes);
        assert_eq!(w.model.workspace.reviews().counts(S1), (0, 0));
        w.skip();
    }
}

#[test]
fn bytes_that_another_program_writes_between_neovims_are_not_under_review() {
    for (later, is_open) in [(false, false), (true, false), (true, true)] {
        let mut w = World::ready();
        // It was there before this Neovim.
        w.holds(Part::Watcher);
        let mut state = |bytes: &[u8]| {
            w.disk.set(F.into(), bytes.to_vec());
            w.disk.states().remove(Path::new(F)).unwrap()
        };
        let files = vec![KeptReview {
            base: state(b"\0old"),
            current: None,
            now: state(b"\0new"),
            ..left("", "")
        }];
        if later {
            state(b"\0out");
        }
        if is_open {
            w.opens_file(F);
        }
        let root = PathBuf::from("/p");
        w.happens(Event::Project(ProjectEvent::ReviewsKept { root, files }));
        let whole = [Whole::Binary { kept: true }];
        check_whole(&w, F, if later { &[] } else { &whole });
        w.decides(ReviewAction::Reject, Scope::All);
        let want: &[u8] = if later { b"\0out" } else { b"\0old" };
        assert_eq!(w.disk.files.get(Path::new(F)).unwrap(), want);
        w.skip();
    }
}

#[test]
fn a_mode_that_another_program_sets_between_neovims_is_not_the_agents() {
    for is_open in [false, true] {
        // The last one was not known then.
        for (known, mode) in [
            (Some(0o755), 0o755),
            (Some(0o755), 0o644),
            (Some(0o755), 0o600),
            (None, 0o755),
        ] {
            let mut w = World::ready();
            // It was there before this Neovim.
            w.holds(Part::Watcher);
            w.disk.put(F, "a\n");
            w.disk.modes.insert(F.into(), mode);
            if is_open {
                w.opens_file(F);
            }
            let mut kept = left("a\n", "a\n");
            kept.base.mode = Some(0o644);
            kept.now.mode = known;
            kept.now.stamp = w.disk.stamp(Path::new(F));
            let (root, files) = (PathBuf::from("/p"), vec![kept]);
            w.happens(Event::Project(ProjectEvent::ReviewsKept { root, files }));
            let whole = [Whole::Mode(0o644, 0o755)];
            let is_agents = known == Some(mode);
            check_whole(&w, F, if is_agents { &whole } else { &[] });
            w.decides(ReviewAction::Reject, Scope::All);
            let want = if is_agents { 0o644 } else { mode };
            assert_eq!(w.disk.modes[Path::new(F)], want);
            w.skip();
        }
    }
}

#[test]
fn a_file_that_is_back_in_the_place_of_a_link_is_not_under_review() {
    let mut w = World::ready();
    // It was there before this Neovim.
    w.holds(Part::Watcher);
    w.disk.put(F, OLD);
    let files = vec![KeptReview {
        now: FileState {
            body: Body::Link("/p/other".into()),
            ..FileState::missing()
        },
        ..left(OLD, "")
    }];
    let root = PathBuf::from("/p");
    w.happens(Event::Project(ProjectEvent::ReviewsKept { root, files }));
    assert_eq!(w.model.workspace.reviews().counts(S1), (0, 0));
    w.opens_file(F);
    assert_eq!((hunks(&w), w.buffer(F)), (0, OLD.to_owned()));
    w.skip();
}

#[test]
fn a_kept_review_of_a_file_that_a_link_has_replaced_is_not_of_the_links_target() {
    for is_open in [false, true] {
        let mut w = World::ready();
        w.disk.put(F, NEW);
        // The link was there before this Neovim.
        w.holds(Part::Watcher);
        w.disk.link("/p/linked", F);
        if is_open {
            w.opens_file(F);
        }
        let files = vec![KeptReview {
            path: "/p/linked".into(),
            from: None,
            accepted: None,
            base: FileState {
                mode: Some(0o644),
                ..FileState::of_text(Text::from_text(OLD), Format::default())
            },
            current: None,
            alone: None,
            now: FileState {
                body: Body::Link(F.into()),
                ..FileState::missing()
            },
            offers: Vec::new(),
            is_uncommitted: false,
        }];
        let root = PathBuf::from("/p");
        w.happens(Event::Project(ProjectEvent::ReviewsKept { root, files }));
        assert_eq!(w.model.workspace.reviews().counts(S1), (1, 1));
        check_whole(&w, "/p/linked", &[Whole::Link]);
        w.decides(ReviewAction::Reject, Scope::All);
        assert!(w.disk.links.is_empty());
        assert_eq!(w.disk.get("/p/linked").as_deref(), Some(OLD));
        assert_eq!(w.disk.get(F).as_deref(), Some(NEW));
        if is_open {
            assert_eq!(w.buffer(F), NEW);
        }
        w.skip();
    }
}

/// Returns an edit that replaces one line.
fn line(row: usize, text: &str) -> LineEdit {
    LineEdit {
        start: row,
        removed: 1,
        lines: vec![text.into()],
    }
}

/// Reports a review with the base `OLD` that an earlier Neovim left and the host still keeps.
fn is_left(w: &mut World) {
    let left = KeptReview {
        path: F.into(),
        from: None,
        accepted: None,
        base: FileState::of_text(Text::from_text(OLD), Format::default()),
        current: None,
        alone: None,
        now: a_text(),
        offers: Vec::new(),
        is_uncommitted: false,
    };
    if w.kept.is_empty() {
        w.kept.push(left.clone());
    }
    let (root, files) = (PathBuf::from("/p"), vec![left]);
    w.happens(Event::Project(ProjectEvent::ReviewsKept { root, files }));
    w.goes_on();
}

#[test]
fn a_kept_review_stays_until_its_file_can_be_read() {
    let mut w = World::ready();
    w.disk.put(F, NEW);
    w.disk.broken.insert(F.into());
    is_left(&mut w);
    assert!(w.chat().contains("/p/f has undecided changes"));
    let params = json!({ "sessionId": "s1", "path": "/p/other", "content": "new\n" });
    w.asks("0", "fs/write_text_file", &params);
    let files = [(F.into(), Some(OLD.into())), ("/p/other".into(), None)];
    assert_eq!(kept(&w), files);
    w.disk.broken.clear();
    is_left(&mut w);
    assert_eq!(hunks(&w), 2);
    w.decides(ReviewAction::Accept, Scope::File { path: F.into() });
    assert_eq!(kept(&w), files[1..]);
}

#[test]
fn unsaved_lines_in_a_kept_review_are_the_users() {
    let mut w = World::ready();
    w.disk.put(F, NEW);
    let buf = w.edits(|editor, disk, out| {
        let buf = editor.open(Path::new(F), disk, out);
        editor.types(buf, line(2, "mine"), out);
        buf
    });
    is_left(&mut w);
    assert_eq!(hunks(&w), 2);
    w.decides(ReviewAction::Reject, Scope::All);
    let text = &w.model.workspace.documents().get(buf).unwrap().text;
    assert_eq!(text.to_string(), "a\nb\nmine\nd\ne\n");
}

#[test]
fn an_unchanged_review_is_not_stored_again() {
    let mut w = reviewed(true);
    w.journal = Some(Vec::new());
    let buf = w.model.workspace.documents().find(Path::new(F)).unwrap().0;
    w.edits(|editor, _, out| editor.types(buf, line(0, "AA"), out));
    let told = |w: &World| {
        let all = w.journal.as_ref().unwrap().iter();
        all.filter(|line| line.contains("KeepReviews")).count()
    };
    assert_eq!(told(&w), 0, "the file is as it was");
    saves(&mut w);
    let stored = told(&w);
    assert!(stored > 0);
    w.updates(json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "x" } }));
    w.decides(ReviewAction::Accept, Scope::Hunk { buf, row: 2 });
    assert_eq!(told(&w), stored, "nothing that is kept has changed");
}

#[test]
fn changes_of_others_to_a_kept_review_are_theirs() {
    for is_open in [false, true] {
        let mut w = World::ready();
        w.disk.put(F, &format!("{NEW}theirs\n"));
        if is_open {
            w.opens_file(F);
        }
        is_left_with(&mut w, OLD, NEW, None);
        assert_eq!(hunks(&w), 2);
        w.decides(ReviewAction::Reject, Scope::All);
        w.goes_on();
        let left = format!("{OLD}theirs\n");
        assert_eq!(w.disk.get(F).as_deref(), Some(left.as_str()));
    }
}

#[test]
fn the_users_saves_are_known_to_the_next_neovim() {
    let mut w = World::ready();
    w.disk.put(F, OLD);
    w.opens_file(F);
    let saves = |w: &mut World, line: &str| {
        let buf = w.buf(F);
        let edit = LineEdit {
            start: 0,
            removed: 0,
            lines: vec![line.to_owned()],
        };
        w.edits(|editor, _, out| editor.types(buf, edit, out));
        w.edits(|editor, disk, out| editor.saves(buf, disk, out));
    };
    w.prompts("go");
    saves(&mut w, "meanwhile");
    assert_eq!(w.saved, [w.disk.stamp(Path::new(F)).unwrap()]);
    writes(&mut w, "1", &format!("meanwhile\n{NEW}"));
    assert_eq!(w.saved.len(), 1, "the client's save is not the user's");
    w.ends_turn("end_turn");
    saves(&mut w, "right after");
    assert_eq!(w.saved.len(), 2);
}

/// Returns a review of `F` with these texts.
fn left(base: &str, current: &str) -> KeptReview {
    KeptReview {
        path: F.into(),
        from: None,
        accepted: None,
        base: FileState::of_text(Text::from_text(base), Format::default()),
        current: Some(Text::from_text(current)),
        alone: None,
        now: a_text(),
        offers: Vec::new(),
        is_uncommitted: false,
    }
}

/// Has an earlier Neovim leave a review of `F` with this base and text, while the disk has `now`.
fn is_left_with(w: &mut World, base: &str, current: &str, now: Option<&str>) {
    if let Some(now) = now {
        w.disk.put(F, now);
    }
    let files = vec![left(base, current)];
    let root = PathBuf::from("/p");
    w.happens(Event::Project(ProjectEvent::ReviewsKept { root, files }));
    w.goes_on();
}

#[test]
fn the_users_lines_in_a_file_that_the_agent_created_are_known_to_the_next_neovim() {
    for goes_on in [false, true] {
        let mut w = World::ready();
        writes(&mut w, "0", "new\nlines\nmore\n");
        w.opens_file(F);
        types(&mut w, 1, 1, &["lines of mine"]);
        saves(&mut w);
        let mut next = w.next_neovim();
        if goes_on {
            // The agent's next change leaves the user's lines to the user.
            next.prompts("go");
            writes(&mut next, "1", "NEW\nlines of mine\nmore\n");
            next.ends_turn("end_turn");
        }
        check_whole(&next, F, &[Whole::Created]);
        next.decides(ReviewAction::Reject, Scope::All);
        let left = Some("lines of mine\n");
        assert_eq!(next.disk.get(F).as_deref(), left, "{goes_on}");
    }
}

#[test]
fn a_file_that_git_has_reset_meanwhile_is_not_announced() {
    // The user had changed the line next to the agent's hunk, and saved.
    let (base, current) = ("mine\nb\nc\n", "mine\nB\nc\n");
    for now in [Some("a\nb\nc\n"), Some(base), Some("b\nc\n"), None] {
        let mut w = World::ready();
        is_left_with(&mut w, base, current, now);
        assert_eq!(hunks(&w), 0, "{now:?}");
        assert!(!w.chat().contains("undecided changes"), "{now:?}");
        assert_eq!(w.model.workspace.reviews().counts(S1), (0, 0));
    }
}

#[test]
fn a_file_that_git_has_checked_out_meanwhile_is_not_under_review() {
    let mut w = World::ready();
    let other = "a\nX\nc\n";
    is_left_with(&mut w, "a\nb\nc\n", "a\nB\nc\n", Some(other));
    assert_eq!(hunks(&w), 1, "only the repository tells whose line it is");
    commits(&mut w, other, other);
    assert_eq!(hunks(&w), 0);
    // The same text as before is still under review, though the agent has committed it.
    let mut w = World::ready();
    is_left_with(&mut w, OLD, NEW, Some(NEW));
    commits(&mut w, NEW, NEW);
    assert_eq!(hunks(&w), 2);
}

#[test]
fn what_the_agent_commits_itself_after_a_checkout_is_under_review() {
    let mut w = World::ready();
    is_left_with(&mut w, OLD, NEW, Some(OLD));
    assert_eq!(hunks(&w), 0);
    w.prompts("change and commit it");
    writes(&mut w, "1", NEW);
    answers(&mut w, NEW, NEW, true, Turns::Running);
    assert_eq!(hunks(&w), 2);
}

#[test]
fn a_mode_is_accepted_once_the_index_has_it_with_the_content() {
    for (index, before, after, is_accepted) in [
        (OLD, Some(false), true, true),
        (OLD, Some(false), false, false),
        (NEW, Some(false), true, false),
        // The agent may have added it.
        (OLD, None, true, false),
    ] {
        let mut w = running(Place::Disk, Some(OLD));
        shell(&mut w, |disk| {
            disk.modes.insert(F.into(), 0o755);
        });
        w.ends_turn("end_turn");
        let whole = [Whole::Mode(0o644, 0o755)];
        check_whole(&w, F, &whole);
        for is_executable in [before, Some(after)] {
            let files = vec![Committed {
                path: F.into(),
                index: version(index),
                head: version(OLD),
                is_executable,
                is_first: false,
            }];
            let turns = Turns::Over;
            w.happens(Event::Project(ProjectEvent::Committed { files, turns }));
        }
        check_whole(&w, F, if is_accepted { &[] } else { &whole });
        w.skip();
    }
}

#[test]
fn a_commit_between_two_neovims_accepts_what_it_has() {
    // Staged, or committed; an agent's commit in its turn accepts nothing.
    for (index, head, left) in [(NEW, OLD, 0), (NEW, NEW, 0), (OLD, OLD, 2)] {
        let mut next = reviewed(false).next_neovim();
        assert_eq!(hunks(&next), 2);
        has_version(&mut next, index, head, true);
        assert_eq!(hunks(&next), left);
    }
    let mut w = reviewed(false);
    w.prompts("commit it");
    w.goes_on();
    commits(&mut w, NEW, NEW);
    let mut next = w.next_neovim();
    has_version(&mut next, NEW, NEW, true);
    assert_eq!(hunks(&next), 2);
    // The deletion of a file.
    let mut w = running(Place::Disk, Some(OLD));
    shell(&mut w, |disk| disk.removes(F));
    commits(&mut w, OLD, OLD);
    for is_committed in [false, true] {
        let mut next = w.next_neovim();
        let version = |text| version(text).filter(|_| !is_committed);
        let files = vec![Committed {
            path: F.into(),
            index: version(OLD),
            head: version(OLD),
            is_executable: None,
            is_first: true,
        }];
        let turns = Turns::Over;
        next.happens(Event::Project(ProjectEvent::Committed { files, turns }));
        match is_committed {
            true => check_whole(&next, F, &[]),
            false => check_whole(&next, F, &[Whole::Deleted]),
        }
    }
}

#[test]
fn a_commit_of_a_link_accepts_it() {
    let has = |w: &mut World, text: Option<&str>, is_first| {
        let version = text.and_then(version);
        let files = vec![Committed {
            path: F.into(),
            index: version.clone(),
            head: version,
            is_executable: None,
            is_first,
        }];
        let turns = Turns::Over;
        w.happens(Event::Project(ProjectEvent::Committed { files, turns }));
    };
    let pending = |w: &World| w.model.workspace.reviews().counts(S1).0;
    for before in [None, Some(OLD)] {
        let mut w = running(Place::Disk, before);
        shell(&mut w, |disk| {
            disk.files.remove(Path::new(F));
            disk.link(F, "/p/other");
        });
        w.ends_turn("end_turn");
        w.goes_on();
        has(&mut w, before, true);
        let mut next = w.next_neovim();
        assert_eq!((pending(&w), pending(&next)), (1, 1), "{before:?}");
        has(&mut w, Some("/p/else"), false);
        assert_eq!(pending(&w), 1, "{before:?}");
        has(&mut w, Some("/p/other"), false);
        assert_eq!(pending(&w), 0, "{before:?}");
        // Between two Neovims.
        has(&mut next, Some("/p/other"), true);
        assert_eq!(pending(&next), 0, "{before:?}");
    }
}

#[test]
fn the_files_with_something_left_are_announced() {
    let mut w = World::ready();
    is_left_with(&mut w, OLD, NEW, Some("A\nb\nc\nd\ne\n"));
    assert_eq!(hunks(&w), 1);
    assert!(w.chat().contains("1 file with undecided changes"));
}

#[test]
fn a_conflict_with_lines_that_end_unsaved_is_a_hunk_of_the_next_neovim() {
    let mut w = running(Place::Buffer, Some(OLD));
    shell(&mut w, |disk| disk.put(F, "a\nb\nc\nd\nE\n"));
    types(&mut w, 1, 1, &["mine"]);
    shell(&mut w, |disk| disk.put(F, "a\nX\nY\nc\nd\nE\n"));
    let mut next = w.next_neovim();
    check_hunks(&next, &[(1, "b", "X Y"), (5, "e", "E")]);
    decide(&mut next, ReviewAction::Reject);
    assert_eq!(disk(&next).as_deref(), Some(OLD));
    // The same after the user has kept the unsaved lines, and accepted the other hunk.
    decide_at(&mut w, ReviewAction::Reject, 1);
    accept_at(&mut w, 4);
    assert_eq!(hunks(&w), 0);
    let mut next = w.next_neovim();
    check_hunks(&next, &[(1, "b", "X Y")]);
    decide(&mut next, ReviewAction::Reject);
    assert_eq!(disk(&next).as_deref(), Some("a\nb\nc\nd\nE\n"));
}

#[test]
fn a_conflict_with_saved_lines_is_offered_in_the_next_neovim() {
    let mut w = running(Place::Buffer, Some(OLD));
    types(&mut w, 1, 1, &["mine"]);
    shell(&mut w, |disk| disk.put(F, "a\nX\nY\nc\nd\nE\n"));
    saves(&mut w);
    let all = [(1, "mine", "mine"), (4, "e", "E")];
    check_hunks(&w, &all);
    for action in [ReviewAction::Accept, ReviewAction::Reject] {
        let mut next = w.next_neovim();
        next.opens_file(F);
        check_hunks(&next, &all);
        decide_at(&mut next, action, 1);
        let line = if action == ReviewAction::Accept {
            "X\nY"
        } else {
            "mine"
        };
        assert_eq!(disk(&next), Some(format!("a\n{line}\nc\nd\nE\n")));
        check_hunks(
            &next.next_neovim(),
            &[(4 + usize::from(line != "mine"), "e", "E")],
        );
    }
}

#[test]
fn an_accept_that_was_undone_beside_unsaved_lines_is_pending_in_the_next_neovim() {
    let mut w = running(Place::Buffer, Some(OLD));
    types(&mut w, 1, 1, &["mine"]);
    shell(&mut w, |disk| disk.put(F, "A\nb\nc\nd\nE\n"));
    accept_at(&mut w, 0);
    accept_at(&mut w, 4);
    check_hunks(&w.next_neovim(), &[]);
    w.happens(Event::View(ViewEvent::List(ListEvent::Undo)));
    check_hunks(&w, &[(4, "e", "E")]);
    let mut next = w.next_neovim();
    check_hunks(&next, &[(4, "e", "E")]);
    decide(&mut next, ReviewAction::Reject);
    assert_eq!(disk(&next).as_deref(), Some("A\nb\nc\nd\ne\n"));
}

#[test]
fn a_deletion_under_lines_that_end_unsaved_is_pending_in_the_next_neovim() {
    let mut w = running(Place::Buffer, Some(OLD));
    types(&mut w, 1, 1, &["mine"]);
    shell(&mut w, |disk| disk.removes(F));
    for _ in 0..2 {
        let mut next = w.next_neovim();
        check_whole(&next, F, &[Whole::Deleted]);
        decide(&mut next, ReviewAction::Reject);
        assert_eq!(disk(&next).as_deref(), Some(OLD));
        // The same after the user has accepted all but the conflict.
        decide(&mut w, ReviewAction::Accept);
        check_whole(&w, F, &[Whole::Deleted]);
    }
}

#[test]
fn a_text_that_returns_over_the_agents_bytes_between_two_neovims_is_not_under_review() {
    let mut w = running(Place::Disk, Some(OLD));
    shell(&mut w, |disk| disk.put(F, "\0bytes"));
    check_whole(&w, F, &[Whole::Binary { kept: true }]);
    w.disk.put(F, OLD);
    let next = w.next_neovim();
    assert_eq!(next.model.workspace.reviews().counts(S1), (0, 0));
    assert_eq!(disk(&next).as_deref(), Some(OLD));
}

#[test]
fn bytes_that_another_program_writes_over_the_agents_text_between_two_neovims_stay() {
    let mut w = running(Place::Disk, Some(OLD));
    shell(&mut w, |disk| disk.put(F, NEW));
    w.disk.put(F, "\0bytes");
    let mut next = w.next_neovim();
    assert_eq!(next.model.workspace.reviews().counts(S1), (0, 0));
    decide(&mut next, ReviewAction::Reject);
    assert_eq!(disk(&next).as_deref(), Some("\0bytes"));
}

#[test]
fn another_line_end_that_a_buffer_shows_as_part_of_its_lines_is_pending_in_the_next_neovim() {
    let mut w = running(Place::Buffer, Some("a\nb\n"));
    writes(&mut w, "1", "a\r\nb\r\n");
    check_hunks(&w, &[(0, "a b", "a\r b\r")]);
    check_whole(&w, F, &[]);
    commits(&mut w, "a\nb\n", "a\nb\n");
    let mut next = w.next_neovim();
    commits(&mut next, "a\nb\n", "a\nb\n");
    let ends = "line ends LF to CRLF".to_owned();
    check_whole(&next, F, &[Whole::Format(ends)]);
    check_hunks(&next, &[]);
    for w in [&mut next, &mut w] {
        decide(w, ReviewAction::Reject);
        assert_eq!(disk(w).as_deref(), Some("a\nb\n"));
        assert_eq!(w.model.workspace.reviews().counts(S1), (0, 0));
    }
}
