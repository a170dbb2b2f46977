//! Properties of a review under random edits by the agent and the user.

use proptest::collection::vec;
use proptest::prelude::*;

use super::life::{Life, Place, Step, an_edit, edit_at, line, some_text, step, which};
use super::tests::{holds, report};
use super::*;
use crate::text::diff::{Merge, hunks, merge, words};

fn lived() -> impl Strategy<Value = (Text, Vec<Step>)> {
    (some_text(), vec(step(), 0..16))
}

fn live((base, steps): &(Text, Vec<Step>)) -> Life {
    let mut life = Life::new(base.clone());
    for step in steps {
        life.live(step);
    }
    life
}

fn plain(review: &Review) -> bool {
    review.hunks().iter().all(|hunk| hunk.conflict.is_none())
}

fn has(text: &Text, line: &str) -> bool {
    text.lines(0..text.len()).any(|other| other == line)
}

fn applied(text: &Text, edits: &[LineEdit]) -> Text {
    let mut text = text.clone();
    text.apply_all(edits);
    text
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn base_and_hunks_give_current(story in lived()) {
        live(&story);
    }

    #[test]
    fn accepting_all_leaves_nothing_and_touches_nothing(story in lived()) {
        let mut life = live(&story);
        let conflicts = life.review.skipped(&Which::All);
        prop_assert_eq!(life.review.accept(&Which::All), vec![]);
        // Conflicts are accepted one by one.
        let left = life.review.hunks();
        prop_assert!(left.iter().all(|hunk| hunk.conflict.is_some()));
        prop_assert_eq!(left.len(), conflicts);
        for _ in 0..conflicts {
            let row = life.review.hunks().first().map_or(0, |hunk| hunk.new.start);
            let edits = life.review.accept(&Which::Row(row));
            life.client(edits);
        }
        prop_assert_eq!(life.review.hunks(), &[]);
        prop_assert_eq!(life.review.base(), &life.buffer);
        holds(&life.review);
    }

    #[test]
    fn rejecting_all_gives_the_base(story in lived()) {
        let mut life = live(&story);
        let base = life.review.base().clone();
        let edits = life.review.reject(&Which::All);
        prop_assert_eq!(&applied(&life.buffer, &edits), &base);
        life.client(edits);
        prop_assert_eq!(life.review.hunks(), &[]);
        prop_assert_eq!(life.review.base(), &base);
    }

    #[test]
    fn undoing_a_rejection_brings_everything_back(story in lived(), which in which()) {
        let mut life = live(&story);
        let (base, hunks) = (life.review.base().clone(), life.review.hunks().to_vec());
        let before = life.buffer.clone();
        life.live(&Step::Reject(which));
        if life.buffer != before && hunks.iter().all(|hunk| hunk.conflict.is_none()) {
            let (base_after, hunks_after) =
                (life.review.base().clone(), life.review.hunks().to_vec());
            life.live(&Step::Undo);
            prop_assert_eq!(life.review.base(), &base);
            prop_assert_eq!(life.review.hunks(), &hunks);
            life.live(&Step::Redo);
            prop_assert_eq!(life.review.base(), &base_after);
            prop_assert_eq!(life.review.hunks(), &hunks_after);
        }
    }

    #[test]
    fn undo_and_redo_bring_back_what_was_known_of_a_content(
        base in vec(line(), 0..8).prop_map(Text::from_lines),
        steps in vec(step(), 0..24),
    ) {
        // Every written line is unique, so every text is.
        let mut life = Life::new(base);
        let mut known: Vec<(Text, Text)> = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            let own = |lines: &[String]| -> Vec<String> {
                (0..lines.len()).map(|n| format!("step {at} line {n}")).collect()
            };
            let step = match step {
                Step::User(place, lines) => Step::User(*place, own(lines)),
                Step::Agent(place, lines) => Step::Agent(*place, own(lines)),
                Step::Merged(place, lines) => Step::Merged(*place, own(lines)),
                Step::Undo | Step::Redo | Step::UndoCoarse | Step::Reject(_) => step.clone(),
                Step::AgentWrote(_) | Step::UserWrote(_) | Step::Accept(_) => continue,
            };
            life.live(&step);
            let (base, now) = (life.review.base().clone(), life.review.current().clone());
            let before = known.iter().position(|(content, _)| *content == now);
            if matches!(step, Step::Undo | Step::Redo | Step::UndoCoarse)
                && let Some(before) = before
            {
                prop_assert_eq!(&known[before].1, &base);
            }
            known.retain(|(content, _)| *content != now);
            known.push((now, base));
        }
    }

    #[test]
    fn a_line_of_the_agents_stays_the_agents_whatever_text_returns(
        base in vec(line(), 0..8).prop_map(Text::from_lines),
        steps in vec(step(), 0..24),
    ) {
        let mut life = Life::new(base.clone());
        let mut known = vec![base];
        for (at, step) in steps.iter().enumerate() {
            let own = |who: &str, lines: &[String]| -> Vec<String> {
                (0..lines.len()).map(|n| format!("{who} {at} line {n}")).collect()
            };
            let older = |lines: &[String]| {
                let text = &known[known.len().saturating_sub(1 + lines.len())];
                text.to_lines(0..text.len())
            };
            let step = match step {
                Step::User(place, lines) => Step::User(*place, own("user", lines)),
                Step::Agent(place, lines) => Step::Agent(*place, own("agent", lines)),
                Step::Merged(place, lines) => Step::Merged(*place, own("agent", lines)),
                Step::AgentWrote(lines) => Step::AgentWrote(older(lines)),
                Step::UserWrote(lines) => Step::UserWrote(older(lines)),
                Step::Accept(_) => continue,
                step => step.clone(),
            };
            life.live(&step);
            let review = &life.review;
            let is_agents = |line: &str| line.starts_with("agent");
            let base = review.base();
            prop_assert!(!base.lines(0..base.len()).any(|line| is_agents(&line)), "{review:#?}");
            let mut agents = life.buffer.lines(0..life.buffer.len());
            prop_assert!(agents.all(|line| !is_agents(&line) || has(review.alone(), &line)), "{review:#?}");
            known.push(life.buffer.clone());
        }
    }

    #[test]
    fn the_order_of_decisions_does_not_matter(
        story in lived(),
        (first, second) in (0..8usize, 0..8usize),
        accept in any::<(bool, bool)>(),
    ) {
        let life = live(&story);
        let hunks = life.review.hunks().to_vec();
        let first_two = (hunks.get(first), hunks.get(second));
        let (Some(a), Some(b)) = first_two else {
            return Ok(());
        };
        if !plain(&life.review) || first == second {
            return Ok(());
        }
        // Decides a hunk, located by its rows, which the other decision may have shifted.
        let decide = |review: &mut Review, hunk: &Hunk, accept: bool, shift: isize| {
            let rows = hunk.new.start.saturating_add_signed(shift);
            let found = review.hunks().iter().find(|h| h.new.start == rows && h.new.len() == hunk.new.len());
            let Some(found) = found.cloned() else {
                return (0, 0);
            };
            let which = Which::Rows(found.new);
            let hit = review.hit(&which).len();
            let edits = if accept { review.accept(&which) } else { review.reject(&which) };
            report(review, edits);
            (hit, if accept { 0 } else { hunk.old.len() as isize - hunk.new.len() as isize })
        };
        let run = |x: &Hunk, x_accept, y: &Hunk, y_accept| {
            let mut review = life.review.clone();
            let (hit_x, grown) = decide(&mut review, x, x_accept, 0);
            let shift = if x.new.start < y.new.start { grown } else { 0 };
            let (hit_y, _) = decide(&mut review, y, y_accept, shift);
            (hit_x, hit_y, review)
        };
        let (n, m, forward) = run(a, accept.0, b, accept.1);
        let (k, l, backward) = run(b, accept.1, a, accept.0);
        // A row between two deletions selects both hunks; such a decision is not about one hunk.
        if (n, m, k, l) == (1, 1, 1, 1) {
            prop_assert_eq!(forward.base(), backward.base());
            prop_assert_eq!(forward.current(), backward.current());
        }
    }

    #[test]
    fn parts_accepted_in_any_order_come_to_the_whole(
        story in lived(),
        order in vec((any::<u8>(), 0..3usize), 0..40),
    ) {
        let mut life = live(&story);
        if !plain(&life.review) {
            return Ok(());
        }
        let current = life.buffer.clone();
        for (row, count) in order {
            let row = usize::from(row) % (current.len() + 1);
            let which = Which::Rows(row..row + count);
            prop_assert_eq!(life.review.accept(&which), vec![]);
            holds(&life.review);
            // The accepted lines are in the base and in no hunk.
            for hunk in life.review.hunks() {
                prop_assert!(hunk.new.is_empty() || hunk.new.end <= row || row + count.max(1) <= hunk.new.start);
            }
        }
        for row in 0..=current.len() {
            life.review.accept(&Which::Rows(row..row + 1));
            holds(&life.review);
        }
        prop_assert_eq!(life.review.base(), &current);
        prop_assert_eq!(life.review.current(), &current);
    }

    #[test]
    fn parts_rejected_in_any_order_come_to_the_whole(
        story in lived(),
        order in vec(any::<u8>(), 0..40),
    ) {
        let mut life = live(&story);
        if !plain(&life.review) {
            return Ok(());
        }
        let base = life.review.base().clone();
        for row in order {
            let row = usize::from(row) % (life.buffer.len() + 1);
            let which = Which::Rows(row..row + 1);
            let edits = life.review.reject(&which);
            for edit in &edits {
                // The edit touches only the selected lines.
                prop_assert!(edit.removed == 0 || edit.start <= row && edit.removed == 1, "{edit:?}");
            }
            life.client(edits);
            prop_assert_eq!(life.review.base(), &base);
            holds(&life.review);
        }
        // Each pass restores lines of the base, until only those are left.
        for _ in 0..40 {
            for row in (0..=life.buffer.len()).rev() {
                let edits = life.review.reject(&Which::Rows(row..row + 1));
                life.client(edits);
            }
        }
        prop_assert_eq!(&life.buffer, &base);
        prop_assert_eq!(life.review.hunks(), &[]);
    }

    #[test]
    fn what_the_user_writes_beside_the_hunks_is_never_a_hunk(
        story in lived(),
        row in any::<u8>(),
        rejected in which(),
    ) {
        let mut life = live(&story);
        let row = usize::from(row) % (life.buffer.len() + 1);
        let inside = |h: &Hunk| h.new.start < row && row < h.new.end;
        if life.review.hunks().iter().any(inside) {
            return Ok(());
        }
        let hunks = life.review.hunks().len();
        life.live(&Step::User((row as u8, 0), vec!["the user's own".into()]));
        if plain(&life.review) {
            prop_assert_eq!(life.review.hunks().len(), hunks);
        }
        prop_assert!(has(life.review.base(), "the user's own"));
        for hunk in life.review.hunks() {
            let mut new = life.buffer.lines(hunk.new.clone());
            prop_assert!(new.all(|line| line != "the user's own"));
        }
        life.live(&Step::Reject(rejected));
        prop_assert!(has(&life.buffer, "the user's own"));
        life.live(&Step::Reject(Which::All));
        prop_assert!(has(&life.buffer, "the user's own"));
    }

    #[test]
    fn a_diff_gives_the_new_text(old in some_text(), new in some_text()) {
        prop_assert_eq!(&applied(&old, &diff(&old, &new)), &new);
        let edits: Vec<LineEdit> = hunks(&old, &new).into_iter().map(|hunk| LineEdit {
            start: hunk.old.start,
            removed: hunk.old.len(),
            lines: new.to_lines(hunk.new),
        }).collect();
        prop_assert_eq!(&applied(&old, &edits), &new);
        for pair in edits.windows(2) {
            prop_assert!(pair[0].start + pair[0].removed < pair[1].start);
        }
    }

    #[test]
    fn a_merge_with_nothing_is_nothing(base in some_text(), other in some_text()) {
        prop_assert_eq!(merge(&base, &other, &base), Merge::default());
        prop_assert_eq!(merge(&base, &other, &other), Merge::default());
        let taken = merge(&base, &base, &other);
        prop_assert_eq!(&applied(&base, &taken.edits), &other);
        prop_assert_eq!(taken.conflicts, vec![]);
    }

    #[test]
    fn a_merge_loses_no_line(base in some_text(), ours in vec(an_edit(), 0..4), theirs in vec(an_edit(), 0..4)) {
        // Lines of either side are unique, so that each can be found again.
        let side = |edits: &[(Place, Vec<String>)], name: &str| {
            let mut text = base.clone();
            for (at, (place, new)) in edits.iter().enumerate() {
                let new: Vec<String> = (0..new.len()).map(|n| format!("{name} {at} {n}")).collect();
                text.apply(&edit_at(&text, *place, &new));
            }
            text
        };
        let (ours, theirs) = (side(&ours, "ours"), side(&theirs, "theirs"));
        let merge = merge(&base, &ours, &theirs);
        let merged = applied(&ours, &merge.edits);
        for line in ours.lines(0..ours.len()).filter(|line| line.starts_with("ours")) {
            prop_assert!(has(&merged, &line), "lost {line}");
        }
        for line in theirs.lines(0..theirs.len()).filter(|line| line.starts_with("theirs")) {
            let told = merge.conflicts.iter().any(|c| c.theirs.iter().any(|other| *other == line));
            prop_assert!(has(&merged, &line) != told, "lost or doubled {line}");
        }
        for conflict in &merge.conflicts {
            prop_assert!(conflict.rows.end <= merged.len());
        }
    }

    #[test]
    fn word_ranges_lie_in_their_lines(old in vec("[ab é_.日]{0,12}", 0..5), new in vec("[ab é_.日]{0,12}", 0..5)) {
        let (a, b): (Vec<&str>, Vec<&str>) = (
            old.iter().map(String::as_str).collect(),
            new.iter().map(String::as_str).collect(),
        );
        let found = words(&a, &b);
        for (lines, ranges) in [(&old, &found.old), (&new, &found.new)] {
            for pair in ranges.windows(2) {
                prop_assert!(pair[0].0 < pair[1].0 || pair[0].1.end <= pair[1].1.start);
            }
            for (line, range) in ranges {
                let text = lines[*line].get(range.start as usize..range.end as usize);
                prop_assert!(text.is_some_and(|text| !text.is_empty()));
            }
        }
    }
}
