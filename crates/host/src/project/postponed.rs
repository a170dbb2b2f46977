//! Postpones reporting of files that are being written, and of removals that may be followed by a
//! new file at once.
//!
//! Invariant: a path is postponed for at most a second, unless its file is shorter than before and
//! a writer has it open: that file is incomplete, and is reported when it is closed. New and removed
//! files are postponed together, because they may be a move.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::manifest::Entries;
use super::scan::FoundFile;
use crate::quiescence::{Quiescence, Writers};

/// The postponed paths.
#[derive(Debug)]
pub(super) struct Postponed {
    held: BTreeMap<PathBuf, PostponedPath>,
    /// Paths released by the current look, and since when they had been postponed.
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
    /// A writer has it open, and it is shorter than before.
    is_incomplete: bool,
    /// The inodes of the old and the new file, if they differ.
    left: Option<u64>,
    came: Option<u64>,
}

impl Postponed {
    pub(super) fn new(writers: Arc<Writers>) -> Self {
        Self {
            held: BTreeMap::new(),
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
        let now = Instant::now();
        let since = self.through.get(path).copied().unwrap_or(now);
        let after = self.writers.quiescence().after;
        let is_overdue = now >= since + patience;
        if !is_overdue {
            let held = PostponedPath {
                since,
                gone: None,
                again: Some(now + after),
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
        let now = Instant::now();
        let Quiescence { after, patience } = self.writers.quiescence();
        let before = std::mem::take(&mut self.held);
        let since = |path: &Path| before.get(path).map_or(now, |held| held.since);
        let inode = |path: &Path| known.get(path).map(|known| known.stat.inode);
        let mut changed: Vec<Changed> = Vec::new();
        let news: Vec<(&PathBuf, &FoundFile)> = found
            .iter()
            .filter(|(path, seen)| is_news(path, seen))
            .collect();
        if !news.is_empty() {
            // The files were examined before; now their writers are known.
            self.writers.catch_up();
        }
        for (path, seen) in news {
            let (spelled, stamp) = (spelled(path), seen.stat.stamp());
            let is_shorter = known
                .get(path)
                .is_some_and(|known| stamp.bytes < known.stat.bytes);
            let is_incomplete =
                is_shorter && !seen.is_link && self.writers.is_open(&spelled, stamp.bytes);
            let wait = match seen.is_link {
                true => None,
                false if is_shorter => self.writers.wait_full(&spelled, &stamp),
                false => self.writers.wait(&spelled, &stamp),
            };
            // A look may come between the two halves of a move: only the next one has both.
            let is_first = !known.contains_key(path) && !before.contains_key(path);
            let wait = wait.or(is_incomplete.then_some(after));
            let wait = wait.or(is_first.then_some(Duration::ZERO));
            let (left, came) = (inode(path), Some(seen.stat.inode));
            changed.push(Changed {
                path: path.clone(),
                since: since(path),
                gone: None,
                wait: wait.map(|wait| now + wait),
                is_incomplete,
                left: left.filter(|_| left != came),
                came: came.filter(|_| left != came),
            });
        }
        for path in gone.iter() {
            // A file that was being written may have been moved just now.
            let gone = before.get(path).and_then(|held| held.gone).unwrap_or(now);
            changed.push(Changed {
                path: path.clone(),
                since: since(path),
                gone: Some(gone),
                wait: Some(gone + after).filter(|until| *until > now),
                is_incomplete: false,
                left: inode(path),
                came: None,
            });
        }
        wait_together(&mut changed, now + after);
        self.through.clear();
        for it in changed {
            if it.wait.is_some() && now >= it.since + patience && !it.is_incomplete {
                self.writers.note_timed_out(&spelled(&it.path));
            }
            self.pass(it, now);
        }
        found.retain(|path, _| !self.held.contains_key(path));
        gone.retain(|path| !self.held.contains_key(path));
    }

    /// Postpones a path that must wait, and releases all others.
    fn pass(&mut self, it: Changed, now: Instant) {
        let patience = self.writers.quiescence().patience;
        let Changed {
            path, since, gone, ..
        } = it;
        let mut hold = |again| {
            let held = PostponedPath { since, gone, again };
            self.held.insert(path.clone(), held);
        };
        match it.wait {
            Some(wait) if now < since + patience => {
                // The longer it takes, the rarer the looks.
                let again = wait.max(now + (now - since) / 2);
                hold(Some(again.min(since + patience)));
            }
            Some(_) if it.is_incomplete => hold(None),
            _ => {
                self.through.insert(path, since);
            }
        }
    }
}

/// If one part of a possible move must wait, makes the other parts wait as well.
fn wait_together(changed: &mut [Changed], until: Instant) {
    let left: HashSet<u64> = changed.iter().filter_map(|it| it.left).collect();
    let came: HashSet<u64> = changed.iter().filter_map(|it| it.came).collect();
    // A file replaced in place is usually not part of a move.
    let moves = |it: &Changed| match (it.left, it.came) {
        (Some(old), Some(new)) => left.contains(&new) || came.contains(&old),
        (None, None) => false,
        _ => true,
    };
    let moving = || changed.iter().filter(|it| moves(it));
    let any = moving().any(|it| it.wait.is_some())
        && moving().any(|it| it.left.is_some())
        && moving().any(|it| it.came.is_some());
    if any {
        for it in changed.iter_mut() {
            if moves(it) {
                it.wait.get_or_insert(until);
            }
        }
    }
}
