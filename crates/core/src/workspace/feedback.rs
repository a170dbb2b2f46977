//! Reports the user's rejects to the agent with the next prompt: gathers, shows and sends them.
//!
//! Invariants: the chat shows everything that is sent to the agent; a change that is back (its
//! reject was undone) is not reported; each reject is reported once.

use std::path::{Path, PathBuf};

use crate::render::diffview::whole;
use crate::spine::ids::SessionKey;
use crate::spine::project::{Body, FileState, Whole};
use crate::spine::view::Line;
use crate::text::diff::{Hunk, hunks};
use crate::text::{LineEdit, Text, plural};
use crate::workspace::Workspace;

/// The maximum number of diff lines in a report; hunks beyond it are only counted.
const MAX_LINES: usize = 200;

/// The maximum number of files changed as a whole in a report; the rest is only counted.
const MAX_WHOLE: usize = 50;

/// The number of context lines around a hunk.
const CONTEXT: usize = 2;

/// The maximum number of rejected hunks kept per file; the rest is not reported.
pub const MAX_HUNKS: usize = 200;

/// A hunk the user has rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    old: Vec<String>,
    new: Vec<String>,
    /// The first rows of its lines in the base and in the agent's text.
    rows: (usize, usize),
    above: Vec<String>,
    below: Vec<String>,
}

/// A rejected change of a file as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedWhole {
    whole: Whole,
    /// The content, without its lines.
    body: Body,
    /// The file's path.
    place: PathBuf,
}

/// The report attached to the next prompt.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Feedback {
    /// The numbers of changes and files.
    what: String,
    /// Changes of files as a whole, a line each.
    whole: Vec<String>,
    diff: Vec<String>,
}

/// The reported part of a file.
struct Told<'a> {
    /// Relative to the session's folder, if the file is inside it.
    path: &'a Path,
    hunks: Vec<&'a Rejected>,
    whole: Vec<String>,
}

impl RejectedWhole {
    /// Returns a change of a file as a whole before it is rejected; the file is `now` at `place`.
    pub fn of(whole: Whole, now: &FileState, place: &Path) -> Self {
        let mut body = now.body.clone();
        if let Body::Text(content) = &mut body {
            content.text = Text::default();
        }
        Self {
            whole,
            body,
            place: place.to_owned(),
        }
    }

    /// Returns whether the rejected change is in the file, which is `now` at `place`: because the
    /// reject is still pending, or because the change is back.
    pub fn is_there(&self, now: &FileState, place: &Path) -> bool {
        match &self.whole {
            Whole::Created => !now.is_missing(),
            Whole::Deleted => now.is_missing(),
            Whole::Moved(_) => place == self.place,
            Whole::Mode(_, new) => now.mode == Some(*new),
            Whole::Format(_) | Whole::Binary { .. } | Whole::Link => {
                match (&self.body, &now.body) {
                    (Body::Text(old), Body::Text(new)) => old.format == new.format,
                    (old, new) => old == new,
                }
            }
        }
    }

    /// Returns whether it is the same change.
    pub fn is_same(&self, other: &Self) -> bool {
        let is_move = matches!(self.whole, Whole::Moved(_));
        self.whole == other.whole
            && self.body == other.body
            && (!is_move || self.place == other.place)
    }

    pub fn is_created(&self) -> bool {
        matches!(self.whole, Whole::Created)
    }

    fn is_of_all_lines(&self) -> bool {
        matches!(self.whole, Whole::Created | Whole::Deleted)
    }

    /// Describes the rejected change and the result of the reject in a line.
    fn words(&self, path: &Path, cwd: &Path) -> String {
        let short = |path: &Path| path.strip_prefix(cwd).unwrap_or(path).display().to_string();
        let name = path.display();
        match &self.whole {
            Whole::Created => format!("created {name}: deleted"),
            Whole::Deleted => format!("deleted {name}: brought back"),
            Whole::Moved(from) => {
                let (from, to) = (short(from), short(&self.place));
                format!("moved {from} to {to}: moved back")
            }
            Whole::Mode(old, new) => {
                let (old, new) = (old & 0o7777, new & 0o7777);
                format!("changed the mode of {name} from {old:o} to {new:o}: set back")
            }
            Whole::Format(what) => format!("changed how {name} is written ({what}): set back"),
            Whole::Binary { .. } => format!("changed {name}, which is not text: restored"),
            Whole::Link => format!("made, changed or replaced the link {name}: brought back"),
        }
    }
}

impl Rejected {
    /// Returns a hunk before it is rejected.
    pub fn of(hunk: &Hunk, base: &Text, current: &Text) -> Self {
        let (old, new) = (&hunk.old, &hunk.new);
        Self {
            old: base.to_lines(old.clone()),
            new: current.to_lines(new.clone()),
            rows: (old.start, new.start),
            above: current.to_lines(new.start.saturating_sub(CONTEXT)..new.start),
            below: current.to_lines(new.end..new.end + CONTEXT),
        }
    }

    /// Returns the agent's lines of a conflict, which the user's stay in place of.
    pub fn of_conflict(hunk: &Hunk, theirs: &[String], current: &Text) -> Self {
        Self {
            old: current.to_lines(hunk.new.clone()),
            new: theirs.to_vec(),
            rows: (hunk.new.start, hunk.new.start),
            ..Self::of(hunk, current, current)
        }
    }

    /// Returns a line that every hunk with the rejected change contains: an added one, else a
    /// removed one.
    pub fn first_line(&self) -> Option<&str> {
        let lines = if self.new.is_empty() {
            &self.old
        } else {
            &self.new
        };
        lines.first().map(String::as_str)
    }

    /// Returns whether a hunk contains the rejected change, possibly among other lines.
    pub fn is_in(&self, hunk: &Hunk, base: &Text, current: &Text) -> bool {
        if let Some(theirs) = &hunk.conflict {
            return *theirs == self.new;
        }
        if self.new.len() > hunk.new.len() || self.old.len() > hunk.old.len() {
            return false;
        }
        let has = |text: &Text, rows: &std::ops::Range<usize>, lines: &[String]| {
            lines.is_empty()
                || text
                    .to_lines(rows.clone())
                    .windows(lines.len())
                    .any(|w| w == lines)
        };
        self.new.is_empty() == hunk.new.is_empty()
            && has(current, &hunk.new, &self.new)
            && has(base, &hunk.old, &self.old)
    }

    /// Returns the edit of the agent's text that removes the change, if a hunk has exactly its lines.
    /// The user may have changed the restored lines.
    fn taken_out(&self, hunk: &Hunk, base: &Text, agents: &Text) -> Option<LineEdit> {
        let is_new = agents.to_lines(hunk.new.clone()) == self.new;
        let is_old = || base.to_lines(hunk.old.clone()) == self.old;
        (is_new && (!self.new.is_empty() || is_old())).then(|| LineEdit {
            start: hunk.new.start,
            removed: hunk.new.len(),
            lines: self.old.clone(),
        })
    }

    /// Returns its first line: an added one, or else a removed one.
    pub fn first(&self) -> Option<&String> {
        self.new.first().or(self.old.first())
    }

    /// Returns whether it is the same change.
    pub fn is_same(&self, other: &Self) -> bool {
        self.old == other.old && self.new == other.new
    }

    fn diff(&self) -> Vec<String> {
        let around = self.above.len() + self.below.len();
        let start = |row: usize| row.saturating_sub(self.above.len()) + 1;
        let (old, new) = (self.old.len() + around, self.new.len() + around);
        let (at, now) = (start(self.rows.0), start(self.rows.1));
        let mut lines = vec![format!("@@ -{at},{old} +{now},{new} @@")];
        lines.extend(self.above.iter().map(|line| format!(" {line}")));
        lines.extend(self.old.iter().map(|line| format!("-{line}")));
        lines.extend(self.new.iter().map(|line| format!("+{line}")));
        lines.extend(self.below.iter().map(|line| format!(" {line}")));
        lines
    }
}

impl Feedback {
    /// Returns the report for the agent.
    pub(crate) fn text(&self) -> String {
        let mut text = "The user rejected these changes of yours; the files no longer have \
                        them:\n"
            .to_owned();
        for line in &self.whole {
            text.push_str(&format!("- {line}\n"));
        }
        if !self.diff.is_empty() {
            text.push_str("```diff\n");
            for line in &self.diff {
                text.push_str(line);
                text.push('\n');
            }
            text.push_str("```\n");
        }
        text
    }

    /// Returns the report for the chat. The files come last, because a fold's line is cut.
    pub(crate) fn shown(&self, words: &str) -> (String, Vec<Line>) {
        let files = self.whole.iter();
        let files = files.map(|line| whole(format!("  {line}"), "AcpNotice"));
        let diff = self.diff.iter().map(|line| {
            let group = match line.as_bytes() {
                [b'-', b'-', b'-', ..] | [b'+', b'+', b'+', ..] => "AcpPath",
                [b'-', ..] => "AcpDelete",
                [b'+', ..] => "AcpAdd",
                [b'@', ..] => "AcpDim",
                _ => {
                    return Line::plain(format!("  {line}"));
                }
            };
            whole(format!("  {line}"), group)
        });
        let head = format!("{words} {}", self.what);
        (head, files.chain(diff).collect())
    }
}

impl Workspace {
    /// Returns the report of what the user has rejected of a session's changes.
    pub(crate) fn feedback_of(&self, key: SessionKey) -> Option<Feedback> {
        if !self.feedback {
            return None;
        }
        let cwd = &self.sessions.get(&key)?.folders.cwd;
        let mut files: Vec<Told<'_>> = Vec::new();
        for (path, file) in self.reviews.iter() {
            if file.session != key || !file.has_rejected() {
                continue;
            }
            let path = path.strip_prefix(cwd).unwrap_or(path);
            let whole: Vec<&RejectedWhole> = file.told_rejected_whole().collect();
            // All lines were added or removed with the file, which one line already says.
            let is_all = whole.iter().any(|whole| whole.is_of_all_lines());
            let whole = whole.iter().map(|whole| whole.words(path, cwd));
            let told = Told {
                path,
                whole: whole.collect(),
                hunks: match is_all {
                    true => Vec::new(),
                    false => file.told_rejected(),
                },
            };
            if !told.hunks.is_empty() || !told.whole.is_empty() {
                files.push(told);
            }
        }
        let place = match files.as_slice() {
            [] => return None,
            [file] => file.path.display().to_string(),
            files => plural(files.len(), "file"),
        };
        let hunks: usize = files.iter().map(|file| file.hunks.len()).sum();
        let mut whole: Vec<String> = Vec::new();
        whole.extend(files.iter().flat_map(|file| file.whole.iter().cloned()));
        let what = match whole.len() {
            0 => plural(hunks, "rejected hunk"),
            count => plural(hunks + count, "rejected change"),
        };
        let more = whole.len().saturating_sub(MAX_WHOLE);
        if more > 0 {
            whole.truncate(MAX_WHOLE);
            whole.push(format!("and {more} more like these"));
        }
        Some(Feedback {
            what: format!("{what} in {place}"),
            whole,
            diff: diff_of(&files),
        })
    }

    /// Notes that a session's agent knows the rejects: if it repeats such a change, that is intended.
    pub(crate) fn rejects_are_told(&mut self, key: SessionKey) {
        let Some(session) = self.sessions.get_mut(&key) else {
            return;
        };
        for (_, file) in self.reviews.iter() {
            let told = file.told_rejected();
            if file.session == key
                && !told.is_empty()
                && let Some(seen) = session.seen.get_mut(&file.path)
            {
                let now = file.ledger.current();
                let hunks = hunks(now, seen).into_iter();
                let edits = hunks.filter_map(|hunk| {
                    let mut told = told.iter();
                    told.find_map(|rejected| rejected.taken_out(&hunk, now, seen))
                });
                let edits: Vec<LineEdit> = edits.collect();
                seen.apply_all(&edits);
            }
        }
    }
}

/// Returns the diff of the rejected hunks, up to the limit.
fn diff_of(files: &[Told<'_>]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut files = files.iter().filter(|file| !file.hunks.is_empty());
    while lines.len() < MAX_LINES
        && let Some(file) = files.next()
    {
        lines = tell(lines, file);
    }
    match files.count() {
        0 => {}
        more => lines.push(format!("@@ {} @@", plural(more, "more file"))),
    }
    lines
}

/// Adds the diff of a file, up to the limit.
fn tell(mut lines: Vec<String>, file: &Told<'_>) -> Vec<String> {
    let Told { path, hunks, .. } = file;
    lines.push(format!("--- a/{}", path.display()));
    lines.push(format!("+++ b/{}", path.display()));
    for (at, hunk) in hunks.iter().enumerate() {
        let diff = hunk.diff();
        if lines.len() + diff.len() > MAX_LINES {
            let rest = hunks.get(at..).unwrap_or_default().iter();
            let (mut added, mut removed, mut count) = (0, 0, 0);
            for hunk in rest {
                (added, removed) = (added + hunk.new.len(), removed + hunk.old.len());
                count += 1;
            }
            let more = plural(count, "more hunk");
            lines.push(format!("@@ {more}: +{added} -{removed} lines @@"));
            return lines;
        }
        lines.extend(diff);
    }
    lines
}
