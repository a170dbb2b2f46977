//! Decisions that are given while earlier ones are under way.

use super::kinds::{DEEDS, Deed, Files, begun, files};
use super::ondisk::{
    PLACES, Place, check_hunks, check_settled, check_whole, decide, disk, running, shell, steps,
    writes,
};
use super::world::{Part, World};
use crate::event::{Event, ReviewEvent, ViewEvent};
use crate::spine::event::{ListEvent, ReviewAction, Scope, UndoStep};
use crate::spine::project::Whole;

const F: &str = "/p/f";

/// What the user gives while something else is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Given {
    Reject,
    RejectTurn,
    Undo,
    UndoTurn,
    Back,
}

use Given::{Back, Reject, RejectTurn, Undo, UndoTurn};

impl Given {
    fn event(self) -> Event {
        let session = None;
        let step = match self {
            Reject => return decided(ReviewAction::Reject, Scope::All),
            RejectTurn => return decided(ReviewAction::Reject, Scope::Turn { session }),
            Undo => return Event::View(ViewEvent::List(ListEvent::Undo)),
            UndoTurn => UndoStep::Undo(None),
            Back => UndoStep::Back,
        };
        Event::Review(ReviewEvent::UndoTurn { session, step })
    }
}

fn decided(action: ReviewAction, scope: Scope) -> Event {
    Event::Review(ReviewEvent::Decide { action, scope })
}

/// Moved and edited, edited, with another mode.
const MORE: [Deed; 3] = [
    |disk| {
        disk.moves("/p/d/x", "/p/b");
        disk.put("/p/b", "x\nY\n");
    },
    |disk| {
        disk.put("/p/a", "A\nb\n");
        disk.moves("/p/d/x", "/p/e/x");
    },
    |disk| {
        disk.put("/p/a", "a\nb\nc\n");
        disk.chmods("/p/a", 0o755);
        disk.removes("/p/d/x");
    },
];

/// The number of steps before a decision: each of the first, then fewer and fewer.
const MOMENTS: [usize; 12] = [0, 1, 2, 3, 4, 6, 8, 11, 15, 20, 27, 36];

const OPEN: [Option<&str>; 3] = [None, Some("/p/a"), Some("/p/d/x")];

/// Gives `first`, then each of `next` with this many steps before it; after an odd number, changes
/// on disk are reported at the end. Returns false if the world came to rest before.
fn gives(w: &mut World, first: Given, next: &[(usize, Given)]) -> bool {
    w.holds(Part::Disk);
    w.holds(Part::Editor);
    if next.iter().any(|(count, _)| count % 2 == 1) {
        w.holds(Part::Watcher);
    }
    w.happens(first.event());
    for (count, given) in next {
        for _ in 0..*count {
            if !steps(w) {
                return false;
            }
        }
        w.happens(given.event());
    }
    w.goes_on();
    true
}

/// The files before a deed of the agent and after it.
struct Both {
    before: Files,
    after: Files,
}

/// Plays the agent's deed, decisions that are complete, and then others that overlap, at several
/// moments.
#[track_caller]
fn check_all(
    done: &[Given],
    first: Given,
    next: &[Given],
    check: impl Fn(&mut World, &Both, &str),
) {
    for open in OPEN {
        for (number, deed) in DEEDS.into_iter().chain(MORE).enumerate() {
            for count in MOMENTS {
                let mut w = begun(open);
                let before = files(&w.disk);
                shell(&mut w, deed);
                w.ends_turn("end_turn");
                let after = files(&w.disk);
                done.iter().for_each(|given| w.happens(given.event()));
                let next: Vec<_> = next.iter().map(|given| (count, *given)).collect();
                if !gives(&mut w, first, &next) {
                    w.goes_on();
                    assert!(count > 0, "nothing was under way");
                    break;
                }
                let what = format!("{number} {open:?} {count}");
                check(&mut w, &Both { before, after }, &what);
            }
        }
    }
}

#[track_caller]
fn check_rejected(w: &mut World, both: &Both, what: &str) {
    assert_eq!(files(&w.disk), both.before, "{what}: {:?}", w.log);
    let left = w.model.snapshot().reviews;
    assert!(left.is_empty(), "{what}: {left:?}");
    check_settled(w);
}

#[test]
fn a_reject_of_all_waits_for_an_undo() {
    check_all(&[Reject], Undo, &[Reject], |w, both, what| {
        check_rejected(w, both, what);
        w.happens(Undo.event());
        assert_eq!(files(&w.disk), both.after, "{what}: {:?}", w.log);
    });
}

#[test]
fn a_reject_of_all_waits_for_a_turn_that_is_brought_back() {
    check_all(&[UndoTurn], Back, &[Reject], check_rejected);
    check_all(&[UndoTurn], Back, &[RejectTurn], check_rejected);
}

#[test]
fn an_undo_waits_for_the_reject_that_it_takes_back() {
    check_all(&[], Reject, &[Undo], |w, both, what| {
        assert_eq!(files(&w.disk), both.after, "{what}: {:?}", w.log);
        w.happens(Reject.event());
        check_rejected(w, both, what);
    });
    check_all(&[], Reject, &[Undo, Reject], check_rejected);
    check_all(&[Reject], Undo, &[Reject, Undo], |w, both, what| {
        assert_eq!(files(&w.disk), both.after, "{what}: {:?}", w.log);
    });
}

#[test]
fn turns_are_undone_one_after_another() {
    check_all(&[], UndoTurn, &[Back, UndoTurn], check_rejected);
    check_all(&[], UndoTurn, &[Back], |w, both, what| {
        assert_eq!(files(&w.disk), both.after, "{what}: {:?}", w.log);
    });
}

const OLD: &str = "a\nb\nc\nd\ne\n";

/// A world with two hunks, one of which is being rejected.
fn rejecting(place: Place) -> World {
    let mut w = running(place, Some(OLD));
    writes(&mut w, "1", "A\nb\nC\nd\ne\n");
    w.holds(Part::Disk);
    w.holds(Part::Editor);
    let path = F.into();
    w.happens(decided(ReviewAction::Reject, Scope::At { path, row: 0 }));
    check_hunks(&w, &[(0, "a", "A"), (2, "c", "C")]);
    w
}

fn accepts(w: &mut World, scope: Scope) {
    w.happens(decided(ReviewAction::Accept, scope));
    w.goes_on();
}

#[test]
fn an_accept_takes_what_the_user_saw_and_no_lines_that_came_since() {
    for scope in [|| Scope::All, || Scope::Turn { session: None }] {
        for place in PLACES {
            let mut w = rejecting(place);
            writes(&mut w, "2", "A\nb\nC\nd\nE\n");
            accepts(&mut w, scope());
            check_hunks(&w, &[(4, "e", "E")]);
            w.ends_turn("end_turn");
            decide(&mut w, ReviewAction::Reject);
            assert_eq!(disk(&w).as_deref(), Some("a\nb\nC\nd\ne\n"), "{place:?}");
            check_settled(&w);
            w.skip();
        }
    }
}

#[test]
fn an_accept_of_all_takes_no_mode_that_came_since() {
    for place in PLACES {
        let mut w = rejecting(place);
        shell(&mut w, |disk| disk.chmods(F, 0o755));
        accepts(&mut w, Scope::All);
        check_hunks(&w, &[]);
        check_whole(&w, F, &[Whole::Mode(0o644, 0o755)]);
        w.skip();
    }
}

#[test]
fn an_accept_of_all_in_a_new_file_takes_the_lines_that_the_user_saw() {
    let mut w = running(Place::Disk, None);
    writes(&mut w, "1", "new\n");
    w.holds(Part::Disk);
    writes(&mut w, "2", "new\nmore\n");
    accepts(&mut w, Scope::All);
    check_hunks(&w, &[(1, "", "more")]);
    w.ends_turn("end_turn");
    decide(&mut w, ReviewAction::Reject);
    assert_eq!(disk(&w).as_deref(), Some("new\n"));
    check_settled(&w);
    w.skip();
}

#[test]
fn an_accept_after_a_reject_that_waits_comes_after_it() {
    for place in PLACES {
        let mut w = rejecting(place);
        w.happens(Reject.event());
        accepts(&mut w, Scope::All);
        assert_eq!(disk(&w).as_deref(), Some(OLD), "{place:?}");
        check_settled(&w);
        w.skip();
    }
}

#[test]
fn an_accept_follows_a_file_that_is_moved_back() {
    for place in PLACES {
        let mut w = running(place, Some(OLD));
        writes(&mut w, "1", "A\nb\nc\nd\ne\n");
        w.ends_turn("end_turn");
        w.prompts("more");
        shell(&mut w, |disk| disk.moves(F, "/p/g"));
        w.ends_turn("end_turn");
        w.holds(Part::Disk);
        w.happens(UndoTurn.event());
        accepts(&mut w, Scope::All);
        assert_eq!(disk(&w).as_deref(), Some("A\nb\nc\nd\ne\n"), "{place:?}");
        check_settled(&w);
        w.skip();
    }
}
