//! Postpones reporting of files that are being written, and of removals that may be followed by a
//! new file at once.
//!
//! Invariants: a path is postponed for at most a second, and as long again once its file is gone,
//! unless the file is shorter than before and `/proc` shows a writer that has it open: that file is
//! incomplete, and is reported when it is closed. While Neovim is saving a file, its removal, or an
//! empty file in its place, is postponed until that is done, for a minute at most; so is a file that
//! Neovim writes lines to, until the core knows them as the user's. The parts of a move, which stamps
//! tell, are reported by one look, and so are new and removed files that may be parts of one.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::manifest::Entries;
use super::scan::FoundFile;
use crate::open_files::OpenFiles;
use crate::quiescence::{Quiescence, Writers};
use acp_core::spine::event::Stamp;

/// The postponed paths.
#[derive(Debug)]
pub(super) struct Postponed {
    held: BTreeMap<PathBuf, PostponedPath>,
    /// When the current look began to sort paths.
    looked: Instant,
    /// Paths released by that look, and since when they had been postponed.
    through: BTreeMap<PathBuf, Instant>,
    /// What looks have left out because the system was exhausted.
    left_out: Option<LeftOut>,
    writers: Arc<Writers>,
}

#[derive(Debug, Clone, Copy)]
struct PostponedPath {
    /// When the path was first postponed.
    since: Instant,
    /// When its file was first seen to be gone, if it is.
    gone: Option<Instant>,
    /// When to look again; `None` for a file that is looked at when its writer closes it.
    again: Option<Instant>,
    /// The file that was there, if it is another than before.
    came: Option<Stamp>,
}

#[derive(Debug, Clone)]
struct LeftOut {
    since: Instant,
    again: Instant,
    /// None once it has taken too long.
    scopes: BTreeSet<PathBuf>,
}

/// A changed path.
struct Changed {
    path: PathBuf,
    since: Instant,
    gone: Option<Instant>,
    /// Until when it must wait, if it must.
    wait: Option<Instant>,
    /// When it is not postponed any longer.
    end: Instant,
    /// Neovim is saving it.
    is_saving: bool,
    /// No look has seen it before.
    is_first: bool,
    /// A writer has it open, and it is shorter than before.
    is_incomplete: bool,
    /// The old and the new file, if they are two.
    left: Option<Stamp>,
    came: Option<Stamp>,
}

impl Postponed {
    pub(super) fn new(writers: Arc<Writers>) -> Self {
        Self {
            held: BTreeMap::new(),
            looked: Instant::now(),
            through: BTreeMap::new(),
            left_out: None,
            writers,
        }
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        let left_out = self.left_out.iter().flat_map(|it| &it.scopes);
        self.held.keys().chain(left_out)
    }

    /// Returns when to look at the postponed paths.
    pub(super) fn again(&self) -> Option<Instant> {
        let left_out = self.left_out.iter().filter(|it| !it.scopes.is_empty());
        let left_out = left_out.map(|it| it.again);
        let held = self.held.values().filter_map(|held| held.again);
        held.chain(left_out).min()
    }

    /// Postpones a path that was written to during the read; returns `false` if it has been
    /// postponed too long.
    pub(super) fn hold(&mut self, path: &Path) -> bool {
        self.hold_for(path, self.writers.quiescence().patience)
    }

    /// Postpones a path that the system could not read, which says nothing about it; returns `false`
    /// if it has been postponed too long.
    pub(super) fn hold_unknown(&mut self, path: &Path) -> bool {
        self.hold_for(path, self.writers.quiescence().exhausted())
    }

    /// Postpones all of a look that the system was too exhausted for; returns `false` if it has been
    /// so too long.
    pub(super) fn leave_out(&mut self, scopes: &[PathBuf]) -> bool {
        let now = Instant::now();
        let quiescence = self.writers.quiescence();
        let again = now + quiescence.after;
        let left_out = self.left_out.get_or_insert(LeftOut {
            since: now,
            again,
            scopes: BTreeSet::new(),
        });
        left_out.again = again;
        let is_overdue = now >= left_out.since + quiescence.exhausted();
        match is_overdue {
            true => left_out.scopes.clear(),
            false => left_out.scopes.extend(scopes.iter().cloned()),
        }
        !is_overdue
    }

    /// Records a look that has left out nothing of its scopes, and all that was left out before is
    /// in them.
    pub(super) fn complete(&mut self) {
        self.left_out = None;
    }

    fn hold_for(&mut self, path: &Path, patience: Duration) -> bool {
        let since = self.through.get(path).copied().unwrap_or(self.looked);
        let after = self.writers.quiescence().after;
        // However long the read has taken, the next look may find it at rest.
        let is_overdue = self.looked >= since + patience;
        if !is_overdue {
            let held = PostponedPath {
                since,
                gone: None,
                again: Some(Instant::now() + after),
                came: None,
            };
            self.held.insert(path.to_owned(), held);
        }
        !is_overdue
    }

    /// Removes from the found and removed paths those that must wait; they replace the postponed
    /// ones.
    ///
    /// All postponed paths must be part of the look.
    pub(super) fn set_aside(
        &mut self,
        known: &Entries,
        found: &mut BTreeMap<PathBuf, FoundFile>,
        gone: &mut Vec<PathBuf>,
        is_news: impl Fn(&Path, &FoundFile) -> bool,
        spelled: impl Fn(&Path) -> PathBuf,
    ) {
        let news: Vec<(&PathBuf, &FoundFile)> = found
            .iter()
            .filter(|(path, seen)| is_news(path, seen))
            .collect();
        // The files were examined before; now their writers are known.
        let are_known = news.is_empty() || self.writers.catch_up();
        // After that wait, which may be longer than a path is postponed.
        let now = Instant::now();
        self.looked = now;
        let Quiescence { after, patience } = self.writers.quiescence();
        let before = std::mem::take(&mut self.held);
        let since = |path: &Path| before.get(path).map_or(now, |held| held.since);
        let old = |path: &Path| known.get(path).map(|known| known.stat.stamp());
        let mut changed: Vec<Changed> = Vec::new();
        let open_files = LazyCell::new(OpenFiles::list);
        for (path, seen) in news {
            let (spelled, stamp) = (spelled(path), seen.stat.stamp());
            if !are_known {
                self.writers.note_shown(&spelled, &open_files);
            }
            let is_shorter = known
                .get(path)
                .is_some_and(|known| stamp.bytes < known.stat.bytes);
            let mut is_incomplete =
                is_shorter && !seen.is_link && self.writers.is_open(&spelled, stamp.bytes);
            let end = since(path) + patience;
            if is_incomplete && now >= end {
                is_incomplete = self.writers.has_writer(&spelled, stamp.bytes, &open_files);
            }
            let wait = match seen.is_link {
                true => None,
                false if is_shorter => self.writers.wait_full(&spelled, &stamp),
                false => self.writers.wait(&spelled, &stamp),
            };
            // If it is there and quiescent, it may be another program's, which the save replaces; but an
            // empty one is what the save begins with. Nothing tells lines from the agent's before the
            // core knows of them.
            let saving = self.writers.saving(&spelled);
            let is_begun = saving.is_some_and(|it| it.is_of_lines || stamp.bytes == 0);
            let wait = wait.or((is_incomplete || is_begun).then_some(after));
            let left = old(path);
            let is_other = left.is_none_or(|left| left.inode != stamp.inode);
            changed.push(Changed {
                path: path.clone(),
                since: since(path),
                gone: None,
                wait: wait.map(|wait| now + wait),
                end: saving.map_or(end, |it| it.until),
                is_saving: saving.is_some(),
                is_first: !known.contains_key(path) && !before.contains_key(path),
                is_incomplete,
                left: left.filter(|_| is_other),
                came: is_other.then_some(stamp),
            });
        }
        for path in gone.iter() {
            // A file that was being written may have been moved just now.
            let held = before.get(path);
            let gone = held.and_then(|held| held.gone).unwrap_or(now);
            let saving = self.writers.saving(&spelled(path));
            let until = saving.map_or(gone + after, |_| now + after);
            changed.push(Changed {
                path: path.clone(),
                since: since(path),
                gone: Some(gone),
                wait: Some(until).filter(|until| *until > now),
                end: saving.map_or(gone + patience, |it| it.until),
                is_saving: saving.is_some(),
                is_first: false,
                is_incomplete: false,
                left: held.and_then(|held| held.came).or(old(path)),
                came: None,
            });
        }
        keep_moves_whole(&mut changed, now, after);
        self.through.clear();
        for it in changed {
            if it.wait.is_some() && now >= it.end && !it.is_incomplete {
                self.writers.note_timed_out(&spelled(&it.path));
            }
            self.pass(it, now);
        }
        found.retain(|path, _| !self.held.contains_key(path));
        gone.retain(|path| !self.held.contains_key(path));
    }

    /// Postpones a path that must wait, and releases all others.
    fn pass(&mut self, it: Changed, now: Instant) {
        let Changed {
            path,
            since,
            gone,
            left,
            came,
            ..
        } = it;
        let mut hold = |again| {
            let held = PostponedPath {
                since,
                gone,
                again,
                // The file that was moved away is the one that had come.
                came: if gone.is_some() { left } else { came },
            };
            self.held.insert(path.clone(), held);
        };
        match it.wait {
            Some(wait) if now < it.end => {
                // The longer it takes, the rarer the looks.
                let again = wait.max(now + (now - since) / 2);
                hold(Some(again.min(it.end)));
            }
            Some(_) if it.is_incomplete => hold(None),
            _ => {
                self.through.insert(path, since);
            }
        }
    }
}

impl Changed {
    /// Returns whether it may be half of a move whose other half has another stamp, or is not seen
    /// yet.
    fn is_half(&self) -> bool {
        self.left.is_some() != self.came.is_some()
    }
}

/// Makes the parts of a move wait together, and the halves that may belong to each other.
fn keep_moves_whole(changed: &mut [Changed], now: Instant, after: Duration) {
    let mut halves = Vec::new();
    let are_nested = are_nested(changed);
    for group in moves(changed) {
        if are_nested && group.len() > 1 {
            // Files and folders take each other's places: one cannot be restored without the other.
            halves.extend(group);
            continue;
        }
        match group[..] {
            [one] => {
                if let Some(it) = changed.get_mut(one).filter(|it| it.is_half()) {
                    if it.is_first {
                        // A look may come between the two halves of a move: only the next has both.
                        it.wait.get_or_insert(now);
                    }
                    halves.push(one);
                }
            }
            _ => wait_together(changed, &group, now + after),
        }
    }
    let any = |is_it: fn(&Changed) -> bool| {
        let mut halves = halves.iter().filter_map(|at| changed.get(*at));
        halves.any(is_it)
    };
    if any(|it| it.left.is_some()) && any(|it| it.came.is_some()) {
        wait_together(changed, &halves, now + after);
    }
}

/// Returns whether a changed path is in the place of the folder of another.
fn are_nested(changed: &[Changed]) -> bool {
    let paths: HashSet<&Path> = changed.iter().map(|it| it.path.as_path()).collect();
    let mut folders = changed.iter().flat_map(|it| it.path.ancestors().skip(1));
    folders.any(|folder| paths.contains(folder))
}

/// Groups the changes that are linked by a file moved from one path to another. Its inode alone does
/// not identify it, because the next file may get that of a removed one.
fn moves(changed: &[Changed]) -> Vec<Vec<usize>> {
    let all = || changed.iter().enumerate();
    let left: HashMap<Stamp, usize> = all().filter_map(|(at, it)| Some((it.left?, at))).collect();
    let came: HashMap<Stamp, usize> = all().filter_map(|(at, it)| Some((it.came?, at))).collect();
    let linked = |at: usize| {
        let it = changed.get(at);
        let to = it.and_then(|it| came.get(&it.left?));
        let from = it.and_then(|it| left.get(&it.came?));
        to.into_iter().chain(from).copied()
    };
    let mut is_known = vec![false; changed.len()];
    let mut groups = Vec::new();
    for first in 0..changed.len() {
        let mut group = Vec::new();
        let mut open = vec![first];
        while let Some(at) = open.pop() {
            if let Some(is_known @ false) = is_known.get_mut(at) {
                *is_known = true;
                group.push(at);
                open.extend(linked(at));
            }
        }
        if !group.is_empty() {
            groups.push(group);
        }
    }
    groups
}

/// If one of these changes must wait, makes the others wait as well: for a save that is one of them, or
/// no longer than any of them may.
fn wait_together(changed: &mut [Changed], group: &[usize], until: Instant) {
    let each = || group.iter().filter_map(|at| changed.get(*at));
    let is_waiting = each().any(|it| it.wait.is_some() || it.is_saving);
    let saved = each().filter(|it| it.is_saving).map(|it| it.end).max();
    let end = saved.or_else(|| each().map(|it| it.end).min());
    for at in group {
        if let (Some(it), Some(end), true) = (changed.get_mut(*at), end, is_waiting) {
            it.wait.get_or_insert(until);
            it.end = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the paths that wait if files were moved, and the old path of the first must wait.
    fn waiting(moves: &[(&str, &str)]) -> Vec<String> {
        let now = Instant::now();
        let after = Duration::from_millis(30);
        let mut changed = Vec::new();
        for (inode, (from, to)) in (1..).zip(moves) {
            let stamp = Stamp {
                inode,
                bytes: 1,
                modified: (0, 0),
            };
            let at = |path: &str, left, came| Changed {
                path: PathBuf::from(path),
                since: now,
                gone: None,
                wait: None,
                end: now + after,
                is_saving: false,
                is_first: false,
                is_incomplete: false,
                left,
                came,
            };
            changed.push(at(from, Some(stamp), None));
            changed.push(at(to, None, Some(stamp)));
        }
        if let Some(first) = changed.first_mut() {
            first.wait = Some(now + after);
        }
        keep_moves_whole(&mut changed, now, after);
        let waiting = changed.iter().filter(|it| it.wait.is_some());
        waiting.map(|it| it.path.display().to_string()).collect()
    }

    #[test]
    fn what_is_written_to_during_a_long_read_is_looked_at_again() {
        let patience = Duration::from_millis(1);
        let writers = Writers::new(Quiescence {
            after: Duration::ZERO,
            patience,
        });
        let mut postponed = Postponed::new(Arc::new(writers));
        let (path, looked) = (Path::new("a"), postponed.looked);
        postponed.through.insert(path.to_owned(), looked);
        while looked.elapsed() < 2 * patience {
            std::thread::yield_now();
        }
        assert!(postponed.hold(path));
        postponed.looked = looked + patience;
        assert!(!postponed.hold(path));
    }

    #[test]
    fn the_two_paths_of_a_move_wait_together() {
        assert_eq!(waiting(&[("a", "d/a"), ("b", "c")]), ["a", "d/a"]);
    }

    #[test]
    fn moves_between_files_and_folders_in_the_same_places_wait_together() {
        assert_eq!(waiting(&[("a", "b/a"), ("b", "c")]), ["a", "b/a", "b", "c"]);
        assert_eq!(waiting(&[("d/a", "c"), ("b", "d")]), ["d/a", "c", "b", "d"]);
    }
}
