//! Links that an agent makes, changes or replaces, beside the files that they lead to and the buffers
//! that have them as their names.

use std::path::Path;

use super::disk::Disk;
use super::kinds::{Deed, files};
use super::ondisk::{check_hunks_of, check_settled, shell};
use super::world::{Part, World};
use crate::event::{Event, ReviewEvent, ViewEvent};
use crate::spine::event::{ListEvent, ReviewAction, Scope, UndoStep};
use crate::spine::ids::BufId;
use crate::text::LineEdit;

/// A link, the file it leads to, and another file.
const L: &str = "/p/l";
const A: &str = "/p/a";
const X: &str = "/p/d/x";
/// A file that an agent creates, and a link to it.
const N: &str = "/p/n";
const M: &str = "/p/m";

const DEEDS: [Deed; 8] = [
    // As `sed -i` does.
    |disk| {
        disk.links.remove(Path::new(L));
        disk.put(L, "a\nB\n");
    },
    |disk| {
        disk.moves(A, "/p/b");
        disk.link(L, "/p/b");
    },
    |disk| {
        disk.moves(X, "/p/e/x");
        disk.link(X, "/p/e/x");
    },
    |disk| {
        disk.put(N, "n\n");
        disk.link(M, N);
    },
    |disk| drop(disk.links.remove(Path::new(L))),
    |disk| disk.link(L, X),
    |disk| {
        disk.put(A, "a\nB\n");
        disk.link(L, X);
    },
    |disk| {
        disk.links.remove(Path::new(L));
        disk.moves(A, L);
    },
];

/// Replaces a file by a link to a copy of it.
const COPIED: Deed = |disk| {
    disk.removes(X);
    disk.put("/p/e/x", "x\ny\n");
    disk.link(X, "/p/e/x");
};

/// When a file is opened.
#[derive(Debug, Clone, Copy)]
enum Open {
    Never,
    Before(&'static str),
    After(&'static str),
}

const OPEN: [Open; 9] = [
    Open::Never,
    Open::Before(L),
    Open::Before(A),
    Open::Before(X),
    Open::After(L),
    Open::After(A),
    Open::After(X),
    Open::After(N),
    Open::After(M),
];

fn undo(step: UndoStep) -> Event {
    let session = None;
    Event::Review(ReviewEvent::UndoTurn { session, step })
}

fn reject() -> Event {
    let (action, scope) = (ReviewAction::Reject, Scope::All);
    Event::Review(ReviewEvent::Decide { action, scope })
}

fn begun(open: Open) -> World {
    let mut w = World::ready();
    w.disk.put(A, "a\nb\n");
    w.disk.put(X, "x\ny\n");
    w.disk.link(L, A);
    w.settle();
    if let Open::Before(path) = open {
        w.opens_file(path);
    }
    w.prompts("go");
    w
}

fn turn(w: &mut World, deed: Deed, open: Open) {
    shell(w, deed);
    w.ends_turn("end_turn");
    if let Open::After(path) = open
        && w.disk.get(path).is_some()
    {
        w.opens_file(path);
        w.settle();
    }
}

/// Checks that each buffer has the text of the file that its name leads to, if there is one.
fn check_buffers(w: &World, what: &str) {
    for (buf, buffer) in &w.editor.buffers {
        let name = buffer.path.to_string_lossy();
        let Some(text) = w.disk.get(&name) else {
            continue;
        };
        assert_eq!(
            buffer.text.to_string(),
            text,
            "{what} {buf:?} {name}: {:?}",
            w.log
        );
        assert!(!buffer.modified, "{what} {buf:?} {name}");
    }
}

#[test]
fn a_reject_of_all_restores_links_and_the_files_they_lead_to() {
    for open in OPEN {
        for (number, deed) in DEEDS.into_iter().enumerate() {
            let what = format!("{number} {open:?}");
            let mut w = begun(open);
            let before = files(&w.disk);
            turn(&mut w, deed, open);
            check_buffers(&w, &what);
            let after = files(&w.disk);
            w.happens(reject());
            assert_eq!(files(&w.disk), before, "{what}: {:?}", w.log);
            check_settled(&w);
            check_buffers(&w, &what);
            w.happens(Event::View(ViewEvent::List(ListEvent::Undo)));
            assert_eq!(files(&w.disk), after, "{what} back: {:?}", w.log);
            check_buffers(&w, &what);
            w.happens(reject());
            assert_eq!(files(&w.disk), before, "{what} again: {:?}", w.log);
            check_settled(&w);
        }
    }
}

#[test]
fn undoing_a_turn_restores_links_and_the_files_they_lead_to() {
    for open in OPEN {
        for (number, deed) in DEEDS.into_iter().enumerate() {
            let what = format!("{number} {open:?}");
            let mut w = begun(open);
            let before = files(&w.disk);
            turn(&mut w, deed, open);
            let after = files(&w.disk);
            for (step, want) in [
                (UndoStep::Undo(None), &before),
                (UndoStep::Back, &after),
                (UndoStep::Undo(None), &before),
            ] {
                w.happens(undo(step));
                assert_eq!(files(&w.disk), *want, "{what}: {:?}", w.log);
                check_buffers(&w, &what);
            }
            check_settled(&w);
        }
    }
}

#[test]
fn buffers_follow_restored_links_before_any_report() {
    for open in OPEN {
        for (number, deed) in DEEDS.into_iter().enumerate() {
            for is_undo in [false, true] {
                let what = format!("{number} {open:?} {is_undo}");
                let mut w = begun(open);
                let before = files(&w.disk);
                turn(&mut w, deed, open);
                w.holds(Part::Watcher);
                w.holds(Part::Shadow);
                let after = files(&w.disk);
                let (away, back) = match is_undo {
                    true => (undo(UndoStep::Undo(None)), undo(UndoStep::Back)),
                    false => (reject(), Event::View(ViewEvent::List(ListEvent::Undo))),
                };
                let names = |w: &World| {
                    let buffers = w.editor.buffers.values();
                    let names = buffers.map(|buffer| buffer.path.clone());
                    names
                        .filter(|name| after.get(name).is_some_and(|it| it.starts_with("to ")))
                        .collect::<Vec<_>>()
                };
                let links = names(&w);
                w.happens(away);
                assert_eq!(files(&w.disk), before, "{what}: {:?}", w.log);
                assert_eq!(names(&w), links, "{what}");
                check_settled(&w);
                check_buffers(&w, &what);
                w.happens(back);
                assert_eq!(files(&w.disk), after, "{what} back: {:?}", w.log);
                check_buffers(&w, &what);
            }
        }
    }
}

#[test]
fn a_reject_of_all_in_the_next_neovim_restores_links_too() {
    for open in OPEN {
        for (number, deed) in DEEDS.into_iter().enumerate() {
            let what = format!("{number} {open:?}");
            let mut w = begun(Open::Never);
            let before = files(&w.disk);
            turn(&mut w, deed, Open::Never);
            let mut w = w.next_neovim();
            if let Open::Before(path) | Open::After(path) = open {
                w.opens_file(path);
            }
            w.happens(reject());
            assert_eq!(files(&w.disk), before, "{what}: {:?}", w.log);
            check_settled(&w);
            check_buffers(&w, &what);
        }
    }
}

#[test]
fn a_link_in_the_place_of_a_reviewed_file_ends_the_review_unless_it_leads_to_that_file() {
    for (is_moved, left) in [(true, vec!["/p/e/x"]), (false, vec![])] {
        let mut w = begun(Open::Never);
        shell(&mut w, |disk| disk.put(X, "x\nY\n"));
        w.ends_turn("end_turn");
        if is_moved {
            w.disk.moves(X, "/p/e/x");
        }
        w.disk.removes(X);
        let to = if is_moved { "/p/e/x" } else { A };
        w.holds(Part::Watcher);
        w.disk.link(X, to);
        let next = w.next_neovim();
        let reviews = next.model.workspace.reviews().iter();
        let pending = reviews.filter(|(_, file)| file.is_pending());
        let pending: Vec<_> = pending.map(|(path, _)| path.to_string_lossy()).collect();
        assert_eq!(pending, left, "{is_moved}");
    }
}

/// Has the user add a line at the top of a buffer, and perhaps save it.
fn adds_a_line(w: &mut World, buf: BufId, is_saved: bool) {
    let edit = LineEdit {
        start: 0,
        removed: 0,
        lines: vec!["the user's".to_owned()],
    };
    w.edits(|editor, disk, out| {
        editor.types(buf, edit, out);
        if is_saved {
            editor.saves(buf, disk, out);
        }
    });
}

#[test]
fn a_buffer_is_saved_through_a_link_before_that_is_restored() {
    for is_undo in [false, true] {
        let mut w = begun(Open::Before(X));
        let mut want = files(&w.disk);
        turn(&mut w, COPIED, Open::Before(X));
        let buf = w.buf(X);
        adds_a_line(&mut w, buf, true);
        want.insert("/p/e/x".into(), "the user's\n".into());
        // It may be slow.
        w.holds(Part::Editor);
        match is_undo {
            true => w.happens(undo(UndoStep::Undo(None))),
            false => w.happens(reject()),
        }
        assert!(w.disk.links.contains_key(Path::new(X)), "undo: {is_undo}");
        w.goes_on();
        assert_eq!(files(&w.disk), want, "undo: {is_undo}, {:?}", w.log);
        check_buffers(&w, "in the end");
    }
}

#[test]
fn what_is_saved_while_a_buffer_is_let_go_is_the_users() {
    for (is_told, is_kept) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut w = begun(Open::Before(X));
        let mut want = files(&w.disk);
        let buf = w.buf(X);
        w.holds(Part::Editor);
        shell(&mut w, DEEDS[2]);
        if is_kept {
            // The editor keeps its unsaved lines.
            adds_a_line(&mut w, buf, false);
            w.goes_on();
        }
        w.holds(Part::Editor);
        if !is_told {
            w.holds(Part::Watcher);
        }
        match is_kept {
            true => w.edits(|editor, disk, out| editor.saves(buf, disk, out)),
            false => adds_a_line(&mut w, buf, true),
        }
        w.goes_on();
        w.ends_turn("end_turn");
        w.happens(reject());
        want.insert("/p/e/x".into(), "the user's\n".into());
        let what = format!("{is_told} {is_kept}");
        assert_eq!(files(&w.disk), want, "{what}: {:?}", w.log);
        check_buffers(&w, &what);
    }
}

#[test]
fn what_is_saved_through_a_link_that_was_just_made_is_the_users() {
    for (is_moved, is_wiped) in [(true, false), (true, true), (false, false), (false, true)] {
        let deed = if is_moved { DEEDS[2] } else { COPIED };
        let mut w = begun(Open::Before(X));
        let mut want = files(&w.disk);
        w.holds(Part::Watcher);
        shell(&mut w, deed);
        let buf = w.buf(X);
        adds_a_line(&mut w, buf, true);
        if is_wiped {
            w.edits(|editor, _, out| editor.wipes(buf, out));
        }
        w.goes_on();
        w.ends_turn("end_turn");
        w.happens(reject());
        want.insert("/p/e/x".into(), "the user's\nx\ny\n".into());
        assert_eq!(files(&w.disk), want, "{is_moved} {is_wiped}: {:?}", w.log);
        check_buffers(&w, "in the end");
    }
}

#[test]
fn both_a_link_and_its_file_are_decided_in_the_buffer() {
    let mut w = begun(Open::Before(L));
    let before = files(&w.disk);
    turn(&mut w, DEEDS[1], Open::Before(L));
    let path = "/p/b".into();
    w.decides(ReviewAction::Reject, Scope::File { path });
    assert_eq!(files(&w.disk), before);
    check_settled(&w);
}

/// Replaces the folder of a file by a link to another folder, which has a file of the same name.
fn replaces_folder(disk: &mut Disk) {
    disk.removes(X);
    disk.link("/p/d", "/p/e");
}

fn with_folders(open: Open) -> World {
    let mut w = World::ready();
    w.disk.put(X, "x\ny\n");
    w.disk.put("/p/e/x", "other\n");
    w.settle();
    if let Open::Before(path) = open {
        w.opens_file(path);
    }
    w.prompts("go");
    w
}

#[test]
fn a_file_below_a_folder_that_a_link_has_replaced_is_not_the_links() {
    for open in [Open::Never, Open::Before(X), Open::After(X)] {
        for is_next in [false, true] {
            let what = format!("{open:?} {is_next}");
            let mut w = with_folders(open);
            let before = files(&w.disk);
            turn(&mut w, replaces_folder, open);
            check_buffers(&w, &what);
            let after = files(&w.disk);
            let mut w = if is_next { w.next_neovim() } else { w };
            let path = X.into();
            w.decides(ReviewAction::Reject, Scope::At { path, row: 0 });
            assert_eq!(files(&w.disk), after, "{what}");
            assert!(w.was_told("Reject the link first"), "{what}: {:?}", w.log);
            w.happens(reject());
            assert_eq!(files(&w.disk), before, "{what}: {:?}", w.log);
            check_settled(&w);
            check_buffers(&w, &what);
        }
    }
}

#[test]
fn unsaved_lines_are_not_those_of_the_file_that_a_link_leads_to_by_now() {
    for is_written in [false, true] {
        let mut w = begun(Open::Before(L));
        let before = files(&w.disk);
        let buf = w.buf(L);
        adds_a_line(&mut w, buf, false);
        let text = w.editor.buffers[&buf].text.to_string();
        shell(&mut w, |disk| disk.link(L, "/p/none"));
        shell(&mut w, |disk| {
            disk.link(L, X);
            if !is_written {
                disk.put(X, "x\nY\n");
            }
        });
        if is_written {
            w.writes(L, "x\nY\n");
        }
        w.ends_turn("end_turn");
        check_hunks_of(&w, X, &[(1, "y", "Y")]);
        assert_eq!(w.disk.get(X).as_deref(), Some("x\nY\n"), "{is_written}");
        w.happens(reject());
        assert_eq!(files(&w.disk), before, "{is_written}: {:?}", w.log);
        check_settled(&w);
        let buffer = &w.editor.buffers[&buf];
        assert_eq!((buffer.text.to_string(), buffer.modified), (text, true));
        // It is a buffer of its file again.
        w.edits(|editor, disk, out| editor.saves(buf, disk, out));
        assert_eq!(w.disk.get(A).as_deref(), Some("the user's\na\nb\n"));
        check_settled(&w);
    }
}

#[test]
fn unsaved_lines_in_the_place_of_the_agents_stay_after_their_link_was_changed() {
    for is_slow in [false, true] {
        let mut w = begun(Open::Before(L));
        let before = files(&w.disk);
        let buf = w.buf(L);
        let mine = LineEdit {
            start: 1,
            removed: 1,
            lines: vec!["mine".to_owned()],
        };
        w.edits(|editor, _, out| editor.types(buf, mine, out));
        turn(&mut w, DEEDS[6], Open::Never);
        for _ in 0..2 {
            if is_slow {
                // The link is restored, and its buffer attached, before the file is.
                w.holds(Part::Disk);
            }
            w.happens(reject());
            while let Some(event) = w.disk.work(Path::new(L)) {
                w.happens(event);
            }
            w.goes_on();
            let is_restored = files(&w.disk) == before;
            // What the agent wrote is then offered beside the line, which only the user saves.
            assert!(is_restored || is_slow, "{:?}", w.log);
            let buffer = &w.editor.buffers[&buf];
            let there = (buffer.text.to_string(), buffer.modified);
            assert_eq!(there, ("a\nmine\n".to_owned(), true), "{is_slow}");
        }
        check_settled(&w);
        w.edits(|editor, disk, out| editor.saves(buf, disk, out));
        assert_eq!(w.disk.get(A).as_deref(), Some("a\nmine\n"));
        check_settled(&w);
    }
}

#[test]
fn lines_that_the_user_adds_through_a_link_stay() {
    for open in OPEN {
        for (number, deed) in DEEDS.into_iter().enumerate() {
            for is_saved in [false, true] {
                let what = format!("{number} {open:?} {is_saved}");
                let mut w = begun(open);
                turn(&mut w, deed, open);
                let Some(buf) = w.editor.buffers.keys().next().copied() else {
                    continue;
                };
                adds_a_line(&mut w, buf, is_saved);
                w.happens(reject());
                if is_saved {
                    check_settled(&w);
                }
                let mut texts = w
                    .editor
                    .buffers
                    .values()
                    .map(|buffer| buffer.text.to_string());
                let is_there = texts.any(|text| text.contains("the user's"));
                let mut files = files(&w.disk).into_values();
                let is_saved = files.any(|text| text.contains("the user's"));
                assert!(is_there || is_saved, "{what}: {:?}", w.log);
            }
        }
    }
}
