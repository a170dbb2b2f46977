//! What has changed and is not told yet: files that are being written, and files that have gone
//! this very moment and may be made anew.
//!
//! Invariant: a path is held for a second at most. Files that come and ones that go are held
//! together, because one may have become the other.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::manifest::Entries;
use super::scan::Seen;
use crate::still::{Stillness, Writers};

/// The paths whose news wait.
#[derive(Debug)]
pub(super) struct Hold {
    held: BTreeMap<PathBuf, Held>,
    /// What is let through just now, and since when it had been held.
    through: BTreeMap<PathBuf, Instant>,
    writers: Arc<Writers>,
}

#[derive(Debug, Clone, Copy)]
struct Held {
    /// When it was found to be held.
    since: Instant,
    /// When to look again.
    again: Instant,
}

/// A path that has changed.
struct Changed {
    path: PathBuf,
    since: Instant,
    /// Until when it waits; `None` when it need not.
    wait: Option<Instant>,
    /// The files that were here, and are, if they are not the same.
    left: Option<u64>,
    came: Option<u64>,
}

impl Hold {
    pub(super) fn new(writers: Arc<Writers>) -> Self {
        Self {
            held: BTreeMap::new(),
            through: BTreeMap::new(),
            writers,
        }
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.held.keys()
    }

    /// Returns when to look at what is held.
    pub(super) fn again(&self) -> Option<Instant> {
        self.held.values().map(|held| held.again).min()
    }

    /// Holds a path after all: it was written to while it was read; `false` when it has been held
    /// for too long.
    pub(super) fn hold(&mut self, path: &Path) -> bool {
        let now = Instant::now();
        let since = self.through.get(path).copied().unwrap_or(now);
        let Stillness { after, patience } = self.writers.stillness();
        let is_overdue = now >= since + patience;
        if !is_overdue {
            let again = now + after;
            self.held.insert(path.to_owned(), Held { since, again });
        }
        !is_overdue
    }

    /// Takes out of what was found, and of what is gone, whatever is not to be told yet; nothing
    /// but that is held from now on.
    ///
    /// All that is held must have been looked at.
    pub(super) fn set_aside(
        &mut self,
        known: &Entries,
        found: &mut BTreeMap<PathBuf, Seen>,
        gone: &mut Vec<PathBuf>,
        is_news: impl Fn(&Path, &Seen) -> bool,
        spelt: impl Fn(&Path) -> PathBuf,
    ) {
        let now = Instant::now();
        let Stillness { after, patience } = self.writers.stillness();
        let before = std::mem::take(&mut self.held);
        let since = |path: &Path| before.get(path).map_or(now, |held| held.since);
        let inode = |path: &Path| known.get(path).map(|known| known.stat.inode);
        let mut changed: Vec<Changed> = Vec::new();
        for (path, seen) in found.iter().filter(|(path, seen)| is_news(path, seen)) {
            let wait = match seen.is_link {
                true => None,
                false => self.writers.wait(&spelt(path), &seen.stat.stamp()),
            };
            let (left, came) = (inode(path), Some(seen.stat.inode));
            changed.push(Changed {
                path: path.clone(),
                since: since(path),
                wait: wait.map(|wait| now + wait),
                left: left.filter(|_| left != came),
                came: came.filter(|_| left != came),
            });
        }
        for path in gone.iter() {
            let since = since(path);
            changed.push(Changed {
                path: path.clone(),
                since,
                wait: Some(since + after).filter(|until| *until > now),
                left: inode(path),
                came: None,
            });
        }
        wait_together(&mut changed, now + after);
        self.through.clear();
        for it in changed {
            if it.wait.is_some() && now >= it.since + patience {
                self.writers.give_up(&spelt(&it.path));
            }
            self.pass(it, now);
        }
        found.retain(|path, _| !self.held.contains_key(path));
        gone.retain(|path| !self.held.contains_key(path));
    }

    /// Holds a path that waits, and lets all others through.
    fn pass(&mut self, it: Changed, now: Instant) {
        let patience = self.writers.stillness().patience;
        let Changed { path, since, .. } = it;
        match it.wait {
            Some(wait) if now < since + patience => {
                // It is looked at the less often the longer it takes.
                let again = wait.max(now + (now - since) / 2);
                let again = again.min(since + patience);
                self.held.insert(path, Held { since, again });
            }
            _ => {
                self.through.insert(path, since);
            }
        }
    }
}

/// Has whatever may be part of a move wait if anything of that does.
fn wait_together(changed: &mut [Changed], until: Instant) {
    let left: HashSet<u64> = changed.iter().filter_map(|it| it.left).collect();
    let came: HashSet<u64> = changed.iter().filter_map(|it| it.came).collect();
    // A file that is replaced has come from nowhere and gone nowhere, as a rule.
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
