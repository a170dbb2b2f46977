//! The review of the file under a buffer, while unsaved lines of the user's keep the two apart.
//!
//! Invariant: it has what the agent and other programs have written to the file, as if the user had
//! typed nothing since the last save. If the user gives up the unsaved lines, it is the review.

use std::borrow::Cow;

use super::history::{Accepted, Cause, Mark};
use super::outside::base_under;
use super::{Review, accept_in};
use crate::text::Text;

/// The number of states that it remembers.
const STATES: usize = 2;

/// The review of the file under a buffer.
#[derive(Debug, Clone)]
pub(super) struct Under {
    review: Box<Review>,
    /// The file before the agent's changes.
    began: Text,
}

impl Under {
    fn new(over: &Review, saved: &Text) -> Self {
        let mut review = Review::brief(saved.clone(), STATES);
        match over.history.version(saved, review.mark) {
            Some(known) => {
                review.track = known.track.clone();
                review.alone = known.alone.clone();
            }
            None => {
                let base = base_under(&over.track.base, &over.track.current, saved);
                review = Review::brief(base, STATES);
                review.agent_wrote(saved.clone());
            }
        }
        review.settle(Cause::Whole);
        Self {
            review: Box::new(review),
            began: saved.clone(),
        }
    }

    /// Changes the accepted text as from the first text to the second.
    pub fn shift_base(&mut self, base: &(Text, Text)) {
        self.review.shift_base(base, base);
    }

    /// Accepts the hunks that were accepted in the buffer.
    pub fn accept(&mut self, accepted: &[Accepted]) {
        accept_in(&mut self.review.track, accepted);
        self.review.settle(Cause::Whole);
    }
}

impl Review {
    /// Notes that a change of the file was merged into the buffer: the agent's or another program's,
    /// from the text that the buffer had of the file to the one that it has now.
    pub fn file_changed(&mut self, saved: &Text, now: &Text, is_agents: bool) {
        let is_same = self.track.current == *now;
        // If the file is gone, what the user has removed and not saved was in it, and what the user
        // types from now on was not.
        let is_gone = is_agents && now.is_empty();
        if is_same && !is_gone {
            self.note_saved();
            return;
        }
        let known = self.under.take();
        let known = known.filter(|under| under.review.track.current == *saved);
        let mut under = known.unwrap_or_else(|| Under::new(self, saved));
        if is_agents {
            under.review.agent_wrote(now.clone());
        } else {
            if under.began == *saved {
                under.began.clone_from(now);
            }
            under.review.others_wrote(now.clone());
        }
        let is_other = !is_same || is_gone || under.review.track.base != self.track.base;
        self.under = is_other.then_some(under);
    }

    /// Notes that the buffer has no unsaved lines.
    pub fn note_saved(&mut self) {
        self.under = None;
    }

    /// Returns the review of the file on disk: this one, unless unsaved lines keep the two apart.
    pub fn of_file(&self) -> &Review {
        self.under.as_ref().map_or(self, |under| &under.review)
    }

    /// Returns the review that is left if Neovim ends now: of the file, which has the text `saved` under
    /// a buffer with unsaved lines.
    pub fn left(&self, saved: Option<&Text>) -> Cow<'_, Self> {
        let is_apart = |saved: &&Text| self.under.is_none() && **saved != self.track.current;
        let Some(saved) = saved.filter(is_apart) else {
            return Cow::Borrowed(self.of_file());
        };
        if self.offers.is_empty() {
            return Cow::Owned(*Under::new(self, saved).review);
        }
        let known = self.history.version(saved, Mark::of(saved));
        let Some(known) = known.filter(|known| !known.offers.is_empty()) else {
            // What is offered in the buffer is known there alone.
            return Cow::Borrowed(self);
        };
        let mut review = *Under::new(self, saved).review;
        review.offers.clone_from(&known.offers);
        review.show();
        Cow::Owned(review)
    }

    /// Returns the text before the agent's changes if this one, which replaces the current text, is
    /// the file that those have left.
    pub fn found_by_agent(&self, text: &Text) -> Option<&Text> {
        let under = self.under.as_ref()?;
        (under.review.track.current == *text).then_some(&under.began)
    }

    /// Goes on with the review of the file, if it has this text; returns whether it has.
    pub(super) fn falls_back(&mut self, text: &Text) -> bool {
        let is_file = |under: &mut Under| under.review.track.current == *text;
        let Some(Under { review, .. }) = self.under.take_if(is_file) else {
            return false;
        };
        self.track = review.track;
        self.alone = review.alone;
        self.mark = review.mark;
        self.offers.clear();
        self.others_since = None;
        self.settle(Cause::Whole);
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::Which;
    use super::super::life::{Place, an_edit, edit_at, some_text};
    use super::super::tests::{edit, holds, text};
    use super::*;
    use crate::text::diff::{Conflict, merge};

    /// A review of a buffer, and the text of its file.
    struct Buffer {
        review: Review,
        file: Text,
    }

    impl Buffer {
        fn new(base: Text) -> Self {
            Self {
                review: Review::new(base.clone()),
                file: base,
            }
        }

        fn user(&mut self, now: &str) {
            self.review.user_wrote(text(now));
        }

        /// Merges a change of the file.
        fn lands(&mut self, now: Text, is_agents: bool) {
            let merged = merge(&self.file, self.review.current(), &now);
            for edit in merged.edits.iter().rev() {
                match is_agents {
                    true => self.review.agent_edited(edit),
                    false => self.review.others_edited(edit),
                }
            }
            match is_agents {
                true => self.review.agent_done(),
                false => self.review.others_done(),
            }
            for conflict in merged.conflicts {
                self.review.offer(conflict);
            }
            self.review.file_changed(&self.file, &now, is_agents);
            self.file = now;
            holds(&self.review);
        }

        fn agent(&mut self, now: &str) {
            self.lands(text(now), true);
        }

        /// The user gives up the unsaved lines. Returns the hunks, as `old>new`.
        #[track_caller]
        fn left(mut self) -> Vec<String> {
            self.review.others_left(&self.file);
            holds(&self.review);
            assert_eq!(self.review.current(), &self.file);
            let shown = self.review.hunks().iter().map(|hunk| {
                assert_eq!(hunk.conflict, None);
                let old = self.review.base().to_lines(hunk.old.clone()).join(" ");
                let new = self.file.to_lines(hunk.new.clone()).join(" ");
                format!("{old}>{new}")
            });
            shown.collect()
        }
    }

    #[test]
    fn the_agents_lines_are_pending_where_the_user_gives_up_others_for_them() {
        let mut it = Buffer::new(text("a b c d e"));
        it.agent("a b c d E");
        it.user("a u c v d E");
        it.agent("a X Y c d E");
        let mine = it.review.clone();
        it.review.others_left(&it.file);
        assert_eq!(it.review.base(), &text("a b c d e"));
        it.user("a u c v d E");
        assert_eq!(it.review.hunks(), mine.hunks());
        assert_eq!(it.left(), ["b>X Y", "e>E"]);
    }

    #[test]
    fn several_changes_go_on_from_what_the_agent_found_first() {
        let check = |users: &str, agents: &[&str], want: &[&str]| {
            let mut it = Buffer::new(text("a b c d e"));
            it.user(users);
            for now in agents {
                it.agent(now);
            }
            assert_eq!(it.left(), want);
        };
        check("a u c d e", &["a X c d e", "a Y c d e"], &["b>Y"]);
        // More of the user's lines than the first one.
        let agents = ["a X c d e", "a X2 C D e"];
        check("a u c w e", &agents, &["b c d>X2 C D"]);
        // Two at once.
        check("a u c w e", &["a X c Y e", "a Z e"], &["b c d>Z"]);
        // Beside the user's lines.
        check("a u c d e", &["a X c d e", "a X c d E"], &["b>X", "e>E"]);
    }

    #[test]
    fn what_another_program_has_changed_is_not_pending() {
        let mut it = Buffer::new(text("a b c"));
        it.user("a u c");
        it.lands(text("a X c"), false);
        assert!(it.left().is_empty());
        // Some of the agent's lines.
        let mut it = Buffer::new(text("a b c"));
        it.user("a u c");
        it.agent("a X1 X2 c");
        it.lands(text("a X1 x2 c"), false);
        assert_eq!(it.left(), ["b>X1 x2"]);
    }

    #[test]
    fn other_unsaved_lines_do_not_hide_the_agents() {
        let mut it = Buffer::new(text("a b c d e"));
        it.user("a u c y e");
        it.agent("a X c d e");
        // `:2,4s/$/!/`
        it.review.user_edited(&edit(1, 3, "u! c! y!"));
        assert_eq!(it.left(), ["b>X"]);
        // A line from the agent, removed and not saved.
        let mut it = Buffer::new(text("a b c d e"));
        it.agent("a B c d e");
        it.user("a c d e");
        it.agent("a B c d E");
        assert_eq!(it.left(), ["b>B", "e>E"]);
    }

    #[test]
    fn no_conflict_is_left() {
        // The user has undone the change, so the content is the one from before.
        let mut it = Buffer::new(text("a b c d e"));
        it.user("a u c d e");
        it.agent("a X c d e");
        it.user("a b c d e");
        it.user("a u c d e");
        assert_eq!(it.left(), ["b>X"]);
        // An older version was offered for that content.
        let mut it = Buffer::new(text("a b c d e"));
        it.user("a u c d e");
        it.agent("a X c d e");
        it.user("a u c d v");
        it.agent("a Y c d e");
        assert_eq!(it.left(), ["b>Y"]);
    }

    #[test]
    fn the_saved_change_of_an_undone_write_is_left_with_its_conflict() {
        let mut review = Review::new(text("a b c d e"));
        review.user_edited(&edit(1, 1, "u"));
        review.agent_edited(&edit(4, 1, "E"));
        review.agent_done();
        review.offer(Conflict {
            rows: 1..2,
            theirs: vec!["X".to_owned()],
            base: Vec::new(),
        });
        let saved = text("a u c d E");
        review.user_edited(&edit(4, 1, "e"));
        assert_eq!(review.hunks().len(), 1);
        let left = review.left(Some(&saved));
        assert_eq!(left.base(), &text("a u c d e"));
        assert_eq!(left.current(), &saved);
        assert_eq!(left.hunks().len(), 2);
        assert_eq!(left.offered().len(), 1);
    }

    #[test]
    fn what_was_accepted_in_the_buffer_is_accepted() {
        let mut it = Buffer::new(text("a b c d e"));
        it.user("a u c d e");
        it.agent("a X c d E");
        let mut seen = Buffer {
            review: it.review.clone(),
            file: it.file.clone(),
        };
        it.review.accept(&Which::Row(4));
        assert_eq!(it.left(), ["b>X"]);
        let hunks = seen.review.see(&[Which::Row(4)]);
        seen.review.accept_seen(&hunks);
        assert_eq!(seen.left(), ["b>X"]);
    }

    #[test]
    fn after_a_save_the_file_is_the_buffer() {
        let mut it = Buffer::new(text("a b c"));
        it.user("a b c u");
        it.agent("a X c");
        it.review.note_saved();
        it.file = text("a X c u");
        it.user("v X c u");
        it.agent("a X C u");
        assert_eq!(it.left(), ["b c>X C"]);
    }

    proptest! {
        #[test]
        fn no_line_of_the_agents_is_accepted_where_the_user_gives_up_others(
            base in some_text(),
            steps in vec((0..4, vec(an_edit(), 1..4)), 1..7)
        ) {
            // Every written line is unique.
            let made = |who: &str, step: usize, from: &Text, all: &[(Place, Vec<String>)]| {
                let mut text = from.clone();
                for (at, (place, lines)) in all.iter().enumerate() {
                    let lines: Vec<String> =
                        (0..lines.len()).map(|n| format!("{who} {step} {at} {n}")).collect();
                    text.apply(&edit_at(&text, *place, &lines));
                }
                text
            };
            let mut it = Buffer::new(base);
            for (step, (kind, edits)) in steps.iter().enumerate() {
                match kind {
                    0 | 1 => {
                        let now = made("agent", step, &it.file, edits);
                        it.lands(now, true);
                    }
                    2 => {
                        let now = made("user", step, it.review.current(), edits);
                        it.review.user_wrote(now);
                    }
                    _ => {
                        let now = made("other", step, &it.file, edits);
                        it.lands(now, false);
                    }
                }
            }
            it.review.others_left(&it.file);
            holds(&it.review);
            prop_assert_eq!(it.review.current(), &it.file);
            let base = it.review.base();
            let accepted = base.lines(0..base.len()).find(|line| line.starts_with("agent"));
            prop_assert_eq!(accepted, None);
        }
    }
}
