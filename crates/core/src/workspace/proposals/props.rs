//! Property tests: random diffs are located while the user edits the text.

use proptest::collection::vec;
use proptest::prelude::*;

use super::locate::{Diff, Ground, locate};
use super::tests::diff;
use super::{Base, FileProposal};
use crate::spine::event::ReviewAction;
use crate::text::format::LineEnd;
use crate::text::{LineEdit, Text};
use crate::workspace::ledger::Which;

/// Lines over a small alphabet, so that many are equal.
fn lines(most: usize) -> impl Strategy<Value = Vec<String>> {
    vec("[ab ]{0,3}", 0..most)
}

fn some_lines(most: usize) -> impl Strategy<Value = Vec<String>> {
    vec("[ab ]{0,3}", 1..most)
}

/// Lines without indentation, of which a snippet may lack some.
fn plain_lines(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<String>> {
    vec("([ab][ab ]{0,2})?", count)
}

fn text_of(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn proposal(base: &Text, diffs: Vec<Diff>) -> FileProposal {
    let diffs = diffs.into_iter().map(|diff| (diff, None)).collect();
    let mut file = FileProposal::new("/p/f".into(), diffs);
    file.base = Some(Base {
        text: base.clone(),
        line_end: LineEnd::Lf,
        known: Vec::new(),
        is_missing: false,
    });
    file.locate();
    file
}

/// Returns the base with the accepted hunks applied.
fn written(file: &FileProposal) -> Text {
    let base = file.base.as_ref().expect("it has one");
    let mut text = base.text.clone();
    let accepted = |hunk: &&super::Proposed| hunk.choice == Some(ReviewAction::Accept);
    let edits = file.hunks.iter().filter(accepted).map(|hunk| LineEdit {
        start: hunk.rows.start,
        removed: hunk.rows.len(),
        lines: hunk.new.clone(),
    });
    text.apply_all(&edits.collect::<Vec<_>>());
    text
}

fn choose(file: &mut FileProposal, which: &Which, action: ReviewAction) {
    for at in file.hit(which) {
        file.hunks[at].choice = Some(action);
    }
}

fn an_edit() -> impl Strategy<Value = (usize, usize, Vec<String>)> {
    (0..20usize, 0..4usize, plain_lines(0..4))
}

/// Checks that the hunks are disjoint, sorted, and contain the lines of the base.
fn check_hunks(file: &FileProposal) {
    let base = &file.base.as_ref().expect("it has one").text;
    let mut last = None;
    for hunk in &file.hunks {
        assert!(
            last.is_none_or(|end| end < hunk.rows.start),
            "{:?}",
            file.hunks
        );
        assert!(hunk.rows.end <= base.len(), "{:?}", file.hunks);
        assert_eq!(base.to_lines(hunk.rows.clone()), hunk.old);
        assert_ne!(hunk.old, hunk.new);
        last = Some(hunk.rows.end);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_snippet_is_found_where_it_was_cut(
        all in some_lines(20),
        (start, count) in (0..20usize, 1..6usize),
        new in lines(5),
    ) {
        let start = start % all.len();
        let end = (start + count).min(all.len());
        let old = text_of(&all[start..end]);
        let new = text_of(&new);
        let text = Text::from_lines(&all);
        let ground = Ground {
            text: &text,
            line_end: LineEnd::Lf,
            known: &[],
            near: Some(start),
        };
        let found = locate(&diff(Some(&old), &new), ground).expect("it is there");
        let want = text_of(&all[..start]) + &new + &text_of(&all[end..]);
        prop_assert_eq!(found.after.to_string(), want);
        prop_assert_eq!(found.row, start);
    }

    #[test]
    fn all_accepted_is_what_the_agent_would_write_and_none_is_the_base(
        (base, new) in (some_lines(20), lines(20)),
    ) {
        let (base, new) = (Text::from_lines(&base), Text::from_lines(&new));
        let whole = diff(Some(&base.to_string()), &new.to_string());
        let mut file = proposal(&base, vec![whole]);
        check_hunks(&file);
        prop_assert_eq!(written(&file), base.clone());
        choose(&mut file, &Which::All, ReviewAction::Accept);
        prop_assert_eq!(written(&file), new);
        choose(&mut file, &Which::All, ReviewAction::Reject);
        prop_assert_eq!(written(&file), base);
    }

    #[test]
    fn several_diffs_of_a_file_are_made_in_order(
        all in some_lines(12),
        first in some_lines(4),
        second in lines(4),
    ) {
        let text = |lines: &[String]| Text::from_lines(lines).to_string();
        let (one, two) = (text(&first), text(&second));
        let base = Text::from_lines(&all);
        // The second diff builds on the first.
        let diffs = vec![diff(Some(&base.to_string()), &one), diff(Some(&one), &two)];
        let mut file = proposal(&base, diffs);
        choose(&mut file, &Which::All, ReviewAction::Accept);
        prop_assert!(file.notes.is_empty(), "{:?}", file.notes);
        prop_assert_eq!(written(&file).to_string(), two);
    }

    #[test]
    fn only_the_proposals_own_lines_are_marked_whatever_the_user_types(
        all in plain_lines(1..16),
        (start, count) in (0..16usize, 1..4usize),
        new in plain_lines(0..4),
        edits in vec(an_edit(), 0..6),
        row in 0..30usize,
    ) {
        let start = start % all.len();
        let old = text_of(&all[start..(start + count).min(all.len())]);
        let base = Text::from_lines(&all);
        let mut file = proposal(&base, vec![diff(Some(&old), &text_of(&new))]);
        choose(&mut file, &Which::Row(row), ReviewAction::Accept);
        let mut now = base;
        for (start, removed, lines) in edits {
            let start = start.min(now.len());
            let removed = removed.min(now.len() - start);
            let edit = LineEdit { start, removed, lines };
            now.apply(&edit);
            file.follow(&edit);
            file.locate();
            prop_assert_eq!(&file.base.as_ref().expect("it has one").text, &now);
            check_hunks(&file);
            choose(&mut file, &Which::All, ReviewAction::Accept);
            let after = written(&file).to_string();
            let (text, new) = (now.to_string(), text_of(&new));
            let replaced = |at: usize| {
                let Some(below) = text[at..].strip_prefix(&old) else {
                    return false;
                };
                let above = &text[..at];
                Text::from_text(&format!("{above}{new}{below}")).to_string() == after
            };
            // The snippet is replaced at one of its occurrences; without an occurrence, nothing is.
            let is_own = file.hunks.is_empty() || (0..text.len()).any(replaced);
            prop_assert!(is_own, "{text:?} becomes {after:?}, not {new:?} for {old:?}");
        }
    }
}
