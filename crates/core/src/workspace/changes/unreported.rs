//! The versions of files that were on disk and that the host has not reported.
//!
//! Invariant: the versions of a file are in the order in which they were on disk. One is forgotten
//! with the first report that has come past it, at the latest with the first checkpoint that was
//! asked for after it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::spine::event::is_later;
use crate::spine::ids::SessionKey;
use crate::spine::pending::Token;
use crate::spine::pending::reply::CheckpointTaken;
use crate::spine::project::{Body, FileChange, FileState};
use crate::workspace::ledger::base_under;

/// The number of versions of a file that are remembered.
const MAX_VERSIONS: usize = 100;

/// A version of a file.
#[derive(Debug)]
struct Version {
    state: FileState,
    how: How,
    /// The agent's changes that a version that was read has, and that were reported since.
    told: Vec<FileChange>,
    /// The session of the last of them.
    by: Option<SessionKey>,
    /// The first checkpoint that was asked for since.
    until: Option<Token<CheckpointTaken>>,
}

/// The source of a version, which decides its author.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// Neovim saved it: it is the user's.
    Saved,
    /// It was read for a buffer or a review, which took it for the text before an agent's change.
    Read,
    /// It was read for a review, which has it as the agent's.
    Listed,
    /// This client wrote it: a report has its result, and is not cut there.
    Written,
    /// It was read when Neovim's save replaced it: only the disk has had it.
    Replaced,
}

/// The unreported versions of all files.
#[derive(Debug, Default)]
pub(super) struct Unreported {
    files: BTreeMap<PathBuf, Vec<Version>>,
}

/// A report, cut at the unreported versions.
#[derive(Debug, Default)]
pub(super) struct Cut {
    /// The last of the versions.
    pub last: Option<FileState>,
    /// The last of those that Neovim saved.
    pub save: Option<FileState>,
    /// The source of the version at the report's end.
    pub end: Option<How>,
    /// The session whose agent's earlier reports led to a version that was read.
    pub by: Option<SessionKey>,
}

impl Version {
    fn is(&self, state: &FileState) -> bool {
        self.state.stamp.is_some() && self.state.stamp == state.stamp
    }

    /// Adds a report of an agent's change that led to this version, unless it has that.
    fn tell(&mut self, change: FileChange) -> bool {
        let mut told = self.told.iter();
        let is_new = !told.any(|told| is_one(&told.after, &change.after));
        if is_new {
            add(&mut self.told, change);
        }
        is_new
    }

    /// Returns the agent's part of what led to this version: all that did, or the changes that were
    /// reported. The mode is that of the report's beginning.
    fn agents_part(&self, begin: &FileState) -> Option<FileChange> {
        let after = FileState {
            mode: begin.mode,
            ..self.state.clone()
        };
        let first = self.told.first()?;
        let before = match &self.told[..] {
            [one] if one.after.text() == after.text() => None,
            all => without(&after, all),
        };
        let before = before.unwrap_or_else(|| first.before.clone());
        let path = first.path.clone();
        (before != after).then_some(FileChange {
            path,
            from: None,
            before,
            after,
        })
    }

    /// Returns whether this version was on disk before another one, as far as their times tell.
    fn is_before(&self, state: &FileState) -> bool {
        !is_later(self.state.stamp, state.stamp)
    }
}

impl Unreported {
    /// Adds a version of a file.
    pub fn add(&mut self, real: &Path, state: FileState, how: How) {
        let versions = self.files.entry(real.to_owned()).or_default();
        if how == How::Written {
            // The last one is enough.
            versions.retain(|known| known.how != how);
        }
        if let Some(known) = versions.iter_mut().find(|known| known.is(&state)) {
            if how == How::Saved || known.how == How::Written {
                known.how = how;
            } else if known.how == how {
                // It may have been read before all of it was written.
                known.state = state;
            }
            return;
        }
        let at = versions.partition_point(|other| other.is_before(&state));
        let version = Version {
            state,
            how,
            told: Vec::new(),
            by: None,
            until: None,
        };
        versions.insert(at, version);
        if versions.len() > MAX_VERSIONS {
            versions.remove(0);
        }
    }

    /// Returns the versions of a file that Neovim has saved.
    pub fn saves(&self, real: &Path) -> impl Iterator<Item = &FileState> {
        let versions = self.files.get(real).into_iter().flatten();
        let saved = versions.filter(|version| version.how == How::Saved);
        saved.map(|version| &version.state)
    }

    /// Returns whether this state of a file is one that Neovim has saved.
    pub fn is_saved(&self, real: &Path, state: &FileState) -> bool {
        let is_this = |saved: &FileState| {
            saved.stamp.is_some() && saved.stamp == state.stamp || saved.text() == state.text()
        };
        self.saves(real).any(is_this)
    }

    /// Notes that a checkpoint of a project is asked for, which has all versions so far.
    pub fn asked(&mut self, root: &Path, checkpoint: Token<CheckpointTaken>) {
        let files = self.files.iter_mut();
        let files = files.filter(|(path, _)| path.starts_with(root));
        for version in files.flat_map(|(_, versions)| versions) {
            version.until.get_or_insert(checkpoint);
        }
    }

    /// Ends the versions that a checkpoint has, unless `is_told` says that a report of the file
    /// waits. Returns them as changes whose result is unknown, from the first version of each file.
    pub fn taken(
        &mut self,
        checkpoint: Token<CheckpointTaken>,
        is_told: impl Fn(&Path) -> bool,
    ) -> Vec<FileChange> {
        let mut left = Vec::new();
        for (path, versions) in &mut self.files {
            let is_due = |version: &Version| version.until == Some(checkpoint);
            let Some(first) = versions.iter().position(is_due).filter(|_| !is_told(path)) else {
                continue;
            };
            let last = versions.iter().rposition(is_due).unwrap_or(first);
            let after = FileState {
                body: Body::Unreadable("its change was not reported".to_owned()),
                ..versions[last].state.clone()
            };
            let before = match versions[first].told.first() {
                // The changes in it are reported together with it.
                Some(told) => told.before.clone(),
                None => versions.remove(first).state,
            };
            left.push(FileChange {
                path: path.clone(),
                from: None,
                before,
                after,
            });
        }
        left
    }

    /// Forgets the files of a project that is closed.
    pub fn forget(&mut self, root: &Path) {
        self.files.retain(|path, _| !path.starts_with(root));
    }

    /// Notes a cut report of an agent's change: a version that was read later contains the change.
    pub fn told(&mut self, change: &FileChange, by: SessionKey) {
        if let Some(next) = self.next_read(&change.path)
            && next.tell(change.clone())
        {
            next.by = Some(by);
        }
    }

    /// Forgets the reports of a file: the user's save has what they brought.
    pub fn saved(&mut self, path: &Path) {
        if let Some(next) = self.next_read(path) {
            next.told.clear();
        }
    }

    /// Returns the oldest version of a file, if it was read.
    fn next_read(&mut self, path: &Path) -> Option<&mut Version> {
        let mut all = self.files.get_mut(path)?.iter_mut();
        let next = all.find(|version| version.how != How::Written);
        next.filter(|next| next.how == How::Read)
    }

    /// Cuts a report at the unreported versions and removes those up to its end. Adds to `read` the
    /// agent's changes that led to a version that was read. The author is the agent of session `by`,
    /// or another program if `None`.
    pub fn cut(
        &mut self,
        change: &FileChange,
        by: Option<SessionKey>,
        read: &mut Vec<FileChange>,
    ) -> Cut {
        let Some(versions) = self.files.get_mut(&change.path) else {
            return Cut::default();
        };
        let (before, after) = (&change.before, &change.after);
        let told = versions.iter().rposition(|version| version.is(before));
        let told = versions
            .drain(..told.map_or(0, |told| told + 1))
            .next_back();
        let mut cut = Cut::default();
        if let Some(version) = told {
            // No version lies between it and the reported one: that report led to it.
            cut.by = version.by;
            read.extend(version.agents_part(before));
        }
        let to = match versions.iter().rposition(|version| version.is(after)) {
            Some(last) => last + 1,
            None => versions.partition_point(|version| version.is_before(after)),
        };
        // A file that is rewritten with the same content gets no report.
        let is_same = |version: &&Version| {
            version.how == How::Read && after.is_text() && version.state.body == after.body
        };
        let to = to + versions.iter().skip(to).take_while(is_same).count();
        let is_cut = |version: &Version| version.how != How::Written || after.is_unreadable();
        let versions: Vec<Version> = versions.drain(..to).filter(is_cut).collect();
        let end = versions.last().filter(|last| {
            // A file that is gone is not an empty one.
            let are_texts = after.is_text() && last.state.is_text();
            let are_same = are_texts && last.state.text() == after.text();
            let is_same = last.is(after) || are_same && last.state.is_like(after);
            is_same && !after.is_unreadable() && last.how != How::Replaced
        });
        cut.end = end.map(|end| end.how);
        for mut version in versions {
            let from = cut.last.as_ref().unwrap_or(before);
            let state = FileState {
                mode: before.mode,
                ..version.state.clone()
            };
            if by.is_some() {
                let part = FileChange {
                    path: change.path.clone(),
                    from: None,
                    before: from.clone(),
                    after: state.clone(),
                };
                version.tell(part);
            }
            cut.by = cut.by.or(version.by);
            if version.how == How::Read
                && let Some(part) = version.agents_part(before)
            {
                // A file that is being rewritten is empty, or gone, for a moment.
                match read.last() {
                    Some(last) if last.after.text().is_some_and(|text| text.is_empty()) => {
                        add(read, part);
                    }
                    _ => read.push(part),
                }
            }
            if version.how == How::Saved {
                cut.save = Some(state.clone());
            }
            // What only the disk has had is a beginning, not the end of a report.
            if version.how != How::Replaced || !version.is(after) {
                cut.last = Some(state);
            }
        }
        if self.files.get(&change.path).is_some_and(Vec::is_empty) {
            self.files.remove(&change.path);
        }
        cut
    }
}

/// Returns a text without changes that led to it; `None` if one of them was no text's.
fn without(state: &FileState, changes: &[FileChange]) -> Option<FileState> {
    let mut text = state.text()?;
    for change in changes.iter().rev() {
        let is_text = |state: &FileState| state.is_text() || state.is_missing();
        if !is_text(&change.before) || !is_text(&change.after) {
            return None;
        }
        let (before, after) = (change.before.text()?, change.after.text()?);
        text = base_under(&before, &after, &text);
    }
    let is_new = changes.first()?.before.is_missing() && text.is_empty();
    (!is_new).then_some(FileState {
        stamp: None,
        ..FileState::of_text(text, state.format()?)
    })
}

/// Adds a change to those before it; it is one with the last if nothing lies between them.
fn add(changes: &mut Vec<FileChange>, change: FileChange) {
    match changes.last_mut() {
        Some(last) if is_one(&last.after, &change.before) => last.after = change.after,
        _ => changes.push(change),
    }
}

/// Returns whether two states are one version of the file.
fn is_one(one: &FileState, other: &FileState) -> bool {
    one.stamp == other.stamp && one.body == other.body
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spine::event::Stamp;
    use crate::spine::pending::Pending;
    use crate::text::Text;
    use crate::text::format::{Format, LineEnd};

    const FILE: &str = "/p/f";
    const S: SessionKey = SessionKey(1);

    /// A state with this text, which is none or one line, `at` this time.
    fn state((text, at): (&str, i64)) -> FileState {
        let stamp = Stamp {
            inode: 1,
            bytes: text.len() as u64,
            modified: (at, 0),
        };
        FileState {
            stamp: Some(stamp),
            ..FileState::of_text(Text::from_lines(text.lines()), Format::default())
        }
    }

    fn change(before: (&str, i64), after: (&str, i64)) -> FileChange {
        FileChange {
            path: FILE.into(),
            from: None,
            before: state(before),
            after: state(after),
        }
    }

    fn unreported(versions: &[(&str, i64, How)]) -> Unreported {
        let mut unreported = Unreported::default();
        for (text, at, how) in versions {
            unreported.add(Path::new(FILE), state((*text, *at)), *how);
        }
        unreported
    }

    fn line(state: &FileState) -> String {
        state
            .text()
            .unwrap()
            .line(0)
            .unwrap_or_default()
            .into_owned()
    }

    /// Checks how a report from `a` at 1 is cut: the parts that were read, the last version, the source
    /// of the report's end, and the number of versions left.
    #[track_caller]
    fn check(
        versions: &[(&str, i64, How)],
        after: (&str, i64),
        read: &[&str],
        last: Option<&str>,
        (end, left): (Option<How>, usize),
    ) {
        let mut unreported = unreported(versions);
        let mut parts = Vec::new();
        let cut = unreported.cut(&change(("a", 1), after), Some(S), &mut parts);
        let parts = parts.iter();
        let parts = parts.map(|part| format!("{}>{}", line(&part.before), line(&part.after)));
        assert_eq!(parts.collect::<Vec<_>>(), read);
        assert_eq!(cut.last.as_ref().map(line).as_deref(), last);
        assert_eq!(cut.end, end);
        let kept = unreported.files.get(Path::new(FILE)).map_or(0, Vec::len);
        assert_eq!(kept, left);
    }

    #[test]
    fn a_report_is_cut_at_the_versions_before_its_end() {
        let versions = [
            ("b", 2, How::Read),
            ("c", 3, How::Saved),
            ("d", 5, How::Saved),
        ];
        check(&versions, ("x", 4), &["a>b"], Some("c"), (None, 1));
        check(
            &versions,
            ("c", 3),
            &["a>b"],
            Some("c"),
            (Some(How::Saved), 1),
        );
        check(
            &versions,
            ("b", 2),
            &["a>b"],
            Some("b"),
            (Some(How::Read), 2),
        );
        check(&versions, ("x", 9), &["a>b"], Some("d"), (None, 0));
        check(&[], ("x", 9), &[], None, (None, 0));
    }

    #[test]
    fn a_report_that_is_older_than_all_versions_is_whole() {
        check(&[("c", 3, How::Saved)], ("b", 2), &[], None, (None, 1));
    }

    #[test]
    fn a_version_that_was_reported_before_is_forgotten() {
        check(&[("a", 1, How::Saved)], ("b", 2), &[], None, (None, 0));
    }

    #[test]
    fn what_a_save_replaced_is_nobodys_part() {
        let versions = [("o", 2, How::Replaced), ("c", 3, How::Saved)];
        check(&versions, ("c", 3), &[], Some("c"), (Some(How::Saved), 0));
        check(&versions, ("o", 2), &[], None, (None, 1));
    }

    #[test]
    fn versions_are_in_the_order_of_the_disk_whatever_the_order_of_the_news() {
        let versions = [("c", 3, How::Saved), ("b", 2, How::Read)];
        check(&versions, ("x", 4), &["a>b"], Some("c"), (None, 0));
    }

    #[test]
    fn a_file_that_was_read_half_written_has_its_later_text() {
        let versions = [("x", 2, How::Read), ("y", 2, How::Read)];
        check(&versions, ("c", 3), &["a>y"], Some("y"), (None, 0));
    }

    #[test]
    fn reads_one_after_the_other_are_one_change_if_the_first_found_the_file_empty() {
        let versions = [("", 2, How::Read), ("b", 3, How::Read)];
        check(&versions, ("x", 4), &["a>b"], Some("b"), (None, 0));
        let versions = [("b", 2, How::Read), ("c", 3, How::Read)];
        let parts = ["a>b", "b>c"];
        check(&versions, ("x", 4), &parts, Some("c"), (None, 0));
    }

    #[test]
    fn a_version_that_was_read_has_the_agents_reports_since() {
        let parts = |told: &[FileChange], report: FileChange, by: Option<SessionKey>| {
            let mut unreported = unreported(&[("c", 3, How::Read)]);
            for change in told {
                unreported.told(change, S);
            }
            let mut parts = Vec::new();
            unreported.cut(&report, by, &mut parts);
            let parts = parts.iter();
            let parts = parts.map(|part| format!("{}>{}", line(&part.before), line(&part.after)));
            parts.collect::<Vec<_>>().join(" ")
        };
        let (a, b, then) = (("a", 1), ("b", 2), ("x", 4));
        let (first, second) = (change(a, b), change(b, ("c", 3)));
        assert_eq!(parts(&[], change(b, then), Some(S)), "b>c");
        let told = [first, second];
        assert_eq!(parts(&told[..1], change(b, then), Some(S)), "a>c");
        // It is the very file of the last report.
        assert_eq!(parts(&told, change(("c", 3), then), Some(S)), "a>c");
        assert_eq!(parts(&told, change(("c", 3), then), None), "a>c");
    }

    #[test]
    fn of_a_version_that_was_read_only_what_the_agent_wrote_is_the_agents() {
        let lines = |(lines, at): (&str, i64)| FileState {
            body: FileState::of_text(Text::from_lines(lines.split(' ')), Format::default()).body,
            ..state((lines, at))
        };
        let report = |before, after| FileChange {
            before: lines(before),
            after: lines(after),
            ..change(("", 0), ("", 0))
        };
        let mut unreported = Unreported::default();
        unreported.add(Path::new(FILE), lines(("A b C", 4)), How::Read);
        unreported.told(&report(("a b c", 1), ("A b c", 2)), S);
        // Another author has changed the last line.
        let mut parts = Vec::new();
        let theirs = report(("A b c", 2), ("A b C", 4));
        assert_eq!(unreported.cut(&theirs, None, &mut parts).by, Some(S));
        let parts = parts
            .iter()
            .map(|part| (part.before.text(), part.after.text()));
        let text = |lines: &str| Some(Text::from_lines(lines.split(' ')));
        assert_eq!(parts.collect::<Vec<_>>(), [(text("a b C"), text("A b C"))]);
    }

    #[test]
    fn a_read_of_what_neovim_saved_is_the_save() {
        let versions = [
            ("b", 2, How::Read),
            ("b", 2, How::Saved),
            ("b", 2, How::Read),
        ];
        check(&versions, ("x", 4), &[], Some("b"), (None, 0));
    }

    #[test]
    fn a_change_of_line_ends_after_a_save_is_not_the_save() {
        let mut unreported = unreported(&[("b", 2, How::Saved)]);
        let mut report = change(("a", 1), ("b", 3));
        let format = Format {
            line_end: LineEnd::CrLf,
            ..Format::default()
        };
        report.after.body = FileState::of_text(Text::from_lines(["b"]), format).body;
        let cut = unreported.cut(&report, None, &mut Vec::new());
        assert_eq!(cut.end, None);
        assert_eq!(cut.save.as_ref().map(line).as_deref(), Some("b"));
    }

    #[test]
    fn a_read_of_a_file_that_did_not_exist_is_no_change() {
        let mut unreported = Unreported::default();
        unreported.add(Path::new(FILE), FileState::missing(), How::Read);
        let created = FileChange {
            before: FileState::missing(),
            ..change(("", 1), ("a", 2))
        };
        let mut read = Vec::new();
        let cut = unreported.cut(&created, Some(S), &mut read);
        assert_eq!(read, []);
        assert_eq!(cut.last, Some(FileState::missing()));
    }

    #[test]
    fn a_checkpoint_ends_the_versions_from_before_it_was_asked_for() {
        let mut tokens = Pending::default();
        let (first, second) = (tokens.add(()), tokens.add(()));
        let mut unreported = unreported(&[("b", 2, How::Saved), ("c", 3, How::Saved)]);
        unreported.asked(Path::new("/other"), second);
        unreported.asked(Path::new("/p"), first);
        unreported.asked(Path::new("/p"), second);
        unreported.add(Path::new(FILE), state(("d", 4)), How::Saved);
        assert!(unreported.taken(second, |_| false).is_empty());
        assert!(unreported.taken(first, |_| true).is_empty());
        let left = unreported.taken(first, |_| false);
        let [change] = &left[..] else {
            panic!("{left:?}");
        };
        assert_eq!(line(&change.before), "b");
        let cut = unreported.cut(change, None, &mut Vec::new());
        assert_eq!(cut.last.as_ref().map(line).as_deref(), Some("c"));
        assert_eq!(cut.end, None);
        assert_eq!(unreported.files[Path::new(FILE)].len(), 1);
    }
}
