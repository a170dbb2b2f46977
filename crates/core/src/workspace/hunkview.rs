//! Views of a ledger's hunks: removed lines, changed words, the agent's side of a conflict.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::render::diffview::{whole, whole_with};
use crate::spine::view::{Group, HunkView, Line};
use crate::text::diff::{Hunk, WordDiff, words};
use crate::text::plural;
use crate::workspace::ledger::Review;

/// The maximum length of a removed line, in bytes; longer ones are cut.
const MAX_REMOVED_LINE: usize = 1000;

/// The maximum number of removed lines shown; the rest is counted.
const MAX_REMOVED_LINES: usize = 500;

/// Changed bytes of a row.
type Word = (usize, std::ops::Range<u32>);

/// A cache of changed words for the last shown hunks of a file, keyed by the lines of both sides.
/// Finding the words is expensive, and an edit in one hunk leaves most others the same.
#[derive(Debug, Default)]
pub struct Words {
    known: HashMap<u64, WordDiff>,
}

impl Words {
    /// Returns the hunks as they lie in the current text.
    pub fn views(&mut self, ledger: &Review) -> Vec<HunkView> {
        let before = std::mem::take(&mut self.known);
        let mut changed = |old: &[String], new: &[String]| {
            let mut hasher = DefaultHasher::new();
            (old, new).hash(&mut hasher);
            let key = hasher.finish();
            let known = self.known.get(&key).or(before.get(&key)).cloned();
            let changed = known.unwrap_or_else(|| words(&refs(old), &refs(new)));
            self.known.insert(key, changed.clone());
            changed
        };
        let hunks = ledger.hunks().iter();
        hunks.map(|hunk| view(ledger, hunk, &mut changed)).collect()
    }
}

/// Returns a view of the lines from `row` on that a proposal would replace.
pub fn proposed(row: usize, old: &[String], new: &[String]) -> HunkView {
    let changed = words(&refs(old), &refs(new));
    HunkView {
        row,
        count: old.len(),
        removed: shown(new, &changed.new, ("AcpProposedAdd", "AcpAddWord")),
        words: below(row, changed.old),
        conflict: false,
        proposed: None,
    }
}

fn view(
    ledger: &Review,
    hunk: &Hunk,
    changed: &mut impl FnMut(&[String], &[String]) -> WordDiff,
) -> HunkView {
    let new = ledger.current().to_lines(hunk.new.clone());
    // In a conflict the agent's lines are not removed ones: they are offered.
    let (old, groups) = match &hunk.conflict {
        Some(theirs) => (theirs.clone(), ("AcpAdd", "AcpAddWord")),
        None => {
            let old = ledger.base().to_lines(hunk.old.clone());
            (old, ("AcpDelete", "AcpDeleteWord"))
        }
    };
    let changed = changed(&old, &new);
    HunkView {
        row: hunk.new.start,
        count: hunk.new.len(),
        removed: shown(&old, &changed.old, groups),
        words: below(hunk.new.start, changed.new),
        conflict: hunk.conflict.is_some(),
        proposed: None,
    }
}

/// Returns lines as virtual ones with their changed words marked, up to the limits above.
fn shown(lines: &[String], changed: &[Word], groups: (Group, Group)) -> Vec<Line> {
    let mut changed = changed.iter().peekable();
    let mut shown = Vec::new();
    for (row, line) in lines.iter().take(MAX_REMOVED_LINES).enumerate() {
        let line = cut(line);
        let mut words = Vec::new();
        while let Some((_, range)) = changed.next_if(|(of, _)| *of <= row) {
            if (range.end as usize) <= line.len() {
                words.push((range.clone(), groups.1));
            }
        }
        shown.push(whole_with(line, groups.0, words.into_iter()));
    }
    let more = lines.len().saturating_sub(MAX_REMOVED_LINES);
    if more > 0 {
        shown.push(whole(format!("⋯ {}", plural(more, "more line")), "AcpDim"));
    }
    shown
}

/// Moves the words of a block that begins at row `start` to rows of the whole text.
fn below(start: usize, words: Vec<Word>) -> Vec<Word> {
    let words = words.into_iter();
    words.map(|(row, range)| (start + row, range)).collect()
}

fn refs(lines: &[String]) -> Vec<&str> {
    lines.iter().map(String::as_str).collect()
}

/// Returns a line, cut if it is very long.
fn cut(line: &str) -> String {
    let mut ends = line.char_indices().map(|(at, _)| at);
    match ends.find(|at| *at >= MAX_REMOVED_LINE) {
        Some(end) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;
    use crate::text::diff::Conflict;

    /// Checks the views of a review from `old` to `new`: `row+count`, removed lines, words.
    #[track_caller]
    fn check(old: &[&str], new: &[&str], want: &[&str]) {
        let mut ledger = Review::new(Text::from_lines(old));
        ledger.agent_wrote(Text::from_lines(new));
        assert_eq!(told(&Words::default().views(&ledger)), want);
    }

    fn told(views: &[HunkView]) -> Vec<String> {
        let removed = |line: &Line| {
            let mut text = line.text.to_string();
            for span in line.spans.iter().skip(1).rev() {
                text.insert(span.end as usize, ']');
                text.insert(span.start as usize, '[');
            }
            text
        };
        let views = views.iter().map(|view| {
            let removed: Vec<String> = view.removed.iter().map(removed).collect();
            let (row, count) = (view.row, view.count);
            format!("{row}+{count} -{} {:?}", removed.join("|"), view.words)
        });
        views.collect()
    }

    #[test]
    fn changed_words_are_marked_on_both_sides() {
        check(
            &["a", "let x = 1;"],
            &["a", "let x = 2;"],
            &["1+1 -let x = [1]; [(1, 8..9)]"],
        );
    }

    #[test]
    fn what_was_shown_before_makes_no_difference() {
        let mut words = Words::default();
        let mut ledger = Review::new(Text::from_lines(["a 1", "b", "c 1"]));
        for text in [
            ["a 2", "b", "c 2"],
            ["a 2", "b", "c 3"],
            ["a 1", "b", "c 3"],
        ] {
            ledger.agent_wrote(Text::from_lines(text));
            let views = words.views(&ledger);
            assert_eq!(views, Words::default().views(&ledger));
            assert_eq!(words.known.len(), views.len());
        }
    }

    #[test]
    fn a_deletion_has_no_row_and_an_emptied_file_none_at_all() {
        check(&["a", "b", "c"], &["a", "c"], &["1+0 -b []"]);
        check(&["a", "b"], &["a"], &["1+0 -b []"]);
        check(&["a"], &[], &["0+0 -a []"]);
        check(&[], &["a", "", "b"], &["0+3 - []"]);
    }

    #[test]
    fn very_long_removed_lines_are_cut() {
        let long = "ä".repeat(600);
        let mut ledger = Review::new(Text::from_lines([&long]));
        ledger.agent_wrote(Text::default());
        let line = &Words::default().views(&ledger)[0].removed[0];
        assert_eq!(line.text, format!("{}…", "ä".repeat(500)));
        assert_eq!(line.spans[0].end as usize, line.text.len());
    }

    #[test]
    fn of_very_many_removed_lines_the_rest_is_counted() {
        let lines: Vec<String> = (0..700).map(|n| n.to_string()).collect();
        let mut ledger = Review::new(Text::from_lines(&lines));
        ledger.agent_wrote(Text::default());
        let removed = &Words::default().views(&ledger)[0].removed;
        assert_eq!(removed.len(), 501);
        assert_eq!(removed[500].text, "⋯ 200 more lines");
    }

    #[test]
    fn a_conflict_shows_what_the_agent_offers() {
        let mut ledger = Review::new(Text::from_lines(["a", "b"]));
        ledger.user_wrote(Text::from_lines(["a", "mine"]));
        ledger.offer(Conflict {
            rows: 1..2,
            theirs: vec!["theirs".into()],
            base: vec!["b".into()],
        });
        let views = Words::default().views(&ledger);
        assert!(views[0].conflict);
        assert_eq!(views[0].removed[0].spans[0].group, "AcpAdd");
        assert_eq!(told(&views)[0].split(' ').next(), Some("1+1"));
    }
}
