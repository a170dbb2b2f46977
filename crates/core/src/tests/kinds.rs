//! Files that an agent replaces by folders or links, and the reverse.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::disk::Disk;
use super::ondisk::{check_settled, check_whole, decide, shell};
use super::world::{S1, World};
use crate::event::{Event, ReviewEvent, ViewEvent};
use crate::spine::event::{ListEvent, ReviewAction, Scope, UndoStep};
use crate::spine::project::Whole;

pub type Files = BTreeMap<PathBuf, String>;

/// What an agent does.
pub type Deed = fn(&mut Disk);

/// A file that becomes a folder, a folder that becomes a file or a link, and both at once.
pub const DEEDS: [Deed; 6] = [
    |disk| {
        disk.removes("/p/a");
        disk.put("/p/a/x", "agent's x\n");
        disk.put("/p/a/y/z", "agent's z\n");
    },
    |disk| {
        disk.removes("/p/d/x");
        disk.removes("/p/d/y/z");
        disk.put("/p/d", "agent's\n");
    },
    |disk| {
        disk.moves("/p/d/x", "/p/e/x");
        disk.moves("/p/d/y/z", "/p/e/y/z");
        disk.link("/p/d", "/p/e");
    },
    |disk| {
        // A file that has changed is not a moved one.
        disk.removes("/p/d/x");
        disk.put("/p/e/x", "X\ny\n");
        disk.moves("/p/d/y/z", "/p/e/y/z");
        disk.link("/p/d", "/p/e");
    },
    |disk| {
        disk.moves("/p/d/x", "/p/e/x");
        disk.removes("/p/d/y/z");
        disk.removes("/p/a");
        disk.put("/p/d", "a\nb\n");
        disk.put("/p/a/d", "agent's\n");
    },
    |disk| {
        disk.removes("/p/a");
        disk.removes("/p/d/x");
        disk.removes("/p/d/y/z");
        disk.put("/p/d", "a\nb\n");
        disk.put("/p/a/x", "x\ny\n");
    },
];

/// Returns the files and links of a disk.
pub fn files(disk: &Disk) -> Files {
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
    let files = disk.files.iter();
    let files = files.map(|(path, bytes)| (path.clone(), text(bytes)));
    let links = disk.links.iter();
    let links = links.map(|(path, to)| (path.clone(), format!("to {}", to.display())));
    files.chain(links).collect()
}

/// A world with a file and a folder, one file of which may be in a buffer.
pub fn begun(open: Option<&str>) -> World {
    let mut w = World::ready();
    w.disk.put("/p/a", "a\nb\n");
    w.disk.put("/p/d/x", "x\ny\n");
    w.disk.put("/p/d/y/z", "z\n");
    w.settle();
    if let Some(path) = open {
        w.opens_file(path);
    }
    w.prompts("go");
    w
}

#[test]
fn a_reject_of_all_restores_files_and_folders_that_replaced_each_other() {
    for open in [None, Some("/p/a"), Some("/p/d/x")] {
        for (number, deed) in DEEDS.into_iter().enumerate() {
            let mut w = begun(open);
            let before = files(&w.disk);
            shell(&mut w, deed);
            w.ends_turn("end_turn");
            let after = files(&w.disk);
            decide(&mut w, ReviewAction::Reject);
            assert_eq!(files(&w.disk), before, "{number} {open:?}: {:?}", w.log);
            check_settled(&w);
            w.happens(Event::View(ViewEvent::List(ListEvent::Undo)));
            assert_eq!(files(&w.disk), after, "{number} {open:?}: {:?}", w.log);
            decide(&mut w, ReviewAction::Reject);
            assert_eq!(files(&w.disk), before, "{number} {open:?}: {:?}", w.log);
            check_settled(&w);
        }
    }
}

#[test]
fn undoing_a_turn_restores_files_and_folders_that_replaced_each_other() {
    for open in [None, Some("/p/a"), Some("/p/d/x")] {
        for (number, deed) in DEEDS.into_iter().enumerate() {
            let mut w = begun(open);
            let before = files(&w.disk);
            shell(&mut w, deed);
            w.ends_turn("end_turn");
            let after = files(&w.disk);
            let session = None;
            for (step, want) in [
                (UndoStep::Undo(None), &before),
                (UndoStep::Back, &after),
                (UndoStep::Undo(None), &before),
            ] {
                w.happens(Event::Review(ReviewEvent::UndoTurn { session, step }));
                assert_eq!(files(&w.disk), *want, "{number} {open:?}: {:?}", w.log);
            }
            check_settled(&w);
        }
    }
}

#[test]
fn a_file_whose_place_is_taken_stays_in_the_review() {
    for (number, path, rest) in [(0, "/p/a", 2), (1, "/p/d/x", 2)] {
        for open in [None, Some(path)] {
            let mut w = begun(open);
            let before = files(&w.disk);
            shell(&mut w, DEEDS[number]);
            w.ends_turn("end_turn");
            let after = files(&w.disk);
            w.decides(ReviewAction::Reject, Scope::File { path: path.into() });
            assert_eq!(files(&w.disk), after, "{number} {open:?}");
            assert!(w.was_told("something is in its place"), "{:?}", w.log);
            check_whole(&w, path, &[Whole::Deleted]);
            assert_eq!(w.model.workspace.reviews().counts(S1).0, rest + 1);
            decide(&mut w, ReviewAction::Reject);
            assert_eq!(files(&w.disk), before, "{number} {open:?}: {:?}", w.log);
            check_settled(&w);
        }
    }
}
