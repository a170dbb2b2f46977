//! The practice file and its three hunks: plain text in, plain text out.
//!
//! Invariant: an edit replaces one known block of lines and leaves every other line as it is.

use std::path::PathBuf;

pub const NAME: &str = "acp-practice.lua";

/// The file that the tutor writes and that `make try` opens.
pub const TEXT: &str = include_str!("acp-practice.lua");

/// A place in the file that the tutor changes, and the blocks of whole lines it knows for it.
///
/// Three blocks, so that changing an undecided hunk again does not restore the original.
#[derive(Debug, PartialEq, Eq)]
pub struct Hunk {
    /// A short description of the change.
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

/// Replaces the lines `old` with the lines `new`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edit {
    pub old: &'static str,
    pub new: &'static str,
}

/// The three edits under review; `None` where the file had no known block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    pub path: PathBuf,
    pub edits: Vec<Option<Edit>>,
}

/// The user's decision about an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The file has the tutor's lines: accepted, or not decided yet.
    Kept,
    Rejected,
    /// The file has neither version.
    Rewritten,
    /// The tutor could not make this edit.
    Skipped,
}

impl Hunk {
    /// Returns the edit that replaces the block found in `text` with the next of the three.
    pub fn edit(&self, text: &str) -> Option<Edit> {
        let [one, two, three] = self.blocks;
        [(one, two), (two, three), (three, one)]
            .into_iter()
            .find(|(old, _)| find(text, old).is_some())
            .map(|(old, new)| Edit { old, new })
    }
}

impl Edit {
    /// Returns the edited text and the line (from 1) where the edit begins.
    pub fn apply(&self, text: &str) -> Option<(String, usize)> {
        let at = find(text, self.old)?;
        let (before, rest) = text.split_at_checked(at)?;
        let after = rest.strip_prefix(self.old)?;
        let line = before.matches('\n').count() + 1;
        Some((format!("{before}{}{after}", self.new), line))
    }
}

impl Review {
    /// Returns the user's decision about each edit, as `text` shows it.
    pub fn decisions(&self, text: &str) -> Vec<Decision> {
        let decision = |edit: &Option<Edit>| match edit {
            None => Decision::Skipped,
            Some(edit) if find(text, edit.new).is_some() => Decision::Kept,
            Some(edit) if find(text, edit.old).is_some() => Decision::Rejected,
            Some(_) => Decision::Rewritten,
        };
        self.edits.iter().map(decision).collect()
    }
}

/// Finds a block of whole lines and returns its byte offset.
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

    fn check(text: &str, expected: [Decision; 3]) {
        let (_, review) = edited(TEXT);
        assert_eq!(review.decisions(text), expected);
    }

    #[test]
    fn the_text_shows_which_hunks_the_user_kept() {
        use Decision::{Kept, Rejected, Rewritten};
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
    fn each_round_of_edits_has_three_hunks() {
        let (second, _) = edited(TEXT);
        let (third, review) = edited(&second);
        assert_eq!(review.decisions(&second), [Decision::Rejected; 3]);
        assert_eq!(edited(&third).0, TEXT);
        let mixed = second.replace("ipairs", "pairs");
        assert_eq!(edited(&mixed).1.edits.iter().flatten().count(), 3);
    }

    #[test]
    fn the_hunks_do_not_touch_each_other() {
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
        assert_eq!(edited(&text).1.decisions(&text)[0], Decision::Skipped);
    }
}
