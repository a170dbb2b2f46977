//! The practice file and its three hunks: plain text in, plain text out.
//!
//! Invariant: whatever the file looks like, an edit changes one known block of lines into the
//! other, and every other line stays.

use std::path::PathBuf;

pub const NAME: &str = "acp-practice.lua";

/// The file as the tutor writes it, and as `make try` has it.
pub const TEXT: &str = include_str!("acp-practice.lua");

/// A place of the file that the tutor changes, and what can stand there: blocks of whole lines.
///
/// There are three, so that a change of a change that nobody has decided on is still a change.
#[derive(Debug, PartialEq, Eq)]
pub struct Hunk {
    /// What it is about, in a few words.
    pub title: &'static str,
    blocks: [&'static str; 3],
}

pub const HUNKS: [Hunk; 3] = [
    Hunk {
        title: "A friendlier greeting",
        blocks: [
            "  return \"Hello \" .. name\n",
            "  return (\"Hello, %s!\"):format(name)\n",
            "  return \"Hello, \" .. name .. \"!\"\n",
        ],
    },
    Hunk {
        title: "Another loop for the list",
        blocks: [
            "  for _, number in pairs(numbers) do\n",
            "  for _, number in ipairs(numbers) do\n",
            "  for _, number in next, numbers do\n",
        ],
    },
    Hunk {
        title: "A shorter way to count",
        blocks: [
            "  local count = 0\n  for _ in text:gmatch(\"%S+\") do\n    count = count + 1\n  end\n  return count\n",
            "  local _, count = text:gsub(\"%S+\", \"\")\n  return count\n",
            "  return select(2, text:gsub(\"%S+\", \"\"))\n",
        ],
    },
];

/// An edit to make: `old` lines become `new` lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edit {
    pub old: &'static str,
    pub new: &'static str,
}

/// The three edits the user is to decide on; `None` where the file had neither block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    pub path: PathBuf,
    pub edits: Vec<Option<Edit>>,
}

/// What became of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The tutor's lines are there: accepted, or not decided yet.
    Kept,
    Rejected,
    /// Neither version is there.
    Rewritten,
    /// The tutor could not make this edit at all.
    Skipped,
}

impl Hunk {
    /// Returns the edit that puts the next block where `text` has one of the three.
    pub fn edit(&self, text: &str) -> Option<Edit> {
        let [one, two, three] = self.blocks;
        [(one, two), (two, three), (three, one)]
            .into_iter()
            .find(|(old, _)| find(text, old).is_some())
            .map(|(old, new)| Edit { old, new })
    }
}

impl Edit {
    /// Returns `text` with the edit made, and the line (from 1) where it begins.
    pub fn apply(&self, text: &str) -> Option<(String, usize)> {
        let at = find(text, self.old)?;
        let (before, rest) = text.split_at_checked(at)?;
        let after = rest.strip_prefix(self.old)?;
        let line = before.matches('\n').count() + 1;
        Some((format!("{before}{}{after}", self.new), line))
    }
}

impl Review {
    /// Returns what became of each edit in `text`.
    pub fn fates(&self, text: &str) -> Vec<Fate> {
        let fate = |edit: &Option<Edit>| match edit {
            None => Fate::Skipped,
            Some(edit) if find(text, edit.new).is_some() => Fate::Kept,
            Some(edit) if find(text, edit.old).is_some() => Fate::Rejected,
            Some(_) => Fate::Rewritten,
        };
        self.edits.iter().map(fate).collect()
    }
}

/// Finds a block of whole lines.
fn find(text: &str, block: &str) -> Option<usize> {
    text.match_indices(block).map(|(at, _)| at).find(|at| {
        text.get(..*at)
            .is_some_and(|before| before.is_empty() || before.ends_with('\n'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str) -> (String, Review) {
        let edits: Vec<_> = HUNKS.iter().map(|hunk| hunk.edit(text)).collect();
        let all = edits.iter().flatten();
        let text = all.fold(text.to_owned(), |text, edit| edit.apply(&text).unwrap().0);
        let review = Review {
            path: PathBuf::new(),
            edits,
        };
        (text, review)
    }

    fn check(text: &str, expected: [Fate; 3]) {
        let (_, review) = edited(TEXT);
        assert_eq!(review.fates(text), expected);
    }

    #[test]
    fn what_the_user_kept_is_seen() {
        use Fate::{Kept, Rejected, Rewritten};
        let (new, review) = edited(TEXT);
        check(&new, [Kept; 3]);
        check(TEXT, [Rejected; 3]);
        check(&new.replace("ipairs", "pairs"), [Kept, Rejected, Kept]);
        check(
            &TEXT.replace("Hello ", "Hi "),
            [Rewritten, Rejected, Rejected],
        );
        check("", [Rewritten; 3]);
        assert_eq!(review.edits.iter().flatten().count(), 3);
    }

    #[test]
    fn every_round_has_three_hunks() {
        let (second, _) = edited(TEXT);
        let (third, review) = edited(&second);
        assert_eq!(review.fates(&second), [Fate::Rejected; 3]);
        assert_eq!(edited(&third).0, TEXT);
        let mixed = second.replace("ipairs", "pairs");
        assert_eq!(edited(&mixed).1.edits.iter().flatten().count(), 3);
    }

    #[test]
    fn the_hunks_stand_apart() {
        let (new, _) = edited(TEXT);
        let rows: Vec<usize> = HUNKS
            .iter()
            .map(|hunk| hunk.edit(TEXT).unwrap().apply(TEXT).unwrap().1)
            .collect();
        assert_eq!(rows, [6, 12, 20]);
        assert_eq!(new.lines().count(), TEXT.lines().count() - 3);
    }

    #[test]
    fn a_file_without_the_block_is_left_alone() {
        let text = TEXT.replace("Hello ", "Hi ");
        assert_eq!(HUNKS[0].edit(&text), None);
        assert_eq!(edited(&text).1.fates(&text)[0], Fate::Skipped);
    }
}
