//! A user saves over a change on disk that is not in the buffer yet.

use std::path::Path;

use serde_json::json;

use super::ondisk::{
    Place, accept_at, check_hunks, check_settled, decide, running, saves, types, writes,
};
use super::world::{Part, World};
use crate::spine::cx::Effects;
use crate::spine::effect::{Effect, HostEffect};
use crate::spine::event::ReviewAction;

const F: &str = "/p/f";
const OLD: &str = "a\nb\nc\nd\n";

/// A turn runs, its agent has changed the disk, and the buffer has not heard of it.
fn outdated(theirs: &str) -> World {
    let mut w = running(Place::Buffer, Some(OLD));
    w.holds(Part::Watcher);
    w.disk.put(F, theirs);
    w
}

/// Compares the offers: row, the user's lines, the agent's lines.
#[track_caller]
fn check_offers(w: &World, want: &[(usize, &str, &str)]) {
    let review = w
        .model
        .workspace
        .reviews()
        .get(Path::new(F))
        .expect("a review");
    let hunks = review.ledger.hunks().iter();
    let offers: Vec<(usize, String, String)> = hunks
        .filter_map(|hunk| {
            let theirs = hunk.conflict.as_ref()?.join(" ");
            let ours = review.ledger.current().to_lines(hunk.new.clone());
            Some((hunk.new.start, ours.join(" "), theirs))
        })
        .collect();
    let offers: Vec<_> = offers
        .iter()
        .map(|(row, ours, theirs)| (*row, ours.as_str(), theirs.as_str()))
        .collect();
    assert_eq!(offers, want);
}

/// Disk and buffer have this text, and the buffer is unmodified.
#[track_caller]
fn check(w: &World, want: &str) {
    assert_eq!(w.disk.get(F).as_deref(), Some(want), "disk");
    assert_eq!(w.buffer(F), want, "buffer");
    assert!(!w.editor.buffers[&w.buf(F)].modified);
}

#[test]
fn an_agents_change_comes_back_as_a_hunk() {
    let mut w = outdated("A\nb\nc\nd\n");
    types(&mut w, 3, 1, &["mine"]);
    saves(&mut w);
    check(&w, "A\nb\nc\nmine\n");
    check_hunks(&w, &[(0, "a", "A")]);
    w.goes_on();
    w.ends_turn("end_turn");
    check(&w, "A\nb\nc\nmine\n");
    check_hunks(&w, &[(0, "a", "A")]);
    decide(&mut w, ReviewAction::Reject);
    check(&w, "a\nb\nc\nmine\n");
    w.skip();
}

#[test]
fn another_programs_change_comes_back_and_is_no_hunk() {
    let mut w = World::ready();
    w.disk.put(F, OLD);
    w.settle();
    w.opens_file(F);
    w.holds(Part::Watcher);
    w.disk.put(F, "A\nb\nc\nd\n");
    types(&mut w, 3, 1, &["mine"]);
    saves(&mut w);
    check(&w, "A\nb\nc\nmine\n");
    w.goes_on();
    check_settled(&w);
}

#[test]
fn a_save_without_changes_keeps_an_agents_change() {
    let mut w = outdated("A\nb\nc\nd\n");
    saves(&mut w);
    check(&w, "A\nb\nc\nd\n");
    check_hunks(&w, &[(0, "a", "A")]);
    w.goes_on();
}

#[test]
fn a_file_that_was_only_touched_is_saved_over() {
    let mut w = outdated(OLD);
    types(&mut w, 3, 1, &["mine"]);
    saves(&mut w);
    check(&w, "a\nb\nc\nmine\n");
    w.goes_on();
    check_settled(&w);
}

#[test]
fn lines_that_both_changed_are_the_users_and_the_agents_are_offered() {
    let mut w = outdated("A\nb\nc\nD\n");
    types(&mut w, 3, 1, &["mine"]);
    saves(&mut w);
    check(&w, "A\nb\nc\nmine\n");
    check_offers(&w, &[(3, "mine", "D")]);
    assert!(w.was_told("/p/f: lines you changed also changed on disk"));
    w.goes_on();
    accept_at(&mut w, 3);
    check(&w, "A\nb\nc\nD\n");
    w.skip();
}

#[test]
fn a_change_that_cannot_be_written_back_is_offered() {
    let mut w = outdated("A\nb\nc\nd\n");
    types(&mut w, 3, 1, &["mine"]);
    w.holds(Part::Disk);
    saves(&mut w);
    w.disk.broken.insert(F.into());
    w.goes_on();
    assert_eq!(w.buffer(F), "a\nb\nc\nmine\n");
    check_offers(&w, &[(0, "a", "A"), (3, "mine", "d")]);
    assert!(w.was_told("/p/f could not be written"));
    w.disk.broken.clear();
    w.skip();
}

#[test]
fn a_read_from_before_the_save_takes_nothing_back() {
    let mut w = outdated("A\nb\nc\nd\n");
    w.holds(Part::Disk);
    w.shadow.looks(&mut w.disk);
    let told = w.shadow.tells().expect("a change");
    w.happens(told);
    // The host has read the file, and the core has yet to hear of it.
    let read = w.disk.work(Path::new(F)).expect("a read");
    types(&mut w, 3, 1, &["mine"]);
    saves(&mut w);
    w.happens(read);
    assert_eq!(w.buffer(F), "a\nb\nc\nmine\n");
    w.goes_on();
    check(&w, "A\nb\nc\nmine\n");
    check_hunks(&w, &[(0, "a", "A")]);
}

#[test]
fn a_merge_that_comes_after_the_save_is_made_once() {
    let mut w = running(Place::Buffer, Some(OLD));
    w.holds(Part::Editor);
    w.disk.put(F, "A\nb\nc\nd\n");
    w.settle();
    saves(&mut w);
    w.goes_on();
    check(&w, "A\nb\nc\nd\n");
    check_hunks(&w, &[(0, "a", "A")]);
}

#[test]
fn the_replaced_change_and_the_save_are_reported_late_in_any_order() {
    for (is_told_first, is_looked_at_before) in
        [(true, true), (true, false), (false, true), (false, false)]
    {
        let mut w = outdated("A\nb\nc\nd\n");
        types(&mut w, 3, 1, &["mine"]);
        w.shadow.looks(&mut w.disk);
        let mut told = w.shadow.tells();
        w.holds(Part::Disk);
        if is_told_first {
            w.happens(told.take().expect("a change"));
        }
        saves(&mut w);
        if let Some(told) = told {
            w.happens(told);
        }
        // The disk has the saved text, or already the one that was written back.
        while !is_looked_at_before && let Some(done) = w.disk.work(Path::new(F)) {
            w.happens(done);
        }
        w.shadow.looks(&mut w.disk);
        while let Some(told) = w.shadow.tells() {
            w.happens(told);
        }
        w.goes_on();
        check(&w, "A\nb\nc\nmine\n");
        check_hunks(&w, &[(0, "a", "A")]);
        check_offers(&w, &[]);
        w.skip();
    }
}

#[test]
fn a_second_save_before_the_change_is_back_is_kept_as_well() {
    for is_written in [true, false] {
        let mut w = outdated("A\nb\nc\nd\n");
        w.holds(Part::Disk);
        types(&mut w, 3, 1, &["mine"]);
        saves(&mut w);
        if is_written {
            let written = w.disk.work(Path::new(F)).expect("a write");
            types(&mut w, 2, 1, &["more"]);
            saves(&mut w);
            w.happens(written);
        } else {
            types(&mut w, 2, 1, &["more"]);
            saves(&mut w);
        }
        w.goes_on();
        check(&w, "A\nb\nmore\nmine\n");
        check_hunks(&w, &[(0, "a", "A")]);
    }
}

#[test]
fn a_buffer_that_is_closed_after_the_save_leaves_the_change_to_the_file() {
    let mut w = outdated("A\nb\nc\nd\n");
    types(&mut w, 3, 1, &["mine"]);
    let buf = w.buf(F);
    w.edits(|editor, disk, out| {
        editor.saves(buf, disk, out);
        editor.wipes(buf, out);
    });
    w.goes_on();
    assert_eq!(w.disk.get(F).as_deref(), Some("A\nb\nc\nmine\n"));
    check_hunks(&w, &[(0, "a", "A")]);
}

#[test]
fn a_write_of_the_agents_under_way_goes_on_with_the_change() {
    let mut w = running(Place::Buffer, Some(OLD));
    let params = json!({ "sessionId": "s1", "path": F });
    w.asks("0", "fs/read_text_file", &params);
    w.holds(Part::Watcher);
    w.holds(Part::Editor);
    w.disk.put(F, "A\nb\nc\nd\n");
    writes(&mut w, "1", "A\nb\nc\nd\ne\n");
    types(&mut w, 3, 1, &["mine"]);
    saves(&mut w);
    w.goes_on();
    check(&w, "A\nb\nc\nmine\ne\n");
    assert!(w.answer("1").is_ok());
}

#[test]
fn what_waits_to_be_written_back_is_written_when_neovim_quits() {
    let mut w = outdated("A\nb\nc\nd\n");
    w.holds(Part::Editor);
    // The change is reported, and its edit waits for the main thread.
    w.shadow.looks(&mut w.disk);
    let told = w.shadow.tells().expect("a change");
    w.happens(told);
    types(&mut w, 3, 1, &["mine"]);
    saves(&mut w);
    let mut fx = Effects::default();
    w.model.farewell(&mut fx);
    let written = fx.drain().find_map(|effect| match effect {
        Effect::Host(HostEffect::WriteDisk { text, .. }) => Some(text.to_string()),
        _ => None,
    });
    assert_eq!(written.as_deref(), Some("A\nb\nc\nmine\n"));
    // Nothing goes on after that.
    std::mem::forget(w);
}
