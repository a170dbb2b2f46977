//! A review under any edits and decisions: base and hunks give the text, no line that the user
//! typed is lost, accepting all keeps the text, and rejecting all gives the base.

#![no_main]

use std::collections::BTreeSet;
use std::ops::Range;

use acp_core::text::diff::merge;
use acp_core::text::{LineEdit, Text};
use acp_core::workspace::ledger::{Review, Which};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Edit {
    start: u8,
    removed: u8,
    lines: Vec<u8>,
}

#[derive(Debug, Arbitrary)]
enum Chosen {
    Row(u8),
    Rows(u8, u8),
    All,
}

#[derive(Debug, Arbitrary)]
enum Step {
    User(Edit),
    Agent(Edit),
    /// The agent writes a version of the text it has seen.
    Merged(Edit),
    /// The agent reads the text.
    Seen,
    UserWrote(Vec<u8>),
    AgentWrote(Vec<u8>),
    Accept(Chosen),
    Reject(Chosen),
}

/// Lines from a small alphabet, so that they repeat.
fn lines(bytes: &[u8]) -> Vec<String> {
    let line = |byte: &u8| ["a", "b", "c", "", "}", "  é"][usize::from(*byte) % 6].to_owned();
    bytes.iter().take(24).map(line).collect()
}

fn which(chosen: &Chosen) -> Which {
    match chosen {
        Chosen::Row(row) => Which::Row(usize::from(*row)),
        Chosen::Rows(start, count) => {
            Which::Rows(usize::from(*start)..usize::from(*start) + usize::from(*count))
        }
        Chosen::All => Which::All,
    }
}

struct Life {
    review: Review,
    /// What the agent last read or wrote.
    seen: Text,
    /// The user's lines, each unique, which only the user may remove.
    typed: BTreeSet<String>,
    count: usize,
}

impl Life {
    fn edit(text: &Text, edit: &Edit) -> LineEdit {
        let start = usize::from(edit.start) % (text.len() + 1);
        LineEdit {
            start,
            removed: usize::from(edit.removed % 4).min(text.len() - start),
            lines: lines(&edit.lines),
        }
    }

    /// Makes some of the lines the user's own.
    fn typed(&mut self, bytes: &[u8]) -> Vec<String> {
        let plain = lines(bytes);
        let each = bytes.iter().zip(plain).map(|(byte, line)| {
            if *byte < 128 {
                return line;
            }
            self.count += 1;
            format!("u{}", self.count)
        });
        each.collect()
    }

    /// Makes the edits of a decision, as the client does: from the bottom up.
    fn carry_out(&mut self, edits: &[LineEdit]) {
        for edit in edits.iter().rev() {
            self.review.decision_edited(edit);
        }
        self.review.decision_done();
    }

    /// Makes the agent's edits, from the bottom up.
    fn agent(&mut self, edits: &[LineEdit]) {
        for edit in edits.iter().rev() {
            self.review.agent_edited(edit);
        }
        self.review.agent_done();
    }

    fn texts(&self) -> (BTreeSet<String>, BTreeSet<String>) {
        let all = |text: &Text| text.to_lines(0..text.len()).into_iter().collect();
        (all(self.review.current()), all(self.review.base()))
    }

    /// Does what the user wants: what disappears by it is not lost.
    fn willed(&mut self, act: impl FnOnce(&mut Self)) {
        let before = self.texts();
        act(self);
        let after = self.texts();
        let stays = |line: &String| {
            (after.0.contains(line) || !before.0.contains(line))
                && (after.1.contains(line) || !before.1.contains(line))
        };
        self.typed.retain(stays);
        let new = after.0.difference(&before.0);
        self.typed
            .extend(new.filter(|line| line.starts_with('u')).cloned());
    }

    fn live(&mut self, step: &Step) {
        match step {
            Step::User(place) => {
                let mut edit = Self::edit(self.review.current(), place);
                edit.lines = self.typed(&place.lines);
                self.willed(|life| life.review.user_edited(&edit));
            }
            Step::Agent(place) => {
                let edit = Self::edit(self.review.current(), place);
                self.agent(&[edit]);
                self.seen = self.review.current().clone();
            }
            Step::Merged(place) => {
                let mut theirs = self.seen.clone();
                theirs.apply(&Self::edit(&theirs, place));
                let merged = merge(&self.seen, self.review.current(), &theirs);
                self.agent(&merged.edits);
                for conflict in merged.conflicts {
                    self.review.offer(conflict);
                }
                self.seen = theirs;
            }
            Step::Seen => self.seen = self.review.current().clone(),
            Step::UserWrote(text) => {
                let new = Text::from_lines(self.typed(text));
                self.willed(|life| life.review.user_wrote(new));
            }
            Step::AgentWrote(text) => {
                let new = Text::from_lines(lines(text));
                self.review.agent_wrote(new.clone());
                self.seen = new;
            }
            Step::Accept(chosen) => self.willed(|life| {
                let edits = life.review.accept(&which(chosen));
                life.carry_out(&edits);
            }),
            Step::Reject(chosen) => self.willed(|life| life.reject(&which(chosen))),
        }
        self.check();
    }

    fn reject(&mut self, which: &Which) {
        let edits = self.review.reject(which);
        self.carry_out(&edits);
    }

    /// Checks that the text outside of the hunks is the base's, and that the user's lines are in
    /// one of both.
    fn check(&self) {
        let (base, current) = (self.review.base(), self.review.current());
        let (mut old, mut new) = (0, 0);
        let same = |old: Range<usize>, new: Range<usize>| {
            assert!(base.lines(old).eq(current.lines(new)));
        };
        for hunk in self.review.hunks() {
            same(old..hunk.old.start, new..hunk.new.start);
            (old, new) = (hunk.old.end, hunk.new.end);
        }
        same(old..base.len(), new..current.len());
        let (current, base) = self.texts();
        for line in &self.typed {
            let is_there = current.contains(line) || base.contains(line);
            assert!(is_there, "{line} is lost: {:?}", self.review);
        }
    }
}

fuzz_target!(|input: (Vec<u8>, Vec<Step>)| {
    let (base, steps) = input;
    let base = Text::from_lines(lines(&base));
    let mut life = Life {
        review: Review::new(base.clone()),
        seen: base,
        typed: BTreeSet::new(),
        count: 0,
    };
    for step in steps.iter().take(40) {
        life.live(step);
    }
    // Conflicts are accepted one by one.
    let mut other = life.review.clone();
    let conflicts = other.skipped(&Which::All);
    assert_eq!(other.accept(&Which::All), []);
    assert_eq!(other.current(), life.review.current());
    assert_eq!(other.hunks().len(), conflicts);
    if conflicts == 0 {
        assert_eq!(other.base(), life.review.current());
    }
    // The first decides a conflict inside a hunk, the second the hunk.
    let base = life.review.base().clone();
    (0..2).for_each(|_| life.reject(&Which::All));
    assert_eq!(life.review.current(), &base);
    assert_eq!(life.review.base(), &base);
    assert!(life.review.hunks().is_empty());
});
